//! From older formats to this one, one at a time, each in one immediate transaction: whoever is
//! interrupted finds the older format, whole.

mod format_1;
mod format_2;

use crate::fault::{Fault, corrupt};
use crate::header::USER_VERSION;
use crate::schema::{self, Definition, Meta};
use crate::sql::{Connection, SqlError};

/// The oldest format that this code reads.
pub(crate) const OLDEST: u32 = 1;

/// What is defined in a format besides what lasts.
pub(crate) fn definitions(format: u32) -> &'static [Definition] {
    match format {
        1 => &format_1::CHANGED,
        2 => &format_2::CHANGED,
        _ => &schema::CHANGED,
    }
}

/// The row of `meta` in a format; none if it is missing or does not have its sum.
pub(crate) fn meta(connection: &mut Connection, format: u32) -> Result<Option<Meta>, SqlError> {
    match format {
        1 => format_1::meta(connection),
        _ => Meta::read(connection),
    }
}

/// Brings a database of an older format, whose definitions were checked, to this one.
pub(crate) fn migrate(connection: &mut Connection, found: u32) -> Result<(), Fault> {
    for format in found..USER_VERSION {
        step(connection, format)?;
        tracing::info!(from = format, to = format + 1, "store migrated");
    }
    Ok(())
}

fn step(connection: &mut Connection, format: u32) -> Result<(), Fault> {
    connection.execute_once("BEGIN IMMEDIATE")?;
    let rewritten = rewrite(connection, format);
    if rewritten.is_err() && !connection.is_autocommit() {
        connection.execute_once("ROLLBACK")?;
    }
    rewritten?;
    connection.execute_once("COMMIT")?;
    Ok(())
}

/// The work of one step, inside its transaction.
fn rewrite(connection: &mut Connection, format: u32) -> Result<(), Fault> {
    match format {
        1 => format_1::rewrite(connection)?,
        2 => format_2::rewrite(connection)?,
        other => return Err(corrupt(format!("no way on from format {other}"), "meta")),
    }
    connection.execute_once(&format!("PRAGMA user_version={}", format + 1))?;
    Ok(())
}

#[cfg(test)]
mod tests;
