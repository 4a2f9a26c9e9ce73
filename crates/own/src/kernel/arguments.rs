//! Where the arguments of a call come from: names of a signature meet operands, axes and
//! attributes of a case.

use super::manifest::{Function, LibraryCode, PACKED, THREADS, Threads, WORKSPACE};
use super::signature::{Parameter, Pointee, Scalar, Takes, Value};
use crate::suggest::nearest;
use crate::{Expression, ExpressionError};
use proofmark_contract::{ExplicitCase, Role, Signature, Unsupported};
use proofmark_schema::AttrValue;
use std::ffi::CString;

/// A call with a source for every argument.
pub(super) struct Plan<'k> {
    pub(super) function: &'k Function,
    pub(super) arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) passes: Passes,
    pub(super) source: Source,
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passes {
    /// A number.
    Value(Scalar),
    /// An address of memory.
    Address,
    /// The address of a number.
    Reference(Scalar),
}

/// Where the value of an argument comes from.
#[derive(Debug, PartialEq)]
pub(super) enum Source {
    /// The address of an operand, by its place in the signature.
    Operand(usize),
    /// Elements from one row of an operand to the next.
    Stride(usize),
    /// Elements from the first to the last of an operand, with the padding of its rows.
    Span(usize),
    /// Packed weights.
    Packed,
    /// Scratch memory.
    Workspace,
    /// A word of the case.
    Word(CString),
    /// The bits of a number.
    Fixed(u64),
    /// A number that depends on the number of threads.
    Formula(Expression),
}

/// What a case is called with.
pub(super) struct Scene<'a> {
    pub(super) code: &'a LibraryCode,
    pub(super) case: &'a ExplicitCase,
    pub(super) signature: &'a Signature,
}

/// A result, or why the kernel does not do the case.
type Done<T> = Result<T, Unsupported>;

impl<'a> Scene<'a> {
    /// The call for the case.
    pub(super) fn call(&self) -> Done<Plan<'a>> {
        let plan = self.plan(&self.code.calls)?;
        let is_taken =
            |place: usize| plan.arguments.iter().any(|it| it.source == Source::Operand(place));
        for (place, operand) in self.signature.operands().iter().enumerate() {
            if operand.role.is_written() && !is_taken(place) {
                return no(format!(
                    "the call does not take `{}`, which the op writes",
                    operand.name
                ));
            }
        }
        Ok(plan)
    }

    /// The call that packs weights, with the bytes that it packs into.
    pub(super) fn setup(&self) -> Done<Option<(Plan<'a>, usize)>> {
        let Some(setup) = &self.code.setup else { return Ok(None) };
        let plan = self.plan(&setup.calls)?;
        for argument in &plan.arguments {
            let Source::Operand(place) = argument.source else { continue };
            let operand = &self.signature.operands()[place];
            if operand.role != Role::Weight {
                return no(format!(
                    "`setup_call` takes `{}`, which is new in every call: only weights are packed",
                    operand.name
                ));
            }
        }
        Ok(Some((plan, self.bytes(&setup.packed_bytes, 1, "packed_bytes")?.max(1))))
    }

    /// Bytes of scratch memory for this many threads.
    pub(super) fn workspace_bytes(&self, threads: usize) -> Done<usize> {
        let bytes = self.code.workspace_bytes.as_ref();
        bytes.map_or(Ok(0), |formula| self.bytes(formula, threads, "workspace_bytes"))
    }

    /// A size by a formula.
    pub(super) fn size(&self, formula: &Expression, key: &str) -> Done<usize> {
        self.bytes(formula, 1, key)
    }

    /// The bits of a number by a formula.
    pub(super) fn bits(&self, formula: &Expression, scalar: Scalar, threads: usize) -> Done<u64> {
        let value = formula.value(&|name| self.whole(name, threads));
        let value = value.map_err(|error| self.explained(&error))?;
        whole_bits(scalar, value)
            .ok_or_else(|| Unsupported(format!("{value} does not fit {}", scalar.name())))
    }

    fn bytes(&self, formula: &Expression, threads: usize, key: &str) -> Done<usize> {
        let value = formula.value(&|name| self.whole(name, threads));
        let value = value.map_err(|error| self.explained(&error))?;
        let is_less = || Unsupported(format!("`{key}` is {value} for this case, less than 0"));
        usize::try_from(value).map_err(|_| is_less())
    }

    fn explained(&self, error: &ExpressionError) -> Unsupported {
        match error {
            ExpressionError::Unknown { name, .. } => self.unknown(name),
            error => Unsupported(error.to_string()),
        }
    }

    /// The one function whose pointers fit the operands, with its arguments.
    fn plan(&self, functions: &'a [Function]) -> Done<Plan<'a>> {
        let fit = |function: &&Function| self.misfit(function).is_none();
        let function = match functions.iter().filter(fit).collect::<Vec<_>>()[..] {
            [function] => function,
            [] => {
                let reasons = functions.iter().filter_map(|it| self.misfit(it));
                return no(reasons.collect::<Vec<_>>().join("; "));
            }
            [first, second, ..] => {
                return no(format!(
                    "`{}` and `{}` both fit its element types: write the types of their pointers",
                    first.symbol, second.symbol
                ));
            }
        };
        let parameters = function.prototype.parameters.iter();
        let arguments = parameters.map(|it| self.argument(it)).collect::<Done<Vec<_>>>()?;
        Ok(Plan { function, arguments })
    }

    /// Why a function does not fit the element types of the case.
    fn misfit(&self, function: &Function) -> Option<String> {
        function.prototype.parameters.iter().find_map(|parameter| {
            let Takes::Pointer { to, .. } = parameter.takes else { return None };
            let operand = &self.signature.operands()[self.place(&parameter.name)?];
            (!to.fits(operand.dtype)).then(|| {
                let (name, dtype) = (&parameter.name, operand.dtype);
                format!("`{name}` is {dtype}, and `{}` takes it as {to}", function.symbol)
            })
        })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.signature.operands().iter().position(|operand| operand.name == name)
    }

    fn argument(&self, parameter: &Parameter) -> Done<Argument> {
        let name = parameter.name.as_str();
        if let Takes::Pointer { to, writes } = parameter.takes
            && let Some(address) = self.address(name, to, writes)?
        {
            return Ok(Argument { passes: Passes::Address, source: address });
        }
        let passes = match parameter.takes {
            Takes::Value(scalar) => Passes::Value(scalar),
            Takes::Reference(scalar) => Passes::Reference(scalar),
            Takes::Pointer { to, .. } => match to.scalar() {
                Some(scalar) => Passes::Reference(scalar),
                None => return Err(self.unknown(name)),
            },
        };
        let (Passes::Value(scalar) | Passes::Reference(scalar)) = passes else {
            return Err(self.unknown(name));
        };
        Ok(Argument { passes, source: self.number(parameter, scalar)? })
    }

    /// The memory of this name, if there is any.
    fn address(&self, name: &str, to: Pointee, writes: bool) -> Done<Option<Source>> {
        if let Some(place) = self.place(name) {
            if self.signature.operands()[place].role.is_written() && !writes {
                return no(format!("the op writes `{name}`, and the call takes it as constant"));
            }
            return Ok(Some(Source::Operand(place)));
        }
        Ok(match (name, self.case.get(name)) {
            (PACKED, _) => Some(Source::Packed),
            (WORKSPACE, _) => Some(Source::Workspace),
            (_, Some(AttrValue::Word(word))) if to == Pointee::Char => {
                Some(Source::Word(CString::new(word.as_str()).unwrap_or_default()))
            }
            _ => None,
        })
    }

    fn number(&self, parameter: &Parameter, scalar: Scalar) -> Done<Source> {
        let name = parameter.name.as_str();
        let is_real = matches!(scalar, Scalar::F32 | Scalar::F64);
        let misfit = |what: &str| {
            Unsupported(format!("`{name}` is {what}, which `{}` does not hold", scalar.name()))
        };
        let real = |value: f64| {
            let bits = real_bits(scalar, value).ok_or_else(|| misfit("a real number"))?;
            Ok(Source::Fixed(bits))
        };
        let formula = match (&parameter.value, self.case.get(name)) {
            (Some(Value::Real(value)), _) => return real(*value),
            (Some(Value::Whole(formula)), _) => formula.clone(),
            (None, Some(AttrValue::Real(value))) => return real(*value),
            (None, Some(AttrValue::Word(_))) => {
                return Err(Unsupported(format!("`{name}` is a word: take it as `*const char`")));
            }
            (None, _) => {
                let ending = |ending: &str, source: fn(usize) -> Source| {
                    name.strip_suffix(ending).and_then(|it| self.place(it)).map(source)
                };
                match ending("_stride", Source::Stride).or_else(|| ending("_span", Source::Span)) {
                    Some(_) if is_real => return Err(misfit("a whole number of elements")),
                    Some(source) => return Ok(source),
                    None if Threads::By(name.to_owned()) == self.code.threads => {
                        Expression::name(THREADS)
                    }
                    None => Expression::name(name),
                }
            }
        };
        if formula.uses(THREADS) && self.code.threads != Threads::One {
            // The formula is evaluated once now, so that unknown names are reported.
            return self.bits(&formula, scalar, 1).map(|_| Source::Formula(formula));
        }
        self.bits(&formula, scalar, 1).map(Source::Fixed)
    }

    /// A whole number of the case by its name.
    fn whole(&self, name: &str, threads: usize) -> Option<i64> {
        if let Some(size) = self.case.size(name) {
            return i64::try_from(size).ok();
        }
        match self.case.get(name) {
            Some(AttrValue::Int(value)) => return Some(*value),
            Some(AttrValue::Flag(value)) => return Some(i64::from(*value)),
            _ => {}
        }
        if let Some(place) = name.strip_suffix("_len").and_then(|it| self.place(it)) {
            return i64::try_from(self.signature.operands()[place].len()).ok();
        }
        (name == THREADS).then(|| i64::try_from(threads).unwrap_or(i64::MAX))
    }

    /// Why a name has no value of the wanted kind.
    fn unknown(&self, name: &str) -> Unsupported {
        if self.place(name).is_some() {
            return Unsupported(format!("`{name}` is an operand: take it as a pointer"));
        }
        if let Some(value) = self.case.get(name) {
            return Unsupported(format!("the attribute `{name}` is {value}, no whole number"));
        }
        if let PACKED | WORKSPACE = name {
            return Unsupported(format!("`{name}` is memory: take it as a pointer"));
        }
        let operands = self.signature.operands().iter().map(|operand| operand.name);
        let axes = self.case.axes.iter().map(|(name, _)| name.as_str());
        let attributes = self.case.attrs.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = operands.chain(axes).chain(attributes).collect();
        let meant = nearest(name, &known).map(|it| format!("; did you mean `{it}`?"));
        Unsupported(format!(
            "`{name}` is no operand, axis or attribute of `{}`, which has {}{}",
            self.case.op,
            known.join(", "),
            meant.unwrap_or_default()
        ))
    }
}

fn no<T>(reason: String) -> Done<T> {
    Err(Unsupported(reason))
}

/// The bits of a whole number in a type; none if it does not fit.
pub(super) fn whole_bits(scalar: Scalar, value: i64) -> Option<u64> {
    match scalar {
        Scalar::I32 => i32::try_from(value).ok().map(|it| u64::from(it.cast_unsigned())),
        Scalar::U32 => u32::try_from(value).ok().map(u64::from),
        Scalar::I64 => Some(value.cast_unsigned()),
        Scalar::U64 => u64::try_from(value).ok(),
        Scalar::Bool => matches!(value, 0 | 1).then(|| value.cast_unsigned()),
        Scalar::F32 | Scalar::F64 => real_bits(scalar, value as f64),
    }
}

fn real_bits(scalar: Scalar, value: f64) -> Option<u64> {
    match scalar {
        Scalar::F32 => Some(u64::from((value as f32).to_bits())),
        Scalar::F64 => Some(value.to_bits()),
        _ => None,
    }
}
