//! What changes between the calls of a batch: inputs are changed, outputs are spoiled.
//!
//! Places and bits come from [`proofmark_contract::Perturbation`], so that the supervisor knows
//! what every call was given. The table of all steps is made before the clock starts.

use crate::operands::{Grid, Operands, Set};
use proofmark_contract::{
    PATTERN_COLS, Pattern, Perturbation, Place, Role, Signature, fixed_kinds, is_changeable,
};

/// What is done before one call, as words of memory: the aligned 8 bytes that hold an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    input: *mut u64,
    input_mask: u64,
    output: *mut u64,
    output_mask: u64,
}

/// A word that stands in where nothing is to be changed.
static NOWHERE: Word = Word(std::cell::UnsafeCell::new(0));

struct Word(std::cell::UnsafeCell<u64>);

// SAFETY: only the thread that serves touches it.
unsafe impl Sync for Word {}

impl Touch {
    /// Changes the input and spoils the output.
    ///
    /// # Safety
    /// The operands that the touch was made for must be mapped, and no call may run.
    #[inline(always)]
    pub(crate) unsafe fn apply(&self) {
        // SAFETY: both words lie in mapped, writable operands, or are `NOWHERE`.
        unsafe {
            *self.input ^= self.input_mask;
            *self.output ^= self.output_mask;
        }
    }

    /// The word that holds the spoiled element now.
    ///
    /// # Safety
    /// As for [`Touch::apply`].
    #[inline(always)]
    pub(crate) unsafe fn kept(&self) -> u64 {
        // SAFETY: as above. The read is volatile because a call has written it by another address.
        unsafe { self.output.read_volatile() }
    }

    /// Leaves the input as it is, here and when it would be changed back.
    pub(crate) fn keep_input(&mut self) {
        self.input_mask = 0;
    }

    /// Changes the input back.
    ///
    /// # Safety
    /// As for [`Touch::apply`].
    pub(crate) unsafe fn undo(&self) {
        // SAFETY: as above.
        unsafe { *self.input ^= self.input_mask };
    }
}

/// The touches of `calls` calls, the first of which takes the operands' next set.
pub(crate) fn touches(
    perturbation: &Perturbation,
    operands: &Operands,
    seed: u64,
    calls: u32,
    settles: bool,
) -> Vec<Touch> {
    let touch = |call: u32| {
        let set = &operands.sets[(operands.next + call as usize) % operands.sets.len()];
        let step = perturbation.step(seed, u64::from(call));
        let nowhere = (NOWHERE.0.get(), 0);
        let input = step.change.and_then(|(place, mask)| {
            let grid = set.grids[place.operand];
            // SAFETY: the place is an element of the grid, which is mapped.
            let bits = unsafe { grid.bits(place)? };
            is_changeable(grid.dtype, bits).then(|| grid.word(place, mask)).flatten()
        });
        // Results that lie elsewhere do not reach the outputs after each call.
        let output = step.spoil.filter(|_| !settles);
        let output = output.and_then(|(place, mask)| set.grids[place.operand].word(place, mask));
        let (input, input_mask) = input.unwrap_or(nowhere);
        let (output, output_mask) = output.unwrap_or(nowhere);
        Touch { input, input_mask, output, output_mask }
    };
    (0..calls).map(touch).collect()
}

impl Grid {
    fn at(&self, place: Place) -> Option<*mut u8> {
        let elements = place.row * self.row_stride + place.col;
        let is_inside = place.row < self.rows && place.col < self.cols;
        (is_inside && !self.base.is_null())
            .then(|| self.base.wrapping_add(elements * self.dtype.size()))
    }

    /// The aligned word that holds an element, and the mask moved to it.
    fn word(&self, place: Place, mask: u64) -> Option<(*mut u64, u64)> {
        let at = self.at(place)?;
        let inside = at.addr() % 8;
        Some((at.wrapping_sub(inside).cast(), mask << (8 * inside)))
    }

    /// The bits of an element.
    ///
    /// # Safety
    /// The grid must be mapped.
    unsafe fn bits(&self, place: Place) -> Option<u64> {
        let (word, _) = self.word(place, 0)?;
        let inside = self.at(place)?.addr() % 8;
        // SAFETY: the aligned word lies in the same page as the element.
        let word = unsafe { word.read() };
        Some(word >> (8 * inside) & (u64::MAX >> (64 - 8 * self.dtype.size())))
    }
}

/// Inputs that are all changed before each call.
pub(crate) struct Refresh {
    seed: u64,
    is_audit: bool,
    /// Calls that are still to come.
    left: u64,
    /// For each set, the pattern that its inputs have now.
    held: Vec<Pattern>,
    /// Indices of operands that change, and the values that in-place ones had at first.
    parts: Vec<(usize, Option<Vec<u8>>)>,
}

impl Refresh {
    /// Prepares to change these operands for this many calls.
    pub(crate) fn new(
        perturbation: &Perturbation,
        signature: &Signature,
        operands: &Operands,
        (seed, is_audit): (u64, bool),
        calls: u32,
    ) -> Refresh {
        let changes = |&operand: &usize| perturbation.refreshes(signature, operand);
        let part = |operand: usize| {
            let is_in_place = signature.operands()[operand].role == Role::InOut;
            let grid = operands.sets[0].grids[operand];
            // SAFETY: operands are mapped while `operands` is borrowed, and no call runs.
            (operand, is_in_place.then(|| unsafe { grid.copy() }))
        };
        Refresh {
            seed,
            is_audit,
            left: u64::from(calls),
            held: vec![Pattern::NONE; operands.sets.len()],
            parts: (0..signature.operands().len()).filter(changes).map(part).collect(),
        }
    }

    /// Changes the inputs of a set for its next call.
    ///
    /// # Safety
    /// The set must be mapped, and no call may run.
    pub(crate) unsafe fn next(&mut self, number: usize, set: &Set) {
        self.left = self.left.saturating_sub(1);
        let pattern = match self.is_audit {
            true => Pattern::in_audit(self.seed, self.left),
            false => Pattern::new(self.seed, self.left),
        };
        // SAFETY: the caller's promise.
        unsafe { self.turn(number, set, pattern) };
    }

    /// Whether the call for which inputs were changed last finds new ones.
    pub(crate) fn is_new(&self) -> bool {
        !self.is_audit || Pattern::is_new_in_audit(self.seed, self.left)
    }

    /// Changes all inputs back. In-place operands hold results now, which stay.
    ///
    /// # Safety
    /// The sets must be mapped, and no call may run.
    pub(crate) unsafe fn undo(&mut self, sets: &[Set]) {
        self.parts.retain(|(_, first)| first.is_none());
        for (number, set) in sets.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.turn(number, set, Pattern::NONE) };
        }
    }

    unsafe fn turn(&mut self, number: usize, set: &Set, pattern: Pattern) {
        let step = self.held[number].to(&pattern);
        for (operand, first) in &self.parts {
            let grid = set.grids[*operand];
            // SAFETY: the caller of `next` or `undo` says that the set is mapped and at rest.
            unsafe {
                match first {
                    // A call has overwritten it: it starts from its first values.
                    Some(values) => {
                        grid.write(values);
                        grid.flip(&pattern);
                    }
                    None => grid.flip(&step),
                }
            }
        }
        self.held[number] = pattern;
    }
}

impl Grid {
    /// Flips the pattern's bits in every element that may change.
    ///
    /// # Safety
    /// The grid must be mapped and writable, and no call may run.
    unsafe fn flip(&self, pattern: &Pattern) {
        // SAFETY: the caller's promise; the size is that of the elements.
        unsafe {
            match self.dtype.size() {
                8 => self.flip_as::<u64>(pattern),
                4 => self.flip_as::<u32>(pattern),
                2 => self.flip_as::<u16>(pattern),
                _ => self.flip_as::<u8>(pattern),
            }
        }
    }

    /// # Safety
    /// As for [`Grid::flip`]; `T` must have the size of the elements.
    unsafe fn flip_as<T: Bits>(&self, pattern: &Pattern) {
        let masks = pattern.masks(self.dtype).map(T::narrow);
        let (kind, fixed) = fixed_kinds(self.dtype);
        let (kind, fixed) = (T::narrow(kind), fixed.map(T::narrow));
        for row in 0..self.rows {
            let row = self.base.wrapping_add(row * self.row_stride * self.dtype.size());
            // SAFETY: the row lies in the grid, elements are aligned to their size, and no call
            // uses them now.
            let row = unsafe { std::slice::from_raw_parts_mut(row.cast::<T>(), self.cols) };
            for chunk in row.chunks_mut(PATTERN_COLS) {
                for (bits, mask) in chunk.iter_mut().zip(&masks) {
                    let of = *bits & kind;
                    let flipped = *bits ^ *mask;
                    *bits = if of != fixed[0] && of != fixed[1] { flipped } else { *bits };
                }
            }
        }
    }

    fn row_bytes(&self) -> usize {
        self.cols * self.dtype.size()
    }

    /// The elements, row after row.
    ///
    /// # Safety
    /// The grid must be mapped, and no call may run.
    unsafe fn copy(&self) -> Vec<u8> {
        let mut values = vec![0; self.rows * self.row_bytes()];
        for (row, to) in values.chunks_mut(self.row_bytes().max(1)).enumerate() {
            let from = self.base.wrapping_add(row * self.row_stride * self.dtype.size());
            // SAFETY: the row lies in the grid and is as long as its part of `values`.
            unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        }
        values
    }

    /// Writes elements that [`Grid::copy`] gave.
    ///
    /// # Safety
    /// The grid must be mapped and writable, and no call may run.
    unsafe fn write(&self, values: &[u8]) {
        for (row, from) in values.chunks(self.row_bytes().max(1)).enumerate() {
            let to = self.base.wrapping_add(row * self.row_stride * self.dtype.size());
            // SAFETY: the row lies in the grid and is as long as its part of `values`.
            unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        }
    }
}

/// An element's bits.
trait Bits:
    Copy + PartialEq + std::ops::BitAnd<Output = Self> + std::ops::BitXor<Output = Self>
{
    fn narrow(word: u64) -> Self;
}

macro_rules! bits {
    ($($word:ty)*) => {$(
        impl Bits for $word {
            fn narrow(word: u64) -> $word {
                word as $word
            }
        }
    )*};
}

bits!(u8 u16 u32 u64);
