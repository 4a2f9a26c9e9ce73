//! One output after the other, one term at a time, on any axis.
//!
//! Idea: runs of [`RUN`] terms, each reduced as written and joined to those before, because one
//! long chain of additions would lose digits. Reads each element once; the latency of the operation
//! is the limit, and along other axes than d a cache line for each term.

use super::super::definition::{Over, Problem};
use super::super::members::Member;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};

/// Terms of a run: about the root of a usual count.
const RUN: usize = 64;

pub(super) fn one_by_one<M: Member<K>, const K: usize, T: Stored>(
    call: &mut Call<'_>,
) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let x = call.inputs[0].rows::<T>()?;
    let [_, s, d] = problem.sizes;
    // Row and column of a term.
    let place = |output: usize, term: usize| match problem.over {
        Over::D => (output, term),
        Over::S => (output / d * s + term, output % d),
        Over::B => (term * s + output / d, output % d),
        Over::All => (term / d, term % d),
    };
    let terms = problem.terms();
    for (output, y) in call.outputs[0].slice_mut::<M::Out<T>>()?.iter_mut().enumerate() {
        let (mut state, mut done) = (M::START, 0);
        let mut run = [0.0; RUN];
        while done < terms {
            let count = RUN.min(terms - done);
            for (i, value) in run[..count].iter_mut().enumerate() {
                let (row, col) = place(output, done + i);
                *value = x.row(row)[col].widen();
            }
            let new = M::of_few(&run[..count], done);
            state = if done == 0 { new } else { M::join((state, done), (new, count)) };
            done += count;
        }
        *y = M::finish::<T>(state, terms, problem.correction as f32);
    }
    Ok(())
}
