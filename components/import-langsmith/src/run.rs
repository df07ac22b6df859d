//! What one run records: `llm` is a model call, `tool` a tool, `retriever` a look-up; chains,
//! prompts and parsers are structure.

use auto_importer::chat::{self, answer_of, asked_of};
use auto_importer::exchange::tokens;
use auto_importer::{
    Notes, Record, Span, SpanKind, Value, as_json, at, micro_usd, micros, observed, set, span as empty, text_of,
};

/// Members with a meaning here, or that say again what others say.
const KNOWN: [&str; 30] = [
    "id",
    "trace_id",
    "parent_run_id",
    "parent_run_ids",
    "dotted_order",
    "run_type",
    "name",
    "inputs",
    "outputs",
    "error",
    "extra",
    "serialized",
    "start_time",
    "end_time",
    "events",
    "inputs_preview",
    "outputs_preview",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens",
    "total_cost",
    "prompt_cost",
    "completion_cost",
    "child_run_ids",
    "session_id",
    "manifest_id",
    "manifest_s3_id",
    "app_path",
    "first_token_time",
    "execution_order",
];

fn kind(record: &Record) -> SpanKind {
    match record.get("run_type").and_then(Value::as_text) {
        Some("llm") => SpanKind::ModelCall,
        Some("tool") => SpanKind::ToolCall,
        Some("retriever") => SpanKind::Other("retrieval".into()),
        Some("embedding") => SpanKind::Other("embeddings".into()),
        _ => SpanKind::Structural,
    }
}

/// Whether a run is structure around others.
pub fn is_structure(record: &Record) -> bool {
    kind(record) == SpanKind::Structural
}

/// The span that a run is.
pub fn span(record: &Record, place: &str, notes: &mut Notes) -> Span {
    let run = Value::Record(record.clone());
    let text = |key: &str| record.get(key).and_then(Value::as_text).filter(|text| !text.is_empty());
    let kind = kind(record);
    let mut span = empty(kind.clone(), name(&kind, &run));
    span.id = observed::number(text("id").unwrap_or_default());
    span.parent = text("parent_run_id").map(observed::number);
    observed::timed(&mut span, record.get("start_time").and_then(micros), record.get("end_time").and_then(micros));
    span.error = text("error").map(str::to_owned);
    span.attributes = attributes(record, &run);
    let content =
        |key: &str| record.get(key).filter(|value| value.as_record().is_some_and(|record| !record.is_empty()));
    let (input, output) = (content("inputs").cloned(), content("outputs").cloned());
    let (input, output) = match kind {
        SpanKind::ModelCall => (input.map(|input| asked(&input, &run)), output.map(|output| answered(&output))),
        SpanKind::ToolCall => (input.map(only("input")), output.map(only("output")).map(said)),
        _ => (input, output),
    };
    observed::content(&mut span, input, output, notes, place);
    span
}

fn name(kind: &SpanKind, run: &Value) -> String {
    let places =
        ["/extra/invocation_params/model", "/extra/invocation_params/model_name", "/extra/metadata/ls_model_name"];
    let model = places.iter().find_map(|place| text_of(run, place)).filter(|_| *kind == SpanKind::ModelCall);
    model.or(text_of(run, "/name")).unwrap_or_default().to_owned()
}

/// What a model was asked: messages or prompts, with the parameters of the call.
fn asked(inputs: &Value, run: &Value) -> Value {
    let Value::Record(mut asked) = asked_of(inputs) else { return inputs.clone() };
    let parameters = at(run, "/extra/invocation_params").and_then(Value::as_record);
    let delivery = ["model", "model_name", "stream", "stream_options", "_type", "user", "metadata", "n"];
    for (key, value) in parameters.into_iter().flat_map(Record::iter) {
        if *value != Value::Null && !delivery.contains(&key) && asked.get(key).is_none() {
            asked.set(key, value.clone());
        }
    }
    asked.into()
}

/// What it answered, wherever the wrapper of the provider's client put it.
fn answered(outputs: &Value) -> Value {
    let inner =
        ["message", "output"].iter().find_map(|key| outputs.get(key)).filter(|inner| chat::messages(inner).is_some());
    answer_of(inner.unwrap_or(outputs))
}

/// The one member that a wrapper has, read where it is JSON in text; else the whole.
fn only(key: &'static str) -> impl Fn(Value) -> Value {
    move |value| match value.as_record() {
        Some(record) if record.len() == 1 && record.get(key).is_some() => {
            as_json(record.get(key).cloned().unwrap_or(Value::Null))
        }
        _ => value,
    }
}

/// What a tool gave, also where it is wrapped into a message.
fn said(output: Value) -> Value {
    match chat::messages(&output).as_deref() {
        Some([message]) if message.role == "tool" => message.content.clone(),
        _ => output,
    }
}

fn attributes(record: &Record, run: &Value) -> Vec<(String, String)> {
    let mut attributes = observed::notes_of(record, &KNOWN);
    if let Some(metadata) = at(run, "/extra/metadata").and_then(Value::as_record) {
        observed::extend(&mut attributes, metadata);
    }
    if let Some(name) = text_of(run, "/name") {
        set(&mut attributes, "langsmith.name", name);
    }
    let usage = ["/outputs/llm_output/token_usage", "/outputs/usage_metadata", "/outputs/usage"];
    let counted = run.get("total_tokens").and_then(Value::as_u64);
    let counted = counted.or_else(|| usage.iter().find_map(|place| at(run, place).and_then(tokens)));
    observed::figures(&mut attributes, counted, run.get("total_cost").and_then(micro_usd));
    attributes
}
