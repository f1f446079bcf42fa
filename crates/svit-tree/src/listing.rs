//! Listing the children of a path, a page at a time.

use std::ops::Bound;

use svit_value::{Text, Value};

use crate::{Path, Tree};

/// The longest page.
pub const MAX_PAGE: usize = 10_000;

/// One page of the names below a path, in order: keys bytewise, indexes by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names.
    pub names: Vec<Text>,
    /// The cursor for the next page; none when this was the last.
    pub next: Option<Text>,
}

impl Tree {
    /// The names of the children of `path` behind the name `after`, at most `limit` of them and at
    /// most [`MAX_PAGE`]; a limit of 0 counts as 1, since a page without names could not say where
    /// the next one starts. Empty for scalars and where nothing is. O(page + log n): what the page
    /// does not show is not touched.
    ///
    /// A cursor is the last name of the page before. It need not exist any more: paging a map goes
    /// on at the next key, so that entries which come and go meanwhile disturb no other.
    ///
    /// ```
    /// use svit_tree::{Mutation, Path, Tree};
    /// use svit_value::value;
    ///
    /// let memory = Path::parse("/memory")?;
    /// let tree = Tree::new().apply(&[Mutation::set(memory.clone(), value!({"a": 1, "b": 2, "c": 3}))])?;
    /// let first = tree.discover(&memory, None, 2);
    /// assert_eq!((first.names.len(), first.next.as_deref()), (2, Some("b")));
    /// let last = tree.discover(&memory, first.next.as_deref(), 2);
    /// assert_eq!((last.names.len(), last.next), (1, None));
    /// # Ok::<(), svit_tree::TreeError>(())
    /// ```
    pub fn discover(&self, path: &Path, after: Option<&str>, limit: usize) -> Listing {
        let limit = limit.clamp(1, MAX_PAGE);
        match self.get(path) {
            Some(Value::Map(map)) => {
                let from = after.map_or(Bound::Unbounded, Bound::Excluded);
                let names = map
                    .range(from, Bound::Unbounded)
                    .map(|(key, _)| key.clone());
                Listing::of(names, limit)
            }
            Some(Value::List(list)) => {
                let seen = after.and_then(|index| index.parse::<usize>().ok());
                let first = seen.map_or(0, |index| index.saturating_add(1));
                let names = (first..list.len()).map(|index| Text::from(index.to_string()));
                Listing::of(names, limit)
            }
            _ => Listing::default(),
        }
    }
}

impl Listing {
    fn of(mut names: impl Iterator<Item = Text>, limit: usize) -> Self {
        let page: Vec<Text> = names.by_ref().take(limit).collect();
        let more = names.next().is_some();
        Self {
            next: page.last().filter(|_| more).cloned(),
            names: page,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use svit_value::{List, Map};

    use super::*;
    use crate::{Mutation, Node};

    fn memory(value: Value) -> (Tree, Path) {
        let path = Path::parse("/memory/x").unwrap();
        let tree = Tree::new().apply(&[Mutation::set(path.clone(), value)]);
        (tree.unwrap(), path)
    }

    fn all_pages(tree: &Tree, path: &Path, limit: usize) -> Vec<Text> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let page = tree.discover(path, after.as_deref(), limit);
            assert!(page.names.len() <= limit);
            names.extend(page.names);
            match page.next {
                Some(next) => after = Some(next),
                None => return names,
            }
        }
    }

    proptest! {
        #[test]
        fn pages_together_are_all_children(
            keys in prop::collection::btree_set(".{0,6}", 0..200),
            limit in 1_usize..50,
        ) {
            let map = Map::from_entries(keys.iter().map(|key| (key.as_str(), 1))).unwrap();
            let (tree, path) = memory(map.into());
            let names = all_pages(&tree, &path, limit);
            prop_assert_eq!(&names, &tree.children(&path));
            prop_assert_eq!(names.len(), keys.len());
        }

        #[test]
        fn a_list_is_paged_by_number(len in 0_usize..300, limit in 1_usize..50) {
            let (tree, path) = memory(List::from_values(0..len as i64).unwrap().into());
            let expected: Vec<Text> = (0..len).map(|i| Text::from(i.to_string())).collect();
            prop_assert_eq!(all_pages(&tree, &path, limit), expected);
        }
    }

    #[test]
    fn every_limit_comes_to_the_end() {
        let (tree, path) = memory(List::from_values(0..3).unwrap().into());
        for limit in [0, 1, usize::MAX] {
            let page = tree.discover(&path, None, limit);
            assert_eq!(page.next.is_some(), page.names.len() < 3, "{limit}");
            assert_eq!(tree.discover(&path, Some("2"), limit), Listing::default());
        }
    }

    #[test]
    fn a_cursor_that_is_gone_goes_on_at_the_next_name() {
        let map = Map::from_entries([("a", 1), ("c", 1)]).unwrap();
        let (tree, path) = memory(map.into());
        let page = tree.discover(&path, Some("b"), 10);
        assert_eq!(page.names, [Text::from("c")]);
    }

    #[test]
    fn scalars_and_missing_places_have_no_children() {
        let (tree, path) = memory(1.into());
        assert_eq!(tree.discover(&path, None, 10), Listing::default());
        let missing = path.join("y").unwrap();
        assert_eq!(tree.discover(&missing, None, 10), Listing::default());
        assert!(tree.node(Node::Inbox).is_empty());
    }
}
