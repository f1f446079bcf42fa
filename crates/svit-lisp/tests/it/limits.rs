//! Ticks, limits, and the scripts that try to get round them.

use std::time::Instant;

use svit_lisp::Lisp;
use svit_tree::guest::{GuestError, GuestErrorKind, GuestLimits};
use svit_value::{Value, value};

use crate::alone::{alone, resident};
use crate::host::{World, limits, whole};

fn run(source: &str, limits: GuestLimits) -> (Result<Value, GuestError>, u64) {
    run_with(source, limits, 1_000_000)
}

fn run_with(source: &str, limits: GuestLimits, ticks: u64) -> (Result<Value, GuestError>, u64) {
    let world = World::with_ticks(
        &Lisp::new(),
        value!({"memory": {}, "lib": {}}),
        limits,
        ticks,
    );
    let result = world.run(&whole(source), Value::Null);
    (result, world.ticks())
}

/// Helpers that many hostile scripts use: doubling and nesting.
const PRE: &str = r#"
(define (dbl s n) (if (= n 0) s (dbl (concat s s) (- n 1))))
(define (nest n x) (if (= n 0) x (nest (- n 1) (list x))))
(define (wrap n x) (if (= n 0) x (wrap (- n 1) (lambda () x))))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (spin n) (spin (+ n 1)))
"#;

fn with_pre(body: &str) -> String {
    format!("{PRE}(define (main input) {body})")
}

fn killers() -> Vec<(&'static str, String, &'static str)> {
    let globals: String = (0..200)
        .map(|i| format!("(define g{i} (dbl \"x\" 18))"))
        .collect();
    let names: String = (0..170_000).map(|i| format!("n{i:x} ")).collect();
    let some_names: String = (0..9_000).map(|i| format!("n{i:x} ")).collect();
    let chain: String = (1..40)
        .map(|i| format!("(define a{i} (list a{} a{}))", i - 1, i - 1))
        .collect();
    let concat_chain: String = (1..40)
        .map(|i| format!("(define a{i} (concat a{} a{}))", i - 1, i - 1))
        .collect();
    let macro_bomb: String = (1..40)
        .map(|i| format!("(macro (m{i}) `(do (m{}) (m{})))", i - 1, i - 1))
        .collect();
    vec![
        ("a million parentheses", "(".repeat(1_000_000), "max_script_bytes"),
        ("parentheses within the size", "(".repeat(60_000), "max_syntax_depth"),
        ("quotes", format!("{}a", "'".repeat(60_000)), "max_syntax_depth"),
        ("170,000 names", format!("'({names})"), "max_script_bytes"),
        ("names within the size", format!("'({some_names})"), "max_guest_names"),
        ("a large power", "(^ 10 1000000)".into(), "max_integer_bits"),
        ("a large power of one", "(^ 1 4000000000)".into(), ""),
        ("a large shift", "(<< 1 4000000000)".into(), "max_integer_bits"),
        ("a define that captures itself", "(let ((g 1)) (define (g) (lambda () g)))".into(), "nested_define"),
        ("macro bomb", format!("(macro (m0) 1){macro_bomb}(m39)"), "refused_form"),
        ("format that hangs", "(format \"~,,,0:d\" 1234)".into(), "refused_form"),
        ("format that recurses", "(format \"~@?\" \"~:*~@?\")".into(), "refused_form"),
        ("const chain", "(const a0 \"xxxxxxxxxx\")".into(), "refused_form"),
        ("list chain", format!("(define a0 (list 1 2)) {chain} (define (main i) (= a39 a39))"), "max_guest_memory"),
        ("text chain", format!("(define a0 \"xxxxxxxxxx\") {concat_chain} (define (main i) 1)"), "max_guest_memory"),
        ("a string joined ten thousand times", with_pre("(join (dbl \"s\" 15) (map (lambda (i) \"\") (range 10000)))"), "max_guest_memory"),
        ("a list joined by apply", with_pre("(apply join (dbl \"s\" 15) (map (lambda (i) \"\") (range 2000)))"), "max_guest_memory"),
        ("safe calls in safe calls", "(define (f n) (safe-call f (+ n 1))) (define (main i) (f 0))".into(), "max_reentry"),
        ("deep recursion", with_pre("(deep 2000)"), "max_call_stack"),
        ("mutual recursion", "(define (a n) (b n)) (define (b n) (a n)) (define (main i) (a 1))".into(), "max_call_stack"),
        ("endless loop", with_pre("(spin 0)"), "out_of_ticks"),
        ("endless lambda", "((lambda () (call-self)))".into(), "out_of_ticks"),
        ("endless apply", "(define (f :rest r) (apply f r)) (define (main i) (f 1 2))".into(), "out_of_ticks"),
        ("exponential recursion", "(define (f n) (if (= n 0) 0 (+ (f (- n 1)) (f (- n 1))))) (define (main i) (f 60))".into(), "out_of_ticks"),
        ("endless loop in a safe call", with_pre("(safe-call spin 0)"), "out_of_ticks"),
        ("memory in a safe call", with_pre("(safe-call dbl \"x\" 60)"), "max_guest_memory"),
        ("call stack in a safe call", with_pre("(safe-call deep 2000)"), "max_call_stack"),
        ("endless comparison in sort", with_pre("(sort (range 10) (lambda (a b) (spin 0)))"), "out_of_ticks"),
        ("a comparison that is never right", "(length (sort (range 100) (lambda (a b) true)))".into(), ""),
        ("deeply nested lists", with_pre("(nest 100000 1)"), "value_too_large"),
        ("lists nested to the depth, compared", with_pre("(= (nest 126 1) (nest 126 1))"), ""),
        ("lists nested to the depth, printed", with_pre("(length (to-string (nest 100 1)))"), ""),
        ("output nested too deep", with_pre("(nest 100 1)"), "output_too_large"),
        ("deeply nested closures", with_pre("(wrap 100000 1)"), "max_closure_depth"),
        ("closures in lists in closures", "(define (f n x) (if (= n 0) x (f (- n 1) (list (lambda () x))))) (define (main i) (f 100000 1))".into(), "max_closure_depth"),
        ("wide closures", "(define (f n x) (if (= n 0) x (let ((a x) (b x)) (f (- n 1) (lambda () (list a b)))))) (define (main i) (f 60 1))".into(), "max_closure_values"),
        ("names in lists, nested", "(define (f n x) (if (= n 0) x (f (- n 1) (list 'a x)))) (define (main i) (f 100000 1))".into(), "max_closure_depth"),
        ("memory in globals", format!("{PRE}{globals}(define (main i) 1)"), "max_guest_memory"),
        ("memory in parameter defaults", "(define (f :optional (x (f))) x) (define (main i) (f))".into(), "parameter_default"),
        ("a growing string", "(define (f s) (f (concat s s))) (define (main i) (f \"x\"))".into(), "max_guest_memory"),
        ("a growing list", "(define (f s) (f (concat s s))) (define (main i) (f '(1)))".into(), "max_guest_memory"),
        ("a list that grows by one", "(define (f s) (f (list-push s 1))) (define (main i) (f ()))".into(), "max_guest_memory"),
        ("a map that grows", "(define (f m n) (f (map-set m (to-string n) n) (+ n 1))) (define (main i) (f (value-map) 0))".into(), "max_guest_memory"),
        ("a list of itself", "(define (f s) (f (list s s))) (define (main i) (f '(1)))".into(), "max_guest_memory"),
        ("a large range", "(range 100000000)".into(), "out_of_ticks"),
        ("a huge range", "(range -9223372036854775807 9223372036854775807)".into(), "out_of_ticks"),
        ("ranges kept", "(define (f n l) (f (+ n 1) (list-push l (range 5000)))) (define (main i) (f 0 ()))".into(), "max_guest_memory"),
        ("replace that amplifies", with_pre("(replace (dbl \"a\" 14) \"a\" (dbl \"b\" 14))"), "out_of_ticks"),
        ("split that amplifies", with_pre("(length (split (dbl \"a\" 18) \"\"))"), "max_guest_memory"),
        ("format that amplifies", with_pre("(let ((x (dbl \"y\" 20))) (length (string-format \"{}{}{}{}{}{}{}{}\" x x x x x x x x)))"), "max_guest_memory"),
        ("json that amplifies", with_pre("(json-parse (concat \"[\" (concat (dbl \"[],\" 16) \"1]\")))"), "max_guest_memory"),
        ("escapes that amplify", with_pre("(json-stringify (dbl \"\\u{1}\" 21))"), "max_guest_memory"),
        ("ratios that grow", "(define (h n a) (h (+ n 1) (+ a (/ 1 n)))) (define (main i) (h 1 0))".into(), "max_integer_bits"),
        ("squares that grow", "(define (f n) (f (* n n))) (define (main i) (f 3))".into(), "max_integer_bits"),
        ("division by zero", "(/ 1 0)".into(), "divide_by_zero"),
        ("division of floats by zero", "(/ 1.0 0)".into(), "divide_by_zero"),
        ("remainder of a ratio by zero", "(rem (/ 1 2) 0)".into(), "divide_by_zero"),
        ("least integer by minus one", "(// (- 0 9223372036854775807 1) -1)".into(), "conversion"),
        ("a tiny float as a ratio", "(rat 5e-324)".into(), "max_integer_bits"),
        ("a huge float as an integer", "(int 1e308)".into(), "max_integer_bits"),
        ("infinity", "(* 1e308 10.0)".into(), "conversion"),
        ("a ratio as output", "(/ 1 3)".into(), "conversion"),
        ("a large integer as output", "(+ 9223372036854775807 1)".into(), "conversion"),
        ("a name as output", "'a".into(), "conversion"),
        ("a name in a list as output", "'(1 a)".into(), "conversion"),
        ("a function as output", "main".into(), "conversion"),
        ("a built-in as output", "(list upper)".into(), "conversion"),
        ("a function written to the tree", "(write \"/memory/f\" (lambda () 1))".into(), "conversion"),
        ("a write past the limits", with_pre("(write \"/memory/x\" (dbl \"x\" 21))"), "value_too_large"),
        ("calling a number", "((identity 5) 1)".into(), "wrong_type"),
        ("a condition that is no boolean", "(if (identity 5) 1 2)".into(), "wrong_type"),
        ("order of names", "(< 'a 'b)".into(), "names_have_no_order"),
        ("order of names at run time", "(let ((a 'x)) (< a a))".into(), "not_comparable"),
        ("sort of names", "(sort '(b a))".into(), "not_comparable"),
        ("sort of a mix", "(sort '(1 \"a\"))".into(), "not_comparable"),
        ("shadowing a built-in", "(let ((map 1)) map)".into(), "shadows_builtin"),
        ("redefining a built-in", "(define (upper x) x) (define (main i) 1)".into(), "shadows_builtin"),
        ("a parameter that shadows", "(define (f list) list) (define (main i) 1)".into(), "shadows_builtin"),
        ("an internal name", "(%site)".into(), "unknown_name"),
        ("defining an internal name", "(define (%map f) f) (define (main i) 1)".into(), "shadows_builtin"),
        ("an internal value", "(list %acc)".into(), "unknown_name"),
        ("no main", "1 (mainly)".into(), "unknown_name"),
        ("main without a parameter", "(define (main) 1)".into(), "no_main"),
        ("main that is a value", "(define main 1) (define x (main))".into(), "no_main"),
        ("use", "(use random (random))".into(), "refused_form"),
        ("print", "(println \"x\")".into(), "refused_form"),
        ("struct", "(struct P ((x integer)))".into(), "nested_define"),
        ("a NUL outside strings", "(list \u{0} 1)".into(), "bad_character"),
        ("an unclosed string", "(list \"abc)".into(), "unclosed_string"),
        ("a bad escape", "\"\\q\"".into(), "bad_escape"),
        ("an integer literal of a thousand digits", "9".repeat(1_000), "integer_too_large"),
        ("used before its definition", "(define a (+ b 1)) (define b 1) (define (main i) a)".into(), "not_yet_defined"),
        ("an unbalanced comma", "(list ,x)".into(), "unbalanced_comma"),
        ("nested quasiquotes", "`(a `(b ,c))".into(), "nested_quote"),
        ("a panic", "(panic \"no\")".into(), "panic"),
        ("a bad path", "(read \"memory\")".into(), "bad_path"),
        ("no access", "(write \"/system/x\" 1)".into(), "read_only"),
        ("no port", "(port-call \"none\")".into(), "no_port"),
        ("too many arguments by apply", with_pre("(apply + (range 10000))"), "max_value_stack"),
        ("a very long error", with_pre("(panic (dbl \"x\" 16))"), "panic"),
        ("odd keyword", "(define (f :key a) a) (define (main i) (f :b 1))".into(), "unknown_keyword"),
        ("keyword twice", "(define (f :key a) a) (define (main i) (f :a 1 :a 2))".into(), "duplicate_keyword"),
        ("map over a number", "(map upper 5)".into(), "wrong_type"),
        ("map with no function", "(map 5 '(1))".into(), "wrong_type"),
        ("group by a list", "(group-by (lambda (x) ()) '(1))".into(), "wrong_type"),
    ]
}

// THREAT[TM-LISP-1]
#[test]
fn every_killer_ends_in_a_clean_error() {
    alone(
        "limits::every_killer_ends_in_a_clean_error",
        every_killer_ends,
    );
}

fn every_killer_ends() {
    let before = resident();
    let mut wrong = Vec::new();
    for (name, source, expected) in killers() {
        let start = Instant::now();
        let (result, ticks) = run(&source, limits());
        let (again, ticks_again) = run(&source, limits());
        if result != again || ticks != ticks_again {
            wrong.push(format!("{name}: not the same twice"));
        }
        let found = match &result {
            Ok(_) => String::new(),
            Err(error) => {
                assert!(error.message.len() <= 1_024, "{name}: a long message");
                assert_ne!(error.kind, GuestErrorKind::Panic, "{name}: {error}");
                error.code.to_string()
            }
        };
        if found != expected {
            wrong.push(format!("{name}: expected {expected}, found {result:?}"));
        }
        let took = start.elapsed().as_millis();
        if took > 15_000 {
            wrong.push(format!("{name}: took {took} ms"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let grown = resident().saturating_sub(before) >> 20;
    assert!(grown < 48, "resident memory grew by {grown} MiB");
}

#[test]
fn a_budget_of_exactly_n_passes_and_one_less_fails() {
    let sources = [
        "(fold + 0 (map (lambda (x) (* x x)) (range 50)))",
        "(sort (map (lambda (i) (rem (* i 7919) 101)) (range 60)) <)",
        "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (define (main i) (f 12))",
        "(join \",\" (map to-string (range 100)))",
        "(json-stringify (json-parse \"[1,2,{\\\"a\\\":[3]}]\"))",
        "(safe-call (lambda () (panic \"x\")))",
    ];
    for source in sources {
        let (result, ticks) = run(source, limits());
        result.unwrap();
        let budget = |ticks| run_with(source, limits(), ticks);
        budget(ticks).0.unwrap();
        let (failed, used) = budget(ticks - 1);
        assert_eq!(
            failed.unwrap_err().kind,
            GuestErrorKind::OutOfTicks,
            "{source}"
        );
        assert_eq!(used, ticks - 1, "{source}");
        for less in [0, 1, ticks / 2] {
            assert_eq!(
                budget(less).0.unwrap_err().kind,
                GuestErrorKind::OutOfTicks,
                "{source}"
            );
        }
    }
}

#[test]
fn the_wall_clock_ends_a_run_and_waits_do_not_count() {
    let short = || GuestLimits {
        max_execution: std::time::Duration::from_millis(100),
        ..limits()
    };
    let (result, _) = run_with(&with_pre("(spin 0)"), short(), u64::MAX);
    assert_eq!(result.unwrap_err().kind, GuestErrorKind::Timeout);
    for wait in [
        "(port-call \"slow\" 1)",
        "(exec \"/ports/slow\" 1)",
        "(exec \"/lib/waits\" 1)",
    ] {
        let waits = "(define (main input) (do (port-call \"slow\" input) (length (range 100))))";
        let tree = value!({"memory": {}, "lib": {"waits": {"source": waits}}});
        let world = World::new(&Lisp::new(), tree, short());
        let source = format!("(do {wait} (length (map identity (range 100))))");
        let result = world.run(&whole(&source), Value::Null);
        assert_eq!(result.unwrap(), Value::from(100), "{wait}");
    }
}

#[test]
fn a_run_that_waits_is_not_run_again_and_can_be_cancelled() {
    use std::sync::atomic::Ordering::Relaxed;
    use svit_tree::guest::Host;
    let world = || World::new(&Lisp::new(), value!({"memory": {}}), limits());
    let calls = |world: &World| world.port_calls.load(Relaxed);
    let wait = "(do (log-info! \"before\") (safe-call port-call \"slow\" 1) (log-info! \"after\") (length (range 1000)))";

    let waited = world();
    assert_eq!(
        waited.run(&whole(wait), Value::Null).unwrap(),
        Value::from(1_000)
    );
    assert_eq!((calls(&waited), waited.logs.lock().unwrap().len()), (1, 2));

    // Cancelled while it waits: its ticks are taken away, and what the port then answers is of no use.
    let cancelled = world();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| cancelled.run(&whole(wait), Value::Null));
        while calls(&cancelled) == 0 {
            std::thread::yield_now();
        }
        cancelled.meter().charge(u64::MAX).unwrap_err();
        run.join().unwrap()
    });
    assert_eq!(result.unwrap_err().kind, GuestErrorKind::OutOfTicks);
    assert_eq!(
        (calls(&cancelled), cancelled.logs.lock().unwrap().len()),
        (1, 1)
    );

    // Or the host answers the wait itself.
    let gone = world();
    let error = gone.run(&whole("(safe-call port-call \"gone\")"), Value::Null);
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.is_hard()),
        (GuestErrorKind::Cancelled, true)
    );
}

// THREAT[TM-LISP-4]
#[test]
fn a_panic_ends_one_run_and_changes_no_other() {
    let lisp = Lisp::new();
    let good =
        "(define (f x) (lambda (y) (+ x y))) (define (main input) ((f 1) (length (range 100))))";
    let run = |source: &str| {
        let inner = "(define (main input) (port-call \"broken\"))";
        let tree = value!({"memory": {}, "lib": {"inner": {"source": inner}}});
        let world = World::new(&lisp, tree, limits());
        let result = world.run(&whole(source), Value::Null);
        (result.map_err(|error| error.is_hard()), world.ticks())
    };
    let before = run(good);
    assert_eq!(before.0, Ok(Value::from(101)));
    for source in [
        "(port-call \"broken\")",
        "(safe-call port-call \"broken\")",
        "(exec \"/lib/inner\")",
        "(map (lambda (x) (safe-call exec \"/lib/inner\")) '(1 2))",
    ] {
        let (result, ticks) = run(source);
        assert_eq!(result, Err(true), "{source}");
        // What was used until then is charged.
        assert!(ticks > 50, "{source}: {ticks}");
        assert_eq!(run(good), before, "after {source}");
    }
}

// THREAT[TM-LISP-6]
#[test]
fn nested_scripts_share_the_budget_and_hard_failures_pass_through() {
    let tree = value!({"memory": {}, "lib": {
        "twice": {"source": "(define (main input) (* 2 input))"},
        "spin": {"source": "(define (f n) (f (+ n 1))) (define (main input) (f 0))"},
        "self": {"source": "(define (main input) (exec \"/lib/self\" input))"},
        "bad": {"source": "(define (main input)\n  (map-get input \"x\"))"},
    }});
    let run = |source: &str| {
        let world = World::new(&Lisp::new(), tree.clone(), limits());
        (world.run(&whole(source), Value::Null), world.ticks())
    };
    assert_eq!(run("(exec \"/lib/twice\" 21)").0.unwrap(), Value::from(42));
    assert_eq!(
        run("(safe-call exec \"/lib/spin\")").0.unwrap_err().kind,
        GuestErrorKind::OutOfTicks
    );
    assert!(
        run("(safe-call exec \"/lib/self\" 1)")
            .0
            .unwrap_err()
            .is_hard()
    );
    let caught = run("(safe-call exec \"/lib/bad\" (value-map))").0.unwrap();
    assert_eq!(
        caught.get("error").and_then(Value::as_str).unwrap(),
        "/lib/bad.svit-script:2:3: map-get: no key \"x\"; give a default as the third argument"
    );
}

#[test]
fn the_hard_maximum_of_nesting_fits_the_stack() {
    let wide = GuestLimits {
        max_syntax_depth: 256,
        max_source_bytes: 1 << 20,
        ..limits()
    };
    for (open, close) in [
        ("(list ", ")"),
        ("(lambda () ", ")"),
        ("(if true ", " 2)"),
        ("(let ((a 1)) ", ")"),
        ("(cond (true ", "))"),
        ("(case 1 ((1) ", "))"),
        ("`(1 ,", ")"),
        ("(and true ", ")"),
        ("((lambda (x) ", ") 1)"),
    ] {
        let depth = 250 / (open.matches(['(', '`', ',']).count() - open.matches(')').count());
        let source = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let (result, _) = run(
            &format!("(define (main input) (do {source} 7))"),
            wide.clone(),
        );
        match result {
            Ok(value) => assert_eq!(value, Value::from(7), "{open}"),
            Err(error) => assert_ne!(error.kind, GuestErrorKind::Panic, "{open}: {error}"),
        }
    }
}

#[test]
fn guests_on_several_threads_do_not_disturb_one_another() {
    let lisp = Lisp::new();
    let source = whole("(fold + 0 (map (lambda (x) (* x x)) (range 100)))");
    let results: Vec<_> = std::thread::scope(|scope| {
        let start = |_| {
            scope.spawn(|| {
                let mut seen = Vec::new();
                for _ in 0..20 {
                    let world = World::new(&lisp, value!({"memory": {}}), limits());
                    seen.push((world.run(&source, Value::Null).unwrap(), world.ticks()));
                }
                seen
            })
        };
        let threads: Vec<_> = (0..4).map(start).collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    assert!(results.iter().all(|r| *r == results[0]));
}

#[test]
fn the_deepest_nesting_of_runs_and_safe_calls_fits_the_stack() {
    let source = "(define (f n) (if (= n 0) (exec \"/lib/self\" 1) (safe-call f (- n 1)))) (define (main input) (f 15))";
    let tree = value!({"memory": {}, "lib": {"self": {"source": (source)}}});
    let world = World::new(&Lisp::new(), tree, limits());
    world
        .max_depth
        .store(64, std::sync::atomic::Ordering::Relaxed);
    let error = world.run(source, Value::Null).unwrap_err();
    assert_eq!(error.code.as_str(), "max_exec_depth");
}

const REENTERS: &str =
    "(define (f n) (if (= n 0) (send! (port-call \"where\" 1)) (safe-call f (- n 1))))
    (define (main input) (f 15))";

#[test]
fn a_run_takes_half_of_the_stack_that_is_kept_for_it_at_most() {
    let measured = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(|| {
            let mark = 0_u8;
            let above = std::ptr::from_ref(&mark).addr() as i64;
            let world = World::new(&Lisp::new(), value!({}), limits());
            world.run(REENTERS, Value::Null).unwrap();
            above - world.sent.lock().unwrap()[0].as_int().unwrap()
        })
        .unwrap()
        .join()
        .unwrap();
    // It ran in place, and even with unoptimized frames there is room for as much again.
    assert!((1..512 << 10).contains(&measured), "{measured} bytes");
}

#[test]
fn a_thread_with_a_small_stack_runs_everything() {
    let small = std::thread::Builder::new().stack_size(192 << 10);
    let thread = small.spawn(|| {
        run(REENTERS, limits()).0.unwrap();
        let nested = format!("{}1{}", "(+ ".repeat(60), ")".repeat(60));
        run(&nested, limits()).0.unwrap();
        svit_lisp::check_source(&whole(&nested), &limits()).unwrap();
        run("(safe-call port-call \"broken\" 1)", limits())
            .0
            .unwrap_err();
        run("(+ 1 2)", limits()).0.unwrap()
    });
    assert_eq!(thread.unwrap().join().unwrap(), Value::from(3));
}

#[test]
fn runs_inside_a_run_share_its_memory() {
    let hold = "(define (grow xs n) (if (= n 0) xs (grow (list-push xs \"0123456789\") (- n 1))))";
    let inner = format!("{hold} (define (main n) (length (grow () n)))");
    let tree = value!({"memory": {}, "lib": {"inner": {"source": inner}}});
    let run = |own: u32, inner: u32| {
        let source = format!(
            "{hold} (define (main input)
               (let ((held (grow () {own})) (n (safe-call exec \"/lib/inner\" {inner})))
                 (list (length held) n)))"
        );
        let world = World::new(&Lisp::new(), tree.clone(), limits());
        world
            .run(&source, Value::Null)
            .map_err(|e| e.code.to_string())
    };
    // Each alone fits, and so do small ones together.
    run(40_000, 1).unwrap();
    run(1, 40_000).unwrap();
    run(20_000, 20_000).unwrap();
    assert_eq!(run(40_000, 40_000), Err("max_guest_memory".into()));
    // The count is put back.
    run(1, 40_000).unwrap();
}

#[test]
fn runs_inside_runs_hold_together_no_more_than_the_limit() {
    let source = "(define (grow xs n) (if (= n 0) xs (grow (list-push xs \"0123456789\") (- n 1))))
        (define (main depth)
          (let ((held (grow () 15000)))
            (if (= depth 0) 1 (+ 1 (exec \"/lib/inner\" (- depth 1)) (* 0 (length held))))))";
    let tree = value!({"memory": {}, "lib": {"inner": {"source": source}}});
    let run = |depth: i64| {
        let world = World::new(&Lisp::new(), tree.clone(), limits());
        let result = world.run(source, Value::from(depth));
        result.map_err(|e| e.code.to_string())
    };
    assert_eq!(run(2), Ok(value!(3)));
    assert_eq!(run(12), Err("max_guest_memory".into()));
}
