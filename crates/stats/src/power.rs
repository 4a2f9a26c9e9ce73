//! What a number of trials can show, and how many trials it takes to show an effect.

use crate::tail::{normal_tail, student_point};
use statrs::function::gamma::ln_gamma;

/// The chance that a two-sided t-test at level `alpha` over `trials` normal effects of mean
/// `effect` and standard deviation `sd` finds a difference from nought, of either sign.
///
/// This is the tail of the noncentral t distribution, taken as the normal tail averaged over the
/// distribution of the sample's standard deviation. Trimming, from ten trials on, finds a few in
/// a hundred less where effects are normal and more where they are not. `None` for fewer than two
/// trials or arguments out of range.
pub fn power(trials: u32, sd: f64, effect: f64, alpha: f64) -> Option<f64> {
    if trials < 2 || !(sd > 0.0 && sd.is_finite() && effect.is_finite() && alpha < 1.0) {
        return None;
    }
    let freedom = f64::from(trials - 1);
    let point = student_point(freedom, alpha / 2.0)?;
    let shift = effect.abs() / sd * f64::from(trials).sqrt();
    let found = |spread: f64| {
        let chance = normal_tail(point * spread - shift) + normal_tail(point * spread + shift);
        chance * sample_sd_density(freedom, spread)
    };
    // The sample's spread has mean near 1 and standard deviation near 1/√(2ν); thirteen of those
    // cover all of it. The normal tail falls from 1 to 0 within nine on either side of the shift.
    // With few trials that is a small part of the range, so it gets steps of its own.
    let reach = 9.0 / freedom.sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let [start, end] = [shift - 9.0, shift + 9.0].map(|z| (z / point).clamp(from, to));
    let sum = simpson(from, start, found) + simpson(start, end, found) + simpson(end, to, found);
    Some(sum.clamp(0.0, 1.0))
}

/// The density of √(χ²/ν): a sample's standard deviation in units of the true one.
fn sample_sd_density(freedom: f64, spread: f64) -> f64 {
    let half = 0.5 * freedom;
    // At one degree of freedom the density is a half normal, not nought at nought.
    let rise = if freedom > 1.0 { (freedom - 1.0) * spread.ln() } else { 0.0 };
    (2f64.ln() + half * half.ln() - ln_gamma(half) + rise - half * spread * spread).exp()
}

/// Steps of Simpson's rule in each part: enough for nine digits.
const STEPS: u32 = 300;

fn simpson(from: f64, to: f64, value: impl Fn(f64) -> f64) -> f64 {
    let width = (to - from) / f64::from(STEPS);
    let weighed = |i: u32| {
        let weight = match i {
            0 | STEPS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * value(from + width * f64::from(i))
    };
    if width > 0.0 { (0..=STEPS).map(weighed).sum::<f64>() * width / 3.0 } else { 0.0 }
}

/// The least effect that `trials` trials of this spread find with this power. It is printed next to
/// every result, so that a result without a change can be interpreted.
///
/// For a race with looks, `alpha` is the level of the look ([`crate::Looks::level_at`]). `None`
/// unless alpha < power < 1.
pub fn minimum_detectable_effect(trials: u32, sd: f64, alpha: f64, wanted: f64) -> Option<f64> {
    if !(wanted > alpha && wanted < 1.0) {
        return None;
    }
    let reaches = |effect: f64| Some(power(trials, sd, effect, alpha)? >= wanted);
    let mut high = sd;
    while !reaches(high)? {
        high *= 2.0;
        if !high.is_finite() {
            return None;
        }
    }
    let mut low = 0.0;
    // The power rises with the effect; 60 halvings leave less than one part in 10^15.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match reaches(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

/// A plan with more trials than this is not feasible.
const MOST_TRIALS: u32 = 1 << 24;

/// The least number of trials that find this effect with this power; `None` if none up to 2²⁴ do
/// or the arguments are out of range.
pub fn trials_needed(sd: f64, effect: f64, alpha: f64, wanted: f64) -> Option<u32> {
    if !(wanted > 0.0 && wanted < 1.0) || effect == 0.0 {
        return None;
    }
    let reaches = |trials: u32| Some(power(trials, sd, effect, alpha)? >= wanted);
    let mut high = 2;
    while !reaches(high)? {
        high *= 2;
        if high > MOST_TRIALS {
            return None;
        }
    }
    let mut low = (high / 2).max(1);
    // The power rises with the trials: `low` does not reach it (or is no number of trials).
    while high - low > 1 {
        let middle = low.midpoint(high);
        match reaches(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, close};

    #[test]
    fn agrees_with_the_noncentral_f_of_scipy() {
        for row in Fixture::rows(include_str!("../fixtures/power.json")) {
            let trials = row.count("trials") as u32;
            let (effect, alpha, want) =
                (row.number("effect"), row.number("alpha"), row.number("power"));
            let got = power(trials, 1.0, effect, alpha).unwrap();
            assert!(close(got, want, 1e-8), "{trials} {effect} {alpha}: {got} {want}");
        }
    }

    #[test]
    fn plans_agree_with_the_same_solved_by_scipy() {
        for row in Fixture::rows(include_str!("../fixtures/plan.json")) {
            let (trials, alpha) = (row.count("trials") as u32, row.number("alpha"));
            let (wanted, effect) = (row.number("power"), row.number("effect"));
            let got = minimum_detectable_effect(trials, 1.0, alpha, wanted).unwrap();
            assert!(close(got, effect, 1e-7), "{trials} {alpha}: {got} {effect}");
            assert_eq!(trials_needed(1.0, effect * (1.0 + 1e-6), alpha, wanted), Some(trials));
        }
    }

    #[test]
    fn few_trials_need_more_than_the_normal_formula_says() {
        // Spread 0.99 %, alpha 0.01, power 0.9: the normal formula says 4 and 15. The power
        // at 7 and 8, 18 and 19 trials is .8897 and .9549, .8998 and .9207 (scipy.stats.ncf).
        assert_eq!(trials_needed(0.0099, 0.02, 0.01, 0.9), Some(8));
        assert_eq!(trials_needed(0.0099, 0.01, 0.01, 0.9), Some(19));
    }

    #[test]
    fn only_the_ratio_of_effect_and_spread_matters_and_not_the_sign() {
        let one = power(12, 1.0, 0.8, 0.01).unwrap();
        assert!(close(power(12, 0.007, -0.0056, 0.01).unwrap(), one, 1e-12));
        assert!(close(power(12, 1.0, 0.0, 0.01).unwrap(), 0.01, 1e-9));
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        assert_eq!(power(1, 1.0, 1.0, 0.01), None);
        assert_eq!(power(5, 0.0, 1.0, 0.01), None);
        assert_eq!(power(5, 1.0, f64::NAN, 0.01), None);
        assert_eq!(power(5, 1.0, 1.0, 0.0), None);
        assert_eq!(minimum_detectable_effect(5, 1.0, 0.05, 0.04), None);
        assert_eq!(minimum_detectable_effect(5, f64::NAN, 0.05, 0.9), None);
        assert_eq!(trials_needed(1.0, 0.0, 0.05, 0.9), None);
        assert_eq!(trials_needed(1.0, 1e-9, 0.05, 0.9), None);
        assert_eq!(trials_needed(1.0, 0.1, 0.05, 1.0), None);
    }
}
