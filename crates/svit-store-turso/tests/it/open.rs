//! Opening: what is not a store, who has it, and what a name may be.

use std::fs;

use svit_store_turso::TursoProcessStore;
use svit_txn::{ProcessStore, StoreError};

use crate::common::{Model, code, open, place};

#[tokio::test]
async fn a_file_that_is_not_a_store_is_refused_and_left_alone() {
    let mut foreign = [0; 4096];
    foreign[..16].copy_from_slice(b"SQLite format 3\0");
    foreign[68..72].copy_from_slice(b"GPKG");
    let rows: [&[u8]; 4] = [b"x", b"# Notes\n\nnot a database\n", &[0; 4096], &foreign];
    for bytes in rows {
        let place = place();
        fs::write(&place.path, bytes).unwrap();
        let refused = TursoProcessStore::open(&place.path).await;
        assert_eq!(code(refused), "not_a_store");
        assert_eq!(fs::read(&place.path).unwrap(), bytes);
        for suffix in ["-wal", "-shm", "-journal", "-new"] {
            assert!(!place.beside(suffix).exists(), "{suffix}");
        }
    }
}

// THREAT[TM-STORE-4]
#[tokio::test]
async fn a_newer_format_is_refused_and_left_alone() {
    let place = place();
    open(&place.path).await.close().await.unwrap();
    let mut bytes = fs::read(&place.path).unwrap();
    assert_eq!(bytes[60..64], 3u32.to_be_bytes());
    bytes[60..64].copy_from_slice(&4u32.to_be_bytes());
    fs::write(&place.path, &bytes).unwrap();
    match TursoProcessStore::open(&place.path).await.unwrap_err() {
        StoreError::NewerFormat {
            found: 4,
            supported: 3,
            ..
        } => {}
        other => panic!("{other}"),
    }
    assert_eq!(fs::read(&place.path).unwrap(), bytes);
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let place = place();
    fs::write(&place.path, b"").unwrap();
    let store = open(&place.path).await;
    Model::create("one", &store)
        .await
        .check(&store)
        .await
        .unwrap();
}

// THREAT[TM-STORE-3]
#[tokio::test]
async fn a_second_handle_in_the_same_program_is_told_who_has_it() {
    let place = place();
    let store = open(&place.path).await;
    match TursoProcessStore::open(&place.path).await.unwrap_err() {
        StoreError::InUse { pid, path } => {
            assert_eq!(pid, Some(std::process::id()));
            assert_eq!(path, store.path());
        }
        other => panic!("{other}"),
    }
    // A link is the same file.
    #[cfg(unix)]
    {
        let link = place.folder.path().join("link.db");
        std::os::unix::fs::symlink(&place.path, &link).unwrap();
        assert_eq!(code(TursoProcessStore::open(&link).await), "in_use");
    }
    let clone = store.clone();
    drop(store);
    assert_eq!(code(TursoProcessStore::open(&place.path).await), "in_use");
    drop(clone);
    open(&place.path).await;
}

#[tokio::test]
async fn it_can_be_opened_again_at_once_after_a_close_or_a_drop() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    drop(store);
    for round in 0..20 {
        let store = open(&place.path).await;
        model.commit(&store, 100).await.unwrap();
        model.check(&store).await.unwrap();
        match round % 2 {
            0 => drop(store),
            _ => store.close().await.unwrap(),
        }
    }
    open(&place.path).await.close().await.unwrap();
    assert!(!place.beside("-wal").exists(), "a closed store is one file");
}

#[tokio::test]
async fn a_closed_store_says_so_on_every_clone() {
    let place = place();
    let store = open(&place.path).await;
    let clone = store.clone();
    let mut model = Model::create("one", &store).await;
    store.close().await.unwrap();
    assert_eq!(code(clone.load(model.address()).await), "unavailable");
    assert_eq!(code(model.commit(&clone, 1).await), "unavailable");
    assert_eq!(code(clone.close().await), "unavailable");
    assert_eq!(code(clone.stats().await), "unavailable");
}

#[tokio::test]
async fn a_path_that_cannot_be_a_store_is_refused() {
    let place = place();
    let folder = place.folder.path();
    let rows = [
        folder.join("missing/svit.db"),
        folder.to_owned(),
        folder.join(".."),
        "/".into(),
        "".into(),
        folder.join("a\0b"),
    ];
    for path in rows {
        assert_eq!(
            code(TursoProcessStore::open(&path).await),
            "unavailable",
            "{path:?}"
        );
    }
}

// THREAT[TM-STORE-5]
#[tokio::test]
async fn odd_names_are_just_names() {
    let place = place();
    for name in [
        "a b?x=1#y.db",
        "file:x.db",
        ":memory:",
        "it's.db",
        "\u{e9}\u{1f980}.db",
        "%41.db",
    ] {
        let path = place.folder.path().join(name);
        let store = open(&path).await;
        Model::create("one", &store)
            .await
            .check(&store)
            .await
            .unwrap();
        store.close().await.unwrap();
        assert!(path.exists(), "{name}");
    }
    let names = fs::read_dir(place.folder.path()).unwrap().count();
    assert_eq!(names, 12, "six databases and their locks, nothing else");
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_or_folder_is_refused_at_open() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    open(&place.path).await.close().await.unwrap();
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = TursoProcessStore::open(&place.path).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let other = place.folder.path().join("other.db");
    let result = TursoProcessStore::open(&other).await;
    fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    match result {
        // Root may write anywhere.
        Ok(_) => println!("SKIPPED read-only folder: the user of this test may write anywhere"),
        Err(error) => assert_eq!(error.code(), "unavailable"),
    }
    open(&place.path).await;
}

#[tokio::test]
async fn a_half_made_store_is_made_anew() {
    let place = place();
    fs::write(place.beside("-new"), b"half of a database").unwrap();
    fs::write(place.beside("-new-wal"), b"half of a log").unwrap();
    let store = open(&place.path).await;
    Model::create("one", &store)
        .await
        .check(&store)
        .await
        .unwrap();
    assert!(!place.beside("-new").exists());
}
