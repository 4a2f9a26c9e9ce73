//! The inputs of a trial, as they are at any call of it, and what is expected of the outputs.

use proofmark_arena::Change;
use proofmark_contract::{NoTruth, Pattern, Perturbation, Signature, Truth, Values, Want, changed};
use std::cell::RefCell;
use std::rc::Rc;

/// The inputs of one trial, revealed to contenders only after they are loaded.
///
/// They change between the calls of a race; what they are at a call is worked out here, on the
/// supervisor's own copy.
pub struct Revealed {
    /// Also the seed of the places where large outputs are checked, which differ from trial to
    /// trial.
    pub(crate) seed: u64,
    pub(crate) inputs: RefCell<Values>,
    /// The truth about the outputs of the state that was asked for last: arms share it.
    expected: RefCell<Option<(State, Expected)>>,
}

/// What is expected of each output.
pub(crate) type Expected = Rc<Vec<(Want, Truth)>>;

/// What the inputs are at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Changed step by step, up to call `call` of a batch whose first call took set `first` of
    /// `sets`: only those steps count that changed the same set.
    Stepped { change: Change, call: u64, first: u64, sets: u64 },
    /// All changed, this many calls before the last of a batch.
    Fresh { change: Change, before_last: u64 },
}

impl Revealed {
    pub(crate) fn new(seed: u64, inputs: Values) -> Revealed {
        Revealed { seed, inputs: RefCell::new(inputs), expected: RefCell::default() }
    }

    /// Looks at the inputs in a state.
    pub(crate) fn in_state<T>(
        &self,
        signature: &Signature,
        state: State,
        look: impl FnOnce(&Values) -> T,
    ) -> T {
        // A change is undone by the same change.
        change(&mut self.inputs.borrow_mut(), signature, state);
        let seen = look(&self.inputs.borrow());
        change(&mut self.inputs.borrow_mut(), signature, state);
        seen
    }

    /// The truth about the outputs in a state, worked out by `expect` unless it is known.
    pub(crate) fn expected(
        &self,
        signature: &Signature,
        state: State,
        expect: impl FnOnce(&Values) -> Result<Vec<(Want, Truth)>, NoTruth>,
    ) -> Result<Expected, NoTruth> {
        if let Some((of, expected)) = &*self.expected.borrow()
            && *of == state
        {
            return Ok(Rc::clone(expected));
        }
        let expected = Rc::new(self.in_state(signature, state, expect)?);
        *self.expected.borrow_mut() = Some((state, Rc::clone(&expected)));
        Ok(expected)
    }
}

fn change(values: &mut Values, signature: &Signature, state: State) {
    match state {
        State::Stepped { change, call, first, sets } => {
            let perturbation = Perturbation::of(signature, change.with_weights);
            let set = |call: u64| (first + call) % sets;
            for at in (0..=call).filter(|&at| set(at) == set(call)) {
                if let Some((place, mask)) = perturbation.step(change.seed, at).change {
                    let operand = &signature.operands()[place.operand];
                    let flat = place.row * operand.layout().cols() + place.col;
                    let value = &mut values.tensors[place.operand][flat];
                    *value = changed(operand.dtype, *value, mask);
                }
            }
        }
        State::Fresh { change, before_last } => {
            let perturbation = Perturbation::of(signature, change.with_weights);
            let pattern = Pattern::new(change.seed, before_last);
            for (i, operand) in signature.operands().iter().enumerate() {
                if !perturbation.refreshes(signature, i) {
                    continue;
                }
                let (masks, cols) = (pattern.masks(operand.dtype), operand.layout().cols());
                for row in values.tensors[i].chunks_mut(cols.max(1)) {
                    for (value, mask) in row.iter_mut().zip(masks.iter().cycle()) {
                        *value = changed(operand.dtype, *value, *mask);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_contract::{Operand, Role};
    use proofmark_schema::DType;

    #[test]
    fn every_state_differs_and_the_first_comes_back() {
        let signature = Signature::new(vec![
            Operand::new("x", Role::Input, DType::F32, &[3, 100]),
            Operand::new("y", Role::Output, DType::F32, &[3, 100]),
        ]);
        let first = Values { tensors: vec![vec![1.25; 300], Vec::new()] };
        let revealed = Revealed::new(5, first.clone());
        let change = Change { seed: 9, with_weights: true };
        let stepped = |call| State::Stepped { change, call, first: 0, sets: 1 };
        let seen = |state| revealed.in_state(&signature, state, Values::clone);
        let differing = |state| {
            let values = seen(state);
            values.tensors[0].iter().filter(|&&value| value != 1.25).count()
        };
        assert_eq!(differing(stepped(0)), 1);
        assert!((2..=3).contains(&differing(stepped(2))));
        assert_ne!(seen(stepped(1)), seen(stepped(2)));
        let fresh = |before_last| State::Fresh { change, before_last };
        assert!(differing(fresh(0)) > 290 && seen(fresh(0)) != seen(fresh(1)));
        assert_eq!(*revealed.inputs.borrow(), first);
        // Where calls walk over two sets, the second call leaves the first set alone.
        let walked = State::Stepped { change, call: 1, first: 0, sets: 2 };
        assert_eq!(differing(walked), 1);
    }
}
