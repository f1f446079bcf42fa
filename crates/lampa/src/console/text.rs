//! Texts as columns of a screen. Every line that is drawn was made here, so that no text of the
//! process, however odd, is wider than it was counted or reaches the terminal as an order.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::printable::{one_line, printable};

/// Marks on one letter that are drawn; a text with hundreds of them would paint over its neighbours.
const MARKS: usize = 3;
/// Columns from one tab stop to the next.
const TAB: usize = 4;

// THREAT[TM-CONSOLE-2]
/// What takes columns of its own: a letter with its marks, or a wide character.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    text: String,
    width: usize,
}

impl Cell {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

/// The lines of a text, each at most `width` columns, broken between words where that is possible.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in printable(text).split('\n') {
        wrap_line(cells(line), width, &mut lines);
    }
    lines
}

fn wrap_line(cells: Vec<Cell>, width: usize, lines: &mut Vec<String>) {
    let mut line: Vec<Cell> = Vec::new();
    let mut used = 0;
    let mut is_continued = false;
    for cell in cells {
        let cell = fitting(cell, width);
        while used + cell.width > width {
            let rest = if cell.is_space() {
                Vec::new()
            } else {
                last_word(&mut line)
            };
            lines.push(join(&line).trim_end().to_owned());
            used = rest.iter().map(|cell| cell.width).sum();
            line = rest;
            is_continued = true;
        }
        // The space at which the line was broken is not shown.
        if is_continued && line.is_empty() && cell.is_space() {
            continue;
        }
        used += cell.width;
        line.push(cell);
    }
    lines.push(join(&line));
}

/// Takes the word off that a line ends in the middle of; nothing if it is the only one, indented or
/// not, since nothing would stand before it then.
fn last_word(line: &mut Vec<Cell>) -> Vec<Cell> {
    match line.iter().rposition(Cell::is_space) {
        Some(at) if !line[..at].iter().all(Cell::is_space) => line.split_off(at + 1),
        _ => Vec::new(),
    }
}

/// The columns of a text on one line, cut to `width` with a sign that it was.
pub(crate) fn clip(text: &str, width: usize) -> String {
    let cells = cells(&one_line(text));
    if cells.iter().map(|cell| cell.width).sum::<usize>() <= width {
        return join(&cells);
    }
    let mut out = String::new();
    let mut used = 0;
    for cell in cells {
        if used + cell.width + 1 > width {
            break;
        }
        used += cell.width;
        out += &cell.text;
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The last columns of a text that is being typed, as many as fit.
pub(crate) fn tail(text: &str, width: usize) -> String {
    let mut cells = cells(&printable(&text.replace('\n', "↵")));
    let mut used: usize = cells.iter().map(|cell| cell.width).sum();
    let mut first = 0;
    while used > width {
        used -= cells[first].width;
        first += 1;
    }
    join(&cells.split_off(first))
}

/// The first columns of a text that is being typed, as many as fit.
pub(crate) fn head(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |cell: &Cell| {
        used += cell.width;
        used <= width
    };
    let cells = cells(&printable(&text.replace('\n', "↵")));
    join(&cells.into_iter().take_while(fits).collect::<Vec<_>>())
}

/// How many columns a text takes that was made here.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

fn fitting(cell: Cell, width: usize) -> Cell {
    if cell.width <= width {
        return cell;
    }
    Cell {
        text: "…".to_owned(),
        width: 1,
    }
}

fn join(cells: &[Cell]) -> String {
    cells.iter().map(|cell| cell.text.as_str()).collect()
}

/// The cells of a line that is printable. Joiners and choices of a form are left out: terminals do
/// not agree on how wide what they make of them is.
fn cells(line: &str) -> Vec<Cell> {
    let plain: String = line
        .chars()
        .filter(|c| !matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'))
        .collect();
    let mut cells = Vec::new();
    let mut column = 0;
    for grapheme in plain.graphemes(true) {
        if grapheme == "\t" {
            for _ in 0..TAB - column % TAB {
                cells.push(Cell {
                    text: " ".to_owned(),
                    width: 1,
                });
                column += 1;
            }
            continue;
        }
        let text: String = grapheme.chars().take(MARKS + 1).collect();
        let cell = match text.width() {
            // A mark without a letter.
            0 => Cell {
                text: format!("◌{text}"),
                width: 1,
            },
            width => Cell { text, width },
        };
        column += cell.width;
        cells.push(cell);
    }
    cells
}

#[cfg(test)]
pub(crate) mod tests;
