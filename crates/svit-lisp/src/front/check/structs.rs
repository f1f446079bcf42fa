//! `(struct name ((field kind) ...))`: a record that exists only while the script runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use svit_tree::guest::Position;
use svit_value::Text;

use super::super::ir::{Code, Def, FieldKind, Literal, StructDef};
use super::super::node::{Node, NodeKind};
use super::{Checker, Result, fail, without_doc};

const FORM: &str = "write (struct name ((field kind) (field kind)))";

/// Fields of one struct: each takes two arguments of `new`.
const MAX_FIELDS: usize = 100;

/// The kinds that a field can have, as `type-of` names them, and `number` and `any`.
const KINDS: &[&str] = &[
    "any",
    "null",
    "boolean",
    "number",
    "integer",
    "float",
    "ratio",
    "string",
    "bytes",
    "list",
    "map",
    "function",
    "name",
    "keyword",
    "struct",
    "struct-def",
    "dispatch-table",
];

impl Checker<'_> {
    pub(super) fn struct_form(&mut self, at: Position, args: &[Node]) -> Result<Def> {
        let Some((target, rest)) = args.split_first() else {
            return fail(at, "bad_struct", FORM);
        };
        let name = self.bindable(target)?.clone();
        let fields = match without_doc(rest) {
            [
                Node {
                    kind: NodeKind::List(fields),
                    ..
                },
            ] => fields,
            [other] => return fail(other.at, "bad_struct", FORM),
            _ => return fail(at, "bad_struct", FORM),
        };
        if fields.len() > MAX_FIELDS {
            let problem = format!("at most {MAX_FIELDS} fields in one struct");
            return fail(at, "too_many_fields", problem);
        }
        let mut seen = BTreeSet::new();
        let mut described = Vec::with_capacity(fields.len());
        for field in fields {
            let NodeKind::List(pair) = &field.kind else {
                return fail(field.at, "bad_struct", FORM);
            };
            let [field_name, kind] = pair.as_slice() else {
                return fail(field.at, "bad_struct", FORM);
            };
            let (Some(field_name), Some(kind_name)) = (field_name.name(), kind.name()) else {
                return fail(field.at, "bad_struct", FORM);
            };
            if !seen.insert(field_name.clone()) {
                let problem = format!("the field `{field_name}` stands twice");
                return fail(field.at, "defined_twice", problem);
            }
            self.intern(field_name, field.at)?;
            let kind = self.field_kind(kind_name, kind.at)?;
            described.push((Text::from(&**field_name), kind));
        }
        let global = self.by_name[&name];
        let def = StructDef {
            number: global,
            name,
            fields: described,
        };
        let value = self.literal(Literal::Struct(Arc::new(def)), at)?;
        Ok(Def::Value { global, value })
    }

    fn field_kind(&self, name: &Arc<str>, at: Position) -> Result<FieldKind> {
        if let Some(&number) = self.by_name.get(name)
            && self.structs.contains(&number)
        {
            return Ok(FieldKind::Struct(number, name.clone()));
        }
        match KINDS.iter().find(|kind| **kind == &**name) {
            Some(&"any") => Ok(FieldKind::Any),
            Some(kind) => Ok(FieldKind::Kind(kind)),
            None => fail(
                at,
                "unknown_kind",
                format!(
                    "`{}` is no kind; write any, {}, or the name of a struct",
                    crate::error::clip(name, 80),
                    KINDS[1..].join(", ")
                ),
            ),
        }
    }
}

impl Checker<'_> {
    /// `(new struct :field value ...)`.
    pub(super) fn new_form(&mut self, at: Position, args: &[Node]) -> Result<Code> {
        let name = args.first().and_then(Node::name);
        let number = name.and_then(|name| self.by_name.get(name).copied());
        if !number.is_some_and(|number| self.structs.contains(&number)) {
            return fail(
                args.first().map_or(at, |first| first.at),
                "bad_new",
                "write (new point :x 1 :y 2) after (struct point ((x integer) (y integer))) at top level",
            );
        }
        let args = self.arguments(at, args)?;
        Ok(self.internal("%new", at, args))
    }
}

/// Whether a top-level form defines a struct.
pub(super) fn is_struct(head: &Node) -> bool {
    head.name().is_some_and(|name| &**name == "struct")
}

/// A struct below the top level.
pub(super) fn nested(at: Position) -> Result<Option<Code>> {
    fail(
        at,
        "nested_define",
        "struct stands only at top level, like define",
    )
}
