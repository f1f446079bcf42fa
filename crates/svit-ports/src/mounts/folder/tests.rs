//! A folder, and what must not be reached through it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::thread;

use proptest::prelude::*;
use svit_value::value;
use tempfile::TempDir;

use super::*;

fn path(text: &str) -> MountPath {
    MountPath::parse(text).unwrap()
}

/// A folder to be mounted, and another that must not be reached.
struct Place {
    all: TempDir,
    mount: FolderMount,
}

impl Place {
    fn new() -> Self {
        let all = TempDir::new().unwrap();
        for name in ["in/deep/er", "out/deep"] {
            fs::create_dir_all(all.path().join(name)).unwrap();
        }
        for (name, text) in [
            ("in/file", "inside"),
            ("in/deep/file", "deep inside"),
            ("out/file", "secret"),
            ("out/deep/file", "deep secret"),
        ] {
            fs::write(all.path().join(name), text).unwrap();
        }
        let mount = FolderMount::read_write(all.path().join("in")).unwrap();
        Self { all, mount }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.all.path().join(name)
    }

    fn read(&self, text: &str) -> Result<Option<Value>, MountError> {
        self.mount.read(&path(text), 1_000_000)
    }

    fn code(result: Result<impl std::fmt::Debug, MountError>) -> &'static str {
        result.unwrap_err().code()
    }
}

#[test]
fn files_and_folders_are_listed_read_and_described() {
    let place = Place::new();
    let mount = &place.mount;
    assert_eq!(mount.list(&path("/"), 10).unwrap(), ["deep", "file"]);
    assert_eq!(mount.list(&path("/deep"), 10).unwrap(), ["er", "file"]);
    assert_eq!(
        place.read("/deep/file").unwrap(),
        Some("deep inside".into())
    );
    for missing in ["/none", "/none/x", "/file/below", "/deep/er/none"] {
        assert_eq!(place.read(missing).unwrap(), None, "{missing}");
        assert_eq!(mount.stat(&path(missing)).unwrap(), None, "{missing}");
        assert!(
            mount.list(&path(missing), 10).unwrap().is_empty(),
            "{missing}"
        );
    }
    assert!(mount.list(&path("/file"), 10).unwrap().is_empty());
    for folder in ["/", "/deep"] {
        let refused = place.read(folder).unwrap_err();
        assert_eq!(refused.code(), "mount_refused");
        assert!(refused.to_string().contains("list it"), "{refused}");
        assert_eq!(mount.stat(&path(folder)).unwrap().unwrap().kind, Kind::Map);
    }
    let stat = mount.stat(&path("/file")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.bytes), (Kind::Text, Some(6)));
}

#[test]
fn text_is_text_and_everything_else_is_bytes() {
    let place = Place::new();
    for (octets, text) in [
        (&b""[..], true),
        (b"plain", true),
        ("\u{e9}\u{1F980}\u{0}".as_bytes(), true),
        (b"\xff\xfe", false),
        (b"cut \xc3", false),
        (b"\xed\xa0\x80", false),
    ] {
        fs::write(place.at("in/file"), octets).unwrap();
        let value = place.read("/file").unwrap().unwrap();
        assert_eq!(value.kind() == Kind::Text, text, "{octets:?}");
        let back = match &value {
            Value::Text(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            other => panic!("{other}"),
        };
        assert_eq!(back, octets);
    }
}

#[test]
fn links_and_special_files_are_refused_at_every_segment_and_never_listed() {
    let place = Place::new();
    let links = [
        ("in/link-file", "../out/file"),
        ("in/link-inside", "file"),
        ("in/link-out", "../out"),
        ("in/link-deep", "deep"),
        ("in/link-up", ".."),
        ("in/link-root", "/"),
        ("in/link-nowhere", "nowhere"),
        ("in/link-self", "link-self"),
        ("in/deep/link-out", "../../out"),
    ];
    for (name, target) in links {
        symlink(target, place.at(name)).unwrap();
    }
    let _socket = UnixListener::bind(place.at("in/socket")).unwrap();
    let pipe = rustix::fs::mkfifoat;
    pipe(
        rustix::fs::CWD,
        place.at("in/pipe").as_path(),
        Mode::from_raw_mode(0o666),
    )
    .unwrap();
    let mount = &place.mount;
    assert_eq!(mount.list(&path("/"), 10).unwrap(), ["deep", "file"]);
    assert_eq!(mount.list(&path("/deep"), 10).unwrap(), ["er", "file"]);
    for text in [
        "/link-file",
        "/link-inside",
        "/link-out",
        "/link-out/file",
        "/link-out/deep/file",
        "/link-deep/file",
        "/link-up/out/file",
        "/link-root/etc/passwd",
        "/link-nowhere",
        "/link-nowhere/x",
        "/link-self/x",
        "/deep/link-out/file",
        "/pipe",
        "/socket",
        "/pipe/x",
    ] {
        assert_eq!(Place::code(place.read(text)), "mount_refused", "{text}");
        assert_eq!(
            Place::code(mount.stat(&path(text))),
            "mount_refused",
            "{text}"
        );
        for value in [value!("x"), value!({})] {
            assert_eq!(
                Place::code(mount.check(&path(text), Some(&value))),
                "mount_refused"
            );
            assert_eq!(
                Place::code(mount.write(&path(text), &value)),
                "mount_refused",
                "{text}"
            );
        }
        assert_eq!(
            Place::code(mount.remove(&path(text))),
            "mount_refused",
            "{text}"
        );
        if !text.ends_with("file") && !text.ends_with("/x") {
            assert_eq!(
                Place::code(mount.list(&path(text), 10)),
                "mount_refused",
                "{text}"
            );
        }
    }
    assert_eq!(fs::read(place.at("out/file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(place.at("out")).unwrap().count(), 2);
    for (name, _) in links {
        assert!(
            fs::symlink_metadata(place.at(name)).is_ok(),
            "{name} is still there"
        );
    }
}

#[test]
fn no_name_leads_elsewhere() {
    let place = Place::new();
    for text in [
        "/..~1out~1file",
        "/~1etc~1passwd",
        "/deep~1file",
        "/deep/..~1..~1out",
    ] {
        assert_eq!(Place::code(place.read(text)), "mount_refused", "{text}");
        let written = place.mount.write(&path(text), &"x".into());
        assert_eq!(Place::code(written), "mount_refused", "{text}");
        let checked = place.mount.check(&path(text), Some(&"x".into()));
        assert_eq!(Place::code(checked), "mount_refused", "{text}");
    }
    for text in ["/..", "/../out/file", "/deep/../../out", "/.", "/a//b"] {
        assert!(MountPath::parse(text).is_err(), "{text}");
    }
    // The folder may move: what was opened is what is mounted.
    fs::rename(place.at("in"), place.at("moved")).unwrap();
    symlink("out", place.at("in")).unwrap();
    assert_eq!(place.read("/file").unwrap(), Some("inside".into()));
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

// THREAT[TM-MOUNT-1]
#[test]
fn nothing_escapes_while_folders_are_swapped_for_links() {
    let place = Place::new();
    fs::create_dir(place.at("in/swap")).unwrap();
    fs::write(place.at("in/swap/file"), "inside").unwrap();
    symlink(place.at("out"), place.at("in/other")).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            let (a, b) = (place.at("in/swap"), place.at("in/other"));
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, a.as_path(), CWD, b.as_path(), RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Also if this fails: the scope waits for the other thread.
        let _ends = Ends(&done);
        let (mut read, mut refused) = (0, 0);
        for n in 0..20_000 {
            match place.read("/swap/file") {
                Ok(value) => {
                    assert_eq!(value, Some("inside".into()));
                    read += 1;
                }
                Err(error) => {
                    assert!(
                        ["mount_refused", "mount_unavailable"].contains(&error.code()),
                        "{error}"
                    );
                    refused += 1;
                }
            }
            if n % 20 == 0 {
                let _ = place.mount.write(&path("/swap/new"), &"x".into());
                let _ = place.mount.remove(&path("/swap/deep/file"));
                for name in place.mount.list(&path("/swap"), 10).unwrap_or_default() {
                    assert!(["file", "new"].contains(&name.as_str()), "{name}");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(
            read > 0 && refused > 0,
            "{read} read, {refused} refused: both were there"
        );
    });
    assert_eq!(fs::read(place.at("out/file")).unwrap(), b"secret");
    assert_eq!(fs::read(place.at("out/deep/file")).unwrap(), b"deep secret");
    assert_eq!(fs::read_dir(place.at("out")).unwrap().count(), 2);
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let place = Place::new();
    let (one, two) = ("1".repeat(300_000), "2".repeat(300_000));
    place
        .mount
        .write(&path("/file"), &one.as_str().into())
        .unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ends = Ends(&done);
            for n in 0..100 {
                let text = if n % 2 == 0 { &two } else { &one };
                place
                    .mount
                    .write(&path("/file"), &text.as_str().into())
                    .unwrap();
            }
        });
        while !done.load(Ordering::Relaxed) {
            let value = place.read("/file").unwrap().unwrap();
            let text = value.as_str().unwrap();
            assert!(text == one || text == two);
        }
    });
    assert_eq!(place.mount.list(&path("/"), 10).unwrap(), ["deep", "file"]);
    assert_eq!(fs::read_dir(place.at("in")).unwrap().count(), 2);
}

#[test]
fn writes_make_what_is_missing_and_leave_nothing_behind_when_they_fail() {
    let place = Place::new();
    let mount = &place.mount;
    mount
        .write(&path("/new/far/away.txt"), &"x".into())
        .unwrap();
    assert_eq!(place.read("/new/far/away.txt").unwrap(), Some("x".into()));
    mount.write(&path("/empty/folder"), &value!({})).unwrap();
    mount.write(&path("/empty/folder"), &value!({})).unwrap();
    assert!(place.at("in/empty/folder").is_dir());
    let octets = Value::from(Bytes::from(&b"\xff\x00"[..]));
    mount.write(&path("/raw"), &octets).unwrap();
    assert_eq!(place.read("/raw").unwrap(), Some(octets));

    let long = format!("/{}", "n".repeat(256));
    let rows = [
        ("/deep", value!("x")),
        ("/file", value!({})),
        ("/", value!("x")),
        ("/", value!({})),
        ("/number", value!(1)),
        ("/map", value!({"a": 1})),
        ("/list", value!([])),
        ("/file/below", value!("x")),
        (&long, value!("x")),
        ("/.svit-unfinished-7", value!("x")),
    ];
    for (text, value) in rows {
        let failed = mount.write(&path(text), &value).unwrap_err();
        assert!(
            ["mount_refused", "mount_unavailable"].contains(&failed.code()),
            "{text}"
        );
        let said = failed.to_string();
        assert!(!said.contains(place.all.path().to_str().unwrap()), "{said}");
        // What is in the way now may be gone when it is written.
        let by_then = [long.as_str(), "/deep", "/file", "/file/below"];
        if !by_then.contains(&text) {
            assert_eq!(
                Place::code(mount.check(&path(text), Some(&value))),
                "mount_refused"
            );
        }
    }
    let names = mount.list(&path("/"), 10).unwrap();
    assert_eq!(names, ["deep", "empty", "file", "new", "raw"]);
    assert_eq!(
        fs::read_dir(place.at("in")).unwrap().count(),
        5,
        "no unfinished file"
    );
}

#[test]
fn a_file_keeps_its_mode_and_an_unfinished_one_is_not_shown() {
    let place = Place::new();
    let file = place.at("in/file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    place.mount.write(&path("/file"), &"again".into()).unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o751
    );

    // Left by a power cut. The next write takes another name.
    let next = NUMBER.load(Ordering::Relaxed);
    for number in next..next + 50 {
        fs::write(place.at(&format!("in/.svit-unfinished-{number}")), "half").unwrap();
    }
    place.mount.write(&path("/file"), &"whole".into()).unwrap();
    assert_eq!(place.read("/file").unwrap(), Some("whole".into()));
    assert_eq!(place.mount.list(&path("/"), 10).unwrap(), ["deep", "file"]);
    let hidden = format!("/.svit-unfinished-{next}");
    assert_eq!(Place::code(place.read(&hidden)), "mount_refused");
    assert_eq!(
        Place::code(place.mount.remove(&path(&hidden))),
        "mount_refused"
    );
}

#[test]
fn bounds_are_kept_at_their_edges() {
    let place = Place::new();
    for (bytes, fits) in [(5, false), (6, true), (7, true)] {
        let read = place.mount.read(&path("/file"), bytes);
        assert_eq!(read.is_ok(), fits, "{bytes}");
        if let Err(error) = read {
            assert_eq!(error.to_string(), "/file: 6 bytes; at most 5 are allowed");
        }
    }
    for (entries, fits) in [(1, false), (2, true), (3, true)] {
        let listed = place.mount.list(&path("/"), entries);
        assert_eq!(listed.is_ok(), fits, "{entries}");
    }
    // What has no size of its own is bounded by what was read.
    if let Ok(proc) = FolderMount::read_only("/proc/self") {
        let read = proc.read(&path("/status"), 10);
        assert_eq!(Place::code(read), "mount_too_large");
        assert!(proc.read(&path("/status"), 1_000_000).unwrap().is_some());
    }
}

#[test]
fn what_is_removed_is_a_file_or_an_empty_folder() {
    let place = Place::new();
    let mount = &place.mount;
    assert_eq!(Place::code(mount.remove(&path("/deep"))), "mount_refused");
    assert_eq!(Place::code(mount.remove(&path("/"))), "mount_refused");
    assert_eq!(Place::code(mount.remove(&path("/none"))), "mount_missing");
    mount.remove(&path("/deep/er")).unwrap();
    mount.remove(&path("/deep/file")).unwrap();
    mount.remove(&path("/deep")).unwrap();
    mount.remove(&path("/file")).unwrap();
    assert!(mount.list(&path("/"), 10).unwrap().is_empty());
}

#[test]
fn a_folder_to_be_read_is_only_read() {
    let place = Place::new();
    let mount = FolderMount::read_only(place.at("in")).unwrap();
    let value = value!("x");
    for refused in [
        mount.write(&path("/file"), &value),
        mount.write(&path("/new"), &value),
        mount.check(&path("/new"), Some(&value)),
        mount.check(&path("/file"), None),
        mount.remove(&path("/file")),
    ] {
        assert_eq!(refused.unwrap_err().code(), "mount_denied");
    }
    assert!(FolderMount::read_only(place.at("none")).is_err());
    assert!(FolderMount::read_only(place.at("in/file")).is_err());
    let descriptor = mount.source("my notes").descriptor();
    assert_eq!(
        (&*descriptor.kind, &*descriptor.source),
        ("folder", "my notes")
    );
    assert_eq!(descriptor.grant, Grant::Read);
    let unnamed = FolderMount::read_only(place.at("in")).unwrap().descriptor();
    assert_eq!(
        &*unnamed.source, "a folder",
        "no path of the machine is committed"
    );
}

#[test]
fn names_that_are_not_text_are_not_listed() {
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"odd \xff name");
    fs::write(place.at("in").join(odd), "x").unwrap();
    fs::write(place.at("in/\u{e9} name\n"), "y").unwrap();
    let names = place.mount.list(&path("/"), 10).unwrap();
    assert_eq!(names, ["deep", "file", "\u{e9} name\n"]);
    assert_eq!(place.read("/\u{e9} name\n").unwrap(), Some("y".into()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_under_any_name_is_read_back(
        names in prop::collection::vec("[^/\u{0}]{1,20}", 1..4),
        text in ".{0,200}",
    ) {
        prop_assume!(names.iter().all(|name| name != "." && name != ".." && name.len() < 200));
        prop_assume!(names[0] != "file" && names[0] != "deep");
        let place = Place::new();
        let escaped = names.iter().map(|name| format!("/{}", name.replace('~', "~0")));
        let at = path(&escaped.collect::<String>());
        place.mount.write(&at, &text.as_str().into()).unwrap();
        prop_assert_eq!(place.mount.read(&at, 10_000).unwrap(), Some(text.into()));
        place.mount.remove(&at).unwrap();
        prop_assert_eq!(place.mount.stat(&at).unwrap(), None);
    }
}
