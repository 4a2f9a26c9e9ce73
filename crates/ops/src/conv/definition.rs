//! The definition of convolutions: axes, attributes and operands.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
    check_sizes,
};
use proofmark_terms::{Case, DType};

/// The op, along one axis or two.
#[derive(Debug)]
pub(crate) struct Conv {
    pub(super) name: &'static str,
    summary: &'static str,
    pub(super) axes: &'static [Axis],
    attributes: &'static [Attribute],
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

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        Problem::try_of(case).unwrap_or_else(|bad| unreachable!("{bad}"))
    }

    fn try_of(case: &Case) -> Result<Problem, BadCase> {
        let axis = |name: &str| case.size(name).unwrap_or(0) as usize;
        let is_line = case.op == Conv::CONV1D.name;
        let int = |attribute: &Attribute| attribute.int(case) as usize;
        // Along one axis the side of the one row has a value of its own.
        let sides = |attribute: &Attribute, of_row: usize| {
            let value = int(attribute);
            if is_line { [of_row, value] } else { [value; 2] }
        };
        let (size, taps) = match is_line {
            true => ([1, axis("l")], [1, int(&TAPS)]),
            false => ([axis("h"), axis("w")], [int(&TAP_ROWS), int(&TAP_COLUMNS)]),
        };
        let (stride, pad, dilation) = (sides(&STRIDE, 1), sides(&PAD, 0), sides(&DILATION, 1));
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
        let (channels, outputs, groups) = (axis("c"), axis("o"), int(&GROUPS));
        if !channels.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
            let words = format!("{groups} groups do not divide {channels} and {outputs} channels");
            return Err(BadCase::Contradiction(words));
        }
        let has_bias = HAS_BIAS.flag(case);
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

const fn whole(name: &'static str, meaning: &'static str, low: i64, default: i64) -> Attribute {
    Attribute { name, meaning, kind: AttributeKind::Int { low, high: 65_536, default } }
}

const HAS_BIAS: Attribute = Attribute {
    name: "bias",
    meaning: "an operand [o] after the weights is added to the channels of the result",
    kind: AttributeKind::Flag { default: false },
};
const DILATION: Attribute = whole("dilation", "elements from one tap to the next", 1, 1);
const GROUPS: Attribute =
    whole("groups", "channels in groups that know nothing of each other; c: depthwise", 1, 1);
const PAD: Attribute = whole("pad", "zeros before the first and after the last element", 0, 1);
const STRIDE: Attribute = whole("stride", "elements from one result to the next", 1, 1);
const TAPS: Attribute = whole("k", "taps", 1, 3);
const TAP_ROWS: Attribute = whole("kh", "rows of taps", 1, 3);
const TAP_COLUMNS: Attribute = whole("kw", "columns of taps", 1, 3);

impl Conv {
    /// Along one axis.
    pub(crate) const CONV1D: Conv = Conv {
        name: "conv1d",
        summary: "y[b,o,i] = bias[o] + sum over c, k of x[b,c,i*stride+k*dilation-pad] * w[o,c,k]",
        axes: &[B, C, O, axis("l", "elements of a channel", AxisRole::Sequence, 3000)],
        attributes: &[HAS_BIAS, DILATION, GROUPS, TAPS, PAD, STRIDE],
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
        attributes: &[HAS_BIAS, DILATION, GROUPS, TAP_ROWS, TAP_COLUMNS, PAD, STRIDE],
    };
}

impl Definition for Conv {
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
}
