//! The console without a screen: lines in, lines out, for pipes and for terminals that can no more.

use std::io::{self, BufRead, Read};

use svit::{List, Value, value};

use crate::failure::{Failure, usage};
use crate::line::{self, Line};
use crate::printable::one_line;
use crate::results::{self, Shown, count};
use crate::session::Session;

/// The longest line in bytes; a message is no longer than a text may be.
const MAX_LINE: u64 = 1_024 * 1_024;

/// Reads lines up to the end of the input, and does what each says. Gives back whether all of it
/// could be done.
pub(crate) async fn run(session: &Session, as_json: bool) -> Result<bool, Failure> {
    greeting(session)?.print(as_json)?;
    let mut all_done = true;
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        match answer(session, line).await {
            Ok(Answer::Nothing) => {}
            Ok(Answer::Shown(shown)) => shown.print(as_json)?,
            Ok(Answer::Quit) => break,
            Err(failure) => {
                all_done = false;
                refused(&failure, as_json)?;
            }
        }
    }
    Ok(all_done)
}

/// What a line comes to.
enum Answer {
    Nothing,
    Shown(Shown),
    Quit,
}

async fn answer(session: &Session, line: Result<String, Failure>) -> Result<Answer, Failure> {
    Ok(Answer::Shown(match line::parse(&line?)? {
        Line::Nothing => return Ok(Answer::Nothing),
        Line::Quit => return Ok(Answer::Quit),
        Line::Message(text) => results::send(session.talk()?, &text).await?,
        Line::Command(command) => results::perform(session, command).await?,
        Line::Help => Shown {
            lines: line::HELP.to_owned(),
            json: line::HELP.into(),
        },
    }))
}

/// What is open, and what it can reach.
fn greeting(session: &Session) -> Result<Shown, Failure> {
    let process = session.process();
    let mut lines = one_line(&format!(
        "{}, version {}",
        process.address(),
        process.version()
    )) + "\n";
    for sentence in about(session) {
        lines += &(one_line(&sentence) + "\n");
    }
    Ok(Shown {
        lines,
        json: value!({
            "address": (process.address().as_str()),
            "version": (count(process.version())),
            "model": (session.model.clone().map_or(Value::Null, Value::from)),
            "grants": (List::from_values(session.grants.iter().map(String::as_str))?),
        }),
    })
}

/// What a console says when it opens: what can be reached, and who answers.
pub(crate) fn about(session: &Session) -> Vec<String> {
    let mut said = session.grants.clone();
    said.push(match &session.model {
        Ok(model) => format!("{model} answers; :help lists the commands"),
        Err(variable) => format!(
            "no model answers: set {variable} (--model for another model, --help for how) and open it \
             again; commands work, :help lists them"
        ),
    });
    said
}

fn refused(failure: &Failure, as_json: bool) -> Result<(), Failure> {
    let sentence = failure.sentence();
    let json = value!({"error": {"code": (failure.code()), "message": (sentence.as_str())}});
    if as_json {
        return results::print(&(json.to_json()? + "\n"));
    }
    results::print(&format!("refused: {}\n", one_line(&sentence)))
}

/// The lines of the input, read on a thread of their own, so that the loop goes on meanwhile.
fn lines() -> tokio::sync::mpsc::Receiver<Result<String, Failure>> {
    let (out, lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next_line(&mut input).transpose() {
            // A line that cannot be used is told; input that cannot be read is the end.
            let is_end = matches!(line, Err(Failure::Input(_)));
            if out.blocking_send(line).is_err() || is_end {
                break;
            }
        }
    });
    lines
}

fn next_line(input: &mut impl BufRead) -> Result<Option<String>, Failure> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
    if read.map_err(Failure::Input)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
        skip_line(input).map_err(Failure::Input)?;
        return Err(usage(format!("a line has at most {MAX_LINE} bytes")));
    }
    let line = String::from_utf8(line).map_err(|_| usage("a line is UTF-8"))?;
    Ok(Some(line))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let held = input.fill_buf()?;
        if held.is_empty() {
            return Ok(());
        }
        let end = held.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(held.len(), |at| at + 1);
        input.consume(skipped);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
