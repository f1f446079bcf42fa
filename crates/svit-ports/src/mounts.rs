//! Mounts that come with svit: a value, and a folder of this machine.

#[cfg(unix)]
mod folder;
mod value;

#[cfg(unix)]
pub use folder::FolderMount;
pub use value::ValueMount;
