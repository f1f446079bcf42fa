//! Script files: everything that can be said, and mistakes with their place.

use super::*;
use crate::model_server::request::Wire;

fn request(number: usize, turn: usize) -> Request {
    Request {
        wire: Wire::Responses,
        number,
        turn,
        attempt: 0,
        model: "m".into(),
        streaming: true,
        body: Value::Null,
    }
}

#[test]
fn a_file_says_all_that_a_program_can() {
    let script = Script::from_json(
        r#"{"key": "k", "by": "requests", "replies": [
            {"text": "a", "refusal": "b", "reasoning": "c", "finish": "length", "usage": [1, 2],
             "calls": [{"name": "t"}, {"id": "i", "name": "t", "arguments": {"x": 1}}, {"name": "t", "raw_arguments": "{"}],
             "first": [{"status": 429, "retry_after": "1", "code": "c", "message": "m"}, {"hang_up": true},
                       {"cut_after": 1}, {"end_after": 2}, {"malformed_json": 3},
                       {"error_after": 4, "code": "c", "message": "m"}, {"stall": 5}],
             "fault": {"slow": {"octets": 0, "pause_ms": 6}}}
        ]}"#,
    )
    .unwrap();
    assert_eq!(script.key(), "k");
    let status = Fault::Status {
        status: 429,
        retry_after: Some("1".into()),
        code: "c".into(),
        message: "m".into(),
    };
    let expected = Reply::text("a")
        .reasoning("c")
        .finish("length")
        .usage(1, 2)
        .and_call(Call::raw("t", "{}"))
        .and_call(Call {
            id: Some("i".into()),
            ..Call::raw("t", "{\"x\":1}")
        })
        .and_call(Call::raw("t", "{"))
        .first(status)
        .first(Fault::HangUp)
        .first(Fault::CutAfter(1))
        .first(Fault::EndAfter(2))
        .first(Fault::MalformedJson(3))
        .first(Fault::ErrorAfter {
            events: 4,
            code: "c".into(),
            message: "m".into(),
        })
        .first(Fault::Stall(5))
        .with_fault(Fault::Slow {
            octets: 1,
            pause: Duration::from_millis(6),
        });
    let expected = Reply {
        refusal: Some("b".into()),
        ..expected
    };
    assert_eq!(script.answer(&request(0, 7)), Some(expected));
    assert_eq!(script.answer(&request(1, 0)), None);
}

#[test]
fn turns_count_the_conversation_and_requests_the_server() {
    let replies = || [Reply::text("0"), Reply::text("1")];
    assert_eq!(
        Script::turns(replies()).answer(&request(9, 1)),
        Some(Reply::text("1"))
    );
    assert_eq!(
        Script::requests(replies()).answer(&request(0, 9)),
        Some(Reply::text("0"))
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, place) in [
        ("{", "the file"),
        ("[]", "the file"),
        (r#"{"replies": [], "extra": 1}"#, "the file"),
        (r"{}", "replies"),
        (r#"{"by": "luck", "replies": []}"#, "by"),
        (r#"{"replies": [{"txt": "a"}]}"#, "replies[0]"),
        (r#"{"replies": [{"text": 1}]}"#, "replies[0]"),
        (r#"{"replies": [{"usage": [1]}]}"#, "replies[0]"),
        (
            r#"{"replies": [{}, {"calls": [{}]}]}"#,
            "replies[1].calls[0]",
        ),
        (
            r#"{"replies": [{"calls": [{"name": "t", "arguments": {}, "raw_arguments": ""}]}]}"#,
            "replies[0].calls[0]",
        ),
        (
            r#"{"replies": [{"fault": {"boom": 1}}]}"#,
            "replies[0].fault",
        ),
        (
            r#"{"replies": [{"fault": {"status": 200}}]}"#,
            "replies[0].fault",
        ),
        (
            r#"{"replies": [{"first": [{"status": 500, "wait": 1}]}]}"#,
            "replies[0].first[0]",
        ),
    ] {
        assert_eq!(Script::from_json(text).unwrap_err().place, place, "{text}");
    }
}
