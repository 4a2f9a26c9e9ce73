//! What the runtime itself costs: memory, threads, choices, descriptions, clocks; and targets.

use crate::race::call_ns;
use crate::{EngineError, ops};
use proofmark_contract::{Truth, check_case, complete_case};
use proofmark_measure::{Clock, MonotonicClock};
use proofmark_ops::{Context, library, softmax};
use proofmark_schema::{Case, DType, ErrorContract, Isa};
use proofmark_tensor::{AlignedBuffer, Mapping, Pool, Recycler};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

/// What a cost is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CostUnit {
    /// Nanoseconds of one time.
    #[serde(rename = "ns")]
    Nanos,
    /// A share of all times.
    #[serde(rename = "%")]
    Percent,
    /// A rate.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
}

/// A part of the runtime, and what it costs here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// `group/part`.
    pub name: String,
    /// The median over slices.
    pub value: f64,
    /// The 95th percentile of slices: worse than 19 of 20.
    pub worst: f64,
    /// What both are counted in.
    pub unit: CostUnit,
}

/// A target for the costs whose names begin with `cost`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The beginning of their names.
    pub cost: String,
    /// The most that the median may be.
    pub most: Option<f64>,
    /// The least that it must be.
    pub least: Option<f64>,
    /// The target in words.
    pub says: String,
}

impl Target {
    /// Whether a cost meets it; `None` if it is about another cost.
    pub fn is_met(&self, cost: &Cost) -> Option<bool> {
        let is_meant = cost.name.starts_with(&self.cost);
        let is_met = self.most.is_none_or(|most| cost.value <= most)
            && self.least.is_none_or(|least| cost.value >= least);
        is_meant.then_some(is_met)
    }
}

#[derive(Deserialize)]
struct Targets {
    target: Vec<Target>,
}

/// The targets that are always here.
pub const TARGETS: &str = include_str!("../../suites/seeds/002-targets.toml");

/// Reads targets.
///
/// # Errors
/// If the text is not of the form.
pub fn read_targets(text: &str) -> Result<Vec<Target>, EngineError> {
    let bad = |error: toml::de::Error| EngineError::Unfit(format!("targets: {error}"));
    toml::from_str::<Targets>(text).map(|targets| targets.target).map_err(bad)
}

/// Measures all costs, in this process; some seconds.
///
/// # Errors
/// If memory cannot be mapped.
pub fn costs(cap: Isa) -> Result<Vec<Cost>, EngineError> {
    let mut all = Vec::new();
    allocation(&mut all)?;
    choices(&mut all, cap)?;
    threads(&mut all);
    all.push(times("validation/comparison of 4096 elements", validation()));
    let clock = MonotonicClock;
    all.push(times("profiler/one reading of the clock", || {
        black_box(clock.now_ns());
    }));
    Ok(all)
}

fn allocation(all: &mut Vec<Cost>) -> Result<(), EngineError> {
    let mut recycler = Recycler::new(16 << 20);
    for kib in [1usize, 8, 64, 256, 1024] {
        let bytes = kib << 10;
        all.push(times(&format!("allocation/system, {kib} KiB"), || {
            black_box(Vec::<u8>::with_capacity(black_box(bytes)));
        }));
        all.push(times(&format!("allocation/zeroed and aligned, {kib} KiB"), || {
            black_box(AlignedBuffer::new(black_box(bytes)));
        }));
        all.push(times(&format!("allocation/recycled, {kib} KiB"), || {
            let buffer = recycler.take(black_box(bytes));
            recycler.give(black_box(buffer));
        }));
    }
    Mapping::anonymous(1 << 20).map_err(|error| EngineError::SelfTest {
        what: "allocation between guard pages".to_owned(),
        said: error.to_string(),
    })?;
    all.push(times("allocation/mapped between guard pages, 1024 KiB", || {
        black_box(Mapping::anonymous(1 << 20).ok());
    }));
    // Pages are mapped on first touch, and that is the cost that huge pages reduce.
    for (pages, map) in [
        ("pages of 4 KiB", Mapping::anonymous as fn(usize) -> std::io::Result<Mapping>),
        ("huge pages", Mapping::anonymous_huge),
    ] {
        all.push(times(&format!("allocation/mapped and touched on {pages}, 2048 KiB"), || {
            let mut mapping = map(2 << 20).expect("memory for a moment");
            mapping.bytes_mut().iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            black_box(mapping);
        }));
    }
    all.push(hit_rate());
    let mut buffer = AlignedBuffer::new(1 << 20);
    buffer.as_mut_slice().fill(1);
    let read = times("memory/sequential reads, 1024 KiB", || {
        let words = buffer.elements::<i64>();
        black_box(words.iter().fold(0i64, |sum, word| sum.wrapping_add(*word)));
    });
    let rate = |ns: f64| (1u64 << 20) as f64 / ns;
    let unit = CostUnit::GigabytesPerSecond;
    all.push(Cost { value: rate(read.value), worst: rate(read.worst), unit, ..read });
    Ok(())
}

/// The share of a thousand requests of mixed sizes that a recycled buffer serves. Each buffer is
/// given back after three further requests.
fn hit_rate() -> Cost {
    let mut recycler = Recycler::new(16 << 20);
    let mut held = std::collections::VecDeque::new();
    for n in 0..1000usize {
        held.push_back(recycler.take(1024 << (n * 7 % 11)));
        if held.len() > 3 {
            recycler.give(held.pop_front().expect("four are held"));
        }
    }
    let (hits, misses) = recycler.served();
    let value = 100.0 * hits as f64 / (hits + misses) as f64;
    let name = "allocation/hit rate of recycled buffers".to_owned();
    Cost { name, value, worst: value, unit: CostUnit::Percent }
}

fn choices(all: &mut Vec<Cost>, cap: Isa) -> Result<(), EngineError> {
    let entry = crate::find_op("add")?;
    let case = complete_case(entry.op, &Case::new("add", DType::F32));
    all.push(times("device/feature query", || {
        black_box(proofmark_simd::available(black_box(Isa::Avx512)));
    }));
    all.push(times("device/capability report", || {
        black_box(proofmark_machine::facts(cap));
    }));
    all.push(times("simd/choice of kernel and path", || {
        black_box(library::choose(entry, black_box(&case), 1).is_ok());
    }));
    all.push(times("kernel/creation", || {
        let entry = crate::find_op(black_box("add"));
        black_box(entry.is_ok_and(|entry| check_case(entry.op, &case).is_ok()));
        black_box(library::choose(entry_of(&case), &case, 1).is_ok());
    }));
    let context = Context::serial();
    all.push(times("library/warm call of an empty softmax", || {
        let (x, y): (&[f32], &mut [f32]) = (black_box(&[]), black_box(&mut []));
        black_box(softmax::softmax(&context, x, y).is_ok());
    }));
    let count = ops().len() as f64;
    let cards = times("kernel/description", || {
        for entry in ops() {
            black_box((entry.op.axes(), entry.op.attributes(), entry.op.laws(), entry.op.edges()));
        }
    });
    all.push(Cost { value: cards.value / count, worst: cards.worst / count, ..cards });
    Ok(())
}

fn entry_of(case: &Case) -> &'static proofmark_contract::Entry {
    crate::find_op(&case.op).expect("the case names an op")
}

fn threads(all: &mut Vec<Cost>) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    all.push(times("device/creation of a pool of all processors", || {
        black_box(Pool::new(processors));
    }));
    let pool = Pool::new(processors);
    all.push(times("device/empty region of the pool", || {
        pool.run(processors, &|index| {
            black_box(index);
        });
    }));
}

/// What the gate does with 4096 results.
fn validation() -> impl FnMut() {
    let got: Vec<f64> = (0..4096).map(|n| f64::from(n as f32 * 0.37)).collect();
    let truth = Truth {
        value: got.clone(),
        scale: got.iter().map(|value| value.abs() + 1.0).collect(),
        ..Truth::default()
    };
    let measure = proofmark_gate::measure(&ErrorContract::default());
    move || {
        black_box(proofmark_gate::score(DType::F32, measure, &truth, black_box(&got), 64));
    }
}

/// The time of one call as a cost.
fn times(name: &str, call: impl FnMut()) -> Cost {
    let (value, worst) = call_ns(call);
    Cost { name: name.to_owned(), value, worst, unit: CostUnit::Nanos }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_here_is_about_a_cost_that_is_measured() {
        let costs = costs(Isa::Avx2).unwrap();
        let targets = read_targets(TARGETS).unwrap();
        for target in &targets {
            let judged = costs.iter().filter(|cost| target.is_met(cost).is_some()).count();
            assert!(judged > 0, "{}", target.cost);
        }
        for cost in &costs {
            assert!(cost.value.is_finite() && cost.value > 0.0, "{}", cost.name);
        }
    }

    #[test]
    fn a_target_is_met_up_to_its_limit_and_not_beyond() {
        let cost = |value| Cost {
            name: "allocation/system, 1 KiB".to_owned(),
            value,
            worst: value,
            unit: CostUnit::Nanos,
        };
        let target = |most, least| Target {
            cost: "allocation/".to_owned(),
            most,
            least,
            says: String::new(),
        };
        assert_eq!(target(Some(10.0), None).is_met(&cost(10.0)), Some(true));
        assert_eq!(target(Some(10.0), None).is_met(&cost(10.1)), Some(false));
        assert_eq!(target(None, Some(10.0)).is_met(&cost(9.9)), Some(false));
        let other = Target { cost: "kernel/".to_owned(), ..target(Some(1.0), None) };
        assert_eq!(other.is_met(&cost(0.1)), None);
    }

    #[test]
    fn buffers_given_back_serve_most_requests() {
        assert!(hit_rate().value > 95.0);
        assert!(read_targets("target = 3").is_err());
    }
}
