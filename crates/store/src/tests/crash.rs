//! A writer may die at any byte: nothing acknowledged is lost, and the rest can be finished.

use super::*;
use crate::StoreError;
use std::fs;

#[test]
fn a_journal_cut_at_any_byte_resumes_with_the_whole_items_before_the_cut() {
    let (place, mut writer) = Place::with_run(3, 0);
    let journal = place.file("journal");
    let length = || fs::metadata(&journal).unwrap().len();
    let mut ends = vec![length()];
    for n in 0..3 {
        writer.append_item(&item(n)).unwrap();
        ends.push(length());
    }
    drop(writer);
    let whole = fs::read(&journal).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&journal, &whole[..cut]).unwrap();
        let kept = ends[1..].iter().filter(|&&end| end <= cut as u64).count() as u64;
        let (mut writer, done) = place.store.resume(RUN).unwrap();
        assert_eq!(done, items(kept), "cut at {cut}");
        let frame_end = ends.iter().rev().find(|&&end| end <= cut as u64).unwrap_or(&0);
        assert_eq!(writer.cut_bytes(), cut as u64 - frame_end, "cut at {cut}");
        assert_eq!(writer.missing(), (kept..3).collect::<Vec<_>>());
        for n in writer.missing() {
            writer.append_item(&item(n)).unwrap();
        }
        drop(writer);
        let run = place.store.load(RUN).unwrap();
        assert_eq!((run.items.clone(), run.torn_bytes), (items(3), 0), "cut at {cut}");
        assert_eq!(run.sessions.last().unwrap().items_before, kept);
        assert!(run.missing().is_empty());
    }
}

#[test]
fn a_run_that_is_being_written_can_be_read() {
    let (place, _writer) = Place::with_run(3, 2);
    let run = place.store.load(RUN).unwrap();
    assert_eq!((run.items.clone(), run.sealed), (items(2), false));
    assert_eq!((run.plan.clone(), run.machine.clone()), (plan(3), machine()));
    assert_eq!(run.missing(), [2]);
    assert_eq!(run.records().count(), 1);
}

#[test]
fn two_writers_never_meet_and_the_second_is_told_who_writes() {
    let (place, writer) = Place::with_run(3, 1);
    let Err(error) = place.store.resume("latest") else { panic!("a second writer came in") };
    assert!(
        matches!(&error, StoreError::Busy { pid: Some(pid), .. } if *pid == std::process::id())
    );
    assert!(error.hint().unwrap().contains(&std::process::id().to_string()));
    drop(writer);
    assert_eq!(place.store.resume("latest").unwrap().1, items(1));
}

#[test]
fn an_item_is_recorded_once_and_only_if_it_is_planned() {
    let (place, mut writer) = Place::with_run(2, 1);
    assert!(matches!(writer.append_item(&item(0)), Err(StoreError::Twice { item: 0, .. })));
    assert!(matches!(writer.append_item(&item(9)), Err(StoreError::NotPlanned { item: 9, .. })));
    let stranger = ItemEntry { item: 1, race: None, decided: None, records: vec![record(0)] };
    assert!(matches!(writer.append_item(&stranger), Err(StoreError::Foreign { item: 0, .. })));
    writer.append_item(&item(1)).unwrap();
    assert_eq!(place.store.load(RUN).unwrap().items, items(2));
}

#[test]
fn an_entry_that_would_not_read_back_is_refused_before_it_is_written() {
    let (place, mut writer) = Place::with_run(1, 0);
    let mut entry = item(0);
    let Judged::Proven { performance: Some(performance), .. } = &mut entry.records[0].judged else {
        panic!("the record has a performance")
    };
    performance.wall_ns.low = f64::NAN;
    assert!(matches!(writer.append_item(&entry), Err(StoreError::Unreadable(_))));
    writer.append_item(&item(0)).unwrap();
    assert_eq!(place.store.load(RUN).unwrap().items, items(1));
}

#[test]
fn notes_are_kept_beside_the_items() {
    let (place, mut writer) = Place::with_run(2, 1);
    writer.append_note("interrupted\nby \"the user\"").unwrap();
    let run = place.store.load(RUN).unwrap();
    assert_eq!(run.notes, ["interrupted\nby \"the user\""]);
    assert_eq!(run.items, items(1));
}

#[test]
fn changes_of_a_small_file_by_several_writers_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    const EACH: usize = 20;
    let append = &|letter: u8| {
        for _ in 0..EACH {
            let add = |old: Option<Vec<u8>>| [old.unwrap_or_default(), vec![letter]].concat();
            store.update_file("small", add).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for &letter in b"abc" {
            scope.spawn(move || append(letter));
        }
    });
    let bytes = store.read_file("small").unwrap().unwrap();
    for letter in b"abc" {
        assert_eq!(bytes.iter().filter(|byte| *byte == letter).count(), EACH);
    }
}

#[test]
fn what_a_crash_left_of_a_change_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.update_file("small", |_| b"whole".to_vec()).unwrap();
    fs::write(folder.path().join(".small.new"), b"ha").unwrap();
    assert_eq!(store.read_file("small").unwrap().unwrap(), b"whole");
    store.update_file("small", |old| [old.unwrap(), b"!".to_vec()].concat()).unwrap();
    assert_eq!(store.read_file("small").unwrap().unwrap(), b"whole!");
}
