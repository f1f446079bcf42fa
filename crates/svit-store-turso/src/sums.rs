//! A checksum per row, and per table: SQLite has neither, and serves a flipped byte as data.
//!
//! A row's sum covers its table's name and its columns. The exclusive-or of the sums of all rows
//! of a table, kept elsewhere together with their number, shows a row that an index no longer
//! finds: without it a damaged index would make something stored look like something absent.

use svit_value::Digest;

use crate::sql::{Row, SqlError};

/// The first half of a BLAKE3 digest.
pub(crate) type Sum = [u8; 16];

/// Collects the columns of one row.
pub(crate) struct Summed(Vec<u8>);

impl Summed {
    /// A row of this table.
    pub(crate) fn row(table: &'static str) -> Summed {
        Summed(Vec::with_capacity(256)).bytes(table.as_bytes())
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Summed {
        self.0
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn number(mut self, number: u64) -> Summed {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn digest(mut self, digest: &Digest) -> Summed {
        self.0.extend_from_slice(digest.as_bytes());
        self
    }

    pub(crate) fn sum(self) -> Sum {
        half(&Digest::of(&self.0))
    }
}

/// The sum of a row of `block`. All of the digest counts: half of it would leave a change of the
/// other half unseen.
pub(crate) fn block_sum(digest: &Digest) -> Sum {
    Summed::row("block").digest(digest).sum()
}

/// The first half of a digest.
fn half(digest: &Digest) -> Sum {
    let mut sum = [0; 16];
    sum.copy_from_slice(&digest.as_bytes()[..16]);
    sum
}

/// How many rows a table has and the exclusive-or of their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) rows: u64,
    pub(crate) sum: Sum,
}

impl Tally {
    /// From two columns: the number of rows, then their sum.
    pub(crate) fn read(row: &mut Row, column: usize) -> Result<Tally, SqlError> {
        Ok(Tally {
            rows: row.count(column)?,
            sum: row.array(column + 1)?,
        })
    }

    pub(crate) fn add(&mut self, sum: &Sum) {
        self.rows = self.rows.wrapping_add(1);
        self.mix(sum);
    }

    pub(crate) fn remove(&mut self, sum: &Sum) {
        self.rows = self.rows.wrapping_sub(1);
        self.mix(sum);
    }

    fn mix(&mut self, sum: &Sum) {
        for (mine, other) in self.sum.iter_mut().zip(sum) {
            *mine ^= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_tells_tables_columns_and_their_borders_apart() {
        let sums = [
            Summed::row("head").bytes(b"ab").bytes(b"c").sum(),
            Summed::row("head").bytes(b"a").bytes(b"bc").sum(),
            Summed::row("base").bytes(b"ab").bytes(b"c").sum(),
            Summed::row("head").number(1).sum(),
            Summed::row("head").number(2).sum(),
        ];
        for (index, sum) in sums.iter().enumerate() {
            assert!(!sums[..index].contains(sum), "{index}");
        }
    }

    #[test]
    fn a_tally_is_the_same_whatever_the_order_and_forgets_what_is_removed() {
        let [a, b, c] = [[1; 16], [2; 16], [7; 16]];
        let mut one = Tally::default();
        let mut other = Tally::default();
        for sum in [a, b, c] {
            one.add(&sum);
        }
        for sum in [c, a] {
            other.add(&sum);
        }
        assert_ne!(one, other);
        one.remove(&b);
        assert_eq!(one, other);
    }
}
