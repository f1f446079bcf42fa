//! Waits that servers ask for.

use super::*;

fn check(headers: &[(&'static str, &str)], expected: Option<f64>) {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    assert_eq!(
        retry_after(&map).map(|wait| wait.as_secs_f64()),
        expected,
        "{headers:?}"
    );
}

#[test]
fn a_wait_is_read_in_every_form() {
    let date = ("date", "Mon, 16 Jun 2025 12:00:00 GMT");
    check(&[], None);
    check(&[("retry-after", "7")], Some(7.0));
    check(&[("retry-after", " 0.5 ")], Some(0.5));
    check(
        &[("retry-after-ms", "250"), ("retry-after", "7")],
        Some(0.25),
    );
    check(&[("retry-after", "-1")], None);
    check(&[("retry-after", "NaN")], None);
    check(&[("retry-after", "1e300")], None);
    check(&[("retry-after", "soon")], None);
    check(
        &[("retry-after", "Mon, 16 Jun 2025 12:01:30 GMT"), date],
        Some(90.0),
    );
    check(
        &[("retry-after", "Tue, 17 Jun 2025 00:00:00 GMT"), date],
        Some(43_200.0),
    );
    check(
        &[("retry-after", "Mon, 16 Jun 2025 11:00:00 GMT"), date],
        Some(0.0),
    );
    check(&[("retry-after", "Mon, 16 Jun 2025 12:01:30 GMT")], None);
    check(
        &[("retry-after", "Mon, 99 Jun 2025 12:01:30 GMT"), date],
        None,
    );
    check(&[("retry-after", "Mon, 16 Jun 2025 12:01 GMT"), date], None);
}

#[test]
fn dates_are_days_since_1970() {
    assert_eq!(instant("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    assert_eq!(instant("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
    assert_eq!(instant("Tue, 29 Feb 2000 23:59:59 GMT"), Some(951_868_799));
    assert_eq!(instant("Wed, 01 Mar 2000 00:00:00 GMT"), Some(951_868_800));
    assert_eq!(
        instant("Mon, 16 Jun 2025 12:00:00 GMT"),
        Some(1_750_075_200)
    );
}
