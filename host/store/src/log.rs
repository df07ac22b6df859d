//! The write-ahead log that a killed process leaves beside the file (`…-wal`).
//!
//! SQLite takes what is whole of it and silently drops the rest, because a power cut may
//! leave a torn end. A flipped bit looks the same to SQLite, and would silently undo
//! recordings that were committed. So before SQLite gets to it, the log is held against two
//! things that a torn end cannot have: frames of a later transaction behind the bad one,
//! since a transaction is only begun when the one before it is on the disk; and the index
//! (`…-shm`), whose header is written after the frames it counts are on the disk.
//!
//! The layouts are those of https://sqlite.org/walformat.html.

use std::path::{Path, PathBuf};

use auto_files::regular;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const INDEX_HEADER: usize = 48;

/// Whether the log of the store at `path` lost something that was committed.
pub(crate) fn lost_something(path: &Path) -> bool {
    // The index first: what it counts is in the log that is read after it.
    let read = |suffix| regular::read(&beside(path, suffix), u64::MAX);
    let index = read("-shm").unwrap_or_default();
    let Ok(log) = read("-wal") else { return false };
    let lost = Log { bytes: &log }.lost_something(&index);
    // Somebody may be at work and have started the log anew while it was read.
    lost && read("-wal").is_ok_and(|again| again == log)
}

/// The path with something appended to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

struct Log<'a> {
    bytes: &'a [u8],
}

/// A running checksum of SQLite's: two sums over pairs of words.
type Checksum = (u32, u32);

impl Log<'_> {
    fn lost_something(&self, index: &[u8]) -> bool {
        let Some(header) = self.bytes.get(..HEADER) else { return false };
        if header.iter().all(|&byte| byte == 0) || self.bytes.len() == HEADER {
            return false;
        }
        if sum((0, 0), &header[..24], self.big_endian()) != stored(&header[24..32]) {
            return true;
        }
        let whole = self.whole_frames();
        self.counted(index) > whole || self.goes_on_behind(whole)
    }

    fn big_endian(&self) -> bool {
        self.bytes[3] & 1 == 1
    }

    fn page_size(&self) -> usize {
        word(&self.bytes[8..12]) as usize
    }

    fn frame(&self, number: usize) -> Option<&[u8]> {
        let size = FRAME_HEADER + self.page_size();
        let start = HEADER + number.checked_mul(size)?;
        self.bytes.get(start..start + size)
    }

    fn salts(&self) -> &[u8] {
        &self.bytes[16..24]
    }

    /// Whether a frame belongs to this log and follows on the checksum before it.
    fn follows(&self, before: Checksum, frame: &[u8]) -> bool {
        let body = sum(before, &frame[..8], self.big_endian());
        frame[8..16] == *self.salts() && sum(body, &frame[FRAME_HEADER..], self.big_endian()) == stored(&frame[16..24])
    }

    /// How many frames there are before the first that is not whole.
    fn whole_frames(&self) -> usize {
        let mut checksum = stored(&self.bytes[24..32]);
        let mut number = 0;
        while let Some(frame) = self.frame(number).filter(|frame| self.follows(checksum, frame)) {
            checksum = stored(&frame[16..24]);
            number += 1;
        }
        number
    }

    /// Whether, at or behind that frame, one transaction ends and another begins.
    fn goes_on_behind(&self, whole: usize) -> bool {
        let mut number = whole;
        while let (Some(frame), Some(next)) = (self.frame(number), self.frame(number + 1)) {
            let commits = word(&frame[4..8]) != 0;
            if commits && self.follows(stored(&frame[16..24]), next) {
                return true;
            }
            number += 1;
        }
        false
    }

    /// How many frames the index counts; 0 where it is damaged or of another log.
    fn counted(&self, index: &[u8]) -> usize {
        let header = |header: &[u8]| {
            let whole = sum((0, 0), &header[..40], cfg!(target_endian = "big"));
            let stored = (native(&header[40..44]), native(&header[44..48]));
            if whole == stored && header[32..40] == *self.salts() { native(&header[16..20]) as usize } else { 0 }
        };
        index.chunks_exact(INDEX_HEADER).take(2).map(header).max().unwrap_or(0)
    }
}

fn sum((mut a, mut b): Checksum, bytes: &[u8], big_endian: bool) -> Checksum {
    let read = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(read(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(read(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}

fn stored(bytes: &[u8]) -> Checksum {
    (word(&bytes[..4]), word(&bytes[4..8]))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn native(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
