//! `Forms`: the text of a script given as Rust tokens, with every line and column as it was written.

use proc_macro::{Delimiter, Span, TokenTree};

/// The text, and where each token of it stands.
pub(crate) struct Forms {
    pub(crate) source: String,
    /// Line and column of each token in the text.
    tokens: Vec<((u32, u32), Span)>,
    line: u32,
    column: u32,
    /// Line and column, in the Rust file, at which the script starts.
    origin: Option<(usize, usize)>,
}

impl Forms {
    pub(crate) fn read(tokens: &[TokenTree]) -> Self {
        let mut forms = Self {
            source: String::new(),
            tokens: Vec::new(),
            line: 1,
            column: 1,
            origin: None,
        };
        for token in tokens {
            forms.token(token);
        }
        forms
    }

    /// The token that a line and column of the text belong to.
    pub(crate) fn span_at(&self, at: (u32, u32)) -> Span {
        let before = self.tokens.iter().rev().find(|(start, _)| *start <= at);
        before.map_or_else(Span::call_site, |(_, span)| *span)
    }

    fn token(&mut self, token: &TokenTree) {
        let TokenTree::Group(group) = token else {
            self.place(token.span(), &token.to_string());
            return;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        self.place(group.span_open(), open);
        for inner in group.stream() {
            self.token(&inner);
        }
        self.place(group.span_close(), close);
    }

    /// Adds a token at the place where it stands in the Rust file, moved so that the script starts at the
    /// margin.
    fn place(&mut self, span: Span, text: &str) {
        if text.is_empty() {
            return;
        }
        let (line, column) = (span.start().line(), span.start().column());
        let (first, margin) = *self.origin.get_or_insert((line, column));
        let line = (line + 1).saturating_sub(first) as u32;
        let column = (column + 1).saturating_sub(margin).max(1) as u32;
        while self.line < line {
            self.source.push('\n');
            self.line += 1;
            self.column = 1;
        }
        while self.line == line && self.column < column {
            self.source.push(' ');
            self.column += 1;
        }
        self.tokens.push(((self.line, self.column), span));
        for c in text.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.source.push_str(text);
    }
}
