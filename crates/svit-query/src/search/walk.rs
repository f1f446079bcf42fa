//! `search`: the walk over a tree, its bounds and its price.

use std::ops::ControlFlow;

use svit_tree::guest::Meter;
use svit_tree::{Path, lookup};
use svit_value::{Text, Value};

use super::{Bound, Cut, Found, Hit, Part, Pattern, excerpt};
use crate::QueryError;

/// Bytes of text that plain text is looked for in at the price of one tick.
const BYTES_PER_TICK: u64 = 64;

/// Bounds of one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// The most nodes that are looked at. Default 100,000.
    pub max_nodes: u64,
    /// The most hits. Default 100.
    pub max_hits: usize,
    /// The most bytes shown around a match. Default 160.
    pub max_excerpt: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            max_nodes: 100_000,
            max_hits: 100,
            max_excerpt: 160,
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
    let mut walk = Walk {
        pattern,
        options,
        meter,
        found: Found {
            hits: Vec::new(),
            cut: None,
            nodes: 0,
            unnamed: 0,
        },
    };
    match walk.node(path, None, start) {
        ControlFlow::Continue(()) => {}
        ControlFlow::Break(Stop::Cut(cut)) => walk.found.cut = Some(cut),
        ControlFlow::Break(Stop::Failed(error)) => return Err(error),
    }
    Ok(walk.found)
}

struct Walk<'a> {
    pattern: &'a Pattern,
    options: &'a SearchOptions,
    meter: &'a Meter,
    found: Found,
}

/// Why the walk ended before the tree did.
enum Stop {
    Cut(Cut),
    Failed(QueryError),
}

impl Walk<'_> {
    /// Looks at a node and all below it. The recursion is as deep as paths may be, 64 segments.
    fn node(&mut self, path: &Path, key: Option<&Text>, value: &Value) -> ControlFlow<Stop> {
        if self.found.nodes == self.options.max_nodes {
            return cut(Bound::Nodes, path);
        }
        self.charge(1)?;
        self.found.nodes += 1;
        if let Some(key) = key {
            self.matches(path, Part::Key, key)?;
        }
        match value {
            Value::Text(text) => self.matches(path, Part::Text, text),
            Value::Map(map) => map
                .iter()
                .try_for_each(|(key, child)| self.child(path, key, Some(key), child)),
            Value::List(list) => list
                .iter()
                .enumerate()
                .try_for_each(|(index, child)| self.child(path, &index.to_string(), None, child)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn child(
        &mut self,
        parent: &Path,
        name: &str,
        key: Option<&Text>,
        value: &Value,
    ) -> ControlFlow<Stop> {
        let Ok(path) = parent.join(name) else {
            // It cost a look all the same, so that a map of such keys is not searched for nothing.
            self.charge(1)?;
            self.found.unnamed += 1;
            return ControlFlow::Continue(());
        };
        self.node(&path, key, value)
    }

    fn matches(&mut self, path: &Path, part: Part, text: &str) -> ControlFlow<Stop> {
        let mut from = 0;
        loop {
            let bytes = (text.len() - from) as u64;
            let work = bytes.saturating_mul(self.pattern.cost());
            self.charge(1 + work / BYTES_PER_TICK)?;
            let Some(range) = self.pattern.find_at(text, from) else {
                return ControlFlow::Continue(());
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

fn cut(bound: Bound, at: &Path) -> ControlFlow<Stop> {
    ControlFlow::Break(Stop::Cut(Cut {
        bound,
        at: at.clone(),
    }))
}

#[cfg(test)]
mod tests;
