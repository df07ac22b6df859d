//! Opening what must be a regular file. A pipe or a device in its place would keep whoever
//! reads it waiting, or never end; so nothing that somebody else may have put there is opened
//! in any other way.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// How much room is made for a file before any of it is read.
const AT_ONCE: u64 = 64 << 20;

/// Opens a regular file for reading; what is there and is none is an error, at once.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// The same with options of the caller's. Where they would make the file, one that is made
/// is regular.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    opened(options, path, OFlags::empty())
}

/// The same, but a link in the file's place is none: whoever made it could have the file that
/// it leads to written.
pub fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    opened(options, path, OFlags::NOFOLLOW)
}

fn opened(options: &mut OpenOptions, path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(irregular()),
    }
}

/// Reads a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large(most));
    }
    // It may have grown since, and a length can be claimed by a file with nothing in it.
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(AT_ONCE)).unwrap_or(0));
    read_at_most(file, most, &mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file of at most `most` bytes.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    as_text(read(path, most)?)
}

/// The same of what may be a pipe, too: the shell makes one of `<(command)`.
pub fn text_of_any(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    read_at_most(File::open(path)?, most, &mut bytes)?;
    as_text(bytes)
}

fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads an open file to where its data ends; behind that may be a hole, which reads as zeros
/// however long it is.
pub fn read_data(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut end = 0;
    while let Ok(data) = rustix::fs::seek(&*file, rustix::fs::SeekFrom::Data(end)) {
        end = rustix::fs::seek(&*file, rustix::fs::SeekFrom::Hole(data))?;
    }
    if end > most {
        return Err(too_large(most));
    }
    file.rewind()?;
    let mut bytes = Vec::with_capacity(usize::try_from(end.min(AT_ONCE)).unwrap_or(0));
    file.take(end).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end of anything, or to the error that it goes on behind `most` bytes.
pub fn read_at_most(from: impl io::Read, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    from.take(most.saturating_add(1)).read_to_end(bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(()) }
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(read(path, 10).is_err(), "{}", path.display());
            assert!(open_with(OpenOptions::new().write(true).create(true), path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_hole_at_the_end_takes_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert_eq!(read_data(&mut file, 1 << 20).unwrap(), b"0123456789");
        file.set_len(1 << 40).unwrap();
        let bytes = read_data(&mut file, 1 << 20).unwrap();
        assert!(bytes.starts_with(b"0123456789") && bytes.len() <= 1 << 16, "{}", bytes.len());
        assert!(bytes[10..].iter().all(|&byte| byte == 0));
        file.set_len(0).unwrap();
        assert_eq!(read_data(&mut file, 1 << 20).unwrap(), b"");
    }

    #[test]
    fn so_much_is_read_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(read(&path, 9).unwrap_err().to_string().contains("more than 9 bytes"));
        let mut bytes = Vec::new();
        assert!(read_at_most(io::repeat(7), 100, &mut bytes).is_err() && bytes.len() == 101);
    }
}
