//! The reader: program text to nodes, each with its place, within bounds that hold before anything
//! else sees the text.

use svit_tree::guest::{GuestLimits, Position};

use super::node::{Node, NodeKind};
use crate::LispError;

/// Reads the whole text as a series of forms.
// THREAT[TM-LISP-2]
pub(crate) fn read(source: &str, limits: &GuestLimits) -> Result<Vec<Node>, LispError> {
    let start = Position { line: 1, column: 1 };
    if source.len() as u64 > limits.max_source_bytes {
        return Err(LispError::Limit {
            at: start,
            limit: "max_script_bytes",
            allowed: limits.max_source_bytes,
        });
    }
    let mut reader = Reader {
        rest: source,
        at: start,
        depth: 0,
        max_depth: limits.max_syntax_depth,
    };
    let mut forms = Vec::new();
    while reader.skip_blank()? {
        forms.push(reader.form()?);
    }
    Ok(forms)
}

struct Reader<'a> {
    rest: &'a str,
    at: Position,
    depth: u32,
    max_depth: u32,
}

/// Whether a character separates: a list of our own, since a script that was accepted once must be read
/// the same for ever, whatever a later version of Unicode calls a space.
fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
            | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn is_name_char(c: char) -> bool {
    !is_space(c)
        && !c.is_control()
        && !matches!(
            c,
            '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '`' | ',' | ';'
        )
}

fn fail<T>(at: Position, code: &'static str, problem: impl Into<String>) -> Result<T, LispError> {
    Err(LispError::Syntax {
        at,
        code,
        problem: problem.into(),
    })
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        if !self.rest.starts_with(text) {
            return false;
        }
        for _ in text.chars() {
            self.bump();
        }
        true
    }

    /// Skips white space and comments; false at the end of the text.
    fn skip_blank(&mut self) -> Result<bool, LispError> {
        loop {
            match self.peek() {
                None => return Ok(false),
                Some(c) if is_space(c) => {
                    self.bump();
                }
                Some(';') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.bump();
                    }
                }
                Some('#') if self.rest.starts_with("#|") => self.block_comment()?,
                Some(_) => return Ok(true),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), LispError> {
        let at = self.at;
        let mut open = 0_u32;
        loop {
            if self.eat("#|") {
                open += 1;
            } else if self.eat("|#") {
                open -= 1;
                if open == 0 {
                    return Ok(());
                }
            } else if self.bump().is_none() {
                return fail(at, "unclosed_comment", "this `#|` has no `|#`");
            }
        }
    }

    fn deeper(&mut self, at: Position) -> Result<(), LispError> {
        self.depth += 1;
        if self.depth > self.max_depth {
            return Err(LispError::Limit {
                at,
                limit: "max_syntax_depth",
                allowed: self.max_depth.into(),
            });
        }
        Ok(())
    }

    fn form(&mut self) -> Result<Node, LispError> {
        let at = self.at;
        let kind = match self.peek() {
            Some('(') => self.list()?,
            Some(')') => return fail(at, "unbalanced", "this `)` closes nothing"),
            Some('\'') => self.prefixed("'", NodeKind::Quote)?,
            Some('`') => self.prefixed("`", NodeKind::Quasi)?,
            Some(',') if self.rest.starts_with(",@") => self.prefixed(",@", NodeKind::Splice)?,
            Some(',') => self.prefixed(",", NodeKind::Unquote)?,
            Some('"') => NodeKind::Text(self.string()?),
            Some('r') if self.rest.starts_with("r\"") || self.rest.starts_with("r#") => {
                match self.raw_string()? {
                    Some(text) => NodeKind::Text(text),
                    None => self.atom()?,
                }
            }
            Some('#') if self.rest.starts_with("#b\"") => {
                self.eat("#b");
                NodeKind::Bytes(self.byte_string()?)
            }
            Some('#') if self.rest.starts_with("#'") => {
                return fail(
                    at,
                    "no_characters",
                    "there are no character literals; write a string of one character, such as \"a\"",
                );
            }
            Some('#') if self.rest.starts_with("#p") || self.rest.starts_with("#\\") => {
                return fail(
                    at,
                    "unknown_literal",
                    "write a string instead of this literal",
                );
            }
            Some('[' | ']') => {
                return fail(
                    at,
                    "brackets",
                    "write ( ) instead of [ ]; for a list of values, (list a b) or '(1 2)",
                );
            }
            Some('{' | '}') => {
                return fail(
                    at,
                    "braces",
                    "write (value-map \"key\" value) instead of { }",
                );
            }
            _ => self.atom()?,
        };
        Ok(Node { at, kind })
    }

    fn list(&mut self) -> Result<NodeKind, LispError> {
        let at = self.at;
        self.deeper(at)?;
        self.bump();
        let mut items = Vec::new();
        loop {
            if !self.skip_blank()? {
                return fail(at, "unbalanced", "this `(` has no `)`");
            }
            if self.eat(")") {
                self.depth -= 1;
                return Ok(NodeKind::List(items));
            }
            items.push(self.form()?);
        }
    }

    fn prefixed(
        &mut self,
        mark: &str,
        wrap: fn(Box<Node>) -> NodeKind,
    ) -> Result<NodeKind, LispError> {
        let at = self.at;
        self.deeper(at)?;
        self.eat(mark);
        if !self.skip_blank()? {
            return fail(at, "unbalanced", format!("`{mark}` stands before nothing"));
        }
        let inner = self.form()?;
        self.depth -= 1;
        Ok(wrap(Box::new(inner)))
    }

    fn string(&mut self) -> Result<String, LispError> {
        let at = self.at;
        self.bump();
        let mut text = String::new();
        loop {
            let here = self.at;
            match self.bump() {
                None => return fail(at, "unclosed_string", "this string has no closing `\"`"),
                Some('"') => return Ok(text),
                Some('\\') => text.extend(self.escape(here)?),
                Some(c) => text.push(c),
            }
        }
    }

    /// What stands after a backslash; none for a line break and the white space after it.
    fn escape(&mut self, at: Position) -> Result<Option<char>, LispError> {
        Ok(Some(match self.bump() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('/') => '/',
            Some('\\') => '\\',
            Some('"') => '"',
            Some('\'') => '\'',
            Some('u') => return self.unicode(at).map(Some),
            Some('\n') => {
                while self.peek().is_some_and(is_space) {
                    self.bump();
                }
                return Ok(None);
            }
            _ => {
                return fail(
                    at,
                    "bad_escape",
                    "unknown escape; known are \\n \\t \\r \\0 \\\\ \\\" and \\u{1f600}",
                );
            }
        }))
    }

    fn unicode(&mut self, at: Position) -> Result<char, LispError> {
        let digits = self
            .eat("{")
            .then(|| self.rest.split_once('}'))
            .flatten()
            .map(|(digits, _)| digits)
            .filter(|digits| (1..=6).contains(&digits.len()));
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match (digits, found.and_then(char::from_u32)) {
            (Some(digits), Some(c)) => {
                self.eat(digits);
                self.eat("}");
                Ok(c)
            }
            _ => fail(at, "bad_escape", "write a code point as \\u{1f600}"),
        }
    }

    fn byte_string(&mut self) -> Result<Vec<u8>, LispError> {
        let at = self.at;
        self.bump();
        let mut bytes = Vec::new();
        loop {
            let here = self.at;
            match self.bump() {
                None => return fail(at, "unclosed_string", "this string has no closing `\"`"),
                Some('"') => return Ok(bytes),
                Some('\\') if self.peek() == Some('x') => {
                    self.bump();
                    let digits = self.rest.get(..2).unwrap_or_default();
                    match u8::from_str_radix(digits, 16) {
                        Ok(byte) => bytes.push(byte),
                        Err(_) => return fail(here, "bad_escape", "write a byte as \\xff"),
                    }
                    self.eat(digits);
                }
                Some('\\') => {
                    if let Some(c) = self.escape(here)? {
                        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                Some(c) if c.is_ascii() => bytes.push(c as u8),
                Some(_) => return fail(here, "bad_bytes", "only ASCII and \\xff in a byte string"),
            }
        }
    }

    fn raw_string(&mut self) -> Result<Option<String>, LispError> {
        let at = self.at;
        let marks = self.rest[1..].chars().take_while(|&c| c == '#').count();
        if !self.rest[1 + marks..].starts_with('"') {
            return Ok(None);
        }
        let close = format!("\"{}", "#".repeat(marks));
        let body = &self.rest[marks + 2..];
        let Some((text, _)) = body.split_once(&close) else {
            return fail(
                at,
                "unclosed_string",
                format!("this string has no closing `{close}`"),
            );
        };
        for _ in 0..marks + 2 + text.chars().count() + close.len() {
            self.bump();
        }
        Ok(Some(text.to_owned()))
    }

    fn atom(&mut self) -> Result<NodeKind, LispError> {
        let at = self.at;
        let end = self
            .rest
            .find(|c| !is_name_char(c))
            .unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        if text.is_empty() {
            return fail(at, "bad_character", "this character cannot stand here");
        }
        self.eat(text);
        if let Some(keyword) = text.strip_prefix(':') {
            if keyword.is_empty() {
                return fail(at, "bad_name", "`:` needs a name, such as :optional");
            }
            return Ok(NodeKind::Keyword(keyword.into()));
        }
        if let Some(number) = number(text, at)? {
            return Ok(number);
        }
        if text.len() > 256 {
            return fail(at, "bad_name", "a name has at most 256 bytes");
        }
        Ok(match text {
            "true" => NodeKind::Bool(true),
            "false" => NodeKind::Bool(false),
            _ => NodeKind::Name(text.into()),
        })
    }
}

/// Reads `text` as a number; none if it does not look like one.
fn number(text: &str, at: Position) -> Result<Option<NodeKind>, LispError> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let digits = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let negative = plain.starts_with('-');
    for (mark, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(mark) {
            let signed = format!("{}{digits}", if negative { "-" } else { "" });
            return match i64::from_str_radix(&signed, radix) {
                Ok(n) if !digits.starts_with(['+', '-']) => Ok(Some(NodeKind::Int(n))),
                _ => bad_number(text, at),
            };
        }
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return match plain.parse() {
            Ok(n) => Ok(Some(NodeKind::Int(n))),
            Err(_) => fail(
                at,
                "integer_too_large",
                "an integer literal must fit in 64 bits; write 1.0e30 for a large float",
            ),
        };
    }
    if digits.contains('/') {
        return fail(
            at,
            "no_ratio_literals",
            "write (/ 1 3) for a ratio, or a float such as 0.5",
        );
    }
    let float = digits
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    match plain.parse::<f64>() {
        Ok(f) if float && f.is_finite() => Ok(Some(NodeKind::Float(f))),
        _ => bad_number(text, at),
    }
}

fn bad_number<T>(text: &str, at: Position) -> Result<T, LispError> {
    fail(
        at,
        "bad_number",
        format!(
            "`{}` is neither a number nor a name",
            crate::error::clip(text, 40)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::is_space;

    /// The list is that of Unicode as it stands; a new version of the compiler may not change it.
    #[test]
    fn spaces_are_those_of_unicode_when_the_language_was_made() {
        let spaces: Vec<char> = (char::MIN..=char::MAX).filter(|c| is_space(*c)).collect();
        assert_eq!(spaces.len(), 25);
        assert!(spaces.iter().all(|c| c.is_whitespace()));
        assert!(!is_space('\u{200b}') && !is_space('\u{feff}'));
    }
}
