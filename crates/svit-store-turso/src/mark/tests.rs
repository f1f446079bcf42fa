//! The sidecar's text, its lock, and what damage to it looks like.

use super::*;

fn mark() -> Mark {
    Mark {
        store: [0xa5; 16],
        batch: 42,
        digest: Digest::of(b"batch"),
    }
}

#[test]
fn what_was_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("svit.db");
    let (mut sidecar, found) = Sidecar::take(&database).unwrap();
    assert_eq!(found, Found::Nothing);
    for (pid, mark) in [(7, None), (u32::MAX, Some(mark())), (0, Some(mark()))] {
        sidecar.write(pid, mark.as_ref()).unwrap();
        assert_eq!(peek(&database).unwrap(), Found::Written { pid, mark });
    }
    drop(sidecar);
    let (_sidecar, found) = Sidecar::take(&database).unwrap();
    assert_eq!(
        found,
        Found::Written {
            pid: 0,
            mark: Some(mark())
        }
    );
}

#[test]
fn a_second_owner_is_told_who_the_first_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("svit.db");
    let (mut first, _) = Sidecar::take(&database).unwrap();
    let held = Sidecar::take(&database).unwrap_err();
    assert!(matches!(held, LockError::Held { pid: None }), "{held:?}");
    first.write(1234, None).unwrap();
    let held = Sidecar::take(&database).unwrap_err();
    assert!(
        matches!(held, LockError::Held { pid: Some(1234) }),
        "{held:?}"
    );
    drop(first);
    Sidecar::take(&database).unwrap();
}

#[test]
fn every_changed_byte_is_damage() {
    let whole = render(77, Some(&mark()));
    assert_eq!(whole.len(), LEN);
    for at in 0..LEN {
        for flip in [0x01, 0x20, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            assert_eq!(parse(&bytes), Found::Damaged, "byte {at} ^ {flip:#x}");
        }
        if at > 0 {
            assert_eq!(parse(&whole[..at]), Found::Damaged, "cut at {at}");
        }
    }
    let mut longer = whole.clone();
    longer.push(b'\n');
    assert_eq!(parse(&longer), Found::Damaged);
}

#[test]
fn a_file_that_never_reached_the_disk_says_nothing() {
    assert_eq!(parse(b""), Found::Nothing);
    assert_eq!(parse(&[0; LEN]), Found::Nothing);
}
