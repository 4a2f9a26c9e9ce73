//! Every op's kernels and mutants through the real gate, in real workers; this file names no op.
//!
//! The test program is its own worker: started with `__worker` it serves, otherwise it tests.

use libtest_mimic::{Arguments, Failed, Trial};
use proofmark_arena::Arena;
use proofmark_contract::{
    AttributeKind, Entry, Kernel, MOST_OF_AXIS, Op, Unsupported, check_case, complete_case,
};
use proofmark_gate::{Depth, Rules, certify, expense};
use proofmark_ops::OPS;
use proofmark_schema::proof::Proof;
use proofmark_schema::{ContenderId, Outcome};
use proofmark_terms::{AttrValue, Case, Isa};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == "__worker") {
        let control = arguments[3].parse().expect("the supervisor passes a descriptor");
        proofmark_worker::serve(proofmark_worker::Known::only(OPS), control)
            .expect("the supervisor speaks our protocol");
        return;
    }
    let trial = |entry: &'static Entry| Trial::test(entry.op.name(), move || conforms(entry));
    libtest_mimic::run(&Arguments::from_args(), OPS.iter().copied().map(trial).collect()).exit();
}

/// All checks of an op. They share one process, and so the truths about its cases.
#[expect(clippy::print_stdout, reason = "the output of a test says what was left out")]
fn conforms(entry: &'static Entry) -> Result<(), Failed> {
    let mut failed = Vec::new();
    let mut check = |name: String, result: Result<(), Failed>| {
        failed.extend(result.err().map(|why| format!("{name}: {}", why.message().unwrap_or(""))));
    };
    check("cases print, parse and fit".into(), cases_fit(entry));
    check("absurd sizes are refused".into(), refuses(entry));
    check("has enough mutants".into(), has_mutants(entry));
    for &kernel in entry.kernels {
        for &isa in kernel.isas().iter().filter(|isa| proofmark_simd::available(**isa)) {
            let who = ContenderId::native(kernel.name(), isa);
            if lacks_a_unit(entry, kernel, isa) {
                println!("{who} needs a unit that this processor has not");
                continue;
            }
            check(format!("{who} is proven"), is_proven(entry, &who));
        }
    }
    for mutant in entry.mutants {
        check(format!("mutant {} is refused", mutant.name), is_refused(entry, mutant.name));
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

fn arena() -> Arena {
    let program = std::env::current_exe().expect("a test knows its own program");
    Arena::new(program, vec!["__worker".into()])
}

fn rules() -> Rules {
    Rules {
        seed: 11,
        threads: 2,
        other_threads: vec![1, 3],
        siblings: Vec::new(),
        depth: Depth::Full,
    }
}

fn cases_fit(entry: &Entry) -> Result<(), Failed> {
    for &dtype in entry.op.dtypes() {
        for case in entry.op.proof_cases(dtype) {
            if case.dtype != dtype || case.to_string().parse::<Case>().as_ref() != Ok(&case) {
                return Err(format!("{case} does not parse back").into());
            }
            check_case(entry.op, &case).map_err(|bad| format!("{case}: {bad}"))?;
        }
    }
    Ok(())
}

/// Sizes that no memory holds are an error before the op multiplies them; whatever passes, with
/// attributes at their ends, is computed with without overflow.
fn refuses(entry: &Entry) -> Result<(), Failed> {
    let op = entry.op;
    for &dtype in op.dtypes() {
        let usual = complete_case(op, &Case::new(op.name(), dtype));
        for (at, axis) in op.axes().iter().enumerate() {
            for size in [u64::MAX, u64::MAX / 2, MOST_OF_AXIS + 1] {
                let mut case = usual.clone();
                case.axes[at].1 = size;
                if check_case(op, &case).is_ok() {
                    return Err(format!("{case}: {} of {size} passes", axis.name).into());
                }
            }
        }
        let mut all = usual.clone();
        all.axes.iter_mut().for_each(|(_, size)| *size = u64::MAX);
        if check_case(op, &all).is_ok() {
            return Err(format!("{all} passes").into());
        }
        for attrs in attributes_at_their_ends(op) {
            for sizes in sizes_within(op.axes().len()) {
                let mut case = usual.clone();
                case.attrs = attrs.clone();
                case.axes.iter_mut().zip(sizes).for_each(|((_, size), new)| *size = new);
                // An overflow anywhere panics in a test, which is compiled with checks.
                if let Ok(signature) = check_case(op, &case) {
                    let _ = (signature.bytes(), op.work(&case), op.reduction(&case));
                    let _ = (op.shape_roles(&case), op.limits(&case));
                }
            }
        }
    }
    Ok(())
}

/// None given, and each attribute alone and all whole numbers together at their ends.
fn attributes_at_their_ends(op: &dyn Op) -> Vec<Vec<(String, AttrValue)>> {
    let mut all = vec![Vec::new()];
    let (mut low_ends, mut high_ends) = (Vec::new(), Vec::new());
    for attribute in op.attributes() {
        let name = attribute.name.to_owned();
        let values = match attribute.kind {
            AttributeKind::Flag { .. } => vec![AttrValue::Flag(true), AttrValue::Flag(false)],
            AttributeKind::Int { low, high, .. } => {
                low_ends.push((name.clone(), AttrValue::Int(low)));
                high_ends.push((name.clone(), AttrValue::Int(high)));
                vec![AttrValue::Int(low), AttrValue::Int(high)]
            }
            AttributeKind::Real { low, high, .. } => {
                vec![AttrValue::Real(low), AttrValue::Real(high)]
            }
            AttributeKind::Word { words, .. } => {
                words.iter().map(|&word| AttrValue::Word(word.to_owned())).collect()
            }
        };
        all.extend(values.into_iter().map(|value| vec![(name.clone(), value)]));
    }
    all.extend([low_ends, high_ends]);
    all
}

/// Sizes that may pass: each axis alone or beside one other as large as it can be, beside ones
/// and zeros.
fn sizes_within(axes: usize) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for others in [0, 1, 2] {
        for first in 0..axes {
            for second in 0..axes {
                for (one, other) in [(40, 12), (40, 11), (31, 20), (26, 26), (20, 31), (16, 16)] {
                    let mut sizes = vec![others; axes];
                    sizes[first] = 1 << one;
                    if second != first {
                        sizes[second] = 1 << other;
                    }
                    all.push(sizes);
                }
            }
        }
    }
    all
}

fn has_mutants(entry: &Entry) -> Result<(), Failed> {
    let count = entry.mutants.len();
    if count < 12 { Err(format!("{count} mutants, at least 12 are due").into()) } else { Ok(()) }
}

/// A third of the portfolio for each element type; `proofmark prove --all` does it all.
fn is_proven(entry: &'static Entry, who: &ContenderId) -> Result<(), Failed> {
    let mut proven = 0;
    for &dtype in entry.op.dtypes() {
        let mut cases = entry.op.proof_cases(dtype);
        cases.retain(|case| does(entry, who, case));
        let offset = who.isa.map_or(0, |isa| isa as usize).min(cases.len().saturating_sub(1));
        let cases: Vec<Case> = cases.into_iter().skip(offset).step_by(3).collect();
        if cases.is_empty() {
            continue;
        }
        let certificate = certify(&arena(), entry.op, who, dtype, &cases, &rules());
        match certificate.outcome() {
            Outcome::Proven => {
                proven += 1;
                let done = |proof: &&Proof| proof.outcome == Outcome::Proven;
                let mut done = certificate.proofs().iter().filter(done);
                done.try_for_each(|proof| is_counted(entry, proof))?;
            }
            Outcome::Unsupported => {}
            outcome => {
                let refusal = certificate.refused().and_then(|proof| proof.refusal.as_ref());
                let reason = refusal.map_or("no reason", |refusal| refusal.reason.as_str());
                let case = certificate.proofs().last().map(|proof| proof.case.to_string());
                return Err(format!("{outcome} on {case:?}: {reason}").into());
            }
        }
    }
    if proven == 0 { Err("no element type was proven".into()) } else { Ok(()) }
}

/// Whether a kernel does no case here for want of a unit of the processor, such as AMX.
fn lacks_a_unit(entry: &Entry, kernel: &dyn Kernel, isa: Isa) -> bool {
    let cases = entry.op.dtypes().iter().flat_map(|&dtype| entry.op.proof_cases(dtype));
    let answers: Vec<_> = cases.map(|case| kernel.supports(&case, isa)).collect();
    let for_want = |answer: &Result<(), Unsupported>| {
        answer.as_ref().is_err_and(|why| why.0.starts_with("this processor has no"))
    };
    answers.iter().all(Result::is_err) && answers.iter().any(for_want)
}

/// What estimates count beforehand is what the stages did; of the laws, some may not apply.
fn is_counted(entry: &Entry, proof: &Proof) -> Result<(), Failed> {
    let counted = expense(entry.op, &proof.case, &rules()).calls;
    let checks: u64 = proof.stages.iter().map(|report| u64::from(report.checks)).sum();
    let laws = entry.op.laws().len() as u64;
    if (counted.saturating_sub(laws)..=counted).contains(&checks) {
        return Ok(());
    }
    Err(format!("{}: {checks} checks, {counted} were counted before", proof.case).into())
}

fn does(entry: &Entry, who: &ContenderId, case: &Case) -> bool {
    let mut kernels = entry.kernels.iter().filter(|kernel| kernel.name() == who.name);
    kernels.any(|kernel| kernel.supports(case, who.isa.unwrap_or(Isa::Scalar)).is_ok())
}

fn is_refused(entry: &'static Entry, name: &str) -> Result<(), Failed> {
    let who = ContenderId::mutant(name);
    let mut ran = 0;
    for &dtype in entry.op.dtypes() {
        let mut cases = entry.op.proof_cases(dtype);
        // Most are found by any case: the cheapest first.
        cases.sort_by_key(|case| entry.op.work(case).flops);
        let certificate = certify(&arena(), entry.op, &who, dtype, &cases, &rules());
        match certificate.outcome() {
            Outcome::Unsupported => {}
            Outcome::Proven => return Err(format!("{dtype}: the gate let it through").into()),
            _ => ran += 1,
        }
    }
    if ran == 0 { Err("it ran on no case".into()) } else { Ok(()) }
}
