//! Made-up programs: whatever the text, the guest ends, says the same twice, and never panics.

use std::time::Duration;

use svit_lisp::Lisp;
use svit_tree::guest::{GuestErrorKind, GuestLimits};
use svit_value::{Value, value};

use crate::host::{World, limits};

/// A small generator of pseudo-random numbers, so that a failure can be run again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const ATOMS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2.5",
    "1e308",
    "9223372036854775807",
    "\"\"",
    "\"a b\"",
    "\"/memory/x\"",
    "true",
    "false",
    "null",
    "()",
    "'a",
    ":k",
    "x",
    "y",
    "input",
    "f",
    "g",
    "'(1 2 3)",
    "'(a \"b\")",
    "upper",
    "+",
    "#b\"\\xff\"",
    "(value-map \"a\" 1)",
    "(range 3)",
    "record",
    "(new record :a 1 :b '(2))",
    ":a",
    "'((\"a\" 1) (\"b\" 2))",
    "\"{\\\"a\\\":[1]}\"",
];

fn names() -> Vec<String> {
    let world = World::new(&Lisp::new(), value!({"memory": {}, "lib": {}}), limits());
    let source = "(define (main input) (map (lambda (b) (map-get b \"name\")) (runtime-builtins)))";
    let list = world.run(source, Value::Null).unwrap();
    let names = list
        .as_list()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap().to_owned());
    // Waiting is tested elsewhere.
    names.filter(|n| n != "port-call").collect()
}

fn form(dice: &mut Dice, names: &[String], depth: usize) -> String {
    if depth == 0 || dice.roll(4) == 0 {
        return dice.pick(ATOMS).to_owned();
    }
    let sub = |dice: &mut Dice| form(dice, names, depth - 1);
    match dice.roll(18) {
        0 => format!("(if {} {} {})", sub(dice), sub(dice), sub(dice)),
        1 => format!("(let ((x {}) (y {})) {})", sub(dice), sub(dice), sub(dice)),
        2 => format!("(lambda (x) {})", sub(dice)),
        3 => format!("(lambda (x :rest y) {})", sub(dice)),
        4 => format!("((lambda (x) {}) {})", sub(dice), sub(dice)),
        5 => format!(
            "(case {} ((1 \"a\") {}) (else {}))",
            sub(dice),
            sub(dice),
            sub(dice)
        ),
        6 => format!("(cond ({} {}) (else {}))", sub(dice), sub(dice), sub(dice)),
        7 => format!("(apply {} {})", sub(dice), sub(dice)),
        8 => format!("`(a ,{} ,@{})", sub(dice), sub(dice)),
        9 => format!("(and {} {})", sub(dice), sub(dice)),
        10 => format!("(f {} {})", sub(dice), sub(dice)),
        11 => format!("(do {} {})", sub(dice), sub(dice)),
        12 => format!("(new record :b {} :a {})", sub(dice), sub(dice)),
        _ => {
            let name = names[dice.roll(names.len())].clone();
            let args: Vec<String> = (0..dice.roll(4)).map(|_| sub(dice)).collect();
            format!("({name} {})", args.join(" "))
        }
    }
}

fn judge(source: &str, seed: u64) -> bool {
    let tight = GuestLimits {
        max_execution: Duration::from_secs(10),
        max_memory: 1 << 20,
        ..limits()
    };
    let run = || {
        let world = World::with_ticks(
            &Lisp::new(),
            value!({"memory": {"x": [1, {"a": 2}]}, "lib": {}}),
            tight.clone(),
            20_000,
        );
        let result = world.run(source, value!({"a": [1, 2]}));
        let logs = world.logs.lock().unwrap().clone();
        let tree = world.tree.lock().unwrap().clone();
        (result, world.ticks(), logs, tree)
    };
    let first = run();
    assert_eq!(first, run(), "not the same twice, seed {seed}: {source}");
    assert!(first.1 <= 20_000);
    match first.0 {
        Ok(_) => true,
        Err(error) => {
            assert_ne!(error.kind, GuestErrorKind::Panic, "seed {seed}: {source}");
            assert_ne!(error.kind, GuestErrorKind::Timeout, "seed {seed}: {source}");
            assert_ne!(error.code.as_str(), "engine", "seed {seed}: {source}");
            assert_ne!(error.code.as_str(), "internal", "seed {seed}: {source}");
            assert!(error.message.len() <= 1_024);
            false
        }
    }
}

fn rounds() -> u64 {
    let asked = std::env::var("FUZZ_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok());
    asked.unwrap_or(300)
}

#[test]
fn programs_of_valid_forms() {
    let names = names();
    let mut passed = 0;
    for seed in 1..=rounds() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let source = format!(
            "(struct record ((a any) (b list)))\n(define g {})\n(define (f x :optional y) {})\n(define (main input)\n  (let ((x 1) (y '(2)))\n    {}))",
            form(&mut dice, &names, 2),
            form(&mut dice, &names, 4),
            form(&mut dice, &names, 5),
        );
        passed += u64::from(judge(&source, seed));
    }
    assert!(passed > 0);
}

/// Calls of arithmetic that take up everything special that the engine's side does for such places, so that
/// the rest of a program goes the general way.
fn padding() -> String {
    format!(
        "(define (zz-padding n) (do {}))",
        "(+ n 1) ".repeat(70).trim_end()
    )
}

#[test]
fn the_short_way_of_arithmetic_gives_and_costs_what_the_general_way_does() {
    let run = |source: &str| {
        let tree = value!({"memory": {"x": [1, {"a": 2}]}, "lib": {}});
        let world = World::with_ticks(&Lisp::new(), tree, limits(), 20_000);
        let result = world.run(source, value!({"a": [1, 2]}));
        let result = match result {
            Ok(output) => Ok(output),
            // Where a stack is full depends on what is on it.
            Err(error) if error.kind == GuestErrorKind::Limit => return None,
            Err(error) => Err((error.code, error.at.map(|at| at.line))),
        };
        let tree = world.tree.lock().unwrap().clone();
        let logs = world.logs.lock().unwrap().clone();
        Some((result, world.ticks(), tree, logs))
    };
    let names = names();
    let arithmetic = [
        "+", "-", "*", "=", "/=", "<", ">", "<=", ">=", "not", "zero",
    ];
    let often: Vec<String> = arithmetic.map(String::from).to_vec();
    for seed in 1..=rounds() {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let names = if seed % 3 == 0 { &names } else { &often };
        let source = format!(
            "(struct record ((a any) (b list))) (define (f x :optional y) {})\n(define (g x y) {})\n(define (main input)\n  (let ((x 1) (y '(2)))\n    {}))",
            form(&mut dice, names, 4),
            form(&mut dice, names, 3),
            form(&mut dice, names, 4),
        );
        let general = format!("{} {source}", padding());
        if let (Some(found), Some(expected)) = (run(&source), run(&general)) {
            assert_eq!(found, expected, "seed {seed}: {source}");
        }
    }
}

#[test]
fn texts_that_are_cut_and_mixed() {
    let corpus = include_str!("../corpus/useful.txt");
    let chars: Vec<char> = corpus.chars().collect();
    for seed in 1..=rounds() {
        let mut dice = Dice(seed.wrapping_mul(0xd134_2543_de82_ef95));
        let mut text = String::from("(define (main input) ");
        for _ in 0..dice.roll(6) {
            let start = dice.roll(chars.len());
            let end = (start + dice.roll(120)).min(chars.len());
            text.extend(&chars[start..end]);
            text.push_str(dice.pick(&[
                "(", ")", "\"", "'", "`", ",", ",@", " ", "#|", "|#", ";", "\\", "#b\"", "r\"",
                "0x", "é",
            ]));
        }
        text.push(')');
        judge(&text, seed);
    }
}
