//! What format version 0 admits and refuses, told by files that differ from a good one in
//! one thing.

use auto_import_auto::{Fault, Source, SpanKind, Trace, detect, parse};
use proptest::prelude::*;

const HEADER: &str = r#"{"v":0,"t":"trace","trace_id":"a1","task":"toy","started_at_ms":5,"sdk":"s","attrs":{},"task_input":{"doc":"x"}}"#;
const ROOT: &str = r#"{"v":0,"t":"span","trace_id":"a1","span_id":1,"parent_span_id":null,"seq":1,"kind":"span","name":"run","input":{},"output":null,"error":null,"started_at_ms":5,"duration_ms":2,"attrs":{}}"#;
const CHILD: &str = r#"{"v":0,"t":"span","trace_id":"a1","span_id":2,"parent_span_id":1,"seq":2,"kind":"model_call","name":"m","input":{"b":1,"a":2},"output":"y","error":null,"started_at_ms":6,"duration_ms":1,"attrs":{"tokens":"7"}}"#;
const OUTPUT: &str = r#"{"v":0,"t":"task_output","trace_id":"a1","output":[1],"recorded_at_ms":8}"#;

fn source(text: impl Into<String>) -> Source {
    Source::of("t.jsonl", text)
}

fn file(lines: &[&str]) -> Source {
    source(lines.join("\n") + "\n")
}

fn recovering(source: Source) -> Source {
    Source { recover_partial: true, ..source }
}

fn refused(source: &Source) -> Fault {
    match parse(source) {
        Err(fault) => fault,
        Ok(trace) => panic!("accepted as {trace:?}"),
    }
}

/// The good file with one text replaced in one of its lines (0 to 3).
fn with(line: usize, from: &str, to: &str) -> Source {
    let mut lines = [HEADER, CHILD, ROOT, OUTPUT].map(str::to_owned);
    assert!(lines[line].contains(from), "{from} is not in {}", lines[line]);
    lines[line] = lines[line].replace(from, to);
    source(lines.join("\n") + "\n")
}

#[test]
fn a_good_file_is_read_whole() {
    let Trace { id, task, recorder, started, input, output, partial, spans, .. } =
        parse(&file(&["", HEADER, "  ", CHILD, ROOT, OUTPUT])).unwrap();
    assert_eq!((id.as_str(), task.as_str(), recorder.as_str(), started, partial), ("a1", "toy", "s", 5_000, false));
    assert_eq!((input.as_deref(), output.as_deref()), (Some(r#"{"doc":"x"}"#), Some("[1]")));
    let [root, child] = &spans[..] else { panic!("{spans:?}") };
    assert!(matches!(root.kind, SpanKind::Structural) && matches!(child.kind, SpanKind::ModelCall));
    assert_eq!((root.parent, child.parent, child.sequence), (None, Some(1), 2));
    assert_eq!((child.input.as_str(), child.output.as_str()), (r#"{"a":2,"b":1}"#, r#""y""#));
    assert_eq!((child.started, child.duration), (6_000, Some(1_000)));
    assert_eq!(child.attributes, [("tokens".to_owned(), "7".to_owned())]);
}

#[test]
fn absent_and_null_outputs_are_the_same() {
    let absent = parse(&with(1, r#""output":"y","#, "")).unwrap();
    let null = parse(&with(1, r#""output":"y""#, r#""output":null"#)).unwrap();
    assert_eq!(absent.spans[1].output, "null");
    assert_eq!(absent.spans[1].output, null.spans[1].output);
}

#[test]
fn finer_times_of_our_recorder_win() {
    let trace = parse(&with(1, r#""tokens":"7""#, r#""duration_us":"1234","started_at_us":"6789""#)).unwrap();
    let child = &trace.spans[1];
    assert_eq!((child.started, child.duration, child.attributes.len()), (6_789, Some(1_234), 0));
    let header = parse(&with(0, r#""attrs":{}"#, r#""attrs":{"started_at_us":"5001"}"#)).unwrap();
    assert_eq!(header.started, 5_001);
    // Somebody else's attribute of that name is no reason to refuse the file.
    let other = parse(&with(1, r#""tokens":"7""#, r#""duration_us":"fast""#)).unwrap();
    assert_eq!((other.spans[1].duration, other.spans[1].attributes.len()), (Some(1_000), 1));
}

#[test]
fn what_version_0_does_not_define_refuses_the_file_with_its_line() {
    let cases = [
        (with(0, r#""v":0"#, r#""v":1"#), "line 1", "version 1"),
        (with(0, r#""v":0"#, r#""v":0.0"#), "line 1", "version 0.0"),
        (with(1, r#""v":0,"#, ""), "line 2", r#"no field "v""#),
        (with(0, r#""sdk":"s""#, r#""sdk":"s","extra":1"#), "line 1", "extra"),
        (with(1, r#""error":null"#, r#""error":null,"extra":1"#), "line 2", "extra"),
        (with(3, r#""recorded_at_ms":8"#, r#""recorded_at_ms":8,"extra":1"#), "line 4", "extra"),
        (with(0, r#""sdk":"s","#, ""), "line 1", "sdk"),
        (with(1, r#""name":"m","#, ""), "line 2", "name"),
        (with(1, r#""input":{"b":1,"a":2},"#, ""), "line 2", "input"),
        (with(1, r#""kind":"model_call""#, r#""kind":"user_call""#), "line 2", "user_call"),
        (with(1, r#""t":"span""#, r#""t":"event""#), "line 2", "event"),
        (with(1, r#""trace_id":"a1""#, r#""trace_id":"a2""#), "line 2", "another trace"),
        (with(3, r#""trace_id":"a1""#, r#""trace_id":"a2""#), "line 4", "another trace"),
        (with(2, r#""span_id":1"#, r#""span_id":2"#), "line 3", "span id 2"),
        (with(2, r#""seq":1"#, r#""seq":2"#), "line 3", "sequence number 2"),
        (with(2, r#""seq":1"#, r#""seq":3"#), "line 2", "did not open before"),
        (with(1, r#""span_id":2"#, r#""span_id":-2"#), "line 2", "span_id"),
        (with(1, r#""duration_ms":1"#, r#""duration_ms":1.0"#), "line 2", "duration_ms"),
        (with(1, r#""duration_ms":1"#, r#""duration_ms":18446744073709551615"#), "line 2", "duration_ms"),
        (with(1, r#""tokens":"7""#, r#""tokens":7"#), "line 2", "tokens"),
        (with(0, r#""task_input":{"doc":"x"}"#, r#""task_input":null"#), "line 1", "task_input"),
        (with(3, r#""output":[1]"#, r#""output":null"#), "line 4", "null"),
        (with(3, r#""output":[1],"#, ""), "line 4", "output"),
        (with(1, r#""b":1"#, r#""a":1"#), "line 2", "not JSON"),
        (with(1, r#""b":1"#, r#""b":NaN"#), "line 2", "not JSON"),
        (file(&[HEADER, HEADER]), "line 2", "second header"),
        (file(&[HEADER, ROOT, OUTPUT, OUTPUT]), "line 4", "second task output"),
        (file(&[ROOT]), "line 1", "header"),
        (file(&[OUTPUT]), "line 1", "header"),
        (file(&["[]"]), "line 1", "a list where an object"),
        (file(&[HEADER, "{", ROOT]), "line 2", "not JSON"),
        (source(""), "line 1", "empty"),
    ];
    for (source, line, word) in cases {
        for source in [source.clone(), recovering(source)] {
            let fault = refused(&source);
            assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-trace", Some(line)), "{}", fault.message);
            assert!(fault.message.contains(word), "{word} is not in: {}", fault.message);
        }
    }
}

#[test]
fn a_last_line_that_was_cut_off_is_dropped_only_when_asked() {
    let whole = [HEADER, CHILD, ROOT, OUTPUT].join("\n");
    for cut in 1..OUTPUT.len() {
        let text = &whole[..whole.len() - cut];
        let fault = refused(&source(text));
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("torn-trace", Some("line 4")));
        assert!(fault.message.contains("--recover-partial"));
        let trace = parse(&recovering(source(text))).unwrap();
        assert!(trace.partial && trace.output.is_none() && trace.spans.len() == 2);
    }
    // Only its newline is missing: nothing was lost.
    for source in [source(whole.as_str()), recovering(source(whole.as_str()))] {
        let trace = parse(&source).unwrap();
        assert!(!trace.partial && trace.output.is_some());
    }
}

#[test]
fn a_cut_inside_a_character_is_a_cut() {
    for tail in ["", r#"{"v":0,"t":"task_output","output":""#, OUTPUT] {
        let text = [HEADER, CHILD, ROOT, tail].join("\n");
        let cut = Source { undecodable: 2, ..source(text) };
        assert_eq!(refused(&cut).code, "torn-trace");
        let trace = parse(&recovering(cut)).unwrap();
        assert!(trace.partial && trace.output.is_none() && trace.spans.len() == 2);
    }
}

#[test]
fn recovery_forgives_the_end_and_nothing_else() {
    let terminated = [HEADER, CHILD, ROOT, &OUTPUT[..20]].join("\n") + "\n";
    assert_eq!(refused(&recovering(source(terminated))).at.as_deref(), Some("line 4"));
    let earlier = [HEADER, &CHILD[..20], ROOT, &OUTPUT[..20]].join("\n");
    assert_eq!(refused(&recovering(source(earlier))).at.as_deref(), Some("line 2"));
    let unknown = [HEADER, CHILD, ROOT, r#"{"v":0,"t":"event"}"#].join("\n");
    assert_eq!(refused(&recovering(source(unknown))).code, "bad-trace");
    assert_eq!(refused(&recovering(source(&HEADER[..40]))).code, "bad-trace");
}

#[test]
fn a_parent_that_was_never_written_is_a_recorder_that_was_stopped() {
    let fault = refused(&file(&[HEADER, CHILD]));
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("torn-trace", Some("line 2")), "{}", fault.message);
    let trace = parse(&recovering(file(&[HEADER, CHILD]))).unwrap();
    assert!(trace.partial && trace.spans[0].parent.is_none());
}

#[test]
fn detection_looks_at_the_first_line() {
    assert!(detect(HEADER) && detect(&format!("\n{HEADER}\n{ROOT}")) && detect(&HEADER[..60]));
    for other in ["", "[", "{}", "not json", r#"[{"task_id":0}]"#, r#"{"resourceSpans":[]}"#, ROOT] {
        assert!(!detect(other), "{other}");
    }
}

proptest! {
    /// Any damage to a good file is read or refused, and never reads as something longer.
    #[test]
    fn damage_never_panics(cut in 0_usize..900, drop in 0_usize..40, put in "[\\x00-\\x7f]{0,3}", recover: bool) {
        let whole = [HEADER, CHILD, ROOT, OUTPUT].join("\n");
        let start = cut.min(whole.len());
        let end = (start + drop).min(whole.len());
        let mut source = source(format!("{}{put}{}", &whole[..start], &whole[end..]));
        source.recover_partial = recover;
        match parse(&source) {
            Ok(trace) => prop_assert!(trace.spans.len() <= 2),
            Err(fault) => prop_assert!(fault.at.is_some() && !fault.message.is_empty()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text: String, undecodable in 0_u32..3, recover: bool) {
        let source = Source { undecodable, recover_partial: recover, ..source(text.as_str()) };
        let _ = parse(&source);
        let _ = detect(&text);
    }
}
