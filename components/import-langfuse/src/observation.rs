//! What one observation records. A generation is a model call and a tool is a tool; a span, a
//! chain or an agent is structure. Content is told as JSON, as JSON in text, or as text.

use auto_importer::chat::{answer_of, asked_of};
use auto_importer::exchange::tokens;
use auto_importer::{
    Notes, Record, Span, SpanKind, Value, as_json, at, micro_usd, micros, observed, set, span as empty, text_of,
};

/// Members with a meaning here, and the provider's own counts of what these say.
const KNOWN: [&str; 34] = [
    "id",
    "traceId",
    "parentObservationId",
    "type",
    "name",
    "model",
    "modelParameters",
    "input",
    "output",
    "metadata",
    "startTime",
    "endTime",
    "completionStartTime",
    "createdAt",
    "updatedAt",
    "level",
    "statusMessage",
    "latency",
    "timeToFirstToken",
    "usage",
    "usageDetails",
    "costDetails",
    "providedCostDetails",
    "totalCost",
    "inputCost",
    "outputCost",
    "inputUsage",
    "outputUsage",
    "totalUsage",
    "calculatedTotalCost",
    "calculatedInputCost",
    "calculatedOutputCost",
    "projectId",
    "internalModelId",
];

/// The span that an observation is.
pub fn span(one: &Record, place: &str, notes: &mut Notes) -> Span {
    let value = Value::Record(one.clone());
    let text = |key: &str| one.get(key).and_then(Value::as_text).filter(|text| !text.is_empty());
    let kind = kind(text("type").unwrap_or_default());
    let mut span = empty(kind.clone(), name(&kind, &value));
    span.id = observed::number(text("id").unwrap_or_default());
    span.parent = text("parentObservationId").map(observed::number);
    observed::timed(&mut span, one.get("startTime").and_then(micros), one.get("endTime").and_then(micros));
    span.attributes = attributes(one);
    if text("level") == Some("ERROR") {
        span.error = Some(text("statusMessage").unwrap_or("the observation says that it failed").to_owned());
    }
    let content = |key: &str| one.get(key).cloned().map(as_json).filter(|value| *value != Value::Null);
    let (mut input, mut output) = (content("input"), content("output"));
    if kind == SpanKind::ModelCall {
        input = input.map(|input| asked(&input, one.get("modelParameters")));
        output = output.as_ref().map(answer_of);
    }
    observed::content(&mut span, input, output, notes, place);
    span
}

fn kind(name: &str) -> SpanKind {
    match name {
        "GENERATION" => SpanKind::ModelCall,
        "TOOL" => SpanKind::ToolCall,
        "EMBEDDING" => SpanKind::Other("embeddings".into()),
        "RETRIEVER" => SpanKind::Other("retrieval".into()),
        _ => SpanKind::Structural,
    }
}

/// The model, or the tool; recorders by way of OpenTelemetry say the tool's name in an attribute.
fn name(kind: &SpanKind, one: &Value) -> String {
    let own = text_of(one, "/name").unwrap_or_default();
    let told = match kind {
        SpanKind::ModelCall => text_of(one, "/model"),
        SpanKind::ToolCall => {
            let attribute = one.get("metadata").cloned().map(as_json);
            let told = attribute.as_ref().and_then(|data| at(data, "/attributes/gen_ai.tool.name")).cloned();
            let told = told.as_ref().and_then(Value::as_text).map(str::to_owned);
            return told.unwrap_or_else(|| own.strip_prefix("execute_tool ").unwrap_or(own).to_owned());
        }
        _ => None,
    };
    told.unwrap_or(own).to_owned()
}

/// What a model was asked: messages with the parameters.
fn asked(input: &Value, parameters: Option<&Value>) -> Value {
    let lifted = with_tools(input);
    let asked = asked_of(lifted.as_ref().unwrap_or(input));
    let Value::Record(mut record) = asked else { return asked };
    // A whole request has its own parameters.
    if record.get("messages").is_some() && input.get("config").is_none() {
        let parameters = parameters.cloned().map(as_json);
        for (key, value) in parameters.as_ref().and_then(Value::as_record).into_iter().flat_map(Record::iter) {
            let says = *value != Value::Null && value.as_text() != Some("");
            if says
                && !["user", "is_stream", "choice.count", "http_options"].contains(&key)
                && record.get(key).is_none()
            {
                record.set(key, value.clone());
            }
        }
    }
    record.into()
}

/// Definitions of tools that stand among the messages, as some versions of the SDK write them.
fn with_tools(input: &Value) -> Option<Value> {
    let is_tool = |one: &&Value| at(one, "/content/type").and_then(Value::as_text) == Some("function");
    let items = input.as_list()?;
    let tools: Vec<Value> = items.iter().filter(is_tool).filter_map(|one| one.get("content").cloned()).collect();
    let messages: Vec<Value> = items.iter().filter(|one| !is_tool(one)).cloned().collect();
    (!tools.is_empty()).then(|| Record::new().with("messages", messages).with("tools", tools).into())
}

fn attributes(one: &Record) -> Vec<(String, String)> {
    let mut attributes = observed::notes_of(one, &KNOWN);
    metadata(one.get("metadata"), &mut attributes);
    for (key, name) in [("name", "langfuse.name"), ("type", "langfuse.type"), ("statusMessage", "status_message")] {
        if let Some(text) = one.get(key).and_then(Value::as_text).filter(|text| !text.is_empty()) {
            set(&mut attributes, name, text);
        }
    }
    let usage = one.get("usageDetails").or_else(|| one.get("usage"));
    let cost = one.get("totalCost").or_else(|| one.get("calculatedTotalCost")).and_then(micro_usd);
    observed::figures(&mut attributes, usage.and_then(tokens), cost);
    attributes
}

/// The members of a metadata object as attributes; what came by way of OpenTelemetry without
/// the copies of content in it.
pub fn metadata(given: Option<&Value>, attributes: &mut Vec<(String, String)>) {
    let Some(Value::Record(mut record)) = given.cloned().map(as_json) else { return };
    let inner = record.remove("attributes");
    observed::extend(attributes, &record);
    if let Some(Value::Record(inner)) = inner {
        observed::extend(attributes, &inner.into_iter().filter(|(key, _)| !is_content(key)).collect());
    }
}

fn is_content(key: &str) -> bool {
    let ends = [
        ".messages",
        ".value",
        "llm_request",
        "llm_response",
        "tool_call_args",
        "tool_response",
        ".prompt",
        ".completion",
    ];
    ends.iter().any(|end| key.ends_with(end)) || key == "gen_ai.tool.definitions"
}
