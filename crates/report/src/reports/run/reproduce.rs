//! Commands that measure the same again.

use super::ReportedRun;
use crate::document::Document;
use proofmark_schema::plan::RunKind;
use proofmark_schema::record::Record;
use proofmark_schema::{Case, Memory};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Cases of a group that are no grid and get a command each; more would be a wall of text.
const SINGLE: usize = 6;

/// Commands that are shown at once.
const SHOWN: usize = 4;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let mut families: Vec<Vec<&Record>> = Vec::new();
    for record in &run.records {
        let same = |family: &&mut Vec<&Record>| {
            let first = family[0];
            first.case.op == record.case.op
                && first.case.dtype == record.case.dtype
                && first.case.attrs == record.case.attrs
                && first.threads == record.threads
                && first.memory == record.memory
        };
        match families.iter_mut().find(same) {
            Some(family) => family.push(record),
            None => families.push(vec![record]),
        }
    }
    let mut commands = Vec::new();
    let mut left_out = 0;
    for family in &families {
        let mut cases: Vec<&Case> = Vec::new();
        for record in family {
            if !cases.contains(&&record.case) {
                cases.push(&record.case);
            }
        }
        let sizes = |cases: &[&Case]| -> Vec<(String, BTreeSet<u64>)> {
            let axes = cases[0].axes.iter().map(|(name, _)| name.clone());
            axes.map(|axis| {
                let all = cases.iter().filter_map(|case| case.size(&axis)).collect();
                (axis, all)
            })
            .collect()
        };
        let grid = sizes(&cases);
        if grid.iter().map(|(_, sizes)| sizes.len()).product::<usize>() == cases.len() {
            commands.push(command(family, &grid));
            continue;
        }
        left_out += cases.len().saturating_sub(SINGLE);
        commands.extend(cases.iter().take(SINGLE).map(|&case| command(family, &sizes(&[case]))));
    }
    if commands.is_empty() {
        return Vec::new();
    }
    if run.kind == Some(RunKind::Quick) {
        commands.iter_mut().for_each(|command| command.push_str(" --quick"));
    }
    let (first, more) = commands.split_at(commands.len().min(SHOWN));
    first.iter().for_each(|command| document.command(command));
    document.details(format!("{} more commands", more.len()), |document| {
        more.iter().for_each(|command| document.command(command));
    });
    if left_out > 0 {
        document.note(format!("{left_out} more cases are measured again in the same way"));
    }
    commands.into_iter().map(|command| json!({ "command": command })).collect()
}

fn command(family: &[&Record], grid: &[(String, BTreeSet<u64>)]) -> String {
    let first = family[0];
    let joined =
        |sizes: &BTreeSet<u64>| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let sweep: Vec<String> =
        grid.iter().map(|(axis, sizes)| format!("{axis}={}", joined(sizes))).collect();
    let mut who: Vec<String> = Vec::new();
    for record in family {
        let name = record.contender.to_string();
        if !who.contains(&name) {
            who.push(name);
        }
    }
    let mut words = format!(
        "proofmark bench {} --dtype {} --sweep '{}' --threads {} --with '{}' --seed {}",
        first.case.op,
        first.case.dtype,
        sweep.join(" "),
        first.threads,
        who.join(" ").replace('\'', "'\\''"),
        first.judged.proof().seed
    );
    let attrs: Vec<String> =
        first.case.attrs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !attrs.is_empty() {
        words += &format!(" --attr {}", attrs.join(","));
    }
    if first.memory != Memory::default() {
        words += &format!(" --cache {} --pages {}", first.memory.cache, first.memory.pages);
    }
    words
}
