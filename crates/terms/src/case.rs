//! A case: an op with its axes and attributes bound, as text that parses back.

use crate::DType;
use crate::dtype::UnknownDType;
use std::fmt;
use std::str::FromStr;

/// The value of an attribute (`eps=1e-6`, `layout=nt`, `causal=true`, `window=128`).
#[derive(Clone, Debug, PartialEq)]
pub enum AttrValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A real number; always printed with a point or an exponent.
    Real(f64),
    /// A word of lower-case letters, digits and `_`.
    Word(String),
}

impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::Flag(value) => write!(f, "{value}"),
            AttrValue::Int(value) => write!(f, "{value}"),
            // `{:?}` prints the shortest digits that parse back, and always marks a real.
            AttrValue::Real(value) => write!(f, "{value:?}"),
            AttrValue::Word(value) => f.write_str(value),
        }
    }
}

impl AttrValue {
    /// Reads a value by its form; `None` if it has none of the four.
    pub fn parse(text: &str) -> Option<AttrValue> {
        if let Ok(flag) = text.parse() {
            return Some(AttrValue::Flag(flag));
        }
        if let Ok(int) = text.parse() {
            return Some(AttrValue::Int(int));
        }
        let is_numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
        if is_numeric && let Ok(real) = text.parse::<f64>() {
            return real.is_finite().then_some(AttrValue::Real(real));
        }
        // Sizes such as `128x128` are words too.
        let (height, width) = text.split_once('x').unwrap_or_default();
        let is_size = height.parse::<u32>().is_ok() && width.parse::<u32>().is_ok();
        (is_size || is_word(text)).then(|| AttrValue::Word(text.to_owned()))
    }
}

/// An op with its axes bound: `rms_norm:f32[b=32,s=512,d=768;eps=1e-6]`.
///
/// Axes come in the op's declared order; attributes follow `;`, and only those that differ
/// from the op's defaults need to be named.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The op's name.
    pub op: String,
    /// The primary element type; operands that differ are named by attributes.
    pub dtype: DType,
    /// Axis names and sizes.
    pub axes: Vec<(String, u64)>,
    /// Attribute names and values.
    pub attrs: Vec<(String, AttrValue)>,
}

impl Case {
    /// A case without axes, to be built up with [`Case::axis`] and [`Case::attr`].
    pub fn new(op: &str, dtype: DType) -> Case {
        Case { op: op.to_owned(), dtype, axes: Vec::new(), attrs: Vec::new() }
    }

    /// This case with one more axis.
    #[must_use]
    pub fn axis(mut self, name: &str, size: u64) -> Case {
        self.axes.push((name.to_owned(), size));
        self
    }

    /// This case with the attribute set.
    #[must_use]
    pub fn attr(mut self, name: &str, value: AttrValue) -> Case {
        self.attrs.retain(|(known, _)| known != name);
        self.attrs.push((name.to_owned(), value));
        self
    }

    /// Size of an axis.
    pub fn size(&self, axis: &str) -> Option<u64> {
        self.axes.iter().find(|(name, _)| name == axis).map(|&(_, size)| size)
    }

    /// Value of an attribute, if the case names it.
    pub fn get(&self, attr: &str) -> Option<&AttrValue> {
        self.attrs.iter().find(|(name, _)| name == attr).map(|(_, value)| value)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}[", self.op, self.dtype)?;
        for (i, (name, size)) in self.axes.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{name}={size}")?;
        }
        for (i, (name, value)) in self.attrs.iter().enumerate() {
            let mark = if i > 0 { "," } else { ";" };
            write!(f, "{mark}{name}={value}")?;
        }
        f.write_str("]")
    }
}

/// Why a text is not a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseCaseError {
    /// The outline `op:dtype[axis=size,…;attr=value,…]` is broken.
    Outline(String),
    /// The element type is unknown.
    DType(UnknownDType),
    /// An axis is not `name=size`.
    Axis(String),
    /// An attribute is not `name=value`.
    Attribute(String),
    /// A name stands twice.
    Twice(String),
}

impl fmt::Display for ParseCaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseCaseError::Outline(text) => {
                write!(f, "`{text}` is not a case: write `op:dtype[axis=size,…;attribute=value,…]`")
            }
            ParseCaseError::DType(unknown) => unknown.fmt(f),
            ParseCaseError::Axis(text) => {
                write!(f, "`{text}` is not an axis: write `name=size` with a whole number")
            }
            ParseCaseError::Attribute(text) => {
                write!(f, "`{text}` is not an attribute: write `name=value`")
            }
            ParseCaseError::Twice(name) => write!(f, "`{name}` is given twice"),
        }
    }
}

impl std::error::Error for ParseCaseError {}

impl From<UnknownDType> for ParseCaseError {
    fn from(unknown: UnknownDType) -> ParseCaseError {
        ParseCaseError::DType(unknown)
    }
}

/// Whether the text is a name in our sense: a lower-case letter, then letters, digits, `_`.
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

impl FromStr for Case {
    type Err = ParseCaseError;

    fn from_str(text: &str) -> Result<Case, ParseCaseError> {
        let outline = || ParseCaseError::Outline(text.to_owned());
        let (head, rest) = text.split_once('[').ok_or_else(outline)?;
        let body = rest.strip_suffix(']').ok_or_else(outline)?;
        let (op, dtype) = head.split_once(':').ok_or_else(outline)?;
        if !is_word(op) {
            return Err(outline());
        }
        let mut case = Case::new(op, dtype.parse()?);
        let (axes, attrs) = body.split_once(';').unwrap_or((body, ""));
        for part in axes.split(',').filter(|part| !part.is_empty()) {
            let bad = || ParseCaseError::Axis(part.to_owned());
            let (name, size) = part.split_once('=').ok_or_else(bad)?;
            if !is_word(name) {
                return Err(bad());
            }
            if case.size(name).is_some() {
                return Err(ParseCaseError::Twice(name.to_owned()));
            }
            case.axes.push((name.to_owned(), size.parse().map_err(|_| bad())?));
        }
        for part in attrs.split(',').filter(|part| !part.is_empty()) {
            let bad = || ParseCaseError::Attribute(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            if !is_word(name) {
                return Err(bad());
            }
            if case.get(name).is_some() {
                return Err(ParseCaseError::Twice(name.to_owned()));
            }
            case.attrs.push((name.to_owned(), AttrValue::parse(value).ok_or_else(bad)?));
        }
        Ok(case)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Case {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Case {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Case, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_case_parses_back_from_its_text() {
        for text in [
            "rms_norm:f32[b=32,s=512,d=768]",
            "rms_norm:bf16[b=1,s=1,d=0;eps=1e-6,variant=gemma]",
            "matmul:bf16[b=1,m=7,n=9,k=1;layout=nt,out=f32,beta=1.0]",
            "x:f8e4m3[]",
            "quantize_fp8:f32[m=1,n=2;block=128x128]",
        ] {
            assert_eq!(text.parse::<Case>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn broken_texts_say_what_is_wrong() {
        for text in ["", "a", "a:f32", "a:f32[b=]", "a:f99[b=1]", "A:f32[b=1]", "a:f32[b=1,b=2]"] {
            assert!(text.parse::<Case>().is_err(), "{text}");
        }
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-z][a-z0-9_]{0,6}".prop_filter("flags are not words", |w| w != "true" && w != "false")
    }

    fn value() -> impl Strategy<Value = AttrValue> {
        prop_oneof![
            any::<bool>().prop_map(AttrValue::Flag),
            any::<i64>().prop_map(AttrValue::Int),
            any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(AttrValue::Real),
            word().prop_map(AttrValue::Word),
        ]
    }

    proptest! {
        #[test]
        fn any_case_survives_print_and_parse(
            op in word(),
            dtype in proptest::sample::select(DType::ALL.to_vec()),
            axes in proptest::collection::btree_map(word(), any::<u64>(), 0..4),
            attrs in proptest::collection::btree_map(word(), value(), 0..4),
        ) {
            let case = Case {
                op,
                dtype,
                axes: axes.into_iter().collect(),
                attrs: attrs.into_iter().collect(),
            };
            prop_assert_eq!(case.to_string().parse::<Case>().unwrap(), case);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,60}") {
            let _ = text.parse::<Case>();
        }
    }
}
