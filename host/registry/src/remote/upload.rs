//! Blobs on their way into an OCI registry (distribution specification 1.1, "Pushing blobs in
//! chunks"): what was sent before a connection broke is not sent again, as far as the registry keeps it.

use std::time::Duration;

use auto_schema::digest::Digest;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Method, Url};

use super::http::{Ask, Got};
use super::oci::{Oci, refusal};
use crate::Result;
use crate::error::RegistryError;

/// How often it is tried to go on without getting any further.
const RESUMES: u32 = 5;

/// How often an upload is begun, with a registry that gives up what broke off within a chunk.
const BEGINNINGS: u32 = 4;

/// How much longer is waited each time before it is tried to go on.
const WAIT: Duration = Duration::from_millis(100);

/// An upload as far as it came.
struct Upload {
    /// Where it goes on.
    place: Url,
    /// From which byte on.
    sent: usize,
    /// How many bytes go at once.
    chunk: usize,
    /// How far it had come when it last got a whole chunk further: a registry that takes bytes and
    /// loses them again gets them only so often.
    furthest: usize,
    failed: u32,
    begun: u32,
}

impl Oci {
    /// Puts a blob where it is not there yet.
    pub(crate) fn push_blob(&self, repository: &str, bytes: &[u8]) -> Result<()> {
        let digest = Digest::of(bytes);
        let there = self.ask(Method::HEAD, &format!("{repository}/blobs/sha256:{digest}"), repository, true, 0)?;
        if there.status == 200 {
            return Ok(());
        }
        let (place, chunk) = self.begin(repository)?;
        let mut upload = Upload { place, sent: 0, chunk, furthest: 0, failed: 0, begun: 1 };
        while upload.sent < bytes.len() {
            match self.patch(&upload, bytes, repository) {
                Ok(got) if got.status == 202 => upload.went_on(bytes.len(), location(&got)?),
                Ok(got) if !matches!(got.status, 404 | 416) => return Err(refusal(&got)),
                Err(error) if !may_pass(&error) => return Err(error),
                _ if upload.failed == RESUMES || upload.begun == BEGINNINGS => {
                    let message = format!("the upload of {digest} broke off again and again, at {} bytes", upload.sent);
                    return Err(RegistryError::refused("remote-broke-off", message).help("push again"));
                }
                broken => {
                    upload.failed += 1;
                    let given_up = broken.is_ok_and(|got| got.status == 404);
                    self.go_on(&mut upload, given_up, bytes.len(), repository)?;
                }
            }
        }
        upload.place.query_pairs_mut().append_pair("digest", &format!("sha256:{digest}"));
        let ask = |url: Url| Ask::new(Method::PUT, url).header(CONTENT_LENGTH, "0");
        let done = self.send(&upload.place, ask, repository, true, 1 << 20)?;
        if done.status == 201 { Ok(()) } else { Err(refusal(&done)) }
    }

    /// Begins an upload: where it goes, and how many bytes at once. A registry may want more of them
    /// than we would send.
    fn begin(&self, repository: &str) -> Result<(Url, usize)> {
        let ask = |url: Url| Ask::new(Method::POST, url).header(CONTENT_LENGTH, "0");
        let begun = self.send(&self.url(&format!("{repository}/blobs/uploads/"))?, ask, repository, true, 1 << 20)?;
        let least = begun.header("oci-chunk-min-length").and_then(|least| least.parse().ok()).unwrap_or(0);
        if begun.status == 202 { Ok((location(&begun)?, self.chunk.max(least))) } else { Err(refusal(&begun)) }
    }

    fn patch(&self, upload: &Upload, bytes: &[u8], repository: &str) -> Result<Got> {
        let (from, end) = (upload.sent, upload.end(bytes.len()));
        let chunk = &bytes[from..end];
        let ask = |url: Url| {
            Ask::new(Method::PATCH, url)
                .header(CONTENT_TYPE, "application/octet-stream")
                .header(CONTENT_LENGTH, chunk.len().to_string())
                .header(CONTENT_RANGE, format!("{from}-{}", end.saturating_sub(1)))
                .body(chunk.to_vec())
        };
        self.send(&upload.place, ask, repository, true, 1 << 20)
    }

    /// Finds out where an upload goes on that broke off, and begins it anew where the registry has given
    /// it up.
    fn go_on(&self, upload: &mut Upload, given_up: bool, length: usize, repository: &str) -> Result<()> {
        std::thread::sleep(WAIT * upload.failed);
        let kept = if given_up { Ok(None) } else { self.resume(&upload.place, length, repository) };
        match kept {
            Ok(Some((place, sent))) => (upload.place, upload.sent) = (place, sent),
            Ok(None) => {
                (upload.place, upload.chunk) = self.begin(repository)?;
                upload.sent = 0;
                upload.begun += 1;
            }
            // It is tried again, as often as without that.
            Err(error) if may_pass(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
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
        let next = last.filter(|last| *last > 0).map_or(0, |last| last.saturating_add(1));
        match next <= length {
            true => Ok(Some((location(&got)?, next))),
            false => Err(RegistryError::refused("remote-nonsense", "the registry has more bytes than were sent")),
        }
    }
}

impl Upload {
    fn end(&self, length: usize) -> usize {
        self.sent.saturating_add(self.chunk).min(length)
    }

    fn went_on(&mut self, length: usize, place: Url) {
        self.sent = self.end(length);
        self.place = place;
        if self.sent == length || self.sent >= self.furthest.saturating_add(self.chunk) {
            (self.furthest, self.failed) = (self.sent, 0);
        }
    }
}

/// Whether a connection that is lost may be there the next moment. Who was waited for once is not
/// waited for again.
fn may_pass(error: &RegistryError) -> bool {
    matches!(error.code, "remote-unreachable" | "remote-broke-off")
}

/// Where an upload goes on; it may be relative to where it was asked, and never leaves https.
fn location(got: &Got) -> Result<Url> {
    let name: HeaderName = LOCATION;
    let place = got.header(name.as_str()).and_then(|place| got.url.join(place).ok());
    let place = place.filter(|place| place.scheme() == "https" || got.url.scheme() == "http");
    place.ok_or_else(|| RegistryError::refused("remote-nonsense", "the registry says nowhere where to upload to"))
}
