//! Texts as a terminal may be given them. What is stored may come from a model, from a file or from
//! anybody who talked to it, so everything that is printed or drawn goes through here.

// THREAT[TM-CONSOLE-1]
/// Whether a terminal might take it for an order, or show something else than what is there.
fn is_order(c: char) -> bool {
    c.is_control() || reorders(c) || is_unseen(c)
}

/// Marks that change the direction of what follows, and separators of lines and paragraphs.
fn reorders(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// What shows nothing at all, and could hide words from a reader. The two joiners and the choice
/// between a text and an emoji form are not among them: scripts of people need them.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'
            | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text with everything that a terminal obeys written out, newlines and tabs excepted.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |c| is_order(c) && !matches!(c, '\n' | '\t'))
}

/// The text on one line, printable.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    escaped(&lines.join(" "), is_order)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests;
