//! The two encodings of OTLP/HTTP, and what is answered in each.

use auto_json::{Record, Value};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use prost::Message as _;

/// How a request is encoded; its answer is encoded alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/x-protobuf`.
    Protobuf,
}

/// Spans of a request that were not taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub spans: u64,
    /// Why.
    pub why: Vec<String>,
}

/// `ExportTraceServiceResponse` (opentelemetry-proto 1.x).
#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

impl Encoding {
    /// 200, with a partial success where some spans were not taken.
    pub fn accepted(self, rejected: &Rejected) -> Response {
        let message = rejected.why.join("; ");
        let (body, kind): (Vec<u8>, _) = match self {
            Encoding::Json => {
                let mut answer = Record::new();
                if rejected.spans > 0 {
                    // 64-bit integers are texts in protobuf's JSON.
                    let partial =
                        Record::new().with("rejectedSpans", rejected.spans.to_string()).with("errorMessage", message);
                    answer.set("partialSuccess", partial);
                }
                (Value::from(answer).to_string().into_bytes(), "application/json")
            }
            Encoding::Protobuf => {
                let partial = PartialSuccess {
                    rejected_spans: i64::try_from(rejected.spans).unwrap_or(i64::MAX),
                    error_message: message,
                };
                let answer = Answer { partial_success: (rejected.spans > 0).then_some(partial) };
                (answer.encode_to_vec(), "application/x-protobuf")
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::OK;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}
