//! `TursoProcessStore`: the handle that callers hold.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use async_channel::{Sender, TrySendError};
use svit_tree::Address;
use svit_txn::{
    Base, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery, ForkRef,
    Head, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult, StoredRecord,
    ThreadEvent,
};
use svit_value::Digest;

use crate::apply::Written;
use crate::fault::{Fault, unavailable};
use crate::mark::beside;
use crate::options::{OpenOptions, WhenFull};
use crate::owner::{self, Command, Opened};
use crate::prepared::{self, Write};
use crate::read::{Page, Reading};
use crate::seat::Seat;
use crate::session::Session;
use crate::stats::Stats;

/// A store of processes in one libSQL file.
///
/// A handle is cheap to clone; all clones speak to the one thread that owns the file. The file is
/// closed when [`close`](Self::close) was called or the last handle is gone.
///
/// # Guarantees
/// - What was acknowledged survives a crash of the program and, by default, of the machine.
/// - What is returned is what was stored. Damage is [`StoreError::Corrupt`], never an absent value
///   or an older state.
/// - One program at a time: a second one gets [`StoreError::InUse`].
///
/// # Files
/// Beside `svit.db` lie `svit.db-wal` while it is open, which belongs to it and must travel with
/// it, and `svit.db-lock`, which says who owns it and how far it had come.
///
/// ```
/// use svit_store_turso::TursoProcessStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("svit.db");
/// let store = TursoProcessStore::open(&path).await?;
/// assert!(store.list().await?.is_empty());
/// let second = TursoProcessStore::open(&path).await;
/// assert_eq!(second.unwrap_err().code(), "in_use");
/// store.close().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TursoProcessStore {
    shared: Arc<Shared>,
}

struct Shared {
    commands: Sender<Command>,
    seat: Arc<Seat>,
    path: PathBuf,
    when_full: WhenFull,
}

impl fmt::Debug for TursoProcessStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TursoProcessStore")
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}

impl TursoProcessStore {
    /// Opens the store at `path`, or creates it. The folder must exist. O(1).
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::NewerFormat`], [`StoreError::InUse`],
    /// [`StoreError::Corrupt`] if the database is damaged or behind its mark, and
    /// [`StoreError::Unavailable`] if the system refuses the file.
    pub async fn open(path: impl AsRef<Path>) -> StoreResult<TursoProcessStore> {
        Self::open_with(path, OpenOptions::new()).await
    }

    /// Opens the store with [`OpenOptions`].
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(
        path: impl AsRef<Path>,
        options: OpenOptions,
    ) -> StoreResult<TursoProcessStore> {
        let path = path.as_ref().to_owned();
        let (commands, queue) = async_channel::bounded(options.queue);
        let (answer, opened) = async_channel::bounded(1);
        let when_full = options.when_full;
        let weak = commands.downgrade();
        let thread_path = path.clone();
        std::thread::Builder::new()
            .name("svit-store".to_owned())
            .spawn(move || owner::run(&thread_path, &options, &queue, weak, &answer))
            .map_err(|error| unavailable(format!("no thread for the store: {error}")))?;
        let Opened { path, seat } = match opened.recv().await {
            Ok(opened) => opened?,
            Err(_) => return Err(unavailable(format!("opening {} failed", path.display()))),
        };
        Ok(TursoProcessStore {
            shared: Arc::new(Shared {
                commands,
                seat,
                path,
                when_full,
            }),
        })
    }

    /// The file, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Finishes what is waiting, closes the file and gives up its ownership. Every later call,
    /// on any clone, is [`StoreError::Unavailable`].
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it is closed already.
    pub async fn close(&self) -> StoreResult<()> {
        let (answer, closed) = async_channel::bounded(1);
        self.send(Command::Close(answer)).await?;
        match closed.recv().await {
            Ok(result) => result,
            Err(_) => Err(owner::gone(&self.shared.path)),
        }
    }

    /// Figures about the store, which are an event of `tracing`, too. O(1).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn stats(&self) -> StoreResult<Stats> {
        let waiting = self.shared.commands.len() as u64;
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let stats = self.session(move |session| {
            let (meta, counters) = (session.meta(), session.counters);
            Ok(Stats {
                processes: meta.heads.rows,
                blocks: meta.blocks.rows,
                checkpoints: meta.checkpoints.rows,
                unfinished_checkpoints: session.unfinished(),
                forks: meta.forks.rows,
                batches_ever: meta.batch,
                database_bytes: size(session.path()),
                wal_bytes: size(&beside(session.path(), "-wal")),
                batches: counters.batches,
                commits: counters.commits,
                largest_batch: counters.largest_batch,
                batch_sizes: counters.batch_sizes,
                sync_micros: counters.sync_micros,
                sync_total: counters.sync_total,
                sync_longest: counters.sync_longest,
                collected_blocks: counters.collected_blocks,
                collected_bytes: counters.collected_bytes,
                waiting,
            })
        });
        let stats = stats.await?;
        tracing::info!(
            processes = stats.processes,
            blocks = stats.blocks,
            checkpoints = stats.checkpoints,
            forks = stats.forks,
            database_bytes = stats.database_bytes,
            wal_bytes = stats.wal_bytes,
            batches = stats.batches,
            commits = stats.commits,
            batch_size_p50 = stats.batch_sizes.below(0.5),
            sync_us_p50 = stats.sync_micros.below(0.5),
            sync_us_p99 = stats.sync_micros.below(0.99),
            collected_bytes = stats.collected_bytes,
            waiting = stats.waiting,
            "store stats"
        );
        Ok(stats)
    }

    async fn send(&self, command: Command) -> StoreResult<()> {
        let commands = &self.shared.commands;
        match self.shared.when_full {
            WhenFull::Wait => commands
                .send(command)
                .await
                .map_err(|_| owner::gone(&self.shared.path)),
            WhenFull::Refuse => commands.try_send(command).map_err(|error| match error {
                TrySendError::Full(_) => unavailable(format!(
                    "busy: {} commands are waiting already",
                    commands.len()
                )),
                TrySendError::Closed(_) => owner::gone(&self.shared.path),
            }),
        }
    }

    /// Runs `ask` on the owner thread.
    pub(crate) async fn session<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Session) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (answer, answered) = async_channel::bounded(1);
        let read = Command::Read(Box::new(move |session| {
            let _ = answer.try_send(ask(session));
        }));
        self.send(read).await?;
        match answered.recv().await {
            Ok(result) => result,
            Err(_) => Err(owner::gone(&self.shared.path)),
        }
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Reading<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> StoreResult<T> {
        self.session(move |session| session.read(read)).await
    }

    async fn write(&self, write: Write) -> StoreResult<Written> {
        let (answer, answered) = async_channel::bounded(1);
        self.send(Command::Write(write, answer)).await?;
        match answered.recv().await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Unknown {
                why: format!("the thread that owns {} ended", self.shared.path.display()),
            }),
        }
    }
}

impl TursoProcessStore {
    /// The connection, if nothing waits for it: the caller may use it on its own thread.
    fn seat(&self) -> Option<MutexGuard<'_, Option<Session>>> {
        if !self.shared.commands.is_empty() {
            return None;
        }
        self.shared.seat.try_take()
    }
}

/// The most blocks that one piece of a collection looks at.
const MAX_STEPS: u64 = 4096;

impl TursoProcessStore {
    /// Removes in pieces what a cut, a trim or a deletion has left. That those rows are gone is already
    /// true for every reader, so what fails here is only said in the log; the next collection goes on.
    async fn purge(&self, address: &Address) {
        if let Err(error) = self.purge_all(address).await {
            tracing::warn!(%error, "rows of forgotten history were left");
        }
    }

    async fn purge_all(&self, address: &Address) -> StoreResult<()> {
        loop {
            let address = address.clone();
            match self.write(Write::Purge { address }).await? {
                Written::More(true) => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Reads page after page until `limit` items are there or nothing more comes. Between two pages
/// other commands have their turn.
async fn pages<T, F: Future<Output = StoreResult<Page<T>>>>(
    limit: usize,
    mut page: impl FnMut(&[T], usize) -> F,
) -> StoreResult<Vec<T>> {
    let mut items = Vec::new();
    loop {
        let next = page(&items, limit - items.len()).await?;
        items.extend(next.items);
        if !next.more || items.len() >= limit {
            return Ok(items);
        }
    }
}

impl ProcessStore for TursoProcessStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move {
            let start = Arc::new(prepared::start(base, blocks, batch)?);
            loop {
                match self.write(Write::Start(start.clone())).await? {
                    Written::Epoch(epoch) => return Ok(epoch),
                    // Of a process that is gone there are rows under the address.
                    Written::More(_) => self.purge_all(&start.base.base.address).await?,
                    _ => return Err(mismatched()),
                }
            }
        })
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move { self.read(move |reading| reading.load(&address)).await })
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move {
            match self.write(Write::Claim { address }).await? {
                Written::Head(head) => Ok(*head),
                _ => Err(mismatched()),
            }
        })
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            let rows = prepared::rows(&address, batch)?;
            let append = Write::Append {
                address,
                expected,
                epoch,
                rows,
            };
            self.write(append).await.map(drop)
        })
    }

    fn append_in_place(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: &Batch,
    ) -> Option<StoreResult<()>> {
        let mut seat = self.seat()?;
        let session = seat.as_mut()?;
        let append = prepared::rows(address, batch.clone()).map(|rows| Write::Append {
            address: address.clone(),
            expected,
            epoch,
            rows,
        });
        let written = append.and_then(|append| {
            let mut written = session.commit(std::slice::from_ref(&append));
            written.pop().unwrap_or_else(|| Err(mismatched()))
        });
        Some(written.map(drop))
    }

    fn can_append_in_place(&self) -> bool {
        self.seat().is_some_and(|seat| seat.is_some())
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let address = address.clone();
        Box::pin(async move {
            pages(query.limit, |so_far: &[StoredRecord], limit| {
                let from = so_far.last().map_or(query.from, |last| last.version + 1);
                let address = address.clone();
                self.read(move |reading| {
                    let page = RecordQuery {
                        from,
                        limit,
                        ..query
                    };
                    reading.records(&address, page)
                })
            })
            .await
        })
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        let address = address.clone();
        Box::pin(async move {
            pages(query.limit, |so_far: &[ThreadEvent], limit| {
                // There is more only behind an event that is not the last, so this cannot pass 0.
                let from = so_far
                    .last()
                    .map_or(query.from, |last| match query.newest_first {
                        true => last.seq.saturating_sub(1),
                        false => last.seq + 1,
                    });
                let address = address.clone();
                self.read(move |reading| {
                    let page = EventQuery {
                        from,
                        limit,
                        ..query
                    };
                    reading.events(&address, page)
                })
            })
            .await
        })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let (address, key) = (address.clone(), key.clone());
        Box::pin(async move {
            self.read(move |reading| reading.receipt(&address, &key))
                .await
        })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        let wanted: Arc<[Digest]> = digests.into();
        Box::pin(async move {
            pages(wanted.len(), |so_far: &[Option<Vec<u8>>], _| {
                let (wanted, from) = (wanted.clone(), so_far.len());
                self.read(move |reading| reading.blocks(wanted.get(from..).unwrap_or_default()))
            })
            .await
        })
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            prepared::check_blocks(&address, &part.blocks)?;
            let part = Box::new(part);
            self.write(Write::Part { address, part }).await.map(drop)
        })
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        let address = address.clone();
        Box::pin(self.read(move |reading| reading.checkpoints(&address, at_or_before, limit)))
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            let cut = Write::Cut {
                address: address.clone(),
                epoch,
                base: Box::new(prepared::new_base(base)?),
            };
            self.write(cut).await?;
            self.purge(&address).await;
            Ok(())
        })
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        let address = address.clone();
        Box::pin(self.read(move |reading| reading.forks(&address, below, limit)))
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            let trim = Write::Trim {
                address: address.clone(),
                epoch,
                before,
            };
            self.write(trim).await?;
            self.purge(&address).await;
            Ok(())
        })
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            loop {
                let address = address.clone();
                match self.write(Write::Delete { address, epoch }).await? {
                    Written::More(_) => {}
                    _ => break,
                }
            }
            self.purge(&address).await;
            Ok(())
        })
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        let steps = steps.clamp(1, MAX_STEPS);
        Box::pin(async move {
            if !self.session(move |session| session.mark(steps)).await? {
                return Ok(Collected::default());
            }
            match self.write(Write::Sweep { steps }).await? {
                Written::Swept(collected) => Ok(collected),
                _ => Err(mismatched()),
            }
        })
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let after = after.cloned();
        Box::pin(async move {
            pages(limit, |so_far: &[Address], limit| {
                let after = so_far.last().or(after.as_ref()).cloned();
                self.read(move |reading| reading.addresses(after.as_ref(), limit))
            })
            .await
        })
    }
}

/// An answer of another command: a defect of this crate.
fn mismatched() -> StoreError {
    StoreError::Unknown {
        why: "the owner thread answered another question".to_owned(),
    }
}
