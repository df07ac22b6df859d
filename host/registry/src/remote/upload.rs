//! Blobs on their way into an OCI registry (distribution specification 1.1, "Pushing blobs in
//! chunks"): what was sent before a connection broke is not sent again, as far as the registry keeps it.

use auto_schema::digest::Digest;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Method, Url};

use super::http::{Ask, Got};
use super::oci::{Oci, refusal};
use crate::Result;
use crate::error::RegistryError;

/// How often a chunk is sent again.
const RESUMES: u32 = 5;

/// How often an upload is begun, with a registry that gives up what broke off within a chunk.
const BEGINNINGS: u32 = 4;

impl Oci {
    /// Puts a blob where it is not there yet.
    pub(crate) fn push_blob(&self, repository: &str, bytes: &[u8]) -> Result<()> {
        let digest = Digest::of(bytes);
        let there = self.ask(Method::HEAD, &format!("{repository}/blobs/sha256:{digest}"), repository, true, 0)?;
        if there.status == 200 {
            return Ok(());
        }
        let mut place = self.begin(repository)?;
        let (mut sent, mut failed, mut begun) = (0, 0, 1);
        while sent < bytes.len() {
            match self.patch(&place, bytes, sent, repository) {
                Ok(got) if got.status == 202 => {
                    sent = (sent + self.chunk).min(bytes.len());
                    failed = 0;
                    place = location(&got)?;
                }
                Ok(got) if !matches!(got.status, 404 | 416) => return Err(refusal(&got)),
                _ if failed == RESUMES || begun == BEGINNINGS => {
                    let message = format!("the upload of {digest} broke off again and again, at {sent} bytes");
                    return Err(RegistryError::refused("remote-broke-off", message).help("push again"));
                }
                broken => {
                    failed += 1;
                    let given_up = broken.is_ok_and(|got| got.status == 404);
                    let kept = if given_up { None } else { self.resume(&place, bytes.len(), repository)? };
                    (place, sent) = match kept {
                        Some(kept) => kept,
                        None => {
                            begun += 1;
                            (self.begin(repository)?, 0)
                        }
                    };
                }
            }
        }
        place.query_pairs_mut().append_pair("digest", &format!("sha256:{digest}"));
        let ask = |url: Url| Ask::new(Method::PUT, url).header(CONTENT_LENGTH, "0");
        let done = self.send(&place, ask, repository, true, 1 << 20)?;
        if done.status == 201 { Ok(()) } else { Err(refusal(&done)) }
    }

    /// Begins an upload: where it goes.
    fn begin(&self, repository: &str) -> Result<Url> {
        let ask = |url: Url| Ask::new(Method::POST, url).header(CONTENT_LENGTH, "0");
        let begun = self.send(&self.url(&format!("{repository}/blobs/uploads/"))?, ask, repository, true, 1 << 20)?;
        if begun.status == 202 { location(&begun) } else { Err(refusal(&begun)) }
    }

    fn patch(&self, place: &Url, bytes: &[u8], from: usize, repository: &str) -> Result<Got> {
        let end = (from + self.chunk).min(bytes.len());
        let chunk = &bytes[from..end];
        let ask = |url: Url| {
            Ask::new(Method::PATCH, url)
                .header(CONTENT_TYPE, "application/octet-stream")
                .header(CONTENT_LENGTH, chunk.len().to_string())
                .header(CONTENT_RANGE, format!("{from}-{}", end.saturating_sub(1)))
                .body(chunk.to_vec())
        };
        self.send(place, ask, repository, true, 1 << 20)
    }

    /// Asks how far an upload came: where it goes on, and from which byte; none where the registry
    /// has given it up.
    fn resume(&self, place: &Url, length: usize, repository: &str) -> Result<Option<(Url, usize)>> {
        let got = self.send(place, |url| Ask::new(Method::GET, url), repository, true, 1 << 20)?;
        if got.status == 404 {
            return Ok(None);
        }
        if got.status != 204 {
            return Err(refusal(&got));
        }
        // `0-N`, both ends in it; nothing is said of an upload that has no bytes.
        let last = got.header("range").and_then(|range| range.rsplit('-').next()?.trim().parse::<usize>().ok());
        let next = last.filter(|last| *last > 0).map_or(0, |last| last + 1);
        match next <= length {
            true => Ok(Some((location(&got)?, next))),
            false => Err(RegistryError::refused("remote-nonsense", "the registry has more bytes than were sent")),
        }
    }
}

/// Where an upload goes on; it may be relative to where it was asked, and never leaves https.
fn location(got: &Got) -> Result<Url> {
    let name: HeaderName = LOCATION;
    let place = got.header(name.as_str()).and_then(|place| got.url.join(place).ok());
    let place = place.filter(|place| place.scheme() == "https" || got.url.scheme() == "http");
    place.ok_or_else(|| RegistryError::refused("remote-nonsense", "the registry says nowhere where to upload to"))
}
