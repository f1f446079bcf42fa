//! What a script may ask of the world: the tree, other scripts, logs, messages and ports.

use std::sync::OnceLock;

use svit_tree::Node;
use svit_tree::guest::{GuestErrorKind, LogLevel};
use svit_value::{List, Map, Text, Value};

use super::{Outcome, null, owned_text_at, path_at, row, text_at};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::run::{Fault, soft};
use crate::engine::value::to_tree;
use crate::table::{self, Kind, Row};

const TREE: &str = "tree";
const HOST: &str = "host";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "discover",
            "(discover path)",
            TREE,
            "Sorted names of the children of a path.",
            (1, 1),
            discover,
        ),
        row(
            "read",
            "(read path [default])",
            TREE,
            "The value at a path; the default, or null, if there is none.",
            (1, 2),
            read,
        ),
        row(
            "stat",
            "(stat path)",
            TREE,
            "Facts about a path as a map.",
            (1, 1),
            stat,
        ),
        row(
            "write",
            "(write path value)",
            TREE,
            "Sets the value at a path when the activation commits.",
            (2, 2),
            write,
        ),
        row(
            "remove",
            "(remove path)",
            TREE,
            "Removes what is at a path; false if nothing was there.",
            (1, 1),
            remove,
        ),
        row(
            "exec",
            "(exec path [input])",
            TREE,
            "Runs another script in the same activation and gives its result.",
            (1, 2),
            exec,
        ),
        row(
            "log-info!",
            "(log-info! message [fields])",
            HOST,
            "Adds a log record.",
            (1, 2),
            log_info,
        ),
        row(
            "log-warn!",
            "(log-warn! message [fields])",
            HOST,
            "Adds a warning to the log.",
            (1, 2),
            log_warn,
        ),
        row(
            "log-error!",
            "(log-error! message [fields])",
            HOST,
            "Adds an error to the log.",
            (1, 2),
            log_error,
        ),
        row(
            "send!",
            "(send! message)",
            HOST,
            "Puts a message in the outbox when the activation commits.",
            (1, 1),
            send,
        ),
        row(
            "port-call",
            "(port-call name [input])",
            HOST,
            "Calls a port of the host and waits for its answer.",
            (1, 2),
            port_call,
        ),
        row(
            "ticks-left",
            "(ticks-left)",
            HOST,
            "Ticks that are left of the budget.",
            (0, 0),
            ticks_left,
        ),
        row(
            "runtime-builtins",
            "(runtime-builtins)",
            HOST,
            "This list: name, signature, category, summary, ticks.",
            (0, 0),
            runtime_builtins,
        ),
        row(
            "panic",
            "(panic [message])",
            HOST,
            "Ends the script with an error.",
            (0, 1),
            panic,
        ),
    ]
}

/// A value that leaves the script; past its limits the activation ends.
pub(super) fn leaving(call: &Call<'_>, value: &K) -> Result<Value, Fault> {
    let value = to_tree(value)?;
    if let Err(error) = call.run.limits.value.check(&value) {
        let message = format!("{}: {error}", call.name);
        return Err(call
            .run
            .halt(GuestErrorKind::Limit, "value_too_large", message));
    }
    Ok(value)
}

fn leaving_or_null(call: &Call<'_>, args: &[K], index: usize) -> Result<Value, Fault> {
    args.get(index)
        .map_or(Ok(Value::Null), |value| leaving(call, value))
}

fn discover(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    let names = call
        .run
        .host()?
        .discover(&path)
        .map_err(|e| call.run.host_error(e))?;
    let list = List::from_values(names).map_err(crate::engine::value::too_large)?;
    call.run.fresh(Value::List(list))
}

fn read(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    match call
        .run
        .host()?
        .read(&path)
        .map_err(|e| call.run.host_error(e))?
    {
        Some(value) => call.run.borrowed(value),
        None => args
            .get(1)
            .map_or_else(|| null(call), |default| Ok(default.clone())),
    }
}

fn stat(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    let facts = call
        .run
        .host()?
        .stat(&path)
        .map_err(|e| call.run.host_error(e))?;
    call.run.fresh(facts)
}

fn write(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    let value = leaving(call, &args[1])?;
    call.run
        .host()?
        .write(&path, value)
        .map_err(|e| call.run.host_error(e))?;
    null(call)
}

fn remove(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    let was_there = call
        .run
        .host()?
        .remove(&path)
        .map_err(|e| call.run.host_error(e))?;
    Ok(K::Bool(was_there))
}

fn exec(call: &Call<'_>, args: &[K]) -> Outcome {
    let path = path_at(call, args, 0)?;
    let input = leaving_or_null(call, args, 1)?;
    let run = call.run;
    let host = run.host()?;
    let output = match Node::of(&path) {
        // A port: the host waits for its answer, as for `port-call`.
        Some(Node::Ports) => run.off_the_clock(|| host.exec(&path, input)),
        _ => run.around(|| host.exec(&path, input)),
    };
    run.fresh(output.map_err(|e| run.host_error(e))?)
}

fn log(call: &Call<'_>, args: &[K], level: LogLevel) -> Outcome {
    let message = owned_text_at(args, 0)?;
    let fields = match args.get(1) {
        Some(fields) => leaving(call, fields)?,
        None => Value::Map(Map::new()),
    };
    leaving(call, &args[0])?;
    call.run
        .host()?
        .log(level, message, fields)
        .map_err(|e| call.run.host_error(e))?;
    null(call)
}

fn log_info(call: &Call<'_>, args: &[K]) -> Outcome {
    log(call, args, LogLevel::Info)
}

fn log_warn(call: &Call<'_>, args: &[K]) -> Outcome {
    log(call, args, LogLevel::Warn)
}

fn log_error(call: &Call<'_>, args: &[K]) -> Outcome {
    log(call, args, LogLevel::Error)
}

fn send(call: &Call<'_>, args: &[K]) -> Outcome {
    let message = leaving(call, &args[0])?;
    call.run
        .host()?
        .send(message)
        .map_err(|e| call.run.host_error(e))?;
    null(call)
}

fn port_call(call: &Call<'_>, args: &[K]) -> Outcome {
    let name = text_at(args, 0)?;
    let input = leaving_or_null(call, args, 1)?;
    let run = call.run;
    let host = run.host()?;
    let answer = run.off_the_clock(|| host.port_call(name, input));
    run.fresh(answer.map_err(|e| run.host_error(e))?)
}

fn ticks_left(call: &Call<'_>, _args: &[K]) -> Outcome {
    Ok(call.run.host()?.meter().left().into())
}

fn panic(_call: &Call<'_>, args: &[K]) -> Outcome {
    let message = match args.first() {
        None => "the script gave up".to_owned(),
        Some(value) => super::text::shown(value)?,
    };
    Err(soft("panic", message))
}

/// The catalog, as a list of maps.
pub(crate) fn catalog() -> &'static Value {
    static CATALOG: OnceLock<Value> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let entry = |(index, row): (usize, &Row)| {
            let price = table::price(index as u16);
            let ticks = match row.kind {
                Kind::Prelude => "by its steps".to_owned(),
                Kind::Native(_) => match (price.input, price.output) {
                    (0, 0) => price.base.to_string(),
                    (i, 0) => format!("{} + {i}/8 per cell read", price.base),
                    (0, o) => format!("{} + {o}/8 per cell made", price.base),
                    (i, o) => format!("{} + {i}/8 per cell read + {o}/8 per cell made", price.base),
                },
            };
            let fields = [
                ("name", row.name),
                ("signature", row.signature),
                ("category", row.category),
                ("summary", row.summary),
                ("ticks", &ticks),
            ];
            Map::from_entries(fields.map(|(k, v)| (Text::from(k), Value::from(v))))
                .unwrap_or_default()
        };
        let shown = table::rows()
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.is_internal());
        List::from_values(shown.map(entry))
            .map(Value::List)
            .unwrap_or_default()
    })
}

fn runtime_builtins(call: &Call<'_>, _args: &[K]) -> Outcome {
    call.run.borrowed(catalog().clone())
}
