//! The language as the spec gives it.

use svit_lisp::Lisp;
use svit_tree::guest::GuestErrorKind;
use svit_value::{Value, value};

use crate::host::{World, limits, show};

const COUNTER: &str = r#"(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (log-info! "counted" (value-map "count" count))
        (value-map "count" count))))
"#;

#[test]
fn the_counter_of_the_spec_runs_as_written() {
    let lisp = Lisp::new();
    let world = World::new(&lisp, value!({"memory": {"count": 6}}), limits());
    let output = world.run(COUNTER, value!({"by": 3})).unwrap();
    assert_eq!(output, value!({"count": 9}));
    assert_eq!(
        *world.tree.lock().unwrap(),
        value!({"memory": {"count": 9}})
    );
    assert_eq!(*world.logs.lock().unwrap(), [r#"info counted {"count":9}"#]);
    assert_eq!(world.ticks(), 43);
}

#[test]
fn a_failure_names_the_program_and_the_place() {
    let lisp = Lisp::new();
    let world = World::new(&lisp, value!({"memory": {"count": 6}}), limits());
    let error = world.run(COUNTER, value!({})).unwrap_err();
    assert_eq!(error.kind, GuestErrorKind::Runtime);
    assert_eq!(
        error.message.as_str(),
        "/lib/test.svit-script:2:42: value-get: nothing at /by; give a default as the third argument"
    );
}

#[test]
fn rows() {
    let rows: &[(&str, &str)] = &[
        ("(+ 1 2)", "3"),
        ("null", "null"),
        ("()", "[]"),
        ("(if false 1)", "null"),
        ("'(1 (2 \"a\") true null)", "[1,[2,\"a\"],true,null]"),
        ("`(1 ,(+ 1 1) ,@(list 3 4))", "[1,2,3,4]"),
        ("(map (lambda (x) (* x x)) (range 4))", "[0,1,4,9]"),
        ("(map upper (list \"a\" \"b\"))", "[\"A\",\"B\"]"),
        ("(filter (lambda (x) (> x 1)) '(1 2 3))", "[2,3]"),
        ("(fold + 0 '(1 2 3))", "6"),
        ("(sort '(3 1 2))", "[1,2,3]"),
        ("(sort '(3 1 2) >)", "[3,2,1]"),
        (
            "(sort-by (lambda (m) (map-get m \"n\")) (list (value-map \"n\" 2) (value-map \"n\" 1)))",
            "[{\"n\":1},{\"n\":2}]",
        ),
        (
            "(group-by (lambda (s) (slice s 0 1)) '(\"ab\" \"ac\" \"b\"))",
            "{\"a\":[\"ab\",\"ac\"],\"b\":[\"b\"]}",
        ),
        ("(string-format \"{} is {}\" \"x\" 1.5)", "\"x is 1.5\""),
        (
            "(safe-call (lambda (x) (/ 1 x)) 0)",
            "{\"error\":\"/: division by zero\",\"ok\":false}",
        ),
        ("(safe-call + 1 2)", "{\"ok\":true,\"value\":3}"),
        ("(apply + 1 '(2 3))", "6"),
        ("(case 2 ((1) \"a\") ((2 3) \"b\") (else \"c\"))", "\"b\""),
        ("(case \"x\" ((1) \"a\") (else \"c\"))", "\"c\""),
        ("(cond ((< 2 1) 1) ((< 1 2) 2))", "2"),
        ("(let ((a 1) (b (+ a 1))) (list a b))", "[1,2]"),
        (
            "((lambda (n) (if (= n 0) \"done\" (call-self (- n 1)))) 1000)",
            "\"done\"",
        ),
        (
            "(define (f a :optional b) (list a b)) (define (main i) (list (f 1) (f 1 2)))",
            "[[1,null],[1,2]]",
        ),
        (
            "(define (f a :rest r) (list a r)) (define (main i) (list (f 1) (f 1 2 3)))",
            "[[1,[]],[1,[2,3]]]",
        ),
        (
            "(define (f :key size) (list size)) (define (main i) (list (f) (f :size 3)))",
            "[[null],[3]]",
        ),
        (
            "(define (loop n a) (if (= n 0) a (let ((m (- n 1))) (loop m (+ a n))))) (define (main i) (loop 10000 0))",
            "50005000",
        ),
        (
            "(dispatch (dispatch-table \"add\" + \"neg\" (lambda (x) (- x))) \"neg\" 3)",
            "-3",
        ),
        (
            "(dispatch-safe (dispatch-table) \"x\")",
            "{\"error\":\"the table has no \\\"x\\\"\",\"ok\":false}",
        ),
        (
            "(json-parse \"{\\\"a\\\": [1, 2.5, null]}\")",
            "{\"a\":[1,2.5,null]}",
        ),
        (
            "(json-stringify (value-map \"b\" 1 \"a\" '(true)))",
            "\"{\\\"a\\\":[true],\\\"b\\\":1}\"",
        ),
        ("(float (/ 1 4))", "0.25"),
        ("(list (* -1.0 0.0) (- 0.0))", "[0.0,0.0]"),
        ("(* -1.0 0.0)", "0.0"),
        ("(= 1 1.0 (/ 2 2))", "true"),
        ("(= '(1 \"a\") (list 1 (concat \"a\")))", "true"),
        ("(= '(a 1) '(a 1))", "true"),
        (
            "(= (value-map \"k\" ()) (json-parse \"{\\\"k\\\":[]}\"))",
            "true",
        ),
        (
            "(list (= null ()) (= 1 \"1\") (= upper upper))",
            "[false,false,false]",
        ),
        ("(bytes \"hi\")", "{\"/\":{\"bytes\":\"aGk\"}}"),
        ("(length (concat (bytes \"hi\") #b\"\\xff\"))", "3"),
        ("*svit-version*", "\"0.1.0\""),
        (
            "(let ((map-of (lambda (k) (value-map k 1)))) (map-of \"x\"))",
            "{\"x\":1}",
        ),
        ("(list (// -7 2) (rem -7 2))", "[-4,-1]"),
        (
            "(map-entries (map-set (value-map \"a\" 1) \"b\" 2))",
            "[[\"a\",1],[\"b\",2]]",
        ),
        (
            "(input-is input) (define (input-is x) (null? x)) (define (main input) (input-is input))",
            "true",
        ),
    ];
    let mut wrong = Vec::new();
    for (source, expected) in rows {
        let found = show(source, Value::Null);
        if found != *expected {
            wrong.push(format!(
                "{source}\n  expected {expected}\n  found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn places_count_lines_and_characters() {
    let rows = [
        ("(define (main input)\n  (oops))", "2:4"),
        ("(define (main input)\r\n\t(oops))", "2:3"),
        ("(define (main input) (list \"日本\" (oops)))", "1:34"),
        (
            "; a comment\n#| and\nanother |# (define (main input) (oops))",
            "3:34",
        ),
        ("(define (main input) \"a\nb\" (oops))", "2:5"),
        ("(define (main input)\n  (list 1", "2:3"),
        ("(define (main input) 1))", "1:24"),
        (
            "(define (main input)\n  (map-get (value-map) \"a\"))",
            "2:3",
        ),
        (
            "(define (f x)\n  (if x 1 2))\n(define (main input)\n  (f 5))",
            "1:10",
        ),
        (
            "(define (main input)\n  (map (lambda (x)\n         (+ x \"a\"))\n       '(1)))",
            "3:10",
        ),
        ("(define (main input)\n  (sort '(1 \"a\")))", "2:3"),
        (
            "(define (f n) (+ 1 (f n)))\n(define (main input)\n  (f 1))",
            "1:10",
        ),
    ];
    let mut wrong = Vec::new();
    for (source, expected) in rows {
        let found = show(source, Value::Null);
        if !found.contains(&format!("/lib/test.svit-script:{expected}: ")) {
            wrong.push(format!(
                "{source}\n  expected {expected}\n  found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn structs() {
    const POINT: &str = "(struct point ((x integer) (y number))) (struct line \"Two points.\" ((from point) (to point) (note any))) ";
    for (body, expected) in [
        ("(. (new point :x 1 :y 2.5) :y)", "2.5"),
        ("(. (new point :y 2 :x 1) :x)", "1"),
        (
            "(let ((p (new point :x 1 :y 2)) (q (.= p :y 7))) (list (. p :y) (. q :y) (. q :x)))",
            "[2,7,1]",
        ),
        (
            "(map (lambda (p) (. p :x)) (list (new point :x 1 :y 2) (new point :x 3 :y 4)))",
            "[1,3]",
        ),
        (
            "(let ((l (new line :from (new point :x 1 :y 2) :to (new point :x 3 :y 4) :note \"n\"))) (. (. l :to) :y))",
            "4",
        ),
        (
            "(list (= (new point :x 1 :y 2) (new point :y 2.0 :x 1)) (= (new point :x 1 :y 2) (new point :x 2 :y 2)) (/= point line) (= point point))",
            "[true,false,true,true]",
        ),
        (
            "(let ((p (new point :x 1 :y 2))) (list (is-instance point p) (is-instance line p) (is-instance point 1) (type-of p) (type-of point)))",
            "[true,false,false,\"struct\",\"struct-def\"]",
        ),
        ("(if (is-instance point 1) 1 2)", "2"),
        ("(if (= (new point :x 1 :y 2) 3) 1 2)", "2"),
        (
            "(new point :x 1 :y 2)",
            "Conversion conversion: /lib/test.svit-script:1:127: a struct cannot leave the script; use (value-map \"field\" (. s :field))",
        ),
        ("(list (new point :x 1 :y 2))", "Conversion conversion:"),
        ("point", "Conversion conversion:"),
        (
            "(do (write \"/memory/p\" (new point :x 1 :y 2)) 1)",
            "Conversion conversion:",
        ),
        (
            "(value-map \"p\" (new point :x 1 :y 2))",
            "Conversion conversion:",
        ),
        (
            "(new point :x 1)",
            "missing_field: /lib/test.svit-script:1:127: `point` needs a value for :y",
        ),
        ("(new point :x 1 :y 2 :z 3)", "no_field: "),
        ("(new point :x 1 :x 1 :y 2)", "duplicate_keyword: "),
        (
            "(new point :x 1.5 :y 2)",
            ": the field :x of `point` is integer, found float",
        ),
        (
            "(new line :from 1 :to 1 :note 1)",
            ": the field :from of `line` is point, found integer",
        ),
        ("(new point :x 1 :y)", "bad_keywords: "),
        (
            "(new point 1 2)",
            ": a field is named by a keyword such as :x, found integer",
        ),
        (
            "(new 1 :x 1)",
            "bad_new: /lib/test.svit-script:1:132: write (new point :x 1 :y 2) after (struct point ((x integer) (y integer))) at top level",
        ),
        (
            "(. (value-map \"x\" 1) :x)",
            ".: argument 1 should be a struct value made by (new struct :field value), found map",
        ),
        (
            "(.= (new point :x 1 :y 2) :x \"a\")",
            ".=: the field :x of `point` is integer, found string",
        ),
        ("(point :x 1 :y 2)", "wrong_type: "),
        (
            "(< (new point :x 1 :y 2) (new point :x 1 :y 3))",
            "not_comparable: ",
        ),
        (
            "(struct inner ((a any)))",
            "nested_define: /lib/test.svit-script:1:127: struct stands only at top level, like define",
        ),
    ] {
        let source = format!("{POINT}(define (main input) {body})");
        let found = show(&source, Value::Null);
        assert!(
            found == expected || found.contains(expected) && !expected.is_empty(),
            "{body}\n{found}\n{expected}"
        );
    }
    for (top, expected) in [
        ("(struct)", "bad_struct: "),
        ("(struct p)", "bad_struct: "),
        ("(struct p (x))", "bad_struct: "),
        ("(struct p ((x)))", "bad_struct: "),
        ("(struct p ((x integer y)))", "bad_struct: "),
        ("(struct 1 ())", "expected_name: "),
        ("(struct list ())", "shadows_builtin: "),
        ("(struct main ((x any)))", "defined_twice: "),
        ("(struct p ((x any) (x any)))", "defined_twice: "),
        (
            "(struct p ((x money)))",
            "unknown_kind: /lib/test.svit-script:1:15: `money` is no kind; write any, null, boolean,",
        ),
        ("(struct p ((x f)))", "unknown_kind: "),
    ] {
        let source = format!("{top} (define (f) 1) (define (main input) 1)");
        let found = show(&source, Value::Null);
        assert!(found.contains(expected), "{top}\n{found}");
    }
    // Used before its definition has run.
    let early = "(define a (new p :x 1)) (struct p ((x any))) (define (main input) 1)";
    assert!(show(early, Value::Null).contains("not_yet_defined: "));
}
