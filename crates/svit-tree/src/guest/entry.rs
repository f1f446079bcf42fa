//! `LibraryEntry`: the form in which a script stands under `/lib`, read strictly and in one place.

use svit_value::{Kind, Map, Text, Value, ValueError};

use super::Program;

/// A script as it stands under `/lib`: a map `{source, documentation?, language?}`, all of them texts, and
/// nothing else in it.
///
/// ```
/// use svit_tree::guest::LibraryEntry;
/// use svit_value::value;
///
/// let stored = value!({"source": "(define (main input) input)", "documentation": "Gives it back."});
/// let entry = LibraryEntry::from_value(&stored)?;
/// assert_eq!(entry.to_value()?, stored);
/// let program = entry.to_program("/lib/echo", "svit-lisp@2");
/// assert_eq!(program.language.as_str(), "svit-lisp@2");
///
/// let error = LibraryEntry::from_value(&value!({"sauce": "x"})).unwrap_err();
/// assert_eq!(error.to_string(), "it has no field \"sauce\"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryEntry {
    /// The program text.
    pub source: Text,
    /// What the script is for.
    pub documentation: Option<Text>,
    /// The language it is written in, if it says so.
    pub language: Option<Text>,
}

/// What is wrong with a value that should be a [`LibraryEntry`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryError {
    /// It is no map.
    NotAMap {
        /// What it is.
        found: Kind,
    },
    /// A field is no text.
    NotText {
        /// The field, cut at 80 bytes.
        field: Text,
        /// What it is.
        found: Kind,
    },
    /// It has a field that no script has.
    UnknownField {
        /// The field, cut at 80 bytes.
        field: Text,
    },
    /// It has no source.
    NoSource,
}

impl std::fmt::Display for EntryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAMap { found } => write!(f, "expected a map with a source, found {found}"),
            Self::NotText { field, found } => write!(f, "{field} should be text, found {found}"),
            Self::UnknownField { field } => write!(f, "it has no field \"{field}\""),
            Self::NoSource => f.write_str("it has no source"),
        }
    }
}

impl std::error::Error for EntryError {}

impl LibraryEntry {
    /// Reads what stands under `/lib`. O(1).
    ///
    /// # Errors
    /// [`EntryError`]: no map, no source, a field of another kind, or a field that no script has.
    pub fn from_value(value: &Value) -> Result<Self, EntryError> {
        let map = value.as_map().ok_or(EntryError::NotAMap {
            found: value.kind(),
        })?;
        let mut source = None;
        let mut entry = Self::default();
        for (key, value) in map.iter() {
            let field = match key.as_str() {
                "source" => &mut source,
                "documentation" => &mut entry.documentation,
                "language" => &mut entry.language,
                _ => return Err(EntryError::UnknownField { field: clip(key) }),
            };
            match value.as_text() {
                Some(text) => *field = Some(text.clone()),
                None => {
                    return Err(EntryError::NotText {
                        field: clip(key),
                        found: value.kind(),
                    });
                }
            }
        }
        entry.source = source.ok_or(EntryError::NoSource)?;
        Ok(entry)
    }

    /// The map that stands under `/lib`.
    ///
    /// # Errors
    /// None for three texts; the value crate's type is passed on.
    pub fn to_value(&self) -> Result<Value, ValueError> {
        let mut map = Map::new();
        map.insert("source", self.source.clone())?;
        for (field, text) in [
            ("documentation", &self.documentation),
            ("language", &self.language),
        ] {
            if let Some(text) = text {
                map.insert(field, text.clone())?;
            }
        }
        Ok(Value::Map(map))
    }

    /// The program to run; `name` is the path it stands at, for diagnostics, and `language` that of an entry
    /// that names none.
    pub fn to_program(&self, name: impl Into<Text>, language: &str) -> Program {
        Program {
            name: name.into(),
            source: self.source.clone(),
            language: self.language.clone().unwrap_or_else(|| language.into()),
        }
    }
}

fn clip(name: &Text) -> Text {
    Text::from(&name[..name.floor_char_boundary(80)])
}
