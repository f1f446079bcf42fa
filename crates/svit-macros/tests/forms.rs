//! The three forms give the script as it was written.

/// As the facade wraps it.
macro_rules! svit_script {
    ($($tokens:tt)*) => { svit_macros::script!((svit_lisp) $($tokens)*) };
}

#[test]
fn forms_keep_their_lines_and_columns() {
    let script = svit_script! {
        (define (add a :optional b)
          (if (null? b) a (+ a b)))   ; a comment

        (define (main input)
          (log-info! "added" (value-map "sum" (add 1 -2)))
          (string-format "{} {}" 1.5 (quote (1 x))))
    };
    let expected = "(define (add a :optional b)
  (if (null? b) a (+ a b)))   ; a comment

(define (main input)
  (log-info! \"added\" (value-map \"sum\" (add 1 -2)))
  (string-format \"{} {}\" 1.5 (quote (1 x))))";
    assert_eq!(script.source.as_str(), expected);
}

#[test]
fn lines_left_of_the_first_keep_their_words_apart() {
    let script = svit_script! { (define (main input)
        (list-push input
    -1)) };
    let expected = "(define (main input)\n    (list-push input\n-1))";
    assert_eq!(script.source.as_str(), expected);
}

#[test]
fn words_that_a_macro_brings_together_stay_apart() {
    macro_rules! script {
        ($f:tt $a:tt) => {
            svit_script! { (define (main input) ($f $a input)) }
        };
    }
    let script = script!(+ 1);
    let words: Vec<&str> = script.source.split_whitespace().collect();
    assert_eq!(words.join(" "), "(define (main input) ( + 1 input))");
}

#[test]
fn a_string_is_taken_as_it_is() {
    let script = svit_script!("(define (main input)\n  '(1 \"a\"))");
    assert_eq!(
        script.source.as_str(),
        "(define (main input)\n  '(1 \"a\"))"
    );
    let raw = svit_script!(r#"(define (main input) "a")"#);
    assert_eq!(raw.source.as_str(), "(define (main input) \"a\")");
}

#[test]
fn a_file_is_read_from_the_folder_of_the_crate() {
    let script = svit_script!(file "tests/counter.svit-script");
    assert_eq!(script.source.as_str(), include_str!("counter.svit-script"));
}
