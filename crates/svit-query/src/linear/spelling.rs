//! The places of a pattern's text at which the parser would ask a table of Unicode: what is a letter in the name
//! of a group, what is space inside of `{..}` and, with the flag `x`, anywhere. There, only ASCII may stand.

const SPACE: &str = "with the flag x a pattern is in ASCII; write other characters as \\u{..}, their number in hexadecimal";
const NAME: &str = "the name of a group is made of ASCII letters, digits and _";
const COUNT: &str =
    "a number of repetitions is written in ASCII; the character { itself is written \\{";

/// # Errors
/// The place and the reason.
pub(super) fn check(pattern: &str, ignore_space: bool) -> Result<(), (usize, &'static str)> {
    let Some(beyond) = pattern.find(|c: char| !c.is_ascii()) else {
        return Ok(());
    };
    if ignore_space || sets_ignore_space(pattern) {
        return Err((beyond, SPACE));
    }
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(', '{']) {
        let here = pattern.len() - rest.len() + at;
        rest = &rest[at..];
        if let Some(escape) = rest.strip_prefix('\\') {
            let mut after = escape.chars();
            let named = after.next().is_some_and(|c| "pPuUx".contains(c));
            let braced = after.as_str().strip_prefix('{').filter(|_| named);
            rest = braced.unwrap_or(after.as_str());
        } else if let Some(count) = rest.strip_prefix('{') {
            let next = count.trim_start_matches(|c: char| c.is_ascii_digit() || " \t,".contains(c));
            if next.starts_with(|c: char| !c.is_ascii()) {
                return Err((here, COUNT));
            }
            rest = count;
        } else {
            if let Some((start, name)) = group_name(rest)
                && !name.is_ascii()
            {
                return Err((here + start, NAME));
            }
            rest = &rest[1..];
        }
    }
    Ok(())
}

/// The name of a group that begins here, and where it is.
fn group_name(group: &str) -> Option<(usize, &str)> {
    let inside = group
        .strip_prefix("(?P<")
        .or_else(|| group.strip_prefix("(?<"))?;
    if inside.starts_with(['=', '!']) {
        return None;
    }
    let name = inside.split('>').next().unwrap_or(inside);
    Some((group.len() - inside.len(), name))
}

/// Whether `(?x)` or the like may be somewhere.
fn sets_ignore_space(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|flags| {
        let mut flags = flags
            .chars()
            .take_while(|c| c.is_ascii_alphabetic() || *c == '-');
        flags.any(|flag| flag == 'x')
    })
}
