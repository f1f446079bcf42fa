//! Tests of pieces of values.

use svit::{Bytes, List, Map, Path, Value, value};

use super::{Excerpt, Form, Place, preview};

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn all(place: &str, value: &Value) -> (Vec<String>, usize) {
    let (mut at, mut texts, mut longest) = (Place::Start, Vec::new(), 0);
    loop {
        let piece = Excerpt::of(&path(place), value, &at);
        longest = longest.max(piece.text.len());
        texts.push(piece.text);
        match piece.next {
            Some(next) => at = next,
            None => return (texts, longest),
        }
    }
}

#[test]
fn the_form_is_the_one_that_reads_best() {
    let form = |place: &str, value: Value| Excerpt::of(&path(place), &value, &Place::Start).form;
    assert_eq!(form("/memory/x", value!({"a": 1})), Form::Json);
    assert_eq!(form("/memory/x", value!("plain")), Form::Text);
    assert_eq!(form("/memory/x", value!("# Title\ntext")), Form::Markdown);
    assert_eq!(
        form("/mounts/cwd/README.md", value!("text")),
        Form::Markdown
    );
    assert_eq!(form("/mounts/cwd/x.txt", value!("# no title")), Form::Text);
    assert_eq!(form("/lib/x/source", value!("(define x 1)")), Form::Lisp);
    assert_eq!(
        form("/memory/x", Bytes::from(&b"hi"[..]).into()),
        Form::Bytes
    );
    let script = value!({"source": "(define (main i) i)", "documentation": "Gives back."});
    let shown = Excerpt::of(&path("/lib/x"), &script, &Place::Start);
    assert_eq!(shown.form, Form::Lisp);
    assert_eq!(shown.text, "; Gives back.\n(define (main i) i)");
    assert_eq!(form("/memory/x", script), Form::Json);
}

#[test]
fn the_pieces_of_a_text_are_the_text() {
    for line in ["a line of text\n", "日本語 without an end "] {
        let text = line.repeat(5_000);
        let (texts, longest) = all("/memory/x", &Value::from(text.clone()));
        assert!(texts.len() > 3 && longest <= super::TEXT);
        assert_eq!(texts.concat(), text);
    }
}

#[test]
fn a_large_container_is_listed_in_pages_of_bounded_size() {
    let long = "x".repeat(100_000);
    let map = Map::from_entries((0..1_005).map(|n| (format!("k{n:04}"), long.clone()))).unwrap();
    let (texts, longest) = all("/memory/x", &map.into());
    assert_eq!(texts.len(), 11);
    assert!(longest < 100 * 300, "{longest}");
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    assert_eq!(lines.len(), 1_005);
    assert!(
        lines[1_004].starts_with("\"k1004\": \"xxx") && lines[1_004].ends_with("(100000 bytes)")
    );

    let list = List::from_values(0..2_000).unwrap();
    let (texts, _) = all("/memory/x", &list.into());
    assert_eq!(texts.len(), 20);
    assert!(texts[19].ends_with("1999: 1999"));
}

#[test]
fn bytes_are_shown_as_people_read_them() {
    let bytes = Value::from(Bytes::from(
        (0..=255).cycle().take(5_000).collect::<Vec<u8>>(),
    ));
    let (texts, _) = all("/memory/x", &bytes);
    assert_eq!(texts.len(), 3);
    let row = "00000040  40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f  @ABCDEFGHIJKLMNO";
    assert!(texts[0].contains(row), "{}", texts[0]);
    assert!(texts[1].starts_with("00000800  "));
}

#[test]
fn a_preview_is_short_whatever_the_value() {
    assert_eq!(preview(&value!({"a": [1, 2]})), r#"{"a":[1,2]}"#);
    assert_eq!(preview(&value!("a\u{1b}")), r#""a\u001b""#);
    let long = List::from_values(0..100_000).unwrap();
    assert_eq!(preview(&long.into()), "[.. 100000 entries]");
    assert!(preview(&Value::from("é".repeat(10_000))).len() < 1_000);
}

#[test]
fn a_place_that_is_gone_is_the_end() {
    let place = Place::At(9_999_999);
    for value in [value!("é"), Bytes::from(&b"hi"[..]).into()] {
        let piece = Excerpt::of(&path("/memory/x"), &value, &place);
        assert_eq!((piece.text.as_str(), piece.next), ("", None));
    }
}
