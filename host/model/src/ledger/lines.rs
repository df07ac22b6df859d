//! The lines of the ledger: JSON that says its own length and is chained by checksums.
//!
//! `{"bytes":"00000042","head":"…",BODY,"sum":"…"}`: the length of BODY in bytes, a checksum of
//! it, and a checksum of the whole; each also covers the line before. So a line that a crash cut
//! off is told from one that was changed, and none can be missing or moved. What a crash leaves
//! is the front of a line, or its front and zeros.

use auto_json::{Record, Value};
use auto_schema::digest::{Digest, Hasher};

/// Opens a line, with the length and its checksum still to come.
pub(super) const OPEN: &str = "{\"bytes\":\"";
const HEAD: &str = "\",\"head\":\"";
const AFTER_HEAD: &str = "\",";
const SUM: &str = ",\"sum\":\"";
const CLOSE: &str = "\"}\n";

/// Digits of a length, and of a checksum.
const LENGTH: usize = 8;
const CHECKSUM: usize = 16;

const FRONT: usize = OPEN.len() + LENGTH + HEAD.len() + CHECKSUM + AFTER_HEAD.len();
const BACK: usize = SUM.len() + CHECKSUM + CLOSE.len();

/// What the next line goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(Digest);

/// What stands next in a ledger.
pub(super) enum Next<'a> {
    /// A line, and what comes after it.
    Line(Record, &'a [u8]),
    /// Nothing, or what a crash left of a line.
    Torn,
    /// Something else.
    Damaged,
}

impl Chain {
    pub(super) fn start() -> Chain {
        Chain(Digest::of(b"auto-ledger-1\n"))
    }

    /// A record as a line; the next one goes on from it.
    pub(super) fn write(&mut self, record: Record) -> String {
        let text = Value::from(record).canonical().into_string();
        // A record of ours has members, so there is something between the braces.
        let body = &text[1..text.len() - 1];
        let length = format!("{:0LENGTH$}", body.len());
        let head = self.checksum(&length, None);
        let all = self.checksum(&length, Some(body));
        let line = format!("{OPEN}{length}{HEAD}{}{AFTER_HEAD}{body}{SUM}{}{CLOSE}", short(head), short(all));
        self.0 = all;
        line
    }

    /// Reads the next line.
    pub(super) fn read<'a>(&mut self, bytes: &'a [u8]) -> Next<'a> {
        let torn_before = |end: usize| if written(bytes) < end { Next::Torn } else { Next::Damaged };
        let Some((front, rest)) = bytes.split_at_checked(FRONT) else { return Next::Torn };
        let Some(length) = self.length(front) else { return torn_before(FRONT) };
        // The length is what was written, since the front is whole.
        let Some((body, rest)) = rest.split_at_checked(length) else { return Next::Torn };
        let Some((back, rest)) = rest.split_at_checked(BACK) else { return Next::Torn };
        let Some((record, sum)) = self.body(body, back) else { return torn_before(FRONT + length + BACK) };
        self.0 = sum;
        Next::Line(record, rest)
    }

    fn length(&self, front: &[u8]) -> Option<usize> {
        let front = std::str::from_utf8(front).ok()?;
        let (length, rest) = front.strip_prefix(OPEN)?.split_at_checked(LENGTH)?;
        let head = rest.strip_prefix(HEAD)?.strip_suffix(AFTER_HEAD)?;
        let right = head == short(self.checksum(length, None));
        length.parse().ok().filter(|_| right)
    }

    fn body(&self, body: &[u8], back: &[u8]) -> Option<(Record, Digest)> {
        let (body, back) = (std::str::from_utf8(body).ok()?, std::str::from_utf8(back).ok()?);
        let all = self.checksum(&format!("{:0LENGTH$}", body.len()), Some(body));
        let right = back.strip_prefix(SUM)?.strip_suffix(CLOSE)? == short(all);
        match Value::parse(format!("{{{body}}}")) {
            Ok(Value::Record(record)) if right => Some((record, all)),
            _ => None,
        }
    }

    /// Of the length alone, or of the whole line.
    fn checksum(&self, length: &str, body: Option<&str>) -> Digest {
        let mut hasher = Hasher::new();
        hasher.update(if body.is_some() { "auto-ledger-line\n" } else { "auto-ledger-head\n" });
        hasher.update(self.0.as_bytes());
        hasher.update(length);
        hasher.update(body.unwrap_or_default());
        hasher.finish()
    }
}

fn short(digest: Digest) -> String {
    digest.to_string()[..CHECKSUM].to_owned()
}

/// The bytes before the zeros at the end.
fn written(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}
