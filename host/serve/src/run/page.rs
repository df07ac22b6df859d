//! The page for people. It is the same for everybody and holds no data; what it shows it asks for
//! as any other client would. It loads nothing from anywhere else, and is not let to.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page.
pub async fn page() -> Response {
    reply(include_str!("page/page.html"), "text/html; charset=utf-8")
}

/// Its script.
pub async fn script() -> Response {
    reply(include_str!("page/page.js"), "text/javascript; charset=utf-8")
}

/// Its style.
pub async fn style() -> Response {
    reply(include_str!("page/page.css"), "text/css; charset=utf-8")
}

fn reply(text: &'static str, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
