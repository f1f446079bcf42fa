//! Mounts of a process: what is attached, and how paths below `/mounts` are read.
//!
//! Only descriptors are committed. A path below `/mounts/<name>` is looked up in the provider that is
//! attached there, one node at a time, under what the activation itself has written and nobody has
//! committed yet.

mod buffer;
mod owed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use svit_tree::mount::{Grant, MountDescriptor, MountError, MountPath, MountProvider, MountStat};
use svit_tree::{Caller, Listing, MAX_PAGE, Node, Path, Stat, Tree};
use svit_value::{Text, Value};

use crate::{Error, LimitKind, Limits};

pub(crate) use buffer::MountWrite;
use buffer::Overlay;
pub(crate) use owed::Owed;
pub use owed::{MountOutcome, MountWritten};

/// A provider, and what is committed of it.
#[derive(Clone)]
pub(crate) struct Mount {
    provider: Arc<dyn MountProvider>,
    descriptor: MountDescriptor,
    /// `/mounts/<name>`.
    place: Path,
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount")
            .field("place", &self.place)
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

impl Mount {
    /// Takes a provider for the mount `name`.
    pub(crate) fn new(name: &str, provider: Arc<dyn MountProvider>) -> Result<Self, Error> {
        let place = Path::root().join(Node::Mounts.name())?.join(name)?;
        let descriptor = catch_unwind(AssertUnwindSafe(|| provider.descriptor()));
        let descriptor = descriptor.map_err(|_| Error::Mount {
            mount: place.clone(),
            failure: failed_inside(&MountPath::root()),
        })?;
        Ok(Self {
            provider,
            descriptor,
            place,
        })
    }

    pub(crate) const fn descriptor(&self) -> &MountDescriptor {
        &self.descriptor
    }

    pub(crate) const fn place(&self) -> &Path {
        &self.place
    }

    /// Calls the provider, whose panic is the failure of this call and nothing else.
    fn call<T>(
        &self,
        path: &MountPath,
        call: impl FnOnce(&dyn MountProvider) -> Result<T, MountError>,
    ) -> Result<T, MountError> {
        catch_unwind(AssertUnwindSafe(|| call(&*self.provider)))
            .unwrap_or_else(|_| Err(failed_inside(path)))
    }

    fn failed(&self, failure: MountError) -> Error {
        Error::Mount {
            mount: self.place.clone(),
            failure,
        }
    }

    fn list(&self, path: &MountPath, limits: &Limits) -> Result<Vec<Text>, Error> {
        let allowed = limits.max_mount_entries;
        let most = usize::try_from(allowed).unwrap_or(usize::MAX);
        let names = self
            .call(path, |provider| provider.list(path, most))
            .map_err(|failure| match failure {
                MountError::TooLarge { actual, .. } => limits
                    .exceeded(LimitKind::MountEntries, actual, Some(&self.path(path)))
                    .map_or_else(|| self.failed(failure), Error::Limit),
                failure => self.failed(failure),
            })?;
        self.check_entries(path, names.len(), limits)?;
        Ok(names)
    }

    fn check_entries(&self, path: &MountPath, len: usize, limits: &Limits) -> Result<(), Error> {
        let exceeded = limits.exceeded(LimitKind::MountEntries, len as u64, Some(&self.path(path)));
        exceeded.map_or(Ok(()), |e| Err(Error::Limit(e)))
    }

    fn read(&self, path: &MountPath, limits: &Limits) -> Result<Option<Value>, Error> {
        self.call(path, |provider| provider.read(path, limits.max_text_bytes))
            .map_err(|failure| self.failed(failure))
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, Error> {
        self.call(path, |provider| provider.stat(path))
            .map_err(|failure| self.failed(failure))
    }

    /// Makes a write for good.
    fn apply(&self, path: &MountPath, value: Option<&Value>) -> Result<(), MountError> {
        self.call(path, |provider| match value {
            Some(value) => provider.write(path, value),
            None => provider.remove(path),
        })
    }

    /// A path of the process.
    fn path(&self, inside: &MountPath) -> Path {
        let joined = inside
            .segments()
            .try_fold(self.place.clone(), |path, segment| path.join(segment));
        // It was split from a path of the process, so that it fits into one again.
        joined.unwrap_or_else(|_| self.place.clone())
    }
}

fn failed_inside(path: &MountPath) -> MountError {
    MountError::Unavailable {
        path: path.clone(),
        why: "the mount failed inside".to_owned(),
    }
}

/// What is attached, by name. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts(Arc<BTreeMap<Text, Mount>>);

impl Mounts {
    pub(crate) fn attach(&mut self, name: &str, mount: Mount) {
        Arc::make_mut(&mut self.0).insert(Text::from(name), mount);
    }

    pub(crate) fn detach(&mut self, name: &str) {
        Arc::make_mut(&mut self.0).remove(name);
    }
}

/// Where a path leads.
enum Place<'a> {
    /// To a value of the process.
    Tree,
    /// Below `/mounts`, where no mount is.
    Nowhere,
    /// Into a mount that is described and not attached.
    Detached(MountDescriptor, MountPath),
    /// Into a mount.
    Mount(&'a Mount, MountPath),
}

/// A tree with what is mounted in it, and with writes to it that are not made yet.
pub(crate) struct View<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) mounts: &'a Mounts,
    pub(crate) limits: &'a Limits,
    pub(crate) writes: &'a [MountWrite],
}

/// Whether a path leads into a mount, attached or not.
pub(crate) fn is_mounted(path: &Path) -> bool {
    path.len() >= 2 && Node::of(path) == Some(Node::Mounts)
}

impl<'a> View<'a> {
    fn place(&self, path: &Path) -> Place<'a> {
        let Some((name, inside)) = MountPath::split(path) else {
            return Place::Tree;
        };
        let Some(described) = self.tree.node(Node::Mounts).get(&name) else {
            return Place::Nowhere;
        };
        match (
            self.mounts.0.get(&name),
            MountDescriptor::from_value(described),
        ) {
            // THREAT[TM-MOUNT-3]: authority is over what is described, and over nothing else under the
            // same name.
            (Some(mount), Some(descriptor)) if mount.descriptor == descriptor => {
                Place::Mount(mount, inside)
            }
            (_, Some(descriptor)) => Place::Detached(descriptor, inside),
            (_, None) => Place::Nowhere,
        }
    }

    /// The value at `path`, if there is one.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<Value>, Error> {
        match self.place(path) {
            Place::Tree => Ok(self.tree.get(path).cloned()),
            Place::Nowhere => Ok(None),
            Place::Detached(..) => Err(Error::NotAttached { path: path.clone() }),
            Place::Mount(mount, inside) => {
                let overlay = Overlay::of(self.writes, mount, &inside, self.limits)?;
                let value = overlay.read(mount, &inside, self.limits)?;
                if let Some(value) = &value {
                    self.limits.check_value(value, Some(path))?;
                }
                Ok(value)
            }
        }
    }

    /// The sorted names of the children of `path`.
    pub(crate) fn discover(&self, path: &Path) -> Result<Vec<Text>, Error> {
        match self.place(path) {
            Place::Tree => Ok(self.tree.children(path)),
            Place::Nowhere => Ok(Vec::new()),
            Place::Detached(..) => Err(Error::NotAttached { path: path.clone() }),
            Place::Mount(mount, inside) => {
                let overlay = Overlay::of(self.writes, mount, &inside, self.limits)?;
                overlay.list(mount, &inside, self.limits)
            }
        }
    }

    /// One page of the names of the children of `path`.
    pub(crate) fn discover_page(
        &self,
        path: &Path,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Listing, Error> {
        if !is_mounted(path) {
            return Ok(self.tree.discover(path, after, limit));
        }
        let mut names = self.discover(path)?;
        // Names of a mount are in bytewise order, those of a list in it by number.
        if let Some(after) = after {
            match names.iter().position(|name| name.as_str() == after) {
                Some(place) => drop(names.drain(..=place)),
                None => names.retain(|name| name.as_str() > after),
            }
        }
        let page = limit.clamp(1, MAX_PAGE);
        let more = names.len() > page;
        names.truncate(page);
        Ok(Listing {
            next: names.last().filter(|_| more).cloned(),
            names,
        })
    }

    /// Facts about `path`; none where nothing is. A mount that is not attached says so.
    pub(crate) fn stat(&self, path: &Path, caller: Caller) -> Result<Option<Stat>, Error> {
        match self.place(path) {
            Place::Tree => Ok(Stat::of(self.tree, path, caller)),
            Place::Nowhere => Ok(None),
            Place::Detached(descriptor, inside) if inside.is_root() => {
                Ok(Some(Stat::of_detached(&descriptor)))
            }
            Place::Detached(..) => Err(Error::NotAttached { path: path.clone() }),
            Place::Mount(mount, inside) => {
                let overlay = Overlay::of(self.writes, mount, &inside, self.limits)?;
                let node = overlay.stat(mount, &inside)?;
                Ok(node.map(|node| Stat::of_mount(&mount.descriptor, &node)))
            }
        }
    }

    /// The write of `value`, or the removal for none, at a path below a mount: granted, within the
    /// limits, and not refused by the provider as far as that can be told.
    pub(crate) fn write(&self, path: &Path, value: Option<Value>) -> Result<MountWrite, Error> {
        let Place::Mount(mount, inside) = self.place(path) else {
            return Err(Error::NotAttached { path: path.clone() });
        };
        if mount.descriptor.grant != Grant::ReadWrite {
            return Err(mount.failed(MountError::Denied { path: inside }));
        }
        if let Some(value) = &value {
            self.limits.check_value(value, Some(path))?;
        }
        mount
            .call(&inside, |provider| provider.check(&inside, value.as_ref()))
            .map_err(|failure| mount.failed(failure))?;
        let writes = self.writes.len() as u64 + 1;
        self.limits.check(LimitKind::MountWrites, writes)?;
        Ok(MountWrite {
            path: path.clone(),
            mount: mount.clone(),
            inside,
            value,
        })
    }

    /// The removal of what is at a path below a mount; none if nothing is.
    pub(crate) fn remove(&self, path: &Path) -> Result<Option<MountWrite>, Error> {
        if let Place::Detached(..) = self.place(path) {
            return Err(Error::NotAttached { path: path.clone() });
        }
        match self.stat(path, Caller::Host)? {
            Some(_) => Ok(Some(self.write(path, None)?)),
            None => Ok(None),
        }
    }
}
