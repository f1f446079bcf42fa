//! What the keys do, pane by pane.

use super::key::Key;
use super::state::{Effect, Focus, State};
use super::talk::Who;
use super::tree::RowKind;
use super::value::What;

/// What `?` shows.
pub(crate) const HELP: &str = "\
Tab, Shift-Tab     the next pane: conversation, tree, value, history
arrows, j k h l    move; in the tree also open and close
Page Up and Down, Home, End
Enter              send; open; in the history: show what the version changed
t                  in the history: the tree and the value as they were then
[ ]                one version back, one on
n, Esc             back to now; Esc again: the conversation
r                  read again, also what is mounted
:                  type a command; w and e begin one for what is selected
Ctrl-C             cancel the turn, or quit
Ctrl-L             draw the screen anew
Ctrl-Q, :quit      quit; a turn under way goes on when the instance is opened again";

/// Takes a key.
pub(crate) fn pressed(state: &mut State, key: Key) -> Vec<Effect> {
    match key {
        Key::Ctrl('c') if state.talk.is_busy => vec![Effect::CancelTurn],
        Key::Ctrl('c' | 'q') => vec![Effect::Quit],
        Key::Ctrl('l') => vec![Effect::Redraw],
        Key::Tab => focus(state, 1),
        Key::BackTab => focus(state, 3),
        _ if state.focus == Focus::Talk => in_talk(state, key),
        Key::Esc | Key::Char('n') if state.at.is_some() => state.travel(None),
        Key::Esc => {
            state.focus_on(Focus::Talk);
            Vec::new()
        }
        Key::Char('[') => step(state, -1),
        Key::Char(']') => step(state, 1),
        Key::Char(':') => begin(state, ":".to_owned()),
        Key::Char('r') => state.read_all(),
        Key::Char('?') => {
            state.focus_on(Focus::Talk);
            state.say(Who::Note, HELP);
            Vec::new()
        }
        Key::Char('q') => vec![Effect::Quit],
        _ => match state.focus {
            Focus::Tree => in_tree(state, key),
            Focus::History => in_history(state, key),
            Focus::Value | Focus::Talk => in_value(state, key),
        },
    }
}

fn focus(state: &mut State, step: usize) -> Vec<Effect> {
    const ORDER: [Focus; 4] = [Focus::Talk, Focus::Tree, Focus::Value, Focus::History];
    let at = ORDER
        .iter()
        .position(|focus| *focus == state.focus)
        .unwrap_or(0);
    state.focus_on(ORDER[(at + step) % ORDER.len()]);
    Vec::new()
}

/// Begins to type a command.
fn begin(state: &mut State, text: String) -> Vec<Effect> {
    state.focus_on(Focus::Talk);
    state.input.set(text);
    Vec::new()
}

fn step(state: &mut State, step: i64) -> Vec<Effect> {
    let now = state.at.unwrap_or(state.version);
    state.travel(Some(now.saturating_add_signed(step)))
}

fn in_talk(state: &mut State, key: Key) -> Vec<Effect> {
    let size = state.value_size();
    let (width, page) = (
        usize::from(size.width),
        isize::try_from(size.height).unwrap_or(1).max(1),
    );
    match key {
        Key::Enter => return state.entered(),
        Key::Ctrl('d') if state.input.is_empty() => return vec![Effect::Quit],
        Key::Esc if state.at.is_some() => return state.travel(None),
        Key::Esc => state.input.set(""),
        Key::PageUp => state.talk.scroll_by(page, width, size.height.into()),
        Key::PageDown => state.talk.scroll_by(-page, width, size.height.into()),
        _ => {
            state.input.key(key);
        }
    }
    Vec::new()
}

fn in_tree(state: &mut State, key: Key) -> Vec<Effect> {
    let before = state.tree.selected().path.clone();
    let mut effects = Vec::new();
    match key {
        Key::Left | Key::Char('h') => state.tree.close(),
        Key::Enter if matches!(state.tree.selected().kind, RowKind::Open { .. }) => {
            state.tree.close();
        }
        Key::Enter | Key::Right | Key::Char('l') => {
            if let Some(wanted) = state.tree.open() {
                effects.push(state.list(wanted));
            }
        }
        Key::Char('w') => return begin(state, command("write", &before)),
        Key::Char('e') => return begin(state, command("exec", &before)),
        key => {
            if let Some(rows) = moved(key, state.side_rows()) {
                state.tree.move_by(rows);
            }
        }
    }
    let now = state.tree.selected().path.clone();
    // The value of what is selected is shown beside it, also after a diff was.
    if now != before || (key == Key::Enter && state.value.what != What::Path(now.clone())) {
        effects.push(state.look(What::Path(now)));
    }
    effects
}

/// A command about a path, which stands in quotes if it has spaces.
fn command(name: &str, path: &svit::Path) -> String {
    let path = path.to_string();
    if path.contains(char::is_whitespace) {
        let quoted = svit::Value::from(path).to_json().unwrap_or_default();
        return format!(":{name} {quoted} ");
    }
    format!(":{name} {path} ")
}

fn in_history(state: &mut State, key: Key) -> Vec<Effect> {
    match (key, state.history.selected()) {
        (Key::Enter | Key::Char('d'), Some(version)) => {
            let from = version.saturating_sub(1);
            return vec![state.look(What::Diff { from, to: version })];
        }
        (Key::Char('t'), Some(version)) => {
            let mut effects = state.travel(Some(version));
            // A diff would hide what was travelled to.
            if matches!(state.value.what, What::Diff { .. }) {
                let path = state.tree.selected().path.clone();
                effects.push(state.look(What::Path(path)));
            }
            return effects;
        }
        _ => {}
    }
    if let Some(rows) = moved(key, state.side_rows()) {
        state.history.move_by(rows);
    }
    let older = state.history.wanted();
    older
        .map(|before| Effect::Versions {
            before: Some(before),
        })
        .into_iter()
        .collect()
}

fn in_value(state: &mut State, key: Key) -> Vec<Effect> {
    let size = state.value_size();
    let Some(lines) = moved(key, size.height.into()) else {
        return Vec::new();
    };
    let look = state
        .value
        .scroll_by(lines, size.width.into(), size.height.into());
    look.map(|look| Effect::Look { at: state.at, look })
        .into_iter()
        .collect()
}

/// By how many rows a key moves; a page keeps one row in sight.
fn moved(key: Key, rows: usize) -> Option<isize> {
    let page = isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1);
    // Half of what there can be, so that sums do not overflow.
    const FAR: isize = isize::MAX / 2;
    Some(match key {
        Key::Up | Key::Char('k') => -1,
        Key::Down | Key::Char('j') => 1,
        Key::PageUp => -page,
        Key::PageDown | Key::Char(' ') => page,
        Key::Home | Key::Char('g') => -FAR,
        Key::End | Key::Char('G') => FAR,
        _ => return None,
    })
}
