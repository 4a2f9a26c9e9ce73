//! A worker as the supervisor uses it.

use crate::channel::Channel;
use crate::clock::monotonic_ns;
use crate::operand::{Attached, OperandPlan, Stray};
use crate::output::Output;
use crate::own_samples::OwnSamples;
use crate::process::Process;
use crate::wait::{GaveUp, wait_for_turn};
use crate::{Fault, Limits, Spawn, crash};
use proofmark_schema::memory::Probe;
use proofmark_schema::wire::{FromWorker, HandOver, PAGE_BYTES, ToWorker, option, status, turn};
use proofmark_schema::{Cache, Case, ContenderId, ErrorContract, FORMAT_VERSION, Family, Receipt};
use proofmark_tensor::{Access, Mapping, Tensor, memfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::Pid;
use rustix::thread::futex;
use std::io;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// What a loaded contender says of itself.
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
}

/// A command to call the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Calls before the clock starts.
    pub prime: u32,
    /// Calls that are timed.
    pub calls: u32,
    /// Check the processor's state after every call, not only at the end.
    pub check_each_call: bool,
    /// Fill the workspace with this pattern first.
    pub dirty_workspace: Option<u32>,
    /// A loop of calls and nothing else, with hot caches: to measure what a batch itself costs.
    pub bare: bool,
    /// Inputs cannot be read once the clock has stopped, and no operand be touched while threads
    /// fall asleep.
    pub seals_inputs: bool,
}

impl Default for Batch {
    /// One call.
    fn default() -> Batch {
        Batch {
            prime: 0,
            calls: 1,
            check_each_call: false,
            dirty_workspace: None,
            bare: false,
            seals_inputs: false,
        }
    }
}

/// What a batch took, as the worker tells it; `outer_ns` and `used_ns` are the supervisor's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Start of the timed calls on the monotonic clock.
    pub start_ns: u64,
    /// Time of the timed calls.
    pub wall_ns: u64,
    /// Processor time of the calling thread for them.
    pub cpu_ns: u64,
    /// From the command to the answer on the supervisor's clock: an upper bound.
    pub outer_ns: u64,
    /// Processor time that the kernel accounts to the whole process meanwhile, priming included;
    /// 0 where it does not say.
    pub used_ns: u64,
    /// Processor time that it used since its last batch, when it was not its turn; 0 where the
    /// kernel does not say.
    pub idle_ns: u64,
    /// Time that results which lie elsewhere took into the outputs, after the batch.
    pub settle_ns: u64,
    /// Involuntary switches of the calling thread.
    pub switches: u32,
    /// Page faults of the calling thread.
    pub faults: u32,
    /// Heap allocations of the process.
    pub allocations: u32,
    /// Bytes that these asked for.
    pub allocated_bytes: u64,
    /// State that was left changed; see [`proofmark_schema::wire::leak`].
    pub leaks: u32,
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
    /// Its processor time when its last batch ended.
    rested_ns: Option<u64>,
    has_ended: bool,
}

impl Worker {
    /// Hands the page over and waits for the worker's first word.
    pub(crate) fn greet(
        process: Process,
        channel: Channel,
        output: Output,
        limits: Limits,
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
            rested_ns: None,
            has_ended: false,
        };
        let greeting = FORMAT_VERSION.to_string();
        let files: Vec<_> =
            [Some(&file), samples_file.as_ref()].into_iter().flatten().map(AsFd::as_fd).collect();
        match worker.ask(greeting.as_bytes(), &files)? {
            FromWorker::Ready { format: FORMAT_VERSION } => Ok(worker),
            FromWorker::Ready { format } => {
                Err(Fault::World(format!("worker speaks format {format}, not {FORMAT_VERSION}")))
            }
            other => Err(worker.broken(&other)),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid().as_raw_nonzero().get().cast_unsigned()
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
        let is_peer = contender.family == Family::Peer;
        let load = ToWorker::Load { contender, case, threads, heap_pad };
        let answer = match is_peer {
            true => self.patiently(|worker| worker.tell(&load, &[])),
            false => self.tell(&load, &[]),
        };
        match answer? {
            FromWorker::Loaded { receipt, contract, workspace_bytes, prepared_bytes } => {
                self.operands.clear();
                Ok(Loaded { receipt, contract, workspace_bytes, prepared_bytes })
            }
            other => Err(self.broken(&other)),
        }
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

    /// Lets the worker copy itself: a new one, that has loaded what this one has.
    pub(crate) fn copy(&mut self, options: &Spawn) -> Result<Worker, Fault> {
        let (channel, control) =
            Channel::pair().map_err(|error| Fault::world("making a socket", error))?;
        let (output, printed) =
            Output::new().map_err(|error| Fault::world("making a pipe", error))?;
        let cpu = options.cpu;
        match self.tell(&ToWorker::Copy { cpu }, &[control.as_fd(), printed.as_fd()])? {
            FromWorker::Copied { pid } => {
                let pid = Pid::from_raw(pid)
                    .ok_or_else(|| Fault::World("a copy without a number".to_owned()))?;
                let process =
                    Process::new(pid).map_err(|error| Fault::world("watching a worker", error))?;
                let limits = self.limits.for_calls_of(options.operations);
                Worker::greet(process, channel, output, limits, options.sampled_hertz)
            }
            other => Err(self.broken(&other)),
        }
    }

    /// Asks with the patience that loading a large library takes.
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
    /// If memory cannot be had; else as for every command.
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

    /// Lets the worker map the very operands of another one, in place of its last ones: the same
    /// pages, so that neither has better ones and both share what the caches hold.
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

    /// What loads of the operands' lines take in the state that they were attached for, and right
    /// afterwards; nothing where the machine cannot tell.
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

    /// The first byte that was written beside a writable operand since it was attached.
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
        if batch.seals_inputs {
            options |= option::SEAL_INPUTS;
        }
        page.prime.store(batch.prime, Relaxed);
        page.calls.store(batch.calls, Relaxed);
        page.options.store(options, Relaxed);
        page.dirt.store(batch.dirty_workspace.unwrap_or(0), Relaxed);
        let used_before = self.process.cpu_ns();
        let start_ns = monotonic_ns();
        self.hand_over(turn::WORKER)?;
        let outer_ns = monotonic_ns() - start_ns;
        let used_after = self.process.cpu_ns();
        let since = |later: Option<u64>, earlier: Option<u64>| {
            later.zip(earlier).map_or(0, |(later, earlier)| later.saturating_sub(earlier))
        };
        let idle_ns = since(used_before, self.rested_ns);
        self.rested_ns = used_after;
        let page = page_of(&self.page);
        if page.status.load(Relaxed) != status::OK {
            let answer = self.answer()?;
            return Err(self.broken(&answer));
        }
        Ok(Ran {
            start_ns: page.start_ns.load(Relaxed),
            wall_ns: page.wall_ns.load(Relaxed),
            cpu_ns: page.cpu_ns.load(Relaxed),
            outer_ns,
            used_ns: since(used_after, used_before),
            idle_ns,
            settle_ns: page.settle_ns.load(Relaxed),
            switches: page.switches.load(Relaxed),
            faults: page.faults.load(Relaxed),
            allocations: page.allocations.load(Relaxed),
            allocated_bytes: page.allocated_bytes.load(Relaxed),
            leaks: page.leaks.load(Relaxed),
        })
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
        // What it does for a message is not done behind anybody's back.
        self.rested_ns = None;
        match self.channel.send(text, files) {
            Ok(()) => {}
            // A worker that has closed its end is dying: the wait says how.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(Fault::world("sending a message", error)),
        }
        self.hand_over(turn::MESSAGE)?;
        self.answer()
    }

    /// Gives the worker its turn and waits until it is ours again.
    fn hand_over(&mut self, to: u32) -> Result<(), Fault> {
        let page = page_of(&self.page);
        page.turn.store(to, Release);
        // Fails for no valid address; a worker that is not waiting yet reads the word first.
        let _ = futex::wake(&page.turn, futex::Flags::empty(), 1);
        let operands: u64 = self.operands.iter().map(Attached::file_bytes).sum();
        let memory_bytes = self.limits.memory_bytes.saturating_add(operands);
        wait_for_turn(page, &self.process, &mut self.output, &self.limits, memory_bytes)
            .map_err(|gave_up| self.gone(gave_up))
    }

    /// The message that must be there.
    fn answer(&mut self) -> Result<FromWorker, Fault> {
        let message =
            self.channel.receive().map_err(|error| Fault::world("receiving an answer", error))?;
        match message.as_deref().map(serde_json::from_slice) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(_)) => Err(Fault::Died(self.end("unreadable answer".to_owned()))),
            None => Err(Fault::Died(self.end("no answer".to_owned()))),
        }
    }

    /// What an answer means that is not the one hoped for.
    fn broken(&mut self, answer: &FromWorker) -> Fault {
        match answer {
            FromWorker::Unsupported { reason } => Fault::Unsupported(reason.clone()),
            FromWorker::Broken { reason } => Fault::Broken(reason.clone()),
            FromWorker::Failed { reason } => Fault::Kernel(reason.clone()),
            _ => Fault::Died(self.end("answer to another question".to_owned())),
        }
    }

    fn gone(&mut self, gave_up: GaveUp) -> Fault {
        match gave_up {
            GaveUp::Ended(ending) => {
                let cause = crash::cause(page_of(&self.page), ending);
                Fault::Died(self.end(cause))
            }
            GaveUp::Memory => Fault::Died(self.end("memory".to_owned())),
            GaveUp::Cpu => Fault::TimedOut(self.end("cpu time".to_owned())),
            GaveUp::Wall => Fault::TimedOut(self.end("wall time".to_owned())),
            GaveUp::Silence => Fault::TimedOut(self.end("no progress".to_owned())),
        }
    }

    /// Ends the process and writes the report.
    fn end(&mut self, cause: String) -> Box<proofmark_schema::proof::Crash> {
        self.has_ended = true;
        self.process.end();
        self.output.drain();
        crash::report(page_of(&self.page), &self.operands, cause, self.output.text())
    }
}

fn make_page() -> io::Result<(Mapping, OwnedFd)> {
    let file = memfd("hand-over", PAGE_BYTES)?;
    let page = Mapping::of_file(file.as_fd(), PAGE_BYTES, Access::ReadWrite)?;
    Ok((page, file))
}

/// The page as atomics.
fn page_of(mapping: &Mapping) -> &HandOver {
    // SAFETY: the mapping is a zeroed page of `PAGE_BYTES`, which hold a `HandOver`; it is page
    // aligned, any bits are valid atomics, and all access on both sides is atomic.
    unsafe { &*mapping.base().cast::<HandOver>() }
}
