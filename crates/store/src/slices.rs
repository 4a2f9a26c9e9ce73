//! `slices.bin`: the raw slices of a run and the readings of its rulers, column by column.
//!
//! ```text
//! "PMSLICES" | format 4 | groups 4 | group… | CRC-32 of all before 4
//! group  = item 8 | slices 8 | column × 15, in the order of the fields of `Slice`
//!                 | readings 8 | column × 4, in the order of the fields of `Reading`
//! column = least value 8 | width 1 (1, 2, 4 or 8) | (value − least), each `width` bytes
//! ```
//! Little-endian throughout. Times of one race differ little, so most columns need one or two
//! bytes a slice. Format 2 lacks the last two columns of slices; format 1 lacks the last three, and
//! has no readings.

use crate::entry::ItemEntry;
use crate::{StoreError, durable};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::conditions::{Reading, Ruler};
use proofmark_schema::race::Slice;
use std::path::Path;

const MAGIC: [u8; 8] = *b"PMSLICES";
const COLUMNS: usize = 16;
/// Columns of a slice in formats 1 and 2.
const OLD_COLUMNS: [usize; 2] = [12, 13];
const READING_COLUMNS: usize = 4;

/// The slices of one item's race, in the order they ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceGroup {
    /// The item.
    pub item: u64,
    /// Its slices.
    pub slices: Vec<Slice>,
    /// The readings of its rulers.
    pub readings: Vec<Reading>,
}

/// Reads a `slices.bin`.
pub fn read_slices(path: &Path) -> Result<Vec<SliceGroup>, StoreError> {
    let bytes = durable::read_file(path)?;
    decode(&bytes).map_err(|problem| match problem {
        Problem::Newer(format) => StoreError::Newer { file: path.to_owned(), format },
        Problem::Damaged(reason) => StoreError::damaged(path, 0, reason),
    })
}

/// The format that the beginning of a `slices.bin` states, if it is one.
pub(crate) fn format_of(path: &Path) -> Result<Option<u32>, StoreError> {
    let bytes = durable::read_file(path)?;
    let format = bytes.strip_prefix(&MAGIC).and_then(|rest| rest.first_chunk());
    Ok(format.map(|word| u32::from_le_bytes(*word)))
}

/// The bytes of a `slices.bin` for the races of these items.
pub(crate) fn encode(items: &[ItemEntry]) -> Vec<u8> {
    let races: Vec<_> =
        items.iter().filter_map(|entry| Some((entry.item, entry.race.as_ref()?))).collect();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend((races.len() as u32).to_le_bytes());
    for (item, race) in races {
        bytes.extend(item.to_le_bytes());
        encode_rows(&mut bytes, &race.slices.iter().map(to_row).collect::<Vec<_>>());
        encode_rows(&mut bytes, &race.readings.iter().map(to_reading_row).collect::<Vec<_>>());
    }
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn encode_rows<const N: usize>(bytes: &mut Vec<u8>, rows: &[[u64; N]]) {
    bytes.extend((rows.len() as u64).to_le_bytes());
    for column in 0..N {
        encode_column(bytes, rows.iter().map(|row| row[column]));
    }
}

fn encode_column(bytes: &mut Vec<u8>, values: impl Iterator<Item = u64> + Clone) {
    let least = values.clone().min().unwrap_or(0);
    let span = values.clone().max().unwrap_or(0) - least;
    let width = match span {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    bytes.extend(least.to_le_bytes());
    bytes.push(width as u8);
    for value in values {
        bytes.extend(&(value - least).to_le_bytes()[..width]);
    }
}

/// Written without `..` in both directions, so that a new field of `Slice` cannot be forgotten.
fn to_row(slice: &Slice) -> [u64; COLUMNS] {
    let &Slice {
        trial,
        block,
        position,
        arm,
        calls,
        start_ns,
        wall_ns,
        cpu_ns,
        outer_ns,
        switches,
        faults,
        allocations,
        allocated_bytes,
        used_ns,
        own_ns,
        primed,
    } = slice;
    let small = u64::from;
    [
        small(trial),
        small(block),
        small(position),
        small(arm),
        small(calls),
        start_ns,
        wall_ns,
        cpu_ns,
        outer_ns,
        small(switches),
        small(faults),
        small(allocations),
        allocated_bytes,
        used_ns,
        own_ns,
        small(primed),
    ]
}

fn to_reading_row(reading: &Reading) -> [u64; READING_COLUMNS] {
    let &Reading { trial, block, ruler, wall_ns } = reading;
    [u64::from(trial), u64::from(block), ruler as u64, wall_ns]
}

fn from_reading_row(row: [u64; READING_COLUMNS]) -> Option<Reading> {
    let [trial, block, ruler, wall_ns] = row;
    let ruler = *Ruler::ALL.get(usize::try_from(ruler).ok()?)?;
    Some(Reading {
        trial: u32::try_from(trial).ok()?,
        block: u32::try_from(block).ok()?,
        ruler,
        wall_ns,
    })
}

fn from_row(row: [u64; COLUMNS]) -> Option<Slice> {
    let small = |column: usize| u32::try_from(row[column]).ok();
    Some(Slice {
        trial: small(0)?,
        block: small(1)?,
        position: small(2)?,
        arm: small(3)?,
        calls: small(4)?,
        start_ns: row[5],
        wall_ns: row[6],
        cpu_ns: row[7],
        outer_ns: row[8],
        switches: small(9)?,
        faults: small(10)?,
        allocations: small(11)?,
        allocated_bytes: row[12],
        used_ns: row[13],
        own_ns: row[14],
        primed: small(15)?,
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    Newer(u32),
    Damaged(&'static str),
}

const SHORT: Problem = Problem::Damaged("it ends too early");

/// Takes from the front; every length is checked against what is there before it is used.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], Problem> {
        let count = usize::try_from(count).map_err(|_| SHORT)?;
        let (front, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(front)
    }

    fn number(&mut self, width: u64) -> Result<u64, Problem> {
        Ok(little_endian(self.take(width)?))
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn decode(bytes: &[u8]) -> Result<Vec<SliceGroup>, Problem> {
    let (body, crc) = bytes.split_last_chunk::<4>().ok_or(SHORT)?;
    if !body.starts_with(&MAGIC) {
        return Err(Problem::Damaged("it is not a file of slices"));
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return Err(Problem::Damaged("its checksum does not hold"));
    }
    let mut cursor = Cursor(&body[MAGIC.len()..]);
    let format = cursor.number(4)? as u32;
    if format > FORMAT_VERSION {
        return Err(Problem::Newer(format));
    }
    let count = cursor.number(4)?;
    let group = |_| decode_group(&mut cursor, format);
    let groups = (0..count).map(group).collect::<Result<_, _>>()?;
    if cursor.0.is_empty() { Ok(groups) } else { Err(Problem::Damaged("more follows its end")) }
}

fn decode_group(cursor: &mut Cursor<'_>, format: u32) -> Result<SliceGroup, Problem> {
    let item = cursor.number(8)?;
    let old = (format as usize).checked_sub(1).and_then(|old| OLD_COLUMNS.get(old));
    let columns = old.copied().unwrap_or(COLUMNS);
    let slices = decode_rows(cursor, columns, from_row)?;
    let readings = match format {
        1 => Vec::new(),
        _ => decode_rows(cursor, READING_COLUMNS, from_reading_row)?,
    };
    Ok(SliceGroup { item, slices, readings })
}

/// Reads this many of a row's `N` columns; those that an older format lacks are 0.
fn decode_rows<const N: usize, T>(
    cursor: &mut Cursor<'_>,
    columns: usize,
    from_row: fn([u64; N]) -> Option<T>,
) -> Result<Vec<T>, Problem> {
    let count = cursor.number(8)?;
    let mut parts = Vec::with_capacity(columns);
    for _ in 0..columns {
        let least = cursor.number(8)?;
        let width = cursor.number(1)?;
        if ![1, 2, 4, 8].contains(&width) {
            return Err(Problem::Damaged("a column has an impossible width"));
        }
        let values = cursor.take(count.checked_mul(width).ok_or(SHORT)?)?;
        parts.push((least, values.chunks_exact(width as usize)));
    }
    let mut rows = Vec::new();
    for _ in 0..count {
        let mut row = [0; N];
        for (value, (least, values)) in row.iter_mut().zip(&mut parts) {
            let offset = little_endian(values.next().ok_or(SHORT)?);
            *value =
                least.checked_add(offset).ok_or(Problem::Damaged("a value is out of range"))?;
        }
        rows.push(from_row(row).ok_or(Problem::Damaged("a value is out of range"))?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{item_with_race, race};
    use proptest::prelude::*;

    fn any_slice() -> impl Strategy<Value = Slice> {
        (any::<[u32; 9]>(), any::<[u64; 7]>(), 0u32..64).prop_map(|(small, large, shift)| Slice {
            trial: small[0] >> (shift / 2),
            block: small[1],
            position: small[2],
            arm: small[3],
            calls: small[4],
            start_ns: large[0] >> shift,
            wall_ns: large[1] >> shift,
            cpu_ns: large[2],
            outer_ns: large[3],
            switches: small[5],
            faults: small[6],
            allocations: small[7],
            allocated_bytes: large[4],
            used_ns: large[5],
            own_ns: large[6],
            primed: small[8],
        })
    }

    proptest! {
        #[test]
        fn any_slices_read_back(slices in proptest::collection::vec(any_slice(), 0..40)) {
            let mut entry = item_with_race(3);
            let race = entry.race.as_mut().unwrap();
            race.slices.clone_from(&slices);
            let readings = race.readings.clone();
            let got = decode(&encode(&[entry])).unwrap();
            prop_assert_eq!(got, vec![SliceGroup { item: 3, slices, readings }]);
        }

        #[test]
        fn hostile_bytes_with_a_valid_checksum_never_panic(
            at in 8usize..400, junk in proptest::collection::vec(any::<u8>(), 1..20),
        ) {
            let mut bytes = encode(&[item_with_race(0)]);
            let body = bytes.len() - 4;
            let at = at % body;
            for (i, byte) in junk.iter().enumerate().take(body - at) {
                bytes[at + i] = *byte;
            }
            let crc = crc32fast::hash(&bytes[..body]).to_le_bytes();
            bytes[body..].copy_from_slice(&crc);
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn every_bit_flip_and_every_truncation_is_refused() {
        let bytes = encode(&[item_with_race(0)]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "length {length}");
        }
    }

    /// A file of an older format with the slices of a race.
    fn old_file<const N: usize>(format: u32, slices: &[Slice], readings: &[Reading]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(format.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(7u64.to_le_bytes());
        let old = |slice| <[u64; N]>::try_from(&to_row(slice)[..N]).unwrap();
        encode_rows(&mut bytes, &slices.iter().map(old).collect::<Vec<_>>());
        if format > 1 {
            encode_rows(&mut bytes, &readings.iter().map(to_reading_row).collect::<Vec<_>>());
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    #[test]
    fn files_of_older_formats_read_without_what_they_lack() {
        let race = race(3);
        let lacking = |slice: &Slice| Slice { used_ns: 0, own_ns: 0, primed: 0, ..*slice };
        let slices: Vec<Slice> = race.slices.iter().map(lacking).collect();
        let read = |bytes: &[u8]| decode(bytes).unwrap().remove(0);
        let second = read(&old_file::<13>(2, &slices, &race.readings));
        let readings = race.readings.clone();
        assert_eq!(second, SliceGroup { item: 7, slices: slices.clone(), readings });
        let lacking = |slice: &Slice| Slice { allocated_bytes: 0, ..*slice };
        let slices: Vec<Slice> = slices.iter().map(lacking).collect();
        let first = read(&old_file::<12>(1, &slices, &[]));
        assert_eq!(first, SliceGroup { item: 7, slices, readings: Vec::new() });
    }

    #[test]
    fn a_race_takes_far_less_room_than_its_json() {
        let race = race(200);
        let json = serde_json::to_vec(&race.slices).unwrap().len();
        let entry = ItemEntry { item: 0, race: Some(race), decided: None, records: Vec::new() };
        assert!(encode(&[entry]).len() * 5 < json);
    }

    #[test]
    fn a_count_far_beyond_the_file_is_refused_without_memory_for_it() {
        let mut bytes = encode(&[item_with_race(0)]);
        let body = bytes.len() - 4;
        bytes[24..32].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
        let crc = crc32fast::hash(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&crc);
        assert_eq!(decode(&bytes), Err(SHORT));
    }
}
