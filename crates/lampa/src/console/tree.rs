//! The tree, as far as it was opened: names and nothing else. What is closed is forgotten, and asked
//! for again when it is opened.

use std::collections::HashMap;

use svit::Path;

use crate::place::Child;

/// Names that are asked for at a time.
pub(crate) const PAGE: usize = 100;

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) path: Path,
    pub(crate) name: String,
    pub(crate) depth: usize,
    pub(crate) kind: RowKind,
}

/// What a line stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Leaf,
    Closed {
        entries: Option<u64>,
    },
    Open {
        entries: Option<u64>,
    },
    /// More names of the path, behind this one.
    More {
        after: String,
    },
}

/// The lines of the tree, and the one that is selected.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: usize,
}

/// Names that are to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) path: Path,
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

impl Default for Tree {
    fn default() -> Self {
        let root = Row {
            path: Path::root(),
            name: "/".to_owned(),
            depth: 0,
            kind: RowKind::Open { entries: None },
        };
        Self {
            rows: vec![root],
            selected: 0,
        }
    }
}

impl Tree {
    pub(crate) fn selected(&self) -> &Row {
        // There is always the root, and `selected` is a row.
        &self.rows[self.selected.min(self.rows.len() - 1)]
    }

    pub(crate) fn select(&mut self, row: usize) {
        self.selected = row.min(self.rows.len() - 1);
    }

    pub(crate) fn move_by(&mut self, rows: isize) {
        self.select(self.selected.saturating_add_signed(rows));
    }

    /// Opens what is selected, or asks for more names.
    pub(crate) fn open(&mut self) -> Option<Wanted> {
        let row = &mut self.rows[self.selected];
        let wanted = |after| {
            Some(Wanted {
                path: row.path.clone(),
                after,
                limit: PAGE,
            })
        };
        match row.kind.clone() {
            RowKind::Closed { entries } => {
                let wanted = wanted(None);
                row.kind = RowKind::Open { entries };
                wanted
            }
            RowKind::More { after } => wanted(Some(after)),
            RowKind::Leaf | RowKind::Open { .. } => None,
        }
    }

    /// Closes what is selected; what is no open container selects the one that it is in.
    pub(crate) fn close(&mut self) {
        let at = self.selected;
        match self.rows[at].kind {
            RowKind::Open { entries } if at > 0 => {
                self.rows[at].kind = RowKind::Closed { entries };
                let end = self.end_of(at);
                self.rows.drain(at + 1..end);
            }
            _ => {
                let depth = self.rows[at].depth;
                let above = self.rows[..at].iter().rposition(|row| row.depth < depth);
                self.selected = above.unwrap_or(0);
            }
        }
    }

    /// Where the rows below a row end.
    fn end_of(&self, at: usize) -> usize {
        let depth = self.rows[at].depth;
        let below = self.rows[at + 1..]
            .iter()
            .position(|row| row.depth <= depth);
        below.map_or(self.rows.len(), |rows| at + 1 + rows)
    }

    /// The listings of open rows for which `is_stale` holds, to be asked for again.
    pub(crate) fn listings(&self, is_stale: impl Fn(&Path) -> bool) -> Vec<Wanted> {
        let open = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| matches!(row.kind, RowKind::Open { .. }) && is_stale(&row.path));
        open.map(|(at, row)| {
            let children = self.rows[at + 1..self.end_of(at)].iter();
            let shown = children
                .filter(|child| child.depth == row.depth + 1)
                .count();
            Wanted {
                path: row.path.clone(),
                after: None,
                limit: shown.max(PAGE),
            }
        })
        .collect()
    }

    /// Puts names below an open row: behind those that are there, or in place of them. What is open
    /// among them stays so.
    pub(crate) fn listed(
        &mut self,
        path: &Path,
        after: Option<&str>,
        children: Vec<Child>,
        next: Option<String>,
    ) {
        let is_open = |row: &Row| matches!(row.kind, RowKind::Open { .. }) && row.path == *path;
        let Some(at) = self.rows.iter().position(is_open) else {
            return;
        };
        let (depth, end) = (self.rows[at].depth + 1, self.end_of(at));
        let more = self.rows[at + 1..end].iter().rposition(|row| {
            row.depth == depth
                && matches!(&row.kind, RowKind::More { after: a } if Some(a.as_str()) == after)
        });
        let start = match (after, more) {
            (None, _) => at + 1,
            (Some(_), Some(row)) => at + 1 + row,
            // Of a listing that was replaced meanwhile.
            (Some(_), None) => return,
        };
        let selected = self.selected().clone();
        let mut old = groups(self.rows.drain(start..end), depth);
        let mut new = Vec::new();
        for child in children {
            let Ok(place) = path.join(&child.name) else {
                continue;
            };
            let kept = old
                .remove(&child.name)
                .filter(|rows| child.is_container && rows.len() > 1);
            match kept {
                Some(rows) => new.extend(rows),
                None => new.push(row_of(child, place, depth)),
            }
        }
        if let Some(after) = next {
            let kind = RowKind::More { after };
            new.push(Row {
                path: path.clone(),
                name: "..more".to_owned(),
                depth,
                kind,
            });
        }
        self.rows.splice(start..start, new);
        // The same place, if it is still there; else the nearest.
        let same = |row: &Row| row.path == selected.path && row.depth == selected.depth;
        let row = self.rows.iter().position(same).unwrap_or(self.selected);
        self.select(if matches!(selected.kind, RowKind::More { .. }) {
            self.selected
        } else {
            row
        });
    }
}

fn row_of(child: Child, path: Path, depth: usize) -> Row {
    let kind = if child.is_container {
        RowKind::Closed {
            entries: child.entries,
        }
    } else {
        RowKind::Leaf
    };
    Row {
        path,
        name: child.name,
        depth,
        kind,
    }
}

/// The rows below a row by child: each with the rows below itself.
fn groups(rows: impl Iterator<Item = Row>, depth: usize) -> HashMap<String, Vec<Row>> {
    let mut groups: HashMap<String, Vec<Row>> = HashMap::new();
    let mut name = String::new();
    for row in rows {
        if matches!(row.kind, RowKind::More { .. }) && row.depth == depth {
            continue;
        }
        if row.depth == depth {
            name.clone_from(&row.name);
        }
        groups.entry(name.clone()).or_default().push(row);
    }
    groups
}
