//! What can happen to a file under an open store.

use super::*;

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, [1; 100]).unwrap();
    (folder, path)
}

#[test]
fn an_untouched_or_longer_file_is_the_same_file() {
    let (_folder, path) = file();
    let mut watched = Watched::growing(&path).unwrap();
    assert_eq!(watched.check().unwrap(), None);
    fs::write(&path, [2; 200]).unwrap();
    assert_eq!(watched.check().unwrap(), None);
}

#[test]
fn a_file_shorter_than_it_ever_was_is_noticed_unless_it_may_shrink() {
    let (_folder, path) = file();
    let mut growing = Watched::growing(&path).unwrap();
    let mut reused = Watched::reused(&path).unwrap();
    fs::write(&path, [2; 200]).unwrap();
    assert_eq!(growing.check().unwrap(), None);
    fs::write(&path, [2; 150]).unwrap();
    assert_eq!(growing.check().unwrap(), Some(Loss::Shortened));
    assert_eq!(reused.check().unwrap(), None);
}

#[test]
fn a_removed_or_replaced_file_is_noticed() {
    let (folder, path) = file();
    let mut watched = Watched::growing(&path).unwrap();
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    assert_eq!(watched.check().unwrap(), Some(Loss::Removed));
    fs::write(&path, [1; 100]).unwrap();
    assert_eq!(watched.check().unwrap(), Some(Loss::Replaced));
}
