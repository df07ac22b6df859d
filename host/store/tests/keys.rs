//! Key policies in a store: kept with the task, applied on reading, sealed like everything else.

use auto_json::Canonical;
use auto_schema::key::Part;
use auto_store::{Scope, Span, SpanKind, Store, Trace};
use rusqlite::Connection;

fn trace(number: usize, input: &str, output: &str) -> Trace {
    let json = |text: &str| Canonical::of(text).unwrap();
    let span = Span {
        id: 1,
        parent: None,
        sequence: 1,
        kind: SpanKind::ModelCall,
        name: "m".into(),
        input: json(input),
        output: json(output),
        error: None,
        started: 0,
        duration: None,
        attributes: Vec::new(),
    };
    Trace {
        id: format!("t{number}"),
        task: "tickets".into(),
        recorder: "test".into(),
        started: 0,
        attributes: Vec::new(),
        input: None,
        output: None,
        partial: false,
        spans: vec![span],
    }
}

/// Requests that differ in an id and in what is asked, of which there are three.
fn requests(count: usize) -> Vec<Trace> {
    let one = |number: usize| {
        let text = ["refund", "where", "hello"][number % 3];
        let input = format!(
            r#"{{"messages":[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"Ticket {number}: {text} please. One word."}}]}}"#
        );
        trace(number, &input, &format!("\"{text}\""))
    };
    (0..count).map(one).collect()
}

fn scope() -> Scope {
    Scope::Span { kind: auto_schema::contract::SpanKind::parse("model_call").unwrap(), name: "m".into() }
}

#[test]
fn a_key_is_applied_to_what_was_recorded_before_and_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.ingest(&requests(9)).unwrap();
    assert_eq!(store.census("tickets").unwrap().total.witnessed.spans, 0);
    let key =
        Part::parse(r#"{"template":"Ticket {n}: {text} please. One word.","of":"/messages/-1/content"}"#).unwrap();
    assert!(!store.set_key("tickets", "model_call", Some("m"), Some(&key)).unwrap());
    assert_eq!(store.census("tickets").unwrap().total.witnessed.spans, 0, "the number is still in it");
    let key = Part::parse(r#"{"template":"{ticket}: {text} please. One word.","of":"/messages/-1/content"}"#).unwrap();
    assert!(store.set_key("tickets", "model_call", Some("m"), Some(&key)).unwrap());
    store.ingest(&[trace(99, r#"{"messages":[{"role":"user","content":"no ticket"}]}"#, "1")]).unwrap();
    let census = store.census("tickets").unwrap();
    assert_eq!((census.total.all.spans, census.unkeyed), (9, 1), "what does not fit is left out, and counted");
    assert!(census.to_string().contains("does not fit them: 1 span"));
    drop(store);
    let store = Store::open_read(&path).unwrap();
    assert_eq!(store.key_policies().unwrap().len(), 1);
    let seen = store.observations("tickets", &scope()).unwrap();
    assert_eq!((seen.len(), seen[0].input.as_str()), (9, r#"{"text":"hello","ticket":"Ticket 2"}"#));
    assert!(
        store.trace("t0").unwrap().unwrap().spans[0].input.as_str().contains("Be brief."),
        "what was recorded stays"
    );
}

#[test]
fn a_policy_of_an_operation_goes_before_that_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path().join("s.db")).unwrap();
    store.ingest(&requests(6)).unwrap();
    let of_kind = Part::parse("/messages/0/content").unwrap();
    store.set_key("tickets", "model_call", None, Some(&of_kind)).unwrap();
    assert_eq!(store.census("tickets").unwrap().total.witnessed.inputs, 1);
    store.set_key("tickets", "model_call", Some("m"), Some(&Part::parse("").unwrap())).unwrap();
    assert_eq!(store.census("tickets").unwrap().total.witnessed.inputs, 0);
    store.set_key("other", "model_call", None, Some(&of_kind)).unwrap();
    assert_eq!(store.key_policies().unwrap().len(), 3);
}

#[test]
fn what_the_requests_share_is_found_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path().join("s.db")).unwrap();
    let one = |number: usize| {
        let text = ["I want a refund", "where is my order", "hello"][number % 3];
        let input = format!(
            r#"{{"messages":[{{"role":"system","content":"Be brief. Request {number}."}},{{"role":"user","content":"Classify this ticket: {text} (one word)"}}]}}"#
        );
        trace(number, &input, &format!("\"{}\"", number % 3))
    };
    store.ingest(&(0..30).map(one).collect::<Vec<_>>()).unwrap();
    let (whole, proposals) = store.propose_keys("tickets", "model_call", "m").unwrap();
    assert_eq!(whole.row.witnessed.spans, 0);
    assert!(!proposals.is_empty());
    assert!(proposals.iter().all(|one| one.row.deterministic.spans == 30 && one.agreement().0 == Some(1_000_000)));
    let policy =
        Part::parse(r#"{"template":"Classify this ticket: {h1} (one word)","of":"/messages/-1/content"}"#).unwrap();
    store.set_key("tickets", "model_call", None, Some(&policy)).unwrap();
    let seen = store.observations("tickets", &scope()).unwrap();
    assert_eq!(
        seen.iter().map(|one| one.input.as_str()).collect::<Vec<_>>(),
        [r#"{"h1":"I want a refund"}"#, r#"{"h1":"hello"}"#, r#"{"h1":"where is my order"}"#]
    );
}

#[test]
fn a_policy_that_was_tampered_with_or_lost_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.ingest(&requests(3)).unwrap();
    store.set_key("tickets", "model_call", None, Some(&Part::parse("/messages/-1").unwrap())).unwrap();
    drop(store);
    for change in ["UPDATE policy SET key = '\"/messages/0\"'", "DELETE FROM policy"] {
        let damaged = folder.path().join("damaged.db");
        std::fs::copy(&path, &damaged).unwrap();
        let connection = Connection::open(&damaged).unwrap();
        connection.execute(change, []).unwrap();
        drop(connection);
        let error = Store::open_read(&damaged).unwrap().census("tickets").unwrap_err();
        assert_eq!(error.code, "store-damaged", "{change}");
    }
}
