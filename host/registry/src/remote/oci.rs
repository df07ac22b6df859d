//! OCI registries (distribution specification 1.1). What is put there is in [`crate::manifest`]; blobs
//! go there by [`super::upload`].

use std::cell::RefCell;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, Url};

use super::http::{Ask, Got, Http};
use super::own::lacks;
use super::{Access, Remote, base, checked, is_loopback};
use crate::dsse::{Envelope, write_bundle};
use crate::error::RegistryError;
use crate::log::TagLog;
use crate::manifest::{
    INDEX, KEYS, LOG, MANIFEST, SIGNED_TYPE, STATEMENTS, SignedManifest, descriptor, nonsense, signed_manifest,
    wasm_config, wasm_manifest,
};
use crate::name::TagName;
use crate::papers::Papers;
use crate::parcel::Parcel;
use crate::registry::check_follows;
use crate::{LARGEST_ARTIFACT, LARGEST_BUNDLE, Result};

const LARGEST_MANIFEST: u64 = 4 << 20;

pub(crate) struct Oci {
    http: Http,
    /// Scheme and host.
    origin: String,
    /// What is in front of every name; empty or with a slash at its end.
    prefix: String,
    access: Access,
    /// What was let in last time, for which repository.
    granted: RefCell<Option<(String, String)>>,
    pub(crate) chunk: usize,
}

impl Oci {
    pub(crate) fn new(http: Http, url: &Url, access: Access, chunk: usize) -> Oci {
        let path = url.path().trim_matches('/');
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut origin = url.clone();
        origin.set_path("");
        Oci { http, origin: base(&origin), prefix, access, granted: RefCell::new(None), chunk: chunk.max(2) }
    }

    fn repository(&self, tag: &TagName) -> String {
        format!("{}{}", self.prefix, tag.name)
    }

    pub(crate) fn url(&self, path: &str) -> Result<Url> {
        let url = Url::parse(&format!("{}/v2/{path}", self.origin));
        url.map_err(|_| RegistryError::usage("bad-url", "the address of the registry is no URL"))
    }

    pub(crate) fn ask(&self, method: Method, path: &str, repository: &str, write: bool, most: u64) -> Result<Got> {
        let accept = format!("{MANIFEST}, {INDEX}");
        let ask = |url: Url| Ask::new(method.clone(), url).header(ACCEPT, accept.clone());
        self.send(&self.url(path)?, ask, repository, write, most)
    }

    /// Sends a request; where the registry asks who it is from, once more with the answer.
    pub(crate) fn send(
        &self,
        url: &Url,
        ask: impl Fn(Url) -> Ask,
        repository: &str,
        write: bool,
        most: u64,
    ) -> Result<Got> {
        // An upload may go on at another host, which is to learn nothing.
        let is_there = format!("{}/", self.origin);
        let is_there = base(url).starts_with(&is_there);
        let with = |ask: Ask| match &*self.granted.borrow() {
            Some((scope, header)) if is_there && scope == repository => ask.header(AUTHORIZATION, header.clone()),
            _ => ask,
        };
        let got = self.http.send(with(ask(url.clone())), most.max(64 << 10))?;
        if got.status != 401 || !is_there {
            return Ok(got);
        }
        let header = self.authorization(&got, repository, write)?;
        *self.granted.borrow_mut() = Some((repository.to_owned(), header));
        self.http.send(with(ask(url.clone())), most.max(64 << 10))
    }

    /// The header that a challenge asks for (RFC 7235; token specification of distribution).
    fn authorization(&self, got: &Got, repository: &str, write: bool) -> Result<String> {
        let denied = |why: &str| {
            RegistryError::refused("remote-denied", format!("the registry lets nobody in without a name: {why}"))
                .help("give --token-file, or --user and --password-file")
        };
        if let Some(token) = &self.access.token {
            return Ok(format!("Bearer {token}"));
        }
        let challenge = got.header("www-authenticate").unwrap_or_default();
        let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
        let basic = self
            .access
            .user
            .as_ref()
            .map(|(user, password)| format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        if scheme.eq_ignore_ascii_case("basic") {
            return basic.ok_or_else(|| denied("it wants a user and a password"));
        }
        let realm = parameter(rest, "realm").ok_or_else(|| denied("it does not say how"))?;
        let mut url = checked(&realm)?;
        if url.scheme() == "http" && !is_loopback(&url) {
            let message = "the registry sends one to an unencrypted address for a token";
            return Err(RegistryError::refused("insecure-url", message));
        }
        let actions = if write { "pull,push" } else { "pull" };
        if let Some(service) = parameter(rest, "service") {
            url.query_pairs_mut().append_pair("service", &service);
        }
        url.query_pairs_mut().append_pair("scope", &format!("repository:{repository}:{actions}"));
        let ask = Ask::new(Method::GET, url);
        let ask = basic.into_iter().fold(ask, |ask, basic| ask.header(AUTHORIZATION, basic));
        let got = self.http.send(ask, 1 << 20)?;
        let said = Value::parse(&got.body).unwrap_or(Value::Null);
        let token = ["token", "access_token"].iter().find_map(|key| said.get(key).and_then(Value::as_text));
        match token {
            Some(token) if got.status == 200 => Ok(format!("Bearer {token}")),
            _ => Err(denied(&format!("its token server answers {}", got.status))),
        }
    }

    /// A blob, held against its digest; none where it is not there.
    fn blob(&self, repository: &str, digest: &Digest, most: u64) -> Result<Option<Vec<u8>>> {
        let path = format!("{repository}/blobs/sha256:{digest}");
        let got = self.ask(Method::GET, &path, repository, false, most)?;
        match got.status {
            200 if Digest::of(&got.body) == *digest => Ok(Some(got.body)),
            200 => Err(RegistryError::integrity(
                "digest-mismatch",
                format!("the registry gives other bytes than those of {digest}"),
            )),
            404 => Ok(None),
            _ => Err(refusal(&got)),
        }
    }

    fn put_manifest(&self, repository: &str, reference: &str, kind: &str, bytes: &[u8]) -> Result<Got> {
        let url = self.url(&format!("{repository}/manifests/{reference}"))?;
        let ask = |url: Url| Ask::new(Method::PUT, url).header(CONTENT_TYPE, kind).body(bytes.to_vec());
        let got = self.send(&url, ask, repository, true, 1 << 20)?;
        if got.status == 201 { Ok(got) } else { Err(refusal(&got)) }
    }

    /// The bytes of a manifest; none where it is not there. What a registry says of their digest has to
    /// be so.
    fn manifest(&self, repository: &str, reference: &str) -> Result<Option<Vec<u8>>> {
        let path = format!("{repository}/manifests/{reference}");
        let got = self.ask(Method::GET, &path, repository, false, LARGEST_MANIFEST)?;
        match got.status {
            200 => {
                let found = format!("sha256:{}", Digest::of(&got.body));
                match got.header("docker-content-digest").filter(|said| *said != found) {
                    None => Ok(Some(got.body)),
                    Some(said) => Err(RegistryError::integrity(
                        "digest-mismatch",
                        format!("the registry says {said} of the manifest {reference}, and gives {found}"),
                    )
                    .help("it is damaged, or lies; pull from elsewhere")),
                }
            }
            404 => Ok(None),
            _ => Err(refusal(&got)),
        }
    }

    /// The manifest with our papers; none where the tag has none.
    fn signed(&self, repository: &str, tag: &TagName) -> Result<Option<SignedManifest>> {
        let found = self.manifest(repository, &format!("{}.auto", tag.tag()))?;
        found.map(|bytes| SignedManifest::parse(&bytes)).transpose()
    }

    fn layer(&self, repository: &str, manifest: &SignedManifest, kind: &str) -> Result<Option<Vec<u8>>> {
        let Some(digest) = manifest.layer(kind) else { return Ok(None) };
        match self.blob(repository, &digest, LARGEST_BUNDLE)? {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(lacks(&digest)),
        }
    }

    /// Whoever put the tag last has it, and nobody is told: so what is there in the end is looked at.
    fn refuse_raced(&self, repository: &str, tag: &TagName, put: &[(String, &[u8])]) -> Result<()> {
        for (reference, bytes) in put {
            if self.manifest(repository, reference)?.as_deref() != Some(*bytes) {
                let message = format!("somebody else pushed {tag} at the same time");
                return Err(RegistryError::refused("remote-raced", message)
                    .help("pull it, see with `registry log` what it leads to, and push again"));
            }
        }
        Ok(())
    }

    /// Adds our papers to what refers to a manifest, where the registry does not keep count
    /// itself (distribution specification, "Referrers Tag Schema").
    fn refer(&self, repository: &str, subject: &Digest, descriptor: &Value, tag: &TagName) -> Result<()> {
        let reference = format!("sha256-{subject}");
        let got =
            self.ask(Method::GET, &format!("{repository}/manifests/{reference}"), repository, true, LARGEST_MANIFEST)?;
        let known = if got.status == 200 { Value::parse(&got.body).unwrap_or(Value::Null) } else { Value::Null };
        let mut all = known.get("manifests").and_then(Value::as_list).unwrap_or_default().to_vec();
        let is_ours = |one: &Value| {
            let tags = one.get("annotations").and_then(|annotations| annotations.get("vnd.auto.tag"));
            tags.and_then(Value::as_text) == Some(tag.to_string().as_str())
        };
        all.retain(|one| !is_ours(one));
        all.push(descriptor.clone());
        let index = Record::new().with("schemaVersion", 2u32).with("mediaType", INDEX).with("manifests", all);
        self.put_manifest(repository, &reference, INDEX, Value::from(index).to_string().as_bytes()).map(|_| ())
    }
}

impl Remote for Oci {
    fn papers(&self, tag: &TagName) -> Result<Option<Papers>> {
        let repository = self.repository(tag);
        let Some(manifest) = self.signed(&repository, tag)? else { return Ok(None) };
        let log = self.layer(&repository, &manifest, LOG)?.ok_or_else(|| nonsense("there is no log of the tag"))?;
        Ok(Some(Papers {
            log: Some(log),
            keys: self.layer(&repository, &manifest, KEYS)?.unwrap_or_default(),
            statements: self.layer(&repository, &manifest, STATEMENTS)?.unwrap_or_default(),
        }))
    }

    fn papers_of(&self, _id: &Digest) -> Result<Option<Papers>> {
        let message = "an OCI registry is asked for a name, not for an id";
        Err(RegistryError::usage("needs-name", message).help("give NAME or NAME:TAG"))
    }

    fn artifact(&self, tag: Option<&TagName>, id: &Digest) -> Result<Vec<u8>> {
        let Some(tag) = tag else { return self.papers_of(id).and(Err(lacks(id))) };
        let repository = self.repository(tag);
        let bytes = self.blob(&repository, id, LARGEST_ARTIFACT)?.ok_or_else(|| lacks(id))?;
        // What other clients get by the tag has to be the same.
        let expected = wasm_manifest(id, bytes.len());
        let found = match self.manifest(&repository, tag.tag())? {
            Some(found) if found == expected => return Ok(bytes),
            Some(other) => format!("sha256:{}", Digest::of(&other)),
            None => "nothing".to_owned(),
        };
        let expected = Digest::of(&expected);
        let message = format!("the tag {tag} leads to {found} there, and its signed log to sha256:{expected}");
        Err(RegistryError::integrity("tag-moved", message)
            .help("somebody moved it with another client, or is pushing now; try again, or have it pushed"))
    }

    fn publish(&self, parcel: &Parcel) -> Result<()> {
        let Some(log) = &parcel.log else { return self.papers_of(&Digest::of(&parcel.artifact)).map(|_| ()) };
        let (tag, id) = (log.tag(), Digest::of(&parcel.artifact));
        let repository = self.repository(tag);
        if let Some(manifest) = self.signed(&repository, tag)?
            && let Some(known) = self.layer(&repository, &manifest, LOG)?
        {
            check_follows(log, &TagLog::parse(tag, &known)?)?;
        }
        let wasm = wasm_manifest(&id, parcel.artifact.len());
        let papers =
            [(LOG, log.to_bytes()), (STATEMENTS, write_bundle(&parcel.envelopes)), (KEYS, write_bundle(&parcel.keys))];
        let papers: Vec<_> = papers.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        let blobs = [parcel.artifact.as_slice(), &wasm_config(&id), b"{}"];
        let blobs = blobs.into_iter().chain(papers.iter().map(|(_, bytes)| bytes.as_slice()));
        blobs.into_iter().try_for_each(|bytes| self.push_blob(&repository, bytes))?;

        let subject = Digest::of(&wasm);
        let signed = signed_manifest(&subject, wasm.len(), &papers, tag);
        self.put_manifest(&repository, &format!("sha256:{subject}"), MANIFEST, &wasm)?;
        let put = self.put_manifest(&repository, &format!("{}.auto", tag.tag()), MANIFEST, &signed)?;
        if put.header("oci-subject").is_none() {
            let descriptor = descriptor(MANIFEST, &Digest::of(&signed), signed.len())
                .with("artifactType", SIGNED_TYPE)
                .with("annotations", Record::new().with("vnd.auto.tag", tag.to_string()));
            self.refer(&repository, &subject, &descriptor.into(), tag)?;
        }
        self.put_manifest(&repository, tag.tag(), MANIFEST, &wasm)?;
        self.refuse_raced(&repository, tag, &[(format!("{}.auto", tag.tag()), &signed), (tag.tag().to_owned(), &wasm)])
    }

    /// They come with each tag.
    fn keys(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn publish_keys(&self, _statements: &[Envelope]) -> Result<()> {
        let message = "an OCI registry has what keys say beside each tag, and nowhere else";
        Err(RegistryError::usage("needs-name", message).help("push a name that a trusted key has signed"))
    }
}

/// A parameter of a challenge: `realm="https://…",service="…"`.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let at = challenge.split(',').position(|part| part.trim_start().starts_with(&format!("{name}=")))?;
    let rest = challenge.splitn(at + 1, ',').last()?.trim_start().strip_prefix(&format!("{name}="))?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(value, _)| value.to_owned()),
        None => rest.split(',').next().map(|value| value.trim().to_owned()),
    }
}

/// What an OCI registry says of a request that it does not serve: `{"errors": [{"code"}]}`.
pub(crate) fn refusal(got: &Got) -> RegistryError {
    let said = Value::parse(&got.body).unwrap_or(Value::Null);
    let first = said.get("errors").and_then(Value::as_list).and_then(<[Value]>::first).cloned().unwrap_or(Value::Null);
    let text = |key: &str| first.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
    let code = if matches!(got.status, 401 | 403) { "remote-denied" } else { "remote-refused" };
    RegistryError::refused(code, format!("the registry refuses ({} {}): {}", got.status, text("code"), text("message")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let challenge =
            r#"realm="https://auth.example/token",service="registry.example",scope="repository:x:pull,push""#;
        assert_eq!(parameter(challenge, "realm").as_deref(), Some("https://auth.example/token"));
        assert_eq!(parameter(challenge, "service").as_deref(), Some("registry.example"));
        assert_eq!(parameter("realm=plain, service=\"a\"", "realm").as_deref(), Some("plain"));
        assert_eq!(parameter(challenge, "other"), None);
        assert_eq!(parameter("", "realm"), None);
    }
}
