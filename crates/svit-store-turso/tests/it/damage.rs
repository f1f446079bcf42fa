//! Flipped bytes, lost logs, files of another time: what is read is what was stored, or an error
//! that names the damage.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{BoxFuture, ForkRef, ProcessStore, StoreError};

use crate::common::{Model, Place, code, crashed_copy, open, place};
use crate::grown::{Grown, blocks, collect};

/// Two processes with a little of everything.
async fn small_store() -> (Place, TursoProcessStore, Vec<Model>) {
    let place = place();
    // Four of the six records are filed.
    let options = OpenOptions::new().recent_records(4);
    let store = TursoProcessStore::open_with(&place.path, options).await;
    let store = store.unwrap();
    let mut models = Vec::new();
    for name in ["one", "two"] {
        let mut model = Model::create(name, &store).await;
        for size in [10, 2000, 30] {
            model.commit(&store, size).await.unwrap();
        }
        models.push(model);
    }
    (place, store, models)
}

/// Opens and reads everything. Either all of it is right, or this is a typed error.
async fn read_all(path: &std::path::Path, models: &[Model]) -> Result<(), StoreError> {
    let store = TursoProcessStore::open(path).await?;
    let result = read_open(&store, models).await;
    store.close().await?;
    result
}

/// A process that was cut, with checkpoints, a fork that has one of its own, and one that has none.
async fn grown_store() -> (Place, TursoProcessStore, Vec<Grown>) {
    let place = place();
    let store = open(&place.path).await;
    let mut one = Grown::create("one", 30, &store).await;
    for key in 0..3 {
        one.set(key, &store).await.unwrap();
    }
    one.checkpoint(&store).await.unwrap();
    one.cut(one.model.version, &store).await.unwrap();
    one.set(7, &store).await.unwrap();
    one.checkpoint(&store).await.unwrap();
    let at = one.model.version;
    let mut whole = one.fork("whole", at, &store).await.unwrap();
    for part in whole.parts(at, Some((&one, at)), 9) {
        store
            .put_checkpoint(whole.model.address(), part)
            .await
            .unwrap();
    }
    whole.whole.insert(at);
    let mut bare = one.fork("bare", at, &store).await.unwrap();
    bare.set(1, &store).await.unwrap();
    assert!(collect(&store, 100).await > 0);
    (place, store, vec![bare, one, whole])
}

/// The same of all that has blocks, and of what depends on what.
async fn read_grown(path: &std::path::Path, grown: &[Grown]) -> Result<(), StoreError> {
    let store = TursoProcessStore::open(path).await?;
    let result = read_grown_open(&store, grown).await;
    store.close().await?;
    result
}

async fn read_grown_open(store: &TursoProcessStore, grown: &[Grown]) -> Result<(), StoreError> {
    let [bare, one, _] = grown else {
        panic!("three processes");
    };
    for grown in grown {
        grown.model.check(store).await?;
        grown.check_blocks(store).await?;
    }
    let forks = store.forks(one.model.address(), u64::MAX, 9).await?;
    let wanted = ForkRef {
        child: bare.model.address().clone(),
        version: bare.model.base.version,
    };
    assert_eq!(forks, [wanted]);
    // Nothing is garbage, so nothing may go.
    loop {
        let piece = store.collect(64).await?;
        assert_eq!(piece.blocks, 0);
        if piece.done {
            break;
        }
    }
    for grown in grown {
        grown.check_blocks(store).await?;
    }
    // And a delete is refused, or says that the damage keeps it from knowing.
    let refused = store
        .delete(one.model.address(), one.model.epoch)
        .await
        .unwrap_err();
    match refused {
        StoreError::Forked { .. } => Ok(()),
        other => Err(other),
    }
}

async fn read_open(store: &TursoProcessStore, models: &[Model]) -> Result<(), StoreError> {
    let wanted: Vec<_> = models.iter().map(|model| model.address().clone()).collect();
    assert_eq!(store.addresses(None, 9).await?, wanted);
    for model in models {
        model.check(store).await?;
        let unknown = model.receipt("client", 999).key;
        assert_eq!(store.receipt(model.address(), &unknown).await?, None);
    }
    Ok(())
}

/// Every how many bytes one is tried: as SVIT_FLIP_ALL says, which is 1 for all, else a sample.
fn stride(len: usize) -> usize {
    let asked = std::env::var("SVIT_FLIP_ALL");
    match asked.ok().and_then(|stride| stride.parse().ok()) {
        Some(stride) => stride,
        None => (len / 150).max(1) | 1,
    }
}

/// How the files of a database are read, after harm was done to them.
type Read = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

fn reading(models: &[Model]) -> Read {
    let models = models.to_vec();
    Arc::new(move |path| {
        let models = models.clone();
        Box::pin(async move { read_all(&path, &models).await })
    })
}

fn reading_grown(grown: &[Grown]) -> Read {
    let grown = grown.to_vec();
    Arc::new(move |path| {
        let grown = grown.clone();
        Box::pin(async move { read_grown(&path, &grown).await })
    })
}

/// Flips a bit of one byte after the other. What is read is right, or an error names the damage;
/// and a verification never fails in another way.
async fn flip_each(whole: &Place, suffix: &str, read: &Read) {
    let copy = crashed_copy(&whole.path);
    let original: Vec<(&str, Vec<u8>)> = ["", "-wal", "-lock"]
        .into_iter()
        .filter(|suffix| copy.beside(suffix).exists())
        .map(|suffix| (suffix, fs::read(copy.beside(suffix)).unwrap()))
        .collect();
    let target = original
        .iter()
        .find(|(name, _)| *name == suffix)
        .unwrap()
        .1
        .clone();
    let (mut good, mut told) = (0, std::collections::BTreeMap::<&str, u64>::new());
    for at in (0..target.len()).step_by(stride(target.len())) {
        for extra in ["-wal", "-journal"] {
            let _ = fs::remove_file(copy.beside(extra));
        }
        for (name, bytes) in &original {
            fs::write(copy.beside(name), bytes).unwrap();
        }
        let mut bytes = target.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(copy.beside(suffix), &bytes).unwrap();
        let (path, read) = (copy.path.clone(), read.clone());
        let task = tokio::spawn(async move {
            let result = read(path.clone()).await;
            verify(&path, result.as_ref().err()).await;
            result
        });
        // Damage must not lead a scan in a circle either.
        match tokio::time::timeout(Duration::from_secs(60), task)
            .await
            .unwrap_or_else(|_| panic!("bit {} of byte {at} of {suffix:?} hangs", at % 8))
            .unwrap_or_else(|_| panic!("bit {} of byte {at} of {suffix:?}", at % 8))
        {
            Ok(()) => good += 1,
            Err(error) => {
                let known = ["corrupt", "not_a_store", "newer_format"];
                assert!(
                    known.contains(&error.code()),
                    "byte {at} of {suffix:?}: {error}"
                );
                *told.entry(error.code()).or_default() += 1;
            }
        }
    }
    println!("{suffix:?}: {good} flips harmless, {told:?}");
    assert!(!told.is_empty());
}

/// Verifies a store that may be damaged: it opens or not, and says so or is whole.
async fn verify(path: &std::path::Path, error: Option<&StoreError>) {
    let Ok(store) = TursoProcessStore::open(path).await else {
        assert!(error.is_some());
        return;
    };
    let found = store.verify().await.unwrap();
    // What reads well can still have a damaged page that no read meets, such as a free one.
    if let Some(error) = error {
        assert!(!found.is_whole(), "{error}, but {found:?}");
    }
    store.close().await.unwrap();
}

// THREAT[TM-STORE-1]
#[tokio::test]
async fn a_flipped_byte_of_a_closed_database_is_harmless_or_named() {
    let (place, store, models) = small_store().await;
    store.close().await.unwrap();
    flip_each(&place, "", &reading(&models)).await;
    flip_each(&place, "-lock", &reading(&models)).await;
}

#[tokio::test]
async fn a_flipped_byte_of_a_hot_log_is_harmless_or_named() {
    let (place, _store, models) = small_store().await;
    flip_each(&place, "-wal", &reading(&models)).await;
    flip_each(&place, "", &reading(&models)).await;
}

#[tokio::test]
async fn a_flipped_byte_of_a_log_with_checkpoints_and_forks_is_harmless_or_named() {
    let (place, _store, grown) = grown_store().await;
    flip_each(&place, "-wal", &reading_grown(&grown)).await;
}

#[tokio::test]
async fn a_flipped_byte_of_checkpoints_and_forks_is_harmless_or_named() {
    let (place, store, grown) = grown_store().await;
    store.close().await.unwrap();
    read_grown(&crashed_copy(&place.path).path, &grown)
        .await
        .unwrap();
    flip_each(&place, "", &reading_grown(&grown)).await;
}

#[tokio::test]
async fn a_copy_as_a_crash_leaves_it_is_whole() {
    let (place, _store, models) = small_store().await;
    let copy = crashed_copy(&place.path);
    read_all(&copy.path, &models).await.unwrap();
    read_all(&copy.path, &models).await.unwrap();
}

type Harm = fn(&Place, &Place);

// THREAT[TM-STORE-2]
#[tokio::test]
async fn a_lost_or_exchanged_file_is_noticed_at_open() {
    let (place, store, mut models) = small_store().await;
    let earlier = crashed_copy(&place.path);
    for model in &mut models {
        model.commit(&store, 500).await.unwrap();
    }
    fn take(from: &Place, to: &Place, suffix: &str) {
        fs::copy(from.beside(suffix), to.beside(suffix)).unwrap();
    }
    let rows: [(&str, Harm); 8] = [
        ("no WAL", |now, _| {
            fs::remove_file(now.beside("-wal")).unwrap()
        }),
        ("an empty WAL", |now, _| {
            fs::write(now.beside("-wal"), b"").unwrap()
        }),
        ("a cut WAL", |now, _| {
            let wal = fs::read(now.beside("-wal")).unwrap();
            fs::write(now.beside("-wal"), &wal[..wal.len() - 1]).unwrap();
        }),
        ("the WAL of an earlier time", |now, earlier| {
            take(earlier, now, "-wal")
        }),
        ("everything of an earlier time", |now, earlier| {
            take(earlier, now, "");
            take(earlier, now, "-wal");
        }),
        ("no database", |now, _| fs::remove_file(&now.path).unwrap()),
        ("an empty database", |now, _| {
            fs::write(&now.path, b"").unwrap()
        }),
        ("nothing but the mark", |now, _| {
            fs::remove_file(&now.path).unwrap();
            fs::remove_file(now.beside("-wal")).unwrap();
        }),
    ];
    for (what, harm) in rows {
        let now = crashed_copy(&place.path);
        harm(&now, &earlier);
        let log = fs::read(now.beside("-wal")).unwrap_or_default();
        let error = TursoProcessStore::open(&now.path).await.unwrap_err();
        println!("{what}: {error}");
        // What is left of the log is there to be looked at.
        let kept = [now.beside("-wal"), now.beside("-wal-kept")]
            .iter()
            .any(|path| fs::read(path).unwrap_or_default() == log);
        assert!(kept, "{what}");
        assert_eq!(error.code(), "corrupt", "{what}");
        // Asking again does not make it better.
        assert_eq!(
            code(TursoProcessStore::open(&now.path).await),
            "corrupt",
            "{what}"
        );
    }
}

#[tokio::test]
async fn the_database_of_another_store_does_not_pass_for_this_one() {
    let (place, store, _) = small_store().await;
    store.close().await.unwrap();
    let (other, store, models) = small_store().await;
    store.close().await.unwrap();
    fs::copy(&other.path, &place.path).unwrap();
    let error = TursoProcessStore::open(&place.path).await.unwrap_err();
    assert!(
        error.to_string().contains("not the store that the mark"),
        "{error}"
    );
    // Without the other's mark it is just a store.
    fs::remove_file(place.beside("-lock")).unwrap();
    read_all(&place.path, &models).await.unwrap();
}

#[tokio::test]
async fn an_older_state_is_accepted_only_when_asked_for() {
    let (place, store, models) = small_store().await;
    store.close().await.unwrap();
    let store = open(&place.path).await;
    let mut lost = models.clone();
    lost[0].commit(&store, 10).await.unwrap();
    let copy = crashed_copy(&place.path);
    fs::remove_file(copy.beside("-wal")).unwrap();
    let error = TursoProcessStore::open(&copy.path).await.unwrap_err();
    assert!(error.to_string().contains("8 batches of the 9"), "{error}");
    let options = OpenOptions::new().accept_older(true);
    let older = TursoProcessStore::open_with(&copy.path, options)
        .await
        .unwrap();
    read_open(&older, &models).await.unwrap();
    older.close().await.unwrap();
    read_all(&copy.path, &models).await.unwrap();
}

#[tokio::test]
async fn a_database_cut_short_is_noticed() {
    let (place, store, models) = small_store().await;
    store.close().await.unwrap();
    let whole = fs::read(&place.path).unwrap();
    for len in [
        50,
        100,
        4095,
        4096,
        8192,
        whole.len() / 2,
        whole.len() - 4096,
        whole.len() - 1,
    ] {
        fs::write(&place.path, &whole[..len]).unwrap();
        let found = code(read_all(&place.path, &models).await);
        assert!(
            ["corrupt", "not_a_store"].contains(&found),
            "{len}: {found}"
        );
    }
    fs::write(&place.path, &whole).unwrap();
    read_all(&place.path, &models).await.unwrap();
}

/// The last entry of an index becomes the smallest: whoever goes on behind it would go round.
#[tokio::test]
async fn an_index_that_is_out_of_order_leads_no_scan_in_a_circle() {
    let (place, store, grown) = grown_store().await;
    store.close().await.unwrap();
    let whole = fs::read(&place.path).unwrap();
    let blocks = grown.iter().flat_map(Grown::loadable).flat_map(blocks);
    let last = blocks.map(|block| block.digest).max().unwrap();
    let places: Vec<usize> = (0..whole.len() - 32)
        .filter(|at| whole[*at..*at + 32] == *last.as_bytes())
        .collect();
    let mut noticed = 0;
    for at in places {
        let mut bytes = whole.clone();
        bytes[at..at + 8].fill(0);
        fs::write(&place.path, &bytes).unwrap();
        let store = open(&place.path).await;
        let ended = tokio::time::timeout(Duration::from_secs(60), async {
            noticed += u64::from(!store.verify().await.unwrap().is_whole());
            loop {
                match store.collect(5).await {
                    Ok(piece) if piece.done => break,
                    Ok(_) => {}
                    Err(error) => {
                        assert_eq!(error.code(), "corrupt");
                        break;
                    }
                }
            }
        });
        ended.await.unwrap();
        store.close().await.unwrap();
    }
    // In the table and in its index; elsewhere it may stand where a row once was.
    assert!(noticed >= 2, "{noticed}");
}
