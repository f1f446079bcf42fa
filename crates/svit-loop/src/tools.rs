//! The six tools that a model has: path operations, the same as those of scripts and of Rust.

use svit_model::{ToolCall, ToolResult, ToolSpec};
use svit_tree::{Path, TreeError};
use svit_txn::{Activation, DurableProcess, Operation, Outcome};
use svit_value::{List, Map, Text, Value, ValueError, value};

use crate::thread::count;

/// The longest result that a model gets, in bytes of JSON. Longer ones are cut, and say so.
pub(crate) const MAX_RESULT_BYTES: usize = 32 * 1024;

/// How many names one `discover` gives unless the model asks for fewer.
const PAGE: usize = 200;

/// The tools, as a model sees them.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let path = |what: &str| value!({"type": "string", "description": what});
    let any = |what: &str| value!({"description": what});
    let object = |properties: Value, required: Value| {
        value!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    };
    vec![
        ToolSpec::new(
            "discover",
            "List the sorted names of the children of a path.",
            object(
                value!({
                    "path": path("Such as / or /memory."),
                    "after": path("List only names behind this one: how to page."),
                    "limit": {"type": "integer", "description": "At most so many names; 200 if left out."},
                }),
                value!(["path"]),
            ),
        ),
        ToolSpec::new(
            "read",
            "Read the value at a path. Says so when nothing is there.",
            object(
                value!({"path": path("Such as /memory/facts.")}),
                value!(["path"]),
            ),
        ),
        ToolSpec::new(
            "stat",
            "Facts about a path without its value: kind, access, entries, size, digest.",
            object(value!({"path": path("Any path.")}), value!(["path"])),
        ),
        ToolSpec::new(
            "write",
            "Set the value at a path below /memory or /lib and commit it. The parent must exist. \
             A script is written to /lib/<name> as {\"source\": \"(define (main input) ..)\", \
             \"documentation\": \"..\"} and must compile.",
            object(
                value!({
                    "path": path("Below /memory or /lib."),
                    "value": any("Any JSON value."),
                }),
                value!(["path", "value"]),
            ),
        ),
        ToolSpec::new(
            "remove",
            "Remove what is at a path below /memory or /lib and commit that.",
            object(
                value!({"path": path("Below /memory or /lib.")}),
                value!(["path"]),
            ),
        ),
        ToolSpec::new(
            "exec",
            "Run a script and commit what it did as one step: either the one at `path`, \
             /lib/<name>, or a one-off `source` that defines (main input).",
            object(
                value!({
                    "path": path("The script, /lib/<name>. Leave out if `source` is given."),
                    "source": path("A one-off Svit Lisp program. Leave out if `path` is given."),
                    "input": any("The script's input; null if left out."),
                }),
                value!([]),
            ),
        ),
    ]
}

/// What a call comes to: an answer at once, or an operation that commits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plan {
    /// Nothing is to be committed; this is the result.
    Answer(ToolResult),
    /// An operation whose outcome makes the result.
    Commit(Operation),
}

/// Reads a call, and answers it if it only reads. Mistakes of the model are results, in words that
/// let it mend the call.
pub(crate) fn plan(process: &DurableProcess, call: &ToolCall) -> Plan {
    match read_call(process, call) {
        Ok(plan) => plan,
        Err(Mistake(text)) => Plan::Answer(ToolResult::error(call.id.as_str(), text)),
    }
}

/// What is wrong with a call, in words for the model.
struct Mistake(String);

impl From<TreeError> for Mistake {
    fn from(error: TreeError) -> Self {
        Self(error.to_string())
    }
}

impl From<svit_txn::Error> for Mistake {
    fn from(error: svit_txn::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<ValueError> for Mistake {
    fn from(error: ValueError) -> Self {
        Self(error.to_string())
    }
}

/// The arguments of a call.
struct Arguments<'a> {
    tool: &'a str,
    map: &'a Map,
}

impl<'a> Arguments<'a> {
    fn of(call: &'a ToolCall) -> Result<Self, Mistake> {
        match call.input() {
            Ok(map) => Ok(Self {
                tool: &call.name,
                map,
            }),
            Err(malformed) => Err(Mistake(malformed.to_string())),
        }
    }

    fn only(&self, known: &[&str]) -> Result<(), Mistake> {
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(Mistake(format!(
                "{} has no argument {unknown:?}; it takes {}",
                self.tool,
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, Mistake> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(Mistake(format!(
                "{}: `{key}` must be a string, not {}",
                self.tool,
                other.kind()
            ))),
        }
    }

    fn path(&self) -> Result<Path, Mistake> {
        let text = self.text("path")?;
        let text = text.ok_or_else(|| Mistake(format!("{}: `path` is missing", self.tool)))?;
        Ok(Path::parse(text)?)
    }

    fn value(&self, key: &str) -> Result<Value, Mistake> {
        let value = self.map.get(key).cloned();
        value.ok_or_else(|| Mistake(format!("{}: `{key}` is missing", self.tool)))
    }

    fn limit(&self) -> Result<usize, Mistake> {
        match self.map.get("limit") {
            None | Some(Value::Null) => Ok(PAGE),
            Some(Value::Int(n)) if *n >= 1 => Ok(usize::try_from(*n).unwrap_or(PAGE).min(PAGE)),
            Some(_) => Err(Mistake(format!(
                "{}: `limit` must be a positive integer",
                self.tool
            ))),
        }
    }
}

fn read_call(process: &DurableProcess, call: &ToolCall) -> Result<Plan, Mistake> {
    let arguments = Arguments::of(call)?;
    let answer = |content: Value| Plan::Answer(ToolResult::new(call.id.as_str(), bounded(content)));
    match call.name.as_str() {
        "discover" => {
            arguments.only(&["path", "after", "limit"])?;
            let names = process.discover(arguments.path()?)?;
            let page = page(names, arguments.text("after")?, arguments.limit()?)?;
            Ok(answer(page))
        }
        "read" => {
            arguments.only(&["path"])?;
            let path = arguments.path()?;
            match process.read(&path)? {
                Some(value) => Ok(answer(value)),
                None => Err(Mistake(format!(
                    "nothing is at {path}; discover its parent to see what is there"
                ))),
            }
        }
        "stat" => {
            arguments.only(&["path"])?;
            let path = arguments.path()?;
            match process.stat(&path)? {
                Some(stat) => Ok(answer(stat.to_value())),
                None => Err(Mistake(format!("nothing is at {path}"))),
            }
        }
        "write" => {
            arguments.only(&["path", "value"])?;
            Ok(Plan::Commit(Operation::Write {
                path: arguments.path()?,
                value: arguments.value("value")?,
            }))
        }
        "remove" => {
            arguments.only(&["path"])?;
            Ok(Plan::Commit(Operation::Remove {
                path: arguments.path()?,
            }))
        }
        "exec" => Ok(Plan::Commit(exec(&arguments)?)),
        other => {
            let known: Vec<String> = specs().into_iter().map(|spec| spec.name).collect();
            Err(Mistake(format!(
                "there is no tool {other:?}; there are {}",
                known.join(", ")
            )))
        }
    }
}

fn exec(arguments: &Arguments<'_>) -> Result<Operation, Mistake> {
    arguments.only(&["path", "source", "input"])?;
    let input = arguments.map.get("input").cloned().unwrap_or_default();
    match (arguments.text("path")?, arguments.text("source")?) {
        (Some(path), None) => Ok(Operation::Exec {
            path: Path::parse(path)?,
            input,
        }),
        (None, Some(source)) => Ok(Operation::ExecSource {
            source: Text::from(source),
            input,
        }),
        _ => Err(Mistake(
            "exec: give either `path` or `source`, not both and not neither".to_owned(),
        )),
    }
}

fn page(names: Vec<Text>, after: Option<&str>, limit: usize) -> Result<Value, ValueError> {
    let behind: Vec<Text> = match after {
        // Indexes of a list sort by number, so a page continues behind the name, not by order.
        Some(after) => {
            let seen = names.iter().position(|name| name.as_str() == after);
            let start = seen.map_or_else(
                || names.partition_point(|name| name.as_str() <= after),
                |at| at + 1,
            );
            names.into_iter().skip(start).collect()
        }
        None => names,
    };
    let more = behind.len().saturating_sub(limit);
    let shown = List::from_values(behind.into_iter().take(limit))?;
    let mut page = Map::new();
    page.insert("names", shown)?;
    if more > 0 {
        page.insert("more", count(more as u64))?;
        page.insert(
            "hint",
            "call discover again with `after` set to the last name",
        )?;
    }
    Ok(page.into())
}

/// A result that a model can take: as it is, or its beginning with a note on how to see the rest.
pub(crate) fn bounded(content: Value) -> Value {
    let json = match content.to_json() {
        Ok(json) if json.len() <= MAX_RESULT_BYTES => return content,
        Ok(json) => json,
        Err(error) => error.to_string(),
    };
    let mut end = MAX_RESULT_BYTES.min(json.len());
    while !json.is_char_boundary(end) {
        end -= 1;
    }
    value!({
        "cut": true,
        "bytes": count(json.len() as u64),
        "beginning": &json[..end],
        "hint": "too long to show; discover the path and read the parts you need",
    })
}

/// The result of a committed operation for the model, and its effect for the trace.
pub(crate) fn committed(
    call_id: &str,
    outcome: &Outcome,
) -> Result<(ToolResult, Value), ValueError> {
    match outcome {
        Outcome::Activation(activation) => {
            let result = ToolResult::new(call_id, bounded(activation_result(activation)?));
            Ok((result, activation_effect(activation)?))
        }
        Outcome::Change(change) => {
            let paths = change.paths.iter().map(|changed| changed.path.to_string());
            let paths = List::from_values(paths)?;
            let result = value!({"version": count(change.version), "changed": paths.clone()});
            let effect = value!({
                "before": count(change.version - 1),
                "version": count(change.version),
                "root": change.root.to_string(),
                "changed": paths,
            });
            Ok((ToolResult::new(call_id, result), effect))
        }
        _ => Ok((ToolResult::new(call_id, Value::Null), Value::Null)),
    }
}

fn activation_result(activation: &Activation) -> Result<Value, ValueError> {
    let logs = activation.logs.iter().map(|log| {
        value!({
            "level": log.level.as_str(),
            "message": log.message.clone(),
            "fields": log.fields.clone(),
        })
    });
    let changed = activation.changed.iter().map(Path::to_string);
    Ok(value!({
        "output": activation.output.clone(),
        "logs": List::from_values(logs)?,
        "version": count(activation.version),
        "changed": List::from_values(changed)?,
        "ticks": count(activation.ticks),
    }))
}

fn activation_effect(activation: &Activation) -> Result<Value, ValueError> {
    let loaded = activation.loaded.iter().map(|read| {
        value!({
            "path": read.path.to_string(),
            "digest": read.digest.map_or(Value::Null, |digest| Value::from(digest.to_string())),
        })
    });
    let changed = activation.changed.iter().map(Path::to_string);
    let intents = activation.messages.iter().map(|intent| intent.id.as_str());
    Ok(value!({
        "before": count(activation.before),
        "version": count(activation.version),
        "root": activation.root.to_string(),
        "ticks": count(activation.ticks),
        "budget": count(activation.budget),
        "loaded": List::from_values(loaded)?,
        "changed": List::from_values(changed)?,
        "intents": List::from_values(intents)?,
    }))
}
