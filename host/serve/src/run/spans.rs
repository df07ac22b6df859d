//! Spans of the service itself, sent to a collector as OTLP over HTTP, in JSON. Sending never
//! holds a request up: spans wait in a bounded list, and those that nobody takes are counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use axum::http::HeaderValue;
use reqwest::{Client, Url};

use super::catalog::Artifact;
use super::reply::Reply;

/// The most spans that wait.
const WAITING: usize = 8_192;

/// The most in one request.
const TOGETHER: usize = 512;

const EVERY: Duration = Duration::from_secs(1);

/// Where spans go. Clones are of the same.
#[derive(Clone)]
pub struct Spans {
    inner: Arc<Inner>,
}

struct Inner {
    url: Url,
    client: Client,
    waiting: Mutex<Vec<Span>>,
    /// Ids are digests of this and a number.
    seed: [u8; 32],
    next: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
}

struct Span {
    name: String,
    /// From a `traceparent`: the trace, and the span in it.
    parent: Option<(String, String)>,
    started: u128,
    took: Duration,
    attributes: Vec<(&'static str, String)>,
    failed: bool,
}

impl Spans {
    /// To the collector at this address, `http://HOST:4318`; `/v1/traces` is added to it.
    pub fn to(endpoint: &str) -> Result<Spans, String> {
        let whole = if endpoint.ends_with("/v1/traces") {
            endpoint.to_owned()
        } else {
            format!("{}/v1/traces", endpoint.trim_end_matches('/'))
        };
        let url = Url::parse(&whole).map_err(|error| format!("{endpoint:?} is no address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{endpoint:?} is neither http nor https"));
        }
        let client = Client::builder()
            .timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| error.to_string())?;
        let (waiting, next) = (Mutex::default(), AtomicU64::new(0));
        let inner = Inner { url, client, waiting, seed, next, sent: AtomicU64::new(0), dropped: AtomicU64::new(0) };
        Ok(Spans { inner: Arc::new(inner) })
    }

    /// How many a collector took.
    pub fn sent(&self) -> u64 {
        self.inner.sent.load(Relaxed)
    }

    /// How many none took.
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Relaxed)
    }

    /// A request that was answered. Its input and output are nobody's but the caller's.
    pub(super) fn add(&self, artifact: &Artifact, reply: &Reply, begun: Instant, parent: Option<&HeaderValue>) {
        let took = begun.elapsed();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let attributes = vec![
            ("auto.artifact", artifact.id.clone()),
            ("auto.code", reply.code.clone()),
            ("http.response.status_code", reply.status.as_u16().to_string()),
        ];
        let span = Span {
            name: format!("run {}", artifact.name),
            parent: parent.and_then(|value| traceparent(value.to_str().ok()?)),
            started: now.saturating_sub(took).as_nanos(),
            took,
            attributes,
            failed: reply.status.is_server_error(),
        };
        let mut waiting = self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING {
            waiting.push(span);
        } else {
            self.inner.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Sends what there is, again and again.
    pub(super) fn start(&self) {
        let spans = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                spans.flush().await;
            }
        });
    }

    /// Sends what there is now.
    pub(super) async fn flush(&self) {
        let inner = &self.inner;
        let mut waiting = std::mem::take(&mut *inner.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(TOGETHER));
            let count = waiting.len() as u64;
            let sent = inner.client.post(inner.url.clone()).header("Content-Type", "application/json");
            let sent = sent.body(self.document(&waiting).to_string()).send().await;
            let taken = sent.is_ok_and(|response| response.status().is_success());
            (if taken { &inner.sent } else { &inner.dropped }).fetch_add(count, Relaxed);
            waiting = rest;
        }
    }

    fn document(&self, spans: &[Span]) -> Value {
        let text = |text: &str| Value::from(Record::new().with("stringValue", text));
        let attribute = |key: &str, value: Value| Value::from(Record::new().with("key", key).with("value", value));
        let spans: Vec<Value> = spans
            .iter()
            .map(|span| {
                let (trace, id) = self.ids();
                let (trace, parent) = match &span.parent {
                    Some((trace, parent)) => (trace.clone(), parent.as_str()),
                    None => (trace, ""),
                };
                let attributes: Vec<Value> =
                    span.attributes.iter().map(|(key, value)| attribute(key, text(value))).collect();
                Record::new()
                    .with("traceId", trace)
                    .with("spanId", id)
                    .with("parentSpanId", parent)
                    .with("name", span.name.as_str())
                    .with("kind", 2u32)
                    .with("startTimeUnixNano", span.started.to_string())
                    .with("endTimeUnixNano", (span.started + span.took.as_nanos()).to_string())
                    .with("attributes", attributes)
                    .with("status", Record::new().with("code", if span.failed { 2u32 } else { 0u32 }))
                    .into()
            })
            .collect();
        let scope = Record::new().with("name", "auto-serve").with("version", env!("CARGO_PKG_VERSION"));
        let scope_spans = Record::new().with("scope", scope).with("spans", spans);
        let resource = Record::new().with("attributes", vec![attribute("service.name", text("auto-host serve"))]);
        let resource_spans =
            Record::new().with("resource", resource).with("scopeSpans", vec![Value::from(scope_spans)]);
        Record::new().with("resourceSpans", vec![Value::from(resource_spans)]).into()
    }

    /// A trace id and a span id that nobody else has.
    fn ids(&self) -> (String, String) {
        let number = self.inner.next.fetch_add(1, Relaxed);
        let digest = Digest::of(&[&self.inner.seed[..], &number.to_le_bytes()].concat()).to_string();
        (digest[..32].to_owned(), digest[32..48].to_owned())
    }
}

/// `00-TRACE-SPAN-FLAGS`, as W3C Trace Context has it.
fn traceparent(text: &str) -> Option<(String, String)> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_id = |text: &str, length: usize| {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(hex) && text.bytes().any(|byte| byte != b'0')
    };
    let fits = version == "00" && flags.len() == 2 && parts.next().is_none() && is_id(trace, 32) && is_id(span, 16);
    fits.then(|| (trace.to_owned(), span.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_where_the_header_is_whole() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert_eq!(traceparent(&format!("00-{trace}-{span}-01")), Some((trace.into(), span.into())));
        for bad in
            ["", "00", "00-x-y-01", &format!("01-{trace}-{span}-01"), &format!("00-{}-{span}-01", "0".repeat(32))]
        {
            assert_eq!(traceparent(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_are_completed_and_others_than_http_refused() {
        assert_eq!(Spans::to("http://127.0.0.1:4318/").unwrap().inner.url.path(), "/v1/traces");
        assert_eq!(Spans::to("http://h:1/a/v1/traces").unwrap().inner.url.path(), "/a/v1/traces");
        assert!(Spans::to("file:///etc").is_err() && Spans::to("localhost").is_err());
    }
}
