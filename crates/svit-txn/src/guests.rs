//! Which guest runs which language; the built-in one is known here and nowhere else.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use svit_tree::guest::{
    Guest, GuestError, GuestErrorKind, GuestLimits, Host, LibraryEntry, Program,
};
use svit_tree::{Node, Path, Tree};
use svit_value::{Map, Text, Value};

use crate::Error;

/// The language of a script that names none.
pub const DEFAULT_LANGUAGE: &str = "svit-lisp@2";

/// The guests of a process, by language.
#[derive(Clone)]
pub(crate) struct Guests {
    by_language: Arc<BTreeMap<String, Arc<dyn Guest>>>,
}

impl std::fmt::Debug for Guests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.by_language.keys()).finish()
    }
}

impl Default for Guests {
    fn default() -> Self {
        #[cfg(feature = "lisp")]
        let built_in: [Arc<dyn Guest>; 1] = [Arc::new(svit_lisp::Lisp::new())];
        #[cfg(not(feature = "lisp"))]
        let built_in: [Arc<dyn Guest>; 0] = [];
        let by_language = built_in
            .into_iter()
            .map(|guest| (guest.language().to_owned(), guest))
            .collect();
        Self {
            by_language: Arc::new(by_language),
        }
    }
}

impl Guests {
    pub(crate) fn add(&mut self, language: String, guest: Arc<dyn Guest>) {
        Arc::make_mut(&mut self.by_language).insert(language, guest);
    }

    /// Checks a program without running it.
    pub(crate) fn check(
        &self,
        path: &Path,
        program: &Program,
        limits: &GuestLimits,
    ) -> Result<(), Error> {
        let guest = self.of(path, program)?;
        contained(program, || guest.check(program, limits))
    }

    /// Runs a program.
    pub(crate) fn run(
        &self,
        path: &Path,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Value, Error> {
        let guest = self.of(path, program)?;
        contained(program, || guest.run(program, input, host, limits))
    }

    /// The guest for a program.
    fn of(&self, path: &Path, program: &Program) -> Result<&Arc<dyn Guest>, Error> {
        self.by_language
            .get(&*program.language)
            .ok_or_else(|| Error::UnknownLanguage {
                path: path.clone(),
                language: program.language.clone(),
            })
    }
}

/// Calls a guest so that its panic ends the program and nothing else. A guest must not panic, but a
/// process has to outlive one that does; what it shares with us is behind locks that expect it.
fn contained<T>(
    program: &Program,
    call: impl FnOnce() -> Result<T, GuestError>,
) -> Result<T, Error> {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let message = format!(
            "{}: the guest for {:?} failed inside",
            program.name, program.language
        );
        Err(GuestError::new(GuestErrorKind::Panic, "panic", message))
    });
    result.map_err(|error| bounded(error).into())
}

/// The longest text that is taken from a guest's error, in bytes; `GuestError` promises it.
const MAX_ERROR_TEXT: usize = 1_024;

/// Cuts a text that others made at what an error may hold.
pub(crate) fn cut(text: &mut Text) {
    if text.len() > MAX_ERROR_TEXT {
        let mut end = MAX_ERROR_TEXT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        *text = Text::from(&text[..end]);
    }
}

/// An error whose texts are no longer than a guest may make them.
fn bounded(mut error: GuestError) -> GuestError {
    cut(&mut error.code);
    cut(&mut error.message);
    if let Some(refusal) = &mut error.host {
        cut(&mut refusal.code);
        cut(&mut refusal.message);
    }
    error
}

/// The script at `/lib/<name>`.
pub(crate) fn script_at(tree: &Tree, path: &Path) -> Result<Program, Error> {
    let in_library = Node::of(path) == Some(Node::Lib) && path.len() == 2;
    match tree.get(path) {
        Some(entry) if in_library => program(path, entry),
        _ => Err(Error::NoScript { path: path.clone() }),
    }
}

/// Reads a library entry: `{source, documentation?, language?}`, all of them texts.
fn program(path: &Path, entry: &Value) -> Result<Program, Error> {
    match LibraryEntry::from_value(entry) {
        Ok(entry) => Ok(entry.to_program(path.to_string(), DEFAULT_LANGUAGE)),
        Err(error) => Err(Error::BadScript {
            path: path.clone(),
            why: error.to_string(),
        }),
    }
}

/// A library entry from what a host may give: the entry itself, or the source alone.
pub(crate) fn entry(script: Value) -> Result<Value, Error> {
    Ok(match script {
        Value::Text(source) => Map::from_entries([("source", source)])?.into(),
        other => other,
    })
}
