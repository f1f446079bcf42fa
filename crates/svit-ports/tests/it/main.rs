//! The mounts that come with svit, against the contract of mounts.
#![allow(clippy::unwrap_used, reason = "tests")]

use svit_ports::ValueMount;
use svit_testkit::conformance;
use svit_tree::mount::Grant;
use svit_value::value;

#[test]
fn a_value_conforms() {
    conformance::mount(|grant| match grant {
        Grant::Read => ValueMount::read_only(value!({})),
        Grant::ReadWrite => ValueMount::read_write(value!({})),
    })
    .unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_conforms() {
    use svit_ports::FolderMount;

    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::mount(|grant| {
        number.set(number.get() + 1);
        let folder = place.path().join(number.get().to_string());
        std::fs::create_dir(&folder).unwrap();
        match grant {
            Grant::Read => FolderMount::read_only(folder).unwrap(),
            Grant::ReadWrite => FolderMount::read_write(folder).unwrap(),
        }
    })
    .unwrap();
}
