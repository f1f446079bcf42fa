//! The language against the contract that any guest language keeps.

use svit_lisp::Lisp;
use svit_testkit::conformance::{GuestScripts, guest};

fn main_is(body: &str) -> String {
    format!("(define (main input) {body})")
}

fn scripts() -> GuestScripts {
    let recurse = "(define (deep n) (+ 1 (deep n)))";
    let spin = "(define (spin n) (spin (+ n 1)))";
    let catch =
        "(define (caught result) (if (result-ok? result) (result-value result) \"caught\"))";
    let catching = |more: &str, call: &str| {
        format!("{catch} {more} (define (main input) (caught (safe-call (lambda () {call}))))")
    };
    GuestScripts {
        echo: main_is("input"),
        broken: "(define (main input)\n  (oops input".into(),
        sum: "(define (sum n total) (if (= n 0) total (sum (- n 1) (+ total n))))
              (define (main input) (sum input 0))"
            .into(),
        spin: format!(
            "(define (spin n) (spin (rem (+ n 1) 1000))) {}",
            main_is("(spin 0)")
        ),
        recurse: format!("{recurse} {}", main_is("(deep 0)")),
        hoard: format!(
            "(define (more xs) (more (list-push xs \"0123456789012345678901234567890123456789\"))) {}",
            main_is("(more ())")
        ),
        unstorable: main_is("(lambda () 1)"),
        ask: main_is(
            "(read \"/memory/a\") (log-info! \"read\") (write \"/memory/b\" input) \
             (remove \"/memory/c\") (send! input) (port-call \"echo\" input)",
        ),
        fail: main_is("(do (write \"/memory/a\" 1) (panic \"no\"))"),
        denied: main_is("(write \"/denied\" 1)"),
        catch_denied: catching("", "(write \"/denied\" 1)"),
        catch_hard: catching("", "(write \"/hard\" 1)"),
        catch_spin: catching(spin, "(spin 0)"),
        catch_recurse: catching(recurse, "(deep 0)"),
        exec: main_is("(exec \"/lib/inner\" input)"),
        catch_exec: catching("", "(exec \"/lib/inner\" 1)"),
        reaching: [
            "(println 1)",
            "(random 5)",
            "(use fs (read-file))",
            "(now)",
            "(open \"/etc/passwd\")",
            "(env \"HOME\")",
        ]
        .map(main_is)
        .into(),
    }
}

#[test]
fn it_keeps_the_contract_of_a_guest_language() {
    guest(Lisp::new, &scripts()).unwrap();
}
