//! Tests of what keys and news do, without a terminal or a process.

use ratatui::layout::Size;
use svit::{Path, value};

use super::super::history::Version;
use super::super::key::Key;
use super::super::news::News;
use super::super::talk::Who;
use super::super::tree::{RowKind, Wanted};
use super::super::value::{Look, What};
use super::{Effect, Event, Focus, State};
use crate::command::Command;
use crate::excerpt::{Excerpt, Form, Place};
use crate::place::Child;

pub(crate) fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

/// A state in which everything was read, over a small process.
pub(crate) fn state() -> State {
    let mut state = State::new("svit://local/demo", 12, None);
    state.read_all();
    listed(
        &mut state,
        "/",
        &[("lib", Some(1)), ("memory", Some(2)), ("mounts", Some(1))],
        None,
    );
    let versions = (3..=12).rev().map(version).collect();
    state.update(Event::Versions {
        before: None,
        versions,
    });
    state
}

pub(crate) fn version(number: u64) -> Version {
    Version {
        version: number,
        time: "2026-12-01 03:04:05Z".into(),
        source: "host",
        changed: format!("/memory/v{number}"),
    }
}

/// Names below a path arrive; those with a count can be opened.
pub(crate) fn listed(
    state: &mut State,
    place: &str,
    children: &[(&str, Option<u64>)],
    next: Option<&str>,
) {
    let child = |(name, entries): &(&str, Option<u64>)| Child {
        name: (*name).to_owned(),
        is_container: entries.is_some(),
        entries: *entries,
    };
    let event = Event::Listed {
        at: state.at,
        wanted: Wanted {
            path: path(place),
            after: None,
            limit: 100,
        },
        children: children.iter().map(child).collect(),
        next: next.map(str::to_owned),
    };
    state.update(event);
}

pub(crate) fn press(state: &mut State, keys: &[Key]) -> Vec<Effect> {
    keys.iter()
        .flat_map(|key| state.update(Event::Key(*key)))
        .collect()
}

pub(crate) fn typed(state: &mut State, text: &str) -> Vec<Effect> {
    let keys: Vec<Key> = text.chars().map(Key::Char).chain([Key::Enter]).collect();
    press(state, &keys)
}

fn names(state: &State) -> Vec<&str> {
    state
        .tree
        .rows
        .iter()
        .map(|row| row.name.as_str())
        .collect()
}

fn look_of(effects: &[Effect]) -> &Look {
    let looks: Vec<&Look> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Look { look, .. } => Some(look),
            _ => None,
        })
        .collect();
    assert_eq!(looks.len(), 1, "{effects:?}");
    looks[0]
}

fn list(at: Option<u64>, place: &str) -> Effect {
    let wanted = Wanted {
        path: path(place),
        after: None,
        limit: 100,
    };
    Effect::List { at, wanted }
}

#[test]
fn what_is_typed_is_sent_or_done() {
    let mut state = state();
    assert_eq!(typed(&mut state, "hello"), [Effect::Send("hello".into())]);
    assert_eq!(typed(&mut state, ""), []);
    assert_eq!(
        typed(&mut state, ":write /memory/x [1]"),
        [Effect::Run(Command::Write {
            path: path("/memory/x"),
            value: value!([1])
        })]
    );
    assert_eq!(typed(&mut state, ":quit"), [Effect::Quit]);
    assert_eq!(typed(&mut state, ":log"), []);
    assert_eq!(state.focus, Focus::History);
    let of_x = Command::Log {
        path: Some(path("/memory/x")),
    };
    assert_eq!(typed(&mut state, ":log /memory/x"), [Effect::Run(of_x)]);
}

#[test]
fn the_line_is_edited_by_characters_as_people_see_them() {
    let mut state = state();
    state.update(Event::Paste("e\u{301}日👩\u{200d}👧".into()));
    press(&mut state, &[Key::Backspace]);
    assert_eq!(state.input.parts(), ("e\u{301}日", ""));
    press(
        &mut state,
        &[Key::Left, Key::Left, Key::Char('x'), Key::Delete],
    );
    assert_eq!(state.input.parts(), ("x", "日"));
    press(
        &mut state,
        &[Key::End, Key::Char(' '), Key::Char('w'), Key::Ctrl('w')],
    );
    assert_eq!(state.input.parts(), ("x日 ", ""));
    press(&mut state, &[Key::Ctrl('u')]);
    assert!(state.input.is_empty());
    for key in [
        Key::Backspace,
        Key::Delete,
        Key::Left,
        Key::Right,
        Key::Ctrl('w'),
        Key::Up,
    ] {
        press(&mut state, &[key]);
        assert!(state.input.is_empty());
    }
    typed(&mut state, "first");
    typed(&mut state, "second");
    press(&mut state, &[Key::Up, Key::Up]);
    assert_eq!(state.input.parts(), ("first", ""));
    press(&mut state, &[Key::Down, Key::Down]);
    assert!(state.input.is_empty());
    // A newline does not send what was pasted.
    assert_eq!(state.update(Event::Paste("a\r\nb".into())), []);
    assert_eq!(
        press(&mut state, &[Key::Enter]),
        [Effect::Send("a\nb".into())]
    );
    state.update(Event::Paste("x".repeat(1_000_000)));
    assert!(state.input.is_empty(), "there is an end to what is pasted");
}

#[test]
fn without_a_model_a_message_is_not_sent() {
    let mut state = State::new("svit://local/demo", 0, Some("OPENAI_API_KEY"));
    assert_eq!(typed(&mut state, "hello"), []);
    let last = state.talk.visible(200, 1);
    assert!(last[0].text.contains("OPENAI_API_KEY"), "{last:?}");
    assert_eq!(last[0].who, Who::Refusal);
    assert!(matches!(typed(&mut state, ":stat /")[..], [Effect::Run(_)]));
}

#[test]
fn the_tree_is_opened_a_name_at_a_time() {
    let mut state = state();
    assert_eq!(names(&state), ["/", "lib", "memory", "mounts"]);
    press(&mut state, &[Key::Tab]);
    assert_eq!(state.focus, Focus::Tree);
    let effects = press(&mut state, &[Key::Down, Key::Down]);
    assert_eq!(effects.len(), 2);
    assert_eq!(look_of(&effects[1..]).what, What::Path(path("/memory")));
    assert_eq!(press(&mut state, &[Key::Right]), [list(None, "/memory")]);
    listed(
        &mut state,
        "/memory",
        &[("big", Some(1_000)), ("note", None)],
        Some("note"),
    );
    assert_eq!(
        names(&state),
        ["/", "lib", "memory", "big", "note", "..more", "mounts"]
    );

    // More names come behind those that are there.
    press(&mut state, &[Key::Down, Key::Down]);
    let effects = press(&mut state, &[Key::Down, Key::Enter]);
    let more = Wanted {
        path: path("/memory"),
        after: Some("note".into()),
        limit: 100,
    };
    assert!(
        effects.contains(&Effect::List {
            at: None,
            wanted: more.clone()
        }),
        "{effects:?}"
    );
    let children = vec![Child {
        name: "z".into(),
        is_container: false,
        entries: None,
    }];
    let event = Event::Listed {
        at: None,
        wanted: more,
        children,
        next: None,
    };
    state.update(event.clone());
    state.update(event);
    assert_eq!(
        names(&state),
        ["/", "lib", "memory", "big", "note", "z", "mounts"]
    );

    // Closed, it is forgotten; left again, it goes up.
    press(&mut state, &[Key::Left, Key::Left]);
    assert_eq!(names(&state), ["/", "lib", "memory", "mounts"]);
    press(&mut state, &[Key::Left, Key::Left, Key::Left]);
    assert_eq!(state.tree.selected().name, "/");
}

#[test]
fn a_commit_asks_again_for_what_it_touched_and_nothing_else() {
    let mut state = state();
    press(&mut state, &[Key::Tab, Key::Down, Key::Down, Key::Right]);
    listed(
        &mut state,
        "/memory",
        &[("a", Some(1)), ("b", Some(1))],
        None,
    );
    press(&mut state, &[Key::Down, Key::Right]);
    listed(&mut state, "/memory/a", &[("x", None)], None);

    let committed = |changed: &str| {
        Event::News(News::Committed {
            version: 13,
            changed: vec![path(changed)],
        })
    };
    let effects = state.update(committed("/lib/script"));
    assert_eq!(
        effects,
        [Effect::Versions { before: None }, list(None, "/")]
    );
    assert_eq!(state.version, 13);
    let effects = state.update(committed("/memory/a/x"));
    assert_eq!(effects.len(), 5, "{effects:?}");
    assert_eq!(look_of(&effects).what, What::Path(path("/memory/a")));

    // What is open stays open and selected, what is gone goes.
    listed(
        &mut state,
        "/memory",
        &[("0", None), ("a", Some(2)), ("c", Some(0))],
        None,
    );
    assert_eq!(
        names(&state),
        ["/", "lib", "memory", "0", "a", "x", "c", "mounts"]
    );
    assert_eq!(state.tree.selected().name, "a");
    // What has become a scalar has nothing below it.
    listed(&mut state, "/memory", &[("a", None)], None);
    assert_eq!(names(&state), ["/", "lib", "memory", "a", "mounts"]);
    assert_eq!(state.tree.selected().kind, RowKind::Leaf);
}

#[test]
fn time_travel_goes_back_and_on_and_returns() {
    let mut state = state();
    press(&mut state, &[Key::Tab]);
    let effects = press(&mut state, &[Key::Char('[')]);
    assert_eq!(effects[0], list(Some(11), "/"));
    assert!(matches!(effects[1], Effect::Look { at: Some(11), .. }));
    press(&mut state, &[Key::Char('[')]);
    assert_eq!(state.at, Some(10));

    // News do not move what is looked at, and answers about another version are dropped.
    let news = News::Committed {
        version: 13,
        changed: vec![path("/memory/x")],
    };
    assert_eq!(
        state.update(Event::News(news)),
        [Effect::Versions { before: None }]
    );
    let stale = Event::Listed {
        at: None,
        wanted: Wanted {
            path: path("/"),
            after: None,
            limit: 100,
        },
        children: Vec::new(),
        next: None,
    };
    state.update(stale);
    assert_eq!(names(&state).len(), 4);

    press(
        &mut state,
        &[Key::Char(']'), Key::Char(']'), Key::Char(']')],
    );
    assert_eq!(state.at, None);
    press(&mut state, &[Key::Char('['), Key::Esc]);
    assert_eq!((state.at, state.focus), (None, Focus::Tree));
    press(&mut state, &[Key::Esc]);
    assert_eq!(state.focus, Focus::Talk);

    state.version = 0;
    press(&mut state, &[Key::Tab, Key::Char('['), Key::Char(']')]);
    assert_eq!(state.at, None);
    typed(&mut state, ""); // In the tree, Enter does not send.
}

#[test]
fn the_history_shows_a_diff_and_travels() {
    let mut state = state();
    press(&mut state, &[Key::BackTab, Key::Down]);
    let effects = press(&mut state, &[Key::Enter]);
    assert_eq!(look_of(&effects).what, What::Diff { from: 10, to: 11 });
    let effects = press(&mut state, &[Key::Char('t')]);
    assert_eq!(state.at, Some(11));
    assert_eq!(look_of(&effects).what, What::Path(path("/")));

    // Near the end, older versions are asked for, until there are none.
    let effects = press(&mut state, &[Key::End]);
    assert_eq!(effects, [Effect::Versions { before: Some(3) }]);
    let versions = vec![version(2), version(1)];
    let older = Event::Versions {
        before: Some(3),
        versions,
    };
    state.update(older.clone());
    state.update(older);
    assert_eq!(state.history.versions.len(), 12);
    assert_eq!(press(&mut state, &[Key::End]), []);

    // The same version stays selected when newer ones come.
    press(&mut state, &[Key::Up]);
    let selected = state.history.selected();
    let versions = (10..=14).rev().map(version).collect();
    state.update(Event::Versions {
        before: None,
        versions,
    });
    assert_eq!(
        (state.history.versions.len(), state.history.selected()),
        (14, selected)
    );
}

#[test]
fn a_large_value_is_paged() {
    let mut state = state();
    state.update(Event::Resize(Size::new(80, 24)));
    let effects = typed(&mut state, ":show /memory/big");
    let first = look_of(&effects).clone();
    assert_eq!((&first.place, state.focus), (&Place::Start, Focus::Value));
    let piece = |text: &str, next| Excerpt {
        form: Form::Text,
        facts: String::new(),
        text: text.into(),
        next,
    };
    let long = "line\n".repeat(30);
    let looked = |number, excerpt| Event::Looked { number, excerpt };
    state.update(looked(first.number, piece(&long, Some(Place::At(150)))));
    assert_eq!(press(&mut state, &[Key::End]), []);
    let effects = press(&mut state, &[Key::PageDown]);
    let second = look_of(&effects).clone();
    assert_eq!(second.place, Place::At(150));
    // An answer that is late is not shown.
    state.update(looked(first.number, piece("late", None)));
    state.update(looked(second.number, piece("the end", None)));
    assert_eq!(state.value.excerpt.text, "the end");
    assert_eq!(press(&mut state, &[Key::Down]), []);
    // Back, the piece before is shown from its end.
    let effects = press(&mut state, &[Key::Up]);
    let back = look_of(&effects).clone();
    assert_eq!(back.place, Place::Start);
    state.update(looked(back.number, piece(&long, Some(Place::At(150)))));
    assert!(state.value.scroll > 5);
    press(&mut state, &[Key::Home]);
    assert_eq!(press(&mut state, &[Key::Up]), []);
}

#[test]
fn an_answer_takes_the_place_of_its_pieces() {
    let mut state = state();
    for news in [
        News::Started,
        News::Piece("Let me".into()),
        News::Step {
            text: "Let me look.".into(),
            calls: vec!["read path=\"/memory\"".into()],
        },
        News::Piece("Te".into()),
        News::Piece("al.".into()),
    ] {
        state.update(Event::News(news));
    }
    assert!(state.talk.is_busy);
    let texts = |state: &State| -> Vec<String> {
        state
            .talk
            .visible(60, 10)
            .into_iter()
            .map(|line| line.text)
            .collect()
    };
    assert_eq!(
        texts(&state),
        ["Let me look.", "read path=\"/memory\"", "Teal."]
    );
    assert_eq!(press(&mut state, &[Key::Ctrl('c')]), [Effect::CancelTurn]);
    state.update(Event::News(News::Answer("Teal!".into())));
    state.update(Event::News(News::Ended));
    assert_eq!(
        texts(&state),
        ["Let me look.", "read path=\"/memory\"", "Teal!"]
    );
    assert_eq!(press(&mut state, &[Key::Ctrl('c')]), [Effect::Quit]);
}

#[test]
fn the_conversation_is_scrolled_within_its_ends() {
    let mut state = state();
    for n in 0..100 {
        state.update(Event::Ran(format!("line {n}")));
    }
    let first = |state: &State| state.talk.visible(60, 10)[0].text.clone();
    assert_eq!(first(&state), "line 90");
    state.talk.scroll_by(5, 60, 10);
    assert_eq!(first(&state), "line 85");
    state.talk.scroll_by(1_000, 60, 10);
    assert_eq!(first(&state), "line 0");
    state.talk.scroll_by(-2_000, 60, 10);
    assert_eq!(first(&state), "line 90");
    for n in 0..1_000 {
        state.update(Event::Ran(format!("more {n} {}", "x".repeat(100))));
    }
    state.talk.scroll_by(100_000, 60, 10);
    assert!(
        first(&state).starts_with("more 500"),
        "there is an end to what is kept"
    );
}

#[test]
fn no_key_in_any_pane_is_a_mishap() {
    let keys = [
        Key::Enter,
        Key::Esc,
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::Home,
        Key::End,
        Key::PageUp,
        Key::PageDown,
        Key::Backspace,
        Key::Delete,
        Key::Char('t'),
        Key::Char('['),
        Key::Char(']'),
        Key::Char('n'),
        Key::Char('w'),
        Key::Char('e'),
        Key::Char('?'),
        Key::Char('j'),
        Key::Char('G'),
        Key::Ctrl('l'),
        Key::Tab,
        Key::BackTab,
    ];
    let empty = || State::new("svit://local/empty", 0, Some("OPENAI_API_KEY"));
    for start in [empty as fn() -> State, state as fn() -> State] {
        for (width, height) in [(0, 0), (1, 1), (20, 5), (80, 24), (300, 100)] {
            let mut state = start();
            state.update(Event::Resize(Size::new(width, height)));
            // A walk that is the same every time.
            let mut at = 7_u32;
            for _ in 0..2_000 {
                at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let key = keys[(at >> 16) as usize % keys.len()];
                press(&mut state, &[key]);
                assert!(state.tree.selected < state.tree.rows.len());
            }
        }
    }
}
