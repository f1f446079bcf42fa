//! The console on a pseudo-terminal, which `script` of util-linux makes. Where there is none, these
//! tests say so and check nothing.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use svit_testkit::model_server::{Reply, Script};

use crate::console::Console;
use crate::send::Talk;

/// A console on a terminal, with what it has written so far.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// None if there is no `script` that does what is needed here.
    fn open(program: &Command, columns: u16, rows: u16, words: &str) -> Option<Self> {
        let known = Command::new("script").arg("--version").output();
        if !known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains("util-linux")) {
            eprintln!("skipped: there is no script(1) of util-linux");
            return None;
        }
        let lampa = env!("CARGO_BIN_EXE_lampa");
        let order = format!(
            "stty cols {columns} rows {rows}; timeout --foreground -k 1 120 '{lampa}' {words}; echo exit=$?; stty -a"
        );
        // What the program is to have, `script` has.
        let mut script = Command::new("script");
        script
            .args(["-q", "-c", &order, "/dev/null"])
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        let mut child = script
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let keys = child.stdin.take();
        let mut out = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let seen = screen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Some(Self {
            child,
            keys,
            screen,
        })
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until something is seen, or was written in one piece.
    #[track_caller]
    fn shows(&self, text: &str) {
        let started = Instant::now();
        while !self.written().contains(text) && !screen(&self.written()).contains(text) {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "no {text:?} in {:?}",
                self.written()
            );
            sleep(Duration::from_millis(10));
        }
    }

    fn press(&mut self, keys: &str) {
        let input = self.keys.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// What was written after the screen was left, when the program has ended.
    #[track_caller]
    fn left(mut self) -> String {
        self.shows("exit=");
        // The terminal's settings follow.
        self.shows("echoke");
        drop(self.keys.take());
        self.child.wait().unwrap();
        let written = String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned();
        let (_, left) = written.split_once("\u{1b}[?1049l").unwrap();
        left.to_owned()
    }
}

/// What is on the screen after all of this was written: of the orders, those that move the cursor or
/// clear the screen. Only what changes is written, so that words come in pieces.
fn screen(written: &str) -> String {
    let mut cells: BTreeMap<(usize, usize), char> = BTreeMap::new();
    let (mut row, mut column) = (1, 1);
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            cells.insert((row, column), c);
            column += 1;
            continue;
        }
        let mut numbers = String::new();
        let mut letter = ' ';
        for c in rest.by_ref().skip(1) {
            if c.is_alphabetic() {
                letter = c;
                break;
            }
            numbers.push(c);
        }
        match (letter, numbers.split_once(';')) {
            ('H', Some((to_row, to_column))) => {
                (row, column) = (to_row.parse().unwrap_or(1), to_column.parse().unwrap_or(1));
            }
            ('J', _) => cells.clear(),
            _ => {}
        }
    }
    let mut text = String::new();
    let mut last = 1;
    for ((row, _), c) in cells {
        if row != last {
            text.push('\n');
            last = row;
        }
        text.push(c);
    }
    text
}

/// However a test ends, nothing of it runs on: without `script`, the terminal hangs up.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The terminal is as it was: lines are edited, and what is typed is seen.
#[track_caller]
fn is_restored(left: &str, exit_code: u8) {
    assert!(
        left.contains("\u{1b}[?25h"),
        "the cursor is not back: {left:?}"
    );
    assert!(left.contains(&format!("exit={exit_code}")), "{left:?}");
    let words: Vec<&str> = left.split([' ', ';', '\r', '\n']).collect();
    assert!(
        words.contains(&"icanon") && words.contains(&"echo"),
        "{left:?}"
    );
}

#[test]
fn the_console_opens_takes_keys_and_gives_the_terminal_back() {
    let console = Console::new();
    let Some(mut terminal) = Terminal::open(&console.program(&[]), 80, 24, "") else {
        return;
    };
    terminal.shows("svit://local/default");
    terminal.shows("OPENAI_API_KEY");
    terminal.press(":write /memory/color \"te\\u001b[2Jal\"\r");
    terminal.shows("/memory/color");
    terminal.press("\t");
    terminal.shows("memory");
    terminal.press("\t\t\r");
    terminal.shows("1 edit");
    terminal.press("\x11");
    is_restored(&terminal.left(), 0);
    assert_eq!(console.json(&["show", "/memory/color"]), "te\u{1b}[2Jal");
}

#[test]
fn a_small_terminal_and_a_signal() {
    let console = Console::new();
    let Some(terminal) = Terminal::open(&console.program(&[]), 20, 5, "--instance small") else {
        return;
    };
    terminal.shows("conversation");
    // The lock of the store names the process that holds it.
    let text = console.refuses(1, &["--instance", "small", "log"]);
    let id = text.rsplit(' ').next().unwrap();
    let killed = Command::new("kill").args(["-TERM", id]).status().unwrap();
    assert!(killed.success());
    is_restored(&terminal.left(), 0);
}

#[test]
fn with_plain_it_reads_lines_on_a_terminal_too() {
    let console = Console::new();
    let Some(mut terminal) = Terminal::open(&console.program(&[]), 80, 24, "--plain") else {
        return;
    };
    terminal.shows("version 2");
    terminal.press(":show /memory\n:quit\n");
    terminal.shows("exit=0");
    assert!(
        !terminal.written().contains('\u{1b}'),
        "{:?}",
        terminal.written()
    );
}

#[test]
fn an_answer_comes_in_and_what_the_model_did_is_seen() {
    let talk = Talk::new(Script::turns([
        Reply::call("write", &json!({"path": "/memory/color", "value": "teal"})),
        Reply::text("The-color-is-teal.\u{1b}[2J"),
    ]));
    let Some(mut terminal) = Terminal::open(&talk.program(&[]), 80, 24, "") else {
        return;
    };
    terminal.shows("gpt-5.1");
    terminal.press("Which color?\r");
    terminal.shows("path=");
    terminal.shows("The-color-is-teal.\\u{1b}[2J");
    terminal.press("\x11");
    is_restored(&terminal.left(), 0);
    assert_eq!(talk.console.says(&["show", "/memory/color"]), "teal\n");

    // What was said is there when it is opened again.
    let Some(mut terminal) = Terminal::open(&talk.program(&[]), 80, 24, "") else {
        return;
    };
    terminal.shows("The-color-is-teal.");
    terminal.press("\x11");
    is_restored(&terminal.left(), 0);
}
