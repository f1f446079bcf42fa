//! `Retry-After`: seconds, milliseconds, or a date, which is read against the answer's own `Date`.

#[cfg(test)]
mod tests;

use std::time::Duration;

use reqwest::header::HeaderMap;

/// The wait that the server asks for.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(wait);
    }
    let asked = text("retry-after")?;
    seconds(asked, 1.0).or_else(|| {
        let wait = instant(asked)?.checked_sub(instant(text("date")?)?)?;
        Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    })
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970; the two obsolete forms of a date are not read.
fn instant(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let fields: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = fields[..] else {
        return None;
    };
    let clock: Vec<i64> = time
        .split(':')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let month = i64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()?;
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let right = (1970..=9999).contains(&year)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !right {
        return None;
    }
    // Years begin in March here, so that the leap day is the last.
    let shifted = (month + 10) % 12;
    let year = year - i64::from(month < 2);
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (shifted * 306 + 5) / 10 + day - 719_469;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}
