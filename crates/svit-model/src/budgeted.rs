//! `Budgeted`: bounds the tokens that a provider may use in all.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;

use crate::error::ModelError;
use crate::event::{ModelEvent, ModelStream};
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};

/// A provider that may use so many tokens, requests and answers of all calls together. Clones share what
/// is left, so that one budget can be that of an agent and of what its scripts ask.
///
/// Looked at before each call: the last one may go past it, as the tokens of a call are known when it has
/// ended. A provider that counts nothing is not bounded by it. The count is of this program, and begins at
/// 0 when it starts.
///
/// ```
/// use svit_model::{Budgeted, Message, Reasoner, Scripted, ScriptedReply, collect};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let model = Scripted::from_fn(|_| ScriptedReply::text("Teal.").usage(90, 10));
/// let budget = Budgeted::new(model, 150);
/// let model = Reasoner::new("any", budget.clone());
/// for left in [50, 0] {
///     let stream = model.respond(None, vec![Message::user("Which color?")], vec![]).await?;
///     collect(stream, |_| {}).await?;
///     assert_eq!(budget.left(), left);
/// }
/// let refused = model.respond(None, vec![Message::user("Which color?")], vec![]).await;
/// assert_eq!(refused.err().unwrap().code(), "budget_used_up");
/// # Ok::<(), svit_model::ModelError>(())
/// # }).unwrap().unwrap();
/// ```
pub struct Budgeted<P> {
    provider: Arc<P>,
    allowed: u64,
    used: Arc<AtomicU64>,
}

impl<P> Clone for Budgeted<P> {
    fn clone(&self) -> Self {
        Self {
            provider: self.provider.clone(),
            allowed: self.allowed,
            used: self.used.clone(),
        }
    }
}

impl<P: Provider> Budgeted<P> {
    /// Lets a provider use so many tokens.
    pub fn new(provider: P, max_tokens: u64) -> Self {
        Self {
            provider: Arc::new(provider),
            allowed: max_tokens,
            used: Arc::default(),
        }
    }
}

impl<P> Budgeted<P> {
    /// The tokens used so far, which may be more than were allowed.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The tokens that are left.
    pub fn left(&self) -> u64 {
        self.allowed.saturating_sub(self.used())
    }
}

impl<P: Provider> Provider for Budgeted<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let (used, allowed) = (self.used(), self.allowed);
            if used >= allowed {
                return Err(ModelError::BudgetUsedUp { used, allowed });
            }
            let stream = self.provider.respond(request).await?;
            // The last count of a call stands for the whole of it.
            let (all, mut counted) = (self.used.clone(), 0_u64);
            let seen = stream.inspect(move |event| {
                if let Ok(ModelEvent::Usage(usage)) = event {
                    let more = usage.total().saturating_sub(counted);
                    counted = counted.saturating_add(more);
                    let add = |used: u64| Some(used.saturating_add(more));
                    let _ = all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
                }
            });
            Ok(Box::pin(seen) as ModelStream)
        })
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.provider.limits(model)
    }
}

impl<P> fmt::Debug for Budgeted<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgeted")
            .field("allowed", &self.allowed)
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
