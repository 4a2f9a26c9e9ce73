//! Seeded randomness that gives the same stream on every machine and in every version.

/// A stream of random numbers from one seed (SplitMix64; Steele, Lea, Flood, OOPSLA 2014).
///
/// Plans and replays depend on it, so its output is part of the format and is fixed by known-answer
/// tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Stream {
        Stream(seed)
    }

    /// A separate stream for one purpose, so that drawing more from it does not affect others.
    #[must_use]
    pub fn fork(&mut self) -> Stream {
        Stream(self.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A real in [0, 1), on the grid of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `n`, every one equally likely; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Lemire's multiplication with rejection of the short first interval: no modulo bias.
        let short = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= short {
                return (product >> 64) as u64;
            }
        }
    }

    /// A standard normal value (Box–Muller; the second value is not kept, so that the state is
    /// the seed alone).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Puts the values in a random order, every order equally likely.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_stream_of_seed_1234567() {
        // The published test vector of SplitMix64, evaluated again with Python's integers.
        let mut stream = Stream::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| stream.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn below_reaches_every_value_about_equally() {
        let mut stream = Stream::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Six sigmas of a binomial with p = 1/6.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 548), "{counts:?}");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn shuffle_permutes_and_reaches_every_order() {
        let mut stream = Stream::new(11);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut values = [0, 1, 2];
            stream.shuffle(&mut values);
            *seen.entry(values).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&count| count.abs_diff(1_000) < 174), "{seen:?}");
    }

    #[test]
    fn normal_values_have_mean_zero_and_variance_one() {
        let mut stream = Stream::new(3);
        let values: Vec<f64> = (0..40_000).map(|_| stream.normal()).collect();
        assert!(crate::mean(&values).unwrap().abs() < 0.02);
        assert!((crate::variance(&values).unwrap() - 1.0).abs() < 0.03);
    }

    #[test]
    fn a_fork_does_not_disturb_its_parent() {
        let mut parent = Stream::new(5);
        let mut other = parent.clone();
        let mut fork = parent.fork();
        let _ = other.next_u64();
        for _ in 0..10 {
            fork.next_u64();
        }
        assert_eq!(parent.next_u64(), other.next_u64());
    }
}
