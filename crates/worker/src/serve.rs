//! The worker's life: it waits for a turn, carries out the command and hands the turn back.

use crate::clock::thread_cpu_ns;
use crate::contender::Contender;
use crate::operands::Operands;
use crate::plant::Plant;
use crate::rulers::Rulers;
use crate::{batch, cache, channel, copy, guarded, page, sampling, signals};
use proofmark_contract::Entry;
use proofmark_own::OwnShelf;
use proofmark_peers::{NotLoaded, PeerShelf};
use proofmark_schema::wire::{FromWorker, HandOver, PROTOCOL, ToWorker, phase, status, turn};
use proofmark_schema::{Cache, ContenderId, Family};
use proofmark_tensor::AlignedBuffer;
use rustix::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Why a worker gave up.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The supervisor's end of the socket is closed, or this is no such socket.
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
    /// The first datagram is not that of a supervisor which speaks the same protocol.
    #[error("no supervisor of protocol {PROTOCOL:016x} on the socket")]
    Greeting,
    /// A message that cannot be read.
    #[error("message: {0}")]
    Message(#[from] serde_json::Error),
    /// The turn has an unknown value.
    #[error("turn {0} is unknown")]
    Turn(u32),
}

const NOT_LOADED: &str = "no contender with operands is loaded";

/// What a worker can load.
#[derive(Clone)]
pub struct Known {
    /// Ops with their kernels.
    pub entries: &'static [&'static Entry],
    /// Where peers are.
    pub shelf: PeerShelf,
    /// Ops of the user, with their kernels.
    pub own: OwnShelf,
    /// What is planted into kernels of this project, for the tool's own tests.
    pub plant: Plant,
    /// Whether every call of a library must leave its result in the outputs, within the clock.
    pub settles_each_call: bool,
}

impl Known {
    /// These ops and no peers.
    pub fn only(entries: &'static [&'static Entry]) -> Known {
        let own = OwnShelf::new(Vec::new(), None);
        let (shelf, plant) = (PeerShelf::new(""), Plant::default());
        Known { entries, shelf, own, plant, settles_each_call: false }
    }
}

/// Serves the supervisor on `control_fd` until it says to end.
///
/// Takes over the process: fatal signals and panics are caught from here on. The descriptor is
/// this function's to close.
///
/// # Errors
/// If the supervisor is gone or does not keep to the protocol.
pub fn serve(known: Known, control_fd: RawFd) -> Result<(), ServeError> {
    // SAFETY: the process was started with this descriptor for this purpose, and nothing else
    // in it uses it.
    let socket = unsafe { OwnedFd::from_raw_fd(control_fd) };
    // Nothing that a kernel starts may hold the socket open.
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC).map_err(io::Error::from)?;
    let greeting = channel::receive(&socket)?;
    let is_known = greeting.text == format!("{PROTOCOL:016x}").as_bytes();
    let (true, [file, samples @ ..]) = (is_known, &greeting.files[..]) else {
        return Err(ServeError::Greeting);
    };
    let page = page::map(file.as_fd())?;
    guarded::install();
    signals::install()?;
    if let [samples, ..] = samples {
        sampling::start(samples.as_fd())?;
    }
    drop(greeting);
    // This comes after the handlers' stack is set: permission is refused where that stack is too
    // small for tiles. Where there are no tiles, kernels that need them say so.
    proofmark_simd::state::request_amx();
    page::wait_for_turn(page);
    channel::answer(&socket, &FromWorker::Ready { protocol: PROTOCOL })?;
    page::hand_back(page);
    Worker { known, socket, page, operands: None, contender: None, rulers: None, own_ns: 0 }.run()
}

struct Worker {
    known: Known,
    socket: OwnedFd,
    page: &'static HandOver,
    /// They are dropped before the contender and do not use its memory. Both are dropped when
    /// another contender is loaded.
    operands: Option<Operands>,
    contender: Option<Contender>,
    /// Made when they are first read, which never happens in a worker that runs a contender.
    rulers: Option<Rulers>,
    /// Processor time of this thread when the last batch ended.
    own_ns: u64,
}

impl Worker {
    fn run(mut self) -> Result<(), ServeError> {
        loop {
            match page::wait_for_turn(self.page) {
                turn::WORKER => self.batch()?,
                turn::MESSAGE => self.message()?,
                turn::RULERS => self.read_rulers(),
                turn::QUIT => return Ok(()),
                other => return Err(ServeError::Turn(other)),
            }
            page::hand_back(self.page);
        }
    }

    fn batch(&mut self) -> Result<(), ServeError> {
        let ended = match (&mut self.contender, &mut self.operands) {
            (Some(contender), Some(operands)) => batch::run(self.page, contender, operands),
            _ => {
                Err(batch::Failure { status: status::KERNEL_ERROR, reason: NOT_LOADED.to_owned() })
            }
        };
        let status = match ended {
            Ok(()) => status::OK,
            Err(failure) => {
                channel::answer(&self.socket, &channel::failed(failure.reason))?;
                failure.status
            }
        };
        self.page.status.store(status, Relaxed);
        // The time counts from the end of one batch to the end of the next, as the supervisor
        // counts the process: waking up for a turn is not work of the contender.
        let own_ns = thread_cpu_ns();
        self.page.own_ns.store(own_ns - self.own_ns, Relaxed);
        self.own_ns = own_ns;
        Ok(())
    }

    fn read_rulers(&mut self) {
        let with_stream = self.page.calls.load(Relaxed) != 0;
        let times = self.rulers.get_or_insert_with(Rulers::new).read(with_stream);
        for (place, time) in self.page.ruler_ns.iter().zip(times) {
            place.store(time, Relaxed);
        }
    }

    fn message(&mut self) -> Result<(), ServeError> {
        let received = channel::receive(&self.socket)?;
        let message = serde_json::from_slice(&received.text)?;
        let page = self.page;
        let answer = guarded::call(|| self.carry_out(message, &received.files));
        page.phase.store(phase::IDLE, Relaxed);
        channel::answer(&self.socket, &answer.unwrap_or_else(channel::failed))?;
        Ok(())
    }

    fn carry_out(&mut self, message: ToWorker, files: &[OwnedFd]) -> FromWorker {
        let done = match message {
            ToWorker::Load { contender, case, threads, heap_pad } => {
                self.page.phase.store(phase::LOAD, Relaxed);
                self.operands = None;
                self.contender = None;
                match Contender::load(&self.known, &contender, case, threads, heap_pad) {
                    Err(NotLoaded::Unsupported(reason)) => {
                        return FromWorker::Unsupported { reason };
                    }
                    Err(NotLoaded::Broken(reason)) => return FromWorker::Broken { reason },
                    Ok(contender) => return self.contender.insert(contender).introduce(),
                }
            }
            ToWorker::Attach { operands, cache } => self.attach(&operands, files, cache),
            ToWorker::Threads { threads } => self.loaded().map(|own| own.set_threads(threads)),
            ToWorker::Prepare => self.prepare(),
            ToWorker::Warm { contender } => match warm(&self.known, &contender) {
                Ok(true) => Ok(()),
                Ok(false) => return FromWorker::Unsupported { reason: "it loads fast".to_owned() },
                Err(reason) => return FromWorker::Broken { reason },
            },
            ToWorker::Copy { cpu } => match self.copy(cpu, files) {
                Ok(pid) => return FromWorker::Copied { pid },
                Err(reason) => Err(reason),
            },
            ToWorker::Probe => match (&self.contender, &self.operands) {
                (Some(contender), Some(operands)) => {
                    return FromWorker::Probed { probe: cache::probe(contender, operands) };
                }
                _ => Err(NOT_LOADED.to_owned()),
            },
        };
        match done {
            Ok(()) => FromWorker::Done,
            Err(reason) => channel::failed(reason),
        }
    }

    /// Makes a copy of this process, which serves another socket and never returns from here.
    fn copy(&self, cpu: Option<usize>, files: &[OwnedFd]) -> Result<i32, String> {
        let [control, printed] = files else { return Err("a socket and a pipe come along".into()) };
        match copy::copy(control, printed, cpu).map_err(|error| format!("copying: {error}"))? {
            copy::Side::Original { pid } => Ok(pid),
            copy::Side::Copy { control } => copy::end(serve(self.known.clone(), control)),
        }
    }

    fn loaded(&mut self) -> Result<&mut Contender, String> {
        self.contender.as_mut().ok_or_else(|| "no contender is loaded".to_owned())
    }

    fn attach(
        &mut self,
        maps: &[proofmark_schema::wire::OperandMap],
        files: &[OwnedFd],
        cache: Cache,
    ) -> Result<(), String> {
        // The old operands go first, so that old and new ones are never held together.
        self.operands = None;
        let page = self.page;
        let contender = self.loaded()?;
        // Packed weights belong to the operands they were packed from.
        contender.is_prepared = contender.prepared.as_slice().is_empty();
        self.operands = Some(Operands::map(page, &contender.signature, maps, files, cache)?);
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), String> {
        let (Some(contender), Some(operands)) = (&mut self.contender, &mut self.operands) else {
            return Err(NOT_LOADED.to_owned());
        };
        self.page.phase.store(phase::PREPARE, Relaxed);
        // The buffer is taken out of the contender while it is written, so the call finds no packed
        // weights.
        let mut prepared = std::mem::replace(&mut contender.prepared, AlignedBuffer::new(0));
        let kernel = contender.kernel;
        let mut call = batch::call_on(contender, &mut operands.sets[0]);
        let packed = kernel.prepare(&mut call, prepared.as_mut_slice());
        contender.prepared = prepared;
        packed.map_err(|error| error.to_string())?;
        operands.copy_prepared(contender.prepared.as_slice());
        contender.is_prepared = true;
        Ok(())
    }
}

/// Loads what a peer needs in every case, and returns whether that saves anything.
fn warm(known: &Known, contender: &ContenderId) -> Result<bool, String> {
    match contender.family {
        Family::Peer => {
            Ok(proofmark_peers::warm(&known.shelf, &contender.name)? && copy::is_possible())
        }
        // References of own ops and the wrong kernels that are made of them share an interpreter.
        Family::Mutant => Ok(known.own.warm()? && copy::is_possible()),
        Family::Own if *contender == proofmark_own::reference_id() => {
            Ok(known.own.warm()? && copy::is_possible())
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::{BorrowedFd, IntoRawFd};
    use rustix::net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
        SocketType, sendmsg, socketpair,
    };
    use std::io::IoSlice;
    use std::mem::MaybeUninit;

    fn send(socket: &OwnedFd, text: &str, file: BorrowedFd<'_>) {
        let files = [file];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut room);
        assert!(beside.push(SendAncillaryMessage::ScmRights(&files)));
        let text = [IoSlice::new(text.as_bytes())];
        sendmsg(socket, &text, &mut beside, SendFlags::empty()).expect("the greeting is sent");
    }

    #[test]
    fn every_greeting_of_another_protocol_is_refused() {
        let mut greetings: Vec<String> =
            (0..64).map(|bit| format!("{:016x}", PROTOCOL ^ 1 << bit)).collect();
        greetings.extend(["", "1", "2", "3", "0000000000000000"].map(str::to_owned));
        for greeting in greetings {
            let kind = SocketType::SEQPACKET;
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
            let page = proofmark_tensor::memfd("page", proofmark_schema::wire::PAGE_BYTES).unwrap();
            send(&ours, &greeting, page.as_fd());
            let served = serve(Known::only(&[]), theirs.into_raw_fd());
            // An empty datagram is the end of the socket.
            let is_refused = matches!(served, Err(ServeError::Greeting | ServeError::Socket(_)));
            assert!(is_refused, "`{greeting}`: {served:?}");
        }
    }
}
