//! Questions as tantivy's queries: the parts that are promised and no others, with exclusions that can be asked about
//! any document.

use svit_tree::Path;
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, EmptyQuery, EnableScoring, Explanation, Occur, PhraseQuery,
    Query, QueryParser, Scorer, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Index, Score, SegmentReader, Term};

use crate::QueryError;

fn bad(why: impl Into<String>) -> QueryError {
    QueryError::BadQuery { why: why.into() }
}

/// Reads a query about `fields`; words without a field are looked for in the first.
///
/// # Errors
/// [`QueryError::BadQuery`].
pub(super) fn parse(
    index: &Index,
    fields: [Field; 2],
    text: &str,
) -> Result<Box<dyn Query>, QueryError> {
    let parsed = QueryParser::for_index(index, vec![fields[0]])
        .parse_query(text)
        .map_err(|error| bad(error.to_string()))?;
    let mut known = true;
    parsed.query_terms(&mut |term, _| known &= fields.contains(&term.field()));
    if !known {
        return Err(bad("a query is about the text and the key of a node"));
    }
    promised(&*parsed)
}

/// Those at and below a path, with the scores they have.
pub(super) fn below(query: &dyn Query, field: Field, path: &Path) -> BooleanQuery {
    let place = Term::from_field_text(field, &path.to_string());
    let place = TermQuery::new(place, IndexRecordOption::Basic);
    BooleanQuery::new(vec![
        (Occur::Must, query.box_clone()),
        (
            Occur::Must,
            Box::new(ConstScoreQuery::new(Box::new(place), 0.0)),
        ),
    ])
}

/// Words, phrases, and what is made of them. Tantivy's own syntax has more, such as ranges and boosts.
fn promised(query: &dyn Query) -> Result<Box<dyn Query>, QueryError> {
    let known = query.is::<TermQuery>() || query.is::<PhraseQuery>() || query.is::<EmptyQuery>();
    if known {
        return Ok(query.box_clone());
    }
    let Some(parts) = query.downcast_ref::<BooleanQuery>() else {
        return Err(bad(
            "a query has words, \"phrases\", key:words, +, -, AND, OR and parentheses, and nothing else",
        ));
    };
    let parts = parts.clauses().iter().map(|(occur, part)| {
        let part = promised(&**part)?;
        Ok(match occur {
            Occur::MustNot => (Occur::MustNot, Box::new(Excluded(part)) as Box<dyn Query>),
            other => (*other, part),
        })
    });
    Ok(Box::new(BooleanQuery::new(
        parts.collect::<Result<_, QueryError>>()?,
    )))
}

/// What must not match. The scorers of tantivy 0.27 that exclude ask for documents before the one where the excluded
/// scorer is, which phrases and what contains them do not expect: debug builds panic. This one answers.
#[derive(Debug)]
struct Excluded(Box<dyn Query>);

impl Clone for Excluded {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl Query for Excluded {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(ExcludedWeight(self.0.weight(scoring)?)))
    }
}

struct ExcludedWeight(Box<dyn Weight>);

impl Weight for ExcludedWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ExcludedScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

struct ExcludedScorer(Box<dyn Scorer>);

/// `seek_danger` is that of the trait, which looks where the scorer is before it seeks.
impl DocSet for ExcludedScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

impl Scorer for ExcludedScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
