//! Rules found in what was recorded, through the tool: within steps and fuel however many
//! inputs there are, with wrong recordings named where the contract allows some, from an
//! artifact that is there, and with the question that settles what is meant.

use std::path::PathBuf;

use auto_json::{Record, Value};
use auto_tests::agent::{TASK, Tool, record, why};

/// A ticket and what is decided of it.
fn ticket(at: usize) -> (Value, Value) {
    let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
    let amount = mixed % 3000;
    let words = ["lamp", "chair", "kettle", "sofa", "mirror", "grill", "shelf"][(mixed >> 13) as usize % 7];
    let subject = [format!("Refund for a {words}"), format!("the {words}, invoice"), format!("Where is the {words}")];
    let subject = subject[(mixed >> 5) as usize % 3].clone();
    let id = format!("ORD-{}", 10_000 + at);
    let queue = match subject.to_lowercase() {
        text if text.contains("refund") => "returns",
        text if text.contains("invoice") => "billing",
        _ => "support",
    };
    let priority = if amount >= 1000 { "urgent" } else { "normal" };
    let body = format!("It is about the {words} of {id}, which came today.");
    let input = Record::new().with("amount", amount).with("body", body).with("subject", subject);
    let output = Record::new().with("priority", priority).with("queue", queue).with("reference", id);
    (input.into(), output.into())
}

fn recorded(tool: &Tool, pairs: impl Iterator<Item = (Value, Value)>) -> Vec<PathBuf> {
    let one = |(at, (input, output)): (usize, (Value, Value))| {
        record(tool.folder.path(), at, &input.to_string(), &output.to_string(), &[])
    };
    pairs.enumerate().map(one).collect()
}

fn text<'v>(report: &'v Value, key: &str) -> &'v str {
    report.get(key).and_then(Value::as_text).unwrap_or_default()
}

#[test]
fn a_thousand_inputs_take_no_more_steps_than_a_few() {
    let tool = Tool::new();
    tool.prepare(&recorded(&tool, (0..1000).map(ticket)), TASK);
    let compile =
        ["--verbose", "compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--steps", "2000000"];
    let report = tool.ask(0, &compile);
    assert_eq!(report.get("out_of_fold").and_then(|held| held.get("right")).and_then(Value::as_u64), Some(1000));
    let calls = report.get("calls").and_then(Value::as_list).unwrap();
    let extract: Vec<&Value> =
        calls.iter().filter(|call| text(call, "interface").starts_with("auto:pass/extract")).collect();
    assert_eq!(extract.len(), 6, "once for all, and for each of five folds");
    for call in extract {
        let fuel = call.get("fuel").and_then(Value::as_u64).unwrap();
        assert!(fuel < 2_000_000_000, "{fuel}");
        let memory = call.get("memory").and_then(Value::as_u64).unwrap();
        assert!(memory < 128 << 20, "{memory}");
    }
}

#[test]
fn wrong_recordings_are_named_where_the_contract_allows_them() {
    let tool = Tool::new();
    let spoilt = |at: usize| {
        let (input, output) = ticket(at);
        let mut output = output.as_record().cloned().unwrap();
        if at % 37 == 5 {
            output.set("reference", "ORD-0");
        }
        (input, output.into())
    };
    let files = recorded(&tool, (0..80).map(spoilt));
    tool.prepare(&files, TASK);
    assert!(text(&tool.compile(1), "status") == "refused");
    let lenient = format!("{TASK}[acceptance]\ndifferential_min_agreement_milli = 950\n");
    std::fs::write(tool.folder.path().join("c.toml"), lenient).unwrap();
    let report = tool.compile(0);
    let named = report.get("taken_for_wrong").and_then(Value::as_list).unwrap();
    let spoilt: Vec<String> = [5, 42, 79].map(|at| ticket(at).0.to_string()).to_vec();
    assert_eq!(named.len(), spoilt.len());
    for input in named.iter().filter_map(Value::as_text) {
        assert!(spoilt.iter().any(|known| known == input), "{input}");
    }
    assert!(why(&report, "check").contains("recorded was"), "{}", why(&report, "check"));
}

#[test]
fn an_artifact_that_still_fits_is_started_from() {
    let tool = Tool::new();
    tool.prepare(&recorded(&tool, (0..40).map(ticket)), TASK);
    let first = tool.compile(0);
    let arguments = ["compile", "--contract", "c.toml", "--store", "s.db", "--out", "d.cbin", "--from", "c.cbin"];
    let again = tool.ask(0, &arguments);
    assert_eq!(text(&again, "program"), text(&first, "program"));
    let steps = |report: &Value| report.get("extract_steps").and_then(Value::as_u64).unwrap();
    assert!(steps(&again) * 10 < steps(&first), "{} against {}", steps(&again), steps(&first));
    let missing = ["compile", "--contract", "c.toml", "--store", "s.db", "--out", "d.cbin", "--from", "no.cbin"];
    assert_ne!(tool.run(&missing).status.code(), Some(0));
}

#[test]
fn what_two_programs_part_on_is_asked_once() {
    let tool = Tool::new();
    let pair = |text: &str, output: &str| (Value::from(text), Value::from(output));
    let seen = [pair("Ana Novak", "Novak"), pair("Bo Li", "Li"), pair("Dee Ng", "Ng"), pair("Eve Oak", "Oak")];
    let mut files = recorded(&tool, seen.into_iter());
    // Recorded with two outputs, so it teaches nothing.
    for (number, output) in [(90, "\"Dam\""), (91, "\"van Dam\"")] {
        files.push(record(tool.folder.path(), number, "\"Chris van Dam\"", output, &[]));
    }
    let lenient = format!("{TASK}[acceptance]\ndifferential_min_agreement_milli = 800\n");
    tool.prepare(&files, &lenient);
    let output = tool.run(&["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--explain"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed.matches("question:").count(), 1, "{printed}");
    assert!(printed.contains("\"Chris van Dam\""), "{printed}");
}

/// Each would take an evaluator that counts candidates alone out of its fuel.
#[test]
fn steps_bound_fuel_whatever_the_examples_are() {
    let tool = Tool::new();
    let noise = |seed: usize| ((seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).to_string();
    let words = |seed: usize, count: usize| {
        (0..count).map(|at| noise(seed * 1000 + at)).collect::<Vec<_>>().join([" ", ", ", "-"][seed % 3])
    };
    let hostile: [Vec<(String, String)>; 4] = [
        (0..128).map(|at| (words(at, 200), noise(at * 7 + 1))).collect(),
        (0..300).map(|at| (words(at, 30), ["yes", "no", "later"][noise(at).len() * at % 3].to_owned())).collect(),
        (0..4).map(|at| ("lorem, ipsum ".repeat(9_000) + &noise(at), noise(at + 9))).collect(),
        (0..40).map(|at| (words(at, 12), words(at + 77, 60))).collect(),
    ];
    const STEPS: u64 = 1_000_000;
    // What is read and checked besides is no step.
    let fuel = (STEPS * 8_000 + 500_000_000).to_string();
    for pairs in hostile {
        let observation = |(input, output): (String, String)| -> Value {
            let witness: Value = Record::new().with("output", Value::from(output).to_string()).with("count", 1).into();
            let input = Value::from(input).to_string();
            Record::new().with("input", input).with("outputs", vec![witness]).with("errors", 0).into()
        };
        let observations: Vec<Value> = pairs.into_iter().map(observation).collect();
        let none = Vec::<Value>::new;
        let hints = Record::new()
            .with("input_type", "text")
            .with("output_type", "text")
            .with("unlabelled", none())
            .with("start", none())
            .with("wrong_max_ppm", 0);
        let budget = Record::new().with("steps", STEPS).with("candidates", 4);
        let arguments = Value::List(vec![observations.into(), hints.into(), budget.into()]).to_string();
        std::fs::write(tool.folder.path().join("arguments.json"), arguments).unwrap();
        let component = auto_tests::root().join("target/components/extract.wasm");
        let called = tool
            .ask(0, &["--fuel", &fuel, "pass", "run", component.to_str().unwrap(), "synthesize", "@arguments.json"]);
        let used = called.get("result").and_then(|result| result.get("steps")).and_then(Value::as_u64).unwrap();
        assert!(used <= STEPS);
    }
}
