//! Examples that are meant to hurt: the search ends within its steps, says why it found
//! nothing, and what it finds fits.

use auto_extract::search::{Example, Found, Problem, search};
use auto_json::{Record, Value};
use auto_lang::eval;

const STEPS: u64 = 400_000;

fn find(examples: &[Example]) -> Found {
    let found = search(&Problem::new(examples, STEPS, 2));
    assert!(found.steps <= STEPS);
    assert!(!found.programs.is_empty() || !found.notes.is_empty());
    for (program, _) in &found.programs {
        for example in examples {
            assert_eq!(eval(program, &example.input).as_ref(), Some(&example.output), "{program}");
        }
    }
    found
}

fn texts(pairs: impl IntoIterator<Item = (String, String)>) -> Vec<Example> {
    let example = |(input, output): (String, String)| Example {
        input: Value::Record(Record::new().with("t", input)),
        output: output.into(),
    };
    pairs.into_iter().map(example).collect()
}

#[test]
fn a_hundred_thousand_examples_of_one_rule_are_one_rule() {
    let examples = texts((0..100_000).map(|n| (format!("order {n} of customer-{}", n * 7 % 1000), format!("#{n}"))));
    let (program, _) = find(&examples).programs.remove(0);
    let unseen = Value::Record(Record::new().with("t", "order 123456 of customer-1"));
    assert_eq!(eval(&program, &unseen), Some("#123456".into()), "{program}");
}

#[test]
fn outputs_that_have_nothing_to_do_with_the_inputs_are_refused() {
    let noise = |seed: u64| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17).to_string();
    let examples = texts((0..2000).map(|n| (format!("row {}", noise(n)), noise(n + 1_000_000))));
    let found = find(&examples);
    assert!(found.programs.is_empty(), "{}", found.programs[0].0);
    let examples = texts(
        (0..300)
            .map(|n| (noise(n), ["yes", "no"][(noise(n + 5000).len() + n as usize * n as usize / 7) % 2].to_owned())),
    );
    let found = find(&examples);
    assert!(found.programs.is_empty(), "{}", found.programs[0].0);
}

#[test]
fn texts_of_a_megabyte() {
    let long = |n: usize| format!("{}|key={n}|{}", "lorem ipsum ".repeat(90_000), "x".repeat(1000 + n));
    let examples = texts((0..4).map(|n| (long(n), n.to_string())));
    find(&examples);
    let examples = texts((0..3).map(|n| (n.to_string(), long(n))));
    find(&examples);
}

#[test]
fn deep_and_wide_values() {
    let deep = |leaf: i64| (0..60).fold(Value::integer(leaf), |inner, _| Value::List(vec![inner]));
    let examples: Vec<Example> = (0..5).map(|n| Example { input: deep(n), output: Value::integer(n) }).collect();
    find(&examples);
    let wide = |n: i64| {
        let members = (0..3000).map(|key| (format!("k{key:04}"), Value::integer(key * n)));
        Value::Record(members.collect::<Record>())
    };
    let examples: Vec<Example> = (1..6).map(|n| Example { input: wide(n), output: Value::integer(n) }).collect();
    find(&examples);
}

#[test]
fn strange_characters_and_numbers() {
    let strange = ["\0", "a\0b", "שלום עולם", "مرحبا 12", "e\u{301}te\u{301}", "👩‍👩‍👧 x", "\u{202E}abc", "İstanbul", ""];
    let examples = texts(strange.iter().map(|text| ((*text).to_owned(), format!("<{text}>"))));
    assert!(!find(&examples).programs.is_empty());
    let reversed = texts(strange.iter().map(|text| (format!("{text}!"), text.chars().rev().collect())));
    find(&reversed);
    let huge = ["123456789012345678901234567890", "-99999999999999999999999999999999999999", "0.00000000000000000001"];
    let number = |text: &str| Value::parse(text).unwrap();
    let examples: Vec<Example> =
        huge.iter().map(|text| Example { input: number(text), output: (*text).into() }).collect();
    assert!(!find(&examples).programs.is_empty());
}

#[test]
fn empty_everything() {
    let values = ["\"\"", "[]", "{}", "null", "[[]]", "{\"\":\"\"}", "[null]"].map(|text| Value::parse(text).unwrap());
    for output in &values {
        let examples: Vec<Example> =
            values.iter().map(|input| Example { input: input.clone(), output: output.clone() }).collect();
        find(&examples);
    }
    let examples: Vec<Example> =
        values.iter().map(|value| Example { input: value.clone(), output: value.clone() }).collect();
    assert!(!find(&examples).programs.is_empty());
    assert!(find(&[]).programs.is_empty());
}
