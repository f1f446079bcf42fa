//! Options, and the whole way through cargo with a bench on disk.

use super::{Bench, Options, run, taking_part};
use crate::workspace::Workspace;

#[test]
fn options_are_read_and_mistakes_named() {
    let options = Options::parse(&["--json", "a.json", "--only", "fork"]).unwrap();
    assert_eq!(options.only.as_deref(), Some("fork"));
    assert_eq!(
        options.json.as_deref(),
        Some(std::path::Path::new("a.json"))
    );
    assert_eq!(Options::parse(&[]).unwrap(), Options::default());
    for bad in [&["--only"][..], &["fork"][..], &["--jason", "x"][..]] {
        assert!(Options::parse(bad).is_err(), "{bad:?}");
    }
}

const BENCH: &str = r##"
fn main() {
    let args: Vec<String> = std::env::args().collect();
    assert!(args.iter().any(|arg| arg == "--rows"), "{args:?}");
    println!("warming up");
    for name in ["one", "two"] {
        println!(r#"{{"row":"svit-bench@1","name":"{name}","unit":"ns","ours":1,"other":2,"ratio":0.5,"target":"<= 1","ok":true}}"#);
    }
}
"##;

#[test]
fn a_bench_on_disk_is_found_run_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let manifest = |rows: &str, more: &str| {
        format!(
            "[workspace]\n[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [features]\nfast = []\nlarge = []\n\
             [package.metadata.svit]\nrows = [{rows}]\n[[bench]]\nname = \"speed\"\nharness = false\n{more}"
        )
    };
    write("src/lib.rs", "");
    write("benches/speed.rs", BENCH);
    write("Cargo.toml", &manifest("\"speed\"", ""));
    let found = || taking_part(&Workspace::load_at(folder.path()).unwrap());
    let bench = |features: &[&str]| Bench {
        package: "p".to_owned(),
        name: "speed".to_owned(),
        features: features.iter().copied().map(str::to_owned).collect(),
    };
    assert_eq!(found().unwrap(), [bench(&[])]);
    let names = |bench: &Bench, only: Option<&str>| -> Vec<String> {
        let workspace = Workspace::load_at(folder.path()).unwrap();
        let rows = run(&workspace, bench, only).unwrap();
        rows.into_iter().map(|row| row.name).collect()
    };
    assert_eq!(names(&bench(&[]), None), ["one", "two"]);
    assert_eq!(names(&bench(&[]), Some("two")), ["two"]);
    assert_eq!(names(&bench(&[]), Some("three")), [""; 0]);

    // A bench that is there only with features is run with them.
    let needs = "required-features = [\"fast\", \"large\"]\n";
    write("Cargo.toml", &manifest("\"speed\"", needs));
    write(
        "benches/speed.rs",
        &format!(
            "#[cfg(not(all(feature = \"fast\", feature = \"large\")))]\ncompile_error!(\"without\");\n{BENCH}"
        ),
    );
    assert_eq!(found().unwrap(), [bench(&["fast", "large"])]);
    assert_eq!(names(&found().unwrap()[0], None), ["one", "two"]);

    write("Cargo.toml", &manifest("\"sped\"", ""));
    assert!(found().unwrap_err().contains("`sped`"));
}
