//! What the language refuses by name, and what each refusal says to write instead.

use std::sync::Arc;

use svit_tree::guest::Position;

use super::check::{Result, fail};
use super::node::{Node, NodeKind};
use crate::table;

/// Forms of the language; they cannot be bound.
const FORMS: &[&str] = &[
    "define",
    "lambda",
    "let",
    "do",
    "if",
    "cond",
    "case",
    "and",
    "or",
    "apply",
    "quote",
    "quasiquote",
    "call-self",
    "struct",
    "else",
    "null",
];

/// Names known from the engine or from other Lisps, and the advice for each.
const ADVICE: &[(&str, &str)] = &[
    (
        "macro",
        "macros are not supported; write a function with (define (name a b) body)",
    ),
    (
        "new",
        "write (new point :x 1 :y 2) after (struct point ((x integer) (y integer))) at top level",
    ),
    ("const", "const is not supported; write (define name value)"),
    (
        "use",
        "there are no modules; call another script with (exec \"/lib/name\" input)",
    ),
    (
        "export",
        "there are no modules; call another script with (exec \"/lib/name\" input)",
    ),
    (
        "set-module-doc",
        "write the documentation as a comment, or beside the source in /lib",
    ),
    (
        "set!",
        "nothing is assigned; bind a new name with let, or pass the new value to a function",
    ),
    ("defun", "write (define (name a b) body)"),
    ("defn", "write (define (name a b) body)"),
    ("def", "write (define name value)"),
    ("fn", "write (lambda (a b) body)"),
    ("begin", "write (do a b c)"),
    ("progn", "write (do a b c)"),
    (
        "let*",
        "write (let ((a 1) (b (+ a 1))) body): each binding sees those before it",
    ),
    ("letrec", "define the function at top level"),
    ("when", "write (if test (do a b))"),
    ("unless", "write (if (not test) (do a b))"),
    (
        "while",
        "write a function that calls itself, or use map, filter, fold or range",
    ),
    ("for", "use map, filter, fold or range"),
    (
        "loop",
        "write a function that calls itself, or use map, filter, fold or range",
    ),
    ("format", "write (string-format \"{} and {}\" a b)"),
    ("print", "write (log-info! \"message\" fields)"),
    ("println", "write (log-info! \"message\" fields)"),
    ("eprint", "write (log-warn! \"message\" fields)"),
    ("eprintln", "write (log-warn! \"message\" fields)"),
    ("path", "a path is a string, such as \"/memory/count\""),
    ("random", "there is no randomness; take it from the input"),
    (
        "now",
        "there is no clock; take the time from the input or from a port",
    ),
    ("eq", "write (= a b)"),
    ("ne", "write (/= a b)"),
    ("eq?", "write (= a b)"),
    ("equal?", "write (= a b)"),
    ("==", "write (= a b)"),
    ("!=", "write (/= a b)"),
    ("mod", "write (rem a b)"),
    ("modulo", "write (rem a b)"),
    ("%", "write (rem a b)"),
    ("expt", "write (^ base exponent)"),
    ("car", "write (first list)"),
    ("cdr", "write (tail list)"),
    (
        "cons",
        "write (concat (list value) list), or (list-push list value) at the end",
    ),
    (
        "null",
        "null is the value itself; write (null? x), or (empty? list)",
    ),
    ("nil", "write null, or () for the empty list"),
    ("None", "write null"),
    ("t", "write true"),
    ("#t", "write true"),
    ("#f", "write false"),
    ("True", "write true"),
    ("False", "write false"),
    (
        "str",
        "write (concat a b) for strings, or (to-string value)",
    ),
    ("string-append", "write (concat a b)"),
    ("string-length", "write (length text)"),
    ("string-upcase", "write (upper text)"),
    ("string-downcase", "write (lower text)"),
    ("substring", "write (slice text begin end)"),
    ("string-split", "write (split text separator)"),
    ("string-join", "write (join separator list)"),
    ("reduce", "write (fold function start list)"),
    ("foldl", "write (fold function start list)"),
    ("for-each", "write (map function list)"),
    (
        "get",
        "write (map-get map key) or (value-get value \"/path\")",
    ),
    ("assoc", "write (map-set map key value)"),
    ("hash-map", "write (value-map \"key\" value)"),
    ("dict", "write (value-map \"key\" value)"),
    ("vector", "write (list a b) or (value-array a b)"),
    ("elem", "write (elt list index)"),
    ("nth", "write (elt list index)"),
    (
        "chars",
        "strings of one character are made by (split text \"\")",
    ),
    (
        "code",
        "the text of a script is at (read \"/lib/name/source\")",
    ),
];

fn advice(name: &str) -> Option<&'static str> {
    ADVICE
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, text)| *text)
}

/// Why `name` cannot be bound, if it cannot.
pub(super) fn binding(name: &str) -> Option<String> {
    if name.starts_with('%') {
        return Some(format!(
            "`{name}`: names that start with % are reserved; choose another name"
        ));
    }
    if FORMS.contains(&name) || table::find(name).is_some() || name == "*svit-version*" {
        return Some(format!(
            "`{name}` is built in and cannot be redefined; choose another name"
        ));
    }
    match name {
        "macro" | "const" | "use" | "export" | "set-module-doc" | "+-" => {
            Some(format!("`{name}` is reserved; choose another name"))
        }
        _ => None,
    }
}

/// Why the form `name` is refused, if it is one that other Lisps have.
pub(super) fn form(name: &str) -> Option<String> {
    advice(name).map(|text| format!("`{name}` is not in this language; {text}"))
}

/// What to say about a name that nothing defines.
pub(super) fn unknown<'a>(name: &str, globals: impl Iterator<Item = &'a Arc<str>>) -> String {
    let name = crate::error::clip(name, 80);
    if let Some(text) = form(name) {
        return text;
    }
    if FORMS.contains(&name) {
        return format!("`{name}` is a form, not a value; it stands first in a list");
    }
    let known = table::rows()
        .iter()
        .filter(|row| !row.is_internal())
        .map(|row| row.name);
    let closest = globals
        .map(|g| &**g)
        .chain(known)
        .map(|known| (distance(name, known), known))
        .filter(|&(d, known)| d <= known.len().div_ceil(3))
        .min();
    match closest {
        Some((_, known)) => format!("`{name}` is not defined; did you mean `{known}`?"),
        None => format!("`{name}` is not defined; (runtime-builtins) lists what is built in"),
    }
}

/// Edit distance of two short names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(40).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(40).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = (diagonal + usize::from(x != *y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], here);
        }
    }
    row[b.len()]
}

/// Refusals that can be seen in the arguments of a built-in.
pub(super) fn arguments(name: &str, args: &[Node]) -> Result<()> {
    let refuse = |at: Position, code, problem: String| fail(at, code, problem);
    match name {
        "<" | ">" | "<=" | ">=" | "max" | "min" => {
            let is_name = |n: &&Node| match &n.kind {
                NodeKind::Keyword(_) => true,
                NodeKind::Quote(inner) => inner.name().is_some(),
                _ => false,
            };
            match args.iter().find(is_name) {
                Some(node) => refuse(
                    node.at,
                    "names_have_no_order",
                    format!("`{name}` does not order names and keywords; compare strings"),
                ),
                None => Ok(()),
            }
        }
        "^" => match args.get(1).map(|n| (n.at, &n.kind)) {
            Some((at, NodeKind::Int(n))) if *n < 0 => refuse(
                at,
                "bad_exponent",
                "`^` takes a non-negative integer exponent; write (/ 1 (^ a n))".into(),
            ),
            Some((at, NodeKind::Float(_))) => refuse(
                at,
                "bad_exponent",
                "`^` takes integers with a non-negative exponent only".into(),
            ),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
