//! Where in a mapping's body an operand lies: against a guard, off alignment, over a page edge.

use super::page_bytes;

/// How an operand is placed in the body of a [`super::Mapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On a cache line, with a page or more of slack on both sides.
    Aligned64,
    /// Its last byte abuts the trailing guard: reading past the end faults.
    EndFlush,
    /// Its first byte abuts the leading guard: reading before the start faults.
    StartFlush,
    /// This many bytes after a cache line's start; any multiple of the element size, up to a page.
    Shifted(usize),
    /// A page edge lies inside its first vector (32 bytes in, or half way if it is shorter).
    PageCrossing,
}

impl Placement {
    /// Bytes of body, in whole pages, that hold a span under every placement: one page or more
    /// of slack on both sides, or all of it on one side where the span is flush.
    pub fn needed(span_bytes: usize) -> usize {
        // One page before, one after, and one for the longest shift.
        span_bytes.next_multiple_of(page_bytes()) + 3 * page_bytes()
    }

    /// Offset of the span's first byte in the body; a multiple of the element size.
    ///
    /// # Panics
    /// If the span does not fit there, or a shift is no multiple of the element size.
    pub fn offset(self, body_bytes: usize, span_bytes: usize, element_size: usize) -> usize {
        let page = page_bytes();
        let offset = match self {
            Placement::Aligned64 => page,
            Placement::EndFlush => body_bytes.saturating_sub(span_bytes),
            Placement::StartFlush => 0,
            Placement::Shifted(bytes) => page + bytes,
            Placement::PageCrossing => {
                let before_edge = (span_bytes / 2).min(32) / element_size * element_size;
                2 * page - before_edge
            }
        };
        assert!(
            offset + span_bytes <= body_bytes,
            "{span_bytes} bytes at {offset} of {body_bytes}"
        );
        assert_eq!(offset % element_size, 0, "{self:?} misaligns elements of {element_size} bytes");
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placement_fits_the_needed_body_with_its_slack() {
        let page = page_bytes();
        for element_size in [1, 2, 4, 8] {
            for elements in [0, 1, 2, 3, 15, 16, 17, 1023, 1024, 1025, 5000] {
                let span = elements * element_size;
                let body = Placement::needed(span);
                assert_eq!(body % page, 0);
                let offset = |placement: Placement| placement.offset(body, span, element_size);
                assert_eq!(offset(Placement::Aligned64) % 64, 0);
                assert_eq!(offset(Placement::EndFlush) + span, body);
                assert_eq!(offset(Placement::StartFlush), 0);
                for shift in [0, element_size, 7 * element_size, page] {
                    let start = offset(Placement::Shifted(shift));
                    assert_eq!(start % 64, shift % 64);
                    assert!(start >= page && body - start - span >= page);
                }
                let start = offset(Placement::PageCrossing);
                assert!(start >= page && body - start - span >= page);
                if elements >= 2 {
                    assert!(start < 2 * page && start + span.min(64) > 2 * page, "crosses");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "misaligns")]
    fn a_shift_inside_an_element_is_refused() {
        Placement::Shifted(2).offset(Placement::needed(64), 64, 4);
    }
}
