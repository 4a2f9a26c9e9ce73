//! Finding runs by name, and keeping names from becoming paths.

use super::*;
use crate::StoreError;
use std::fs;

fn with_runs(ids: &[&str]) -> Place {
    let place = Place::new();
    for id in ids {
        drop(place.store.create(id, &plan(1), &machine()).unwrap());
    }
    place
}

#[test]
fn runs_are_listed_newest_first_and_nothing_else_is() {
    let place = with_runs(&["0193-b", "0193-a", "0194-c"]);
    let runs = place.store.runs();
    fs::write(runs.join("a-file"), b"").unwrap();
    fs::create_dir(runs.join(".0195.1-0.new")).unwrap();
    fs::create_dir(runs.join("not a run")).unwrap();
    std::os::unix::fs::symlink("/", runs.join("0199")).unwrap();
    assert_eq!(place.store.list().unwrap(), ["0194-c", "0193-b", "0193-a"]);
    let hidden = fs::read_dir(&runs).unwrap().flatten();
    let left = hidden.filter(|entry| entry.file_name().to_string_lossy().ends_with(".new")).count();
    assert_eq!(left, 1, "making a run left something behind");
}

#[test]
fn a_run_is_found_by_id_beginning_path_and_latest() {
    let place = with_runs(&["0193-b", "0193-a", "0194", "0194-c"]);
    let found = |text: &str| place.store.find(text).map(|run| run.id);
    assert_eq!(found("0193-a").unwrap(), "0193-a");
    assert_eq!(found("0194").unwrap(), "0194", "a whole id beats a beginning");
    assert_eq!(found("0194-").unwrap(), "0194-c");
    assert_eq!(found("latest").unwrap(), "0194-c");
    let path = place.store.runs().join("0193-b");
    assert_eq!(found(path.to_str().unwrap()).unwrap(), "0193-b");
    let Err(StoreError::Ambiguous { matches, .. }) = found("0193") else { panic!("not ambiguous") };
    assert_eq!(matches, ["0193-b", "0193-a"]);
    for text in ["0195", "/nowhere/0193-a"] {
        assert!(matches!(found(text), Err(StoreError::NotFound { .. })), "{text}");
    }
}

#[test]
fn a_run_is_found_by_number_and_by_day_and_op() {
    // Made on 14, 15 and 15 November 2026.
    let ids = [
        "01a1db62-e4b6-7359-9350-6f6b43a3af88",
        "01a1e089-40b6-7359-9350-6f6b43a3af88",
        "01a1e089-40b7-7359-9350-6f6b43a3af88",
    ];
    let place = with_runs(&ids);
    let found = |text: &str| place.store.find(text).map(|run| run.id).ok();
    assert_eq!(found("1").as_deref(), Some(ids[0]));
    assert_eq!(found("3").as_deref(), Some(ids[2]));
    assert_eq!(place.store.number(ids[1]).unwrap(), Some(2));
    assert_eq!(place.store.number("mine").unwrap(), None);
    assert_eq!(found("2026-11-14").as_deref(), Some(ids[0]));
    let op = plan(1).items[0].case.op.clone();
    assert_eq!(found(&format!("2026-11-15-{op}")).as_deref(), Some(ids[2]), "the newest");
    for text in ["0", "4", "2026-11-16", "2026-11-15-no_such_op"] {
        assert_eq!(found(text), None, "{text}");
    }
}

#[test]
fn names_that_could_be_paths_touch_no_file() {
    let place = Place::new();
    for name in ["", ".", "..", "../x", "/tmp/x", "a/b", "a\0b", "ä", ".hidden", "x y"] {
        let made = place.store.create(name, &plan(1), &machine());
        assert!(matches!(made, Err(StoreError::BadName(_))), "{name:?}");
        assert!(place.store.load(name).is_err(), "{name:?}");
    }
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 0);
}

#[test]
fn an_empty_store_is_read_without_writing() {
    let place = Place::new();
    assert!(place.store.list().unwrap().is_empty());
    assert!(matches!(place.store.load("latest"), Err(StoreError::NotFound { .. })));
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 0);
    let file = place.directory.path().join("file");
    fs::write(&file, b"").unwrap();
    assert!(Store::open(&file).is_err());
}

#[test]
fn a_run_is_made_once_and_its_plan_counts_each_item_once() {
    let (place, writer) = Place::with_run(2, 1);
    drop(writer);
    let again = place.store.create(RUN, &plan(2), &machine());
    assert!(matches!(again, Err(StoreError::Exists(_))));
    assert_eq!(place.store.load(RUN).unwrap().items, items(1));
    let mut doubled = plan(2);
    doubled.items[1].index = 0;
    assert!(matches!(
        place.store.create("x", &doubled, &machine()),
        Err(StoreError::Unreadable(_))
    ));
}

#[test]
fn a_run_under_another_name_is_not_taken_for_it() {
    let (place, writer) = Place::with_run(2, 1);
    drop(writer);
    fs::rename(place.store.runs().join(RUN), place.store.runs().join("other")).unwrap();
    assert!(matches!(place.store.load("other"), Err(StoreError::Renamed { .. })));
}
