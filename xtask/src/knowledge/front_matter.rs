//! The YAML that front matter may hold: one level of `key: value`, with lists in either form.
//!
//! A whole YAML parser would accept much that other readers of the bundle do not.

use std::collections::BTreeMap;

/// Keys and values as text; a list is its items in `[a, b]` form.
pub(super) struct FrontMatter(BTreeMap<String, String>);

impl FrontMatter {
    /// None when the page has none.
    pub(super) fn read(page: &str) -> Result<Option<Self>, String> {
        let mut lines = page.lines();
        if lines.next() != Some("---") {
            return Ok(None);
        }
        let mut fields: BTreeMap<String, String> = BTreeMap::new();
        let mut open_list: Option<(String, Vec<&str>)> = None;
        for line in lines {
            if let Some(item) = line.trim_start().strip_prefix("- ") {
                let (_, items) = open_list
                    .as_mut()
                    .ok_or_else(|| format!("`{line}` belongs to no key"))?;
                items.push(item.trim());
                continue;
            }
            if let Some((key, items)) = open_list.take() {
                fields.insert(key, format!("[{}]", items.join(", ")));
            }
            if line == "---" {
                return Ok(Some(Self(fields)));
            }
            let (key, value) = line
                .split_once(':')
                .filter(|(key, _)| !key.starts_with(' '))
                .ok_or_else(|| format!("`{line}` is not `key: value`"))?;
            if fields.contains_key(key) {
                return Err(format!("`{key}` stands twice"));
            }
            let value = unquoted(value.trim());
            if value.is_empty() {
                open_list = Some((key.to_owned(), Vec::new()));
            } else {
                fields.insert(key.to_owned(), value.to_owned());
            }
        }
        Err("the front matter is not closed by `---`".to_owned())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

fn unquoted(text: &str) -> &str {
    let inside = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or(text)
}
