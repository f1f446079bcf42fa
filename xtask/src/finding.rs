//! One broken rule: where, which, and what to do about it. All checks return these, so that all report alike.

use std::fmt;

/// A broken rule. `place` is a path (with `:line` where there is one) or a crate name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) place: String,
    pub(crate) rule: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(
        rule: &'static str,
        place: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            rule,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [{}] {}", self.place, self.rule, self.text)
    }
}

/// Prints the findings in order, or one line that says what was looked at.
pub(crate) fn report(mut findings: Vec<Finding>, looked_at: &str) -> Result<(), String> {
    if findings.is_empty() {
        println!("{looked_at}: ok");
        return Ok(());
    }
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    Err(format!("{looked_at}: {} found", findings.len()))
}

/// The rule names and places of some findings, for tests.
#[cfg(test)]
pub(crate) fn brief(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings
        .iter()
        .map(|finding| (finding.rule, finding.place.as_str()))
        .collect()
}
