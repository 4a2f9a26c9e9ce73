//! How a trial is paced: calls in a slice, blocks in a trial, arms in a block.

use crate::order::{mirrored, repeated};
use crate::rules::RaceRules;
use proofmark_stats::Stream;

/// A call that takes longer than this many slices is long.
const LONG_CALL_SLICES: f64 = 5.0;
/// Times that a block of long calls goes round all arms.
const ROUNDS: usize = 3;
/// Time of all timed calls in a trial of long calls, about as much as the trial's start takes.
const LONG_TRIAL_NS: f64 = 200e6;
/// Greatest number of untimed rounds before the first block, and the time that long calls may take
/// for them.
const RUN_IN_ROUNDS: usize = 4;
const RUN_IN_NS: f64 = 50e6;
/// Longest call that is primed. Longer calls have their data in the caches for nearly all of their
/// time anyway.
const PRIMED_NS: f64 = 25e6;

/// How one trial is run.
pub(crate) struct Pace {
    /// Timed calls in a slice of each arm.
    pub(crate) calls: Vec<u32>,
    /// Blocks.
    pub(crate) blocks: u32,
    /// Untimed rounds of all arms before the first block.
    pub(crate) run_in: usize,
    is_long: bool,
    /// Untimed calls of the same arm before each slice.
    prime: u32,
}

/// One block: which arm runs when.
pub(crate) struct Block {
    /// An arm that makes one untimed call first.
    pub(crate) opening: Option<usize>,
    /// Untimed calls of the same arm before each slice.
    pub(crate) prime: u32,
    /// The arms of the slices.
    pub(crate) order: Vec<usize>,
}

impl Pace {
    /// The pace for arms whose fastest calls took `fastest` nanoseconds.
    pub(crate) fn of(fastest: &[f64], rules: &RaceRules) -> Pace {
        let slice = rules.slice_ns as f64;
        // The fastest call seen so far sets the count: a moment in which the machine was slow
        // must not make the slices of a whole trial short.
        let most = f64::from(rules.most_calls);
        let fitting = |each: &f64| (slice / each).clamp(1.0, most) as u32;
        let mut calls: Vec<u32> = fastest.iter().map(fitting).collect();
        // Arms of like speed share the count, so that rounding of counts favours no arm.
        let (least, most) = (calls.iter().min().copied(), calls.iter().max().copied());
        if let (Some(least), Some(most)) = (least, most)
            && most <= 4 * least
        {
            calls.fill(least);
        }
        let longest = fastest.iter().copied().fold(0.0, f64::max);
        if rules.reveals {
            // The slices are so long that an untimed call before them would change nothing.
            return Pace { calls, blocks: rules.blocks, run_in: 1, is_long: false, prime: 0 };
        }
        if longest <= LONG_CALL_SLICES * slice {
            let (blocks, run_in) = (rules.blocks, RUN_IN_ROUNDS);
            return Pace { calls, blocks, run_in, is_long: false, prime: 1 };
        }
        let round: f64 = fastest.iter().zip(&calls).map(|(each, &n)| each * f64::from(n)).sum();
        let blocks = (LONG_TRIAL_NS / round / ROUNDS as f64) as u32;
        let run_in = ((RUN_IN_NS / round) as usize).clamp(1, RUN_IN_ROUNDS);
        // An arm alone finds its own data in the caches, primed or not.
        let is_primed = fastest.len() == 1 || rules.primes_long && longest <= PRIMED_NS;
        let (blocks, prime) = (blocks.clamp(1, rules.blocks), u32::from(is_primed));
        Pace { calls, blocks, run_in, is_long: true, prime }
    }

    /// Draws the number of calls of a slice, up to a quarter more or less than usual, so that no
    /// call can know that it is the last.
    pub(crate) fn draw_calls(&self, arm: usize, stream: &mut Stream) -> u32 {
        let (calls, more) = (self.calls[arm], self.calls[arm] / 4);
        calls - more + stream.below(2 * u64::from(more) + 1) as u32
    }

    /// Draws a block.
    ///
    /// The arm before has left its own data in the caches. Short slices are therefore each primed
    /// by an untimed call. For long calls, priming doubles the time and the distance between
    /// neighbours. Such a block instead goes round all arms, so that every slice follows another
    /// arm's. It is primed only if the time itself is asked for.
    pub(crate) fn block(&self, stream: &mut Stream) -> Block {
        let (arms, prime) = (self.calls.len(), self.prime);
        if self.is_long && arms > 1 {
            let order = repeated(arms, ROUNDS, stream);
            Block { opening: order.last().copied(), prime, order }
        } else {
            Block { opening: None, prime, order: mirrored(arms, stream) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_slice_follows_a_call_of_its_own_arm() {
        let pace = Pace::of(&[1e3, 2e3], &RaceRules::standard(1));
        assert_eq!((pace.calls.as_slice(), pace.blocks), ([50, 50].as_slice(), 24));
        let block = pace.block(&mut Stream::new(1));
        assert_eq!((block.opening, block.prime), (None, 1));
    }

    #[test]
    fn the_number_of_calls_is_drawn_around_the_one_aimed_at() {
        let pace = Pace::of(&[1e3, 2e6], &RaceRules::standard(1));
        let mut stream = Stream::new(7);
        let drawn: Vec<u32> = (0..500).map(|_| pace.draw_calls(0, &mut stream)).collect();
        let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert_eq!((*least, *most), (75, 125));
        assert!((0..50).all(|_| pace.draw_calls(1, &mut stream) == 1));
    }

    #[test]
    fn a_long_call_follows_one_of_another_arm() {
        for arms in 2..5 {
            let rules = RaceRules { primes_long: false, ..RaceRules::standard(1) };
            let pace = Pace::of(&vec![2e6; arms], &rules);
            let mut stream = Stream::new(7);
            for _ in 0..20 {
                let block = pace.block(&mut stream);
                let ran: Vec<usize> = block.opening.into_iter().chain(block.order).collect();
                assert_eq!((ran.len(), block.prime), (1 + ROUNDS * arms, 0));
                assert!(ran.windows(2).all(|pair| pair[0] != pair[1]), "{ran:?}");
            }
        }
    }

    #[test]
    fn a_long_call_is_primed_where_its_time_is_asked_for_unless_it_is_very_long() {
        let prime = |each: f64, primes_long| {
            let rules = RaceRules { primes_long, ..RaceRules::standard(1) };
            Pace::of(&[each; 2], &rules).block(&mut Stream::new(7)).prime
        };
        assert_eq!((prime(8e6, true), prime(8e6, false), prime(30e6, true)), (1, 0, 0));
    }

    #[test]
    fn the_longer_the_call_the_fewer_blocks_but_one_at_the_least() {
        let blocks = |each: f64| Pace::of(&[each; 2], &RaceRules::standard(1)).blocks;
        assert_eq!((blocks(1e6), blocks(2e6), blocks(10e6), blocks(5e9)), (24, 16, 3, 1));
    }
}
