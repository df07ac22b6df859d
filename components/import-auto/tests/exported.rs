//! What format version 1 admits and refuses, told by files that differ from a good one in one thing.

use auto_import_auto::{Batch, Component, Fault, Importer as _, Source, SpanKind, Trace};
use proptest::prelude::*;

const HEADER: &str = r#"{"v":1,"t":"trace","trace_id":"a1","task":"toy","recorder":"s","started_at_us":5,"attrs":{"k":"v"},"partial":false,"spans":2,"task_input":null}"#;
const ROOT: &str = r#"{"v":1,"t":"span","span_id":1,"parent_span_id":null,"seq":1,"kind":"span","name":"run","input":{},"output":null,"error":null,"started_at_us":5,"duration_us":null,"attrs":{}}"#;
const CHILD: &str = r#"{"v":1,"t":"span","span_id":2,"parent_span_id":1,"seq":2,"kind":"user","name":"m","input":{"b":1,"a":2},"output":"y","error":"no","started_at_us":6,"duration_us":1,"attrs":{"started_at_us":"7"}}"#;
const NEXT: &str = r#"{"v":1,"t":"trace","trace_id":"a2","task":"toy","recorder":"s","started_at_us":5,"attrs":{},"partial":true,"spans":0}"#;

fn source(text: impl Into<String>) -> Source {
    Source::of("t.jsonl", text)
}

fn good() -> String {
    [HEADER, ROOT, CHILD, NEXT].map(|line| format!("{line}\n")).concat()
}

fn read(source: &Source) -> Result<Vec<Trace>, Fault> {
    let (mut traces, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let Batch { traces: more, next, .. } = Component::parse(source, start)?;
        assert!(next.is_none_or(|next| next > start));
        traces.extend(more);
        from = next;
    }
    Ok(traces)
}

#[test]
fn a_file_holds_many_traces_and_all_that_is_known_of_them() {
    assert!(Component::detect(&good()));
    let traces = read(&source(good())).unwrap();
    let [first, second] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!((first.id.as_str(), first.started, first.partial, second.partial), ("a1", 5, false, true));
    // Null is something that was given; nothing is not.
    assert_eq!((first.input.as_deref(), &first.output, &second.input), (Some("null"), &None, &None));
    let [root, child] = &first.spans[..] else { panic!("{first:?}") };
    assert_eq!((root.duration, child.duration, child.error.as_deref()), (None, Some(1), Some("no")));
    assert_eq!(child.kind, SpanKind::Other("user".into()));
    assert_eq!(child.attributes, [("started_at_us".to_owned(), "7".to_owned())]);
    // Without the last line end it is whole all the same.
    assert_eq!(read(&source(good().trim_end())).unwrap(), traces);
}

#[test]
fn what_version_1_does_not_define_is_refused_with_its_line() {
    let cases = [
        (0, r#""spans":2"#, r#""spans":3"#, "line 4"),
        (0, r#""spans":2"#, r#""spans":1"#, "line 3"),
        (0, r#""spans":2"#, r#""spans":-1"#, "line 1"),
        (0, r#""task":"toy","#, "", "line 1"),
        (0, r#""a1""#, r#""""#, "line 1"),
        (0, r#""partial":false"#, r#""partial":0"#, "line 1"),
        (0, r#""partial""#, r#""more":1,"partial""#, "line 1"),
        (1, r#""v":1"#, r#""v":0"#, "line 2"),
        (1, r#""t":"span""#, r#""t":"task_output""#, "line 2"),
        (1, r#""duration_us":null"#, r#""duration_us":"1""#, "line 2"),
        (2, r#""span_id":2"#, r#""span_id":1"#, "line 3"),
        (2, r#""seq":2"#, r#""seq":1"#, "line 3"),
        (2, r#""parent_span_id":1"#, r#""parent_span_id":9"#, "line 3"),
        (2, r#""output":"y","#, "", "line 3"),
        (2, r#"{"started_at_us":"7"}"#, r#"{"n":7}"#, "line 3"),
        (3, r#"{"v""#, r#"{{"v""#, "line 4"),
        (3, r#"{"v""#, r#"[{"v""#, "line 4"),
    ];
    for (line, from, to, at) in cases {
        let mut lines = [HEADER, ROOT, CHILD, NEXT].map(str::to_owned);
        assert!(lines[line].contains(from), "{from}");
        lines[line] = lines[line].replacen(from, to, 1);
        let fault = read(&source(lines.map(|line| line + "\n").concat())).unwrap_err();
        assert_eq!(
            (fault.code.as_str(), fault.at.as_deref()),
            ("bad-trace", Some(at)),
            "{from} -> {to}: {}",
            fault.message
        );
    }
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_told_and_can_be_recovered() {
    let text = [HEADER, ROOT, CHILD].map(|line| format!("{line}\n")).concat();
    let whole = read(&source(text.as_str())).unwrap();
    for end in HEADER.len()..text.len() - 1 {
        let cut = Source { undecodable: u32::from(end % 7 == 0), ..source(&text[..end]) };
        assert_eq!(read(&cut).unwrap_err().code, "torn-trace", "{end}");
        let recovered = read(&Source { recover_partial: true, ..cut }).unwrap();
        for trace in &recovered {
            assert!(trace.partial && trace.spans[..] == whole[0].spans[..trace.spans.len()], "{end}");
        }
    }
    // The file is whole without its last line end, but not with half a character behind it.
    let cut = Source { undecodable: 1, ..source(text.trim_end()) };
    assert_eq!(read(&cut).unwrap_err().code, "torn-trace");
}

#[test]
fn large_files_come_in_batches_that_end_where_a_trace_does() {
    let trace = |number: usize| {
        let long = format!("\"{}\"", "x".repeat(700_000));
        format!("{}\n{ROOT}\n{}\n", HEADER.replace("a1", &format!("t{number}")), CHILD.replace("\"y\"", &long))
    };
    let text: String = (0..20).map(trace).collect();
    let first = Component::parse(&source(text.as_str()), 0).unwrap();
    assert!(first.next.is_some() && first.traces.len() < 10);
    let traces = read(&source(text)).unwrap();
    assert!(
        traces.iter().enumerate().all(|(number, trace)| trace.id == format!("t{number}") && trace.spans.len() == 2)
    );
    assert_eq!(traces.len(), 20);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(cut in 0..700_usize, insert in "[\\PC\n]{0,8}") {
        let mut text = good();
        let at = text.floor_char_boundary(cut.min(text.len()));
        text.insert_str(at, &insert);
        let _ = read(&source(text));
    }
}
