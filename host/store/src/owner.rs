//! Whether a file is, or was, one of ours: known by its first bytes, so that a damaged store is
//! called damaged and a foreign file foreign, by everybody who asks.

use std::path::Path;

use crate::sqlite::APPLICATION_ID;

/// How every SQLite file begins (https://sqlite.org/fileformat.html).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where SQLite keeps the number of the program that a file belongs to.
const OWNER: usize = 68;

/// How much of a file [`is_ours`] needs.
pub(crate) const HEAD: u64 = 72;

/// Whether a file that begins so is or was a store: it says so where an SQLite file does, or it
/// ends before that and begins as one.
pub fn is_ours(head: &[u8]) -> bool {
    match head.get(OWNER..OWNER + 4) {
        Some(owner) => owner == (APPLICATION_ID as u32).to_be_bytes(),
        None => !head.is_empty() && (MAGIC.starts_with(head) || head.starts_with(MAGIC)),
    }
}

/// [`is_ours`] of the file at a path.
pub(crate) fn claims(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = Vec::new();
    let read = auto_files::regular::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && is_ours(&head)
}
