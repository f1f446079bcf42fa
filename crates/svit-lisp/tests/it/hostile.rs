//! More scripts that try to break out, confuse the front end, or reach the engine past it.

use svit_lisp::Lisp;
use svit_tree::guest::GuestErrorKind;
use svit_value::{Value, value};

use crate::alone::{alone, resident};
use crate::host::{World, limits, whole};

/// A script and what it ends in: a code of an error, or JSON after `=`.
const ROWS: &[(&str, &str)] = &[
    // Names of the engine.
    ("($main 1)", "unknown_name"),
    ("(!read \"/memory\")", "unknown_name"),
    ("(list #ticks)", "unknown_name"),
    ("(list #null)", "unknown_name"),
    ("(let ((#ticks 1)) #ticks)", "=1"),
    ("(let ((.0 1)) (list .0 input))", "=[1,null]"),
    ("(let (('x 1)) x)", "expected_name"),
    ("(set-module-doc \"x\")", "refused_form"),
    ("(export (main))", "refused_form"),
    ("(const a 1)", "refused_form"),
    ("(eprintln \"x\")", "refused_form"),
    ("(path \"x\")", "refused_form"),
    ("(random)", "refused_form"),
    ("(is 'integer 1)", "unknown_name"),
    ("(new input)", "bad_new"),
    ("(eval '(+ 1 2))", "unknown_name"),
    ("(compile 1)", "unknown_name"),
    ("(inf)", "unknown_name"),
    ("(nan)", "unknown_name"),
    // Sizes that no 64 bits hold.
    (
        "(define (grow n l) (if (= n 0) l (grow (- n 1) (list l l l l l l l l upper)))) (define (main i) (= (grow 30 1) (grow 30 1)))",
        "out_of_ticks",
    ),
    (
        "(define (grow n l) (if (= n 0) l (grow (- n 1) (list l l l l l l l l upper)))) (define (main i) (list (length (grow 30 1)) (= (grow 30 1) 1 (grow 30 1))))",
        "out_of_ticks",
    ),
    (
        "(define (grow n l) (if (= n 0) l (grow (- n 1) (list l l l l l l l l)))) (define (main i) (= (grow 30 1) (grow 30 1)))",
        "max_guest_memory",
    ),
    (
        "(define (grow n l) (if (= n 0) l (grow (- n 1) (value-map \"a\" l \"b\" l \"c\" l \"d\" l)))) (define (main i) (map-keys (grow 60 1)))",
        "max_guest_memory",
    ),
    // Structs.
    (
        "(struct box ((v any))) (define (nest n s) (if (= n 0) s (nest (- n 1) (new box :v s)))) (define (main i) (type-of (nest 100 1)))",
        "max_closure_depth",
    ),
    (
        "(struct box ((v any))) (define (nest n s) (if (= n 0) s (nest (- n 1) (new box :v s)))) (define (main i) (= (nest 30 1) (nest 30 1)))",
        "=true",
    ),
    (
        "(struct box ((v any))) (define (keep n l) (if (= n 0) l (keep (- n 1) (list l (new box :v l))))) (define (main i) (keep 100 ()))",
        "max_closure_depth",
    ),
    (
        "(struct two ((a any) (b any))) (define (dbl n s) (if (= n 0) s (dbl (- n 1) (new two :a s :b s)))) (define (main i) (= (dbl 30 1) (dbl 30 1)))",
        "out_of_ticks",
    ),
    (
        "(struct p ((x any))) (define (main i) (safe-call (lambda () (. (new p :x 1) :y))))",
        "={\"error\":\".: `p` has no field :y\",\"ok\":false}",
    ),
    (
        "(struct p ((x any))) (define (main i) (apply . (list 1)))",
        "wrong_arity",
    ),
    (
        "(struct p ((x p))) (define (main i) (new p :x null))",
        "wrong_type",
    ),
    (
        "(struct p ((x any))) (define (main i) (map p '(1)))",
        "wrong_type",
    ),
    (
        "(struct p ((x any))) (define (main i) (value-map \"p\" p))",
        "conversion",
    ),
    (
        "(struct p ((x any))) (define (main i) (json-stringify (new p :x 1)))",
        "conversion",
    ),
    (
        "(struct p ((x any))) (define (main i) (log-info! \"x\" (new p :x 1)))",
        "conversion",
    ),
    (
        "(struct p ((x any))) (define (main i) (to-string (new p :x 1)))",
        "conversion",
    ),
    (
        "(struct p ((x any))) (struct p ((y any))) (define (main i) 1)",
        "defined_twice",
    ),
    (
        "(struct %p ((x any))) (define (main i) 1)",
        "shadows_builtin",
    ),
    ("(define (f new) (+ new 1)) (define (main i) (f 1))", "=2"),
    // Forms in the wrong place or shape.
    ("(if)", "bad_if"),
    ("(if 1 2 3 4)", "bad_if"),
    ("(let)", "bad_let"),
    ("(let x)", "bad_let"),
    ("(let ((x)) x)", "bad_let"),
    ("(let (x 1) x)", "bad_let"),
    ("(let ((x 1)))", "empty_body"),
    ("(lambda)", "bad_lambda"),
    ("(lambda x)", "bad_lambda"),
    ("(lambda x x)", "bad_lambda"),
    ("(lambda (x x) x)", "bad_parameters"),
    ("(lambda (:rest) 1)", "bad_parameters"),
    ("(lambda (:rest a b) 1)", "bad_parameters"),
    ("(lambda (:what a) 1)", "bad_parameters"),
    ("(lambda (:key a :optional b) 1)", "bad_parameters"),
    ("(lambda ((a 1)) a)", "parameter_default"),
    ("(lambda (1) 1)", "expected_name"),
    ("(cond)", "bad_cond"),
    ("(cond 1)", "bad_cond"),
    ("(cond (else 1) (true 2))", "bad_cond"),
    ("(cond ())", "bad_cond"),
    ("(case)", "bad_case"),
    ("(case 1 (2 3))", "bad_case"),
    ("(case 1 (else 2) ((1) 3))", "bad_case"),
    ("(quote)", "bad_quote"),
    ("(quote 1 2)", "bad_quote"),
    ("(apply +)", "bad_apply"),
    ("(apply)", "bad_apply"),
    ("(do)", "empty_body"),
    ("(define x 1)", "nested_define"),
    ("(let ((f (lambda () (define g 1)))) 1)", "nested_define"),
    ("(1 2 3)", "not_a_function"),
    ("(\"a\" 1)", "not_a_function"),
    ("(:key input)", "not_a_function"),
    ("('(1 2) 0)", "not_a_function"),
    ("(() 1)", "not_a_function"),
    ("((do 1) 2)", "not_a_function"),
    ("((if true 1 2) 3)", "wrong_type"),
    ("(null 1)", "refused_form"),
    ("(input)", "wrong_type"),
    ("(if else 1 2)", "unknown_name"),
    ("(list lambda)", "unknown_name"),
    ("(list if)", "unknown_name"),
    ("call-self", "unknown_name"),
    ("`,@input", "bad_splice"),
    ("`(1 ,@2)", "wrong_type"),
    (",input", "unbalanced_comma"),
    ("`(a 'b)", "nested_quote"),
    ("''a", "nested_quote"),
    // Definitions.
    (
        "(define a 1) (define a 2) (define (main i) a)",
        "defined_twice",
    ),
    ("(define (main i) 1) (define (main i) 2)", "defined_twice"),
    ("(define) (define (main i) 1)", "bad_define"),
    ("(define x) (define (main i) 1)", "bad_define"),
    ("(define x 1 2) (define (main i) 1)", "bad_define"),
    ("(define () 1) (define (main i) 1)", "bad_define"),
    ("(define 5 1) (define (main i) 1)", "expected_name"),
    ("(define (f)) (define (main i) 1)", "empty_body"),
    ("(define (if x) x) (define (main i) 1)", "shadows_builtin"),
    ("(define null 1) (define (main i) 1)", "shadows_builtin"),
    ("(define (f x) (f)) (define (main i) (f 1))", "wrong_arity"),
    ("(define (main i) (g 1)) (define (g a b) a)", "wrong_arity"),
    ("(define (main i) ((lambda (a b) a) 1))", "wrong_arity"),
    ("(define x (+ 1 \"a\")) (define (main i) x)", "wrong_type"),
    (
        "(define (f) (f)) (define x (f)) (define (main i) x)",
        "out_of_ticks",
    ),
    // Literals and text.
    ("#'a'", "no_characters"),
    ("#p\"x\"", "unknown_literal"),
    ("[1 2]", "brackets"),
    ("{\"a\" 1}", "braces"),
    ("1/2", "no_ratio_literals"),
    ("1.2.3", "bad_number"),
    ("12abc", "bad_number"),
    ("0x", "bad_number"),
    ("0xg", "bad_number"),
    ("1e999", "bad_number"),
    ("0x7fffffffffffffff", "=9223372036854775807"),
    ("-9223372036854775808", "=-9223372036854775808"),
    ("99999999999999999999", "integer_too_large"),
    ("\"\\u{110000}\"", "bad_escape"),
    ("\"\\u{d800}\"", "bad_escape"),
    ("\"\\u{}\"", "bad_escape"),
    ("\"\\u{1f600}\"", "=\"\u{1f600}\""),
    ("#b\"\\xg0\"", "bad_escape"),
    ("#b\"é\"", "bad_bytes"),
    ("r\"a", "unclosed_string"),
    ("#| open", "unclosed_comment"),
    ("#| a #| b |# c |# 7", "=7"),
    (": x", "bad_name"),
    // Kinds at run time.
    ("(+ 1 \"2\")", "wrong_type"),
    ("(+ null 1)", "wrong_type"),
    ("(concat \"a\" 1)", "wrong_type"),
    ("(concat '(1) \"a\")", "wrong_type"),
    ("(map-get '(1) \"a\")", "wrong_type"),
    ("(map-set (value-map) 1 2)", "wrong_type"),
    ("(value-map \"a\")", "odd_arguments"),
    ("(dispatch-table \"a\")", "odd_arguments"),
    ("(dispatch-table \"a\" 1)", "wrong_type"),
    ("(list-get '(1) -1)", "out_of_range"),
    ("(list-get '(1) 1)", "out_of_range"),
    ("(list-set '(1) 9223372036854775807 1)", "out_of_range"),
    ("(slice \"abc\" 2 1)", "out_of_range"),
    ("(slice \"日本\" 0 3)", "out_of_range"),
    ("(slice \"日本\" 1)", "=\"本\""),
    ("(tail ())", "out_of_range"),
    ("(last ())", "out_of_range"),
    ("(first \"\")", "out_of_range"),
    ("(range 0 10 0)", "bad_step"),
    ("(range 10 0 -4)", "=[10,6,2]"),
    ("(replace \"a\" \"\" \"b\")", "bad_argument"),
    ("(split \"aé\" \"\")", "=[\"a\",\"é\"]"),
    ("(string-format \"{}\")", "bad_format"),
    ("(string-format \"x\" 1)", "bad_format"),
    ("(string-format \"{0}\" 1)", "bad_format"),
    ("(string-format \"{\" 1)", "bad_format"),
    ("(parse-int \"1.5\")", "parse_error"),
    ("(parse-float \"inf\")", "parse_error"),
    ("(parse-float \"1e999\")", "parse_error"),
    ("(json-parse \"{\")", "bad_json"),
    ("(json-parse \"\\\"\\\\ud800\\\"\")", "bad_json"),
    ("(json-stringify main)", "conversion"),
    ("(to-string main)", "conversion"),
    ("(value-get (value-map) \"x\")", "bad_path"),
    ("(value-get (value-map) \"/x/../y\")", "bad_path"),
    ("(read \"/memory/~2\")", "bad_path"),
    ("(remove \"/\")", "bad_edit"),
    ("(exec \"/lib/none\")", "no_script"),
    ("(exec \"/memory\" main)", "conversion"),
    ("(send! 'x)", "conversion"),
    ("(log-info! 5)", "wrong_type"),
    ("(log-info! \"x\" main)", "conversion"),
    ("(sort '(1 2) 5)", "wrong_type"),
    ("(sort '(1 2) (lambda (a b) 5))", "wrong_type"),
    ("(filter (lambda (x) x) '(1))", "wrong_type"),
    ("(map (lambda () 1) '(1))", "wrong_arity"),
    ("(fold + 0 '(1 \"a\"))", "wrong_type"),
    ("(apply upper '(\"a\" \"b\"))", "wrong_arity"),
    ("(apply + 5)", "wrong_type"),
    ("(bit-and 1.5 1)", "wrong_type"),
    ("(<< 1 -1)", "out_of_range"),
    ("(^ 2 (- 0 1))", "bad_exponent"),
    ("(^ 2.0 2)", "wrong_type"),
    ("(max 1 \"a\")", "wrong_type"),
    ("(result-value (result-error \"x\"))", "not_ok"),
    ("(result-ok? 5)", "wrong_type"),
    ("(safe-call 5)", "wrong_type"),
    (
        "(safe-call (lambda (x) x))",
        "={\"error\":\"the function takes 1 argument, found 0\",\"ok\":false}",
    ),
    (
        "(safe-call (lambda () main))",
        "={\"error\":\"a function cannot leave the script\",\"ok\":false}",
    ),
    (
        "(safe-call safe-call safe-call safe-call 1)",
        "={\"ok\":true,\"value\":{\"ok\":true,\"value\":{\"error\":\"safe-call: expected a function, found integer\",\"ok\":false}}}",
    ),
];

// THREAT[TM-LISP-3]
#[test]
fn every_row_ends_as_it_says() {
    let mut wrong = Vec::new();
    for (source, expected) in ROWS {
        let world = World::new(&Lisp::new(), value!({"memory": {}, "lib": {}}), limits());
        let result = world.run(&whole(source), Value::Null);
        let found = match &result {
            Ok(output) => format!("={}", output.to_json().unwrap()),
            Err(error) => error.code.to_string(),
        };
        if found != *expected {
            wrong.push(format!(
                "{source}\n  expected {expected}\n  found    {result:?}"
            ));
        }
        if let Err(error) = &result {
            assert_ne!(error.kind, GuestErrorKind::Panic, "{source}");
            assert!(
                error.message.starts_with("/lib/test.svit-script:"),
                "{error}"
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// THREAT[TM-LISP-7]
#[test]
fn a_failed_run_leaves_nothing_for_the_next() {
    let lisp = Lisp::new();
    let run = || {
        let world = World::new(&lisp, value!({"memory": {"n": 1}}), limits());
        let source = "(define (main input) (write \"/memory/n\" (+ 1 (read \"/memory/n\"))))";
        let result = world.run(source, Value::Null);
        (result, world.ticks())
    };
    let before = run();
    for (source, _) in ROWS {
        let world = World::new(&lisp, value!({"memory": {}, "lib": {}}), limits());
        let _ = world.run(&whole(source), Value::Null);
        assert_eq!(run(), before, "after {source}");
    }
}

#[test]
fn runs_leave_no_memory_behind() {
    alone("hostile::runs_leave_no_memory_behind", || {
        let lisp = Lisp::new();
        let run = |times: usize| {
            for _ in 0..times {
                let world = World::new(&lisp, value!({"memory": {}}), limits());
                let source = "(define t (dispatch-table \"a\" (lambda (x) (list x t2)))) (define t2 (map (lambda (i) (lambda () i)) (range 100))) (define (main input) (length t2))";
                world.run(source, Value::Null).unwrap();
            }
        };
        run(100);
        let before = resident();
        run(1_000);
        let grown = resident().saturating_sub(before) >> 10;
        assert!(grown < 4_096, "{grown} KiB");
    });
}
