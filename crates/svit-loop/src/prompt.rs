//! The system prompt: who the process is, how its namespace works, which scripts it has, and what
//! the host instructs.

use std::fmt::Write as _;

use svit_tree::Path;
use svit_txn::DurableProcess;
use svit_value::Value;

use crate::failure::is_harmful;
use crate::tools::{Runs, ToolPolicy};

/// How many scripts the catalog names.
const CATALOG: usize = 100;

/// The longest line about a script, in characters.
const MAX_LINE: usize = 200;

/// Composes the prompt for the process as it stands.
pub(crate) fn compose(
    process: &DurableProcess,
    policy: &ToolPolicy,
    instructions: Option<&str>,
) -> String {
    let runs = policy.runs();
    let mut prompt = format!(
        "You are the reasoner of the process {}.\n\
         Its state is a tree of JSON values that outlives this conversation. You see and change it \
         only through your tools; each change is committed before you see its result.\n\
         \n\
         /memory  application values: {access}. Keep here what must be remembered.\n\
         /lib     scripts in Svit Lisp: {scripts}. Each is {{\"source\", \"documentation\"}}.\n\
         /inbox   messages that wait: read.\n\
         /thread  metadata of this conversation: read.\n\
         /system  identity, limits, lineage: read.\n",
        process.address(),
        access = if policy.writes() {
            "read and write"
        } else {
            "read"
        },
        scripts = if policy.writes() && !matches!(runs, Runs::Chosen(_)) {
            "read and write"
        } else {
            "read"
        },
    );
    let filled = |node: &str| {
        let names = process.discover_page(node, None, 1);
        names.is_ok_and(|page| !page.names.is_empty())
    };
    if filled("/ports") {
        prompt.push_str(
            "/ports   manuals of what can be called outside: exec on /ports/<name>, or \
             (port-call name input) in a script. What a port did is not undone.\n",
        );
    }
    if filled("/mounts") {
        prompt.push_str(
            "/mounts  resources outside: discover, read and stat below /mounts/<name>; write where \
             stat says read_write.\n",
        );
    }
    if let Some(paths) = policy.reached() {
        let paths: Vec<String> = paths.iter().map(Path::to_string).collect();
        let paths = line(&paths.join(", "), usize::MAX);
        let _ = writeln!(
            prompt,
            "Of these you reach only {paths}, and what is below."
        );
    }
    if !policy.asked().is_empty() {
        let tools: Vec<&str> = policy.asked().iter().map(|tool| tool.as_str()).collect();
        let _ = writeln!(
            prompt,
            "Calls of {} wait until the host has approved them. One that is denied says why.",
            tools.join(", ")
        );
    }
    if runs != Runs::Nothing {
        prompt.push_str(
            "\nA script defines (main input), for example\n\
             (define (main input) (let ((n (+ (read \"/memory/count\") (value-get input \"/by\")))) \
             (do (write \"/memory/count\" n) n)))\n\
             All that one exec does is committed together, or nothing is.\n",
        );
        catalog(&mut prompt, process, runs);
    }
    if let Some(instructions) = instructions {
        let _ = write!(
            prompt,
            "\n<instructions>\n{instructions}\n</instructions>\n"
        );
    }
    prompt
}

/// Names the scripts that can be run.
fn catalog(prompt: &mut String, process: &DurableProcess, runs: Runs<'_>) {
    // A convenience: if it cannot be read, `discover /lib` still can.
    let Ok(Some(Value::Map(library))) = process.read("/lib") else {
        return;
    };
    let runnable = |name: &str| match runs {
        Runs::Everything => true,
        Runs::Chosen(names) => names.contains(name),
        Runs::Nothing => false,
    };
    let scripts = || library.iter().filter(|(name, _)| runnable(name.as_str()));
    let all = scripts().count();
    if all > 0 {
        prompt.push_str("\nScripts in /lib:\n");
    }
    for (name, script) in scripts().take(CATALOG) {
        let about = script.get("documentation").and_then(Value::as_str);
        let about = line(about.unwrap_or("no documentation"), MAX_LINE);
        // Writing to a String cannot fail.
        let _ = writeln!(prompt, "- {}: {about}", line(name, MAX_LINE));
    }
    if all > CATALOG {
        let _ = writeln!(prompt, "- and {} more", all - CATALOG);
    }
}

/// A text of the process as one line, which cannot be taken for a part of the prompt's frame:
/// scripts may have been written by a model that was misled.
fn line(text: &str, longest: usize) -> String {
    let framed = |c: char| match c {
        '<' => '‹',
        '>' => '›',
        c if is_harmful(c) => ' ',
        c => c,
    };
    text.chars().take(longest).map(framed).collect()
}

#[cfg(test)]
mod tests;
