//! The state of the caches: which lines are flushed, and how long a load of one takes.

use crate::clock::monotonic_ns;
use crate::contender::Contender;
use crate::operands::{Operands, Set, Span};
use proofmark_schema::Cache;
use proofmark_schema::memory::Probe;
use proofmark_simd::cache;

/// Maximum number of lines of one operand that a probe samples.
const SAMPLED_LINES: usize = 64;
/// Minimum distance between sampled lines in bytes, because processors fetch lines in pairs.
const LEAST_STEP: usize = 128;
/// Time over which the counter is compared with the clock.
const CALIBRATION_NS: u64 = 200_000;

/// The spans of a set that are out of the caches in a state; packed weights count as weights.
pub(crate) fn cold_spans(state: Cache, set: &Set, prepared: &[u8]) -> Vec<Span> {
    let packed = Span { start: prepared.as_ptr(), bytes: prepared.len(), is_weight: true };
    let mut spans: Vec<Span> = set.spans.iter().copied().chain([packed]).collect();
    spans.retain(|span| {
        span.bytes > 0
            && match state {
                Cache::Hot => false,
                Cache::Cold | Cache::Rotate => true,
                Cache::WeightsCold => span.is_weight,
            }
    });
    spans
}

/// Takes the spans out of all caches and waits until they are.
///
/// # Safety
/// The spans must be mapped.
pub(crate) unsafe fn flush(spans: &[Span]) {
    for span in spans {
        // SAFETY: the caller says that the span is mapped; what is mapped here is readable.
        unsafe { cache::flush(span.start, span.bytes) };
    }
    cache::fence();
}

/// Times loads of sampled lines as the state leaves them, and again right afterwards.
///
/// A cold state is flushed first. For rotating sets the lines are those of the set that the next
/// call takes. The result is `None` where there is no line to sample or no way to tell.
pub(crate) fn probe(contender: &Contender, operands: &Operands) -> Option<Probe> {
    let set = &operands.sets[operands.next];
    let prepared = set.prepared.as_ref().unwrap_or(&contender.prepared).as_slice();
    let spans = cold_spans(operands.cache, set, prepared);
    let lines = sample(&spans);
    if !cache::can_flush() || lines.is_empty() {
        return None;
    }
    if operands.cache != Cache::Rotate {
        // SAFETY: operands and packed weights stay mapped while both are borrowed.
        unsafe { flush(&spans) };
    }
    let state = median_ticks(&lines);
    let hot = median_ticks(&lines);
    // Loads of one byte that was loaded just before: the cost of the instructions around it.
    let own = median_ticks(&vec![lines[0]; lines.len()]);
    let ns = ns_per_tick();
    let time = |ticks: u32| f64::from(ticks.saturating_sub(own)) * ns;
    Some(Probe { state_ns: time(state), hot_ns: time(hot) })
}

/// An address with every bit inverted. Some processors prefetch what an array of addresses points
/// to, and a probe of such an array finds every line warm after the first 50.
#[derive(Clone, Copy)]
struct Hidden(usize);

impl Hidden {
    fn of(line: *const u8) -> Hidden {
        Hidden(!line.expose_provenance())
    }

    fn line(self) -> *const u8 {
        std::ptr::with_exposed_provenance(!self.0)
    }
}

/// Lines over all spans, in an order that no prefetcher follows.
fn sample(spans: &[Span]) -> Vec<Hidden> {
    let mut lines: Vec<Hidden> = Vec::new();
    for span in spans {
        let step = (span.bytes / SAMPLED_LINES).next_multiple_of(64).max(LEAST_STEP);
        let at = |at: usize| Hidden::of(span.start.wrapping_add(at));
        lines.extend((0..span.bytes).step_by(step).map(at));
    }
    // Any order without a stride will do, as long as it is the same every time.
    lines.sort_by_key(|line| proofmark_tensor::mix(1, 0, line.0 as u64));
    lines
}

fn median_ticks(lines: &[Hidden]) -> u32 {
    // SAFETY: every line is the address of a byte of a mapped span; no thread writes it meanwhile.
    let ticks = |line: &Hidden| cache::load_ticks(unsafe { &*line.line() });
    let mut ticks: Vec<u32> = lines.iter().map(ticks).collect();
    ticks.sort_unstable();
    ticks[ticks.len() / 2]
}

fn ns_per_tick() -> f64 {
    let (start_ns, start) = (monotonic_ns(), cache::ticks());
    loop {
        let (ns, ticks) = (monotonic_ns() - start_ns, cache::ticks() - start);
        if ns >= CALIBRATION_NS {
            return ns as f64 / ticks.max(1) as f64;
        }
    }
}
