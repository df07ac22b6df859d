//! The type rules: a defined value is of the type that was promised, and what is refused
//! is undefined.

mod random;

use auto_json::Value;
use auto_lang::{Expr, eval, parse, type_of};
use auto_schema::types::Type;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn values_are_of_the_promised_type(expression in random::expression(), input in random::value()) {
        let promised = type_of(&expression, &Type::infer([&input].into_iter()));
        if let Some(value) = eval(&expression, &input) {
            // A refused part may sit in a branch that is not taken; a refused whole that
            // has no branches is undefined.
            match promised {
                Ok(ty) => prop_assert!(ty.accepts(&value).is_ok(), "{} is {}, not {}", expression, value, ty),
                Err(error) => {
                    let text = expression.to_string();
                    let lazy = ["if(", "default(", "and(", "or(", "map(", "filter("];
                    let is_lazy = lazy.iter().any(|name| text.contains(name));
                    prop_assert!(is_lazy || is_of_nothing(&error.at, &input), "{}: {}", text, error);
                }
            }
        }
    }
}

/// Whether a refused part is of an empty list, which is a list of whatever its operator wants.
fn is_of_nothing(part: &str, input: &Value) -> bool {
    let Ok(Expr::Call(_, arguments)) = parse(part) else { return false };
    let is_empty = |argument: &Expr| eval(argument, input).and_then(|value| Some(value.as_list()?.is_empty()));
    arguments.iter().any(|argument| is_empty(argument) == Some(true))
}

#[test]
fn what_is_refused_may_be_defined_of_nothing() {
    let (expression, input) = (parse("gather(zip($, $))").unwrap(), Value::List(Vec::new()));
    let error = type_of(&expression, &Type::infer([&input].into_iter())).unwrap_err();
    assert!(eval(&expression, &input).is_some() && is_of_nothing(&error.at, &input));
    assert!(!is_of_nothing("sum($)", &Value::List(vec!["a".into()])));
}

#[test]
fn types_by_example() {
    let input: Type =
        "record{s: text, n: int, l: list<text>, o?: record{q: enum{\"a\", \"b\"}}, j: json}".parse().unwrap();
    for (text, ty) in [
        ("$.n", "int"),
        ("concat($.s, \"x\")", "text"),
        ("if(gt($.n, 3), \"low\", \"high\")", "enum{\"high\", \"low\"}"),
        ("map($.l, w => chars(w))", "list<int>"),
        ("{\"a\": $.o.q, \"b\": add($.n, 1.5)}", "record{a: enum{\"a\", \"b\"}, b: number}"),
        ("lower($.j)", "text"),
        ("first($.j)", "json"),
        ("default($.o.q, null)", "optional<enum{\"a\", \"b\"}>"),
        ("[]", "list<json>"),
    ] {
        let got = type_of(&parse(text).unwrap(), &input).map(|ty| ty.to_string());
        assert_eq!(got.as_deref(), Ok(ty), "{text}");
    }
    for (text, at) in [
        ("lower($.n)", "lower($.n)"),
        ("concat($.s, trim($.l))", "trim($.l)"),
        ("$.missing", "$.missing"),
        ("filter($.l, w => chars(w))", "filter($.l, w => chars(w))"),
        ("sum($.l)", "sum($.l)"),
    ] {
        let error = type_of(&parse(text).unwrap(), &input).expect_err(text);
        assert_eq!(error.at, at);
    }
}

/// As long as a program may be that a table of what was recorded becomes.
#[test]
fn large_tables_have_a_type() {
    let rows: Vec<String> = (0..6_000).map(|row| format!("{{\"i\": \"in {row}\", \"o\": \"out {row}\"}}")).collect();
    let table = parse(&format!("first(filter([{}], row => eq(row.i, $))).o", rows.join(", "))).unwrap();
    let ty = type_of(&table, &Type::Text).unwrap();
    assert!(Type::Text == ty || matches!(ty, Type::Enum(_)), "{ty}");
}
