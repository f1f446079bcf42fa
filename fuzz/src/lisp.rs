//! Programs of Svit Lisp, from any text: a run ends, within its ticks, says the same twice, and never panics.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use svit_lisp::{LANGUAGE, Lisp, Script, standard_limits};
use svit_tree::Path;
use svit_tree::guest::{
    Guest, GuestError, GuestErrorKind, GuestLimits, Host, HostError, LogLevel, Meter, Program,
};
use svit_value::{Text, Value, value};

/// The text of a program. Without `(main` it becomes the body of one.
pub type Input<'a> = &'a str;

/// Ticks of one run: few, so that many programs run.
const BUDGET: u64 = 20_000;

/// A host with one value, which keeps what it was told.
struct World {
    meter: Meter,
    told: Mutex<Vec<String>>,
}

impl World {
    fn tell(&self, text: String) {
        self.told
            .lock()
            .expect("nothing panics under the lock")
            .push(text);
    }
}

impl Host for World {
    fn meter(&self) -> &Meter {
        &self.meter
    }
    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        Ok(path.segments().map(Text::from).collect())
    }
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        let found = value!({"x": [1, {"a": "teal"}], "n": 2.5});
        Ok(svit_tree::lookup(&found, path).cloned())
    }
    fn stat(&self, _: &Path) -> Result<Value, HostError> {
        Ok(Value::Null)
    }
    fn write(&self, path: &Path, value: Value) -> Result<(), HostError> {
        self.tell(format!("{path} {}", value.digest()));
        Ok(())
    }
    fn remove(&self, _: &Path) -> Result<bool, HostError> {
        Ok(false)
    }
    fn exec(&self, _: &Path, input: Value) -> Result<Value, HostError> {
        Ok(input)
    }
    fn log(&self, _: LogLevel, message: Text, fields: Value) -> Result<(), HostError> {
        self.tell(format!("{message} {}", fields.digest()));
        Ok(())
    }
    fn send(&self, message: Value) -> Result<(), HostError> {
        self.tell(message.digest().to_string());
        Ok(())
    }
    fn port_call(&self, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::soft("no_port", "there are no ports"))
    }
}

type Ran = (Result<Value, GuestError>, u64, Vec<String>);

fn run(program: &Program, limits: &GuestLimits) -> Ran {
    let host = Arc::new(World {
        meter: Meter::new(BUDGET),
        told: Mutex::default(),
    });
    let result = Lisp::new().run(program, value!({"a": [1, "b"]}), host.clone(), limits);
    let told = host
        .told
        .lock()
        .expect("nothing panics under the lock")
        .clone();
    (result, host.meter.used(), told)
}

/// Runs it twice.
pub fn check(text: Input<'_>) {
    let source = match text.contains("(main") {
        true => text.to_owned(),
        false => format!("(define (main input) {text})"),
    };
    let program = Script::new(source).to_program("/lib/fuzz");
    assert_eq!(program.language.as_str(), LANGUAGE);
    let limits = GuestLimits {
        max_memory: 1 << 20,
        // A run that takes longer for so few ticks is a finding.
        max_execution: Duration::from_secs(5),
        ..standard_limits()
    };
    let first = run(&program, &limits);
    assert_eq!(first, run(&program, &limits), "not the same twice");
    assert!(first.1 <= BUDGET, "{} ticks", first.1);
    let checked = Lisp::new().check(&program, &limits);
    match &first.0 {
        Ok(output) => {
            assert!(checked.is_ok());
            assert!(limits.value.check(output).is_ok());
        }
        Err(error) => {
            let unexpected = [GuestErrorKind::Panic, GuestErrorKind::Timeout];
            assert!(!unexpected.contains(&error.kind), "{error:?}");
            assert!(
                !matches!(error.code.as_str(), "engine" | "internal"),
                "{error:?}"
            );
            assert!(error.message.len() <= 1_024);
            assert!(error.kind != GuestErrorKind::Syntax || checked.is_err());
        }
    }
}
