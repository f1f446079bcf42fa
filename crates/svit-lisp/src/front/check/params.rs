//! Functions: their parameters and their bodies.

use std::collections::BTreeSet;
use std::sync::Arc;

use svit_tree::guest::Position;

use super::super::ir::{Lambda, Params};
use super::super::node::{Node, NodeKind};
use super::{Checker, Frame, MAX_ARGUMENTS, Result, fail, without_doc};

impl Checker<'_> {
    pub(super) fn lambda(
        &mut self,
        at: Position,
        params: &[Node],
        body: &[Node],
    ) -> Result<Lambda> {
        self.frames.push(Frame {
            scope: Vec::new(),
            captures: false,
        });
        let params = self.params(at, params)?;
        let body = self.body(at, without_doc(body))?;
        let captures = self.frames.pop().is_some_and(|f| f.captures);
        Ok(Lambda {
            params,
            body: Box::new(body),
            captures,
        })
    }

    fn params(&mut self, at: Position, nodes: &[Node]) -> Result<Params> {
        if nodes.len() > MAX_ARGUMENTS {
            return fail(
                at,
                "too_many_arguments",
                format!("at most {MAX_ARGUMENTS} parameters"),
            );
        }
        let mut params = Params::default();
        let mut mode = None;
        let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
        for node in nodes {
            match &node.kind {
                NodeKind::Keyword(keyword) => {
                    let allowed = matches!(
                        (mode, &**keyword),
                        (None, "optional" | "key" | "rest") | (Some("optional"), "rest")
                    );
                    mode = Some(match &**keyword {
                        "optional" if allowed => "optional",
                        "key" if allowed => "key",
                        "rest" if allowed => "rest",
                        _ => {
                            return fail(
                                node.at,
                                "bad_parameters",
                                "after the plain parameters may stand :optional a b, :key a b, or :rest a, and :rest after :optional",
                            );
                        }
                    });
                    continue;
                }
                NodeKind::List(_) => {
                    return fail(
                        node.at,
                        "parameter_default",
                        "parameters have no defaults; write the name alone and use (if (null? x) value x) in the body",
                    );
                }
                _ => {}
            }
            let name = self.bindable(node)?.clone();
            if !seen.insert(name.clone()) {
                return fail(
                    node.at,
                    "bad_parameters",
                    format!("two parameters are called `{name}`"),
                );
            }
            let slot = self.bind(name.clone(), node.at)?;
            match mode {
                None => params.required.push(slot),
                Some("optional") => params.optional.push(slot),
                Some("key") => {
                    self.intern(&name, node.at)?;
                    params.keys.push((name, slot));
                }
                Some(_) if params.rest.is_none() => params.rest = Some(slot),
                Some(_) => return fail(node.at, "bad_parameters", ":rest takes one name"),
            }
        }
        let dangling = match mode {
            Some("optional") => params.optional.is_empty(),
            Some("key") => params.keys.is_empty(),
            Some("rest") => params.rest.is_none(),
            _ => false,
        };
        if dangling {
            return fail(
                at,
                "bad_parameters",
                "a name must follow :optional, :key or :rest",
            );
        }
        Ok(params)
    }
}
