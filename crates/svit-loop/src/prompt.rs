//! The system prompt: who the process is, how its namespace works, which scripts it has, and what
//! the host instructs.

use std::fmt::Write as _;

use svit_txn::DurableProcess;
use svit_value::Value;

/// How many scripts the catalog names.
const CATALOG: usize = 100;

/// Composes the prompt for the process as it stands.
pub(crate) fn compose(process: &DurableProcess, instructions: Option<&str>) -> String {
    let mut prompt = format!(
        "You are the reasoner of the process {}.\n\
         Its state is a tree of JSON values that outlives this conversation. You see and change it \
         only through your tools; each change is committed before you see its result.\n\
         \n\
         /memory  application values: read and write. Keep here what must be remembered.\n\
         /lib     scripts in Svit Lisp: read and write. Each is {{\"source\", \"documentation\"}}.\n\
         /inbox   messages that wait: read.\n\
         /thread  metadata of this conversation: read.\n\
         /system  identity, limits, lineage: read.\n\
         \n\
         A script defines (main input), for example\n\
         (define (main input) (let ((n (+ (read \"/memory/count\") (value-get input \"/by\")))) \
         (do (write \"/memory/count\" n) n)))\n\
         All that one exec does is committed together, or nothing is.\n",
        process.address()
    );
    // The catalog is a convenience: if it cannot be read, `discover /lib` still can.
    if let Ok(Some(Value::Map(library))) = process.read("/lib")
        && !library.is_empty()
    {
        prompt.push_str("\nScripts in /lib:\n");
        for (name, script) in library.iter().take(CATALOG) {
            let about = script.get("documentation").and_then(Value::as_str);
            let about = about.unwrap_or("no documentation");
            let line: String = about.chars().take(200).collect();
            // Writing to a String cannot fail.
            let _ = writeln!(prompt, "- {name}: {}", line.replace('\n', " "));
        }
        if library.len() > CATALOG {
            let _ = writeln!(prompt, "- and {} more", library.len() - CATALOG);
        }
    }
    if let Some(instructions) = instructions {
        let _ = write!(
            prompt,
            "\n<instructions>\n{instructions}\n</instructions>\n"
        );
    }
    prompt
}
