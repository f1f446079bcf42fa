//! The JSON Schema of the protocol, made from the table that frames are read by.

use svit_tree::{MAX_ADDRESS_BYTES, MAX_PATH_BYTES, MAX_SEGMENTS};
use svit_value::{List, Map, Value, ValueError, value};

use super::shape::{Case, Field, REQUEST, RESPONSE, Shape, Tagged};
use super::wire::PROTOCOL;
use crate::ids::{MAX_ID_BYTES, id_pattern};

/// The JSON Schema (draft 2020-12) of `svit-control@1`: `#/$defs/request` and `#/$defs/response`.
///
/// What is kept in `schema/control/v1/schema.json` is this. It says what a frame looks like; some
/// rules no schema can say, such as the length of a frame: see the folder's `README.md`.
///
/// # Errors
/// None that a caller could cause.
///
/// ```
/// let schema = svit_txn::control::schema()?;
/// let id = schema.get("$defs").and_then(|defs| defs.get("id")?.get("pattern")?.as_str());
/// assert_eq!(id, Some("^[A-Za-z0-9._-]{1,128}$"));
/// # Ok::<(), svit_value::ValueError>(())
/// ```
pub fn schema() -> Result<Value, ValueError> {
    let shared = [
        (
            "id",
            text_of(
                id_pattern(),
                MAX_ID_BYTES,
                &format!("1 to {MAX_ID_BYTES} of `A-Z a-z 0-9 - _ .`."),
            ),
        ),
        (
            "address",
            text_of(
                address_pattern(),
                MAX_ADDRESS_BYTES,
                "`svit://<authority>/<segment>[/<segment>...]`: a name, never proof of identity.",
            ),
        ),
        (
            "path",
            text_of(
                path_pattern(),
                MAX_PATH_BYTES,
                "`/`, or `/seg/seg`; in a segment `~1` stands for `/` and `~0` for `~`.",
            ),
        ),
        (
            "digest",
            text_of(
                "^[0-9a-f]{64}$".into(),
                64,
                "BLAKE3, in lower-case hex digits.",
            ),
        ),
        (
            "count",
            value!({"type": "integer", "minimum": 0, "maximum": (i64::MAX)}),
        ),
        (
            "value",
            value!({"description": "Any JSON. Integers fit 64 bits, no key comes twice, and octets are {\"/\": {\"bytes\": \"<base64 without padding>\"}}."}),
        ),
        ("request", object(REQUEST)?),
        ("response", object(RESPONSE)?),
    ];
    Ok(value!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": PROTOCOL,
        "description": "Requests and responses of the Svit Control Protocol. Made by `cargo xtask schema`; do not edit.",
        "anyOf": [{"$ref": "#/$defs/request"}, {"$ref": "#/$defs/response"}],
        "$defs": (Map::from_entries(shared)?),
    }))
}

fn text_of(pattern: String, max: usize, about: &str) -> Value {
    // Lengths count characters here and bytes in the code: the schema is never the stricter one.
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    value!({"type": "string", "pattern": pattern, "maxLength": max, "description": about})
}

/// A segment that is neither `.` nor `..`, without look-ahead, which not every dialect has.
fn segment(allowed_without_dot: &str) -> String {
    let (first, any) = (
        allowed_without_dot,
        format!("(?:\\.|{allowed_without_dot})"),
    );
    format!("(?:\\.{{0,2}}{first}{any}*|\\.{{3}}{any}*)")
}

fn address_pattern() -> String {
    let (authority, name) = (segment("[a-z0-9-]"), segment("[A-Za-z0-9_~-]"));
    format!("^svit://{authority}(?:/{name})+$")
}

fn path_pattern() -> String {
    let name = segment("(?:[^./~\\u0000]|~[01])");
    format!("^(?:/|(?:/{name}){{1,{MAX_SEGMENTS}}})$")
}

fn reference(name: &str) -> Value {
    value!({"$ref": (format!("#/$defs/{name}"))})
}

fn shape(shape: &Shape) -> Result<Value, ValueError> {
    Ok(match shape {
        Shape::Protocol => value!({"const": PROTOCOL}),
        Shape::Id => reference("id"),
        Shape::Address => reference("address"),
        Shape::Path => reference("path"),
        Shape::Digest => reference("digest"),
        Shape::Count => reference("count"),
        Shape::Any => reference("value"),
        Shape::Flag => value!({"type": "boolean"}),
        Shape::Text => value!({"type": "string"}),
        Shape::OneOf(known) => value!({"enum": (List::from_values(known.iter().copied())?)}),
        Shape::List(item) => value!({"type": "array", "items": (self::shape(item)?)}),
        Shape::Object(fields) => object(fields)?,
        Shape::Tagged(tagged) => self::tagged(tagged)?,
    })
}

/// An object with these fields and any others.
fn object(fields: &[Field]) -> Result<Value, ValueError> {
    let properties = fields
        .iter()
        .map(|field| described(field.name, shape(&field.shape)?, field.about));
    let properties: Vec<_> = properties.collect::<Result<_, _>>()?;
    let required = fields.iter().map(|field| field.name);
    Ok(value!({
        "type": "object",
        "required": (List::from_values(required)?),
        "properties": (Map::from_entries(properties)?),
    }))
}

fn described<'a>(name: &'a str, shape: Value, about: &str) -> Result<(&'a str, Value), ValueError> {
    let mut shape = shape.as_map().cloned().unwrap_or_default();
    shape.insert("description", about)?;
    Ok((name, shape.into()))
}

fn tagged(tagged: &Tagged) -> Result<Value, ValueError> {
    let names = tagged.cases.iter().map(|case| case.name);
    let cases = tagged.cases.iter().map(|case| self::case(tagged.tag, case));
    let cases: Vec<Value> = cases.collect::<Result<_, _>>()?;
    let tag = Map::from_entries([(tagged.tag, value!({"enum": (List::from_values(names)?)}))])?;
    Ok(value!({
        "type": "object",
        "required": [(tagged.tag)],
        "properties": tag,
        "oneOf": (List::from_values(cases)?),
    }))
}

fn case(tag: &str, case: &Case) -> Result<Value, ValueError> {
    let mut object = object(case.fields)?.as_map().cloned().unwrap_or_default();
    let properties = object.get("properties").and_then(Value::as_map).cloned();
    let mut properties = properties.unwrap_or_default();
    properties.insert(tag, value!({"const": (case.name)}))?;
    object.insert("properties", properties)?;
    object.insert("description", case.about)?;
    Ok(object.into())
}

#[cfg(test)]
mod tests;
