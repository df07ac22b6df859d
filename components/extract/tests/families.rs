//! The peer's families whose rules are known, each recording held out by itself. Where the shared data
//! is not there, the tests pass.

use std::collections::BTreeMap;
use std::path::PathBuf;

use auto_extract::search::{Example, Problem, search};
use auto_json::Value;
use auto_lang::{Expr, eval};

/// Steps enough for each of these searches.
const STEPS: u64 = 3_500_000;

fn rows(name: &str) -> Option<Vec<Example>> {
    let folder = std::env::var_os("AUTO_SHARED_DATA").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let text = std::fs::read_to_string(folder.unwrap_or(beside).join("auto-bench").join(name)).ok()?;
    let row = |line: &str| {
        let row = Value::parse(line).unwrap();
        Example { input: row.get("input").cloned().unwrap(), output: row.get("output").cloned().unwrap() }
    };
    Some(text.lines().filter(|line| !line.trim().is_empty()).map(row).collect())
}

fn found(examples: &[Example]) -> Option<Expr> {
    search(&Problem::new(examples, STEPS, 1)).programs.into_iter().next().map(|(program, _)| program)
}

/// What the program that is found without each row makes of it.
fn one_by_one(rows: &[Example]) -> Vec<Option<Value>> {
    let without = |row: usize| -> Vec<Example> {
        rows.iter().enumerate().filter(|(other, _)| *other != row).map(|(_, example)| example.clone()).collect()
    };
    (0..rows.len()).map(|row| eval(&found(&without(row))?, &rows[row].input)).collect()
}

#[test]
fn a_policy_of_amounts_and_tiers_is_found_from_all_but_any_one_request() {
    let Some(rows) = rows("f4-routing.jsonl") else { return };
    let program = found(&rows).unwrap().to_string();
    for part in ["\"blocked\"", "500)", "5000)", "20000)", "\"preferred\""] {
        assert!(program.contains(part), "{program}");
    }
    let right = one_by_one(&rows).into_iter().zip(&rows).filter(|(answer, row)| answer.as_ref() == Some(&row.output));
    assert_eq!(right.count(), rows.len());
}

#[test]
fn the_fields_of_an_email_are_told_from_all_but_any_one() {
    let Some(rows) = rows("f3-extraction.jsonl") else { return };
    let mut right: BTreeMap<String, usize> = BTreeMap::new();
    for (answer, row) in one_by_one(&rows).iter().zip(&rows) {
        for (field, wanted) in row.output.as_record().unwrap().iter() {
            let given = answer.as_ref().and_then(|answer| answer.get(field));
            *right.entry(field.to_owned()).or_default() += usize::from(given == Some(wanted));
        }
    }
    let share = |field: &str| right[field] * 100 / rows.len();
    assert_eq!(share("order_id"), 100);
    assert!(share("category") >= 85 && share("urgency") >= 85, "{right:?}");
}
