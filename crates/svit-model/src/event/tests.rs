//! From a stream to one answer.

use std::time::Duration;

use futures_util::{FutureExt, stream};
use svit_value::value;

use super::*;

fn gather(events: Vec<Result<ModelEvent, ModelError>>) -> Result<ModelResponse, ModelError> {
    collect(Box::pin(stream::iter(events)), |_| {})
        .now_or_never()
        .unwrap()
}

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::TextDelta(text.into()))
}

fn opaque(number: i64) -> ContentPart {
    ContentPart::Opaque {
        kind: "k".into(),
        data: value!(number),
    }
}

#[test]
fn deltas_become_one_text() {
    let answer = gather(vec![
        text("a"),
        text("b"),
        Ok(ModelEvent::Finish(FinishReason::Stop)),
    ])
    .unwrap();
    assert_eq!(answer.message, Message::assistant("ab"));
    assert_eq!(answer.usage, Usage::default());
}

#[test]
fn an_answer_for_people_is_one_text_whatever_lies_between() {
    let answer = gather(vec![
        Ok(ModelEvent::Opaque(opaque(1))),
        text("a"),
        Ok(ModelEvent::ReasoningDelta("hm".into())),
        Ok(ModelEvent::Opaque(opaque(2))),
        text("b"),
        Ok(ModelEvent::Finish(FinishReason::Stop)),
    ])
    .unwrap();
    assert_eq!(
        answer.message.parts,
        [opaque(1), opaque(2), ContentPart::Text("ab".into())]
    );
    assert_eq!(answer.message.text(), Some("ab"));
}

#[test]
fn next_to_tool_calls_the_order_is_kept() {
    let call = ToolCall::new("1", "t", value!({}));
    let answer = gather(vec![
        text("a"),
        Ok(ModelEvent::Opaque(opaque(1))),
        Ok(ModelEvent::ToolCall(call.clone())),
        text("b"),
        Ok(ModelEvent::Usage(Usage {
            input_tokens: 2,
            output_tokens: 3,
        })),
        Ok(ModelEvent::Finish(FinishReason::ToolCalls)),
    ])
    .unwrap();
    let text = |text: &str| ContentPart::Text(text.into());
    assert_eq!(
        answer.message.parts,
        [text("a"), opaque(1), ContentPart::ToolCall(call), text("b")]
    );
    assert_eq!(answer.usage.total(), 5);
}

#[test]
fn a_stream_without_its_end_is_broken() {
    assert_eq!(gather(vec![text("a")]).unwrap_err().code(), "transient");
    assert_eq!(gather(vec![]).unwrap_err().code(), "transient");
    let refused = ModelError::Refused {
        detail: "no".into(),
    };
    assert_eq!(
        gather(vec![text("a"), Err(refused)]).unwrap_err().code(),
        "refused"
    );
}

#[test]
fn reasons_are_read_as_they_are_written() {
    for reason in [
        FinishReason::Stop,
        FinishReason::ToolCalls,
        FinishReason::Length,
        FinishReason::Other("eos".into()),
    ] {
        assert_eq!(FinishReason::from(reason.as_str()), reason);
    }
}

#[tokio::test]
async fn a_stream_that_always_has_something_leaves_room_for_a_deadline() {
    let endless = stream::repeat_with(|| text(""));
    let collected = collect(Box::pin(endless), |_| {});
    let left = tokio::time::timeout(Duration::from_millis(10), collected).await;
    assert!(left.is_err());
}

#[tokio::test]
async fn a_long_answer_is_whole() {
    let many = (0..1_000).map(|_| text("x"));
    let end = [Ok(ModelEvent::Finish(FinishReason::Stop))];
    let events = stream::iter(many.chain(end).collect::<Vec<_>>());
    let answer = collect(Box::pin(events), |_| {}).await.unwrap();
    assert_eq!(answer.message.text().map(str::len), Some(1_000));
}
