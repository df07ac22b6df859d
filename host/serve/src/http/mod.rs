//! The floor of every server: whoever connects gets so many bytes, so much time and so many
//! connections, and an answer with a stable code when that is not enough.
//!
//! A server is an axum [`Router`] on a [`Listener`]:
//!
//! ```no_run
//! use auto_serve::http::{Bounds, Listener, Stop, router, runtime};
//!
//! let work = async {
//!     let listener = Listener::bind("127.0.0.1:7433").await.unwrap();
//!     let stop = Stop::on_signals().unwrap();
//!     listener.serve(router(), Bounds::default(), &stop).await
//! };
//! runtime(2).unwrap().block_on(work);
//! ```
//!
//! | what | how it is bounded | answer |
//! |---|---|---|
//! | connections | [`Bounds::connections`] | 503 `too-many-connections`, `Retry-After` |
//! | head of a request | [`Bounds::head`] | 431 `head-too-large` |
//! | head that does not come | [`Bounds::head_time`], which is also how long an idle connection stays | closed |
//! | body | [`Bounds::body`], by [`Bounds::read_body`] | 413 `body-too-large` |
//! | body that does not come | [`Bounds::body_time`] | 408 `body-timeout` |
//! | reply that is not read | [`Bounds::stall`] | closed |
//! | page of another site, on a loopback address | always | 403 `foreign-origin`, 421 `foreign-host` |
//!
//! What is no HTTP, and a head of more than twice its bound, hyper answers itself: 400, 431 or
//! 414 without a body.

mod bearer;
mod body;
mod bounds;
mod connection;
mod health;
mod listen;
mod local;
mod problem;
mod stall;
mod stop;

pub use axum::Router;
pub use axum::body::{Body, Bytes};
pub use axum::http::{Method, StatusCode, header};

pub use bearer::{Hidden, presented};
pub use bounds::Bounds;
pub use connection::{Ended, Traffic};
pub use health::{Readiness, health};
pub use listen::{Listener, is_loopback, runtime, runtime_with_stack};
pub use problem::Problem;
pub use stop::Stop;

/// An empty router that says in JSON that something is not there (404 `no-route`).
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let no_route = |uri: axum::http::Uri| async move {
        Problem::new(StatusCode::NOT_FOUND, "no-route", format!("there is nothing at {}", uri.path()))
    };
    Router::new().fallback(no_route)
}

/// The same for methods that a route does not take (405 `wrong-method`), once all routes are there.
fn whole(router: Router) -> Router {
    let wrong_method = |method: Method, uri: axum::http::Uri| async move {
        let message = format!("{} does not take {method}", uri.path());
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", message).help("see the header `Allow`")
    };
    router.method_not_allowed_fallback(wrong_method)
}

/// A reply with a JSON text.
pub fn json(status: StatusCode, text: impl Into<Body>) -> axum::response::Response {
    let mut response = axum::response::Response::new(text.into());
    *response.status_mut() = status;
    let json = axum::http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
