//! `cargo xtask knowledge`: the bundle in `knowledge/` against the Open Knowledge Format 0.2 as we use it.
//!
//! One concept a file, with YAML front matter; `index.md` lists a folder and `log.md` holds the history,
//! and neither is a concept. Links inside the bundle are relative.

mod front_matter;

use std::collections::BTreeSet;

use self::front_matter::FrontMatter;
use crate::finding::{Finding, report};
use crate::links;
use crate::workspace::{TextFile, Workspace};

const FOLDER: &str = "knowledge/";
const VERSION: &str = "0.2";
const REQUIRED: &[&str] = &["type", "title", "description", "tags", "timestamp"];
const RESERVED: &[&str] = &["index.md", "log.md"];

pub(crate) fn command() -> Result<(), String> {
    let texts = Workspace::load()?.texts()?;
    let bundle = files(&texts);
    report(
        check(&bundle),
        &format!("knowledge of {} files", bundle.len()),
    )
}

/// The bundle's files, with paths relative to `knowledge/`; files elsewhere are kept out of it.
pub(crate) fn files(texts: &[TextFile]) -> Vec<TextFile> {
    let inside = texts.iter().filter_map(|file| {
        let path = file.path.strip_prefix(FOLDER)?;
        Some(TextFile {
            path: path.to_owned(),
            text: file.text.clone(),
        })
    });
    inside.collect()
}

pub(crate) fn check(bundle: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages: Vec<&TextFile> = bundle
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .collect();
    let paths: BTreeSet<&str> = bundle.iter().map(|file| file.path.as_str()).collect();
    for page in &pages {
        match name_of(&page.path) {
            "index.md" => index(page, &pages, &mut findings),
            "log.md" => log(page, &mut findings),
            _ => concept(page, &mut findings),
        }
        relative_links(page, &mut findings);
    }
    for folder in folders(&pages) {
        let wanted = format!("{folder}index.md");
        if !paths.contains(wanted.as_str()) {
            findings.push(finding("index", &wanted, "every folder has an index.md"));
        }
    }
    findings
}

fn finding(rule: &'static str, path: &str, text: impl Into<String>) -> Finding {
    Finding::new(rule, format!("{FOLDER}{path}"), text)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder of a page: empty, or with a `/` at its end.
fn folder_of(path: &str) -> &str {
    &path[..path.len() - name_of(path).len()]
}

/// Every folder that holds a page, and the folders above it.
fn folders<'a>(pages: &[&'a TextFile]) -> BTreeSet<&'a str> {
    let mut folders = BTreeSet::new();
    for page in pages {
        let mut folder = folder_of(&page.path);
        folders.insert(folder);
        while !folder.is_empty() {
            folder = folder_of(folder.trim_end_matches('/'));
            folders.insert(folder);
        }
    }
    folders
}

fn concept(page: &TextFile, findings: &mut Vec<Finding>) {
    let front = match FrontMatter::read(&page.text) {
        Ok(Some(front)) => front,
        Ok(None) => {
            findings.push(finding(
                "front-matter",
                &page.path,
                "a concept starts with front matter",
            ));
            return;
        }
        Err(text) => {
            findings.push(finding("front-matter", &page.path, text));
            return;
        }
    };
    for key in REQUIRED {
        if front
            .get(key)
            .is_none_or(|value| value.trim().is_empty() || value == "[]")
        {
            let text = format!("`{key}` is missing or empty");
            findings.push(finding("front-matter", &page.path, text));
        }
    }
    if let Some(timestamp) = front.get("timestamp")
        && !is_timestamp(timestamp)
    {
        let text = format!("`timestamp: {timestamp}` is not an ISO 8601 date or time");
        findings.push(finding("front-matter", &page.path, text));
    }
}

/// An index lists all that is beside it; the one of the bundle says which version it follows.
fn index(page: &TextFile, pages: &[&TextFile], findings: &mut Vec<Finding>) {
    let folder = folder_of(&page.path);
    let version = match FrontMatter::read(&page.text) {
        Ok(front) => front.and_then(|front| front.get("okf_version").map(str::to_owned)),
        Err(text) => {
            findings.push(finding("front-matter", &page.path, text));
            None
        }
    };
    if folder.is_empty() && version.as_deref() != Some(VERSION) {
        let text = format!("the bundle's index says okf_version: \"{VERSION}\"");
        findings.push(finding("front-matter", &page.path, text));
    }
    let listed: BTreeSet<String> = links::targets(&page.text)
        .filter_map(|(_, target)| links::resolve(&page.path, target))
        .collect();
    for other in pages {
        let Some(rest) = other.path.strip_prefix(folder) else {
            continue;
        };
        let direct = !rest.contains('/') && !RESERVED.contains(&rest);
        let subfolder = rest.matches('/').count() == 1 && name_of(rest) == "index.md";
        if (direct || subfolder) && !listed.contains(&other.path) {
            let text = format!("does not list {rest}");
            findings.push(finding("index", &page.path, text));
        }
    }
}

/// A log has a heading for each day, the newest first.
fn log(page: &TextFile, findings: &mut Vec<Finding>) {
    let days: Vec<&str> = page
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(str::trim)
        .collect();
    if days.is_empty() {
        findings.push(finding("log", &page.path, "has no `## YYYY-MM-DD` heading"));
    }
    for day in &days {
        if !is_date(day) {
            let text = format!("`## {day}` is not a date (YYYY-MM-DD)");
            findings.push(finding("log", &page.path, text));
        }
    }
    if !days.is_sorted_by(|newer, older| newer > older) {
        findings.push(finding(
            "log",
            &page.path,
            "days go from the newest to the oldest, each once",
        ));
    }
}

/// Where links lead is checked for the whole repository (`links.rs`); here only their form.
fn relative_links(page: &TextFile, findings: &mut Vec<Finding>) {
    for (line, target) in links::targets(&page.text) {
        if target.starts_with('/') {
            let place = format!("{}:{line}", page.path);
            findings.push(finding(
                "link",
                &place,
                format!("`{target}` is not relative"),
            ));
        }
    }
}

fn is_date(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let number =
        |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    shape == "9999-99-99"
        && number(5..7).is_some_and(|month| (1..=12).contains(&month))
        && number(8..10).is_some_and(|day| (1..=31).contains(&day))
}

/// `YYYY-MM-DD`, or that with `THH:MM:SS` and `Z` or an offset.
fn is_timestamp(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else {
        return is_date(text);
    };
    let shape: String = time
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let known = ["99:99:99Z", "99:99:99+99:99", "99:99:99-99:99"];
    is_date(date) && known.contains(&shape.as_str())
}

#[cfg(test)]
mod tests;
