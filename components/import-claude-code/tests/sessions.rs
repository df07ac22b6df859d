//! A session of the form that the agent writes, and what becomes of it.

use auto_import_claude_code::Component;
use auto_importer::{Batch, Importer as _, Note, Source, Span, Trace, kind_name};

const SESSION: &str = include_str!("fixtures.jsonl");

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    let Batch { traces, notes, .. } = Component::parse(&Source::of("f", text), 0).unwrap();
    (traces, notes)
}

fn codes(notes: &[Note]) -> Vec<(&str, u32)> {
    notes.iter().map(|note| (note.code.as_str(), note.count)).collect()
}

fn shown(span: &Span) -> (&str, &str, &str, &str, Option<u64>) {
    (kind_name(&span.kind), &span.name, &span.input, &span.output, span.parent)
}

#[test]
fn tools_are_operations_paired_by_id_and_answers_are_structure() {
    assert!(Component::detect(SESSION));
    let (traces, notes) = read(SESSION);
    let [own, helper] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!((own.task.as_str(), own.started, own.partial), ("claude-code", 1_749_209_493_000_000, false));
    let spans: Vec<_> = own.spans.iter().map(shown).collect();
    let asked = r#"{"messages":[{"content":"Run the tests.","role":"user"}]}"#;
    let said = r#"{"content":"I run them.","tool_calls":[{"arguments":{"command":"make test"},"name":"Bash"},{"arguments":{"file":"a.c"},"name":"Read"}]}"#;
    let told = r#"{"messages":[{"content":"int a;","name":"Read","role":"tool"},{"content":"1 failed","is_error":true,"name":"Bash","role":"tool"}]}"#;
    assert_eq!(
        spans,
        [
            ("span", "claude-x", asked, said, None),
            ("tool_call", "Bash", r#"{"command":"make test"}"#, r#""1 failed""#, Some(1)),
            ("tool_call", "Read", r#"{"file":"a.c"}"#, r#""int a;""#, Some(1)),
            ("span", "claude-x", told, r#"{"content":"One fails."}"#, None),
        ]
    );
    assert_eq!((own.spans[1].error.as_deref(), own.spans[2].error.as_deref()), (Some("1 failed"), None));
    assert_eq!((own.spans[1].duration, own.spans[2].duration), (Some(3_000_000), Some(500_000)));
    let has = |span: &Span, key: &str, value: &str| span.attributes.contains(&(key.into(), value.into()));
    assert!(has(&own.spans[0], "tokens", "23") && has(&own.spans[0], "uncaptured", "model_call"));
    assert!(own.attributes.contains(&("cwd".into(), "/work".into())));
    // What a helper did is a run of its own; a call without a result witnesses nothing.
    assert_ne!(own.id, helper.id);
    assert_eq!(helper.spans[1].name, "Grep");
    assert_eq!(helper.spans[1].error.as_deref(), Some("the session holds no result"));
    assert_eq!(codes(&notes), [("uncaptured", 3), ("no-result", 1)]);
}

#[test]
fn what_is_not_known_is_left_out_and_said() {
    let line = |kind: &str, more: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{kind}{}\",\"parentUuid\":null,\"sessionId\":\"s\"{more}}}\n",
            more.len()
        )
    };
    let text = [
        line("hologram", ""),
        line("user", ""),
        line("user", r#","message":{"content":[{"no":"type"}]}"#),
        line("user", r#","message":{"content":[{"type":"tool_result","tool_use_id":"lost","content":"x"}]}"#),
        line("assistant", r#","message":{"id":"m","model":"<synthetic>","content":"No response requested."}"#),
        line(
            "assistant",
            r#","message":{"id":"m","model":"x","content":[{"type":"tool_use","name":"NoId","input":{}}]}"#,
        ),
        line(
            "assistant",
            r#","message":{"id":"m","model":"x","content":[{"type":"tool_use","name":"NoId","input":{}}]}"#,
        ),
    ];
    let (traces, notes) = read(&text.concat());
    assert_eq!((traces.len(), traces[0].spans.len()), (1, 1));
    let mut codes = codes(&notes);
    codes.sort_unstable();
    let unknown = [("unknown-line", 1); 3];
    assert!(unknown.iter().all(|_| codes.iter().any(|(code, _)| *code == "unknown-line")), "{codes:?}");
    for code in ["no-call", "synthetic", "bad-call", "duplicate"] {
        assert!(codes.iter().any(|(own, count)| *own == code && *count == 1), "{code}: {codes:?}");
    }
}

#[test]
fn a_session_that_goes_on_is_read_to_its_last_whole_line() {
    let cut = &SESSION[..SESSION.len() - 40];
    let source = Source::of("f", cut);
    assert_eq!(Component::parse(&source, 0).unwrap_err().code, "torn-trace");
    let traces = Component::parse(&Source { recover_partial: true, ..source }, 0).unwrap().traces;
    assert!(traces.iter().all(|trace| trace.partial) && traces[0].spans.len() == 3);
    // In the middle it is no session.
    let broken = SESSION.replacen("\"u-3\"", "\"u-3", 1);
    assert_eq!(Component::parse(&Source::of("f", broken), 0).unwrap_err().code, "bad-trace");
    assert_eq!(Component::parse(&Source::of("f", format!("{SESSION}[1]\n")), 0).unwrap_err().code, "bad-trace");
}

#[test]
fn other_formats_are_left_to_others() {
    for other in [r#"{"messages":[]}"#, r#"{"type":"user","sessionId":"s"}"#, "", "[]", r#"{"v":0,"t":"trace"}"#] {
        assert!(!Component::detect(other), "{other}");
    }
}
