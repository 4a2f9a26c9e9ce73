//! A worker that runs no contender but the rulers.

use crate::clock::monotonic_ns;
use crate::{Arena, Fault, Spawn, Worker};

/// A process that reads the rulers on demand, on the processor that the arms run on.
///
/// It is a process of its own and not a thread of the supervisor. It is pinned once instead of
/// moving to the measured processor and back for every reading, and it takes its turn as an arm
/// does.
#[derive(Debug)]
pub struct Ruler(Worker);

/// What the rulers took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulerTimes {
    /// Nanoseconds of each, in the order of `proofmark_schema::conditions::Ruler::ALL`; 0 for
    /// the stream unless it was asked for.
    pub wall_ns: [u64; 3],
    /// The reading with its hand-over on the supervisor's clock.
    pub outer_ns: u64,
}

impl Arena {
    /// Starts a process for the rulers, pinned to a processor.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn ruler(&self, cpu: Option<usize>) -> Result<Ruler, Fault> {
        let mut ruler = Ruler(self.spawn(&Spawn { cpu, ..Spawn::default() })?);
        // The first reading allocates the stream's memory. That time belongs to no measurement.
        ruler.read(true)?;
        Ok(ruler)
    }
}

impl Ruler {
    /// Reads the two short rulers, and the stream where asked for.
    ///
    /// # Errors
    /// If the process has died.
    pub fn read(&mut self, with_stream: bool) -> Result<RulerTimes, Fault> {
        let start_ns = monotonic_ns();
        let wall_ns = self.0.read_rulers(with_stream)?;
        Ok(RulerTimes { wall_ns, outer_ns: monotonic_ns() - start_ns })
    }
}
