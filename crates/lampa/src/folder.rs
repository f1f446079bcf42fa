//! Where instances are kept: one folder for each, below the data folder.

use std::env;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The name of an instance: also the name of its folder and the last segment of its address, hence
/// lower-case, so that no file system takes two for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstanceName(String);

impl InstanceName {
    /// 1 to 64 of `a-z 0-9 - _`.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let allowed = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
        };
        if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
            return Ok(Self(name.to_owned()));
        }
        Err(Failure::BadInstance {
            name: name.chars().take(80).collect(),
        })
    }

    /// The address of its process.
    pub(crate) fn address(&self) -> String {
        format!("svit://local/{}", self.0)
    }
}

/// The database of an instance; its folder is made if it is not there.
pub(crate) fn database(
    data_dir: Option<PathBuf>,
    instance: &InstanceName,
) -> Result<PathBuf, Failure> {
    let folder = data_dir
        .or_else(data_folder)
        .ok_or(Failure::NoFolder)?
        .join(&instance.0);
    make(&folder).map_err(|source| Failure::Folder {
        folder: folder.clone(),
        source,
    })?;
    Ok(folder.join("svit.db"))
}

/// Makes a folder, and those above it, for the user alone.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn data_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("LAMPA_DATA_DIR").or_else(|| platform_folder(set).map(|folder| folder.join("lampa")))
}

/// Where programs keep a user's data, by the rules of the platform.
fn platform_folder(set: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if cfg!(windows) {
        return set("LOCALAPPDATA");
    }
    if cfg!(target_os = "macos") {
        return set("HOME").map(|home| home.join("Library/Application Support"));
    }
    // XDG: a relative path is to be ignored.
    set("XDG_DATA_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
}

#[cfg(test)]
mod tests;
