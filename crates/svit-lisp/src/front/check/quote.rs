//! Quoted data, and quasiquotes of depth one.

use svit_value::Text;

use super::super::ir::{Code, Literal};
use super::super::node::{Node, NodeKind};
use super::{Checker, INLINE_TEXT, Result, fail};

impl Checker<'_> {
    pub(super) fn quoted(&mut self, node: &Node) -> Result<Code> {
        Ok(match self.datum(node)? {
            Literal::Empty => Code::Empty,
            Literal::Bool(b) => Code::Bool(b),
            Literal::Int(n) => Code::Int(n),
            Literal::Float(f) => Code::Float(f),
            Literal::Null => Code::Null,
            Literal::Text(text) if text.len() <= INLINE_TEXT => Code::Text(text),
            literal => self.literal(literal, node.at)?,
        })
    }

    fn datum(&mut self, node: &Node) -> Result<Literal> {
        Ok(match &node.kind {
            NodeKind::Bool(b) => Literal::Bool(*b),
            NodeKind::Int(n) => Literal::Int(*n),
            NodeKind::Float(f) => Literal::Float(*f),
            NodeKind::Text(text) => Literal::Text(Text::from(text.as_str())),
            NodeKind::Bytes(bytes) => Literal::Bytes(bytes.clone()),
            NodeKind::Name(name) if &**name == "null" => Literal::Null,
            NodeKind::Name(name) => {
                self.intern(name, node.at)?;
                Literal::Name(name.clone())
            }
            NodeKind::Keyword(name) => {
                self.intern(name, node.at)?;
                Literal::Keyword(name.clone())
            }
            NodeKind::List(items) if items.is_empty() => Literal::Empty,
            NodeKind::List(items) => {
                Literal::List(items.iter().map(|n| self.datum(n)).collect::<Result<_>>()?)
            }
            _ => {
                return fail(
                    node.at,
                    "nested_quote",
                    "inside a quoted form write plain values and names, without ' ` or ,",
                );
            }
        })
    }

    /// A quasiquote of depth one, as calls that build the list.
    pub(super) fn quasi(&mut self, node: &Node) -> Result<Code> {
        match &node.kind {
            NodeKind::Unquote(inner) => self.code(inner),
            NodeKind::Splice(_) => fail(node.at, "bad_splice", ",@ stands only inside a list"),
            NodeKind::List(items) if items.is_empty() => Ok(Code::Empty),
            NodeKind::List(items) => {
                let mut parts = Vec::new();
                let mut plain = Vec::new();
                for item in items {
                    if let NodeKind::Splice(inner) = &item.kind {
                        if !plain.is_empty() {
                            let items = std::mem::take(&mut plain);
                            parts.push(self.internal("list", node.at, items));
                        }
                        parts.push(self.code(inner)?);
                    } else {
                        plain.push(self.quasi(item)?);
                    }
                }
                if parts.is_empty() {
                    return Ok(self.internal("list", node.at, plain));
                }
                if !plain.is_empty() {
                    parts.push(self.internal("list", node.at, plain));
                }
                Ok(self.internal("concat", node.at, parts))
            }
            NodeKind::Quote(_) | NodeKind::Quasi(_) => fail(
                node.at,
                "nested_quote",
                "a quoted form inside a ` form is not supported; build it with (list a b)",
            ),
            _ => self.quoted(node),
        }
    }
}
