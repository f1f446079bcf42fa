//! `search`: the walk over a tree and its mounts, its bounds and its price.

use std::ops::ControlFlow;

use svit_tree::guest::{HostError, HostErrorKind, Meter};
use svit_tree::mount::{MountError, MountPath};
use svit_tree::{Node, Path, lookup};
use svit_value::{Text, Value};

use super::pattern::Looking;
use super::{
    Bound, Cut, Failure, Found, Hit, MAX_FAILURES, MountLimits, MountNode, MountSource, Part,
    Pattern, excerpt,
};
use crate::QueryError;

/// What asking a mount for one node costs, in ticks.
pub const MOUNT_TICKS: u64 = 50;
/// Bytes of a mount that are read at the price of one tick.
const BYTES_PER_TICK: u64 = 64;

/// Bounds of one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// The most nodes that are looked at, those of mounts among them. Default 100,000.
    pub max_nodes: u64,
    /// The most hits. Default 100.
    pub max_hits: usize,
    /// The most bytes shown around a match. Default 160.
    pub max_excerpt: usize,
    /// The most names that one node of a mount may have below it, and bytes that one value of a mount may have:
    /// a larger one is a [`Failure`]. Default 10,000 and 1 MiB.
    pub mount_limits: MountLimits,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            max_nodes: 100_000,
            max_hits: 100,
            max_excerpt: 160,
            mount_limits: MountLimits {
                max_entries: 10_000,
                max_bytes: 1 << 20,
            },
        }
    }
}

/// Finds all matches of `pattern` in the keys and texts below `path` in `value`, the text at `path`
/// itself included, its own key not. Matches in one text do not overlap.
///
/// The result and the ticks depend on the arguments alone; see the [module](crate::search) for order and
/// price. Memory is that of the result.
///
/// # Errors
/// [`QueryError::Missing`] if nothing is at `path`; [`QueryError::OutOfTicks`].
///
/// ```
/// use svit_query::search::{Bound, Pattern, SearchOptions, search};
/// use svit_tree::{Path, guest::Meter};
/// use svit_value::value;
///
/// let notes = value!({"2025": ["buy milk", "milk is out"], "2026": ["no more milk"]});
/// let options = SearchOptions { max_hits: 1, max_excerpt: 6, ..SearchOptions::default() };
/// let milk = Pattern::regex(r"\bmilk\b")?;
/// let found = search(&notes, &Path::root(), &milk, &options, &Meter::new(1_000))?;
///
/// assert_eq!(found.hits[0].excerpt.as_str(), "y milk");
/// let cut = found.cut.unwrap();
/// assert_eq!((cut.bound, cut.at.to_string().as_str()), (Bound::Hits, "/2025/1"));
/// # Ok::<(), svit_query::QueryError>(())
/// ```
pub fn search(
    value: &Value,
    path: &Path,
    pattern: &Pattern,
    options: &SearchOptions,
    meter: &Meter,
) -> Result<Found, QueryError> {
    let Some(start) = lookup(value, path) else {
        return Err(QueryError::Missing { path: path.clone() });
    };
    let mut walk = Walk::new(pattern, options, meter, None);
    let ended = walk.node(path, None, start);
    walk.end(ended)
}

/// The same as [`search`] over the whole tree of a process and the contents of its mounts: `root` is the value at
/// `/`, and below `/mounts/<name>` the walk goes on in what `mounts` has there, instead of in the descriptor. A mount
/// that the tree does not name is not looked at, unless `path` leads into it.
///
/// # Errors
/// [`QueryError::Missing`] if nothing is at `path`, [`QueryError::Stopped`] with a hard error of `mounts`,
/// [`QueryError::OutOfTicks`].
///
/// ```
/// use svit_query::search::{MountLimits, MountNode, Pattern, SearchOptions, search_mounted};
/// use svit_tree::{Path, guest::{HostError, Meter}};
/// use svit_value::value;
///
/// let root = value!({"memory": {"note": "teal"}, "mounts": {"docs": {"kind": "folder"}, "old": {"kind": "folder"}}});
/// let mounts = |path: &Path, _: MountLimits| match path.to_string().as_str() {
///     "/mounts/docs" => Ok(Some(MountNode::Entries(vec!["a.txt".into()]))),
///     "/mounts/docs/a.txt" => Ok(Some(MountNode::Value("all doors are teal".into()))),
///     _ => Err(HostError::soft("mount_not_attached", "the mount is not attached")),
/// };
/// let teal = Pattern::text("teal")?;
/// let found = search_mounted(&root, &mounts, &Path::root(), &teal, &SearchOptions::default(), &Meter::new(1_000))?;
///
/// let paths: Vec<_> = found.hits.iter().map(|hit| hit.path.to_string()).collect();
/// assert_eq!(paths, ["/memory/note", "/mounts/docs/a.txt"]);
/// assert_eq!(found.failures[0].at.to_string(), "/mounts/old");
/// # Ok::<(), svit_query::QueryError>(())
/// ```
pub fn search_mounted(
    root: &Value,
    mounts: &dyn MountSource,
    path: &Path,
    pattern: &Pattern,
    options: &SearchOptions,
    meter: &Meter,
) -> Result<Found, QueryError> {
    let mut walk = Walk::new(pattern, options, meter, Some(mounts));
    let ended = match (lookup(root, path), MountPath::split(path)) {
        (_, Some(_)) => walk.mounted(path, None, true),
        (Some(start), None) => walk.node(path, None, start),
        (None, None) => return Err(QueryError::Missing { path: path.clone() }),
    };
    walk.end(ended)
}

struct Walk<'a> {
    pattern: &'a Pattern,
    looking: Looking,
    options: &'a SearchOptions,
    meter: &'a Meter,
    mounts: Option<&'a dyn MountSource>,
    found: Found,
}

/// Why the walk ended before the tree did.
enum Stop {
    Cut(Cut),
    Failed(QueryError),
}

impl<'a> Walk<'a> {
    fn new(
        pattern: &'a Pattern,
        options: &'a SearchOptions,
        meter: &'a Meter,
        mounts: Option<&'a dyn MountSource>,
    ) -> Self {
        Self {
            pattern,
            looking: pattern.looking(),
            options,
            meter,
            mounts,
            found: Found {
                hits: Vec::new(),
                cut: None,
                nodes: 0,
                unnamed: 0,
                failures: Vec::new(),
                more_failures: 0,
            },
        }
    }

    fn end(mut self, ended: ControlFlow<Stop>) -> Result<Found, QueryError> {
        match ended {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(Stop::Cut(cut)) => self.found.cut = Some(cut),
            ControlFlow::Break(Stop::Failed(error)) => return Err(error),
        }
        Ok(self.found)
    }

    /// Looks at a node and all below it. The recursion is as deep as paths may be, 64 segments.
    fn node(&mut self, path: &Path, key: Option<&Text>, value: &Value) -> ControlFlow<Stop> {
        self.enter(path, key)?;
        self.value(path, value)
    }

    fn enter(&mut self, path: &Path, key: Option<&Text>) -> ControlFlow<Stop> {
        if self.found.nodes == self.options.max_nodes {
            return cut(Bound::Nodes, path);
        }
        self.charge(1)?;
        self.found.nodes += 1;
        match key {
            Some(key) => self.matches(path, Part::Key, key),
            None => ControlFlow::Continue(()),
        }
    }

    fn value(&mut self, path: &Path, value: &Value) -> ControlFlow<Stop> {
        match value {
            Value::Text(text) => self.matches(path, Part::Text, text),
            Value::Map(map) => map.iter().try_for_each(|(key, child)| {
                self.child(path, key, |walk, path| walk.node(path, Some(key), child))
            }),
            Value::List(list) => list.iter().enumerate().try_for_each(|(index, child)| {
                self.child(path, &index.to_string(), |walk, path| {
                    walk.node(path, None, child)
                })
            }),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Goes on with a child, if a path can name it.
    fn child(
        &mut self,
        parent: &Path,
        name: &str,
        look: impl FnOnce(&mut Self, &Path) -> ControlFlow<Stop>,
    ) -> ControlFlow<Stop> {
        let Ok(path) = parent.join(name) else {
            // It cost a look all the same, so that a map of such keys is not searched for nothing.
            self.charge(1)?;
            self.found.unnamed += 1;
            return ControlFlow::Continue(());
        };
        if self.mounts.is_some() && is_mount(&path) {
            return self.mounted(&path, Some(&Text::from(name)), false);
        }
        look(self, &path)
    }

    /// Looks at a node of a mount and all below it.
    fn mounted(&mut self, path: &Path, key: Option<&Text>, first: bool) -> ControlFlow<Stop> {
        let Some(mounts) = self.mounts else {
            return ControlFlow::Continue(());
        };
        self.enter(path, key)?;
        self.charge(MOUNT_TICKS)?;
        let limits = self.options.mount_limits;
        match mounts.node(path, limits) {
            Ok(Some(MountNode::Entries(mut names))) => {
                self.charge(names.len() as u64)?;
                if names.len() > limits.max_entries {
                    let found = (names.len() as u64, limits.max_entries as u64);
                    return self.too_large(path, "entries", found);
                }
                names.sort();
                names.dedup();
                names.iter().try_for_each(|name| {
                    self.child(path, name, |walk, path| {
                        walk.mounted(path, Some(name), false)
                    })
                })
            }
            Ok(Some(MountNode::Elements(count))) => {
                let allowed = limits.max_entries as u64;
                if count > allowed {
                    return self.too_large(path, "entries", (count, allowed));
                }
                (0..count).try_for_each(|index| {
                    self.child(path, &index.to_string(), |walk, path| {
                        walk.mounted(path, None, false)
                    })
                })
            }
            Ok(Some(MountNode::Value(value))) => {
                let bytes = own_bytes(&value);
                self.charge(bytes / BYTES_PER_TICK)?;
                if bytes > limits.max_bytes {
                    return self.too_large(path, "bytes", (bytes, limits.max_bytes));
                }
                self.value(path, &value)
            }
            Ok(None) if first => {
                let missing = QueryError::Missing { path: path.clone() };
                ControlFlow::Break(Stop::Failed(missing))
            }
            Ok(None) => {
                let message = format!("{path}: nothing is there any more");
                self.failed(path, HostError::soft("mount_missing", message))
            }
            Err(error) => self.failed(path, error),
        }
    }

    fn too_large(
        &mut self,
        path: &Path,
        unit: &'static str,
        (actual, allowed): (u64, u64),
    ) -> ControlFlow<Stop> {
        let Some((_, inside)) = MountPath::split(path) else {
            return ControlFlow::Continue(());
        };
        let error = MountError::TooLarge {
            path: inside,
            unit,
            allowed,
            actual,
        };
        self.failed(path, HostError::soft(error.code(), error.to_string()))
    }

    fn failed(&mut self, path: &Path, why: HostError) -> ControlFlow<Stop> {
        if why.kind == HostErrorKind::Hard {
            return ControlFlow::Break(Stop::Failed(QueryError::Stopped(why)));
        }
        if self.found.failures.len() < MAX_FAILURES {
            let at = path.clone();
            self.found.failures.push(Failure { at, why });
        } else {
            self.found.more_failures += 1;
        }
        ControlFlow::Continue(())
    }

    fn matches(&mut self, path: &Path, part: Part, text: &str) -> ControlFlow<Stop> {
        let mut from = 0;
        loop {
            let found = self
                .pattern
                .find_at(&mut self.looking, text, from, self.meter);
            let range = match found {
                Ok(Some(range)) => range,
                Ok(None) => return ControlFlow::Continue(()),
                Err(stopped) => return ControlFlow::Break(Stop::Failed(stopped.into())),
            };
            if self.found.hits.len() == self.options.max_hits {
                return cut(Bound::Hits, path);
            }
            // No pattern matches the empty text, so this moves on.
            from = range.end;
            let shown = excerpt::around(text, &range, self.options.max_excerpt);
            self.found.hits.push(Hit {
                path: path.clone(),
                part,
                range,
                excerpt: Text::from(&text[shown.clone()]),
                excerpt_start: shown.start,
            });
        }
    }

    fn charge(&self, ticks: u64) -> ControlFlow<Stop> {
        match self.meter.charge(ticks) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stopped) => ControlFlow::Break(Stop::Failed(stopped.into())),
        }
    }
}

/// Whether a path is that of a whole mount, `/mounts/<name>`.
fn is_mount(path: &Path) -> bool {
    let mut segments = path.segments();
    segments.len() == 2 && segments.next() == Some(Node::Mounts.name())
}

/// Bytes of a text or of bytes; what a value with children has is charged for and bounded node by node.
fn own_bytes(value: &Value) -> u64 {
    match value {
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

fn cut(bound: Bound, at: &Path) -> ControlFlow<Stop> {
    ControlFlow::Break(Stop::Cut(Cut {
        bound,
        at: at.clone(),
    }))
}

#[cfg(test)]
mod tests;
