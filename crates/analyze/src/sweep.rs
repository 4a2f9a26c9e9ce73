//! How times move along the axes that a run varied.

use crate::cells::{cells, field, geometric_mean};
use crate::metrics;
use crate::ranking::{Group, groups};
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId, Memory};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest sizes of an axis that make a line.
const LINE: usize = 3;

/// Times along one axis, all else equal.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisSweep<'a> {
    /// The op, element type, threads and run.
    pub group: Group<'a>,
    /// The axis that varies.
    pub axis: &'a str,
    /// The case with the least size of it: what the others share.
    pub base: &'a Case,
    /// For each contender, its records by size.
    pub lines: Vec<(&'a ContenderId, Vec<(u64, &'a Record)>)>,
}

/// One cell of a map over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile<'a> {
    /// Size of the first axis.
    pub x: u64,
    /// Size of the second.
    pub y: u64,
    /// The record of the fastest.
    pub best: &'a Record,
}

/// The fastest contender over two axes, all else equal.
#[derive(Clone, Debug, PartialEq)]
pub struct MapSweep<'a> {
    /// The op, element type, threads and run.
    pub group: Group<'a>,
    /// The axes.
    pub axes: [&'a str; 2],
    /// One case of it.
    pub base: &'a Case,
    /// The cells.
    pub tiles: Vec<Tile<'a>>,
}

/// Cases that share the size of one role.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleMean<'a> {
    /// The op, element type, threads and run.
    pub group: Group<'a>,
    /// `batch`, `sequence` or `dimension`.
    pub role: &'static str,
    /// Its size.
    pub size: u64,
    /// Cases of that size.
    pub cases: usize,
    /// The contender that is fastest on most of them.
    pub most: &'a ContenderId,
    /// Geometric mean of the fastest one's efficiency in per cent, where limits are known.
    pub efficiency: Option<f64>,
    /// Geometric mean of the fastest one's rate in GB/s.
    pub gbps: Option<f64>,
}

/// The longest line of each axis that varies, for every group.
pub fn axis_sweeps<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<AxisSweep<'a>> {
    let mut found = Vec::new();
    for group in groups(records) {
        for axis in varying(&group) {
            let longest = families(&group, &[axis]).into_iter().max_by_key(|family| {
                let sizes = sizes(family, axis);
                (sizes.len(), family[0].case.axes.iter().map(|(_, size)| *size).max())
            });
            let Some(family) = longest.filter(|family| sizes(family, axis).len() >= LINE) else {
                continue;
            };
            let base = family.iter().min_by_key(|record| record.case.size(axis));
            let base = &base.expect("a family has records").case;
            let mut by_contender: Vec<(&ContenderId, Vec<(u64, &Record)>)> = Vec::new();
            for record in family {
                let Some(size) = record.case.size(axis) else { continue };
                match by_contender.iter_mut().find(|(id, _)| **id == record.contender) {
                    Some((_, line)) => line.push((size, record)),
                    None => by_contender.push((&record.contender, vec![(size, record)])),
                }
            }
            by_contender.iter_mut().for_each(|(_, line)| line.sort_by_key(|(size, _)| *size));
            let lines = by_contender;
            found.push(AxisSweep { group: group.clone(), axis, base, lines });
        }
    }
    found
}

/// The fullest map of two axes for every group in which two or more vary together.
pub fn map_sweeps<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<MapSweep<'a>> {
    let mut found = Vec::new();
    for group in groups(records) {
        let axes = varying(&group);
        let mut best: Option<MapSweep<'_>> = None;
        for (at, &x) in axes.iter().enumerate() {
            for &y in &axes[at + 1..] {
                for family in families(&group, &[x, y]) {
                    if sizes(&family, x).len() < 2 || sizes(&family, y).len() < 2 {
                        continue;
                    }
                    let tiles = tiles(&family, x, y);
                    let base = &family[0].case;
                    if best.as_ref().is_none_or(|best| tiles.len() > best.tiles.len()) {
                        best = Some(MapSweep { group: group.clone(), axes: [x, y], base, tiles });
                    }
                }
            }
        }
        // Fewer than four cells make lines, not a map.
        found.extend(best.filter(|map| map.tiles.len() >= 4));
    }
    found
}

/// Means over the cases of each size of batch, sequence and dimension, where these vary.
pub fn role_means<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<RoleMean<'a>> {
    let mut found = Vec::new();
    for group in groups(records) {
        let bests: Vec<&Record> = cells(group.records.iter().copied())
            .iter()
            .filter_map(|cell| field(cell).first().map(|(record, _)| *record))
            .collect();
        for role in ["batch", "sequence", "dimension"] {
            let mut by_size: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
            for &best in &bests {
                by_size.entry(size_of(best, role)).or_default().push(best);
            }
            if by_size.len() < 2 {
                continue;
            }
            for (size, bests) in by_size {
                let wins =
                    |who: &ContenderId| bests.iter().filter(|of| of.contender == *who).count();
                let most = bests.iter().map(|of| &of.contender).max_by_key(|id| wins(id));
                let mean =
                    |name| geometric_mean(bests.iter().filter_map(|of| metrics::value(name, of)));
                found.push(RoleMean {
                    group: group.clone(),
                    role,
                    size,
                    cases: bests.len(),
                    most: most.expect("a size has cases"),
                    efficiency: mean("efficiency"),
                    gbps: mean("throughput_gbps"),
                });
            }
        }
    }
    found
}

fn size_of(record: &Record, role: &str) -> u64 {
    match role {
        "batch" => record.shape.batch_size,
        "sequence" => record.shape.sequence_length,
        _ => record.shape.tensor_dimension,
    }
}

/// Axes of a group with more than one size, in the op's order.
fn varying<'a>(group: &Group<'a>) -> Vec<&'a str> {
    let Some(first) = group.records.first() else { return Vec::new() };
    let names = first.case.axes.iter().map(|(name, _)| name.as_str());
    names.filter(|axis| sizes(&group.records, axis).len() > 1).collect()
}

fn sizes(records: &[&Record], axis: &str) -> BTreeSet<u64> {
    records.iter().filter_map(|record| record.case.size(axis)).collect()
}

/// Measured records that differ in these axes and in the contender alone.
fn families<'a>(group: &Group<'a>, free: &[&str]) -> Vec<Vec<&'a Record>> {
    let rest = |record: &'a Record| {
        let fixed = record.case.axes.iter().filter(|(name, _)| !free.contains(&name.as_str()));
        let fixed: Vec<&(String, u64)> = fixed.collect();
        let key: (Vec<&(String, u64)>, &[_], Memory) = (fixed, &record.case.attrs, record.memory);
        key
    };
    let mut families: Vec<Vec<&Record>> = Vec::new();
    for &record in group.records.iter().filter(|record| record.judged.performance().is_some()) {
        match families.iter_mut().find(|family| rest(family[0]) == rest(record)) {
            Some(family) => family.push(record),
            None => families.push(vec![record]),
        }
    }
    families
}

fn tiles<'a>(family: &[&'a Record], x: &str, y: &str) -> Vec<Tile<'a>> {
    let tile = |cell: &Vec<&'a Record>| {
        let (best, _) = *field(cell).first()?;
        Some(Tile { x: best.case.size(x)?, y: best.case.size(y)?, best })
    };
    cells(family.iter().copied()).iter().filter_map(tile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::timed;

    fn at(contender: &str, m: u64, n: u64, ns: f64) -> Record {
        let mut record = timed(contender, 0, ns);
        record.case = format!("matmul:f32[m={m},n={n},k=8]").parse().unwrap();
        record.shape.sequence_length = m;
        record
    }

    #[test]
    fn a_line_needs_three_sizes_and_a_map_two_axes() {
        let mut records = Vec::new();
        for m in [8, 16, 32] {
            for n in [8, 64] {
                records.push(at("native/simd", m, n, (m * n) as f64));
            }
        }
        let [line] = &axis_sweeps(&records)[..] else { panic!("one axis has three sizes") };
        assert_eq!((line.axis, line.base.size("n")), ("m", Some(64)));
        let sizes: Vec<u64> = line.lines[0].1.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [8, 16, 32]);
        let [map] = &map_sweeps(&records)[..] else { panic!("one map") };
        assert_eq!((map.axes, map.tiles.len()), (["m", "n"], 6));
        let means = role_means(&records);
        assert_eq!(means.len(), 3, "the other roles do not vary");
        assert!(means.iter().all(|mean| mean.role == "sequence" && mean.cases == 2));
    }

    #[test]
    fn one_case_is_no_sweep() {
        let records = [at("native/simd", 8, 8, 1.0), at("native/scalar", 8, 8, 2.0)];
        assert!(axis_sweeps(&records).is_empty() && map_sweeps(&records).is_empty());
        assert!(role_means(&records).is_empty());
    }
}
