//! The rows of a query: where they are below a mount, and what stands in them.

use std::ops::ControlFlow;

use svit_tree::Path;
use svit_tree::mount::{MountPath, MountStat};
use svit_value::{Bytes, Float, Kind, List, Map, Text, Value};

use super::asker::{Unopened, Unread};
use super::error::QueryError;
use crate::sql::SqlError;
use crate::sql::reader::{Given, Reader, Shaped, shapes};

/// A query, with what is known of its columns.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// What a statement begins with: the query under the name below, its columns called `c0`, `c1` and so
    /// on.
    rows: String,
    called: String,
    columns: Vec<Text>,
    key: Option<usize>,
}

/// What a path of the mount means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Table,
    Row(Name),
    Cell(Name, usize),
}

/// The name of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Number(i64),
    Key(String),
}

impl Table {
    /// Looks whether this is one query of the database, and of which columns.
    pub(super) fn of(reader: &Reader, sql: String) -> Result<Self, Unopened> {
        check_encoding(reader)?;
        let not_a_query = |why: String| Unopened::Query(QueryError::NotAQuery { why });
        let sql = sql.trim_end();
        let sql = sql.strip_suffix(';').unwrap_or(sql);
        if sql.contains('\0') {
            return Err(not_a_query("it holds NUL".to_owned()));
        }
        let asked = |sql: &str| {
            let known = reader.columns(sql);
            known.map_err(|error| not_a_query(words(error)))
        };
        // In parentheses there is nothing but a query; a comment ends with its line. Only then is the text
        // looked at alone: two columns of one name have another one in parentheses.
        let (inside, parameters) = asked(&format!("SELECT * FROM (\n{sql}\n)"))?;
        if parameters > 0 {
            let count = parameters;
            return Err(Unopened::Query(QueryError::Parameters { count }));
        }
        let (columns, _) = asked(sql)?;
        check_columns(&columns).map_err(Unopened::Query)?;
        // A name that means nothing else in the query.
        let mut called = "rows_of_query".to_owned();
        while sql.contains(&called) {
            called.push('_');
        }
        let cells: Vec<String> = (0..columns.len()).map(column).collect();
        let table = Self {
            rows: format!("WITH {called} ({}) AS (\n{sql}\n)", cells.join(", ")),
            called,
            columns: columns.into_iter().map(Text::from).collect(),
            key: None,
        };
        // What is left of a text behind its first statement is no part of those above.
        asked(&table.select(&table.all_shapes(), ""))?;
        if inside.len() != table.columns() {
            return Err(not_a_query("it is more than one".to_owned()));
        }
        Ok(table)
    }

    pub(super) fn set_key(&mut self, column: &str) -> Result<(), QueryError> {
        let found = self.columns.iter().position(|name| name == column);
        let Some(found) = found else {
            return Err(QueryError::NoColumn {
                column: column.to_owned(),
                columns: self.columns.iter().map(Text::to_string).collect(),
            });
        };
        self.key = Some(found);
        Ok(())
    }

    pub(super) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn sorted_columns(&self) -> Vec<Text> {
        let mut names = self.columns.clone();
        names.sort();
        names
    }

    /// What a path means; none if nothing can be there.
    pub(super) fn place(&self, path: &MountPath) -> Option<Place> {
        let mut segments = path.segments();
        let Some(row) = segments.next() else {
            return Some(Place::Table);
        };
        let row = match self.key {
            Some(_) => Name::Key(row.to_owned()),
            None => Name::Number(integer(row).filter(|number| *number >= 0)?),
        };
        let Some(cell) = segments.next() else {
            return Some(Place::Row(row));
        };
        let cell = self.columns.iter().position(|name| name == cell)?;
        segments.next().is_none().then_some(Place::Cell(row, cell))
    }

    fn select(&self, columns: &str, rest: &str) -> String {
        format!("{} SELECT {columns} FROM {} {rest}", self.rows, self.called)
    }

    fn all_shapes(&self) -> String {
        let called: Vec<String> = (0..self.columns.len()).map(column).collect();
        shapes(called.iter().map(String::as_str))
    }

    /// The names of the rows, at most `limit`, sorted.
    pub(super) fn names(&self, reader: &Reader, limit: usize) -> Result<Vec<Text>, Unread> {
        let allowed = limit as u64;
        let most = i64::try_from(allowed).unwrap_or(i64::MAX - 1);
        let too_many = Unread::TooLarge {
            unit: "rows",
            allowed,
            actual: allowed.saturating_add(1),
        };
        let Some(key) = self.key else {
            let sql = format!(
                "{} SELECT 1, count(*) FROM (SELECT 1 FROM {} LIMIT ?1)",
                self.rows, self.called
            );
            let mut count = 0;
            reader.for_each(&sql, &[Given::Int(most + 1)], |row| {
                if let [Shaped::Int(rows)] = row[..] {
                    count = rows;
                }
                Ok::<_, Unread>(ControlFlow::Break(()))
            })?;
            if count > most {
                return Err(too_many);
            }
            return Ok((0..count).map(|row| Text::from(row.to_string())).collect());
        };
        let sql = self.select(&shapes([&*column(key)]), "LIMIT ?2");
        let given = [Given::Int(MOST_KEY_BYTES), Given::Int(most + 1)];
        let mut names: Vec<Text> = Vec::new();
        reader.for_each(&sql, &given, |mut row| {
            let cell = row.pop().unwrap_or(Shaped::Null);
            names.push(self.name(names.len(), key, cell)?);
            Ok::<_, Unread>(ControlFlow::Continue(()))
        })?;
        if names.len() > limit {
            return Err(too_many);
        }
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.twice(&pair[0])),
            None => Ok(names),
        }
    }

    /// Whether there is a row of this name.
    pub(super) fn has(&self, reader: &Reader, row: &Name) -> Result<bool, Unread> {
        let (rest, given) = self.one(row, 0);
        let sql = self.select("1, 1", &rest);
        let mut found = 0;
        reader.for_each(&sql, &given, |_| {
            found += 1;
            Ok::<_, Unread>(ControlFlow::Continue(()))
        })?;
        match row {
            Name::Key(key) if found > 1 => Err(self.twice(key)),
            _ => Ok(found > 0),
        }
    }

    /// The whole table, up to so many bytes.
    pub(super) fn all(&self, reader: &Reader, max_bytes: u64) -> Result<Value, Unread> {
        let sql = self.select(&self.all_shapes(), "");
        let (mut rows, mut named) = (Vec::new(), Map::new());
        let mut bytes = 0_u64;
        reader.for_each(&sql, &[size(max_bytes)], |cells| {
            let number = rows.len().max(named.len());
            let name = match self.key {
                Some(key) => Some(self.name(number, key, cells[key].clone())?),
                None => None,
            };
            let row = self.value(&number.to_string(), cells, max_bytes)?;
            bytes = bytes.saturating_add(row.measure().cbor_len);
            if bytes > max_bytes {
                return Err(too_large(max_bytes, bytes));
            }
            match name {
                None => rows.push(row),
                Some(name) => {
                    if named
                        .insert(name.clone(), row)
                        .map_err(value_error)?
                        .is_some()
                    {
                        return Err(self.twice(&name));
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match self.key {
            Some(_) => Ok(named.into()),
            None => List::from_values(rows)
                .map(Value::from)
                .map_err(value_error),
        }
    }

    /// One row, if it is there.
    pub(super) fn row(
        &self,
        reader: &Reader,
        row: &Name,
        max_bytes: u64,
    ) -> Result<Option<Value>, Unread> {
        let cells = self.cells(reader, row, &self.all_shapes(), max_bytes)?;
        let Some(cells) = cells else {
            return Ok(None);
        };
        let value = self.value(&row.to_string(), cells, max_bytes)?;
        let bytes = value.measure().cbor_len;
        match bytes > max_bytes {
            true => Err(too_large(max_bytes, bytes)),
            false => Ok(Some(value)),
        }
    }

    /// One cell, if its row is there.
    pub(super) fn cell(
        &self,
        reader: &Reader,
        row: &Name,
        cell: usize,
        max_bytes: u64,
    ) -> Result<Option<Value>, Unread> {
        let shape = shapes([&*column(cell)]);
        let cells = self.cells(reader, row, &shape, max_bytes)?;
        let found = cells.and_then(|mut cells| cells.pop());
        found
            .map(|found| self.read(&row.to_string(), cell, found, max_bytes))
            .transpose()
    }

    /// Facts about one cell, if its row is there.
    pub(super) fn facts(
        &self,
        reader: &Reader,
        row: &Name,
        cell: usize,
    ) -> Result<Option<MountStat>, Unread> {
        let name = column(cell);
        // The kind, and then the size of what has one: neither reads a blob.
        let columns = format!(
            "1, CASE typeof({name}) WHEN 'null' THEN 0 WHEN 'integer' THEN 1 WHEN 'real' THEN 2 \
             WHEN 'text' THEN 3 ELSE 4 END, \
             1, CASE WHEN typeof({name}) IN ('text', 'blob') THEN length(CAST({name} AS BLOB)) ELSE 0 END"
        );
        let cells = self.cells(reader, row, &columns, 0)?;
        let Some([Shaped::Int(kind), Shaped::Int(bytes)]) = cells.as_deref() else {
            return Ok(None);
        };
        let kind = match kind {
            0 => Kind::Null,
            1 => Kind::Int,
            2 => Kind::Float,
            3 => Kind::Text,
            _ => Kind::Bytes,
        };
        let has_size = matches!(kind, Kind::Text | Kind::Bytes);
        Ok(Some(MountStat {
            kind,
            entries: Some(0),
            bytes: has_size.then(|| bytes.unsigned_abs()),
        }))
    }

    /// The cells of the one row of a name.
    fn cells(
        &self,
        reader: &Reader,
        row: &Name,
        columns: &str,
        max_bytes: u64,
    ) -> Result<Option<Vec<Shaped>>, Unread> {
        let (rest, given) = self.one(row, max_bytes);
        let mut found = Vec::new();
        reader.for_each(&self.select(columns, &rest), &given, |cells| {
            found.push(cells);
            Ok::<_, Unread>(ControlFlow::Continue(()))
        })?;
        match row {
            Name::Key(key) if found.len() > 1 => Err(self.twice(key)),
            _ => Ok(found.pop()),
        }
    }

    /// How one row is found: the end of a query, and its parameters from the size on. Of rows with one
    /// key, two.
    fn one(&self, row: &Name, max_bytes: u64) -> (String, Vec<Given>) {
        match (row, self.key) {
            (Name::Number(number), _) => {
                let given = vec![size(max_bytes), Given::Int(*number)];
                ("LIMIT 1 OFFSET ?2".to_owned(), given)
            }
            (Name::Key(key), column_of_key) => {
                let name = column(column_of_key.unwrap_or(0));
                let number = integer(key).map_or(Given::Null, Given::Int);
                let given = vec![size(max_bytes), Given::Text(key.clone()), number];
                let rest = format!(
                    "WHERE ({name} = ?2 COLLATE BINARY AND typeof({name}) = 'text') \
                     OR ({name} = ?3 AND typeof({name}) = 'integer') LIMIT 2"
                );
                (rest, given)
            }
        }
    }

    fn value(&self, row: &str, cells: Vec<Shaped>, max_bytes: u64) -> Result<Value, Unread> {
        let mut value = Map::new();
        for (index, cell) in cells.into_iter().enumerate() {
            let cell = self.read(row, index, cell, max_bytes)?;
            let name = self.columns.get(index).cloned().unwrap_or_default();
            value.insert(name, cell).map_err(value_error)?;
        }
        Ok(value.into())
    }

    fn read(
        &self,
        row: &str,
        column: usize,
        cell: Shaped,
        max_bytes: u64,
    ) -> Result<Value, Unread> {
        let column = self.columns.get(column).map_or("", Text::as_str);
        let refused = |why: &str| Unread::Refused(format!("row {row}, column {column:?}: {why}"));
        Ok(match cell {
            Shaped::Null => Value::Null,
            Shaped::Int(number) => Value::Int(number),
            Shaped::Real(number) => Float::new(number)
                .map(Value::Float)
                .map_err(|error| refused(&error.to_string()))?,
            Shaped::Text(bytes) => String::from_utf8(bytes)
                .map(Value::from)
                .map_err(|_| refused("it holds text that is not UTF-8"))?,
            Shaped::Blob(bytes) => Value::from(Bytes::from(bytes)),
            Shaped::TooLarge(actual) => return Err(too_large(max_bytes, actual)),
        })
    }

    /// The name of a row by what is in the column of its key.
    fn name(&self, row: usize, key: usize, cell: Shaped) -> Result<Text, Unread> {
        let column = self.columns.get(key).map_or("", Text::as_str);
        let refused = |why: &str| Unread::Refused(format!("row {row}, key {column:?}: {why}"));
        let name = match cell {
            Shaped::Int(number) => number.to_string(),
            Shaped::Text(bytes) => {
                String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8"))?
            }
            Shaped::TooLarge(actual) => {
                return Err(refused(&format!(
                    "it has {actual} bytes, at most {MOST_KEY_BYTES} are allowed"
                )));
            }
            Shaped::Null | Shaped::Real(_) | Shaped::Blob(_) => {
                return Err(refused("it is neither text nor an integer"));
            }
        };
        match is_name(&name) {
            true => Ok(name.into()),
            false => Err(refused("it is no name that a path can hold")),
        }
    }

    fn twice(&self, key: &str) -> Unread {
        let column = self.key.and_then(|key| self.columns.get(key));
        let column = column.map_or("", Text::as_str);
        Unread::Refused(format!("two rows have the key {column:?} {key:?}"))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Key(key) => write!(f, "{key:?}"),
        }
    }
}

/// The longest key of a row, in bytes: what a segment of a path may have.
const MOST_KEY_BYTES: i64 = 1_024;

/// What a column is called within the query.
fn column(index: usize) -> String {
    format!("c{index}")
}

/// A whole number, in the one way in which it is written.
fn integer(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn is_name(name: &str) -> bool {
    Path::root().join(name).is_ok()
}

fn size(max_bytes: u64) -> Given {
    Given::Int(i64::try_from(max_bytes).unwrap_or(i64::MAX))
}

fn too_large(allowed: u64, actual: u64) -> Unread {
    Unread::TooLarge {
        unit: "bytes",
        allowed,
        actual,
    }
}

fn value_error(error: svit_value::ValueError) -> Unread {
    Unread::Refused(error.to_string())
}

/// SQLite's own words, for the host.
fn words(error: SqlError) -> String {
    match error {
        SqlError::Failure { message, .. } => message,
        other => other.to_string(),
    }
}

/// Text is read as the bytes that are stored.
fn check_encoding(reader: &Reader) -> Result<(), Unopened> {
    let mut is_utf8 = false;
    let sql = "SELECT 3, CAST(encoding AS BLOB) FROM pragma_encoding";
    let read = reader.for_each(sql, &[], |cells| {
        is_utf8 = matches!(&cells[..], [Shaped::Text(name)] if name == b"UTF-8");
        Ok::<_, SqlError>(ControlFlow::Break(()))
    });
    read.map_err(Unopened::Database)?;
    match is_utf8 {
        true => Ok(()),
        false => Err(Unopened::Database(SqlError::Misuse(
            "its encoding is not UTF-8".to_owned(),
        ))),
    }
}

fn check_columns(columns: &[String]) -> Result<(), QueryError> {
    for (index, name) in columns.iter().enumerate() {
        let bad = |why| {
            let column = name.clone();
            Err(QueryError::BadColumn { column, why })
        };
        if !is_name(name) {
            return bad("it is no name that a path can hold; give it another with AS");
        }
        if columns[..index].contains(name) {
            return bad("there are two of this name; give one of them another with AS");
        }
    }
    Ok(())
}
