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
    /// The leftmost column, in the Rust file, of the lines after the first.
    margin: usize,
    /// Where the last token ends in the Rust file.
    end: Option<(usize, usize)>,
}

impl Forms {
    pub(crate) fn read(tokens: &[TokenTree]) -> Self {
        let mut forms = Self {
            source: String::new(),
            tokens: Vec::new(),
            line: 1,
            column: 1,
            origin: None,
            margin: margin(tokens),
            end: None,
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
        let (start, end) = (place(span.start()), place(span.end()));
        let origin = *self.origin.get_or_insert(start);
        let margin = if start.0 == origin.0 {
            origin.1
        } else {
            self.margin.min(origin.1)
        };
        let line = (start.0 + 1).saturating_sub(origin.0) as u32;
        let column = (start.1 + 1).saturating_sub(margin).max(1) as u32;
        while self.line < line {
            self.source.push('\n');
            self.line += 1;
            self.column = 1;
        }
        // Rust takes `string-format` apart; what stood apart in Rust must not come together, as tokens would
        // that a macro took from several places.
        let touches = self.end.replace(end) == Some(start);
        let room = self.line == line && self.column < column;
        if !touches && !room && self.column > 1 {
            self.source.push(' ');
            self.column += 1;
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

fn place(at: Span) -> (usize, usize) {
    (at.line(), at.column())
}

/// The leftmost column of the tokens that are not on the first line.
fn margin(tokens: &[TokenTree]) -> usize {
    let Some(first) = tokens.first().map(|token| token.span().start().line()) else {
        return usize::MAX;
    };
    tokens
        .iter()
        .map(|token| leftmost(token, first))
        .min()
        .unwrap_or(usize::MAX)
}

fn leftmost(token: &TokenTree, first: usize) -> usize {
    let start = token.span().start();
    let own = match start.line() > first {
        true => start.column(),
        false => usize::MAX,
    };
    let TokenTree::Group(group) = token else {
        return own;
    };
    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
    let inner = inner.iter().map(|token| leftmost(token, first)).min();
    own.min(inner.unwrap_or(usize::MAX))
}
