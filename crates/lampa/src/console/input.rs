//! The line that is being typed.

use unicode_segmentation::UnicodeSegmentation;

use super::key::Key;

/// The longest text that can be typed or pasted, in bytes.
const MAX: usize = 64 * 1_024;
/// Lines that are kept to be typed again.
const KEPT: usize = 100;

/// A text with a cursor between two of its characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input {
    text: String,
    /// A byte of the text, between two characters as people see them.
    cursor: usize,
    /// What was typed before, oldest first.
    before: Vec<String>,
    /// Which of them is shown.
    recalled: Option<usize>,
}

impl Input {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What is before the cursor, and behind it.
    pub(crate) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Puts a text in place of what is there.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Types a text.
    pub(crate) fn insert(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    /// Takes the text, which is kept to be typed again.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.recalled = None;
        if !text.trim().is_empty() && self.before.last() != Some(&text) {
            self.before.push(text.clone());
            if self.before.len() > KEPT {
                self.before.remove(0);
            }
        }
        text
    }

    /// Edits the text, if the key does that.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Left => self.cursor -= self.left(),
            Key::Right => self.cursor += self.right(),
            Key::Home | Key::Ctrl('a') => self.cursor = 0,
            Key::End | Key::Ctrl('e') => self.cursor = self.text.len(),
            Key::Backspace | Key::Ctrl('h') => self.cut(self.left()),
            Key::Delete => {
                let end = self.cursor + self.right();
                drop(self.text.drain(self.cursor..end));
            }
            Key::Ctrl('u') => self.cut(self.cursor),
            Key::Ctrl('w') => {
                let words = self.text[..self.cursor].trim_end();
                let kept = words.rfind(char::is_whitespace).map_or(0, |at| {
                    at + words[at..].chars().next().map_or(0, char::len_utf8)
                });
                self.cut(self.cursor - kept);
            }
            Key::Up => self.recall(-1),
            Key::Down => self.recall(1),
            _ => return false,
        }
        true
    }

    fn cut(&mut self, bytes: usize) {
        let start = self.cursor - bytes;
        drop(self.text.drain(start..self.cursor));
        self.cursor = start;
    }

    /// Bytes of the character before the cursor.
    fn left(&self) -> usize {
        let before = &self.text[..self.cursor];
        before.graphemes(true).next_back().map_or(0, str::len)
    }

    /// Bytes of the character behind the cursor.
    fn right(&self) -> usize {
        self.text[self.cursor..]
            .graphemes(true)
            .next()
            .map_or(0, str::len)
    }

    fn recall(&mut self, step: isize) {
        let count = self.before.len();
        let at = self.recalled.unwrap_or(count).saturating_add_signed(step);
        match self.before.get(at) {
            Some(text) => {
                self.set(text.clone());
                self.recalled = Some(at);
            }
            None if self.recalled.is_some() && at >= count => {
                self.set("");
                self.recalled = None;
            }
            None => {}
        }
    }
}
