//! The table of built-ins: name, signature, category, summary, price and implementation, in one place.
//! It registers the functions, prices them, and makes `(runtime-builtins)`.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::builtins;
use crate::engine::Native;
use crate::front::ir::Arity;

/// Prices, as data: a change to any row is a new version of the language.
const PRICES: &str = include_str!("../data/ticks.tsv");

/// A built-in function.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) signature: &'static str,
    pub(crate) category: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) kind: Kind,
}

/// How a built-in is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// In Rust.
    Native(Native),
    /// In Svit Lisp, in the prelude, because it calls functions of the script.
    Prelude,
}

/// What a call costs, in ticks: `base`, and `input` and `output` eighths of a tick per cell read and made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) base: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Row {
    pub(crate) fn arity(&self) -> Arity {
        Arity {
            min: self.min,
            max: self.max,
        }
    }

    /// Whether only the front end and the prelude may use it.
    pub(crate) fn is_internal(&self) -> bool {
        self.name.starts_with('%')
    }
}

struct Table {
    rows: Vec<Row>,
    prices: Vec<Price>,
    by_name: HashMap<&'static str, u16>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows: Vec<Row> = builtins::rows();
        let by_name: HashMap<_, _> = rows
            .iter()
            .enumerate()
            .map(|(i, row)| (row.name, i as u16))
            .collect();
        let priced = parse_prices(PRICES);
        let prices = rows
            .iter()
            .map(|row| {
                priced.get(row.name).copied().unwrap_or(Price {
                    base: 1,
                    input: 0,
                    output: 0,
                })
            })
            .collect();
        Table {
            rows,
            prices,
            by_name,
        }
    })
}

/// The price file as a map; lines that start with `#` are comments.
pub(crate) fn parse_prices(text: &str) -> HashMap<&str, Price> {
    let rows = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.filter_map(|line| {
        let mut fields = line.split('\t');
        let name = fields.next()?;
        let mut number = || fields.next()?.trim().parse().ok();
        Some((
            name,
            Price {
                base: number()?,
                input: number()?,
                output: number()?,
            },
        ))
    })
    .collect()
}

/// All rows, internal ones included.
pub(crate) fn rows() -> &'static [Row] {
    &table().rows
}

/// The row of a name.
pub(crate) fn find(name: &str) -> Option<(u16, &'static Row)> {
    let index = *table().by_name.get(name)?;
    Some((index, &table().rows[index as usize]))
}

/// The row with this number.
pub(crate) fn row(index: u16) -> &'static Row {
    &table().rows[index as usize]
}

/// The price of the row with this number.
pub(crate) fn price(index: u16) -> Price {
    table().prices[index as usize]
}
