//! Screens at several sizes, as text.

use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;

use super::super::key::Key;
use super::super::news::News;
use super::super::state::tests::{listed, press, state, typed};
use super::super::state::{Effect, Event, State};
use super::draw;
use crate::excerpt::{Excerpt, Form, Place};

fn drawn(state: &mut State, width: u16, height: u16) -> String {
    state.update(Event::Resize(Size::new(width, height)));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let mut row = String::new();
        let mut skip = 0;
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            assert!(
                !symbol.chars().any(char::is_control),
                "{symbol:?} at {x},{y}"
            );
            if skip == 0 {
                row += symbol;
                skip = super::width(symbol);
            }
            skip = skip.saturating_sub(1);
        }
        assert!(super::width(&row) <= usize::from(width), "{row:?}");
        text += &format!("{}\n", row.trim_end());
    }
    text
}

#[track_caller]
fn check(state: &mut State, (width, height): (u16, u16), expected: Expect) {
    expected.assert_eq(&drawn(state, width, height));
}

/// Shows an excerpt as the answer to what was asked for.
fn show(state: &mut State, line: &str, form: Form, text: &str, next: Option<Place>) {
    let effects = typed(state, line);
    answer(state, &effects, form, text, next);
}

fn answer(state: &mut State, effects: &[Effect], form: Form, text: &str, next: Option<Place>) {
    let facts = format!("text, {} bytes", text.len());
    let excerpt = Excerpt {
        form,
        facts,
        text: text.into(),
        next,
    };
    for effect in effects {
        if let Effect::Look { look, .. } = effect {
            let number = look.number;
            state.update(Event::Looked {
                number,
                excerpt: excerpt.clone(),
            });
        }
    }
}

/// A conversation with all that can be in one.
fn talked() -> State {
    let mut state = state();
    state.update(Event::Ran(
        "/mounts/cwd is /home/ada/project, read only".into(),
    ));
    typed(
        &mut state,
        "Which color do we release, and is there anything else that I should know?",
    );
    for news in [
        News::Started,
        News::Step {
            text: String::new(),
            calls: vec!["read path=\"/memory/color\"".into()],
        },
        News::Answer("# Color\nIt is *teal*.".into()),
        News::Failed("attempt 1 at message 2 failed: the server is busy".into()),
        News::Piece("And then".into()),
    ] {
        state.update(Event::News(news));
    }
    state
}

#[test]
fn the_conversation() {
    check(
        &mut talked(),
        (80, 16),
        expect![[r#"
        svit://local/demo version 12
        tree                      │conversation
        - /                       │- /mounts/cwd is /home/ada/project, read only
          + lib (1)               │> Which color do we release, and is there anything
          + memory (2)            │  else that I should know?
          + mounts (1)            │* read path="/memory/color"
                                  │  # Color
                                  │  It is *teal*.
                                  │! attempt 1 at message 2 failed: the server is busy
                                  │  And then
                                  │
                                  │
                                  │
                                  │
        Enter send  Tab pane  :help  Ctrl-Q quit
        >
    "#]],
    );
    check(
        &mut talked(),
        (40, 10),
        expect![[r#"
        svit://local/demo version 12
        conversation
        * read path="/memory/color"
          # Color
          It is *teal*.
        ! attempt 1 at message 2 failed: the
          server is busy
          And then
        Enter send  Tab pane  :help  Ctrl-Q quit
        >
    "#]],
    );
    check(
        &mut talked(),
        (20, 5),
        expect![[r#"
        svit://local/demo v…
        conversation
          the server is busy
          And then
        >
    "#]],
    );
}

/// A tree with something open, and the value of it beside.
fn looked() -> State {
    let mut state = state();
    let effects = press(&mut state, &[Key::Tab, Key::Down, Key::Down]);
    let json = "{\n  \"color\": \"teal\",\n  \"count\": 3\n}";
    answer(
        &mut state,
        &effects[1..],
        Form::Json,
        json,
        Some(Place::At(40)),
    );
    press(&mut state, &[Key::Right]);
    let names = [("facts", Some(2)), ("a note", None)];
    listed(&mut state, "/memory", &names, Some("a note"));
    state
}

#[test]
fn the_tree() {
    check(
        &mut looked(),
        (80, 12),
        expect![[r#"
            svit://local/demo version 12
            tree                      │/memory  JSON  text, 35 bytes  part 1
            - /                       │{
              + lib (1)               │  "color": "teal",
              - memory (2)            │  "count": 3
                + facts (2)           │}
                  a note              │
                  ..more              │
              + mounts (1)            │
                                      │
            arrows move, open, close  [ ] version  : command  ? help
            >
        "#]],
    );
    check(
        &mut looked(),
        (40, 10),
        expect![[r#"
            svit://local/demo version 12
            tree
            - /
              + lib (1)
              - memory (2)
                + facts (2)
                  a note
                  ..more
            arrows move, open, close  [ ] version  …
            >
        "#]],
    );
    check(
        &mut looked(),
        (20, 5),
        expect![[r#"
            svit://local/demo v…
            tree
              + lib (1)
              - memory (2)
            >
        "#]],
    );
}

#[test]
fn a_value() {
    let source = "; Counts.\n(define (main input)\n  (let ((count (+ 1 (read \"/memory/count\"))))\n    (do (write \"/memory/count\" count)\n        count)))";
    let mut state = state();
    show(&mut state, ":show /lib/counter", Form::Lisp, source, None);
    check(
        &mut state,
        (80, 10),
        expect![[r#"
        svit://local/demo version 12
        tree                      │/lib/counter  Lisp  text, 131 bytes
        - /                       │; Counts.
          + lib (1)               │(define (main input)
          + memory (2)            │  (let ((count (+ 1 (read "/memory/count"))))
          + mounts (1)            │    (do (write "/memory/count" count)
                                  │        count)))
                                  │
        arrows move  [ ] version  Esc conversation  ? help
        >
    "#]],
    );
    check(
        &mut state,
        (20, 5),
        expect![[r#"
        svit://local/demo v…
        /lib/counter  Lisp …
        ; Counts.
        (define (main input)
        >
    "#]],
    );
    let markdown =
        "# Title\n\nSome *words* that are longer than a narrow pane is wide.\n\n- one\n- two";
    show(
        &mut state,
        ":show /mounts/cwd/README.md",
        Form::Markdown,
        markdown,
        None,
    );
    press(&mut state, &[Key::Esc]);
    show(
        &mut state,
        ":show /mounts/cwd/README.md",
        Form::Markdown,
        markdown,
        None,
    );
    check(
        &mut state,
        (40, 12),
        expect![[r#"
        svit://local/demo version 12
        /mounts/cwd/README.md  Markdown  text, …
        # Title

        Some *words* that are longer than a
        narrow pane is wide.

        - one
        - two

        arrows move  [ ] version  Esc conversat…
        >
    "#]],
    );
}

#[test]
fn the_history_with_a_diff() {
    let mut state = state();
    press(&mut state, &[Key::BackTab, Key::Down, Key::Char('t')]);
    let effects = press(&mut state, &[Key::Enter]);
    let diff = "/memory/color\n- \"crimson\"\n+ \"teal\"";
    answer(&mut state, &effects, Form::Diff, diff, None);
    check(
        &mut state,
        (80, 12),
        expect![[r#"
            svit://local/demo AS IT WAS at version 11 of 12
            history                   │version 10 to 11  diff  text, 34 bytes
               12 host /memory/v12    │/memory/color
            @  11 host /memory/v11    │- "crimson"
               10 host /memory/v10    │+ "teal"
                9 host /memory/v9     │
                8 host /memory/v8     │
                7 host /memory/v7     │
                6 host /memory/v6     │
                5 host /memory/v5     │
            Enter diff  t travel  n now  ? help
            >
        "#]],
    );
    check(
        &mut state,
        (50, 9),
        expect![[r#"
            svit://local/demo AS IT WAS at version 11 of 12
            history
               12 host /memory/v12
            @  11 host /memory/v11
               10 host /memory/v10
                9 host /memory/v9
                8 host /memory/v8
            Enter diff  t travel  n now  ? help
            >
        "#]],
    );
    check(
        &mut state,
        (20, 5),
        expect![[r#"
            svit://local/demo A…
            history
               12 host /memory/…
            @  11 host /memory/…
            >
        "#]],
    );
}

#[test]
fn what_is_typed() {
    let mut state = State::new("svit://local/demo", 0, Some("OPENAI_API_KEY"));
    state.update(Event::Paste(
        "two\nlines and a \u{1b}[2J and 日本語 at its end".into(),
    ));
    check(
        &mut state,
        (60, 3),
        expect![[r#"
        svit://local/demo version 0

        > two↵lines and a \u{1b}[2J and 日本語 at its end
    "#]],
    );
    check(
        &mut state,
        (20, 5),
        expect![[r#"
        svit://local/demo v…
        conversation


        > 日本語 at its end
    "#]],
    );
    press(&mut state, &[Key::Home, Key::Right]);
    check(
        &mut state,
        (20, 2),
        expect![[r#"

        > two↵lines and a \u
    "#]],
    );
    check(
        &mut state,
        (5, 1),
        expect![[r#"
        > two
    "#]],
    );
}

// THREAT[TM-CONSOLE-2]
#[test]
fn hostile_texts_stay_in_their_place() {
    for text in crate::console::text::tests::HOSTILE {
        let mut state = State::new(format!("svit://local/{text}"), 1, None);
        listed(&mut state, "/", &[(text, Some(3)), ("plain", None)], None);
        state.update(Event::Paste((*text).into()));
        state.update(Event::Ran((*text).into()));
        state.update(Event::News(News::Piece((*text).into())));
        for keys in [&[][..], &[Key::Tab], &[Key::Tab], &[Key::Tab]] {
            press(&mut state, keys);
            for (width, height) in [(80, 24), (61, 8), (40, 10), (20, 5), (7, 3), (1, 1)] {
                drawn(&mut state, width, height);
            }
        }
        let mut state = State::new("svit://local/x", 1, None);
        show(&mut state, ":show /memory/x", Form::Text, text, None);
        let screen = drawn(&mut state, 80, 24);
        assert!(
            screen
                .lines()
                .all(|line| line.chars().filter(|c| *c == '│').count() <= 1)
        );
        for (width, height) in [(61, 8), (20, 5), (2, 2)] {
            drawn(&mut state, width, height);
        }
    }
}

#[test]
fn every_size_can_be_drawn() {
    for make in [talked as fn() -> State, looked as fn() -> State] {
        for width in (0..100).step_by(7).chain([1, 2, 3, 59, 60, 61]) {
            for height in 0..26 {
                let mut state = make();
                for _ in 0..4 {
                    drawn(&mut state, width, height);
                    press(&mut state, &[Key::Tab]);
                }
            }
        }
    }
}
