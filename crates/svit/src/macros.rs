//! Scripts that are checked when Rust compiles, and run in one line of a test.

use svit_value::{Map, Value};

use crate::{Activation, Process, Result, Script};

/// A [`Script`](crate::Script) that is checked when Rust compiles, with the same front end and the
/// standard limits. What is wrong with it is an error of the Rust build, at the script's own line.
///
/// Three forms: the script itself, as far as Rust can lex it (`(quote (1 2))`, not `'(1 2)`); its
/// text; or a file, relative to the folder of the crate's `Cargo.toml`.
///
/// ```
/// use svit::{Process, svit_script, value};
///
/// let counter = svit_script! {
///     (define (main input)
///       (let ((count (+ (read "/memory/count") (value-get input "/by"))))
///         (do (write "/memory/count" count)
///             count)))
/// };
/// let process = Process::builder("svit://local/demo")?
///     .memory("count", 6)
///     .library("counter", counter)
///     .library("echo", svit_script!("(define (main input) input)"))
///     .build()?;
/// assert_eq!(process.exec("/lib/counter", value!({"by": 3}))?.output, 9.into());
/// # Ok::<(), svit::Error>(())
/// ```
///
/// ```compile_fail
/// svit::svit_script! { (define (main input) (raed "/memory/count")) };
/// ```
#[macro_export]
macro_rules! svit_script {
    ($($script:tt)*) => {
        $crate::__private::script!(($crate) $($script)*)
    };
}

/// Runs one script in a fresh process, and gives the [`Activation`](crate::Activation) or the error.
///
/// `svit_script_test!(script, input)`, or with application values that stand below `/memory`:
/// `svit_script_test!(script, input, memory: {"count": 6})`.
///
/// ```
/// use svit::{svit_script, svit_script_test, value};
///
/// let counter = svit_script! {
///     (define (main by) (write "/memory/count" (+ (read "/memory/count") by)))
/// };
/// let activation = svit_script_test!(counter.clone(), 3, memory: {"count": 6})?;
/// assert_eq!(activation.changed[0].to_string(), "/memory/count");
///
/// // Without the value there is nothing to add to, and nothing is committed.
/// assert!(svit_script_test!(counter, 3).is_err());
/// # Ok::<(), svit::Error>(())
/// ```
#[macro_export]
macro_rules! svit_script_test {
    ($script:expr, $input:expr $(,)?) => {
        $crate::__private::run($script, $crate::value!({}), $input)
    };
    ($script:expr, $input:expr, memory: { $($memory:tt)* } $(,)?) => {
        $crate::__private::run($script, $crate::value!({ $($memory)* }), $input)
    };
}

/// A fresh process with these values, and one run of the script in it.
#[doc(hidden)]
pub fn run(script: Script, memory: Value, input: impl Into<Value>) -> Result<Activation> {
    let memory = memory.as_map().map_or_else(Map::new, Map::clone);
    let process = Process::builder("svit://local/script-test")?.library("script", script);
    let process = memory.iter().fold(process, |process, (name, value)| {
        process.memory(name, value.clone())
    });
    Ok(process.build()?.exec("/lib/script", input)?)
}
