//! Which operation a span records. Three families of conventions say it: OpenTelemetry's for
//! generative models (`gen_ai.operation.name`), OpenInference (`openinference.span.kind`), and
//! OpenLLMetry's, which came before (`llm.request.type`, `traceloop.span.kind`).

use auto_importer::{Notes, Record, Span, SpanKind, Value, as_json, json, pairs, set, span as empty, uncaptured};

use crate::content::{self, Content};
use crate::{Event, Raw};

/// What a root says of the whole run: its input and its output.
pub type Whole = (Option<String>, Option<String>);

/// The operation that a span records, and what it would say of a run.
pub fn span(raw: Raw, notes: &mut Notes) -> (Span, Option<Whole>) {
    let kind = kind(&raw.attributes);
    let mut content = content::of(&kind, &raw.attributes, &raw.events);
    let name = name(&kind, &raw);
    let mut span = empty(kind.clone(), name);
    (span.id, span.parent, span.started) = (raw.id, raw.parent, raw.started);
    span.duration = (raw.ended > 0).then(|| raw.ended - raw.started);
    span.attributes = attributes(&raw, &content);
    let text = |value: Value| json(&value);
    let whole = match kind {
        SpanKind::Structural => {
            let both = (content.input.clone().map(text), content.output.clone().map(text));
            (both.0.is_some() || both.1.is_some()).then_some(both)
        }
        _ => None,
    };
    span.error = raw.error.map(|said| exception(&raw.events).unwrap_or(said)).or_else(|| content.error.take());
    let captured = content.input.is_some() && (content.output.is_some() || span.error.is_some());
    span.input = content.input.map_or_else(|| "null".into(), text);
    span.output = content.output.map_or_else(|| "null".into(), text);
    if kind != SpanKind::Structural && !captured {
        uncaptured(&mut span, notes, &raw.place);
    }
    (span, whole)
}

fn text<'r>(attributes: &'r Record, key: &str) -> Option<&'r str> {
    attributes.get(key).and_then(Value::as_text).filter(|text| !text.is_empty())
}

fn kind(attributes: &Record) -> SpanKind {
    if let Some(operation) = text(attributes, "gen_ai.operation.name") {
        return match operation {
            "chat" | "generate_content" | "text_completion" | "completion" => SpanKind::ModelCall,
            "execute_tool" => SpanKind::ToolCall,
            "embeddings" | "retrieval" => SpanKind::Other(operation.to_owned()),
            _ => SpanKind::Structural,
        };
    }
    if let Some(kind) = text(attributes, "openinference.span.kind") {
        return match kind.to_ascii_uppercase().as_str() {
            "LLM" => SpanKind::ModelCall,
            "TOOL" => SpanKind::ToolCall,
            "RETRIEVER" => SpanKind::Other("retrieval".into()),
            "EMBEDDING" => SpanKind::Other("embeddings".into()),
            "RERANKER" => SpanKind::Other("reranking".into()),
            _ => SpanKind::Structural,
        };
    }
    match (text(attributes, "llm.request.type"), text(attributes, "traceloop.span.kind")) {
        (Some("chat" | "completion"), _) => SpanKind::ModelCall,
        (_, Some("tool")) => SpanKind::ToolCall,
        (None, None) if text(attributes, "gen_ai.tool.name").is_some() => SpanKind::ToolCall,
        // Before there were names of operations, a model's span had its request and nothing else did.
        (None, None) if text(attributes, "gen_ai.request.model").is_some() => SpanKind::ModelCall,
        _ => SpanKind::Structural,
    }
}

/// The model, the tool, or else the span's own name.
fn name(kind: &SpanKind, raw: &Raw) -> String {
    let keys: &[&str] = match kind {
        SpanKind::ModelCall | SpanKind::Other(_) => &[
            "gen_ai.request.model",
            "llm.model_name",
            "llm.request.model",
            "embedding.model_name",
            "gen_ai.response.model",
        ],
        SpanKind::ToolCall => &["gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name"],
        _ => &[],
    };
    let told = keys.iter().find_map(|key| text(&raw.attributes, key));
    told.map_or_else(|| raw.name.clone(), str::to_owned)
}

/// Everything that is no content: attributes, and events, as they came.
fn attributes(raw: &Raw, content: &Content) -> Vec<(String, String)> {
    let left = |(key, _): &(&str, &Value)| !content.taken(key);
    let kept: Record = raw.attributes.iter().filter(left).map(|(key, value)| (key.to_owned(), value.clone())).collect();
    let mut attributes = pairs(&kept);
    attributes.retain(|(key, _)| !["tokens", "cost_usd_micros"].contains(&key.as_str()));
    if let Some(tokens) = tokens(&raw.attributes) {
        set(&mut attributes, "tokens", tokens.to_string());
    }
    let events: Vec<Value> = raw.events.iter().filter(|event| !content::is_message(event)).map(told).collect();
    if !events.is_empty() {
        set(&mut attributes, "otel.events", Value::from(events).to_string());
    }
    set(&mut attributes, "otel.name", raw.name.clone());
    attributes
}

fn told(event: &Event) -> Value {
    Record::new().with("name", event.name.as_str()).with("attributes", event.attributes.clone()).into()
}

/// The tokens of a call, in the words of each convention.
fn tokens(attributes: &Record) -> Option<u64> {
    let number = |key: &str| match as_json(attributes.get(key)?.clone()) {
        Value::Text(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let first = |keys: &[&str]| keys.iter().find_map(|key| number(key));
    let total = first(&["llm.usage.total_tokens", "llm.token_count.total", "gen_ai.usage.total_tokens"]);
    let input = ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"];
    let output = ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"];
    total.or_else(|| Some(first(&input)?.saturating_add(first(&output).unwrap_or(0))))
}

/// What an exception said, which says more than a status.
fn exception(events: &[Event]) -> Option<String> {
    let event = events.iter().find(|event| event.name == "exception")?;
    text(&event.attributes, "exception.message").map(str::to_owned)
}
