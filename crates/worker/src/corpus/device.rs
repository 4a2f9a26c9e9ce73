//! Specimens on a device: programs that launch kernels themselves, and do with queues, events and
//! memory of the device what a function of the host cannot do.

use super::kept::hash;
use super::kernel::Deed;
use super::piece::{Cut, Full, Piece};
use proofmark_contract::{Call, DeviceTimes, ExplicitCase, KernelError};
use proofmark_opencl::{DeviceCopy, Launcher, launch_of, usual};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

type Done = Result<(), KernelError>;

/// Pieces of a call, each with a queue of its own.
struct Queues {
    cut: Cut,
    launchers: Vec<Launcher>,
    /// Compute units that each may use.
    units: usize,
}

impl Queues {
    /// Makes `count` pieces and queues.
    fn new(count: usize) -> Queues {
        Queues { cut: Cut::into(count), launchers: Vec::new(), units: 1 }
    }

    /// The launchers with the pieces of this call. The first call builds the programs.
    fn of(
        &mut self,
        full: &Full,
        call: &Call<'_>,
    ) -> Result<(&mut [Launcher], &mut [Piece]), KernelError> {
        let pieces = self.cut.of(full, call);
        if self.launchers.len() != pieces.len() {
            let open = |piece: &Piece| launcher(full, piece, self.units);
            self.launchers = pieces.iter().map(open).collect::<Result<_, _>>()?;
        }
        Ok((&mut self.launchers, pieces))
    }

    /// Puts every piece into its queue, and sends it to the device.
    fn start(&mut self, full: &Full, call: &Call<'_>) -> Done {
        let (launchers, pieces) = self.of(full, call)?;
        for (launcher, piece) in launchers.iter_mut().zip(pieces) {
            piece.start(launcher)?;
            launcher.flush().map_err(KernelError::Refused)?;
        }
        Ok(())
    }

    /// Waits for all queues.
    fn finish(&self) -> Done {
        self.launchers.iter().try_for_each(|it| it.finish().map_err(KernelError::Refused))
    }
}

fn launcher(full: &Full, piece: &Piece, units: usize) -> Result<Launcher, KernelError> {
    let case = ExplicitCase::of(full.entry.op, &piece.case);
    let id = usual(full.entry.op.name());
    let id = id.ok_or_else(|| KernelError::Refused("the op has no such kernel".to_owned()))?;
    let launch = launch_of(&id, &case).map_err(KernelError::Refused)?;
    Launcher::open(launch, units).map_err(KernelError::Refused)
}

/// A deed on this number of queues.
fn queued(
    count: usize,
    mut run: impl FnMut(&mut Queues, &Full, &mut Call<'_>) -> Done + Send + 'static,
) -> Deed {
    let mut queues = Queues::new(count);
    Deed::new(move |full, call| run(&mut queues, full, call))
}

/// Returns with its launch in the queue.
pub(super) fn left_in_queue() -> Deed {
    queued(1, |queues, full, call| queues.start(full, call))
}

/// Waits for what was in the queue before its launch.
pub(super) fn early_marker() -> Deed {
    queued(1, |queues, full, call| {
        let (launchers, _) = queues.of(full, call)?;
        let before = launchers[0].marker().map_err(KernelError::Refused)?;
        queues.start(full, call)?;
        before.wait().map_err(KernelError::Refused)
    })
}

/// Waits for one of its two queues.
pub(super) fn second_queue() -> Deed {
    queued(2, |queues, full, call| {
        queues.start(full, call)?;
        queues.launchers[0].finish().map_err(KernelError::Refused)
    })
}

/// Waits when results are fetched.
pub(super) fn finish_at_home() -> Deed {
    let queues = Arc::new(Mutex::new(Queues::new(1)));
    let waiting = Arc::clone(&queues);
    Deed::new(move |full, call| {
        queues.lock().unwrap_or_else(PoisonError::into_inner).start(full, call)
    })
    .settling(move |_, _| waiting.lock().unwrap_or_else(PoisonError::into_inner).finish())
}

/// Leaves the launch of the next call in the queue.
pub(super) fn next_in_queue() -> Deed {
    let mut is_there = false;
    queued(1, move |queues, full, call| {
        let is_of_this = is_there && queues.cut.is_of(call);
        if !is_of_this {
            queues.start(full, call)?;
        }
        queues.finish()?;
        queues.start(full, call)?;
        is_there = true;
        Ok(())
    })
}

/// Uses all compute units although it was given one thread.
pub(super) fn more_units() -> Deed {
    let mut queues = Queues { units: usize::MAX, ..Queues::new(1) };
    Deed::new(move |full, call| {
        queues.start(full, call)?;
        queues.finish()
    })
}

/// A memo of the last result in memory of the device, under a key of its inputs.
fn memo(key: fn(&Call<'_>) -> u64) -> Deed {
    let mut kept: Option<(u64, DeviceCopy)> = None;
    queued(1, move |queues, full, call| {
        let now = key(call);
        let (launchers, pieces) = queues.of(full, call)?;
        if let Some((_, copy)) = kept.as_ref().filter(|(of, _)| *of == now)
            && launchers[0].recall(copy, &mut call.outputs[0]).is_ok()
        {
            return Ok(());
        }
        pieces[0].start(&mut launchers[0])?;
        launchers[0].finish().map_err(KernelError::Refused)?;
        let copy = launchers[0].keep(&call.outputs[0]).map_err(KernelError::Refused)?;
        kept = copy.map(|copy| (now, copy));
        Ok(())
    })
}

/// The key is a hash of the inputs.
pub(super) fn memo_hash() -> Deed {
    memo(|call| hash(call.inputs))
}

/// The key is the address of the inputs, by which a buffer is identified.
pub(super) fn memo_buffer() -> Deed {
    memo(|call| call.inputs.iter().fold(0, |key, x| key.rotate_left(7) ^ x.base() as u64))
}

/// Says that its kernels took a tenth of what the device's clock said.
pub(super) fn forged_events() -> Deed {
    Deed::new(|full, call| full.run(call)).timed(|full| {
        let times = full.kernel.device_times();
        DeviceTimes { kernel_ns: times.kernel_ns / 10, ..times }
    })
}

/// Says that its kernels took what the launch of one row took.
pub(super) fn events_of_another() -> Deed {
    static OF_A_ROW: AtomicU64 = AtomicU64::new(0);
    let mut rows = Cut::by_row();
    Deed::new(move |full, call| {
        if OF_A_ROW.load(Relaxed) == 0
            && let Some(row) = rows.of(full, call).first_mut()
        {
            let mut launcher = launcher(full, row, 1)?;
            row.start(&mut launcher)?;
            launcher.finish().map_err(KernelError::Refused)?;
            OF_A_ROW.store(launcher.times().kernel_ns.max(1), Relaxed);
        }
        full.run(call)
    })
    .timed(|full| {
        let times = full.kernel.device_times();
        DeviceTimes { kernel_ns: u64::from(times.calls) * OF_A_ROW.load(Relaxed), ..times }
    })
}

/// Builds its program in its first call.
pub(super) fn lazy_build() -> Deed {
    queued(1, |queues, full, call| {
        queues.start(full, call)?;
        queues.finish()
    })
}

/// Computes halves of the rows on two queues.
pub(super) fn two_queues() -> Deed {
    queued(2, |queues, full, call| {
        queues.start(full, call)?;
        queues.finish()
    })
}

/// Launches a quarter of its rows after the other.
pub(super) fn four_launches() -> Deed {
    queued(4, |queues, full, call| {
        let (launchers, pieces) = queues.of(full, call)?;
        for (launcher, piece) in launchers.iter_mut().zip(pieces) {
            piece.start(launcher)?;
            launcher.finish().map_err(KernelError::Refused)?;
        }
        Ok(())
    })
}

/// Waits for an event behind its launch, and not for the queue.
pub(super) fn waits_for_event() -> Deed {
    queued(1, |queues, full, call| {
        queues.start(full, call)?;
        queues.launchers[0].marker().and_then(|behind| behind.wait()).map_err(KernelError::Refused)
    })
}

/// Asks again and again whether its launch is done.
pub(super) fn polls() -> Deed {
    queued(1, |queues, full, call| {
        queues.start(full, call)?;
        let behind = queues.launchers[0].marker().map_err(KernelError::Refused)?;
        queues.launchers[0].flush().map_err(KernelError::Refused)?;
        while !behind.is_reached() {
            std::thread::yield_now();
        }
        Ok(())
    })
}

/// Copies its operands to memory of its own, launches there, and copies results back.
pub(super) fn staged() -> Deed {
    let mut queues = Queues::new(1);
    queues.cut = Cut::into(1).with_own_inputs().with_own_outputs();
    Deed::new(move |full, call| {
        let (launchers, pieces) = queues.of(full, call)?;
        pieces[0].copy_inputs(call);
        pieces[0].start(&mut launchers[0])?;
        launchers[0].finish().map_err(KernelError::Refused)?;
        pieces[0].copy_outputs(call);
        Ok(())
    })
}
