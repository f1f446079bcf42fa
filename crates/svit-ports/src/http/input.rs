//! What a guest says, as a request to be judged; and the manual that tells it how.

use std::time::Duration;

use svit_value::{Bytes, List, Map, Value, value};

use super::error::bad_input;
use super::header::{self, MAX_REQUEST_HEADERS};
use super::{HttpError, HttpLimits, HttpMethod, HttpUrl};
use crate::error::cut;

/// A request as a guest asked for it.
pub(super) struct Asked {
    pub(super) method: HttpMethod,
    pub(super) url: HttpUrl,
    /// Names in lower case, none twice.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Bytes>,
    pub(super) timeout: Duration,
    pub(super) max_redirects: Option<u32>,
}

const FIELDS: &str = "method, url, headers, body, json, timeout_ms, follow_redirects";

impl Asked {
    pub(super) fn parse(input: &Value, limits: &HttpLimits) -> Result<Self, HttpError> {
        let Some(input) = input.as_map() else {
            let why = format!("give a map with url, and if need be others of {FIELDS}");
            return Err(bad_input("input", why));
        };
        let known = |key: &&str| FIELDS.split(", ").any(|field| field == *key);
        if let Some(key) = input.keys().find(|key| !known(&key.as_str())) {
            let why = format!("there is no field {:?}; there are {FIELDS}", cut(key, 60));
            return Err(bad_input("input", why));
        }
        let method = method(input)?;
        let url = text(input, "url")?.ok_or_else(|| bad_input("url", "it is missing"))?;
        let url = HttpUrl::parse(url)?;
        let mut headers = headers(input)?;
        let body = body(input, &mut headers)?;
        check_body(method, body.as_ref(), limits)?;
        let follows = match input.get("follow_redirects") {
            None | Some(Value::Null) => true,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| bad_input("follow_redirects", "it is true or false"))?,
        };
        Ok(Self {
            method,
            url,
            headers,
            body,
            timeout: timeout(input, limits)?,
            max_redirects: (follows && limits.max_redirects > 0).then_some(limits.max_redirects),
        })
    }
}

fn text<'a>(input: &'a Map, field: &'static str) -> Result<Option<&'a str>, HttpError> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(bad_input(
                field,
                format!("it is a text, not {}", value.kind()),
            )),
        },
    }
}

fn method(input: &Map) -> Result<HttpMethod, HttpError> {
    let Some(text) = text(input, "method")? else {
        return Ok(HttpMethod::Get);
    };
    HttpMethod::parse(text).ok_or_else(|| {
        let why = format!("it is one of {}", HttpMethod::list(&HttpMethod::ALL));
        bad_input("method", why)
    })
}

fn headers(input: &Map) -> Result<Vec<(String, String)>, HttpError> {
    let map = match input.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(value) => value
            .as_map()
            .ok_or_else(|| bad_input("headers", "it is a map from names to texts"))?,
    };
    if map.len() > MAX_REQUEST_HEADERS {
        return Err(bad_input(
            "headers",
            format!("there are more than {MAX_REQUEST_HEADERS}"),
        ));
    }
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in map.iter() {
        let refused = |why: &str| HttpError::HeaderNotAllowed {
            name: cut(name, 60).to_owned(),
            why: why.to_owned(),
        };
        let value = value
            .as_str()
            .ok_or_else(|| refused("its value is a text"))?;
        let lower = header::checked_name(name).map_err(refused)?;
        header::check_value(value).map_err(refused)?;
        if headers.iter().any(|(known, _)| *known == lower) {
            return Err(refused("it is there twice"));
        }
        headers.push((lower, value.to_owned()));
    }
    Ok(headers)
}

fn body(input: &Map, headers: &mut Vec<(String, String)>) -> Result<Option<Bytes>, HttpError> {
    let body = input.get("body").filter(|body| !body.is_null());
    let Some(json) = input.get("json") else {
        return match body {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(Bytes::from(text.as_bytes()))),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes.clone())),
            Some(_) => Err(bad_input(
                "body",
                "it is a text or bytes; give other values as json",
            )),
        };
    };
    if body.is_some() {
        return Err(bad_input("json", "give body or json, not both"));
    }
    let json = json
        .to_json()
        .map_err(|error| bad_input("json", error.to_string()))?;
    if !headers.iter().any(|(name, _)| name == "content-type") {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    Ok(Some(Bytes::from(json.into_bytes())))
}

fn check_body(
    method: HttpMethod,
    body: Option<&Bytes>,
    limits: &HttpLimits,
) -> Result<(), HttpError> {
    let Some(body) = body else {
        return Ok(());
    };
    if method.is_safe() {
        return Err(bad_input("body", format!("a {method} request has no body")));
    }
    let actual = body.as_slice().len() as u64;
    let allowed = limits.max_request_bytes;
    if actual > allowed {
        return Err(HttpError::RequestTooLarge { allowed, actual });
    }
    Ok(())
}

fn timeout(input: &Map, limits: &HttpLimits) -> Result<Duration, HttpError> {
    let asked = match input.get("timeout_ms") {
        None | Some(Value::Null) => return Ok(limits.timeout),
        Some(value) => value.as_int().and_then(|ms| u64::try_from(ms).ok()),
    };
    match asked {
        Some(ms @ 1..) => Ok(Duration::from_millis(ms).min(limits.timeout)),
        _ => Err(bad_input("timeout_ms", "it is a positive integer")),
    }
}

pub(super) fn input_schema(limits: &HttpLimits) -> Value {
    let methods = HttpMethod::ALL.map(HttpMethod::as_str);
    let methods = List::from_values(methods).map_or(Value::Null, Value::from);
    value!({
        "type": "object",
        "required": ["url"],
        "additionalProperties": false,
        "properties": {
            "method": {"type": "string", "enum": (methods), "description": "GET if left out"},
            "url": {"type": "string", "description": "http:// or https://, without a user and without #"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {"description": "a text or bytes"},
            "json": {"description": "any value, to be sent as JSON in place of body"},
            "timeout_ms": {"type": "integer", "minimum": 1, "maximum": (millis(limits.timeout))},
            "follow_redirects": {"type": "boolean", "description": "true if left out"}
        }
    })
}

pub(super) fn output_schema() -> Value {
    value!({
        "type": "object",
        "required": ["status", "url", "headers", "body"],
        "properties": {
            "status": {"type": "integer"},
            "url": {"type": "string", "description": "where the answer is from, after redirects"},
            "headers": {
                "type": "object",
                "description": "names in lower case; several values of one are joined by a comma, of set-cookie by a line break",
                "additionalProperties": {"type": "string"}
            },
            "body": {"description": "a text if it is UTF-8, else bytes"}
        }
    })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
