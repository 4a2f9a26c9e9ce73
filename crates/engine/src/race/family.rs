//! Two rounds over a family of cases. All cases are screened, and those that look slower or were
//! too noisy to decide are raced again.
//!
//! The second round consists of fresh trials, whatever the first round says. With k cases in it,
//! each is raced at alpha/k and Holm's procedure is applied to their p-values, so that the chance
//! of any wrong SLOWER among all cases is at most alpha, however many were screened.
//!
//! A check also asks on which side of a limit a ratio lies. Cases that two rounds leave open are
//! raced a third time, at a separate error rate that is divided in the same way.

use proofmark_analyze::policy::Open;
use proofmark_schema::decision::{Decided, Round, Standing};
use proofmark_schema::race::Verdict;
use proofmark_stats::holm;

/// What a race brings into the family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// The race's own verdict.
    pub(crate) verdict: Verdict,
    /// Time of the second arm over that of the first.
    pub(crate) ratio: f64,
    /// Of the whole race, over all its looks.
    pub(crate) p_value: Option<f64>,
    /// Whether it ran out of trials with time left.
    pub(crate) has_time_left: bool,
}

/// Runs both rounds. `race` races one case at an error rate and returns `None` if it has no
/// evidence; such a case counts as refused.
pub(crate) fn two_rounds<E>(
    cases: usize,
    alpha: f64,
    report_margin: f64,
    race: &mut dyn FnMut(Round, usize, f64) -> Result<Option<Evidence>, E>,
) -> Result<Vec<Standing>, E> {
    let mut standings = Vec::with_capacity(cases);
    let mut again = Vec::new();
    for case in 0..cases {
        let screened = race(Round::Screen, case, alpha)?;
        again.extend(screened.filter(Evidence::is_worth_a_second_race).map(|_| case));
        standings.push(stands(screened));
    }
    let each = alpha / again.len().max(1) as f64;
    let mut evidence = Vec::with_capacity(again.len());
    for &case in &again {
        evidence.push(race(Round::Confirmation, case, each)?);
    }
    // A race without a p-value counts as a member of the family, and its hypothesis is never
    // rejected.
    let p_of = |evidence: &Option<Evidence>| evidence.and_then(|evidence| evidence.p_value);
    let p_values: Vec<f64> = evidence.iter().map(|one| p_of(one).unwrap_or(f64::NAN)).collect();
    let fallen = holm(&p_values, alpha);
    for ((&case, evidence), fell) in again.iter().zip(evidence).zip(fallen) {
        let Some(second) = evidence else {
            standings[case] = Standing::Refused;
            continue;
        };
        let verdict = match second.verdict {
            // Holm's procedure did not reject this case, so the race's own SLOWER is not accepted.
            Verdict::Slower => Verdict::Undecided,
            other => other,
        };
        standings[case] = match (standings[case], verdict) {
            _ if fell && second.ratio > 1.0 + report_margin => Standing::Slower,
            (Standing::Slower, verdict) => Standing::NotConfirmed(verdict),
            (_, Verdict::Faster) => Standing::Faster,
            (_, Verdict::Same) => Standing::Same,
            _ => Standing::Undecided,
        };
    }
    Ok(standings)
}

/// Races the cases that are still open once more, each at its share of the error rate.
pub(crate) fn third_round<E>(
    standings: &mut [Standing],
    open: &[(usize, Open)],
    alpha: f64,
    race: &mut dyn FnMut(usize, Open, f64) -> Result<Option<Evidence>, E>,
) -> Result<(), E> {
    for &(case, why) in open {
        standings[case] = stands(race(case, why, alpha / open.len() as f64)?);
    }
    Ok(())
}

/// The standing that a race gives its case.
fn stands(evidence: Option<Evidence>) -> Standing {
    match evidence.map(|evidence| evidence.verdict) {
        None => Standing::Refused,
        Some(Verdict::Faster) => Standing::Faster,
        Some(Verdict::Same) => Standing::Same,
        Some(Verdict::Slower) => Standing::Slower,
        Some(Verdict::Undecided) => Standing::Undecided,
    }
}

impl Evidence {
    /// The evidence of a finished race.
    pub(crate) fn of(decided: &Decided, has_time_left: bool) -> Evidence {
        let comparison = &decided.ruling.comparison;
        Evidence {
            verdict: comparison.verdict,
            ratio: comparison.ratio.estimate,
            p_value: decided.p_value,
            has_time_left,
        }
    }

    /// A case that looks slower must be confirmed; one that was too noisy may meet a quieter
    /// moment.
    fn is_worth_a_second_race(&self) -> bool {
        match self.verdict {
            Verdict::Slower => true,
            Verdict::Undecided => self.has_time_left,
            Verdict::Faster | Verdict::Same => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_stats::{Decision, Look, Looks, Spending, Stopping, Stream};
    use std::convert::Infallible;

    /// A race of scripted noise around an effect, decided by the code that decides live ones.
    fn scripted(stream: &mut Stream, effect: f64, alpha: f64) -> Evidence {
        scripted_at(stream, effect, alpha, Looks::short()).0
    }

    /// The same with its interval, at some looks.
    fn scripted_at(
        stream: &mut Stream,
        effect: f64,
        alpha: f64,
        looks: Looks,
    ) -> (Evidence, (f64, f64)) {
        // The margin is almost zero, so that only the error rate prevents false positives.
        let margins = (1e-6, 2e-6);
        let stopping = Stopping { looks, alpha, report_margin: margins.0, same_margin: margins.1 };
        let effects: Vec<f64> = (0..60).map(|_| effect + 0.01 * stream.normal()).collect();
        let Look::Stop(stop) = stopping.replay(&effects, &[1e-4; 60]) else { unreachable!() };
        let seen = stop.trials as usize;
        let ends = stop.interval.map_or((0.0, f64::MAX), |interval| (interval.low, interval.high));
        let evidence = Evidence {
            verdict: match stop.decision {
                Decision::Faster => Verdict::Faster,
                Decision::Slower => Verdict::Slower,
                Decision::Same => Verdict::Same,
                Decision::Undecided => Verdict::Undecided,
            },
            ratio: stop.interval.map_or(1.0, |interval| interval.ratio),
            p_value: stopping.p_value(&effects[..seen], &[1e-4; 60][..seen]),
            has_time_left: true,
        };
        (evidence, ends)
    }

    /// Families of cases that are all slower by the same share, held against a limit: how many
    /// have a case above it, and how many cases are above it and below it.
    fn limited(count: usize, cases: usize, slower: f64, limit: f64, alpha: f64) -> [usize; 3] {
        let mut stream = Stream::new(43);
        let effect = slower.ln_1p();
        let once = || Looks::new(vec![60], Spending::Bonferroni).unwrap();
        let mut counts = [0; 3];
        for _ in 0..count {
            // The interval of the last race, and whether it is a second one.
            let mut last = vec![((0.0, f64::MAX), false); cases];
            let standings =
                two_rounds::<Infallible>(cases, alpha / 2.0, 1e-6, &mut |round, case, at| {
                    let (evidence, ends) = scripted_at(&mut stream, effect, at, Looks::short());
                    last[case] = (ends, round == Round::Confirmation);
                    Ok(Some(evidence))
                });
            let Ok(mut standings) = standings;
            let is_above = |(ends, again): ((f64, f64), bool)| again && ends.0 > 1.0 + limit;
            let is_below = |(ends, _): ((f64, f64), bool)| ends.1 <= 1.0 + limit;
            let open: Vec<(usize, Open)> = (0..cases)
                .filter(|&case| !is_above(last[case]) && !is_below(last[case]))
                .map(|case| (case, Open::Unclear))
                .collect();
            let third = third_round::<Infallible>(
                &mut standings,
                &open,
                alpha / 2.0,
                &mut |case, _, at| {
                    let (evidence, ends) = scripted_at(&mut stream, effect, at, once());
                    last[case] = (ends, true);
                    Ok(Some(evidence))
                },
            );
            let Ok(()) = third;
            let above = last.iter().filter(|it| is_above(**it)).count();
            counts[0] += usize::from(above > 0);
            counts[1] += above;
            counts[2] += last.iter().filter(|it| is_below(**it)).count();
        }
        counts
    }

    #[test]
    fn a_family_that_lies_on_its_limit_is_called_above_it_at_most_at_alpha() {
        for (count, cases) in [(1500, 1), (300, 10), (40, 100)] {
            let [families, ..] = limited(count, cases, 0.05, 0.05, 0.05);
            // Four sigmas above 5 %.
            let most = 0.05 * count as f64 + 4.0 * (0.05 * 0.95 * count as f64).sqrt();
            assert!(families as f64 <= most, "{families} of {count} families of {cases}");
        }
    }

    #[test]
    fn seven_per_cent_is_found_above_five_and_three_is_found_below() {
        let [_, above, below] = limited(30, 10, 0.07, 0.05, 0.01);
        assert!(above >= 297 && below == 0, "{above} above, {below} below, of 300");
        let [_, above, below] = limited(30, 10, 0.03, 0.05, 0.01);
        assert!(below >= 297 && above == 0, "{above} above, {below} below, of 300");
    }

    /// Simulates families of `cases` cases with an effect in the first. Counts the families in
    /// which any case is flagged, any case is slower, and the first is slower.
    fn families(count: usize, cases: usize, effect: f64, alpha: f64) -> [usize; 3] {
        let mut stream = Stream::new(41);
        let mut counts = [0; 3];
        for _ in 0..count {
            let mut flagged = false;
            let standings = two_rounds::<Infallible>(cases, alpha, 1e-6, &mut |round, case, at| {
                flagged |= round == Round::Confirmation;
                let effect = if case == 0 { effect } else { 0.0 };
                Ok(Some(scripted(&mut stream, effect, at)))
            });
            let Ok(standings) = standings;
            let seen =
                [flagged, standings.contains(&Standing::Slower), standings[0] == Standing::Slower];
            counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += usize::from(seen));
        }
        counts
    }

    #[test]
    fn a_family_of_identical_code_is_called_slower_at_most_at_alpha_whatever_its_size() {
        for (count, cases) in [(2000, 1), (500, 8), (120, 400)] {
            let [flagged, slower, _] = families(count, cases, 0.0, 0.05);
            // Four sigmas above 5 %.
            let most = 0.05 * count as f64 + 4.0 * (0.05 * 0.95 * count as f64).sqrt();
            assert!(slower as f64 <= most, "{slower} of {count} families of {cases}");
            // One round alone is not enough: nearly every large family has a flagged case.
            assert!(cases < 400 || flagged * 10 > 9 * count, "{flagged} of {count} were flagged");
        }
    }

    #[test]
    fn a_true_regression_is_confirmed_within_a_large_family() {
        let [_, _, found] = families(60, 30, 0.02, 0.05);
        assert!(found >= 55, "{found} of 60");
    }

    #[test]
    fn what_fresh_trials_do_not_repeat_is_not_confirmed_and_failures_are_refused() {
        let evidence = |verdict, ratio, p| {
            Some(Evidence { verdict, ratio, p_value: Some(p), has_time_left: false })
        };
        let standings = two_rounds::<Infallible>(5, 0.01, 0.005, &mut |round, case, alpha| {
            Ok(match (round, case) {
                (Round::Screen, 3) => None,
                (Round::Screen, 4) => evidence(Verdict::Same, 1.0, 0.9),
                (Round::Screen, _) => evidence(Verdict::Slower, 1.1, 1e-6),
                (Round::Confirmation, 0) => {
                    assert!((alpha - 0.01 / 3.0).abs() < 1e-12, "divided over the flagged");
                    evidence(Verdict::Slower, 1.1, 1e-6)
                }
                (Round::Confirmation, 1) => evidence(Verdict::Same, 1.001, 0.5),
                (Round::Confirmation, _) => None,
            })
        });
        let Ok(standings) = standings;
        let not_confirmed = Standing::NotConfirmed(Verdict::Same);
        let refused = Standing::Refused;
        assert_eq!(standings, [Standing::Slower, not_confirmed, refused, refused, Standing::Same]);
    }

    #[test]
    fn what_was_undecided_with_time_left_has_a_second_race_that_counts() {
        let evidence = |verdict, p, has_time_left| {
            let ratio = if p < 0.01 { 1.1 } else { 1.0 };
            Some(Evidence { verdict, ratio, p_value: Some(p), has_time_left })
        };
        let mut raced = Vec::new();
        let standings = two_rounds::<Infallible>(5, 0.01, 0.005, &mut |round, case, alpha| {
            if round == Round::Screen {
                return Ok(evidence(Verdict::Undecided, 0.5, case != 4));
            }
            raced.push((case, alpha));
            Ok(match case {
                0 => evidence(Verdict::Same, 0.9, false),
                1 => evidence(Verdict::Slower, 1e-6, false),
                2 => evidence(Verdict::Undecided, 0.3, true),
                _ => evidence(Verdict::Slower, 0.009, false),
            })
        });
        let Ok(standings) = standings;
        let undecided = Standing::Undecided;
        let expected = [Standing::Same, Standing::Slower, undecided, undecided, undecided];
        assert_eq!(standings, expected);
        assert_eq!(raced, [0, 1, 2, 3].map(|case| (case, 0.01 / 4.0)));
    }
}
