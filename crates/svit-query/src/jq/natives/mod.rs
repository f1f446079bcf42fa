//! The functions that are written in Rust, by subject.

pub(crate) mod format;
pub(crate) mod lists;
pub(crate) mod math;
pub(crate) mod regexes;
pub(crate) mod text;
pub(crate) mod time;

use std::cmp::Ordering;

use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::native::{Filter, Fun, bome, run, v};
use jaq_core::{Bind, Exn, RunPtr, ValX};

use super::run::Data;
use super::value::Val;
use super::{gauge, json};

type Run = Filter<RunPtr<Data>>;

/// Functions of the input and of arguments that are values: `name => function, arguments`.
macro_rules! functions {
    (@run $function:path, 0) => { |cv| bome($function(cv.1)) };
    (@run $function:path, 1) => { |mut cv| { let a = cv.0.pop_var(); bome($function(cv.1, a)) } };
    (@run $function:path, 2) => {
        |mut cv| {
            let (b, a) = (cv.0.pop_var(), cv.0.pop_var());
            bome($function(cv.1, a, b))
        }
    };
    (@run $function:path, 3) => {
        |mut cv| {
            let (c, b, a) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
            bome($function(cv.1, a, b, c))
        }
    };
    ($($name:literal => $function:path, $arguments:tt;)*) => {
        vec![$(($name, v($arguments), functions!(@run $function, $arguments))),*]
    };
}
use functions;

/// All of them, those of the interpreter included, but for those that loop without being charged.
pub(crate) fn all() -> impl Iterator<Item = Fun<Data>> {
    let replaced = ["range", "keys_unsorted", "key_values"];
    let own = [
        constants(),
        vec![("range", v(3), range as RunPtr<Data>)],
        lists::functions(),
        text::functions(),
        format::functions(),
        math::functions(),
        time::functions(),
        regexes::functions(),
    ];
    jaq_core::funs::<Data>()
        .filter(move |(name, _, _)| !replaced.contains(name))
        .chain(
            own.into_iter()
                .flatten()
                .map(|function: Run| run::<Data>(function)),
        )
}

fn constants() -> Vec<Run> {
    let none = || Box::<[Bind]>::from([]);
    vec![
        ("null", none(), |_| box_once(Ok(Val::NULL))),
        ("true", none(), |_| box_once(Ok(Val::from(true)))),
        ("false", none(), |_| box_once(Ok(Val::from(false)))),
        ("nan", none(), |_| box_once(Ok(Val::Wild(f64::NAN)))),
        ("infinite", none(), |_| {
            box_once(Ok(Val::Wild(f64::INFINITY)))
        }),
        ("not", none(), |cv| {
            box_once(Ok(Val::from(!jaq_core::ValT::as_bool(&cv.1))))
        }),
        ("type", none(), |cv| {
            box_once(Ok(Val::from(cv.1.type_name())))
        }),
        ("tostring", none(), |cv| {
            box_once(Ok(jaq_core::ValT::into_string(cv.1)))
        }),
        ("tojson", none(), |cv| {
            let text = json::to_text(&cv.1.into_value());
            box_once(Ok(Val::Plain(text.into())))
        }),
    ]
}

/// `range/3`, a tick for each number: the interpreter's own evaluates nothing while it counts.
fn range<'a>(mut cv: jaq_core::Cv<'a, Data>) -> BoxIter<'a, ValX<'a, Val>> {
    let (by, to, from) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
    if [&by, &to, &from]
        .iter()
        .any(|bound| bound.number().is_none())
    {
        return bome(super::value::fail("Range bounds must be numeric"));
    }
    let up = by.partial_cmp(&Val::from(0_i64)).unwrap_or(Ordering::Equal);
    let mut next = Some(from);
    Box::new(std::iter::from_fn(move || {
        let now = next.take()?;
        let order = now.partial_cmp(&to)?;
        // No way leads to the end with a step of 0.
        let inside = match up {
            Ordering::Greater | Ordering::Equal => order.is_lt(),
            Ordering::Less => order.is_gt(),
        };
        if !inside {
            return None;
        }
        gauge::charge(1);
        match now.clone() + by.clone() {
            Ok(then) => next = Some(then),
            Err(error) => return Some(Err(Exn::from(error))),
        }
        Some(Ok(now))
    }))
}
