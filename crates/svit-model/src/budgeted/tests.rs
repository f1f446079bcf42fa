//! What is counted, and when it is enough.

use futures_util::{FutureExt, stream};

use super::*;
use crate::{FinishReason, Scripted, ScriptedReply, Usage, collect};

fn ask(provider: &impl Provider) -> Result<(), ModelError> {
    async {
        let stream = provider.respond(ModelRequest::default()).await?;
        collect(stream, |_| {}).await.map(drop)
    }
    .now_or_never()
    .unwrap()
}

fn model(input: u64, output: u64) -> Scripted {
    Scripted::from_fn(move |_| ScriptedReply::text("yes").usage(input, output))
}

#[test]
fn the_last_call_may_go_past_it_and_the_next_is_not_made() {
    let budget = Budgeted::new(model(60, 5), 100);
    let other = budget.clone();
    assert_eq!((budget.used(), budget.left()), (0, 100));
    ask(&budget).unwrap();
    assert_eq!((other.used(), other.left()), (65, 35));
    ask(&other).unwrap();
    assert_eq!((budget.used(), budget.left()), (130, 0));
    let refused = ask(&budget).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the budget of tokens is used up: 130 were used, 100 are allowed"
    );
    assert!(!refused.is_retryable());
    assert_eq!(budget.used(), 130);
}

#[test]
fn no_tokens_are_none_and_too_many_stay_at_the_most() {
    assert_eq!(
        ask(&Budgeted::new(model(1, 1), 0)).unwrap_err().code(),
        "budget_used_up"
    );
    let budget = Budgeted::new(model(u64::MAX, u64::MAX), u64::MAX);
    ask(&budget).unwrap();
    assert_eq!(budget.used(), u64::MAX);
    assert!(ask(&budget).is_err());
}

/// Says several times how many tokens it used, each time all of them.
struct Tells(&'static [u64], bool);

impl Provider for Tells {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let usage = self.0.iter().map(|tokens| {
            Ok(ModelEvent::Usage(Usage {
                input_tokens: *tokens,
                output_tokens: 0,
            }))
        });
        let end = match self.1 {
            true => Ok(ModelEvent::Finish(FinishReason::Stop)),
            false => Err(ModelError::broken("it broke")),
        };
        let events: Vec<_> = usage.chain([end]).collect();
        Box::pin(async { Ok(Box::pin(stream::iter(events)) as ModelStream) })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        ModelLimits::new(7)
    }
}

#[test]
fn a_call_counts_once_also_if_it_fails() {
    for (tells, ends_well, used) in [
        (&[10, 20, 30][..], true, 30),
        (&[30, 20, 10], true, 30),
        (&[10, 20], false, 20),
        (&[], true, 0),
    ] {
        let budget = Budgeted::new(Tells(tells, ends_well), 1_000);
        assert_eq!(ask(&budget).is_ok(), ends_well);
        assert_eq!(budget.used(), used, "{tells:?}");
        assert_eq!(budget.limits("any").context_tokens, 7);
    }
}
