//! While a guest waits for a port: sends, cancelling, other guests, the clock.

use super::*;

#[test]
fn while_a_port_is_awaited_sends_land_host_writes_queue_and_nothing_is_lost() {
    let gate = Gate::new();
    let ports = Arc::new(ports(&gate));
    let process = block_on(process(
        &ports,
        &[("long", "add /memory/count 1;send 1;port waits 7")],
    ));
    let base = process.version();
    let run = exec_on_thread(&process, "long");
    ports.until_waiting(1);
    let writes: Vec<_> = (0..4)
        .map(|n| {
            let process = process.clone();
            thread::spawn(move || block_on(process.write(format!("/memory/w{n}"), n)).unwrap())
        })
        .collect();
    let enqueue = |n: i64| {
        let process = process.clone();
        async move {
            let message = value!({"n": n});
            process
                .submit(Submission::plain(Operation::Enqueue { message }))
                .await
        }
    };
    block_on(async {
        for n in 0..100 {
            let outcome = enqueue(n).await.unwrap();
            let expected = Outcome::Enqueued {
                sequence: base + 1 + n as u64,
            };
            assert_eq!(outcome, expected);
        }
        let first = Operation::Acknowledge { sequence: base + 1 };
        process.submit(Submission::plain(first)).await.unwrap();
    });
    assert_eq!(process.version(), base + 101);
    assert!(writes.iter().all(|write| !write.is_finished()) && !run.is_finished());
    gate.open();
    let activation = run.join().unwrap().unwrap();
    assert_eq!(
        (activation.output, activation.version),
        (7.into(), base + 102)
    );
    for write in writes {
        write.join().unwrap();
    }
    assert_eq!(process.version(), base + 106);
    assert_eq!(process.discover("/inbox").unwrap().len(), 99);
    assert_eq!(process.discover("/system/outbox").unwrap().len(), 1);
    assert_eq!(process.read("/memory/count").unwrap(), Some(7.into()));
    assert_eq!(ports.asked().len(), 1);
}

// THREAT[TM-PORT-1]
#[test]
fn a_script_that_has_called_for_an_effect_is_never_run_a_second_time() {
    for (source, called, runs) in [
        ("discover /inbox;port echo 1;port waits", "echo", 2),
        ("discover /inbox;port write 1;port waits", "write", 1),
        ("port write 1;port waits;discover /inbox", "write", 1),
        // It may have had its effect all the same.
        (
            "discover /inbox;try-port fails-write 1;port waits",
            "fails-write",
            1,
        ),
        (
            "discover /inbox;try writes-and-fails;port waits",
            "write",
            1,
        ),
        // It read nothing of what changed.
        ("port write 1;port waits", "write", 0),
    ] {
        let gate = Gate::new();
        let ports = Arc::new(ports(&gate));
        let source = format!("add /memory/count 1;{source}");
        let sources = [
            ("long", source.as_str()),
            ("writes-and-fails", "port write 1;runtime"),
        ];
        let process = block_on(process(&ports, &sources));
        let (key, running) = (request("long", "content"), process.clone());
        let exec = move |key| {
            let operation = Operation::Exec {
                path: "/lib/long".parse().unwrap(),
                input: value!(null),
            };
            block_on(running.submit(Submission::plain(operation).keyed(key)))
        };
        let again = exec.clone();
        let submitted = key.clone();
        let run = thread::spawn(move || exec(submitted));
        ports.until_waiting(1);
        let message = Operation::Enqueue { message: 1.into() };
        block_on(process.submit(Submission::plain(message))).unwrap();
        let before = seen(&process);
        gate.open();
        let result = run.join().unwrap();
        let calls = ports
            .asked()
            .iter()
            .filter(|r| r.name.as_str() == called)
            .count();
        match runs {
            0 | 2 => {
                let Outcome::Activation(activation) = result.unwrap() else {
                    panic!("{source}");
                };
                assert_eq!(calls, runs.max(1), "{source}");
                assert_eq!(activation.version, before.version + 1);
                // The record is of the run that was committed.
                assert_eq!(activation.ports.len(), 2, "{source}");
            }
            _ => {
                let error = result.unwrap_err();
                assert_eq!(error.code(), "not_repeatable", "{source}");
                assert!(
                    error.to_string().contains(&format!("{called:?}")),
                    "{error}"
                );
                assert_eq!(calls, 1, "{source}");
                assert_eq!(seen(&process), before, "{source}");
                // The retry is told the same, and calls nothing.
                let retried = again(key).unwrap();
                assert!(matches!(retried, Outcome::Replayed(_)), "{source}");
                assert_eq!(ports.asked().len(), 2, "{source}");
            }
        }
    }
}

/// Waits until nobody but the test and the process holds the ports: the guest has ended.
fn until_guests_ended(ports: &Arc<TestPorts>) {
    let started = Instant::now();
    while Arc::strong_count(ports) > 2 {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "a guest still waits"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn dropping_the_future_cancels_the_port_ends_the_guest_and_changes_nothing() {
    for source in [
        "add /memory/count 1;send 1;port waits",
        "add /memory/count 1;send 1;try-port waits",
        "add /memory/count 1;swallow-port waits;swallow-port waits;swallow-port echo 1",
        "exec deeper",
    ] {
        let gate = Gate::new();
        let ports = Arc::new(ports(&gate));
        let sources = [("long", source), ("deeper", "try-port waits")];
        let process = block_on(process(&ports, &sources));
        let before = seen(&process);
        for _ in 0..3 {
            let exec = async { Some(process.exec("/lib/long", value!(null)).await) };
            let waits = async {
                while ports.waiting.load(Ordering::SeqCst) == 0 {
                    future::yield_now().await;
                }
                None
            };
            let ended = block_on(future::or(exec, waits));
            assert!(ended.is_none(), "{source}");
            assert_eq!(
                ports.waiting.load(Ordering::SeqCst),
                0,
                "the port was cancelled"
            );
            until_guests_ended(&ports);
            assert_eq!(seen(&process), before, "{source}");
        }
        // The turn is free again.
        let run = exec_on_thread(&process, "long");
        ports.until_waiting(1);
        gate.open();
        assert_eq!(run.join().unwrap().unwrap().version, before.version + 1);
    }
}

// THREAT[TM-PORT-2]
#[test]
fn guests_that_wait_for_ports_starve_nobody_however_many_they_are() {
    // More than the pool for blocking work has threads.
    const PROCESSES: usize = 600;
    let gate = Gate::new();
    let ports = Arc::new(ports(&gate));
    let store = Arc::new(MemoryStore::new());
    let process = |n: usize| {
        let built = builder(&format!("svit://local/p{n}"))
            .library("long", script("add /memory/count 1;port waits 1"))
            .build();
        block_on(store.create(built.unwrap())).unwrap()
    };
    let processes: Vec<DurableProcess> = (0..PROCESSES).map(process).collect();
    let run = thread::spawn({
        let ports = ports.clone();
        move || {
            block_on(async {
                let mut runs = Vec::new();
                for process in processes {
                    process.attach_ports(ports.clone()).await.unwrap();
                    runs.push(Box::pin(async move {
                        process.exec("/lib/long", value!(null)).await
                    }));
                }
                let mut versions = Vec::new();
                future::poll_fn(|cx| {
                    runs.retain_mut(|run| match run.as_mut().poll(cx) {
                        std::task::Poll::Ready(done) => {
                            versions.push(done.unwrap().version);
                            false
                        }
                        std::task::Poll::Pending => true,
                    });
                    match runs.is_empty() {
                        true => std::task::Poll::Ready(()),
                        false => std::task::Poll::Pending,
                    }
                })
                .await;
                versions
            })
        }
    });
    ports.until_waiting(PROCESSES);
    // Somebody else's scripts run meanwhile, with ports and without.
    let other = process(PROCESSES);
    assert_eq!(
        block_on(other.exec("/lib/counter", 1)).unwrap().output,
        7.into()
    );
    block_on(other.attach_ports(ports.clone())).unwrap();
    assert_eq!(
        block_on(other.exec("/ports/echo", 9)).unwrap().output,
        9.into()
    );
    gate.open();
    assert_eq!(run.join().unwrap(), vec![2; PROCESSES]);
}

#[test]
fn a_port_can_run_scripts_of_other_processes_that_call_ports() {
    let store = Arc::new(MemoryStore::new());
    let next: Arc<Mutex<Option<DurableProcess>>> = Arc::default();
    for depth in 0..12 {
        let child = next.lock().unwrap().take();
        let ports = TestPorts::default().port("down", PortEffect::Write, move |r| {
            let child = child.clone();
            async move {
                let depth = r.input.as_int().unwrap();
                match child {
                    None => Ok(0.into()),
                    Some(child) => {
                        let ran = child.exec("/lib/down", depth - 1).await;
                        let below = ran.unwrap().output.as_int().unwrap();
                        Ok(Value::Int(below + 1))
                    }
                }
            }
        });
        let source = format!("port down {depth}");
        let built = builder(&format!("svit://local/d{depth}")).library("down", script(&source));
        let process = block_on(store.create(built.build().unwrap())).unwrap();
        block_on(process.attach_ports(Arc::new(ports))).unwrap();
        *next.lock().unwrap() = Some(process);
    }
    let top = next.lock().unwrap().take().unwrap();
    let activation = block_on(top.exec("/lib/down", value!(null))).unwrap();
    assert_eq!(activation.output, 11.into());
}

#[test]
fn waiting_for_a_port_is_off_the_clock_of_this_script_and_of_those_around_it() {
    let gate = Gate::new();
    let ports = Arc::new(ports(&gate));
    let limits = Limits {
        max_execution_millis: 30_000,
        ..Limits::default()
    };
    let built = builder("svit://local/ports")
        .limits(limits)
        .library("inner", script("limits"))
        .library("outer", script("port waits;exec inner"))
        .build();
    let process = block_on(MemoryStore::new().create(built.unwrap())).unwrap();
    block_on(process.attach_ports(ports.clone())).unwrap();
    let run = exec_on_thread(&process, "outer");
    ports.until_waiting(1);
    thread::sleep(Duration::from_millis(600));
    gate.open();
    let activation = run.join().unwrap().unwrap();
    let left = activation
        .output
        .get("max_execution_millis")
        .and_then(Value::as_int);
    assert!(left.unwrap() > 29_500, "{left:?}");
    assert!(activation.wall >= Duration::from_millis(600));
}

#[cfg(feature = "lisp")]
mod lisp {
    use super::*;

    #[test]
    fn a_lisp_script_waits_longer_than_it_may_run_and_handles_a_refusal() {
        let slow = TestPorts::default()
            .port("slow", PortEffect::Read, |r| {
                blocking::unblock(move || {
                    thread::sleep(Duration::from_millis(400));
                    Ok(r.input)
                })
            })
            .port("fails", PortEffect::Read, |_| async {
                Err(HostError::soft("no_luck", "it did not work"))
            });
        let built = Process::builder("svit://local/lisp")
            .unwrap()
            .limits(Limits {
                max_execution_millis: 300,
                ..Limits::default()
            })
            .memory("x", 0)
            .library("inner", "(define (main input) (port-call \"slow\" input))")
            .library(
                "outer",
                "(define (main input)
                   (let ((answer (exec \"/lib/inner\" 5)) (refused (safe-call port-call \"fails\")))
                     (do (write \"/memory/x\" answer)
                         (value-map \"answer\" answer \"refused\" refused))))",
            )
            .build();
        block_on(async {
            let process = MemoryStore::new().create(built.unwrap()).await.unwrap();
            process.attach_ports(Arc::new(slow)).await.unwrap();
            let activation = process.exec("/lib/outer", value!(null)).await.unwrap();
            assert_eq!(activation.output.get("answer"), Some(&5.into()));
            let refused = activation.output.get("refused").unwrap();
            assert_eq!(refused.get("ok"), Some(&false.into()));
            assert!(
                refused
                    .get("error")
                    .unwrap()
                    .as_str()
                    .unwrap()
                    .contains("did not work")
            );
            assert_eq!(process.read("/memory/x").unwrap(), Some(5.into()));
            assert_eq!(activation.ports.len(), 2);
        });
    }
}
