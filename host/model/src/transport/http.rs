//! The network. One connection a question, so that none is sent on a connection that the server
//! has just closed, and its fate unknown; no redirects, which could carry a key elsewhere.

use std::error::Error as _;
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, redirect};
use tokio::runtime::{Builder, Runtime};

use super::{Incoming, Lost, Outgoing, Transport};
use crate::error::ModelError;

pub(super) struct Http {
    /// A client that goes through the system's proxies, and one that does not.
    outside: Client,
    loopback: Client,
    runtime: Runtime,
}

impl Http {
    pub(super) fn new(connect: Duration) -> Result<Http, ModelError> {
        let broken = |why: String| ModelError::new("model-client", format!("no HTTP client could be made: {why}"));
        let builder = || {
            Client::builder()
                .user_agent(concat!("auto-host/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect)
                .redirect(redirect::Policy::none())
                .pool_max_idle_per_host(0)
                .http1_only()
        };
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|error| broken(error.to_string()));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        Ok(Http {
            outside: built(builder())?,
            loopback: built(builder().no_proxy())?,
            runtime: runtime.map_err(|error| broken(error.to_string()))?,
        })
    }

    async fn exchange(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let client = if question.loopback { &self.loopback } else { &self.outside };
        let mut request = client.post(&question.url).header(CONTENT_TYPE, "application/json");
        for (name, value) in &question.headers {
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| Lost::before("bad-key", "the key cannot be sent in a header"))?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let response = request.body(question.body.clone()).send().await.map_err(|error| lost(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers());
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let (content_type, retry_after) = (text(CONTENT_TYPE), text(RETRY_AFTER));
        let body = body(response, question.most).await?;
        Ok(Incoming {
            status,
            content_type,
            retry_after: retry_after.trim().parse().map(Duration::from_secs).ok(),
            body,
        })
    }
}

impl Transport for Http {
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let left = question.deadline.saturating_duration_since(Instant::now());
        self.runtime.block_on(async {
            let exchange = tokio::time::timeout(left, self.exchange(question)).await;
            exchange.unwrap_or_else(|_| Err(Lost::after("model-timeout", "there was no whole reply in time")))
        })
    }
}

/// The whole body, if it is not too much.
async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Lost> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
        if body.len() + chunk.len() > most {
            return Err(Lost::after("model-too-large", format!("the reply has more than {most} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The cause, without the address, which is the user's affair.
fn lost(error: &reqwest::Error) -> Lost {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(next) = cause {
        causes.push(next.to_string());
        cause = next.source();
    }
    let why = causes.pop().unwrap_or_else(|| "the connection failed".to_owned());
    if error.is_connect() {
        return Lost::before("model-connect", format!("no connection: {why}"));
    }
    if error.is_timeout() {
        return Lost::after("model-timeout", "there was no whole reply in time");
    }
    Lost::after("model-interrupted", format!("the connection ended before a whole reply: {why}"))
}
