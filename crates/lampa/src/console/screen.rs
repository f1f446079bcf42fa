//! The terminal while the console has it, and giving it back whatever happens.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::queue;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;

use super::state::State;
use super::view;
use crate::failure::Failure;
use crate::printable::one_line;

/// Whether a screen is drawn, so that nothing else may be written over it.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);
/// What panics said meanwhile.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// How many of them are kept.
const KEPT_PANICS: usize = 8;

/// The terminal in the console's hands. Dropping it gives the terminal back, in a panic too.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    _taken: Taken<Stdout>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn open() -> Result<Self, Failure> {
        hold_panics();
        let taken = Taken::take(io::stdout(), Some(disable_raw_mode)).map_err(Failure::Terminal)?;
        enable_raw_mode().map_err(Failure::Terminal)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        let mut screen = Self {
            terminal: terminal.map_err(Failure::Terminal)?,
            _taken: taken,
        };
        screen.redraw()?;
        Ok(screen)
    }

    pub(crate) fn size(&self) -> Result<Size, Failure> {
        self.terminal.size().map_err(Failure::Terminal)
    }

    pub(crate) fn draw(&mut self, state: &State) -> Result<(), Failure> {
        let drawn = self.terminal.draw(|frame| view::draw(frame, state));
        drawn.map(drop).map_err(Failure::Terminal)
    }

    /// Forgets what is on the screen, so that all of it is drawn anew.
    pub(crate) fn redraw(&mut self) -> Result<(), Failure> {
        // `clear` would ask the terminal where its cursor is, and not every one answers.
        let size = self.size()?;
        self.terminal.resize(size.into()).map_err(Failure::Terminal)
    }
}

/// A terminal whose other screen is shown.
struct Taken<W: Write> {
    out: W,
    /// Gives lines back their meaning.
    cook: Option<fn() -> io::Result<()>>,
}

impl<W: Write> Taken<W> {
    fn take(mut out: W, cook: Option<fn() -> io::Result<()>>) -> io::Result<Self> {
        queue!(out, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        out.flush()?;
        IS_DRAWN.store(true, Ordering::SeqCst);
        Ok(Self { out, cook })
    }
}

// THREAT[TM-CONSOLE-3]
impl<W: Write> Drop for Taken<W> {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to give back.
        let _ = queue!(self.out, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = self.out.flush();
        if let Some(cook) = self.cook {
            let _ = cook();
        }
        IS_DRAWN.store(false, Ordering::SeqCst);
        let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
        for text in panics {
            let _ = writeln!(io::stderr(), "lampa: {}", one_line(&text));
        }
    }
}

/// While a screen is drawn, keeps what a panic says until it is gone.
fn hold_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_DRAWN.load(Ordering::SeqCst) {
                return say(panic);
            }
            let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
            if panics.len() < KEPT_PANICS {
                panics.push(panic.to_string());
            }
        }));
    });
}

#[cfg(test)]
mod tests;
