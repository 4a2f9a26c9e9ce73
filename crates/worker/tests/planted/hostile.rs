//! A worker that keeps to no protocol: the supervisor always gets an answer or a fault, and no
//! process but the worker is harmed.

use crate::copy::case;
use crate::stage::{contender, plans};
use proofmark_arena::{Arena, Batch, Change, Fault, Inputs, Limits, Spawn, Worker};
use proofmark_schema::wire::{FromWorker, HandOver, PAGE_BYTES, PROTOCOL, turn};
use proofmark_schema::{ContenderId, DType};
use proofmark_tensor::{Access, Mapping, Placement, mix};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::process::{Child, ExitCode};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Hostile workers of a test unless the environment asks for more.
const WORKERS: u64 = 60;
/// Rounds of the other tests of hostile workers for which one process is started here.
const ROUNDS_A_WORKER: u64 = 10_000;

#[expect(clippy::disallowed_methods, reason = "how long a test runs is the caller's choice")]
fn workers() -> u64 {
    let asked = std::env::var("PROOFMARK_HOSTILE_ROUNDS").ok();
    let rounds = asked.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    WORKERS.max(rounds / ROUNDS_A_WORKER)
}

/// Random numbers.
struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    fn word(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed, 0, self.drawn)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }
}

/// The worker's main: `__hostile SEED --control-fd N`.
pub(crate) fn serve_hostile(words: &[String]) -> ExitCode {
    let after = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    let (Some(seed), Some(control)) = (after("__hostile"), after("--control-fd")) else {
        return ExitCode::from(70);
    };
    // SAFETY: the supervisor has started this process with this descriptor, which nothing closes.
    let socket = unsafe { BorrowedFd::borrow_raw(control as i32) };
    let Some(file) = receive(socket) else { return ExitCode::from(70) };
    let Ok(mapping) = Mapping::of_file(file.as_fd(), PAGE_BYTES, Access::ReadWrite) else {
        return ExitCode::from(70);
    };
    misbehave(socket, &mapping, Dice { seed, drawn: 0 })
}

/// Takes a message; gives the file that came with it.
fn receive(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let mut text = vec![0; 1 << 17];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut text)];
    recvmsg(socket, parts, &mut control, RecvFlags::DONTWAIT).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    })
}

fn misbehave(socket: BorrowedFd<'_>, mapping: &Mapping, mut dice: Dice) -> ExitCode {
    // SAFETY: the mapping is page aligned and holds `PAGE_BYTES` bytes, of which any are valid
    // atomics; both sides use atomics only.
    let page = unsafe { &*mapping.base().cast::<HandOver>() };
    // SAFETY: as above.
    let words =
        unsafe { std::slice::from_raw_parts(mapping.base().cast::<AtomicU32>(), PAGE_BYTES / 4) };
    let say = |text: &[u8]| {
        // A supervisor that does not listen any more ends this process.
        let _ = send(socket, text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    };
    let answer = |answer: &FromWorker| say(&serde_json::to_vec(answer).unwrap_or_default());
    let parent = rustix::process::getppid().map_or(1, |pid| pid.as_raw_nonzero().get());
    let mut is_first = true;
    loop {
        while page.turn.load(Acquire) == turn::SUPERVISOR {
            std::thread::sleep(Duration::from_micros(20));
        }
        // The greeting was read already. Later messages are taken or left.
        if !is_first && dice.below(8) > 0 {
            receive(socket);
        }
        let deed = if is_first { 0 } else { dice.below(32) };
        is_first = false;
        match deed {
            0 => answer(&FromWorker::Ready { protocol: PROTOCOL }),
            // As an honest worker would, so that more is asked of it.
            1..=5 | 16.. => answer(&FromWorker::Done),
            6 => answer(&FromWorker::Copied { pid: parent }),
            7 => answer(&FromWorker::Copied { pid: dice.word() as i32 }),
            8 => answer(&FromWorker::Failed { reason: "\u{1b}[2J".repeat(400) }),
            9 => say(&dice.word().to_le_bytes()),
            10 => (0..dice.below(200)).for_each(|_| answer(&FromWorker::Done)),
            11 => return ExitCode::from(dice.word() as u8),
            // It waits for ever, in a tenth of these cases: each costs the time of a limit.
            12 if dice.below(10) == 0 => std::thread::sleep(Duration::from_secs(1000)),
            13 => say(&vec![b'['; 100_000]),
            // It hands back without a word.
            _ => {}
        }
        if dice.below(8) == 0 {
            for word in &words[1..] {
                word.store(dice.word() as u32, Relaxed);
            }
        }
        // A number that is no turn at all, before the turn is handed back.
        if dice.below(8) == 0 {
            page.turn.store(dice.word() as u32 | 8, Release);
        }
        page.turn.store(turn::SUPERVISOR, Release);
        let _ = rustix::thread::futex::wake(&page.turn, rustix::thread::futex::Flags::empty(), 1);
    }
}

/// A process that has nothing to do with workers.
struct Bystander(Child);

impl Bystander {
    #[expect(clippy::disallowed_methods, reason = "a process that is no worker")]
    fn start() -> Bystander {
        Bystander(std::process::Command::new("sleep").arg("1000").spawn().expect("sleep starts"))
    }

    fn check(&mut self) {
        assert!(self.0.try_wait().expect("a child").is_none(), "the bystander lives");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("stat");
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        // It may still be read from the disk, but no signal has stopped it.
        assert!(matches!(state, Some('S' | 'D' | 'R')), "the bystander is stopped: {state:?}");
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn hostile(seed: u64) -> Arena {
    let limits = Limits {
        cpu: Duration::from_secs(2),
        wall: Duration::from_secs(2),
        silence: Duration::from_millis(200),
        memory_bytes: 256 << 20,
    };
    let program = std::env::current_exe().expect("this program has a path");
    let words = vec!["__hostile".into(), seed.to_string().into()];
    Arena::new(program, words).with_limits(limits)
}

/// Asks the worker for one thing after another until one ends it; gives how many were asked.
fn ask_everything(worker: &mut Worker, dice: &mut Dice) -> u32 {
    let (who, case) = (contender("good"), case(1, 1024, DType::F32));
    let change = Change { seed: dice.word(), with_weights: true };
    let mut has_operands = false;
    for asked in 0..12 {
        let told = match dice.below(9) {
            0 => worker.load(&who, &case, 1, 0).map(|_| has_operands = false),
            1 | 2 => worker.attach(&plans(Placement::EndFlush)).inspect(|()| has_operands = true),
            3 => worker.prepare(),
            4 => worker.set_threads(2),
            5 => worker.probe().map(drop),
            6 => worker.hold(),
            7 => worker.run(&Batch::default()).map(drop),
            _ => {
                let inputs = Inputs::Perturbed(change);
                worker.run(&Batch { calls: 5, inputs, ..Batch::default() }).map(drop)
            }
        };
        if has_operands {
            worker.kept(3, 1, (0, 7));
            worker.stray();
            worker.unwritten(1, 7);
        }
        worker.footprint();
        worker.confinement();
        if let Err(Fault::Died(_) | Fault::TimedOut(_) | Fault::World(_)) = told {
            return asked;
        }
    }
    12
}

#[expect(clippy::disallowed_methods, reason = "a worker that is not ended would be waited for")]
pub(crate) fn a_hostile_worker_gets_nothing_but_a_fault() {
    let mut bystander = Bystander::start();
    let mut asked = 0;
    for seed in 0..workers() {
        let start = Instant::now();
        if let Ok(mut worker) = hostile(seed).spawn(&Spawn::default()) {
            asked += ask_everything(&mut worker, &mut Dice { seed, drawn: 0 });
        }
        assert!(start.elapsed() < Duration::from_secs(60), "worker {seed} is not ended");
        bystander.check();
    }
    // On a busy machine many are ended at their first silence.
    assert!(u64::from(asked) > workers() / 4, "workers answer for a while: {asked}");
}

pub(crate) fn a_hostile_copy_is_no_process_of_others() {
    let mut bystander = Bystander::start();
    let peer: ContenderId = "peer/hostile".parse().expect("an id");
    let mut refused = 0;
    for seed in 0..workers() {
        // No process here is a copy: whatever number the worker tells, nothing is taken.
        if let Err(fault) = hostile(seed).spawn_for(&peer, &Spawn::default()) {
            refused += u32::from(fault.to_string().contains("taking charge of a worker's copy"));
        }
        bystander.check();
    }
    assert!(refused > 0, "some workers tell a number");
}
