//! The quickstart as a program of its own: with the scripted model, against a model server over
//! HTTP, and killed.

use std::time::Instant;

use svit::{Value, value};
use svit_testkit::model_server::{Call, ModelServer, Reply, Script};

use crate::example::{Quickstart, program, said};

/// Everything that was printed below the line that names the store, which differs.
fn below_store(output: &str) -> &str {
    let (_, rest) = output.split_once("\nstore ").unwrap();
    rest.split_once('\n').unwrap().1
}

#[test]
fn the_scripted_quickstart_shows_the_main_job() {
    let run = Quickstart::new();
    let output = run.finish();
    for expected in [
        "model    scripted",
        "tool     write /memory/facts/release_color",
        "tool     write /lib/announce",
        "tool     exec /lib/announce",
        "  load   /memory/facts/release_color ",
        "  run    ",
        " of 1000000 ticks",
        "  commit version 3 to 4, root ",
        "  intent svit://local/quickstart#4.0",
        "svit://local/quickstart is at version 5",
        "child    svit://local/quickstart-child, forked at version 5",
        "         color \"crimson\"",
        "parent   color \"teal\"",
        "  5  inbox",
    ] {
        assert!(output.contains(expected), "no {expected:?} in\n{output}");
    }
    // A second run finds everything done.
    assert_eq!(below_store(&run.finish()), below_store(&output));
}

#[test]
fn the_durable_counter_counts_on_after_a_restart() {
    let output = said(&program("durable_counter").output().unwrap());
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "count 6, version 3");
    assert!(
        lines[1].starts_with("by 3: count 9, version 3 to 4, "),
        "{output}"
    );
}

#[test]
fn killed_at_ten_moments_it_ends_as_if_it_had_not_been() {
    let undisturbed = Quickstart::new();
    let started = Instant::now();
    let expected = undisturbed.finish();
    let mut whole = started.elapsed();

    let mut interrupted = 0;
    for moment in 1..=10_u32 {
        let run = Quickstart::new();
        // Twice each: early and late parts of the program are hit on a first and on a resumed run.
        for part in [moment, 11 - moment] {
            let mut program = run.start();
            std::thread::sleep(whole * part / 11);
            if program.try_wait().unwrap().is_none() {
                interrupted += 1;
            } else {
                // It ran faster than when it was measured, on a machine with other work.
                whole = whole * 3 / 4;
            }
            program.kill().unwrap();
            program.wait().unwrap();
        }
        let ended = run.finish();
        assert_eq!(
            below_store(&ended),
            below_store(&expected),
            "moment {moment}"
        );
    }
    assert!(interrupted >= 5, "only {interrupted} kills came in time");
}

/// The three tool calls of the quickstart, as a server would send them.
fn replies() -> [Reply; 4] {
    let script = "(define (main input) (do (send! (value-map \"text\" \"out\")) \
                  (write \"/memory/facts/announced\" 1)))";
    let write = |path: &str, value: Value| {
        let arguments = value!({"path": path, "value": value}).to_json().unwrap();
        Reply::calls([Call::raw("write", arguments)])
    };
    let exec = value!({"path": "/lib/announce", "input": {"version": "1.0"}});
    [
        write("/memory/facts/release_color", "teal".into()),
        write(
            "/lib/announce",
            value!({"source": script, "documentation": "Announces."}),
        ),
        Reply::calls([Call::raw("exec", exec.to_json().unwrap())]),
        Reply::text("All done, over HTTP.").usage(100, 7),
    ]
}

async fn against_a_server(script: Script) -> (String, ModelServer) {
    let server = ModelServer::start(script).await.unwrap();
    let run = Quickstart::new();
    let mut command = run.command();
    command
        .env("OPENAI_API_KEY", server.key())
        .env("OPENAI_BASE_URL", server.url())
        .env("SVIT_MODEL", "loopback-1");
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    (said(&output.unwrap().unwrap()), server)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_it_talks_to_a_real_server() {
    let (output, server) = against_a_server(Script::turns(replies())).await;
    for expected in [
        "model    loopback-1",
        "tool     exec /lib/announce",
        "  intent svit://local/quickstart#4.0",
        "reply    All done, over HTTP.",
        "remembered: /memory/facts/release_color = \"teal\"",
    ] {
        assert!(output.contains(expected), "no {expected:?} in\n{output}");
    }
    assert_eq!(server.journal().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_for_a_moment_does_not_stop_it() {
    use svit_testkit::model_server::Fault;
    let [first, second, third, last] = replies();
    let script = Script::turns([
        first.first(Fault::status(500)),
        second.first(Fault::rate_limited(0)),
        third,
        last,
    ]);
    let (output, server) = against_a_server(script).await;
    assert!(output.contains("reply    All done, over HTTP."), "{output}");
    assert_eq!(server.journal().len(), 6);
}
