//! Ordinary filters give what real jq gives; see `tests/jq/pin.mjs` for where the data come from.

use serde_json::Value as Json;
use svit_query::QueryError;
use svit_query::jq::{JqOptions, jq};
use svit_tree::guest::Meter;
use svit_value::Value;

fn cases(text: &str) -> Vec<Json> {
    let file: Json = serde_json::from_str(text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// Results as JSON, or the error.
fn ask(case: &Json) -> Result<Vec<Json>, QueryError> {
    let input = Value::from_json(&case["input"].to_string()).unwrap();
    let filter = case["filter"].as_str().unwrap();
    let results = jq(
        filter,
        &input,
        &JqOptions::default(),
        &Meter::new(1_000_000),
    )?;
    Ok(results
        .iter()
        .map(|value| serde_json::from_str(&value.to_json().unwrap()).unwrap())
        .collect())
}

/// Equal as jq sees it: all numbers are floats.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// What does not hold, as text.
fn differs(case: &Json, expected: &Json) -> Option<String> {
    let ours = ask(case);
    let Some(expected) = expected.as_array() else {
        return ours.ok().map(|ours| format!("should fail, gives {ours:?}"));
    };
    let parsed: Vec<Json> = expected
        .iter()
        .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    match ours {
        Ok(ours) if equal(&Json::Array(ours.clone()), &Json::Array(parsed.clone())) => None,
        Ok(ours) => Some(format!(
            "gives {}, not {}",
            Json::Array(ours),
            Json::Array(parsed)
        )),
        Err(error) => Some(format!("fails ({error}), not {}", Json::Array(parsed))),
    }
}

fn check(cases: &[Json], key: &str) {
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| {
            let why = differs(case, &case[key])?;
            Some(format!("{}\n    {why}", case["filter"].as_str().unwrap()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn ordinary_filters_give_what_jq_gives() {
    let cases = cases(include_str!("../../jq/ordinary.json"));
    assert!(cases.len() >= 200);
    check(&cases, "results");
}

#[test]
fn exceptions_are_as_documented() {
    let cases = cases(include_str!("../../jq/exceptions.json"));
    check(&cases, "ours");
    let stale: Vec<_> = cases
        .iter()
        .filter(|case| {
            let reason = case["reason"].as_str().unwrap();
            reason.is_empty() || differs(case, &case["results"]).is_none()
        })
        .collect();
    assert!(stale.is_empty(), "no exceptions: {stale:?}");
}
