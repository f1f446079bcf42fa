//! What marking notices, block by block.

use svit_value::{Map, Value};

use super::*;

/// A value whose root block links to others, in a database that lacks one of those.
fn with_a_gap(connection: &mut Connection) -> (Digest, Digest) {
    connection
        .execute_once(
            "CREATE TABLE block(digest BLOB NOT NULL PRIMARY KEY, len INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
        )
        .unwrap();
    let entries = (0..2_000).map(|n| (format!("key-{n}"), n));
    let value = Value::from(Map::from_entries(entries).unwrap());
    let blocks: Vec<(Digest, Vec<u8>)> = value.blocks().collect();
    let missing = blocks.last().unwrap().0;
    assert!(blocks.len() > 3 && missing != value.digest());
    for (digest, data) in blocks.iter().filter(|(digest, _)| *digest != missing) {
        let row = [
            Bind::Blob(digest.as_bytes()),
            Bind::Int(data.len() as i64),
            Bind::Blob(data),
        ];
        connection
            .execute(
                "INSERT INTO block(digest, len, data) VALUES(?1, ?2, ?3)",
                &row,
            )
            .unwrap();
    }
    (value.digest(), missing)
}

fn follow_all(marker: &mut Marker, connection: &mut Connection) -> Result<(), Fault> {
    while !marker.is_done() {
        marker.follow(connection)?;
    }
    Ok(())
}

#[test]
fn what_may_be_missing_for_one_root_must_be_there_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = Connection::open(&folder.path().join("t.db")).unwrap();
    let (root, missing) = with_a_gap(&mut connection);
    let mut marker = Marker::new(&mut connection, COLLECTION).unwrap();
    // An unfinished checkpoint: a part is still to come.
    marker.see(&mut connection, &root, false).unwrap();
    follow_all(&mut marker, &mut connection).unwrap();
    assert!(marker.is_marked(&mut connection, &root).unwrap());
    assert!(!marker.is_marked(&mut connection, &missing).unwrap());
    // A whole one with the same blocks: one of them is lost.
    marker.see(&mut connection, &root, true).unwrap();
    let lost = follow_all(&mut marker, &mut connection).unwrap_err();
    let lost = lost.into_store(&folder.path().join("t.db")).to_string();
    assert!(
        lost.contains("missing") && lost.contains(&missing.to_string()),
        "{lost}"
    );
    // Followed strictly once, it is not followed again.
    marker.give_up();
    marker.see(&mut connection, &root, true).unwrap();
    marker.see(&mut connection, &root, false).unwrap();
    assert!(marker.is_done());
}
