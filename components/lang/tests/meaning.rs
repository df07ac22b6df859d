//! The meaning of expressions: the evaluator is total, and each operator does what its
//! line in the table says.

mod random;

use auto_json::Value;
use auto_lang::{Expr, apply, eval, ops, parse};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_evaluator_is_total_and_deterministic(expression in random::expression(), input in random::value()) {
        let value = eval(&expression, &input);
        prop_assert_eq!(&value, &eval(&expression, &input));
        // What it gives is a JSON value that reads back.
        if let Some(value) = value {
            prop_assert_eq!(value.canonical().value(), value);
        }
    }

    #[test]
    fn operators_are_total(op in 0..ops::OPS.len(), arguments in prop::collection::vec(random::value(), 0..5)) {
        apply(ops::OPS[op].op, &arguments.iter().collect::<Vec<_>>());
    }

    #[test]
    fn constants_are_themselves(value in random::value(), input in random::value()) {
        prop_assert_eq!(eval(&Expr::constant(&value), &input), Some(value));
    }

    #[test]
    fn join_inverts_split(text in random::text(), separator in "[a-c, ]{1,2}") {
        let input: Value = Value::List(vec![text.as_str().into(), separator.into()]);
        let round = parse("join(split(first($), last($)), last($))").unwrap();
        prop_assert_eq!(eval(&round, &input), Some(text.into()));
    }
}

/// One line a case: an expression and what it gives for the input below.
#[test]
fn every_operator_by_example() {
    let input = Value::parse(
        r#"{"s": " Ab, cd;  Éf ", "n": 3, "d": 2.50, "l": ["b", "a", "b"], "k": [3, 1.5, 3.0], "z": null, "r": {"x y": 1}}"#,
    )
    .unwrap();
    let cases = include_str!("meaning.txt");
    let mut seen = std::collections::BTreeSet::new();
    for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (text, expected) = line.split_once(" -> ").unwrap_or_else(|| panic!("{line}"));
        let expression = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let got = eval(&expression, &input).map_or("undefined".to_owned(), |value| value.to_string());
        assert_eq!(got, expected, "{text}");
        note(&expression, &mut seen);
    }
    let all: std::collections::BTreeSet<_> = ops::OPS.iter().map(|operator| operator.name).collect();
    assert_eq!(seen, all, "an operator has no case in meaning.txt");
}

fn note(expression: &Expr, seen: &mut std::collections::BTreeSet<&'static str>) {
    if let Expr::Call(op, _) = expression {
        seen.insert(op.name());
    }
    expression.children().into_iter().for_each(|child| note(child, seen));
}
