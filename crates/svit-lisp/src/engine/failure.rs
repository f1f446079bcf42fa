//! Engine errors in our words: owned, short, and without the engine's own rendering, which can panic.

use ketos::{Error, ExecError, RestrictError, Scope};
use svit_tree::guest::GuestErrorKind;
use svit_value::Text;

use super::emit::plain_name;
use super::run::{Run, Soft};
use super::value::kind;

/// The failure that an engine error stands for; none if the run is stopped for good.
pub(crate) fn soften(run: &Run, error: &Error, scope: &Scope) -> Option<Soft> {
    let fault = run.fault.borrow_mut().take();
    if run.is_stopped() {
        return None;
    }
    if let (Error::ExecError(ExecError::Panic(None)), Some(failure)) = (error, fault) {
        return Some(failure);
    }
    let (code, message) = match error {
        Error::ExecError(error) => exec(error, scope),
        Error::RestrictError(error) => {
            let (limit, allowed, unit) = restrict(run, *error);
            run.limit(limit, allowed, unit);
            return None;
        }
        Error::CompileError(_) => (
            "too_complex",
            "the program is too complex to compile".into(),
        ),
        _ => ("engine", "the engine refused the program".into()),
    };
    Some(Soft {
        kind: GuestErrorKind::Runtime,
        code: Text::from(code),
        message,
        host: None,
    })
}

fn restrict(run: &Run, error: RestrictError) -> (&'static str, u64, &'static str) {
    let limits = &run.limits;
    match error {
        RestrictError::ExecutionTimeExceeded => (
            "max_execution_millis",
            limits.max_execution.as_millis() as u64,
            "ms",
        ),
        RestrictError::CallStackExceeded => (
            "max_call_stack",
            limits.max_call_stack.into(),
            "nested calls",
        ),
        RestrictError::ValueStackExceeded => {
            ("max_value_stack", limits.max_value_stack.into(), "values")
        }
        RestrictError::NamespaceSizeExceeded => {
            ("max_guest_names", limits.max_names.into(), "names")
        }
        RestrictError::MemoryLimitExceeded => ("max_guest_memory", limits.max_memory, "bytes"),
        RestrictError::IntegerLimitExceeded => {
            ("max_integer_bits", limits.max_integer_bits.into(), "bits")
        }
        RestrictError::MaxSyntaxNestingExceeded => {
            ("max_syntax_depth", limits.max_syntax_depth.into(), "levels")
        }
    }
}

fn exec(error: &ExecError, scope: &Scope) -> (&'static str, String) {
    let name = |name: ketos::Name| scope.with_name(name, |text| plain_name(text).to_owned());
    match error {
        ExecError::ArityError {
            name: function,
            expected,
            found,
        } => {
            let function =
                function.map_or_else(|| "the function".to_owned(), |n| format!("`{}`", name(n)));
            (
                "wrong_arity",
                format!("{function} takes {expected}, found {found}"),
            )
        }
        ExecError::NameError(n) => (
            "not_yet_defined",
            format!("`{}` is used before its definition has run", name(*n)),
        ),
        ExecError::TypeError {
            expected,
            found,
            value,
        } => {
            let found = value.as_ref().map_or(*found, kind);
            match *expected {
                "bool" => (
                    "wrong_type",
                    format!(
                        "a condition must be true or false, found {found}; write (null? x) or (= a b)"
                    ),
                ),
                "function" => ("wrong_type", format!("a {found} cannot be called")),
                expected => ("wrong_type", format!("expected {expected}, found {found}")),
            }
        }
        ExecError::DivideByZero => ("divide_by_zero", "division by zero".into()),
        ExecError::Overflow => ("overflow", "the number is too large for this".into()),
        ExecError::UnrecognizedKeyword(n) => (
            "unknown_keyword",
            format!("no parameter is called :{}", name(*n)),
        ),
        ExecError::DuplicateKeyword(n) => {
            ("duplicate_keyword", format!(":{} is given twice", name(*n)))
        }
        ExecError::OddKeywordParams => (
            "bad_keywords",
            "after the plain arguments stand pairs such as :name value".into(),
        ),
        ExecError::TypeMismatch { lhs, rhs } => (
            "wrong_type",
            format!("a {lhs} and a {rhs} do not go together"),
        ),
        ExecError::CompareNaN => ("not_comparable", "NaN has no order".into()),
        other => ("engine", format!("{other}")),
    }
}
