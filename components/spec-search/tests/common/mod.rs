//! A spec, what there is, and edits of it.

#![allow(dead_code, reason = "each test uses a part")]

pub mod gate;
pub mod house;

use auto_json::Value;
use auto_spec_search::Fields;
use auto_spec_search::catalog::Catalog;
use auto_spec_search::edit::{Edit, Proposal};
use auto_spec_search::spec::Spec;

pub const SPEC: &str = r#"{
    "schema": "auto.spec/1",
    "intelligence": {"default_model": "small", "routing": {"sums": "small"}, "params": {"small": {"temperature": 0.5}}},
    "engine": {"id": "local", "params": {"batch": 1}},
    "agents": {
        "default": {"class": "plain", "params": {"max_turns": 3}, "tools": ["lookup"],
            "prompt": "You are a clerk.\nAnswer in one word.", "exemplars": []},
        "max": {"class": "plain", "params": {}, "tools": [], "prompt": "", "exemplars": []}
    },
    "tools": {"lookup": {"description": "finds"}, "look": {"description": "sees"}, "send": {"description": "sends"}},
    "memory": {"backend": "none", "params": {}}
}"#;

pub const CATALOG: &str = r#"{
    "models": {"small": {"temperature": {"kind": "decimal", "min": 0, "max": 2}, "max": {"kind": "whole", "min": 1, "max": 9}},
        "qwen2.5:7b": {}},
    "engines": {"local": {"batch": {"kind": "whole", "min": 1, "max": 8}}, "remote": {"batch": {"kind": "whole", "min": 1, "max": 8}}},
    "agent_classes": {"plain": {"max_turns": {"kind": "whole", "min": 1, "max": 9}, "careful": {"kind": "flag"},
        "style": {"kind": "choice", "choices": ["short", "long"]}, "note": {"kind": "text", "longest": 20}},
        "react": {"max_turns": {"kind": "whole", "min": 1, "max": 9}}},
    "tools": {"lookup": {"side_effects": false}, "look": {"side_effects": false}, "send": {}},
    "memory_backends": {"none": {"size": {"kind": "whole", "min": 0, "max": 10}}, "sqlite": {}}
}"#;

pub fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn spec() -> Spec {
    Spec::parse(SPEC).expect("a spec")
}

pub fn catalog() -> Catalog {
    let value = json(CATALOG);
    Catalog::read(&Fields::of(&value, "/catalog", "bad-settings").expect("an object")).expect("a catalog")
}

pub fn edit(op: &str, payload: &str) -> Edit {
    let text = format!(r#"{{"op":"{op}","payload":{payload}}}"#);
    Edit::read(&json(&text), "").unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

pub fn proposal(edits: &[(&str, &str)]) -> Proposal {
    let edits = edits.iter().map(|(op, payload)| edit(op, payload)).collect();
    Proposal::of(vec!["c1".to_owned()], edits, String::new())
}
