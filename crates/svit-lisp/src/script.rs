//! `Script`: what stands under `/lib`, as a value and as a type.

use svit_tree::guest::{LibraryEntry, Program};
use svit_value::{Text, Value, ValueError};

use crate::{LANGUAGE, LispError};

/// A script: its source, what it is for, and its language.
///
/// Under `/lib` it is a map `{source, documentation?, language?}`; the language is left out when it is
/// [`LANGUAGE`].
///
/// ```
/// use svit_lisp::Script;
///
/// let script = Script::new("(define (main input) input)").documented("Gives back its input.");
/// let value = script.to_value()?;
/// assert_eq!(Script::from_value(&value)?, script);
/// assert_eq!(value.as_map().map(|map| map.len()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The program text.
    pub source: Text,
    /// What the script is for.
    pub documentation: Option<Text>,
    /// The language it is written in.
    pub language: Text,
}

impl Script {
    /// A script in this language, without documentation.
    pub fn new(source: impl Into<Text>) -> Self {
        Self {
            source: source.into(),
            documentation: None,
            language: Text::from(LANGUAGE),
        }
    }

    /// The script with documentation.
    #[must_use]
    pub fn documented(mut self, documentation: impl Into<Text>) -> Self {
        self.documentation = Some(documentation.into());
        self
    }

    /// The map that stands under `/lib`.
    ///
    /// # Errors
    /// None for a script of three texts; the value crate's type is passed on.
    pub fn to_value(&self) -> Result<Value, ValueError> {
        let entry = LibraryEntry {
            source: self.source.clone(),
            documentation: self.documentation.clone(),
            language: (self.language.as_str() != LANGUAGE).then(|| self.language.clone()),
        };
        entry.to_value()
    }

    /// Reads the map that stands under `/lib`.
    ///
    /// # Errors
    /// [`LispError::NotAScript`] if it is no map, has no source, has a field of another kind, or a field
    /// that no script has.
    pub fn from_value(value: &Value) -> Result<Self, LispError> {
        let entry = LibraryEntry::from_value(value).map_err(|error| LispError::NotAScript {
            problem: error.to_string(),
        })?;
        Ok(Self {
            source: entry.source,
            documentation: entry.documentation,
            language: entry.language.unwrap_or_else(|| Text::from(LANGUAGE)),
        })
    }

    /// The script as a program; `name` is the path it stands at, for diagnostics.
    pub fn to_program(&self, name: impl Into<Text>) -> Program {
        Program {
            name: name.into(),
            source: self.source.clone(),
            language: self.language.clone(),
        }
    }
}

impl From<Script> for Value {
    fn from(script: Script) -> Self {
        // Three texts in a map are two levels deep, so this cannot fail.
        script.to_value().unwrap_or_default()
    }
}

impl From<&str> for Script {
    fn from(source: &str) -> Self {
        Self::new(source)
    }
}
