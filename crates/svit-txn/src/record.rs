//! `ProcessTransaction`: the stored record of one transition, `svit-transaction@1`.

use svit_tree::{Address, Mutation, Source, touched};
use svit_value::{Digest, List, Map, Value};

use crate::codec::{self, Fields, Format};
use crate::ports::PortCall;
use crate::store::StoredRecord;
use crate::{Error, LimitKind, Limits, RecordError};

/// The name of the stored form.
pub const TRANSACTION_FORMAT: &str = "svit-transaction@1";

const FORMATS: &[Format<ProcessTransaction>] = &[(TRANSACTION_FORMAT, ProcessTransaction::read_1)];

/// One transition as it is stored: what differs between two roots, and where it stands in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessTransaction {
    /// The process.
    pub address: Address,
    /// The version after it.
    pub version: u64,
    /// The digest of the record, or base, before.
    pub previous: Digest,
    /// Who made it.
    pub source: Source,
    /// Milliseconds since the Unix epoch by the host's clock. Informative; never in the root.
    pub committed_at: u64,
    /// The edits that lead to `root`.
    pub mutations: Vec<Mutation>,
    /// The root digest after it.
    pub root: Digest,
    /// The port calls that its activation made, in the order in which they ended; those of a run
    /// that was not committed are not among them.
    pub ports: Vec<PortCall>,
}

impl ProcessTransaction {
    /// The stored form, with its digest and the derived columns. O(mutations).
    ///
    /// # Errors
    /// [`Error::Limit`] if it is longer than `max_record_bytes`.
    pub fn to_stored(&self, limits: &Limits) -> Result<StoredRecord, Error> {
        let mutations = self
            .mutations
            .iter()
            .map(Mutation::to_value)
            .collect::<Result<Vec<_>, _>>()?;
        let mut entries = vec![
            ("format", Value::from(TRANSACTION_FORMAT)),
            ("address", Value::from(self.address.as_str())),
            ("version", codec::count(self.version)),
            ("previous", codec::digest(self.previous)),
            ("source", Value::from(self.source.as_str())),
            ("committed_at", codec::count(self.committed_at)),
            ("mutations", Value::List(List::from_values(mutations)?)),
            ("root", codec::digest(self.root)),
        ];
        // Left out where there are none, as in the records that were written before ports were.
        if !self.ports.is_empty() {
            let ports = self.ports.iter().map(PortCall::to_value);
            let ports = ports.collect::<Result<Vec<_>, _>>()?;
            entries.push(("ports", Value::List(List::from_values(ports)?)));
        }
        let value = Value::Map(Map::from_entries(entries)?);
        limits.check(LimitKind::RecordBytes, value.measure().cbor_len)?;
        let body = value.encode();
        Ok(StoredRecord {
            version: self.version,
            previous: self.previous,
            digest: Digest::of(&body),
            root: self.root,
            paths: touched(&self.mutations),
            body,
        })
    }

    /// Reads the stored form. Exactly what [`to_stored`](Self::to_stored) writes is accepted.
    ///
    /// # Errors
    /// [`RecordError`]; an unknown format, source or operation is refused.
    pub fn from_bytes(body: &[u8]) -> Result<Self, RecordError> {
        codec::read("record", body, FORMATS)
    }

    fn read_1(fields: &Fields<'_>) -> Result<Self, RecordError> {
        let has_ports = fields.has("ports");
        fields.exactly(if has_ports { 9 } else { 8 })?;
        let ports = if has_ports {
            port_calls(fields)?
        } else {
            Vec::new()
        };
        let source = fields.text("source")?;
        Ok(Self {
            address: fields.address("address")?,
            version: fields.count("version")?,
            previous: fields.digest("previous")?,
            source: Source::parse(source)
                .ok_or_else(|| fields.bad("source", &format!("unknown source {source:?}")))?,
            committed_at: fields.count("committed_at")?,
            mutations: fields.mutations("mutations")?,
            root: fields.digest("root")?,
            ports,
        })
    }
}

fn port_calls(fields: &Fields<'_>) -> Result<Vec<PortCall>, RecordError> {
    match fields.get("ports")?.as_list() {
        Some(list) if !list.is_empty() => list.iter().map(PortCall::from_value).collect(),
        _ => Err(fields.bad("ports", "not a list of calls")),
    }
}
