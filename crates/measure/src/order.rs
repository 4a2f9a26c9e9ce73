//! The order of arms within a block.

use proofmark_stats::Stream;

/// A random order of the arms followed by its reverse: ABBA or BAAB for two arms.
///
/// Each arm's two positions add up to the same sum, so a drift that is linear over the block
/// cancels from every pair of arms.
pub(crate) fn block_order(arms: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    stream.shuffle(&mut order);
    let back: Vec<usize> = order.iter().rev().copied().collect();
    order.extend(back);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_positions_of_an_arm_add_up_to_the_same() {
        let mut stream = Stream::new(3);
        for arms in 1..6 {
            let order = block_order(arms, &mut stream);
            for arm in 0..arms {
                let sum: usize =
                    order.iter().enumerate().filter(|(_, a)| **a == arm).map(|(p, _)| p).sum();
                assert_eq!(sum, 2 * arms - 1);
            }
        }
    }

    #[test]
    fn two_arms_run_abba_and_baab() {
        let mut stream = Stream::new(1);
        let seen: std::collections::BTreeSet<Vec<usize>> =
            (0..64).map(|_| block_order(2, &mut stream)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [vec![0, 1, 1, 0], vec![1, 0, 0, 1]]);
    }
}
