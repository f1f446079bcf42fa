//! Every rule of the store contract as a check that runs against any store.
//!
//! ```
//! use std::sync::Arc;
//! use svit_testkit::conformance;
//! use svit_txn::MemoryStore;
//!
//! # futures_lite::future::block_on(async {
//! conformance::store(async || Arc::new(MemoryStore::new())).await.unwrap();
//! # });
//! ```
//!
//! A store that needs a runtime is tested inside it. Each check gets a store of its own, so that a
//! store in a file needs a new file each time. A store that outlives the program is tested with
//! [`durable_store`] too, which closes it and opens it again between the steps.

mod appends;
mod bases;
mod checkpoints;
mod cuts;
mod deletions;
mod garbage;
mod owners;
mod reads;
mod reopened;
mod retention;
mod sample;

use std::sync::Arc;

use futures_lite::FutureExt;
use svit_txn::{BoxFuture, ProcessStore};

use super::Broken;
use reopened::Reopened;

/// A store under test.
type Store = Arc<dyn ProcessStore>;

/// One rule, and the code that checks it. An error says what was seen instead.
struct Check {
    name: &'static str,
    run: fn(Store) -> BoxFuture<'static, Result<(), String>>,
}

/// Fails a check if a result is not this error.
macro_rules! ensure_refused {
    ($result:expr, $error:pat, $($said:tt)+) => {
        match &$result {
            Err($error) => {}
            other => return Err(format!("{}: got {other:?}", format!($($said)+))),
        }
    };
}

/// The checks of one file.
macro_rules! checks {
    ($($name:ident)*) => {
        pub(super) const CHECKS: &[super::Check] = &[
            $(super::Check { name: stringify!($name), run: |store| Box::pin($name(store)) },)*
        ];
    };
}

use {checks, ensure_refused};

use super::{ensure, ensure_eq};

/// Runs every rule of [`ProcessStore`] against the stores that `make` makes, each against a new one.
///
/// # Errors
/// [`Broken`], with every rule that does not hold.
pub async fn store<S: ProcessStore + 'static>(
    make: impl AsyncFn() -> Arc<S>,
) -> Result<(), Broken> {
    run_all(async || make().await as Store).await
}

/// The same for a store that outlives the program: `reopen` closes it and opens what it has stored,
/// and does so before anything is read that comes after a write. It is left open only while a
/// checkpoint is unfinished, which a store may forget when it is closed. Nothing else holds the store
/// that `reopen` is given.
///
/// # Errors
/// [`Broken`], with every rule that does not hold.
pub async fn durable_store<S, R>(make: impl AsyncFn() -> Arc<S>, reopen: R) -> Result<(), Broken>
where
    S: ProcessStore + 'static,
    R: Fn(Arc<S>) -> BoxFuture<'static, Arc<S>> + Send + Sync + 'static,
{
    let reopen = Arc::new(reopen);
    run_all(async || Arc::new(Reopened::new(make().await, reopen.clone())) as Store).await
}

async fn run_all(make: impl AsyncFn() -> Store) -> Result<(), Broken> {
    let mut rules = Vec::new();
    for check in all() {
        let store = make().await;
        if let Err(seen) = run(check, store).await {
            rules.push((check.name, seen));
        }
    }
    Broken::unless_none("store", rules)
}

/// The names of all rules, in the order in which they are checked.
pub fn rules() -> impl Iterator<Item = &'static str> {
    all().map(|check| check.name)
}

fn all() -> impl Iterator<Item = &'static Check> {
    [
        bases::CHECKS,
        appends::CHECKS,
        owners::CHECKS,
        reads::CHECKS,
        retention::CHECKS,
        checkpoints::CHECKS,
        cuts::CHECKS,
        deletions::CHECKS,
        garbage::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// Runs one check; a store that panics breaks the rule.
async fn run(check: &Check, store: Store) -> Result<(), String> {
    let caught = std::panic::AssertUnwindSafe((check.run)(store)).catch_unwind();
    caught
        .await
        .unwrap_or_else(|_| Err("the store panicked".to_owned()))
}

#[cfg(test)]
mod tests;
