//! An open instance: its store, and the process in it.

use std::path::PathBuf;

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

    /// Closes it, with everything on disk.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        drop(self.process);
        Ok(self.store.close().await?)
    }
}
