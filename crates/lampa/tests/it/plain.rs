//! The console in lines: commands and messages in, plain text out; and what it mounts.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use svit_testkit::model_server::{Reply, Script};

use crate::console::{Console, said};
use crate::send::Talk;

/// Runs a program with lines to read.
pub(crate) fn given(program: &mut Command, lines: &str) -> Output {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // It may have ended before it read all.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    child.wait_with_output().unwrap()
}

impl Console {
    /// A folder beside the instances, with a file in it.
    fn project(&self) -> String {
        let folder = self.folder.path().join("a project");
        std::fs::create_dir_all(folder.join("notes")).unwrap();
        std::fs::write(folder.join("notes/today.md"), "# Today\nBuy tea.\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        folder.to_str().unwrap().to_owned()
    }

    fn in_project(&self, words: &[&str]) -> Command {
        let mut program = self.program(words);
        program.current_dir(self.project_path());
        program
    }

    fn project_path(&self) -> std::path::PathBuf {
        let path = self.folder.path().join("a project");
        if path.exists() {
            path
        } else {
            self.project().into()
        }
    }
}

#[test]
fn lines_are_commands_and_it_says_how_to_set_a_model() {
    let console = Console::new();
    let lines = ":write /memory/color \"teal\"\n\n:show /memory\n:discover /memory\n:diff 2 3\nhello\n:frob\n:quit\n:write /memory/late 1\n";
    let output = given(&mut console.in_project(&[]), lines);
    let out = String::from_utf8(output.stdout).unwrap();
    let mut said = out.lines();
    assert_eq!(said.next(), Some("svit://local/default, version 2"));
    let folder = console.project_path();
    let mounted = format!(
        "/mounts/cwd is {}, read only",
        folder.canonicalize().unwrap().display()
    );
    assert_eq!(said.next(), Some(&*mounted));
    let rest: Vec<&str> = said
        .skip_while(|line| !line.starts_with("no model"))
        .collect();
    assert!(
        rest[0].starts_with("no model answers: set OPENAI_API_KEY"),
        "{out}"
    );
    assert_eq!(
        rest[1..rest.len() - 2],
        [
            "version 3: changed /memory/color",
            "{",
            "  \"color\": \"teal\"",
            "}",
            "color",
            "/memory/color",
            "+ \"teal\""
        ]
    );
    assert!(
        rest[rest.len() - 2].starts_with("refused: there is no model to answer"),
        "{out}"
    );
    assert!(
        rest[rest.len() - 1].starts_with("refused: `frob` is no command"),
        "{out}"
    );
    assert_eq!(output.status.code(), Some(1), "something was refused");
    assert!(output.stderr.is_empty());
    console.refuses(1, &["show", "/memory/late"]);
}

#[test]
fn a_conversation_goes_on_from_line_to_line() {
    let talk = Talk::new(Script::turns([
        Reply::text("One.\u{1b}c"),
        Reply::text("Two."),
    ]));
    let output = given(
        &mut talk.program(&["--plain"]),
        "first\n:stat /memory\nsecond\n",
    );
    let out = said(&output);
    assert!(out.contains("gpt-5.1 answers; :help"), "{out}");
    assert!(out.contains("\nOne.\\u{1b}c\n{"), "{out}");
    assert!(out.ends_with("}\nTwo.\n"), "{out}");
    assert_eq!(
        talk.console
            .json(&["log"])
            .as_array()
            .map(Vec::len)
            .map(|n| n > 4),
        Some(true)
    );
}

#[test]
fn lines_of_programs_are_json() {
    let console = Console::new();
    let lines =
        ":write /memory/odd \"\\u001b[2J\"\n:show /memory/odd\n:show /memory/none\n\n:help\n";
    let output = given(&mut console.in_project(&["--json"]), lines);
    let out = String::from_utf8(output.stdout).unwrap();
    let said: Vec<Json> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(said.len(), 5);
    assert_eq!(
        (&said[0]["model"], &said[0]["version"]),
        (&json!(null), &json!(2))
    );
    assert!(
        said[0]["grants"][0]
            .as_str()
            .unwrap()
            .starts_with("/mounts/cwd is ")
    );
    assert_eq!(said[1]["changed"], json!(["/memory/odd"]));
    assert_eq!(said[2], json!("\u{1b}[2J"));
    assert_eq!(said[3]["error"]["code"], json!("nothing"));
    assert!(said[4].is_string());
}

#[test]
fn the_current_folder_is_read_and_never_written() {
    let console = Console::new();
    let lines = ":discover /mounts/cwd\n:discover /mounts/cwd/notes\n:show /mounts/cwd/notes/today.md\n:stat /mounts/cwd/notes/today.md\n:write /mounts/cwd/new \"x\"\n:remove /mounts/cwd/notes/today.md\n:show /mounts/cwd/link\n:show /mounts/cwd/../x\n";
    let output = given(&mut console.in_project(&["--plain"]), lines);
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("\nnotes\ntoday.md\n# Today\nBuy tea.\n"),
        "{out}"
    );
    assert!(out.contains("\"access\": \"read\""), "{out}");
    let refused: Vec<&str> = out
        .lines()
        .filter(|line| line.starts_with("refused: "))
        .collect();
    assert_eq!(refused.len(), 4, "{out}");
    assert!(refused[0].contains("/mounts/cwd/new"), "{out}");
    let folder = console.project_path();
    assert!(!folder.join("new").exists() && folder.join("notes/today.md").exists());
    assert!(!out.contains("root:"), "{out}");

    // One command can read it, too, and a log of what was committed does not hold what is in it.
    let shown = console
        .in_project(&["show", "/mounts/cwd/notes/today.md"])
        .output()
        .unwrap();
    assert_eq!(said(&shown), "# Today\nBuy tea.\n\n");
    let shown = console
        .in_project(&["show", "/mounts/cwd/notes/today.md"])
        .output()
        .unwrap();
    said(&shown);
    assert_eq!(
        console
            .says(&["log"])
            .lines()
            .filter(|line| line.contains("/mounts"))
            .count(),
        1
    );
    assert!(!console.says(&["show", "/"]).contains("Buy tea"));
    assert!(
        !console.says(&["show", "/"]).contains("a project"),
        "no path of the machine is stored"
    );
}

#[test]
fn a_folder_can_be_granted_to_be_written() {
    let console = Console::new();
    let project = console.project();
    let docs = format!("docs={project}");
    let lines = ":write /mounts/docs/notes/new.md \"made\"\n:remove /mounts/docs/notes/today.md\n:discover /mounts/docs/notes\n";
    let output = given(
        &mut console.program(&["--plain", "--mount-rw", &docs]),
        lines,
    );
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains(&format!("/mounts/docs is {project}, read and written\n")),
        "{out}"
    );
    assert!(out.ends_with("\nnew.md\n"), "{out}");
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert_eq!(
        std::fs::read_to_string(Path::new(&project).join("notes/new.md")).unwrap(),
        "made"
    );
    assert!(!Path::new(&project).join("notes/today.md").exists());

    // To be read only, in the next run: what it was granted before does not stay.
    let write = ["--mount", &docs, "write", "/mounts/docs/x", "1"];
    assert!(console.refuses(1, &write).contains("/mounts/docs/x"));
    // And not at all, without being asked for.
    let text = console.refuses(1, &["write", "/mounts/docs/x", "\"y\""]);
    assert!(text.contains("/mounts/docs"), "{text}");
    assert!(!Path::new(&project).join("x").exists());
}

#[test]
fn a_script_reads_what_is_mounted() {
    let console = Console::new();
    let source = r#"{"source": "(define (main input) (do (write \"/memory/seen\" (read \"/mounts/cwd/notes/today.md\")) 1))"}"#;
    console.says(&["write", "/lib/look", source]);
    said(
        &console
            .in_project(&["exec", "/lib/look", "null"])
            .output()
            .unwrap(),
    );
    assert_eq!(
        console.says(&["show", "/memory/seen"]),
        "# Today\nBuy tea.\n\n"
    );
}

#[test]
fn a_mount_that_cannot_be_is_refused_before_anything_is_made() {
    let console = Console::new();
    let missing = format!("docs={}/missing", console.folder.path().display());
    let text = console.refuses(1, &["--mount", &missing, "log"]);
    assert!(
        text.starts_with("/mounts/docs: the folder ") && text.contains("cannot be opened"),
        "{text}"
    );
    console.refuses(2, &["--mount", "docs", "log"]);
    console.refuses(2, &["--mount", "a=/", "--mount-rw", "a=/", "log"]);
    assert_eq!(std::fs::read_dir(console.folder.path()).unwrap().count(), 0);
}

#[test]
fn hostile_names_and_files_reach_no_terminal() {
    let console = Console::new();
    let project = console.project();
    std::fs::write(
        Path::new(&project).join("\u{1b}]0;x\u{7}"),
        "\u{1b}[2J\u{9b}31m\r\u{202e}",
    )
    .unwrap();
    let lines = ":discover /mounts/cwd\n:show /mounts/cwd/\u{1b}]0;x\u{7}\n:show /mounts/cwd/\u{1b}[5n\n\u{1b}[2J\n";
    let output = given(&mut console.in_project(&["--plain"]), lines);
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\\u{1b}[2J\\u{9b}31m\\r\\u{202e}"), "{out}");
    assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
}

#[test]
fn a_snapshot_goes_out_and_comes_in() {
    let console = Console::new();
    console.says(&["--instance", "a", "write", "/memory/x", "[1, 2]"]);
    for name in ["a.car", "a.json"] {
        let file = console.folder.path().join(name);
        let file = file.to_str().unwrap();
        console.says(&["--instance", "a", "export", file]);
        assert!(
            console
                .refuses(1, &["--instance", "a", "export", file])
                .contains("cannot be written")
        );
        let other = Console::new();
        let text = other.refuses(1, &["--instance", "b", "import", file]);
        assert!(
            text.starts_with("the snapshot is of svit://local/a"),
            "{text}"
        );
        assert_eq!(std::fs::read_dir(other.folder.path()).unwrap().count(), 0);
        other.says(&["--instance", "a", "import", file]);
        assert_eq!(
            other.json(&["--instance", "a", "show", "/memory/x"]),
            json!([1, 2])
        );
        other.refuses(1, &["--instance", "a", "import", file]);
        std::fs::write(file, "nonsense").unwrap();
        Console::new().refuses(1, &["--instance", "a", "import", file]);
    }
}
