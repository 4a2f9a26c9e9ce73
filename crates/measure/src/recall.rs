//! Whether an arm computes, or remembers what it computed of the same inputs before.

use crate::claims::lied;
use crate::race::RaceFault;
use crate::stable::{Heat, Inputs};
use proofmark_schema::race::Race;
use proofmark_stats::Stream;

/// Calls on known and on new inputs each at the most, and the time that calls may take for them.
const CALLS: usize = 24;
const CALLS_NS: f64 = 100e6;
/// How much longer a call on new inputs may take than one on known ones: branches are foretold
/// better where they were seen before.
const LONGER: f64 = 1.5;
const LONGER_NS: u64 = 2_000;
/// Trials in which it must be seen, all that there were: a busy machine does not strike new
/// inputs alone so often.
const TRIALS: u32 = 6;

/// All calls of a trial are on the same inputs. An arm that keeps its results would be timed at
/// looking them up: calls on inputs that it has not seen may take no longer, and must be right.
pub(crate) struct Recall {
    /// Trials in which each arm was slow on new inputs; none once it was not.
    slow: Vec<Option<u32>>,
}

impl Recall {
    pub(crate) fn new(arms: usize) -> Recall {
        Recall { slow: vec![Some(0); arms] }
    }

    /// Whether an arm has to be looked at again.
    pub(crate) fn is_open(&self) -> bool {
        self.slow.iter().any(Option::is_some)
    }

    /// Looks at the arms that are not cleared yet, at the end of a trial: what they keep of its
    /// inputs, they keep by now.
    pub(crate) fn look(
        &mut self,
        heat: &mut dyn Heat,
        race: &Race,
        fastest: &[f64],
        stream: &mut Stream,
    ) -> Result<(), RaceFault> {
        for (arm, slow) in self.slow.iter_mut().enumerate() {
            let Some(times) = *slow else { continue };
            let calls = ((CALLS_NS / fastest[arm]) as usize).clamp(1, CALLS);
            *slow = match times_of(heat, arm, calls, stream)? {
                Some((known, new)) if is_longer(new, known) && times + 1 == TRIALS => {
                    let reason = format!(
                        "takes {known} ns on inputs that it has seen and {new} ns on others, in \
                         {TRIALS} trials of {TRIALS}: it remembers results instead of computing \
                         them"
                    );
                    return Err(lied(race, arm, reason));
                }
                Some((known, new)) if is_longer(new, known) => Some(times + 1),
                _ => None,
            };
        }
        Ok(())
    }
}

fn is_longer(new: u64, known: u64) -> bool {
    new as f64 > LONGER * known as f64 + LONGER_NS as f64
}

/// The shortest call on known inputs, and on new ones. Inputs are written either way, so that
/// both find them in the same caches.
fn times_of(
    heat: &mut dyn Heat,
    arm: usize,
    calls: usize,
    stream: &mut Stream,
) -> Result<Option<(u64, u64)>, RaceFault> {
    let Some(known) = least(heat, arm, calls, &mut || Inputs::Same)? else { return Ok(None) };
    let mut is_first = true;
    let new = least(heat, arm, calls, &mut || {
        let seed = stream.next_u64();
        match std::mem::replace(&mut is_first, false) {
            true => Inputs::Checked(seed),
            false => Inputs::New(seed),
        }
    });
    Ok(new?.map(|new| (known, new)))
}

/// The shortest of some calls on inputs.
fn least(
    heat: &mut dyn Heat,
    arm: usize,
    calls: usize,
    inputs: &mut dyn FnMut() -> Inputs,
) -> Result<Option<u64>, RaceFault> {
    let mut least = None;
    for _ in 0..calls {
        let Some(ran) = heat.call_on(arm, inputs())? else { return Ok(None) };
        least = Some(least.unwrap_or(u64::MAX).min(ran.wall_ns));
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::FaultKind;
    use proofmark_arena::Ran;
    use proofmark_schema::{Case, ContenderId, DType, Isa};

    /// An arm with a time for known inputs and one for others, on a machine that is slower by a
    /// factor at each call.
    struct Arm {
        known_ns: f64,
        new_ns: f64,
        slowdown: fn(usize) -> f64,
        calls: Vec<Inputs>,
    }

    impl Heat for Arm {
        fn batch(&mut self, _: usize, _: u32, _: u32) -> Result<Ran, RaceFault> {
            unreachable!("only calls on written inputs are made")
        }

        fn verify(&mut self, _: usize, _: u32) -> Result<u64, RaceFault> {
            unreachable!("only calls on written inputs are made")
        }

        fn call_on(&mut self, _: usize, inputs: Inputs) -> Result<Option<Ran>, RaceFault> {
            let factor = (self.slowdown)(self.calls.len());
            self.calls.push(inputs);
            let each = if inputs == Inputs::Same { self.known_ns } else { self.new_ns };
            Ok(Some(Ran { wall_ns: (each * factor) as u64, ..Ran::default() }))
        }

        fn peak_bytes(&self, _: usize) -> u64 {
            0
        }
    }

    fn race() -> Race {
        Race {
            case: Case::new("scripted", DType::F32),
            arms: vec![ContenderId::native("arm", Isa::Scalar)],
            threads: 1,
            seed: 1,
            trials: Vec::new(),
            slices: Vec::new(),
            checked: 0,
            peak_bytes: vec![0],
            cache: Vec::new(),
            pages: Vec::new(),
            readings: Vec::new(),
            quiet: None,
        }
    }

    /// What is found in at most eight trials, and the calls made for it.
    fn judged(
        known_ns: f64,
        new_ns: f64,
        slowdown: fn(usize) -> f64,
    ) -> (Result<(), RaceFault>, Vec<Inputs>) {
        let mut arm = Arm { known_ns, new_ns, slowdown, calls: Vec::new() };
        let (mut recall, mut stream) = (Recall::new(1), Stream::new(3));
        let mut found = Ok(());
        for _ in 0..8 {
            if found.is_ok() && recall.is_open() {
                found = recall.look(&mut arm, &race(), &[known_ns], &mut stream);
            }
        }
        (found, arm.calls)
    }

    #[test]
    fn an_arm_that_is_slow_on_new_inputs_remembers() {
        let (judged, calls) = judged(10e3, 100e3, |_| 1.0);
        let fault = judged.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Lied);
        assert!(fault.reason.contains("remembers"), "{fault}");
        assert_eq!(calls.len(), TRIALS as usize * 2 * CALLS);
    }

    #[test]
    fn an_arm_that_computes_does_not_even_where_half_of_its_calls_are_disturbed() {
        let (steady, calls) = judged(10e3, 10.2e3, |_| 1.0);
        assert!(steady.is_ok());
        assert_eq!(calls.len(), 2 * CALLS, "one trial is enough");
        assert!(judged(10e3, 10.2e3, |call| if call % 2 == 0 { 3.0 } else { 1.0 }).0.is_ok());
        // A machine that is slow for some milliseconds, while all new inputs are tried.
        let slow = |call: usize| if (CALLS..2 * CALLS).contains(&call) { 3.0 } else { 1.0 };
        let (disturbed, calls) = judged(10e3, 10.2e3, slow);
        assert!(disturbed.is_ok());
        assert_eq!(calls.len(), 4 * CALLS, "looked at once more");
        assert!(judged(300.0, 2_400.0, |_| 1.0).0.is_ok(), "branches of a short call");
    }

    #[test]
    fn new_inputs_are_new_each_time_and_one_result_of_them_is_checked() {
        let (_, calls) = judged(10e3, 10e3, |_| 1.0);
        let seeds: std::collections::BTreeSet<u64> = calls
            .iter()
            .filter_map(|inputs| match inputs {
                Inputs::Same => None,
                Inputs::New(seed) | Inputs::Checked(seed) => Some(*seed),
            })
            .collect();
        assert_eq!(seeds.len(), CALLS);
        assert_eq!(calls.iter().filter(|call| matches!(call, Inputs::Checked(_))).count(), 1);
        let (_, calls) = judged(1e9, 1e9, |_| 1.0);
        assert_eq!(calls.len(), 2, "long calls are not repeated");
    }
}
