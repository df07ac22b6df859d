//! Bodies, read whole within their bounds.

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;

use super::{Bounds, Problem};

impl Bounds {
    /// The whole body of a request. Problems: `body-too-large`, `body-timeout`, `body-cut-off`.
    pub async fn read_body(&self, body: Body) -> Result<Bytes, Problem> {
        let most = self.body;
        // What says itself that it is too large is not read.
        if body.size_hint().lower() > most as u64 {
            return Err(too_large(most));
        }
        let read = tokio::time::timeout(self.body_time, Limited::new(body, most).collect()).await;
        match read {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
            Ok(Err(error)) => {
                let message = format!("the body cannot be read: {error}");
                Err(closing(Problem::new(StatusCode::BAD_REQUEST, "body-cut-off", message)))
            }
            Err(_) => {
                let message = format!("the body did not come within {} s", self.body_time.as_secs_f32());
                Err(closing(Problem::new(StatusCode::REQUEST_TIMEOUT, "body-timeout", message)))
            }
        }
    }
}

fn too_large(most: usize) -> Problem {
    let message = format!("the body has more than {most} bytes");
    closing(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message))
        .help("send less, or start the server with a larger --max-body")
}

fn closing(problem: Problem) -> Problem {
    Problem { closes: true, ..problem }
}
