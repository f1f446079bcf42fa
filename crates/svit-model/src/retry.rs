//! Trying again: waits that grow, with jitter, and only while nothing was passed on.

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::error::ModelError;
use crate::event::ModelStream;
use crate::provider::{BoxFuture, ModelLimits, ModelRequest, Provider};

/// A provider that asks another one again when it fails in a way that may pass.
///
/// It tries again on [retryable](ModelError::is_retryable) errors: a rate limit, status 408, 409 or 5xx, no
/// connection, a timeout, a stream that broke. It does so only before the first event of an answer was
/// passed on: from then on somebody has seen text or acted on a tool call, so the error is passed on too.
/// The wait doubles from [`first_wait`](Self::first_wait), each time a random part between the half and the
/// whole of it; the provider's `Retry-After` is honored when it is longer. If it is longer than
/// [`longest_wait`](Self::longest_wait), waiting is left to the caller: the error is returned at once.
///
/// Waiting needs a tokio runtime with time.
#[derive(Debug)]
pub struct Retry<P> {
    provider: P,
    attempts: u32,
    first_wait: Duration,
    longest_wait: Duration,
    jitter: AtomicU64,
}

impl<P: Provider> Retry<P> {
    /// Up to 5 attempts, waits from 0.5 s up to 60 s.
    pub fn new(provider: P) -> Self {
        Self {
            provider,
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            jitter: AtomicU64::new(RandomState::new().hash_one(0)),
        }
    }

    /// How many attempts there are in all (at least 1).
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The wait after the first failure, before jitter.
    #[must_use]
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// The longest wait between two attempts.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Makes the jitter the same in every run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self {
            jitter: AtomicU64::new(seed),
            ..self
        }
    }

    /// The wait before attempt number `next` (from 1), or `None` if there is to be none.
    fn wait(&self, error: &ModelError, next: u32) -> Option<Duration> {
        if next >= self.attempts || !error.is_retryable() {
            return None;
        }
        let doubled = 2_u32
            .checked_pow(next - 1)
            .and_then(|factor| self.first_wait.checked_mul(factor));
        let whole = doubled.map_or(self.longest_wait, |wait| wait.min(self.longest_wait));
        let own = whole.mul_f64(0.5 + self.random() / 2.0);
        match error.retry_after() {
            Some(asked) if asked > self.longest_wait => None,
            Some(asked) => Some(own.max(asked)),
            None => Some(own),
        }
    }

    /// A number from 0 to 1 (splitmix64; nothing secret hangs on it).
    fn random(&self) -> f64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut bits = self
            .jitter
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        f64::from((bits >> 32) as u32) / f64::from(u32::MAX)
    }

    /// One attempt: an answer whose first event is there, or the error instead of it.
    async fn attempt(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut stream = self.provider.respond(request).await?;
        match stream.next().await {
            Some(Ok(first)) => Ok(Box::pin(stream::iter([Ok(first)]).chain(stream))),
            Some(Err(error)) => Err(error),
            None => Err(ModelError::broken("the stream ended before it began")),
        }
    }
}

impl<P: Provider> Provider for Retry<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let mut next = 1;
            loop {
                let error = match self.attempt(request.clone()).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => error,
                };
                let Some(wait) = self.wait(&error, next) else {
                    return Err(error);
                };
                if tokio::runtime::Handle::try_current().is_err() {
                    return Err(ModelError::NoRuntime);
                }
                tracing::info!(
                    model = %request.model,
                    attempt = next,
                    code = error.code(),
                    wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    "model call failed; trying again"
                );
                tokio::time::sleep(wait).await;
                next += 1;
            }
        })
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.provider.limits(model)
    }
}
