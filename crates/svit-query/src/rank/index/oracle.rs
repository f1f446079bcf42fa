//! Ranked search the slow, obvious way: every question looks at every text, counts, and calculates with the formula of
//! the module's page in 64 bits.

use proptest::prelude::*;
use svit_tree::Path;
use svit_value::Value;

/// A text, in words.
struct Document {
    path: Path,
    words: [Vec<String>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Text,
    Key,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// One or more words in a row.
    Phrase(Field, Vec<&'static str>),
    /// Each with `+`, `-` or nothing.
    Parts(Vec<(Sign, Query)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Must,
    MustNot,
    May,
}

use Field::{Key, Text};

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() < 40)
        .map(str::to_lowercase)
        .collect()
}

fn documents(value: &Value, path: &Path, all: &mut Vec<Document>) {
    let mut below = |name: &str, value: &Value| {
        if let Ok(path) = path.join(name) {
            documents(value, &path, all);
        }
    };
    match value {
        Value::Map(map) => map.iter().for_each(|(key, value)| below(key, value)),
        Value::List(list) => {
            for (at, value) in list.iter().enumerate() {
                below(&at.to_string(), value);
            }
        }
        Value::Text(text) => all.push(Document {
            path: path.clone(),
            words: [words(text), words(path.name().unwrap_or_default())],
        }),
        _ => {}
    }
}

/// How often the words are there in a row.
fn times(document: &Document, field: Field, phrase: &[&str]) -> usize {
    let words = &document.words[field as usize];
    words
        .windows(phrase.len())
        .filter(|row| *row == phrase)
        .count()
}

/// The score of a document, or none if it does not match.
fn score(query: &Query, document: &Document, all: &[Document]) -> Option<f64> {
    match query {
        Query::Phrase(field, phrase) => {
            let count = times(document, *field, phrase) as f64;
            if count == 0.0 {
                return None;
            }
            let texts = all.len() as f64;
            let idf = |word: &&str| {
                let having = all
                    .iter()
                    .filter(|one| times(one, *field, &[*word]) > 0)
                    .count() as f64;
                (1.0 + (texts - having + 0.5) / (having + 0.5)).ln()
            };
            let weight: f64 = phrase.iter().map(idf).sum();
            let len = |one: &Document| one.words[*field as usize].len() as f64;
            let average = all.iter().map(len).sum::<f64>() / texts;
            let norm = 1.2 * (0.25 + 0.75 * len(document) / average);
            Some(weight * 2.2 * count / (count + norm))
        }
        Query::Parts(parts) => {
            let (mut sum, mut must, mut may) = (0.0, false, false);
            for (sign, part) in parts {
                let part = score(part, document, all);
                match (sign, part) {
                    (Sign::MustNot, Some(_)) | (Sign::Must, None) => return None,
                    (Sign::Must, Some(part)) => (must, sum) = (true, sum + part),
                    (Sign::May, Some(part)) => (may, sum) = (true, sum + part),
                    (Sign::MustNot | Sign::May, None) => {}
                }
            }
            (must || may).then_some(sum)
        }
    }
}

/// All that match at and below a path, in no order.
pub(super) fn rank(value: &Value, below: &Path, query: &Query) -> Vec<(Path, f64)> {
    let mut all = Vec::new();
    documents(value, &Path::root(), &mut all);
    let query = &query.plain();
    all.iter()
        .filter(|document| {
            let mut above = document.path.segments();
            below
                .segments()
                .all(|segment| above.next() == Some(segment))
        })
        .filter_map(|document| Some((document.path.clone(), score(query, document, &all)?)))
        .collect()
}

impl Query {
    /// What is there twice counts once, and parentheses around one part mean nothing. But where one part is
    /// left of several that are alike, its sign is read as if it stood before the parentheses.
    fn plain(&self) -> Self {
        match self.merged() {
            Self::Parts(parts) if matches!(parts[..], [(Sign::Must | Sign::May, _)]) => {
                parts[0].1.clone()
            }
            merged => merged,
        }
    }

    fn merged(&self) -> Self {
        let Self::Parts(parts) = self else {
            return self.clone();
        };
        if let [(Sign::Must | Sign::May, only)] = parts.as_slice() {
            return only.merged();
        }
        let mut merged: Vec<(Sign, Self)> = Vec::new();
        for (sign, part) in parts {
            let part = (*sign, part.merged());
            if !merged.contains(&part) {
                merged.push(part);
            }
        }
        for part in &mut merged {
            if let (Sign::May, Self::Parts(inner)) = part
                && let [left] = inner.as_slice()
            {
                *part = left.clone();
            }
        }
        Self::Parts(merged)
    }

    /// How it is written.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Phrase(field, phrase) => {
                let field = if *field == Key { "key:" } else { "" };
                match phrase.as_slice() {
                    [word] => format!("{field}{word}"),
                    _ => format!("{field}\"{}\"", phrase.join(" ")),
                }
            }
            Self::Parts(parts) => {
                let parts = parts.iter().map(|(sign, part)| {
                    let sign = match sign {
                        Sign::Must => "+",
                        Sign::MustNot => "-",
                        Sign::May => "",
                    };
                    match part {
                        Self::Parts(_) => format!("{sign}({})", part.text()),
                        Self::Phrase(..) => format!("{sign}{}", part.text()),
                    }
                });
                parts.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The words that texts and queries are made of.
pub(super) const WORDS: [&str; 6] = ["teal", "red", "door", "ada", "über", "x1"];

/// Queries, each with a part that may match.
pub(super) fn queries() -> impl Strategy<Value = Query> {
    let phrase = (
        prop_oneof![3 => Just(Text), 1 => Just(Key)],
        prop::collection::vec(prop::sample::select(&WORDS[..]), 1..4),
    )
        .prop_map(|(field, phrase)| Query::Phrase(field, phrase));
    phrase.prop_recursive(2, 8, 4, |inner| {
        let sign =
            prop_oneof![2 => Just(Sign::May), 1 => Just(Sign::Must), 1 => Just(Sign::MustNot)];
        let first = prop_oneof![Just(Sign::May), Just(Sign::Must)];
        (
            (first, inner.clone()),
            prop::collection::vec((sign, inner), 0..3),
        )
            .prop_map(|(first, rest)| Query::Parts([vec![first], rest].concat()))
    })
}
