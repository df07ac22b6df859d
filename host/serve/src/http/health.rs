//! Whether a server lives, and whether it can do its work.

use std::sync::Arc;

use auto_json::{Record, Value};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use super::{Problem, json};

/// Says what there is to say about the work, or why it cannot be done now.
pub type Readiness = Arc<dyn Fn() -> Result<Record, Problem> + Send + Sync>;

/// Adds `/health` (200 as long as the process serves at all) and `/ready` (200, or what `ready`
/// says is wrong).
pub fn health(router: Router, ready: Readiness) -> Router {
    let alive = || async { json(StatusCode::OK, "{\"ok\":true}") };
    let ready = move || {
        let ready = ready.clone();
        async move { ready().map(|fields| json(StatusCode::OK, Value::from(fields.with("ok", true)).to_string())) }
    };
    router.route("/health", get(alive)).route("/ready", get(ready))
}
