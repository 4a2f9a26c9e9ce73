//! Truths that were computed before.
//!
//! All contenders of a case are judged on the same inputs, so their truths are the same. The oracle
//! is the slowest part of a proof of a product or a convolution, and of any proof whose reference
//! is a program of the user. Truths that cost little are computed again: memory is not free,
//! because each worker is forked from this process, which copies the table of its pages.

use proofmark_contract::{NoTruth, Op, Truth, Values, Want};
use proofmark_schema::Case;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Numbers that are kept at most: 128 MiB of them.
const MOST_NUMBERS: usize = 1 << 24;

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(|| Mutex::new(Kept::with_room(MOST_NUMBERS)));

/// The truth about the wanted elements of output `k`.
pub(crate) fn truth(
    op: &dyn Op,
    case: &Case,
    inputs: &Values,
    k: usize,
    want: &Want,
) -> Result<Arc<Truth>, NoTruth> {
    if !op.has_costly_truth() {
        return op.truth(case, inputs, k, want).map(Arc::new);
    }
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let question = question(op, case, inputs, k, want);
    if let Some(truth) = kept().truths.get(&question) {
        return Ok(Arc::clone(truth));
    }
    let truth = Arc::new(op.truth(case, inputs, k, want)?);
    kept().keep(question, Arc::clone(&truth));
    Ok(truth)
}

/// A hash of all that a truth depends on.
type Question = [u8; blake3::OUT_LEN];

fn question(op: &dyn Op, case: &Case, inputs: &Values, k: usize, want: &Want) -> Question {
    let mut hasher = blake3::Hasher::new();
    // Two ops of one process may have one name: an op of the user and another folder's.
    let place = std::ptr::from_ref(op).addr();
    hasher.update(format!("{} {place} {case} {k} {want:?}", op.name()).as_bytes());
    let mut bytes = Vec::new();
    for values in &inputs.tensors {
        hasher.update(&values.len().to_le_bytes());
        for some in values.chunks(4096) {
            bytes.clear();
            bytes.extend(some.iter().flat_map(|value| value.to_bits().to_le_bytes()));
            hasher.update(&bytes);
        }
    }
    *hasher.finalize().as_bytes()
}

/// Truths, as many as there is room for.
struct Kept {
    truths: HashMap<Question, Arc<Truth>>,
    /// What was kept, in no order.
    questions: Vec<Question>,
    numbers: usize,
    room: usize,
}

impl Kept {
    fn with_room(room: usize) -> Kept {
        Kept { truths: HashMap::new(), questions: Vec::new(), numbers: 0, room }
    }

    /// Keeps a truth. Any others make room for it: contenders go through the same cases in the same
    /// order, so the oldest are those that are wanted next.
    fn keep(&mut self, question: Question, truth: Arc<Truth>) {
        let numbers = numbers(&truth);
        if numbers > self.room || self.truths.contains_key(&question) {
            return;
        }
        while self.numbers + numbers > self.room {
            let any = usize::from(question[0]) % self.questions.len();
            let old = self.questions.swap_remove(any);
            self.numbers -= self.truths.remove(&old).map_or(0, |truth| self::numbers(&truth));
        }
        self.numbers += numbers;
        self.questions.push(question);
        self.truths.insert(question, truth);
    }
}

fn numbers(truth: &Truth) -> usize {
    truth.value.len() + truth.scale.len() + truth.forgiven.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth_of(count: usize) -> Arc<Truth> {
        Arc::new(Truth { value: vec![1.0; count], ..Truth::default() })
    }

    #[test]
    fn room_is_made_for_the_new_and_never_exceeded() {
        let mut kept = Kept::with_room(10);
        for n in 0..100_u8 {
            kept.keep([n; 32], truth_of(3));
            assert!(kept.truths.contains_key(&[n; 32]), "the newest is kept");
            assert_eq!(kept.numbers, 3 * kept.truths.len());
            assert!(kept.numbers <= 10 && kept.questions.len() == kept.truths.len());
        }
        kept.keep([200; 32], truth_of(11));
        assert!(!kept.truths.contains_key(&[200; 32]), "one that fits nowhere is not kept");
        assert_eq!(kept.truths.len(), 3);
        kept.keep([99; 32], truth_of(3));
        assert_eq!(kept.numbers, 9, "what is known is not counted twice");
    }
}
