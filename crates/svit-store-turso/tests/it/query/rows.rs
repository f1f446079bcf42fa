//! What a query shows.

use super::*;

#[tokio::test]
async fn rows_are_a_list_in_the_querys_order() {
    let made = Made::by(GOODS).await;
    let query = made.query("SELECT name, price FROM goods ORDER BY price DESC, name");
    assert_eq!(names(&query, "/"), ["0", "1", "2"]);
    assert_eq!(
        read(&query, "/"),
        Some(value!([
            {"name": "oil", "price": 9.0},
            {"name": "tea", "price": 2.5},
            {"name": "a/b", "price": 0.0}
        ]))
    );
    assert_eq!(
        read(&query, "/1"),
        Some(value!({"name": "tea", "price": 2.5}))
    );
    assert_eq!(names(&query, "/1"), ["name", "price"]);
    assert_eq!(read(&query, "/1/name"), Some("tea".into()));
    assert_eq!(names(&query, "/1/name"), Vec::<String>::new());
    for nothing in [
        "/3",
        "/-1",
        "/01",
        "/+1",
        "/x",
        "/1/photo",
        "/1/name/x",
        "/99999999999999999999",
    ] {
        assert_eq!(read(&query, nothing), None, "{nothing}");
        assert_eq!(query.stat(&at(nothing)).unwrap(), None, "{nothing}");
        assert_eq!(names(&query, nothing), Vec::<String>::new(), "{nothing}");
    }
}

#[tokio::test]
async fn with_a_key_rows_have_names() {
    let made = Made::by(GOODS).await;
    let by_name = made.query("SELECT * FROM goods").key("name").unwrap();
    assert_eq!(names(&by_name, "/"), ["a/b", "oil", "tea"]);
    let row = value!({"id": 9, "name": "a/b", "price": 0.0, "photo": ""});
    assert_eq!(read(&by_name, "/a~1b"), Some(row));
    assert_eq!(read(&by_name, "/oil/id"), Some(8.into()));
    assert_eq!(read(&by_name, "/OIL"), None);
    assert_eq!(read(&by_name, "/8"), None);
    let all = read(&by_name, "/").unwrap();
    let all: Vec<&str> = all
        .as_map()
        .unwrap()
        .keys()
        .map(|key| key.as_str())
        .collect();
    assert_eq!(all, ["a/b", "oil", "tea"]);

    let by_id = made.query("SELECT * FROM goods").key("id").unwrap();
    assert_eq!(names(&by_id, "/"), ["7", "8", "9"]);
    assert_eq!(read(&by_id, "/7/name"), Some("tea".into()));
    for nothing in ["/07", "/7.0", "/tea", "/+7"] {
        assert_eq!(read(&by_id, nothing), None, "{nothing}");
    }

    let unknown = made
        .query("SELECT id, name FROM goods")
        .key("price")
        .unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no column \"price\"; there are id, name"
    );
}

#[tokio::test]
async fn keys_that_name_no_row_or_two_are_refused_where_they_are_met() {
    let made = Made::by(
        "CREATE TABLE t (k, v); INSERT INTO t VALUES (1, 'a'), ('1', 'b'), ('x', 'c'), ('X', 'd'); \
         CREATE TABLE nocase (k TEXT COLLATE NOCASE); INSERT INTO nocase VALUES ('a'), ('A');",
    )
    .await;
    let keyed = |sql: &str| made.query(sql).key("k").unwrap();
    let twice = keyed("SELECT * FROM t");
    for path in ["/", "/1", "/1/v"] {
        assert!(
            fails(&twice, path).ends_with("two rows have the key \"k\" \"1\""),
            "{path}"
        );
    }
    assert!(twice.list(&at("/"), 10).is_err() && twice.stat(&at("/1")).is_err());
    assert_eq!(read(&twice, "/x/v"), Some("c".into()));
    assert_eq!(read(&twice, "/X/v"), Some("d".into()));
    assert_eq!(names(&keyed("SELECT * FROM nocase"), "/"), ["A", "a"]);
    assert_eq!(
        read(&keyed("SELECT * FROM nocase"), "/a/k"),
        Some("a".into())
    );

    for (key, why) in [
        ("NULL", "it is neither text nor an integer"),
        ("1.5", "it is neither text nor an integer"),
        ("x'01'", "it is neither text nor an integer"),
        ("''", "it is no name that a path can hold"),
        ("'..'", "it is no name that a path can hold"),
        ("char(0)", "it is no name that a path can hold"),
        ("CAST(x'ff' AS TEXT)", "it is not UTF-8"),
        (
            "hex(zeroblob(2000))",
            "it has 4000 bytes, at most 1024 are allowed",
        ),
    ] {
        let query = keyed(&format!("SELECT 'good' AS k UNION ALL SELECT {key}"));
        let error = query.list(&at("/"), 10).unwrap_err();
        assert_eq!(error.code(), "mount_refused", "{key}");
        assert!(
            error
                .to_string()
                .ends_with(&format!("row 1, key \"k\": {why}")),
            "{key}: {error}"
        );
        // A good one is found beside it.
        assert_eq!(read(&query, "/good/k"), Some("good".into()), "{key}");
    }
}

#[tokio::test]
async fn each_kind_of_cell_is_its_value_and_what_has_none_is_named() {
    let made = Made::by("CREATE TABLE t (x)").await;
    let query = made.query(
        "SELECT NULL AS n, 9223372036854775807 AS i, 0.1 AS f, 'é' || char(0) || '🦀' AS t, x'00ff' AS b, '' AS e",
    );
    let row = value!({
        "n": null, "i": (i64::MAX), "f": 0.1, "t": "é\0🦀",
        "b": (svit_value::Bytes::from(vec![0, 255])), "e": ""
    });
    assert_eq!(read(&query, "/0"), Some(row.clone()));
    let facts = [
        ("n", Kind::Null, None),
        ("i", Kind::Int, None),
        ("f", Kind::Float, None),
        ("t", Kind::Text, Some(7)),
        ("b", Kind::Bytes, Some(2)),
        ("e", Kind::Text, Some(0)),
    ];
    for (column, kind, bytes) in facts {
        let stat = query.stat(&at(&format!("/0/{column}"))).unwrap().unwrap();
        assert_eq!((stat.kind, stat.bytes), (kind, bytes), "{column}");
        assert_eq!(
            read(&query, &format!("/0/{column}")).as_ref(),
            row.get(column)
        );
    }
    let stat = query.stat(&at("/0")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.entries), (Kind::Map, Some(6)));
    assert_eq!(query.stat(&at("/")).unwrap().unwrap().kind, Kind::List);

    for (cell, why) in [
        ("CAST(x'c328' AS TEXT)", "it holds text that is not UTF-8"),
        ("1e999", "inf"),
        ("-1e999", "-inf"),
    ] {
        let query = made.query(&format!("SELECT 1 AS good, {cell} AS bad"));
        for path in ["/", "/0", "/0/bad"] {
            let error = fails(&query, path);
            assert!(
                error.starts_with("mount_refused")
                    && error.contains("row 0, column \"bad\"")
                    && error.contains(why),
                "{path}: {error}"
            );
        }
        assert_eq!(read(&query, "/0/good"), Some(1.into()));
        assert!(query.stat(&at("/0/bad")).unwrap().is_some());
    }
    // Whatever it is each time.
    let random = made.query("SELECT CASE WHEN random() % 2 THEN 1 ELSE 'text' END AS x");
    for _ in 0..50 {
        match random.read(&at("/0"), 100) {
            Ok(Some(row)) => assert!(row.get("x").is_some()),
            Ok(None) => panic!("no row"),
            Err(error) => assert_eq!(error.code(), "mount_unavailable"),
        }
    }
}

#[tokio::test]
async fn what_is_a_query_is_taken_however_it_is_written() {
    let made = Made::by(GOODS).await;
    made.run("CREATE TABLE rows_of_query (c0, c1); INSERT INTO rows_of_query VALUES (1, 2)")
        .await;
    made.run("CREATE TABLE \"odd names\" (\"a b\", \"q\"\"uote\", \"'\", \"é/🦀\", \"select\"); INSERT INTO \"odd names\" VALUES (1, 2, 3, 4, 5)")
        .await;
    for (sql, expected) in [
        ("SELECT 1 AS x;", value!([{"x": 1}])),
        ("SELECT 1 AS x -- a comment", value!([{"x": 1}])),
        ("SELECT 1 AS x -- ;)", value!([{"x": 1}])),
        ("  SELECT 1 AS x ;  \n", value!([{"x": 1}])),
        ("VALUES (1), (2)", value!([{"column1": 1}, {"column1": 2}])),
        (
            "WITH a(x) AS (VALUES (3)) SELECT x FROM a",
            value!([{"x": 3}]),
        ),
        ("SELECT count(*) FROM goods", value!([{"count(*)": 3}])),
        ("SELECT * FROM rows_of_query", value!([{"c0": 1, "c1": 2}])),
        (
            "SELECT * FROM \"odd names\"",
            value!([{"a b": 1, "q\"uote": 2, "'": 3, "é/🦀": 4, "select": 5}]),
        ),
        ("SELECT 1 AS x WHERE 0", value!([])),
        ("SELECT ';' AS x", value!([{"x": ";"}])),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n ORDER BY i DESC",
            value!([{"i": 3}, {"i": 2}, {"i": 1}]),
        ),
    ] {
        let query = made.query(sql);
        assert_eq!(read(&query, "/"), Some(expected.clone()), "{sql}");
        for row in names(&query, "/") {
            let found = read(&query, &format!("/{row}"));
            assert_eq!(
                found.as_ref(),
                expected
                    .get(&row)
                    .or(expected.as_list().and_then(|l| l.get(row.parse().unwrap()))),
                "{sql}"
            );
        }
    }
}

#[tokio::test]
async fn what_somebody_else_commits_meanwhile_is_seen() {
    let made = Made::by("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").await;
    let query = made.query("SELECT x FROM t ORDER BY x");
    for count in 0..50_i64 {
        assert_eq!(names(&query, "/").len() as i64, count);
        made.run(&format!("INSERT INTO t VALUES ({count})")).await;
        assert_eq!(read(&query, &format!("/{count}/x")), Some(count.into()));
    }
    // No read holds up the writer's checkpoint.
    made.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
    let wal = std::fs::metadata(made.place.beside("-wal")).unwrap();
    assert_eq!(wal.len(), 0);
    // The columns that it was opened with are what is asked for.
    made.run("ALTER TABLE t RENAME COLUMN x TO y").await;
    assert!(fails(&query, "/0").starts_with("mount_unavailable: /0: the query failed"));
}

#[tokio::test]
async fn many_threads_read_at_once() {
    let made = Made::by("CREATE TABLE t (id INTEGER PRIMARY KEY, x); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO t SELECT i, i * i FROM n").await;
    let query = Arc::new(made.query("SELECT id, x FROM t").key("id").unwrap());
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let query = query.clone();
            std::thread::spawn(move || {
                for n in (thread..1_000).step_by(8) {
                    let found = query.read(&at(&format!("/{n}/x")), 100).unwrap();
                    assert_eq!(found, Some((n * n).into()));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

const TOTAL: &str = "(define (main x) (let ((price (read \"/mounts/goods/tea/price\"))) \
     (do (write \"/memory/total\" (* x price)) (length (discover \"/mounts/goods\")))))";

#[tokio::test]
async fn a_script_reads_rows_below_a_mount() {
    let made = Made::by("CREATE TABLE goods (name TEXT PRIMARY KEY, price INTEGER); INSERT INTO goods VALUES ('tea', 3), ('oil', 9)").await;
    let process = Process::builder("svit://local/shop")
        .unwrap()
        .memory("total", 0)
        .library("total", TOTAL)
        .build()
        .unwrap();
    let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
        .await
        .unwrap();
    let goods = made.query("SELECT * FROM goods").key("name").unwrap();
    let goods = goods.source("what the shop sells");
    process
        .attach_mount("goods", Arc::new(goods))
        .await
        .unwrap();
    let activation = process.exec("/lib/total", 4).await.unwrap();
    assert_eq!(activation.output, 2.into());
    assert_eq!(process.read("/memory/total").unwrap(), Some(12.into()));
    let committed = process.stat("/mounts/goods").unwrap().unwrap();
    assert_eq!(committed.kind, Kind::Map);
    let root = process.root_digest();
    // What is outside is no part of the process.
    made.run("UPDATE goods SET price = 4").await;
    assert_eq!(
        process.read("/mounts/goods/tea/price").unwrap(),
        Some(4.into())
    );
    assert_eq!(process.root_digest(), root);
    let denied = process
        .write("/mounts/goods/tea/price", 5)
        .await
        .unwrap_err();
    assert_eq!(denied.code(), "mount_denied");
}
