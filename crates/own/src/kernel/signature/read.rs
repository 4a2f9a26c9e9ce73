//! Reading a signature.

use super::names::{pointee, scalar};
use super::{BadPrototype, Parameter, Prototype, Scalar, Takes, Value};
use crate::Expression;

/// Words of C that say nothing about how an argument is passed.
const QUALIFIERS: &[&str] =
    &["restrict", "__restrict", "__restrict__", "volatile", "struct", "extern", "static", "inline"];

impl Prototype {
    /// Reads a signature in the form of Rust, `name(x: *const f32, rows: usize) -> i32`, or of C,
    /// `int name(const float *x, size_t rows)`. The name may be left out in the form of Rust.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Prototype, BadPrototype> {
        let bad = |reason: &str| BadPrototype(format!("`{text}` is not a signature: {reason}"));
        // C++ writes `std::size_t`.
        let text = &text.replace("std::", "");
        let open = text.find('(').ok_or_else(|| bad("it has no parameters in parentheses"))?;
        let (head, rest) = (text[..open].trim(), &text[open + 1..]);
        let close = matching(rest).ok_or_else(|| bad("a `)` is missing"))?;
        let (inside, after) = (&rest[..close], rest[close + 1..].trim());
        let after = after.strip_suffix(';').unwrap_or(after).trim();
        let parts = split(inside);
        if parts.iter().all(|part| part.is_empty() || *part == "void") {
            return Err(bad("it takes no operand"));
        }
        let is_rust = parts.iter().any(|part| part.contains(':'));
        let (name, returns) = if is_rust {
            let name = head.strip_prefix("fn ").map_or(head, str::trim);
            let name = (!name.is_empty()).then_some(name);
            let returns = match after.strip_prefix("->") {
                Some(returned) => code(returned.trim())?,
                None if after.is_empty() => None,
                None => return Err(bad(&format!("`{after}` follows its end"))),
            };
            (name, returns)
        } else {
            let (returned, name) = head
                .rsplit_once(char::is_whitespace)
                .ok_or_else(|| bad("write `int name(…)`, or `(x: *const f32, …)`"))?;
            if !after.is_empty() {
                return Err(bad(&format!("`{after}` follows its end")));
            }
            if head.contains('*') {
                return Err(bad(
                    "it returns a pointer; a kernel returns nothing, or 0 for success",
                ));
            }
            (Some(name), code(&words(returned))?)
        };
        if let Some(name) = name.filter(|name| !is_symbol(name)) {
            return Err(bad(&format!("`{name}` is not the name of a function")));
        }
        let mut parameters = Vec::new();
        for part in parts {
            let parameter = if is_rust { of_rust(part) } else { of_c(part) }?;
            let is_twice = |other: &Parameter| {
                other.name == parameter.name && is_number(other) == is_number(&parameter)
            };
            if parameters.iter().any(is_twice) {
                return Err(bad(&format!("`{}` is given twice", parameter.name)));
            }
            parameters.push(parameter);
        }
        Ok(Prototype { name: name.map(str::to_owned), parameters, returns })
    }
}

/// An operand and an axis may have the same name: one is pointed to, the other a number.
fn is_number(parameter: &Parameter) -> bool {
    !matches!(parameter.takes, Takes::Pointer { .. })
}

/// A parameter as Rust writes it: `x: *const f32`.
fn of_rust(part: &str) -> Result<Parameter, BadPrototype> {
    let (declared, value) = with_value(part)?;
    let bad = || BadPrototype(format!("`{part}` is not a parameter: write `name: type`"));
    let (name, kind) = declared.split_once(':').ok_or_else(bad)?;
    let (name, kind) = (name.trim(), kind.trim());
    let pointed = ["*const ", "*mut "].map(|prefix| kind.strip_prefix(prefix));
    let takes = match (pointed, kind.strip_prefix('&')) {
        ([None, None], Some(referred)) => {
            let referred = referred.trim();
            Takes::Reference(scalar(referred.strip_prefix("mut ").unwrap_or(referred))?)
        }
        ([None, None], None) => Takes::Value(scalar(kind)?),
        ([read, written], _) => {
            let to = pointee(read.or(written).unwrap_or_default().trim())?;
            Takes::Pointer { to, writes: written.is_some() }
        }
    };
    parameter(name, takes, value)
}

/// A parameter as C writes it: `const float *x`.
fn of_c(part: &str) -> Result<Parameter, BadPrototype> {
    let (declared, value) = with_value(part)?;
    // `float x[]` is `float *x`.
    let (declared, is_array) = match declared.split_once('[') {
        Some((declared, _)) => (declared.trim(), true),
        None => (declared, false),
    };
    let stars = declared.matches('*').count() + usize::from(is_array);
    let spaced = declared.replace('*', " ");
    let bad = || BadPrototype(format!("`{part}` is not a parameter: write `type name`"));
    let (kind, name) = spaced.trim().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
    if QUALIFIERS.contains(&name) {
        return Err(bad());
    }
    let constant = declared.split('*').next().unwrap_or_default();
    let writes = !constant.split_whitespace().any(|word| word == "const");
    let kind = words(kind);
    let takes = match stars {
        0 => Takes::Value(scalar(&kind)?),
        1 => Takes::Pointer { to: pointee(&kind)?, writes },
        _ => return Err(BadPrototype(format!("`{part}` is a pointer to pointers: take one"))),
    };
    parameter(name, takes, value)
}

fn parameter(name: &str, takes: Takes, value: Option<Value>) -> Result<Parameter, BadPrototype> {
    if !is_symbol(name) {
        return Err(BadPrototype(format!("`{name}` is not the name of a parameter")));
    }
    Ok(Parameter { name: name.to_owned(), takes, value })
}

/// A declaration and the value behind its `=`.
fn with_value(part: &str) -> Result<(&str, Option<Value>), BadPrototype> {
    let Some((declared, value)) = part.split_once('=') else { return Ok((part, None)) };
    let value = match value.parse::<Expression>() {
        Ok(formula) => Value::Whole(formula),
        Err(error) => {
            Value::Real(value.trim().parse().map_err(|_| BadPrototype(error.to_string()))?)
        }
    };
    Ok((declared.trim(), Some(value)))
}

/// The type of a returned code; none for nothing.
fn code(name: &str) -> Result<Option<Scalar>, BadPrototype> {
    if matches!(name, "void" | "()") {
        return Ok(None);
    }
    match scalar(name)? {
        Scalar::F32 | Scalar::F64 | Scalar::Bool => Err(BadPrototype(format!(
            "it returns `{name}`: a kernel returns nothing, or a whole number that is 0 for success"
        ))),
        whole => Ok(Some(whole)),
    }
}

/// A type of C as one text, without what does not matter.
fn words(kind: &str) -> String {
    let matter = |word: &&str| *word != "const" && !QUALIFIERS.contains(word);
    kind.split_whitespace().filter(matter).collect::<Vec<_>>().join(" ")
}

fn is_symbol(name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(is_part)
}

/// Where the parenthesis closes that is open at the beginning.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 1;
    let closes = |(_, letter): &(usize, char)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    text.char_indices().find(closes).map(|(at, _)| at)
}

/// The parts between commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    // A comma may follow the last parameter.
    if !last.is_empty() || parts.is_empty() {
        parts.push(last);
    }
    parts
}
