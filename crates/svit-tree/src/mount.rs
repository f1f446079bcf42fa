//! The seam to external resources that are seen below `/mounts`: what a host attaches
//! ([`MountProvider`]), and the paths and descriptors it works with.
//!
//! Only a mount's [`MountDescriptor`] is committed. Its contents are asked for when somebody reads
//! them, one node at a time, and never reach a digest.

use std::fmt;
use std::sync::Arc;

use svit_value::{Kind, Map, Text, Value};

use crate::{IntoPath, Path, Stat, TreeError};

/// A path inside a mount: the same rules as [`Path`], counted from the mount's own root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountPath(Path);

impl MountPath {
    /// The mount's root.
    pub fn root() -> Self {
        Self(Path::root())
    }

    /// Takes a path that is absolute within the mount.
    ///
    /// # Errors
    /// [`TreeError::BadPath`].
    pub fn parse(path: impl IntoPath) -> Result<Self, TreeError> {
        path.into_path().map(Self)
    }

    /// Splits a path of the process into the mount's name and the path inside it; none if it is not
    /// below `/mounts/<name>`.
    ///
    /// ```
    /// use svit_tree::{Path, mount::MountPath};
    ///
    /// let path = Path::parse("/mounts/cwd/src/lib.rs")?;
    /// let (name, inside) = MountPath::split(&path).unwrap();
    /// assert_eq!((name.as_str(), inside.to_string()), ("cwd", "/src/lib.rs".to_owned()));
    /// # Ok::<(), svit_tree::TreeError>(())
    /// ```
    pub fn split(path: &Path) -> Option<(Text, Self)> {
        let mut segments = path.segments();
        if segments.next() != Some(crate::Node::Mounts.name()) {
            return None;
        }
        let name = Text::from(segments.next()?);
        // Segments of a path are good segments, and fewer of them are no longer.
        let inside = segments.try_fold(Path::root(), |path, segment| path.join(segment));
        Some((name, Self(inside.ok()?)))
    }

    /// The segments, from the mount's root down. None is empty, `.`, `..`, or holds NUL; a segment
    /// may hold `/`, which a provider of files must refuse.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.segments()
    }

    /// Whether this is the mount's root.
    pub fn is_root(&self) -> bool {
        self.0.is_root()
    }

    /// The same as a path: that of a value which holds what the mount holds.
    pub const fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for MountPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a resource is, as far as a reader must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Locality {
    /// On this machine.
    Local,
    /// Elsewhere: slower, and it may be away.
    Remote,
}

impl Locality {
    /// `local` or `remote`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

/// What a host grants with a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl Grant {
    /// `read` or `read_write`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
        }
    }
}

/// What is committed of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountDescriptor {
    /// The kind of resource, such as `folder`.
    pub kind: Text,
    /// Which one, in words; never a secret.
    pub source: Text,
    /// Where it is.
    pub locality: Locality,
    /// What the host grants.
    pub grant: Grant,
}

impl MountDescriptor {
    /// The committed form: a map of four texts.
    pub fn to_value(&self) -> Value {
        let entries = [
            ("kind", self.kind.clone()),
            ("source", self.source.clone()),
            ("locality", Text::from(self.locality.as_str())),
            ("access", Text::from(self.grant.as_str())),
        ];
        // Four texts in a map are two levels deep, so this cannot fail.
        Value::Map(Map::from_entries(entries).unwrap_or_default())
    }

    /// Reads the committed form; none if it is not one.
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_text().cloned();
        let locality = [Locality::Local, Locality::Remote]
            .into_iter()
            .find(|locality| text("locality").as_deref() == Some(locality.as_str()))?;
        let grant = [Grant::Read, Grant::ReadWrite]
            .into_iter()
            .find(|grant| text("access").as_deref() == Some(grant.as_str()))?;
        let known = value.as_map()?.len() == 4;
        known.then_some(Self {
            kind: text("kind")?,
            source: text("source")?,
            locality,
            grant,
        })
    }
}

/// Facts about a node of a mount. What costs a read of the contents is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountStat {
    /// What kind of value is there.
    pub kind: Kind,
    /// How many children it has, if that is known without listing them.
    pub entries: Option<u64>,
    /// Octets, if that is known without reading them.
    pub bytes: Option<u64>,
}

impl From<&Stat> for MountStat {
    fn from(stat: &Stat) -> Self {
        Self {
            kind: stat.kind,
            entries: stat.entries,
            bytes: stat.bytes,
        }
    }
}

/// Why a mount did not do what was asked. Texts name no path of the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The host did not grant this.
    #[error("{path}: the mount does not grant writing")]
    Denied {
        /// Where.
        path: MountPath,
    },
    /// There is nothing there.
    #[error("{path}: nothing is there")]
    Missing {
        /// Where.
        path: MountPath,
    },
    /// There is something that the mount does not show, such as a symbolic link.
    #[error("{path}: {why}")]
    Refused {
        /// Where.
        path: MountPath,
        /// What it is.
        why: String,
    },
    /// It is larger than may be read or listed.
    #[error("{path}: {actual} {unit}; at most {allowed} are allowed")]
    TooLarge {
        /// Where.
        path: MountPath,
        /// What is counted.
        unit: &'static str,
        /// The limit.
        allowed: u64,
        /// The size.
        actual: u64,
    },
    /// The resource could not be reached, or failed.
    #[error("{path}: {why}")]
    Unavailable {
        /// Where.
        path: MountPath,
        /// What happened.
        why: String,
    },
}

impl MountError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Denied { .. } => "mount_denied",
            Self::Missing { .. } => "mount_missing",
            Self::Refused { .. } => "mount_refused",
            Self::TooLarge { .. } => "mount_too_large",
            Self::Unavailable { .. } => "mount_unavailable",
        }
    }
}

/// An external resource, attached by a host. Methods block; each works on one node.
///
/// A provider checks for itself that nothing outside the resource is reached, whatever the path, and
/// at every call: what was safe a moment ago may have been replaced.
pub trait MountProvider: Send + Sync {
    /// What is committed of it. Asked once, when it is attached.
    fn descriptor(&self) -> MountDescriptor;

    /// Sorted names of the children, at most `limit`.
    ///
    /// # Errors
    /// [`MountError::TooLarge`] if there are more than `limit`, and the others.
    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError>;

    /// The value at `path`, if there is one, of at most `max_bytes` octets.
    ///
    /// # Errors
    /// [`MountError::TooLarge`], and the others.
    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError>;

    /// Facts about `path`; none where nothing is.
    ///
    /// # Errors
    /// The resource cannot be reached, or refuses the path.
    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError>;

    /// Whether [`write`](Self::write) of this value, or [`remove`](Self::remove) for none, would be
    /// refused, as far as it can be told without doing it. Asked when a script makes the edit, so
    /// that it learns of it while nothing is committed yet. By default it is not known.
    ///
    /// # Errors
    /// Those of [`write`](Self::write) and [`remove`](Self::remove).
    fn check(&self, path: &MountPath, value: Option<&Value>) -> Result<(), MountError> {
        let _ = (path, value);
        Ok(())
    }

    /// Sets the value at `path`. Called at the commit point of an activation, in order.
    ///
    /// # Errors
    /// [`MountError::Denied`] unless writing was granted, and the others.
    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError>;

    /// Removes what is at `path`. Called at the commit point of an activation, in order.
    ///
    /// # Errors
    /// [`MountError::Denied`] unless writing was granted, and the others.
    fn remove(&self, path: &MountPath) -> Result<(), MountError>;
}

/// So that a host can keep hold of what it attaches.
impl<P: MountProvider + ?Sized> MountProvider for Arc<P> {
    fn descriptor(&self) -> MountDescriptor {
        (**self).descriptor()
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        (**self).list(path, limit)
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        (**self).read(path, max_bytes)
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        (**self).stat(path)
    }

    fn check(&self, path: &MountPath, value: Option<&Value>) -> Result<(), MountError> {
        (**self).check(path, value)
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        (**self).write(path, value)
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        (**self).remove(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_a_mount_are_split() {
        let split = |text: &str| {
            MountPath::split(&Path::parse(text).unwrap())
                .map(|(name, inside)| (name.to_string(), inside.to_string()))
        };
        assert_eq!(split("/mounts"), None);
        assert_eq!(split("/memory/mounts/x"), None);
        assert_eq!(split("/mounts/a"), Some(("a".into(), "/".into())));
        assert_eq!(split("/mounts/a/b~1c"), Some(("a".into(), "/b~1c".into())));
    }

    #[test]
    fn a_descriptor_is_read_back_exactly_or_not_at_all() {
        let descriptor = MountDescriptor {
            kind: "folder".into(),
            source: "the current folder".into(),
            locality: Locality::Local,
            grant: Grant::ReadWrite,
        };
        let value = descriptor.to_value();
        assert_eq!(MountDescriptor::from_value(&value), Some(descriptor));
        let mut map = value.as_map().unwrap().clone();
        map.insert("access", "everything").unwrap();
        assert_eq!(MountDescriptor::from_value(&map.clone().into()), None);
        map.insert("access", "read").unwrap();
        map.insert("more", 1).unwrap();
        assert_eq!(MountDescriptor::from_value(&map.into()), None);
        assert_eq!(MountDescriptor::from_value(&Value::Null), None);
    }
}
