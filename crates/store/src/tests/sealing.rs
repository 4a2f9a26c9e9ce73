//! A sealed run: derived files, hashes that hold, and no more entries.

use super::*;
use crate::{SliceGroup, StoreError, read_slices};
use std::fs;

const SEALED: [&str; 6] =
    ["plan.json", "machine.json", "journal", "records.jsonl", "slices.bin", "seal.json"];

fn sealed() -> Place {
    let (place, mut writer) = Place::with_run(4, 0);
    // Out of order, as after an interruption.
    for n in [2, 3, 1, 0] {
        writer.append_item(&item(n)).unwrap();
    }
    writer.seal().unwrap();
    place
}

fn bytes_of(place: &Place) -> Vec<Vec<u8>> {
    SEALED.iter().map(|name| fs::read(place.file(name)).unwrap()).collect()
}

#[test]
fn records_and_slices_stand_in_the_order_of_the_plan() {
    let place = sealed();
    let text = fs::read_to_string(place.file("records.jsonl")).unwrap();
    let records: Vec<Record> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records, [record(0), record(3)]);
    let groups = read_slices(&place.file("slices.bin")).unwrap();
    assert_eq!(
        groups,
        [SliceGroup { item: 1, slices: race(3).slices, readings: race(3).readings }]
    );
    let run = place.store.load(RUN).unwrap();
    assert!(run.sealed && run.missing().is_empty());
    assert_eq!(run.items, [item(2), item(3), item(1), item(0)]);
}

#[test]
fn sealing_again_changes_no_byte_also_after_resuming() {
    let place = sealed();
    let before = bytes_of(&place);
    let (mut writer, done) = place.store.resume(RUN).unwrap();
    assert_eq!(done.len(), 4);
    let first = writer.seal().unwrap();
    assert_eq!(writer.seal().unwrap(), first);
    assert_eq!(bytes_of(&place), before);
    assert_eq!((first.items, first.records), (4, 2));
}

#[test]
fn a_crash_while_sealing_leaves_an_unsealed_run_that_seals_alike() {
    let place = sealed();
    let before = bytes_of(&place);
    fs::remove_file(place.file("seal.json")).unwrap();
    fs::remove_file(place.file("slices.bin")).unwrap();
    fs::write(place.file(".slices.bin.new"), b"half").unwrap();
    assert!(!place.store.load(RUN).unwrap().sealed);
    let journal = fs::read(place.file("journal")).unwrap();
    let (mut writer, _) = place.store.resume(RUN).unwrap();
    writer.seal().unwrap();
    let after = bytes_of(&place);
    // The journal gained the session that resumed it; the derived files are the same.
    assert!(after[2].starts_with(&journal));
    assert_eq!(after[3..5], before[3..5]);
    assert!(place.store.verify(RUN).unwrap().is_intact());
    assert!(!place.file(".slices.bin.new").exists());
}

#[test]
fn a_sealed_run_takes_no_more_and_an_incomplete_one_takes_no_seal() {
    let (_place, mut writer) = Place::with_run(2, 1);
    assert!(matches!(writer.seal(), Err(StoreError::Incomplete { missing: 1, .. })));
    writer.append_item(&item(1)).unwrap();
    writer.seal().unwrap();
    assert!(matches!(writer.append_item(&item(1)), Err(StoreError::Sealed(_))));
    assert!(matches!(writer.append_note("late"), Err(StoreError::Sealed(_))));
}

#[test]
fn verifying_names_every_file_that_changed_or_is_gone() {
    let place = sealed();
    assert!(place.store.verify(RUN).unwrap().is_intact());
    for name in SEALED {
        let path = place.file(name);
        let original = fs::read(&path).unwrap();
        for bit in (0..original.len() * 8).step_by(131) {
            let mut bytes = original.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, bytes).unwrap();
            match place.store.verify(RUN) {
                Ok(found) => assert!(!found.is_intact(), "{name} bit {bit}"),
                Err(StoreError::Newer { .. }) => {}
                Err(other) => panic!("{name} bit {bit}: {other}"),
            }
            match place.store.load(RUN) {
                Err(StoreError::Altered { .. } | StoreError::Newer { .. }) => {}
                other => panic!("{name} bit {bit} is read: {other:?}"),
            }
        }
        fs::remove_file(&path).unwrap();
        let found = place.store.verify(RUN).unwrap();
        if name == "seal.json" {
            assert!(!found.sealed);
        } else {
            assert_eq!(found.damaged[0].file, name);
        }
        fs::write(&path, original).unwrap();
    }
    assert!(place.store.verify(RUN).unwrap().is_intact());
}

#[test]
fn a_seal_has_one_form_and_a_whole_run_no_other_file() {
    let place = sealed();
    let whole = || place.store.verify_whole(RUN);
    assert!(whole().unwrap().is_intact());
    let path = place.file("seal.json");
    let original = fs::read_to_string(&path).unwrap();
    let own = format!("\"format\": {FORMAT_VERSION}");
    assert!(original.contains(&own));
    for changed in [
        original.replacen(' ', "\t", 1),
        format!("{original}\n"),
        original.replace(&own, "\"format\": 1"),
        original.replace("\"journal\"", "\"another\": \"00\", \"journal\""),
    ] {
        fs::write(&path, &changed).unwrap();
        assert_eq!(whole().unwrap().damaged[0].file, "seal.json", "{changed}");
    }
    fs::rename(&path, place.file("seal.old")).unwrap();
    let damaged = whole().unwrap().damaged;
    let files: Vec<&str> = damaged.iter().map(|one| one.file.as_str()).collect();
    assert_eq!(files, ["seal.json", "seal.old"]);
    fs::remove_file(place.file("seal.old")).unwrap();
    fs::write(&path, original).unwrap();
    assert!(whole().unwrap().is_intact());
}

#[test]
fn derived_files_that_do_not_follow_from_the_journal_are_found_also_under_a_fitting_seal() {
    let place = sealed();
    let path = place.file("records.jsonl");
    let records = fs::read_to_string(&path).unwrap();
    let forged: String = records.lines().take(1).map(|line| format!("{line}\n")).collect();
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let seal = fs::read_to_string(place.file("seal.json")).unwrap();
    fs::write(place.file("seal.json"), seal.replace(&hash(&records), &hash(&forged))).unwrap();
    fs::write(&path, forged).unwrap();
    assert!(place.store.verify(RUN).unwrap().is_intact(), "the hashes hold");
    assert_eq!(place.store.verify_whole(RUN).unwrap().damaged[0].file, "records.jsonl");
}

#[test]
fn a_sealed_run_is_read_only_if_every_file_is_as_it_was() {
    let place = sealed();
    assert!(place.store.load(RUN).is_ok());
    for name in ["slices.bin", "records.jsonl"] {
        let path = place.file(name);
        let original = fs::read(&path).unwrap();
        fs::write(&path, &original[..original.len() - 1]).unwrap();
        let error = place.store.load(RUN).unwrap_err();
        assert!(error.to_string().contains(name) && error.hint().is_some(), "{error}");
        fs::write(&path, original).unwrap();
    }
    // Without the seal there is nothing to hold the derived files to.
    fs::write(place.file("slices.bin"), b"").unwrap();
    fs::remove_file(place.file("seal.json")).unwrap();
    assert!(!place.store.load(RUN).unwrap().sealed);
}

#[test]
fn a_folder_under_another_name_is_not_called_damaged() {
    let place = sealed();
    let other = place.file("journal").parent().unwrap().with_file_name("mine");
    fs::rename(place.file("journal").parent().unwrap(), &other).unwrap();
    let error = place.store.load("mine").unwrap_err();
    assert!(matches!(&error, StoreError::Renamed { run, .. } if run == RUN), "{error}");
    assert!(error.hint().unwrap().contains(RUN));
}

#[test]
fn an_unsealed_run_is_verified_by_its_journal() {
    let (place, writer) = Place::with_run(3, 2);
    drop(writer);
    let found = place.store.verify(RUN).unwrap();
    assert!(found.is_intact() && !found.sealed);
    let mut bytes = fs::read(place.file("journal")).unwrap();
    bytes[50] ^= 1;
    fs::write(place.file("journal"), bytes).unwrap();
    assert_eq!(place.store.verify(RUN).unwrap().damaged[0].file, "journal");
}
