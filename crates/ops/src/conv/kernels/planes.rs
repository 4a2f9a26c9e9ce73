//! Padded copies of an image's channels in which every tap of every result is one step away.
//!
//! Elements whose rows and columns leave the same rest when they are divided by the stride lie
//! side by side, a plane for each rest. So the elements that one tap meets for neighbouring results
//! are neighbours too, across rows as well: result `(i, j)` is position `i·pitch + j`, and a tap
//! is an offset that is added to it. Positions between the rows of the result are computed and
//! left out; a plane needs no bounds.

use crate::conv::definition::Problem;

/// Floats past the last plane that may be read: the widest tile.
pub(super) const SLACK: usize = 128;

/// The planes of the channels of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    of: Problem,
    taps: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    /// Rows and columns of a plane.
    sides: [usize; 2],
    /// Rows and columns of positions that count.
    pub(super) results: [usize; 2],
}

impl Planes {
    /// For results one by one.
    pub(super) fn of(of: Problem) -> Planes {
        Planes::with(of, of.taps, of.stride, of.dilation, of.result)
    }

    /// For squares of 4 × 4 elements, 2 apart.
    pub(super) fn of_squares(of: Problem) -> Planes {
        Planes::with(of, [4; 2], [2; 2], [1; 2], of.result.map(|size| size.div_ceil(2)))
    }

    fn with(
        of: Problem,
        taps: [usize; 2],
        stride: [usize; 2],
        dilation: [usize; 2],
        results: [usize; 2],
    ) -> Planes {
        let side = |side: usize| results[side] + (taps[side] - 1) * dilation[side] / stride[side];
        Planes { of, taps, stride, dilation, sides: [side(0), side(1)], results }
    }

    /// Whether the image itself is its plane.
    pub(super) fn are_the_image(&self) -> bool {
        let is_plain = self.of.pad == [0, 0] && self.stride == [1, 1];
        is_plain && self.sides == self.of.size && self.positions() >= SLACK
    }

    /// Positions from one row of results to the next.
    pub(super) fn pitch(&self) -> usize {
        self.sides[1]
    }

    /// Positions from the first result to the last.
    pub(super) fn positions(&self) -> usize {
        let [rows, columns] = self.results;
        if rows * columns == 0 { 0 } else { (rows - 1) * self.pitch() + columns }
    }

    /// Floats of a channel.
    pub(super) fn channel(&self) -> usize {
        self.stride[0] * self.stride[1] * self.sides[0] * self.sides[1]
    }

    /// Floats of an image and what may be read past it; none where the image itself serves.
    pub(super) fn image(&self) -> usize {
        if self.are_the_image() { 0 } else { self.of.channels * self.channel() + SLACK }
    }

    /// What is added to a position of a channel for a tap.
    pub(super) fn offset(&self, tap: [usize; 2]) -> usize {
        let [row, column] = [0, 1].map(|side| tap[side] * self.dilation[side]);
        let plane = row % self.stride[0] * self.stride[1] + column % self.stride[1];
        let [row, column] = [row / self.stride[0], column / self.stride[1]];
        (plane * self.sides[0] + row) * self.pitch() + column
    }

    /// Copies a channel of an image into its planes.
    pub(super) fn fill(&self, channel: &[f32], to: &mut [f32]) {
        let area = self.sides[0] * self.sides[1];
        for (plane, to) in to.chunks_exact_mut(area.max(1)).enumerate() {
            let rest = [plane / self.stride[1], plane % self.stride[1]];
            let is_met = |side: usize| {
                let mut taps = 0..self.taps[side];
                taps.any(|tap| tap * self.dilation[side] % self.stride[side] == rest[side])
            };
            if !is_met(0) || !is_met(1) {
                continue;
            }
            for (row, to) in to.chunks_exact_mut(self.pitch()).enumerate() {
                let padded = row * self.stride[0] + rest[0];
                match padded.checked_sub(self.of.pad[0]).filter(|&row| row < self.of.size[0]) {
                    Some(row) => self.fill_row(&channel[row * self.of.size[1]..], rest[1], to),
                    None => to.fill(0.0),
                }
            }
        }
    }

    /// Copies each element of a row that leaves this rest.
    fn fill_row(&self, row: &[f32], rest: usize, to: &mut [f32]) {
        let (stride, pad, width) = (self.stride[1], self.of.pad[1], self.of.size[1]);
        // The first and the last place whose element is not padding.
        let first = pad.saturating_sub(rest).div_ceil(stride).min(to.len());
        let end = (width + pad).saturating_sub(rest).div_ceil(stride).clamp(first, to.len());
        to[..first].fill(0.0);
        to[end..].fill(0.0);
        let (own, start) = (&mut to[first..end], first * stride + rest);
        if own.is_empty() {
            return;
        }
        let row = &row[start - pad..width];
        match stride {
            1 => own.copy_from_slice(&row[..own.len()]),
            2 => own.iter_mut().zip(row.chunks(2)).for_each(|(to, pair)| *to = pair[0]),
            _ => own.iter_mut().zip(row.iter().step_by(stride)).for_each(|(to, from)| *to = *from),
        }
    }
}
