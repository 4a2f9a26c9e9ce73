//! What a hostile worker can say: any bytes in the page, any message on the socket.
//!
//! Each test makes as many inputs as `PROOFMARK_HOSTILE_ROUNDS` says, from the same seeds always.

use crate::adopt::Expected;
use crate::batch::Ran;
use crate::crash;
use crate::operand::{Attached, OperandPlan};
use crate::process::Ending;
use crate::worker::read_answer;
use proofmark_schema::crash::Cause;
use proofmark_schema::wire::{FromWorker, HandOver, PROTOCOL, leak};
use proofmark_schema::{DType, ErrorContract, Pages, Receipt};
use proofmark_tensor::{Layout, Placement, mix};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Inputs of each test unless the environment asks for more.
const ROUNDS: u64 = 20_000;

#[expect(clippy::disallowed_methods, reason = "how long a test runs is the caller's choice")]
fn rounds() -> u64 {
    let asked = std::env::var("PROOFMARK_HOSTILE_ROUNDS").ok();
    asked.map_or(ROUNDS, |count| count.parse().expect("PROOFMARK_HOSTILE_ROUNDS is a number"))
}

/// Random numbers, many of them extreme.
struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice { seed, drawn: 0 }
    }

    fn word(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed, 0, self.drawn)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.word() % limit as u64) as usize
    }

    /// Any number: small, huge, near an address, or random.
    fn number(&mut self) -> u64 {
        let word = self.word();
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX - word % 4096,
            3 => i64::MAX as u64 + word % 2,
            4 => word % 16,
            5 => 1 << (word % 64),
            _ => word,
        }
    }
}

fn operand(name: &str, writable: bool) -> Attached {
    let plan = OperandPlan {
        name: name.to_owned(),
        dtype: DType::F32,
        layout: Layout::dense([3, 37]),
        placement: Placement::EndFlush,
        writable,
        sets: 2,
        pages: Pages::Small,
        changes: false,
    };
    Attached::new(&plan, 7).unwrap()
}

/// Writes any numbers into every word that a worker can write.
fn scribble(page: &HandOver, dice: &mut Dice) {
    let of_32: [&AtomicU32; 12] = [
        &page.turn,
        &page.prime,
        &page.calls,
        &page.options,
        &page.status,
        &page.leaks,
        &page.switches,
        &page.faults,
        &page.allocations,
        &page.device_calls,
        &page.phase,
        &page.call,
    ];
    of_32.iter().for_each(|word| word.store(dice.number() as u32, Relaxed));
    let of_64: [&AtomicU64; 15] = [
        &page.perturbation_seed,
        &page.start_ns,
        &page.wall_ns,
        &page.cpu_ns,
        &page.own_ns,
        &page.alone_ns,
        &page.same_ns,
        &page.allocated_bytes,
        &page.settle_ns,
        &page.device_kernel_ns,
        &page.device_copy_ns,
        &page.fault_address,
        &page.fault_instruction,
        &page.stack_pointer,
        &page.refused_bytes,
    ];
    let arrays = page.ruler_ns.iter().chain(&page.operand_base);
    of_64.into_iter().chain(arrays).for_each(|word| word.store(dice.number(), Relaxed));
    let signals: [&AtomicI32; 2] = [&page.signal, &page.signal_code];
    signals.iter().for_each(|word| word.store(dice.number() as i32, Relaxed));
    // Most numbers are no signal that has an address.
    if dice.below(2) == 0 {
        page.signal.store(libc::SIGSEGV, Relaxed);
        page.signal_code.store(1, Relaxed);
    }
    // Most addresses are near no operand.
    if dice.below(2) == 0 {
        let near = page.operand_base[0].load(Relaxed).wrapping_add(dice.word() % 8192);
        page.fault_address.store(near.wrapping_sub(4096), Relaxed);
    }
}

#[test]
fn any_page_makes_a_report() {
    let (page, mut dice) = (HandOver::default(), Dice::new(1));
    let operands = [operand("x", false), operand("y", true)];
    let mut placed = 0u64;
    for round in 0..rounds() {
        scribble(&page, &mut dice);
        let ran = Ran::by_worker(&page, dice.number(), dice.number());
        assert_eq!(ran.wall_ns, page.wall_ns.load(Relaxed));
        let names = leak::names(ran.leaks).len() as u32;
        assert_eq!(names, (ran.leaks & 15).count_ones());
        let ending = match round % 2 {
            0 => Ending::Signal(dice.number() as i32),
            _ => Ending::Exit(dice.number() as i32),
        };
        let report = crash::report(&page, &operands, crash::cause(&page, ending), String::new());
        placed += u64::from(report.place.is_some());
        // A report that was written must be readable. This is slow, so a few are.
        if round % 64 == 0 {
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(
                serde_json::from_str::<proofmark_schema::crash::Crash>(&text).unwrap(),
                *report
            );
        }
    }
    assert!(placed > rounds() / 20, "addresses near operands are tried too: {placed}");
}

/// One answer of each kind.
fn answers(dice: &mut Dice) -> Vec<FromWorker> {
    let reason = || "because".to_owned();
    vec![
        FromWorker::Ready { protocol: PROTOCOL },
        FromWorker::Loaded {
            receipt: Box::new(Receipt::default()),
            contract: ErrorContract::default(),
            workspace_bytes: dice.number() as usize,
            prepared_bytes: dice.number() as usize,
            settles: true,
        },
        FromWorker::Unsupported { reason: reason() },
        FromWorker::Broken { reason: reason() },
        FromWorker::Probed { probe: None },
        FromWorker::Copied { pid: dice.number() as i32 },
        FromWorker::Done,
        FromWorker::Failed { reason: reason() },
    ]
}

/// A message: rubbish, an answer, or an answer with bytes changed, left out, repeated or inserted.
fn message(dice: &mut Dice, known: &[Vec<u8>]) -> Vec<u8> {
    if dice.below(4) == 0 {
        let length = dice.below(64);
        return (0..length).map(|_| dice.word() as u8).collect();
    }
    let mut text = known[dice.below(known.len())].clone();
    for _ in 0..dice.below(4) {
        let at = dice.below(text.len().max(1)).min(text.len().saturating_sub(1));
        match dice.below(6) {
            _ if text.is_empty() => {}
            0 => text[at] = dice.word() as u8,
            1 => text.truncate(at),
            2 => drop(text.remove(at)),
            3 => text.extend_from_within(at..),
            4 => text.insert(at, br#"{}[]",:-0"9e"#[dice.below(12)]),
            _ => {
                let digits = dice.number().to_string();
                text.splice(at..at, digits.into_bytes());
            }
        }
    }
    text
}

#[test]
fn any_message_is_read_or_refused() {
    let mut dice = Dice::new(2);
    let known: Vec<Vec<u8>> =
        answers(&mut dice).iter().map(|answer| serde_json::to_vec(answer).unwrap()).collect();
    let (mut read, mut refused) = (0u64, 0u64);
    for _ in 0..rounds() {
        let text = message(&mut dice, &known);
        match read_answer(Some(&text)) {
            Ok(answer) => {
                read += 1;
                assert!(!format!("{answer:?}").is_empty());
            }
            Err(cause) => {
                refused += 1;
                assert_eq!(cause, Cause::UnreadableAnswer);
            }
        }
    }
    assert!(read > rounds() / 20 && refused > rounds() / 20, "{read} read, {refused} refused");
    assert_eq!(read_answer(None), Err(Cause::NoAnswer));
}

/// A worker may name any number for its copy, also that of any process of this machine. The process
/// that is started here for another purpose must live on.
#[test]
fn any_number_of_a_copy_leaves_other_processes_alone() {
    #[expect(clippy::disallowed_methods, reason = "a process that is no worker")]
    let mut bystander = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let mut dice = Dice::new(3);
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers: Vec<i32> =
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.extend((0..rounds()).map(|_| dice.number() as i32));
    // A number that none of this process's children has, so that no group is right.
    let original = rustix::process::Pid::from_raw(i32::MAX).unwrap();
    for number in numbers {
        assert!(Expected::of(original).take(number).is_err(), "process {number} was taken");
    }
    assert!(bystander.try_wait().unwrap().is_none(), "the bystander lives");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}
