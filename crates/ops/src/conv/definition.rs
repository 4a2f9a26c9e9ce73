//! The definition of convolutions: axes, operands, work, limits, and what the gate should try.

use super::{laws, oracle};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Filling, Law, Op, Operand, Portfolio, Role,
    Signature, Specials, Truth, Values, Want, check_sizes,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op, along one axis or two.
#[derive(Debug)]
pub(crate) struct Conv {
    name: &'static str,
    summary: &'static str,
    axes: &'static [Axis],
    attributes: &'static [Attribute],
    proof_cases: fn() -> Vec<Case>,
}

/// Positions of the operands in the signature.
pub(super) const X: usize = 0;
pub(super) const WEIGHTS: usize = 1;
pub(super) const BIAS: usize = 2;

/// A case's sizes and attributes; pairs are of rows and columns. Along one axis there is one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Images in the batch.
    pub(crate) batches: usize,
    /// Channels of an image.
    pub(crate) channels: usize,
    /// Channels of a result.
    pub(crate) outputs: usize,
    /// Rows and columns of a channel.
    pub(crate) size: [usize; 2],
    /// Rows and columns of a result's channel.
    pub(crate) result: [usize; 2],
    /// Taps of the weights.
    pub(crate) taps: [usize; 2],
    /// Elements from one result to the next.
    pub(crate) stride: [usize; 2],
    /// Zeros before the first element and after the last.
    pub(crate) pad: [usize; 2],
    /// Elements from one tap to the next.
    pub(crate) dilation: [usize; 2],
    /// Groups of channels that know nothing of each other.
    pub(crate) groups: usize,
    /// Whether a bias is added to each channel of the result.
    pub(crate) has_bias: bool,
}

fn int(case: &Case, name: &str, default: usize) -> usize {
    case.real(name, default as f64) as usize
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        Problem::try_of(case).unwrap_or_else(|bad| unreachable!("{bad}"))
    }

    fn try_of(case: &Case) -> Result<Problem, BadCase> {
        let axis = |name: &str| case.size(name).unwrap_or(0) as usize;
        let is_line = case.op == Conv::CONV1D.name;
        let attr = |name, default: usize, of_line: usize| {
            let value = int(case, name, default);
            if is_line { [of_line, value] } else { [value; 2] }
        };
        let (size, taps) = match is_line {
            true => ([1, axis("l")], [1, int(case, "k", 3)]),
            false => ([axis("h"), axis("w")], [int(case, "kh", 3), int(case, "kw", 3)]),
        };
        let (stride, pad) = (attr("stride", 1, 1), attr("pad", 1, 0));
        let dilation = attr("dilation", 1, 1);
        let mut result = [0; 2];
        for side in 0..2 {
            let (span, room) = (dilation[side] * (taps[side] - 1) + 1, size[side] + 2 * pad[side]);
            let rest = room.checked_sub(span).ok_or_else(|| {
                BadCase::Contradiction(format!(
                    "taps span {span} elements, the padded image has {room}: raise pad"
                ))
            })?;
            result[side] = rest / stride[side] + 1;
        }
        let (channels, outputs, groups) = (axis("c"), axis("o"), int(case, "groups", 1));
        if !channels.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
            let words = format!("{groups} groups do not divide {channels} and {outputs} channels");
            return Err(BadCase::Contradiction(words));
        }
        let has_bias = case.flag("bias", false);
        Ok(Problem {
            batches: axis("b"),
            channels,
            outputs,
            size,
            result,
            taps,
            stride,
            pad,
            dilation,
            groups,
            has_bias,
        })
    }

    /// Channels of an image that a result sees.
    pub(crate) fn group_inputs(&self) -> usize {
        self.channels / self.groups
    }

    /// Channels of a result that see the same channels of an image.
    pub(crate) fn group_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    /// Terms of each sum, those in the padding counted.
    pub(crate) fn terms(&self) -> usize {
        self.group_inputs() * self.taps[0] * self.taps[1]
    }

    /// Elements of a channel of an image.
    pub(crate) fn area(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Elements of a channel of a result.
    pub(crate) fn result_area(&self) -> usize {
        self.result[0] * self.result[1]
    }

    /// Elements of all results.
    pub(crate) fn len(&self) -> usize {
        self.batches * self.outputs * self.result_area()
    }

    /// Where a tap falls for a result along one side; nowhere in the padding.
    pub(crate) fn place(&self, side: usize, at: usize, tap: usize) -> Option<usize> {
        let padded = at * self.stride[side] + tap * self.dilation[side];
        padded.checked_sub(self.pad[side]).filter(|&place| place < self.size[side])
    }

    /// Whether results may be computed four by four from squares of 4 × 4 elements, as Winograd's
    /// algorithm does.
    pub(crate) fn has_squares(&self) -> bool {
        let ones = [1, 1];
        self.taps == [3, 3] && (self.stride, self.dilation) == (ones, ones) && self.groups == 1
    }
}

const fn axis(name: &'static str, meaning: &'static str, role: AxisRole, default: u64) -> Axis {
    Axis { name, meaning, role, default }
}

const B: Axis = axis("b", "images in the batch", AxisRole::Batch, 1);
const C: Axis = axis("c", "channels of an image", AxisRole::Dimension, 64);
const O: Axis = axis("o", "channels of a result", AxisRole::Dimension, 64);

const fn whole(
    name: &'static str,
    meaning: &'static str,
    low: i64,
    default: &'static str,
) -> Attribute {
    Attribute { name, meaning, kind: AttributeKind::Int { low, high: 65_536 }, default }
}

const HAS_BIAS: Attribute = Attribute {
    name: "bias",
    meaning: "an operand [o] after the weights is added to the channels of the result",
    kind: AttributeKind::Flag,
    default: "false",
};
const DILATION: Attribute = whole("dilation", "elements from one tap to the next", 1, "1");
const GROUPS: Attribute =
    whole("groups", "channels in groups that know nothing of each other; c: depthwise", 1, "1");
const PAD: Attribute = whole("pad", "zeros before the first and after the last element", 0, "1");
const STRIDE: Attribute = whole("stride", "elements from one result to the next", 1, "1");

impl Conv {
    /// Along one axis.
    pub(crate) const CONV1D: Conv = Conv {
        name: "conv1d",
        summary: "y[b,o,i] = bias[o] + sum over c, k of x[b,c,i*stride+k*dilation-pad] * w[o,c,k]",
        axes: &[B, C, O, axis("l", "elements of a channel", AxisRole::Sequence, 3000)],
        attributes: &[HAS_BIAS, DILATION, GROUPS, whole("k", "taps", 1, "3"), PAD, STRIDE],
        proof_cases: lines,
    };

    /// Along rows and columns.
    pub(crate) const CONV2D: Conv = Conv {
        name: "conv2d",
        summary: "y[b,o,i,j] = bias[o] + sum over c, p, q of x[b,c,at(i,p),at(j,q)] * w[o,c,p,q], \
                  at(i,k) = i*stride+k*dilation-pad",
        axes: &[
            B,
            C,
            O,
            axis("h", "rows of a channel", AxisRole::Sequence, 56),
            axis("w", "columns of a channel", AxisRole::Sequence, 56),
        ],
        attributes: &[
            HAS_BIAS,
            DILATION,
            GROUPS,
            whole("kh", "rows of taps", 1, "3"),
            whole("kw", "columns of taps", 1, "3"),
            PAD,
            STRIDE,
        ],
        proof_cases: planes,
    };
}

impl Op for Conv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN, or 0 times infinity, makes NaN of the results whose taps fall on it only",
            "an infinite or NaN weight that falls on padding may or may not make NaN",
            "subnormal products count",
            "no channels: the bias, or 0",
            "the sign of a zero is free",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        self.axes
    }

    fn attributes(&self) -> &'static [Attribute] {
        self.attributes
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let of = Problem::try_of(case)?;
        let ([up, across], [kh, kw]) = (of.result, of.taps);
        let sizes = [of.batches, of.outputs, up, across, of.group_inputs(), kh, kw];
        check_sizes(sizes.map(|size| size as u64))?;
        let skipped = if self.name == Conv::CONV1D.name { 1 } else { 0 };
        let shape = |images: usize, channels: usize, sides: [usize; 2]| {
            [&[images, channels][..], &sides[skipped..]].concat()
        };
        let operand =
            |name, role, shape: &[usize]| Operand::new(name, role, case.dtype, shape).dense();
        let mut operands = vec![
            operand("x", Role::Input, &shape(of.batches, of.channels, of.size)),
            operand("w", Role::Weight, &shape(of.outputs, of.group_inputs(), of.taps)),
        ];
        if of.has_bias {
            operands.push(operand("bias", Role::Weight, &[of.outputs]));
        }
        operands.push(operand("y", Role::Output, &shape(of.batches, of.outputs, of.result)));
        Ok(Signature::new(operands))
    }

    fn work(&self, case: &Case) -> Work {
        let of = Problem::of(case);
        let (bias, size) = (usize::from(of.has_bias), case.dtype.size());
        let read = of.batches * of.channels * of.area() + of.outputs * (of.terms() + bias);
        Work {
            flops: (of.len() * (2 * of.terms() + bias)) as u64,
            bytes_read: (read * size) as u64,
            bytes_written: (of.len() * size) as u64,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).terms() as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(Problem::of(case), inputs, want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let exact = exact_fillings(Problem::of(case), signature);
        Portfolio { exact, ..Portfolio::standard(signature) }
    }

    /// `2^60`: the product of two of them, and 128 such products, stay finite. Weights take
    /// special values only where none falls on padding, for there libraries differ.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let of = Problem::of(case);
        let mut operands = vec![X];
        if of.pad == [0, 0] {
            operands.push(WEIGHTS);
        }
        if of.has_bias {
            operands.push(BIAS);
        }
        Specials::standard(&operands, case.dtype, 2f64.powi(60))
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn audit(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
        seed: u64,
    ) -> Option<Result<(), String>> {
        oracle::audit(Problem::of(case), inputs, &outputs[0], seed)
    }

    fn proof_cases(&self, _dtype: DType) -> Vec<Case> {
        (self.proof_cases)()
    }
}

/// Integers whose products sum exactly in every order, and in Winograd's algorithm too, whose
/// terms reach 9 times theirs in steps of a quarter: dense ones, and nearly one-hot images, whose
/// results name the index of any misplaced term.
fn exact_fillings(of: Problem, signature: &Signature) -> Vec<Filling> {
    let terms = of.terms().max(1) as f64;
    let limit = 2f64.powi(24) / 36.0 - 4.0;
    let magnitude = [4u32, 2, 1].into_iter().find(|&side| f64::from(side * side) * terms <= limit);
    let dense = match magnitude {
        Some(magnitude) => Fill::Ints { magnitude, density: 1.0 },
        None => Fill::Ints { magnitude: 1, density: (0.5 * limit / terms).sqrt() },
    };
    let probe = Fill::Ints { magnitude: 4, density: (4.0 / terms).min(1.0) };
    let dense = Filling::uniform(signature, &dense);
    vec![dense.clone(), dense.with(X, probe)]
}

/// A case of sizes in the order of its axes and of attributes.
fn built(op: &Conv, sizes: &[u64], attrs: &[(&str, i64)]) -> Case {
    let axes = op.axes.iter().zip(sizes);
    let case =
        axes.fold(Case::new(op.name, DType::F32), |case, (axis, &size)| case.axis(axis.name, size));
    attrs.iter().fold(case, |case, &(name, value)| {
        let value =
            if name == "bias" { AttrValue::Flag(value == 1) } else { AttrValue::Int(value) };
        case.attr(name, value)
    })
}

/// Edge shapes of planes: around vectors and register tiles (14, 8, 4, 2 rows; 32 columns and
/// more), squares cut by the edge, blocks of squares and of packed columns; every attribute; empty
/// axes.
fn planes() -> Vec<Case> {
    const DEPTHWISE: [(&str, i64); 2] = [("groups", 12), ("bias", 1)];
    let case = |sizes: [u64; 5], attrs: &[(&str, i64)]| built(&Conv::CONV2D, &sizes, attrs);
    let taps = |kh, kw, pad| [("kh", kh), ("kw", kw), ("pad", pad)];
    vec![
        case([1, 1, 1, 1, 1], &[]),
        case([2, 5, 7, 6, 6], &taps(1, 1, 0)),
        case([1, 3, 5, 7, 9], &[("bias", 1)]),
        case([1, 3, 10, 20, 23], &[&taps(7, 7, 3)[..], &[("stride", 2)]].concat()),
        case([2, 4, 16, 14, 14], &[]),
        case([1, 12, 12, 9, 35], &DEPTHWISE),
        case([1, 16, 15, 8, 17], &[("pad", 0)]),
        case([1, 33, 17, 13, 11], &[&taps(1, 1, 0)[..], &[("bias", 1)]].concat()),
        case([1, 8, 12, 7, 8], &[("groups", 4), ("dilation", 2), ("pad", 2)]),
        case([1, 6, 29, 8, 9], &[&taps(1, 1, 0)[..], &[("stride", 2)]].concat()),
        case([3, 8, 33, 5, 40], &[("bias", 1)]),
        case([1, 4, 8, 11, 12], &[("groups", 4), ("stride", 2)]),
        case([1, 5, 6, 12, 13], &taps(3, 5, 2)),
        case([1, 7, 28, 28, 27], &[]),
        case([1, 4, 3, 13, 14], &[("stride", 2), ("dilation", 3), ("pad", 4)]),
        case([1, 200, 3, 4, 5], &[]),
        case([1, 3, 20, 9, 10], &[&taps(2, 2, 0)[..], &[("stride", 3)]].concat()),
        case([2, 6, 8, 6, 5], &[("pad", 2)]),
        case([1, 2, 3, 9, 6], &taps(5, 2, 0)),
        case([1, 300, 9, 3, 3], &taps(1, 1, 0)),
        case([1, 32, 32, 28, 28], &[]),
        case([2, 33, 37, 7, 7], &[&taps(1, 1, 0)[..], &[("bias", 1)]].concat()),
        case([1, 32, 101, 14, 15], &[("stride", 2), ("bias", 1)]),
        case([1, 64, 194, 6, 9], &[("groups", 2)]),
        case([1, 2800, 32, 7, 8], &taps(1, 1, 0)),
        case([0, 3, 4, 5, 5], &[]),
        case([1, 3, 0, 5, 5], &[]),
        case([1, 0, 3, 4, 4], &[("bias", 1)]),
    ]
}

/// Edge shapes of lines: as those of planes, and the front of a speech model in small.
fn lines() -> Vec<Case> {
    let case = |sizes: [u64; 4], attrs: &[(&str, i64)]| built(&Conv::CONV1D, &sizes, attrs);
    vec![
        case([1, 1, 1, 1], &[]),
        case([1, 5, 33, 130], &[("bias", 1)]),
        case([2, 9, 17, 65], &[("stride", 2), ("bias", 1)]),
        case([2, 7, 30, 31], &[("k", 1), ("pad", 0)]),
        case([1, 12, 12, 300], &[("groups", 12), ("k", 4), ("pad", 3)]),
        case([3, 6, 10, 17], &[("dilation", 3), ("pad", 3)]),
        case([1, 8, 14, 40], &[("k", 7), ("stride", 3), ("pad", 2), ("groups", 2)]),
        case([1, 40, 35, 129], &[("pad", 0)]),
        case([1, 2, 3, 9], &[("k", 5), ("pad", 4), ("dilation", 2)]),
        case([1, 1, 16, 400], &[("k", 25), ("stride", 10), ("pad", 0)]),
        case([1, 500, 4, 7], &[]),
        case([2, 0, 3, 5], &[("bias", 1)]),
        case([0, 2, 3, 5], &[]),
    ]
}
