//! Tests of what a diff shows.

use expect_test::{Expect, expect};
use svit::{List, MemoryStore, Process, Value, value};

use super::{between, text};

/// Writes one value after the other, and shows what differs from the first to the last.
fn check(before: Value, after: Value, expected: Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let edits = runtime.block_on(async {
        let process = Process::builder("svit://local/diff")
            .unwrap()
            .memory("x", before);
        let process = MemoryStore::new()
            .create(process.build().unwrap())
            .await
            .unwrap();
        process.write("/memory/x", after).await.unwrap();
        between(&process, 0, 1).await.unwrap()
    });
    assert!(edits.iter().all(|edit| edit.to_value().as_map().is_some()));
    expected.assert_eq(&text(&edits, 0, 100));
}

#[test]
fn what_was_there_and_what_is_there_now() {
    check(
        value!(1),
        value!(2),
        expect![[r#"
        /memory/x
        - 1
        + 2
    "#]],
    );
    check(
        value!({"a": 1, "b": 2}),
        value!({"a": 1, "c": 3}),
        expect![[r#"
            /memory/x
            - {"a":1,"b":2}
            + {"a":1,"c":3}
        "#]],
    );
}

#[test]
fn lists_grow_and_shrink() {
    let list = |length: i64| Value::from(List::from_values(0..length).unwrap());
    check(
        list(50),
        list(52),
        expect![[r#"
        /memory/x grows from 50 by 2
        + 50
        + 51
    "#]],
    );
    check(
        list(50),
        list(20),
        expect![[r#"
        /memory/x shrinks from 50 to 20
    "#]],
    );
}

#[test]
fn of_values_only_the_lines_that_differ() {
    let map = |count| value!({"color": "teal", "count": (count), "words": ["one", "two", "three", "four", "five"]});
    check(
        map(1),
        map(2),
        expect![[r#"
        /memory/x/count
        - 1
        + 2
    "#]],
    );
    check(
        value!(null),
        map(1),
        expect![[r#"
        /memory/x
        - null
        + {
        +   "color": "teal",
        +   "count": 1,
        +   "words": [
        +     "one",
        +     "two",
        +     "three",
        +     "four",
        +     "five"
        +   ]
        + }
    "#]],
    );
}

#[test]
fn of_a_long_text_only_the_lines_that_differ() {
    check(
        value!("one\ntwo\nthree\nfour"),
        value!("one\nTWO\nand a half\nthree\nfour"),
        expect![[r#"
            /memory/x
            @ line 2
            - two
            + TWO
            + and a half
        "#]],
    );
}

#[test]
fn a_diff_of_large_values_is_bounded() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let edits = runtime.block_on(async {
        let process = Process::builder("svit://local/diff")
            .unwrap()
            .build()
            .unwrap();
        let process = MemoryStore::new().create(process).await.unwrap();
        let list = List::from_values((0..50_000).map(|_| "x".repeat(10))).unwrap();
        process.write("/memory/list", list).await.unwrap();
        process
            .write("/memory/text", "line\n".repeat(50_000))
            .await
            .unwrap();
        between(&process, 0, 2).await.unwrap()
    });
    assert!(text(&edits, 0, 100).len() < 2_000);
}
