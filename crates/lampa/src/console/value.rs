//! The value that is looked at: a piece of it at a time.

use svit::Path;

use super::text::wrap;
use crate::excerpt::{Excerpt, Place};

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Path(Path),
    Diff { from: u64, to: u64 },
}

/// A piece that is to be asked for. The answer bears its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) number: u64,
    pub(crate) what: What,
    pub(crate) place: Place,
}

/// The piece that is shown, and the way to it.
#[derive(Clone, Debug)]
pub(crate) struct ValuePane {
    /// What was asked for last.
    pub(crate) what: What,
    /// What `excerpt` is a piece of: what was asked for before, until the answer comes.
    pub(crate) shown: What,
    pub(crate) excerpt: Excerpt,
    /// Lines above the screen.
    pub(crate) scroll: usize,
    place: Place,
    /// Where the pieces before this one begin.
    before: Vec<Place>,
    number: u64,
    /// Whether the piece that comes is to be shown from its end.
    from_end: bool,
}

impl Default for ValuePane {
    fn default() -> Self {
        Self {
            what: What::Path(Path::root()),
            shown: What::Path(Path::root()),
            excerpt: Excerpt::note(""),
            scroll: 0,
            place: Place::Start,
            before: Vec::new(),
            number: 0,
            from_end: false,
        }
    }
}

impl ValuePane {
    /// Looks at something else, from its beginning.
    pub(crate) fn look(&mut self, what: What) -> Look {
        self.what = what;
        self.place = Place::Start;
        self.before.clear();
        self.scroll = 0;
        self.from_end = false;
        self.again()
    }

    /// Asks for the same piece once more.
    pub(crate) fn again(&mut self) -> Look {
        self.number += 1;
        Look {
            number: self.number,
            what: self.what.clone(),
            place: self.place.clone(),
        }
    }

    /// Shows a piece, if it is the one that was asked for last.
    pub(crate) fn looked(&mut self, number: u64, excerpt: Excerpt, width: usize, height: usize) {
        if number != self.number {
            return;
        }
        self.excerpt = excerpt;
        self.shown = self.what.clone();
        let last = self.last_scroll(width, height);
        self.scroll = if self.from_end {
            last
        } else {
            self.scroll.min(last)
        };
        self.from_end = false;
    }

    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        wrap(&self.excerpt.text, width)
    }

    fn last_scroll(&self, width: usize, height: usize) -> usize {
        self.lines(width).len().saturating_sub(height)
    }

    /// Moves on by so many lines, into the next piece or the one before if need be.
    pub(crate) fn scroll_by(&mut self, lines: isize, width: usize, height: usize) -> Option<Look> {
        let last = self.last_scroll(width, height);
        if lines > 0 && self.scroll >= last {
            let next = self.excerpt.next.clone()?;
            self.before.push(std::mem::replace(&mut self.place, next));
            self.scroll = 0;
            return Some(self.again());
        }
        if lines < 0 && self.scroll == 0 {
            self.place = self.before.pop()?;
            self.from_end = true;
            return Some(self.again());
        }
        self.scroll = self.scroll.saturating_add_signed(lines).min(last);
        None
    }

    /// Which piece it is, from 1.
    pub(crate) fn piece(&self) -> Option<usize> {
        let is_whole = self.before.is_empty() && self.excerpt.next.is_none();
        (!is_whole).then_some(self.before.len() + 1)
    }
}
