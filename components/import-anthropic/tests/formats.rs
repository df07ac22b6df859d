//! A fixture of each form, and what becomes of it.

use auto_import_anthropic::Component;
use auto_importer::{Importer as _, Note, Source, Trace, Value};

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    assert!(Component::detect(text), "not detected");
    let batch = Component::parse(&Source::of("f", text), 0).unwrap();
    (batch.traces, batch.notes)
}

#[test]
fn messages_become_model_calls_and_the_results_of_tools_in_them_tool_calls() {
    let (traces, notes) = read(include_str!("fixtures/messages.jsonl"));
    let [first] = &traces[0].spans[..] else { panic!("{:?}", traces[0]) };
    assert_eq!(first.name, "claude-sonnet-4-5");
    let input = concat!(
        r#"{"max_tokens":1024,"messages":[{"content":"Route tickets.","role":"system"},"#,
        r#"{"content":"Where is order A-17?","role":"user"}],"tools":[{"input_schema":{"type":"object"},"name":"lookup"}]}"#
    );
    assert_eq!(first.input, input);
    let call = r#"{"content":"I will look.","tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(first.output, call);
    let note = |key: &str| first.attributes.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
    assert_eq!(
        (note("tokens"), note("finish_reason"), note("response_id")),
        (Some("60"), Some("tool_use"), Some("msg_1"))
    );
    let [tool, second] = &traces[1].spans[..] else { panic!("{:?}", traces[1]) };
    assert_eq!(
        (tool.name.as_str(), tool.input.as_str(), tool.output.as_str()),
        ("lookup", r#"{"order":"A-17"}"#, r#""shipped""#)
    );
    assert_eq!(second.output, r#"{"content":"Shipped."}"#);
    assert!(!second.input.contains("toolu_1") && !second.input.contains("ephemeral"), "{}", second.input);
    assert_eq!(traces[2].spans[0].error.as_deref(), Some("Overloaded"));
    assert_eq!(notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(), ["failed-call"]);
}

#[test]
fn batches_are_paired_by_their_own_ids() {
    let (traces, _) = read(include_str!("fixtures/batch.jsonl"));
    let shown: Vec<_> =
        traces.iter().map(|trace| (trace.spans[0].output.as_str(), trace.spans[0].error.as_deref())).collect();
    assert_eq!(shown, [(r#"{"content":"2"}"#, None), ("null", Some("expired"))]);
    assert!(traces[0].spans[0].input.contains("two"));
}

#[test]
fn arguments_that_come_in_pieces_are_one_call_and_a_stream_that_breaks_off_is_a_failure() {
    let events = [
        r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":": [1]}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let line = |events: &[&str]| {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let request = r#"{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":"x"}]}"#;
        format!(r#"{{"request":{request},"response":{}}}"#, Value::from(stream))
    };
    let (traces, _) = read(&line(&events));
    assert_eq!(traces[0].spans[0].output, r#"{"content":null,"tool_calls":[{"arguments":{"a":[1]},"name":"f"}]}"#);
    let (traces, _) = read(&line(&events[..4]));
    assert!(traces[0].spans[0].error.as_deref().is_some_and(|error| error.contains("ended before")));
}
