//! What a call asks for, as plain values: built on the stack in every call.

use super::context::Context;
use super::error::Error;
use super::plan;
use super::{Input, Output};
use proofmark_contract::{Entry, Kernel};
use proofmark_terms::{AttrValue, Case, DType, Isa};

/// The most axes that an op has, and the most attributes.
const MOST: usize = 8;

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    Flag(bool),
    Int(i64),
    Real(f64),
    Word(&'static str),
}

impl PartialEq for Given {
    fn eq(&self, other: &Given) -> bool {
        match (self, other) {
            (Given::Flag(one), Given::Flag(two)) => one == two,
            (Given::Int(one), Given::Int(two)) => one == two,
            // By bits, so that a NaN finds its plan again.
            (Given::Real(one), Given::Real(two)) => one.to_bits() == two.to_bits(),
            (Given::Word(one), Given::Word(two)) => is_same(one, two),
            _ => false,
        }
    }
}

impl Given {
    fn value(self) -> AttrValue {
        match self {
            Given::Flag(flag) => AttrValue::Flag(flag),
            Given::Int(int) => AttrValue::Int(int),
            Given::Real(real) => AttrValue::Real(real),
            Given::Word(word) => AttrValue::Word(word.to_owned()),
        }
    }
}

/// A kernel and its path.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(pub(crate) &'static dyn Kernel, pub(crate) Isa);

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.0.name(), self.1)
    }
}

impl PartialEq for Chosen {
    /// Of kernels of the same op.
    fn eq(&self, other: &Chosen) -> bool {
        self.0.name() == other.0.name() && self.1 == other.1
    }
}

/// An op with its sizes and options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(super) entry: &'static Entry,
    dtype: DType,
    axes: [(&'static str, u64); MOST],
    axis_count: usize,
    attrs: [(&'static str, Given); MOST],
    attr_count: usize,
    /// Kernels that make something ready once, without looking at operands, may be chosen.
    pub(super) may_prepare: bool,
    /// The kernel, where weights were packed for it.
    pub(super) packed_for: Option<Chosen>,
}

impl Request {
    /// A request without axes, to be built up.
    pub(crate) fn new(entry: &'static Entry, dtype: DType) -> Request {
        Request {
            entry,
            dtype,
            axes: [("", 0); MOST],
            axis_count: 0,
            attrs: [("", Given::Flag(false)); MOST],
            attr_count: 0,
            may_prepare: false,
            packed_for: None,
        }
    }

    /// An op on rows: axes `b`, `s` and `d`.
    pub(crate) fn rows(
        entry: &'static Entry,
        dtype: DType,
        (rows, cols): (usize, usize),
    ) -> Request {
        Request::new(entry, dtype).axis("b", 1).axis("s", rows).axis("d", cols)
    }

    pub(crate) fn axis(mut self, name: &'static str, size: usize) -> Request {
        self.axes[self.axis_count] = (name, size as u64);
        self.axis_count += 1;
        self
    }

    pub(crate) fn attr(mut self, name: &'static str, value: Given) -> Request {
        self.attrs[self.attr_count] = (name, value);
        self.attr_count += 1;
        self
    }

    pub(crate) fn prepared(self) -> Request {
        Request { may_prepare: true, ..self }
    }

    pub(crate) fn packed_for(self, chosen: Chosen) -> Request {
        Request { packed_for: Some(chosen), ..self }
    }

    /// The same as text, for what is decided once.
    pub(crate) fn case(&self) -> Case {
        let mut case = Case::new(self.entry.op.name(), self.dtype);
        for &(name, size) in &self.axes[..self.axis_count] {
            case = case.axis(name, size);
        }
        for &(name, value) in &self.attrs[..self.attr_count] {
            case = case.attr(name, value.value());
        }
        case
    }

    /// Makes the call.
    pub(crate) fn run(
        &self,
        context: &Context,
        inputs: &[Input<'_>],
        outputs: &mut [Output<'_>],
    ) -> Result<(), Error> {
        plan::run(self, context, inputs, outputs, None)
    }

    /// Makes the call with weights that were packed before.
    pub(crate) fn run_packed(
        &self,
        context: &Context,
        inputs: &[Input<'_>],
        outputs: &mut [Output<'_>],
        packed: &[u8],
    ) -> Result<(), Error> {
        plan::run(self, context, inputs, outputs, Some(packed))
    }
}

impl PartialEq for Request {
    fn eq(&self, other: &Request) -> bool {
        let axes = self.axes[..self.axis_count].iter().zip(&other.axes);
        let attrs = self.attrs[..self.attr_count].iter().zip(&other.attrs);
        std::ptr::eq(self.entry, other.entry)
            && self.dtype == other.dtype
            && self.packed_for == other.packed_for
            && (self.axis_count, self.attr_count) == (other.axis_count, other.attr_count)
            && axes.into_iter().all(|(one, two)| one.1 == two.1 && is_same(one.0, two.0))
            && attrs.into_iter().all(|(one, two)| one.1 == two.1 && is_same(one.0, two.0))
    }
}

/// Whether two words are the same. Those of one place in the program have one address, so that the
/// letters are seldom compared.
fn is_same(one: &'static str, two: &'static str) -> bool {
    std::ptr::eq(one, two) || one == two
}
