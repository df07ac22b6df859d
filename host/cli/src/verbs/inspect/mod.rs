//! `inspect`: what a file is and what it says about itself. Each kind of file has a name, and
//! a function that knows it when it sees it; the first that does speaks.

mod artifact;
mod bytes;
mod text;
mod wasm;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use auto_json::Record;
use auto_schema::shown_path;
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Say what a file is: an artifact with its manifest, sections and sizes, or anything else
///
/// Exit code 0: it is something that this program makes or reads, and whole. 1: it is
/// something else. 6: it is one of ours, and damaged; nothing in it can be trusted. The
/// object of `--json` has the kind of file as `kind`.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host inspect triage.cbin\n  auto-host inspect triage.cbin --json")]
pub struct Opts {
    /// The file; `-` is stdin
    file: PathBuf,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let place = shown_path(&self.file);
        let bytes = match fs::metadata(&self.file) {
            Ok(found) if found.is_dir() => return Ok(foreign("folder", &place, "a folder; name a file in it")),
            Ok(found) if found.is_file() && found.len() > LARGEST => head(&self.file)?,
            Ok(found) if !found.is_file() => {
                return Ok(foreign("special", &place, "no regular file; give it to stdin and say `-`"));
            }
            _ => files::read(&self.file)?,
        };
        let file = File { path: &self.file, place, bytes };
        let kinds = [wasm::describe, bytes::describe, text::describe];
        let known = kinds.iter().find_map(|describe| describe(&file, global).transpose());
        known.unwrap_or_else(|| Ok(foreign("unknown", &file.place, "of no kind that is known here")))
    }
}

/// The most bytes that are read. A larger file can only be a store, which is known by its
/// beginning and opened by its path.
const LARGEST: u64 = files::LARGEST;

/// As much of its beginning.
const HEAD: u64 = 100;

/// The first bytes of a large file, where it is a store; nothing is to be found in another.
fn head(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut bytes));
    read.map_err(|error| files::unreadable(path, &error))?;
    Ok(if bytes::is_sqlite(&bytes) { bytes } else { vec![0xFF] })
}

/// A file that was read.
struct File<'a> {
    path: &'a Path,
    /// The path, for messages.
    place: String,
    bytes: Vec<u8>,
}

/// A file of ours that is whole: its kind, a line about it, and fields.
fn whole(kind: &str, place: &str, line: &str, fields: Record) -> Reply {
    Reply::done(kind, format!("{place}: {line}"), fields.with("kind", kind).with("description", line))
}

/// A file that is something, but not of ours. The line is the answer to what was asked, so it
/// goes to stdout like any other.
fn foreign(kind: &str, place: &str, line: &str) -> Reply {
    whole(kind, place, line, Record::new()).exit(Exit::Refused)
}

/// A file of ours that is not whole, or cannot be used here.
fn damaged(kind: &str, place: &str, failure: impl Into<Failure>) -> Reply {
    let failure = failure.into();
    let at = failure.at.as_ref().map_or_else(|| place.to_owned(), |at| format!("{place}, {at}"));
    let mut reply = Reply::from(failure.at(at));
    reply.fields.set("kind", kind);
    reply
}

/// That its bytes are wrong.
fn broken(kind: &str, place: &str, what: &str) -> Reply {
    let failure = Failure::new(Exit::Integrity, "damaged", what);
    damaged(kind, place, failure.help("get it again from where it came, or have it made again"))
}

fn size(what: &str, file: &File<'_>) -> String {
    format!("{} bytes {what}", file.bytes.len())
}
