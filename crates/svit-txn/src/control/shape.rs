//! The shape of every frame, as one table: frames are read by it, and the schema is made from it.

use svit_tree::guest::LogLevel;
use svit_tree::{Address, Path};
use svit_value::{Digest, List, Text, Value};

use super::wire::{PROTOCOL, RequestError};
use crate::ids::is_id;

/// What a field may hold.
pub(super) enum Shape {
    /// The name of the protocol.
    Protocol,
    /// An id of a client or a request.
    Id,
    /// The address of a process.
    Address,
    /// A path.
    Path,
    /// A root digest.
    Digest,
    /// A whole number from 0 to the largest integer.
    Count,
    /// True or false.
    Flag,
    /// Any text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Any value.
    Any,
    /// A list of such.
    List(&'static Self),
    /// An object with these fields.
    Object(&'static [Field]),
    /// An object whose other fields depend on one of them.
    Tagged(&'static Tagged),
}

/// A field of an object. All fields are required, and unknown ones are ignored.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) about: &'static str,
}

/// An object whose field `tag` says which other fields there are.
pub(super) struct Tagged {
    pub(super) tag: &'static str,
    pub(super) cases: &'static [Case],
    pub(super) unknown: fn(&str) -> RequestError,
}

/// One case of a tagged object.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    pub(super) about: &'static str,
}

const fn field(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, about }
}

const fn case(name: &'static str, fields: &'static [Field], about: &'static str) -> Case {
    Case {
        name,
        fields,
        about,
    }
}

pub(super) const REQUEST: &[Field] = &[
    field("protocol", Shape::Protocol, "The name of the protocol."),
    field(
        "client_id",
        Shape::Id,
        "Who asks. For correlation only, never proof of identity.",
    ),
    field(
        "request_id",
        Shape::Id,
        "The client's id for this request. An exact retry repeats it, and gets the stored outcome.",
    ),
    field("process_id", Shape::Address, "The process."),
    field(
        "expected_version",
        Shape::Count,
        "The version that the client has seen. At any other the outcome is a conflict.",
    ),
    field("command", Shape::Tagged(&COMMAND), "What to do."),
];

pub(super) const RESPONSE: &[Field] = &[
    field("protocol", Shape::Protocol, "The name of the protocol."),
    field("client_id", Shape::Id, "As in the request."),
    field("request_id", Shape::Id, "As in the request."),
    field("process_id", Shape::Address, "As in the request."),
    field(
        "replayed",
        Shape::Flag,
        "Whether this is the stored outcome of the same request made before.",
    ),
    field("outcome", Shape::Tagged(&OUTCOME), "How the request ended."),
];

pub(super) const COMMAND: Tagged = Tagged {
    tag: "operation",
    unknown: |found| RequestError::Operation {
        operation: shortened(found),
    },
    cases: &[case(
        "activate",
        &[
            field("script", Shape::Path, "The script, `/lib/<name>`."),
            field("input", Shape::Any, "Its input."),
        ],
        "Run a script.",
    )],
};

pub(super) const OUTCOME: Tagged = Tagged {
    tag: "status",
    unknown: |_| RequestError::Field {
        field: "status",
        why: "unknown",
    },
    cases: &[
        case(
            "committed",
            &[
                field("version", Shape::Count, "The version after it."),
                field("root", Shape::Digest, "The root digest after it."),
                field("output", Shape::Any, "What the script returned."),
                field(
                    "logs",
                    Shape::List(&Shape::Object(LOG)),
                    "Its log records, in order.",
                ),
                field(
                    "changed",
                    Shape::List(&Shape::Path),
                    "The paths that it changed, in tree order.",
                ),
                field("ticks", Shape::Count, "Ticks used."),
            ],
            "The script ran, and what it did is committed.",
        ),
        case(
            "conflict",
            &[
                field(
                    "expected",
                    Shape::Count,
                    "The version that the client had seen.",
                ),
                field(
                    "actual",
                    Shape::Count,
                    "The version that the process is at.",
                ),
                field("root", Shape::Digest, "Its root digest."),
            ],
            "Another transition came first. No guest code ran, and nothing is remembered.",
        ),
        case(
            "rejected",
            &[
                field(
                    "version",
                    Shape::Count,
                    "The version that the process is at.",
                ),
                field("root", Shape::Digest, "Its root digest."),
                field(
                    "code",
                    Shape::Text,
                    "A stable name for the reason, in snake case.",
                ),
                field("message", Shape::Text, "The reason, fit for people."),
            ],
            "The request was refused, or the script failed. Nothing was changed.",
        ),
    ],
};

const LOG: &[Field] = &[
    field(
        "level",
        Shape::OneOf(&[
            LogLevel::Info.as_str(),
            LogLevel::Warn.as_str(),
            LogLevel::Error.as_str(),
        ]),
        "How much it matters.",
    ),
    field("message", Shape::Text, "What it says."),
    field("fields", Shape::Any, "What belongs to it."),
];

/// A text that others sent, as an error may hold it.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

impl Shape {
    /// Checks the value of a field.
    fn check(&self, field: &'static str, value: &Value) -> Result<(), RequestError> {
        let need = |holds: bool, why: &'static str| {
            holds
                .then_some(())
                .ok_or(RequestError::Field { field, why })
        };
        let text = || {
            value.as_str().ok_or(RequestError::Field {
                field,
                why: "not text",
            })
        };
        match self {
            Self::Protocol => match text()? {
                PROTOCOL => Ok(()),
                other => Err(RequestError::Protocol {
                    found: shortened(other),
                }),
            },
            Self::Id => match text()? {
                id if is_id(id) => Ok(()),
                other => Err(RequestError::Id {
                    field,
                    text: shortened(other),
                }),
            },
            Self::Address => Ok(Address::parse(text()?).map(drop)?),
            Self::Path => Ok(Path::parse(text()?).map(drop)?),
            Self::Digest => need(
                text()?.parse::<Digest>().is_ok(),
                "not a digest of 64 hex digits",
            ),
            Self::Count => need(value.as_int().is_some_and(|n| n >= 0), "not a count"),
            Self::Flag => need(value.as_bool().is_some(), "not a boolean"),
            Self::Text => text().map(drop),
            Self::OneOf(known) => need(known.contains(&text()?), "unknown"),
            Self::Any => Ok(()),
            Self::List(item) => {
                let list = value.as_list();
                need(list.is_some(), "not a list")?;
                let mut items = list.into_iter().flat_map(List::iter);
                items.try_for_each(|value| item.check(field, value))
            }
            Self::Object(fields) => Frame::of(field, value, fields)?.check(),
            Self::Tagged(tagged) => tagged.case(field, value)?.1.check(),
        }
    }
}

impl Tagged {
    /// The case that an object is of, and its fields.
    pub(super) fn case<'a>(
        &self,
        field: &'static str,
        value: &'a Value,
    ) -> Result<(&'static str, Frame<'a>), RequestError> {
        let tag = Frame::of(field, value, &[])?.present(self.tag)?;
        let tag = tag.as_str().ok_or(RequestError::Field {
            field: self.tag,
            why: "not text",
        })?;
        let case = self.cases.iter().find(|case| case.name == tag);
        let case = case.ok_or_else(|| (self.unknown)(tag))?;
        Ok((case.name, Frame::of(field, value, case.fields)?))
    }
}

/// An object that is read by its shape. Only fields of the table can be read.
pub(super) struct Frame<'a> {
    object: &'a Value,
    fields: &'static [Field],
}

impl<'a> Frame<'a> {
    pub(super) fn of(
        field: &'static str,
        object: &'a Value,
        fields: &'static [Field],
    ) -> Result<Self, RequestError> {
        match object {
            Value::Map(_) => Ok(Self { object, fields }),
            _ => Err(RequestError::Field {
                field,
                why: "not an object",
            }),
        }
    }

    fn present(&self, field: &'static str) -> Result<&'a Value, RequestError> {
        self.object.get(field).ok_or(RequestError::Field {
            field,
            why: "missing",
        })
    }

    fn check(&self) -> Result<(), RequestError> {
        let mut fields = self.fields.iter();
        fields.try_for_each(|field| self.get(field.name).map(drop))
    }

    /// The value of a field, checked.
    pub(super) fn get(&self, name: &'static str) -> Result<&'a Value, RequestError> {
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.ok_or(RequestError::Field {
            field: name,
            why: "no field of this protocol",
        })?;
        let value = self.present(name)?;
        field.shape.check(name, value)?;
        Ok(value)
    }

    pub(super) fn text(&self, field: &'static str) -> Result<Text, RequestError> {
        Ok(self.get(field)?.as_text().cloned().unwrap_or_default())
    }

    pub(super) fn flag(&self, field: &'static str) -> Result<bool, RequestError> {
        Ok(self.get(field)?.as_bool().unwrap_or_default())
    }

    pub(super) fn count(&self, field: &'static str) -> Result<u64, RequestError> {
        let number = self.get(field)?.as_int().unwrap_or_default();
        Ok(u64::try_from(number).unwrap_or_default())
    }

    pub(super) fn digest(&self, field: &'static str) -> Result<Digest, RequestError> {
        let text = self.text(field)?;
        text.parse().map_err(|_| RequestError::Field {
            field,
            why: "not a digest of 64 hex digits",
        })
    }

    pub(super) fn address(&self, field: &'static str) -> Result<Address, RequestError> {
        Ok(Address::parse(&self.text(field)?)?)
    }

    pub(super) fn path(&self, field: &'static str) -> Result<Path, RequestError> {
        Ok(Path::parse(&self.text(field)?)?)
    }

    pub(super) fn items(
        &self,
        field: &'static str,
    ) -> Result<impl Iterator<Item = &'a Value>, RequestError> {
        let list = self.get(field)?.as_list();
        Ok(list.into_iter().flat_map(List::iter))
    }

    /// The case of a tagged field, and what is in it.
    pub(super) fn case(
        &self,
        name: &'static str,
        tagged: &Tagged,
    ) -> Result<(&'static str, Frame<'a>), RequestError> {
        tagged.case(name, self.present(name)?)
    }
}

#[cfg(test)]
mod tests;
