//! The network: requests with bounds on time and bytes. Redirects are followed from https to
//! https alone, and reqwest sends no secrets to another host.

use std::error::Error as _;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url, redirect};
use tokio::runtime::{Builder, Runtime};

use super::{Patience, is_loopback};
use crate::Result;
use crate::error::RegistryError;

const REDIRECTS: usize = 4;

/// Sends requests, one after the other.
pub(crate) struct Http {
    /// Through the system's proxies, and not.
    outside: Client,
    loopback: Client,
    runtime: Runtime,
    patience: Patience,
}

/// What is asked.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: Vec<u8>,
}

/// What came back.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Where it was asked in the end.
    pub(crate) url: Url,
}

impl Ask {
    pub(crate) fn new(method: Method, url: Url) -> Ask {
        Ask { method, url, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Ask {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Ask {
        self.body = body;
        self
    }
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl Http {
    pub(crate) fn new(patience: Patience) -> Result<Http> {
        let broken = |why: String| RegistryError::refused("client", format!("no HTTP client could be made: {why}"));
        let builder = || {
            Client::builder()
                .user_agent(concat!("auto-host/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(patience.connect)
                .read_timeout(patience.idle)
                .redirect(redirect::Policy::custom(|attempt| {
                    let secure = attempt.previous().last().is_none_or(|from| from.scheme() == "http");
                    match attempt.previous().len() > REDIRECTS || (!secure && attempt.url().scheme() != "https") {
                        true => attempt.error("a redirect too many, or away from https"),
                        false => attempt.follow(),
                    }
                }))
                .http1_only()
        };
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|error| broken(error.to_string()));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        Ok(Http {
            outside: built(builder())?,
            loopback: built(builder().no_proxy())?,
            runtime: runtime.map_err(|error| broken(error.to_string()))?,
            patience,
        })
    }

    /// Asks, and takes so many bytes of an answer. Codes: `remote-unreachable`,
    /// `remote-timeout`, `remote-broke-off`, `remote-too-large`.
    pub(crate) fn send(&self, ask: Ask, most: u64) -> Result<Got> {
        let host = ask.url.host_str().unwrap_or_default().to_owned();
        self.runtime.block_on(async {
            let exchange = tokio::time::timeout(self.patience.whole, self.exchange(ask, most, &host));
            exchange.await.unwrap_or_else(|_| Err(too_slow(&host)))
        })
    }

    async fn exchange(&self, ask: Ask, most: u64, host: &str) -> Result<Got> {
        let client = if is_loopback(&ask.url) { &self.loopback } else { &self.outside };
        let mut request = client.request(ask.method, ask.url);
        for (name, value) in ask.headers {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| RegistryError::usage("bad-token", "the token cannot be sent in a header"))?;
            value.set_sensitive(name == AUTHORIZATION);
            request = request.header(name, value);
        }
        let response = request.body(ask.body).send().await.map_err(|error| lost(&error, host))?;
        let (status, headers, url) = (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let body = body(response, most, host).await?;
        Ok(Got { status, headers, body, url })
    }
}

async fn body(mut response: Response, most: u64, host: &str) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error, host))? {
        if (body.len() + chunk.len()) as u64 > most {
            let message = format!("{host} sends more than {most} bytes where no more can be right");
            return Err(RegistryError::refused("remote-too-large", message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_slow(host: &str) -> RegistryError {
    RegistryError::refused("remote-timeout", format!("{host} did not answer in time; nothing was changed here"))
        .help("try again, or give it longer with --timeout")
}

/// The cause, without the address, which may be private.
fn lost(error: &reqwest::Error, host: &str) -> RegistryError {
    if error.is_timeout() {
        return too_slow(host);
    }
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(next) = cause {
        causes.push(next.to_string());
        cause = next.source();
    }
    let why = causes.pop().unwrap_or_else(|| "the connection failed".to_owned());
    let (code, what) = match error.is_connect() {
        true => ("remote-unreachable", "cannot be reached"),
        false => ("remote-broke-off", "broke off"),
    };
    RegistryError::refused(code, format!("{host} {what}: {why}")).help("nothing was changed here; try again")
}
