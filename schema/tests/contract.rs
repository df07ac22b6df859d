//! Contracts: what loads, what is refused and where, and what an id depends on.

use auto_json::{Number, Record, Value};
use auto_schema::contract::{
    Acceptance, ArtifactBudgets, Budgets, Claim, ClassFloor, Condition, Contract, EvalCase, Example, GuardPolicy,
    Match, Pattern, Place, Property, ReferenceBudgets, Relation, Scope, Side, SpanKind,
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
        ("contract_version", "2", "bad-version", "contract_version"),
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
        let check = |value: &str| property.check(&Value::Null, &json(value));
        kept.iter().for_each(|value| assert_eq!(check(value), Ok(()), "{value}"));
        broken.iter().for_each(|value| assert!(check(value).is_err(), "{property:?} on {value}"));
    }
}

/// The smallest contract of version 1 over an order, with members added or replaced.
fn order(key: &str, text: &str) -> Result<Contract, (String, String)> {
    let input = "record{body: text, lines: list<record{price: number, sku: text}>}";
    let output = "record{count: int, note?: text, reference: text, skus: list<text>, total: number}";
    let root = smallest()
        .with("contract_version", 1u32)
        .with("interface", Record::new().with("input", input).with("output", output))
        .with(key, json(text));
    Contract::from_value(&root.into()).map_err(|error| (error.code.to_owned(), error.at))
}

#[test]
fn version_1_claims_relate_places_of_input_and_output() {
    let input = json(
        r#"{"body":"Order AB-7, please","lines":[{"price":1.50,"sku":"x"},{"price":2,"sku":"y"},{"price":0.05,"sku":"z"}]}"#,
    );
    let other = |kind: &str, path: &str, other: &str| {
        format!(r#"{{"kind":"{kind}","path":"{path}","other":{{"target":"input","path":"{other}"}}}}"#)
    };
    let kept = [
        (other("occurs_in", "/reference", "/body"), r#"{"reference":"AB-7"}"#, r#"{"reference":"ab-7"}"#),
        (other("sum_of", "/total", "/lines/*/price"), r#"{"total":3.55}"#, r#"{"total":3.56}"#),
        (other("count_of", "/count", "/lines"), r#"{"count":3}"#, r#"{"count":2}"#),
        (other("in_order_of", "/skus", "/lines/*/sku"), r#"{"skus":["x","z"]}"#, r#"{"skus":["z","x"]}"#),
        (other("equals", "/skus/*", "/lines/*/sku"), r#"{"skus":["x","y","z"]}"#, r#"{"skus":["x","z"]}"#),
        (
            r#"{"kind":"occurs_in","path":"/reference","other":{"target":"input","path":"/body"},"ignore_case":true}"#
                .to_owned(),
            r#"{"reference":"ab-7"}"#,
            r#"{"reference":"ab-8"}"#,
        ),
        (r#"{"kind":"sorted","path":"/skus"}"#.to_owned(), r#"{"skus":["x","z"]}"#, r#"{"skus":["z","x"]}"#),
        (r#"{"kind":"unique","path":"/skus/*"}"#.to_owned(), r#"{"skus":["z","x"]}"#, r#"{"skus":["x","x"]}"#),
        (
            r#"{"kind":"regex","path":"/skus/*","pattern":"^[xyz]$"}"#.to_owned(),
            r#"{"skus":["x","y"]}"#,
            r#"{"skus":["x","q"]}"#,
        ),
        (r#"{"kind":"present","path":"/note"}"#.to_owned(), r#"{"note":"n"}"#, r#"{"note":null}"#),
        (
            r#"{"kind":"num_range","path":"/total","max":2,"when":{"kind":"one_of","path":"/count","values":[2]}}"#
                .to_owned(),
            r#"{"count":3,"total":9}"#,
            r#"{"count":2,"total":9}"#,
        ),
    ];
    for (property, good, bad) in kept {
        let property = order("property", &format!("[{property}]")).unwrap().properties.remove(0);
        assert_eq!(property.check(&input, &json(good)), Ok(()), "{}", property.sentence());
        assert!(property.check(&input, &json(bad)).is_err(), "{} of {bad}", property.sentence());
    }
}

#[test]
fn what_is_not_there_breaks_a_claim_and_an_empty_list_does_not() {
    let property = |text: &str| order("property", &format!("[{text}]")).unwrap().properties.remove(0);
    let output = json(r#"{"count":0,"reference":"r","skus":[],"total":0}"#);
    let note = property(r#"{"kind":"regex","path":"/note","pattern":"a"}"#);
    assert_eq!(note.check(&Value::Null, &output), Err("the output at /note: there is no \"note\"".to_owned()));
    assert_eq!(property(r#"{"kind":"regex","path":"/skus/*","pattern":"a"}"#).check(&Value::Null, &output), Ok(()));
    let guarded = property(r#"{"kind":"regex","path":"/note","pattern":"a","when":{"kind":"present","path":"/note"}}"#);
    assert_eq!(guarded.check(&Value::Null, &output), Ok(()));
}

#[test]
fn a_claim_about_items_means_the_same_whatever_their_number() {
    let property = |text: &str| {
        let root = smallest().with("contract_version", 1u32).with("property", json(&format!("[{text}]")));
        Contract::from_value(&root.into()).unwrap().properties.remove(0)
    };
    let holds = |text: &str, output: &str| property(text).check(&Value::Null, &json(output)).is_ok();
    let unique = r#"{"kind":"unique","path":"/rows/*"}"#;
    assert!(holds(unique, r#"{"rows":[[1,1],[2,2]]}"#) && holds(unique, r#"{"rows":[[1,1,0]]}"#));
    let count = r#"{"kind":"count_of","path":"/n","other":{"path":"/rows/*"}}"#;
    assert!(holds(count, r#"{"rows":[[1,1],[2,2]],"n":2}"#) && holds(count, r#"{"rows":[[1,1,0]],"n":1}"#));
    for text in [r#"{"kind":"sorted","path":"/rows"}"#, r#"{"kind":"unique","path":"/rows"}"#] {
        assert!(!holds(text, r#"{"rows":"text"}"#) && !holds(text, r#"{"rows":null}"#), "{text}");
        assert!(holds(text, r#"{"rows":[]}"#));
    }
}

#[test]
fn sums_and_tolerances_are_exact_decimals() {
    let sum = r#"[{"kind":"sum_of","path":"/total","other":{"target":"input","path":"/lines/*/price"}}]"#;
    let property = order("property", sum).unwrap().properties.remove(0);
    let lines = (0..10).map(|_| r#"{"price":0.1,"sku":"x"}"#).collect::<Vec<_>>().join(",");
    let input = json(&format!(r#"{{"body":"","lines":[{lines}]}}"#));
    let total = |text: &str| property.check(&input, &json(&format!(r#"{{"total":{text}}}"#)));
    assert_eq!(total("1"), Ok(()));
    assert_eq!(total("1.0"), Ok(()));
    assert!(total("0.9999999999999999").is_err());
    let near = Match::Approximate(Number::decimal(5, 2).unwrap());
    let agrees = |a: &str, b: &str| near.agrees(&json(a), &json(b));
    assert!(agrees(r#"{"a":[1.05,"x"]}"#, r#"{"a":[1,"x"]}"#));
    assert!(agrees("-0.05", "0"));
    assert!(!agrees("1.0500000000000001", "1"));
    assert!(!agrees(r#"{"a":1}"#, r#"{"b":1}"#) && !agrees("\"1\"", "1") && !agrees("[1]", "[1,1]"));
}

#[test]
fn version_1_refuses_what_can_never_hold() {
    let property = |text: &str| order("property", &format!("[{text}]")).unwrap_err();
    let cases = [
        (r#"{"kind":"regex","path":"/nowhere","pattern":"a"}"#, "bad-path", "property[0].path"),
        (r#"{"kind":"regex","path":"skus","pattern":"a"}"#, "bad-path", "property[0].path"),
        (r#"{"kind":"regex","path":"/count","pattern":"a"}"#, "type-mismatch", "property[0].kind"),
        (r#"{"kind":"json_has_keys","keys":["x"]}"#, "type-mismatch", "property[0].kind"),
        (r#"{"kind":"one_of","path":"/count","values":["3"]}"#, "type-mismatch", "property[0].kind"),
        (r#"{"kind":"sum_of","path":"/reference","other":{"path":"/skus"}}"#, "type-mismatch", "property[0].kind"),
        (r#"{"kind":"equals","other":{"target":"input","path":"/x"}}"#, "bad-path", "property[0].other.path"),
        (r#"{"kind":"equals","other":{"target":"sideways"}}"#, "bad-value", "property[0].target"),
        (r#"{"kind":"equals"}"#, "missing-key", "property[0]"),
        (r#"{"kind":"sorted","path":"/reference"}"#, "type-mismatch", "property[0].path"),
        (r#"{"kind":"unique","path":"/count"}"#, "type-mismatch", "property[0].path"),
        (
            r#"{"kind":"count_of","path":"/count","other":{"path":"/reference"}}"#,
            "type-mismatch",
            "property[0].other.path",
        ),
        (r#"{"kind":"sorted","ignore_case":true}"#, "unknown-key", "property[0].ignore_case"),
        (r#"{"kind":"predicate","sha256":"12"}"#, "bad-value", "property[0].sha256"),
        (r#"{"kind":"present","when":{"kind":"predicate","sha256":"12"}}"#, "bad-value", "property[0].when.kind"),
        (r#"{"kind":"present","name":""}"#, "bad-value", "property[0].name"),
        (r#"{"kind":"present","name":"a"},{"kind":"unique","name":"a"}"#, "duplicate-name", "property[1].name"),
    ];
    for (text, code, at) in cases {
        let at = if text.contains("sideways") { "property[0].other.target" } else { at };
        assert_eq!(property(text), (code.to_owned(), at.to_owned()), "{text}");
    }
    let acceptance = [
        (r#"{"match":"approximate"}"#, "missing-key", "acceptance"),
        (r#"{"match":"approximate","tolerance":-1}"#, "bad-value", "acceptance.tolerance"),
        (r#"{"match":"exact","tolerance":1}"#, "unknown-key", "acceptance.tolerance"),
        (r#"{"differential_match":"exact"}"#, "unknown-key", "acceptance.differential_match"),
        (r#"{"classes":{"path":"/nope","min_ppm":1}}"#, "bad-path", "acceptance.classes.path"),
        (r#"{"classes":{"path":"/count","min_ppm":0}}"#, "bad-value", "acceptance.classes.min_ppm"),
        (r#"{"memorise":1}"#, "wrong-type", "acceptance.memorise"),
    ];
    for (text, code, at) in acceptance {
        assert_eq!(order("acceptance", text).unwrap_err(), (code.to_owned(), at.to_owned()), "{text}");
    }
    assert_eq!(order("budgets", r#"{"max_tokens":1}"#).unwrap_err().0, "unknown-key");
    assert!(order("budgets", r#"{"reference":{"max_tokens":1},"artifact":{"max_steps_p95":9}}"#).is_ok());
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

fn any_claim() -> impl Strategy<Value = Claim> {
    let count = || 0..=i64::MAX as u64;
    prop_oneof![
        count().prop_map(|min| Claim::Length { min: Some(min), max: None }),
        (count(), count()).prop_map(|(a, b)| Claim::Length { min: Some(a.min(b)), max: Some(a.max(b)) }),
        "[a-z]{0,3}[+*?]?".prop_filter_map("a pattern", |text| Pattern::new(&text).ok()).prop_map(Claim::Regex),
        any_number().prop_map(|max| Claim::NumberRange { min: None, max: Some(max) }),
        prop::collection::vec(any::<String>(), 0..3).prop_map(Claim::HasKeys),
        prop::collection::vec(any_value(), 1..3).prop_map(Claim::OneOf),
    ]
}

fn any_number() -> impl Strategy<Value = Number> {
    (any::<i64>(), 0u16..9).prop_map(|(mantissa, scale)| Number::decimal(mantissa.into(), scale).unwrap())
}

fn any_place() -> impl Strategy<Value = Place> {
    (prop::sample::select(&[Side::Input, Side::Output][..]), "(/[a-z*]|/~[01]x){0,3}")
        .prop_map(|(side, path)| Place::new(side, &path).unwrap())
}

/// What version 1 can say beside [`any_claim`]; a condition cannot ask a predicate.
fn any_new_claim() -> impl Strategy<Value = Claim> {
    let relation = prop_oneof![
        any::<bool>().prop_map(|ignore_case| Relation::OccursIn { ignore_case }),
        any::<bool>().prop_map(|ignore_case| Relation::Equals { ignore_case }),
        Just(Relation::SumOf),
        Just(Relation::CountOf),
        Just(Relation::InOrderOf),
    ];
    prop_oneof![
        Just(Claim::Present),
        Just(Claim::Sorted),
        Just(Claim::Unique),
        (relation, any_place()).prop_map(|(relation, place)| Claim::Related(relation, place)),
        any_claim(),
    ]
}

fn any_property() -> impl Strategy<Value = Property> {
    let condition = (any_place(), any_new_claim()).prop_map(|(place, claim)| Condition { place, claim });
    let claim = prop_oneof![any_new_claim(), Just(Claim::Predicate(auto_schema::digest::Digest::of(b"p")))];
    (any_place(), claim, prop::option::of(condition)).prop_map(|(place, claim, when)| Property {
        name: None,
        place,
        claim,
        when,
    })
}

fn any_match() -> impl Strategy<Value = Match> {
    prop_oneof![
        Just(Match::Exact),
        Just(Match::Judged),
        (any::<u32>(), 0u16..9)
            .prop_map(|(mantissa, scale)| Match::Approximate(Number::decimal(mantissa.into(), scale).unwrap())),
    ]
}

prop_compose! {
    fn any_reference_budgets()(budgets in prop::array::uniform3(prop::option::of(0..=i64::MAX as u64))) -> ReferenceBudgets {
        ReferenceBudgets { max_latency_ms_p95: budgets[0], max_cost_usd_micros: budgets[1], max_tokens: budgets[2] }
    }
}

prop_compose! {
    /// A contract of version 0.
    fn any_contract()(
        task in ".+",
        scope in any_scope(),
        guard in prop::sample::select(&[GuardPolicy::Auto, GuardPolicy::None][..]),
        values in prop::collection::vec((any_value(), any_value()), 0..4),
        expected in any::<bool>(),
        judged in any::<bool>(),
        claims in prop::collection::vec(any_claim(), 0..4),
        reference in any_reference_budgets(),
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
            version: 0,
            task,
            scope,
            input: Type::Json,
            output: Type::Json,
            guard,
            examples: values.iter().enumerate().map(example).collect(),
            properties: claims.into_iter().map(Property::from).collect(),
            cases: values
                .iter()
                .map(|(input, output)| EvalCase { input: input.clone(), expected: expected.then(|| output.clone()) })
                .collect(),
            budgets: Budgets { reference, ..Budgets::default() },
            acceptance: Acceptance {
                agreement_min_ppm: milli.map(|milli| milli * 1_000),
                compare: if milli.is_some() { compare } else { Match::Exact },
                out_of_fold_min_ppm,
                ..Acceptance::default()
            },
        }
    }
}

prop_compose! {
    /// A contract of version 1.
    fn any_new_contract()(
        contract in any_contract(),
        compare in any_match(),
        properties in prop::collection::vec(any_property(), 0..4),
        artifact in prop::array::uniform4(prop::option::of(0..=i64::MAX as u64)),
        agreement in 1u32..=1_000_000,
        shares in prop::array::uniform2(prop::option::of(0u32..=1_000_000)),
        classes in prop::option::of(1u32..=1_000_000),
        memorise in any::<bool>(),
        judge_calls in prop::option::of(any::<u32>()),
    ) -> Contract {
        let [max_silent_error_ppm, guard_admit_ppm] = shares;
        Contract {
            version: 1,
            examples: contract.examples.iter().map(|example| Example { compare, ..example.clone() }).filter(|_| compare == Match::Judged).collect(),
            properties: properties
                .into_iter()
                .enumerate()
                .map(|(index, property)| Property { name: (index % 2 == 0).then(|| format!("p{index}")), ..property })
                .collect(),
            budgets: Budgets {
                artifact: ArtifactBudgets {
                    max_steps: artifact[0],
                    max_steps_p95: artifact[1],
                    max_bytes: artifact[2],
                    max_latency_us_p95: artifact[3],
                },
                ..contract.budgets
            },
            acceptance: Acceptance {
                agreement_min_ppm: Some(agreement),
                compare,
                max_silent_error_ppm,
                classes: classes
                    .map(|min_ppm| ClassFloor { place: Place::new(Side::Output, "/a").unwrap(), min_ppm }),
                memorise,
                guard_admit_ppm,
                judge_calls,
                ..contract.acceptance
            },
            ..contract
        }
    }
}

proptest! {
    #[test]
    fn the_canonical_form_reads_back(contract in prop_oneof![any_contract(), any_new_contract()]) {
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
        let _ = Contract::from_value(&smallest().with(key, vec![value.clone()]).into());
        let _ = Contract::from_value(&smallest().with("contract_version", 1u32).with(key, vec![value]).into());
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
        let read = |set: &str| {
            if set == "cases.jsonl" { Ok(cases.as_bytes().to_vec()) } else { Err(io::ErrorKind::NotFound.into()) }
        };
        Contract::from_toml(text, "triage.toml", read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_and_its_canonical_form_are_the_same_contract() {
        let contract = load(FILE, CASES).unwrap();
        assert_eq!(contract.scope, Scope::Span { kind: SpanKind::ModelCall, name: "gpt".to_owned() });
        assert_eq!(contract.scope.to_string(), "span model_call gpt");
        assert_eq!(contract.cases.len(), 2);
        assert_eq!(contract.cases[1].expected, None);
        let Claim::NumberRange { min: Some(min), max: Some(max) } = &contract.properties[1].claim else { panic!() };
        assert_eq!((min.text().as_str(), max.text().as_str()), ("-1000.5", "16"));
        assert_eq!(Contract::from_value(&contract.to_value()).unwrap(), contract);
        let other_layout =
            FILE.replace("max = 16", "max = 0x10").replace("# A comment.\n", "\n\n").replace("\n\n[", "\n[");
        assert_eq!(load(&other_layout, CASES).unwrap().id(), contract.id());
        assert_ne!(load(&FILE.replace("max = 16", "max = 17"), CASES).unwrap().id(), contract.id());
        let said = |more: &str| {
            let text = format!(
                r#"{{"contract_version":1,"task":"t","scope":{{"type":"task"}},"interface":{{"input":"text","output":"text"}}{more}}}"#
            );
            Contract::from_value(&Value::parse(&text).unwrap()).unwrap().id()
        };
        let defaults = [
            r#""match":"exact""#,
            r#""silent_error_confidence_ppm":950000"#,
            r#""guard_admit_ppm":950000"#,
            r#""judge_calls":100"#,
            r#""divergent":"refuse""#,
            r#""memorise":false"#,
        ];
        for default in defaults {
            assert_eq!(said(&format!(r#","acceptance":{{{default}}}"#)), said(""), "{default}");
        }
        assert_eq!(said(r#","guard":"auto""#), said(""));
        assert_ne!(said(r#","acceptance":{"judge_calls":99}"#), said(""));
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
