//! A typed line: a command if it begins with `:`, else a message.

use svit::Value;

use crate::command::Command;
use crate::failure::{Failure, usage};

/// What `:help` prints.
pub(crate) const HELP: &str = "\
what begins with `:` is a command, everything else is a message to the model
:show PATH [--at VERSION]   the value at a path, now or at a version
:discover PATH              the names below a path
:stat PATH                  facts about a path
:write PATH JSON            set a value below /memory, /lib, or a mount that is writable
:remove PATH                remove what is there
:exec PATH JSON             run a script of /lib and commit what it did
:log [PATH]                 every version, or those that changed a path, with what it changed
:diff A B                   what differs between two versions
:export FILE                write a snapshot to a new file
:help, :quit
a path with spaces stands in double quotes; `::` begins a message that begins with `:`
";

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    Nothing,
    Message(String),
    Command(Command),
    Help,
    Quit,
}

/// Reads a line, which may hold newlines if it was pasted.
pub(crate) fn parse(line: &str) -> Result<Line, Failure> {
    let line = line.trim();
    let Some(order) = line.strip_prefix(':') else {
        let message = || Line::Message(line.to_owned());
        return Ok(if line.is_empty() {
            Line::Nothing
        } else {
            message()
        });
    };
    if order.starts_with(':') {
        return Ok(Line::Message(order.to_owned()));
    }
    let (name, rest) = first_word(order);
    match name {
        "" => Ok(Line::Nothing),
        "help" | "h" | "?" => Ok(Line::Help),
        "quit" | "q" | "exit" => Ok(Line::Quit),
        // It makes an instance, and this one is there.
        "import" => Err(usage(
            "`import` is for an instance that is not there yet: lampa import FILE",
        )),
        "send" => Ok(Line::Message(rest.to_owned())),
        _ => command(name, rest).map(Line::Command),
    }
}

fn command(name: &str, rest: &str) -> Result<Command, Failure> {
    let (mut words, mut at) = (Vec::new(), None);
    match name {
        "show" | "read" | "discover" | "stat" | "remove" => {
            let (path, behind) = match quoted(rest)? {
                Some(split) => split,
                None => match rest.rsplit_once(" --at ") {
                    Some((path, version)) => {
                        at = Some(version.trim().to_owned());
                        (path.trim().to_owned(), "")
                    }
                    None => (rest.to_owned(), ""),
                },
            };
            if let Some(version) = behind.strip_prefix("--at") {
                at = Some(version.trim().to_owned());
            } else if !behind.is_empty() {
                words.push(behind.to_owned());
            }
            words.insert(0, path);
        }
        "write" | "exec" => {
            let (path, value) = match quoted(rest)? {
                Some(split) => split,
                None => {
                    let (path, value) = first_word(rest);
                    (path.to_owned(), value)
                }
            };
            words = vec![path, value.to_owned()];
        }
        "export" => words.push(rest.to_owned()),
        _ => words.extend(rest.split_whitespace().map(str::to_owned)),
    }
    words.retain(|word| !word.is_empty());
    Command::of(name, words.into_iter(), at)
}

fn first_word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

/// A text in double quotes, as JSON writes it, and what is behind it.
fn quoted(text: &str) -> Result<Option<(String, &str)>, Failure> {
    if !text.starts_with('"') {
        return Ok(None);
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => {
                let read = Value::from_json(&text[..=at]).map_err(|source| Failure::Json {
                    what: "path",
                    source,
                    is_word: false,
                })?;
                let path = read.as_str().unwrap_or_default().to_owned();
                return Ok(Some((path, text[at + 1..].trim_start())));
            }
            c => is_escaped = c == '\\' && !is_escaped,
        }
    }
    Err(usage("a path that begins with `\"` ends with one"))
}

#[cfg(test)]
mod tests;
