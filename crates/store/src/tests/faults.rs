//! A disk that fails: the error surfaces, what was acknowledged remains, nothing is retried.

use super::*;
use crate::StoreError;
use crate::journal::JournalFile;
use std::fs::{File, OpenOptions};
use std::io;

/// A file whose n-th operation fails, once or from then on; a failing append is a short one.
struct Faulty {
    file: File,
    operations: u32,
    fails_at: u32,
    for_ever: bool,
    kept: usize,
    error: i32,
}

impl Faulty {
    fn fails(&mut self) -> bool {
        let now = self.operations;
        self.operations += 1;
        now == self.fails_at || (self.for_ever && now > self.fails_at)
    }

    fn refusal(&self) -> io::Error {
        io::Error::from_raw_os_error(self.error)
    }
}

impl JournalFile for Faulty {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.fails() {
            JournalFile::append(&mut self.file, &bytes[..self.kept.min(bytes.len())])?;
            return Err(self.refusal());
        }
        JournalFile::append(&mut self.file, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.fails() { Err(self.refusal()) } else { JournalFile::sync(&mut self.file) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.fails() { Err(self.refusal()) } else { self.file.cut(length) }
    }
}

fn faulty(place: &Place, fails_at: u32, for_ever: bool, kept: usize, error: i32) -> Box<Faulty> {
    let file = OpenOptions::new().append(true).open(place.file("journal")).unwrap();
    Box::new(Faulty { file, operations: 0, fails_at, for_ever, kept, error })
}

const FULL: i32 = rustix::io::Errno::NOSPC.raw_os_error();
const BROKEN: i32 = rustix::io::Errno::IO.raw_os_error();
const QUOTA: i32 = rustix::io::Errno::DQUOT.raw_os_error();

#[test]
fn whichever_operation_fails_the_acknowledged_items_remain_and_the_rest_can_follow() {
    // Three items are three appends and three syncs.
    for fails_at in 0..6 {
        for (for_ever, kept, error) in [
            (false, 0, FULL),
            (true, 20, FULL),
            (false, 40, BROKEN),
            (true, usize::MAX, BROKEN),
            (true, 1, QUOTA),
        ] {
            let (place, mut writer) = Place::with_run(3, 0);
            let good = std::mem::replace(
                &mut writer.journal.file,
                faulty(&place, fails_at, for_ever, kept, error),
            );
            let acknowledged = (0..3).take_while(|&n| writer.append_item(&item(n)).is_ok()).count();
            assert_eq!(acknowledged as u32, fails_at / 2);
            let again = writer.append_item(&item(2));
            assert!(matches!(again, Err(StoreError::Stopped(_))), "a failure was retried");
            assert!(matches!(writer.seal(), Err(StoreError::Stopped(_))));
            drop((writer, good));
            let (mut writer, done) = place.store.resume(RUN).unwrap();
            assert!(items(3).starts_with(&done) && done.len() >= acknowledged);
            for n in writer.missing() {
                writer.append_item(&item(n)).unwrap();
            }
            writer.seal().unwrap();
            assert_eq!(place.store.load(RUN).unwrap().items, items(3));
        }
    }
}

#[test]
fn a_write_that_failed_is_not_found_again_where_the_disk_allows_cutting() {
    let (place, mut writer) = Place::with_run(3, 1);
    writer.journal.file = faulty(&place, 1, false, 0, BROKEN);
    assert!(writer.append_item(&item(1)).is_err());
    let run = place.store.load(RUN).unwrap();
    assert_eq!((run.items, run.torn_bytes), (items(1), 0));
}

#[test]
fn a_full_disk_is_named_with_the_file_and_what_to_do() {
    let (place, mut writer) = Place::with_run(3, 1);
    writer.journal.file = faulty(&place, 0, true, 10, FULL);
    let error = writer.append_item(&item(1)).unwrap_err();
    assert!(error.to_string().contains("journal"), "{error}");
    assert!(error.hint().unwrap().contains("--resume"));
}

#[test]
fn an_entry_longer_than_any_that_is_read_is_refused_and_the_writer_goes_on() {
    let (_place, mut writer) = Place::with_run(3, 0);
    let payload = vec![b' '; crate::frame::PAYLOAD_LIMIT + 1];
    let refused = writer.journal.append(crate::entry::kind::NOTE, &payload);
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
    writer.append_item(&item(0)).unwrap();
}
