//! What a malformed contract is told: every form of it, with code, key path and message, as
//! `refusals.txt` has them. `BLESS=1 cargo test -p auto-schema --test refusals` rewrites the
//! file: read the difference before you keep it.

use std::path::Path;

use auto_json::{Record, Value};
use auto_schema::contract::Contract;

/// A version, a key of the smallest contract, and what it is set to; over an order where the
/// version is 1.
const CASES: &str = r#"
0 contract_version "0"
0 contract_version 2
0 task 7
0 task ""
0 tsk "t"
0 odd\ key 1
0 guard "off"
0 guard 1
0 scope "task"
0 scope {}
0 scope {"type":"job"}
0 scope {"type":"task","name":"x"}
0 scope {"type":"span","name":"x"}
0 scope {"type":"span","kind":"model_call"}
0 scope {"type":"span","kind":"span","name":"x"}
0 scope {"type":"span","kind":"model_call","name":""}
0 scope {"type":"region","to":"b"}
0 scope {"type":"region","from":"a"}
0 scope {"type":"region","from":"","to":"b"}
0 scope {"type":"region","from":"a","to":"a"}
0 scope {"type":"region","from":"a","to":"b","via":"c"}
0 interface {"input":"json"}
0 interface {"input":"json","output":"jsn"}
0 interface {"input":"json","output":"record{a: text, a: int}"}
0 interface {"input":"json","output":7}
0 eval_sets []
0 eval_cases 1
0 eval_cases [{"input":1},{"inptu":1}]
0 example {}
0 example [{}]
0 example [{"name":"a","match":"near","input":1,"output":1}]
0 example [{"name":"a","match":"exact","input":1,"output":1},{"name":"a","match":"exact","input":2,"output":1}]
0 example [{"name":"a","match":"exact","input":1,"output":1},{"name":"b","match":"exact","input":1,"output":2}]
0 example [{"name":"a","match":"approximate","input":1,"output":1}]
0 property [{"target":"output"}]
0 property [{"kind":"regx","target":"output"}]
0 property [{"kind":"occurs_in","target":"output"}]
0 property [{"kind":"regex","target":"input","pattern":"a"}]
0 property [{"kind":"regex","target":"output"}]
0 property [{"kind":"regex","target":"output","pattern":"(a"}]
0 property [{"kind":"regex","target":"output","min":1}]
0 property [{"kind":"len_range","target":"output"}]
0 property [{"kind":"len_range","target":"output","min":1.5}]
0 property [{"kind":"len_range","target":"output","min":3,"max":2}]
0 property [{"kind":"num_range","target":"output"}]
0 property [{"kind":"num_range","target":"output","min":"1"}]
0 property [{"kind":"num_range","target":"output","min":2,"max":1.9}]
0 property [{"kind":"one_of","target":"output"}]
0 property [{"kind":"one_of","target":"output","values":[]}]
0 property [{"kind":"json_has_keys","target":"output","keys":[1]}]
0 budgets {"max_tokens":-1}
0 budgets {"max_tokens":9223372036854775808}
0 budgets {"artifact":{}}
0 acceptance {"differential_min_agreement_milli":0}
0 acceptance {"differential_min_agreement_milli":1001}
0 acceptance {"differential_match":"judged"}
0 acceptance {"differential_match":"approximate"}
0 acceptance {"out_of_fold_min_ppm":1000001}
0 acceptance {"memorise":true}
1 budgets {"max_tokens":1}
1 budgets {"artifact":{"max_step":1}}
1 budgets {"artifact":{"max_steps":"1"}}
1 example [{"name":"a","match":"approximate","tolerance":-1,"input":1,"output":1}]
1 property [{"kind":"regex","path":"/nowhere","pattern":"a"}]
1 property [{"kind":"regex","path":"skus","pattern":"a"}]
1 property [{"kind":"regex","path":"/count","pattern":"a"}]
1 property [{"kind":"json_has_keys","keys":["x"]}]
1 property [{"kind":"one_of","path":"/count","values":["3"]}]
1 property [{"kind":"sum_of","path":"/reference","other":{"path":"/skus"}}]
1 property [{"kind":"equals","other":{"target":"input","path":"/x"}}]
1 property [{"kind":"equals","other":{"target":"sideways"}}]
1 property [{"kind":"equals"}]
1 property [{"kind":"equals","target":"inside"}]
1 property [{"kind":"equals","path":"/reference","other":{"path":"/count"}}]
1 property [{"kind":"equals","path":"/skus/*","other":{"target":"input","path":"/lines/*/price"}}]
1 property [{"kind":"occurs_in","path":"/count","other":{"target":"input","path":"/body"}}]
1 property [{"kind":"occurs_in","path":"/total","other":{"path":"/skus"}}]
1 property [{"kind":"in_order_of","path":"/skus","other":{"target":"input","path":"/lines/*/price"}}]
1 property [{"kind":"sum_of","path":"/total","other":{"path":"/skus"}}]
1 property [{"kind":"present","path":"/note","when":{"kind":"equals","path":"/count","other":{"path":"/reference"}}}]
1 property [{"kind":"sorted","path":"/reference"}]
1 property [{"kind":"count_of","path":"/count","other":{"path":"/reference"}}]
1 property [{"kind":"sorted","ignore_case":true}]
1 property [{"kind":"occurs_in","path":"/reference","other":{"path":"/note"},"ignore_case":1}]
1 property [{"kind":"predicate"}]
1 property [{"kind":"predicate","sha256":"12"}]
1 property [{"kind":"present","when":{"kind":"predicate","sha256":"12"}}]
1 property [{"kind":"present","name":""}]
1 property [{"kind":"present","name":"a"},{"kind":"unique","path":"/skus","name":"a"}]
1 acceptance {"match":"approximate"}
1 acceptance {"match":"approximate","tolerance":-1}
1 acceptance {"match":"exact","tolerance":1}
1 acceptance {"match":"judged"}
1 acceptance {"differential_match":"exact"}
1 acceptance {"agreement_min_ppm":0}
1 acceptance {"classes":{"path":"/nope","min_ppm":1}}
1 acceptance {"classes":{"path":"/skus/*","min_ppm":1}}
1 acceptance {"classes":{"path":"/count","min_ppm":0}}
1 acceptance {"classes":{"path":"/count"}}
1 acceptance {"memorise":1}
1 acceptance {"judge_calls":-1}
1 acceptance {"guard_admit_ppm":1000001}
1 acceptance {"max_silent_error_ppm":1000001}
1 acceptance {"silent_error_confidence_ppm":1000000}
1 acceptance {"divergent":"often"}
1 acceptance {"divergent":true}
"#;

fn contract(version: &str, key: &str, value: Value) -> Value {
    let order = "record{body: text, lines: list<record{price: number, sku: text}>}";
    let done = "record{count: int, note?: text, reference: text, skus: list<text>, total: number}";
    let (input, output) = if version == "1" { (order, done) } else { ("json", "json") };
    let root = Record::new()
        .with("contract_version", Value::parse(version).unwrap())
        .with("task", "t")
        .with("scope", Record::new().with("type", "task"))
        .with("interface", Record::new().with("input", input).with("output", output));
    root.with(key, value).into()
}

#[test]
fn every_malformed_form_has_a_golden_message() {
    let mut told = String::new();
    for case in CASES.lines().filter(|line| !line.is_empty()) {
        let (version, rest) = case.split_once(' ').unwrap();
        let (key, text) = rest.split_once(' ').filter(|(key, _)| !key.ends_with('\\')).unwrap_or(("odd key", "1"));
        let error = Contract::from_value(&contract(version, key, Value::parse(text).unwrap()));
        let error = error.map(|_| case).expect_err("it is refused");
        told.push_str(&format!("{case}\n    {}\n    {error}\n", error.code));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &told).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), told, "see the head of this file");
}
