//! Each rule of the layers, broken on purpose in a made-up workspace.

use std::path::PathBuf;

use super::check;
use super::sources::stale;
use super::table::{By, FORBIDDEN, ForbiddenText, LAYERS, TESTKIT, Who};
use crate::finding::{Finding, brief};
use crate::workspace::{Dependency, Package, TextFile, Workspace};

/// A workspace in which every crate of the table uses all it may, and nothing else.
fn clean() -> Workspace {
    let packages = LAYERS.iter().map(|layer| {
        let dependencies = layer.may_use.iter().map(|name| Dependency {
            optional: name.ends_with('?'),
            ..depends(name.trim_end_matches('?'))
        });
        Package {
            name: layer.name.to_owned(),
            manifest_path: PathBuf::from(format!("/made-up/crates/{}/Cargo.toml", layer.name)),
            dependencies: dependencies.collect(),
            inherits_lints: true,
            ..Package::default()
        }
    });
    Workspace {
        root: PathBuf::from("/made-up"),
        packages: packages.collect(),
        unsafe_code: Some("forbid".to_owned()),
    }
}

fn depends(name: &str) -> Dependency {
    Dependency {
        name: name.to_owned(),
        req: "*".to_owned(),
        path: name.starts_with("svit").then(|| PathBuf::from(name)),
        ..Dependency::default()
    }
}

fn dev(name: &str) -> Dependency {
    Dependency {
        kind: Some("dev".to_owned()),
        ..depends(name)
    }
}

fn package<'a>(workspace: &'a mut Workspace, name: &str) -> &'a mut Package {
    let mut packages = workspace.packages.iter_mut();
    packages.find(|package| package.name == name).unwrap()
}

fn with(name: &str, dependency: Dependency) -> Vec<Finding> {
    let mut workspace = clean();
    package(&mut workspace, name).dependencies.push(dependency);
    check(&workspace, &[])
}

fn reaching(name: &str, reached: &str) -> Vec<Finding> {
    let mut workspace = clean();
    package(&mut workspace, name)
        .reach
        .insert(reached.to_owned());
    check(&workspace, &[])
}

fn with_text(path: &str, text: &str) -> Vec<Finding> {
    let file = TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    check(&clean(), &[file])
}

fn rules(findings: &[Finding]) -> Vec<&str> {
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn the_made_up_workspace_is_clean() {
    assert_eq!(check(&clean(), &[]), []);
}

#[test]
fn a_crate_may_not_use_one_above_it_or_beside_it() {
    for (lower, upper) in [
        ("svit-value", "svit-tree"),
        ("svit-tree", "svit-txn"),
        ("svit-query", "svit-lisp"),
        ("svit-lisp", "svit-txn"),
        ("svit-txn", "svit-store-turso"),
        ("svit-txn", "svit-query"),
        ("svit-store-turso", "svit-lisp"),
        ("svit-model", "svit-tree"),
        ("svit-ports", "svit-txn"),
        ("svit-loop", "svit-store-turso"),
        ("svit", "lampa"),
        ("lampa", "svit-txn"),
        ("xtask", "svit-value"),
        ("svit-value", "svit-not-in-the-table"),
    ] {
        let findings = with(lower, depends(upper));
        let place = format!("crates/{lower}/Cargo.toml");
        assert_eq!(
            brief(&findings),
            [("above", place.as_str())],
            "{lower} uses {upper}"
        );
    }
}

#[test]
fn every_pair_of_the_table_is_judged_by_the_table() {
    for lower in LAYERS {
        for upper in LAYERS.iter().filter(|upper| upper.name != lower.name) {
            let allowed = lower.may_use.contains(&upper.name);
            let findings = with(lower.name, depends(upper.name));
            assert_eq!(
                findings.is_empty(),
                allowed,
                "{} uses {}",
                lower.name,
                upper.name
            );
        }
    }
}

#[test]
fn a_seam_that_is_optional_must_stay_optional() {
    for (name, other) in [
        ("svit-txn", "svit-lisp"),
        ("svit-lisp", "svit-query"),
        ("svit", "svit-store-turso"),
    ] {
        assert_eq!(
            rules(&with(name, depends(other))),
            ["above"],
            "{name} {other}"
        );
    }
    for (name, other) in [
        ("svit-query", "tantivy"),
        ("svit-query", "jaq-core"),
        ("svit-model", "genai"),
        ("svit-model", "reqwest"),
        ("svit-ports", "reqwest"),
    ] {
        assert_eq!(
            rules(&with(name, depends(other))),
            ["optional"],
            "{name} {other}"
        );
        let optional = Dependency {
            optional: true,
            ..depends(other)
        };
        assert_eq!(with(name, optional), [], "{name} {other}");
    }
}

#[test]
fn the_testkit_is_for_tests_and_by_path() {
    assert_eq!(with("svit-value", dev(TESTKIT)), []);
    assert_eq!(rules(&with("svit-value", depends(TESTKIT))), ["above"]);
    let versioned = Dependency {
        req: "^0.1".to_owned(),
        ..dev(TESTKIT)
    };
    assert_eq!(rules(&with("svit-value", versioned)), ["above"]);
    let registered = Dependency {
        path: None,
        ..dev(TESTKIT)
    };
    assert_eq!(rules(&with("svit-value", registered)), ["above"]);
    assert_eq!(rules(&with("svit-tree", dev("svit-lisp"))), ["above"]);
}

#[test]
fn every_forbidden_third_party_is_seen() {
    for rule in FORBIDDEN {
        for layer in LAYERS.iter().filter(|layer| rule.who.has(layer.name)) {
            for pattern in rule.what {
                let name = pattern.replace('*', "x");
                let findings = match rule.by {
                    By::Naming => with(layer.name, depends(&name)),
                    By::Reaching => reaching(layer.name, &name),
                };
                assert!(
                    findings
                        .iter()
                        .any(|finding| finding.text.contains(rule.why)),
                    "{} {name}: {findings:?}",
                    layer.name
                );
            }
        }
    }
}

#[test]
fn the_invariants_of_the_architecture_are_in_the_table() {
    for (name, reached) in [
        ("svit-txn", "libsql"),
        ("svit-txn", "tokio"),
        ("svit-txn", "reqwest"),
        ("svit-value", "tokio"),
        ("svit-value", "getrandom"),
        ("svit-tree", "async-channel"),
        ("svit-tree", "ketos"),
        ("svit-loop", "libsql-sys"),
        ("svit-lisp", "hyper"),
    ] {
        assert_eq!(
            rules(&reaching(name, reached)),
            ["forbidden"],
            "{name} {reached}"
        );
    }
    for (name, named) in [
        ("svit-txn", "ketos"),
        ("svit", "ketos"),
        ("svit", "libsql"),
        ("svit-testkit", "rusqlite"),
        ("svit-loop", "reqwest"),
        ("lampa", "hyper-util"),
    ] {
        assert!(
            rules(&with(name, depends(named))).contains(&"forbidden"),
            "{name} {named}"
        );
    }
    assert_eq!(reaching("svit-txn", "ketos"), []);
    assert_eq!(reaching("svit-txn", "tokiox"), []);
    assert_eq!(with("svit-store-turso", depends("libsql")), []);
    assert_eq!(with("svit-store-turso", dev("tokio")), []);
}

#[test]
fn the_lowest_layers_use_only_what_their_row_names() {
    assert_eq!(rules(&with("svit-value", depends("base64"))), ["few"]);
    assert_eq!(rules(&with("svit-tree", depends("serde_json"))), ["few"]);
    assert_eq!(with("svit-value", dev("imbl")), []);
    assert_eq!(with("svit-value", depends("blake3")), []);
    assert_eq!(with("svit-query", depends("base64")), []);
}

#[test]
fn a_runtime_may_not_be_asked_for_sockets() {
    let net = Dependency {
        features: vec!["rt".to_owned(), "net".to_owned()],
        ..depends("tokio")
    };
    assert_eq!(rules(&with("svit-loop", net.clone())), ["forbidden"]);
    assert_eq!(with("svit-ports", net), []);
}

#[test]
fn a_feature_may_not_name_what_the_crate_does_not_know() {
    for (name, feature) in [
        ("svit-txn", "turso"),
        ("svit-loop", "persistence-turso"),
        ("svit-tree", "lisp"),
        ("svit-txn", "tokio-runtime"),
    ] {
        let mut workspace = clean();
        let features = &mut package(&mut workspace, name).features;
        features.insert(feature.to_owned(), Vec::new());
        assert_eq!(
            rules(&check(&workspace, &[])),
            ["feature"],
            "{name} {feature}"
        );
    }
}

#[test]
fn lints_are_inherited_and_unsafe_is_forbidden() {
    let mut workspace = clean();
    package(&mut workspace, "svit-loop").inherits_lints = false;
    workspace.unsafe_code = Some("deny".to_owned());
    let findings = check(&workspace, &[]);
    let expected = [
        ("unsafe", "Cargo.toml"),
        ("lints", "crates/svit-loop/Cargo.toml"),
    ];
    assert_eq!(brief(&findings), expected);
}

#[test]
fn a_package_without_a_place_in_the_layers_is_refused() {
    let mut workspace = clean();
    workspace.packages.push(Package {
        name: "svit-new".to_owned(),
        manifest_path: PathBuf::from("/made-up/crates/svit-new/Cargo.toml"),
        inherits_lints: true,
        ..Package::default()
    });
    assert_eq!(rules(&check(&workspace, &[])), ["unknown"]);
}

#[test]
fn an_example_package_may_use_the_facade_alone() {
    let mut workspace = clean();
    workspace.packages.push(Package {
        name: "custom-store".to_owned(),
        manifest_path: PathBuf::from("/made-up/examples/custom_store/Cargo.toml"),
        inherits_lints: true,
        dependencies: vec![depends("svit"), dev(TESTKIT)],
        ..Package::default()
    });
    assert_eq!(check(&workspace, &[]), []);
    let example = package(&mut workspace, "custom-store");
    example.dependencies.push(depends("svit-txn"));
    assert_eq!(rules(&check(&workspace, &[])), ["above"]);
}

#[test]
fn code_may_not_name_a_crate_above_not_even_behind_a_cfg() {
    let hidden = "#[cfg(feature = \"x\")]\nuse svit_txn::Process;\n";
    let findings = with_text("crates/svit-tree/src/path.rs", hidden);
    assert_eq!(
        brief(&findings),
        [("above", "crates/svit-tree/src/path.rs:2")]
    );
    let prose = "//! Implemented by `svit_txn::Process`.\n";
    assert_eq!(with_text("crates/svit-tree/src/path.rs", prose), []);
    let below = "use svit_value::Value;\n";
    assert_eq!(with_text("crates/svit-tree/src/path.rs", below), []);
    let testkit = "use svit_testkit::conformance;\n";
    assert_eq!(with_text("crates/svit-tree/tests/it/main.rs", testkit), []);
    assert_eq!(
        rules(&with_text("crates/svit-tree/src/path.rs", testkit)),
        ["above"]
    );
}

#[test]
fn a_module_with_a_crates_name_is_not_the_crate() {
    for text in [
        "mod svit;\npub use svit::Svit;\n",
        "use crate::svit::Svit;\nfn f(x: super::svit::Svit) {}\n",
    ] {
        assert_eq!(with_text("crates/svit-loop/src/lib.rs", text), [], "{text}");
    }
    let facade = "use crate::svit::Svit;\nuse svit::Value;\n";
    let findings = with_text("crates/svit-loop/src/turn.rs", facade);
    assert_eq!(
        brief(&findings),
        [("above", "crates/svit-loop/src/turn.rs:2")]
    );
}

#[test]
fn library_code_may_not_print_or_look_around() {
    for (name, line, rule) in [
        ("svit-loop", "println!(\"x\");", "prints"),
        ("svit-loop", "eprint!(\"x\");", "prints"),
        ("svit", "dbg!(1);", "prints"),
        ("svit-txn", "let out = std::io::stdout();", "prints"),
        (
            "svit-loop",
            "let key = std::env::var(\"K\");",
            "environment",
        ),
        ("svit-loop", "use std::env;", "environment"),
        ("svit-loop", "let key = env::var_os(\"K\");", "environment"),
        (
            "svit-loop",
            "tracing_subscriber::fmt().init();",
            "subscriber",
        ),
        ("svit-tree", "async fn f() {}", "pure"),
        ("svit-query", "let f = std::fs::File::open(p);", "pure"),
        ("svit-value", "let t = Instant::now();", "clock"),
        (
            "svit-value",
            "static SEEN: AtomicU64 = AtomicU64::new(0);",
            "global",
        ),
        (
            "svit-tree",
            "pub(crate) static A: OnceLock<u8> = OnceLock::new();",
            "global",
        ),
        ("svit-tree", "thread_local! { static A: u8 = 1 }", "global"),
        ("svit-loop", "let s = TcpStream::connect(a);", "socket"),
        ("svit-loop", "use libsql::Connection;", "sql"),
        ("svit-txn", "use ketos::Interpreter;", "engine"),
    ] {
        let text = format!("//! Page.\n\nfn f() {{\n{line}\n}}\n");
        let path = format!("crates/{name}/src/one.rs");
        let found = with_text(&path, &text);
        assert_eq!(rules(&found), [rule], "{name}: {line}: {found:?}");
        assert_eq!(found[0].place, format!("{path}:4"));
    }
}

#[test]
fn tests_benches_examples_docs_and_the_console_are_free_to_print() {
    let text = "//! println!()\n\nfn f() { println!(\"{:?}\", std::env::var(\"K\")); }\n";
    for path in [
        "crates/svit-loop/tests/it/main.rs",
        "crates/svit-loop/benches/b.rs",
        "crates/svit/examples/quickstart.rs",
        "crates/svit-loop/src/turn/tests.rs",
        "crates/lampa/src/main.rs",
        "xtask/src/main.rs",
    ] {
        assert_eq!(with_text(path, text), [], "{path}");
    }
    let inline = "//! Page.\n/// println!(\"in docs\")\nfn f() {}\n#[cfg(test)]\nmod tests { fn g() { println!() } }\n";
    assert_eq!(with_text("crates/svit-loop/src/one.rs", inline), []);
}

#[test]
fn transitions_know_the_guest_language_in_one_file() {
    let file = |path: &str| TextFile {
        path: path.to_owned(),
        text: "use svit_lisp::Lisp;".to_owned(),
    };
    let one = file("crates/svit-txn/src/guest.rs");
    let two = file("crates/svit-txn/src/process.rs");
    let test = file("crates/svit-txn/tests/it/main.rs");
    assert_eq!(check(&clean(), &[one.clone(), test]), []);
    assert_eq!(rules(&check(&clean(), &[one, two])), ["seam"]);
}

#[test]
fn an_exception_that_is_not_needed_any_more_is_reported() {
    const RULES: &[ForbiddenText] = &[ForbiddenText {
        rule: "prints",
        words: &["println!"],
        who: Who::AllBut(&[]),
        why: "made up",
        except: &[
            ("a.rs", "prints"),
            ("b.rs", "used to print"),
            ("c.rs", "is gone"),
        ],
    }];
    let file = |path: &str, text: &str| TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let texts = [file("a.rs", "println!()"), file("b.rs", "// println!()")];
    let findings = stale(RULES, &texts);
    assert_eq!(brief(&findings), [("stale", "b.rs"), ("stale", "c.rs")]);
}

/// The whole way, through cargo itself: a workspace on disk whose `svit-txn` reaches a crate called
/// `tokio` through another, behind a feature.
#[test]
fn a_workspace_on_disk_with_a_hidden_runtime_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let manifest = |name: &str, rest: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lints]\nworkspace = true\n{rest}"
        )
    };
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\nexclude = [\"outside\"]\n\
         [workspace.lints.rust]\nunsafe_code = { level = \"forbid\", priority = 1 }\n",
    );
    for (path, name, rest) in [
        ("crates/svit-value", "svit-value", ""),
        (
            "crates/svit-tree",
            "svit-tree",
            "[dependencies]\nsvit-value = { path = \"../svit-value\" }\n",
        ),
        (
            "crates/svit-txn",
            "svit-txn",
            "[dependencies]\nsvit-tree = { path = \"../svit-tree\" }\n\
             innocent = { path = \"../../outside/innocent\", optional = true }\n[features]\nmore = [\"dep:innocent\"]\n",
        ),
    ] {
        write(&format!("{path}/Cargo.toml"), &manifest(name, rest));
        write(&format!("{path}/src/lib.rs"), "//! Page.\n");
    }
    for (name, rest) in [
        (
            "innocent",
            "[dependencies]\ntokio = { path = \"../tokio\" }\n",
        ),
        ("tokio", ""),
    ] {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}"
        );
        write(&format!("outside/{name}/Cargo.toml"), &text);
        write(&format!("outside/{name}/src/lib.rs"), "");
    }
    let mut workspace = Workspace::load_at(folder.path()).unwrap();
    workspace.load_reach().unwrap();
    assert_eq!(workspace.unsafe_code.as_deref(), Some("forbid"));
    let findings = check(&workspace, &[]);
    assert_eq!(
        brief(&findings),
        [("forbidden", "crates/svit-txn/Cargo.toml")]
    );
    assert!(
        findings[0].text.starts_with("svit-txn reaches tokio"),
        "{findings:?}"
    );
}
