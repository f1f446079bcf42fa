//! `_match` and `_pieces`, on which `test`, `match`, `capture`, `scan`, `split` and `sub` are built.
//!
//! A pattern is compiled once in a run, and charged then; matching is charged for what is read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;

use regex_automata::util::captures::Captures;
use svit_value::{Text, Value};

use super::{Run, functions};
use crate::jq::gauge;
use crate::jq::value::{self, ELEMENT, ENTRY, Val, ValR, fail};
use crate::linear::{self, Flags, Limits, Linear, Scratch};

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "_match" => matches, 3;
        "_pieces" => pieces, 2;
    }
}

/// Smaller than those of a search: a filter can make patterns in a loop.
const LIMITS: Limits = Limits {
    bytes: 1_024,
    classes: 16,
    positions: 500,
    compiled: 256 << 10,
    cache: 256 << 10,
    groups: true,
};
/// The most patterns that one run may compile.
const MAX_PATTERNS: usize = 64;
/// What compiling one costs.
const COMPILE: u64 = 2_000;

thread_local! {
    static COMPILED: RefCell<BTreeMap<(Text, Text), Rc<Pattern>>> = const { RefCell::new(BTreeMap::new()) };
    /// What the last pattern has learnt; of one only, since it may be megabytes.
    static LEARNT: RefCell<Option<(Rc<Pattern>, Scratch)>> = const { RefCell::new(None) };
}

/// Forgets the patterns, so that the next run pays for its own.
pub(crate) fn forget() {
    LEARNT.set(None);
    COMPILED.with_borrow_mut(BTreeMap::clear);
}

struct Pattern {
    linear: Linear,
    global: bool,
    skip_empty: bool,
}

/// Looks with what the pattern has learnt, if it was the last.
fn learning<T>(pattern: &Rc<Pattern>, look: impl FnOnce(&mut Scratch) -> T) -> T {
    let last = LEARNT.take().filter(|(last, _)| Rc::ptr_eq(last, pattern));
    let mut scratch = last.map_or_else(|| pattern.linear.scratch(), |(_, scratch)| scratch);
    let result = look(&mut scratch);
    LEARNT.set(Some((Rc::clone(pattern), scratch)));
    result
}

fn pattern(regex: &Val, flags: &Val) -> ValR<Rc<Pattern>> {
    let Some(regex) = regex.text() else {
        return fail(format!(
            "{} cannot be matched, as it is not a string",
            regex.named()
        ));
    };
    let flags = match flags {
        Val::Plain(Value::Null) => Text::default(),
        Val::Plain(Value::Text(flags)) => flags.clone(),
        other => return fail(format!("{} is not a string", other.named())),
    };
    let key = (regex.clone(), flags);
    let known = COMPILED.with_borrow(|known| known.get(&key).cloned());
    if let Some(known) = known {
        return Ok(known);
    }
    if COMPILED.with_borrow(BTreeMap::len) >= MAX_PATTERNS {
        return fail(format!(
            "a filter may use at most {MAX_PATTERNS} regular expressions"
        ));
    }
    gauge::charge(COMPILE);
    let new = Rc::new(compile(regex, &key.1)?);
    gauge::alloc(new.linear.groups_bytes);
    COMPILED.with_borrow_mut(|known| known.insert(key, new.clone()));
    Ok(new)
}

fn compile(regex: &str, flags: &str) -> ValR<Pattern> {
    let (mut global, mut skip_empty, mut how) = (false, false, Flags::default());
    for flag in flags.chars() {
        match flag {
            'g' => global = true,
            'i' => how.ignore_case = true,
            'x' => how.ignore_space = true,
            'n' => skip_empty = true,
            'p' => how.dot_matches_new_line = true,
            // Without meaning for patterns in which `^` and `$` are the ends of the text.
            's' => {}
            _ => return fail(format!("{flags} is not a valid modifier string")),
        }
    }
    match linear::compile(regex, how, &LIMITS) {
        Ok(linear) => Ok(Pattern {
            linear,
            global,
            skip_empty,
        }),
        Err(error) => fail(error.to_string()),
    }
}

/// Charging stops a run by unwinding, so it cannot fail.
fn charge(ticks: u64) -> Result<(), Infallible> {
    gauge::charge(ticks);
    Ok(())
}

impl Pattern {
    /// All matches, or the first.
    fn each(
        &self,
        scratch: &mut Scratch,
        text: &str,
        mut found: impl FnMut(&Captures, Range<usize>),
    ) {
        let mut from = 0;
        loop {
            let Ok(captures) = self.linear.captures_at(scratch, text, from, charge);
            let whole = captures.as_ref().and_then(Captures::get_match);
            let (Some(captures), Some(whole)) = (&captures, whole) else {
                return;
            };
            if !(self.skip_empty && whole.is_empty()) {
                found(captures, whole.range());
                if !self.global {
                    return;
                }
            }
            from = whole.end();
            if whole.is_empty() {
                let Some(next) = text[from..].chars().next() else {
                    return;
                };
                from += next.len_utf8();
            }
        }
    }
}

fn matches(input: Val, regex: Val, flags: Val, test: Val) -> ValR {
    let text = input.need_text("cannot be matched, as it is not a string")?;
    let pattern = pattern(&regex, &flags)?;
    if jaq_core::ValT::as_bool(&test) && !pattern.skip_empty {
        let Ok(found) = learning(&pattern, |scratch| {
            pattern.linear.is_match(scratch, text, charge)
        });
        return Ok(Val::from(found));
    }
    let mut all = Vec::new();
    let mut places = Places {
        text,
        byte: 0,
        characters: 0,
    };
    learning(&pattern, |scratch| {
        pattern.each(scratch, text, |captures, _| {
            all.push(describe(&pattern, captures, &mut places));
        });
    });
    Ok(if jaq_core::ValT::as_bool(&test) {
        Val::from(!all.is_empty())
    } else {
        value::new_list(all)
    })
}

/// The text before, between and behind matches, and the matches.
fn pieces(input: Val, regex: Val, flags: Val) -> ValR {
    let text = input.need_text("cannot be matched, as it is not a string")?;
    let pattern = pattern(&regex, &flags)?;
    let mut all = Vec::new();
    let mut places = Places {
        text,
        byte: 0,
        characters: 0,
    };
    let mut end = 0;
    learning(&pattern, |scratch| {
        pattern.each(scratch, text, |captures, whole| {
            gauge::alloc(ELEMENT + whole.start - end);
            all.push(Value::from(&text[end..whole.start]));
            end = whole.end;
            all.push(describe(&pattern, captures, &mut places));
        });
    });
    gauge::alloc(text.len() - end);
    all.push(Value::from(&text[end..]));
    Ok(value::new_list(all))
}

/// Counts characters up to a byte, going on from where it was.
struct Places<'a> {
    text: &'a str,
    byte: usize,
    characters: usize,
}

impl Places<'_> {
    fn characters(&mut self, byte: usize) -> i64 {
        if byte >= self.byte {
            self.characters += self.text[self.byte..byte].chars().count();
        } else {
            self.characters -= self.text[byte..self.byte].chars().count();
        }
        self.byte = byte;
        self.characters as i64
    }
}

/// The object that jq gives for a match.
fn describe(pattern: &Pattern, captures: &Captures, places: &mut Places<'_>) -> Value {
    let mut groups = Vec::new();
    let names = pattern.linear.group_names();
    for (group, name) in captures.iter().zip(names).skip(1) {
        gauge::alloc(ELEMENT + 4 * ENTRY);
        let mut group = place(group.map(|group| group.range()), places);
        group.push(("name".into(), name.map_or(Value::Null, Value::from)));
        groups.push(value::map(group).into_value());
    }
    gauge::alloc(ELEMENT + 4 * ENTRY);
    let mut found = place(captures.get_match().map(|whole| whole.range()), places);
    found.push(("captures".into(), value::list(groups).into_value()));
    value::map(found).into_value()
}

fn place(range: Option<Range<usize>>, places: &mut Places<'_>) -> Vec<(Text, Value)> {
    let (offset, length, string) = match range {
        Some(range) => {
            gauge::alloc(range.len());
            gauge::look(range.start.abs_diff(places.byte));
            let offset = places.characters(range.start);
            let length = places.characters(range.end) - offset;
            (offset, length, Value::from(&places.text[range]))
        }
        None => (-1, 0, Value::Null),
    };
    vec![
        ("offset".into(), Value::Int(offset)),
        ("length".into(), Value::Int(length)),
        ("string".into(), string),
    ]
}
