//! Small trained models through the whole tool: what is trained where no rule is found, what it
//! answers, and what is refused. `extract` is stood in for where a test is about what comes after.

use std::path::PathBuf;
use std::process::Command;

use auto_json::{Record, Value};
use auto_tests::text;

/// A folder with recordings in a store.
struct Bench(tempfile::TempDir);

/// How a run of the tool ended.
struct Ended {
    exit: i32,
    reply: Value,
}

impl Ended {
    /// Why a rung did what it did.
    fn rung(&self, wanted: &str, status: &str) -> &str {
        let rungs = self.reply.get("rungs").and_then(Value::as_list).unwrap_or_default();
        let of = |rung: &Value, key: &str| rung.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
        let found = rungs.iter().find(|rung| of(rung, "rung") == wanted && of(rung, "status") == status);
        let why = found.and_then(|rung| rung.get("why")?.as_text());
        why.unwrap_or_else(|| panic!("no {status} {wanted} in {}", self.reply))
    }
}

impl Bench {
    /// With these inputs and outputs recorded, and the contract that is drafted from them.
    fn of(rows: &[(Value, Value)]) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        let trace = format!("{:032x}", 1);
        let line = |record: Record| format!("{}\n", Value::from(record));
        let head = Record::new().with("v", 0).with("t", "trace").with("trace_id", trace.as_str());
        let head =
            head.with("task", "texts").with("started_at_ms", 0).with("sdk", "tests").with("attrs", Record::new());
        let mut lines = line(head);
        for (number, (input, output)) in (0u64..).zip(rows) {
            let span = Record::new().with("v", 0).with("t", "span").with("trace_id", trace.as_str());
            let span = span.with("span_id", number + 1).with("parent_span_id", Value::Null);
            let span = span.with("seq", number).with("kind", "model_call").with("name", "answer");
            let span = span.with("input", input.clone()).with("output", output.clone()).with("error", Value::Null);
            let span = span.with("started_at_ms", 0).with("duration_ms", 0).with("attrs", Record::new());
            lines.push_str(&line(span));
        }
        std::fs::write(bench.path("trace.jsonl"), lines).unwrap();
        assert_eq!(bench.run(&["import", "--store", "texts.db", "trace.jsonl"]).exit, 0);
        let infer = ["contract", "infer", "--task", "texts", "--store", "texts.db", "--out", "texts.toml"];
        assert_eq!(bench.run(&infer).exit, 0);
        bench
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(auto_tests::tool::binary());
        command.args(arguments).current_dir(self.0.path()).env("AUTO_CACHE", self.path("cache"));
        let output = command.arg("--json").output().expect("auto-host runs; build it with `cargo xtask build`");
        let printed = String::from_utf8_lossy(&output.stdout);
        let reply = Value::parse(printed.trim()).unwrap_or_else(|error| panic!("{error} in {printed}"));
        Ended { exit: output.status.code().unwrap(), reply }
    }

    /// Compiles with an extract that does this.
    fn compile(&self, extract: &str) -> Ended {
        let wit = "package stands:in; world w { export auto:pass/extract@0.1.0; }";
        let name = "auto:pass/extract@0.1.0#synthesize";
        let parameters = "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32) (result i32)";
        let core = format!("(func (export \"{name}\") {parameters} {extract})");
        std::fs::write(self.path("extract.wasm"), text::component(wit, "w", &core).unwrap()).unwrap();
        let arguments = ["compile", "--contract", "texts.toml", "--store", "texts.db", "--out", "texts.cbin"];
        self.run(&[&arguments[..], &["--pass", "extract.wasm"]].concat())
    }

    fn answer(&self, input: &str) -> Ended {
        self.run(&["run", "texts.cbin", "--input", input])
    }
}

/// Finds nothing.
const NOTHING: &str = "(i32.const 1024)";

/// Asks for memory until it is given no more.
const GREEDY: &str = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1024)) (i32.const -1)))) unreachable";

/// Questions of three topics: 108 of them.
fn questions() -> Vec<(Value, Value)> {
    let topics: [(&str, [&str; 6], [&str; 6]); 3] = [
        (
            "delivery",
            [
                "where is the",
                "when comes my",
                "who has taken the",
                "nobody brought the",
                "please track this",
                "still no",
            ],
            ["parcel", "package", "letter from the courier", "shipment", "box i ordered", "crate"],
        ),
        (
            "refund",
            [
                "give back the",
                "i was charged the",
                "return all of the",
                "you owe me some",
                "pay out that",
                "cancel and repay my",
            ],
            ["money", "amount twice", "price of it", "deposit", "fee", "sum on the invoice"],
        ),
        (
            "account",
            [
                "i forgot my",
                "please reset the",
                "cannot get past the",
                "someone changed our",
                "lock down her",
                "there is a wrong",
            ],
            ["password", "login", "user name", "second factor", "sign in page", "profile"],
        ),
    ];
    let mut rows = Vec::new();
    for (topic, starts, ends) in topics {
        let pairs = starts.iter().flat_map(|start| ends.iter().map(move |end| format!("{start} {end}")));
        rows.extend(pairs.map(|text| (Value::from(text), Value::from(topic))));
    }
    rows
}

#[test]
fn where_no_rule_is_found_a_model_answers_what_it_was_not_shown_and_nothing_else() {
    let bench = Bench::of(&questions());
    let ended = bench.compile(NOTHING);
    assert_eq!(ended.exit, 0, "{}", ended.reply);
    assert!(ended.rung("distill", "passed").contains("linear model"), "{}", ended.reply);
    let answered = bench.answer(r#""when comes the parcel i ordered""#);
    assert_eq!(answered.reply.get("output").and_then(Value::as_text), Some("delivery"), "{}", answered.reply);
    for far in [r#""""#, r#""what a lovely evening by the sea""#, r#""1 2 3 4 5""#, "\"日本語の質問\""] {
        assert_eq!(bench.answer(far).exit, 3, "{far}");
    }
}

#[test]
fn a_search_that_comes_to_its_limit_leaves_the_task_to_a_model() {
    let bench = Bench::of(&questions());
    let ended = bench.compile(GREEDY);
    assert_eq!(ended.exit, 0, "{}", ended.reply);
    let why = ended.rung("extract", "remark");
    assert!(why.contains("within the limits") && why.contains("--memory"), "{why}");
}

#[test]
fn a_search_that_traps_says_nothing_of_the_task() {
    let bench = Bench::of(&questions());
    let ended = bench.compile("unreachable");
    assert_eq!((ended.exit, ended.reply.get("code").and_then(Value::as_text)), (5, Some("trap")), "{}", ended.reply);
}

#[test]
fn what_no_model_can_learn_is_refused_with_the_cause() {
    let refused = |rows: &[(Value, Value)], says: &str| {
        let bench = Bench::of(rows);
        let ended = bench.compile(NOTHING);
        assert_eq!(ended.exit, 1, "{}", ended.reply);
        let why = ended.rung("distill", "refused");
        assert!(why.contains(says), "{why}");
        assert!(!bench.path("texts.cbin").exists());
    };
    let numbered = |output: fn(u32) -> Value| -> Vec<(Value, Value)> {
        (0..40).map(|n| (Value::from(format!("question {n} of {}", n * n)), output(n))).collect()
    };
    refused(&numbered(|n| Value::from(format!("answer {}", n * 7 % 40))), "40 different values in 40 observations");
    refused(&numbered(|_| Value::from("yes")), "every recorded output is the same");
}
