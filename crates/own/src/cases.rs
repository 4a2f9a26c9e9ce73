//! The cases that a proof of a user's op covers, made from its axes and attributes.

use crate::OwnOp;
use crate::manifest::{AttributeText, Scalar};
use proofmark_contract::{AttributeKind, Definition, Operand, check_case, complete_case};
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::mix;

/// Sizes on both sides of the usual vector lengths and tiles.
const SIZES: &[u64] = &[
    1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 100, 127, 128,
    129, 160, 192, 256,
];

/// Sizes beyond the blocks into which kernels split their sums. Most conditions allow one of them.
const LONG: &[u64] = &[1037, 1040, 1056, 1152];

/// Sizes of the other axes of a case with a long one.
const SHORT: &[u64] = &[1, 2, 3, 4, 8];

/// Cases that are made from sizes alone, in addition to those with an axis of size 1 and with a
/// long one.
const MADE: usize = 10;

/// Sizes that are drawn before the search for cases ends: conditions may refuse most of them.
const DRAWN: u64 = 20_000;

/// The same for a case in which the size of one axis is given.
const DRAWN_GIVEN: u64 = 400;

/// Maximum number of elements of all operands of a made case, because the reference runs many
/// times.
const ELEMENTS: usize = 8_000;

/// The same for a case with a long axis.
const LONG_ELEMENTS: usize = 12_000;

/// Cases that are tried with each value of an attribute that is not its default: sizes decide
/// whether the value changes anything, such as a mask that hides nothing of a single row.
const WITH_VALUE: usize = 4;

/// The share of the range of a real attribute at which a value is tried, in addition to the bounds.
/// The value uses all digits of f32.
const BETWEEN: f64 = 0.618_033_988_749_895;

/// The stated cases, the made ones, and a few for each other value of an attribute.
pub(crate) fn made(op: &OwnOp, dtype: DType) -> Vec<Case> {
    let stated = op.manifest().proof.cases.iter().filter_map(|text| stated(op, text, dtype).ok());
    let mut cases: Vec<Case> = stated.collect();
    if !op.manifest().proof.only_cases {
        cases.append(&mut drawn(op, dtype));
    }
    // The sizes of an imported problem are stated. So are the values of its attributes, if any
    // case is stated.
    let is_closed = op.manifest().proof.only_cases && !cases.is_empty();
    if cases.is_empty() {
        cases.push(op.default_case(dtype));
    }
    let mut with_values = Vec::new();
    for attribute in op.attributes().iter().filter(|_| !is_closed) {
        let listed = op.manifest().attributes.0.iter().find(|(name, _)| name == attribute.name);
        for value in values(attribute.kind, listed.map(|(_, text)| text)) {
            // The last cases are the largest.
            let with = |case: &Case| case.clone().attr(attribute.name, value.clone());
            let fitting = cases.iter().rev().map(with).filter(|case| check_case(op, case).is_ok());
            with_values.extend(fitting.take(WITH_VALUE));
        }
    }
    cases.append(&mut with_values);
    let mut distinct: Vec<Case> = Vec::new();
    for case in cases {
        if !distinct.contains(&case) {
            distinct.push(case);
        }
    }
    distinct
}

/// A case that `op.toml` states, as `rows=3 cols=40 g=8`.
pub(crate) fn stated(op: &OwnOp, text: &str, dtype: DType) -> Result<Case, String> {
    let mut case = Case::new(op.name(), dtype);
    for part in text.split_whitespace() {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("case `{text}`: write `name=value`, not `{part}`"))?;
        if let Some(axis) = op.axes().iter().find(|axis| axis.name == name) {
            let size: u64 =
                value.parse().map_err(|_| format!("case `{text}`: `{value}` is no size"))?;
            case = case.axis(axis.name, size);
        } else {
            let value = AttrValue::parse(value);
            let value = value.ok_or_else(|| format!("case `{text}`: `{part}` has no value"))?;
            case = case.attr(name, value);
        }
    }
    let case = complete_case(op, &case);
    check_case(op, &case).map_err(|error| format!("case `{text}`: {error}"))?;
    Ok(case)
}

/// Cases of drawn sizes that the op accepts, smallest first.
fn drawn(op: &OwnOp, dtype: DType) -> Vec<Case> {
    // A case for each axis, in which that axis has one of the sizes.
    let given = |sizes: &'static [u64], others: &'static [u64], most: usize| {
        (0..op.axes().len()).filter_map(move |at| {
            let size = |draw: u64, of: usize| match of == at {
                true => sizes[draw as usize % sizes.len()],
                false => one_of(others, draw, of),
            };
            (0..DRAWN_GIVEN).find_map(|draw| sized(op, dtype, most, |of| size(draw, of)))
        })
    };
    let edges = given(&[1], SIZES, ELEMENTS).chain(given(LONG, SHORT, LONG_ELEMENTS));
    let others =
        (0..DRAWN).filter_map(|draw| sized(op, dtype, ELEMENTS, |of| one_of(SIZES, draw, of)));
    let mut cases: Vec<(usize, Case)> = Vec::new();
    for (elements, case) in edges.chain(others) {
        if !cases.iter().any(|(_, known)| *known == case) {
            cases.push((elements, case));
        }
        if cases.len() == 2 * op.axes().len() + MADE {
            break;
        }
    }
    cases.sort_by_key(|(elements, _)| *elements);
    cases.into_iter().map(|(_, case)| case).collect()
}

/// The size of an axis in a draw.
fn one_of(sizes: &[u64], draw: u64, axis: usize) -> u64 {
    sizes[mix(0x5eed, draw, axis as u64) as usize % sizes.len()]
}

/// The case whose axes have these sizes, with its elements, if the op accepts it and there are at
/// most this many.
fn sized(
    op: &OwnOp,
    dtype: DType,
    most: usize,
    size: impl Fn(usize) -> u64,
) -> Option<(usize, Case)> {
    let mut case = Case::new(op.name(), dtype);
    for (at, axis) in op.axes().iter().enumerate() {
        case = case.axis(axis.name, size(at));
    }
    let signature = check_case(op, &case).ok()?;
    let elements: usize = signature.operands().iter().map(Operand::len).sum();
    (elements <= most).then_some((elements, case))
}

/// The values of an attribute that a proof tries.
fn values(kind: AttributeKind, text: Option<&AttributeText>) -> Vec<AttrValue> {
    let value = |scalar: &Scalar| match (scalar, kind) {
        (Scalar::Int(int), AttributeKind::Real { .. }) => AttrValue::Real(*int as f64),
        (Scalar::Int(int), _) => AttrValue::Int(*int),
        (Scalar::Real(real), _) => AttrValue::Real(*real),
        (Scalar::Word(word), _) => AttrValue::Word(word.clone()),
    };
    match (kind, text) {
        (AttributeKind::Flag { default }, _) => vec![AttrValue::Flag(!default)],
        (_, Some(AttributeText::Listed { values, default, .. })) => {
            values.iter().filter(|it| *it != default).map(value).collect()
        }
        (AttributeKind::Int { low, high, default }, _) => {
            [low, high].into_iter().filter(|it| *it != default).map(AttrValue::Int).collect()
        }
        (AttributeKind::Real { low, high, default }, _) => {
            // The bounds are often whole numbers, with which lost digits do not show.
            let between = f64::from((low + BETWEEN * (high - low)) as f32).max(low).min(high);
            let tried = [low, between, high].into_iter();
            tried.filter(|it| *it != default).map(AttrValue::Real).collect()
        }
        (AttributeKind::Word { .. }, _) => Vec::new(),
    }
}
