//! The sharp edges of `libsql`, one by one, seen from behind the wrapper.

use super::*;

const MAKE: &str = "CREATE TABLE t(a INTEGER NOT NULL, b BLOB NOT NULL, PRIMARY KEY(a)) STRICT";
const PUT: &str = "INSERT INTO t(a, b) VALUES(?1, ?2)";
const GET: &str = "SELECT a, b FROM t WHERE a=?1";

fn table() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = Connection::open(&folder.path().join("t.db")).unwrap();
    connection.execute_once(MAKE).unwrap();
    (folder, connection)
}

#[test]
fn a_transaction_that_fails_is_gone_and_the_next_one_begins() {
    let (_folder, mut connection) = table();
    let put = |connection: &mut Connection, number: i64| {
        connection.execute(PUT, &[Bind::Int(number), Bind::Blob(b"")])
    };
    let failed = connection.within(|connection| {
        put(connection, 1)?;
        put(connection, 2)?;
        put(connection, 1)
    });
    assert_eq!(failed.unwrap_err().primary(), 19);
    assert!(connection.is_autocommit());
    let added = connection.within(|connection| put(connection, 4));
    assert_eq!(added.unwrap(), 1);
    let row = connection.row("SELECT sum(a) FROM t", &[]).unwrap();
    assert_eq!(row.unwrap().int(0).unwrap(), 4);
}

#[test]
fn a_statement_run_twice_binds_anew() {
    let (_folder, mut connection) = table();
    for number in [1, 2] {
        let bytes = [number as u8; 3];
        let changed = connection
            .execute(PUT, &[Bind::Int(number), Bind::Blob(&bytes)])
            .unwrap();
        assert_eq!(changed, 1);
    }
    let mut row = connection.row(GET, &[Bind::Int(2)]).unwrap().unwrap();
    assert_eq!((row.int(0).unwrap(), row.blob(1).unwrap()), (2, vec![2; 3]));
}

#[test]
fn a_statement_that_failed_can_be_run_again() {
    let (_folder, mut connection) = table();
    let put =
        |connection: &mut Connection, a| connection.execute(PUT, &[Bind::Int(a), Bind::Blob(b"x")]);
    put(&mut connection, 1).unwrap();
    let error = put(&mut connection, 1).unwrap_err();
    assert_eq!(error.primary(), 19, "{error}");
    put(&mut connection, 2).unwrap();
    assert!(connection.row(GET, &[Bind::Int(2)]).unwrap().is_some());
}

#[test]
fn a_missing_or_surplus_parameter_is_an_error_and_not_null() {
    let (_folder, mut connection) = table();
    let too_few = connection.execute(PUT, &[Bind::Int(1)]).unwrap_err();
    let too_many = connection
        .execute(PUT, &[Bind::Int(1), Bind::Blob(b""), Bind::Int(3)])
        .unwrap_err();
    for error in [too_few, too_many] {
        assert!(matches!(&error, SqlError::Misuse(_)), "{error}");
    }
    assert!(connection.row(GET, &[Bind::Int(1)]).unwrap().is_none());
}

#[test]
fn every_byte_comes_back_as_it_went_in() {
    let (_folder, mut connection) = table();
    let rows: [&[u8]; 5] = [
        b"",
        b"\0",
        b"a\0b",
        &[0xff, 0xfe, 0x00, 0x80],
        "gr\u{fc}n \u{1f980}".as_bytes(),
    ];
    for (key, bytes) in (0..).zip(rows) {
        connection
            .execute(PUT, &[Bind::Int(key), Bind::Blob(bytes)])
            .unwrap();
        let mut row = connection.row(GET, &[Bind::Int(key)]).unwrap().unwrap();
        assert_eq!(row.blob(1).unwrap(), bytes);
    }
}

#[test]
fn integers_keep_their_64_bits() {
    let (_folder, mut connection) = table();
    for number in [i64::MIN, -1, 0, 1 << 32, (1 << 53) + 1, i64::MAX] {
        connection
            .execute(PUT, &[Bind::Int(number), Bind::Blob(b"")])
            .unwrap();
        let mut row = connection.row(GET, &[Bind::Int(number)]).unwrap().unwrap();
        assert_eq!(row.int(0).unwrap(), number);
        assert_eq!(row.count(0).is_ok(), number >= 0);
    }
}

#[test]
fn a_column_of_another_type_is_an_error_and_neither_null_nor_a_panic() {
    let (_folder, mut connection) = table();
    let rows = [
        "SELECT NULL",
        "SELECT 1.5",
        "SELECT 'text'",
        "SELECT CAST(x'ff61' AS TEXT)",
    ];
    for sql in rows {
        let error = connection.row(sql, &[]).unwrap_err();
        assert!(matches!(&error, SqlError::Type { .. }), "{sql}: {error}");
        assert!(error.is_damage());
    }
    let mut row = connection.row("SELECT 1, x'0102'", &[]).unwrap().unwrap();
    assert!(row.blob(0).is_err());
    assert!(row.int(1).is_err());
    assert!(row.int(2).is_err());
    assert_eq!(row.array::<2>(1).unwrap(), [1, 2]);
    let mut row = connection.row("SELECT x'0102'", &[]).unwrap().unwrap();
    assert!(row.array::<3>(0).is_err());
}

#[test]
fn a_blob_past_the_cap_is_refused_before_it_is_bound() {
    let (_folder, mut connection) = table();
    let large = vec![7; MAX_BLOB + 1];
    let error = connection
        .execute(PUT, &[Bind::Int(1), Bind::Blob(&large)])
        .unwrap_err();
    assert!(matches!(error, SqlError::TooBig { size, .. } if size == MAX_BLOB + 1));
    connection
        .execute(PUT, &[Bind::Int(1), Bind::Blob(&large[1..])])
        .unwrap();
    let mut row = connection.row(GET, &[Bind::Int(1)]).unwrap().unwrap();
    assert_eq!(row.blob(1).unwrap().len(), MAX_BLOB);
    assert!(
        !connection.cache.contains_key(&cached(PUT)),
        "a cached statement would keep a copy of the blob"
    );
}

#[test]
fn a_row_left_unread_holds_nothing_open() {
    let (_folder, mut connection) = table();
    for number in 0..10 {
        connection
            .execute(PUT, &[Bind::Int(number), Bind::Blob(b"")])
            .unwrap();
    }
    connection.execute("BEGIN IMMEDIATE", &[]).unwrap();
    let mut seen = 0;
    connection
        .for_each("SELECT a FROM t", &[], |_| {
            seen += 1;
            Ok::<_, SqlError>(ControlFlow::Break(()))
        })
        .unwrap();
    assert_eq!(seen, 1);
    // With an open row this would be `cannot commit - SQL statements in progress`.
    connection.execute("COMMIT", &[]).unwrap();
    assert!(connection.is_autocommit());
    let two = connection.row("SELECT a FROM t", &[]).unwrap_err();
    assert!(matches!(two, SqlError::Misuse(_)), "{two}");
}

#[test]
fn a_path_that_libsql_would_read_otherwise_is_refused() {
    for path in [
        ":memory:",
        "file:x.db",
        "http://host/x",
        "libsql://host",
        "x.db",
        "/tmp/a\0b",
    ] {
        let error = Connection::open(Path::new(path)).err().unwrap();
        assert!(matches!(error, SqlError::Misuse(_)), "{path}: {error}");
    }
    let missing = Connection::open(Path::new("/no/such/folder/x.db"));
    assert_eq!(missing.err().unwrap().primary(), 14);
}
