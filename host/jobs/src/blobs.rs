//! Bytes in the folder of a run, named by their SHA-256, and the run's head: which of them counts.
//!
//! A blob never changes. The head is a file of its own that is replaced at once or not at all, so a
//! crash leaves the old one or the new one; moving it is a comparison and a swap, so that two who
//! move it from the same place do not both succeed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use auto_files::{Lock, regular};
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::fault::Fault;

/// The most bytes of a blob.
pub const MOST_BYTES: usize = 16 << 20;

/// The name of the file that says which blob counts.
const HEAD: &str = "HEAD";

/// The blobs and the head of a run.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

/// Which blob counts.
pub type Head = Option<Digest>;

impl Blobs {
    /// Those in the folder of a run; nothing is made yet.
    pub fn of(run: &Path) -> Blobs {
        Blobs { folder: run.to_owned() }
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join("blobs").join(digest.to_string())
    }

    /// Keeps bytes; on disk when this returns. Codes: `blob-too-large`, `machine`.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, Fault> {
        if bytes.len() > MOST_BYTES {
            let message = format!("{} bytes are more than the {MOST_BYTES} that a blob may have", bytes.len());
            return Err(Fault::new("blob-too-large", message));
        }
        let digest = Digest::of(bytes);
        // One that is damaged is mended.
        if self.get(digest).is_err() {
            let path = self.path(digest);
            auto_files::replace(&path, bytes)
                .map_err(|error| Fault::machine(&format!("cannot write {}", shown_path(&path)), error))?;
        }
        Ok(digest)
    }

    /// The bytes. Codes: `no-blob`, `blob-damaged`, `machine`.
    pub fn get(&self, digest: Digest) -> Result<Vec<u8>, Fault> {
        let path = self.path(digest);
        let bytes = regular::read(&path, MOST_BYTES as u64).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Fault::new("no-blob", format!("there is no blob {digest} in this run")),
            _ => Fault::machine(&format!("cannot read {}", shown_path(&path)), error),
        })?;
        if Digest::of(&bytes) != digest {
            let message =
                format!("{} does not hold what its name says; the run cannot go on from it", shown_path(&path));
            return Err(Fault::new("blob-damaged", message));
        }
        Ok(bytes)
    }

    /// Which blob counts. Codes: `head-damaged`, `machine`.
    pub fn head(&self) -> Result<Head, Fault> {
        let path = self.folder.join(HEAD);
        let bytes = match regular::read(&path, 128) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Fault::machine(&format!("cannot read {}", shown_path(&path)), error)),
            Ok(bytes) => bytes,
        };
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
        match text.and_then(Digest::parse) {
            Some(digest) => Ok(Some(digest)),
            None => {
                let message = format!("{} is not a digest and a line end; what counts is not known", shown_path(&path));
                Err(Fault::new("head-damaged", message))
            }
        }
    }

    /// Makes `to` what counts, if `since` does; well, too, where it is `to` already.
    /// Codes: `head-moved`, `head-damaged`, `no-blob`, `blob-damaged`, `machine`.
    pub fn move_head(&self, since: Head, to: Digest) -> Result<(), Fault> {
        self.get(to)?;
        let path = self.folder.join(HEAD);
        let machine = |error| Fault::machine(&format!("cannot move {}", shown_path(&path)), error);
        // Between the comparison and the swap nobody else moves it.
        let _lock = Lock::take(&path.with_added_extension("lock"), |_| {}).map_err(machine)?;
        match self.head()? {
            now if now == Some(to) => Ok(()),
            now if now == since => auto_files::replace(&path, format!("{to}\n").as_bytes()).map_err(machine),
            now => {
                let shown = |head: Head| head.map_or_else(|| "nothing".to_owned(), |digest| digest.to_string());
                let message = format!("the head is {}, and was to be moved from {}", shown(now), shown(since));
                Err(Fault::new("head-moved", message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_blob_is_what_its_name_says_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        let digest = blobs.put(b"one").unwrap();
        assert_eq!((digest, blobs.get(digest).unwrap().as_slice()), (Digest::of(b"one"), b"one".as_slice()));
        assert_eq!(blobs.get(Digest::of(b"two")).unwrap_err().code, "no-blob");
        fs::write(blobs.path(digest), b"onf").unwrap();
        assert_eq!(blobs.get(digest).unwrap_err().code, "blob-damaged");
        assert_eq!(blobs.put(b"one").and_then(|digest| blobs.get(digest)).unwrap(), b"one");
        assert_eq!(blobs.put(&vec![0; MOST_BYTES + 1]).unwrap_err().code, "blob-too-large");
    }

    #[test]
    fn the_head_moves_from_where_it_was_thought_to_be_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        let [one, two, three] = [b"1", b"2", b"3"].map(|bytes| blobs.put(bytes).unwrap());
        assert_eq!(blobs.head(), Ok(None));
        assert_eq!(blobs.move_head(Some(one), two).unwrap_err().code, "head-moved");
        assert_eq!(blobs.move_head(None, Digest::of(b"none")).unwrap_err().code, "no-blob");
        blobs.move_head(None, one).unwrap();
        blobs.move_head(Some(one), two).unwrap();
        // Whoever did so and died before he could say it does it again.
        blobs.move_head(Some(one), two).unwrap();
        assert_eq!(blobs.move_head(Some(one), three).unwrap_err().code, "head-moved");
        assert_eq!(blobs.head(), Ok(Some(two)));
        fs::write(folder.path().join(HEAD), "two").unwrap();
        assert_eq!(blobs.move_head(None, three).unwrap_err().code, "head-damaged");
    }

    #[test]
    fn of_many_who_move_it_from_the_same_place_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        let won: Vec<bool> = std::thread::scope(|scope| {
            let move_to = |n: u8| {
                let blobs = &blobs;
                scope.spawn(move || blobs.move_head(None, blobs.put(&[n]).unwrap()).is_ok())
            };
            let threads: Vec<_> = (0..8).map(move_to).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        assert!(blobs.head().unwrap().is_some());
    }
}
