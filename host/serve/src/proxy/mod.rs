//! `proxy`: relays requests to a provider, and records what was asked and answered.
//!
//! Every request is relayed as it came, to whatever route, but for the headers that are between
//! two neighbours alone (RFC 9110, 7.6.1). Bodies are streamed both ways, byte for byte; a client
//! that leaves takes its request to the provider with it. Of a few routes what passes is copied,
//! and handed to the [`Recorder`] once the answer was relayed; whatever goes wrong with that is
//! counted, and nothing the caller sees. Headers are not recorded, so neither is the caller's
//! key; where a key is repeated in a body, it is taken out.

mod passing;

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hyper::body::Body as _;

use crate::http::{Problem, json};
use crate::recorder::Recorder;
use passing::Passing;

/// Where the proxy says how it is; everything else is the provider's.
const HEALTH: &str = "/_auto/health";

/// How the provider is reached.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// `https://HOST[:PORT][/PREFIX]`.
    pub base: String,
    /// Time for a connection to it.
    pub connect: Duration,
    /// Time in which nothing comes of an answer.
    pub silence: Duration,
    /// How many bytes of a body are recorded at most; relaying has no limit.
    pub recorded: usize,
}

struct Proxy {
    upstream: Upstream,
    client: reqwest::Client,
    recorder: Arc<Recorder>,
}

/// The router of a proxy. Errors where the client cannot be made.
pub fn router(upstream: Upstream, recorder: Arc<Recorder>) -> reqwest::Result<Router> {
    let client = reqwest::Client::builder()
        .connect_timeout(upstream.connect)
        .read_timeout(upstream.silence)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()?;
    let proxy = Arc::new(Proxy { upstream, client, recorder });
    Ok(Router::new().route(HEALTH, get(health)).fallback(relay).with_state(proxy))
}

async fn health(State(proxy): State<Arc<Proxy>>) -> Response {
    json(StatusCode::OK, auto_json::Value::from(proxy.recorder.counts().to_value()).to_string())
}

/// The format in which an exchange of a route is recorded; none of a route that is not.
fn format(method: &Method, path: &str) -> Option<&'static str> {
    let ends = |end: &str| path.trim_end_matches('/').ends_with(end);
    match *method == Method::POST {
        true if ends("/chat/completions") || ends("/responses") || ends("/completions") => Some("openai"),
        true if ends("/messages") => Some("anthropic"),
        _ => None,
    }
}

async fn relay(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{}{path}", proxy.upstream.base.trim_end_matches('/'));
    let passing = format(&parts.method, parts.uri.path()).map(|format| {
        Passing::new(format, parts.uri.path(), &parts.headers, proxy.recorder.clone(), proxy.upstream.recorded)
    });
    let mut asked = proxy.client.request(parts.method, url).headers(forwarded(&parts.headers));
    if !body.is_end_stream() {
        let copy = passing.clone();
        let stream = body.into_data_stream().inspect_ok(move |bytes| {
            if let Some(passing) = &copy {
                passing.asked(bytes);
            }
        });
        asked = asked.body(reqwest::Body::wrap_stream(stream));
    }
    match asked.send().await {
        Ok(answer) => answered(answer, passing),
        Err(error) => {
            if let Some(passing) = passing {
                passing.forget();
            }
            unreachable(&error).into_response()
        }
    }
}

fn answered(answer: reqwest::Response, passing: Option<Passing>) -> Response {
    let (status, headers) = (answer.status(), answer.headers().clone());
    if let Some(passing) = &passing {
        passing.begins(status, &headers);
    }
    let copy = passing.clone();
    let chunks = answer.bytes_stream().inspect_ok(move |bytes| {
        if let Some(passing) = &copy {
            passing.answered(bytes);
        }
    });
    // Reached when the answer ended by itself, and not where it or the client broke off.
    let end = stream::poll_fn(move |_| {
        if let Some(passing) = &passing {
            passing.ends();
        }
        Poll::Ready(None)
    });
    let mut response = Response::new(Body::from_stream(chunks.chain(end)));
    *response.status_mut() = status;
    *response.headers_mut() = forwarded(&headers);
    response
}

/// Headers that are for the next neighbour alone (RFC 9110, 7.6.1), and the host, which is
/// another there.
const BETWEEN: [&str; 9] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The headers that go on to the other side; those that `Connection` names stay as well.
fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let goes = |name: &HeaderName| !BETWEEN.contains(&name.as_str()) && !named.contains(name);
    headers.iter().filter(|(name, _)| goes(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What the caller is told where the provider does not answer. Neither its address nor what the
/// request held is in it.
fn unreachable(error: &reqwest::Error) -> Problem {
    if error.is_timeout() {
        return Problem::new(StatusCode::GATEWAY_TIMEOUT, "upstream-timeout", "the provider did not answer in time");
    }
    let what = if error.is_connect() { "cannot be reached" } else { "broke off before it answered" };
    Problem::new(StatusCode::BAD_GATEWAY, "upstream-unreachable", format!("the provider {what}"))
        .help("see whether --upstream is right and reachable from here")
}
