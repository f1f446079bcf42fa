//! Functions of numbers, from a library that calculates alike on every machine.
//!
//! A function of integers whose result is a whole number gives an integer.

use super::{Run, functions};
use crate::jq::number::{Number, whole};
use crate::jq::value::{Val, ValR, fail, new_list};

/// Functions of one number.
macro_rules! of_one {
    ($($name:ident $function:expr;)*) => {
        $(fn $name(input: Val) -> ValR {
            one(&input, $function)
        })*
    };
}

/// Functions of two numbers, which are arguments.
macro_rules! of_two {
    ($($name:ident $function:expr;)*) => {
        $(fn $name(_: Val, a: Val, b: Val) -> ValR {
            two(&a, &b, $function)
        })*
    };
}

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "floor" => floor, 0;
        "ceil" => ceil, 0;
        "round" => round, 0;
        "trunc" => trunc, 0;
        "rint" => rint, 0;
        "nearbyint" => rint, 0;
        "fabs" => fabs, 0;
        "abs" => abs, 0;
        "sqrt" => sqrt, 0;
        "cbrt" => cbrt, 0;
        "exp" => exp, 0;
        "exp2" => exp2, 0;
        "exp10" => exp10, 0;
        "expm1" => expm1, 0;
        "log" => log, 0;
        "log2" => log2, 0;
        "log10" => log10, 0;
        "log1p" => log1p, 0;
        "sin" => sin, 0;
        "cos" => cos, 0;
        "tan" => tan, 0;
        "asin" => asin, 0;
        "acos" => acos, 0;
        "atan" => atan, 0;
        "sinh" => sinh, 0;
        "cosh" => cosh, 0;
        "tanh" => tanh, 0;
        "asinh" => asinh, 0;
        "acosh" => acosh, 0;
        "atanh" => atanh, 0;
        "gamma" => lgamma, 0;
        "lgamma" => lgamma, 0;
        "tgamma" => tgamma, 0;
        "lgamma_r" => lgamma_r, 0;
        "erf" => erf, 0;
        "erfc" => erfc, 0;
        "j0" => j0, 0;
        "j1" => j1, 0;
        "y0" => y0, 0;
        "y1" => y1, 0;
        "logb" => logb, 0;
        "significand" => significand, 0;
        "frexp" => frexp, 0;
        "modf" => modf, 0;
        "isinfinite" => is_infinite, 0;
        "isfinite" => is_finite, 0;
        "isnan" => is_nan, 0;
        "isnormal" => is_normal, 0;
        "pow" => pow, 2;
        "atan2" => atan2, 2;
        "fmin" => fmin, 2;
        "fmax" => fmax, 2;
        "fmod" => fmod, 2;
        "hypot" => hypot, 2;
        "copysign" => copysign, 2;
        "fdim" => fdim, 2;
        "drem" => drem, 2;
        "remainder" => drem, 2;
        "nextafter" => nextafter, 2;
        "nexttoward" => nextafter, 2;
        "ldexp" => ldexp, 2;
        "scalb" => ldexp, 2;
        "scalbln" => ldexp, 2;
        "fma" => fma, 3;
    }
}

fn need(value: &Val) -> ValR<Number> {
    match value.number() {
        Some(number) => Ok(number),
        None => fail(format!("{} number required", value.named())),
    }
}

fn result(all_int: bool, float: f64) -> Val {
    if all_int {
        whole(float)
    } else {
        Val::from(float)
    }
}

fn one(input: &Val, function: fn(f64) -> f64) -> ValR {
    let number = need(input)?;
    Ok(result(
        matches!(number, Number::Int(_)),
        function(number.float()),
    ))
}

fn two(a: &Val, b: &Val, function: fn(f64, f64) -> f64) -> ValR {
    let (a, b) = (need(a)?, need(b)?);
    let all_int = matches!((a, b), (Number::Int(_), Number::Int(_)));
    Ok(result(all_int, function(a.float(), b.float())))
}

/// To a whole number, which is an integer if it fits one.
fn rounded(input: Val, function: fn(f64) -> f64) -> ValR {
    match need(&input)? {
        Number::Int(_) => Ok(input),
        Number::Float(float) => Ok(whole(function(float))),
    }
}

fn floor(input: Val) -> ValR {
    rounded(input, libm::floor)
}

fn ceil(input: Val) -> ValR {
    rounded(input, libm::ceil)
}

fn round(input: Val) -> ValR {
    rounded(input, libm::round)
}

fn trunc(input: Val) -> ValR {
    rounded(input, libm::trunc)
}

fn rint(input: Val) -> ValR {
    rounded(input, libm::rint)
}

fn abs(input: Val) -> ValR {
    if input < Val::from(0_i64) {
        -input
    } else {
        Ok(input)
    }
}

of_one! {
    fabs libm::fabs;
    sqrt libm::sqrt;
    cbrt libm::cbrt;
    exp libm::exp;
    exp2 libm::exp2;
    exp10 libm::exp10;
    expm1 libm::expm1;
    log libm::log;
    log2 libm::log2;
    log10 libm::log10;
    log1p libm::log1p;
    sin libm::sin;
    cos libm::cos;
    tan libm::tan;
    asin libm::asin;
    acos libm::acos;
    atan libm::atan;
    sinh libm::sinh;
    cosh libm::cosh;
    tanh libm::tanh;
    asinh libm::asinh;
    acosh libm::acosh;
    atanh libm::atanh;
    lgamma libm::lgamma;
    tgamma libm::tgamma;
    erf libm::erf;
    erfc libm::erfc;
    j0 libm::j0;
    j1 libm::j1;
    y0 libm::y0;
    y1 libm::y1;
    logb exponent;
    significand mantissa;
}

of_two! {
    pow libm::pow;
    atan2 libm::atan2;
    fmin libm::fmin;
    fmax libm::fmax;
    fmod libm::fmod;
    hypot libm::hypot;
    copysign libm::copysign;
    fdim libm::fdim;
    drem libm::remainder;
    nextafter libm::nextafter;
    ldexp |a, b| libm::ldexp(a, b.clamp(-100_000.0, 100_000.0) as i32);
}

/// The exponent of the binary form.
fn exponent(float: f64) -> f64 {
    if float == 0.0 {
        f64::NEG_INFINITY
    } else if float.is_finite() {
        f64::from(libm::frexp(float).1 - 1)
    } else {
        float.abs()
    }
}

/// The digits of the binary form, at least 1 and below 2.
fn mantissa(float: f64) -> f64 {
    if float == 0.0 || !float.is_finite() {
        float
    } else {
        libm::frexp(float).0 * 2.0
    }
}

fn frexp(input: Val) -> ValR {
    let float = need(&input)?.float();
    let (digits, exponent) = if float.is_finite() {
        libm::frexp(float)
    } else {
        (float, 0)
    };
    let parts = [Val::from(digits), Val::from(i64::from(exponent))];
    Ok(new_list(parts.map(Val::into_value).into()))
}

fn modf(input: Val) -> ValR {
    let float = need(&input)?.float();
    let (rest, whole_part) = if float.is_infinite() {
        (0.0, float)
    } else {
        libm::modf(float)
    };
    let parts = [Val::from(rest), Val::from(whole_part)];
    Ok(new_list(parts.map(Val::into_value).into()))
}

fn lgamma_r(input: Val) -> ValR {
    let (log, sign) = libm::lgamma_r(need(&input)?.float());
    let parts = [Val::from(log), Val::from(i64::from(sign))];
    Ok(new_list(parts.map(Val::into_value).into()))
}

fn is_finite(input: Val) -> ValR {
    // As jq has it: NaN is not infinite.
    Ok(Val::from(!need(&input)?.float().is_infinite()))
}

fn is_infinite(input: Val) -> ValR {
    Ok(Val::from(need(&input)?.float().is_infinite()))
}

fn is_nan(input: Val) -> ValR {
    Ok(Val::from(need(&input)?.is_nan()))
}

fn is_normal(input: Val) -> ValR {
    Ok(Val::from(need(&input)?.float().is_normal()))
}

fn fma(_: Val, a: Val, b: Val, c: Val) -> ValR {
    let numbers = [need(&a)?, need(&b)?, need(&c)?];
    let all_int = numbers
        .iter()
        .all(|number| matches!(number, Number::Int(_)));
    let [a, b, c] = numbers.map(Number::float);
    Ok(result(all_int, libm::fma(a, b, c)))
}
