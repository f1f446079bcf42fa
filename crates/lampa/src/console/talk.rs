//! The conversation, as much of it as is kept on the screen.

use std::collections::VecDeque;

use super::text::wrap;

/// Entries that are kept; older ones are in the thread.
const KEPT: usize = 500;
/// Bytes of one entry that are shown.
const SHOWN: usize = 16 * 1_024;
/// Columns that a sign at the beginning of an entry takes.
const SIGN: usize = 2;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    You,
    Model,
    /// What the model does.
    Tool,
    /// The console.
    Note,
    /// The console, about something that failed.
    Refusal,
}

impl Who {
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::You => "> ",
            Self::Model => "  ",
            Self::Tool => "* ",
            Self::Note => "- ",
            Self::Refusal => "! ",
        }
    }
}

/// One line of the conversation as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TalkLine {
    pub(crate) who: Who,
    pub(crate) is_first: bool,
    pub(crate) text: String,
}

/// What was said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    entries: VecDeque<(Who, String)>,
    /// What came in of an answer that is not complete.
    partial: String,
    /// Lines below the screen.
    pub(crate) scroll: usize,
    /// Whether a turn is under way.
    pub(crate) is_busy: bool,
}

impl Talk {
    /// Adds what somebody said, cut if it is long.
    pub(crate) fn say(&mut self, who: Who, text: &str) {
        let text = text.trim_end();
        let mut kept = text[..text.floor_char_boundary(SHOWN)].to_owned();
        if kept.len() < text.len() {
            kept += &format!("\n.. {} more bytes", text.len() - kept.len());
        }
        self.entries.push_back((who, kept));
        if self.entries.len() > KEPT {
            self.entries.pop_front();
        }
    }

    /// Adds a piece of an answer that comes in.
    pub(crate) fn piece(&mut self, text: &str) {
        if self.partial.len() + text.len() <= SHOWN {
            self.partial += text;
        }
    }

    /// Takes back what came in of an answer.
    pub(crate) fn drop_partial(&mut self) {
        self.partial.clear();
    }

    /// The last lines, newest last: as many as are wanted, if there are so many.
    fn last_lines(&self, width: usize, wanted: usize) -> Vec<TalkLine> {
        let mut lines: VecDeque<TalkLine> = VecDeque::new();
        let partial = (!self.partial.is_empty()).then_some((Who::Model, &self.partial));
        let entries = self.entries.iter().map(|(who, text)| (*who, text));
        for (who, text) in entries.chain(partial).rev() {
            if lines.len() >= wanted {
                break;
            }
            let wrapped = wrap(text, width.saturating_sub(SIGN))
                .into_iter()
                .enumerate();
            for (index, text) in wrapped.rev() {
                lines.push_front(TalkLine {
                    who,
                    is_first: index == 0,
                    text,
                });
            }
        }
        lines.into()
    }

    /// The lines that are on the screen.
    pub(crate) fn visible(&self, width: usize, height: usize) -> Vec<TalkLine> {
        let mut lines = self.last_lines(width, self.scroll.saturating_add(height));
        let end = lines
            .len()
            .saturating_sub(self.scroll)
            .max(height.min(lines.len()));
        lines.truncate(end);
        lines.split_off(end.saturating_sub(height))
    }

    /// Moves the screen up by so many lines, or down.
    pub(crate) fn scroll_by(&mut self, lines: isize, width: usize, height: usize) {
        let wanted = self.scroll.saturating_add_signed(lines);
        let there = self.last_lines(width, wanted.saturating_add(height)).len();
        self.scroll = wanted.min(there.saturating_sub(height));
    }
}
