//! Children that are worked with by their parent's leave: found again, and kept account of.

use svit_tree::{Address, Change, IntoAddress};
use svit_value::{Bytes, Text, Value};

use super::{DurableProcess, HistoryQuery, Operation};
use crate::Error;
use crate::base::BaseKind;
use crate::hooks::Attachments;
use crate::store::StoreError;

impl DurableProcess {
    /// The child of this process that has this address: a [`fork`](Self::fork) of the newest version,
    /// or, if one was made before, that one, taken over from whoever works on it. So it can be called
    /// again where it is not known how far an earlier call came.
    ///
    /// Unlike another fork, it has this process's hooks: they are asked before its activations, by the
    /// child's address, and told of nothing that it commits.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] if the address is that of another process than a child of this
    /// one, or of a child of a version that was cut; else as [`fork`](Self::fork) and [`resume`](Self::resume).
    ///
    /// ```
    /// # futures_lite::future::block_on(async {
    /// use svit_txn::{MemoryStore, Process};
    ///
    /// let parent = Process::builder("svit://local/shop")?.memory("count", 6).build()?;
    /// let parent = MemoryStore::new().create(parent).await?;
    /// let child = parent.child("svit://local/shop/one").await?;
    /// child.write("/memory/count", 7).await?;
    /// drop(child);
    ///
    /// let again = parent.child("svit://local/shop/one").await?;
    /// assert_eq!(again.read("/memory/count")?, Some(7.into()));
    /// # Ok::<(), svit_txn::Error>(()) }).unwrap();
    /// ```
    pub async fn child(&self, address: impl IntoAddress) -> Result<Self, Error> {
        let address = address.into_address()?;
        let hooks = self.inner.news.hooks().asked_only();
        match self.fork_with(address.clone(), hooks.clone()).await {
            Err(Error::Store(StoreError::AlreadyExists { .. })) => {}
            made => return made,
        }
        // Looked at before it is claimed: its owner may be somebody to whom this one is nobody.
        let head = self.inner.store.load(&address).await?;
        if !may_be_of(&head.base.kind, self.address()) {
            return Err(StoreError::AlreadyExists { address }.into());
        }
        let guests = self.inner.guests.clone();
        let attached = Attachments { guests, hooks };
        let child = Self::resume_with(self.inner.store.clone(), address.clone(), attached).await?;
        match self.began(&child).await? {
            true => Ok(child),
            false => Err(StoreError::AlreadyExists { address }.into()),
        }
    }

    /// Whether a process began as a fork of this one: of a version that is kept, with the root that it
    /// had. One of the same address that was deleted had another history.
    // THREAT[TM-TXN-7]
    async fn began(&self, child: &Self) -> Result<bool, Error> {
        let lineage = child.read("/system/lineage")?.unwrap_or_default();
        let parent = lineage.get("parent").and_then(Value::as_str);
        let version = lineage.get("version").and_then(Value::as_int);
        let (Some(parent), Some(version)) = (parent, version) else {
            return Ok(false);
        };
        if parent != self.address().as_str() {
            return Ok(false);
        }
        let version = version.unsigned_abs();
        let base = self.base();
        let root = if version == base.version {
            Some(base.root)
        } else {
            let query = HistoryQuery {
                from: version,
                to: version,
                limit: 1,
                path: None,
            };
            let entries = self.history(query).await?;
            entries.first().map(|entry| entry.transaction.root)
        };
        let root = root.map(|root| Value::from(Bytes::from(&root.as_bytes()[..])));
        Ok(root.as_ref() == lineage.get("root"))
    }

    /// Says something about a child, at `/children/<name>`, as one durable transition. Never waits
    /// for a script.
    ///
    /// # Errors
    /// The name is no segment of a path; the entry is past the limits; those of the store.
    pub async fn record_child(
        &self,
        name: impl Into<Text>,
        entry: impl Into<Value>,
    ) -> Result<Change, Error> {
        let (name, entry) = (name.into(), entry.into());
        self.change(Operation::RecordChild { name, entry }).await
    }

    /// Takes what is said about a child out of `/children`, as one durable transition. The child
    /// itself stays in the store.
    ///
    /// # Errors
    /// Nothing is said about one of this name; those of the store.
    pub async fn forget_child(&self, name: impl Into<Text>) -> Result<Change, Error> {
        self.change(Operation::ForgetChild { name: name.into() })
            .await
    }
}

/// Whether a history that starts so may be that of a child of `parent`: once it was cut, only its tree
/// says.
fn may_be_of(kind: &BaseKind, parent: &Address) -> bool {
    match kind {
        BaseKind::Created => false,
        BaseKind::Forked { parent: own, .. } => own == parent,
        BaseKind::Checkpoint { .. } => true,
    }
}
