//! A worker as the supervisor uses it.

use crate::adopt::Expected;
use crate::awake::{Awake, Watch};
use crate::batch::{Batch, Change, Inputs, Ran};
use crate::channel::Channel;
use crate::clock::monotonic_ns;
use crate::operand::{Attached, OperandPlan, Stray};
use crate::output::Output;
use crate::own_samples::OwnSamples;
use crate::process::{Process, own_waited_ns};
use crate::regime::Guard;
use crate::wait::{GaveUp, wait_for_turn};
use crate::{Fault, Footprint, Limits, Spawn, code, crash, footprint};
use proofmark_sandbox::Warden;
use proofmark_schema::crash::{Cause, Crash};
use proofmark_schema::isolation::Confinement;
use proofmark_schema::memory::Probe;
use proofmark_schema::wire::{
    FromWorker, HandOver, LEDGER_CALLS, LEDGER_OFFSET, Ledger, PAGE_BYTES, PROTOCOL, ToWorker,
    option, status, turn,
};
use proofmark_schema::{Cache, Case, ContenderId, ErrorContract, Family, Isolation, Receipt};
use proofmark_tensor::{Access, Mapping, Tensor, memfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::thread::futex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The part of a batch that waiting for a processor may take before the batch counts as disturbed.
const WAITED_PART: u64 = 20;

/// What a loaded contender reports about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Version, build, path.
    pub receipt: Receipt,
    /// What it promises.
    pub contract: ErrorContract,
    /// Bytes of scratch memory it works in.
    pub workspace_bytes: usize,
    /// Bytes of packed weights; if not 0, [`Worker::prepare`] must come before a batch.
    pub prepared_bytes: usize,
    /// Results come into the outputs after the clock has stopped.
    pub settles: bool,
}

/// A running worker. Dropping it ends the process and gives back all of its memory.
#[derive(Debug)]
pub struct Worker {
    process: Process,
    channel: Channel,
    output: Output,
    page: Mapping,
    pub(crate) own_samples: Option<OwnSamples>,
    limits: Limits,
    operands: Vec<Attached>,
    /// Whether it is stopped while it is not its turn.
    is_held: bool,
    has_ended: bool,
    /// What guards its sandbox, if it is in one.
    guard: Option<Guard>,
    /// What keeps its processor awake, if it is held and the supervisor's clock is its time.
    awake: Option<Arc<Awake>>,
}

impl Worker {
    /// Hands the page over and waits for the worker's first word.
    pub(crate) fn greet(
        process: Process,
        channel: Channel,
        output: Output,
        (limits, guard): (Limits, Option<Guard>),
        sampled_hertz: Option<u64>,
    ) -> Result<Worker, Fault> {
        let (page, file) = make_page().map_err(|error| Fault::world("making a page", error))?;
        let (own_samples, samples_file) = sampled_hertz.map(OwnSamples::new).transpose()?.unzip();
        let mut worker = Worker {
            process,
            channel,
            output,
            page,
            own_samples,
            limits,
            operands: Vec::new(),
            is_held: false,
            has_ended: false,
            guard,
            awake: None,
        };
        let greeting = format!("{PROTOCOL:016x}");
        let files: Vec<_> =
            [Some(&file), samples_file.as_ref()].into_iter().flatten().map(AsFd::as_fd).collect();
        match worker.ask(greeting.as_bytes(), &files)? {
            FromWorker::Ready { protocol: PROTOCOL } => Ok(worker),
            FromWorker::Ready { protocol } => {
                let said = format!("worker speaks protocol {protocol:016x}, not {PROTOCOL:016x}");
                Err(Fault::World(said))
            }
            other => Err(worker.broken(&other)),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid().as_raw_nonzero().get().cast_unsigned()
    }

    /// How long the worker and this thread have waited for a processor so far.
    fn waited_ns(&self) -> u64 {
        self.process.waited_ns().saturating_add(own_waited_ns())
    }

    /// Whether its reports are not trusted.
    fn is_mistrusted(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.level == Isolation::T3)
    }

    /// How it is confined, and what its contender has tried so far that the sandbox refused.
    pub fn confinement(&self) -> Confinement {
        let plain = || Confinement { level: Isolation::T1, ..Confinement::default() };
        self.guard.as_ref().map_or_else(plain, |guard| guard.confinement(self.pid()))
    }

    /// Loads a contender for a case, in place of the last one; operands are detached.
    ///
    /// # Errors
    /// `Unsupported` if it does not do the case; else as for every command.
    pub fn load(
        &mut self,
        contender: &ContenderId,
        case: &Case,
        threads: usize,
        heap_pad: usize,
    ) -> Result<Loaded, Fault> {
        let (contender, case) = (contender.clone(), case.clone());
        let is_patient = contender.family != Family::Native;
        let load = ToWorker::Load { contender, case, threads, heap_pad };
        let answer = match is_patient {
            true => self.patiently(|worker| worker.tell(&load, &[])),
            false => self.tell(&load, &[]),
        };
        match answer? {
            FromWorker::Loaded { receipt, contract, workspace_bytes, prepared_bytes, settles } => {
                self.operands.clear();
                // What the worker itself reports about its files is not trusted.
                let mut receipt = Receipt { program: None, libraries: Vec::new(), ..*receipt };
                self.note_code(&mut receipt);
                Ok(Loaded { receipt, contract, workspace_bytes, prepared_bytes, settles })
            }
            other => Err(self.broken(&other)),
        }
    }

    /// Notes in the contender's receipt the program that the worker runs and the libraries that it
    /// has opened so far: many open more of them in their first call.
    pub fn note_code(&self, receipt: &mut Receipt) {
        code::note(self.process.pid(), receipt);
    }

    /// Lets the worker load what every case of a contender needs; `false` if that saves nothing.
    pub(crate) fn warm(&mut self, contender: &ContenderId) -> Result<bool, Fault> {
        match self.patiently(|worker| {
            worker.tell(&ToWorker::Warm { contender: contender.clone() }, &[])
        })? {
            FromWorker::Done => Ok(true),
            FromWorker::Unsupported { .. } => Ok(false),
            other => Err(self.broken(&other)),
        }
    }

    /// Lets the worker copy itself. The new worker has loaded what this one has.
    pub(crate) fn copy(&mut self, options: &Spawn) -> Result<Worker, Fault> {
        let warden = self.guard.as_ref().map(|guard| guard.warden.clone());
        warden.iter().for_each(Warden::expect_copy);
        let copy = self.copy_once(options);
        warden.iter().for_each(Warden::expect_no_copy);
        copy
    }

    fn copy_once(&mut self, options: &Spawn) -> Result<Worker, Fault> {
        let (channel, control) =
            Channel::pair().map_err(|error| Fault::world("making a socket", error))?;
        let (output, printed) =
            Output::new().map_err(|error| Fault::world("making a pipe", error))?;
        let message = ToWorker::Copy { cpu: options.cpu };
        let expected = Expected::of(self.process.pid());
        match self.tell(&message, &[control.as_fd(), printed.as_fd()])? {
            FromWorker::Copied { pid } => {
                let taken = expected.take(pid);
                let process = taken
                    .map_err(|error| Fault::world("taking charge of a worker's copy", error))?;
                let guard = self.guard.clone();
                let guard = guard.map(|guard| Guard { cpu: options.cpu, ..guard });
                let terms = (self.limits.for_calls_of(options.operations), guard);
                Worker::greet(process, channel, output, terms, options.sampled_hertz)
            }
            other => Err(self.broken(&other)),
        }
    }

    /// Asks with the longer limits that loading a large library needs.
    fn patiently<T>(&mut self, ask: impl FnOnce(&mut Worker) -> T) -> T {
        let usual = self.limits;
        self.limits = usual.patient();
        let answer = ask(self);
        self.limits = usual;
        answer
    }

    /// Makes operands, in the order of the op's signature, and lets the worker map them in place
    /// of the last ones. Elements are zero; every byte around them is a canary. Calls find them
    /// in the caches.
    ///
    /// # Errors
    /// If memory cannot be allocated; else as for every command.
    pub fn attach(&mut self, plans: &[OperandPlan]) -> Result<(), Fault> {
        self.attach_for(plans, Cache::Hot)
    }

    /// The same, with the caches in this state before every timed call.
    ///
    /// # Errors
    /// As for [`Worker::attach`].
    pub fn attach_for(&mut self, plans: &[OperandPlan], cache: Cache) -> Result<(), Fault> {
        let seed = monotonic_ns();
        let make = |plan: &OperandPlan| {
            Attached::new(plan, seed)
                .map_err(|error| Fault::world(&format!("making operand `{}`", plan.name), error))
        };
        self.hand_out(plans.iter().map(make).collect::<Result<_, _>>()?, cache)
    }

    /// Lets the worker map the same operands as another worker, in place of its last ones. Both use
    /// the same pages, so that neither has better ones and both share what the caches hold.
    ///
    /// # Errors
    /// If they cannot be mapped again; else as for every command.
    pub fn attach_same(&mut self, other: &Worker, cache: Cache) -> Result<(), Fault> {
        let again = |operand: &Attached| {
            operand.again().map_err(|error| Fault::world("mapping an operand again", error))
        };
        self.hand_out(other.operands.iter().map(again).collect::<Result<_, _>>()?, cache)
    }

    fn hand_out(&mut self, attached: Vec<Attached>, cache: Cache) -> Result<(), Fault> {
        let files = attached.iter().map(|operand| operand.file().try_clone_to_owned());
        let files: Vec<OwnedFd> = files
            .collect::<Result<_, _>>()
            .map_err(|error| Fault::world("handing operands over", error))?;
        let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        let operands = attached.iter().map(Attached::map).collect();
        // Kept from here on, so that a crash while the worker maps them can be named.
        self.operands = attached;
        self.done(&ToWorker::Attach { operands, cache }, &files)
    }

    /// The times of loads from the operands' lines in the state that they were attached for, and
    /// right afterwards; `None` if the machine cannot measure them.
    ///
    /// # Errors
    /// As for every command.
    pub fn probe(&mut self) -> Result<Option<Probe>, Fault> {
        match self.tell(&ToWorker::Probe, &[])? {
            FromWorker::Probed { probe } => Ok(probe),
            other => Err(self.broken(&other)),
        }
    }

    /// Bytes of operands that the worker has mapped by huge pages, and that it has mapped at all,
    /// as the kernel accounts for them.
    pub fn huge_and_mapped_bytes(&self) -> (u64, u64) {
        self.process.huge_and_mapped_bytes()
    }

    /// Lets the worker read the rulers; times in the order of `Ruler::ALL`, 0 for the stream
    /// unless it is asked for.
    pub(crate) fn read_rulers(&mut self, with_stream: bool) -> Result<[u64; 3], Fault> {
        self.check_alive()?;
        page_of(&self.page).calls.store(u32::from(with_stream), Relaxed);
        self.hand_over(turn::RULERS)?;
        let page = page_of(&self.page);
        Ok(page.ruler_ns.each_ref().map(|time| time.load(Relaxed)))
    }

    /// Forbids further writable mappings of inputs that change between calls. Every worker that
    /// shares these inputs has attached them.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn seal_inputs(&self) -> Result<(), Fault> {
        let sealed = self.operands.iter().try_for_each(Attached::seal);
        sealed.map_err(|error| Fault::world("sealing inputs", error))
    }

    /// Stops the worker from now on whenever it is not its turn: none of its threads can run, and
    /// none can write what another worker is judged on.
    ///
    /// # Errors
    /// If it has ended.
    pub fn hold(&mut self) -> Result<(), Fault> {
        self.check_alive()?;
        self.is_held = true;
        let is_timed = |guard: &&Guard| guard.level == Isolation::T3;
        let timed = self.guard.as_ref().filter(is_timed);
        self.awake = timed.and_then(|guard| Awake::on(guard.cpu?));
        self.stop()
    }

    /// Bytes of operands that it maps a second time, to change them between calls.
    pub fn changing_bytes(&self) -> u64 {
        self.operands.iter().map(Attached::changing_bytes).sum()
    }

    /// The bits of the element that call `call` of the last perturbed batch left at its spoiled
    /// place. Untimed calls are counted.
    ///
    /// # Panics
    /// If there is no such operand or call.
    pub fn kept(&self, call: usize, operand: usize, row_and_col: (usize, usize)) -> u64 {
        let word = ledger_of(&self.page).kept[call].load(Relaxed);
        self.operands[operand].element_of_word(word, row_and_col)
    }

    /// Operand `i` as the supervisor sees it: the same memory, read and write.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn tensor(&self, i: usize) -> &Tensor {
        self.tensor_of(i, 0)
    }

    /// Operand `i`, to be filled between batches.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn tensor_mut(&mut self, i: usize) -> &mut Tensor {
        self.tensor_of_mut(i, 0)
    }

    /// Operand `i` of a set.
    ///
    /// # Panics
    /// If there is no such operand or set.
    pub fn tensor_of(&self, i: usize, set: usize) -> &Tensor {
        self.operands[i].tensor(set)
    }

    /// Operand `i` of a set, to be filled between batches.
    ///
    /// # Panics
    /// If there is no such operand or set.
    pub fn tensor_of_mut(&mut self, i: usize, set: usize) -> &mut Tensor {
        self.operands[i].tensor_mut(set)
    }

    /// Fills the elements of operand `i`, in all sets, with poison; see [`crate::poison_word`].
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn poison(&mut self, i: usize, pattern: u64) {
        self.operands[i].poison(pattern);
    }

    /// The first element of operand `i`, in logical order, that still holds its poison.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn unwritten(&self, i: usize, pattern: u64) -> Option<usize> {
        self.operands[i].unwritten(pattern)
    }

    /// The first byte that was written next to a writable operand since it was attached.
    pub fn stray(&self) -> Option<Stray> {
        self.operands.iter().find_map(Attached::stray)
    }

    /// Lets the contender pack its weights.
    ///
    /// # Errors
    /// As for every command.
    pub fn prepare(&mut self) -> Result<(), Fault> {
        self.done(&ToWorker::Prepare, &[])
    }

    /// Changes the contender's thread count.
    ///
    /// # Errors
    /// As for every command.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        self.done(&ToWorker::Threads { threads }, &[])
    }

    /// Calls the kernel.
    ///
    /// # Errors
    /// `Kernel` if a call failed: the worker lives on. `Died` and `TimedOut` if it does not.
    pub fn run(&mut self, batch: &Batch) -> Result<Ran, Fault> {
        self.check_alive()?;
        let page = page_of(&self.page);
        let mut options = 0;
        if batch.check_each_call {
            options |= option::CHECK_EACH_CALL;
        }
        if batch.dirty_workspace.is_some() {
            options |= option::DIRTY_WORKSPACE;
        }
        if batch.bare {
            options |= option::BARE;
        }
        let (inputs, change) = match batch.inputs {
            Inputs::AsTheyAre => (0, None),
            Inputs::Perturbed(change) => (option::PERTURB, Some(change)),
            Inputs::Fresh(change) => (option::FRESH, Some(change)),
            Inputs::Audit(change) => (option::FRESH | option::AUDIT, Some(change)),
        };
        if let Some(Change { seed, with_weights }) = change {
            let calls = batch.prime.saturating_add(batch.calls) as usize;
            assert!(calls <= LEDGER_CALLS, "{calls} perturbed calls, at most {LEDGER_CALLS}");
            options |= inputs | if with_weights { 0 } else { option::KEEP_WEIGHTS };
            page.perturbation_seed.store(seed, Relaxed);
        }
        page.prime.store(batch.prime, Relaxed);
        page.calls.store(batch.calls, Relaxed);
        page.options.store(options, Relaxed);
        page.dirt.store(batch.dirty_workspace.unwrap_or(0), Relaxed);
        let watch = self.awake.clone().map(Watch::start);
        let waited_before = self.is_mistrusted().then(|| self.waited_ns());
        let used_before = self.process.cpu_ns();
        let start_ns = monotonic_ns();
        let outer_ns = self.hand_over_awake(turn::WORKER, watch)?.saturating_sub(start_ns);
        let used = self.process.cpu_ns().zip(used_before);
        let used_ns = used.map_or(0, |(after, before)| after.saturating_sub(before));
        let page = page_of(&self.page);
        if page.status.load(Relaxed) != status::OK {
            let answer = self.answer()?;
            return Err(self.broken(&answer));
        }
        if let Some(before) = waited_before {
            let leaks = page.leaks.load(Relaxed);
            let ran = Ran::by_supervisor(start_ns, outer_ns, used_ns, leaks);
            let waited_ns = self.waited_ns().saturating_sub(before);
            // Where either side waited for a processor, the time is not that of the calls.
            let switches = u32::from(waited_ns > outer_ns / WAITED_PART);
            return Ok(Ran { switches, ..ran });
        }
        Ok(Ran::by_worker(page, outer_ns, used_ns))
    }

    /// The state of the process now, so that what its contender changes can be found.
    pub fn footprint(&mut self) -> Footprint {
        self.output.drain();
        Footprint::of(self.process.pid(), self.output.total())
    }

    /// Whether any of its threads may run elsewhere than on this processor.
    pub fn is_outside(&self, cpu: usize) -> bool {
        footprint::is_outside(self.process.pid(), cpu)
    }

    /// Processor time of the processes that it has started and that live.
    pub fn descendants_ns(&self) -> u64 {
        self.process.descendants_ns()
    }

    /// Greatest resident memory since the start or the last reset.
    pub fn peak_bytes(&self) -> u64 {
        self.process.peak_bytes()
    }

    /// Resident memory now.
    pub fn resident_bytes(&self) -> u64 {
        self.process.resident_bytes()
    }

    /// Starts the peak again, where the system permits it.
    pub fn reset_peak(&self) {
        self.process.reset_peak();
    }

    fn check_alive(&self) -> Result<(), Fault> {
        if self.has_ended { Err(Fault::World("the worker has ended".to_owned())) } else { Ok(()) }
    }

    /// Sends a message that is answered by `Done`.
    fn done(&mut self, message: &ToWorker, files: &[BorrowedFd<'_>]) -> Result<(), Fault> {
        match self.tell(message, files)? {
            FromWorker::Done => Ok(()),
            other => Err(self.broken(&other)),
        }
    }

    fn tell(&mut self, message: &ToWorker, files: &[BorrowedFd<'_>]) -> Result<FromWorker, Fault> {
        self.check_alive()?;
        let text = serde_json::to_vec(message)
            .map_err(|error| Fault::World(format!("writing a message: {error}")))?;
        self.ask(&text, files)
    }

    /// Sends a datagram, hands the turn over and takes the answer.
    fn ask(&mut self, text: &[u8], files: &[BorrowedFd<'_>]) -> Result<FromWorker, Fault> {
        match self.channel.send(text, files) {
            Ok(()) => {}
            // A worker that has closed its end is dying: the wait says how.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(Fault::world("sending a message", error)),
        }
        self.hand_over(turn::MESSAGE)?;
        self.answer()
    }

    /// Gives the worker its turn and waits until the turn is the supervisor's again; returns that
    /// time.
    fn hand_over(&mut self, to: u32) -> Result<u64, Fault> {
        self.hand_over_awake(to, None)
    }

    /// The same; with a watch, neither processor sleeps meanwhile.
    fn hand_over_awake(&mut self, to: u32, watch: Option<Watch>) -> Result<u64, Fault> {
        let page = page_of(&self.page);
        page.turn.store(to, Release);
        // A worker that is resumed reads the word first.
        match self.is_held {
            true => self.process.resume(),
            // The call cannot fail for a valid address. A worker that is not waiting yet reads the
            // word first.
            false => drop(futex::wake(&page.turn, futex::Flags::empty(), 1)),
        }
        let bytes = |operand: &Attached| operand.file_bytes() + operand.changing_bytes();
        let operands: u64 = self.operands.iter().map(bytes).sum();
        let memory_bytes = self.limits.memory_bytes.saturating_add(operands);
        watch.iter().for_each(|watch| watch.look_for_turn(page));
        wait_for_turn(page, &self.process, &mut self.output, &self.limits, memory_bytes)
            .map_err(|gave_up| self.gone(gave_up))?;
        let end_ns = monotonic_ns();
        drop(watch);
        if self.is_held {
            self.stop()?;
        }
        Ok(end_ns)
    }

    /// Stops every thread of the worker, and of what it has started in its group.
    fn stop(&mut self) -> Result<(), Fault> {
        self.process.stop().map_err(|ending| self.gone(GaveUp::Ended(ending)))
    }

    /// The message that must be there.
    fn answer(&mut self) -> Result<FromWorker, Fault> {
        let message =
            self.channel.receive().map_err(|error| Fault::world("receiving an answer", error))?;
        read_answer(message.as_deref()).map_err(|cause| Fault::Died(self.end(cause)))
    }

    /// The fault that an unexpected answer means.
    fn broken(&mut self, answer: &FromWorker) -> Fault {
        match answer {
            FromWorker::Unsupported { reason } => Fault::Unsupported(reason.clone()),
            FromWorker::Broken { reason } => Fault::Broken(reason.clone()),
            FromWorker::Failed { reason } => Fault::Kernel(reason.clone()),
            _ => Fault::Died(self.end(Cause::OtherAnswer)),
        }
    }

    fn gone(&mut self, gave_up: GaveUp) -> Fault {
        match gave_up {
            GaveUp::Ended(ending) => {
                let cause = crash::cause(page_of(&self.page), ending);
                Fault::Died(self.end(cause))
            }
            GaveUp::Memory => Fault::Died(self.end(Cause::Memory)),
            GaveUp::Cpu => Fault::TimedOut(self.end(Cause::CpuTime)),
            GaveUp::Wall => Fault::TimedOut(self.end(Cause::WallTime)),
            GaveUp::Silence => Fault::TimedOut(self.end(Cause::NoProgress)),
        }
    }

    /// Ends the process and writes the report.
    fn end(&mut self, cause: Cause) -> Box<Crash> {
        self.has_ended = true;
        self.process.end();
        self.output.drain();
        crash::report(page_of(&self.page), &self.operands, cause, self.output.text())
    }
}

/// The answer that a worker has sent, or why it must end.
pub(crate) fn read_answer(message: Option<&[u8]>) -> Result<FromWorker, Cause> {
    let text = message.ok_or(Cause::NoAnswer)?;
    serde_json::from_slice(text).map_err(|_| Cause::UnreadableAnswer)
}

fn make_page() -> io::Result<(Mapping, OwnedFd)> {
    let file = memfd("hand-over", PAGE_BYTES)?;
    let page = Mapping::of_file(file.as_fd(), PAGE_BYTES, Access::ReadWrite)?;
    Ok((page, file))
}

/// The ledger as atomics.
fn ledger_of(mapping: &Mapping) -> &Ledger {
    // SAFETY: the mapping has `PAGE_BYTES` bytes, of which the ledger is the last part; its offset
    // is a multiple of its alignment, any bits are valid atomics, and all access is atomic.
    unsafe { &*mapping.base().wrapping_add(LEDGER_OFFSET).cast::<Ledger>() }
}

/// The page as atomics.
fn page_of(mapping: &Mapping) -> &HandOver {
    // SAFETY: the mapping is a zeroed page of `PAGE_BYTES`, which hold a `HandOver`; it is page
    // aligned, any bits are valid atomics, and all access on both sides is atomic.
    unsafe { &*mapping.base().cast::<HandOver>() }
}
