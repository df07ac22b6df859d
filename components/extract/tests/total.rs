//! Whatever the examples, the search ends within its budget, gives the same again, and
//! what it gives fits.

use std::collections::BTreeMap;

use auto_extract::search::{Example, Problem, search};
use auto_json::{Number, Record, Value};
use auto_lang::{eval, parse};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-cA-C]{1,3}([ ,.-][a-c0-9é€]{1,3}){0,4}",
        1 => "\\PC{0,8}",
        1 => Just("İ ß A-1, \u{10348}-2.\n".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-9i128..999).prop_map(|n| Value::Number(Number::integer(n).unwrap())),
        (-999i128..999, 0u16..3).prop_map(|(n, scale)| Value::Number(Number::decimal(n, scale).unwrap())),
        Just(Value::Number(Number::integer(i128::pow(10, 38) - 1).unwrap())),
        text().prop_map(Value::Text),
        text().prop_map(Value::Text),
    ];
    scalar.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::Record(members.into_iter().collect::<Record>())),
        ]
    })
}

/// A record with a text, a number and something.
fn record() -> impl Strategy<Value = Value> {
    (text(), -50i64..2000, value()).prop_map(|(text, number, other)| {
        Value::Record(Record::new().with("t", text).with("n", number).with("v", other))
    })
}

fn check(examples: Vec<Example>, steps: u64) -> Result<(), TestCaseError> {
    let run = || search(&Problem::new(&examples, steps, 3));
    let found = run();
    prop_assert!(found.steps <= steps);
    prop_assert!(found.programs.len() <= 3);
    prop_assert!(!found.programs.is_empty() || !found.notes.is_empty());
    for (program, _) in &found.programs {
        let read = parse(&program.to_string());
        prop_assert_eq!(read.as_ref(), Ok(program));
        for example in &examples {
            let got = eval(program, &example.input);
            prop_assert_eq!(got.as_ref(), Some(&example.output), "{}", program);
        }
    }
    prop_assert_eq!(run().programs, found.programs);
    Ok(())
}

fn distinct(pairs: Vec<(Value, Value)>) -> Vec<Example> {
    let distinct: BTreeMap<Value, Value> = pairs.into_iter().collect();
    distinct.into_iter().map(|(input, output)| Example { input, output }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn unrelated_outputs(pairs in prop::collection::vec((value(), value()), 0..10)) {
        check(distinct(pairs), 100_000)?;
    }

    #[test]
    fn outputs_of_few_kinds(inputs in prop::collection::vec((record(), 0usize..3), 2..40), steps in 0u64..200_000) {
        let labels = ["a", "b", "c"].map(Value::from);
        check(distinct(inputs.into_iter().map(|(input, label)| (input, labels[label].clone())).collect()), steps)?;
    }

    #[test]
    fn outputs_of_programs(inputs in prop::collection::vec(record(), 2..20), which in 0usize..7) {
        let program = parse([
            "concat($.t, \"-\", text($.n))",
            "if(ge($.n, 500), \"high\", \"low\")",
            "map(words($.t), x => upper(x))",
            "default(token($.t, \"digits\", 0), \"none\")",
            "{\"n\": add($.n, 5), \"first\": first(words($.t)), \"v\": $.v}",
            "join(sort(dedup(words(lower($.t)))), \" \")",
            "[$.v, $.t]",
        ][which]).unwrap();
        let pairs = inputs.into_iter().filter_map(|input| Some((input.clone(), eval(&program, &input)?))).collect();
        check(distinct(pairs), 100_000)?;
    }
}
