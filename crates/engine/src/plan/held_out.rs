//! Cases that the author of a kernel has not seen: drawn by a seed around the shown ones.

use super::room::lacking;
use proofmark_contract::{Entry, check_case};
use proofmark_schema::Case;
use proofmark_tensor::mix;

/// Draws before the search ends: the conditions of an op may refuse most of them.
const DRAWN: u64 = 20_000;

/// What sets these draws apart from other uses of the seed.
const STREAM: u64 = 9;

/// At most `count` cases of the same op, element types and attributes whose sizes lie around those
/// of the shown ones: other cases than these, accepted by the op, and hardly larger. They are
/// fewer where the op accepts no more.
pub(crate) fn held_out(entry: &Entry, shown: &[Case], count: usize, seed: u64) -> Vec<Case> {
    let free_bytes = proofmark_machine::load().available_bytes;
    let bytes = |case: &Case| check_case(entry.op, case).ok().map(|signature| signature.bytes());
    let mut drawn: Vec<Case> = Vec::new();
    for draw in 0..DRAWN {
        if drawn.len() == count || shown.is_empty() {
            break;
        }
        let near = &shown[drawn.len() % shown.len()];
        let mut case = near.clone();
        for (at, (_, size)) in case.axes.iter_mut().enumerate() {
            *size = around(*size, mix(mix(seed, STREAM, draw), STREAM, at as u64));
        }
        let is_new = !shown.contains(&case) && !drawn.contains(&case);
        let most = bytes(near).map(|bytes| bytes + bytes / 2);
        let fits = is_new && bytes(&case).is_some_and(|bytes| Some(bytes) <= most);
        if fits && lacking(entry, &case, free_bytes).is_none() {
            drawn.push(case);
        }
    }
    drawn
}

/// A size around another. A quarter stay as they are and a quarter are eighths of it, because
/// conditions often ask for equal sizes or multiples; the rest are any size from a quarter of it to
/// a quarter more.
fn around(size: u64, word: u64) -> u64 {
    let (kind, word) = (word % 4, word / 4);
    let drawn = match kind {
        0 => size,
        1 => size * (2 + word % 9) / 8,
        _ => size / 4 + word % (size + 1),
    };
    drawn.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_op;

    fn shown(texts: &[&str]) -> Vec<Case> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn held_out_cases_are_other_valid_cases_of_about_the_same_size() {
        let entry = find_op("matmul_q8").unwrap();
        let shown = shown(&["matmul_q8:f32[m=8,n=64,k=128;group=32]"]);
        for seed in 0..50 {
            let drawn = held_out(entry, &shown, 4, seed);
            assert_eq!(drawn.len(), 4, "{drawn:?}");
            for case in &drawn {
                check_case(entry.op, case).unwrap();
                assert!(!shown.contains(case), "{case}");
                assert_eq!((case.dtype, &case.attrs), (shown[0].dtype, &shown[0].attrs));
                let larger = case.axes.iter().zip(&shown[0].axes).any(|(a, b)| a.1 > b.1 + b.1 / 2);
                assert!(!larger, "{case}");
            }
        }
    }

    #[test]
    fn a_seed_decides_them_and_another_seed_gives_others() {
        let entry = find_op("softmax").unwrap();
        let shown = shown(&["softmax:f32[b=1,s=32,d=128]", "softmax:f32[b=1,s=8,d=1000]"]);
        assert_eq!(held_out(entry, &shown, 3, 7), held_out(entry, &shown, 3, 7));
        assert_ne!(held_out(entry, &shown, 3, 7), held_out(entry, &shown, 3, 8));
    }

    #[test]
    fn an_op_that_accepts_no_other_size_has_none() {
        let entry = find_op("add").unwrap();
        assert_eq!(held_out(entry, &shown(&["add:f32[b=1,s=1,d=1]"]), 3, 7), []);
        assert_eq!(held_out(entry, &[], 3, 7), []);
    }
}
