//! What the engine's own lists and closures pass through on their way in and out of ours.

use super::{MANY, Outcome, row};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::run::soft;
use crate::engine::value::{Items, held, kind};
use crate::table::Row;

const GLUE: &str = "internal";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("%spread", "", GLUE, "", (1, 1), spread),
        row("%rest", "", GLUE, "", (1, 1), rest),
        row("%close", "", GLUE, "", (1, 1), close),
        row("%site", "", GLUE, "", (0, MANY), site),
    ]
}

/// A list as the engine's own, which `apply` needs.
fn spread(call: &Call<'_>, args: &[K]) -> Outcome {
    let items = Items::of(&args[0]).ok_or_else(|| {
        soft(
            "wrong_type",
            format!(
                "the last argument of apply should be a list, found {}",
                kind(&args[0])
            ),
        )
    })?;
    let room = call.run.limits.max_value_stack;
    if items.len() > room as usize {
        return Err(call.run.limit("max_value_stack", room.into(), "values"));
    }
    call.run.charge(items.len() as u64 / 4)?;
    Ok(items.to_vec(call.run, held(&args[0]))?.into())
}

/// The arguments that the engine collected for a `:rest` parameter, as a list of ours.
fn rest(call: &Call<'_>, args: &[K]) -> Outcome {
    match &args[0] {
        K::List(items) => {
            call.run.charge(items.len() as u64 / 8)?;
            call.run.list(items.to_vec())
        }
        other => Ok(other.clone()),
    }
}

/// Lets a closure pass if it holds no more than a closure may.
fn close(call: &Call<'_>, args: &[K]) -> Outcome {
    let shape = call.run.shape(&args[0])?;
    if shape.depth > crate::engine::data::MAX_DEPTH {
        let allowed = crate::engine::data::MAX_DEPTH.into();
        return Err(call.run.limit("max_closure_depth", allowed, "levels"));
    }
    Ok(args[0].clone())
}

/// The place is recorded by every call; this one does nothing else.
fn site(_call: &Call<'_>, _args: &[K]) -> Outcome {
    Ok(K::Unit)
}
