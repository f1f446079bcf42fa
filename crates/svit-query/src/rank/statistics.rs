//! What BM25 must know, counted over the texts that are there: tantivy would count deleted ones too.

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, TERMINATED, Term};

/// Counts of live texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) texts: u64,
    pub(super) text_tokens: u64,
    pub(super) key_tokens: u64,
}

pub(super) struct Live<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) counts: Counts,
    pub(super) text: Field,
}

impl Bm25StatisticsProvider for Live<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(if field == self.text {
            self.counts.text_tokens
        } else {
            self.counts.key_tokens
        })
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.counts.texts)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let mut live = 0;
        for segment in self.searcher.segment_readers() {
            let index = segment.inverted_index(term.field())?;
            let Some(alive) = segment.alive_bitset() else {
                live += u64::from(index.doc_freq(term)?);
                continue;
            };
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                live += u64::from(alive.is_alive(doc));
                doc = postings.advance();
            }
        }
        Ok(live)
    }
}
