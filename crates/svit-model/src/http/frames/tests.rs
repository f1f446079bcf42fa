//! Frames, however the body is cut on its way.

use proptest::prelude::*;

use super::*;

fn frames(cut: Cut, pieces: &[&[u8]]) -> Result<Vec<String>, ModelError> {
    let mut frames = Frames::new(cut);
    let mut all = Vec::new();
    for piece in pieces {
        frames.push(piece)?;
        while let Some(frame) = frames.next()? {
            all.push(frame);
        }
    }
    frames.end();
    while let Some(frame) = frames.next()? {
        all.push(frame);
    }
    Ok(all)
}

const EVENTS: &str = "\u{feff}event: a\ndata: {\"a\":\ndata: \"grün\"}\n\n: note\n\ndata:b\r\n\r\nid: 1\rdata:  c\r\r\
                      retry: 10\n\nevent: empty\ndata:\n\ndata: 🌿\n\n\n\ndata: last";

fn expected() -> Vec<&'static str> {
    vec!["{\"a\":\n\"grün\"}", "b", " c", "🌿", "last"]
}

#[test]
fn events_are_cut_as_the_format_says() {
    assert_eq!(
        frames(Cut::Events, &[EVENTS.as_bytes()]).unwrap(),
        expected()
    );
}

#[test]
fn lines_are_cut_at_line_feeds_only() {
    let text = "{\"a\": 1}\r\n\n  \n{\"b\": \"x\ry\"}\n{\"c\": 3}";
    let lines = frames(Cut::Lines, &[text.as_bytes()]).unwrap();
    assert_eq!(lines, ["{\"a\": 1}\r", "{\"b\": \"x\ry\"}", "{\"c\": 3}"]);
}

#[test]
fn what_is_not_utf8_is_broken() {
    for cut in [Cut::Events, Cut::Lines] {
        let error = frames(cut, &[b"data: \xff\n\n"]).unwrap_err();
        assert_eq!(error.code(), "transient");
        // Cut within a character, at the end.
        let error = frames(cut, &[b"data: \xf0\x9f"]).unwrap_err();
        assert_eq!(error.code(), "transient");
    }
}

#[test]
fn a_frame_without_end_is_stopped_early() {
    let piece = vec![b'x'; 1 << 20];
    for cut in [Cut::Events, Cut::Lines] {
        let mut frames = Frames::new(cut);
        let mut taken = 0;
        let error = loop {
            if let Err(error) = frames.push(&piece).and_then(|()| frames.next()) {
                break error;
            }
            taken += piece.len();
        };
        assert_eq!(error.code(), "answer_too_large");
        assert!(taken <= LARGEST_FRAME, "{taken}");
    }
}

#[test]
fn an_event_of_many_lines_is_stopped_too() {
    let line = format!("data: {}\n", "x".repeat(1 << 20));
    let mut frames = Frames::new(Cut::Events);
    let stopped = (0..20).any(|_| {
        let pushed = frames.push(line.as_bytes());
        pushed.and_then(|()| frames.next()).is_err()
    });
    assert!(stopped);
}

#[test]
fn an_endless_body_of_small_frames_is_stopped() {
    let piece = ": ping\n\n".repeat(1 << 17);
    let mut frames = Frames::new(Cut::Events);
    let mut taken = 0;
    let error = loop {
        if let Err(error) = frames.push(piece.as_bytes()) {
            break error;
        }
        taken += piece.len() as u64;
        assert!(frames.next().unwrap().is_none());
        assert!(frames.buffer.len() <= piece.len());
    };
    assert_eq!(error.code(), "answer_too_large");
    assert_eq!(taken, LARGEST);
}

proptest! {
    #[test]
    fn it_does_not_matter_how_the_body_comes(cuts in proptest::collection::vec(1_usize..9, 1..80)) {
        let mut rest = EVENTS.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(frames(Cut::Events, &pieces).unwrap(), expected());
    }

    #[test]
    fn no_octets_break_it(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        for cut in [Cut::Events, Cut::Lines] {
            let _ = frames(cut, &[&octets]);
        }
    }
}
