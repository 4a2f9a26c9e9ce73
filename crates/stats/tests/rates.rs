//! Holds the error rates and coverages that intervals and verdicts promise, on simulated truths.

use proofmark_stats::{
    Decision, Look, Looks, Spending, Stop, Stopping, Stream, power, ratio_interval,
};

const RUNS: usize = 10_000;

/// Student's t with three degrees of freedom: so heavy a tail that its fourth moment is infinite.
fn heavy(stream: &mut Stream) -> f64 {
    let square: f64 = (0..3).map(|_| stream.normal().powi(2)).sum();
    stream.normal() / (square / 3.0).sqrt()
}

/// The share of simulated sets of `trials` trials whose 95 % interval holds the truth.
fn coverage(seed: u64, trials: usize, noise: impl Fn(&mut Stream) -> f64) -> f64 {
    let mut stream = Stream::new(seed);
    let truth: f64 = 1.03;
    // Slices that claim no error leave the interval to Student over trials.
    let within = vec![0.0; trials];
    let held = (0..RUNS)
        .filter(|_| {
            let effects: Vec<f64> =
                (0..trials).map(|_| truth.ln() + 0.007 * noise(&mut stream)).collect();
            let got = ratio_interval(&effects, &within, 0.95).unwrap();
            got.low <= truth && truth <= got.high
        })
        .count();
    held as f64 / RUNS as f64
}

#[test]
fn the_95_percent_interval_of_normal_effects_covers_94_to_96_percent() {
    for trials in [6, 20] {
        let share = coverage(600 + trials as u64, trials, Stream::normal);
        assert!((0.94..=0.96).contains(&share), "{trials} trials: {share}");
    }
}

#[test]
fn the_95_percent_interval_of_heavy_tailed_effects_covers_at_least_93_percent() {
    for trials in [6, 20] {
        let share = coverage(700 + trials as u64, trials, heavy);
        assert!((0.93..1.0).contains(&share), "{trials} trials: {share}");
    }
}

/// What became of many races at one true ratio.
#[derive(Debug, Default)]
struct Tally {
    faster: usize,
    slower: usize,
    same: usize,
    undecided: usize,
    /// Intervals at the stop that held the truth.
    held: usize,
}

impl Tally {
    fn share(&self, count: usize) -> f64 {
        count as f64 / (self.faster + self.slower + self.same + self.undecided) as f64
    }

    fn false_alarms(&self) -> f64 {
        self.share(self.faster + self.slower)
    }
}

/// One race, trial after trial, until the rule stops it.
fn race(rule: &Stopping, mut draw: impl FnMut() -> f64, within: f64) -> Stop {
    let (mut effects, mut errors) = (Vec::new(), Vec::new());
    loop {
        effects.push(draw());
        errors.push(within);
        if let Look::Stop(stop) = rule.look(&effects, &errors) {
            return stop;
        }
    }
}

fn simulate(
    rule: &Stopping,
    seed: u64,
    runs: usize,
    truth: f64,
    sd: f64,
    noise: impl Fn(&mut Stream) -> f64,
) -> Tally {
    let mut stream = Stream::new(seed);
    let mut tally = Tally::default();
    for _ in 0..runs {
        let stop = race(rule, || truth.ln() + sd * noise(&mut stream), 0.0);
        match stop.decision {
            Decision::Faster => tally.faster += 1,
            Decision::Slower => tally.slower += 1,
            Decision::Same => tally.same += 1,
            Decision::Undecided => tally.undecided += 1,
        }
        let interval = stop.interval.unwrap();
        tally.held += usize::from(interval.low <= truth && truth <= interval.high);
    }
    tally
}

/// α and three standard errors of a share counted in `runs`.
fn allowed(alpha: f64, runs: usize) -> f64 {
    alpha + 3.0 * (alpha * (1.0 - alpha) / runs as f64).sqrt()
}

fn rules() -> Vec<Stopping> {
    [Spending::Bonferroni, Spending::Pocock, Spending::ObrienFleming]
        .into_iter()
        .map(|spending| {
            let looks = Looks::new(Looks::short().at().to_vec(), spending).unwrap();
            Stopping::with_looks(looks)
        })
        .collect()
}

#[test]
fn equals_are_called_different_in_at_most_one_percent_of_races_however_alpha_is_spent() {
    for (index, rule) in rules().iter().enumerate() {
        // There is no report margin, so that the looks alone keep the rate, and much noise, so that
        // SAME does not end races before they can err.
        let bare = Stopping { report_margin: 0.0, ..rule.clone() };
        let tally = simulate(&bare, 11 + index as u64, RUNS, 1.0, 0.05, Stream::normal);
        assert!(tally.false_alarms() <= allowed(0.01, RUNS), "{rule:?}: {tally:?}");
        // A rule that never decides would pass the line above, so some false alarms are required
        // too.
        assert!(tally.false_alarms() > 0.002, "{rule:?}: {tally:?}");
        assert!(tally.share(tally.held) >= 1.0 - allowed(0.01, RUNS), "{rule:?}: {tally:?}");
    }
}

#[test]
fn p_values_of_races_of_equals_are_below_any_rate_at_most_that_often() {
    let rule = Stopping::default();
    let mut stream = Stream::new(15);
    let runs = 2000;
    let p_values: Vec<f64> = (0..runs)
        .map(|_| {
            let effects: Vec<f64> = (0..60).map(|_| 0.05 * stream.normal()).collect();
            rule.p_value(&effects, &[0.0; 60]).unwrap()
        })
        .collect();
    for rate in [0.01, 0.05, 0.2] {
        let share = p_values.iter().filter(|&&p| p <= rate).count() as f64 / runs as f64;
        assert!(share <= allowed(rate, runs) && share > 0.3 * rate, "{rate}: {share}");
    }
}

#[test]
fn a_look_after_every_trial_without_spending_would_err_many_times_as_often() {
    let mut stream = Stream::new(21);
    let runs = 2000;
    let flagged = (0..runs)
        .filter(|_| {
            let effects: Vec<f64> = (0..60).map(|_| 0.05 * stream.normal()).collect();
            (6..=60).any(|n| {
                let got = ratio_interval(&effects[..n], &vec![0.0; n], 0.99).unwrap();
                got.low > 1.0 || got.high < 1.0
            })
        })
        .count();
    assert!(flagged as f64 > 0.05 * runs as f64, "{flagged} of {runs}");
}

#[test]
fn equals_with_the_noise_of_real_kernels_are_called_the_same() {
    // Spread of one trial and the least share of SAME: cache-bound, memory-bound.
    for (sd, least) in [(0.0015, 1.0), (0.007, 0.99), (0.010, 0.95)] {
        let tally = simulate(&Stopping::default(), 31, 4000, 1.0, sd, Stream::normal);
        assert!(tally.share(tally.same) >= least, "{sd}: {tally:?}");
        assert!(tally.false_alarms() <= allowed(0.01, 4000), "{sd}: {tally:?}");
    }
    let long = Stopping::with_looks(Looks::long());
    let tally = simulate(&long, 32, 2000, 1.0, 0.017, Stream::normal);
    assert!(tally.share(tally.same) >= 0.95, "{tally:?}");
}

#[test]
fn planted_effects_are_found_with_their_sign() {
    // Truth, spread of one trial, least share found.
    for (truth, sd, least) in [
        (1.01, 0.0015, 0.999),
        (1.01, 0.005, 0.99),
        (1.01, 0.007, 0.99),
        (1.01, 0.010, 0.98),
        (1.02, 0.010, 0.999),
        (1.05, 0.017, 0.999),
    ] {
        for (truth, wanted_slower) in [(truth, true), (1.0 / truth, false)] {
            let tally = simulate(&Stopping::default(), 41, 2000, truth, sd, Stream::normal);
            let (right, wrong) = match wanted_slower {
                true => (tally.slower, tally.faster),
                false => (tally.faster, tally.slower),
            };
            assert!(tally.share(right) >= least, "{truth} {sd}: {tally:?}");
            assert_eq!(wrong, 0, "{truth} {sd}: {tally:?}");
            assert!(tally.share(tally.held) >= 1.0 - allowed(0.01, 2000), "{tally:?}");
        }
    }
}

#[test]
fn heavy_tails_do_not_raise_the_false_alarms() {
    let rule = Stopping { report_margin: 0.0, ..Stopping::default() };
    let tally = simulate(&rule, 51, RUNS, 1.0, 0.03, heavy);
    assert!(tally.false_alarms() <= allowed(0.01, RUNS), "{tally:?}");
}

#[test]
fn a_ratio_at_or_beyond_the_margin_is_called_the_same_in_at_most_half_of_alpha() {
    for (index, rule) in rules().iter().enumerate() {
        // A change is never reported here, so that SAME has every chance to be said wrongly.
        let deaf = Stopping { report_margin: 1.0, ..rule.clone() };
        for (truth, sd) in [(1.01, 0.003), (1.0 / 1.01, 0.006), (1.02, 0.005), (1.02, 0.012)] {
            let tally = simulate(&deaf, 61 + index as u64, 2500, truth, sd, Stream::normal);
            assert!(tally.share(tally.same) <= allowed(0.005, 2500), "{truth} {sd}: {tally:?}");
        }
    }
}

#[test]
fn the_power_formula_foretells_what_a_single_look_finds() {
    // Below ten trials nothing is trimmed and the formula is exact; above, trimming costs a
    // little of its power where effects are normal.
    for (trials, sd, loss) in [(9, 0.007, 0.0), (16, 0.011, 0.06)] {
        let looks = Looks::new(vec![trials], Spending::Bonferroni).unwrap();
        let rule =
            Stopping { report_margin: 0.0, same_margin: 1e-9, ..Stopping::with_looks(looks) };
        let tally = simulate(&rule, 71, RUNS, 0.01f64.exp(), sd, Stream::normal);
        let foretold = power(trials, sd, 0.01, 0.01).unwrap();
        let found = tally.share(tally.slower + tally.faster);
        assert!((0.3..0.95).contains(&foretold), "{foretold}");
        assert!(found - foretold < 0.015 && foretold - found < 0.015 + loss, "{found} {foretold}");
    }
}

#[test]
fn claims_from_within_that_are_wider_than_the_trials_hold_a_verdict_back() {
    let effects = [0.02; 6];
    let rule = Stopping::default();
    assert_ne!(rule.look(&effects, &[0.001; 6]), Look::Continue);
    assert_eq!(rule.look(&effects, &[0.05; 6]), Look::Continue);
}
