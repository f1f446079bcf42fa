//! The loop of the console: events in, effects and a screen out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::event as terminal;
use ratatui::layout::Size;
use svit::{Events, LoopError, Role};
use tokio::sync::mpsc::{self, UnboundedSender};

use super::key::Key;
use super::news::{News, texts};
use super::screen::Screen;
use super::state::{Effect, Event, State};
use super::talk::Who;
use super::work::Work;
use crate::failure::Failure;
use crate::plain::about;
use crate::session::Session;

/// Messages of earlier that are shown at the start.
const RECALLED: usize = 50;
/// How long a wait for a key is, before it is looked whether the console still runs.
const GLANCE: Duration = Duration::from_millis(100);
/// How long nothing is asked after the process could not be.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs the console until somebody quits.
pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    let mut state = opened(session).await?;
    let mut screen = Screen::open()?;
    state.size = screen.size()?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let _keyboard = Keyboard::listen(sender.clone());
    listen_for_signals(&sender);
    let svit = session.svit();
    let inbox = session.talk().ok().map(svit::Svit::inbox);
    let work = Work::new(session.process().clone(), inbox, sender);
    let mut news = svit.map(svit::Svit::events);
    let mut effects = state.read_all();
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Redraw => screen.redraw()?,
                Effect::CancelTurn => {
                    if let Some(svit) = svit {
                        svit.cancel_turn();
                    }
                }
                other => work.begin(other),
            }
        }
        screen.draw(&state)?;
        tokio::select! {
            event = events.recv() => effects.extend(state.update(event.unwrap_or(Event::Gone))),
            event = next(&mut news) => effects.extend(state.update(event)),
        }
        // All that is there is taken before the screen is drawn again.
        while let Ok(event) = events.try_recv() {
            effects.extend(state.update(event));
        }
    }
}

/// The console before its first event.
async fn opened(session: &Session) -> Result<State, Failure> {
    let process = session.process();
    let mut state = State::new(
        process.address().as_str(),
        process.version(),
        session.model.as_ref().err().copied(),
    );
    state.has_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if let Some(svit) = session.svit() {
        for message in svit.recent_messages(RECALLED).await? {
            let who = if message.role == Role::User {
                Who::You
            } else {
                Who::Model
            };
            state.talk.say(who, &texts(&message));
        }
    }
    for sentence in about(session) {
        state.talk.say(Who::Note, &sentence);
    }
    Ok(state)
}

/// The next news of the process that a console shows; never, once there are no more.
async fn next(news: &mut Option<Events>) -> Event {
    loop {
        let Some(events) = news else {
            return std::future::pending().await;
        };
        match events.recv().await {
            Ok(event) => {
                if let Some(news) = News::of(event) {
                    return Event::News(news);
                }
            }
            Err(LoopError::Lagged(_)) => return Event::News(News::Lost),
            Err(LoopError::Closed) => *news = None,
            Err(error) => {
                tokio::time::sleep(PAUSE).await;
                return Event::Refused(Failure::from(error).sentence());
            }
        }
    }
}

/// A thread that waits for keys. It ends soon after this is dropped.
struct Keyboard {
    is_over: Arc<AtomicBool>,
}

impl Keyboard {
    fn listen(events: UnboundedSender<Event>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = is_over.clone();
        std::thread::spawn(move || {
            while !watched.load(Ordering::Relaxed) {
                let read = match terminal::poll(GLANCE) {
                    Ok(true) => terminal::read(),
                    Ok(false) => continue,
                    Err(error) => Err(error),
                };
                let event = match read {
                    Ok(event) => translated(&event),
                    // The terminal has gone.
                    Err(_) => Some(Event::Gone),
                };
                let is_gone = event == Some(Event::Gone);
                if event.is_some_and(|event| events.send(event).is_err()) || is_gone {
                    break;
                }
            }
        });
        Self { is_over }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn translated(event: &terminal::Event) -> Option<Event> {
    match event {
        terminal::Event::Key(key) => Key::of(key).map(Event::Key),
        terminal::Event::Paste(text) => Some(Event::Paste(text.clone())),
        terminal::Event::Resize(width, height) => Some(Event::Resize(Size::new(*width, *height))),
        _ => None,
    }
}

/// Quits on a signal that would end the program, so that the terminal is given back.
#[cfg(unix)]
fn listen_for_signals(events: &UnboundedSender<Event>) {
    use tokio::signal::unix::{SignalKind, signal};

    for kind in [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
    ] {
        let events = events.clone();
        // Where it cannot be listened for, it does what it always does.
        if let Ok(mut signal) = signal(kind) {
            tokio::spawn(async move {
                if signal.recv().await.is_some() {
                    let _ = events.send(Event::Gone);
                }
            });
        }
    }
}

#[cfg(not(unix))]
fn listen_for_signals(_: &UnboundedSender<Event>) {}
