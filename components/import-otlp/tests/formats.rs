//! A fixture of each convention, in each encoding, and what becomes of it.

use auto_import_otlp::Component;
use auto_importer::{Importer as _, Note, Source, Span, Trace, kind_name};
use prost::Message as _;

const CURRENT: &str = include_str!("fixtures/current.json");

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    assert!(Component::detect(text), "not detected");
    let batch = Component::parse(&Source::of("f", text), 0).unwrap();
    (batch.traces, batch.notes)
}

fn shown(span: &Span) -> (&str, &str, &str, &str) {
    (kind_name(&span.kind), &span.name, &span.input, &span.output)
}

const CALL: &str = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;

#[test]
fn spans_of_todays_conventions_become_operations() {
    let (traces, notes) = read(CURRENT);
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!((trace.id.as_str(), trace.task.as_str()), ("5b8efff798038103d269b633813fc60c", "ticket-agent"));
    let input = concat!(
        r#"{"messages":[{"content":"Route tickets.","role":"system"},{"content":"Where is order A-17?","role":"user"}],"#,
        r#""temperature":0.5}"#
    );
    let spans: Vec<_> = trace.spans.iter().map(shown).collect();
    assert_eq!(spans[1], ("model_call", "gpt-4o", input, CALL));
    assert_eq!(spans[2], ("tool_call", "lookup", r#"{"order":"A-17"}"#, r#""shipped""#));
    assert_eq!((spans[0].0, spans[3].0), ("span", "span"), "no content was captured of the fourth");
    assert_eq!((spans[4].0, trace.spans[4].error.as_deref()), ("model_call", Some("rate limited")));
    assert_eq!(trace.output.as_deref(), Some(r#"{"content":"Shipped."}"#));
    assert!(trace.input.as_deref().is_some_and(|input| input.contains("A-17")));
    let attributes = &trace.spans[1].attributes;
    for (key, value) in [("tokens", "49"), ("my.note", "kept"), ("gen_ai.response.id", "chatcmpl-1")] {
        assert!(attributes.contains(&(key.into(), value.into())), "{key}: {attributes:?}");
    }
    assert!(!attributes.iter().any(|(key, _)| key.ends_with("messages")));
    assert_eq!(trace.spans[1].duration, Some(90_000));
    assert!(trace.spans[1..].iter().all(|span| span.parent == Some(0xeee1_9b7e_c3c1_b173)));
    assert_eq!(notes.iter().map(|note| (note.code.as_str(), note.count)).collect::<Vec<_>>(), [("uncaptured", 1)]);
}

#[test]
fn older_conventions_say_the_same() {
    let (traces, notes) = read(include_str!("fixtures/older.jsonl"));
    let names: Vec<_> = traces.iter().map(|trace| trace.spans[0].name.as_str()).collect();
    assert_eq!(names, ["m-events", "m-indexed", "m-attributes", "m-openinference", "m-logs"]);
    let input = r#"{"messages":[{"content":"Route tickets.","role":"system"},{"content":"Where is order A-17?","role":"user"}]}"#;
    for trace in &traces {
        let span = &trace.spans[0];
        assert_eq!(shown(span), ("model_call", span.name.as_str(), input, r#"{"content":"Shipped."}"#));
    }
    assert!(notes.is_empty(), "{notes:?}");
    let tokens = |trace: &Trace| {
        trace.spans[0].attributes.iter().find(|(key, _)| key == "tokens").map(|(_, value)| value.clone())
    };
    assert_eq!((tokens(&traces[1]).as_deref(), tokens(&traces[3]).as_deref()), (Some("12"), Some("12")));
}

#[test]
fn openinference_keeps_messages_in_the_order_of_their_numbers() {
    let (traces, _) = read(include_str!("fixtures/openinference.json"));
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    let spans: Vec<_> = trace.spans.iter().map(shown).collect();
    let input = r#"{"messages":[{"content":"first","role":"user"},{"content":"last","role":"user"}],"tools":[{"name":"lookup"}]}"#;
    assert_eq!(spans[1], ("model_call", "m", input, CALL));
    assert_eq!(spans[2], ("tool_call", "lookup", r#"{"order":"A-17"}"#, r#""shipped""#));
    assert_eq!(spans[3], ("retrieval", "search", r#""A-17""#, r#"["doc"]"#));
    assert_eq!((trace.input.as_deref(), trace.output.as_deref()), (Some(r#"{"ticket":"A-17"}"#), Some(r#""shipped""#)));
}

/// A field of a message: a number, and bytes of a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

/// The request of the protobuf encoding, written by hand so that it is not our own reading
/// that is compared with itself: field numbers and wire types as in opentelemetry-proto.
fn protobuf() -> Vec<u8> {
    fn fixed(number: u8, value: u64) -> Vec<u8> {
        [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
    }
    let text =
        |key: &str, value: &str| field(9, &[field(1, key.as_bytes()), field(2, &field(1, value.as_bytes()))].concat());
    let double = |key: &str, value: f64| {
        let value = [&[4 << 3 | 1][..], &value.to_le_bytes()].concat();
        field(9, &[field(1, key.as_bytes()), field(2, &value)].concat())
    };
    let span = [
        field(1, &[0x5b; 16]),
        field(2, &[0, 0, 0, 0, 0, 0, 1, 2]),
        field(5, b"chat gpt-4o"),
        fixed(7, 1_749_209_494_000_000_000),
        fixed(8, 1_749_209_494_090_000_000),
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", "gpt-4o"),
        double("gen_ai.request.temperature", 0.5),
        text("gen_ai.input.messages", r#"[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]"#),
        text("gen_ai.output.messages", r#"[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]"#),
    ]
    .concat();
    let service = field(1, &[field(1, b"service.name"), field(2, &field(1, b"agent"))].concat());
    field(1, &[field(1, &service), field(2, &field(2, &span))].concat())
}

fn binary(bytes: &[u8]) -> Source {
    Source { binary: Some(auto_kit::text(bytes)), ..Source::of("f", "") }
}

#[test]
fn protobuf_says_what_json_says() {
    let batch = Component::parse(&binary(&protobuf()), 0).unwrap();
    let [trace] = &batch.traces[..] else { panic!("{batch:?}") };
    assert_eq!((trace.id.as_str(), trace.task.as_str(), trace.spans[0].id), ("5b".repeat(16).as_str(), "agent", 0x102));
    let input = r#"{"messages":[{"content":"Hi","role":"user"}],"temperature":0.5}"#;
    assert_eq!(shown(&trace.spans[0]), ("model_call", "gpt-4o", input, r#"{"content":"Hello"}"#));
    assert_eq!((trace.started, trace.spans[0].duration), (1_749_209_494_000_000, Some(90_000)));
    // Two requests behind one another are one.
    let twice = Component::parse(&binary(&[protobuf(), protobuf()].concat()), 0).unwrap();
    assert_eq!((twice.traces.len(), twice.notes[0].code.as_str()), (1, "duplicate-span"));
    assert_eq!(twice.traces[0].spans, trace.spans);
}

/// A request of log records, by hand: one that tells all of a call, one that is a message, one of no span.
fn logs() -> Vec<u8> {
    fn fixed(number: u8, value: u64) -> Vec<u8> {
        [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
    }
    let text =
        |key: &str, value: &str| field(6, &[field(1, key.as_bytes()), field(2, &field(1, value.as_bytes()))].concat());
    let of_span = |span: u8| [field(9, &[0x5b; 16]), field(10, &[0, 0, 0, 0, 0, 0, 1, span])].concat();
    let details = [
        fixed(1, 1_749_209_494_000_000_000),
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", "gpt-4o"),
        text("gen_ai.input.messages", r#"[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]"#),
        text("gen_ai.output.messages", r#"[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]"#),
        of_span(2),
        field(12, b"gen_ai.client.inference.operation.details"),
    ];
    let message = [
        fixed(11, 1_749_209_494_000_000_000),
        field(5, &field(1, b"Hi")),
        text("event.name", "gen_ai.user.message"),
        of_span(3),
    ];
    let other = [fixed(1, 1), field(5, &field(1, b"started"))];
    let records = [details.concat(), message.concat(), other.concat()].map(|record| field(2, &record)).concat();
    let service = field(1, &[field(1, b"service.name"), field(2, &field(1, b"agent"))].concat());
    field(1, &[field(1, &service), field(2, &records)].concat())
}

#[test]
fn a_log_record_in_protobuf_that_tells_all_of_a_call_is_one() {
    let batch = Component::parse(&binary(&logs()), 0).unwrap();
    let [trace] = &batch.traces[..] else { panic!("{batch:?}") };
    assert_eq!((trace.id.as_str(), trace.task.as_str()), ("5b".repeat(16).as_str(), "agent"));
    let [span] = &trace.spans[..] else { panic!("{trace:?}") };
    let input = r#"{"messages":[{"content":"Hi","role":"user"}]}"#;
    assert_eq!(shown(span), ("model_call", "gpt-4o", input, r#"{"content":"Hello"}"#));
    assert_eq!((span.id, span.started, span.duration), (0x102, 1_749_209_494_000_000, None));
    let notes: Vec<_> = batch.notes.iter().map(|note| (note.code.as_str(), note.usable, note.count)).collect();
    assert_eq!(notes, [("log-record", true, 1), ("log-record", false, 1)]);
    // In JSON it is the same.
    let text = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"agent"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1749209494000000000","traceId":"5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b","spanId":"0000000000000102","eventName":"gen_ai.client.inference.operation.details","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.request.model","value":{"stringValue":"gpt-4o"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi\"}]}]"}},{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Hello\"}]}]"}}]}]}]}]}"#;
    let (traces, notes) = read(text);
    assert_eq!((&traces[0].spans, notes.len()), (&trace.spans, 0));
    // What is cut off is neither traces nor logs.
    let cut = logs();
    assert_eq!(Component::parse(&binary(&cut[..cut.len() - 3]), 0).unwrap_err().code, "bad-trace");
}

#[test]
fn bytes_that_are_no_request_are_refused() {
    let good = protobuf();
    for bytes in [&good[..good.len() - 3], b"\xff\xff\xff", b"{}"] {
        assert_eq!(Component::parse(&binary(bytes), 0).unwrap_err().code, "bad-trace");
    }
    // Values in values in values: prost stops at a hundred, and we before our own readers do.
    let nested = |depth: usize| {
        let value = (0..depth).fold(field(1, b"x"), |inner, _| field(5, &field(1, &inner)));
        let attribute = field(9, &[field(1, b"input.value"), field(2, &value)].concat());
        let span = [field(1, &[1; 16]), field(2, &[1; 8]), attribute].concat();
        Component::parse(&binary(&field(1, &field(2, &field(2, &span)))), 0)
    };
    assert_eq!(nested(60).unwrap_err().code, "bad-trace");
    for depth in [30, 44] {
        let batch = nested(depth).unwrap();
        assert!(auto_importer::Canonical::of(&batch.traces[0].spans[0].input).is_ok());
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct Empty {}
    assert!(Component::parse(&binary(&Empty {}.encode_to_vec()), 0).unwrap().traces.is_empty());
}

#[test]
fn spans_without_ids_are_said_and_conflicting_ones_do_not_replace() {
    let span = |id: &str, name: &str| format!(r#"{{"traceId":"01","spanId":"{id}","name":"{name}"}}"#);
    let file =
        |spans: &[String]| format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let (traces, notes) = read(&file(&[span("a", "x"), span("0", "y"), span("", "z"), span("a", "w"), span("a", "x")]));
    assert_eq!((traces.len(), traces[0].spans.len(), traces[0].spans[0].name.as_str()), (1, 1, "x"));
    let codes: Vec<_> = notes.iter().map(|note| (note.code.as_str(), note.count)).collect();
    assert_eq!(codes, [("bad-span", 2), ("conflicting-span", 1), ("duplicate-span", 1)]);
}

#[test]
fn a_piece_keeps_parents_that_are_still_to_come() {
    let text = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","spanId":"0b","parentSpanId":"0a","name":"x"}]}]}]}"#;
    let parent =
        |piece| Component::parse(&Source { piece, ..Source::of("f", text) }, 0).unwrap().traces[0].spans[0].parent;
    assert_eq!((parent(true), parent(false)), (Some(10), None));
}
