//! What Rust says of a script that is wrong: the script's own line and column, what to write instead, and in
//! the form without quotes the very token.
//!
//! Each row is a small file given to the Rust compiler with this crate's library.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands before each row: the macros as the facade wraps them.
const BEFORE: &str = r#"#![allow(unused)]
mod __private { pub use svit_macros::script; pub fn run<S, I>(_: S, _: I) {} }
macro_rules! svit_script { ($($script:tt)*) => { $crate::__private::script!(($crate) $($script)*) }; }
macro_rules! svit_script_test { ($script:expr, $input:expr $(,)?) => { $crate::__private::run($script, $input) }; }
pub struct Script; impl Script { pub fn new(_: &str) -> Self { Script } }
"#;

/// The library of this crate that was built last: that of this test.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap();
    let files = std::fs::read_dir(folder.parent().unwrap()).unwrap();
    let ours = files.map(|file| file.unwrap()).filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.contains("svit_macros-") && name.ends_with(std::env::consts::DLL_SUFFIX)
    });
    let newest = ours.max_by_key(|file| file.metadata().unwrap().modified().unwrap());
    newest.unwrap().path()
}

/// What the compiler says, one line each, with lines counted from where the row starts.
fn errors(library: &Path, name: &str, row: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("row.rs");
    std::fs::write(&file, format!("{BEFORE}{row}\n")).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
        ])
        .args(["--error-format", "short", "--out-dir"])
        .arg(&folder)
        .arg("--extern")
        .arg(format!("svit_macros={}", library.display()))
        .arg(&file)
        .env("CARGO_MANIFEST_DIR", &folder)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{name} compiles");
    let before = BEFORE.lines().count();
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.lines().filter_map(|line| {
        let rest = line.strip_prefix(file.to_str()?)?.strip_prefix(':')?;
        let (number, rest) = rest.split_once(':')?;
        Some(format!("{}:{rest}", number.parse::<usize>().ok()? - before))
    });
    said.collect()
}

#[test]
fn errors_name_the_place_in_the_script_and_what_to_write() {
    let library = library();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("file/wrong.svit-script");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "(define (main input)\n  (let (x 1)\n    x))\n").unwrap();
    let mut wrong = Vec::new();
    for (name, row, expected) in [
        (
            "forms",
            "fn f() { let _ = svit_script! {\n    (define (main input)\n      (println input))\n}; }",
            "3:7: error: script:2:3: `println` is not in this language; \
             write (log-info! \"message\" fields)",
        ),
        (
            "forms-arguments",
            "fn f() { let _ = svit_script! { (define (main input) (map-get input)) }; }",
            "1:54: error: script:1:22: `map-get` takes 2 to 3 arguments, found 1; \
             write (map-get map key [default])",
        ),
        (
            "forms-macro",
            "fn f() { let _ = svit_script! {\n  (macro (twice x) (do x x))\n  (define (main input) input)\n}; }",
            "2:3: error: script:1:1: `macro` is not in this language; macros are not supported; \
             write a function with (define (name a b) body)",
        ),
        (
            "text",
            "fn f() { let _ = svit_script!(\n  \"(define (main input)\\n  (if input 1))\\n(define (main b) b)\"\n); }",
            "2:3: error: script:3:10: `main` is already defined in line 1; choose another name",
        ),
        (
            "raw-text",
            "fn f() { let _ = svit_script!(r#\"(define (f x) x)\"#); }",
            "1:31: error: script:1:1: a script defines (main input): write (define (main input) body)",
        ),
        (
            "file",
            "fn f() { let _ = svit_script!(file \"wrong.svit-script\"); }",
            "1:36: error: wrong.svit-script:2:9: write (let ((a 1) (b 2)) body)",
        ),
        (
            "no-file",
            "fn f() { let _ = svit_script!(file \"none.svit-script\"); }",
            "1:36: error: none.svit-script: No such file or directory (os error 2)",
        ),
        (
            "no-text",
            "fn f() { let _ = svit_script!(12); }",
            "1:31: error: a script is a string literal",
        ),
        (
            "test-forms",
            "fn f() { svit_script_test!(svit_script! { (define (main input)\n  (raed input)) }, 1); }",
            "2:4: error: script:2:2: `raed` is not defined; did you mean `read`?",
        ),
        (
            "test-text",
            "fn f() { svit_script_test!(svit_script!(\"(define (main input) (+ input 1)\"), 1); }",
            "1:41: error: script:1:1: this `(` has no `)`",
        ),
    ] {
        let said = errors(&library, name, row);
        if !said.iter().any(|line| line == expected) {
            wrong.push(format!(
                "{name}: expected\n{expected}\nfound\n{}",
                said.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
