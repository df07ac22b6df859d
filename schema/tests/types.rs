//! Types: one text for one type, and acceptance and inference that agree.

mod common;

use auto_json::Value;
use auto_schema::types::{MAX_DEPTH, Type};
use proptest::collection::vec;
use proptest::prelude::*;

fn parse(text: &str) -> Type {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Value {
    Value::parse(text).unwrap()
}

proptest! {
    #[test]
    fn a_type_reads_back_from_its_text(ty in common::ty()) {
        prop_assert_eq!(ty.check(), Ok(()));
        prop_assert_eq!(ty.to_string().parse::<Type>(), Ok(ty));
    }

    #[test]
    fn the_text_does_not_depend_on_the_order_of_fields_and_labels(ty in common::ty()) {
        let mut reversed = ty.clone();
        reverse(&mut reversed);
        prop_assert_eq!(reversed.to_string(), ty.to_string());
        prop_assert_eq!(reversed.canonical(), ty);
    }

    #[test]
    fn damaged_text_is_refused_or_is_a_type(ty in common::ty(), damage in common::damage()) {
        let text = String::from_utf8_lossy(&common::damaged(ty.to_string().as_bytes(), &damage)).into_owned();
        match text.parse::<Type>() {
            Ok(ty) => prop_assert_eq!(ty.to_string().parse::<Type>(), Ok(ty)),
            Err(error) => prop_assert!(error.offset <= text.len()),
        }
    }

    #[test]
    fn any_text_is_refused_or_is_a_type(text in "[a-z<>{}\",:? \\\\]{0,40}|\\PC{0,20}") {
        if let Ok(ty) = text.parse::<Type>() {
            prop_assert_eq!(ty.to_string().parse::<Type>(), Ok(ty));
        }
    }

    #[test]
    fn a_type_accepts_its_values((ty, value) in common::ty().prop_flat_map(|ty| { let values = common::value_of(&ty); (Just(ty), values) })) {
        prop_assert_eq!(ty.accepts(&value), Ok(()));
    }

    #[test]
    fn a_mismatch_points_at_what_is_there_or_missing(ty in common::ty(), value in common::value()) {
        if let Err(mismatch) = ty.accepts(&value) {
            prop_assert_eq!(at(&value, &mismatch.path).is_none(), mismatch.got == "nothing", "{}", mismatch);
        }
    }

    #[test]
    fn what_is_inferred_accepts_what_it_was_inferred_from(values in vec(common::value(), 0..5)) {
        let ty = Type::infer(values.iter());
        for value in &values {
            prop_assert_eq!(ty.accepts(value), Ok(()), "{} does not accept {}", &ty, value);
        }
        prop_assert_eq!(ty.to_string().parse::<Type>(), Ok(ty));
    }

    #[test]
    fn inference_does_not_depend_on_order_and_repetition(values in vec(common::value(), 0..5)) {
        let forward = Type::infer(values.iter());
        prop_assert_eq!(&Type::infer(values.iter().rev()), &forward);
        prop_assert_eq!(&Type::infer(values.iter().chain(&values)), &forward);
    }

    #[test]
    fn inference_only_widens(values in vec(common::value(), 1..5), more in common::value(), probe in common::value()) {
        // But for what was never seen, which is json until it is.
        let narrow = Type::infer(values.iter());
        if narrow.accepts(&probe).is_ok() && !narrow.to_string().contains("json") {
            let wide = Type::infer(values.iter().chain([&more]));
            prop_assert_eq!(wide.accepts(&probe), Ok(()), "{} became {}", &narrow, &wide);
        }
    }
}

fn reverse(ty: &mut Type) {
    match ty {
        Type::List(item) | Type::Optional(item) | Type::Map(item) => reverse(item),
        Type::Record(fields) => {
            fields.reverse();
            fields.iter_mut().for_each(|field| reverse(&mut field.ty));
        }
        Type::Enum(labels) => labels.reverse(),
        _ => {}
    }
}

/// RFC 6901.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, segment| match value {
        Value::List(items) => items.get(segment.parse::<usize>().ok()?),
        value => value.get(&segment.replace("~1", "/").replace("~0", "~")),
    })
}

#[test]
fn the_text_form() {
    for (read, written) in [
        ("record { tags ? : list < text > , doc:text, }", "record{doc: text, tags?: list<text>}"),
        ("list<float>", "list<number>"),
        (r#"enum{"b","a"}"#, r#"enum{"a", "b"}"#),
        (r#"record{"odd key": int, "a": unit, "9": bool}"#, r#"record{"9": bool, a: unit, "odd key": int}"#),
        ("map<optional<json>>", "map<optional<json>>"),
        ("record{}", "record{}"),
        ("\tbytes\n", "bytes"),
    ] {
        assert_eq!(parse(read).to_string(), written);
    }
}

#[test]
fn what_is_not_a_type() {
    for (text, offset) in [
        ("", 0),
        ("string", 0),
        ("list", 4),
        ("list<>", 5),
        ("list<int", 8),
        ("int int", 4),
        ("enum{}", 4),
        (r#"enum{"a", "a"}"#, 4),
        ("enum{a}", 5),
        ("record{a: int, a: text}", 6),
        ("record{9: int}", 7),
        ("record{a int}", 9),
        ("record{\"a: int}", 7),
        ("record{\"\\q\": int}", 8),
        ("record{é: int}", 7),
    ] {
        let error = text.parse::<Type>().expect_err(text);
        assert_eq!(error.offset, offset, "{text}: {error}");
    }
}

#[test]
fn depth_is_bounded_the_same_way_in_text_and_in_memory() {
    let nested = |depth: usize| format!("{}int{}", "list<".repeat(depth - 1), ">".repeat(depth - 1));
    let deepest = parse(&nested(MAX_DEPTH));
    assert_eq!(deepest.check(), Ok(()));
    assert!(nested(MAX_DEPTH + 1).parse::<Type>().is_err());
    assert!(Type::list(deepest).check().is_err());
    assert!(nested(100_000).parse::<Type>().is_err());
}

#[test]
fn the_deepest_value_has_a_type() {
    let nested = |inner: &str| format!("{}{inner}{}", "[null,".repeat(63), "]".repeat(63));
    let (a, b) = (value(&nested("[1]")), value(&nested("[null]")));
    let ty = Type::infer([&a, &b].into_iter());
    assert_eq!(parse(&ty.to_string()), ty);
}

#[test]
fn acceptance() {
    for (ty, accepted, refused) in [
        ("unit", "null", "0"),
        ("int", "3", "3.0"),
        ("number", "3", "\"3\""),
        ("number", "3.0", "null"),
        ("bytes", "\"AA\"", "[65]"),
        ("optional<text>", "null", "1"),
        ("list<int>", "[]", "{}"),
        ("map<int>", "{\"a\":1}", "{\"a\":null}"),
        ("enum{\"a\", \"b\"}", "\"a\"", "\"c\""),
        ("record{a?: int}", "{}", "{\"a\":null}"),
        ("record{a: optional<int>}", "{\"a\":null}", "{}"),
    ] {
        assert_eq!(parse(ty).accepts(&value(accepted)), Ok(()), "{ty} {accepted}");
        assert!(parse(ty).accepts(&value(refused)).is_err(), "{ty} {refused}");
    }
}

#[test]
fn a_mismatch_says_where_what_and_instead_of_what() {
    let refusal = |ty: &str, text: &str| parse(ty).accepts(&value(text)).unwrap_err().to_string();
    assert_eq!(refusal("text", "3"), "the value: expected text, got an integer");
    assert_eq!(refusal("int", "3.5"), "the value: expected int, got a number that is not an integer");
    assert_eq!(refusal("record{a: list<int>}", r#"{"a":[1,"x"]}"#), "/a/1: expected int, got text");
    assert_eq!(refusal("record{a: int}", r#"{"a":1,"b/c":2}"#), "/b~1c: expected no such field, got an integer");
    assert_eq!(refusal("map<record{a: int}>", r#"{"k":{}}"#), "/k/a: expected int, got nothing");
    assert_eq!(refusal(r#"enum{"a"}"#, r#""b""#), r#"the value: expected enum{"a"}, got "b""#);
}

#[test]
fn inference() {
    for (values, ty) in [
        (&[][..], "json"),
        (&["null"], "unit"),
        (&["1", "2"], "int"),
        (&["1", "2.0"], "number"),
        (&["1", "null"], "optional<int>"),
        (&["1", "\"a\""], "json"),
        (&["1", "\"a\"", "null"], "json"),
        (&["[]"], "list<json>"),
        (&["[]", "[1]", "[null]"], "list<optional<int>>"),
        (&["[1, \"a\"]"], "list<json>"),
        (&["{\"a\":1}", "{\"a\":2,\"b\":true}"], "record{a: int, b?: bool}"),
        (&["{\"a\":1}", "{\"b\":true}", "{\"a\":null}"], "record{a?: optional<int>, b?: bool}"),
        (&["{}", "[]"], "json"),
        (&[r#"[{"a":1}]"#, r#"[{"a":1},{}]"#], "list<record{a?: int}>"),
    ] {
        let values: Vec<Value> = values.iter().map(|text| value(text)).collect();
        assert_eq!(Type::infer(values.iter()).to_string(), ty, "{values:?}");
    }
}

#[test]
fn objects_whose_keys_are_data_are_drafted_as_maps() {
    let stock = |row: usize| format!(r#"{{"sku-{}":{row},"sku-{}":1}}"#, row % 12, row % 12 + 1);
    let rows = |of: &dyn Fn(usize) -> String| -> Vec<Value> { (0..24).map(|row| value(&of(row))).collect() };
    let drafted =
        |values: &[Value]| Type::infer(values.iter()).with_maps(&values.iter().collect::<Vec<_>>()).to_string();
    assert_eq!(drafted(&rows(&|row| format!(r#"{{"at":[{}]}}"#, stock(row)))), "record{at: list<map<int>>}");
    // Each of the same keys, and values of several types: objects with fields that may be absent.
    assert!(drafted(&rows(&|row| stock(row % 2))).starts_with("record{"));
    assert!(drafted(&rows(&|row| format!(r#"{{"k{}":1,"n{}":"a"}}"#, row % 9, row % 9))).starts_with("record{"));
    assert!(drafted(&rows(&|row| format!(r#"{{"id":1,"k{}":1}}"#, row % 12))).starts_with("record{"));
}

#[test]
fn texts_with_few_values_seen_often_are_drafted_as_labels() {
    let values: Vec<Value> = (0..9)
        .map(|row| {
            let queue = ["billing", "orders", "tech"][row % 3];
            Value::parse(format!(r#"{{"id":"t{row}","queue":"{queue}","tags":["a","b"]}}"#)).unwrap()
        })
        .collect();
    let refs: Vec<&Value> = values.iter().collect();
    let ty = Type::infer(values.iter()).with_labels(&refs);
    assert_eq!(
        ty.to_string(),
        r#"record{id: text, queue: enum{"billing", "orders", "tech"}, tags: list<enum{"a", "b"}>}"#
    );
    assert!(values.iter().all(|value| ty.accepts(value).is_ok()));
    let few = Type::infer(values[..4].iter()).with_labels(&refs[..4]);
    assert_eq!(few.to_string(), r#"record{id: text, queue: text, tags: list<enum{"a", "b"}>}"#);
}
