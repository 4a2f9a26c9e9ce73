//! When a race is looked at, and how much of its error rate each look may spend.

use crate::tail::{normal_point, normal_tail};

/// Looks of a race on a quiet core: six, from 6 trials to 60.
pub const LOOKS_SHORT: [u32; 6] = [6, 10, 16, 26, 40, 60];
/// Looks where memory or all cores take part and trials spread more: on to 150.
pub const LOOKS_LONG: [u32; 8] = [6, 10, 16, 26, 40, 60, 95, 150];

/// How the error rate is shared out over the looks.
///
/// Pocock and O'Brien–Fleming name the spending functions of Lan and DeMets (1983) at the share
/// of the trials that a look has seen. Each look tests at the increment it may spend: by the
/// union bound the sum of all looks keeps the rate, whatever the correlation between them. The
/// exact boundaries would need the joint distribution and gain a little power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// The same level at every look.
    Bonferroni,
    /// α·ln(1 + (e − 1)·t): spends early.
    Pocock,
    /// 2·P(Z > z/√t) with z the two-sided point of α: keeps nearly all for the last looks.
    ObrienFleming,
}

/// A smaller level is practically zero: such a look is skipped, and what it would have spent goes
/// to the next.
const LEAST_LEVEL: f64 = 1e-12;

/// The trial counts at which a race is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    at: Vec<u32>,
    spending: Spending,
}

impl Looks {
    /// Looks at these trial counts; `None` unless they rise and start at two or more.
    pub fn new(at: Vec<u32>, spending: Spending) -> Option<Looks> {
        let rises = at.windows(2).all(|pair| pair[0] < pair[1]);
        (at.first().is_some_and(|&first| first >= 2) && rises).then_some(Looks { at, spending })
    }

    /// [`LOOKS_SHORT`] with equal levels.
    pub fn short() -> Looks {
        Looks { at: LOOKS_SHORT.to_vec(), spending: Spending::Bonferroni }
    }

    /// [`LOOKS_LONG`] with equal levels.
    pub fn long() -> Looks {
        Looks { at: LOOKS_LONG.to_vec(), spending: Spending::Bonferroni }
    }

    /// The trial counts, rising.
    pub fn at(&self) -> &[u32] {
        &self.at
    }

    /// How the error rate is shared out.
    pub fn spending(&self) -> Spending {
        self.spending
    }

    /// The most trials a race takes.
    pub fn cap(&self) -> u32 {
        self.at.last().copied().unwrap_or(0)
    }

    /// Which look happens at exactly this many trials.
    pub fn index_of(&self, trials: u32) -> Option<usize> {
        self.at.binary_search(&trials).ok()
    }

    /// The trial count of the first look after this many trials; `None` at the cap and beyond.
    pub fn next_after(&self, trials: u32) -> Option<u32> {
        self.at.iter().copied().find(|&at| at > trials)
    }

    /// The two-sided level of each look; `None` unless 0 < α < 1.
    ///
    /// A zero marks a look that is passed over. The levels add up to α.
    pub fn levels(&self, alpha: f64) -> Option<Vec<f64>> {
        if !(alpha > 0.0 && alpha < 1.0) {
            return None;
        }
        let mut spent = 0.0;
        let mut levels = Vec::with_capacity(self.at.len());
        for index in 0..self.at.len() {
            let increment = self.spent_by(index, alpha)? - spent;
            let level = if increment < LEAST_LEVEL { 0.0 } else { increment };
            spent += level;
            levels.push(level);
        }
        Some(levels)
    }

    /// How much of α may be spent up to and with this look.
    fn spent_by(&self, index: usize, alpha: f64) -> Option<f64> {
        if index + 1 == self.at.len() {
            return Some(alpha);
        }
        let share = f64::from(self.at[index]) / f64::from(self.cap());
        Some(match self.spending {
            Spending::Bonferroni => alpha * (index + 1) as f64 / self.at.len() as f64,
            Spending::Pocock => alpha * ((std::f64::consts::E - 1.0) * share).ln_1p(),
            Spending::ObrienFleming => 2.0 * normal_tail(normal_point(alpha / 2.0)? / share.sqrt()),
        })
    }

    /// The two-sided level of one look; `None` if there is no such look or it is passed over.
    pub fn level_at(&self, look_index: usize, alpha: f64) -> Option<f64> {
        let level = *self.levels(alpha)?.get(look_index)?;
        (level > 0.0).then_some(level)
    }

    /// The confidence of the interval at one look; `None` as for [`Looks::level_at`].
    pub fn confidence_at(&self, look_index: usize, alpha: f64) -> Option<f64> {
        Some(1.0 - self.level_at(look_index, alpha)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, all_close};

    const ALL: [Spending; 3] = [Spending::Bonferroni, Spending::Pocock, Spending::ObrienFleming];

    #[test]
    fn levels_agree_with_the_spending_functions_evaluated_in_scipy() {
        for row in Fixture::rows(include_str!("../fixtures/spending.json")) {
            let at: Vec<u32> = row.numbers("at").iter().map(|&at| at as u32).collect();
            let alpha = row.number("alpha");
            for (spending, name) in ALL.into_iter().zip(["bonferroni", "pocock", "obrien_fleming"])
            {
                let got = Looks::new(at.clone(), spending).unwrap().levels(alpha).unwrap();
                let want = row.numbers(name);
                assert!(all_close(&got, &want, 1e-9), "{name} {alpha}: {got:?} {want:?}");
            }
        }
    }

    #[test]
    fn every_spending_spends_alpha_and_no_more() {
        for spending in ALL {
            for at in [LOOKS_SHORT.to_vec(), LOOKS_LONG.to_vec(), vec![7]] {
                for alpha in [0.001, 0.01, 0.05, 0.3] {
                    let levels = Looks::new(at.clone(), spending).unwrap().levels(alpha).unwrap();
                    let sum: f64 = levels.iter().sum();
                    assert!((sum - alpha).abs() < 1e-14, "{spending:?} {alpha}: {sum}");
                }
            }
        }
    }

    #[test]
    fn a_look_with_nothing_to_spend_is_passed_over() {
        let looks = Looks::new(LOOKS_LONG.to_vec(), Spending::ObrienFleming).unwrap();
        assert_eq!(looks.confidence_at(0, 0.01), None);
        assert!(looks.confidence_at(7, 0.01).unwrap() > 0.99);
        assert_eq!(looks.confidence_at(8, 0.01), None);
    }

    #[test]
    fn pocock_spends_early_and_obrien_fleming_late() {
        let level = |spending, index| {
            Looks::new(LOOKS_SHORT.to_vec(), spending).unwrap().level_at(index, 0.01).unwrap_or(0.0)
        };
        assert!(level(Spending::Pocock, 0) > 1000.0 * level(Spending::ObrienFleming, 0));
        assert!(level(Spending::ObrienFleming, 5) > 2.0 * level(Spending::Pocock, 5));
        assert_eq!(level(Spending::Bonferroni, 0), 0.01 / 6.0);
    }

    #[test]
    fn a_schedule_knows_its_looks_and_its_cap() {
        let looks = Looks::short();
        assert_eq!((looks.index_of(16), looks.index_of(17), looks.cap()), (Some(2), None, 60));
        assert_eq!(looks.next_after(0), Some(6));
        assert_eq!(looks.next_after(16), Some(26));
        assert_eq!(looks.next_after(60), None);
        assert_eq!(Looks::long().cap(), 150);
    }

    #[test]
    fn refuses_schedules_that_do_not_rise_and_rates_that_are_none() {
        for at in [vec![], vec![1, 5], vec![6, 6], vec![10, 6]] {
            assert_eq!(Looks::new(at, Spending::Pocock), None);
        }
        for alpha in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(Looks::short().levels(alpha), None);
        }
    }
}
