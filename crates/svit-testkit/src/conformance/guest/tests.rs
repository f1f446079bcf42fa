//! The suite against a tiny language, and against that language wrong in one way each: every one is found out.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use svit_tree::Path;
use svit_tree::guest::{
    Guest, GuestError, GuestErrorKind as Kind, GuestLimits, Host, HostError, LogLevel, Position,
    Program,
};
use svit_value::{List, Value};

use super::GuestScripts;

/// What the language does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    ChangesFloats,
    LetsAnythingOut,
    RefusesGood,
    TakesBroken,
    ChecksAtRun,
    TakesAnyLanguage,
    PricesByTheRun,
    Remembers,
    PaysLate,
    SumsForNothing,
    IgnoresTicks,
    HoardsForEver,
    RecursesSoftly,
    ClockGivesResult,
    CountsWaits,
    TakesAnyText,
    GivesAnyOutput,
    AsksTwice,
    TriesAgain,
    HidesRefusals,
    CatchesNothing,
    CatchesHard,
    CatchesLimits,
    Reaches,
    WrapsNested,
    NestsForNothing,
    CatchesStops,
    Panics,
}

/// A language whose programs are one word each: the name of what a check needs.
struct Tiny {
    flaw: Flaw,
    runs: AtomicU64,
    open: AtomicU64,
}

const WORDS: &[&str] = &[
    "echo",
    "sum",
    "spin",
    "recurse",
    "hoard",
    "unstorable",
    "ask",
    "fail",
    "denied",
    "catch-denied",
    "catch-hard",
    "catch-spin",
    "catch-recurse",
    "exec",
    "catch-exec",
    "clock",
];

fn scripts() -> GuestScripts {
    let word = |word: &str| word.to_owned();
    GuestScripts {
        echo: word("echo"),
        broken: word("ec ho"),
        sum: word("sum"),
        spin: word("spin"),
        recurse: word("recurse"),
        hoard: word("hoard"),
        unstorable: word("unstorable"),
        ask: word("ask"),
        fail: word("fail"),
        denied: word("denied"),
        catch_denied: word("catch-denied"),
        catch_hard: word("catch-hard"),
        catch_spin: word("catch-spin"),
        catch_recurse: word("catch-recurse"),
        exec: word("exec"),
        catch_exec: word("catch-exec"),
        reaching: vec![word("clock"), word("file")],
    }
}

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn error<T>(kind: Kind) -> Result<T, GuestError> {
    Err(GuestError::new(kind, "tiny", "the program failed"))
}

/// One run.
struct Tape<'a> {
    tiny: &'a Tiny,
    host: Arc<dyn Host>,
    limits: &'a GuestLimits,
    start: Instant,
    waited: Cell<Duration>,
}

impl Tape<'_> {
    fn is(&self, flaw: Flaw) -> bool {
        self.tiny.flaw == flaw
    }

    fn pay(&self, ticks: u64) -> Result<(), GuestError> {
        if self.host.meter().charge(ticks).is_err() {
            return error(Kind::OutOfTicks);
        }
        if self.start.elapsed() - self.waited.get() > self.limits.max_execution {
            return error(Kind::Timeout);
        }
        Ok(())
    }

    fn refused<T>(&self, result: Result<T, HostError>) -> Result<T, GuestError> {
        result.map_err(|refusal| GuestError {
            kind: if self.is(Flaw::HidesRefusals) {
                Kind::Runtime
            } else {
                Kind::Host
            },
            code: refusal.code.clone(),
            message: refusal.message.clone(),
            at: None,
            host: Some(refusal),
        })
    }

    fn catch(&self, result: Result<Value, GuestError>, stops: Flaw) -> Result<Value, GuestError> {
        match result {
            Err(error) if error.is_hard() && !self.is(stops) => Err(error),
            Err(error) if self.is(Flaw::CatchesNothing) => Err(error),
            Err(_) => Ok(Value::from("caught")),
            done => done,
        }
    }

    fn write(&self, to: &str) -> Result<Value, GuestError> {
        self.refused(self.host.write(&path(to), Value::from(1)))?;
        Ok(Value::Null)
    }

    fn run(&self, word: &str, input: Value) -> Result<Value, GuestError> {
        self.pay(1)?;
        match word {
            "echo" => Ok(match input {
                Value::Float(float) if self.is(Flaw::ChangesFloats) => {
                    Value::from(float.get() as i64)
                }
                other => other,
            }),
            "sum" => {
                let to = input.as_int().unwrap_or_default();
                let nested = self.tiny.open.load(Ordering::Relaxed) > 1;
                if self.is(Flaw::SumsForNothing) || nested && self.is(Flaw::NestsForNothing) {
                    return Ok(Value::from(to * (to + 1) / 2));
                }
                let mut sum = 0;
                for n in 1..=to {
                    self.pay(2)?;
                    sum += n;
                }
                Ok(Value::from(sum))
            }
            "spin" => loop {
                match self.pay(1) {
                    Err(_) if self.is(Flaw::IgnoresTicks) => return Ok(Value::Null),
                    Err(error)
                        if error.kind == Kind::Timeout && self.is(Flaw::ClockGivesResult) =>
                    {
                        return Ok(Value::Null);
                    }
                    other => other?,
                }
            },
            "recurse" => {
                for _ in 0..self.limits.max_call_stack {
                    self.pay(1)?;
                }
                error(if self.is(Flaw::RecursesSoftly) {
                    Kind::Runtime
                } else {
                    Kind::Limit
                })
            }
            "hoard" => {
                for _ in 0..self.limits.max_memory >> 10 {
                    self.pay(1)?;
                }
                error(if self.is(Flaw::HoardsForEver) {
                    Kind::Runtime
                } else {
                    Kind::Limit
                })
            }
            "unstorable" if self.is(Flaw::LetsAnythingOut) => Ok(Value::Null),
            "unstorable" => error(Kind::Conversion),
            "ask" => self.ask(input),
            "fail" => {
                self.write("/memory/a")?;
                if self.is(Flaw::TriesAgain) {
                    self.write("/memory/a")?;
                }
                error(Kind::Runtime)
            }
            "denied" => self.write("/denied"),
            "catch-denied" => self.catch(self.write("/denied"), Flaw::CatchesHard),
            "catch-hard" => self.catch(self.write("/hard"), Flaw::CatchesHard),
            "catch-spin" => self.catch(self.run("spin", input), Flaw::CatchesLimits),
            "catch-recurse" => self.catch(self.run("recurse", input), Flaw::CatchesLimits),
            "exec" => {
                let found = self.refused(self.host.exec(&path("/lib/inner"), input))?;
                if self.is(Flaw::WrapsNested) {
                    return Ok(Value::List(List::from_values([found]).unwrap()));
                }
                Ok(found)
            }
            "catch-exec" => self.catch(self.run("exec", input), Flaw::CatchesStops),
            _ if self.is(Flaw::Reaches) => Ok(Value::Null),
            _ => error(Kind::Runtime),
        }
    }

    fn ask(&self, input: Value) -> Result<Value, GuestError> {
        let host = &self.host;
        self.refused(host.read(&path("/memory/a")))?;
        self.refused(host.log(LogLevel::Info, "read".into(), Value::Null))?;
        for _ in 0..if self.is(Flaw::AsksTwice) { 2 } else { 1 } {
            self.refused(host.write(&path("/memory/b"), input.clone()))?;
        }
        self.refused(host.remove(&path("/memory/c")))?;
        self.refused(host.send(input.clone()))?;
        let asked = Instant::now();
        let answer = self.refused(host.port_call("echo", input))?;
        if !self.is(Flaw::CountsWaits) {
            self.waited.set(self.waited.get() + asked.elapsed());
        }
        match self.pay(10) {
            Err(_) if self.is(Flaw::PaysLate) => {}
            other => other?,
        }
        Ok(answer)
    }
}

impl Guest for Tiny {
    fn language(&self) -> &str {
        "tiny@1"
    }

    fn check(&self, program: &Program, limits: &GuestLimits) -> Result<(), GuestError> {
        let refused = |kind| {
            Err(GuestError {
                at: Some(Position { line: 1, column: 1 }),
                ..GuestError::new(kind, "refused", "this is no program")
            })
        };
        if program.language.as_str() != "tiny@1" && self.flaw != Flaw::TakesAnyLanguage {
            return refused(Kind::Syntax);
        }
        let too_long = program.source.len() as u64 > limits.max_source_bytes;
        if too_long && self.flaw != Flaw::TakesAnyText {
            return refused(Kind::Limit);
        }
        let known = WORDS.contains(&program.source.as_str());
        match self.flaw {
            Flaw::TakesBroken => Ok(()),
            Flaw::RefusesGood => refused(Kind::Syntax),
            _ if known => Ok(()),
            _ => refused(Kind::Syntax),
        }
    }

    fn run(
        &self,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Value, GuestError> {
        let runs = self.runs.fetch_add(1, Ordering::Relaxed);
        match self.flaw {
            Flaw::RefusesGood => {}
            Flaw::ChecksAtRun => drop(host.stat(&path("/memory"))),
            _ => self.check(program, limits)?,
        }
        if self.flaw == Flaw::ChecksAtRun {
            self.check(program, limits)?;
        }
        assert!(
            self.flaw != Flaw::Panics || program.source.as_str() != "sum",
            "on purpose"
        );
        let tape = Tape {
            tiny: self,
            host,
            limits,
            start: Instant::now(),
            waited: Cell::default(),
        };
        if self.flaw == Flaw::PricesByTheRun {
            tape.pay(runs % 2)?;
        }
        if self.flaw == Flaw::Remembers && runs > 1 {
            tape.pay(runs)?;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        let result = tape.run(&program.source, input);
        self.open.fetch_sub(1, Ordering::Relaxed);
        let output = result?;
        if limits.value.check(&output).is_err() && self.flaw != Flaw::GivesAnyOutput {
            return error(Kind::Limit);
        }
        Ok(output)
    }
}

fn tiny(flaw: Flaw) -> Tiny {
    Tiny {
        flaw,
        runs: AtomicU64::new(0),
        open: AtomicU64::new(0),
    }
}

#[test]
fn a_language_that_keeps_the_contract_passes() {
    super::guest(|| tiny(Flaw::None), &scripts()).unwrap();
}

#[test]
fn each_flaw_breaks_its_rule() {
    let rows = [
        (Flaw::ChangesFloats, "values_pass_unchanged"),
        (Flaw::LetsAnythingOut, "what_is_no_value_does_not_leave"),
        (Flaw::RefusesGood, "a_good_program_passes_the_check"),
        (
            Flaw::TakesBroken,
            "a_broken_program_is_refused_before_it_runs",
        ),
        (
            Flaw::ChecksAtRun,
            "a_broken_program_is_refused_before_it_runs",
        ),
        (Flaw::TakesAnyLanguage, "another_language_is_refused"),
        (Flaw::PricesByTheRun, "runs_are_the_same_on_every_thread"),
        (Flaw::Remembers, "nothing_survives_a_run"),
        (Flaw::PaysLate, "a_budget_of_n_passes_and_one_less_fails"),
        (Flaw::SumsForNothing, "ticks_grow_with_the_work"),
        (
            Flaw::IgnoresTicks,
            "a_program_without_end_runs_out_of_ticks",
        ),
        (Flaw::IgnoresTicks, "a_cancelled_run_ends"),
        (Flaw::HoardsForEver, "memory_is_bounded"),
        (Flaw::RecursesSoftly, "recursion_is_bounded"),
        (Flaw::ClockGivesResult, "the_clock_ends_a_run_as_an_error"),
        (Flaw::CountsWaits, "a_wait_for_a_port_is_no_time_of_the_run"),
        (Flaw::TakesAnyText, "the_text_of_a_program_is_bounded"),
        (Flaw::GivesAnyOutput, "the_output_is_bounded"),
        (Flaw::AsksTwice, "the_host_is_asked_once_and_in_order"),
        (
            Flaw::TriesAgain,
            "a_failure_gives_nothing_and_tries_nothing_again",
        ),
        (Flaw::HidesRefusals, "a_refusal_of_the_host_is_the_failure"),
        (Flaw::CatchesNothing, "a_refusal_can_be_handled"),
        (Flaw::CatchesNothing, "a_nested_failure_can_be_handled"),
        (Flaw::CatchesHard, "a_hard_refusal_cannot_be_handled"),
        (Flaw::CatchesLimits, "ticks_and_limits_cannot_be_handled"),
        (Flaw::Reaches, "there_is_no_other_authority"),
        (Flaw::WrapsNested, "a_nested_run_gives_its_result"),
        (
            Flaw::NestsForNothing,
            "a_nested_run_draws_on_the_same_ticks",
        ),
        (Flaw::CatchesStops, "a_nested_stop_cannot_be_handled"),
        (Flaw::CatchesStops, "runs_inside_runs_end"),
        (Flaw::Panics, "ticks_grow_with_the_work"),
    ];
    for (flaw, rule) in rows {
        let broken = super::guest(|| tiny(flaw), &scripts()).unwrap_err();
        let found = broken.rules().iter().any(|(name, _)| *name == rule);
        assert!(found, "{flaw:?} did not break {rule}, but {broken}");
    }
    let tested = |rule: &&str| rows.iter().any(|(_, name)| name == rule);
    let untested: Vec<&str> = super::guest_rules().filter(|rule| !tested(rule)).collect();
    // To break it, the program would have to end with its stack.
    assert_eq!(untested, ["a_caller_with_a_small_stack_is_no_limit"]);
}
