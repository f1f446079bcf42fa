//! Format 2, in which each record was filed by process at once, and the way to format 3.

use crate::schema::{Definition, FORK_REF, HEAD, META, RECEIPT_PINNED, RECENT};
use crate::sql::{Connection, SqlError};

pub(super) const CHANGED: [Definition; 4] = [META, HEAD, FORK_REF, RECEIPT_PINNED];

/// Adds the table of recent records. All that are there are filed.
pub(super) fn rewrite(connection: &mut Connection) -> Result<(), SqlError> {
    connection.execute_once(RECENT.sql)
}
