//! Scripts found by reading the engine's source: each aims at something that it does and the language must not.
//! What the engine would do is beside each; what must come of it is a code of an error, or JSON after `=`.

use std::time::Instant;

use svit_lisp::Lisp;
use svit_tree::guest::GuestErrorKind;
use svit_value::{Value, value};

use crate::host::{World, limits, whole};

/// What the engine would do, a script, and what it must end in.
const ROWS: &[(&str, &str, &str)] = &[
    // compile.rs: specialized calls and folding of constants.
    (
        "folds (+ 1 x) into Inc, which counts past any limit",
        "(define (f n) (if (= n 100) n (f (+ 1 n)))) (define (main i) (f 0))",
        "=100",
    ),
    (
        "Inc past the largest integer makes a larger one",
        "(+ 1 9223372036854775807)",
        "conversion",
    ),
    (
        "Dec past the least integer makes a smaller one",
        "(- -9223372036854775808 1)",
        "max_integer_bits",
    ),
    ("Inc on a float", "(+ 1 1.5)", "=2.5"),
    (
        "Inc on a string is a type error without a place",
        "(let ((s \"a\")) (+ s 1))",
        "wrong_type",
    ),
    (
        "folds (- x 0) away and checks no kind",
        "(let ((s \"a\")) (- s 0))",
        "wrong_type",
    ),
    (
        "folds (+ x 0) away and checks no kind",
        "(let ((s null)) (+ s 0))",
        "wrong_type",
    ),
    (
        "folds (* x 1) away and checks no kind",
        "(let ((s '(1))) (* s 1))",
        "wrong_type",
    ),
    (
        "folds constants at compile time, past limits",
        "(* 9223372036854775807 9223372036854775807)",
        "max_integer_bits",
    ),
    (
        "folds a power at compile time",
        "(^ 2 100000000)",
        "max_integer_bits",
    ),
    (
        "folds a shift at compile time",
        "(<< 1 1000000000000)",
        "max_integer_bits",
    ),
    (
        "divides constants at compile time",
        "(/ 5 0)",
        "divide_by_zero",
    ),
    (
        "takes the remainder of constants at compile time",
        "(rem 5 0)",
        "divide_by_zero",
    ),
    (
        "folds (concat ..) of constants at compile time",
        "(length (concat \"a\" \"b\" \"c\"))",
        "=3",
    ),
    (
        "folds (= a b) of constants of two kinds to an error",
        "(= 1 \"a\")",
        "=false",
    ),
    (
        "folds a condition that is a constant",
        "(if true 1 (panic))",
        "=1",
    ),
    (
        "refuses at compile time a constant condition of another kind",
        "(if 5 1 2)",
        "wrong_type",
    ),
    (
        "compares () with JumpIfNull instead of asking",
        "(if (= input ()) 1 2)",
        "=2",
    ),
    ("makes (null x) an instruction", "(null? ())", "=false"),
    (
        "makes (not x) an instruction",
        "(if (not 5) 1 2)",
        "wrong_type",
    ),
    (
        "merges Not with a jump",
        "(let ((x 1)) (if (not (= x 2)) \"a\" \"b\"))",
        "=\"a\"",
    ),
    ("makes (id x) nothing", "(id 5)", "unknown_name"),
    (
        "makes (append l x) an instruction on its own lists",
        "(append 5 1)",
        "wrong_type",
    ),
    (
        "makes first, last, init and tail instructions",
        "(init \"\")",
        "out_of_range",
    ),
    (
        "makes (list ..) an instruction that no price counts",
        "(define (f n l) (if (= n 0) l (f (- n 1) (list l l)))) (define (main i) (length (f 30 1)))",
        "max_guest_memory",
    ),
    (
        "knows a function's own name and calls it without a look-up",
        "(define (f x) (let ((f (lambda (y) (* 10 y)))) (f x))) (define (main i) (f 2))",
        "=20",
    ),
    (
        "gives a function in a let the name of the outer one",
        "(define (f x) (if (= x 0) 0 ((lambda () (f (- x 1)))))) (define (main i) (f 50))",
        "=0",
    ),
    (
        "reads `if` as a form even if it is a parameter",
        "(define (f if) 1) (define (main i) (f 1))",
        "shadows_builtin",
    ),
    (
        "evaluates case keys as constants",
        "(case 1 ((input) 2) (else 3))",
        "=3",
    ),
    (
        "compares case keys of two kinds with an error",
        "(case \"a\" ((1) 2) (else 3))",
        "=3",
    ),
    (
        "jumps on booleans in case keys",
        "(case 5 ((true) 1) ((false) 2) (else 3))",
        "=3",
    ),
    (
        "jumps on () in case keys",
        "(case null ((()) 1) (else 2))",
        "=2",
    ),
    (
        "accepts a case without else and gives ()",
        "(case 5 ((1) 2))",
        "=null",
    ),
    (
        "accepts a cond without else and gives ()",
        "(cond ((= 1 2) 3))",
        "=null",
    ),
    (
        "takes 255 arguments and then overflows an operand",
        "(define (f :rest r) (length r)) (define (main i) (apply f (range 300)))",
        "=300",
    ),
    (
        "keeps more than 65,536 constants and overflows an operand",
        "(length '(0 1 2 3 4 5 6 7 8 9))",
        "=10",
    ),
    // compile.rs, exec.rs: parameters.
    (
        "evaluates defaults of parameters outside of any price",
        "(define (f :optional (x (f))) x) (define (main i) (f))",
        "parameter_default",
    ),
    (
        "gives () for a parameter that is not given",
        "(define (f :optional x) (null? x)) (define (main i) (f))",
        "=true",
    ),
    (
        "pairs keywords from the plain arguments",
        "(define (f a :key b) (list a b)) (define (main i) (f 1 2 3))",
        "wrong_type",
    ),
    (
        "takes an odd number of keyword arguments",
        "(define (f :key b) b) (define (main i) (apply f '(:b)))",
        "bad_keywords",
    ),
    (
        "takes a keyword twice",
        "(define (f :key b) b) (define (main i) (f :b 1 :b 2))",
        "duplicate_keyword",
    ),
    (
        "takes a keyword of no parameter",
        "(define (f :key b) b) (define (main i) (f :c 1))",
        "unknown_keyword",
    ),
    (
        "takes a keyword through apply",
        "(define (f :key b) b) (define (main i) (apply f '(:b 7)))",
        "=7",
    ),
    (
        "passes the rest as its own list",
        "(define (f :rest r) (list-push r 4)) (define (main i) (f 1 2 3))",
        "=[1,2,3,4]",
    ),
    (
        "passes a keyword as a value",
        "(define (f x) (to-string x)) (define (main i) (f :b))",
        "=\"b\"",
    ),
    (
        "applies a function to its own list only",
        "(apply + (list 1 2 3))",
        "=6",
    ),
    ("applies to a string", "(apply + \"abc\")", "wrong_type"),
    (
        "calls itself in the tail by another instruction",
        "(define (f n) (if (= n 0) 0 (call-self (- n 1)))) (define (main i) (f 5000))",
        "=0",
    ),
    (
        "applies itself in the tail by another instruction",
        "(define (f n) (if (= n 0) 0 (apply f (list (- n 1))))) (define (main i) (f 500))",
        "=0",
    ),
    ("call-self at top level", "(call-self 1)", "out_of_ticks"),
    // exec.rs: scopes and names.
    (
        "looks a global up when it is used",
        "(define a (lambda () b)) (define x (a)) (define b 1) (define (main i) x)",
        "not_yet_defined",
    ),
    (
        "lets a define in a branch change a global",
        "(if true (define x 1) 2)",
        "nested_define",
    ),
    (
        "lets a lambda outlive its scope",
        "(define f ((lambda (x) (lambda () x)) 5)) (define (main i) (f))",
        "=5",
    ),
    (
        "panics if the scope of a lambda is gone",
        "(map (lambda (f) (f)) (map (lambda (x) (lambda () x)) (range 3)))",
        "=[0,1,2]",
    ),
    (
        "interns every name for good",
        "(length (map (lambda (i) (to-string i)) (range 5000)))",
        "=5000",
    ),
    (
        "orders names by when they were seen",
        "(sort (list 'b 'a))",
        "not_comparable",
    ),
    (
        "gives a name for a definition's value",
        "(define x 1) (define (main i) (do (define y 2) 1))",
        "nested_define",
    ),
    // value.rs, rc_vec.rs.
    (
        "compares NaN with an error",
        "(< (- (* 1e308 10) (* 1e308 10)) 1)",
        "not_comparable",
    ),
    (
        "prints NaN",
        "(to-string (- (* 1e308 10) (* 1e308 10)))",
        "=\"NaN\"",
    ),
    (
        "compares -0.0 and 0.0 by bits in is_identical",
        "(= (- 0.0) 0.0)",
        "=true",
    ),
    (
        "compares a float with a large integer by rounding",
        "(= 9007199254740993 9007199254740992.0)",
        "=true",
    ),
    (
        "compares functions by identity of their code",
        "(= (lambda (x) x) (lambda (x) x))",
        "=false",
    ),
    (
        "compares a foreign value with itself",
        "(let ((m (value-map \"a\" 1))) (= m m))",
        "=true",
    ),
    (
        "measures a list again whenever it is pushed",
        "(define (f n l) (if (= n 0) (length l) (f (- n 1) l))) (define (main i) (f 20000 (range 5000)))",
        "=5000",
    ),
    (
        "drops a long chain of lists by recursion",
        "(define (f n l) (if (= n 0) 1 (f (- n 1) (list l)))) (define (main i) (f 120 1))",
        "=1",
    ),
    (
        "drops a long chain of closures by recursion",
        "(define (f n g) (if (= n 0) 1 (f (- n 1) (lambda () g)))) (define (main i) (f 1000 1))",
        "max_closure_depth",
    ),
    (
        "hashes nothing, but compares lists by recursion",
        "(define (f n l) (if (= n 0) l (f (- n 1) (list l)))) (define (main i) (= (f 120 1) (f 120 1)))",
        "=true",
    ),
    // function.rs, integer.rs, string.rs, string_fmt.rs.
    (
        "slices text in the middle of a character",
        "(slice \"é\" 0 1)",
        "=\"é\"",
    ),
    (
        "takes an element of text by byte",
        "(elt \"é\" 0)",
        "=\"é\"",
    ),
    ("joins any values", "(join 5 '(1))", "wrong_type"),
    (
        "parses a format that never ends",
        "(format \"~,,,0:d\" 1234)",
        "refused_form",
    ),
    (
        "replaces with an empty pattern for ever",
        "(replace \"aaa\" \"\" \"b\")",
        "bad_argument",
    ),
    (
        "turns a float into an integer without an end",
        "(int 1e300)",
        "max_integer_bits",
    ),
    ("floors infinity", "(floor (* 1e308 10))", "conversion"),
    (
        "turns NaN into an integer",
        "(int (- (* 1e308 10) (* 1e308 10)))",
        "not_finite",
    ),
    (
        "turns NaN into a ratio",
        "(rat (- (* 1e308 10) (* 1e308 10)))",
        "not_finite",
    ),
    (
        "negates the least integer",
        "(abs -9223372036854775808)",
        "conversion",
    ),
    (
        "divides the least integer by minus one",
        "(// -9223372036854775808 -1)",
        "conversion",
    ),
    (
        "takes the remainder of the least integer by minus one",
        "(rem -9223372036854775808 -1)",
        "=0",
    ),
    ("shifts by a negative number", "(>> 1 -1)", "out_of_range"),
    ("shifts a negative number right", "(>> -5 1)", "=-3"),
    ("the numerator of a float", "(numer 1.5)", "wrong_type"),
    (
        "a range that wraps around",
        "(range 9223372036854775806 9223372036854775807 5)",
        "=[9223372036854775806]",
    ),
    // lexer.rs, parser.rs.
    (
        "nests block comments by recursion",
        "#|#|#|#|#|#|#|#| x |#|#|#|#|#|#|#|# 7",
        "=7",
    ),
    (
        "reads #; as a comment of one form",
        "(list 1 #; 2)",
        "unbalanced",
    ),
    (
        "keeps the documentation before a form",
        ";; text\n;;; more\n7",
        "=7",
    ),
    (
        "reads a path literal",
        "(list #p\"/etc\")",
        "unknown_literal",
    ),
    ("reads characters", "(list #'x')", "no_characters"),
    ("reads raw strings with marks", "(length r#\"a\"b\"#)", "=3"),
    (
        "joins lines of a string at a backslash",
        "(length \"a\\\n   b\")",
        "=2",
    ),
    (
        "reads 1_000 and lets underscores stand anywhere",
        "(list 1_000 1__0)",
        "=[1000,10]",
    ),
    ("reads a number that is a name", "(list 1-)", "bad_number"),
    (
        "reads quasiquotes inside each other",
        "``(1 ,,2)",
        "nested_quote",
    ),
    ("splices outside of a list", "`,@(list 1)", "bad_splice"),
    // encode.rs: programs that the encoding cannot hold.
    ("encodes text with zero bytes", "(length \"\\0\\0\")", "=2"),
    (
        "encodes integers by their sign",
        "(list -1 0 1 -9223372036854775808)",
        "=[-1,0,1,-9223372036854775808]",
    ),
    (
        "encodes floats by their bits",
        "(list 5e-324 -1.5 1.7976931348623157e308)",
        "=[5e-324,-1.5,1.7976931348623157e308]",
    ),
    ("encodes keywords", "((lambda (:key a) a) :a 3)", "=3"),
];

// THREAT[TM-LISP-2]
#[test]
fn every_row_ends_as_it_says() {
    assert!(ROWS.len() >= 60);
    let lisp = Lisp::new();
    let mut wrong = Vec::new();
    for (aim, source, expected) in ROWS {
        let run = || {
            let world = World::new(&lisp, value!({"memory": {}, "lib": {}}), limits());
            (world.run(&whole(source), Value::Null), world.ticks())
        };
        let start = Instant::now();
        let (result, ticks) = run();
        assert_eq!((&result, ticks), (&run().0, run().1), "{aim}: {source}");
        assert!(
            ticks <= 1_000_000 && start.elapsed().as_secs() < 15,
            "{aim}"
        );
        let found = match &result {
            Ok(output) => format!("={}", output.to_json().unwrap()),
            Err(error) => error.code.to_string(),
        };
        if let Err(error) = &result {
            assert_ne!(error.kind, GuestErrorKind::Panic, "{aim}: {source}");
            assert_ne!(error.code.as_str(), "engine", "{aim}: {source}");
        }
        if found != *expected {
            wrong.push(format!(
                "{aim}\n  {source}\n  expected {expected}\n  found    {result:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
