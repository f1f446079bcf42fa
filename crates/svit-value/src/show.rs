//! How values look to people: like JSON, on one line, escaped, and cut short.

use crate::{Bytes, List, Map, Value};
use std::fmt::{self, Write};

/// Characters after which printing stops.
const ROOM: usize = 200;

/// A formatter with room for so many characters.
struct Cut<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    room: usize,
}

impl Write for Cut<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            self.write_char(letter)?;
        }
        Ok(())
    }

    /// Fails when the room is used up, which ends the walk.
    fn write_char(&mut self, letter: char) -> fmt::Result {
        self.room = self.room.checked_sub(1).ok_or(fmt::Error)?;
        self.out.write_char(letter)
    }
}

/// Prints with `print`, and a mark if that was cut.
fn cut(
    out: &mut fmt::Formatter<'_>,
    print: impl FnOnce(&mut Cut<'_, '_>) -> fmt::Result,
) -> fmt::Result {
    let mut cut = Cut { out, room: ROOM };
    match print(&mut cut) {
        Err(_) if cut.room == 0 => cut.out.write_char('…'),
        done => done,
    }
}

impl fmt::Display for Value {
    /// Like JSON, safe to print, and cut after about 200 characters. For people: what programs read
    /// is [`Value::to_json`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        cut(f, |out| show(out, self))
    }
}

impl fmt::Debug for Value {
    /// As `Display`: bounded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for List {
    /// As the `Display` of a value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self)
    }
}

impl fmt::Display for Map {
    /// As the `Display` of a value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        map(f, self)
    }
}

pub(crate) fn list(f: &mut fmt::Formatter<'_>, list: &List) -> fmt::Result {
    cut(f, |out| show_list(out, list))
}

pub(crate) fn map(f: &mut fmt::Formatter<'_>, map: &Map) -> fmt::Result {
    cut(f, |out| show_map(out, map))
}

pub(crate) fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    cut(f, |out| show_text(out, text))
}

fn show(out: &mut Cut<'_, '_>, value: &Value) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(bool) => write!(out, "{bool}"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Float(float) => write!(out, "{float}"),
        Value::Text(text) => show_text(out, text),
        Value::Bytes(bytes) => show_bytes(out, bytes),
        Value::List(list) => show_list(out, list),
        Value::Map(map) => show_map(out, map),
    }
}

fn show_list(out: &mut Cut<'_, '_>, list: &List) -> fmt::Result {
    out.write_char('[')?;
    for (i, value) in list.iter().enumerate() {
        if i > 0 {
            out.write_str(", ")?;
        }
        show(out, value)?;
    }
    out.write_char(']')
}

fn show_map(out: &mut Cut<'_, '_>, map: &Map) -> fmt::Result {
    out.write_char('{')?;
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            out.write_str(", ")?;
        }
        show_text(out, key)?;
        out.write_str(": ")?;
        show(out, value)?;
    }
    out.write_char('}')
}

fn show_bytes(out: &mut Cut<'_, '_>, bytes: &Bytes) -> fmt::Result {
    write!(out, "{bytes:?}")
}

/// Quoted. Control characters, and those that reorder or hide text on a terminal, are escaped.
fn show_text(out: &mut Cut<'_, '_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            hidden if is_hidden(hidden) => write!(out, "\\u{{{:x}}}", u32::from(hidden))?,
            letter => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}
