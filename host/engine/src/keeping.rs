//! `auto:host/blobs`: bytes by their digest, and which of them counts.
//!
//! A blob is what its name says wherever and whenever it is asked for, so putting and getting one is
//! not journaled; looking at the head and moving it is.

use auto_jobs::{Blobs, Fault};
use auto_schema::digest::Digest;
use wasmtime::component::Val;

use crate::wire;

/// `put` and `get`; none for values of other types. A fault is one of the machine.
pub(crate) fn blob(blobs: &Blobs, function: &str, args: &[Val]) -> Option<Result<Vec<Val>, Fault>> {
    let result = match (function, args) {
        ("put", [bytes]) => blobs.put(&wire::as_bytes(bytes)?).map(|digest| wire::text(digest.to_string())),
        ("get", [digest]) => {
            named(wire::as_text(digest)?).and_then(|digest| blobs.get(digest)).map(|bytes| wire::bytes(&bytes))
        }
        _ => return None,
    };
    Some(told(result.map(wire::ok)))
}

/// `head` and `move-head`; likewise.
pub(crate) fn head(blobs: &Blobs, function: &str, args: &[Val]) -> Option<Result<Vec<Val>, Fault>> {
    let result = match (function, args) {
        ("head", []) => {
            blobs.head().map(|head| wire::ok(wire::option(head.map(|digest| wire::text(digest.to_string())))))
        }
        ("move-head", [since, to]) => {
            let since = wire::as_option(since)?.map(wire::as_text);
            let since = match since {
                Some(text) => Some(named(text?)),
                None => None,
            };
            let to = named(wire::as_text(to)?);
            let moved = since.transpose().and_then(|since| blobs.move_head(since, to?));
            moved.map(|()| Val::Result(Ok(None)))
        }
        _ => return None,
    };
    Some(told(result))
}

/// Bytes that are not there are told; a machine that fails ends the job.
fn told(result: Result<Val, Fault>) -> Result<Vec<Val>, Fault> {
    match result {
        Ok(value) => Ok(vec![value]),
        Err(fault) if fault.passing => Err(fault),
        Err(fault) => Ok(vec![wire::refusal(fault.code, fault.message)]),
    }
}

fn named(text: &str) -> Result<Digest, Fault> {
    let message = || format!("{text:?} is not a digest, so there is no such blob");
    Digest::parse(text).ok_or_else(|| Fault { code: "no-blob", message: message(), passing: false })
}
