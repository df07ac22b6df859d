//! `collect`: an OTLP/HTTP receiver of spans (OpenTelemetry protocol specification 1.x).
//!
//! A request is answered with 200 once its spans are on the disk. They arrive in pieces and out
//! of order; a trace goes into the store when its root is there, no parent is missing and nothing
//! more came for a while, or when it was waited for long enough. Until then it lies beside the
//! store, and a collector that starts takes up what lies there.

mod kept;
mod pending;
mod reply;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use auto_importing::Importers;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;

use crate::decode::{Undecoded, decode};
use crate::http::{Bounds, Problem};
use crate::recorder::Scrub;

pub use reply::Encoding;
pub use worker::{Collector, Counts};

/// Where received spans go, and how long they are waited for.
pub struct Collecting {
    /// The store.
    pub store: PathBuf,
    /// The folder for what is not in the store yet.
    pub folder: PathBuf,
    /// The task to file traces under; that of their service where none.
    pub task: Option<String>,
    /// The importers.
    pub importers: Importers,
    /// How long nothing more must have come for a trace that looks whole.
    pub quiet: Duration,
    /// How long a trace is waited for that does not.
    pub patience: Duration,
    /// What is taken out first, if anything.
    pub scrub: Option<Scrub>,
}

/// The folder beside a store for spans that are not in it yet.
pub fn folder(store: &Path) -> PathBuf {
    auto_store::beside(store, ".collect")
}

/// What every request needs.
struct Receiving {
    collector: Arc<Collector>,
    bounds: Bounds,
}

/// Adds `/v1/traces`.
pub fn router(router: Router, collector: Arc<Collector>, bounds: Bounds) -> Router {
    let receiving = Arc::new(Receiving { collector, bounds });
    router.merge(Router::new().route("/v1/traces", post(receive)).with_state(receiving))
}

async fn receive(State(receiving): State<Arc<Receiving>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let encoding = match encoding(&parts.headers) {
        Ok(encoding) => encoding,
        Err(problem) => return problem.into_response(),
    };
    let bytes =
        match receiving.bounds.read_body(body).await.and_then(|bytes| plain(&parts.headers, &bytes, &receiving.bounds))
        {
            Ok(bytes) => bytes,
            Err(problem) => return problem.into_response(),
        };
    match receiving.collector.receive(encoding, bytes).await {
        Ok(rejected) => encoding.accepted(&rejected),
        Err(problem) => problem.into_response(),
    }
}

/// The encoding of a request's body.
fn encoding(headers: &HeaderMap) -> Result<Encoding, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(Encoding::Json),
        "application/x-protobuf" => Ok(Encoding::Protobuf),
        other => {
            let message = format!("the content type {other:?} is not one of OTLP/HTTP");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-content-type", message)
                .help("send application/x-protobuf or application/json"))
        }
    }
}

/// The body without its compression.
fn plain(headers: &HeaderMap, body: &[u8], bounds: &Bounds) -> Result<Vec<u8>, Problem> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    decode(encoding, body, bounds.body).map_err(|error| match error {
        Undecoded::TooLarge => {
            let message = format!("the body has more than {} bytes when unpacked", bounds.body);
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
                .help("send fewer spans at a time, or start the server with a larger --max-body")
        }
        Undecoded::Damaged => {
            Problem::new(StatusCode::BAD_REQUEST, "bad-encoding", format!("the body is not {encoding}"))
        }
        Undecoded::Unknown => {
            let message = format!("the content encoding {encoding:?} is not known here");
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-encoding", message).help("send gzip, or none")
        }
    })
}
