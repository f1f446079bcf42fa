//! What a Rust string literal stands for.

use proc_macro::{Delimiter, TokenTree};

/// A token without the invisible group that a `macro_rules` variable puts round it.
pub(crate) fn without_group(token: TokenTree) -> TokenTree {
    match &token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut inner = group.stream().into_iter();
            match (inner.next(), inner.next()) {
                (Some(only), None) => without_group(only),
                _ => token,
            }
        }
        _ => token,
    }
}

/// The text of a string literal as it stands in Rust source; none for another literal.
pub(crate) fn value(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let marks = raw.bytes().take_while(|&b| b == b'#').count();
        let open = format!("{}\"", &raw[..marks]);
        let close = format!("\"{}", &raw[..marks]);
        return Some(raw.strip_prefix(&open)?.strip_suffix(&close)?.to_owned());
    }
    let body = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            'x' => {
                let digits: String = [chars.next()?, chars.next()?].iter().collect();
                char::from(u8::from_str_radix(&digits, 16).ok()?)
            }
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|&c| c != '}').collect();
                char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?
            }
            '\n' => {
                while chars.next_if(|c| c.is_whitespace()).is_some() {}
                continue;
            }
            c @ ('\\' | '"' | '\'') => c,
            _ => return None,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn literals_are_read_as_rust_reads_them() {
        let rows = [
            (r#""a\n\t\\\"\x41\u{1f600}""#, Some("a\n\t\\\"A\u{1f600}")),
            ("\"a\\\n   b\"", Some("ab")),
            (r##"r"a\n""##, Some("a\\n")),
            (r###"r#"a"b"#"###, Some("a\"b")),
            ("12", None),
            ("b\"x\"", None),
            (r#""\q""#, None),
        ];
        for (literal, expected) in rows {
            assert_eq!(value(literal).as_deref(), expected, "{literal}");
        }
    }
}
