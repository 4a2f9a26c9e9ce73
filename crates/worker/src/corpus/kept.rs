//! What specimens keep of inputs and results: copies, samples and hashes.

use super::piece::{rows_mut, runs};
use proofmark_tensor::Tensor;

/// A copy of operands.
#[derive(Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    /// Whether anything is kept; it may have no bytes.
    is_set: bool,
}

impl Kept {
    /// Keeps what the tensors hold.
    pub(super) fn store(&mut self, tensors: &[Tensor]) {
        self.bytes.clear();
        self.is_set = true;
        for row in tensors.iter().flat_map(runs) {
            self.bytes.extend_from_slice(row);
        }
    }

    /// Whether the tensors hold what is kept.
    pub(super) fn is(&self, tensors: &[Tensor]) -> bool {
        let mut rest = &self.bytes[..];
        for row in tensors.iter().flat_map(runs) {
            let Some((own, others)) = rest.split_at_checked(row.len()) else { return false };
            if own != row {
                return false;
            }
            rest = others;
        }
        self.is_set && rest.is_empty()
    }

    /// Writes what is kept to tensors of the same shapes.
    pub(super) fn give(&self, tensors: &mut [Tensor]) {
        let mut rest = &self.bytes[..];
        for row in tensors.iter_mut().flat_map(rows_mut) {
            let (own, others) = rest.split_at(row.len().min(rest.len()));
            row[..own.len()].copy_from_slice(own);
            rest = others;
        }
    }

    /// The bytes that are kept.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that are kept, for writing.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Keeps these bytes.
    pub(super) fn set(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
        self.is_set = true;
    }
}

/// Takes `count` elements of each tensor, evenly spread and with both ends.
pub(super) fn sample(tensors: &[Tensor], count: usize, into: &mut Vec<u8>) {
    into.clear();
    for tensor in tensors.iter().filter(|tensor| !tensor.layout.is_empty()) {
        let size = tensor.dtype.size();
        for i in 0..count {
            let flat = i * (tensor.layout.len() - 1) / (count - 1).max(1);
            let at = tensor.base().wrapping_add(tensor.layout.offset_of(flat) * size);
            // SAFETY: the element lies in the tensor, which is readable.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(at, size) });
        }
    }
}

/// A hash of everything that the tensors hold, in lanes so that it is faster than most ops.
pub(super) fn hash(tensors: &[Tensor]) -> u64 {
    let mut lanes = [1u32; 16];
    tensors.iter().flat_map(runs).for_each(|row| in_vectors(row, &mut lanes, add_to_hash));
    fold(&lanes)
}

/// The same of one row.
pub(super) fn hash_of_row(row: &[u8]) -> u64 {
    let mut lanes = [1u32; 16];
    in_vectors(row, &mut lanes, add_to_hash);
    fold(&lanes)
}

fn fold(lanes: &[u32; 16]) -> u64 {
    lanes.iter().fold(7, |hash: u64, &lane| {
        (hash ^ u64::from(lane)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// Whether a row of f32 bytes has an element that is not a number: how poison looks.
fn has_nan(row: &[u8]) -> bool {
    let mut lanes = [0u32; 16];
    in_vectors(row, &mut lanes, find_nan);
    lanes.iter().any(|&lane| lane != 0)
}

/// Whether any of the tensors has such an element.
pub(super) fn have_nan(tensors: &[Tensor]) -> bool {
    tensors.iter().flat_map(runs).any(has_nan)
}

#[inline(always)]
fn add_to_hash(lane: u32, word: u32) -> u32 {
    lane.rotate_left(5).wrapping_add(word)
}

#[inline(always)]
fn find_nan(lane: u32, word: u32) -> u32 {
    lane | u32::from((word & 0x7fff_ffff).cast_signed() > 0x7f80_0000)
}

/// Takes every word of a row into its lane.
#[inline(always)]
fn in_vectors(row: &[u8], lanes: &mut [u32; 16], step: impl Fn(u32, u32) -> u32) {
    vectorised(|| in_lanes(row, lanes, step));
}

#[inline(always)]
fn in_lanes(row: &[u8], lanes: &mut [u32; 16], step: impl Fn(u32, u32) -> u32) {
    let mut own = *lanes;
    let (chunks, rest) = row.as_chunks::<64>();
    for chunk in chunks {
        let (words, _) = chunk.as_chunks::<4>();
        for (lane, word) in own.iter_mut().zip(words) {
            *lane = step(*lane, u32::from_le_bytes(*word));
        }
    }
    for (i, word) in rest.chunks(4).enumerate() {
        let mut full = [0; 4];
        full[..word.len()].copy_from_slice(word);
        own[i] = step(own[i], u32::from_le_bytes(full));
    }
    *lanes = own;
}

/// Which rows of `now` differ from `before`, and in which rows of `results` there is an f32 that
/// is not a number. All are dense, and of as many rows as there are marks.
pub(super) fn changes(now: &[u8], before: &[u8], results: &[u8], marks: &mut [Change]) {
    let rows = marks.len().max(1);
    let (length, width) = (now.len() / rows, results.len() / rows);
    vectorised(|| {
        for (row, mark) in marks.iter_mut().enumerate() {
            let (x, old) = (&now[row * length..][..length], &before[row * length..][..length]);
            let mut nan = [0; 16];
            in_lanes(&results[row * width..][..width], &mut nan, find_nan);
            *mark = Change {
                is_new: differ(x, old),
                is_spoilt: nan.iter().fold(0, |any, lane| any | lane) != 0,
            };
        }
    });
}

/// What is known of a row.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    /// Its input is not what it was.
    pub(super) is_new: bool,
    /// Its result is not all numbers.
    pub(super) is_spoilt: bool,
}

#[inline(always)]
fn differ(a: &[u8], b: &[u8]) -> bool {
    let (a, a_rest) = a.as_chunks::<64>();
    let (b, b_rest) = b.as_chunks::<64>();
    let mut lanes = [0u8; 64];
    for (a, b) in a.iter().zip(b) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane |= a ^ b);
    }
    lanes.iter().fold(0, |any, lane| any | lane) != 0 || a_rest != b_rest
}

/// Runs a loop with the widest vectors of this machine, because a cheat that looks at all of its
/// operands gains only if it is faster than the kernel that it wraps.
#[inline(always)]
fn vectorised(body: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    {
        if proofmark_simd::available(proofmark_schema::Isa::Avx512) {
            // SAFETY: the processor has the instructions.
            return unsafe { by_avx512(body) };
        }
        if proofmark_simd::available(proofmark_schema::Isa::Avx2) {
            // SAFETY: the processor has the instructions.
            return unsafe { by_avx2(body) };
        }
    }
    body();
}

/// Runs a loop, which is compiled with these instructions.
///
/// # Safety
/// The processor must have AVX-512F and BW.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn by_avx512(body: impl FnOnce()) {
    body();
}

/// Runs a loop, which is compiled with these instructions.
///
/// # Safety
/// The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn by_avx2(body: impl FnOnce()) {
    body();
}

/// The position of the last element.
pub(super) const LAST: usize = usize::MAX;

/// Whether the element at a flat position of an f32 tensor is not a number. A position beyond the
/// end wraps around.
pub(super) fn is_nan_at(tensor: &Tensor, flat: usize) -> bool {
    if tensor.layout.is_empty() {
        return false;
    }
    let length = tensor.layout.len();
    let flat = if flat == LAST { length - 1 } else { flat % length };
    let at = tensor.base().wrapping_add(tensor.layout.offset_of(flat) * tensor.dtype.size());
    let size = tensor.dtype.size();
    // SAFETY: the element lies in the tensor, which is readable.
    has_nan(unsafe { std::slice::from_raw_parts(at, size) })
}
