//! Tests of the whole report on made-up runs.

use super::reported::{KEPT, thinned};
use super::*;
use crate::fixture::{compared, first, refused};
use crate::render::{RENDERERS, Style, find};
use proofmark_schema::ContenderId;
use proofmark_schema::plan::RunKind;
use proofmark_schema::record::Record;

/// Two contenders on four sizes of two axes, a refusal, and slices.
fn sample() -> ReportedRun {
    let mut run = ReportedRun { name: "r1".to_owned(), ..ReportedRun::default() };
    for (item, (m, n)) in [(64, 32), (64, 64), (128, 32), (128, 64), (256, 64)].iter().enumerate() {
        for mut record in [first(), compared()] {
            record.item = item as u64;
            record.case = format!("matmul:f32[b=1,m={m},n={n},k=63]").parse().unwrap();
            record.shape.sequence_length = *m;
            let arm = record.judged.performance().unwrap().slices.arm;
            let trial = |t: usize| (0..40).map(|i| 1e4 + (t * 100 + i) as f64).collect();
            run.slices.insert((record.item, arm), (0..6).map(trial).collect());
            run.records.push(record);
        }
    }
    run.records.push(refused());
    run.findings = proofmark_analyze::findings(&run.records);
    run.facts = vec![("seed", "7".to_owned())];
    run
}

fn text(document: &Document, renderer: &str) -> String {
    (find(renderer).unwrap().render)(document, &Style { width: 140, colour: false })
}

#[test]
fn the_first_paragraph_says_who_won_by_how_much_and_what_to_look_at() {
    let document = run(&[sample()], &[]);
    let text = text(&document, "term");
    let lead = text.split("\n\n").nth(1).unwrap().replace('\n', " ");
    for part in [
        "native/simd@avx2 is the fastest on all 5 cases",
        "native/scalar@scalar, takes 4.00× as long where both ran: take native/simd@avx2",
        "reach 60 % of the machine's limit, held by arithmetic",
        "Red flags: wrong (1×)",
    ] {
        assert!(lead.contains(part), "{part} in\n{lead}");
    }
}

#[test]
fn equal_wins_are_nobodys_lead() {
    let mut even = sample();
    even.records.truncate(4);
    for record in &mut even.records[2..] {
        if let proofmark_schema::record::Judged::Proven { performance: Some(of), .. } =
            &mut record.judged
            && let Some(comparison) = &mut of.comparison
        {
            let ratio = &mut comparison.ratio;
            (ratio.low, ratio.estimate, ratio.high) = (3.9, 4.0, 4.1);
        }
    }
    let text = text(&run(&[even], &["flags".to_owned()]), "term").replace('\n', " ");
    let want = "native/scalar@scalar and native/simd@avx2 win 1 of 2 cases each: choose by case.";
    assert!(text.contains(want) || text.contains("native/simd@avx2 and native/scalar@scalar win"));
}

#[test]
fn every_part_is_there_and_can_be_asked_for_alone() {
    let all = text(&run(&[sample()], &[]), "term");
    for part in PARTS.iter().filter(|part| !["step", "scaling"].contains(&part.name)) {
        assert!(all.contains(&format!("== {} ==", part.title)), "{}", part.name);
        let alone = text(&run(&[sample()], &[part.name.to_owned()]), "term");
        assert_eq!(alone.matches("\n== ").count(), 1, "{}", part.name);
    }
    assert!(!all.contains("A model's step"), "a part without content has no heading");
}

#[test]
fn several_thread_counts_become_a_table_and_a_line() {
    let mut sample = sample();
    let more: Vec<Record> = (sample.records.iter())
        .map(|record| Record { threads: 2, item: record.item + 1000, ..record.clone() })
        .collect();
    sample.records.extend(more);
    let document = run(&[sample], &["scaling".to_owned()]);
    assert_eq!(document.plots().count(), 1);
    let all = text(&document, "term");
    assert!(all.contains("== By threads ==") && all.contains("sequential: "), "{all}");
    assert!(!document.data["scaling"].as_array().unwrap().is_empty());
}

#[test]
fn sweeps_become_lines_maps_and_means() {
    let document = run(&[sample()], &["sweep".to_owned()]);
    let kinds: Vec<crate::PlotKind> = document.plots().map(|plot| plot.kind).collect();
    assert_eq!(kinds, [crate::PlotKind::Lines, crate::PlotKind::HeatMap]);
    assert_eq!(document.data["sweep"].as_array().unwrap().len(), 3, "three sequence lengths");
}

#[test]
fn slices_are_thinned_and_keep_their_ends() {
    let run = sample();
    let samples = run.samples(&run.records[0]).unwrap();
    assert_eq!(samples.measured, 240);
    let kept: Vec<f64> = samples.trials.iter().flatten().copied().collect();
    assert!(kept.len() <= KEPT, "{}", kept.len());
    assert!(kept.contains(&1e4) && kept.contains(&10_539.0), "{kept:?}");
    assert_eq!(thinned(&[3.0, 1.0], 4), [3.0, 1.0]);
    assert!(run.spread(&run.records[0]).is_some_and(|spread| spread < 0.1));
}

#[test]
fn two_runs_stand_beside_each_other_and_are_told_apart() {
    let mut other = sample();
    other.name = "r2".to_owned();
    other.records.iter_mut().for_each(|record| record.run = "r2".to_owned());
    let document = run(&[sample(), other], &[]);
    let text = text(&document, "term");
    assert!(text.contains("== Runs together =="), "{text}");
    assert!(text.contains("Run r1:") && text.contains("Run r2:"), "{text}");
    assert_eq!(document.data["together"].as_array().unwrap().len(), 20);
    assert_eq!(document.data["ranking"][0]["run"], "r1");
}

#[test]
fn commands_measure_a_grid_at_once_and_other_cases_one_by_one() {
    let document = run(&[sample()], &["reproduce".to_owned()]);
    let commands = text(&document, "term");
    assert!(commands.contains("--sweep 'b=1 m=256 n=64 k=63'"), "no grid: {commands}");
    let mut grid = sample();
    grid.records.truncate(8);
    let commands = text(&run(&[grid], &["reproduce".to_owned()]), "term");
    assert!(commands.contains("--sweep 'b=1 m=64,128 n=32,64 k=63'"), "{commands}");
}

#[test]
fn only_commands_of_a_quick_run_are_quick() {
    for (kind, is_quick) in
        [(None, false), (Some(RunKind::Standard), false), (Some(RunKind::Quick), true)]
    {
        let run = run(&[ReportedRun { kind, ..sample() }], &["reproduce".to_owned()]);
        assert_eq!(text(&run, "term").contains(" --quick"), is_quick, "{kind:?}");
    }
}

#[test]
fn nothing_measured_and_hostile_names_are_told_in_every_form() {
    let mut hostile = sample();
    let family = proofmark_schema::Family::Own;
    let name = "<script>alert(1)</script>\u{1b}[31m".to_owned();
    let id = ContenderId { family, name, isa: None };
    hostile.records.iter_mut().for_each(|record| record.contender = id.clone());
    for runs in [vec![], vec![ReportedRun::default()], vec![hostile]] {
        for renderer in RENDERERS {
            let text = (renderer.render)(&run(&runs, &[]), &Style { width: 60, colour: false });
            assert!(!text.contains('\u{1b}'), "{}", renderer.name);
            if matches!(renderer.name, "html" | "svg" | "markdown") {
                // Indented lines are code in Markdown, and nothing in code is markup.
                let mut lines = text.lines().filter(|line| !line.starts_with("    "));
                assert!(!lines.any(|line| line.contains("<script>alert")), "{}", renderer.name);
            }
        }
    }
}
