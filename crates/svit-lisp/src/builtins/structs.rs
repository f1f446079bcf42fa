//! Structs: records of the script's own, with fields of fixed kinds. They live only while it runs.

use std::rc::Rc;
use std::sync::Arc;

use super::{MANY, Outcome, row, wrong};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::{Body, data};
use crate::engine::run::{Fault, soft};
use crate::engine::value::kind;
use crate::front::ir::{FieldKind, StructDef};
use crate::table::Row;

const STRUCTS: &str = "structs";

pub(super) fn rows() -> Vec<Row> {
    vec![
        // Behind the form `new`, which is no name, so that scripts can call a new value so.
        row("%new", "", STRUCTS, "", (1, MANY), new),
        row(
            ".",
            "(. value :field)",
            STRUCTS,
            "A field of a struct value.",
            (2, 2),
            get,
        ),
        row(
            ".=",
            "(.= value :field new ...)",
            STRUCTS,
            "The struct value with other values for some fields.",
            (3, MANY),
            replace,
        ),
        row(
            "is-instance",
            "(is-instance struct value)",
            STRUCTS,
            "Whether a value is one of the struct.",
            (2, 2),
            is_instance,
        ),
    ]
}

fn def_at(args: &[K], index: usize) -> Result<&Arc<StructDef>, Fault> {
    match data(&args[index]).map(|d| &d.body) {
        Some(Body::StructDef(def)) => Ok(def),
        _ => Err(wrong(index, "the name of a struct", &args[index])),
    }
}

fn value_at(args: &[K], index: usize) -> Result<(&Arc<StructDef>, &Rc<Vec<K>>), Fault> {
    match data(&args[index]).map(|d| &d.body) {
        Some(Body::Struct(def, fields)) => Ok((def, fields)),
        _ => Err(wrong(
            index,
            "a struct value made by (new struct :field value)",
            &args[index],
        )),
    }
}

/// The number of the field that a keyword names.
fn field(call: &Call<'_>, def: &StructDef, keyword: &K) -> Result<usize, Fault> {
    let name = match keyword {
        K::Keyword(_) => call.name_text(keyword),
        _ => None,
    };
    let Some(name) = name else {
        return Err(soft(
            "wrong_type",
            format!(
                "a field is named by a keyword such as :{}, found {}",
                def.fields.first().map_or("name", |(name, _)| name.as_str()),
                kind(keyword)
            ),
        ));
    };
    let at = def.fields.iter().position(|(field, _)| **field == *name);
    at.ok_or_else(|| {
        let name = crate::error::clip(&name, 80);
        soft("no_field", format!("`{}` has no field :{name}", def.name))
    })
}

/// Checks that a value may stand in a field.
fn fits(def: &StructDef, at: usize, value: &K) -> Result<(), Fault> {
    let (name, wanted) = &def.fields[at];
    let found = kind(value);
    let (fits, wanted): (bool, &str) = match wanted {
        FieldKind::Any => return Ok(()),
        FieldKind::Kind("number") => (matches!(found, "integer" | "float" | "ratio"), "number"),
        FieldKind::Kind(kind) => (found == *kind, kind),
        FieldKind::Struct(number, name) => (is_of(*number, value), name),
    };
    if fits {
        return Ok(());
    }
    Err(soft(
        "wrong_type",
        format!(
            "the field :{name} of `{}` is {wanted}, found {found}",
            def.name
        ),
    ))
}

fn is_of(number: u32, value: &K) -> bool {
    matches!(data(value).map(|d| &d.body), Some(Body::Struct(def, _)) if def.number == number)
}

/// The fields that keywords and values say, by their number; each at most once.
fn given<'a>(call: &Call<'_>, def: &StructDef, args: &'a [K]) -> Result<Vec<Option<&'a K>>, Fault> {
    if !args.len().is_multiple_of(2) {
        return Err(soft(
            "bad_keywords",
            "fields stand as pairs such as :name value",
        ));
    }
    let mut values = vec![None; def.fields.len()];
    for pair in args.chunks_exact(2) {
        let at = field(call, def, &pair[0])?;
        fits(def, at, &pair[1])?;
        if values[at].replace(&pair[1]).is_some() {
            let name = &def.fields[at].0;
            return Err(soft("duplicate_keyword", format!(":{name} is given twice")));
        }
    }
    Ok(values)
}

fn new(call: &Call<'_>, args: &[K]) -> Outcome {
    let def = def_at(args, 0)?;
    let values = given(call, def, &args[1..])?;
    let fields: Option<Vec<K>> = values.iter().map(|value| value.cloned()).collect();
    match (fields, values.iter().position(Option::is_none)) {
        (Some(fields), None) => call.run.structure(def.clone(), fields),
        (_, missing) => {
            let name = missing.map_or("", |at| def.fields[at].0.as_str());
            Err(soft(
                "missing_field",
                format!("`{}` needs a value for :{name}", def.name),
            ))
        }
    }
}

fn get(call: &Call<'_>, args: &[K]) -> Outcome {
    let (def, fields) = value_at(args, 0)?;
    let at = field(call, def, &args[1])?;
    Ok(fields[at].clone())
}

fn replace(call: &Call<'_>, args: &[K]) -> Outcome {
    let (def, fields) = value_at(args, 0)?;
    let values = given(call, def, &args[1..])?;
    call.run.charge(fields.len() as u64 / 4)?;
    let changed = values.iter().zip(fields.iter());
    let changed = changed.map(|(new, old)| new.unwrap_or(old).clone());
    call.run.structure(def.clone(), changed.collect())
}

fn is_instance(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(is_of(def_at(args, 0)?.number, &args[1])))
}
