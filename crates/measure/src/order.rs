//! The order of arms within a block.

use proofmark_stats::Stream;

/// A random order of the arms followed by its reverse: ABBA or BAAB for two arms.
///
/// Each arm's two positions add up to the same sum, so a drift that is linear over the block
/// cancels from every pair of arms.
pub(crate) fn mirrored(arms: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order = drawn(arms, stream);
    let back: Vec<usize> = order.iter().rev().copied().collect();
    order.extend(back);
    order
}

/// A random order of the arms, repeated `times` times: ABABAB or BABABA for two arms.
///
/// A drift biases every pair of a block in the same direction. The order of the next block is drawn
/// anew, so its pairs are as likely to be biased in the other direction.
pub(crate) fn repeated(arms: usize, times: usize, stream: &mut Stream) -> Vec<usize> {
    drawn(arms, stream).repeat(times)
}

/// A random order of the arms.
pub(crate) fn drawn(arms: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    stream.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_positions_of_an_arm_add_up_to_the_same() {
        let mut stream = Stream::new(3);
        for arms in 1..6 {
            let order = mirrored(arms, &mut stream);
            for arm in 0..arms {
                let sum: usize =
                    order.iter().enumerate().filter(|(_, a)| **a == arm).map(|(p, _)| p).sum();
                assert_eq!(sum, 2 * arms - 1);
            }
        }
    }

    #[test]
    fn two_arms_run_abba_and_baab_or_abab_and_baba() {
        let mut stream = Stream::new(1);
        let mut seen = |draw: fn(&mut Stream) -> Vec<usize>| -> Vec<Vec<usize>> {
            let seen: std::collections::BTreeSet<_> = (0..64).map(|_| draw(&mut stream)).collect();
            seen.into_iter().collect()
        };
        assert_eq!(seen(|stream| mirrored(2, stream)), [vec![0, 1, 1, 0], vec![1, 0, 0, 1]]);
        assert_eq!(seen(|stream| repeated(2, 2, stream)), [vec![0, 1, 0, 1], vec![1, 0, 1, 0]]);
    }
}
