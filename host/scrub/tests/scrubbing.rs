//! What is taken out of traces, and what of equality and of everything else is left.

use auto_json::{Canonical, Value};
use auto_scrub::Scrubber;
use auto_store::{Span, SpanKind, Trace};

fn scrubber() -> Scrubber {
    Scrubber::new(&[("ticket".into(), r"TCK-\d{6}".into())], [9; 32]).unwrap()
}

fn trace(input: &str, output: &str) -> Trace {
    let json = |text: &str| Canonical::of(text).unwrap();
    let span = Span {
        id: 1,
        parent: None,
        sequence: 1,
        kind: SpanKind::ModelCall,
        name: "m".into(),
        input: json(input),
        output: json(output),
        error: Some("no answer for ada@example.com".into()),
        started: 0,
        duration: None,
        attributes: vec![
            ("session_token".into(), "abc".into()),
            ("api_key".into(), "short".into()),
            ("note".into(), "plain".into()),
        ],
    };
    Trace {
        id: "t".into(),
        task: "x".into(),
        recorder: "r".into(),
        started: 0,
        attributes: vec![("host".into(), "db.prod.internal".into())],
        input: Some(json(r#""ada@example.com""#)),
        output: None,
        partial: false,
        spans: vec![span],
    }
}

#[test]
fn equal_values_stay_equal_and_everything_else_stays() {
    let scrubber = scrubber();
    let mut one = trace(
        r#"{"from":"ada@example.com","n":3,"text":"card 4111 1111 1111 1111, TCK-123456"}"#,
        r#"["ada@example.com","bob@example.com"]"#,
    );
    scrubber.trace(&mut one);
    let mail = one.input.as_ref().unwrap().value().as_text().unwrap().to_owned();
    assert!(mail.starts_with("<email:") && mail.len() == "<email:".len() + 17, "{mail}");
    let input = one.spans[0].input.value();
    assert_eq!(input.get("from").and_then(Value::as_text), Some(mail.as_str()));
    assert_eq!(input.get("n"), Some(&Value::integer(3)));
    let text = input.get("text").and_then(Value::as_text).unwrap();
    assert!(text.starts_with("card <card:") && text.contains(">, <ticket:"), "{text}");
    let output = one.spans[0].output.value();
    let both: Vec<&str> = output.as_list().unwrap().iter().filter_map(Value::as_text).collect();
    assert!(both[0] == mail && both[1] != mail);
    assert_eq!(one.spans[0].error.as_deref(), Some(format!("no answer for {mail}").as_str()));
    let attributes = &one.spans[0].attributes;
    assert!(attributes[1].1.starts_with("<secret:") && attributes[2].1 == "plain");
    assert!(one.attributes[0].1.starts_with("<host:"));
    assert_eq!(scrubber.counts()["email"], 5);
    // Once is enough: what was scrubbed has nothing left, and scrubbing it changes nothing.
    assert_eq!(scrubber.residual(&one), []);
    let mut again = one.clone();
    scrubber.trace(&mut again);
    assert_eq!(again, one);
}

#[test]
fn what_is_left_is_named_with_its_place() {
    let residual = scrubber().residual(&trace(r#"{"a":"call +49 30 901820"}"#, "null"));
    let found: Vec<_> = residual.iter().map(|one| (one.kind.as_str(), one.at.as_str())).collect();
    assert_eq!(
        found,
        [
            ("email", "the run"),
            ("host", "an attribute of the run"),
            ("phone", "span 1 (model_call)"),
            ("secret", "span 1 (model_call)"),
            ("email", "span 1 (model_call)")
        ]
    );
}

#[test]
fn placeholders_depend_on_the_key_and_the_key_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s.db");
    let text = |scrubber: &Scrubber| scrubber.text("ada@example.com").unwrap();
    let first = text(&Scrubber::beside(&store, &[]).unwrap());
    assert_eq!(first, text(&Scrubber::beside(&store, &[]).unwrap()));
    assert_ne!(first, text(&scrubber()));
    std::fs::write(folder.path().join("s.db.scrub-key"), "short").unwrap();
    assert!(Scrubber::beside(&store, &[]).is_err());
}

#[test]
fn patterns_that_are_none_are_refused() {
    let refused =
        |name: &str, pattern: &str| Scrubber::new(&[(name.into(), pattern.into())], [0; 32]).err().unwrap().to_string();
    assert!(refused("a", "(").contains("pattern a"));
    assert!(refused("a", "x*").contains("everywhere"));
    assert!(refused("a:b", "x").contains("letters"));
}

#[test]
fn texts_with_nothing_in_them_are_left_alone() {
    for text in [
        "",
        "Where is order A-17?",
        "10:30 on 2025-06-06",
        "v1.2.3",
        "password is required",
        "<email:3f2a9c01d5e47b86>",
    ] {
        assert_eq!(scrubber().text(text), None, "{text}");
    }
}

#[test]
fn a_secret_that_is_cut_over_neighbouring_texts_is_taken_out_of_all_of_them() {
    let scrubber = scrubber();
    let key = "sk-proj-c0ffeec0ffeec0ffeec0ffee";
    let parts = format!(
        r#"{{"content":[{{"type":"text","text":"my key is {}"}},{{"type":"text","text":"{}"}},{{"type":"text","text":"{} and bye"}},7,"sk-proj-"]}}"#,
        &key[..12],
        &key[12..15],
        &key[15..]
    );
    let mut one = trace(&parts, r#"["-----BEGIN PRIVATE KEY-----","MIIEvQ","-----END PRIVATE KEY-----","after"]"#);
    let kinds = |trace: &Trace| -> Vec<String> { scrubber.residual(trace).into_iter().map(|one| one.kind).collect() };
    let before = kinds(&one);
    assert!(before.contains(&"provider-key".into()) && before.contains(&"private-key".into()), "{before:?}");
    scrubber.trace(&mut one);
    assert_eq!(kinds(&one), Vec::<String>::new());
    let text = one.spans[0].input.as_str();
    assert!(!text.contains("c0ffee") && text.contains("my key is <provider-key:"), "{text}");
    assert!(
        text.contains(r#""text":"""#) && text.contains(r#"" and bye""#) && text.contains(r#"7,"sk-proj-""#),
        "{text}"
    );
    let output = one.spans[0].output.as_str();
    assert!(output.starts_with(r#"["<private-key:"#) && output.ends_with(r#"","","after"]"#), "{output}");
    // The whole key has the same placeholder.
    let whole = scrubber.text(key).unwrap();
    assert!(text.contains(&whole), "{text} {whole}");
    // What is not known by its shape may be anything when it is put together.
    for apart in [r#"["+49 30 90","1820"]"#, r#"["4111 1111 ","1111 1111"]"#, r#"["ada@","example.com"]"#] {
        let value = Value::parse(apart).unwrap();
        assert!(scrubber.value(&value, None).is_none_or(|value| !value.to_string().contains("phone:")), "{apart}");
    }
}
