//! Questions over values: `search` and `jq`, answered by `svit-query` on the activation's own meter. The
//! functions exist in every build; one whose feature is off fails with `unavailable`.

use super::row;
use crate::table::Row;

const QUERY: &str = "query";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "jq",
            "(jq filter value)",
            QUERY,
            "The list of the results of a jq filter on a value.",
            (2, 2),
            JQ,
        ),
        row(
            "search",
            "(search path pattern [options])",
            QUERY,
            "Matches of a regular expression in the keys and texts below a path.",
            (2, 3),
            SEARCH,
        ),
    ]
}

#[cfg(feature = "jq")]
const JQ: crate::engine::Native = jq::jq;
#[cfg(not(feature = "jq"))]
const JQ: crate::engine::Native = unavailable;

#[cfg(feature = "search")]
const SEARCH: crate::engine::Native = search::search;
#[cfg(not(feature = "search"))]
const SEARCH: crate::engine::Native = unavailable;

#[cfg(not(all(feature = "jq", feature = "search")))]
fn unavailable(call: &crate::engine::call::Call<'_>, _args: &[crate::engine::K]) -> super::Outcome {
    Err(crate::engine::run::soft(
        "unavailable",
        format!("{} is not available in this build", call.name),
    ))
}

#[cfg(any(feature = "jq", feature = "search"))]
fn failed(
    run: &crate::engine::run::Run,
    error: &svit_query::QueryError,
) -> crate::engine::run::Fault {
    if matches!(error, svit_query::QueryError::OutOfTicks(_)) {
        return run.out_of_ticks();
    }
    #[cfg(feature = "jq")]
    if matches!(error, svit_query::QueryError::Interrupted) {
        // It was the clock, or the ticks were taken away.
        return match run.look_at_clock() {
            Err(fault) => fault,
            Ok(()) => run.out_of_ticks(),
        };
    }
    crate::engine::run::soft(error.code(), error.to_string())
}

#[cfg(feature = "search")]
mod search {
    use svit_query::QueryError;
    use svit_query::search::{
        Cut, Failure, Found, Hit, HostMounts, MAX_PATTERN_POSITIONS, Pattern, SearchOptions,
    };
    use svit_tree::{Node, Path};
    use svit_value::{List, Map, Text, Value, ValueError};

    use super::super::{Outcome, map_at, path_at, text_at};
    use super::failed;
    use crate::engine::K;
    use crate::engine::call::Call;
    use crate::engine::run::{Fault, Run, soft};
    use crate::engine::value::too_large;

    /// Ticks for each unit of a pattern's cost, beside those of the search: what compiling it may take.
    const TICKS_PER_COST: u64 = 50;
    /// The most hits that a script may ask for.
    const MAX_HITS: i64 = 200;

    pub(super) fn search(call: &Call<'_>, args: &[K]) -> Outcome {
        let path = path_at(call, args, 0)?;
        let text = text_at(args, 1)?;
        let (options, plain) = options(args)?;
        let run = call.run;
        let pattern = match plain {
            true => Pattern::text(text),
            false => Pattern::regex(text),
        };
        // A pattern that is too large was compiled until that was seen.
        let cost = match &pattern {
            Ok(pattern) => pattern.cost(),
            Err(QueryError::PatternTooLarge { .. }) => MAX_PATTERN_POSITIONS,
            Err(_) => 1,
        };
        run.charge(cost.saturating_mul(TICKS_PER_COST))?;
        run.look_at_clock()?;
        let pattern = pattern.map_err(|error| failed(run, &error))?;
        let (found, base) = match path.is_root() || Node::of(&path) == Some(Node::Mounts) {
            true => (mounted(run, &path, &pattern, &options)?, Path::root()),
            false => {
                let below = read(run, &path)?;
                let (root, meter) = (Path::root(), run.host()?.meter());
                let found = svit_query::search::search(&below, &root, &pattern, &options, meter);
                (found.map_err(|error| failed(run, &error))?, path)
            }
        };
        run.look_at_clock()?;
        let hits = found.hits.iter().map(|hit| shown(&base, hit));
        let hits: Vec<Value> = hits.collect::<Result<_, _>>().map_err(too_large)?;
        let cut = found
            .cut
            .map_or(Ok(Value::Null), |cut| stopped(&base, &cut));
        let hits = List::from_values(hits).map_err(too_large)?;
        let mut answer = Map::new();
        answer.insert("hits", hits).map_err(too_large)?;
        answer
            .insert("cut", cut.map_err(too_large)?)
            .map_err(too_large)?;
        if !found.failures.is_empty() {
            let failures = found.failures.iter().map(unseen);
            let failures: Vec<Value> = failures.collect::<Result<_, _>>().map_err(too_large)?;
            let failures = List::from_values(failures).map_err(too_large)?;
            answer.insert("failures", failures).map_err(too_large)?;
        }
        run.fresh(Value::Map(answer))
    }

    fn read(run: &Run, path: &Path) -> Result<Value, Fault> {
        let read = run.host()?.read(path).map_err(|e| run.host_error(e))?;
        read.ok_or_else(|| soft("missing", format!("there is nothing at {path}")))
    }

    /// A search that looks into mounts, one node at a time, as the script itself would see them.
    fn mounted(
        run: &Run,
        path: &Path,
        pattern: &Pattern,
        options: &SearchOptions,
    ) -> Result<Found, Fault> {
        // Only what is not in a mount is read at once.
        let root = match path.len() {
            0 => read(run, path)?,
            1 => map([("mounts", read(run, path)?)]).map_err(too_large)?,
            _ => Value::Null,
        };
        let host = run.host()?;
        let mounts = HostMounts::new(&**host);
        let found = svit_query::search::search_mounted(
            &root,
            &mounts,
            path,
            pattern,
            options,
            host.meter(),
        );
        found.map_err(|error| match error {
            QueryError::Stopped(refusal) => run.host_error(refusal),
            error => failed(run, &error),
        })
    }

    fn unseen(failure: &Failure) -> Result<Value, ValueError> {
        map([
            ("path", failure.at.to_string().into()),
            ("code", failure.why.code.clone().into()),
        ])
    }

    /// What the third argument says: bounds, and whether the pattern is plain text.
    fn options(args: &[K]) -> Result<(SearchOptions, bool), Fault> {
        let (mut options, mut plain) = (SearchOptions::default(), false);
        if args.len() < 3 {
            return Ok((options, plain));
        }
        for (key, value) in map_at(args, 2)?.iter() {
            match (key.as_str(), value) {
                ("plain", Value::Bool(said)) => plain = *said,
                ("max_hits", Value::Int(n @ 1..=MAX_HITS)) => options.max_hits = *n as usize,
                _ => {
                    return Err(soft(
                        "bad_option",
                        format!(
                            "the options are \"plain\", true or false, and \"max_hits\", 1 to {MAX_HITS}"
                        ),
                    ));
                }
            }
        }
        Ok((options, plain))
    }

    fn shown(base: &Path, hit: &Hit) -> Result<Value, ValueError> {
        let number = |n: usize| Value::Int(n as i64);
        map([
            ("path", below(base, &hit.path)),
            ("part", hit.part.as_str().into()),
            ("begin", number(hit.range.start)),
            ("end", number(hit.range.end)),
            ("excerpt", hit.excerpt.clone().into()),
        ])
    }

    fn stopped(base: &Path, cut: &Cut) -> Result<Value, ValueError> {
        map([
            ("bound", cut.bound.as_str().into()),
            ("at", below(base, &cut.at)),
        ])
    }

    /// The whole path of a node that the search knows by its path below `base`.
    fn below(base: &Path, path: &Path) -> Value {
        match (base.is_root(), path.is_root()) {
            (true, _) => path.to_string().into(),
            (_, true) => base.to_string().into(),
            _ => format!("{base}{path}").into(),
        }
    }

    fn map<const N: usize>(entries: [(&str, Value); N]) -> Result<Value, ValueError> {
        let entries = entries.map(|(key, value)| (Text::from(key), value));
        Map::from_entries(entries).map(Value::Map)
    }
}

#[cfg(feature = "jq")]
mod jq {
    use svit_query::jq::{Filter, Interrupt, JqOptions};
    use svit_value::Value;

    use super::super::host::leaving;
    use super::super::{Outcome, text_at};
    use super::failed;
    use crate::engine::K;
    use crate::engine::call::Call;

    /// Ticks for a filter with a mistake, and one more for each byte of it: it was read all the same.
    const REFUSED: u64 = 200;

    pub(super) fn jq(call: &Call<'_>, args: &[K]) -> Outcome {
        let filter = text_at(args, 0)?;
        let input = leaving(call, &args[1])?;
        let run = call.run;
        let options = JqOptions {
            // What the filter makes on the way and drops again counts too.
            max_bytes: run.memory_left(),
            limits: run.limits.value,
            interrupt: Some(Interrupt::new(run.ending()?)),
            ..JqOptions::default()
        };
        let filter = match Filter::new(filter) {
            Ok(filter) => filter,
            Err(error) => {
                run.charge(REFUSED + filter.len() as u64)?;
                run.look_at_clock()?;
                return Err(failed(run, &error));
            }
        };
        let results = filter.run(&input, &options, run.host()?.meter());
        run.look_at_clock()?;
        let results = results.map_err(|error| failed(run, &error))?;
        run.fresh(Value::List(results))
    }
}
