//! An open instance: its store, and the process in it.

use std::path::{Path, PathBuf};

use svit::{DurableProcess, Process, ProcessError, StoreError, TursoProcessStore};

use crate::failure::Failure;
use crate::folder::{self, InstanceName};

/// An open instance. While it is open, no other program can use it.
pub(crate) struct Instance {
    store: TursoProcessStore,
    pub(crate) process: DurableProcess,
}

impl Instance {
    /// Opens an instance, or makes it.
    pub(crate) async fn open(
        data_dir: Option<PathBuf>,
        name: &InstanceName,
    ) -> Result<Self, Failure> {
        let store = TursoProcessStore::open(folder::database(data_dir, name)?).await?;
        let process = match store.resume(name.address()).await {
            Err(ProcessError::Store(StoreError::NotFound { .. })) => {
                store
                    .create(Process::builder(name.address())?.build()?)
                    .await?
            }
            other => other?,
        };
        Ok(Self { store, process })
    }

    /// Reads a snapshot, which must be one of this instance: a process keeps its address.
    pub(crate) fn snapshot(file: &Path, name: &InstanceName) -> Result<Process, Failure> {
        let bytes = std::fs::read(file).map_err(|source| Failure::File {
            what: "read",
            file: file.to_owned(),
            source,
        })?;
        let process = match std::str::from_utf8(&bytes) {
            Ok(text) if text.starts_with('{') => Process::import_json(text)?,
            _ => Process::restore(&bytes)?,
        };
        if process.address().as_str() != name.address() {
            return Err(Failure::OtherAddress {
                address: process.address().to_string(),
                instance: name.address(),
            });
        }
        Ok(process)
    }

    /// Makes an instance of a process.
    pub(crate) async fn import(
        data_dir: Option<PathBuf>,
        name: &InstanceName,
        process: Process,
    ) -> Result<Self, Failure> {
        let store = TursoProcessStore::open(folder::database(data_dir, name)?).await?;
        let process = store.create(process).await?;
        Ok(Self { store, process })
    }

    /// Closes it, with everything on disk.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        drop(self.process);
        Ok(self.store.close().await?)
    }
}
