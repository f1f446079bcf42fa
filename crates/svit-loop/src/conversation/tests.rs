//! What comes next, and what a model is shown, as a table of stories.

use svit_model::Role;
use svit_value::{Value, value};

use super::*;

/// A conversation from a line for each event: `start T`, `ask`, `answer STEP CALLS`, `begin STEP
/// INDEX`, `end STEP INDEX`, `finish T`, `fail T`, `give-up T`, `stray`.
fn told(story: &str) -> Conversation {
    let mut conversation = Conversation::default();
    let mut turn = 0;
    let mut seq = 0;
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        if matches!(words[0], "start") {
            turn = number(1);
        }
        let site = |kind| {
            let (step, index) = (number(1), number(2));
            let call_id = format!("{step}.{index}");
            (
                kind,
                value!({
                    "turn": turn, "step": step, "index": index, "call_id": call_id.clone(),
                    "name": "read", "result": call_id, "is_error": false, "effect": Value::Null,
                }),
            )
        };
        let failed = |is_final: bool| value!({"turn": number(1), "final": is_final});
        let events: Vec<(&str, Value)> = match words[0] {
            "start" => vec![
                (kind::TURN_STARTED, value!({"turn": turn})),
                (
                    kind::MESSAGE_ACCEPTED,
                    value!({
                        "turn": turn, "message": Message::user(line).to_value().unwrap(),
                    }),
                ),
            ],
            "ask" => vec![(kind::MODEL_REQUESTED, value!({"turn": turn}))],
            "answer" => {
                let mut message = Message::assistant(line);
                for index in 0..number(2) {
                    let call = ToolCall::new(format!("{}.{index}", words[1]), "read", value!({}));
                    message.parts.push(svit_model::ContentPart::ToolCall(call));
                }
                vec![(
                    kind::MODEL_RESPONDED,
                    value!({
                        "turn": turn, "step": number(1), "message": message.to_value().unwrap(),
                        "input_tokens": 10, "output_tokens": 1,
                    }),
                )]
            }
            "begin" => vec![site(kind::TOOL_STARTED)],
            "end" => vec![site(kind::TOOL_FINISHED)],
            "finish" => vec![(kind::TURN_FINISHED, value!({"turn": number(1)}))],
            "fail" => vec![(kind::TURN_FAILED, failed(false))],
            "give-up" => vec![(kind::TURN_FAILED, failed(true))],
            "stray" => vec![("later.version", Value::Null)],
            other => panic!("{other}"),
        };
        for (kind, body) in events {
            let event = ThreadEvent {
                seq,
                kind: kind.into(),
                body,
            };
            conversation.apply(&event).unwrap();
            seq += 1;
        }
    }
    conversation
}

fn next(conversation: &Conversation, turn: u64) -> String {
    match conversation.next(turn) {
        Next::Start => "start".to_owned(),
        Next::Ended => "ended".to_owned(),
        Next::Ask { step } => format!("ask {step}"),
        Next::Run {
            site,
            call,
            started,
            ..
        } => {
            assert_eq!(call.id, format!("{}.{}", site.step, site.index));
            let again = if started { " again" } else { "" };
            format!("run {}{again}", site.request_id())
        }
    }
}

#[test]
fn what_comes_next_follows_from_the_events() {
    for (story, turn, expected) in [
        ("", 1, "start"),
        ("stray", 1, "start"),
        ("start 1", 1, "ask 0"),
        ("start 1\nask\nask", 1, "ask 0"),
        ("start 1\nanswer 0 2", 1, "run 1.0.0"),
        ("start 1\nanswer 0 2\nbegin 0 0", 1, "run 1.0.0 again"),
        ("start 1\nanswer 0 2\nbegin 0 0\nend 0 0", 1, "run 1.0.1"),
        // Whatever order they ended in.
        ("start 1\nanswer 0 3\nend 0 2\nend 0 0", 1, "run 1.0.1"),
        ("start 1\nanswer 0 1\nend 0 0", 1, "ask 1"),
        ("start 1\nanswer 0 1\nend 0 0\nanswer 1 1", 1, "run 1.1.0"),
        // Events of another step or index are not taken for this one's.
        ("start 1\nanswer 0 1\nend 1 0\nend 0 7", 1, "run 1.0.0"),
        ("start 1\nanswer 0 1\nfail 1", 1, "run 1.0.0"),
        ("start 1\nanswer 0 0\nfinish 1", 1, "ended"),
        ("start 1\nanswer 0 0\nfinish 1", 2, "start"),
        ("start 1\nanswer 0 1\ngive-up 1", 1, "ended"),
        // Given up before it began.
        ("give-up 1", 1, "ended"),
        // A fork shares the events up to a failed attempt, and has messages of its own.
        ("start 1\nanswer 0 1\nfail 1", 5, "start"),
        ("start 1\nanswer 0 1\nfail 1\nstart 5", 5, "ask 0"),
    ] {
        assert_eq!(next(&told(story), turn), expected, "{story}");
    }
}

#[test]
fn every_call_has_its_result_in_request_order() {
    for (story, roles, results) in [
        ("start 1\nanswer 0 3\nend 0 2\nend 0 0", "ua", ""),
        (
            "start 1\nanswer 0 3\nend 0 2\nend 0 0\nend 0 1",
            "uat",
            "0.0 0.1 0.2",
        ),
        ("start 1\nanswer 0 2\nend 0 1\ngive-up 1", "uat", "!0.0 0.1"),
        (
            "start 1\nanswer 0 1\nend 0 0\nanswer 1 0\nfinish 1",
            "uata",
            "0.0",
        ),
        ("start 1\nanswer 0 1\nfail 1\nstart 5", "uatu", "!0.0"),
        (
            "start 1\nfail 1\nfail 1\ngive-up 1\nstart 2\nanswer 0 0\nfinish 2",
            "uua",
            "",
        ),
    ] {
        let conversation = told(story);
        let role = |message: &Message| match message.role {
            Role::User => 'u',
            Role::Assistant => 'a',
            Role::Tool => 't',
        };
        let found: String = conversation.messages().iter().map(role).collect();
        assert_eq!(found, roles, "{story}");
        let found: Vec<String> = conversation
            .messages()
            .iter()
            .flat_map(Message::tool_results)
            .map(|result| {
                format!(
                    "{}{}",
                    if result.is_error { "!" } else { "" },
                    result.call_id
                )
            })
            .collect();
        assert_eq!(found.join(" "), results, "{story}");
    }
}

#[test]
fn failures_are_counted_until_the_turn_ends() {
    let failures = |story| told(story).failures(1);
    assert_eq!(failures("start 1"), 0);
    assert_eq!(failures("start 1\nfail 1\nask\nfail 1"), 2);
    assert_eq!(failures("start 1\nfail 1\nanswer 0 0\nfinish 1"), 0);
    assert_eq!(failures("start 1\nfail 1\ngive-up 1"), 0);
}

#[test]
fn what_a_turn_spent_and_the_thread_used() {
    let conversation = told("start 1\nanswer 0 2\nend 0 0\nend 0 1\nfail 1\nanswer 1 3");
    let spent = conversation.spent();
    assert_eq!((spent.steps, spent.tool_calls, spent.tokens), (2, 5, 22));
    assert_eq!(conversation.usage().total(), 22);
    let next = told("start 1\nanswer 0 2\ngive-up 1\nstart 2");
    assert_eq!(next.spent(), Spent::default(), "a budget is one turn's");
    assert_eq!(next.usage().total(), 11);
}

#[test]
fn events_that_are_not_ours_are_named() {
    let mut conversation = Conversation::default();
    for (kind, body) in [
        (kind::TURN_STARTED, value!({})),
        (kind::TURN_STARTED, value!({"turn": -1})),
        (kind::MESSAGE_ACCEPTED, value!({"turn": 1, "message": 1})),
        (kind::TURN_FAILED, value!({"turn": 1, "final": "yes"})),
        (kind::TOOL_FINISHED, Value::Null),
    ] {
        let event = ThreadEvent {
            seq: 7,
            kind: kind.into(),
            body,
        };
        let error = conversation.apply(&event).unwrap_err();
        assert_eq!(error.code(), "bad_event");
        assert!(
            error.to_string().contains(&format!("7 ({kind})")),
            "{error}"
        );
    }
}
