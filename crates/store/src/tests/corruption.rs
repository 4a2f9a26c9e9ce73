//! Corrupted bytes lead to an error or to a correct prefix, never to a panic or wrong data.

use super::*;
use crate::StoreError;
use proptest::prelude::*;
use std::fs;

/// What a reader of these journal bytes is told.
fn load(place: &Place, journal: &[u8]) -> Result<crate::Run, StoreError> {
    fs::write(place.file("journal"), journal).unwrap();
    place.store.load(RUN)
}

fn written() -> (Place, Vec<u8>) {
    let (place, _) = Place::with_run(5, 5);
    let bytes = fs::read(place.file("journal")).unwrap();
    (place, bytes)
}

#[derive(Clone, Debug)]
enum Harm {
    Flip(usize),
    Overwrite(usize, Vec<u8>),
    Cut(usize),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
    Zero(usize, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let junk = || proptest::collection::vec(any::<u8>(), 1..80);
    prop_oneof![
        any::<usize>().prop_map(Harm::Flip),
        (any::<usize>(), junk()).prop_map(|(at, junk)| Harm::Overwrite(at, junk)),
        any::<usize>().prop_map(Harm::Cut),
        (any::<usize>(), 1usize..400).prop_map(|(at, length)| Harm::Remove(at, length)),
        (any::<usize>(), junk()).prop_map(|(at, junk)| Harm::Insert(at, junk)),
        (any::<usize>(), 1usize..4096).prop_map(|(at, length)| Harm::Zero(at, length)),
    ]
}

fn apply(harm: &Harm, bytes: &mut Vec<u8>) {
    let size = bytes.len();
    let span = |at: usize, length: usize| at % size..(at % size + length).min(size);
    match harm {
        Harm::Flip(at) => bytes[at / 8 % size] ^= 1 << (at % 8),
        Harm::Overwrite(at, junk) => {
            let span = span(*at, junk.len());
            bytes[span.clone()].copy_from_slice(&junk[..span.len()]);
        }
        Harm::Cut(at) => bytes.truncate(at % size),
        Harm::Remove(at, length) => drop(bytes.drain(span(*at, *length))),
        Harm::Insert(at, junk) => drop(bytes.splice(at % size..at % size, junk.iter().copied())),
        Harm::Zero(at, length) => bytes[span(*at, *length)].fill(0),
    }
}

#[test]
fn two_thousand_harmed_journals_give_an_error_or_a_true_beginning() {
    let (place, original) = written();
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let harms = proptest::collection::vec(harm(), 1..3);
    let outcome = runner.run(&harms, |harms| {
        let mut bytes = original.clone();
        for harm in &harms {
            if !bytes.is_empty() {
                apply(harm, &mut bytes);
            }
        }
        let is_harmed = bytes != original;
        if let Ok(run) = load(&place, &bytes) {
            prop_assert!(items(5).starts_with(&run.items), "entries nobody wrote");
            let is_beginning = original.starts_with(&bytes);
            prop_assert!(!is_harmed || is_beginning || run.torn_bytes > 0, "harm went unseen");
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn two_thousand_single_bit_flips_are_all_detected() {
    let (place, original) = written();
    let bits = original.len() * 8;
    // A stride that shares no factor with the number of bits visits bits of every frame and every
    // field.
    for n in 0..2000 {
        let bit = n * 7919 % bits;
        let mut bytes = original.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match load(&place, &bytes) {
            Err(StoreError::Damaged { .. }) => {}
            Ok(run) => {
                assert!(run.torn_bytes > 0, "bit {bit} went unseen");
                assert_eq!(run.items, items(4), "only the last item may be taken for torn");
            }
            Err(other) => panic!("bit {bit}: {other}"),
        }
    }
}

#[test]
fn a_sealed_run_does_not_even_lose_its_last_item_to_a_flip() {
    let (place, mut writer) = Place::with_run(2, 2);
    writer.seal().unwrap();
    drop(writer);
    let original = fs::read(place.file("journal")).unwrap();
    for at in original.len() - 60..original.len() {
        let mut bytes = original.clone();
        bytes[at] ^= 4;
        assert!(matches!(load(&place, &bytes), Err(StoreError::Altered { .. })), "byte {at}");
        assert!(matches!(load(&place, &bytes[..at]), Err(StoreError::Altered { .. })));
        assert!(place.store.resume(RUN).is_err(), "a sealed journal is not cut");
        assert_eq!(fs::metadata(place.file("journal")).unwrap().len(), at as u64);
    }
}

#[test]
fn damage_in_the_middle_is_never_cut_off_by_resuming() {
    let (place, original) = written();
    let mut bytes = original.clone();
    bytes[original.len() / 2] ^= 1;
    fs::write(place.file("journal"), &bytes).unwrap();
    let Err(error) = place.store.resume(RUN) else { panic!("resumed over damage") };
    assert!(matches!(error, StoreError::Damaged { .. }) && error.hint().is_some());
    assert_eq!(fs::read(place.file("journal")).unwrap(), bytes);
}

#[test]
fn another_plan_or_machine_under_the_same_journal_is_damage() {
    for name in ["plan.json", "machine.json"] {
        let (place, writer) = Place::with_run(2, 1);
        drop(writer);
        let mut bytes = fs::read(place.file(name)).unwrap();
        bytes.push(b'\n');
        fs::write(place.file(name), bytes).unwrap();
        assert!(matches!(place.store.load(RUN), Err(StoreError::Damaged { .. })), "{name}");
        assert!(matches!(place.store.resume(RUN), Err(StoreError::Damaged { .. })), "{name}");
    }
}

#[test]
fn a_frame_with_a_true_checksum_and_a_false_content_is_damage() {
    let hostile = [
        "null".to_owned(),
        "[".repeat(1_000_000),
        "{\"item\":0,\"records\":[]}".to_owned(),
        "{\"item\":-1,\"records\":[]}".to_owned(),
        "{\"item\":9,\"item\":9,\"records\":[]}".to_owned(),
        "{\"item\":1e999,\"records\":[]}".to_owned(),
    ];
    for text in hostile {
        let (place, mut writer) = Place::with_run(3, 1);
        writer.journal.append(crate::entry::kind::ITEM, text.as_bytes()).unwrap();
        let found = place.store.load(RUN);
        assert!(matches!(found, Err(StoreError::Damaged { .. })), "{:.40}", text);
    }
}

#[test]
fn links_and_pipes_in_place_of_the_files_are_refused() {
    let (place, writer) = Place::with_run(1, 1);
    drop(writer);
    let journal = place.file("journal");
    let moved = place.file("elsewhere");
    fs::rename(&journal, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &journal).unwrap();
    assert!(place.store.load(RUN).is_err());
    fs::remove_file(&journal).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &journal,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert!(place.store.load(RUN).is_err());
    assert!(place.store.resume(RUN).is_err());
}
