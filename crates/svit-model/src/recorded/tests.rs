//! What is kept of answers, and how it is answered again.

use futures_util::FutureExt;
use proptest::prelude::*;
use svit_value::value;

use super::*;
use crate::{FinishReason, Message, Role, Scripted, ScriptedReply, ToolCall, Usage, collect};

fn ask(provider: &impl Provider) -> Result<ModelResponse, ModelError> {
    async {
        let stream = provider.respond(ModelRequest::default()).await?;
        collect(stream, |_| {}).await
    }
    .now_or_never()
    .unwrap()
}

#[test]
fn what_was_kept_is_answered_again_in_order() {
    let rich = ScriptedReply::text("I look. ")
        .and_opaque("sealed", value!({"n": 1}))
        .and_call("read", value!({"path": "/memory"}))
        .and_reasoning("hm")
        .and_call("stat", value!({"path": "/lib"}))
        .usage(100, 7);
    let cut = ScriptedReply::text("Te").finish(FinishReason::Length);
    let replies = [rich, cut, ScriptedReply::text("")];
    let calls = AtomicUsize::new(0);
    let model = Scripted::from_fn(move |_| replies[calls.fetch_add(1, Ordering::SeqCst)].clone());
    let recording = Recording::new(model);
    let first: Vec<_> = (0..3).map(|_| ask(&recording).unwrap()).collect();
    assert_eq!(recording.responses(), first);
    assert_eq!(recording.clone().responses(), first);

    let recorded = Recorded::new(recording.responses());
    // Clones go on where the others are.
    let again = [ask(&recorded), ask(&recorded.clone()), ask(&recorded)];
    let again: Vec<_> = again.into_iter().map(Result::unwrap).collect();
    assert_eq!(again, first);
    let exhausted = ask(&recorded).unwrap_err();
    assert_eq!(
        exhausted.to_string(),
        "the script has 3 answers, and was asked for answer 4"
    );
    assert_eq!(recorded.limits("any").context_tokens, u64::MAX);
    assert_eq!(recorded.context_tokens(5).limits("any").context_tokens, 5);
}

#[test]
fn answers_that_fail_or_are_left_are_not_kept() {
    let refused = ModelError::Refused {
        detail: "no".to_owned(),
    };
    let replies = [
        ScriptedReply::error(refused.clone()),
        ScriptedReply::text("half").and_error(refused),
        ScriptedReply::text("left half-way"),
        ScriptedReply::text("whole"),
    ];
    let calls = AtomicUsize::new(0);
    let model = Scripted::from_fn(move |_| replies[calls.fetch_add(1, Ordering::SeqCst)].clone());
    let recording = Recording::new(model);
    assert!(ask(&recording).is_err());
    assert!(ask(&recording).is_err());
    let left = async {
        let mut stream = recording.respond(ModelRequest::default()).await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());
    };
    left.now_or_never().unwrap();
    assert!(recording.responses().is_empty());
    let whole = ask(&recording).unwrap();
    assert_eq!(recording.responses(), [whole]);
}

fn part() -> impl Strategy<Value = ContentPart> {
    prop_oneof![
        ".{0,12}".prop_map(ContentPart::Text),
        (".{0,4}", ".{0,4}", any::<i64>()).prop_map(|(id, name, n)| ContentPart::ToolCall(
            ToolCall::new(id, name, value!({"n": n}))
        )),
        (".{0,4}", any::<i64>()).prop_map(|(kind, n)| ContentPart::Opaque {
            kind,
            data: value!(n),
        }),
    ]
}

proptest! {
    /// Once gathered, an answer stays as it is, however often it is recorded and answered.
    #[test]
    fn any_answer_comes_back_as_it_was(
        parts in prop::collection::vec(part(), 0..8),
        tokens in any::<(u64, u64)>(),
        finish in ".{0,8}",
    ) {
        let given = ModelResponse {
            message: Message::new(Role::Assistant, parts),
            usage: Usage { input_tokens: tokens.0, output_tokens: tokens.1 },
            finish: FinishReason::from(finish.as_str()),
        };
        let once = ask(&Recorded::new([given.clone()])).unwrap();
        prop_assert_eq!((&once.usage, &once.finish), (&given.usage, &given.finish));
        let calls = |response: &ModelResponse| response.message.tool_calls().cloned().collect::<Vec<_>>();
        prop_assert_eq!(calls(&once), calls(&given));
        let recording = Recording::new(Recorded::new([once.clone()]));
        prop_assert_eq!(&ask(&recording).unwrap(), &once);
        prop_assert_eq!(recording.responses(), [once]);
    }
}
