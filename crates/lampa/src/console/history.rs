//! The versions of the process, newest first, as far as they were asked for.

/// Versions that are asked for at a time.
pub(crate) const PAGE: u64 = 50;

/// One version, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) version: u64,
    pub(crate) time: String,
    pub(crate) source: &'static str,
    /// The first of the paths that it changed.
    pub(crate) changed: String,
}

/// The versions that are shown, and the one that is selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) versions: Vec<Version>,
    pub(crate) selected: usize,
    is_complete: bool,
}

impl History {
    pub(crate) fn selected(&self) -> Option<u64> {
        self.versions
            .get(self.selected)
            .map(|version| version.version)
    }

    pub(crate) fn move_by(&mut self, rows: isize) {
        let last = self.versions.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    /// The version before which more are to be asked for, when the end is near.
    pub(crate) fn wanted(&self) -> Option<u64> {
        let is_near = self.selected + 10 > self.versions.len();
        let oldest = self.versions.last()?.version;
        (is_near && !self.is_complete).then_some(oldest)
    }

    /// Adds versions, newest first: those before `before`, or the newest.
    pub(crate) fn add(&mut self, before: Option<u64>, versions: Vec<Version>) {
        let newest = self.versions.first().map(|version| version.version);
        let oldest = self.versions.last().map(|version| version.version);
        match (before, newest) {
            (Some(before), _) if oldest == Some(before) => {
                self.is_complete = versions.last().is_none_or(|last| last.version <= 1);
                self.versions.extend(versions);
            }
            // Of a list that was replaced meanwhile.
            (Some(_), _) => {}
            (None, Some(newest))
                if versions
                    .last()
                    .is_some_and(|last| last.version <= newest + 1) =>
            {
                let new: Vec<Version> = versions
                    .into_iter()
                    .filter(|version| version.version > newest)
                    .collect();
                // The same version stays selected, but for the newest, where news are expected.
                if self.selected > 0 {
                    self.selected += new.len();
                }
                self.versions.splice(0..0, new);
            }
            (None, _) => {
                self.is_complete = versions.last().is_none_or(|last| last.version <= 1);
                self.versions = versions;
                self.selected = 0;
            }
        }
    }
}
