//! Tests of giving the terminal back.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::{IS_DRAWN, Taken};
use std::sync::atomic::Ordering;

#[derive(Clone, Default)]
struct Tty(Arc<Mutex<Vec<u8>>>);

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// THREAT[TM-CONSOLE-3]
#[test]
fn a_panic_gives_the_terminal_back() {
    let tty = Tty::default();
    let inside = tty.clone();
    let ended = std::panic::catch_unwind(move || {
        let _taken = Taken::take(inside, None).unwrap();
        assert!(IS_DRAWN.load(Ordering::SeqCst));
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(ended.is_err() && !IS_DRAWN.load(Ordering::SeqCst));
    let written = String::from_utf8(tty.0.lock().unwrap().clone()).unwrap();
    assert!(written.starts_with("\u{1b}[?1049h"), "{written:?}");
    assert!(written.ends_with("\u{1b}[?1049l\u{1b}[?25h"), "{written:?}");
}
