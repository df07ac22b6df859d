//! Contracts: what loads, what is refused and where, and what an id depends on.

use auto_json::{Number, Record, Value};
use auto_schema::contract::{
    Acceptance, Budgets, Contract, EvalCase, Example, GuardPolicy, Match, Pattern, Property, Scope, SpanKind,
};
use auto_schema::types::Type;
use proptest::prelude::*;

fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

/// The smallest contract, as JSON, with members added or replaced.
fn smallest() -> Record {
    let scope = Record::new().with("type", "task");
    let interface = Record::new().with("input", "json").with("output", "json");
    Record::new().with("contract_version", 0u32).with("task", "t").with("scope", scope).with("interface", interface)
}

/// What is wrong with the smallest contract when a member is set to a JSON text.
fn refused(key: &str, text: &str) -> (String, String) {
    let error = Contract::from_value(&smallest().with(key, json(text)).into()).unwrap_err();
    (error.code.to_owned(), error.at)
}

#[test]
fn every_refusal_has_a_code_and_a_key_path() {
    let cases = [
        ("contract_version", "1", "bad-version", "contract_version"),
        ("contract_version", "\"0\"", "wrong-type", "contract_version"),
        ("task", "\"\"", "bad-value", "task"),
        ("tsk", "1", "unknown-key", "tsk"),
        ("odd key", "1", "unknown-key", "\"odd key\""),
        ("eval_sets", "[]", "bad-value", "eval_sets"),
        ("guard", "\"off\"", "bad-value", "guard"),
        ("scope", r#"{"type":"task","name":"x"}"#, "unknown-key", "scope.name"),
        ("scope", r#"{"type":"span","kind":"model_call"}"#, "missing-key", "scope"),
        ("scope", r#"{"type":"span","kind":"span","name":"x"}"#, "bad-value", "scope.kind"),
        ("scope", r#"{"type":"region","from":"a","to":"a"}"#, "bad-value", "scope.to"),
        ("interface", r#"{"input":"json","output":"jsn"}"#, "bad-type", "interface.output"),
        ("example", "[{}]", "missing-key", "example[0]"),
        ("example", r#"[{"name":"a","match":"near","input":1,"output":1}]"#, "bad-value", "example[0].match"),
        ("property", r#"[{"kind":"regex","target":"input","pattern":"a"}]"#, "bad-value", "property[0].target"),
        ("property", r#"[{"kind":"regex","target":"output","pattern":"(a"}]"#, "bad-regex", "property[0].pattern"),
        ("property", r#"[{"kind":"regex","target":"output","min":1}]"#, "unknown-key", "property[0].min"),
        ("property", r#"[{"kind":"len_range","target":"output"}]"#, "missing-key", "property[0]"),
        ("property", r#"[{"kind":"len_range","target":"output","min":1.5}]"#, "bad-value", "property[0].min"),
        ("property", r#"[{"kind":"num_range","target":"output","min":2,"max":1.9}]"#, "bad-value", "property[0].max"),
        ("property", r#"[{"kind":"one_of","target":"output","values":[]}]"#, "bad-value", "property[0].values"),
        ("property", r#"[{"kind":"json_has_keys","target":"output","keys":[1]}]"#, "wrong-type", "property[0].keys[0]"),
        ("budgets", r#"{"max_tokens":-1}"#, "bad-value", "budgets.max_tokens"),
        (
            "acceptance",
            r#"{"differential_min_agreement_milli":0}"#,
            "bad-value",
            "acceptance.differential_min_agreement_milli",
        ),
        (
            "acceptance",
            r#"{"differential_min_agreement_milli":1001}"#,
            "bad-value",
            "acceptance.differential_min_agreement_milli",
        ),
        ("acceptance", r#"{"differential_match":"judged"}"#, "missing-key", "acceptance"),
        ("acceptance", r#"{"out_of_fold_min_ppm":1000001}"#, "bad-value", "acceptance.out_of_fold_min_ppm"),
        ("eval_cases", r#"[{"input":1},{"inptu":1}]"#, "unknown-key", "eval_cases[1].inptu"),
    ];
    for (key, text, code, at) in cases {
        assert_eq!(refused(key, text), (code.to_owned(), at.to_owned()), "{key} = {text}");
    }
    assert!(Contract::from_value(&smallest().into()).is_ok());
}

#[test]
fn a_misspelt_key_is_told_the_nearest_one() {
    let message = |key| Contract::from_value(&smallest().with(key, 1u32).into()).unwrap_err().message;
    assert_eq!(message("acceptence"), "the key `acceptence` is not known here; did you mean `acceptance`?");
    assert!(message("zzzzzz").contains("known are `acceptance`, `budgets`"));
}

#[test]
fn examples_must_fit_the_interface_and_each_other() {
    let example = |name: &str, input: &str, output: &str| {
        format!(r#"{{"name":"{name}","match":"exact","input":{input},"output":{output}}}"#)
    };
    let with = |examples: &[String]| {
        let interface = Record::new().with("input", "int").with("output", "text");
        let root = smallest().with("interface", interface).with("example", json(&format!("[{}]", examples.join(","))));
        Contract::from_value(&root.into()).map_err(|error| (error.code, error.at)).err()
    };
    assert_eq!(with(&[example("a", "1", "\"x\""), example("b", "1", "\"x\"")]), None);
    assert_eq!(with(&[example("a", "1.0", "\"x\"")]), Some(("type-mismatch", "example[0].input".to_owned())));
    assert_eq!(with(&[example("a", "1", "2")]), Some(("type-mismatch", "example[0].output".to_owned())));
    let twice = [example("a", "1", "\"x\""), example("a", "2", "\"x\"")];
    assert_eq!(with(&twice), Some(("duplicate-name", "example[1].name".to_owned())));
    let torn = [example("a", "1", "\"x\""), example("b", "1", "\"y\"")];
    assert_eq!(with(&torn), Some(("contradiction", "example[1].output".to_owned())));
}

#[test]
fn a_declared_default_does_not_change_the_id() {
    let id = |root: Record| Contract::from_value(&root.into()).unwrap().id();
    let acceptance = Record::new().with("differential_match", "exact");
    let spelt_out = smallest()
        .with("acceptance", acceptance)
        .with("guard", "auto")
        .with("budgets", Record::new())
        .with("example", Vec::<Value>::new());
    assert_eq!(id(smallest()), id(spelt_out));
    assert_ne!(id(smallest()), id(smallest().with("guard", "none")));
    let float = Record::new().with("input", "float").with("output", "json");
    let number = Record::new().with("input", "number").with("output", "json");
    assert_eq!(id(smallest().with("interface", float)), id(smallest().with("interface", number)));
}

#[test]
fn what_properties_mean() {
    let property = |text: &str| {
        let root = smallest().with("property", json(&format!("[{text}]")));
        Contract::from_value(&root.into()).unwrap().properties.remove(0)
    };
    let length = property(r#"{"kind":"len_range","target":"output","min":2,"max":3}"#);
    let regex = property(r#"{"kind":"regex","target":"output","pattern":"b+"}"#);
    let number = property(r#"{"kind":"num_range","target":"output","min":-0.5,"max":3}"#);
    let keys = property(r#"{"kind":"json_has_keys","target":"output","keys":["a","b"]}"#);
    let one = property(r#"{"kind":"one_of","target":"output","values":[1,"x",{"k":[]}]}"#);
    let cases: [(&Property, &[&str], &[&str]); 5] = [
        (&length, &["\"éé\"", "[1,2,3]"], &["\"a\"", "\"abcd\"", "[]", "{}", "22", "null"]),
        (&regex, &["\"abba\""], &["\"B\"", "7", "[\"b\"]", "null"]),
        (&number, &["-0.5", "3.0", "3", "0"], &["-0.50001", "3.00000000000000000000000001", "\"1\"", "null"]),
        (&keys, &[r#"{"a":null,"b":1,"c":2}"#], &[r#"{"a":1}"#, r#"["a","b"]"#]),
        (&one, &["1", "\"x\"", r#"{"k":[]}"#], &["1.0", "\"X\"", "null"]),
    ];
    for (property, kept, broken) in cases {
        kept.iter().for_each(|value| assert_eq!(property.check(&json(value)), Ok(()), "{value}"));
        broken.iter().for_each(|value| assert!(property.check(&json(value)).is_err(), "{property:?} on {value}"));
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..3)
                .prop_map(|members| Value::from(members.into_iter().collect::<Record>())),
        ]
    })
}

fn any_scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        Just(Scope::Task),
        (prop::sample::select(&SpanKind::ALL[..]), ".+").prop_map(|(kind, name)| Scope::Span { kind, name }),
        "[a-z]+".prop_map(|from| Scope::Region { to: format!("{from}2"), from }),
    ]
}

fn any_property() -> impl Strategy<Value = Property> {
    let number =
        || (any::<i64>(), 0u16..9).prop_map(|(mantissa, scale)| Number::decimal(mantissa.into(), scale).unwrap());
    let count = || 0..=i64::MAX as u64;
    prop_oneof![
        count().prop_map(|min| Property::Length { min: Some(min), max: None }),
        (count(), count()).prop_map(|(a, b)| Property::Length { min: Some(a.min(b)), max: Some(a.max(b)) }),
        "[a-z]{0,3}[+*?]?".prop_filter_map("a pattern", |text| Pattern::new(&text).ok()).prop_map(Property::Regex),
        number().prop_map(|max| Property::NumberRange { min: None, max: Some(max) }),
        prop::collection::vec(any::<String>(), 0..3).prop_map(Property::HasKeys),
        prop::collection::vec(any_value(), 1..3).prop_map(Property::OneOf),
    ]
}

prop_compose! {
    fn any_contract()(
        task in ".+",
        scope in any_scope(),
        guard in prop::sample::select(&[GuardPolicy::Auto, GuardPolicy::None][..]),
        values in prop::collection::vec((any_value(), any_value()), 0..4),
        expected in any::<bool>(),
        judged in any::<bool>(),
        properties in prop::collection::vec(any_property(), 0..4),
        budgets in prop::array::uniform3(prop::option::of(0..=i64::MAX as u64)),
        milli in prop::option::of(1u32..=1000),
        out_of_fold_min_ppm in prop::option::of(0u32..=1_000_000),
    ) -> Contract {
        let compare = if judged { Match::Judged } else { Match::Exact };
        let example = |(index, (input, output)): (usize, &(Value, Value))| Example {
            name: format!("example {index}"),
            compare: Match::Judged,
            input: input.clone(),
            output: output.clone(),
        };
        Contract {
            task,
            scope,
            input: Type::Json,
            output: Type::Json,
            guard,
            examples: values.iter().enumerate().map(example).collect(),
            properties,
            cases: values
                .iter()
                .map(|(input, output)| EvalCase { input: input.clone(), expected: expected.then(|| output.clone()) })
                .collect(),
            budgets: Budgets {
                max_latency_ms_p95: budgets[0],
                max_cost_usd_micros: budgets[1],
                max_tokens: budgets[2],
            },
            acceptance: Acceptance {
                differential_min_agreement_milli: milli,
                differential_match: if milli.is_some() { compare } else { Match::Exact },
                out_of_fold_min_ppm,
            },
        }
    }
}

proptest! {
    #[test]
    fn the_canonical_form_reads_back(contract in any_contract()) {
        let text = contract.to_value().canonical();
        let read = Contract::from_value(&text.value()).unwrap();
        prop_assert_eq!(&read, &contract);
        prop_assert_eq!(read.id(), contract.id());
    }

    #[test]
    fn no_value_makes_reading_panic(value in any_value(), key in prop::sample::select(&[
        "scope", "interface", "example", "property", "eval_cases", "budgets", "acceptance", "guard", "task", "contract_version",
    ][..])) {
        let _ = Contract::from_value(&value);
        let _ = Contract::from_value(&smallest().with(key, value.clone()).into());
        let _ = Contract::from_value(&smallest().with(key, vec![value]).into());
    }
}

#[cfg(feature = "toml")]
mod files {
    use super::*;
    use std::io;

    const FILE: &str = r#"# A comment.
contract_version = 0
task = "triage"
eval_sets = ["cases.jsonl"]

[scope]
type = "span"
kind = "model_call"
name = "gpt"

[interface]
input = "record{text: text}"
output = "text"

[[example]]
name = "refund"
match = "exact"
input = { text = "money back" }
output = "refund"

[[property]]
kind = "one_of"
target = "output"
values = ["refund", "other"]

[[property]]
kind = "num_range"
target = "output"
min = -1_000.50
max = 16

[acceptance]
differential_min_agreement_milli = 950
"#;
    const CASES: &str = "{\"input\":{\"text\":\"a\"},\"expected\":\"other\"}\n\n{\"input\":{\"text\":\"b\"}}\n";

    fn load(text: &str, cases: &str) -> Result<Contract, String> {
        let read =
            |set: &str| if set == "cases.jsonl" { Ok(cases.to_owned()) } else { Err(io::ErrorKind::NotFound.into()) };
        Contract::from_toml(text, "triage.toml", read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_and_its_canonical_form_are_the_same_contract() {
        let contract = load(FILE, CASES).unwrap();
        assert_eq!(contract.scope, Scope::Span { kind: SpanKind::ModelCall, name: "gpt".to_owned() });
        assert_eq!(contract.scope.to_string(), "span model_call gpt");
        assert_eq!(contract.cases.len(), 2);
        assert_eq!(contract.cases[1].expected, None);
        let Property::NumberRange { min: Some(min), max: Some(max) } = &contract.properties[1] else { panic!() };
        assert_eq!((min.text().as_str(), max.text().as_str()), ("-1000.5", "16"));
        assert_eq!(Contract::from_value(&contract.to_value()).unwrap(), contract);
        let other_layout =
            FILE.replace("max = 16", "max = 0x10").replace("# A comment.\n", "\n\n").replace("\n\n[", "\n[");
        assert_eq!(load(&other_layout, CASES).unwrap().id(), contract.id());
        assert_ne!(load(&FILE.replace("max = 16", "max = 17"), CASES).unwrap().id(), contract.id());
    }

    #[test]
    fn what_is_refused_has_file_line_and_column() {
        let cases = [
            (
                "task = \"triage\"",
                "tsk = \"triage\"",
                "triage.toml:3:1 tsk: the key `tsk` is not known here; did you mean `task`?",
            ),
            (
                "task = ",
                "cheerfulness = 1\ntask = ",
                "triage.toml:3:1 cheerfulness: the key `cheerfulness` is not known here; known are `acceptance`, \
                 `budgets`, `contract_version`, `eval_sets`, `example`, `guard`, `interface`, `property`, `scope`, `task`",
            ),
            (
                "task = ",
                "eval_set = []\ntask = ",
                "triage.toml:3:1 eval_set: the key `eval_set` is not known here; did you mean `eval_sets`?",
            ),
            (
                "text = \"money back\"",
                "text = [{ \"a.b\" = [1, nan] }]",
                "triage.toml:18:33 example[0].input.text[0].\"a.b\"[1]: numbers are finite",
            ),
            ("kind = \"one_of\"", "knd = \"one_of\"", "triage.toml:22:1 property[0].knd: "),
            ("output = \"text\"", "output = \"txt\"", "triage.toml:13:10 interface.output: "),
            (
                "{ text = \"money back\" }",
                "{ text = 7 }",
                "triage.toml:18:9 example[0].input: not of the interface's type at /text",
            ),
            ("-1_000.50", "nan", "triage.toml:29:7 property[1].min: numbers are finite"),
            ("-1_000.50", "-inf", "triage.toml:29:7 property[1].min: numbers are finite"),
            ("-1_000.50", "2026-01-01", "triage.toml:29:7 property[1].min: a date is not a JSON value"),
            ("-1_000.50", "1e99999", "triage.toml:29:7 property[1].min: a number with an exponent beyond"),
            ("= 950", "= 950.0", "triage.toml:33:36 acceptance.differential_min_agreement_milli: 950.0 is not a whole"),
            ("[scope]", "[scope", "triage.toml:6:"),
            ("name = \"gpt\"", "", "triage.toml:6:1 scope: the key `name` is missing"),
            ("cases.jsonl", "none.jsonl", "triage.toml:4:14 eval_sets[0]: the eval set none.jsonl cannot be read"),
            (
                "task = ",
                "eval_cases = []\ntask = ",
                "triage.toml:3:1 eval_cases: the key `eval_cases` is not known here",
            ),
        ];
        for (old, new, want) in cases {
            assert!(FILE.contains(old), "{old}");
            let error = load(&FILE.replacen(old, new, 1), CASES).unwrap_err();
            assert!(error.starts_with(want), "{new}\n got {error}\nwant {want}");
        }
    }

    #[test]
    fn a_bad_eval_case_is_named_by_its_own_line() {
        let refused = |line: &str| load(FILE, &format!("{CASES}\n{line}\n")).unwrap_err();
        assert!(refused("{").starts_with("cases.jsonl:5: the JSON ends too early"), "{}", refused("{"));
        assert!(refused("7").starts_with("cases.jsonl:5: expected a table"), "{}", refused("7"));
        let odd = refused(r#"{"input":{"text":"c"},"output":"x"}"#);
        assert!(odd.starts_with("cases.jsonl:5 output: the key `output` is not known here"), "{odd}");
        let wrong = refused(r#"{"input":{"text":"c"},"expected":1}"#);
        assert!(wrong.starts_with("cases.jsonl:5 expected: not of the interface's type"), "{wrong}");
    }

    proptest! {
        #[test]
        fn no_text_makes_loading_panic(text: String, at: prop::sample::Index, byte: char) {
            let _ = load(&text, &text);
            let cut = at.index(FILE.len());
            let mut damaged = FILE.to_owned();
            damaged.insert(cut, byte);
            let _ = load(&damaged, CASES);
            let _ = load(&FILE[..cut], CASES);
        }
    }
}
