//! Files that are renamed, removed, replaced or cut under an open store.

use std::fs;

use svit_txn::ProcessStore;

use crate::common::{Model, Place, code, open, place};

type Harm = fn(&Place);

#[tokio::test]
async fn a_store_whose_files_are_taken_away_stops() {
    let rows: [(&str, Harm); 7] = [
        ("database renamed", |place| {
            fs::rename(&place.path, place.beside("-old")).unwrap();
        }),
        ("database removed", |place| {
            fs::remove_file(&place.path).unwrap()
        }),
        ("database replaced", |place| {
            fs::copy(&place.path, place.beside("-copy")).unwrap();
            fs::rename(place.beside("-copy"), &place.path).unwrap();
        }),
        ("database cut", |place| {
            let file = fs::File::options().write(true).open(&place.path).unwrap();
            file.set_len(4096).unwrap();
        }),
        ("WAL removed", |place| {
            fs::remove_file(place.beside("-wal")).unwrap()
        }),
        ("WAL replaced", |place| {
            fs::remove_file(place.beside("-wal")).unwrap();
            fs::write(place.beside("-wal"), b"somebody else's").unwrap();
        }),
        ("folder renamed", |place| {
            let elsewhere = place.folder.path().with_extension("elsewhere");
            fs::rename(place.folder.path(), &elsewhere).unwrap();
            fs::create_dir(place.folder.path()).unwrap();
            fs::remove_dir_all(elsewhere).unwrap();
        }),
    ];
    for (what, harm) in rows {
        let place = place();
        let store = open(&place.path).await;
        let mut model = Model::create("one", &store).await;
        model.commit(&store, 100).await.unwrap();
        // It looks at the files before it writes to them, unless it just did.
        std::thread::sleep(std::time::Duration::from_millis(5));
        harm(&place);
        let there = listing(&place);
        let first = code(model.commit(&store, 100).await);
        assert!(
            ["unavailable", "unknown"].contains(&first),
            "{what}: {first}"
        );
        // From then on it does nothing, and says so, and touches nothing at that place.
        assert_eq!(
            code(model.commit(&store, 100).await),
            "unavailable",
            "{what}"
        );
        assert_eq!(
            code(store.load(model.address()).await),
            "unavailable",
            "{what}"
        );
        store.close().await.unwrap();
        assert_eq!(listing(&place), there, "{what}");
    }
}

/// Names and contents, but for the lock file.
fn listing(place: &Place) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| !name.ends_with("-lock"))
        .collect();
    files.sort();
    files
}
