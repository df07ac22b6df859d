//! What came of an input, as HTTP says it: the same objects as `run --json` prints.

use auto_json::{Record, Value};
use auto_runtime::{CallError, Class, EffectRecord, Outcome};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::app::{Ran, is_breakage};
use super::catalog::Artifact;
use crate::http::{Problem, json};

/// A reply to one input.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// A stable word: `answered`, `abstained`, or what went wrong.
    pub code: String,
    /// A JSON object.
    pub body: String,
}

impl Reply {
    /// Of what came of it.
    pub fn of(artifact: &Artifact, ran: &Ran) -> Reply {
        if let (Ok(Outcome::Answer(answer)), true) = (&ran.outcome, ran.effects.is_empty()) {
            // The usual case, without a tree: the session has checked that the answer is JSON.
            let body = format!("{{\"artifact\":\"{}\",\"output\":{answer},\"tier\":1}}", artifact.id);
            return Reply { status: StatusCode::OK, code: "answered".to_owned(), body };
        }
        let mut fields = Record::new().with("artifact", artifact.id.as_str());
        if !ran.effects.is_empty() {
            fields.set("effects", ran.effects.iter().map(effect).collect::<Vec<Value>>());
        }
        let (status, code) = match &ran.outcome {
            Ok(Outcome::Answer(answer)) => {
                fields.set("output", Value::parse(answer).unwrap_or(Value::Null));
                fields.set("tier", 1u32);
                (StatusCode::OK, "answered")
            }
            Ok(Outcome::Abstain { reason, score, limit }) => {
                let novelty = Record::new().with("reason", reason.as_str()).with("score", *score).with("limit", *limit);
                fields.set("abstained", novelty);
                fields.set("message", abstention(reason, *score, *limit));
                (StatusCode::CONFLICT, "abstained")
            }
            Ok(Outcome::Request { capability, .. }) => {
                fields.set("message", format!("the artifact asks for {capability}, which nothing here provides"));
                (StatusCode::FORBIDDEN, "not-granted")
            }
            Err(error) => {
                fields.set("message", error.message.as_str());
                (status(error), error.code())
            }
        };
        let (status, code) = match &ran.tier0 {
            None => (status, code),
            Some(Ok(answered)) => {
                if let Err(error) = &ran.outcome {
                    let alarm = Record::new().with("code", error.code()).with("message", error.message.as_str());
                    fields.set("alarm", alarm);
                }
                fields.remove("message");
                fields.set("output", Value::parse(&answered.output).unwrap_or(Value::Null));
                fields.set("tier", 0u32);
                let recorded = answered.recorded.map_or(Value::Null, Value::from);
                let tier0 = answered.fields.clone().with("recorded", recorded);
                fields.set("tier0", tier0.with("cost_micro_usd", answered.cost));
                (StatusCode::OK, "answered")
            }
            Some(Err(refusal)) => {
                let error = Record::new().with("code", refusal.code.as_str()).with("message", refusal.message.as_str());
                fields.set("tier0", Record::new().with("error", error));
                (status, code)
            }
        };
        if status != StatusCode::OK {
            fields.set("code", code);
        }
        Reply { status, code: code.to_owned(), body: Value::from(fields).to_string() }
    }

    /// Of what was not even tried.
    pub fn problem(problem: &Problem) -> Reply {
        let body = problem.to_value().to_string();
        Reply { status: problem.status, code: problem.code.to_string(), body }
    }

    /// One line of a batch: what `run --batch` prints.
    pub fn line(&self, number: u64) -> String {
        if self.status == StatusCode::OK || self.code == "abstained" {
            return format!("{}\n", self.body);
        }
        let Ok(Value::Record(mut fields)) = Value::parse(&self.body) else { return String::new() };
        let mut error = Record::new();
        for key in ["code", "message", "help"] {
            if let Some(value) = fields.remove(key) {
                error.set(key, value);
            }
        }
        format!("{}\n", Value::from(fields.with("error", error.with("line", number))))
    }

    /// As a response.
    pub fn into_response(self) -> Response {
        json(self.status, self.body)
    }
}

/// A response to what was not even tried.
pub fn refused(problem: Problem) -> Response {
    problem.into_response()
}

fn abstention(reason: &str, score: u32, limit: u32) -> String {
    match limit {
        // Nothing was measured: it is so, or it is not.
        0 => format!("the artifact abstains: {reason}"),
        _ => format!("the artifact abstains: {reason} {score} is above {limit}"),
    }
}

fn status(error: &CallError) -> StatusCode {
    match error.class {
        Class::InputTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Class::NotGranted => StatusCode::FORBIDDEN,
        Class::Deadline => StatusCode::GATEWAY_TIMEOUT,
        _ if is_breakage(error) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn effect(record: &EffectRecord) -> Value {
    let fields = Record::new()
        .with("capability", record.capability.as_str())
        .with("micros", u64::try_from(record.took.as_micros()).unwrap_or(u64::MAX));
    let fields = match &record.error {
        None => fields.with("outcome", "ok"),
        Some(error) => fields.with("outcome", error.code).with("message", error.message.as_str()),
    };
    fields.into()
}
