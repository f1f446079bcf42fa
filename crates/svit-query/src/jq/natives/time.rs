//! Dates, in UTC and without a clock: `gmtime`, `mktime`, `strftime`, `strptime`.
//!
//! A broken-down time is the list of jq: year, month from 0, day, hours, minutes, seconds, day of the week
//! from Sunday, day of the year from 0.

use std::fmt::Write as _;

use super::text::is_space;
use super::{Run, functions};
use crate::jq::gauge;
use crate::jq::number::whole;
use crate::jq::value::{Val, ValR, fail, new_list, new_text};

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "gmtime" => gmtime, 0;
        "mktime" => mktime, 0;
        "strftime" => strftime, 1;
        "strptime" => strptime, 1;
    }
}

const DAY: i64 = 86_400;
/// Seconds within which years have at most six digits.
const LONGEST: f64 = 3e13;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

struct Time {
    year: i64,
    /// From 0.
    month: i64,
    day: i64,
    hours: i64,
    minutes: i64,
    seconds: f64,
}

/// Days since 1970-01-01, in the calendar of today for all times. The month may be any number from 0.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year + month.div_euclid(12);
    let month = month.rem_euclid(12);
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month < 2 {
        (year - 1, month + 10)
    } else {
        (year, month - 2)
    };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Time {
    fn from_seconds(seconds: f64) -> ValR<Self> {
        if seconds.is_nan() || seconds.abs() > LONGEST {
            return fail("error converting number of seconds since epoch to datetime");
        }
        let whole = seconds.floor();
        let (date, clock) = (
            (whole as i64).div_euclid(DAY),
            (whole as i64).rem_euclid(DAY),
        );
        let shifted = date + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let (year, from_january) = if month < 10 {
            (year + era * 400, month + 2)
        } else {
            (year + era * 400 + 1, month - 10)
        };
        Ok(Self {
            year,
            month: from_january,
            day: of_year - (153 * month + 2) / 5 + 1,
            hours: clock / 3_600,
            minutes: clock / 60 % 60,
            seconds: (clock % 60) as f64 + (seconds - whole),
        })
    }

    /// From a number of seconds, or a broken-down time.
    fn from_val(value: &Val, name: &str) -> ValR<Self> {
        if let Some(number) = value.number() {
            return Self::from_seconds(number.float());
        }
        let Some(list) = value.list() else {
            return fail(format!("{name} requires parsed datetime inputs"));
        };
        let part = |at: usize| {
            let part = list.get(at).cloned().map(Val::Plain);
            part.and_then(|part| part.number())
                .map(|number| number.float())
        };
        let parts: Option<Vec<f64>> = (0..6).map(part).collect();
        match parts.as_deref() {
            Some(&[year, month, day, hours, minutes, seconds])
                if [year, month, day, hours, minutes, seconds]
                    .iter()
                    .all(|part| part.abs() < 1e6) =>
            {
                Ok(Self {
                    year: year as i64,
                    month: month as i64,
                    day: day as i64,
                    hours: hours as i64,
                    minutes: minutes as i64,
                    seconds,
                })
            }
            _ => fail(format!("{name} requires parsed datetime inputs")),
        }
    }

    fn days(&self) -> i64 {
        days(self.year, self.month, self.day)
    }

    fn seconds(&self) -> i64 {
        self.days() * DAY + self.hours * 3_600 + self.minutes * 60 + self.seconds.floor() as i64
    }

    fn week_day(&self) -> i64 {
        (self.days() + 4).rem_euclid(7)
    }

    fn year_day(&self) -> i64 {
        self.days() - days(self.year, 0, 1)
    }

    fn broken_down(&self) -> Val {
        let parts = [
            Val::from(self.year),
            Val::from(self.month),
            Val::from(self.day),
            Val::from(self.hours),
            Val::from(self.minutes),
            whole(self.seconds),
            Val::from(self.week_day()),
            Val::from(self.year_day()),
        ];
        new_list(parts.map(Val::into_value).into())
    }
}

fn gmtime(input: Val) -> ValR {
    let Some(seconds) = input.number() else {
        return fail("gmtime() requires a number");
    };
    Ok(Time::from_seconds(seconds.float())?.broken_down())
}

fn mktime(input: Val) -> ValR {
    if input.list().is_none() {
        return fail("mktime requires array of 6 numbers");
    }
    Ok(Val::from(Time::from_val(&input, "mktime")?.seconds()))
}

fn strftime(input: Val, format: Val) -> ValR {
    let time = Time::from_val(&input, "strftime/1")?;
    let Some(format) = format.text() else {
        return fail("strftime/1 requires a string format");
    };
    gauge::look(format.len());
    let mut out = String::new();
    write_time(&mut out, &time, format)?;
    Ok(new_text(out))
}

/// An index that is within the names.
fn name<'a>(names: &[&'a str], at: i64) -> &'a str {
    names[at.rem_euclid(names.len() as i64) as usize]
}

fn write_time(out: &mut String, time: &Time, format: &str) -> ValR<()> {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let seconds = time.seconds.floor() as i64;
        let twelve = (time.hours + 11).rem_euclid(12) + 1;
        // Writing to a string cannot fail.
        let _ = match rest.next() {
            Some('Y') => write!(out, "{}", time.year),
            Some('C') => write!(out, "{:02}", time.year.div_euclid(100)),
            Some('y') => write!(out, "{:02}", time.year.rem_euclid(100)),
            Some('m') => write!(out, "{:02}", time.month + 1),
            Some('d') => write!(out, "{:02}", time.day),
            Some('e') => write!(out, "{:2}", time.day),
            Some('H') => write!(out, "{:02}", time.hours),
            Some('I') => write!(out, "{twelve:02}"),
            Some('M') => write!(out, "{:02}", time.minutes),
            Some('S') => write!(out, "{seconds:02}"),
            Some('j') => write!(out, "{:03}", time.year_day() + 1),
            Some('s') => write!(out, "{}", time.seconds()),
            Some('u') => write!(out, "{}", (time.week_day() + 6) % 7 + 1),
            Some('w') => write!(out, "{}", time.week_day()),
            Some('p') => write!(out, "{}", if time.hours < 12 { "AM" } else { "PM" }),
            Some('A') => write!(out, "{}", name(&DAYS, time.week_day())),
            Some('a') => write!(out, "{:.3}", name(&DAYS, time.week_day())),
            Some('B') => write!(out, "{}", name(&MONTHS, time.month)),
            Some('b' | 'h') => write!(out, "{:.3}", name(&MONTHS, time.month)),
            Some('Z') => write!(out, "UTC"),
            Some('z') => write!(out, "+0000"),
            Some('n') => writeln!(out),
            Some('t') => write!(out, "\t"),
            Some('%') => write!(out, "%"),
            Some('T') => expand(out, time, "%H:%M:%S"),
            Some('R') => expand(out, time, "%H:%M"),
            Some('D') => expand(out, time, "%m/%d/%y"),
            Some('F') => expand(out, time, "%Y-%m-%d"),
            Some('c') => expand(out, time, "%a %b %e %H:%M:%S %Y"),
            other => {
                return fail(format!(
                    "strftime/1: the format has %{}, which is not known",
                    other.map(String::from).unwrap_or_default()
                ));
            }
        };
    }
    Ok(())
}

/// Writes a format that another stands for.
fn expand(out: &mut String, time: &Time, format: &str) -> std::fmt::Result {
    // The formats that come here are known.
    write_time(out, time, format).map_err(|_| std::fmt::Error)
}

fn strptime(input: Val, format: Val) -> ValR {
    let Some(text) = input.text() else {
        return fail(format!(
            "strptime/1 requires string inputs and arguments, not {}",
            input.named()
        ));
    };
    let Some(format) = format.text() else {
        return fail("strptime/1 requires string inputs and arguments");
    };
    gauge::look(text.len() + format.len());
    let mut reader = Reader {
        rest: text,
        time: Time {
            year: 1900,
            month: 0,
            day: 1,
            hours: 0,
            minutes: 0,
            seconds: 0.0,
        },
    };
    if reader.read(format)?.is_none() || !reader.rest.is_empty() {
        return fail(format!(
            "date \"{}\" does not match format \"{format}\"",
            text.as_str()
        ));
    }
    Ok(reader.time.broken_down())
}

struct Reader<'a> {
    rest: &'a str,
    time: Time,
}

impl Reader<'_> {
    fn digits(&mut self, most: usize) -> Option<i64> {
        let len = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let number = self.rest.get(..len)?.parse().ok()?;
        self.rest = &self.rest[len..];
        Some(number)
    }

    fn name(&mut self, names: &[&str]) -> Option<i64> {
        let found = names.iter().enumerate().find_map(|(at, name)| {
            let lengths = [name.len(), 3];
            lengths.into_iter().find_map(|len| {
                let start = self.rest.get(..len)?;
                start
                    .eq_ignore_ascii_case(&name[..len])
                    .then_some((at, len))
            })
        });
        let (at, len) = found?;
        self.rest = &self.rest[len..];
        Some(at as i64)
    }

    /// `None` if the text does not match.
    fn read(&mut self, format: &str) -> ValR<Option<()>> {
        let mut format = format.chars();
        while let Some(c) = format.next() {
            let matched = if is_space(c) {
                self.rest = self.rest.trim_start_matches(is_space);
                Some(())
            } else if c == '%' {
                self.field(format.next())?
            } else {
                let rest = self.rest.strip_prefix(c);
                rest.map(|rest| self.rest = rest)
            };
            if matched.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn field(&mut self, field: Option<char>) -> ValR<Option<()>> {
        let within = |number: Option<i64>, low: i64, high: i64| {
            number.filter(|number| (low..=high).contains(number))
        };
        Ok(match field {
            Some('Y') => self.digits(4).map(|year| self.time.year = year),
            Some('m') => within(self.digits(2), 1, 12).map(|month| self.time.month = month - 1),
            Some('d' | 'e') => {
                self.rest = self.rest.trim_start_matches(is_space);
                within(self.digits(2), 1, 31).map(|day| self.time.day = day)
            }
            Some('H') => within(self.digits(2), 0, 23).map(|hours| self.time.hours = hours),
            Some('M') => within(self.digits(2), 0, 59).map(|minutes| self.time.minutes = minutes),
            Some('S') => {
                within(self.digits(2), 0, 60).map(|seconds| self.time.seconds = seconds as f64)
            }
            Some('j') => within(self.digits(3), 1, 366).map(|day| {
                self.time.month = 0;
                self.time.day = day;
            }),
            Some('A' | 'a') => self.name(&DAYS).map(drop),
            Some('B' | 'b' | 'h') => self.name(&MONTHS).map(|month| self.time.month = month),
            Some('Z') => {
                let len = self
                    .rest
                    .bytes()
                    .take_while(u8::is_ascii_alphabetic)
                    .count();
                self.rest = &self.rest[len..];
                (len > 0).then_some(())
            }
            Some('z') => {
                let offset = ["+0000", "-0000", "+00:00", "Z"];
                let rest = offset.iter().find_map(|zero| self.rest.strip_prefix(zero));
                rest.map(|rest| self.rest = rest)
            }
            Some('T') => self.read("%H:%M:%S")?,
            Some('R') => self.read("%H:%M")?,
            Some('D') => self.read("%m/%d/%Y")?,
            Some('F') => self.read("%Y-%m-%d")?,
            Some('%') => {
                let rest = self.rest.strip_prefix('%');
                rest.map(|rest| self.rest = rest)
            }
            other => {
                return fail(format!(
                    "strptime/1: the format has %{}, which is not known",
                    other.map(String::from).unwrap_or_default()
                ));
            }
        })
    }
}
