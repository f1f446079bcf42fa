//! Relative links of the Markdown pages: each leads to a file or folder of the repository.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::workspace::TextFile;

/// Checks the pages against the names of all files, text or not.
pub(crate) fn check(texts: &[TextFile], files: &[String]) -> Vec<Finding> {
    let mut known: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    for file in files {
        known.extend(file.match_indices('/').map(|(at, _)| &file[..at]));
    }
    let mut findings = Vec::new();
    for page in texts.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in targets(&page.text) {
            if resolve(&page.path, target).is_some_and(|path| !known.contains(path.as_str())) {
                let place = format!("{}:{line}", page.path);
                let text = format!("`{target}` leads nowhere in the repository");
                findings.push(Finding::new("link", place, text));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` outside code fences and code spans, with their line numbers.
pub(crate) fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().flat_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let shown = if fenced { "" } else { line };
        shown.match_indices("](").filter_map(move |(at, mark)| {
            let in_span = shown[..at].matches('`').count() % 2 == 1 && shown[at..].contains('`');
            let rest = &shown[at + mark.len()..];
            let end = rest.find(')').filter(|_| !in_span)?;
            Some((number + 1, &rest[..end]))
        })
    })
}

/// The file or folder that a target on `page` means, relative to the same root as the page; None for the
/// web, for an anchor on the page itself, and for what is outside that root.
pub(crate) fn resolve(page: &str, target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or(target);
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut segments: Vec<&str> = page.split('/').collect();
    segments.pop();
    for segment in path.split('/') {
        match segment {
            "." | "" => {}
            ".." => {
                segments.pop()?;
            }
            one => segments.push(one),
        }
    }
    Some(segments.join("/")).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{check, targets};
    use crate::workspace::TextFile;

    fn findings(text: &str) -> Vec<String> {
        let page = TextFile {
            path: "docs/a/page.md".to_owned(),
            text: text.to_owned(),
        };
        let files = ["docs/a/page.md", "docs/b.png", "README.md"].map(str::to_owned);
        let found = check(&[page], &files);
        found.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_link_leads_to_a_file_or_a_folder() {
        for good in [
            "page.md",
            "page.md#top",
            "../b.png",
            "../../README.md",
            "..",
            "../",
            "../../docs/",
            "#here",
            "https://example.com/a",
            "mailto:a@example.com",
        ] {
            assert_eq!(findings(&format!("see [it]({good})\n")), [""; 0], "{good}");
        }
        for bad in ["gone.md", "../a.png", "../../docs/c/", "README.md"] {
            assert_eq!(
                findings(&format!("\nsee [it]({bad})\n")),
                ["docs/a/page.md:2"],
                "{bad}"
            );
        }
    }

    #[test]
    fn code_is_not_a_link() {
        assert_eq!(findings("```rust\n[a](gone.md)\n```\n"), [""; 0]);
        assert_eq!(findings("the form `[a](gone.md)` is a link\n"), [""; 0]);
        assert_eq!(targets("`a` [b](c) `d`\n").collect::<Vec<_>>(), [(1, "c")]);
    }
}
