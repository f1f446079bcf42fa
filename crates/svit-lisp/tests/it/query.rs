//! Questions from a script: answered where the feature is on, charged to the tick, and never a way past the
//! limits; `unavailable` where it is off.

use svit_lisp::Lisp;
use svit_tree::guest::GuestError;
use svit_value::{Value, value};

use crate::host::{World, limits, whole};

fn run(source: &str, ticks: u64) -> (Result<Value, GuestError>, u64) {
    let tree = value!({"memory": {"a": "made of teal", "b": {"teal": 1}}, "lib": {}});
    let world = World::with_ticks(&Lisp::new(), tree, limits(), ticks);
    let result = world.run(&whole(source), Value::Null);
    (result, world.ticks())
}

fn code(source: &str) -> String {
    let (result, ticks) = run(source, 1_000_000);
    let (again, ticks_again) = run(source, 1_000_000);
    assert_eq!((&result, ticks), (&again, ticks_again), "{source}");
    result.map_or_else(|error| error.code.to_string(), |value| value.to_string())
}

#[cfg(not(all(feature = "jq", feature = "search")))]
#[test]
fn a_question_whose_feature_is_off_is_a_failure_that_a_script_can_catch() {
    let questions = [
        ("(jq \".\" 1)", cfg!(feature = "jq")),
        ("(search \"/memory\" \"x\")", cfg!(feature = "search")),
    ];
    for (source, on) in questions {
        if !on {
            assert_eq!(code(source), "unavailable", "{source}");
            let caught = format!("(result-ok? (safe-call (lambda () {source})))");
            assert_eq!(code(&caught), "false", "{source}");
        }
    }
}

#[cfg(feature = "jq")]
mod jq {
    use std::time::Duration;

    use svit_lisp::Lisp;
    use svit_tree::guest::{GuestErrorKind, GuestLimits, Host};
    use svit_value::{Value, value};

    use super::{code, run};
    use crate::host::{World, limits, whole};

    #[test]
    fn rows() {
        for (source, expected) in [
            ("(jq \".a + 1\" (value-map \"a\" 1))", "[2]"),
            ("(jq \".[]\" '(1 \"x\" null))", "[1, \"x\", null]"),
            ("(jq \"empty\" 1)", "[]"),
            ("(jq \"[.[] | select(. > 1)]\" (list 1 2 3))", "[[2, 3]]"),
            ("(jq \".\" (lambda () 1))", "conversion"),
            ("(jq \".a |\" 1)", "bad_filter"),
            ("(jq \"error(1)\" 1)", "filter_failed"),
            ("(jq \"range(2000)\" 1)", "filter_limit"),
            ("(jq \"def f: try error(1) catch f; f\" 1)", "filter_limit"),
            ("(jq 1 1)", "wrong_type"),
            ("(jq \"[limit(9; repeat(1))] | length\" 1)", "[9]"),
            ("(jq \"$ENV, now, input\" 1)", "bad_filter"),
            ("(result-ok? (safe-call jq \".a.b\" 1))", "false"),
        ] {
            assert_eq!(code(source), expected, "{source}");
        }
    }

    #[test]
    fn it_is_charged_to_the_tick() {
        for source in [
            "(jq \"[range(50)] | add\" null)",
            "(safe-call jq \".[\" null)",
        ] {
            let (result, ticks) = run(source, 1_000_000);
            assert!(ticks > 200, "{source}");
            assert_eq!(run(source, ticks), (result, ticks));
            let (result, _) = run(source, ticks - 1);
            assert_eq!(result.unwrap_err().code.as_str(), "out_of_ticks");
        }
    }

    #[test]
    fn neither_filters_without_end_nor_filters_with_mistakes_outlast_the_ticks() {
        for source in [
            "(safe-call jq \"last(repeat(1))\" null)",
            "(map (lambda (i) (safe-call jq (concat \".[\" (to-string i)) null)) (range 10000))",
            "(all? (lambda (i) (list? (jq \"[range(999)]\" null))) (range 10000))",
        ] {
            assert_eq!(code(source), "out_of_ticks", "{source}");
        }
    }

    /// A filter without end, in a run with any number of ticks; `meanwhile` has its host.
    fn endless(limit: Duration, meanwhile: impl FnOnce(&World) + Send) -> GuestErrorKind {
        let limits = GuestLimits {
            max_execution: limit,
            ..limits()
        };
        let world = World::with_ticks(&Lisp::new(), value!({"memory": {}}), limits, u64::MAX);
        let source = whole("(safe-call jq \"last(repeat(1))\" null)");
        std::thread::scope(|scope| {
            let run = scope.spawn(|| world.run(&source, Value::Null).unwrap_err().kind);
            meanwhile(&world);
            run.join().unwrap()
        })
    }

    #[test]
    fn the_wall_clock_ends_a_filter() {
        let kind = endless(Duration::from_millis(100), |_| ());
        assert_eq!(kind, GuestErrorKind::Timeout);
    }

    #[test]
    fn a_filter_ends_when_its_ticks_are_taken_away() {
        let kind = endless(Duration::from_secs(600), |world| {
            std::thread::sleep(Duration::from_millis(100));
            world.meter().charge(u64::MAX).unwrap_err();
        });
        assert_eq!(kind, GuestErrorKind::OutOfTicks);
    }

    #[test]
    fn values_made_on_the_way_are_bounded() {
        let doubling = "(jq \"reduce range(60) as $i (\\\"x\\\"; . + .) | length\" null)";
        assert_eq!(code(doubling), "filter_limit");
        let large = "(jq \"[range(400000)]\" null)";
        assert_ne!(code(large).chars().next(), Some('['));
    }
}

#[cfg(feature = "search")]
mod search {
    use super::{code, run};

    #[test]
    fn it_is_charged_to_the_tick() {
        for source in [
            "(search \"/\" \"t[ae]\")",
            "(search \"/memory/a\" \"e\" (value-map \"plain\" true))",
        ] {
            let (result, ticks) = run(source, 1_000_000);
            assert_eq!(run(source, ticks), (result, ticks));
            let (result, _) = run(source, ticks - 1);
            assert_eq!(result.unwrap_err().code.as_str(), "out_of_ticks");
        }
    }

    #[test]
    fn paths_are_whole_wherever_the_search_begins() {
        for (from, expected) in [
            ("/", "[\"/memory/a\", \"/memory/b/teal\"]"),
            ("/memory", "[\"/memory/a\", \"/memory/b/teal\"]"),
            ("/memory/a", "[\"/memory/a\"]"),
            ("/memory/b", "[\"/memory/b/teal\"]"),
        ] {
            let source = format!(
                "(map (lambda (h) (map-get h \"path\")) (map-get (search \"{from}\" \"teal\") \"hits\"))"
            );
            assert_eq!(code(&source), expected, "{from}");
        }
    }

    #[test]
    fn mounts_are_searched_as_the_script_sees_them() {
        use svit_lisp::Lisp;
        use svit_value::{Value, value};

        use crate::host::{World, limits, whole};

        let tree = value!({
            "memory": {"a": "made of teal"},
            "mounts": {"docs": {"doors.txt": "all doors are teal", "n": 1}},
        });
        for (from, expected) in [
            ("/", "[\"/memory/a\",\"/mounts/docs/doors.txt\"]"),
            ("/mounts", "[\"/mounts/docs/doors.txt\"]"),
            ("/mounts/docs", "[\"/mounts/docs/doors.txt\"]"),
            ("/mounts/docs/doors.txt", "[\"/mounts/docs/doors.txt\"]"),
            ("/mounts/docs/n", "[]"),
            ("/memory", "[\"/memory/a\"]"),
        ] {
            let world = World::new(&Lisp::new(), tree.clone(), limits());
            let source = format!(
                "(map (lambda (hit) (map-get hit \"path\")) (map-get (search \"{from}\" \"teal\") \"hits\"))"
            );
            let found = world.run(&whole(&source), Value::Null).unwrap();
            assert_eq!(found.to_json().unwrap(), expected, "{from}");
        }
        assert_eq!(code("(search \"/mounts/none/x\" \"teal\")"), "missing");
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        for (source, expected) in [
            ("(search \"/memory/none\" \"x\")", "missing"),
            ("(search \"memory\" \"x\")", "bad_path"),
            ("(search \"/memory\" \"\")", "matches_empty"),
            ("(search \"/memory\" \"(\")", "bad_pattern"),
            ("(search \"/memory\" \".{2000}\")", "pattern_too_large"),
            ("(search \"/memory\" 1)", "wrong_type"),
            (
                "(search \"/memory\" \"x\" (value-map \"max_hits\" 0))",
                "bad_option",
            ),
            (
                "(search \"/memory\" \"x\" (value-map \"max_hits\" 9999))",
                "bad_option",
            ),
            (
                "(search \"/memory\" \"x\" (value-map \"plian\" true))",
                "bad_option",
            ),
        ] {
            assert_eq!(code(source), expected, "{source}");
        }
    }

    #[test]
    fn neither_dear_searches_nor_dear_patterns_outlast_the_ticks() {
        let text = "(define (dbl s n) (if (= n 0) s (dbl (concat s s) (- n 1))))";
        let searches = r#"(define (main input)
            (do (write "/memory/t" (dbl "ab" 18))
                (map (lambda (i) (safe-call search "/memory" "(?i)[a-z]{900}x")) (range 1000))))"#;
        assert_eq!(code(&format!("{text}{searches}")), "out_of_ticks");
        let pattern = "[a-z]{30}".repeat(30);
        let patterns = format!(
            r#"(map (lambda (i) (safe-call search "/memory" (concat "{pattern}" (to-string i)))) (range 10000))"#
        );
        assert_eq!(code(&patterns), "out_of_ticks");
    }
}
