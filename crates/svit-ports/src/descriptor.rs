//! `PortDescriptor`: what a port says about itself, checked when it is added, shown as its manual.

use svit_value::{Kind, Map, Text, Value, ValueError};

use crate::PortError;

/// The most bytes that an input or an output may be allowed, in the plain encoding.
pub const MAX_PORT_BYTES: u64 = 64 << 20;

const MAX_NAME_BYTES: usize = 64;
const MAX_VERSION_BYTES: usize = 64;
const MAX_DESCRIPTION_BYTES: usize = 4_096;
const MAX_SCHEMA_BYTES: u64 = 64 << 10;
const MAX_SCHEMA_DEPTH: u32 = 32;

/// What a call can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing: the output follows from the input and the committed process.
    Pure,
    /// It looks at the world.
    Read,
    /// It changes the world.
    Write,
}

impl Effect {
    /// `pure`, `read` or `write`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// How large inputs and outputs may be, in bytes of the plain encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLimits {
    /// Default 1 MiB, from 1 to [`MAX_PORT_BYTES`]. Checked before the port is called.
    pub max_input_bytes: u64,
    /// Default 8 MiB, from 1 to [`MAX_PORT_BYTES`]. Checked when the port has ended, so it bounds
    /// what callers get, not what a port does.
    pub max_output_bytes: u64,
}

impl Default for PortLimits {
    fn default() -> Self {
        Self {
            max_input_bytes: 1 << 20,
            max_output_bytes: 8 << 20,
        }
    }
}

/// What a port says about itself.
///
/// Plain data: it is checked when the port is added to [`Ports`](crate::Ports).
///
/// ```
/// use svit_ports::{Effect, PortDescriptor};
/// use svit_value::value;
///
/// let mail = PortDescriptor::new("mail", "1.0", "Sends {to, text} as a mail.")
///     .input(value!({"type": "object", "required": ["to", "text"]}));
/// assert_eq!((mail.effect, mail.idempotent), (Effect::Write, false));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct PortDescriptor {
    /// The name that it is called by: 1 to 64 of `A-Z a-z 0-9 _ - .`, a letter first.
    pub name: Text,
    /// The version of what it does, 1 to 64 bytes.
    pub version: Text,
    /// What it does, for a model to read, 1 to 4,096 bytes.
    pub description: Text,
    /// The JSON Schema of its input. By default `{}`, which allows everything.
    pub input: Value,
    /// The JSON Schema of its output. By default `{}`.
    pub output: Value,
    /// What it can do to the world. By default the worst, [`Effect::Write`].
    pub effect: Effect,
    /// Whether a second call with the same idempotency key does nothing more than the first, so that
    /// a call whose outcome is not known may be made again. By default not.
    pub idempotent: bool,
    /// How large its inputs and outputs may be.
    pub limits: PortLimits,
}

impl PortDescriptor {
    /// A descriptor with the defaults that its fields name.
    pub fn new(
        name: impl Into<Text>,
        version: impl Into<Text>,
        description: impl Into<Text>,
    ) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            description: description.into(),
            input: Map::new().into(),
            output: Map::new().into(),
            effect: Effect::Write,
            idempotent: false,
            limits: PortLimits::default(),
        }
    }

    /// With this JSON Schema of the input: a map of at most 64 KiB and 32 levels.
    pub fn input(mut self, schema: Value) -> Self {
        self.input = schema;
        self
    }

    /// With this JSON Schema of the output: a map of at most 64 KiB and 32 levels.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = schema;
        self
    }

    /// With this class of effect.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// With or without the promise of [`idempotent`](Self::idempotent).
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// With these limits.
    pub fn limits(mut self, limits: PortLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn check(&self) -> Result<(), PortError> {
        check_name(&self.name)?;
        let bad = |field, why| {
            Err(PortError::BadDescriptor {
                port: self.name.clone(),
                field,
                why,
            })
        };
        let texts = [
            ("version", &self.version, MAX_VERSION_BYTES),
            ("description", &self.description, MAX_DESCRIPTION_BYTES),
        ];
        for (field, text, most) in texts {
            if text.is_empty() || text.len() > most {
                return bad(
                    field,
                    format!("it has {} bytes, not 1 to {most}", text.len()),
                );
            }
        }
        for (field, schema) in [("input", &self.input), ("output", &self.output)] {
            let measure = schema.measure();
            if schema.kind() != Kind::Map {
                return bad(field, format!("a schema is a map, not {}", schema.kind()));
            }
            if measure.cbor_len > MAX_SCHEMA_BYTES {
                let why = format!(
                    "it has {} bytes, at most {MAX_SCHEMA_BYTES} are allowed",
                    measure.cbor_len
                );
                return bad(field, why);
            }
            if measure.depth > MAX_SCHEMA_DEPTH {
                let why = format!(
                    "it is {} levels deep, at most {MAX_SCHEMA_DEPTH} are allowed",
                    measure.depth
                );
                return bad(field, why);
            }
        }
        for (field, bytes) in self.limits.rows() {
            if !(1..=MAX_PORT_BYTES).contains(&bytes) {
                return bad(field, format!("it is {bytes}, not 1 to {MAX_PORT_BYTES}"));
            }
        }
        Ok(())
    }

    /// The page that stands at `/ports/<name>`.
    pub(crate) fn manual(&self) -> Result<Value, ValueError> {
        let bytes = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let limits = Map::from_entries(self.limits.rows().map(|(name, n)| (name, bytes(n))))?;
        let entries = [
            ("version", Value::from(self.version.clone())),
            ("description", Value::from(self.description.clone())),
            ("input", self.input.clone()),
            ("output", self.output.clone()),
            ("effect", Value::from(self.effect.as_str())),
            ("idempotent", Value::from(self.idempotent)),
            ("limits", Value::from(limits)),
        ];
        Ok(Map::from_entries(entries)?.into())
    }
}

impl PortLimits {
    fn rows(&self) -> [(&'static str, u64); 2] {
        [
            ("max_input_bytes", self.max_input_bytes),
            ("max_output_bytes", self.max_output_bytes),
        ]
    }
}

fn check_name(name: &str) -> Result<(), PortError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic());
    if starts && name.len() <= MAX_NAME_BYTES && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(PortError::BadName {
        name: crate::error::cut(name, 200).to_owned(),
    })
}
