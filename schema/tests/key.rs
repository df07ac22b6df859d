//! Key policies: what they take of a request, and what is refused.

use auto_json::Value;
use auto_schema::key::{Part, Template};
use proptest::prelude::*;

const REQUEST: &str = r#"{"model":"m","messages":[
    {"role":"system","content":"Route tickets."},
    {"role":"user","content":"Order A-17 is late."},
    {"role":"assistant","content":null},
    {"role":"tool","content":"shipped","name":"look/up"}],
  "ticket":{"id":"x1","text":"Hi"}}"#;

fn key(policy: &str) -> Option<String> {
    let part = Part::parse(policy).unwrap_or_else(|error| panic!("{policy}: {error}"));
    assert_eq!(Part::from_value(&part.to_value()).as_ref(), Ok(&part), "{policy}");
    assert_eq!(Part::parse(&part.to_string()).as_ref(), Ok(&part), "{policy}");
    part.of(&Value::parse(REQUEST).unwrap()).map(|value| value.to_string())
}

#[test]
fn parts_take_what_they_say_or_nothing() {
    let cases = [
        ("/ticket/text", Some(r#""Hi""#)),
        ("/messages/-1/name", Some(r#""look/up""#)),
        ("/messages/-3/content", Some(r#""Order A-17 is late.""#)),
        ("/messages/-9", None),
        ("/messages/-0", None),
        ("/messages/x", None),
        ("/absent", None),
        (r#"{"last":null,"of":"/messages"}"#, Some(r#"{"content":"shipped","name":"look/up","role":"tool"}"#)),
        (r#"{"last":"user","of":"/messages"}"#, Some(r#"{"content":"Order A-17 is late.","role":"user"}"#)),
        (r#"{"last":"developer","of":"/messages"}"#, None),
        (
            r#"{"roles":["user","system"],"of":"/messages"}"#,
            Some(r#"[{"content":"Route tickets.","role":"system"},{"content":"Order A-17 is late.","role":"user"}]"#),
        ),
        (
            r#"{"template":"Order {order} is {state}.","of":"/messages/1/content"}"#,
            Some(r#"{"order":"A-17","state":"late"}"#),
        ),
        (r#"{"template":"Order {order}!","of":"/messages/1/content"}"#, None),
        (r#"{"template":"{all}","of":"/ticket"}"#, None),
        (r#"{"fields":{"t":"/ticket/text","m":"/model"}}"#, Some(r#"{"m":"m","t":"Hi"}"#)),
        (r#"{"fields":{"t":"/ticket/text","m":"/absent"}}"#, None),
    ];
    for (policy, expected) in cases {
        assert_eq!(key(policy).as_deref(), expected, "{policy}");
    }
    assert_eq!(key("").as_deref(), Some(Value::parse(REQUEST).unwrap().to_string().as_str()), "the whole request");
}

#[test]
fn what_is_no_policy_is_refused_with_its_place() {
    let cases = [
        ("messages", "", "neither a pointer"),
        ("[]", "", "a list where"),
        ("{}", "", "none of last, roles"),
        (r#"{"last":3}"#, "/last", "a role"),
        (r#"{"roles":[]}"#, "/roles", "a list of roles"),
        (r#"{"roles":[1]}"#, "/roles", "a role is text"),
        (r#"{"last":"user","of":"messages"}"#, "/of", "begin with a slash"),
        (r#"{"last":"user","roles":["a"]}"#, "", "does not go with"),
        (r#"{"template":"a {b} c"}"#, "", "needs \"of\""),
        (r#"{"template":"no hole","of":""}"#, "/template", "needs a hole"),
        (r#"{"template":"{a}{b}","of":""}"#, "/template", "nothing stands between"),
        (r#"{"template":"{a} {a}","of":""}"#, "/template", "there twice"),
        (r#"{"template":"{a","of":""}"#, "/template", "not closed"),
        (r#"{"template":"a}","of":""}"#, "/template", "not opened"),
        (r#"{"template":"{a b}","of":""}"#, "/template", "is no hole"),
        (r#"{"fields":{"x":{"fields":{}}}}"#, "/fields/x/fields", "an object of parts"),
    ];
    for (policy, at, word) in cases {
        let error = Part::parse(policy).unwrap_err();
        assert!(error.at == at && error.message.contains(word), "{policy}: {error:?}");
    }
    let deep = (0..9).fold("\"/a\"".to_owned(), |inner, _| format!(r#"{{"fields":{{"x":{inner}}}}}"#));
    assert!(Part::parse(&deep).unwrap_err().message.contains("deep"));
}

proptest! {
    #[test]
    fn a_template_finds_what_was_put_into_it(
        start in "[ -~]{0,6}", middle in "[|]{1,3}", end in "[ -~]{0,6}", a in "[a-z{}]{0,8}", b in "[a-z{}|]{0,8}",
    ) {
        let template = Template::new(start.clone(), vec![("a".into(), middle.clone()), ("b".into(), end.clone())]).unwrap();
        let read: Template = template.to_string().parse().unwrap();
        prop_assert_eq!(&read, &template);
        let found = template.of(&format!("{start}{a}{middle}{b}{end}")).unwrap();
        prop_assert_eq!(found.get("a").and_then(Value::as_text), Some(a.as_str()));
        prop_assert_eq!(found.get("b").and_then(Value::as_text), Some(b.as_str()));
    }
}
