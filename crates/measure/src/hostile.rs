//! Races of arms that report any numbers: each ends, with times or with a fault that has a name.

use crate::fault::{FaultKind, RaceFault};
use crate::race::{is_enough, run};
use crate::ruler::{conditions, ruler_stability};
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable, Turn};
use crate::summary::{compare, ratio_of_first, time_of_call};
use proofmark_arena::{Ran, RulerTimes};
use proofmark_schema::race::{Race, Trial};
use proofmark_schema::{Case, ContenderId, DType, Isa};
use proofmark_stats::Stream;

/// Reports that are made unless the environment asks for more.
const ROUNDS: u64 = 20_000;
/// Maximum number of reports in one race. A race that needs more would never end.
const MOST_REPORTS: u64 = 200_000;

#[expect(clippy::disallowed_methods, reason = "how long a test runs is the caller's choice")]
fn rounds() -> u64 {
    let asked = std::env::var("PROOFMARK_HOSTILE_ROUNDS").ok();
    asked.map_or(ROUNDS, |count| count.parse().expect("PROOFMARK_HOSTILE_ROUNDS is a number"))
}

/// Arms that report what they like.
struct Liars {
    arms: usize,
    stream: Stream,
    /// In how many of 1000 reports every number is arbitrary.
    boldness: u64,
    reports: u64,
}

/// A random number, often an extreme one.
fn any(stream: &mut Stream) -> u64 {
    let word = stream.next_u64();
    match stream.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - word % 4096,
        3 => word % 16,
        4 => 1 << (word % 64),
        _ => word,
    }
}

impl Liars {
    fn report(&mut self) -> Ran {
        self.reports += 1;
        assert!(self.reports < MOST_REPORTS, "the race does not end");
        let stream = &mut self.stream;
        // What the supervisor measures is true.
        let bits = 1 + stream.below(34);
        let outer_ns = 1 + stream.below(1 << bits);
        let used_ns = stream.below(2 * outer_ns);
        let is_bold = stream.below(1000) < self.boldness;
        // A longer time than the supervisor's ends the race, so most claims are below it.
        let wall_ns = if is_bold { any(stream) } else { stream.below(outer_ns + 1) };
        Ran {
            start_ns: any(stream),
            wall_ns,
            cpu_ns: any(stream),
            own_ns: any(stream),
            alone_ns: any(stream),
            same_ns: any(stream),
            outer_ns,
            used_ns,
            settle_ns: if is_bold { any(stream) } else { 0 },
            device_calls: any(stream) as u32,
            device_kernel_ns: any(stream),
            device_copy_ns: any(stream),
            switches: any(stream) as u32,
            faults: any(stream) as u32,
            allocations: any(stream) as u32,
            allocated_bytes: any(stream),
            leaks: any(stream) as u32,
        }
    }
}

impl Stable for Liars {
    fn arms(&self) -> usize {
        self.arms
    }

    fn operand_bytes(&self, arm: usize) -> u64 {
        1 << (10 * arm)
    }

    fn trial(
        &mut self,
        _: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        heat(self)
    }
}

impl Heat for Liars {
    fn batch(&mut self, _: usize, _: &Turn) -> Result<Ran, RaceFault> {
        Ok(self.report())
    }

    fn verify(&mut self, arm: usize, _: u32, _: u64) -> Result<(u64, Ran), RaceFault> {
        if self.stream.below(1000) < self.boldness {
            let reason = "a timed output was wrong".to_owned();
            let contender = format!("arm {arm}");
            return Err(RaceFault { arm, contender, kind: FaultKind::Wrong, reason });
        }
        Ok((16, self.report()))
    }

    fn peak_bytes(&self, arm: usize) -> u64 {
        self.reports << arm
    }

    fn resident_bytes(&self, arm: usize) -> u64 {
        self.reports << arm
    }

    fn homecoming_ns(&self, _: usize, claimed_ns: u64) -> u64 {
        crate::claims::homecoming(4096, claimed_ns)
    }

    fn rulers(&mut self, _: bool) -> Option<RulerTimes> {
        // Rulers are read in a worker without a contender, but its program may be a stranger's.
        let wall_ns = [(); 3].map(|()| any(&mut self.stream));
        Some(RulerTimes { wall_ns, outer_ns: 1 + self.stream.below(1 << 20) })
    }
}

/// Everything that is computed of a race.
fn read(race: &Race) {
    for arm in 0..race.arms.len() as u32 {
        time_of_call(race, arm, 0.95);
        compare(race, 0, arm, 0.95);
        ratio_of_first(race, 0, arm, race.trials.len(), 0.95);
        race.grown(arm as usize);
    }
    conditions(race);
    ruler_stability(race);
}

#[test]
fn a_race_ends_whatever_its_arms_report() {
    let (mut reports, mut seed) = (0, 0);
    let (mut clean, mut faults) = (0u32, 0u32);
    while reports < rounds() {
        seed += 1;
        let mut stream = Stream::new(seed);
        let arms = 1 + stream.below(4) as usize;
        let boldness = [0, 1, 100][stream.below(3) as usize];
        let quick = RaceRules::quick(seed);
        let rules = if stream.below(4) == 0 { quick.revealing(1000) } else { quick };
        let mut liars = Liars { arms, stream, boldness, reports: 0 };
        let names: Vec<ContenderId> =
            (0..arms).map(|arm| ContenderId::native(&format!("arm{arm}"), Isa::Scalar)).collect();
        let case = Case::new("hostile", DType::F32);
        let ended = run(&mut liars, &case, &names, 1, &rules, &mut |race| {
            race.trials.len() as u32 >= rules.least_trials && is_enough(race, &rules)
        });
        reports += liars.reports;
        match ended {
            Ok(race) => {
                clean += 1;
                read(&race);
            }
            Err(fault) => {
                faults += 1;
                assert!(fault.arm < arms && !fault.reason.is_empty(), "{fault}");
            }
        }
    }
    assert!(clean > 0 && faults > 0, "{clean} races without a fault, {faults} with one");
}
