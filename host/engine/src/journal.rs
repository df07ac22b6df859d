//! What a driver's calls returned, on disk before the driver sees it, so that a job that
//! was cut off goes on where it was.
//!
//! An append-only file of records, each with its length and a checksum; the first is the
//! header, which says whose journal it is. A rerun gets the recorded results in order
//! until it catches up. A record that the crash tore off at the end is dropped; anything
//! else that is wrong is refused, since guessing could repeat a call that costs.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use auto_schema::digest::{Digest, Hasher};
use rustix::fs::{FlockOperation, flock};
use wasmtime::component::Val;

use crate::value;

/// First bytes of the file; changes when its layout does.
const MAGIC: &[u8] = b"auto-journal-1\n";

/// Length and checksum.
const FRAME: usize = 8 + 8;

/// Whose journal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The driver component.
    pub(crate) driver: Digest,
    /// Its configuration and contract.
    pub(crate) config: Digest,
    /// What it works from.
    pub(crate) evidence: Digest,
    /// The components and limits it works with.
    pub(crate) components: Digest,
}

impl Owner {
    fn bytes(&self) -> Vec<u8> {
        [self.driver, self.config, self.evidence, self.components]
            .iter()
            .flat_map(|digest| *digest.as_bytes())
            .collect()
    }

    /// The file of this owner in a folder.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("journal.{}", &Digest::of(&self.bytes()).to_string()[..16]))
    }
}

/// Why a journal cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalError {
    /// `journal-foreign`, `journal-damaged`, `journal-diverged`, `journal-locked`,
    /// `journal-io`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// An open journal. The file is locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Results that were recorded, the next last.
    recorded: Vec<(Digest, Vec<Val>)>,
    synced_folder: bool,
}

impl Journal {
    /// Opens the journal of this owner, or starts it.
    pub(crate) fn open(folder: &Path, owner: &Owner) -> Result<Journal, JournalError> {
        Journal::open_file(&owner.path(folder), owner)
    }

    fn open_file(path: &Path, owner: &Owner) -> Result<Journal, JournalError> {
        let io = |error: std::io::Error| wrong(path, "journal-io", format!("cannot be used: {error}"));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        let options = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(io)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            wrong(path, "journal-locked", "is in use: the same job is running; wait for it to end".to_owned())
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let header = [MAGIC, &frame(&owner.bytes())].concat();
        let (kept, recorded) = match bytes.strip_prefix(header.as_slice()) {
            Some(records) => {
                let (length, recorded) = read(path, records)?;
                (header.len() + length, recorded)
            }
            // Cut off while it was being started.
            None if header.starts_with(&bytes) => {
                file.rewind().and_then(|()| file.write_all(&header)).map_err(io)?;
                (header.len(), Vec::new())
            }
            None => {
                let what =
                    "is of another driver, configuration, evidence or set of components; remove it to start over";
                return Err(wrong(path, "journal-foreign", what.to_owned()));
            }
        };
        file.set_len(kept as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io)?;
        Ok(Journal {
            path: path.to_owned(),
            file,
            recorded: recorded.into_iter().rev().collect(),
            synced_folder: false,
        })
    }

    /// The result that was recorded for the next call, or the one that `make` gives, which
    /// is recorded first; and synced to disk first where `make` says that it could not be
    /// had again for nothing.
    pub(crate) fn call<E: From<JournalError>>(
        &mut self,
        call: Digest,
        make: impl FnOnce() -> Result<(Vec<Val>, Durability), E>,
    ) -> Result<Vec<Val>, E> {
        if let Some((recorded, results)) = self.recorded.pop() {
            if recorded == call {
                return Ok(results);
            }
            let what = "tells of other calls than the driver makes now, so the driver is not deterministic; remove it to start over";
            return Err(wrong(&self.path, "journal-diverged", what.to_owned()).into());
        }
        let (results, durability) = make()?;
        self.append(call, &results, durability)
            .map_err(|error| wrong(&self.path, "journal-io", format!("cannot be written: {error}")))?;
        Ok(results)
    }

    fn append(&mut self, call: Digest, results: &[Val], durability: Durability) -> std::io::Result<()> {
        let mut record = call.as_bytes().to_vec();
        value::encode(results, &mut record);
        self.file.write_all(&frame(&record))?;
        if durability == Durability::Cached {
            return Ok(());
        }
        self.file.sync_data()?;
        if !self.synced_folder {
            self.path.parent().map(File::open).transpose()?.map(|folder| folder.sync_all()).transpose()?;
            self.synced_folder = true;
        }
        Ok(())
    }

    /// The job is done: the journal is of no further use.
    pub(crate) fn finish(self) {
        // One that stays behind only tells a rerun what it would have found out again.
        let _ = fs::remove_file(&self.path);
    }
}

/// What it would take to have a result again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It would have to be made again.
    Made,
    /// It came from the memo.
    Cached,
}

fn wrong(path: &Path, code: &'static str, what: String) -> JournalError {
    JournalError { code, message: format!("the journal {} {what}", path.display()) }
}

fn frame(record: &[u8]) -> Vec<u8> {
    let length = (record.len() as u64).to_le_bytes();
    [&length, &checksum(record)[..], record].concat()
}

fn checksum(record: &[u8]) -> [u8; 8] {
    let mut hasher = Hasher::new();
    hasher.update("auto-journal-record\n");
    hasher.update(record);
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&hasher.finish().as_bytes()[..8]);
    checksum
}

/// The calls with their results, in order.
type Records = Vec<(Digest, Vec<Val>)>;

/// The whole records, and the bytes they take.
fn read(path: &Path, bytes: &[u8]) -> Result<(usize, Records), JournalError> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Some((record, after)) = next(rest) {
        match record {
            Some(record) => records.push(record),
            // Written last, and not to its end.
            None if after.is_empty() => break,
            None => {
                let what = format!("is damaged at byte {}; remove it to start over", bytes.len() - rest.len());
                return Err(wrong(path, "journal-damaged", what));
            }
        }
        rest = after;
    }
    Ok((bytes.len() - rest.len(), records))
}

/// The next record, or none where it is wrong, and what comes after it; nothing where
/// what is left is not a whole record.
#[allow(clippy::type_complexity, reason = "a record, whether it is right, and the rest")]
fn next(bytes: &[u8]) -> Option<(Option<(Digest, Vec<Val>)>, &[u8])> {
    let (head, rest) = bytes.split_at_checked(FRAME)?;
    let (length, sum) = head.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (record, rest) = rest.split_at_checked(length)?;
    let parse = || {
        let (call, results) = record.split_first_chunk::<32>()?;
        Some((Digest(*call), value::decode(results)?))
    };
    Some(((checksum(record) == sum).then(parse).flatten(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(driver: &str) -> Owner {
        let digest = |text: &str| Digest::of(text.as_bytes());
        Owner { driver: digest(driver), config: digest("c"), evidence: digest("e"), components: digest("p") }
    }

    /// Makes calls 0..count; gives the results and how many had to be made.
    fn run(journal: &mut Journal, count: u32) -> Result<(Vec<Vec<Val>>, u32), JournalError> {
        let mut made = 0;
        let results = (0..count).map(|call| {
            journal.call(Digest::of(&call.to_le_bytes()), || {
                made += 1;
                Ok((vec![Val::U32(call), Val::String("x".repeat(call as usize))], Durability::Made))
            })
        });
        let results = results.collect::<Result<Vec<_>, JournalError>>()?;
        Ok((results, made))
    }

    #[test]
    fn wherever_it_is_cut_the_results_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = owner("d").path(folder.path());
        let mut journal = Journal::open(folder.path(), &owner("d")).unwrap();
        let (whole, made) = run(&mut journal, 4).unwrap();
        assert_eq!(made, 4);
        drop(journal);
        let bytes = fs::read(&path).unwrap();
        let mut last = 4;
        for length in (0..=bytes.len()).rev() {
            fs::write(&path, &bytes[..length]).unwrap();
            let mut journal = Journal::open(folder.path(), &owner("d")).unwrap();
            let recorded = journal.recorded.len() as u32;
            assert!(recorded <= last, "a shorter file cannot tell more");
            last = recorded;
            let (results, made) = run(&mut journal, 4).unwrap();
            assert_eq!((results, made), (whole.clone(), 4 - recorded));
            drop(journal);
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(last, 0);
    }

    #[test]
    fn damage_before_the_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = owner("d").path(folder.path());
        let mut journal = Journal::open(folder.path(), &owner("d")).unwrap();
        run(&mut journal, 1).unwrap();
        let first = fs::read(&path).unwrap().len();
        let mut dropped = 0;
        drop(journal);
        run(&mut Journal::open(folder.path(), &owner("d")).unwrap(), 2).unwrap();
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            match Journal::open(folder.path(), &owner("d")) {
                Err(error) => assert!(["journal-foreign", "journal-damaged"].contains(&error.code), "{at} {error:?}"),
                // The last record, or a length that points past the end, looks like a tear.
                Ok(journal) => {
                    assert!(journal.recorded.len() < 2, "{at}");
                    dropped += 1;
                }
            }
        }
        // All of the last record, bar the byte that makes it look shorter than it is.
        assert!(dropped >= bytes.len() - first - 8, "{dropped}");
    }

    #[test]
    fn another_owner_and_another_order_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = owner("d").path(folder.path());
        let mut journal = Journal::open(folder.path(), &owner("d")).unwrap();
        run(&mut journal, 2).unwrap();
        assert_eq!(Journal::open(folder.path(), &owner("d")).unwrap_err().code, "journal-locked");
        drop(journal);
        assert_eq!(Journal::open_file(&path, &owner("other")).unwrap_err().code, "journal-foreign");
        assert_ne!(owner("other").path(folder.path()), path);

        let mut journal = Journal::open(folder.path(), &owner("d")).unwrap();
        let made: Result<_, JournalError> = journal.call(Digest::of(b"other"), || panic!("it is not made"));
        assert_eq!(made.unwrap_err().code, "journal-diverged");
        drop(journal);
        Journal::open(folder.path(), &owner("d")).unwrap().finish();
        assert!(!path.exists());
    }
}
