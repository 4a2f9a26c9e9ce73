//! What stands in the parentheses of an attribute.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprArray, ExprLit, Ident, Lit, LitStr, Token, parenthesized};

/// Keys of a kernel's file that an attribute may state.
const KEYS: &[&str] = &["version", "summary", "workspace_bytes", "threads", "dtypes", "jit"];

/// Keys of its table `promises`.
const PROMISES: &[&str] = &[
    "accumulate",
    "reproducible",
    "flushes_subnormals",
    "cancels",
    "rounds_inside",
    "finite_only",
];

/// The options of a kernel or a setup.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) op: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    /// Element types that a generic function is made for.
    pub(crate) types: Vec<Ident>,
    pub(crate) packed_bytes: Option<LitStr>,
    pub(crate) workspace_bytes: Option<String>,
    pub(crate) has_summary: bool,
    /// Lines of the kernel's file.
    pub(crate) keys: String,
    /// Lines of its table `promises`.
    pub(crate) promises: String,
}

enum Choice {
    Types(Vec<Ident>),
    Value(Ident, Option<Expr>),
}

impl Parse for Choice {
    fn parse(input: ParseStream<'_>) -> Result<Choice, Error> {
        let key: Ident = input.parse()?;
        if key == "types" {
            let inside;
            parenthesized!(inside in input);
            let types = Punctuated::<Ident, Token![,]>::parse_terminated(&inside)?;
            return Ok(Choice::Types(types.into_iter().collect()));
        }
        if !input.peek(Token![=]) {
            return Ok(Choice::Value(key, None));
        }
        input.parse::<Token![=]>()?;
        Ok(Choice::Value(key, Some(input.parse()?)))
    }
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Options, Error> {
        let choices = Punctuated::<Choice, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut options = Options::default();
        for choice in choices {
            match choice {
                Choice::Types(types) => options.types = types,
                Choice::Value(key, value) => options.set(&key, value)?,
            }
        }
        Ok(options)
    }

    fn set(&mut self, key: &Ident, value: Option<Expr>) -> Result<(), Error> {
        let name = key.to_string();
        match name.as_str() {
            "op" => self.op = Some(text(key, value)?),
            "name" => self.name = Some(text(key, value)?),
            "packed_bytes" => self.packed_bytes = Some(text(key, value)?),
            _ if PROMISES.contains(&name.as_str()) => {
                self.promises += &format!("{name} = {}\n", written(key, value)?);
            }
            _ if KEYS.contains(&name.as_str()) => {
                self.has_summary |= name == "summary";
                if name == "workspace_bytes" {
                    self.workspace_bytes = Some(text(key, value.clone())?.value());
                }
                self.keys += &format!("{name} = {}\n", written(key, value)?);
            }
            _ => {
                let known = ["op", "name", "types(…)", "packed_bytes"];
                let all = [&known[..], KEYS, PROMISES].concat().join(", ");
                return Err(Error::new(
                    key.span(),
                    format!("there is no option `{name}`; there are {all}"),
                ));
            }
        }
        Ok(())
    }
}

fn text(key: &Ident, value: Option<Expr>) -> Result<LitStr, Error> {
    match value {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(text),
        _ => Err(Error::new(key.span(), format!("write `{key} = \"…\"`"))),
    }
}

/// A value as TOML writes it. A key without a value is `true`.
fn written(key: &Ident, value: Option<Expr>) -> Result<String, Error> {
    match value {
        None => Ok("true".to_owned()),
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(quoted(&text.value())),
        Some(Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. })) => Ok(flag.value.to_string()),
        Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => {
            Ok(number.base10_digits().to_owned())
        }
        Some(Expr::Array(ExprArray { elems, .. })) => {
            let all: Result<Vec<_>, _> =
                elems.into_iter().map(|it| written(key, Some(it))).collect();
            Ok(format!("[{}]", all?.join(", ")))
        }
        Some(_) => {
            Err(Error::new(key.span(), format!("`{key}` takes a text, a number, a flag or a list")))
        }
    }
}

/// A text between quotation marks, as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => out += &format!("\\u{:04x}", u32::from(letter)),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}
