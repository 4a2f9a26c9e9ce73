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
use twox_hash::xxhash3_128::Hasher;

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

/// A hash of all that a truth depends on. No contender chooses any of it.
type Question = u128;

fn question(op: &dyn Op, case: &Case, inputs: &Values, k: usize, want: &Want) -> Question {
    let mut hasher = Hasher::new();
    // Two ops of one process may have one name: an op of the user and another folder's.
    let place = std::ptr::from_ref(op).addr();
    hasher.write(format!("{} {place} {case} {k} {want:?}", op.name()).as_bytes());
    let mut bytes = [0; 8 * PIECE];
    for values in &inputs.tensors {
        hasher.write(&values.len().to_le_bytes());
        for some in values.chunks(PIECE) {
            let bytes = &mut bytes[..8 * some.len()];
            let words = bytes.as_chunks_mut().0;
            words.iter_mut().zip(some).for_each(|(word, value)| *word = value.to_le_bytes());
            hasher.write(bytes);
        }
    }
    hasher.finish_128()
}

/// Number of values that are hashed at once.
const PIECE: usize = 512;

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

    /// Keeps a truth, and drops arbitrary others to make room for it. The oldest are not dropped
    /// first: contenders go through the same cases in the same order, so the oldest are needed
    /// next.
    fn keep(&mut self, question: Question, truth: Arc<Truth>) {
        let numbers = numbers(&truth);
        if numbers > self.room || self.truths.contains_key(&question) {
            return;
        }
        while self.numbers + numbers > self.room {
            let any = (question % self.questions.len() as u128) as usize;
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
    use proofmark_contract::{Attribute, Axis, BadCase, Definition, Signature, Specials};
    use proofmark_schema::{DType, Work};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An op that counts how often it is asked.
    struct Counted {
        is_costly: bool,
        asked: AtomicUsize,
    }

    impl Counted {
        fn new(is_costly: bool) -> Counted {
            Counted { is_costly, asked: AtomicUsize::new(0) }
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    impl Definition for Counted {
        fn name(&self) -> &'static str {
            "counted"
        }
        fn summary(&self) -> &'static str {
            ""
        }
        fn axes(&self) -> &'static [Axis] {
            &[]
        }
        fn attributes(&self) -> &'static [Attribute] {
            &[]
        }
        fn dtypes(&self) -> &'static [DType] {
            &[]
        }
        fn signature(&self, _: &Case) -> Result<Signature, BadCase> {
            Ok(Signature::new(Vec::new()))
        }
    }

    impl Op for Counted {
        fn work(&self, _: &Case) -> Work {
            Work::default()
        }
        fn reduction(&self, _: &Case) -> u64 {
            1
        }
        fn has_costly_truth(&self) -> bool {
            self.is_costly
        }
        fn specials(&self, _: &Case, _: &Signature) -> Specials {
            unreachable!("nothing is proven here")
        }
        fn proof_cases(&self, _: DType) -> Vec<Case> {
            Vec::new()
        }
        fn oracle(&self, _: &Case, inputs: &Values, _: usize, _: &Want) -> Truth {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Truth { value: inputs.tensors[0].clone(), ..Truth::default() }
        }
    }

    #[test]
    fn a_costly_truth_is_computed_once_for_each_question() {
        let case = |text: &str| text.parse::<Case>().unwrap();
        let inputs = |values: &[f64]| Values { tensors: vec![values.to_vec(), Vec::new()] };
        let (small, other) = (case("counted:f32[d=2]"), case("counted:f32[d=3]"));
        let (zeros, signed) = (inputs(&[0.0, 1.0]), inputs(&[-0.0, 1.0]));
        let moved = Values { tensors: vec![vec![0.0], vec![1.0]] };
        let (all, one) = (Want::all(), Want::some(None, Some(vec![1])));
        let (op, twin) = (Counted::new(true), Counted::new(true));
        let questions: [(&Counted, &Case, &Values, usize, &Want); 7] = [
            (&op, &small, &zeros, 0, &all),
            (&op, &other, &zeros, 0, &all),
            (&op, &small, &signed, 0, &all),
            (&op, &small, &moved, 0, &all),
            (&op, &small, &zeros, 1, &all),
            (&op, &small, &zeros, 0, &one),
            (&twin, &small, &zeros, 0, &all),
        ];
        let asked = || op.asked() + twin.asked();
        for round in 0..2 {
            for (at, (op, case, inputs, k, want)) in questions.into_iter().enumerate() {
                let found = truth(op, case, inputs, k, want).unwrap();
                assert_eq!(found.value.len(), inputs.tensors[0].len());
                let same = found.value.iter().zip(&inputs.tensors[0]);
                assert!(same.into_iter().all(|(a, b)| a.to_bits() == b.to_bits()), "{at}");
                assert_eq!(asked(), if round == 0 { at + 1 } else { 7 }, "{at}");
            }
        }
        let cheap = Counted::new(false);
        for count in 1..3 {
            truth(&cheap, &small, &zeros, 0, &all).unwrap();
            assert_eq!(cheap.asked(), count, "it is computed again");
        }
    }

    fn truth_of(count: usize) -> Arc<Truth> {
        Arc::new(Truth { value: vec![1.0; count], ..Truth::default() })
    }

    #[test]
    fn room_is_made_for_the_new_and_never_exceeded() {
        let mut kept = Kept::with_room(10);
        for n in 0..100_u8 {
            kept.keep(n.into(), truth_of(3));
            assert!(kept.truths.contains_key(&u128::from(n)), "the newest is kept");
            assert_eq!(kept.numbers, 3 * kept.truths.len());
            assert!(kept.numbers <= 10 && kept.questions.len() == kept.truths.len());
        }
        kept.keep(200, truth_of(11));
        assert!(!kept.truths.contains_key(&200), "one that fits nowhere is not kept");
        assert_eq!(kept.truths.len(), 3);
        kept.keep(99, truth_of(3));
        assert_eq!(kept.numbers, 9, "what is known is not counted twice");
    }
}
