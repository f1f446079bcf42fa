//! Guest languages that do not keep their contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use svit::guest::{Guest, GuestError, GuestErrorKind, GuestLimits, Host, Program};
use svit::{MemoryStore, Path, Process, Value, value};

use super::code;

const LANGUAGE: &str = "bad@1";

/// Does what its source says.
#[derive(Default)]
struct BadGuest {
    runs: AtomicUsize,
}

impl Guest for BadGuest {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn check(&self, program: &Program, _: &GuestLimits) -> Result<(), GuestError> {
        assert!(&*program.source != "panic in check", "on purpose");
        Ok(())
    }

    fn run(
        &self,
        program: &Program,
        _: Value,
        host: Arc<dyn Host>,
        _: &GuestLimits,
    ) -> Result<Value, GuestError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let path = Path::parse("/memory/x").unwrap();
        let _ = host.write(&path, 1.into());
        match &*program.source {
            "panic" => panic!("on purpose"),
            "swallow" => {
                // Goes on as if the budget were not used up.
                let _ = host.meter().charge(u64::MAX);
                Ok(Value::Null)
            }
            "flood" => {
                for n in 0..1_000_i64 {
                    let _ = host.send(n.into());
                }
                Ok(Value::Null)
            }
            "deep" => {
                let mut value = Value::Null;
                for _ in 0..200 {
                    value = value!([value]);
                }
                Ok(value)
            }
            "late" => {
                // A host that is kept beyond the run writes nowhere.
                std::thread::spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    let _ = host.write(&path, "late".into());
                    let _ = host.send("late".into());
                });
                Ok(Value::Null)
            }
            _ => Err(GuestError::new(
                GuestErrorKind::Runtime,
                "bad",
                "x".repeat(10_000_000),
            )),
        }
    }
}

fn script(source: &str) -> Value {
    value!({"source": source, "language": LANGUAGE})
}

fn builder() -> svit::ProcessBuilder {
    let mut builder = Process::builder("svit://local/guest")
        .unwrap()
        .guest(LANGUAGE, Arc::new(BadGuest::default()));
    for name in ["panic", "swallow", "flood", "deep", "late", "long"] {
        builder = builder.library(name, script(name));
    }
    builder.library(
        "good",
        "(define (main input) (write \"/memory/good\" input))",
    )
}

#[test]
fn whatever_a_guest_does_the_next_script_runs() {
    let process = builder().build().unwrap();
    for (version, (name, expected)) in (0_u64..).zip([
        ("panic", "panic"),
        ("flood", "max_messages"),
        ("deep", "max_value_depth"),
        ("long", "bad"),
    ]) {
        let ended = process.exec(format!("/lib/{name}"), Value::Null);
        assert_eq!(code(ended), expected, "{name}");
        assert_eq!(process.version(), version, "{name}");
        process.exec("/lib/good", name).unwrap();
    }
    assert_eq!(process.read("/memory/x").unwrap(), None);
    process.exec("/lib/late", Value::Null).unwrap();
    let root = process.root_digest();
    std::thread::sleep(std::time::Duration::from_millis(80));
    assert_eq!(process.root_digest(), root);
    assert_eq!(process.read("/memory/x").unwrap(), Some(1.into()));
    assert_eq!(
        code(process.write("/lib/new", script("panic in check"))),
        "panic"
    );
}

#[test]
fn a_guest_that_goes_on_without_ticks_commits_nothing() {
    let process = builder().build().unwrap();
    let ended = process.exec("/lib/swallow", Value::Null);
    assert_eq!(code(ended), "out_of_ticks");
    assert_eq!(process.version(), 0);
}

#[test]
fn the_text_of_a_guests_error_is_bounded() {
    let process = builder().build().unwrap();
    let error = process.exec("/lib/long", Value::Null).unwrap_err();
    assert!(error.to_string().len() < 5_000);
}

#[tokio::test]
async fn a_guest_that_panics_is_an_error_of_a_durable_process_too() {
    let process = MemoryStore::new()
        .create(builder().build().unwrap())
        .await
        .unwrap();
    assert_eq!(code(process.exec("/lib/panic", Value::Null).await), "panic");
    process.exec("/lib/good", 1).await.unwrap();
    assert_eq!(process.version(), 1);
}
