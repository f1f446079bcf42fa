//! Silence is for what runs in it, and ends with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

struct Count(Arc<AtomicUsize>);

impl Subscriber for Count {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn speak() {
    tracing::info!("a line");
}

#[test]
fn a_place_that_first_logs_in_silence_is_heard_outside_of_it() {
    let heard = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::with_default(Count(Arc::clone(&heard)), || {
        in_silence(speak);
        assert_eq!(heard.load(Ordering::Relaxed), 0);
        speak();
        speak();
    });
    assert_eq!(heard.load(Ordering::Relaxed), 2);
}
