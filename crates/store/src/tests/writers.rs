//! Several writers of one small file: temporary files, locks and names without a program.

use super::*;
use crate::{Shelf, StoreError, durable};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// The hidden files of a folder that are not locks.
fn temporary_files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with('.') && !name.ends_with(".lock")).collect()
}

#[test]
fn a_writer_leaves_the_unfinished_file_of_another_alone() {
    let place = Place::new();
    let folder = place.directory.path();
    place.store.write_file("small", b"first").unwrap();
    let others = [".small.new".to_owned(), format!(".small.{}-0.new", std::process::id())];
    for other in &others {
        fs::write(folder.join(other), b"hal").unwrap();
    }
    place.store.write_file("small", b"second").unwrap();
    assert_eq!(place.store.read_file("small").unwrap().unwrap(), b"second");
    for other in &others {
        assert_eq!(fs::read(folder.join(other)).unwrap(), b"hal", "{other}");
    }
}

#[test]
fn what_a_writer_left_that_died_long_ago_is_swept() {
    let place = Place::new();
    let folder = place.directory.path();
    for (name, age) in
        [(".small.7-0.new", 2), (".small.new", 2), (".small.8-0.new", 0), (".small", 2)]
    {
        fs::write(folder.join(name), b"hal").unwrap();
        let file = File::options().write(true).open(folder.join(name)).unwrap();
        let made = file.metadata().unwrap().modified().unwrap();
        file.set_modified(made - Duration::from_secs(age * 3600)).unwrap();
    }
    place.store.write_file("small", b"whole").unwrap();
    let mut left = temporary_files(folder);
    left.sort();
    assert_eq!(left, [".small", ".small.8-0.new"]);
}

#[test]
fn a_write_that_fails_leaves_no_temporary_file() {
    let place = Place::new();
    let folder = place.directory.path();
    // A folder of that name cannot be replaced by a file.
    fs::create_dir(folder.join("small")).unwrap();
    assert!(matches!(place.store.write_file("small", b"whole"), Err(StoreError::Io { .. })));
    assert_eq!(temporary_files(folder), [""; 0]);
}

#[test]
fn a_lock_that_stays_taken_ends_with_what_to_do() {
    let place = Place::new();
    let path = place.directory.path().join(".small.lock");
    let held = durable::lock(&path).unwrap();
    let error = durable::lock_within(&path, Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(".small.lock"), "{error}");
    assert!(error.hint().unwrap().contains("run this command again"));
    drop(held);
    assert!(durable::lock_within(&path, Duration::ZERO).is_ok());
}

#[test]
fn no_name_is_given_to_a_program_that_is_gone() {
    let place = Place::new();
    let program = place.directory.path().join("worker");
    fs::write(&program, b"program").unwrap();
    let kept = place.store.keep_program(&program, &[]).unwrap();
    place.store.name_artefact(Shelf::Baselines, "a", &kept).unwrap();
    // Another command has kept the same program, and this one removes it before it is named.
    place.store.remove_baseline("a").unwrap();
    let error = place.store.name_artefact(Shelf::Baselines, "b", &kept).unwrap_err();
    assert!(matches!(error, StoreError::Gone { .. }), "{error}");
    assert!(error.hint().unwrap().contains("run this command again"));
    assert_eq!(place.store.artefacts(Shelf::Baselines).unwrap(), []);
}

#[test]
fn a_program_is_kept_beside_what_an_interrupted_copy_left() {
    let place = Place::new();
    let program = place.directory.path().join("worker");
    fs::write(&program, b"program").unwrap();
    let sha256 = place.store.keep_program(&program, &[]).unwrap().sha256;
    let programs = place.directory.path().join("programs");
    fs::remove_file(programs.join(&sha256)).unwrap();
    fs::write(programs.join(format!(".{sha256}.{}", std::process::id())), b"pro").unwrap();
    let kept = place.store.keep_program(&program, &[]).unwrap();
    assert!(place.store.program(&kept).is_ok());
}
