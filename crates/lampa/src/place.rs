//! The tree as it is seen: now, through the process, or at an earlier version, through its root.

use svit::{DurableProcess, Listing, Path, Text, Value};

use crate::excerpt::{self, Excerpt, MOUNTED_BYTES, Place};
use crate::failure::Failure;

/// What the names, facts and values of a tree are asked of.
#[derive(Clone, Debug)]
pub(crate) enum View {
    /// The newest version, mounts included.
    Now(DurableProcess),
    /// An earlier version. What was below a mount is in no version.
    At(Value),
}

/// A child of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) name: String,
    /// Whether it can be looked into, and how many children it has, if that is known.
    pub(crate) is_container: bool,
    pub(crate) entries: Option<u64>,
}

impl View {
    /// A page of the children of a path, and where the next page begins.
    pub(crate) fn children(
        &self,
        path: &Path,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Child>, Option<String>), Failure> {
        let page = self.names(path, after, limit)?;
        let child = |name: &Text| {
            let facts = path.join(name).ok().and_then(|path| self.container(&path));
            Child {
                name: name.to_string(),
                is_container: facts.is_some(),
                entries: facts.flatten(),
            }
        };
        let children = page.names.iter().map(child).collect();
        Ok((children, page.next.map(String::from)))
    }

    fn names(&self, path: &Path, after: Option<&str>, limit: usize) -> Result<Listing, Failure> {
        match self {
            Self::Now(process) => Ok(process.discover_page(path, after, limit)?),
            Self::At(root) => Ok(names(find(root, path), after, limit)),
        }
    }

    /// How many children something has that can have some. A child of a mount that cannot be asked
    /// about (a link) has none.
    fn container(&self, path: &Path) -> Option<Option<u64>> {
        match self {
            Self::Now(process) => {
                let stat = process.stat(path).ok()??;
                matches!(stat.kind, svit::Kind::Map | svit::Kind::List).then_some(stat.entries)
            }
            Self::At(root) => match find(root, path)? {
                Value::Map(map) => Some(Some(map.len() as u64)),
                Value::List(list) => Some(Some(list.len() as u64)),
                _ => None,
            },
        }
    }

    /// A piece of what is at a path.
    pub(crate) fn excerpt(&self, path: &Path, place: &Place) -> Result<Excerpt, Failure> {
        let nothing = || Excerpt::note("nothing is here");
        match self {
            Self::At(root) => {
                let found = find(root, path).map(|value| Excerpt::of(path, value, place));
                Ok(found.unwrap_or_else(nothing))
            }
            Self::Now(process) => {
                let Some(stat) = process.stat(path)? else {
                    return Ok(nothing());
                };
                let facts = excerpt::facts(&stat);
                if let Some(mount) = &stat.mount {
                    if !mount.attached {
                        return Ok(Excerpt {
                            facts,
                            ..Excerpt::note("the mount is not attached")
                        });
                    }
                    if stat.kind == svit::Kind::Map {
                        return self.listing(path, place, facts);
                    }
                    if stat.bytes.is_some_and(|bytes| bytes > MOUNTED_BYTES) {
                        let text = "too large to be shown: a file of a mount is read as a whole";
                        return Ok(Excerpt {
                            facts,
                            ..Excerpt::note(text)
                        });
                    }
                }
                let Some(value) = process.read(path)? else {
                    return Ok(nothing());
                };
                let mut excerpt = Excerpt::of(path, &value, place);
                if stat.mount.is_some() {
                    excerpt.facts = facts;
                }
                Ok(excerpt)
            }
        }
    }

    fn listing(&self, path: &Path, place: &Place, facts: String) -> Result<Excerpt, Failure> {
        let after = match place {
            Place::Behind(name) => Some(name.as_str()),
            _ => None,
        };
        let page = self.names(path, after, 200)?;
        Ok(Excerpt::names(&page.names, page.next.as_deref(), facts))
    }
}

fn names(value: Option<&Value>, after: Option<&str>, limit: usize) -> Listing {
    use std::ops::Bound;

    let mut page = Listing::default();
    let mut rest: Box<dyn Iterator<Item = Text> + '_> = match value {
        Some(Value::Map(map)) => {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            Box::new(
                map.range(from, Bound::Unbounded)
                    .map(|(key, _)| key.clone()),
            )
        }
        Some(Value::List(list)) => {
            let seen = after.and_then(|index| index.parse::<usize>().ok());
            let first = seen.map_or(0, |index| index.saturating_add(1));
            Box::new((first..list.len()).map(|index| Text::from(index.to_string())))
        }
        _ => return page,
    };
    page.names = rest.by_ref().take(limit).collect();
    page.next = rest.next().and(page.names.last().cloned());
    page
}

/// What is at a path below a root.
pub(crate) fn find<'v>(root: &'v Value, path: &Path) -> Option<&'v Value> {
    path.segments()
        .try_fold(root, |value, segment| match value {
            Value::Map(map) => map.get(segment),
            Value::List(list) => {
                let index: usize = segment.parse().ok()?;
                // As paths have it: without leading zeros or a sign.
                list.get(index).filter(|_| index.to_string() == segment)
            }
            _ => None,
        })
}
