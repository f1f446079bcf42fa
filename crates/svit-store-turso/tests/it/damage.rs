//! Flipped bytes, lost logs, files of another time: what is read is what was stored, or an error
//! that names the damage.

use std::fs;

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{ProcessStore, StoreError};

use crate::common::{Model, Place, code, crashed_copy, open, place};

/// Two processes with a little of everything.
async fn small_store() -> (Place, TursoProcessStore, Vec<Model>) {
    let place = place();
    let store = open(&place.path).await;
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

/// How many bytes of a file are tried: all with SVIT_FLIP_ALL, else a sample.
fn stride(len: usize) -> usize {
    match std::env::var_os("SVIT_FLIP_ALL") {
        Some(_) => 1,
        None => (len / 150).max(1) | 1,
    }
}

async fn flip_each(whole: &Place, suffix: &str, models: &[Model]) {
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
        let (path, models) = (copy.path.clone(), models.to_vec());
        let read = tokio::spawn(async move { read_all(&path, &models).await });
        match read
            .await
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

#[tokio::test]
async fn a_flipped_byte_of_a_closed_database_is_harmless_or_named() {
    let (place, store, models) = small_store().await;
    store.close().await.unwrap();
    flip_each(&place, "", &models).await;
    flip_each(&place, "-lock", &models).await;
}

#[tokio::test]
async fn a_flipped_byte_of_a_hot_log_is_harmless_or_named() {
    let (place, _store, models) = small_store().await;
    flip_each(&place, "-wal", &models).await;
    flip_each(&place, "", &models).await;
}

#[tokio::test]
async fn a_copy_as_a_crash_leaves_it_is_whole() {
    let (place, _store, models) = small_store().await;
    let copy = crashed_copy(&place.path);
    read_all(&copy.path, &models).await.unwrap();
    read_all(&copy.path, &models).await.unwrap();
}

type Harm = fn(&Place, &Place);

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
