//! What fuzz targets call, since the readers themselves are nobody else's business. Not part
//! of the interface of this crate.

use crate::abi::Returned;
use crate::canonical::is_canonical;

/// Reads a guest's memory after a call. The first four bytes say where the result lies.
pub fn returned(bytes: &[u8]) {
    let Some((at, memory)) = bytes.split_first_chunk::<4>() else { return };
    let at = u32::from_le_bytes(*at);
    for checked in [false, true] {
        let returned = Returned { memory, checked };
        let _ = returned.result(at);
        let _ = returned.novelty(at);
    }
    let Ok(text) = str::from_utf8(memory) else { return };
    let canonical = auto_json::Canonical::of(text);
    assert_eq!(is_canonical(text).ok(), canonical.ok().map(|canonical| canonical.as_str() == text));
}
