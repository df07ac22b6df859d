//! The JSON encoding (OTLP 1.x, "JSON Protobuf Encoding"): ids in hex, times as texts of
//! nanoseconds, values tagged with their type. The names of members are read in both styles.

use auto_importer::{Notes, Record, Value, identity, micros};

use crate::{Event, Log, Raw, Read};

/// Reads one request.
pub fn read(request: &Value, place: &str, read: &mut Read, notes: &mut Notes) {
    for (number, resource) in list(request, "resourceSpans").enumerate() {
        let about = attributes(resource.get("resource").and_then(|resource| resource.get("attributes")));
        let scopes = list(resource, "scopeSpans").chain(list(resource, "instrumentationLibrarySpans"));
        for scope in scopes {
            let name = ["scope", "instrumentationLibrary"].iter().find_map(|key| member(scope, key)?.get("name"));
            let name = name.and_then(Value::as_text).unwrap_or_default();
            for (place, one) in list(scope, "spans").map(|one| (format!("{place}/resourceSpans/{number}"), one)) {
                match span(one, &about, name, &place) {
                    Some(raw) => read.spans.push(raw),
                    None => notes.unusable("bad-span", "spans without a trace id or a span id", &place),
                }
            }
        }
    }
    for (number, resource) in list(request, "resourceLogs").enumerate() {
        let about = attributes(resource.get("resource").and_then(|resource| resource.get("attributes")));
        for scope in list(resource, "scopeLogs") {
            let name = member(scope, "scope").and_then(|scope| scope.get("name")).and_then(Value::as_text);
            for record in list(scope, "logRecords") {
                let ids = member(record, "traceId").and_then(trace_id).zip(member(record, "spanId").and_then(span_id));
                let Some((trace, span)) = ids else {
                    notes.remark("log-record", "log records that belong to no span", place);
                    continue;
                };
                let time = |key: &str| member(record, key).and_then(nanos).filter(|time| *time > 0);
                let at = time("timeUnixNano").or_else(|| time("observedTimeUnixNano")).unwrap_or(0);
                let place = format!("{place}/resourceLogs/{number}");
                let scope = name.unwrap_or_default().to_owned();
                read.log(trace, span, Log { event: log(record), at, resource: about.clone(), scope, place });
            }
        }
    }
}

/// A member in lower camel case, as the encoding has it, or in snake case.
fn member<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).or_else(|| {
        let snake: String = key
            .chars()
            .flat_map(|one| one.is_ascii_uppercase().then_some('_').into_iter().chain([one.to_ascii_lowercase()]))
            .collect();
        value.get(&snake)
    })
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    member(value, key).and_then(Value::as_list).unwrap_or_default().iter()
}

fn span(one: &Value, resource: &Record, scope: &str, place: &str) -> Option<Raw> {
    let text = |key: &str| member(one, key).and_then(Value::as_text).unwrap_or_default().to_owned();
    let time = |key: &str| member(one, key).and_then(nanos).unwrap_or(0);
    let started = time("startTimeUnixNano");
    Some(Raw {
        trace: member(one, "traceId").and_then(trace_id)?,
        id: member(one, "spanId").and_then(span_id)?,
        parent: member(one, "parentSpanId").and_then(span_id),
        name: text("name"),
        started,
        ended: time("endTimeUnixNano").max(started),
        attributes: attributes(one.get("attributes")),
        events: list(one, "events").map(event).collect(),
        error: member(one, "status").and_then(error),
        resource: resource.clone(),
        scope: scope.to_owned(),
        place: place.to_owned(),
    })
}

/// A time is nanoseconds whatever its size: a span of a test may start in 1970.
fn nanos(value: &Value) -> Option<u64> {
    let nanos = value.as_text().map_or_else(|| value.as_u64(), |text| text.parse().ok());
    nanos.map(|nanos| nanos / 1_000).or_else(|| micros(value))
}

fn event(one: &Value) -> Event {
    let name = one.get("name").and_then(Value::as_text).unwrap_or_default().to_owned();
    Event { name, attributes: attributes(one.get("attributes")), body: Value::Null }
}

fn log(record: &Value) -> Event {
    let attributes = attributes(record.get("attributes"));
    let told = member(record, "eventName").or_else(|| attributes.get("event.name"));
    let name = told.and_then(Value::as_text).unwrap_or_default().to_owned();
    Event { name, body: record.get("body").map_or(Value::Null, any), attributes }
}

/// What the status says, where it is one of an error.
fn error(status: &Value) -> Option<String> {
    let code = status.get("code")?;
    let failed = code.as_u64() == Some(2) || matches!(code.as_text(), Some("STATUS_CODE_ERROR" | "ERROR" | "2"));
    let message = status.get("message").and_then(Value::as_text).filter(|message| !message.is_empty());
    failed.then(|| message.unwrap_or("the span says that it failed").to_owned())
}

/// The id in lower case; not one of zeros, which is none.
fn trace_id(value: &Value) -> Option<String> {
    let text = value.as_text().filter(|text| text.bytes().any(|byte| byte != b'0'))?;
    Some(if text.bytes().all(|byte| byte.is_ascii_hexdigit()) { text.to_ascii_lowercase() } else { text.to_owned() })
}

/// Sixteen hex digits are a number; an id of another form is hashed to one.
fn span_id(value: &Value) -> Option<u64> {
    let text = value.as_text().filter(|text| !text.is_empty())?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let plain = text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if plain { hex(text) } else { hex(&identity(&[text])[..16]) };
    number.filter(|number| *number != 0)
}

/// A list of `{key, value}` as a record; of a key that is there twice, the last counts.
pub fn attributes(value: Option<&Value>) -> Record {
    let pair = |one: &Value| Some((one.get("key")?.as_text()?.to_owned(), one.get("value").map_or(Value::Null, any)));
    value.and_then(Value::as_list).unwrap_or_default().iter().filter_map(pair).collect()
}

/// A tagged value without its tag.
fn any(value: &Value) -> Value {
    let Some(record) = value.as_record() else { return value.clone() };
    for (tag, inner) in record.iter() {
        return match tag {
            "stringValue" | "string_value" | "bytesValue" | "bytes_value" | "boolValue" | "bool_value" => inner.clone(),
            // 64-bit integers may be written as texts.
            "intValue" | "int_value" => {
                inner.as_text().and_then(|text| text.parse().ok()).map_or(inner.clone(), Value::integer)
            }
            "doubleValue" | "double_value" => inner.clone(),
            "arrayValue" | "array_value" => list(inner, "values").map(any).collect::<Vec<_>>().into(),
            "kvlistValue" | "kvlist_value" => attributes(inner.get("values")).into(),
            _ => continue,
        };
    }
    Value::Null
}
