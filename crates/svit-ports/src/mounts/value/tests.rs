//! A value, seen as a mount.

use svit_value::value;

use super::*;

fn path(text: &str) -> MountPath {
    MountPath::parse(text).unwrap()
}

#[test]
fn a_value_is_listed_read_and_described() {
    let mount = ValueMount::read_only(
        value!({"a": {"x": "text"}, "l": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}),
    );
    assert_eq!(mount.list(&path("/"), 2).unwrap(), ["a", "l"]);
    let indexes = mount.list(&path("/l"), 11).unwrap();
    assert_eq!(
        (indexes[1].as_str(), indexes[10].as_str()),
        ("1", "10"),
        "by number"
    );
    assert_eq!(mount.read(&path("/l/10"), 0).unwrap(), Some(11.into()));
    assert_eq!(mount.read(&path("/a/none"), 0).unwrap(), None);
    assert_eq!(mount.stat(&path("/none")).unwrap(), None);
    let stat = mount.stat(&path("/a/x")).unwrap().unwrap();
    assert_eq!(
        (stat.kind, stat.entries, stat.bytes),
        (Kind::Text, Some(0), Some(4))
    );
    let stat = mount.stat(&path("/")).unwrap().unwrap();
    assert_eq!(
        (stat.kind, stat.entries, stat.bytes),
        (Kind::Map, Some(2), None)
    );
    assert!(mount.list(&path("/a/x"), 9).unwrap().is_empty());
}

#[test]
fn bounds_are_kept_at_their_edges() {
    let mount = ValueMount::read_only(value!({"t": "12345"}));
    assert!(mount.read(&path("/t"), 5).is_ok());
    assert_eq!(
        mount.read(&path("/t"), 4).unwrap_err().code(),
        "mount_too_large"
    );
    assert!(mount.list(&path("/"), 1).is_ok());
    assert_eq!(
        mount.list(&path("/"), 0).unwrap_err().code(),
        "mount_too_large"
    );
}

#[test]
fn only_what_is_granted_and_fits_is_written() {
    let shown = ValueMount::read_only(value!({"a": 1}));
    for refused in [
        shown.write(&path("/a"), &2.into()),
        shown.remove(&path("/a")),
    ] {
        assert_eq!(refused.unwrap_err().code(), "mount_denied");
    }
    let mount = ValueMount::read_write(value!({"a": 1}));
    mount.write(&path("/b"), &value!({"c": 1})).unwrap();
    mount.write(&path("/b/d"), &2.into()).unwrap();
    mount.remove(&path("/a")).unwrap();
    let refused = mount.write(&path("/none/x"), &1.into()).unwrap_err();
    assert_eq!(refused.code(), "mount_refused");
    assert_eq!(
        mount.remove(&path("/none")).unwrap_err().code(),
        "mount_missing"
    );
    assert_eq!(mount.get(), value!({"b": {"c": 1, "d": 2}}));
    mount.write(&path("/"), &"all of it".into()).unwrap();
    assert_eq!(mount.get(), "all of it".into());
}

#[test]
fn the_descriptor_says_what_the_host_said() {
    let descriptor = ValueMount::read_write(1).source("prices").descriptor();
    assert_eq!(
        (&*descriptor.source, descriptor.grant),
        ("prices", Grant::ReadWrite)
    );
    assert_eq!(
        MountDescriptor::from_value(&descriptor.to_value()),
        Some(descriptor)
    );
}
