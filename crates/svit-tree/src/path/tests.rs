//! Every refusal of a path, at its byte; the text form there and back.

use proptest::prelude::*;

use super::*;

fn refusal(text: &str) -> (usize, &'static str) {
    match Path::parse(text) {
        Err(TreeError::BadPath { at, why, .. }) => (at, why),
        other => panic!("{text:?} gave {other:?}"),
    }
}

// THREAT[TM-VALUE-6]
#[test]
fn every_refusal_names_its_byte() {
    let start = "a path starts with `/`";
    let empty = "a segment is empty";
    let dots = "`.` and `..` are not allowed";
    let tilde = "`~` must be followed by `0` or `1`";
    let nul = "NUL is not allowed";
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, start),
        ("memory", 0, start),
        (" /memory", 0, start),
        ("./memory", 0, start),
        ("//", 1, empty),
        ("/memory/", 8, empty),
        ("/memory//x", 8, empty),
        ("//memory", 1, empty),
        ("/.", 1, dots),
        ("/..", 1, dots),
        ("/memory/./x", 8, dots),
        ("/memory/../x", 8, dots),
        ("/memory/..", 8, dots),
        ("/~", 1, tilde),
        ("/a~", 2, tilde),
        ("/a~2", 2, tilde),
        ("/a/b~x", 4, tilde),
        ("/~~0", 1, tilde),
        ("/\0", 1, nul),
        ("/ab/cd\0ef", 6, nul),
        ("/\u{e9}\0", 3, nul),
    ];
    for &(text, at, why) in rows {
        assert_eq!(refusal(text), (at, why), "{text:?}");
    }
}

#[test]
fn what_looks_odd_and_is_allowed() {
    let rows: &[(&str, &[&str])] = &[
        ("/", &[]),
        ("/...", &["..."]),
        ("/.a/b.", &[".a", "b."]),
        ("/ ", &[" "]),
        ("/~01", &["~1"]),
        ("/~10", &["/0"]),
        ("/~0~1~0", &["~/~"]),
        ("/a\nb", &["a\nb"]),
        ("/\u{1F980}/\u{e9}", &["\u{1F980}", "\u{e9}"]),
        ("/0/00/-1", &["0", "00", "-1"]),
    ];
    for &(text, segments) in rows {
        let path = Path::parse(text).unwrap();
        assert_eq!(path.segments().collect::<Vec<_>>(), segments);
        assert_eq!(path.to_string(), text);
        assert_eq!(path.len(), segments.len());
    }
}

#[test]
fn the_number_of_segments_is_bounded_at_its_edge() {
    let text = |count: usize| "/a".repeat(count);
    for count in [MAX_SEGMENTS - 1, MAX_SEGMENTS] {
        assert_eq!(Path::parse(&text(count)).unwrap().len(), count);
    }
    let why = "more than 64 segments";
    assert_eq!(
        refusal(&text(MAX_SEGMENTS + 1)),
        (2 * MAX_SEGMENTS + 1, why)
    );

    let full = Path::parse(&text(MAX_SEGMENTS)).unwrap();
    let below = Path::parse(&text(MAX_SEGMENTS - 1)).unwrap();
    assert_eq!(below.join("a").unwrap(), full);
    let refused = full.join("a").unwrap_err().to_string();
    assert!(
        refused.contains(why) && refused.contains("at byte 129"),
        "{refused}"
    );
}

#[test]
fn the_length_is_bounded_at_its_edge_counted_as_written() {
    // A slash and 4,095 bytes; a `~` counts twice, as it is written `~0`.
    for (plain, tildes) in [(4_095, 0), (4_093, 1), (1, 2_047)] {
        let segment = "x".repeat(plain) + &"~".repeat(tildes);
        let path = Path::root().join(&segment).unwrap();
        assert_eq!(path.to_string().len(), MAX_PATH_BYTES);
        assert_eq!(path.text_len(), MAX_PATH_BYTES as u64);
        assert_eq!(Path::parse(&path.to_string()).unwrap(), path);
        assert!(path.join("y").is_err());

        let longer = segment + "x";
        assert_eq!(Path::root().join(&longer).unwrap_err().code(), "bad_path");
    }
    let why = "longer than 4096 bytes";
    assert_eq!(refusal(&format!("/{}", "x".repeat(4_096))), (4_096, why));
}

#[test]
fn an_error_quotes_no_more_than_200_bytes() {
    let long = format!("/{}\0", "\u{e9}".repeat(2_000));
    let Err(TreeError::BadPath { text, at, .. }) = Path::parse(&long) else {
        panic!("NUL was taken");
    };
    assert_eq!((text.len(), at), (199, 4_001));
    assert!(Path::root().join(&long).unwrap_err().to_string().len() < 600);
}

#[test]
fn joining_refuses_what_parsing_refuses() {
    let memory = Path::parse("/memory").unwrap();
    for segment in ["", ".", "..", "\0", "a\0b"] {
        assert_eq!(
            memory.join(segment).unwrap_err().code(),
            "bad_path",
            "{segment:?}"
        );
    }
    assert_eq!(memory.join("a/b~").unwrap().to_string(), "/memory/a~1b~0");
}

#[test]
fn parents_names_and_prefixes() {
    let path = Path::parse("/a/b").unwrap();
    let parent = path.parent().unwrap();
    assert_eq!((path.name(), parent.name()), (Some("b"), Some("a")));
    assert!(parent.parent().unwrap().is_root());
    assert_eq!((Path::root().parent(), Path::root().name()), (None, None));
    assert!(
        path.starts_with(&path) && path.starts_with(&parent) && path.starts_with(&Path::root())
    );
    assert!(!parent.starts_with(&path));
    assert!(
        !Path::parse("/ab")
            .unwrap()
            .starts_with(&Path::parse("/a").unwrap())
    );
}

#[test]
fn order_is_by_segments_not_by_text() {
    let mut paths: Vec<Path> = ["/a.b", "/a/b", "/a", "/", "/a~1b"]
        .iter()
        .map(|text| Path::parse(text).unwrap())
        .collect();
    paths.sort();
    let order: Vec<String> = paths.iter().map(Path::to_string).collect();
    assert_eq!(order, ["/", "/a", "/a/b", "/a.b", "/a~1b"]);
}

#[test]
fn an_error_shows_characters_that_no_table_of_unicode_decides_on() {
    // `str` escapes these three in its Debug form, by tables that grow with each version of Unicode.
    let error = Path::parse("a\u{378}\u{e000}\u{301}")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("bad path \"a\u{378}\u{e000}\u{301}\" at byte 0"),
        "{error}"
    );
    let error = crate::Address::parse("a\u{378}\n").unwrap_err().to_string();
    assert!(
        error.starts_with("bad address \"a\u{378}\\n\" at byte 0"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn the_text_form_round_trips(segments in prop::collection::vec("[~/a.\u{e9}]{1,5}", 0..8)) {
        let allowed = segments.iter().filter(|s| !matches!(s.as_str(), "." | ".."));
        let path = allowed.clone().try_fold(Path::root(), |path, segment| path.join(segment)).unwrap();
        prop_assert_eq!(path.segments().collect::<Vec<_>>(), allowed.collect::<Vec<_>>());
        let text = path.to_string();
        prop_assert_eq!(path.text_len(), text.len() as u64);
        prop_assert_eq!(Path::parse(&text).unwrap(), path);
    }

    #[test]
    fn any_text_is_refused_or_is_the_text_form(text in "[/~.01a\0\u{e9}]{0,12}") {
        if let Ok(path) = Path::parse(&text) {
            prop_assert_eq!(path.to_string(), text);
        }
    }
}
