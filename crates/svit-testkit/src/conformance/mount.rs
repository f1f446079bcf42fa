//! Every rule of the mount contract as a check that runs against any provider.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use svit_tree::mount::{Grant, MountDescriptor, MountError, MountPath, MountProvider};
use svit_value::{Text, Value};

use super::{Broken, ensure, ensure_eq};

type Check<'m> = fn(&dyn Fn(Grant) -> Box<dyn MountProvider + 'm>) -> Result<(), String>;

/// The rules, by name.
fn checks<'m>() -> Vec<(&'static str, Check<'m>)> {
    vec![
        ("the_descriptor_is_one_and_says_the_grant", descriptor),
        ("where_nothing_is_nothing_is_found", nothing),
        ("what_is_written_is_read_listed_and_described", written),
        ("what_is_replaced_or_removed_is_gone", replaced),
        ("names_are_sorted_and_bounded_at_the_edge", listed),
        ("reads_are_bounded_at_the_edge", bounded),
        ("a_name_is_one_name_whatever_is_in_it", named),
        ("what_a_check_refuses_a_write_refuses", checked),
        ("what_is_not_granted_is_denied", denied),
        ("calls_from_several_threads_are_whole", threads),
    ]
}

/// The names of the rules that [`mount`](fn@mount) checks.
pub fn mount_rules() -> Vec<&'static str> {
    checks().iter().map(|(name, _)| *name).collect()
}

/// Checks a kind of mount against every rule of the contract. `make` gives a new mount of it with this
/// grant, whose root is a map, or what stands for one, with nothing in it; texts can be written below it.
///
/// ```
/// # use svit_testkit::conformance;
/// # fn demo<M: svit_tree::mount::MountProvider>(my_mount: impl Fn(svit_tree::mount::Grant) -> M) {
/// conformance::mount(|grant| my_mount(grant)).unwrap();
/// # }
/// ```
///
/// # Errors
/// The rules that it broke, each with what was seen.
pub fn mount<'m, M: MountProvider + 'm>(make: impl Fn(Grant) -> M) -> Result<(), Broken> {
    let boxed = |grant| Box::new(make(grant)) as Box<dyn MountProvider + 'm>;
    let broken = checks().into_iter().filter_map(|(name, check)| {
        let result = catch_unwind(AssertUnwindSafe(|| check(&boxed)));
        match result.unwrap_or_else(|_| Err("it panicked".to_owned())) {
            Ok(()) => None,
            Err(seen) => Some((name, seen)),
        }
    });
    Broken::unless_none("mount", broken.collect())
}

type Make<'a, 'm> = &'a dyn Fn(Grant) -> Box<dyn MountProvider + 'm>;

fn path(text: &str) -> Result<MountPath, String> {
    MountPath::parse(text).map_err(|e| e.to_string())
}

fn said<T>(result: Result<T, MountError>) -> Result<T, String> {
    result.map_err(|error| format!("{} ({error})", error.code()))
}

fn put(mount: &dyn MountProvider, at: &str, text: &str) -> Result<(), String> {
    said(mount.write(&path(at)?, &Value::from(text)))
}

fn get(mount: &dyn MountProvider, at: &str) -> Result<Option<Value>, String> {
    said(mount.read(&path(at)?, 1 << 20))
}

fn names(mount: &dyn MountProvider, at: &str) -> Result<Vec<Text>, String> {
    said(mount.list(&path(at)?, 1_000))
}

fn descriptor(make: Make<'_, '_>) -> Result<(), String> {
    for grant in [Grant::Read, Grant::ReadWrite] {
        let mount = make(grant);
        let descriptor = mount.descriptor();
        ensure_eq!(descriptor.grant, grant, "the grant");
        ensure_eq!(mount.descriptor(), descriptor, "asked again");
        let read = MountDescriptor::from_value(&descriptor.to_value());
        ensure_eq!(read, Some(descriptor), "read back");
    }
    Ok(())
}

fn nothing(make: Make<'_, '_>) -> Result<(), String> {
    for grant in [Grant::Read, Grant::ReadWrite] {
        let mount = make(grant);
        ensure_eq!(names(&*mount, "/")?, Vec::<Text>::new(), "the names at /");
        for at in ["/none", "/none/below"] {
            ensure_eq!(get(&*mount, at)?, None, "the value at {at}");
            ensure_eq!(said(mount.stat(&path(at)?))?, None, "the facts about {at}");
            ensure_eq!(names(&*mount, at)?, Vec::<Text>::new(), "the names at {at}");
        }
        ensure!(
            said(mount.stat(&MountPath::root()))?.is_some(),
            "there is no root"
        );
    }
    Ok(())
}

fn written(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::ReadWrite);
    for text in ["", "text", "\u{e9}\u{1F980}\n\u{0}"] {
        put(&*mount, "/a", text)?;
        ensure_eq!(
            get(&*mount, "/a")?,
            Some(Value::from(text)),
            "the value at /a"
        );
        let stat = said(mount.stat(&path("/a")?))?;
        let stat = stat.ok_or("there are no facts about /a")?;
        if let Some(bytes) = stat.bytes {
            ensure_eq!(bytes, text.len() as u64, "the bytes at /a");
        }
        ensure_eq!(
            names(&*mount, "/")?,
            vec![Text::from("a")],
            "the names at /"
        );
        ensure_eq!(
            names(&*mount, "/a")?,
            Vec::<Text>::new(),
            "the names in a text"
        );
        ensure_eq!(get(&*mount, "/a/below")?, None, "the value below a text");
    }
    Ok(())
}

fn replaced(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::ReadWrite);
    put(&*mount, "/a", "a longer text")?;
    put(&*mount, "/a", "short")?;
    put(&*mount, "/b", "other")?;
    ensure_eq!(get(&*mount, "/a")?, Some("short".into()), "the value at /a");
    said(mount.remove(&path("/a")?))?;
    ensure_eq!(get(&*mount, "/a")?, None, "what was removed");
    ensure_eq!(
        names(&*mount, "/")?,
        vec![Text::from("b")],
        "the names at /"
    );
    match mount.remove(&path("/a")?) {
        Err(MountError::Missing { .. }) => {}
        other => return Err(format!("removing it again: {other:?}")),
    }
    ensure_eq!(
        get(&*mount, "/b")?,
        Some("other".into()),
        "the value beside it"
    );
    Ok(())
}

fn listed(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::ReadWrite);
    let sorted = ["1", "10", "2", "B", "a", "aa", "b"];
    for name in ["b", "aa", "10", "a", "2", "B", "1"] {
        put(&*mount, &format!("/{name}"), "x")?;
    }
    ensure_eq!(
        names(&*mount, "/")?,
        sorted.map(Text::from).to_vec(),
        "the names at /"
    );
    let root = MountPath::root();
    ensure_eq!(said(mount.list(&root, 7))?.len(), 7, "as many as may be");
    match mount.list(&root, 6) {
        Err(MountError::TooLarge {
            allowed: 6, actual, ..
        }) if actual > 6 => Ok(()),
        other => Err(format!("one more than may be: {other:?}")),
    }
}

fn bounded(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::ReadWrite);
    put(&*mount, "/a", &"x".repeat(1_000))?;
    let at = path("/a")?;
    ensure!(
        said(mount.read(&at, 1_000))?.is_some(),
        "as many bytes as may be"
    );
    match mount.read(&at, 999) {
        Err(MountError::TooLarge {
            allowed: 999,
            actual,
            ..
        }) if actual > 999 => Ok(()),
        other => Err(format!(
            "one byte more than may be: {:?}",
            other.map(|_| "read")
        )),
    }
}

/// Names with a slash, and others that mean something elsewhere, are refused, or are names as others.
fn named(make: Make<'_, '_>) -> Result<(), String> {
    for name in [
        "a/b", "../x", "/etc", "a\\b", "C:", "...", " ", "%2e%2e", "\u{2025}",
    ] {
        let mount = make(Grant::ReadWrite);
        let at = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        match mount.write(&path(&at)?, &"x".into()) {
            Ok(()) => {
                ensure_eq!(
                    names(&*mount, "/")?,
                    vec![Text::from(name)],
                    "the names after {at}"
                );
                ensure_eq!(get(&*mount, &at)?, Some("x".into()), "the value at {at}");
            }
            Err(_) => {
                let left = names(&*mount, "/")?;
                ensure_eq!(left, Vec::<Text>::new(), "after {at} was refused");
            }
        }
    }
    Ok(())
}

fn checked(make: Make<'_, '_>) -> Result<(), String> {
    let places = ["/", "/a", "/a/b", "/none/x", "/..~1x", "/ "];
    let values = [Value::Null, true.into(), 1.into(), "x".into()];
    for at in places {
        for value in &values {
            let mount = make(Grant::ReadWrite);
            put(&*mount, "/a", "x")?;
            let at = path(at)?;
            if mount.check(&at, Some(value)).is_err() {
                let written = mount.write(&at, value);
                ensure!(
                    written.is_err(),
                    "{at}: {value} was refused, and then written"
                );
            }
        }
    }
    Ok(())
}

fn denied(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::Read);
    let at = path("/a")?;
    let results = [
        ("write", mount.write(&at, &"x".into())),
        ("remove", mount.remove(&at)),
    ];
    for (what, result) in results {
        match result {
            Err(MountError::Denied { .. }) => {}
            other => return Err(format!("{what}: {other:?}")),
        }
    }
    ensure_eq!(names(&*mount, "/")?, Vec::<Text>::new(), "the names at /");
    Ok(())
}

fn threads(make: Make<'_, '_>) -> Result<(), String> {
    let mount = make(Grant::ReadWrite);
    let mount: &dyn MountProvider = &*mount;
    let texts = ["1".repeat(10_000), "2".repeat(10_000)];
    put(mount, "/a", &texts[0])?;
    std::thread::scope(|scope| {
        let writers = texts
            .iter()
            .map(|text| scope.spawn(move || (0..20).try_for_each(|_| put(mount, "/a", text))));
        let writers: Vec<_> = writers.collect();
        for _ in 0..50 {
            let value = get(mount, "/a")?.ok_or("it was gone while it was replaced")?;
            let whole = value
                .as_str()
                .is_some_and(|text| texts.iter().any(|t| t == text));
            ensure!(whole, "half of a value was read");
        }
        for writer in writers {
            writer
                .join()
                .map_err(|_| "a writer panicked".to_owned())??;
        }
        Ok(())
    })
}
