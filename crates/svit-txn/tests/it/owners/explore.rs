//! Runs a few tasks in every order in which their calls to a store can fall.
//!
//! Tasks are polled by hand, one at a time. Where a task could go on in several ways (which task is next, how a call
//! ends, whether a caller gives up) it asks [`Choices`], and [`explore`] runs the whole again with other answers until
//! there are none left.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The answers of one run: those of a prefix, then always the first. With each answer, out of how many.
#[derive(Default)]
pub(super) struct Choices {
    prefix: Vec<(usize, usize)>,
    taken: Vec<(usize, usize)>,
    went_elsewhere: bool,
}

impl Choices {
    /// A number below `of`.
    pub(super) fn choose(&mut self, of: usize) -> usize {
        let (wanted, before) = self
            .prefix
            .get(self.taken.len())
            .copied()
            .unwrap_or((0, of));
        self.went_elsewhere |= before != of;
        let chosen = wanted.min(of - 1);
        self.taken.push((chosen, of));
        chosen
    }
}

/// The prefix behind these choices, if there is one.
fn next(mut taken: Vec<(usize, usize)>) -> Option<Vec<(usize, usize)>> {
    while let Some((chosen, of)) = taken.pop() {
        if chosen + 1 < of {
            taken.push((chosen + 1, of));
            return Some(taken);
        }
    }
    None
}

/// Choices that the tasks and their store share.
pub(super) type Shared = Arc<Mutex<Choices>>;

/// Calls `run` with every sequence of choices, and says how many there were.
///
/// The same choices lead to the same place, but for the clock: two records that are otherwise alike differ if a
/// millisecond ends between them. So a run that went elsewhere is made again, and given up at last.
pub(super) fn explore(at_most: u64, run: impl Fn(&Shared)) -> u64 {
    let (mut runs, mut given_up) = (0_u64, 0_u64);
    let mut prefix = Some(Vec::new());
    while let Some(now) = prefix.take() {
        assert!(runs < at_most, "more than {at_most} runs");
        let mut taken = None;
        for _ in 0..20 {
            let shared = Arc::new(Mutex::new(Choices {
                prefix: now.clone(),
                ..Choices::default()
            }));
            run(&shared);
            let choices = std::mem::take(&mut *shared.lock().unwrap());
            if !choices.went_elsewhere {
                taken = Some(choices.taken);
                break;
            }
        }
        runs += 1;
        given_up += u64::from(taken.is_none());
        prefix = next(taken.unwrap_or(now));
    }
    assert!(given_up <= runs / 20, "{given_up} of {runs} went elsewhere");
    runs
}

/// Waits until one begins.
pub(super) fn begin_a_millisecond() {
    let millis = || UNIX_EPOCH.elapsed().unwrap().as_millis();
    let (before, began) = (millis(), Instant::now());
    while millis() == before && began.elapsed() < Duration::from_millis(2) {
        std::hint::spin_loop();
    }
}

struct Flag(AtomicBool);

impl Flag {
    fn wait(&self) {
        let began = Instant::now();
        while !self.0.load(Ordering::SeqCst) {
            assert!(began.elapsed() < Duration::from_secs(20), "a deadlock");
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A place at which another task may be next.
pub(super) async fn pause() {
    let mut was_here = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut was_here, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

pub(super) type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Whose turn it is: held while a task is polled. Work on another thread that waits for it is never done at once, so
/// that a task which waits for such work always pauses there, however busy the machine is.
pub(super) type Turn = Arc<Mutex<()>>;

/// How tasks are run.
#[derive(Clone)]
pub(super) struct Manner {
    /// So many of them at most are dropped half-way, at any step of theirs.
    pub(super) gives_up: usize,
    /// They wait for other threads, and never for each other: each step ends when the task can go on.
    pub(super) waits_for_threads: bool,
    pub(super) turn: Turn,
}

/// Runs tasks to their ends; `check` is called after every step. From the third on they are alike to the second, and
/// begin one after the other.
pub(super) fn run(tasks: Vec<Task<'_>>, choices: &Shared, manner: Manner, check: impl Fn()) {
    let mut tasks: Vec<(Option<Task<'_>>, Arc<Flag>, bool)> = tasks
        .into_iter()
        .map(|task| (Some(task), Arc::new(Flag(AtomicBool::new(true))), false))
        .collect();
    let mut gives_up = manner.gives_up;
    loop {
        let at = |wanted: &dyn Fn(&Flag, bool) -> bool| -> Vec<usize> {
            let numbered = tasks.iter().enumerate();
            numbered
                .filter(|(_, (task, flag, begun))| task.is_some() && wanted(flag, *begun))
                .map(|(index, _)| index)
                .collect()
        };
        let may_begin = |index: &usize| *index < 2 || tasks[index - 1].2;
        let ready = at(&|flag, _| flag.0.load(Ordering::SeqCst));
        let ready: Vec<usize> = ready.into_iter().filter(may_begin).collect();
        let begun = at(&|_, begun| begun);
        if ready.is_empty() {
            let waiting = tasks.iter().any(|(task, ..)| task.is_some());
            assert!(!waiting, "a deadlock");
            return;
        }
        // A caller that never began has nothing to give up.
        let droppable = if gives_up > 0 { begun.len() } else { 0 };
        let chosen = choices.lock().unwrap().choose(ready.len() + droppable);
        if let Some(&index) = ready.get(chosen) {
            let (task, flag, begun) = &mut tasks[index];
            *begun = true;
            flag.0.store(false, Ordering::SeqCst);
            let waker = Waker::from(flag.clone());
            let turn = manner.turn.lock().unwrap();
            let polled = task
                .as_mut()
                .map(|task| task.as_mut().poll(&mut Context::from_waker(&waker)));
            drop(turn);
            if polled.is_some_and(|polled| polled.is_ready()) {
                *task = None;
            } else if manner.waits_for_threads {
                flag.wait();
            }
        } else {
            gives_up -= 1;
            tasks[begun[chosen - ready.len()]].0 = None;
        }
        check();
    }
}
