//! Check Svit Lisp scripts when Rust compiles.
//!
//! [`script!`] reads a script in one of three forms, checks it with the front end of `svit-lisp` and the
//! standard limits, and becomes `Script::new("...")`. What is wrong with the script is an error of the
//! Rust build that names the script's own line. The facade wraps it as `svit_script!`, which passes the
//! crate that has `Script`; here it is passed by hand.
//!
//! ```
//! let script = svit_macros::script! { (svit_lisp)
//!     (define (main input)
//!       (let ((count (+ (read "/memory/count") (value-get input "/by"))))
//!         (do (write "/memory/count" count)
//!             (value-map "count" count))))
//! };
//! assert!(script.source.starts_with("(define (main input)\n  (let"));
//!
//! let same = svit_macros::script!((svit_lisp) "(define (main input) '(1 2))");
//! assert_eq!(same.source.as_str(), "(define (main input) '(1 2))");
//! ```
//!
//! A script that is wrong does not compile:
//!
//! ```compile_fail
//! svit_macros::script!((svit_lisp) "(define (main input) (raed \"/memory\"))");
//! ```
//!
//! # What it does not do
//! It runs no script, and in the form without quotes it reads only what Rust can lex: write
//! `(quote (1 2))`, not `'(1 2)`, and `(floor (/ a b))`, not `(// a b)`, which Rust takes for a comment.

mod forms;
mod literal;

use std::path::PathBuf;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use svit_lisp::{LispError, check_source, standard_limits};

/// A checked script: `script!((path of the crate with Script) forms)`, `.. "source")`, or
/// `.. file "path")`, where the path is relative to the folder of the crate's `Cargo.toml`.
///
/// # Errors
/// Of the Rust build: a script that [`check_source`] refuses, a file that cannot be read, or an input of
/// another form.
#[proc_macro]
pub fn script(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|failure| failure.into_tokens())
}

/// A refusal, and the token to show it at.
struct Failure {
    span: Span,
    message: String,
}

impl Failure {
    fn at(span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { span, message }
    }

    /// `::core::compile_error!("message")` at the token.
    fn into_tokens(self) -> TokenStream {
        let mut text = Literal::string(&self.message);
        text.set_span(self.span);
        let tokens = [
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            Ident::new("core", self.span).into(),
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            Ident::new("compile_error", self.span).into(),
            punct('!', Spacing::Alone),
            group(Delimiter::Brace, [TokenTree::from(text)]),
        ];
        let spanned = tokens.into_iter().map(|mut token| {
            token.set_span(self.span);
            token
        });
        spanned.collect()
    }
}

fn punct(c: char, spacing: Spacing) -> TokenTree {
    Punct::new(c, spacing).into()
}

fn group(delimiter: Delimiter, tokens: impl IntoIterator<Item = TokenTree>) -> TokenTree {
    Group::new(delimiter, tokens.into_iter().collect()).into()
}

fn expand(input: TokenStream) -> Result<TokenStream, Failure> {
    let mut tokens = input.into_iter();
    let Some(TokenTree::Group(krate)) = tokens.next() else {
        let help = "write script!((crate) forms), (crate) \"source\" or (crate) file \"path\"";
        return Err(Failure::at(Span::call_site(), help));
    };
    let rest: Vec<TokenTree> = tokens.map(literal::without_group).collect();
    let source = match rest.as_slice() {
        [TokenTree::Literal(text)] => from_text(text)?,
        [TokenTree::Ident(word), TokenTree::Literal(path)] if word.to_string() == "file" => {
            from_file(path)?
        }
        forms => from_forms(forms)?,
    };
    // `crate::Script::new(source)`
    let mut output: Vec<TokenTree> = krate.stream().into_iter().collect();
    for segment in ["Script", "new"] {
        output.extend([punct(':', Spacing::Joint), punct(':', Spacing::Alone)]);
        output.push(Ident::new(segment, Span::call_site()).into());
    }
    output.push(group(Delimiter::Parenthesis, source));
    Ok(output.into_iter().collect())
}

fn check(source: &str) -> Result<(), LispError> {
    check_source(source, &standard_limits())
}

/// The message of a refusal with the script's own place before it.
fn describe(file: &str, error: &LispError) -> String {
    match error.at() {
        Some(at) => format!("{file}:{}:{}: {error}", at.line, at.column),
        None => format!("{file}: {error}"),
    }
}

fn from_text(text: &Literal) -> Result<Vec<TokenTree>, Failure> {
    let span = text.span();
    let source = literal::value(&text.to_string())
        .ok_or_else(|| Failure::at(span, "a script is a string literal"))?;
    check(&source).map_err(|error| Failure::at(span, describe("script", &error)))?;
    Ok(vec![TokenTree::Literal(text.clone())])
}

fn from_file(path: &Literal) -> Result<Vec<TokenTree>, Failure> {
    let span = path.span();
    let name = literal::value(&path.to_string())
        .ok_or_else(|| Failure::at(span, "a path is a string literal"))?;
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let full = PathBuf::from(folder).join(&name);
    let source = std::fs::read_to_string(&full)
        .map_err(|error| Failure::at(span, format!("{name}: {error}")))?;
    check(&source).map_err(|error| Failure::at(span, describe(&name, &error)))?;
    let Some(full) = full.to_str() else {
        return Err(Failure::at(span, format!("{name}: the path is not UTF-8")));
    };
    // `include_str!` makes the build depend on the file.
    let include = [
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        Ident::new("core", span).into(),
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        Ident::new("include_str", span).into(),
        punct('!', Spacing::Alone),
        group(
            Delimiter::Parenthesis,
            [TokenTree::from(Literal::string(full))],
        ),
    ];
    Ok(include.into())
}

fn from_forms(tokens: &[TokenTree]) -> Result<Vec<TokenTree>, Failure> {
    let forms = forms::Forms::read(tokens);
    check(&forms.source).map_err(|error| {
        let span = error
            .at()
            .map_or_else(Span::call_site, |at| forms.span_at((at.line, at.column)));
        Failure::at(span, describe("script", &error))
    })?;
    Ok(vec![Literal::string(&forms.source).into()])
}
