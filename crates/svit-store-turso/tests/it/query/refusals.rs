//! What is refused, bounded and left as it was.

use super::*;

#[tokio::test]
async fn what_is_no_query_is_refused_and_changes_nothing() {
    let made = Made::by(GOODS).await;
    let before = files(made.place.folder.path());
    for sql in [
        "",
        "   \n",
        "-- nothing",
        ";",
        "goods",
        "SELECT",
        "SELECT * FROM none",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE goods",
        "SELECT 1) ; DROP TABLE goods; SELECT (1",
        "SELECT 1), x AS (SELECT 2",
        "SELECT 1) UNION SELECT 2 FROM (SELECT 3",
        "INSERT INTO goods (name) VALUES ('x')",
        "INSERT INTO goods (name) VALUES ('x') RETURNING id",
        "UPDATE goods SET price = 0",
        "DELETE FROM goods RETURNING *",
        "WITH gone AS (DELETE FROM goods RETURNING *) SELECT * FROM gone",
        "DROP TABLE goods",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "ALTER TABLE goods ADD COLUMN x",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = 1",
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "BEGIN",
        "COMMIT",
        "EXPLAIN SELECT 1",
        "SELECT writefile('x', 'y')",
        "SELECT readfile('/etc/passwd')",
        "SELECT edit('x')",
        "SELECT 1\0",
        "SELECT '",
        "SELECT /* 1",
    ] {
        let refused = made.refuses(sql);
        assert_eq!(refused.code(), "not_a_query", "{sql}: {refused}");
    }
    // Queries that would do something, had they the power.
    for sql in [
        "SELECT load_extension('none') AS x",
        "SELECT * FROM pragma_journal_mode('wal')",
        "SELECT * FROM pragma_wal_checkpoint('truncate')",
        "SELECT * FROM pragma_application_id(7)",
        "SELECT * FROM pragma_user_version(7)",
        "SELECT * FROM pragma_incremental_vacuum(1)",
        "SELECT * FROM pragma_query_only(0)",
        "SELECT * FROM pragma_optimize",
    ] {
        if let Ok(query) = TursoQuery::open(&made.place.path, sql) {
            drop(query.read(&at("/"), 1 << 20));
            drop(query.read(&at("/0"), 1 << 20));
        }
        assert_eq!(files(made.place.folder.path()), before, "{sql}");
    }

    for (sql, count) in [("SELECT ?", 1), ("SELECT ?3", 3), ("SELECT :a, @b, $c", 3)] {
        assert_eq!(made.refuses(sql), QueryError::Parameters { count }, "{sql}");
    }
    for (sql, column) in [
        ("SELECT 1 AS a, 2 AS a", "a"),
        ("SELECT 1 AS ''", ""),
        ("SELECT 1 AS '..'", ".."),
        ("SELECT * FROM goods a JOIN goods b USING (id)", "name"),
    ] {
        let refused = made.refuses(sql);
        assert!(
            matches!(&refused, QueryError::BadColumn { column: found, .. } if found == column),
            "{sql}: {refused}"
        );
    }
    let many: Vec<String> = (0..1_500).map(|n| format!("{n} AS c{n}")).collect();
    let refused = made.refuses(&format!("SELECT {}", many.join(", ")));
    assert!(refused.to_string().contains("too many"), "{refused}");
}

#[test]
fn what_is_no_database_is_refused_and_nothing_is_made() {
    let place = place();
    let open = |path: &Path| TursoQuery::open(path, "SELECT 1 AS x").unwrap_err();
    let missing = open(&place.path);
    assert_eq!(missing.code(), "unreadable");
    assert!(files(place.folder.path()).is_empty());
    assert_eq!(open(place.folder.path()).code(), "unreadable");
    std::fs::write(
        &place.path,
        "no database, but a text of some length, which is read",
    )
    .unwrap();
    let before = files(place.folder.path());
    let refused = open(&place.path);
    assert_eq!(refused.code(), "unreadable", "{refused}");
    assert_eq!(files(place.folder.path()), before);
}

#[tokio::test]
async fn a_database_in_utf_16_is_refused() {
    let made =
        Made::by("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x); INSERT INTO t VALUES ('a')")
            .await;
    let refused = made.refuses("SELECT x FROM t");
    assert!(
        refused.to_string().contains("its encoding is not UTF-8"),
        "{refused}"
    );
}

// THREAT[TM-MOUNT-4]
#[tokio::test]
async fn reading_changes_no_byte_of_the_database() {
    let made = Made::by(GOODS).await;
    let before = files(made.place.folder.path());
    let query = made.query("SELECT * FROM goods").key("id").unwrap();
    for path in ["/", "/7", "/7/photo", "/none"] {
        drop(query.read(&at(path), 1 << 20));
        drop(query.list(&at(path), 10));
        drop(query.stat(&at(path)));
        let denied = query.write(&at(path), &1.into()).unwrap_err();
        assert_eq!(denied, MountError::Denied { path: at(path) });
        assert_eq!(query.remove(&at(path)).unwrap_err().code(), "mount_denied");
        assert_eq!(
            query.check(&at(path), None).unwrap_err().code(),
            "mount_denied"
        );
    }
    let descriptor = query.descriptor();
    assert_eq!(
        (&*descriptor.kind, descriptor.grant),
        ("query", Grant::Read)
    );
    drop(query);
    assert_eq!(files(made.place.folder.path()), before);
}

#[tokio::test]
async fn sizes_are_bounded_before_they_are_read() {
    let made = Made::by(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x); \
         INSERT INTO t VALUES (1, zeroblob(100000000)), (2, hex(zeroblob(500)))",
    )
    .await;
    let query = made.query("SELECT id, x FROM t").key("id").unwrap();
    let too_large = |path: &str, allowed: u64, actual: u64| {
        let expected = MountError::TooLarge {
            path: at(path),
            unit: "bytes",
            allowed,
            actual,
        };
        assert_eq!(query.read(&at(path), allowed).unwrap_err(), expected);
    };
    too_large("/1/x", 1_000, 100_000_000);
    too_large("/1", 1_000, 100_000_000);
    too_large("/", 1_000, 100_000_000);
    too_large("/2/x", 999, 1_000);
    assert!(query.read(&at("/2/x"), 1_000).unwrap().is_some());
    assert_eq!(
        query.stat(&at("/1/x")).unwrap().unwrap().bytes,
        Some(100_000_000)
    );
    // The row's own form counts as well.
    assert_eq!(
        query.read(&at("/2"), 1_000).unwrap_err().code(),
        "mount_too_large"
    );
    assert!(query.read(&at("/2"), 1_100).unwrap().is_some());

    let many = made.query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n",
    );
    let error = many.list(&at("/"), 1_000).unwrap_err();
    let expected = MountError::TooLarge {
        path: at("/"),
        unit: "rows",
        allowed: 1_000,
        actual: 1_001,
    };
    assert_eq!(error, expected);
    assert_eq!(
        many.read(&at("/"), 10_000).unwrap_err().code(),
        "mount_too_large"
    );
    assert_eq!(read(&many, "/999999/i"), Some(1_000_000.into()));
    let keyed = many.key("i").unwrap();
    assert_eq!(keyed.list(&at("/"), 1_000).unwrap_err(), expected);
    assert_eq!(
        keyed.list(&at("/5"), 0).unwrap_err().code(),
        "mount_too_large"
    );
}

#[tokio::test]
async fn a_query_without_end_is_left_and_ended_and_others_go_on() {
    let made = Made::by("CREATE TABLE t (x)").await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let query = made.query(endless).timeout(Duration::from_millis(50));
    let began = Instant::now();
    let error = query.read(&at("/1000000000000"), 100).unwrap_err();
    assert_eq!(error.to_string(), "/1000000000000: no answer within 50 ms");
    assert!(began.elapsed() < Duration::from_secs(20));
    // Its thread is free again, and the first rows are there at once.
    let query = query.timeout(Duration::from_secs(20));
    assert_eq!(read(&query, "/3/i"), Some(4.into()));
    assert_eq!(
        query.list(&at("/"), 10).unwrap_err().code(),
        "mount_too_large"
    );

    // One that waits behind another is left too, and is not run later.
    let query = Arc::new(made.query(endless).timeout(Duration::from_millis(100)));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let query = query.clone();
            std::thread::spawn(move || query.read(&at("/1000000000000"), 100).unwrap_err())
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().code(), "mount_unavailable");
    }
    let query = Arc::into_inner(query)
        .unwrap()
        .timeout(Duration::from_secs(20));
    assert_eq!(read(&query, "/3/i"), Some(4.into()));
}

#[tokio::test]
async fn a_database_that_was_taken_away_or_replaced_is_said() {
    let made = Made::by(GOODS).await;
    let other = Made::by("CREATE TABLE goods (name); INSERT INTO goods VALUES ('wrong')").await;
    let query = made.query("SELECT name FROM goods ORDER BY id");
    assert_eq!(read(&query, "/0/name"), Some("tea".into()));
    let path = &made.place.path;
    let moved = path.with_extension("moved");
    std::fs::rename(path, &moved).unwrap();
    assert_eq!(
        fails(&query, "/0"),
        "mount_unavailable: /0: the database is not there any more"
    );
    std::fs::copy(&other.place.path, path).unwrap();
    assert_eq!(
        fails(&query, "/0"),
        "mount_unavailable: /0: another file was put in the place of the database"
    );
    std::fs::rename(&moved, path).unwrap();
    assert_eq!(read(&query, "/0/name"), Some("tea".into()));
}

#[tokio::test]
async fn flipped_bytes_end_in_a_value_or_an_error() {
    let made = Made::by(GOODS).await;
    let whole = std::fs::read(&made.place.path).unwrap();
    let place = place();
    let mut errors = 0;
    for position in (0..whole.len()).step_by(11) {
        let mut flipped = whole.clone();
        flipped[position] ^= 0xff;
        std::fs::write(&place.path, &flipped).unwrap();
        match TursoQuery::open(&place.path, "SELECT * FROM goods") {
            Err(_) => errors += 1,
            Ok(query) => {
                errors += usize::from(query.read(&at("/"), 1 << 20).is_err());
                drop(query.list(&at("/"), 100));
                drop(query.read(&at("/1/name"), 1 << 20));
                let query = query.key("name").unwrap();
                drop(query.read(&at("/tea"), 1 << 20));
            }
        }
    }
    assert!(errors > 10, "{errors}");
}
