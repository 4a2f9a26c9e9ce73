//! Tests of the whole report on made-up runs.

use super::reported::{KEPT, thinned};
use super::*;
use crate::fixture::{compared, first, refused};
use crate::render::{RENDERERS, Style, find};
use proofmark_schema::ContenderId;
use proofmark_schema::plan::RunKind;
use proofmark_schema::record::{Judged, Record};

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
    (find(renderer).unwrap().render)(
        document,
        &Style { width: 140, colour: false, ..Style::default() },
    )
}

#[test]
fn the_first_paragraph_is_the_answer_and_red_flags_follow_it() {
    let document = run(&[sample()], &[]);
    let text = text(&document, "term");
    let parts: Vec<String> = text.split("\n\n").map(|part| part.replace('\n', " ")).collect();
    for part in [
        "native/simd@avx2 is the fastest on all 5 cases",
        "native/scalar@scalar, takes 4.00× as long where both ran: take native/simd@avx2",
        "1 of 11 results was refused and is not ranked",
    ] {
        assert!(parts[1].contains(part), "{part} in\n{}", parts[1]);
    }
    assert!(parts[2].starts_with("RED FLAG: native/simd@avx512 is wrong on matmul."), "{text}");
    let analysis = document.data["analysis"][0].as_str().unwrap();
    assert!(analysis.contains("reach 60 % of the machine's limit, held by arithmetic"));
    assert!(analysis.ends_with("Red flags: wrong (1×)."), "{analysis}");
}

/// The sample with a peer that is slower on every case but one.
fn with_a_peer() -> ReportedRun {
    let mut run = sample();
    let ours: Vec<Record> =
        run.records.iter().filter(|of| of.contender.name == "simd").cloned().collect();
    for (index, mut record) in ours.into_iter().take(5).enumerate() {
        record.contender = ContenderId::peer("acme");
        let factor = if index == 0 { 0.5 } else { 2.0 };
        if let Judged::Proven { performance: Some(of), .. } = &mut record.judged
            && let Some(comparison) = &mut of.comparison
        {
            let ratio = &mut comparison.ratio;
            for end in [&mut ratio.low, &mut ratio.estimate, &mut ratio.high] {
                *end *= factor;
            }
            of.slices.arm = 7;
        }
        run.records.push(record);
    }
    run
}

#[test]
fn a_run_with_peers_opens_with_ours_against_them_and_a_picture_before_any_table() {
    let run = run(&[with_a_peer()], &[]);
    let Section::Text(answer) = &run.sections[0] else { panic!("the answer") };
    assert!(answer.contains("faster on 4, too close to call on 0, slower on 1"), "{answer}");
    assert!(answer.contains("(most on matmul m=64 n=32 k=63: 2.00× peer/acme)"), "{answer}");
    let is_plot = |section: &Section| matches!(section, Section::Plot(_));
    let is_table = |section: &Section| matches!(section, Section::Table(_));
    let place = |is: &dyn Fn(&Section) -> bool| run.sections.iter().position(is).unwrap();
    assert!(place(&is_plot) < place(&is_table));
    let plot = run.plots().next().unwrap();
    assert_eq!(plot.kind, crate::PlotKind::Intervals);
    let counts: Vec<usize> = plot.series.iter().map(|series| series.points.len()).collect();
    assert_eq!(counts, [1, 0, 4], "slower, too close, faster");
    assert_eq!(run.data["lead"].as_array().unwrap().len(), 5);
}

#[test]
fn a_refused_peer_is_counted_but_is_no_red_flag() {
    let mut peer = with_a_peer();
    let last = peer.records.iter_mut().find(|of| of.judged.proof().refusal.is_some()).unwrap();
    last.contender = ContenderId::peer("wrong");
    let document = run(&[peer], &[]);
    assert!(!document.sections.iter().any(|of| matches!(of, Section::RedFlags(_))));
    let text = text(&document, "term");
    assert!(text.contains("There is no red flag") && text.contains("peer/wrong"), "{text}");
    assert!(text.contains("1 of 16 results was refused"), "{text}");
}

#[test]
fn a_title_has_the_op_and_no_id() {
    let mut named = sample();
    named.name = "01a1e74a-006f-703f-a0fe-7d8beb0ac34c".to_owned();
    named.records.iter_mut().for_each(|record| record.run = named.name.clone());
    let document = run(&[named], &[]);
    assert_eq!(document.title, "matmul, 17 November 2026");
    assert!(document.subtitle.starts_with("f32 · 1 thread · 5 cases"), "{}", document.subtitle);
}

#[test]
fn equal_wins_are_nobodys_lead() {
    let mut even = sample();
    even.records.truncate(4);
    for record in &mut even.records[2..] {
        if let Judged::Proven { performance: Some(of), .. } = &mut record.judged
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
            let text = (renderer.render)(
                &run(&runs, &[]),
                &Style { width: 60, colour: false, ..Style::default() },
            );
            assert!(!text.contains('\u{1b}'), "{}", renderer.name);
            if matches!(renderer.name, "html" | "svg" | "markdown") {
                // Indented lines are code in Markdown, and nothing in code is markup.
                let mut lines = text.lines().filter(|line| !line.starts_with("    "));
                assert!(!lines.any(|line| line.contains("<script>alert")), "{}", renderer.name);
            }
        }
    }
}
