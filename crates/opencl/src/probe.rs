//! What a device can do at best, measured by kernels that do nothing else.

use crate::launcher::release;
use crate::session::{Session, told};
use cl3::command_queue::enqueue_nd_range_kernel;
use cl3::device::{CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, get_device_info};
use cl3::event::{CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START, get_event_profiling_info};
use cl3::kernel::set_kernel_arg;
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::types::{cl_kernel, cl_mem};
use proofmark_schema::probe::{DeviceProbe, DeviceRate};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("../kernels/probe.cl");
const OPTIONS: &str = "-cl-std=CL1.2 -cl-mad-enable";
/// Bytes of a vector of the kernels.
const VECTOR: usize = 64;
/// Operations of a round of `peak` in one work-item: eight multiply-adds of 16 elements.
const ROUND: f64 = 256.0;
/// Work-items for each compute unit.
const ITEMS: usize = 4;
/// A launch takes about this long, so that its own cost is small beside it.
const LAUNCH: Duration = Duration::from_millis(4);
/// Working sets: the least, and the greatest in multiples of the device's cache.
const LEAST_SET: usize = 1 << 15;
const BEYOND: usize = 4;
/// The cache of a device that does not say how large it is.
const USUAL_CACHE: usize = 4 << 20;
/// The greatest working set, whatever the cache.
const GREATEST_SET: usize = 1 << 28;
const LAUNCHES: usize = 200;
/// The set that is read after a sweep and after itself: what caches near a compute unit hold.
const COLD_SET: usize = 1 << 20;
const COLD_READS: usize = 9;

/// Probes the chosen device on one compute unit and on all of them, for about so many seconds.
///
/// # Errors
/// If there is no device, or it refuses a kernel.
pub fn probe(seconds: f64) -> Result<Vec<DeviceProbe>, String> {
    let (_, device) = crate::device::first()?;
    let all = usize::try_from(device.limits.compute_units).unwrap_or(1).max(1);
    let mut units = vec![1, all];
    units.dedup();
    let each = Duration::from_secs_f64(seconds / units.len() as f64);
    units.into_iter().map(|units| of(units, each)).collect()
}

fn of(units: usize, time: Duration) -> Result<DeviceProbe, String> {
    let session = Session::open(units)?;
    let cache = get_device_info(session.id(), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    let cache = cache.map_or(0, |value| value.to_ulong()) as usize;
    let cache = if cache == 0 { USUAL_CACHE } else { cache };
    let most = usize::try_from(session.device.limits.buffer_bytes).unwrap_or(GREATEST_SET);
    let greatest = (BEYOND * cache).min(GREATEST_SET).min(most).max(LEAST_SET);
    let sets: Vec<usize> = std::iter::successors(Some(LEAST_SET), |bytes| Some(bytes * 4))
        .take_while(|bytes| *bytes < cache / 2)
        .chain([cache / 2, greatest])
        .collect();
    let bench = Bench::open(&session, greatest)?;
    // One part of the time each; the launch and the flush take little.
    let share = time / (sets.len() as u32 + 1);
    let gflops = bench.peak(share)?;
    let rate = |bytes: &usize| {
        let gbps = bench.stream(*bytes, share)?;
        Ok(DeviceRate { bytes: *bytes as u64, gbps })
    };
    let reads = sets.iter().map(rate).collect::<Result<Vec<_>, String>>()?;
    Ok(DeviceProbe {
        device: session.device.name.clone(),
        model: session.device.model.clone(),
        driver: session.device.driver.clone(),
        units: units as u64,
        gflops,
        reads,
        launch_ns: bench.launch()?,
        cold_times: bench.cold_times(COLD_SET.min(greatest))?,
    })
}

/// The probing kernels with their buffers.
struct Bench<'a> {
    session: &'a Session,
    peak: cl_kernel,
    stream: cl_kernel,
    sweep: cl_kernel,
    nothing: cl_kernel,
    /// What is read, of so many bytes, and one result of each work-item.
    x: cl_mem,
    y: cl_mem,
    bytes: usize,
    items: usize,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        for buffer in [self.x, self.y] {
            // SAFETY: made by this bench, and released once. An error would leave it to the driver.
            let _ = unsafe { release_mem_object(buffer) };
        }
    }
}

impl<'a> Bench<'a> {
    fn open(session: &'a Session, bytes: usize) -> Result<Bench<'a>, String> {
        let kernel = |name| session.kernel(SOURCE, OPTIONS, name, (1, 0));
        // SAFETY: without flags for memory of the host, none is looked at.
        let buffer = |bytes| unsafe {
            create_buffer(session.context, CL_MEM_READ_WRITE, bytes, null_mut())
                .map_err(told("clCreateBuffer"))
        };
        let items = ITEMS * session.units;
        let bench = Bench {
            session,
            peak: kernel("peak")?,
            stream: kernel("stream")?,
            sweep: kernel("sweep")?,
            nothing: kernel("nothing")?,
            x: buffer(bytes)?,
            y: buffer(items * size_of::<f32>())?,
            bytes,
            items,
        };
        // Memory that was never written may be one page of zeros.
        bench.sweep(bytes)?;
        Ok(bench)
    }

    /// Launches a kernel and waits; gives what the device's clock says it took.
    fn launch_of(&self, kernel: cl_kernel, items: usize) -> Result<Duration, String> {
        let local = 1usize;
        // SAFETY: arguments are set by the caller, whose buffers have the sizes that they say.
        let event = unsafe {
            enqueue_nd_range_kernel(
                self.session.queue,
                kernel,
                1,
                null(),
                &raw const items,
                &raw const local,
                0,
                null(),
            )
        };
        let event = event.map_err(told("clEnqueueNDRangeKernel"))?;
        self.session.finish()?;
        let at = |what| get_event_profiling_info(event, what).map_or(0, |it| it.to_ulong());
        let (start, end) = (at(CL_PROFILING_COMMAND_START), at(CL_PROFILING_COMMAND_END));
        release(event);
        Ok(Duration::from_nanos(end.saturating_sub(start).max(1)))
    }

    fn set<T>(&self, kernel: cl_kernel, number: u32, value: &T) -> Result<(), String> {
        let place = std::ptr::from_ref(value).cast();
        // SAFETY: the value has so many bytes; OpenCL checks them against the kernel's own.
        unsafe { set_kernel_arg(kernel, number, size_of::<T>(), place) }
            .map_err(told("clSetKernelArg"))
    }

    /// The least time of a launch of about [`LAUNCH`] and its rounds, until launches took the time.
    fn best(
        &self,
        kernel: cl_kernel,
        rounds_at: u32,
        time: Duration,
    ) -> Result<(f64, i32), String> {
        let mut rounds = 1i32;
        loop {
            self.set(kernel, rounds_at, &rounds)?;
            let took = self.launch_of(kernel, self.items)?;
            if took >= LAUNCH || rounds >= 1 << 24 {
                break;
            }
            rounds *= 2;
        }
        let (mut spent, mut best) = (Duration::ZERO, Duration::MAX);
        while spent < time || best == Duration::MAX {
            let took = self.launch_of(kernel, self.items)?;
            spent += took;
            best = best.min(took);
        }
        Ok((best.as_secs_f64(), rounds))
    }

    fn peak(&self, time: Duration) -> Result<f64, String> {
        self.set(self.peak, 0, &self.y)?;
        let (seconds, rounds) = self.best(self.peak, 1, time)?;
        Ok(ROUND * f64::from(rounds) * self.items as f64 / seconds / 1e9)
    }

    /// Sets the arguments of `stream` but the rounds; gives the bytes of a round.
    fn set_stream(&self, bytes: usize) -> Result<usize, String> {
        // Four vectors a step.
        let count = (bytes / VECTOR / self.items / 4).max(1) * 4;
        self.set(self.stream, 0, &self.x)?;
        self.set(self.stream, 1, &self.y)?;
        self.set(self.stream, 2, &(count as i32))?;
        let read = count * VECTOR * self.items;
        assert!(read <= self.bytes, "a working set within the buffer");
        Ok(read)
    }

    fn stream(&self, bytes: usize, time: Duration) -> Result<f64, String> {
        let read = self.set_stream(bytes)?;
        let (seconds, rounds) = self.best(self.stream, 3, time)?;
        Ok(read as f64 * f64::from(rounds) / seconds / 1e9)
    }

    /// Writes all of the buffer, which is larger than the caches.
    fn sweep(&self, bytes: usize) -> Result<(), String> {
        self.set(self.sweep, 0, &self.x)?;
        self.set(self.sweep, 1, &((bytes / VECTOR / self.items) as i32))?;
        self.set(self.sweep, 2, &0.5f32)?;
        self.launch_of(self.sweep, self.items).map(drop)
    }

    /// What the host waits for a kernel that does nothing: the median.
    #[expect(clippy::disallowed_methods, reason = "what the host waits is the host's time")]
    fn launch(&self) -> Result<f64, String> {
        let mut times = Vec::with_capacity(LAUNCHES);
        for _ in 0..LAUNCHES {
            let start = Instant::now();
            self.launch_of(self.nothing, 1)?;
            times.push(start.elapsed().as_nanos() as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[LAUNCHES / 2])
    }

    /// How many times longer a read takes after a sweep over all of the buffer than after itself:
    /// that a sweep empties the caches.
    fn cold_times(&self, bytes: usize) -> Result<f64, String> {
        self.set_stream(bytes)?;
        self.set(self.stream, 3, &1i32)?;
        let (mut cold, mut hot) = (Vec::new(), Vec::new());
        for _ in 0..COLD_READS {
            // The set is the beginning of the buffer, and the sweep ends at its end.
            self.sweep(self.bytes)?;
            cold.push(self.launch_of(self.stream, self.items)?.as_secs_f64());
            hot.push(self.launch_of(self.stream, self.items)?.as_secs_f64());
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        Ok(median(&mut cold) / median(&mut hot))
    }
}
