//! Filters: made of words of the language or of bytes, each ends the same way twice, within its ticks, and
//! on a small budget too.

use arbitrary::Arbitrary;
use svit_query::jq::{JqOptions, jq};
use svit_query::{FilterLimit, QueryError};
use svit_tree::guest::Meter;
use svit_value::value;

/// Pieces of filters; most texts of letters are none.
const WORDS: &[&str] = &[
    ".",
    "..",
    ".a",
    ".b",
    ".[]",
    ".[0]",
    ".[1:]",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "|",
    ",",
    ";",
    ":",
    "?",
    "//",
    "+",
    "-",
    "*",
    "/",
    "%",
    "=",
    "|=",
    "+=",
    "//=",
    "==",
    "<",
    "and",
    "or",
    "not",
    "if",
    "then",
    "else",
    "end",
    "try",
    "catch",
    "reduce",
    "foreach",
    "as",
    "$x",
    "def f:",
    "def f(g):",
    "f",
    "f(f)",
    "g",
    "label $x|",
    "break $x",
    "1",
    "0",
    "-1",
    "1e9",
    "\"a\"",
    "\"\\(",
    "\"",
    "null",
    "empty",
    "error",
    "range",
    "limit",
    "first",
    "last",
    "recurse",
    "repeat",
    "while",
    "until",
    "path",
    "paths",
    "getpath",
    "setpath",
    "delpaths",
    "del",
    "to_entries",
    "from_entries",
    "with_entries",
    "map",
    "select",
    "add",
    "any",
    "all",
    "flatten",
    "sort",
    "sort_by",
    "group_by",
    "unique_by",
    "min_by",
    "walk",
    "transpose",
    "tojson",
    "fromjson",
    "tostring",
    "tonumber",
    "test",
    "match",
    "capture",
    "scan",
    "sub",
    "gsub",
    "split",
    "splits",
    "join",
    "explode",
    "implode",
    "ascii_downcase",
    "ltrimstr",
    "indices",
    "index",
    "inside",
    "contains",
    "has",
    "length",
    "keys",
    "gsub(\"a+|x\"; \"b\")",
    "[match(\"(?<a>.)\\\\b\"; \"g\")]",
    "[scan(\"\\\\w*\")]",
    "test(\"\\\\pL\")",
    "trim",
    "strftime",
    "strptime",
    "gmtime",
    "mktime",
    "todate",
    "@base64",
    "@base64d",
    "@csv",
    "@sh",
    "@uri",
    "@urid",
    "tostream",
    "fromstream",
    "limit(3;",
    "first(",
    "path(",
    "nan",
    "infinite",
    "pow(",
    "ldexp(",
    "frexp",
    "floor",
    "combinations",
    "pick(",
    "input",
    "$__loc__",
    "?//",
    "import",
    "include",
];

/// A filter.
#[derive(Arbitrary, Debug)]
pub enum Input<'a> {
    /// As it is.
    Text(&'a str),
    /// Made of words, each with a space behind it if the bit says so.
    Words(Vec<(u8, bool)>),
}

/// Runs it.
pub fn check(input: Input<'_>) {
    let text = match input {
        Input::Text(text) => text.to_owned(),
        Input::Words(words) => words
            .iter()
            .flat_map(|(word, space)| {
                let word = WORDS[usize::from(*word) % WORDS.len()];
                [word, if *space { " " } else { "" }]
            })
            .collect(),
    };
    let value = value!({"a": [1, [2.5, null], "x"], "b": {"c": "abc", "d": true}});
    let options = JqOptions {
        max_bytes: 1 << 20,
        ..JqOptions::default()
    };
    let run = |budget: u64| {
        let meter = Meter::new(budget);
        let ended = jq(&text, &value, &options, &meter);
        if let Err(error) = &ended {
            assert!(!error.to_string().is_empty());
            assert_ne!(error.code(), "filter_broken", "{text}");
            // By kind, not by text: a message quotes the filter, and the fuzzer learns what its target looks for.
            let of_the_machine = matches!(
                error,
                QueryError::FilterLimit {
                    limit: FilterLimit::Stack,
                    ..
                }
            );
            assert!(!of_the_machine, "{text}");
            assert_eq!(error.is_hard(), error.code() == "out_of_ticks");
        }
        (ended, meter.used())
    };
    let (ended, used) = run(20_000);
    assert_eq!((&ended, used), (&run(20_000).0, run(20_000).1), "{text}");
    if used > 0 && used < 20_000 {
        assert_eq!(run(used).0, ended, "{text}");
        assert!(
            run(used - 1).0.is_err_and(|error| error.is_hard()),
            "{text}"
        );
    }
}
