//! A fixture of each form, and what becomes of it.

use auto_import_openai::Component;
use auto_importer::{Importer as _, Note, Source, Span, SpanKind, Trace};

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    assert!(Component::detect(text), "not detected");
    let batch = Component::parse(&Source::of("f", text), 0).unwrap();
    assert_eq!(batch.next, None);
    (batch.traces, batch.notes)
}

fn shown(span: &Span) -> (String, &str, &str, &str, Option<&str>) {
    (auto_importer::kind_name(&span.kind).into(), &span.name, &span.input, &span.output, span.error.as_deref())
}

fn note<'s>(span: &'s Span, key: &str) -> Option<&'s str> {
    span.attributes.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
}

fn said(notes: &[Note]) -> Vec<(&str, u32, Option<&str>)> {
    notes.iter().map(|note| (note.code.as_str(), note.count, note.at.as_deref())).collect()
}

#[test]
fn chat_exchanges_become_model_calls_and_the_results_of_tools_in_them_tool_calls() {
    let (traces, notes) = read(include_str!("fixtures/chat.jsonl"));
    assert_eq!(traces.len(), 4);
    let [asked] = &traces[0].spans[..] else { panic!("{:?}", traces[0]) };
    let input = concat!(
        r#"{"messages":[{"content":"Route tickets.","role":"system"},{"content":"Where is order A-17?","role":"user"}],"#,
        r#""temperature":0,"tools":[{"function":{"name":"lookup","parameters":{"type":"object"}},"type":"function"}]}"#
    );
    let output = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(shown(asked), ("model_call".into(), "gpt-4o-mini", input, output, None));
    assert_eq!((note(asked, "tokens"), note(asked, "user")), (Some("49"), Some("u-1")));
    assert_eq!((note(asked, "response_id"), note(asked, "system_fingerprint")), (Some("chatcmpl-1"), Some("fp_1")));
    assert_eq!((traces[0].started, note(asked, "path")), (1_749_209_493_000_000, Some("/v1/chat/completions")));
    let [tool, asked] = &traces[1].spans[..] else { panic!("{:?}", traces[1]) };
    assert_eq!(shown(tool), ("tool_call".into(), "lookup", r#"{"order":"A-17"}"#, r#""shipped""#, None));
    assert_eq!((asked.output.as_str(), note(asked, "tokens")), (r#"{"content":"Shipped."}"#, Some("63")));
    assert!(!asked.input.contains("call_x1") && !asked.input.contains("stream"));
    assert_eq!(traces[2].spans[0].error.as_deref(), Some("slow down"));
    assert_eq!(
        (&traces[3].spans[0].kind, note(&traces[3].spans[0], "uncaptured")),
        (&SpanKind::Structural, Some("model_call"))
    );
    assert_eq!(said(&notes), [("failed-call", 1, Some("line 3")), ("uncaptured", 1, Some("line 4"))]);
}

#[test]
fn responses_go_on_from_each_other_by_id() {
    let text = include_str!("fixtures/responses.jsonl");
    let (traces, notes) = read(text);
    let first = &traces[0].spans[0];
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(first.output, call);
    let [tool, second] = &traces[1].spans[..] else { panic!("{:?}", traces[1]) };
    assert_eq!(shown(tool), ("tool_call".into(), "lookup", r#"{"order":"A-17"}"#, r#""shipped""#, None));
    assert_eq!(second.output, r#"{"content":"Shipped."}"#);
    assert!(
        second.input.contains(r#"{"content":"Where is order A-17?","role":"user"},{"content":null,"role":"assistant""#),
        "{}",
        second.input
    );
    assert_eq!(traces[2].spans[0].output, r#"{"content":"Hi"}"#);
    assert_eq!(said(&notes), [("reasoning", 1, Some("line 2")), ("uncaptured", 1, Some("line 4"))]);
    // The order of the lines is nothing that pairs.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(0, 1);
    let (swapped, _) = read(&lines.join("\n"));
    assert_eq!((&swapped[0].spans, &swapped[1].spans), (&traces[1].spans, &traces[0].spans));
}

#[test]
fn batches_are_paired_by_their_own_ids() {
    let (traces, notes) = read(include_str!("fixtures/batch.jsonl"));
    let pairs: Vec<_> =
        traces.iter().map(|trace| (trace.spans[0].input.as_str(), trace.spans[0].output.as_str())).collect();
    assert_eq!(pairs.len(), 3);
    assert!(pairs.contains(&(r#"{"messages":[{"content":"one","role":"user"}]}"#, r#"{"content":"1"}"#)), "{pairs:?}");
    assert!(pairs.contains(&(r#"{"messages":[{"content":"two","role":"user"}]}"#, r#"{"content":"2"}"#)), "{pairs:?}");
    assert_eq!(said(&notes), [("no-request", 1, Some("line 6")), ("uncaptured", 1, Some("line 3"))]);
}

#[test]
fn files_for_fine_tuning_are_conversations() {
    let (traces, notes) = read(include_str!("fixtures/fine-tune.jsonl"));
    let shown: Vec<_> =
        traces[0].spans.iter().map(|span| (auto_importer::kind_name(&span.kind), span.output.as_str())).collect();
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(
        shown,
        [("model_call", call), ("tool_call", r#""shipped""#), ("model_call", r#"{"content":"Shipped."}"#)]
    );
    assert_eq!(traces[1].spans[0].input, r#"{"prompt":"Hello ->"}"#);
    assert_eq!(traces[2].spans[0].output, r#"{"content":"Hello."}"#);
    assert!(notes.is_empty());
}

#[test]
fn ids_are_of_the_content_and_the_same_exchange_is_there_once() {
    let line = include_str!("fixtures/chat.jsonl").lines().next().unwrap();
    let (twice, notes) = read(&format!("{line}\n{line}\n"));
    assert_eq!((twice.len(), said(&notes)), (1, vec![("duplicate", 1, Some("line 2"))]));
    let (once, _) = read(line);
    assert_eq!(once[0].id, twice[0].id);
    // Without an id of the answer two alike are two: that is what a witness is.
    let anonymous = line.replace("\"id\":\"chatcmpl-1\",", "");
    let (two, _) = read(&format!("{anonymous}\n{anonymous}\n"));
    assert_eq!(two.len(), 2);
    assert!(two[0].id != two[1].id && two[0].spans == two[1].spans);
}

#[test]
fn streams_that_break_off_and_answers_that_were_cut_witness_nothing() {
    let line = |response: &str| {
        format!(r#"{{"request":{{"model":"m","messages":[{{"role":"user","content":"x"}}]}},"response":{response}}}"#)
    };
    let cases = [
        (r#""data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n""#, "does not say that it ended"),
        (r#""data: {\"choi""#, "ended before the answer did"),
        (r#""data: \u0000garbage\n\n""#, "ended before the answer did"),
        (r#"{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}"#, "cut off: length"),
        (r#"{"choices":[]}"#, "holds no choice"),
        (r#""<html>bad gateway</html>""#, "no object"),
    ];
    for (response, word) in cases {
        let (traces, _) = read(&line(response));
        let error = traces[0].spans[0].error.as_deref().unwrap_or_default();
        assert!(error.contains(word), "{response}: {error}");
    }
}

#[test]
fn an_answer_whose_connection_ended_says_so_whatever_came_of_it() {
    for response in [
        "\"\"",
        r#""data: {\"choices\":[]}\n\n""#,
        r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#,
    ] {
        let request = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
        let (traces, _) = read(&format!(r#"{{"request":{request},"complete":false,"response":{response}}}"#));
        let error = traces[0].spans[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("ended before the answer did"), "{response}: {error}");
    }
}

#[test]
fn two_calls_in_pieces_are_two_calls() {
    let chunk =
        |call: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n");
    let stream = [
        chunk(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#),
        chunk(r#"{"index":1,"id":"b","function":{"name":"g","arguments":""}}"#),
        chunk(r#"{"index":0,"function":{"arguments":":1}"}}"#),
        chunk(r#"{"index":1,"function":{"arguments":"[]"}}"#),
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n".into(),
    ];
    let response = auto_importer::Value::from(stream.concat()).to_string();
    let (traces, _) = read(&format!(
        r#"{{"request":{{"model":"m","messages":[{{"role":"user","content":"x"}}]}},"response":{response}}}"#
    ));
    let output = r#"{"content":null,"tool_calls":[{"arguments":{"x":1},"name":"f"},{"arguments":[],"name":"g"}]}"#;
    assert_eq!(traces[0].spans[0].output, output);
}

#[test]
fn what_is_no_json_refuses_the_file_and_what_is_unknown_is_said() {
    let line = include_str!("fixtures/chat.jsonl").lines().next().unwrap();
    let parse = |text: String| Component::parse(&Source::of("f", text), 0);
    assert_eq!(parse(format!("{line}\n{{\"request\":")).unwrap_err().at.as_deref(), Some("line 2"));
    assert_eq!(parse(format!("{line}\n[]\n")).unwrap_err().at.as_deref(), Some("line 2"));
    let batch = parse(format!("{line}\n{{\"a\":1}}\n")).unwrap();
    assert_eq!((batch.traces.len(), said(&batch.notes)), (1, vec![("unknown-document", 1, Some("line 2"))]));
    for other in [
        "",
        "[",
        "{}",
        "{\"v\":0,\"t\":\"trace\"}",
        "[{\"task_id\":1,\"reward\":1}]",
        "{\"run_type\":\"llm\",\"inputs\":{}}",
    ] {
        assert!(!Component::detect(other), "{other}");
    }
}
