//! Keeps `genai`'s log lines in: they hold what was said, and what servers echo.

#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::OnceLock;

use tracing::dispatcher::{Dispatch, with_default};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Takes everything and shows nothing. It is a subscriber of its own, not [`Dispatch::none`]: with that one,
/// places that log for the first time in here would be remembered as silent by the whole program.
struct Silence;

impl Subscriber for Silence {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::never()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::OFF)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs something whose log lines nobody may see.
pub(crate) fn in_silence<T>(run: impl FnOnce() -> T) -> T {
    static SILENCE: OnceLock<Dispatch> = OnceLock::new();
    with_default(SILENCE.get_or_init(|| Dispatch::new(Silence)), run)
}

/// Runs a future whose log lines nobody may see.
pub(crate) async fn silent<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| in_silence(|| future.as_mut().poll(context))).await
}
