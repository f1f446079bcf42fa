//! The port `http` in an agent: the example as a program of its own.
#![cfg(all(feature = "http", feature = "lisp"))]

use crate::example::{program, said};

#[test]
fn the_http_example_fetches_with_a_key_that_nobody_sees_and_is_refused_elsewhere() {
    let output = said(&program("http_port").output().unwrap());
    for expected in [
        "answer  There are two issues.",
        r#"{"id": 1, "title": "tea is cold"}"#,
        "allowed is what begins with: http://127.0.0.1:",
        "the key is in the thread: false",
    ] {
        assert!(output.contains(expected), "no {expected:?} in\n{output}");
    }
}
