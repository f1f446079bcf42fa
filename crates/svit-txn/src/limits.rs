//! The limits of a process: one table makes the struct, the checks and the error texts.

use std::fmt;
use std::time::Duration;

use svit_tree::Path;
use svit_tree::guest::GuestLimits;
use svit_value::{Map, Value, ValueLimits};

use crate::Error;

macro_rules! limits {
    ($($kind:ident $field:ident $default:literal $maximum:literal $unit:literal $what:literal)*) => {
        /// Which limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum LimitKind {
            $(
                #[doc = concat!($what, ", in ", $unit, ".")]
                $kind,
            )*
        }

        impl LimitKind {
            /// Every limit, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name, as in `/system/limits`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($field),)* }
            }

            /// What is counted.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$kind => $unit,)* }
            }

            /// What it bounds, in words.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$kind => $what,)* }
            }

            /// The value that a process gets if nobody chooses another one.
            pub const fn default_value(self) -> u64 {
                match self { $(Self::$kind => $default,)* }
            }

            /// The largest value that can be chosen.
            pub const fn maximum(self) -> u64 {
                match self { $(Self::$kind => $maximum,)* }
            }
        }

        /// The limits of one process. They stand in `/system/limits` too.
        ///
        /// Choose some and keep the rest: `Limits { max_ticks: 5_000, ..Limits::default() }`. Values
        /// past the hard maximum are refused where a process is built.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $(
                #[doc = concat!($what, ", in ", $unit, ". Default ", stringify!($default),
                    ", at most ", stringify!($maximum), ".")]
                pub $field: u64,
            )*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Limits {
            /// One limit.
            pub const fn get(&self, kind: LimitKind) -> u64 {
                match kind { $(LimitKind::$kind => self.$field,)* }
            }

            fn get_mut(&mut self, kind: LimitKind) -> &mut u64 {
                match kind { $(LimitKind::$kind => &mut self.$field,)* }
            }
        }
    };
}

limits! {
    Ticks max_ticks 1_000_000 1_000_000_000 "ticks" "work of one activation"
    ExecutionMillis max_execution_millis 1_000 60_000 "milliseconds" "wall clock of one activation"
    GuestMemory max_guest_memory 8_388_608 67_108_864 "bytes" "memory of the guest's own values"
    CallStack max_call_stack 1_024 4_096 "frames" "calls inside each other"
    ValueStack max_value_stack 4_096 1_000_000 "values" "values on the guest's stack"
    GuestNames max_guest_names 1_024 10_000 "names" "names that a script may define"
    ExecDepth max_exec_depth 16 64 "calls" "nested exec"
    SyntaxDepth max_syntax_depth 64 256 "levels" "nesting of a script's text"
    IntegerBits max_integer_bits 64 4_096 "bits" "one integer inside the guest"
    ValueDepth max_value_depth 32 128 "levels" "depth of a written value, the input or the output"
    ValueNodes max_value_nodes 100_000 10_000_000 "nodes" "nodes of a written value, the input or the output"
    TextBytes max_text_bytes 1_048_576 67_108_864 "bytes" "text of a written value, the input or the output"
    PortResultBytes max_port_result_bytes 8_388_608 67_108_864 "bytes" "the answer of a port"
    TreeNodes max_tree_nodes 1_000_000 100_000_000 "nodes" "nodes of the whole process"
    TreeBytes max_tree_bytes 268_435_456 8_589_934_592 "bytes" "encoding of the whole process"
    ScriptBytes max_script_bytes 65_536 1_048_576 "bytes" "text of one script"
    Logs max_logs 128 10_000 "records" "log records of one activation"
    Messages max_messages 128 10_000 "messages" "message intents of one activation"
    StagedScripts max_staged_scripts 32 10_000 "scripts" "scripts changed by one activation"
    Inbox max_inbox 4_096 1_000_000 "entries" "messages waiting in the inbox"
    Outbox max_outbox 4_096 1_000_000 "entries" "intents waiting in the outbox"
    MountEntries max_mount_entries 4_096 1_000_000 "entries" "entries of one listing of a mount"
    MountWrites max_mount_writes 32 10_000 "writes" "mount writes of one activation"
    PortCalls max_port_calls 32 1_000 "calls" "port calls of one activation"
    TurnAttempts max_turn_attempts 3 100 "attempts" "attempts at one message"
    TurnSteps max_turn_steps 64 1_000 "steps" "model calls of one turn"
    TurnToolCalls max_turn_tool_calls 128 10_000 "calls" "tool calls of one turn"
    RecordBytes max_record_bytes 16_777_216 67_108_864 "bytes" "one transaction record"
    Receipts max_receipts 1_024 100_000 "receipts" "remembered outcomes of one client"
}

/// A limit was passed. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Which limit.
    pub limit: LimitKind,
    /// What is allowed.
    pub allowed: u64,
    /// What there was.
    pub actual: u64,
    /// Where, if it is about one place.
    pub path: Option<Path>,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        write!(
            f,
            "{}: {} {}, more than the {} that {} allows",
            self.limit.what(),
            self.actual,
            self.limit.unit(),
            self.allowed,
            self.limit.name()
        )
    }
}

impl std::error::Error for LimitExceeded {}

impl Limits {
    /// Checks a size against a limit.
    ///
    /// # Errors
    /// [`Error::Limit`] if `actual` is above it.
    pub fn check(&self, kind: LimitKind, actual: u64) -> Result<(), Error> {
        self.exceeded(kind, actual, None)
            .map_or(Ok(()), |e| Err(Error::Limit(e)))
    }

    pub(crate) fn exceeded(
        &self,
        limit: LimitKind,
        actual: u64,
        path: Option<&Path>,
    ) -> Option<LimitExceeded> {
        let allowed = self.get(limit);
        (actual > allowed).then(|| LimitExceeded {
            limit,
            allowed,
            actual,
            path: path.cloned(),
        })
    }

    /// Checks a value that is to be written at `path`, or given to or by a script, in O(1).
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check_value(&self, value: &Value, path: Option<&Path>) -> Result<(), Error> {
        let measure = value.measure();
        let sizes = [
            (LimitKind::ValueDepth, u64::from(measure.depth)),
            (LimitKind::ValueNodes, measure.nodes),
            (LimitKind::TextBytes, measure.text_bytes),
        ];
        sizes
            .into_iter()
            .find_map(|(kind, actual)| self.exceeded(kind, actual, path))
            .map_or(Ok(()), |e| Err(Error::Limit(e)))
    }

    /// Checks that every limit is at least 1 and at most its hard maximum.
    ///
    /// # Errors
    /// [`Error::BadLimit`] for the first that is not.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = LimitKind::ALL
            .iter()
            .find(|&&kind| !(1..=kind.maximum()).contains(&self.get(kind)));
        match bad {
            Some(&limit) => Err(Error::BadLimit {
                limit,
                chosen: self.get(limit),
            }),
            None => Ok(()),
        }
    }

    /// The rows of `/system/limits`.
    pub fn to_map(&self) -> Map {
        let rows = LimitKind::ALL
            .iter()
            .map(|&kind| (kind.name(), crate::codec::count(self.get(kind))));
        // A map of integers is two levels deep, so this cannot fail.
        Map::from_entries(rows).unwrap_or_default()
    }

    /// Reads the rows of `/system/limits`; a row that is missing has its default.
    ///
    /// # Errors
    /// [`Error::BadLimit`] for a row out of range, [`Error::UnknownLimit`] for one that is none.
    pub fn from_map(rows: &Map) -> Result<Self, Error> {
        let mut limits = Self::default();
        for (name, value) in rows.iter() {
            let kind = LimitKind::ALL
                .iter()
                .copied()
                .find(|kind| kind.name() == &**name);
            let Some(kind) = kind else {
                return Err(Error::UnknownLimit { name: name.clone() });
            };
            let chosen = value.as_int().and_then(|n| u64::try_from(n).ok());
            *limits.get_mut(kind) = chosen.unwrap_or(0);
        }
        limits.validate()?;
        Ok(limits)
    }

    /// What a value given to or by a script may measure.
    pub(crate) fn value_limits(&self) -> ValueLimits {
        ValueLimits {
            max_depth: u32::try_from(self.max_value_depth).unwrap_or(u32::MAX),
            max_nodes: self.max_value_nodes,
            max_text_bytes: self.max_text_bytes,
            max_bytes: self.max_tree_bytes,
        }
    }

    /// What one run of a guest may use, with the wall clock that is left.
    pub(crate) fn guest_limits(&self, left: Duration) -> GuestLimits {
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        GuestLimits {
            max_execution: left,
            max_memory: self.max_guest_memory,
            max_call_stack: small(self.max_call_stack),
            max_value_stack: small(self.max_value_stack),
            max_names: small(self.max_guest_names),
            max_syntax_depth: small(self.max_syntax_depth),
            max_integer_bits: small(self.max_integer_bits),
            max_source_bytes: self.max_script_bytes,
            value: self.value_limits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_a_process_gets_what_a_process_grants() {
        let millis = Limits::default().max_execution_millis;
        let granted = Limits::default().guest_limits(Duration::from_millis(millis));
        let mut standard = GuestLimits::default();
        // The encoding of one value is bounded by the whole process, which a guest alone has not.
        standard.value.max_bytes = granted.value.max_bytes;
        assert_eq!(granted, standard);
    }
}
