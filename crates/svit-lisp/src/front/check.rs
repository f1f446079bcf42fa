//! The static checks: from nodes to a [`Module`], or the first thing that is wrong and what to write
//! instead.

mod forms;
mod params;
mod quote;
mod structs;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use svit_tree::guest::{GuestLimits, Position};
use svit_value::Text;

use super::ir::{Arity, Code, Def, Global, Literal, Module};
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
        structs: BTreeSet::new(),
        consts: Vec::new(),
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
    /// Globals that are structs.
    structs: BTreeSet<u32>,
    consts: Vec<Literal>,
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
        let is_struct = structs::is_struct(head);
        if !is_struct && head.name().is_none_or(|n| &**n != "define") {
            return Ok(());
        }
        let (node, arity) = match &target.kind {
            _ if is_struct => (target, None),
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
        if is_struct {
            self.structs.insert(number);
        }
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
        if let Some((head, args)) = items.split_first()
            && structs::is_struct(head)
        {
            return self.struct_form(form.at, args);
        }
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
            Kind::Native(_) => Code::Builtin(index),
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

    /// A call of an internal built-in, made by a form.
    fn internal(&mut self, name: &str, at: Position, args: Vec<Code>) -> Code {
        match table::find(name) {
            Some((row, _)) => Code::Op {
                row,
                site: self.site(at),
                args,
            },
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
