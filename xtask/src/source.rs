//! Rust text as the checks see it: the code without comments, string contents and `#[cfg(test)]` items.
//!
//! A small lexer, not a parser. It keeps every line break, so that line numbers stay true.

/// The text with comments, string and character contents replaced by spaces.
pub(crate) fn code_view(text: &str) -> String {
    let mut lexer = Lexer {
        rest: text,
        view: String::with_capacity(text.len()),
    };
    while lexer.step() {}
    lexer.view
}

/// The code view without items that only tests see (`#[cfg(test)] mod tests { .. }` and the like).
pub(crate) fn library_view(text: &str) -> String {
    let mut view = code_view(text);
    while let Some(start) = view.find("#[cfg(test)]") {
        let end = start + item_length(&view[start..]);
        let blank = blanked(&view[start..end]);
        view.replace_range(start..end, &blank);
    }
    view
}

/// How often, and on which lines (from 1), a word stands in a view, not as part of a longer word.
pub(crate) fn lines_with(view: &str, word: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (number, line) in view.lines().enumerate() {
        if has_word(line, word) {
            lines.push(number + 1);
        }
    }
    lines
}

/// Whether a word stands in a line, not as part of a longer word.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_start = word.starts_with(is_name) && before.is_some_and(is_name);
        let open_end = word.ends_with(is_name) && after.is_some_and(is_name);
        !open_start && !open_end
    })
}

fn blanked(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { '\n' } else { ' ' })
        .collect()
}

/// The length of the attribute at the start and the item after it: to its `;`, or to the `}` that closes its first `{`.
fn item_length(view: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in view.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    view.len()
}

struct Lexer<'a> {
    rest: &'a str,
    view: String,
}

impl Lexer<'_> {
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if rest.starts_with("//") {
            self.hide(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.hide(block_comment(rest));
        } else if let Some((open, close)) = self.raw_string() {
            self.keep(open);
            let inside = self.rest.find(&close).unwrap_or(self.rest.len());
            self.hide(inside);
            self.keep(close.len());
        } else if first == '"' {
            self.keep(1);
            self.hide(quoted(self.rest, '"'));
            self.keep(1);
        } else if let Some(length) = character(rest) {
            self.hide(length);
        } else {
            self.keep(first.len_utf8());
        }
        true
    }

    /// The length of a raw string's opening (`r"`, `r#"`, `br"`) and the text that closes it.
    fn raw_string(&self) -> Option<(usize, String)> {
        let after_name = self
            .view
            .ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let prefix = ["r", "br", "cr"]
            .into_iter()
            .find(|prefix| self.rest.starts_with(prefix))?;
        if after_name {
            return None;
        }
        let tail = &self.rest[prefix.len()..];
        let hashes = tail.chars().take_while(|c| *c == '#').count();
        tail[hashes..].starts_with('"').then(|| {
            (
                prefix.len() + hashes + 1,
                format!("\"{}", "#".repeat(hashes)),
            )
        })
    }

    fn keep(&mut self, length: usize) {
        let length = length.min(self.rest.len());
        self.view.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
    }

    fn hide(&mut self, length: usize) {
        self.view.push_str(&blanked(&self.rest[..length]));
        self.rest = &self.rest[length..];
    }
}

/// The length up to the closing quote, escapes counted.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal at the start; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return Some(quoted(inside, '\'') + 2).filter(|length| *length <= text.len());
    }
    let first = inside.chars().next()?;
    inside[first.len_utf8()..]
        .starts_with('\'')
        .then_some(first.len_utf8() + 2)
}

/// The length of a block comment, which may hold others.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
