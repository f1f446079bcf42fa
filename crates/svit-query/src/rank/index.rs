//! `RankIndex`: built from a value, brought to newer ones by their difference, asked.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use svit_tree::{Op, Path, diff, lookup};
use svit_value::{Digest, Text, Value};
use tantivy::collector::TopDocs;
use tantivy::query::Query;
use tantivy::schema::{Field, STORED, STRING, Schema, TEXT, Value as _};
use tantivy::snippet::SnippetGenerator;
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{
    Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term, doc,
};

use super::query;
use super::statistics::{Counts, Live};
use crate::QueryError;

/// Memory that the writer may fill before it makes a segment; the least that tantivy takes.
const WRITER_BYTES: usize = 15_000_000;
/// Scores are rounded to this part, so that the order in which terms were added up does not show.
const SCORE_STEP: f32 = 1.0 / 1024.0;

/// Bounds of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOptions {
    /// The most matches. Default 10.
    pub max_matches: usize,
    /// The most characters of a snippet. Default 160.
    pub max_snippet: usize,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self {
            max_matches: 10,
            max_snippet: 160,
        }
    }
}

/// One match.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The text.
    pub path: Path,
    /// BM25, a multiple of 1/1024; of use only beside others of the same answer.
    pub score: f32,
    /// The piece of the text that fits the query best. Empty where the query is about the key.
    pub snippet: Text,
    /// The words of the query in the snippet, in bytes of it.
    pub highlights: Vec<Range<usize>>,
}

/// What an update did: the work of it, in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Texts that were indexed.
    pub added: u64,
    /// Texts that were taken out. One that was changed is in both counts.
    pub removed: u64,
}

/// An index over all texts of a value.
///
/// It takes some 3 KB for each text, and threads of its own while it is written.
///
/// ```
/// use svit_query::rank::{RankIndex, RankOptions};
/// use svit_tree::Path;
/// use svit_value::value;
///
/// let notes = value!({"notes": ["buy teal paint", "teal, teal, teal", "call Ada"]});
/// let mut index = RankIndex::new(&notes)?;
/// let best = |index: &RankIndex, query: &str| -> Result<Vec<String>, svit_query::QueryError> {
///     let found = index.rank(&Path::root(), query, &RankOptions::default())?;
///     Ok(found.iter().map(|ranked| ranked.path.to_string()).collect())
/// };
/// assert_eq!(best(&index, "teal")?, ["/notes/1", "/notes/0"]);
/// assert_eq!(best(&index, "\"teal paint\"")?, ["/notes/0"]);
///
/// let updated = index.update(&value!({"notes": ["buy teal paint"], "todo": {"paint": "the door"}}))?;
/// assert_eq!((updated.added, updated.removed), (1, 2));
/// assert_eq!(best(&index, "teal")?, ["/notes/0"]);
/// assert_eq!(best(&index, "key:paint")?, ["/todo/paint"]);
/// # Ok::<(), svit_query::QueryError>(())
/// ```
pub struct RankIndex {
    value: Value,
    index: Index,
    writer: IndexWriter,
    reader: IndexReader,
    fields: Fields,
    counts: Counts,
    updated: Updated,
    tokens: TextAnalyzer,
}

#[derive(Clone, Copy)]
struct Fields {
    path: Field,
    /// The paths of the node and of all above it.
    below: Field,
    key: Field,
    text: Field,
}

fn failed(error: TantivyError) -> QueryError {
    QueryError::Index {
        why: error.to_string(),
    }
}

impl RankIndex {
    /// Indexes all texts of a value. 15 microseconds a text.
    ///
    /// # Errors
    /// [`QueryError::Index`] when a thread cannot be had or a text is too large.
    pub fn new(value: &Value) -> Result<Self, QueryError> {
        let mut schema = Schema::builder();
        let fields = Fields {
            path: schema.add_text_field("path", STRING | STORED),
            below: schema.add_text_field("below", STRING),
            key: schema.add_text_field("key", TEXT),
            text: schema.add_text_field("text", TEXT),
        };
        let index = Index::create_in_ram(schema.build());
        let writer = index
            .writer_with_num_threads(1, WRITER_BYTES)
            .map_err(failed)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let mut this = Self {
            value: value.clone(),
            reader: reader.try_into().map_err(failed)?,
            tokens: index.tokenizer_for_field(fields.text).map_err(failed)?,
            index,
            writer,
            fields,
            counts: Counts::default(),
            updated: Updated::default(),
        };
        this.add(&Path::root(), value)?;
        this.commit()?;
        Ok(this)
    }

    /// The digest of the value that it answers for.
    pub fn root(&self) -> Digest {
        self.value.digest()
    }

    /// Brings it to another value. Takes the time that their difference does, and some milliseconds: the texts
    /// that differ are taken out and indexed, and no others are looked at.
    ///
    /// # Errors
    /// [`QueryError::Index`]; make a new index then.
    pub fn update(&mut self, value: &Value) -> Result<Updated, QueryError> {
        self.updated = Updated::default();
        let before = std::mem::replace(&mut self.value, value.clone());
        let changes = diff(&before, value);
        if changes.is_empty() {
            return Ok(self.updated);
        }
        for change in changes {
            let path = &change.path;
            let old = lookup(&before, path);
            match change.op {
                Op::Set(new) => {
                    self.remove(path, old)?;
                    self.add(path, &new)?;
                }
                Op::Remove => self.remove(path, old)?,
                Op::Append(new) => {
                    let len = old.and_then(Value::as_list).map_or(0, |list| list.len());
                    for (at, value) in new.iter().enumerate() {
                        self.add_child(path, &(len + at).to_string(), value)?;
                    }
                }
                Op::Truncate(len) => {
                    let list = old.and_then(Value::as_list);
                    let gone = list.into_iter().flatten().enumerate().skip(len as usize);
                    for (at, value) in gone {
                        if let Ok(child) = path.join(&at.to_string()) {
                            self.remove(&child, Some(value))?;
                        }
                    }
                }
                // An operation of a later version: start again.
                #[allow(unreachable_patterns, reason = "there may be more operations")]
                _ => {
                    self.remove(&Path::root(), Some(&before))?;
                    self.add(&Path::root(), value)?;
                    break;
                }
            }
        }
        self.commit()?;
        Ok(self.updated)
    }

    fn commit(&mut self) -> Result<(), QueryError> {
        self.writer.commit().map_err(failed)?;
        self.reader.reload().map_err(failed)
    }

    fn tokens(&mut self, text: &str) -> u64 {
        let mut count = 0;
        self.tokens.token_stream(text).process(&mut |_| count += 1);
        count
    }

    fn add_child(&mut self, parent: &Path, name: &str, value: &Value) -> Result<(), QueryError> {
        // What no path can name is not found.
        match parent.join(name) {
            Ok(path) => self.add(&path, value),
            Err(_) => Ok(()),
        }
    }

    fn add(&mut self, path: &Path, value: &Value) -> Result<(), QueryError> {
        match value {
            Value::Text(text) => self.add_text(path, text),
            Value::Map(map) => map
                .iter()
                .try_for_each(|(key, child)| self.add_child(path, key, child)),
            Value::List(list) => list
                .iter()
                .enumerate()
                .try_for_each(|(at, child)| self.add_child(path, &at.to_string(), child)),
            _ => Ok(()),
        }
    }

    fn add_text(&mut self, path: &Path, text: &str) -> Result<(), QueryError> {
        let key = path.name().unwrap_or_default();
        let fields = self.fields;
        let mut document = doc!(
            fields.path => path.to_string(),
            fields.key => key,
            fields.text => text,
        );
        let mut above = Some(path.clone());
        while let Some(path) = above {
            document.add_text(fields.below, path.to_string());
            above = path.parent();
        }
        self.counts.texts += 1;
        self.updated.added += 1;
        self.counts.text_tokens += self.tokens(text);
        self.counts.key_tokens += self.tokens(key);
        self.writer.add_document(document).map_err(failed)?;
        Ok(())
    }

    fn remove(&mut self, path: &Path, old: Option<&Value>) -> Result<(), QueryError> {
        let Some(old) = old else {
            return Ok(());
        };
        self.uncount(path, old);
        let term = Term::from_field_text(self.fields.below, &path.to_string());
        self.writer.delete_term(term);
        Ok(())
    }

    fn uncount(&mut self, path: &Path, value: &Value) {
        match value {
            Value::Text(text) => {
                let key = path.name().unwrap_or_default().to_owned();
                self.counts.texts -= 1;
                self.updated.removed += 1;
                self.counts.text_tokens -= self.tokens(text);
                self.counts.key_tokens -= self.tokens(&key);
            }
            Value::Map(map) => {
                for (key, child) in map {
                    if let Ok(path) = path.join(key) {
                        self.uncount(&path, child);
                    }
                }
            }
            Value::List(list) => {
                for (at, child) in list.iter().enumerate() {
                    if let Ok(path) = path.join(&at.to_string()) {
                        self.uncount(&path, child);
                    }
                }
            }
            _ => {}
        }
    }

    /// The texts at and below `path` that fit `query`, best first; of equally good ones the first path first.
    ///
    /// A query has words, of which one must be there; `+word` and `-word`, `"a phrase"`, `AND`, `OR`,
    /// parentheses; `key:word` for the key of a text.
    ///
    /// # Errors
    /// [`QueryError::BadQuery`], [`QueryError::Index`].
    pub fn rank(
        &self,
        path: &Path,
        query: &str,
        options: &RankOptions,
    ) -> Result<Vec<Ranked>, QueryError> {
        let parsed = query::parse(&self.index, [self.fields.text, self.fields.key], query)?;
        let both = query::below(&*parsed, self.fields.below, path);
        let searcher = self.reader.searcher();
        let live = Live {
            searcher: &searcher,
            counts: self.counts,
            text: self.fields.text,
        };
        // All of them: which of those that tie at the end are first is decided by their paths.
        let all = TopDocs::with_limit((self.counts.texts as usize).max(1)).order_by_score();
        let mut found: Vec<_> = searcher
            .search_with_statistics_provider(&both, &all, &live)
            .map_err(failed)?
            .into_iter()
            .map(|(score, address)| ((score / SCORE_STEP).round() * SCORE_STEP, address))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let last = found
            .get(options.max_matches.saturating_sub(1))
            .map(|last| last.0);
        if let Some(last) = last {
            found.retain(|(score, _)| *score >= last);
        }
        let mut ranked = Vec::with_capacity(found.len());
        for (score, address) in found {
            let document: TantivyDocument = searcher.doc(address).map_err(failed)?;
            let path = document.get_first(self.fields.path);
            let path = path.and_then(|path| path.as_str()).map(Path::parse);
            if let Some(Ok(path)) = path {
                ranked.push((score, path));
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        ranked.truncate(options.max_matches);
        let snippets = self.snippets(&*parsed, options);
        Ok(ranked
            .into_iter()
            .map(|(score, path)| self.shown(score, path, &snippets))
            .collect())
    }

    fn snippets(&self, query: &dyn Query, options: &RankOptions) -> SnippetGenerator {
        let mut words = BTreeMap::new();
        query.query_terms(&mut |term, _| {
            if let (true, Some(word)) = (term.field() == self.fields.text, term.value().as_str()) {
                words.insert(word.to_owned(), 1.0);
            }
        });
        let tokens = self.tokens.clone();
        SnippetGenerator::new(words, tokens, self.fields.text, options.max_snippet)
    }

    fn shown(&self, score: f32, path: Path, snippets: &SnippetGenerator) -> Ranked {
        let text = lookup(&self.value, &path).and_then(Value::as_str);
        let snippet = snippets.snippet(text.unwrap_or_default());
        Ranked {
            score,
            snippet: Text::from(snippet.fragment()),
            highlights: snippet.highlighted().to_vec(),
            path,
        }
    }
}

impl fmt::Debug for RankIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RankIndex({} texts of {})",
            self.counts.texts,
            self.root()
        )
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
