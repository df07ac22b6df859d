//! What a driver's calls returned, on disk before the driver sees it, so that a job that
//! was cut off goes on where it was.
//!
//! An append-only file of records; the first is the header, which says whose journal it is.
//! A rerun gets the recorded results in order until it catches up. A call that costs is
//! recorded before it is made, as an intent: one without a result counts as spent, and is
//! made again only where the user says so.
//!
//! A record is its kind and length, a checksum of these, its contents, a checksum of all,
//! and an end mark. Each checksum also covers the one before, so that no record can be
//! missing, moved or another journal's. A crash leaves the front of a record, or its front
//! and zeros: such a tail is dropped. Anything else that is wrong is refused, since guessing
//! could repeat a call that costs.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use auto_files::{Holder, Lock, regular};
use auto_schema::digest::{Digest, Hasher};
use auto_schema::shown_path;
use wasmtime::component::Val;

use crate::value;

/// First bytes of the file; changes when its layout does. All versions share the beginning.
const MAGIC: &[u8] = b"auto-journal-2\n";
const ANY_VERSION: &[u8] = b"auto-journal-";

/// Kind, length, checksum of both.
const HEAD: usize = 1 + 8 + 8;

/// Checksum of all, end mark.
const TAIL: usize = 8 + 1;

/// Ends every record, so that none ends in the zeros that a crash may leave.
const END: u8 = b'\n';

/// Whose journal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The driver component.
    pub(crate) driver: Digest,
    /// Its configuration and contract.
    pub(crate) config: Digest,
    /// What it works from.
    pub(crate) evidence: Digest,
    /// The components and limits it works with, and this host's version.
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
    /// `journal-foreign`, `journal-damaged`, `journal-diverged`, `journal-unanswered`,
    /// `journal-io`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// How a journal is opened.
pub(crate) struct Opening<'a> {
    /// Make a call again that costs and whose reply was lost.
    pub(crate) reissue: bool,
    /// Told who runs the same job, before waiting for its end.
    pub(crate) waiting: &'a dyn Fn(&Holder),
}

/// The most bytes of a journal that are read.
const LARGEST: u64 = 4 << 30;

/// An open journal; nobody else's until it is dropped.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Results that were recorded, the next last.
    recorded: Vec<(Digest, Vec<Val>)>,
    /// The last record, where it is an intent.
    unanswered: Option<Digest>,
    reissue: bool,
    /// The checksum that the next record goes on from.
    chain: Digest,
    synced_folder: bool,
    /// Something could not be written, so what comes after it cannot be either.
    broken: bool,
    /// Let go of last.
    _lock: Lock,
}

impl Journal {
    /// Opens the journal of this owner, or starts it; waits while the same job runs.
    pub(crate) fn open(folder: &Path, owner: &Owner, opening: &Opening<'_>) -> Result<Journal, JournalError> {
        Journal::open_file(&owner.path(folder), owner, opening)
    }

    fn open_file(path: &Path, owner: &Owner, opening: &Opening<'_>) -> Result<Journal, JournalError> {
        let io = |error: io::Error| wrong(path, "journal-io", format!("cannot be used: {error}"));
        auto_files::make_folder(auto_files::folder_of(path)).map_err(io)?;
        let lock = Lock::take(&path.with_added_extension("lock"), opening.waiting).map_err(io)?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        // Nor is a link followed: a journal is only ever made here.
        let mut file = regular::open_no_link(&mut options, path).map_err(io)?;
        let bytes = regular::read_data(&mut file, LARGEST).map_err(io)?;
        let mut chain = Digest::of(MAGIC);
        let header = [MAGIC, &frame(&mut chain, Kind::Owner, &owner.bytes())].concat();
        let mut records = Records { chain, results: Vec::new(), unanswered: None };
        let kept = match bytes.strip_prefix(header.as_slice()) {
            Some(rest) => header.len() + records.read(rest).map_err(|at| damaged(path, header.len() + at))?,
            // Cut off while it was being started.
            None if written(&bytes) < header.len() && header.starts_with(&bytes[..written(&bytes)]) => {
                file.rewind().and_then(|()| file.write_all(&header)).map_err(io)?;
                header.len()
            }
            None => return Err(not_ours(path, &bytes)),
        };
        file.set_len(kept as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io)?;
        records.results.reverse();
        Ok(Journal {
            path: path.to_owned(),
            file,
            recorded: records.results,
            unanswered: records.unanswered,
            reissue: opening.reissue,
            chain: records.chain,
            synced_folder: false,
            broken: false,
            _lock: lock,
        })
    }

    /// The result that was recorded for the next call; none where it has to be made.
    pub(crate) fn next(&mut self, call: Digest) -> Result<Option<Vec<Val>>, JournalError> {
        let next = self.recorded.pop();
        let expected = next.as_ref().map(|(call, _)| *call).or(self.unanswered);
        if expected.is_some_and(|expected| expected != call) {
            let what = "tells of other calls than the driver makes now, so the driver is not deterministic; remove it to start over";
            return Err(wrong(&self.path, "journal-diverged", what.to_owned()));
        }
        Ok(next.map(|(_, results)| results))
    }

    /// Records that a call which costs is about to be made; nothing is sent before this
    /// returns. Refuses one that was made before and whose reply was lost.
    pub(crate) fn intend(&mut self, call: Digest) -> Result<(), JournalError> {
        if self.unanswered.is_some() && !self.reissue {
            let what = "tells of a call that costs and was made, but whose reply was lost; to make it again, and pay again, give --reissue";
            return Err(wrong(&self.path, "journal-unanswered", what.to_owned()));
        }
        self.append(Kind::Intent, call.as_bytes(), Durability::Made)?;
        self.unanswered = Some(call);
        Ok(())
    }

    /// Records the result of a call that was made; synced to disk where it could not be had
    /// again for nothing.
    pub(crate) fn record(&mut self, call: Digest, results: &[Val], durability: Durability) -> Result<(), JournalError> {
        let mut record = call.as_bytes().to_vec();
        value::encode(results, &mut record);
        let durability = if self.unanswered.is_some() { Durability::Made } else { durability };
        self.append(Kind::Result, &record, durability)?;
        self.unanswered = None;
        Ok(())
    }

    fn append(&mut self, kind: Kind, record: &[u8], durability: Durability) -> Result<(), JournalError> {
        let written = if self.broken { Err(io::ErrorKind::Other.into()) } else { self.write(kind, record, durability) };
        // After a failed sync nobody knows what is on disk; trying again would not tell.
        self.broken = written.is_err();
        written.map_err(|error| {
            let what = format!("cannot be written: {error}; mend that, and run the same again to go on from here");
            wrong(&self.path, "journal-io", what)
        })
    }

    fn write(&mut self, kind: Kind, record: &[u8], durability: Durability) -> io::Result<()> {
        self.file.write_all(&frame(&mut self.chain, kind, record))?;
        if durability == Durability::Cached {
            return Ok(());
        }
        self.file.sync_data()?;
        if !self.synced_folder {
            auto_files::sync_folder(auto_files::folder_of(&self.path))?;
            self.synced_folder = true;
        }
        Ok(())
    }

    /// What the job made is in its place: the journal is of no further use.
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
    JournalError { code, message: format!("the journal {} {what}", shown_path(path)) }
}

fn damaged(path: &Path, at: usize) -> JournalError {
    let what = format!(
        "is damaged at byte {at}, so which calls were made is not known; remove it to start over, which makes them all again"
    );
    wrong(path, "journal-damaged", what)
}

/// Why a file that does not start as ours should cannot be used.
fn not_ours(path: &Path, bytes: &[u8]) -> JournalError {
    let foreign = |what: &str| wrong(path, "journal-foreign", format!("{what}; remove it to start over"));
    match bytes.strip_prefix(MAGIC) {
        Some(rest) => match next(&mut Digest::of(MAGIC), rest) {
            Next::Record(Kind::Owner, ..) => {
                foreign("is of another driver, configuration, evidence or set of components")
            }
            _ => damaged(path, 0),
        },
        None if bytes.starts_with(ANY_VERSION) => foreign("was written by another version of this program"),
        None => foreign("is no journal"),
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The header: whose journal it is.
    Owner = b'o' as isize,
    /// A call that costs is about to be made.
    Intent = b'i' as isize,
    /// What a call returned.
    Result = b'r' as isize,
}

/// A record as bytes; the next one goes on from its checksum.
fn frame(chain: &mut Digest, kind: Kind, record: &[u8]) -> Vec<u8> {
    let mut head = vec![kind as u8];
    head.extend((record.len() as u64).to_le_bytes());
    let sum = checksum(*chain, &head, None);
    let all = checksum(*chain, &head, Some(record));
    *chain = all;
    [&head[..], &sum.as_bytes()[..8], record, &all.as_bytes()[..8], &[END]].concat()
}

/// Of the head alone, or of the whole record.
fn checksum(chain: Digest, head: &[u8], record: Option<&[u8]>) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(if record.is_some() { "auto-journal-record\n" } else { "auto-journal-head\n" });
    hasher.update(chain.as_bytes());
    hasher.update(head);
    hasher.update(record.unwrap_or_default());
    hasher.finish()
}

/// What the records after the header say.
struct Records {
    chain: Digest,
    /// The calls with their results, in order.
    results: Vec<(Digest, Vec<Val>)>,
    unanswered: Option<Digest>,
}

/// Reads bytes as what follows a header, and as what a whole record holds; for fuzzing.
pub(crate) fn try_reading(bytes: &[u8]) {
    let read = |bytes: &[u8]| {
        let mut records = Records { chain: Digest::of(MAGIC), results: Vec::new(), unanswered: None };
        records.read(bytes).map(|end| (end, records.results.len()))
    };
    if let Ok((end, _)) = read(bytes) {
        assert!(end <= bytes.len());
        assert_eq!(read(&bytes[..end]), read(bytes), "what was torn off says nothing");
    }
    let _ = read(&frame(&mut Digest::of(MAGIC), Kind::Result, bytes));
}

/// A journal of one result, without its header; for fuzzing.
pub(crate) fn sample() -> Vec<u8> {
    let mut record = Digest::of(b"call").as_bytes().to_vec();
    value::encode(&[Val::U32(7)], &mut record);
    frame(&mut Digest::of(MAGIC), Kind::Result, &record)
}

impl Records {
    /// Reads to the end or the tear; gives the bytes of whole records, or the place of the
    /// damage.
    fn read(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut rest = bytes;
        loop {
            let at = bytes.len() - rest.len();
            match next(&mut self.chain, rest) {
                Next::Record(kind, record, after) => {
                    self.take(kind, record).ok_or(at)?;
                    rest = after;
                }
                Next::Torn => return Ok(at),
                Next::Damaged => return Err(at),
            }
        }
    }

    /// None where it makes no sense after those before.
    fn take(&mut self, kind: Kind, record: &[u8]) -> Option<()> {
        let (call, results) = record.split_first_chunk::<32>()?;
        let call = Digest(*call);
        let fits = self.unanswered.is_none_or(|unanswered| unanswered == call);
        match kind {
            Kind::Intent if fits && results.is_empty() => self.unanswered = Some(call),
            Kind::Result if fits => {
                self.results.push((call, value::decode(results)?));
                self.unanswered = None;
            }
            _ => return None,
        }
        Some(())
    }
}

/// What stands next in a journal.
enum Next<'a> {
    /// A record, and what comes after it.
    Record(Kind, &'a [u8], &'a [u8]),
    /// Nothing, or what a crash left of a record.
    Torn,
    Damaged,
}

fn next<'a>(chain: &mut Digest, bytes: &'a [u8]) -> Next<'a> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else { return Next::Torn };
    let torn_before = |end: usize| if written(bytes) < end { Next::Torn } else { Next::Damaged };
    let (head, sum) = head.split_at(1 + 8);
    if checksum(*chain, head, None).as_bytes()[..8] != *sum {
        return torn_before(HEAD);
    }
    // The length is what was written, since the head is whole.
    let (Some(kind), Some(length)) = (kind(head[0]), length(&head[1..])) else { return Next::Damaged };
    let Some((record, rest)) = rest.split_at_checked(length) else { return Next::Torn };
    let Some((tail, rest)) = rest.split_at_checked(TAIL) else { return Next::Torn };
    let all = checksum(*chain, head, Some(record));
    if tail != [&all.as_bytes()[..8], &[END]].concat() {
        return torn_before(HEAD + length + TAIL);
    }
    *chain = all;
    Next::Record(kind, record, rest)
}

fn kind(byte: u8) -> Option<Kind> {
    [Kind::Owner, Kind::Intent, Kind::Result].into_iter().find(|kind| *kind as u8 == byte)
}

fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// The bytes before the zeros at the end.
fn written(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(driver: &str) -> Owner {
        let digest = |text: &str| Digest::of(text.as_bytes());
        Owner { driver: digest(driver), config: digest("c"), evidence: digest("e"), components: digest("p") }
    }

    /// In memory where that can be: thousands of syncs to a disk take minutes.
    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
    }

    fn open(folder: &Path, reissue: bool) -> Result<Journal, JournalError> {
        Journal::open(folder, &owner("d"), &Opening { reissue, waiting: &|_| panic!("nobody is waited for") })
    }

    fn id(call: u32) -> Digest {
        Digest::of(&call.to_le_bytes())
    }

    /// The result of a call: some end in zeros, as a torn record may.
    fn result(call: u32) -> Vec<Val> {
        vec![Val::U32(call), Val::String("x".repeat(call as usize)), Val::U64(0)]
    }

    /// Makes calls 0..count, the odd ones costing; gives how many had to be made.
    fn run(journal: &mut Journal, count: u32) -> Result<u32, JournalError> {
        let mut made = 0;
        for call in 0..count {
            if let Some(results) = journal.next(id(call))? {
                assert_eq!(results, result(call));
                continue;
            }
            if call % 2 == 1 {
                journal.intend(id(call))?;
            }
            made += 1;
            journal.record(id(call), &result(call), Durability::Made)?;
        }
        Ok(made)
    }

    /// A journal of `count` calls: its bytes, and where each record ends.
    fn written_journal(folder: &Path, count: u32) -> (Vec<u8>, Vec<usize>) {
        let path = owner("d").path(folder);
        let mut ends = Vec::new();
        for calls in 0..=count {
            run(&mut open(folder, false).unwrap(), calls).unwrap();
            ends.push(fs::read(&path).unwrap().len());
        }
        (fs::read(path).unwrap(), ends)
    }

    #[test]
    fn wherever_it_is_cut_no_call_that_costs_is_made_twice_unasked() {
        let folder = scratch();
        let path = owner("d").path(folder.path());
        let (bytes, ends) = written_journal(folder.path(), 4);
        for zeros in [0, 1, 40] {
            let mut spent = 0;
            for length in 0..=bytes.len() {
                fs::write(&path, [&bytes[..length], &vec![0; zeros]].concat()).unwrap();
                let answered = ends.iter().filter(|end| **end <= length).count().saturating_sub(1) as u32;
                let mut journal = open(folder.path(), false).unwrap();
                assert_eq!(journal.recorded.len() as u32, answered, "{length} {zeros}");
                if journal.unanswered.is_some() {
                    spent += 1;
                    assert_eq!(run(&mut journal, 4).unwrap_err().code, "journal-unanswered", "{length}");
                    drop(journal);
                    journal = open(folder.path(), true).unwrap();
                    assert_eq!(run(&mut journal, 4), Ok(4 - answered), "{length}");
                } else {
                    assert_eq!(run(&mut journal, 4), Ok(4 - answered), "{length}");
                    drop(journal);
                    assert_eq!(fs::read(&path).unwrap(), bytes);
                    continue;
                }
                drop(journal);
                // Both intents stay on record.
                assert!(fs::read(&path).unwrap().len() > bytes.len());
                assert_eq!(run(&mut open(folder.path(), false).unwrap(), 4), Ok(0));
            }
            // From the end of each of the two intents to the end of its result.
            assert!(spent > 2 * (HEAD + TAIL + 32), "{spent}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_refused() {
        let folder = scratch();
        let path = owner("d").path(folder.path());
        let (bytes, _) = written_journal(folder.path(), 3);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, flipped).unwrap();
            let error = open(folder.path(), true).unwrap_err();
            assert!(["journal-foreign", "journal-damaged"].contains(&error.code), "{bit} {error:?}");
            assert!(error.message.contains("remove it"), "{error:?}");
        }
    }

    #[test]
    fn a_record_that_is_missing_moved_or_another_journals_is_refused() {
        let folder = scratch();
        let path = owner("d").path(folder.path());
        let (bytes, ends) = written_journal(folder.path(), 4);
        let record = |n: usize| &bytes[ends[n - 1]..ends[n]];
        let header = &bytes[..ends[0]];
        let other = scratch();
        let theirs = Opening { reissue: false, waiting: &|_| {} };
        run(&mut Journal::open(other.path(), &owner("other"), &theirs).unwrap(), 1).unwrap();
        let foreign = fs::read(owner("other").path(other.path())).unwrap().split_off(ends[0]);
        for records in [[record(2), record(3)], [record(1), record(3)], [record(1), record(1)], [&foreign, record(2)]] {
            fs::write(&path, [header, &records.concat()].concat()).unwrap();
            assert_eq!(open(folder.path(), false).unwrap_err().code, "journal-damaged");
        }
    }

    #[test]
    fn another_owner_version_or_order_is_refused() {
        let folder = scratch();
        let path = owner("d").path(folder.path());
        let (bytes, _) = written_journal(folder.path(), 2);
        let opening = Opening { reissue: false, waiting: &|_| {} };
        let foreign = Journal::open_file(&path, &owner("other"), &opening).unwrap_err();
        assert!(foreign.code == "journal-foreign" && foreign.message.contains("another driver"), "{foreign:?}");
        assert_ne!(owner("other").path(folder.path()), path);

        let mut journal = open(folder.path(), false).unwrap();
        assert_eq!(journal.next(id(7)).unwrap_err().code, "journal-diverged");
        drop(journal);
        fs::write(&path, [b"auto-journal-1\n", &bytes[MAGIC.len()..]].concat()).unwrap();
        let foreign = open(folder.path(), false).unwrap_err();
        assert!(foreign.code == "journal-foreign" && foreign.message.contains("another version"), "{foreign:?}");
        fs::write(&path, "a file of somebody's own").unwrap();
        assert_eq!(open(folder.path(), false).unwrap_err().code, "journal-foreign");
        assert_eq!(fs::read(&path).unwrap(), b"a file of somebody's own");
    }

    #[test]
    fn another_call_than_the_one_that_was_spent_is_refused() {
        let folder = scratch();
        let mut journal = open(folder.path(), false).unwrap();
        journal.intend(id(1)).unwrap();
        drop(journal);
        assert_eq!(open(folder.path(), true).unwrap().next(id(2)).unwrap_err().code, "journal-diverged");
        assert_eq!(open(folder.path(), true).unwrap().next(id(1)), Ok(None));
    }

    #[test]
    fn the_same_job_waits_for_the_one_that_runs_and_starts_anew() {
        let folder = scratch();
        let mut journal = open(folder.path(), false).unwrap();
        run(&mut journal, 2).unwrap();
        let (sender, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let waiting = |holder: &Holder| sender.send(holder.who.clone()).unwrap();
                let opening = Opening { reissue: false, waiting: &waiting };
                run(&mut Journal::open(folder.path(), &owner("d"), &opening).unwrap(), 2)
            });
            let who = told.recv().unwrap();
            assert!(who.starts_with(&format!("process {} on ", std::process::id())), "{who}");
            journal.finish();
            assert_eq!(second.join().unwrap(), Ok(2), "what was finished is of no use to the next");
        });
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [owner("d").path(folder.path())]);
    }
}
