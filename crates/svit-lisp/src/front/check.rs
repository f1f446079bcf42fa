//! The static checks: from nodes to a [`Module`], or the first thing that is wrong and what to write
//! instead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use svit_tree::guest::{GuestLimits, Position};
use svit_value::Text;

use super::ir::{Arity, Code, Def, Global, Lambda, Literal, Module, Params};
use super::node::{Node, NodeKind};
use super::refuse;
use crate::LispError;
use crate::table::{self, Kind, Row};

pub(super) type Result<T> = std::result::Result<T, LispError>;

/// Strings of at most this many bytes sit in the code; longer ones go to the pool.
const INLINE_TEXT: usize = 64;
/// Arguments of one call, bindings of one `let`, parameters of one function.
const MAX_ARGUMENTS: usize = 255;
/// Literals in the pool: the engine looks them up by name.
const MAX_LITERALS: usize = 4_096;
/// Forms in one function body or one branch.
const MAX_FORMS: usize = 1_000;

pub(super) fn fail<T>(at: Position, code: &'static str, problem: impl Into<String>) -> Result<T> {
    Err(LispError::Syntax {
        at,
        code,
        problem: problem.into(),
    })
}

/// Who wrote the program: a script, or this crate, whose prelude may use internal names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Script,
    Prelude,
}

/// Checks the forms of a program.
pub(crate) fn check(forms: &[Node], limits: &GuestLimits, author: Author) -> Result<Module> {
    let mut checker = Checker {
        globals: Vec::new(),
        by_name: HashMap::new(),
        consts: Vec::new(),
        builtins: BTreeSet::new(),
        prelude: BTreeSet::new(),
        sites: vec![Position { line: 0, column: 0 }],
        frames: Vec::new(),
        names: 0,
        interned: BTreeSet::new(),
        limits,
        author,
    };
    for form in forms {
        checker.declare(form)?;
    }
    let mut defs = Vec::with_capacity(forms.len());
    for form in forms {
        defs.push(checker.top_level(form)?);
    }
    let main = checker.by_name.get("main").copied();
    Ok(Module {
        defs,
        globals: checker.globals,
        consts: checker.consts,
        builtins: checker.builtins.into_iter().collect(),
        prelude: checker.prelude.into_iter().collect(),
        sites: checker.sites,
        main,
    })
}

/// One function being checked: the names in scope, innermost last.
struct Frame {
    scope: Vec<(Arc<str>, u32)>,
    captures: bool,
}

pub(super) struct Checker<'a> {
    globals: Vec<Global>,
    by_name: HashMap<Arc<str>, u32>,
    consts: Vec<Literal>,
    builtins: BTreeSet<u16>,
    prelude: BTreeSet<u16>,
    sites: Vec<Position>,
    frames: Vec<Frame>,
    names: u32,
    interned: BTreeSet<Arc<str>>,
    limits: &'a GuestLimits,
    author: Author,
}

impl Checker<'_> {
    // ---- names ----

    fn count_name(&mut self, at: Position) -> Result<()> {
        self.names += 1;
        if self.names > self.limits.max_names {
            return Err(LispError::Limit {
                at,
                limit: "max_guest_names",
                allowed: self.limits.max_names.into(),
            });
        }
        Ok(())
    }

    /// Quoted names and keywords are kept by the engine, so they count as names too.
    fn intern(&mut self, name: &Arc<str>, at: Position) -> Result<()> {
        if self.interned.insert(name.clone()) {
            self.count_name(at)?;
        }
        Ok(())
    }

    /// A name that a definition, parameter or binding may have.
    fn bindable<'n>(&self, node: &'n Node) -> Result<&'n Arc<str>> {
        let Some(name) = node.name() else {
            return fail(
                node.at,
                "expected_name",
                format!("expected a name here, not {}", node.what()),
            );
        };
        if self.author == Author::Prelude {
            return Ok(name);
        }
        if let Some(problem) = refuse::binding(name) {
            return fail(node.at, "shadows_builtin", problem);
        }
        Ok(name)
    }

    fn declare(&mut self, form: &Node) -> Result<()> {
        let NodeKind::List(items) = &form.kind else {
            return Ok(());
        };
        let [head, target, ..] = items.as_slice() else {
            return Ok(());
        };
        if head.name().is_none_or(|n| &**n != "define") {
            return Ok(());
        }
        let (node, arity) = match &target.kind {
            NodeKind::List(signature) => match signature.split_first() {
                Some((name, params)) => (name, Some(arity_of(params))),
                None => return fail(target.at, "bad_define", "write (define (name a b) body)"),
            },
            _ => (target, None),
        };
        let name = self.bindable(node)?;
        if let Some(&earlier) = self.by_name.get(name) {
            let line = self.globals[earlier as usize].at.line;
            return fail(
                node.at,
                "defined_twice",
                format!("`{name}` is already defined in line {line}; choose another name"),
            );
        }
        let number = self.globals.len() as u32;
        self.by_name.insert(name.clone(), number);
        self.globals.push(Global {
            name: name.clone(),
            at: node.at,
            arity,
        });
        self.count_name(node.at)
    }

    fn top_level(&mut self, form: &Node) -> Result<Def> {
        let NodeKind::List(items) = &form.kind else {
            return Ok(Def::Effect(self.code(form)?));
        };
        if items
            .first()
            .and_then(Node::name)
            .is_none_or(|n| &**n != "define")
        {
            return Ok(Def::Effect(self.code(form)?));
        }
        let [_, target, body @ ..] = items.as_slice() else {
            return fail(
                form.at,
                "bad_define",
                "write (define (name a b) body) or (define name value)",
            );
        };
        match &target.kind {
            NodeKind::List(signature) => {
                let (name, params) = match signature.split_first() {
                    Some((name, params)) => (self.bindable(name)?.clone(), params),
                    None => return fail(target.at, "bad_define", "write (define (name a b) body)"),
                };
                let lambda = self.lambda(form.at, params, body)?;
                Ok(Def::Function {
                    global: self.by_name[&name],
                    lambda,
                })
            }
            _ => {
                let name = self.bindable(target)?.clone();
                let [value] = without_doc(body) else {
                    return fail(
                        form.at,
                        "bad_define",
                        "write (define name value), with one value",
                    );
                };
                Ok(Def::Value {
                    global: self.by_name[&name],
                    value: self.code(value)?,
                })
            }
        }
    }

    fn site(&mut self, at: Position) -> u32 {
        if self.author == Author::Prelude {
            return 0;
        }
        self.sites.push(at);
        // The engine carries it as one character, so it must be a code point.
        match self.sites.len() as u32 - 1 {
            n if n < 0xd800 => n,
            n if n + 0x800 <= 0x10_ffff => n,
            _ => 0,
        }
    }

    fn builtin(&mut self, index: u16, row: &Row) -> Code {
        match row.kind {
            Kind::Native(_) => {
                self.builtins.insert(index);
                Code::Builtin(index)
            }
            Kind::Prelude => {
                self.prelude.insert(index);
                Code::Prelude(index)
            }
        }
    }

    fn local(&mut self, name: &str) -> Option<u32> {
        let (own, outer) = self.frames.split_last_mut()?;
        let find = |frame: &Frame| {
            let hit = frame.scope.iter().rev().find(|(n, _)| &**n == name);
            hit.map(|&(_, slot)| slot)
        };
        if let Some(slot) = find(own) {
            return Some(slot);
        }
        for depth in (0..outer.len()).rev() {
            if let Some(slot) = find(&outer[depth]) {
                // Every function between the binding and the use captures it.
                own.captures = true;
                outer[depth + 1..]
                    .iter_mut()
                    .for_each(|f| f.captures = true);
                return Some(slot);
            }
        }
        None
    }

    /// The slot of a new local: its depth among all names in scope, so that the engine sees few names.
    fn bind(&mut self, name: Arc<str>, at: Position) -> Result<u32> {
        let slot = self.frames.iter().map(|f| f.scope.len()).sum::<usize>() as u32;
        self.count_name(at)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.scope.push((name, slot));
        }
        Ok(slot)
    }

    // ---- expressions ----

    fn code(&mut self, node: &Node) -> Result<Code> {
        match &node.kind {
            NodeKind::Bool(b) => Ok(Code::Bool(*b)),
            NodeKind::Int(n) => Ok(Code::Int(*n)),
            NodeKind::Float(f) => Ok(Code::Float(*f)),
            NodeKind::Text(text) if text.len() <= INLINE_TEXT => {
                Ok(Code::Text(Text::from(text.as_str())))
            }
            NodeKind::Text(text) => self.literal(Literal::Text(Text::from(text.as_str())), node.at),
            NodeKind::Bytes(bytes) => self.literal(Literal::Bytes(bytes.clone()), node.at),
            NodeKind::Name(name) => self.name(name, node.at),
            NodeKind::Keyword(name) => {
                self.intern(name, node.at)?;
                Ok(Code::Keyword(name.clone()))
            }
            NodeKind::List(items) => match items.split_first() {
                None => Ok(Code::Empty),
                Some((head, args)) => self.form(node.at, head, args),
            },
            NodeKind::Quote(inner) => self.quoted(inner),
            NodeKind::Quasi(inner) => self.quasi(inner),
            NodeKind::Unquote(_) | NodeKind::Splice(_) => fail(
                node.at,
                "unbalanced_comma",
                "a comma only means something inside a form that starts with `",
            ),
        }
    }

    fn literal(&mut self, literal: Literal, at: Position) -> Result<Code> {
        if self.consts.len() == MAX_LITERALS {
            return fail(
                at,
                "too_many_literals",
                format!(
                    "at most {MAX_LITERALS} quoted lists and long strings; keep data in /memory"
                ),
            );
        }
        self.consts.push(literal);
        Ok(Code::Const(self.consts.len() as u32 - 1))
    }

    fn name(&mut self, name: &Arc<str>, at: Position) -> Result<Code> {
        if let Some(slot) = self.local(name) {
            return Ok(Code::Local(slot));
        }
        if let Some(&number) = self.by_name.get(name) {
            return Ok(Code::Global(number));
        }
        match &**name {
            "null" => return Ok(Code::Null),
            "input" => return Ok(Code::Input),
            "*svit-version*" => {
                return Ok(Code::Text(Text::from(env!("CARGO_PKG_VERSION"))));
            }
            _ => {}
        }
        if let Some((index, row)) = self.lookup(name) {
            return Ok(self.builtin(index, row));
        }
        fail(
            at,
            "unknown_name",
            refuse::unknown(name, self.by_name.keys()),
        )
    }

    fn lookup(&self, name: &str) -> Option<(u16, &'static Row)> {
        let (index, row) = table::find(name)?;
        (self.author == Author::Prelude || !row.is_internal()).then_some((index, row))
    }

    fn codes(&mut self, nodes: &[Node]) -> Result<Vec<Code>> {
        nodes.iter().map(|node| self.code(node)).collect()
    }

    fn arguments(&mut self, at: Position, nodes: &[Node]) -> Result<Vec<Code>> {
        if nodes.len() > MAX_ARGUMENTS {
            return fail(
                at,
                "too_many_arguments",
                format!(
                    "at most {MAX_ARGUMENTS} arguments in one call; quote a long list as '(1 2 3), or build it"
                ),
            );
        }
        self.codes(nodes)
    }

    fn form(&mut self, at: Position, head: &Node, args: &[Node]) -> Result<Code> {
        match &head.kind {
            NodeKind::Name(name) => {
                if let Some(slot) = self.local(name) {
                    let args = self.arguments(at, args)?;
                    return Ok(self.call(at, Code::Local(slot), args));
                }
                if let Some(&number) = self.by_name.get(name) {
                    return self.call_global(at, number, args);
                }
                if let Some(code) = self.special(at, name, args)? {
                    return Ok(code);
                }
                match self.lookup(name) {
                    Some((index, row)) => self.call_builtin(at, index, row, args),
                    None => fail(
                        head.at,
                        "unknown_name",
                        refuse::unknown(name, self.by_name.keys()),
                    ),
                }
            }
            NodeKind::List(items) if !items.is_empty() => {
                let function = self.code(head)?;
                if matches!(
                    function,
                    Code::Empty
                        | Code::Bool(_)
                        | Code::Int(_)
                        | Code::Float(_)
                        | Code::Text(_)
                        | Code::Keyword(_)
                ) {
                    return fail(
                        head.at,
                        "not_a_function",
                        "this form is a plain value and cannot be called",
                    );
                }
                let args = self.arguments(at, args)?;
                Ok(self.call(at, function, args))
            }
            _ => fail(
                head.at,
                "not_a_function",
                format!(
                    "{} cannot be called; a list of values is (list a b) or '(1 2)",
                    head.what()
                ),
            ),
        }
    }

    fn call(&mut self, at: Position, function: Code, args: Vec<Code>) -> Code {
        Code::Call {
            function: Box::new(function),
            site: self.site(at),
            args,
        }
    }

    fn call_global(&mut self, at: Position, number: u32, args: &[Node]) -> Result<Code> {
        let global = &self.globals[number as usize];
        if let Some(arity) = global.arity
            && !arity.accepts(args.len())
        {
            return fail(
                at,
                "wrong_arity",
                format!(
                    "`{}` takes {}, found {}",
                    global.name,
                    arity.text(),
                    args.len()
                ),
            );
        }
        let args = self.arguments(at, args)?;
        Ok(self.call(at, Code::Global(number), args))
    }

    fn call_builtin(
        &mut self,
        at: Position,
        index: u16,
        row: &'static Row,
        args: &[Node],
    ) -> Result<Code> {
        if !row.arity().accepts(args.len()) {
            return fail(
                at,
                "wrong_arity",
                format!(
                    "`{}` takes {}, found {}; write {}",
                    row.name,
                    row.arity().text(),
                    args.len(),
                    row.signature
                ),
            );
        }
        refuse::arguments(row.name, args)?;
        let args = self.arguments(at, args)?;
        Ok(match self.builtin(index, row) {
            Code::Builtin(row) => Code::Op {
                row,
                site: self.site(at),
                args,
            },
            function => self.call(at, function, args),
        })
    }

    /// The special forms; none if `name` is not one.
    fn special(&mut self, at: Position, name: &str, args: &[Node]) -> Result<Option<Code>> {
        Ok(Some(match name {
            "if" => match args {
                [test, then] => {
                    Code::If(Box::new((self.code(test)?, self.code(then)?, Code::Null)))
                }
                [test, then, other] => Code::If(Box::new((
                    self.code(test)?,
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

    /// A call of an internal built-in, made by a form.
    fn internal(&mut self, name: &str, at: Position, args: Vec<Code>) -> Code {
        match table::find(name) {
            Some((row, _)) => {
                self.builtins.insert(row);
                Code::Op {
                    row,
                    site: self.site(at),
                    args,
                }
            }
            None => Code::Null,
        }
    }

    fn body(&mut self, at: Position, nodes: &[Node]) -> Result<Code> {
        if nodes.len() > MAX_FORMS {
            return fail(
                at,
                "too_many_forms",
                format!("at most {MAX_FORMS} forms in one body"),
            );
        }
        match nodes {
            [] => fail(
                at,
                "empty_body",
                "a body needs at least one form; write null for nothing",
            ),
            [only] => self.code(only),
            several => Ok(Code::Do(self.codes(several)?)),
        }
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
                let test = self.code(test)?;
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

    fn lambda(&mut self, at: Position, params: &[Node], body: &[Node]) -> Result<Lambda> {
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

    // ---- quoting ----

    fn quoted(&mut self, node: &Node) -> Result<Code> {
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
    fn quasi(&mut self, node: &Node) -> Result<Code> {
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

/// A body without the string that documents it.
fn without_doc(body: &[Node]) -> &[Node] {
    match body {
        [doc, rest @ ..] if matches!(doc.kind, NodeKind::Text(_)) && !rest.is_empty() => rest,
        _ => body,
    }
}

/// How many arguments a list of parameters asks for; checked properly when the body is.
fn arity_of(params: &[Node]) -> Arity {
    let mut arity = Arity {
        min: 0,
        max: Some(0),
    };
    let mut optional = false;
    for param in params {
        match &param.kind {
            NodeKind::Keyword(keyword) if &**keyword == "optional" => optional = true,
            NodeKind::Keyword(_) => {
                arity.max = None;
                return arity;
            }
            _ => {
                arity.min += u32::from(!optional);
                arity.max = arity.max.map(|max| max + 1);
            }
        }
    }
    arity
}
