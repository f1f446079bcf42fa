//! The checked program: names resolved, forms reduced to a few, literals in one pool. It knows nothing
//! of the engine, is `Send`, and is what the cache keeps.

use std::sync::Arc;

use svit_tree::guest::Position;
use svit_value::Text;

/// A whole program that passed every static check.
#[derive(Debug)]
pub(crate) struct Module {
    /// Definitions in the order in which they take effect.
    pub(crate) defs: Vec<Def>,
    /// Names of the globals, by number.
    pub(crate) globals: Vec<Global>,
    /// Literals that are not scalars.
    pub(crate) consts: Vec<Literal>,
    /// Functions of the prelude that are used, in their own order.
    pub(crate) prelude: Vec<u16>,
    /// Places of calls; number 0 means "unknown".
    pub(crate) sites: Vec<Position>,
    /// The global that is `main`.
    pub(crate) main: Option<u32>,
}

/// A name that the program defines.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) name: Arc<str>,
    pub(crate) at: Position,
    pub(crate) arity: Option<Arity>,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arity {
    pub(crate) min: u32,
    /// None: any number.
    pub(crate) max: Option<u32>,
}

impl Arity {
    pub(crate) fn accepts(self, found: usize) -> bool {
        found >= self.min as usize && self.max.is_none_or(|max| found <= max as usize)
    }

    /// Such as `2 arguments` or `at least 1 argument`.
    pub(crate) fn text(self) -> String {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        match self.max {
            Some(max) if max == self.min => format!("{max} argument{}", plural(max)),
            Some(max) => format!("{} to {max} arguments", self.min),
            None => format!("at least {} argument{}", self.min, plural(self.min)),
        }
    }
}

/// A top-level definition.
#[derive(Debug)]
pub(crate) enum Def {
    Function {
        global: u32,
        lambda: Lambda,
    },
    Value {
        global: u32,
        value: Code,
    },
    /// A form at top level that is evaluated for its effect.
    Effect(Code),
}

/// A function: its parameters and its body.
#[derive(Clone, Debug)]
pub(crate) struct Lambda {
    pub(crate) params: Params,
    pub(crate) body: Box<Code>,
    /// Whether the body uses a local of an outer function.
    pub(crate) captures: bool,
}

/// The parameters of a function, as local slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    pub(crate) required: Vec<u32>,
    pub(crate) optional: Vec<u32>,
    pub(crate) keys: Vec<(Arc<str>, u32)>,
    pub(crate) rest: Option<u32>,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Null,
    Empty,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Text),
    Keyword(Arc<str>),
    Const(u32),
    Input,
    Local(u32),
    Global(u32),
    Builtin(u16),
    Prelude(u16),
    /// A direct call of a built-in.
    Op {
        row: u16,
        site: u32,
        args: Vec<Code>,
    },
    Call {
        function: Box<Code>,
        site: u32,
        args: Vec<Code>,
    },
    CallSelf(Vec<Code>),
    Apply {
        function: Box<Code>,
        args: Vec<Code>,
        list: Box<Code>,
    },
    If(Box<(Code, Code, Code)>),
    Cond(Vec<(Code, Code)>, Box<Code>),
    And(Vec<Code>),
    Or(Vec<Code>),
    Do(Vec<Code>),
    Let(Vec<(u32, Code)>, Box<Code>),
    Lambda(Lambda),
}

/// A record that a program defines.
#[derive(Debug, PartialEq)]
pub(crate) struct StructDef {
    /// The number of its global, which tells it from others.
    pub(crate) number: u32,
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<(Text, FieldKind)>,
}

/// What may stand in a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldKind {
    Any,
    /// A kind as `type-of` names it, or `number`.
    Kind(&'static str),
    /// A value of the struct with this number and name.
    Struct(u32, Arc<str>),
}

/// A quoted literal, the definition of a struct, or a string too long to sit in the code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Empty,
    Bool(bool),
    Int(i64),
    Float(f64),
    Null,
    Text(Text),
    Bytes(Vec<u8>),
    Name(Arc<str>),
    Keyword(Arc<str>),
    List(Vec<Literal>),
    Struct(Arc<StructDef>),
}
