//! Drawing a state. Every text comes from [`text`](super::text), so that none is wider than its place.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::layout::below_title;
use super::state::{Focus, State};
use super::talk::Who;
use super::text::{clip, head, tail, width};
use super::tree::{Row, RowKind};
use super::value::What;
use crate::excerpt::Form;

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let areas = state.areas();
    let buffer = frame.buffer_mut();
    header(buffer, areas.header, state);
    if !areas.side.is_empty() {
        if state.is_history_beside {
            history(buffer, areas.side, state);
        } else {
            tree(buffer, areas.side, state);
        }
        for y in areas.side.top()..areas.side.bottom() {
            put(buffer, areas.side.right(), y, "│", 1, dim());
        }
    }
    match state.focus {
        Focus::Talk => talk(buffer, areas.main, state),
        Focus::Tree if areas.side.is_empty() => tree(buffer, areas.main, state),
        Focus::History if areas.side.is_empty() => history(buffer, areas.main, state),
        Focus::Tree | Focus::History | Focus::Value => value(buffer, areas.main, state),
    }
    line(buffer, areas.status, &status(state), dim());
    let cursor = input(buffer, areas.input, state);
    if state.focus == Focus::Talk && !areas.input.is_empty() {
        frame.set_cursor_position((cursor, areas.input.y));
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// A color, where colors may be used.
fn colored(state: &State, color: Color) -> Style {
    if state.has_color {
        Style::new().fg(color)
    } else {
        Style::new()
    }
}

/// Writes a text that fits. What is outside of the buffer is not written.
fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, columns: u16, style: Style) {
    if buffer.area.contains((x, y).into()) {
        buffer.set_stringn(x, y, text, columns.into(), style);
    }
}

/// Writes a text into the first row of a place, and fills the row.
fn line(buffer: &mut Buffer, place: Rect, text: &str, style: Style) {
    if place.is_empty() {
        return;
    }
    put(
        buffer,
        place.x,
        place.y,
        &clip(text, place.width.into()),
        place.width,
        style,
    );
    buffer.set_style(Rect { height: 1, ..place }, style);
}

fn header(buffer: &mut Buffer, place: Rect, state: &State) {
    let text = match state.at {
        Some(at) => format!(
            "{} AS IT WAS at version {at} of {}",
            state.title, state.version
        ),
        None => format!("{} version {}", state.title, state.version),
    };
    let style = match state.at {
        Some(_) => colored(state, Color::Yellow),
        None => Style::new(),
    };
    line(buffer, place, &text, style.add_modifier(Modifier::BOLD));
}

/// Draws the title of a pane. Gives back what is below it.
fn pane(buffer: &mut Buffer, place: Rect, title: &str, has_focus: bool) -> Rect {
    let below = below_title(place);
    if below != place {
        let style = if has_focus {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            dim()
        };
        line(buffer, place, title, style);
    }
    below
}

fn talk(buffer: &mut Buffer, place: Rect, state: &State) {
    let title = if state.talk.scroll > 0 {
        "conversation (earlier)"
    } else {
        "conversation"
    };
    let place = pane(buffer, place, title, true);
    let lines = state.talk.visible(place.width.into(), place.height.into());
    for (y, said) in (place.y..).zip(&lines) {
        let style = match said.who {
            Who::You => colored(state, Color::Cyan),
            Who::Model => Style::new(),
            Who::Tool | Who::Note => dim(),
            Who::Refusal => colored(state, Color::Red),
        };
        let sign = if said.is_first { said.who.sign() } else { "  " };
        put(buffer, place.x, y, sign, place.width, style);
        let room = place.width.saturating_sub(2);
        put(
            buffer,
            place.x.saturating_add(2),
            y,
            &said.text,
            room,
            style,
        );
    }
}

fn tree(buffer: &mut Buffer, place: Rect, state: &State) {
    let has_focus = state.focus == Focus::Tree;
    let place = pane(buffer, place, "tree", has_focus);
    let rows = &state.tree.rows;
    let texts = |at: usize| row(&rows[at]);
    list(
        buffer,
        place,
        rows.len(),
        state.tree.selected,
        has_focus,
        texts,
    );
}

fn row(row: &Row) -> String {
    let counted = |entries: &Option<u64>| entries.map_or(String::new(), |n| format!(" ({n})"));
    let indent = "  ".repeat(row.depth.min(16));
    match &row.kind {
        RowKind::Leaf => format!("{indent}  {}", row.name),
        RowKind::More { .. } => format!("{indent}  {}", row.name),
        RowKind::Closed { entries } => format!("{indent}+ {}{}", row.name, counted(entries)),
        RowKind::Open { entries } => format!("{indent}- {}{}", row.name, counted(entries)),
    }
}

fn history(buffer: &mut Buffer, place: Rect, state: &State) {
    let has_focus = state.focus == Focus::History;
    let place = pane(buffer, place, "history", has_focus);
    let versions = &state.history.versions;
    let texts = |at: usize| {
        let version = &versions[at];
        let mark = if state.at == Some(version.version) {
            '@'
        } else {
            ' '
        };
        let (number, source) = (version.version, version.source);
        // The date is the first to go where there is little room.
        if place.width < 60 {
            return format!("{mark}{number:>4} {source} {}", version.changed);
        }
        let time = &version.time;
        format!(
            "{mark}{number:>6}  {time}  {source:<10}  {}",
            version.changed
        )
    };
    list(
        buffer,
        place,
        versions.len(),
        state.history.selected,
        has_focus,
        texts,
    );
}

/// Draws the rows around the one that is selected.
fn list(
    buffer: &mut Buffer,
    place: Rect,
    count: usize,
    selected: usize,
    has_focus: bool,
    text: impl Fn(usize) -> String,
) {
    let height = usize::from(place.height);
    let first = (selected + 1 + height / 3).min(count).max(height) - height;
    let first = first.min(selected);
    for (y, at) in (place.y..place.bottom()).zip(first..count) {
        let style = match (at == selected, has_focus) {
            (true, true) => Style::new().add_modifier(Modifier::REVERSED),
            (true, false) => Style::new().add_modifier(Modifier::BOLD),
            (false, _) => Style::new(),
        };
        line(
            buffer,
            Rect {
                y,
                height: 1,
                ..place
            },
            &text(at),
            style,
        );
    }
}

fn value(buffer: &mut Buffer, place: Rect, state: &State) {
    let pane_title = value_title(state);
    let place = pane(buffer, place, &pane_title, state.focus == Focus::Value);
    let lines = state.value.lines(place.width.into());
    let form = state.value.excerpt.form;
    for (y, text) in (place.y..place.bottom()).zip(lines.iter().skip(state.value.scroll)) {
        put(
            buffer,
            place.x,
            y,
            text,
            place.width,
            line_style(state, form, text),
        );
    }
}

fn value_title(state: &State) -> String {
    let excerpt = &state.value.excerpt;
    let mut title = match &state.value.shown {
        What::Path(path) => path.to_string(),
        What::Diff { from, to } => format!("version {from} to {to}"),
    };
    for word in [excerpt.form.name(), &excerpt.facts] {
        if !word.is_empty() {
            title += &format!("  {word}");
        }
    }
    if let Some(piece) = state.value.piece() {
        title += &format!("  part {piece}");
    }
    title
}

/// How a line of a value looks: what is a comment, a heading, or gone.
fn line_style(state: &State, form: Form, line: &str) -> Style {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    match (form, line.trim_start().chars().next()) {
        (Form::Lisp, Some(';')) => dim(),
        (Form::Lisp, Some('(')) if line.starts_with("(define") => bold,
        (Form::Markdown, Some('#')) => bold,
        (Form::Markdown, Some('>')) | (Form::Note, _) => dim(),
        (Form::Diff, Some('+')) => colored(state, Color::Green),
        (Form::Diff, Some('-')) => colored(state, Color::Red),
        (Form::Diff, Some('/')) => bold,
        _ => Style::new(),
    }
}

fn status(state: &State) -> String {
    if state.talk.is_busy {
        return "the model works; Ctrl-C cancels".to_owned();
    }
    match state.focus {
        Focus::Talk => "Enter send  Tab pane  :help  Ctrl-Q quit",
        Focus::Tree => "arrows move, open, close  [ ] version  : command  ? help",
        Focus::Value => "arrows move  [ ] version  Esc conversation  ? help",
        Focus::History => "Enter diff  t travel  n now  ? help",
    }
    .to_owned()
}

/// Draws what is typed around the cursor. Gives back the column of the cursor.
fn input(buffer: &mut Buffer, place: Rect, state: &State) -> u16 {
    if place.is_empty() {
        return 0;
    }
    let sign = if place.width > 4 { "> " } else { "" };
    // One column for the cursor itself.
    let room = usize::from(place.width).saturating_sub(sign.len() + 1);
    let (before, behind) = state.input.parts();
    let before = format!("{sign}{}", tail(before, room));
    let column = width(&before);
    let behind = head(behind, usize::from(place.width).saturating_sub(column));
    let style = if state.focus == Focus::Talk {
        Style::new()
    } else {
        dim()
    };
    put(buffer, place.x, place.y, &before, place.width, style);
    let column = u16::try_from(column).unwrap_or(0).min(place.width - 1);
    put(
        buffer,
        place.x + column,
        place.y,
        &behind,
        place.width - column,
        style,
    );
    place.x + column
}

#[cfg(test)]
mod tests;
