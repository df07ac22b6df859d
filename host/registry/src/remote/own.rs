//! Our own server, `auto-host registry serve`.
//!
//! | request | |
//! |---|---|
//! | `GET /v1/tags/TAG/NAME` | `{"log", "keys", "statements"}`, each a text of envelopes, one a line |
//! | `PUT /v1/tags/TAG/NAME` | the same; the artifact was put before |
//! | `GET`, `PUT /v1/artifacts/ID` | the file |
//! | `GET`, `PUT /v1/artifacts/ID/statements` | `{"keys", "statements"}` |
//! | `GET`, `PUT /v1/keys` | `{"keys"}` |
//! | `GET /v1/list` | `{"artifacts", "tags"}` |

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, Url};

use super::http::{Ask, Got, Http};
use super::{Access, Remote, base};
use crate::dsse::{Envelope, write_bundle};
use crate::error::RegistryError;
use crate::manifest::nonsense;
use crate::name::TagName;
use crate::papers::Papers;
use crate::parcel::Parcel;
use crate::{LARGEST_ARTIFACT, LARGEST_BUNDLE, Result};

/// What to do where a server makes no sense.
const IS_IT_ONE: &str = "is it a registry? an OCI registry is named as oci://HOST/PATH";

/// Three bundles as one JSON object.
const LARGEST_PAPERS: u64 = 4 * LARGEST_BUNDLE;

pub(crate) struct Own {
    http: Http,
    base: String,
    token: Option<String>,
}

impl Own {
    pub(crate) fn new(http: Http, url: &Url, access: Access) -> Own {
        Own { http, base: base(url), token: access.token }
    }

    fn ask(&self, method: Method, path: &str) -> Result<Ask> {
        let url = Url::parse(&format!("{}/v1/{path}", self.base));
        let ask = Ask::new(method, url.map_err(|_| RegistryError::usage("bad-url", "that is no address"))?);
        Ok(match &self.token {
            Some(token) => ask.header(AUTHORIZATION, format!("Bearer {token}")),
            None => ask,
        })
    }

    fn get_papers(&self, path: &str) -> Result<Option<Papers>> {
        let got = self.http.send(self.ask(Method::GET, path)?, LARGEST_PAPERS)?;
        match got.status {
            200 => Papers::parse(&got.body).map(Some).map_err(|error| error.help(IS_IT_ONE)),
            404 => Ok(None),
            _ => Err(refusal(&got)),
        }
    }

    fn put(&self, path: &str, kind: &str, body: Vec<u8>) -> Result<()> {
        let ask = self.ask(Method::PUT, path)?.header(CONTENT_TYPE, kind).body(body);
        let got = self.http.send(ask, 1 << 20)?;
        if matches!(got.status, 200..=299) { Ok(()) } else { Err(refusal(&got)) }
    }
}

impl Remote for Own {
    fn papers(&self, tag: &TagName) -> Result<Option<Papers>> {
        let found = self.get_papers(&tag_path(tag))?;
        match found {
            Some(papers) if papers.log.is_none() => Err(no_sense("it sends no log of the tag")),
            found => Ok(found),
        }
    }

    fn papers_of(&self, id: &Digest) -> Result<Option<Papers>> {
        self.get_papers(&format!("artifacts/{id}/statements"))
    }

    fn artifact(&self, _tag: Option<&TagName>, id: &Digest) -> Result<Vec<u8>> {
        let got = self.http.send(self.ask(Method::GET, &format!("artifacts/{id}"))?, LARGEST_ARTIFACT)?;
        match got.status {
            200 => Ok(got.body),
            404 => Err(lacks(id)),
            _ => Err(refusal(&got)),
        }
    }

    fn publish(&self, parcel: &Parcel) -> Result<()> {
        let id = Digest::of(&parcel.artifact);
        let there = self.http.send(self.ask(Method::HEAD, &format!("artifacts/{id}"))?, 0)?;
        if there.status != 200 {
            self.put(&format!("artifacts/{id}"), "application/wasm", parcel.artifact.clone())?;
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let body = Record::new()
            .with("keys", text(write_bundle(&parcel.keys)))
            .with("statements", text(write_bundle(&parcel.envelopes)));
        let (path, body) = match &parcel.log {
            Some(log) => (tag_path(log.tag()), body.with("log", text(log.to_bytes()))),
            None => (format!("artifacts/{id}/statements"), body),
        };
        self.put(&path, "application/json", Value::from(body).to_string().into_bytes())
    }

    fn keys(&self) -> Result<Vec<u8>> {
        let got = self.http.send(self.ask(Method::GET, "keys")?, LARGEST_PAPERS)?;
        match got.status {
            200 => {
                let value = Value::parse(&got.body).map_err(|error| no_sense(&error.to_string()))?;
                let keys = value.get("keys").and_then(Value::as_text).ok_or_else(|| no_sense("it sends no keys"))?;
                Ok(keys.as_bytes().to_vec())
            }
            404 => Ok(Vec::new()),
            _ => Err(refusal(&got)),
        }
    }

    fn publish_keys(&self, statements: &[Envelope]) -> Result<()> {
        let keys = String::from_utf8_lossy(&write_bundle(statements)).into_owned();
        let body = Value::from(Record::new().with("keys", keys));
        self.put("keys", "application/json", body.to_string().into_bytes())
    }
}

fn tag_path(tag: &TagName) -> String {
    format!("tags/{}/{}", tag.tag(), tag.name)
}

fn no_sense(why: &str) -> RegistryError {
    nonsense(why).help(IS_IT_ONE)
}

/// An artifact that a registry speaks of and does not have.
pub(crate) fn lacks(id: &Digest) -> RegistryError {
    RegistryError::refused("remote-lacks", format!("the registry speaks of {id} and does not have it"))
        .help("nothing was changed here; have it pushed again")
}

/// What the server says of a request that it does not serve.
fn refusal(got: &Got) -> RegistryError {
    let said = Value::parse(&got.body).unwrap_or(Value::Null);
    let text = |key: &str| said.get(key).and_then(Value::as_text).map(str::to_owned);
    let (code, message) = (text("code").unwrap_or_default(), text("message").unwrap_or_default());
    const KNOWN: [&str; 11] = [
        "stale-tag",
        "tag-forked",
        "unsigned",
        "unknown-key",
        "bad-signature",
        "revoked-key",
        "policy",
        "other-artifact",
        "too-large",
        "body-too-large",
        "unwritable",
    ];
    let known = KNOWN.into_iter().find(|known| *known == code);
    let known = known.unwrap_or(if matches!(got.status, 401 | 403) { "remote-denied" } else { "remote-refused" });
    let error = RegistryError::refused(known, format!("the registry refuses ({}, {code}): {message}", got.status));
    match text("help") {
        Some(help) => error.help(help),
        None => error,
    }
}
