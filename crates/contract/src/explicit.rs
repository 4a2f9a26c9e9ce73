//! A case with every attribute of its op, as contenders of other makers read it.

use crate::{Definition, Unsupported};
use proofmark_terms::{AttrValue, Case};
use std::ops::Deref;

/// A case in which every attribute of the op has a value: what the case names, then the rest at
/// the op's defaults.
///
/// A case as it is printed and stored names only what differs from the defaults. An adapter reads
/// this type instead, so that no default is written a second time. [`ExplicitCase::of`] is its
/// only maker.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitCase {
    case: Case,
    named: usize,
}

impl ExplicitCase {
    /// The case with the attributes that it does not name at the defaults of its op.
    pub fn of(op: &dyn Definition, case: &Case) -> ExplicitCase {
        let named = case.attrs.len();
        let mut case = case.clone();
        for attribute in op.attributes() {
            if case.get(attribute.name).is_none() {
                case.attrs.push((attribute.name.to_owned(), attribute.default()));
            }
        }
        ExplicitCase { case, named }
    }

    /// How many attributes the case itself names; they come first.
    pub fn named(&self) -> usize {
        self.named
    }

    /// A word attribute of the op.
    ///
    /// # Errors
    /// If the op has no such attribute.
    pub fn word(&self, name: &str) -> Result<&str, Unsupported> {
        match self.get(name) {
            Some(AttrValue::Word(word)) => Ok(word),
            _ => Err(self.has_no("word", name)),
        }
    }

    /// A flag of the op.
    ///
    /// # Errors
    /// If the op has no such attribute.
    pub fn flag(&self, name: &str) -> Result<bool, Unsupported> {
        match self.get(name) {
            Some(AttrValue::Flag(flag)) => Ok(*flag),
            _ => Err(self.has_no("flag", name)),
        }
    }

    /// A whole number of the op.
    ///
    /// # Errors
    /// If the op has no such attribute.
    pub fn int(&self, name: &str) -> Result<i64, Unsupported> {
        match self.get(name) {
            Some(AttrValue::Int(int)) => Ok(*int),
            _ => Err(self.has_no("whole number", name)),
        }
    }

    /// A real number of the op; a case may name it as a whole number.
    ///
    /// # Errors
    /// If the op has no such attribute.
    pub fn real(&self, name: &str) -> Result<f64, Unsupported> {
        match self.get(name) {
            Some(AttrValue::Real(real)) => Ok(*real),
            Some(AttrValue::Int(int)) => Ok(*int as f64),
            _ => Err(self.has_no("real number", name)),
        }
    }

    /// Whether the op has this attribute and its value is this word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.word(name) == Ok(word)
    }

    /// Whether the op has this flag and it is set.
    pub fn is_set(&self, name: &str) -> bool {
        self.flag(name) == Ok(true)
    }

    fn has_no(&self, kind: &str, name: &str) -> Unsupported {
        Unsupported(format!("`{}` has no {kind} `{name}`, which the adapter reads", self.op))
    }
}

impl Deref for ExplicitCase {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, AttributeKind, Axis, BadCase, Signature};
    use proofmark_terms::DType;

    /// An op with one attribute of each kind.
    struct Each;

    const fn attribute(name: &'static str, kind: AttributeKind) -> Attribute {
        Attribute { name, meaning: "", kind }
    }

    const MASKS: &[&str] = &["none", "causal"];

    impl Definition for Each {
        fn name(&self) -> &'static str {
            "each"
        }
        fn summary(&self) -> &'static str {
            ""
        }
        fn axes(&self) -> &'static [Axis] {
            &[]
        }
        fn attributes(&self) -> &'static [Attribute] {
            const {
                &[
                    attribute("inplace", AttributeKind::Flag { default: true }),
                    attribute("window", AttributeKind::Int { low: 1, high: 9, default: 5 }),
                    attribute("theta", AttributeKind::Real { low: 0.0, high: 1e5, default: 1e4 }),
                    attribute("mask", AttributeKind::Word { words: MASKS, default: "none" }),
                ]
            }
        }
        fn dtypes(&self) -> &'static [DType] {
            &[DType::F32]
        }
        fn signature(&self, _: &Case) -> Result<Signature, BadCase> {
            Ok(Signature::new(Vec::new()))
        }
    }

    fn explicit(text: &str) -> ExplicitCase {
        ExplicitCase::of(&Each, &text.parse().unwrap())
    }

    #[test]
    fn attributes_that_the_case_does_not_name_have_the_defaults_of_the_op() {
        let case = explicit("each:f32[;mask=causal]");
        let all = "each:f32[;mask=causal,inplace=true,window=5,theta=10000.0]";
        assert_eq!((case.to_string().as_str(), case.named()), (all, 1));
        assert_eq!((case.flag("inplace"), case.int("window")), (Ok(true), Ok(5)));
        assert_eq!((case.real("theta"), case.word("mask")), (Ok(10_000.0), Ok("causal")));
        assert_eq!(explicit("each:f32[;theta=3]").real("theta"), Ok(3.0));
    }

    #[test]
    fn an_attribute_that_the_op_does_not_have_is_an_error_that_names_it() {
        let case = explicit("each:f32[]");
        let Unsupported(reason) = case.word("layout").unwrap_err();
        assert_eq!(reason, "`each` has no word `layout`, which the adapter reads");
        assert!(case.flag("mask").is_err() && case.int("theta").is_err());
        assert!(case.real("bias").is_err());
    }

    #[test]
    fn an_op_without_the_attribute_has_no_value_of_it() {
        let case = explicit("each:f32[]");
        assert!(case.is("mask", "none") && !case.is("mask", "causal"));
        assert!(!case.is("layout", "nn") && !case.is("inplace", "true"));
        assert!(case.is_set("inplace") && !case.is_set("bias"));
    }
}
