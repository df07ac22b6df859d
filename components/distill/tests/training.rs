//! What is trained, seen through the evaluator that agrees with the artifacts.

use auto_check::program::{Outcome, Program};
use auto_distill::{Given, Options, Trained, train};
use auto_json::Value;
use auto_kit::testing::observations;
use auto_kit::types::{Observation, Witness};
use auto_kit::{Fault, graph};

fn options(input: &str, output: &str) -> Options {
    Options {
        input_type: input.to_owned(),
        output_type: output.to_owned(),
        seed: 1,
        steps: 1_000_000,
        max_bytes: 100_000,
        given: Vec::new(),
    }
}

const QUESTIONS: [(&str, &str); 12] = [
    ("where is my parcel", "delivery"),
    ("the parcel has not come", "delivery"),
    ("when will the parcel be here", "delivery"),
    ("my parcel is late", "delivery"),
    ("i want my money back", "refund"),
    ("refund the money please", "refund"),
    ("when do i get my money", "refund"),
    ("you owe me money", "refund"),
    ("i cannot log in", "account"),
    ("my login does not work", "account"),
    ("log in fails every time", "account"),
    ("the login page is broken", "account"),
];

fn text(text: &str) -> String {
    Value::from(text).canonical().into_string()
}

fn questions() -> Vec<Observation> {
    let pairs: Vec<(String, String)> = QUESTIONS.iter().map(|(input, output)| (text(input), text(output))).collect();
    observations(pairs.iter().map(|(input, output)| (input.as_str(), output.as_str())))
}

fn trained(on: &[Observation], options: &Options) -> Trained {
    train(on.to_vec(), options).unwrap_or_else(|fault| panic!("{}: {}", fault.code, fault.message))
}

fn refusal(on: &[Observation], input: &str, output: &str) -> Fault {
    train(on.to_vec(), &options(input, output)).expect_err("refused")
}

fn answer(graph: &[u8], input: &str) -> Value {
    let program = Program::new(auto_kit::graph(graph).unwrap()).unwrap();
    match program.run(&Value::parse(input).unwrap(), &mut |_| ()) {
        Outcome::Answer(value) => value,
        other => panic!("{input}: {other:?}"),
    }
}

#[test]
fn texts_like_those_of_a_class_are_of_it_and_others_are_doubted() {
    let model = trained(&questions(), &options("text", "text"));
    for (question, topic) in QUESTIONS {
        assert_eq!(answer(&model.program, &text(question)).as_text(), Some(topic), "{question}");
    }
    let doubt = |question: &str| answer(&model.scoring, &text(question)).get("doubt").and_then(Value::as_u64).unwrap();
    assert_eq!(answer(&model.program, &text("is the parcel late")).as_text(), Some("delivery"));
    assert!(doubt("is my parcel late") < doubt("quantum chromodynamics"), "{}", doubt("is my parcel late"));
    assert_eq!(doubt(""), 1_000_000);
}

#[test]
fn the_same_arguments_give_the_same_bytes_and_another_seed_another_model() {
    let own = options("text", "text");
    assert_eq!(trained(&questions(), &own).program, trained(&questions(), &own).program);
    let other = Options { seed: 2, ..own };
    assert_ne!(trained(&questions(), &other).program, trained(&questions(), &options("text", "text")).program);
}

#[test]
fn an_object_is_trained_field_by_field_and_constants_are_left_alone() {
    let pairs: Vec<(String, String)> = QUESTIONS
        .iter()
        .map(|(question, topic)| {
            let urgent = question.contains("when");
            let input = format!(r#"{{"body":{},"tier":"gold"}}"#, text(question));
            (input, format!(r#"{{"team":"eu","topic":{},"urgent":{urgent}}}"#, text(topic)))
        })
        .collect();
    let on = observations(pairs.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let output = r#"record{team: text, topic: enum{"account", "delivery", "refund"}, urgent: bool}"#;
    let model = trained(&on, &options("record{body: text, tier: text}", output));
    let got = answer(&model.program, r#"{"body":"when will my parcel come","tier":"gold"}"#);
    assert_eq!(got.to_string(), r#"{"team":"eu","topic":"delivery","urgent":true}"#);
    let models =
        |graph: &[u8]| auto_kit::graph(graph).unwrap().nodes.iter().filter(|node| node.body.kind() == "model").count();
    assert_eq!(models(&model.program), 2);
    // What is the same in every input speaks for little.
    let got = answer(&model.scoring, r#"{"body":"","tier":"gold"}"#);
    assert!(got.get("doubt").and_then(Value::as_u64) > Some(900_000), "{got}");
}

#[test]
fn a_field_that_is_given_is_taken_from_its_rule() {
    let pairs: Vec<(String, String)> = QUESTIONS
        .iter()
        .map(|(question, topic)| {
            let output = format!(r#"{{"said":{},"topic":{}}}"#, text(&question.to_uppercase()), text(topic));
            (format!(r#"{{"body":{}}}"#, text(question)), output)
        })
        .collect();
    let on = observations(pairs.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let (input, output) = ("record{body: text}", "record{said: text, topic: text}");
    // Every text is another: no classes.
    assert_eq!(refusal(&on, input, output).code, "no-classes");
    let rule = |field: &str, expression: &str| Given { field: field.to_owned(), expression: expression.to_owned() };
    let given = vec![rule("said", "upper($.body)")];
    let model = trained(&on, &Options { given, ..options(input, output) });
    let input = r#"{"body":"the parcel is late again"}"#;
    let want = r#"{"said":"THE PARCEL IS LATE AGAIN","topic":"delivery"}"#;
    assert_eq!(answer(&model.program, input).to_string(), want);
    assert_eq!(answer(&model.scoring, input).get("value").map(Value::to_string).as_deref(), Some(want));
}

#[test]
fn records_of_numbers_and_labels_are_learnt_by_trees() {
    // Approved under 500, or of the house under 5,000; the rest looked at. One in twelve is not so.
    let rows: Vec<(String, String)> = (0u32..240)
        .map(|n| {
            let (amount, house) = (n * 7919 % 9000, n % 3 == 0);
            let fits = amount < 500 || (house && amount < 5000);
            let odd = n % 12 == 5;
            let input = format!(r#"{{"amount":{amount},"vendor":"{}"}}"#, if house { "house" } else { "other" });
            (input, text(if fits != odd { "approve" } else { "review" }))
        })
        .collect();
    let on = observations(rows.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let model = trained(&on, &options("record{amount: int, vendor: text}", "text"));
    assert!(model.text.contains("tree"), "{}", model.text);
    assert!(model.notes.iter().any(|note| note.contains("linear over n-grams")), "{:?}", model.notes);
    let right = |amount: u32, vendor: &str, want: &str| {
        let input = format!(r#"{{"amount":{amount},"vendor":"{vendor}"}}"#);
        assert_eq!(answer(&model.program, &input).as_text(), Some(want), "{input}");
        let said = answer(&model.scoring, &input);
        assert_eq!(said.get("value").and_then(Value::as_text), Some(want));
        assert!(said.get("unsure").and_then(Value::as_u64).is_some_and(|unsure| unsure < 900_000), "{said}");
    };
    right(120, "other", "approve");
    right(2900, "house", "approve");
    right(2900, "other", "review");
    right(8200, "house", "review");
    assert_eq!(trained(&on, &options("record{amount: int, vendor: text}", "text")).program, model.program);
}

#[test]
fn trees_over_texts_doubt_what_they_know_nothing_of() {
    let rows: Vec<(String, String)> = QUESTIONS
        .iter()
        .zip(0u32..)
        .flat_map(|((question, _), number)| {
            [7, 13, 29].map(|factor| {
                let amount = number * 173 * factor % 1000;
                let input = format!(r#"{{"amount":{amount},"body":{}}}"#, text(question));
                (input, text(if amount > 500 { "manager" } else { "clerk" }))
            })
        })
        .collect();
    let on = observations(rows.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let model = trained(&on, &options("record{amount: int, body: text}", "text"));
    assert!(model.text.contains("tree"), "{}", model.text);
    assert_eq!(answer(&model.program, r#"{"amount":800,"body":"where is my parcel"}"#).as_text(), Some("manager"));
    let doubt = |body: &str| {
        let said = answer(&model.scoring, &format!(r#"{{"amount":800,"body":{}}}"#, text(body)));
        said.get("doubt").and_then(Value::as_u64).unwrap()
    };
    assert!(
        doubt("where is my parcel") < doubt("xyzzy quux"),
        "{} {}",
        doubt("where is my parcel"),
        doubt("xyzzy quux")
    );
}

#[test]
fn what_cannot_be_trained_is_refused_with_the_cause() {
    assert_eq!(refusal(&[], "text", "text").code, "no-observations");
    let same = observations([(r#""a""#, r#""x""#), (r#""b""#, r#""x""#)]);
    assert_eq!(refusal(&same, "text", "text").code, "one-class");
    let different: Vec<(String, String)> = (0..40).map(|n| (text(&format!("q{n}")), text(&format!("a{n}")))).collect();
    let different = observations(different.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let fault = refusal(&different, "text", "text");
    assert_eq!(fault.code, "no-classes");
    assert!(fault.message.contains("40 different values in 40 observations"), "{}", fault.message);
    let nothing = observations([("{}", "1"), ("[]", "2"), ("null", "1")]);
    assert_eq!(refusal(&nothing, "json", "json").code, "no-text");
    assert_eq!(refusal(&questions(), "texts", "text").code, "bad-type");
    let small = Options { max_bytes: 100, ..options("text", "text") };
    assert_eq!(train(questions(), &small).expect_err("refused").code, "too-large");
    let mut bad = questions();
    bad[0].input = "{".to_owned();
    assert_eq!(refusal(&bad, "text", "text").code, "bad-json");
}

#[test]
fn failing_recordings_teach_nothing_and_diverging_ones_each_output_by_its_count() {
    let pair = |input: &str, often: u32, errors: u32| Observation {
        input: text(input),
        outputs: vec![Witness { output: text("account"), count: often }, Witness { output: text("refund"), count: 1 }],
        errors,
    };
    let plain = trained(&questions(), &options("text", "text")).program;
    let mut failing = questions();
    failing.push(pair("zzz zzz", 9, 1));
    assert_eq!(trained(&failing, &options("text", "text")).program, plain);
    let answer_to = |often: u32| {
        let mut on = questions();
        on.extend(["zzz zzz", "zzz qqq", "zzz xxx"].map(|input| pair(input, often, 0)));
        answer(&trained(&on, &options("text", "text")).program, &text("zzz zzz")).as_text().unwrap().to_owned()
    };
    assert_eq!(answer_to(30), "account");
    let mut on = questions();
    on.extend(["zzz zzz", "zzz qqq", "zzz xxx"].map(|input| {
        let mut one = pair(input, 1, 0);
        one.outputs[1].count = 30;
        one
    }));
    assert_eq!(answer(&trained(&on, &options("text", "text")).program, &text("zzz zzz")).as_text(), Some("refund"));
}

#[test]
fn long_empty_and_foreign_texts_are_learnt_from_without_harm() {
    let long = "x".repeat(1 << 20);
    let pairs = [(text(""), "1"), (text(&long), "2"), (text("Ünïcödé \u{202e}\u{0}"), "1"), (text("日本語"), "2")];
    let on = observations(pairs.iter().map(|(input, output)| (input.as_str(), *output)));
    let model = trained(&on, &options("text", "int"));
    assert_eq!(answer(&model.program, &text("日本語")).to_string(), "2");
    assert!(graph(&model.program).is_ok());
}
