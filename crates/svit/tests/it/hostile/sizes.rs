//! Values and messages that are too large, too deep or too many.

use svit::{Error, Limits, Message, Process, ProcessError, Scripted, ScriptedReply, Svit, Value};
use svit::{List, Reasoner, value};

use super::{code, counting, process, soon, started};

/// A list inside a list, so many times.
fn nested(depth: usize) -> Result<Value, svit::ValueError> {
    let mut value = Value::Null;
    for _ in 0..depth {
        value = List::from_values([value])?.into();
    }
    Ok(value)
}

#[test]
fn deep_values_are_refused_wherever_they_come_in() {
    for json in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        assert!(Value::from_json(&json).is_err());
    }
    assert_eq!(code(nested(1_000)), "too_deep");
    let process = process("svit://local/deep");
    assert_eq!(code(process.write("/memory/x", nested(31).unwrap())), "ok");
    let error = process.write("/memory/x", nested(32).unwrap()).unwrap_err();
    let ProcessError::Limit(exceeded) = &error else {
        panic!("{error}");
    };
    assert_eq!((exceeded.allowed, exceeded.actual), (32, 33));
    assert!(error.to_string().starts_with("/memory/x: "), "{error}");
    assert!(error.to_string().contains("max_value_depth"), "{error}");
    assert_eq!(
        code(process.exec("/lib/count", nested(200).unwrap())),
        "max_value_depth"
    );
    assert_eq!(process.version(), 1);
}

#[test]
fn a_value_that_grows_by_doubling_is_refused() {
    // Each list holds the one before twice: 2^60 nodes in 60 allocations.
    let mut value = Value::from(1);
    let mut failure = None;
    for _ in 0..60 {
        match List::from_values([value.clone(), value.clone()]) {
            Ok(list) => value = list.into(),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let process = process("svit://local/bomb");
    assert_eq!(
        code(process.write("/memory/x", value.clone())),
        "max_value_depth"
    );
    assert_eq!(
        code(process.exec("/lib/count", value.clone())),
        "max_value_depth"
    );
    // Shown without being walked.
    assert!(value.to_string().len() < 10_000);
    assert!(format!("{value:?}").len() < 10_000);
    assert!(failure.is_none() || process.version() == 0);
}

#[tokio::test]
async fn a_message_of_the_largest_size_is_answered_and_a_larger_one_is_refused() {
    let mut svit = started("svit://local/large", counting()).await;
    let inbox = svit.inbox();
    let mut outbox = svit.outbox();
    let largest = svit.process().limits().max_text_bytes as usize;
    // The stored form of a message has some text of its own.
    inbox
        .send(Message::user("x".repeat(largest - 100)))
        .await
        .unwrap();
    assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 1"));
    let error = inbox.send(Message::user("x".repeat(largest))).await;
    let error = Error::from(error.unwrap_err());
    assert_eq!(error.code(), "max_text_bytes");
    assert!(error.to_string().contains("max_text_bytes"), "{error}");
    inbox.send(Message::user("still there?")).await.unwrap();
    assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 2"));
    drop(inbox);
    soon(svit.block()).await.unwrap();
}

#[tokio::test]
async fn an_empty_message_and_one_of_control_characters_are_answered() {
    let svit = started("svit://local/odd", counting()).await;
    let inbox = svit.inbox();
    for (at, text) in ["", "\0\u{1b}[31m", "\u{202e}abc", "\u{fdd0}"]
        .iter()
        .enumerate()
    {
        let answer = inbox.ask(Message::user(*text)).await.unwrap();
        assert_eq!(answer.text(), Some(format!("answer {}", at + 1).as_str()));
    }
}

#[tokio::test]
async fn a_script_that_fills_the_outbox_is_refused_and_leaves_it_whole() {
    let process = Process::builder("svit://local/chatty")
        .unwrap()
        .limits(Limits {
            max_messages: 4,
            max_outbox: 10,
            ..Limits::default()
        })
        .library(
            "chat",
            r#"(define (main n) (if (= n 0) 0 (do (send! (value-map "n" n)) (main (- n 1)))))"#,
        )
        .build()
        .unwrap();
    assert_eq!(code(process.exec("/lib/chat", 5)), "max_messages");
    for _ in 0..2 {
        assert_eq!(process.exec("/lib/chat", 4).unwrap().messages.len(), 4);
    }
    let error = process.exec("/lib/chat", 4).unwrap_err();
    assert!(error.to_string().contains("max_outbox"), "{error}");
    assert!(error.to_string().contains("12"), "{error}");
    assert_eq!(process.intents(None, 100).unwrap().len(), 8);
    assert_eq!(process.version(), 2);
}

#[tokio::test]
async fn a_model_is_told_that_the_outbox_is_full() {
    let exec = || {
        ScriptedReply::call(
            "exec",
            value!({"source": "(define (main n) (do (send! n) (send! n)))"}),
        )
    };
    let reasoner = Reasoner::new(
        "chatty",
        Scripted::new([exec(), exec(), ScriptedReply::text("It is full.")]),
    );
    let svit = Svit::builder("svit://local/told")
        .unwrap()
        .limits(Limits {
            max_outbox: 3,
            ..Limits::default()
        })
        .reasoner(reasoner)
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Chat.")).await.unwrap();
    assert_eq!(answer.text(), Some("It is full."));
    let events = svit.recent_events(100).await.unwrap();
    let refused = events
        .iter()
        .find(|event| event.body.get("is_error").and_then(Value::as_bool) == Some(true));
    let refused = refused.unwrap().body.to_json().unwrap();
    assert!(refused.contains("max_outbox"), "{refused}");
    assert_eq!(svit.process().intents(None, 10).unwrap().len(), 2);
}
