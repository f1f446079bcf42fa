//! The six tools that a model has: path operations, the same as those of scripts and of Rust.

mod policy;
mod results;
#[cfg(test)]
mod tests;

use svit_model::{ToolCall, ToolResult, ToolSpec};
use svit_tree::{Node, Path, TreeError};
use svit_txn::{DurableProcess, Operation};
use svit_value::{List, Map, Text, Value, ValueError, value};

pub(crate) use policy::Runs;
pub use policy::ToolPolicy;
use results::{PAGE, page};
pub(crate) use results::{committed, error};

/// The names of all tools.
pub(crate) const NAMES: [&str; 6] = ["discover", "read", "stat", "write", "remove", "exec"];

/// The tools, as a model sees them under a policy.
pub(crate) fn specs(policy: &ToolPolicy) -> Vec<ToolSpec> {
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
    let mut specs = vec![
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
            "Read the value at a path. Says so when nothing is there, and when it was cut.",
            object(
                value!({
                    "path": path("Such as /memory/facts."),
                    "offset": {
                        "type": "integer",
                        "description": "For long text and lists: the character or item to begin at.",
                    },
                }),
                value!(["path"]),
            ),
        ),
        ToolSpec::new(
            "stat",
            "Facts about a path without its value: kind, access, entries, size, digest.",
            object(value!({"path": path("Any path.")}), value!(["path"])),
        ),
    ];
    if policy.writes() {
        specs.push(ToolSpec::new(
            "write",
            "Set the value at a path below /memory, /lib or a mount that grants it, and commit it. The \
             parent must exist. \
             A script is written to /lib/<name> as {\"source\": \"(define (main input) ..)\", \
             \"documentation\": \"..\"} and must compile.",
            object(
                value!({
                    "path": path("Below /memory, /lib or /mounts/<name>."),
                    "value": any("Any JSON value."),
                }),
                value!(["path", "value"]),
            ),
        ));
        specs.push(ToolSpec::new(
            "remove",
            "Remove what is at a path below /memory, /lib or a mount that grants it, and commit that.",
            object(
                value!({"path": path("Below /memory, /lib or /mounts/<name>.")}),
                value!(["path"]),
            ),
        ));
    }
    let input = any("The script's input; null if left out.");
    match policy.runs() {
        Runs::Everything => specs.push(ToolSpec::new(
            "exec",
            "Run a script and commit what it did as one step: either the one at `path`, \
             /lib/<name>, or a one-off `source` that defines (main input). Or call the port at `path`, \
             /ports/<name>, of which read gives the manual.",
            object(
                value!({
                    "path": path("The script, /lib/<name>, or the port, /ports/<name>. Leave out if `source` is given."),
                    "source": path("A one-off Svit Lisp program. Leave out if `path` is given."),
                    "input": input,
                }),
                value!([]),
            ),
        )),
        Runs::Chosen(names) => {
            let names = names.iter().map(|name| format!("/lib/{name}"));
            // Texts in a list are never too deep.
            let names = List::from_values(names).unwrap_or_default();
            specs.push(ToolSpec::new(
                "exec",
                "Run the script at `path` and commit what it did as one step.",
                object(
                    value!({
                        "path": {"type": "string", "enum": names},
                        "input": input,
                    }),
                    value!(["path"]),
                ),
            ));
        }
        Runs::Nothing => {}
    }
    specs
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
pub(crate) fn plan(process: &DurableProcess, policy: &ToolPolicy, call: &ToolCall) -> Plan {
    match read_call(process, policy, call) {
        Ok(plan) => plan,
        Err(Mistake(text)) => Plan::Answer(error(&call.id, &text)),
    }
}

/// Whether a call looks at something below a mount, which may take its time.
pub(crate) fn looks_at_mount(call: &ToolCall) -> bool {
    let path = call.arguments.get("path").and_then(Value::as_str);
    path.is_some_and(|path| path.starts_with("/mounts/"))
}

/// Whether a call is one of a tool that changes nothing.
pub(crate) fn only_reads(call: &ToolCall) -> bool {
    matches!(call.name.as_str(), "discover" | "read" | "stat")
}

/// Whether an operation writes below a mount.
pub(crate) fn writes_mount(operation: &Operation) -> bool {
    match operation {
        Operation::Write { path, .. } | Operation::Remove { path } => {
            Node::of(path) == Some(Node::Mounts)
        }
        _ => false,
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

    fn count(&self, key: &str, least: i64) -> Result<Option<usize>, Mistake> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Int(n)) if *n >= least => {
                Ok(Some(usize::try_from(*n).unwrap_or(usize::MAX)))
            }
            Some(_) => Err(Mistake(format!(
                "{}: `{key}` must be an integer from {least}",
                self.tool
            ))),
        }
    }
}

fn read_call(
    process: &DurableProcess,
    policy: &ToolPolicy,
    call: &ToolCall,
) -> Result<Plan, Mistake> {
    let known = specs(policy);
    if known.iter().all(|spec| spec.name != call.name) {
        let names: Vec<&str> = known.iter().map(|spec| spec.name.as_str()).collect();
        return Err(Mistake(format!(
            "there is no tool {:?} here; there are {}",
            call.name.chars().take(64).collect::<String>(),
            names.join(", ")
        )));
    }
    let arguments = Arguments::of(call)?;
    let answer = |content: Value| Ok(Plan::Answer(ToolResult::new(call.id.as_str(), content)));
    match call.name.as_str() {
        "discover" => {
            arguments.only(&["path", "after", "limit"])?;
            let (after, limit) = (arguments.text("after")?, arguments.count("limit", 1)?);
            let path = readable(policy, &arguments)?;
            let names = process.discover(&path)?;
            if names.is_empty() && process.stat(&path)?.is_none() {
                return Err(nothing_at(&path));
            }
            answer(page(names, after, limit.unwrap_or(PAGE).min(PAGE))?)
        }
        "read" => {
            arguments.only(&["path", "offset"])?;
            let offset = arguments.count("offset", 0)?;
            let path = readable(policy, &arguments)?;
            let value = process.read(&path)?.ok_or_else(|| nothing_at(&path))?;
            if offset.is_some() && !matches!(value, Value::Text(_) | Value::List(_)) {
                return Err(Mistake(format!(
                    "read: `offset` is for text and lists; at {path} is {}",
                    value.kind()
                )));
            }
            answer(results::read(&value, offset)?)
        }
        "stat" => {
            arguments.only(&["path"])?;
            let path = readable(policy, &arguments)?;
            let stat = process.stat(&path)?.ok_or_else(|| nothing_at(&path))?;
            answer(stat.to_value())
        }
        "write" => {
            arguments.only(&["path", "value"])?;
            let path = arguments.path()?;
            allow(policy.refuses_write(&path))?;
            let value = arguments.value("value")?;
            Ok(Plan::Commit(Operation::Write { path, value }))
        }
        "remove" => {
            arguments.only(&["path"])?;
            let path = arguments.path()?;
            allow(policy.refuses_write(&path))?;
            Ok(Plan::Commit(Operation::Remove { path }))
        }
        // The names were checked above: this is `exec`.
        _ => Ok(Plan::Commit(exec(policy, &arguments)?)),
    }
}

/// The path of a call that looks at something, if the policy lets it.
fn readable(policy: &ToolPolicy, arguments: &Arguments<'_>) -> Result<Path, Mistake> {
    let path = arguments.path()?;
    allow(policy.refuses_read(&path))?;
    Ok(path)
}

fn allow(refused: Option<String>) -> Result<(), Mistake> {
    refused.map_or(Ok(()), |why| Err(Mistake(why)))
}

fn nothing_at(path: &Path) -> Mistake {
    Mistake(format!(
        "nothing is at {path}; discover its parent to see what is there"
    ))
}

fn exec(policy: &ToolPolicy, arguments: &Arguments<'_>) -> Result<Operation, Mistake> {
    arguments.only(&["path", "source", "input"])?;
    let input = arguments.map.get("input").cloned().unwrap_or_default();
    match (arguments.text("path")?, arguments.text("source")?) {
        (Some(path), None) => {
            let path = Path::parse(path)?;
            allow(policy.refuses_exec(Some(&path)))?;
            Ok(Operation::Exec { path, input })
        }
        (None, Some(source)) => {
            allow(policy.refuses_exec(None))?;
            Ok(Operation::ExecSource {
                source: Text::from(source),
                input,
            })
        }
        _ => Err(Mistake(
            "exec: give either `path` or `source`, not both and not neither".to_owned(),
        )),
    }
}
