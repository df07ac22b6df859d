//! The types of `wit/host` and `wit/pass` that the host itself makes or reads, as values.
//! One struct for each; everything else of those packages passes through unread.

use auto_runtime::{CallError, Class};
use auto_schema::evidence::{Observation, Operation, Reference, Run};
use wasmtime::component::Val;

use crate::fault::Fault;

/// `auto:pass/types.outcome`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answer(String),
    Abstain { reason: String, score: u32, limit: u32 },
    Request { capability: String, input: String },
    Failed(String),
}

/// `auto:pass/types.replay`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replay {
    pub(crate) input: String,
    pub(crate) outcome: Outcome,
    pub(crate) steps: u64,
}

pub(crate) fn text(text: impl Into<String>) -> Val {
    Val::String(text.into())
}

pub(crate) fn bytes(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().map(|byte| Val::U8(*byte)).collect())
}

pub(crate) fn record<const N: usize>(fields: [(&str, Val); N]) -> Val {
    Val::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

pub(crate) fn case(name: &str, payload: Val) -> Val {
    Val::Variant(name.to_owned(), Some(Box::new(payload)))
}

pub(crate) fn option(value: Option<Val>) -> Val {
    Val::Option(value.map(Box::new))
}

pub(crate) fn ok(value: Val) -> Val {
    Val::Result(Ok(Some(Box::new(value))))
}

pub(crate) fn refusal(code: &str, message: impl Into<String>) -> Val {
    err(code, message, None)
}

/// `auto:pass/types.fault` as the `err` of a result.
pub(crate) fn err(code: &str, message: impl Into<String>, at: Option<String>) -> Val {
    let fault = record([("code", text(code)), ("message", text(message)), ("at", option(at.map(text)))]);
    Val::Result(Err(Some(Box::new(fault))))
}

/// A fault of a component as a driver sees it: a refusal as the component worded it,
/// anything else with who failed.
pub(crate) fn fault(fault: &Fault) -> Val {
    err(fault.class.code(), told(fault), fault.at.clone())
}

/// The message of a fault as a driver sees it.
pub(crate) fn told(fault: &Fault) -> String {
    match fault.class {
        crate::FaultClass::Refused(_) => fault.message.clone(),
        _ => format!("{}, {}: {}", fault.pass, fault.function, fault.message),
    }
}

pub(crate) fn field<'v>(value: &'v Val, wanted: &str) -> Option<&'v Val> {
    match value {
        Val::Record(fields) => fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value),
        _ => None,
    }
}

pub(crate) fn as_text(value: &Val) -> Option<&str> {
    if let Val::String(text) = value { Some(text) } else { None }
}

pub(crate) fn as_list(value: &Val) -> Option<&[Val]> {
    if let Val::List(items) = value { Some(items) } else { None }
}

pub(crate) fn as_texts(value: &Val) -> Option<Vec<String>> {
    as_list(value)?.iter().map(|item| as_text(item).map(str::to_owned)).collect()
}

pub(crate) fn as_bytes(value: &Val) -> Option<Vec<u8>> {
    let byte = |item: &Val| if let Val::U8(byte) = item { Some(*byte) } else { None };
    as_list(value)?.iter().map(byte).collect()
}

/// The content of an option; `None` where the value is none.
pub(crate) fn as_option(value: &Val) -> Option<Option<&Val>> {
    if let Val::Option(inner) = value { Some(inner.as_deref()) } else { None }
}

pub(crate) fn observations(observations: &[Observation]) -> Val {
    let output = |(output, count): &(auto_json::Canonical, u32)| {
        record([("output", text(output.as_str())), ("count", Val::U32(*count))])
    };
    let one = |observation: &Observation| {
        record([
            ("input", text(observation.input.as_str())),
            ("outputs", Val::List(observation.outputs.iter().map(output).collect())),
            ("errors", Val::U32(observation.errors)),
        ])
    };
    Val::List(observations.iter().map(one).collect())
}

/// A list of `auto:host/evidence.run`.
pub(crate) fn runs(runs: &[Run]) -> Val {
    let error = |error: &Option<String>| option(error.as_ref().map(text));
    let step = |step: &Operation| {
        record([
            ("kind", text(&step.kind)),
            ("name", text(&step.name)),
            ("input", text(step.input.as_str())),
            ("output", text(step.output.as_str())),
            ("error", error(&step.error)),
        ])
    };
    let one = |run: &Run| {
        record([
            ("input", text(run.input.as_str())),
            ("output", text(run.output.as_str())),
            ("error", error(&run.error)),
            ("steps", Val::List(run.steps.iter().map(step).collect())),
        ])
    };
    Val::List(runs.iter().map(one).collect())
}

/// `auto:pass/gate.reference`.
pub(crate) fn reference(reference: &Reference) -> Val {
    let figures = |list: &[Option<u64>]| Val::List(list.iter().map(|figure| option(figure.map(Val::U64))).collect());
    record([
        ("durations", figures(&reference.durations)),
        ("costs", figures(&reference.costs)),
        ("tokens", figures(&reference.tokens)),
        ("malformed", Val::U32(reference.malformed)),
    ])
}

impl Outcome {
    pub(crate) fn of(result: Result<auto_runtime::Outcome, &CallError>) -> Outcome {
        use auto_runtime::Outcome as Ran;
        match result {
            Ok(Ran::Answer(answer)) => Outcome::Answer(answer),
            Ok(Ran::Abstain { reason, score, limit }) => Outcome::Abstain { reason, score, limit },
            Ok(Ran::Request { capability, input, .. }) => Outcome::Request { capability, input },
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    fn to_val(&self) -> Val {
        match self {
            Outcome::Answer(answer) => case("answer", text(answer)),
            Outcome::Abstain { reason, score, limit } => case(
                "abstain",
                record([("reason", text(reason)), ("score", Val::U32(*score)), ("limit", Val::U32(*limit))]),
            ),
            Outcome::Request { capability, input } => {
                case("request", record([("capability", text(capability)), ("input", text(input))]))
            }
            Outcome::Failed(why) => case("failed", text(why)),
        }
    }

    /// Reads one; `None` for a value of another type.
    pub(crate) fn from_val(value: &Val) -> Option<Outcome> {
        let Val::Variant(name, Some(payload)) = value else { return None };
        let owned = |name: &str| field(payload, name).and_then(as_text).map(str::to_owned);
        let number = |name: &str| if let Some(Val::U32(number)) = field(payload, name) { Some(*number) } else { None };
        Some(match name.as_str() {
            "answer" => Outcome::Answer(as_text(payload)?.to_owned()),
            "abstain" => {
                Outcome::Abstain { reason: owned("reason")?, score: number("score")?, limit: number("limit")? }
            }
            "request" => Outcome::Request { capability: owned("capability")?, input: owned("input")? },
            "failed" => Outcome::Failed(as_text(payload)?.to_owned()),
            _ => return None,
        })
    }
}

impl Replay {
    pub(crate) fn to_val(&self) -> Val {
        record([("input", text(&self.input)), ("outcome", self.outcome.to_val()), ("steps", Val::U64(self.steps))])
    }

    pub(crate) fn from_val(value: &Val) -> Option<Replay> {
        let Some(Val::U64(steps)) = field(value, "steps") else { return None };
        let input = field(value, "input").and_then(as_text)?.to_owned();
        Some(Replay { input, outcome: Outcome::from_val(field(value, "outcome")?)?, steps: *steps })
    }
}

/// Whether a failure says something about the limits or the machine rather than about the
/// program and its input.
pub(crate) fn is_circumstance(error: &CallError) -> bool {
    matches!(
        error.class,
        Class::OutOfFuel | Class::OutOfMemory | Class::OutOfTable | Class::OutOfStack | Class::Deadline
    )
}
