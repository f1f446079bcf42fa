//! The special forms: `if let lambda cond case and or do apply` and what is refused beside them.

use std::sync::Arc;

use svit_tree::guest::Position;

use super::super::ir::Code;
use super::super::node::{Node, NodeKind};
use super::super::refuse;
use super::{Checker, Frame, MAX_ARGUMENTS, Result, fail, structs};

impl Checker<'_> {
    /// The special forms; none if `name` is not one.
    pub(super) fn special(
        &mut self,
        at: Position,
        name: &str,
        args: &[Node],
    ) -> Result<Option<Code>> {
        Ok(Some(match name {
            "if" => match args {
                [test, then] => {
                    Code::If(Box::new((self.test(test)?, self.code(then)?, Code::Null)))
                }
                [test, then, other] => Code::If(Box::new((
                    self.test(test)?,
                    self.code(then)?,
                    self.code(other)?,
                ))),
                _ => {
                    return fail(
                        at,
                        "bad_if",
                        "write (if test then else); several forms go into (do a b)",
                    );
                }
            },
            "do" => self.body(at, args)?,
            "let" => self.let_form(at, args)?,
            "lambda" => match args.split_first() {
                Some((params, body)) if !body.is_empty() => {
                    let NodeKind::List(params) = &params.kind else {
                        return fail(params.at, "bad_lambda", "write (lambda (a b) body)");
                    };
                    Code::Lambda(self.lambda(at, params, body)?)
                }
                _ => return fail(at, "bad_lambda", "write (lambda (a b) body)"),
            },
            "struct" => return structs::nested(at),
            "new" => self.new_form(at, args)?,
            "cond" => self.cond(at, args)?,
            "case" => self.case(at, args)?,
            "and" | "or" => {
                let mut codes = self.arguments(at, args)?;
                match (codes.len(), name) {
                    (0, _) => Code::Bool(name == "and"),
                    (1, _) => codes.remove(0),
                    (_, "and") => Code::And(codes),
                    _ => Code::Or(codes),
                }
            }
            "quote" => match args {
                [inner] => self.quoted(inner)?,
                _ => return fail(at, "bad_quote", "write (quote form), with one form"),
            },
            "quasiquote" => match args {
                [inner] => self.quasi(inner)?,
                _ => return fail(at, "bad_quote", "write (quasiquote form), with one form"),
            },
            "apply" => match args {
                [function, middle @ .., list] => {
                    let function = self.code(function)?;
                    let args = self.arguments(at, middle)?;
                    let list = self.code(list)?;
                    let spread = self.internal("%spread", at, vec![list]);
                    Code::Apply {
                        function: Box::new(function),
                        args,
                        list: Box::new(spread),
                    }
                }
                _ => return fail(at, "bad_apply", "write (apply function list)"),
            },
            "call-self" => {
                if self.frames.is_empty() {
                    return fail(
                        at,
                        "bad_call_self",
                        "call-self only stands inside a function",
                    );
                }
                Code::CallSelf(self.arguments(at, args)?)
            }
            "define" => {
                return fail(
                    at,
                    "nested_define",
                    "define stands only at top level; inside a function write (let ((name value)) body)",
                );
            }
            _ => match refuse::form(name) {
                Some(problem) => return fail(at, "refused_form", problem),
                None => return Ok(None),
            },
        }))
    }

    fn let_form(&mut self, at: Position, args: &[Node]) -> Result<Code> {
        const FORM: &str = "write (let ((a 1) (b 2)) body)";
        let Some((bindings, body)) = args.split_first() else {
            return fail(at, "bad_let", FORM);
        };
        let NodeKind::List(bindings) = &bindings.kind else {
            return fail(bindings.at, "bad_let", FORM);
        };
        if bindings.len() > MAX_ARGUMENTS {
            return fail(
                at,
                "bad_let",
                format!("at most {MAX_ARGUMENTS} bindings in one let"),
            );
        }
        // A `let` at top level has no function around it; it gets a frame of its own for its names.
        let own_frame = self.frames.is_empty();
        if own_frame {
            self.frames.push(Frame {
                scope: Vec::new(),
                captures: false,
            });
        }
        let depth = self.frames.last().map_or(0, |f| f.scope.len());
        let mut bound = Vec::with_capacity(bindings.len());
        for binding in bindings {
            let NodeKind::List(pair) = &binding.kind else {
                return fail(binding.at, "bad_let", FORM);
            };
            let [name, value] = pair.as_slice() else {
                return fail(binding.at, "bad_let", FORM);
            };
            let value = self.code(value)?;
            let name = self.bindable(name)?.clone();
            bound.push((self.bind(name, binding.at)?, value));
        }
        let body = self.body(at, body)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.scope.truncate(depth);
        }
        if own_frame {
            self.frames.pop();
        }
        Ok(if bound.is_empty() {
            body
        } else {
            Code::Let(bound, Box::new(body))
        })
    }

    /// What decides a branch; a literal that is no boolean never can.
    fn test(&mut self, node: &Node) -> Result<Code> {
        let code = self.code(node)?;
        let found = match &code {
            Code::Int(_) => "integer",
            Code::Float(_) => "float",
            Code::Text(_) => "string",
            Code::Null => "null",
            Code::Empty => "list",
            Code::Keyword(_) => "keyword",
            Code::Lambda(_) | Code::Builtin(_) | Code::Prelude(_) => "function",
            _ => return Ok(code),
        };
        fail(
            node.at,
            "wrong_type",
            format!("a condition must be true or false, found {found}; write (null? x) or (= a b)"),
        )
    }

    fn cond(&mut self, at: Position, clauses: &[Node]) -> Result<Code> {
        const FORM: &str = "write (cond (test value) ... (else value))";
        let mut arms = Vec::new();
        let mut other = Code::Null;
        for (index, clause) in clauses.iter().enumerate() {
            let NodeKind::List(parts) = &clause.kind else {
                return fail(clause.at, "bad_cond", FORM);
            };
            let Some((test, body)) = parts.split_first() else {
                return fail(clause.at, "bad_cond", FORM);
            };
            if test.name().is_some_and(|n| &**n == "else") {
                if index + 1 != clauses.len() {
                    return fail(clause.at, "bad_cond", "else must be the last clause");
                }
                other = self.body(clause.at, body)?;
            } else {
                let test = self.test(test)?;
                arms.push((test, self.body(clause.at, body)?));
            }
        }
        if arms.is_empty() {
            return match clauses {
                [] => fail(at, "bad_cond", FORM),
                _ => Ok(other),
            };
        }
        Ok(Code::Cond(arms, Box::new(other)))
    }

    /// `case` compares by value with `%case`, so that a value of another kind is just no match.
    fn case(&mut self, at: Position, args: &[Node]) -> Result<Code> {
        const FORM: &str = "write (case value ((1 2) result) ... (else result))";
        let Some((subject, clauses)) = args.split_first() else {
            return fail(at, "bad_case", FORM);
        };
        let subject = self.code(subject)?;
        let own_frame = self.frames.is_empty();
        if own_frame {
            self.frames.push(Frame {
                scope: Vec::new(),
                captures: false,
            });
        }
        // A name that no script can write.
        let slot = self.bind(Arc::from(""), at)?;
        let mut arms = Vec::new();
        let mut other = Code::Null;
        for (index, clause) in clauses.iter().enumerate() {
            let NodeKind::List(parts) = &clause.kind else {
                return fail(clause.at, "bad_case", FORM);
            };
            let Some((keys, body)) = parts.split_first() else {
                return fail(clause.at, "bad_case", FORM);
            };
            match &keys.kind {
                NodeKind::Name(name) if &**name == "else" => {
                    if index + 1 != clauses.len() {
                        return fail(clause.at, "bad_case", "else must be the last clause");
                    }
                    other = self.body(clause.at, body)?;
                }
                NodeKind::List(keys) => {
                    let mut values = vec![Code::Local(slot)];
                    for key in keys {
                        values.push(self.quoted(key)?);
                    }
                    let test = self.internal("%case", keys.first().map_or(at, |k| k.at), values);
                    arms.push((test, self.body(clause.at, body)?));
                }
                _ => return fail(keys.at, "bad_case", FORM),
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.scope.pop();
        }
        if own_frame {
            self.frames.pop();
        }
        let body = match arms.is_empty() {
            true => Code::Do(vec![Code::Local(slot), other]),
            false => Code::Cond(arms, Box::new(other)),
        };
        Ok(Code::Let(vec![(slot, subject)], Box::new(body)))
    }
}
