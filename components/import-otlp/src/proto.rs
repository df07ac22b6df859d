//! The protobuf encoding: the fields of `ExportTraceServiceRequest` and `ExportLogsServiceRequest`
//! (opentelemetry-proto 1.x) that matter here. Others are skipped, as protobuf says. Nothing in the
//! bytes says which of the two they are; what they read as does, since a span begins with an id and
//! a log record with a time.

use auto_importer::{Fault, Notes, Record, Value, bad};
use prost::Message as _;

use crate::{Event, Log, Raw, Read};

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<SpanEvent>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LogsRequest {
    #[prost(message, repeated, tag = "1")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LogRecord {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(message, optional, tag = "5")]
    body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(bytes = "vec", tag = "9")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    observed_time_unix_nano: u64,
    #[prost(string, tag = "12")]
    event_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SpanEvent {
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5, 6, 7")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Integer(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
    #[prost(message, tag = "6")]
    Map(KeyValueList),
    #[prost(bytes, tag = "7")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    values: Vec<KeyValue>,
}

/// Reads one request, or several behind one another: to protobuf that is the same.
pub fn read(bytes: &[u8], read: &mut Read, notes: &mut Notes) -> Result<(), Fault> {
    let request = Request::decode(bytes);
    let spans = |request: &Request| {
        request
            .resource_spans
            .iter()
            .flat_map(|one| &one.scope_spans)
            .flat_map(|one| &one.spans)
            .any(|one| !one.trace_id.is_empty())
    };
    if !request.as_ref().is_ok_and(spans)
        && let Some(logs) = LogsRequest::decode(bytes).ok().filter(has_records)
    {
        logs_of(logs, read, notes);
        return Ok(());
    }
    let request = request.map_err(|error| bad("", format!("not an OTLP request of traces or logs: {error}")))?;
    for (number, of_resource) in request.resource_spans.into_iter().enumerate() {
        let place = format!("/resourceSpans/{number}");
        let resource = attributes(of_resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        for of_scope in of_resource.scope_spans {
            let scope = of_scope.scope.map(|scope| scope.name).unwrap_or_default();
            for one in of_scope.spans {
                match span(one, &resource, &scope, &place) {
                    Some(raw) => read.spans.push(raw),
                    None => notes.unusable("bad-span", "spans without a trace id or a span id", &place),
                }
            }
        }
    }
    Ok(())
}

fn has_records(request: &LogsRequest) -> bool {
    let records = request.resource_logs.iter().flat_map(|one| &one.scope_logs).flat_map(|one| &one.log_records);
    records
        .into_iter()
        .any(|one| !one.trace_id.is_empty() || one.time_unix_nano != 0 || one.observed_time_unix_nano != 0)
}

fn logs_of(request: LogsRequest, read: &mut Read, notes: &mut Notes) {
    for (number, of_resource) in request.resource_logs.into_iter().enumerate() {
        let place = format!("/resourceLogs/{number}");
        let resource = attributes(of_resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        for of_scope in of_resource.scope_logs {
            let scope = of_scope.scope.map(|scope| scope.name).unwrap_or_default();
            for record in of_scope.log_records {
                let (Some(trace), Some(span)) = (hex(&record.trace_id), number_of(&record.span_id)) else {
                    notes.remark("log-record", "log records that belong to no span", &place);
                    continue;
                };
                let attributes = attributes(record.attributes);
                let named = attributes.get("event.name").and_then(Value::as_text).unwrap_or_default();
                let name = if record.event_name.is_empty() { named.to_owned() } else { record.event_name };
                let at =
                    if record.time_unix_nano == 0 { record.observed_time_unix_nano } else { record.time_unix_nano };
                let event = Event { name, attributes, body: record.body.map_or(Value::Null, any) };
                let log = Log {
                    event,
                    at: at / 1_000,
                    resource: resource.clone(),
                    scope: scope.clone(),
                    place: place.clone(),
                };
                read.log(trace, span, log);
            }
        }
    }
}

fn span(one: Span, resource: &Record, scope: &str, place: &str) -> Option<Raw> {
    let started = one.start_time_unix_nano / 1_000;
    let said = |status: Status| {
        let failed = status.code == 2;
        failed.then(|| if status.message.is_empty() { "the span says that it failed".into() } else { status.message })
    };
    let event =
        |event: SpanEvent| Event { name: event.name, attributes: attributes(event.attributes), body: Value::Null };
    Some(Raw {
        trace: hex(&one.trace_id)?,
        id: number_of(&one.span_id)?,
        parent: number_of(&one.parent_span_id),
        name: one.name,
        started,
        ended: (one.end_time_unix_nano / 1_000).max(started),
        attributes: attributes(one.attributes),
        events: one.events.into_iter().map(event).collect(),
        error: one.status.and_then(said),
        resource: resource.clone(),
        scope: scope.to_owned(),
        place: place.to_owned(),
    })
}

/// The id in hex; none of no bytes, or of zeros.
fn hex(id: &[u8]) -> Option<String> {
    let text = || id.iter().map(|byte| format!("{byte:02x}")).collect();
    id.iter().any(|byte| *byte != 0).then(text)
}

fn number_of(id: &[u8]) -> Option<u64> {
    let id: [u8; 8] = id.try_into().ok()?;
    Some(u64::from_be_bytes(id)).filter(|number| *number != 0)
}

fn attributes(pairs: Vec<KeyValue>) -> Record {
    pairs.into_iter().map(|pair| (pair.key, pair.value.map_or(Value::Null, any))).collect()
}

fn any(value: AnyValue) -> Value {
    match value.value {
        None => Value::Null,
        Some(Any::Text(text)) => text.into(),
        Some(Any::Bool(value)) => value.into(),
        Some(Any::Integer(value)) => value.into(),
        // The shortest decimal that reads back; what is not finite stays a word.
        Some(Any::Double(value)) => Value::parse(format!("{value:?}")).unwrap_or_else(|_| format!("{value:?}").into()),
        Some(Any::Array(list)) => list.values.into_iter().map(any).collect::<Vec<_>>().into(),
        Some(Any::Map(map)) => attributes(map.values).into(),
        Some(Any::Bytes(bytes)) => auto_kit::text(&bytes).into(),
    }
}
