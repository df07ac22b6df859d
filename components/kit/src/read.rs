//! Readers: from what crosses a pass's boundary to values, or to a fault that says where.

use std::borrow::Borrow;
use std::fmt::Display;

use auto_json::Value;
use auto_schema::ir::Graph;
use auto_schema::types::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Fault;
use crate::types::{Observation, Witness};

/// An observation whose texts were read.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The input.
    pub input: Value,
    /// Each distinct output and how often it was seen.
    pub outputs: Vec<(Value, u32)>,
    /// How many recordings of this input ended in an error.
    pub errors: u32,
}

impl Row {
    /// The output, where exactly one was recorded and nothing went wrong.
    pub fn settled(&self) -> Option<&Value> {
        match self.outputs.as_slice() {
            [(output, _)] if self.errors == 0 => Some(output),
            _ => None,
        }
    }
}

/// Reads a JSON text. Fault: `bad-json`, at `place`.
pub fn json(text: &str, place: impl Display) -> Result<Value, Fault> {
    Value::parse(text).map_err(|error| Fault::new("bad-json", error.to_string()).at(place.to_string()))
}

/// Reads observations, one after the other. Those that are given, and not lent, are given up as they
/// are read, so that many do not have to fit as texts and as values together. Fault: `bad-json`, at a
/// pointer such as `/on/3/outputs/0/output`.
pub fn rows(on: impl IntoIterator<Item: Borrow<Observation>>) -> impl Iterator<Item = Result<Row, Fault>> {
    on.into_iter().enumerate().map(|(number, observation)| {
        let observation = observation.borrow();
        let output = |(place, witness): (usize, &Witness)| {
            Ok((json(&witness.output, format_args!("/on/{number}/outputs/{place}/output"))?, witness.count))
        };
        Ok(Row {
            input: json(&observation.input, format_args!("/on/{number}/input"))?,
            outputs: observation.outputs.iter().enumerate().map(output).collect::<Result<_, Fault>>()?,
            errors: observation.errors,
        })
    })
}

/// Reads a graph. Fault: `bad-graph`, with every violation, at the first one's place.
pub fn graph(bytes: &[u8]) -> Result<Graph, Fault> {
    Graph::from_bytes(bytes).map_err(|violations| {
        let place = violations.first().map(|violation| violation.at.to_string()).unwrap_or_default();
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Fault::new("bad-graph", lines.join("; ")).at(place)
    })
}

/// Reads the text of a type. Fault: `bad-type`, at `place`.
pub fn type_text(text: &str, place: &str) -> Result<Type, Fault> {
    text.parse::<Type>().map_err(|error| Fault::new("bad-type", error.to_string()).at(place))
}

/// Bytes as `auto:host/jobs` carries them in JSON: base64, standard alphabet, padded.
pub fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The inverse of [`text`]. Fault: `bad-base64`, at `place`.
pub fn bytes(text: &str, place: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|error| Fault::new("bad-base64", error.to_string()).at(place))
}
