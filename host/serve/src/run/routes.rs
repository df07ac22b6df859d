//! The routes: inputs in, replies out, and what operators look at.

use std::sync::Arc;
use std::time::Instant;

use auto_json::{Record, Value};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use futures_util::StreamExt as _;
use futures_util::stream;

use super::app::{App, Came};
use super::caller::Caller;
use super::catalog::Artifact;
use super::reply::{Reply, refused};
use super::{metrics, openapi, page, state};
use crate::http::{self, Problem};

/// Inputs of a batch that are worked on at the same time: it shall not fill the queue alone.
const ABREAST: usize = 4;

const LINES: &str = "application/x-ndjson";

/// Every route.
pub fn routes(app: Arc<App>) -> Router {
    let ready = {
        let app = app.clone();
        Arc::new(move || readiness(&app))
    };
    let router = http::router()
        .route("/", get(page::page))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/run/{*name}", any(run))
        .route("/artifacts", get(artifacts))
        .route("/state", get(operator_state))
        .route("/metrics", get(operator_metrics))
        .route("/openapi.json", get(document))
        .with_state(app);
    http::health(router, ready)
}

/// Ready as long as the registry can be read, or something is served all the same.
fn readiness(app: &App) -> Result<Record, Problem> {
    let (named, held) = (app.catalog.named().len(), app.catalog.held().len());
    match app.catalog.unreachable() {
        Some(why) if named == 0 => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why.code, why.message)),
        _ => Ok(Record::new().with("artifacts", named).with("held", held)),
    }
}

async fn run(State(app): State<Arc<App>>, request: Request) -> Response {
    let begun = Instant::now();
    let response = match answer(&app, request, begun).await {
        Ok(response) => response,
        Err(problem) => refused(problem),
    };
    app.requests.add("/run", response.status(), begun.elapsed());
    response
}

async fn answer(app: &Arc<App>, request: Request, begun: Instant) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        let message = format!("inputs are sent with POST, not {}", parts.method);
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", message);
        let mut response = problem.into_response();
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Ok(response);
    }
    let caller = app.settings.callers.of(&parts.headers)?;
    let name = parts.uri.path().strip_prefix("/run/").unwrap_or_default();
    let name = decoded(name).unwrap_or_default();
    let artifact = app.artifact(&name, caller).await?;
    let batch = match parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes) {
        None => false,
        Some(kind) => match kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii() {
            kind if kind.eq_ignore_ascii_case(LINES.as_bytes()) => true,
            kind if kind.eq_ignore_ascii_case(b"application/json") => false,
            // What tools send that were not told anything.
            b"application/x-www-form-urlencoded" | b"text/plain" | b"application/octet-stream" => false,
            _ => {
                let message = "an input is application/json, several are application/x-ndjson, one a line";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong-type", message));
            }
        },
    };
    let body = app.settings.bounds.read_body(body).await?;
    if batch {
        return Ok(lines(app.clone(), artifact, caller.clone(), body));
    }
    let parent = parts.headers.get("traceparent");
    let reply = one(app, &artifact, caller, &body, Came::Alone).await;
    if let Some(spans) = &app.settings.spans {
        spans.add(&artifact, &reply, begun, parent);
    }
    let busy = reply.status == StatusCode::SERVICE_UNAVAILABLE;
    let mut response = reply.into_response();
    if busy {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    Ok(response)
}

async fn one(app: &Arc<App>, artifact: &Arc<Artifact>, caller: &Caller, input: &[u8], came: Came) -> Reply {
    let Ok(text) = str::from_utf8(input) else {
        artifact.counts.failures.add("bad-input");
        return Reply::problem(&Problem::new(StatusCode::BAD_REQUEST, "bad-input", "the input is not UTF-8"));
    };
    match app.answer(artifact, caller, text.trim().to_owned(), came).await {
        Ok(ran) => Reply::of(artifact, &ran),
        Err(problem) => Reply::problem(&problem),
    }
}

/// One input a line, one reply a line, in the same order; each is sent when it is there.
fn lines(app: Arc<App>, artifact: Arc<Artifact>, caller: Caller, body: Bytes) -> Response {
    let inputs = Split { body, at: 0, number: 0 };
    let replies = stream::iter(inputs).map(move |(number, line)| {
        let (app, artifact, caller) = (app.clone(), artifact.clone(), caller.clone());
        async move {
            // A full queue is waited for: who sends a batch does not come again for a line of it.
            for _ in 0..200 {
                let reply = one(&app, &artifact, &caller, &line, Came::WithOthers).await;
                if reply.code != "busy" {
                    return Ok::<_, std::convert::Infallible>(reply.line(number));
                }
                tokio::time::sleep(std::time::Duration::from_millis(25)).await;
            }
            Ok(one(&app, &artifact, &caller, &line, Came::WithOthers).await.line(number))
        }
    });
    let mut response = Response::new(Body::from_stream(replies.buffered(ABREAST)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(LINES));
    response
}

/// The lines of a body that are not blank, numbered from 1.
struct Split {
    body: Bytes,
    at: usize,
    number: u64,
}

impl Iterator for Split {
    type Item = (u64, Bytes);

    fn next(&mut self) -> Option<(u64, Bytes)> {
        while self.at < self.body.len() {
            let rest = &self.body[self.at..];
            let end = self.at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            let line = self.body.slice(self.at..end);
            self.at = end + 1;
            self.number += 1;
            if !line.trim_ascii().is_empty() {
                return Some((self.number, line));
            }
        }
        None
    }
}

/// A path without its escapes; none where they make no text. It is only ever looked up.
fn decoded(path: &str) -> Option<String> {
    if !path.contains('%') {
        return Some(path.to_owned());
    }
    let bytes = path.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = str::from_utf8(bytes.get(at + 1..at + 3)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

/// Who asks, if they may look at the service itself.
fn operator<'a>(app: &'a App, request: &Request) -> Result<&'a Caller, Problem> {
    let caller = app.settings.callers.of(request.headers())?;
    if caller.operator {
        return Ok(caller);
    }
    let message = "this token may send inputs, and not look at the service";
    Err(Problem::new(StatusCode::FORBIDDEN, "no-operator", message).help("use one with `operator = true`"))
}

async fn artifacts(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let caller = app.settings.callers.of(request.headers())?;
    let named = app.catalog.named();
    let seen = named.iter().filter(|artifact| caller.may_ask(&artifact.name));
    let list: Vec<Value> = seen.map(|artifact| state::artifact(artifact)).collect();
    Ok(http::json(StatusCode::OK, Value::from(Record::new().with("artifacts", list)).to_string()))
}

async fn operator_state(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    operator(&app, &request)?;
    Ok(http::json(StatusCode::OK, state::state(&app).to_string()))
}

async fn operator_metrics(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    operator(&app, &request)?;
    let mut response = Response::new(Body::from(metrics::text(&app)));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

async fn document(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let caller = app.settings.callers.of(request.headers())?;
    let named = app.catalog.named();
    let seen = named.iter().filter(|artifact| caller.may_ask(&artifact.name));
    let document = openapi::document(seen.map(|artifact| &**artifact), !app.settings.callers.is_open());
    Ok(http::json(StatusCode::OK, document.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_once_and_only_where_they_are_text() {
        assert_eq!(decoded("triage").as_deref(), Some("triage"));
        assert_eq!(decoded("a%2Fb%40c").as_deref(), Some("a/b@c"));
        assert_eq!(decoded("%252e%252e").as_deref(), Some("%2e%2e"));
        for bad in ["%", "%2", "%zz", "%ff", "a%c3"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_body_is_split_into_the_lines_that_are_not_blank() {
        let split = |text: &'static str| -> Vec<(u64, Bytes)> {
            Split { body: Bytes::from_static(text.as_bytes()), at: 0, number: 0 }.collect()
        };
        assert_eq!(split("a\n\n  \nb\r\nc"), [(1, Bytes::from("a")), (4, Bytes::from("b\r")), (5, Bytes::from("c"))]);
        assert_eq!(split(""), []);
    }
}
