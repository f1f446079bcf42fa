//! Numbers: integers of bounded size, ratios, and floats.

use ketos::function::{add_number, div_number, mul_number, sub_number};
use ketos::{Error, ExecError, Integer, Ratio};

use super::{MANY, Outcome, int_at, row, wrong};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::cells;
use crate::engine::run::{Fault, soft};
use crate::engine::value::compare;
use crate::table::Row;

const NUMBERS: &str = "numbers";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("+", "(+ a b ...)", NUMBERS, "The sum.", (0, MANY), add),
        row(
            "-",
            "(- a b ...)",
            NUMBERS,
            "The difference; of one number, its negation.",
            (1, MANY),
            subtract,
        ),
        row(
            "*",
            "(* a b ...)",
            NUMBERS,
            "The product.",
            (0, MANY),
            multiply,
        ),
        row(
            "/",
            "(/ a b ...)",
            NUMBERS,
            "The quotient; of integers an integer or a ratio.",
            (1, MANY),
            divide,
        ),
        row(
            "//",
            "(// a b)",
            NUMBERS,
            "The quotient rounded down.",
            (2, 2),
            floor_divide,
        ),
        row(
            "rem",
            "(rem a b)",
            NUMBERS,
            "The remainder; it has the sign of a.",
            (2, 2),
            rem,
        ),
        row(
            "^",
            "(^ base exponent)",
            NUMBERS,
            "An integer raised to a non-negative integer.",
            (2, 2),
            power,
        ),
        row("abs", "(abs n)", NUMBERS, "Without the sign.", (1, 1), abs),
        row(
            "max",
            "(max a b ...)",
            NUMBERS,
            "The greatest.",
            (1, MANY),
            max,
        ),
        row(
            "min",
            "(min a b ...)",
            NUMBERS,
            "The least.",
            (1, MANY),
            min,
        ),
        row(
            "floor",
            "(floor n)",
            NUMBERS,
            "Rounded down.",
            (1, 1),
            floor,
        ),
        row("ceil", "(ceil n)", NUMBERS, "Rounded up.", (1, 1), ceil),
        row(
            "round",
            "(round n)",
            NUMBERS,
            "Rounded to the nearest; halves away from zero.",
            (1, 1),
            round,
        ),
        row(
            "trunc",
            "(trunc n)",
            NUMBERS,
            "Rounded toward zero.",
            (1, 1),
            trunc,
        ),
        row(
            "int",
            "(int n)",
            NUMBERS,
            "The whole part as an integer.",
            (1, 1),
            int,
        ),
        row("float", "(float n)", NUMBERS, "As a float.", (1, 1), float),
        row("rat", "(rat n)", NUMBERS, "As a ratio.", (1, 1), rat),
        row(
            "numer",
            "(numer r)",
            NUMBERS,
            "The upper part of a ratio.",
            (1, 1),
            numer,
        ),
        row(
            "denom",
            "(denom r)",
            NUMBERS,
            "The lower part of a ratio.",
            (1, 1),
            denom,
        ),
        row(
            "zero",
            "(zero n)",
            NUMBERS,
            "Whether the number is 0.",
            (1, 1),
            zero,
        ),
        row(
            "bit-and",
            "(bit-and a b)",
            NUMBERS,
            "Bits that are set in both.",
            (2, 2),
            bit_and,
        ),
        row(
            "bit-or",
            "(bit-or a b)",
            NUMBERS,
            "Bits that are set in either.",
            (2, 2),
            bit_or,
        ),
        row(
            "bit-xor",
            "(bit-xor a b)",
            NUMBERS,
            "Bits that are set in one only.",
            (2, 2),
            bit_xor,
        ),
        row(
            "bit-not",
            "(bit-not a)",
            NUMBERS,
            "Every bit turned over.",
            (1, 1),
            bit_not,
        ),
        row(
            "<<",
            "(<< n bits)",
            NUMBERS,
            "Shifted left.",
            (2, 2),
            shift_left,
        ),
        row(
            ">>",
            "(>> n bits)",
            NUMBERS,
            "Shifted right.",
            (2, 2),
            shift_right,
        ),
    ]
}

/// An engine error from arithmetic as a fault of ours.
fn arithmetic(call: &Call<'_>, error: Error) -> Fault {
    match error {
        Error::RestrictError(_) => too_many_bits(call),
        Error::ExecError(ExecError::DivideByZero) => divide_by_zero(),
        Error::ExecError(ExecError::Overflow) => {
            soft("overflow", "the number is too large for this")
        }
        _ => soft("wrong_type", "these numbers do not go together"),
    }
}

fn divide_by_zero() -> Fault {
    soft("divide_by_zero", "division by zero")
}

fn too_many_bits(call: &Call<'_>) -> Fault {
    call.run.limit(
        "max_integer_bits",
        call.run.limits.max_integer_bits.into(),
        "bits",
    )
}

/// A result, refused if its integers are larger than the limit.
fn bounded(call: &Call<'_>, value: K) -> Outcome {
    let max = call.run.limits.max_integer_bits as usize;
    let fits = match &value {
        K::Integer(n) => n.bits() <= max,
        K::Ratio(r) => r.numer().bits() <= max && r.denom().bits() <= max,
        _ => true,
    };
    if fits {
        Ok(value)
    } else {
        Err(too_many_bits(call))
    }
}

fn number_at(args: &[K], index: usize) -> Result<&K, Fault> {
    match &args[index] {
        number @ (K::Integer(_) | K::Float(_) | K::Ratio(_)) => Ok(number),
        other => Err(wrong(index, "a number", other)),
    }
}

fn integer_at(args: &[K], index: usize) -> Result<&Integer, Fault> {
    match &args[index] {
        K::Integer(n) => Ok(n),
        other => Err(wrong(index, "an integer", other)),
    }
}

type Fast = fn(i64, i64) -> Option<i64>;
type Slow = fn(&ketos::Context, K, &K) -> Result<K, Error>;

/// Two numbers by the fast way if both fit and the result does, else by the engine's.
fn two(call: &Call<'_>, a: K, b: &K, fast: Fast, slow: Slow) -> Outcome {
    if let (K::Integer(x), K::Integer(y)) = (&a, b)
        && let (Some(x), Some(y)) = (x.to_i64(), y.to_i64())
        && let Some(result) = fast(x, y)
    {
        return Ok(result.into());
    }
    call.run.charge(slow_price(&a, b))?;
    bounded(
        call,
        slow(call.context()?, a, b).map_err(|e| arithmetic(call, e))?,
    )
}

/// What arithmetic past 64 bits costs: words times words, and four times that for ratios, which are
/// reduced each time.
fn slow_price(a: &K, b: &K) -> u64 {
    let words = cells(a).saturating_mul(cells(b));
    match (a, b) {
        (K::Ratio(_), _) | (_, K::Ratio(_)) => words,
        _ => words / 4,
    }
}

fn accumulate(call: &Call<'_>, args: &[K], fast: Fast, slow: Slow) -> Outcome {
    let mut total = number_at(args, 0)?.clone();
    for index in 1..args.len() {
        total = two(call, total, number_at(args, index)?, fast, slow)?;
    }
    bounded(call, total)
}

fn add(call: &Call<'_>, args: &[K]) -> Outcome {
    match args {
        [] => Ok(0.into()),
        _ => accumulate(call, args, i64::checked_add, add_number),
    }
}

fn subtract(call: &Call<'_>, args: &[K]) -> Outcome {
    match args {
        [only] => {
            number_at(args, 0)?;
            match only {
                // Minus zero is no value of ours.
                K::Float(f) => Ok((0.0 - f).into()),
                _ => two(call, 0.into(), only, i64::checked_sub, sub_number),
            }
        }
        _ => accumulate(call, args, i64::checked_sub, sub_number),
    }
}

fn multiply(call: &Call<'_>, args: &[K]) -> Outcome {
    match args {
        [] => Ok(1.into()),
        _ => accumulate(call, args, i64::checked_mul, mul_number),
    }
}

fn exact_quotient(a: i64, b: i64) -> Option<i64> {
    (a.checked_rem(b)? == 0).then(|| a.checked_div(b)).flatten()
}

fn divide(call: &Call<'_>, args: &[K]) -> Outcome {
    for index in 1..args.len() {
        nonzero(args, index)?;
    }
    match args {
        [_] => {
            nonzero(args, 0)?;
            two(call, 1.into(), &args[0], exact_quotient, div_number)
        }
        _ => accumulate(call, args, exact_quotient, div_number),
    }
}

/// Division by zero is an error for floats too, since infinity is no value of ours.
fn nonzero(args: &[K], index: usize) -> Result<(), Fault> {
    let zero = match number_at(args, index)? {
        K::Integer(n) => n.is_zero(),
        K::Float(f) => *f == 0.0,
        K::Ratio(r) => r.is_zero(),
        _ => false,
    };
    if zero { Err(divide_by_zero()) } else { Ok(()) }
}

fn floor_quotient(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    quotient.checked_sub(i64::from(inexact && ((a < 0) != (b < 0))))
}

fn floor_divide(call: &Call<'_>, args: &[K]) -> Outcome {
    number_at(args, 0)?;
    nonzero(args, 1)?;
    let quotient = two(call, args[0].clone(), &args[1], floor_quotient, div_number)?;
    rounded(call, &[quotient], f64::floor, Ratio::floor)
}

fn rem(call: &Call<'_>, args: &[K]) -> Outcome {
    let a = number_at(args, 0)?;
    nonzero(args, 1)?;
    if let (K::Integer(a), K::Integer(b)) = (a, &args[1]) {
        return match (a.to_i64(), b.to_i64()) {
            (Some(a), Some(b)) => Ok(a.wrapping_rem(b).into()),
            _ => Ok(K::Integer(a.clone() % b.clone())),
        };
    }
    call.run.charge(slow_price(a, &args[1]))?;
    if let (Some(a), Some(b)) = (exact(a), exact(&args[1])) {
        return bounded(call, K::Ratio(a % b));
    }
    let (a, b) = (as_float(args, 0)?, as_float(args, 1)?);
    Ok((a % b).into())
}

fn exact(value: &K) -> Option<Ratio> {
    match value {
        K::Integer(n) => Some(Ratio::from_integer(n.clone())),
        K::Ratio(r) => Some(r.clone()),
        _ => None,
    }
}

fn as_float(args: &[K], index: usize) -> Result<f64, Fault> {
    let float = match number_at(args, index)? {
        K::Float(f) => Some(*f),
        K::Integer(n) => n.to_f64(),
        K::Ratio(r) => r.to_f64(),
        _ => None,
    };
    float.ok_or_else(|| soft("overflow", "the number is too large for a float"))
}

fn power(call: &Call<'_>, args: &[K]) -> Outcome {
    let mut base = K::Integer(integer_at(args, 0)?.clone());
    let mut exponent = u32::try_from(int_at(args, 1)?).map_err(|_| {
        soft(
            "bad_exponent",
            "the exponent must be between 0 and 4294967295",
        )
    })?;
    let mut result = K::from(1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = two(call, result, &base, i64::checked_mul, mul_number)?;
        }
        exponent >>= 1;
        if exponent > 0 {
            call.run.charge(1)?;
            base = two(call, base.clone(), &base, i64::checked_mul, mul_number)?;
        }
    }
    bounded(call, result)
}

fn abs(call: &Call<'_>, args: &[K]) -> Outcome {
    match number_at(args, 0)? {
        K::Float(f) => Ok(f.abs().into()),
        K::Integer(n) => bounded(call, K::Integer(n.abs())),
        K::Ratio(r) => Ok(K::Ratio(r.abs())),
        other => Ok(other.clone()),
    }
}

fn extreme(args: &[K], wanted: std::cmp::Ordering) -> Outcome {
    let mut best = number_at(args, 0)?;
    for index in 1..args.len() {
        let next = number_at(args, index)?;
        if compare(next, best)? == wanted {
            best = next;
        }
    }
    Ok(best.clone())
}

fn max(_call: &Call<'_>, args: &[K]) -> Outcome {
    extreme(args, std::cmp::Ordering::Greater)
}

fn min(_call: &Call<'_>, args: &[K]) -> Outcome {
    extreme(args, std::cmp::Ordering::Less)
}

fn rounded(
    call: &Call<'_>,
    args: &[K],
    float: fn(f64) -> f64,
    ratio: fn(&Ratio) -> Ratio,
) -> Outcome {
    match number_at(args, 0)? {
        K::Float(f) => Ok(float(*f).into()),
        K::Ratio(r) => bounded(call, K::Integer(ratio(r).to_integer())),
        other => Ok(other.clone()),
    }
}

fn floor(call: &Call<'_>, args: &[K]) -> Outcome {
    rounded(call, args, f64::floor, Ratio::floor)
}

fn ceil(call: &Call<'_>, args: &[K]) -> Outcome {
    rounded(call, args, f64::ceil, Ratio::ceil)
}

fn round(call: &Call<'_>, args: &[K]) -> Outcome {
    rounded(call, args, f64::round, Ratio::round)
}

fn trunc(call: &Call<'_>, args: &[K]) -> Outcome {
    rounded(call, args, f64::trunc, Ratio::trunc)
}

fn int(call: &Call<'_>, args: &[K]) -> Outcome {
    match number_at(args, 0)? {
        K::Float(f) => match Integer::from_f64(f.trunc()) {
            Some(n) => bounded(call, K::Integer(n)),
            None => Err(soft("not_finite", "the float is not finite")),
        },
        K::Ratio(r) => bounded(call, K::Integer(r.to_integer())),
        other => Ok(other.clone()),
    }
}

fn float(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(as_float(args, 0)?.into())
}

fn rat(call: &Call<'_>, args: &[K]) -> Outcome {
    match number_at(args, 0)? {
        K::Float(f) => match Ratio::from_f64(*f) {
            Some(r) => bounded(call, K::Ratio(r)),
            None => Err(soft("not_finite", "the float is not finite")),
        },
        other => Ok(exact(other).map_or_else(|| other.clone(), K::Ratio)),
    }
}

fn numer(_call: &Call<'_>, args: &[K]) -> Outcome {
    match exact(number_at(args, 0)?) {
        Some(r) => Ok(K::Integer(r.numer().clone())),
        None => Err(wrong(0, "a ratio or integer", &args[0])),
    }
}

fn denom(_call: &Call<'_>, args: &[K]) -> Outcome {
    match exact(number_at(args, 0)?) {
        Some(r) => Ok(K::Integer(r.denom().clone())),
        None => Err(wrong(0, "a ratio or integer", &args[0])),
    }
}

fn zero(_call: &Call<'_>, args: &[K]) -> Outcome {
    match number_at(args, 0)? {
        K::Integer(n) => Ok(K::Bool(n.is_zero())),
        K::Float(f) => Ok(K::Bool(*f == 0.0)),
        K::Ratio(r) => Ok(K::Bool(r.is_zero())),
        _ => Ok(K::Bool(false)),
    }
}

fn bit_and(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Integer(
        integer_at(args, 0)?.clone() & integer_at(args, 1)?.clone(),
    ))
}

fn bit_or(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Integer(
        integer_at(args, 0)?.clone() | integer_at(args, 1)?.clone(),
    ))
}

fn bit_xor(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Integer(
        integer_at(args, 0)?.clone() ^ integer_at(args, 1)?.clone(),
    ))
}

fn bit_not(call: &Call<'_>, args: &[K]) -> Outcome {
    bounded(call, K::Integer(!integer_at(args, 0)?.clone()))
}

fn shift_at(args: &[K]) -> Result<usize, Fault> {
    usize::try_from(int_at(args, 1)?)
        .map_err(|_| soft("out_of_range", "the number of bits is negative"))
}

fn shift_left(call: &Call<'_>, args: &[K]) -> Outcome {
    let n = integer_at(args, 0)?;
    let bits = shift_at(args)?;
    if n.is_zero() {
        return Ok(0.into());
    }
    if n.bits().saturating_add(bits) > call.run.limits.max_integer_bits as usize {
        return Err(too_many_bits(call));
    }
    Ok(K::Integer(n.clone() << bits))
}

fn shift_right(_call: &Call<'_>, args: &[K]) -> Outcome {
    let n = integer_at(args, 0)?;
    let bits = shift_at(args)?.min(n.bits() + 1);
    Ok(K::Integer(n.clone() >> bits))
}
