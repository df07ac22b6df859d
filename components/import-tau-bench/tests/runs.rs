//! Small runs in tau-bench's form, and what becomes of them.

use auto_import_tau_bench::{Fault, Source, Span, SpanKind, detect, parse};

const RUN: &str = r#"{"task_id": 3, "reward": 1.0, "trial": 0, "traj": [
  {"role": "system", "content": "Be kind."},
  {"role": "user", "content": "Hello"},
  {"role": "assistant", "content": null, "tool_calls": [
     {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"b\": 1,  \"a\": 2}"}}]},
  {"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "Error: nothing"},
  {"role": "assistant", "content": "Nothing there."},
  {"role": "user", "content": "Bye"}]}"#;

fn source(text: impl Into<String>) -> Source {
    Source::of("t.json", text)
}

fn refused(text: &str) -> Fault {
    match parse(&source(text), 0) {
        Err(fault) => fault,
        Ok(batch) => panic!("accepted as {batch:?}"),
    }
}

fn kind(span: &Span) -> &str {
    match &span.kind {
        SpanKind::ModelCall => "model",
        SpanKind::ToolCall => "tool",
        SpanKind::Other(other) => other,
        _ => "?",
    }
}

#[test]
fn a_run_becomes_model_tool_and_user_calls() {
    let batch = parse(&source(format!("[{RUN}]")), 0).unwrap();
    assert_eq!((batch.traces.len(), batch.next), (1, None));
    let trace = &batch.traces[0];
    assert_eq!((trace.task.as_str(), trace.input.as_ref(), trace.partial), ("tau-bench", None, false));
    let note = |key: &str| trace.attributes.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
    assert_eq!((note("task_id"), note("trial"), note("reward")), (Some("3"), Some("0"), Some("1.0")));
    let shown: Vec<_> = trace.spans.iter().map(|span| (kind(span), span.name.as_str(), span.output.as_str())).collect();
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"a":2,"b":1},"name":"look"}]}"#;
    assert_eq!(
        shown,
        [
            ("model", "assistant", call),
            ("tool", "look", r#""Error: nothing""#),
            ("model", "assistant", r#"{"content":"Nothing there."}"#),
            ("user_call", "user", r#""Bye""#),
        ]
    );
    let inputs: Vec<_> = trace.spans.iter().map(|span| span.input.as_str()).collect();
    assert_eq!(inputs[0], r#"[{"content":"Be kind.","role":"system"},{"content":"Hello","role":"user"}]"#);
    assert_eq!(inputs[1], r#"{"a":2,"b":1}"#);
    assert!(trace.spans.iter().all(|span| span.error.is_none() && !span.input.contains("call_1")));
    assert!(inputs.iter().all(|input| auto_json::Canonical::of(input).unwrap().as_str() == *input));
}

#[test]
fn ids_depend_on_content_and_task_alone() {
    let id = |source: Source| parse(&source, 0).unwrap().traces[0].id.clone();
    let plain = id(source(format!("[{RUN}]")));
    assert_eq!(plain.len(), 32);
    assert_eq!(plain, id(Source { name: "other.json".into(), ..source(format!(" [ {RUN} ] ")) }));
    assert_ne!(plain, id(Source { task: Some("airline".into()), ..source(format!("[{RUN}]")) }));
    assert_ne!(plain, id(source(format!("[{}]", RUN.replace("\"trial\": 0", "\"trial\": 1")))));
}

#[test]
fn batches_cover_a_file_once_and_in_order() {
    let long = "x".repeat(1 << 20);
    let runs: Vec<_> =
        (0..20).map(|n| RUN.replace("Hello", &long).replace("\"trial\": 0", &format!("\"trial\": {n}"))).collect();
    let source = source(format!("[{}]", runs.join(",")));
    let (mut from, mut batches, mut trials) = (Some(0), 0, Vec::new());
    while let Some(start) = from {
        let batch = parse(&source, start).unwrap();
        trials.extend(batch.traces.iter().map(|trace| trace.attributes[2].1.clone()));
        from = batch.next;
        batches += 1;
    }
    assert_eq!(trials, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(batches > 5);
    assert!(parse(&source, 99).unwrap().traces.is_empty());
}

#[test]
fn what_is_not_such_a_file_is_refused_with_its_place() {
    let cases = [
        ("{}".to_owned(), None, "not a list"),
        (format!("[{RUN}"), None, "does not end"),
        (format!("[{RUN}] 1"), None, "more after"),
        (format!("[{RUN},]"), Some("/1"), "not JSON"),
        (format!("[{RUN},{{}}]"), Some("/1"), "traj"),
        (
            format!("[{}]", RUN.replace("\"tool_call_id\": \"call_1\"", "\"tool_call_id\": \"call_9\"")),
            Some("/0/traj/3"),
            "call_9",
        ),
        (format!("[{}]", RUN.replace("\"system\"", "\"wizard\"")), Some("/0/traj/0"), "wizard"),
        (format!("[{}]", RUN.replace("\"role\": \"system\",", "")), Some("/0/traj/0"), "role"),
    ];
    for (text, at, word) in cases {
        let fault = refused(&text);
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-trace", at), "{}", fault.message);
        assert!(fault.message.contains(word), "{word} is not in: {}", fault.message);
    }
    assert!(parse(&source(" [ ] "), 0).unwrap().traces.is_empty());
    assert!(parse(&Source { undecodable: 1, ..source(format!("[{RUN}]")) }, 0).is_err());
}

#[test]
fn detection_wants_a_list_of_runs() {
    assert!(detect(&format!("[{RUN}]")) && detect("\n[\n  {\n    \"task_id\": 0,\n    \"reward\": 0.0,"));
    for other in ["", "[", "[{\"role\": \"user\"}]", RUN, "{\"v\":0,\"t\":\"trace\"}"] {
        assert!(!detect(other), "{other}");
    }
}
