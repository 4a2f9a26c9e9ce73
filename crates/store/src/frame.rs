//! The journal's frames: how one is written, and how a file of them is judged.
//!
//! ```text
//! magic 4 | payload length 4 | kind 1 | sequence 8 | previous 8 | payload CRC 4 |
//! header CRC 4 | payload
//! ```
//! Numbers are little-endian. `previous` is the beginning of the BLAKE3 hash of the whole frame
//! before, so that a frame cannot be lost, moved or brought in from another journal. The header
//! has a CRC of its own, so that a length can be trusted before the payload is read.

use std::ops::Range;

/// Opens every frame. `0xF5` occurs in no UTF-8 text, so no JSON payload can hold it.
pub(crate) const MAGIC: [u8; 4] = [0xF5, b'P', b'M', b'J'];
/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 33;
/// Greatest payload that is written or read.
pub(crate) const PAYLOAD_LIMIT: usize = 256 << 20;

/// The link from a frame to the one before; all zero before the first.
pub(crate) type Link = [u8; 8];

/// The link that the next frame must carry.
pub(crate) fn link_of(frame: &[u8]) -> Link {
    let mut link = Link::default();
    link.copy_from_slice(&blake3::hash(frame).as_bytes()[..8]);
    link
}

/// A frame as bytes; the caller keeps the payload within [`PAYLOAD_LIMIT`].
pub(crate) fn encode(kind: u8, sequence: u64, previous: Link, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("payloads are limited before they get here");
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.extend(MAGIC);
    frame.extend(length.to_le_bytes());
    frame.push(kind);
    frame.extend(sequence.to_le_bytes());
    frame.extend(previous);
    frame.extend(crc32fast::hash(payload).to_le_bytes());
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(payload);
    frame
}

struct Header {
    length: usize,
    kind: u8,
    sequence: u64,
    previous: Link,
    payload_crc: u32,
}

impl Header {
    /// The header at the beginning of the bytes, if its magic and its CRC hold.
    fn read(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        if bytes[..4] != MAGIC || word(29) != crc32fast::hash(&bytes[..29]) {
            return None;
        }
        Some(Header {
            length: word(4) as usize,
            kind: bytes[8],
            sequence: u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[9 + i])),
            previous: [0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[17 + i]),
            payload_crc: word(25),
        })
    }
}

/// One whole frame within the bytes that were scanned.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) offset: usize,
    pub(crate) payload: Range<usize>,
}

/// What a journal's bytes hold.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The whole frames in order.
    pub(crate) frames: Vec<Frame>,
    /// Where they end; bytes beyond are a torn tail.
    pub(crate) end: usize,
    /// The link that the next frame must carry.
    pub(crate) link: Link,
}

/// Where and why bytes cannot be what was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: usize,
    pub(crate) reason: &'static str,
}

/// Reads frames to the end or to a torn tail.
///
/// Every frame is synced before the next is written, so an unfinished write can only be the last
/// thing in the file. Whatever is broken with more frames behind it is therefore damage.
pub(crate) fn scan(bytes: &[u8]) -> Result<Scan, Damage> {
    let mut scan = Scan::default();
    while scan.end < bytes.len() {
        let offset = scan.end;
        let damage = |reason| Err(Damage { offset, reason });
        let Some(header) = Header::read(&bytes[offset..]) else {
            if has_header(&bytes[offset + 1..]) {
                return damage("a frame is broken, and more follow it");
            }
            return Ok(scan);
        };
        if header.length > PAYLOAD_LIMIT {
            return damage("a frame is longer than any that is written");
        }
        if header.sequence != scan.frames.len() as u64 || header.previous != scan.link {
            return damage("a frame does not follow the one before it");
        }
        let payload = offset + HEADER_BYTES..offset + HEADER_BYTES + header.length;
        let Some(content) = bytes.get(payload.clone()) else {
            return Ok(scan);
        };
        if crc32fast::hash(content) != header.payload_crc {
            if payload.end < bytes.len() {
                return damage("the content of a frame is broken, and more follow it");
            }
            return Ok(scan);
        }
        scan.link = link_of(&bytes[offset..payload.end]);
        scan.end = payload.end;
        scan.frames.push(Frame { kind: header.kind, offset, payload });
    }
    Ok(scan)
}

fn has_header(bytes: &[u8]) -> bool {
    bytes
        .windows(HEADER_BYTES)
        .any(|window| window[0] == MAGIC[0] && Header::read(window).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends, mut link) = (Vec::new(), Vec::new(), Link::default());
        for (sequence, payload) in [&b"{}"[..], b"", b"[1,2]"].into_iter().enumerate() {
            let frame = encode(7, sequence as u64, link, payload);
            link = link_of(&frame);
            bytes.extend(frame);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn frames_read_back_in_order() {
        let (bytes, _) = three();
        let scan = scan(&bytes).unwrap();
        let payloads: Vec<&[u8]> = scan.frames.iter().map(|f| &bytes[f.payload.clone()]).collect();
        assert_eq!(payloads, [&b"{}"[..], b"", b"[1,2]"]);
        assert_eq!(scan.end, bytes.len());
    }

    #[test]
    fn every_single_bit_flip_is_damage_or_a_torn_last_frame() {
        let (bytes, ends) = three();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match scan(&flipped) {
                Ok(scan) => assert_eq!((scan.end, scan.frames.len()), (ends[1], 2), "bit {bit}"),
                Err(damage) => assert!(damage.offset <= bit / 8, "bit {bit}"),
            }
            if bit / 8 < ends[1] {
                assert!(scan(&flipped).is_err(), "bit {bit} lies before the last frame");
            }
        }
    }

    #[test]
    fn a_frame_lost_doubled_or_moved_is_damage() {
        let (bytes, ends) = three();
        let (first, second, third) =
            (&bytes[..ends[0]], &bytes[ends[0]..ends[1]], &bytes[ends[1]..]);
        for parts in [[first, third, &[]], [first, first, second], [second, first, third]] {
            assert!(scan(&parts.concat()).is_err());
        }
    }

    #[test]
    fn a_frame_of_another_journal_does_not_fit() {
        let (mut bytes, ends) = three();
        bytes.truncate(ends[1]);
        bytes.extend(encode(7, 2, [9; 8], b"x"));
        assert_eq!(scan(&bytes).unwrap_err().offset, ends[1]);
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_unread() {
        let mut frame = encode(7, 0, Link::default(), b"");
        frame[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        let crc = crc32fast::hash(&frame[..29]).to_le_bytes();
        frame[29..33].copy_from_slice(&crc);
        assert!(scan(&frame).is_err());
    }
}
