//! Tests of names and places.

use std::path::PathBuf;

use super::{InstanceName, platform_folder};

#[test]
fn names_are_checked_at_the_edge() {
    for name in ["default", "a", "my-agent_2", &"x".repeat(64)] {
        let parsed = InstanceName::parse(name).unwrap();
        assert!(svit::Address::parse(&parsed.address()).is_ok(), "{name}");
    }
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "A",
        "a b",
        "../x",
        "é",
        "a\0",
        "c:",
        &"x".repeat(65),
    ] {
        assert!(InstanceName::parse(name).is_err(), "{name:?}");
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_data_folder_follows_the_xdg_rules() {
    let with = |data: Option<&str>, home: Option<&str>| {
        platform_folder(|name| match name {
            "XDG_DATA_HOME" => data.map(PathBuf::from),
            "HOME" => home.map(PathBuf::from),
            _ => None,
        })
    };
    assert_eq!(with(Some("/data"), Some("/home/a")), Some("/data".into()));
    assert_eq!(
        with(None, Some("/home/a")),
        Some("/home/a/.local/share".into())
    );
    assert_eq!(
        with(Some("relative"), Some("/home/a")),
        Some("/home/a/.local/share".into())
    );
    assert_eq!(with(None, None), None);
}
