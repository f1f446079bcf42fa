//! `Filter::run`: one evaluation within its bounds.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaq_core::data::HasLut;
use jaq_core::{Ctx, DataT, Lut, Vars};
use svit_tree::guest::Meter;
use svit_value::{List, Value, ValueLimits};

use super::gauge::{self, Gauge, Stop};
use super::natives::regexes;
use super::value::{Error, Val};
use super::{Filter, stack};
use crate::{FilterLimit, QueryError};

#[cfg(panic = "abort")]
compile_error!("a filter is stopped by unwinding: the feature `jq` needs panic = \"unwind\"");

/// What asking costs, whatever the filter: a small filter is compiled for less.
const CALL: u64 = 200;

/// Bounds of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JqOptions {
    /// The most results. Default 1,000.
    pub max_results: usize,
    /// Bytes of all values that the filter makes on the way, those it drops again included. Default 256 MiB.
    pub max_bytes: u64,
    /// What each result, and all of them together, must be within. Default that of [`ValueLimits`].
    pub limits: ValueLimits,
    /// Asked about every 16,000 ticks whether somebody wants the run to end. Default none.
    pub interrupt: Option<Interrupt>,
}

/// A question to whoever runs a filter, asked now and then on the thread of the run: should it end? It then
/// ends with [`QueryError::Interrupted`]. Clocks and signals stay with the caller: see [`JqOptions::interrupt`].
///
/// Two are equal if they are clones of one.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// Ends a run soon after `ask` says true.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    pub(crate) fn is_asked(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

impl PartialEq for Interrupt {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interrupt {}

impl Default for JqOptions {
    fn default() -> Self {
        Self {
            max_results: 1_000,
            max_bytes: 256 << 20,
            limits: ValueLimits::default(),
            interrupt: None,
        }
    }
}

/// The types that the interpreter works with.
#[derive(Debug)]
pub(crate) struct Data;

/// What each context of the interpreter carries. The interpreter asks it for the table of terms once for each
/// evaluation, which is where steps are counted, and clones it with the context.
pub(crate) struct Handle<'a> {
    lut: &'a Lut<Data>,
    /// Evaluations that this context is inside of.
    nesting: Cell<u32>,
}

impl DataT for Data {
    type V<'a> = Val;
    type Data<'a> = Handle<'a>;
}

impl<'a> Handle<'a> {
    fn new(lut: &'a Lut<Data>, nesting: u32) -> Self {
        gauge::enter(nesting);
        Self {
            lut,
            nesting: Cell::new(nesting),
        }
    }
}

impl Clone for Handle<'_> {
    fn clone(&self) -> Self {
        Self::new(self.lut, self.nesting.get())
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        gauge::leave(self.nesting.get());
    }
}

impl<'a> HasLut<'a, Data> for Handle<'a> {
    fn lut(&self) -> &'a Lut<Data> {
        gauge::deeper(self.nesting.get());
        let nesting = self.nesting.get() + 1;
        self.nesting.set(nesting);
        gauge::step(nesting, &nesting);
        self.lut
    }
}

/// Compiles a filter, or finds it compiled, and runs it: [`Filter::new`] and [`Filter::run`].
///
/// ```
/// use svit_query::jq::{JqOptions, jq};
/// use svit_tree::guest::Meter;
/// use svit_value::value;
///
/// let answer = value!({"items": [{"name": "pen", "price": 3}, {"name": "desk", "price": 120}]});
/// let meter = Meter::new(10_000);
/// let dear = jq(".items[] | select(.price > 100) | .name", &answer, &JqOptions::default(), &meter)?;
/// assert_eq!(dear.iter().collect::<Vec<_>>(), [&value!("desk")]);
/// # Ok::<(), svit_query::QueryError>(())
/// ```
///
/// # Errors
/// Those of [`Filter::new`] and [`Filter::run`].
pub fn jq(
    filter: &str,
    input: &Value,
    options: &JqOptions,
    meter: &Meter,
) -> Result<List, QueryError> {
    Filter::new(filter)?.run(input, options, meter)
}

impl Filter {
    /// Runs the filter on a value and gives all its results in order.
    ///
    /// Results and ticks depend on the arguments alone: see the [module](crate::jq) for the price.
    ///
    /// # Errors
    /// [`QueryError::FilterFailed`] when the filter raises an error that it does not catch;
    /// [`QueryError::FilterLimit`] for more results than allowed, results too large, too many bytes made,
    /// recursion too deep; [`QueryError::OutOfTicks`] and [`QueryError::Interrupted`], which nothing inside the
    /// filter can catch.
    ///
    /// ```
    /// use svit_query::jq::{Filter, JqOptions};
    /// use svit_tree::guest::Meter;
    /// use svit_value::Value;
    ///
    /// let run = |text| Filter::new(text)?.run(&Value::Null, &JqOptions::default(), &Meter::new(5_000));
    /// assert_eq!(run("[range(5)] | add")?.get(0), Some(&Value::from(10)));
    /// assert_eq!(run("error(\"no\")").unwrap_err().to_string(), "the filter failed: no");
    /// let endless = run("try repeat(1) catch .").unwrap_err();
    /// assert_eq!(endless.code(), "filter_limit"); // more than 1,000 results
    /// let endless = run("last(repeat(1))").unwrap_err();
    /// assert_eq!((endless.code(), endless.is_hard()), ("out_of_ticks", true));
    /// # Ok::<(), svit_query::QueryError>(())
    /// ```
    pub fn run(
        &self,
        input: &Value,
        options: &JqOptions,
        meter: &Meter,
    ) -> Result<List, QueryError> {
        meter.charge(CALL)?;
        stack::with_enough(self.chains(), || {
            let gauge = Gauge::new(
                meter.left(),
                options.max_bytes,
                options.interrupt.clone(),
                self.chains(),
                stack::floor(),
            );
            regexes::forget();
            let ended = catch_unwind(AssertUnwindSafe(|| self.evaluate(input, options)));
            regexes::forget();
            let ticks = gauge.used_ticks();
            drop(gauge);
            let stopped = match ended {
                Ok(result) => {
                    meter.charge(ticks)?;
                    return result;
                }
                Err(payload) => payload.downcast_ref::<Stop>().copied(),
            };
            if stopped == Some(Stop::Ticks) {
                // One more than there are: the meter then counts as used up.
                meter.charge(u64::MAX)?;
            }
            meter.charge(ticks)?;
            if stopped == Some(Stop::Interrupted) {
                return Err(QueryError::Interrupted);
            }
            Err(stopped.map_or(QueryError::FilterBroken, |stop| limit(stop, options)))
        })
    }

    fn evaluate(&self, input: &Value, options: &JqOptions) -> Result<List, QueryError> {
        let filter = self.compiled();
        let context = Ctx::<Data>::new(Handle::new(&filter.lut, 0), Vars::new([]));
        let mut results = List::new();
        for result in filter.id.run((context, Val::Plain(input.clone()))) {
            let value = match result.map_err(jaq_core::Exn::get_err) {
                Ok(value) => value.into_value(),
                Err(Ok(error)) => return Err(failed(error)),
                // `halt` and `break` outside of its label: there is no such filter.
                Err(Err(_)) => return Err(QueryError::FilterBroken),
            };
            if results.len() >= options.max_results {
                return Err(QueryError::FilterLimit {
                    limit: FilterLimit::Results,
                    allowed: options.max_results as u64,
                });
            }
            options.limits.check(&value)?;
            results.push(value)?;
        }
        options.limits.check(&Value::List(results.clone()))?;
        Ok(results)
    }
}

fn failed(error: Error) -> QueryError {
    let value = error.into_val().into_value();
    let message = match &value {
        Value::Text(text) => text[..text.floor_char_boundary(500)].to_owned(),
        other => other.to_string(),
    };
    QueryError::FilterFailed { message, value }
}

fn limit(stop: Stop, options: &JqOptions) -> QueryError {
    let (limit, allowed) = match stop {
        Stop::Bytes => (FilterLimit::Bytes, options.max_bytes),
        Stop::Stack => (FilterLimit::Stack, 0),
        Stop::Nesting => (FilterLimit::Nesting, u64::from(gauge::MAX_NESTING)),
        Stop::Waiting => (FilterLimit::Waiting, u64::from(gauge::MAX_WAITING)),
        Stop::Chained => (FilterLimit::Chained, u64::from(gauge::MAX_CHAINED)),
        Stop::Depth => (FilterLimit::Depth, u64::from(svit_value::MAX_DEPTH)),
        // Handled before: these have errors of their own.
        Stop::Ticks | Stop::Interrupted => (FilterLimit::Bytes, 0),
    };
    QueryError::FilterLimit { limit, allowed }
}
