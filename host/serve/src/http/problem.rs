//! Bad news over HTTP: a status, a stable code, what and why, and what to do.

use std::borrow::Cow;

use auto_json::{Record, Value};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Why a request was not served. Its body is an object with `code`, `message`, `help` where
/// there is any, and [`Problem::with`]'s fields.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// Stable, kebab-case.
    pub code: Cow<'static, str>,
    /// What and why.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// When to come again, in seconds.
    pub retry_after: Option<u32>,
    /// Whether the rest of the request was not read, so that the connection ends.
    pub closes: bool,
    /// More for machines.
    pub fields: Record,
}

impl Problem {
    /// A problem with a message and nothing else.
    pub fn new(status: StatusCode, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Problem {
        let (code, message) = (code.into(), message.into());
        Problem { status, code, message, help: None, retry_after: None, closes: false, fields: Record::new() }
    }

    /// 503 with `Retry-After`.
    pub fn busy(code: &'static str, message: impl Into<String>) -> Problem {
        Problem { retry_after: Some(1), ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, message) }
            .help("come again after `Retry-After` seconds")
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// Adds a field to the body.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.fields.set(key, value);
        self
    }

    /// The body.
    pub fn to_value(&self) -> Value {
        let mut fields = self.fields.clone();
        fields.set("code", &*self.code);
        fields.set("message", self.message.as_str());
        if let Some(help) = &self.help {
            fields.set("help", help.as_str());
        }
        fields.into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = super::json(self.status, self.to_value().to_string());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
