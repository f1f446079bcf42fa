//! Tests of lines that come in.

use std::io::BufReader;

use super::{MAX_LINE, next_line};

fn lines(bytes: &[u8]) -> Vec<Result<String, String>> {
    let mut input = BufReader::with_capacity(16, bytes);
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut input).transpose() {
        lines.push(line.map_err(|failure| failure.sentence()));
    }
    lines
}

#[test]
fn lines_end_with_a_newline_or_the_input() {
    assert_eq!(lines(b""), []);
    assert_eq!(
        lines(b"a\n\nb"),
        [Ok("a\n".into()), Ok("\n".into()), Ok("b".into())]
    );
}

#[test]
fn a_line_that_cannot_be_used_is_passed_over() {
    let long = "x".repeat(usize::try_from(MAX_LINE).unwrap() + 100) + "\nnext\n";
    let read = lines(long.as_bytes());
    assert_eq!(read.len(), 2);
    assert_eq!(read[0], Err("a line has at most 1048576 bytes".into()));
    assert_eq!(read[1], Ok("next\n".into()));
    assert_eq!(
        lines(b"\xff\nb"),
        [Err("a line is UTF-8".into()), Ok("b".into())]
    );
}
