//! Backups are whole, and never overwrite anything.

use std::fs;

use svit_store_turso::TursoProcessStore;
use svit_txn::ProcessStore;

use crate::common::{Model, code, open, place};

#[tokio::test]
async fn a_backup_holds_what_was_committed_when_it_was_made() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    for _ in 0..20 {
        model.commit(&store, 1000).await.unwrap();
    }
    let then = model.clone();
    let copy = place.folder.path().join("it's a copy.db");
    let found = store.backup(&copy).await.unwrap();
    assert_eq!((found.processes, found.records), (1, 20));
    for _ in 0..5 {
        model.commit(&store, 1000).await.unwrap();
    }
    model.check(&store).await.unwrap();
    assert_eq!(code(store.backup(&copy).await), "unavailable");

    // A store that is open is no backup: its newest commits are in its WAL.
    let other = place.folder.path().join("other.db");
    let refused = TursoProcessStore::restore(&place.path, &other).await;
    assert_eq!(code(refused), "unavailable");
    assert!(!other.exists());
    fs::remove_file(place.folder.path().join("other.db-lock")).unwrap();

    // Where the store is, nothing can be restored.
    assert_eq!(
        code(TursoProcessStore::restore(&copy, &place.path).await),
        "in_use"
    );
    store.close().await.unwrap();
    assert_eq!(
        code(TursoProcessStore::restore(&copy, &place.path).await),
        "unavailable"
    );

    // After a loss it can, also over the mark of the newer, lost store.
    fs::remove_file(&place.path).unwrap();
    assert_eq!(code(TursoProcessStore::open(&place.path).await), "corrupt");
    for suffix in ["-wal", "-shm", "-journal"] {
        fs::write(place.beside(suffix), b"left over").unwrap();
        let refused = TursoProcessStore::restore(&copy, &place.path).await;
        assert_eq!(code(refused), "unavailable", "{suffix}");
        fs::remove_file(place.beside(suffix)).unwrap();
    }
    TursoProcessStore::restore(&copy, &place.path)
        .await
        .unwrap();
    let store = open(&place.path).await;
    then.check(&store).await.unwrap();
    store.close().await.unwrap();
    let mut names: Vec<_> = fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["it's a copy.db", "svit.db", "svit.db-lock"]);
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    model.commit(&store, 2000).await.unwrap();
    let copy = place.folder.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    let mut bytes = fs::read(&copy).unwrap();
    let body = &model.records[0].body;
    let at = bytes
        .windows(100)
        .position(|window| window == &body[..100])
        .unwrap();
    bytes[at + 50] ^= 1;
    fs::write(&copy, &bytes).unwrap();
    let target = place.folder.path().join("other.db");
    assert_eq!(
        code(TursoProcessStore::restore(&copy, &target).await),
        "corrupt"
    );
    assert!(!target.exists());
    fs::write(&copy, b"not a database").unwrap();
    assert_eq!(
        code(TursoProcessStore::restore(&copy, &target).await),
        "not_a_store"
    );
    assert!(!target.exists());
}

#[tokio::test]
async fn a_damaged_store_makes_no_backup_that_looks_good() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    model.commit(&store, 2000).await.unwrap();
    store.close().await.unwrap();
    let mut bytes = fs::read(&place.path).unwrap();
    let body = &model.records[0].body;
    let at = bytes
        .windows(100)
        .position(|window| window == &body[..100])
        .unwrap();
    bytes[at + 50] ^= 1;
    fs::write(&place.path, &bytes).unwrap();
    let store = open(&place.path).await;
    let found = store.verify().await.unwrap();
    assert_eq!(found.damage.len(), 1, "{found:?}");
    assert!(
        found.damage[0].place.contains("svit://local/one version 4"),
        "{found:?}"
    );
    let copy = place.folder.path().join("copy.db");
    assert_eq!(code(store.backup(&copy).await), "corrupt");
    assert!(!copy.exists());
    assert_eq!(code(store.load(model.address()).await), "corrupt");
}
