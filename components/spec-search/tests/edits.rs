//! Edits of a spec: what each operation does, what is refused, and that changes go in and out
//! exactly.

mod common;

use auto_json::Value;
use auto_spec_search::apply::{Change, apply, inverse, replay};
use auto_spec_search::edit::{Edit, Op, Primitive, Tier};
use auto_spec_search::spec::{Path, Spec};
use common::{SPEC, catalog, edit, json, proposal, spec};
use proptest::prelude::*;

/// One edit of each operation that changes the spec, and the place it changes.
const WORKING: [(&str, &str, &str, &str); 16] = [
    (
        "set_model_for_query_class",
        r#"{"query_class":"sums","model":"qwen2.5:7b"}"#,
        "/intelligence/routing/sums",
        r#""qwen2.5:7b""#,
    ),
    (
        "set_model_for_query_class",
        r#"{"query_class":"new","model":"small"}"#,
        "/intelligence/routing/new",
        r#""small""#,
    ),
    (
        "set_model_param",
        r#"{"model":"small","param":"temperature","value":0.25}"#,
        "/intelligence/params/small/temperature",
        "0.25",
    ),
    ("set_model_param", r#"{"model":"small","param":"max","value":9}"#, "/intelligence/params/small/max", "9"),
    ("set_engine", r#"{"id":"remote"}"#, "/engine/id", r#""remote""#),
    ("set_engine_param", r#"{"param":"batch","value":8}"#, "/engine/params/batch", "8"),
    (
        "patch_system_prompt",
        r#"{"diff":"@@ -2 +2,2 @@\n Answer in one word.\n+Be kind."}"#,
        "/agents/default/prompt",
        r#""You are a clerk.\nAnswer in one word.\nBe kind.""#,
    ),
    ("replace_system_prompt", r#"{"agent":"max","new_content":"Count."}"#, "/agents/max/prompt", r#""Count.""#),
    ("set_agent_class", r#"{"new_class":"react"}"#, "/agents/default/class", r#""react""#),
    ("set_agent_param", r#"{"param":"careful","value":true}"#, "/agents/default/params/careful", "true"),
    (
        "edit_few_shot_exemplars",
        r#"{"exemplars":[{"input":"1+1","output":"2"}]}"#,
        "/agents/default/exemplars",
        r#"[{"input":"1+1","output":"2"}]"#,
    ),
    ("add_tool_to_agent", r#"{"agent":"max","tool_name":"look"}"#, "/agents/max/tools/look", "true"),
    ("remove_tool_from_agent", r#"{"tool_name":"lookup"}"#, "/agents/default/tools/lookup", ""),
    (
        "edit_tool_description",
        r#"{"tool_name":"look","new_description":"sees \"all\""}"#,
        "/tools/look/description",
        r#""sees \"all\"""#,
    ),
    ("set_memory_backend", r#"{"backend":"sqlite"}"#, "/memory/backend", r#""sqlite""#),
    ("set_memory_param", r#"{"param":"size","value":10}"#, "/memory/params/size", "10"),
];

fn code(op: &str, payload: &str) -> &'static str {
    let text = format!(r#"{{"op":"{op}","payload":{payload}}}"#);
    match Edit::read(&json(&text), "") {
        Err(refusal) => refusal.code,
        Ok(edit) => {
            let one = auto_spec_search::edit::Proposal::of(vec![], vec![edit], String::new());
            apply(&spec(), &one, &catalog()).map(|applied| panic!("{text}: {}", applied.spec.text())).unwrap_err().code
        }
    }
}

#[test]
fn every_operation_changes_exactly_one_place() {
    for (op, payload, at, value) in WORKING {
        let applied =
            apply(&spec(), &proposal(&[(op, payload)]), &catalog()).unwrap_or_else(|why| panic!("{op}: {why}"));
        assert_eq!(applied.changes.len(), 1, "{op}");
        let change = &applied.changes[0];
        let shown = change.new.as_ref().map(|new| new.canonical().into_string()).unwrap_or_default();
        assert_eq!((change.at.to_string().as_str(), shown.as_str()), (at, value), "{op}");
        assert_eq!(replay(&applied.spec, &inverse(&applied.changes)).as_ref(), Ok(&spec()), "{op} and back");
        assert_ne!(applied.spec.id(), spec().id());
    }
    let tried: Vec<&str> = WORKING.iter().map(|(op, ..)| *op).collect();
    assert!(Op::ALL.iter().all(|op| tried.contains(&op.name()) || *op == Op::LoraFinetune));
}

#[test]
fn an_edit_that_was_kept_is_the_same_edit_when_it_is_read_again() {
    for (op, payload, ..) in WORKING {
        let one = edit(op, payload);
        let again = Edit::read(&one.to_value(), "").expect("read again");
        assert_eq!((again.id.as_str(), again.agent.as_str()), (one.id.as_str(), one.agent.as_str()), "{op}");
    }
    let named = edit("replace_system_prompt", r#"{"agent":"default","new_content":"x"}"#);
    assert_eq!(named.id, edit("replace_system_prompt", r#"{"new_content":"x"}"#).id);
}

#[test]
fn four_primitives_can_be_edited_and_learning_cannot() {
    for primitive in [Primitive::Intelligence, Primitive::Engine, Primitive::Agents, Primitive::ToolsAndMemory] {
        assert!(Op::ALL.iter().any(|op| op.primitive() == primitive), "{primitive:?}");
    }
    assert_eq!(code("set_learning_param", "{}"), "unknown-op");
    let with = SPEC.replacen('{', r#"{"learning":{},"#, 1);
    assert_eq!(Spec::parse(&with).expect_err("unknown").at, "/learning");
}

#[test]
fn tiers_are_those_of_the_table_and_a_tool_with_side_effects_needs_a_person() {
    let catalog = catalog();
    let tier = |op, payload| edit(op, payload).tier(&catalog);
    assert_eq!(tier("add_tool_to_agent", r#"{"tool_name":"look"}"#), Tier::Auto);
    assert_eq!(tier("add_tool_to_agent", r#"{"tool_name":"send"}"#), Tier::Review);
    assert_eq!(tier("add_tool_to_agent", r#"{"tool_name":"unheard"}"#), Tier::Review);
    assert_eq!(tier("lora_finetune", "{}"), Tier::Manual);
    let review = ["set_engine", "set_memory_backend", "patch_system_prompt", "replace_system_prompt"];
    let review = [review.as_slice(), &["set_agent_class", "edit_few_shot_exemplars"]].concat();
    for op in Op::ALL.iter().filter(|op| **op != Op::LoraFinetune) {
        let wanted = if review.contains(&op.name()) { Tier::Review } else { Tier::Auto };
        assert_eq!(op.tier(), wanted, "{}", op.name());
    }
    let both =
        proposal(&[("set_engine", r#"{"id":"remote"}"#), ("set_engine_param", r#"{"param":"batch","value":2}"#)]);
    assert_eq!(both.tier(&catalog), Tier::Review, "the strictest of its edits");
}

#[test]
fn what_a_teacher_says_of_tier_is_not_read_and_a_wrong_pillar_is_refused() {
    let text = r#"{"op":"set_engine","pillar":"engine","risk_tier":"auto","payload":{"id":"remote"}}"#;
    assert_eq!(Edit::read(&json(text), "").expect("read").tier(&catalog()), Tier::Review);
    let wrong = text.replace(r#""pillar":"engine""#, r#""pillar":"tools""#);
    assert_eq!(Edit::read(&json(&wrong), "").expect_err("mismatch").code, "pillar-mismatch");
}

#[test]
fn names_that_are_paths_and_things_that_are_not_there_are_refused() {
    assert_eq!(code("replace_system_prompt", r#"{"agent":"../../etc","new_content":"x"}"#), "bad-name");
    assert_eq!(code("replace_system_prompt", r#"{"agent":"a/b","new_content":"x"}"#), "bad-name");
    assert_eq!(code("replace_system_prompt", r#"{"agent":"clerk","new_content":"x"}"#), "unknown-name");
    let target = json(r#"{"op":"replace_system_prompt","target":"agents.../..prompt","payload":{"new_content":"x"}}"#);
    assert_eq!(Edit::read(&target, "").expect_err("a path").code, "bad-name");
    let target = json(r#"{"op":"replace_system_prompt","target":"agents.max.prompt","payload":{"new_content":"x"}}"#);
    assert_eq!(Edit::read(&target, "").expect("read").agent, "max");
    for (op, payload) in [
        ("set_model_for_query_class", r#"{"query_class":"sums","model":"gpt"}"#),
        ("set_model_param", r#"{"model":"gpt","param":"temperature","value":1}"#),
        ("set_model_param", r#"{"model":"small","param":"temp","value":1}"#),
        ("set_engine", r#"{"id":"warp"}"#),
        ("set_agent_class", r#"{"new_class":"pirate"}"#),
        ("add_tool_to_agent", r#"{"tool_name":"loo"}"#),
        ("edit_tool_description", r#"{"tool_name":"lookups","new_description":"x"}"#),
        ("set_memory_backend", r#"{"backend":"redis"}"#),
    ] {
        assert_eq!(code(op, payload), "unknown-name", "{op} {payload}");
    }
}

#[test]
fn values_are_of_the_kind_and_range_of_their_key() {
    for (payload, why) in [
        (r#"{"model":"small","param":"temperature","value":2.000001}"#, "above"),
        (r#"{"model":"small","param":"temperature","value":-0.1}"#, "below"),
        (r#"{"model":"small","param":"temperature","value":"0.5"}"#, "a text"),
        (r#"{"model":"small","param":"max","value":1.5}"#, "no whole number"),
        (r#"{"model":"small","param":"max","value":true}"#, "a flag"),
    ] {
        assert_eq!(code("set_model_param", payload), "bad-value", "{why}");
    }
    for value in [r#""medium""#, "null", r#"["short"]"#] {
        let payload = format!(r#"{{"param":"style","value":{value}}}"#);
        assert!(["bad-value", "bad-edit"].contains(&code("set_agent_param", &payload)), "{value}");
    }
    assert_eq!(code("set_agent_param", r#"{"param":"note","value":"more than twenty bytes"}"#), "bad-value");
    assert_eq!(code("edit_few_shot_exemplars", r#"{"exemplars":"none"}"#), "bad-spec");
    assert_eq!(code("edit_few_shot_exemplars", r#"{"exemplars":[{"input":"x"}]}"#), "bad-spec");
    assert_eq!(code("replace_system_prompt", r#"{"new_content":7}"#), "bad-edit");
    assert_eq!(code("replace_system_prompt", r#"{"content":"x"}"#), "bad-edit");
    assert_eq!(code("replace_system_prompt", "{}"), "bad-edit");
    let long = "x".repeat(auto_spec_search::spec::LONGEST_TEXT + 1);
    assert_eq!(code("replace_system_prompt", &format!(r#"{{"new_content":"{long}"}}"#)), "bad-spec");
}

#[test]
fn an_edit_that_changes_nothing_is_invalid_and_never_gated() {
    for (op, payload) in [
        ("set_model_for_query_class", r#"{"query_class":"sums","model":"small"}"#),
        ("set_model_param", r#"{"model":"small","param":"temperature","value":0.5}"#),
        ("set_model_param", r#"{"model":"small","param":"temperature","value":5e-1}"#),
        ("add_tool_to_agent", r#"{"tool_name":"lookup"}"#),
        ("remove_tool_from_agent", r#"{"tool_name":"look"}"#),
        ("edit_tool_description", r#"{"tool_name":"look","new_description":"sees"}"#),
        ("edit_few_shot_exemplars", r#"{"exemplars":[]}"#),
        ("set_engine", r#"{"id":"local"}"#),
    ] {
        assert_eq!(code(op, payload), "no-op", "{op} {payload}");
    }
    let there_and_back = proposal(&[("set_engine", r#"{"id":"remote"}"#), ("set_engine", r#"{"id":"local"}"#)]);
    assert_eq!(apply(&spec(), &there_and_back, &catalog()).expect_err("nothing").code, "no-op");
    assert_eq!(apply(&spec(), &proposal(&[]), &catalog()).expect_err("empty").code, "empty-proposal");
}

#[test]
fn of_a_proposal_all_edits_stand_or_none_does() {
    let bad = proposal(&[("set_engine", r#"{"id":"remote"}"#), ("set_engine", r#"{"id":"warp"}"#)]);
    assert_eq!(apply(&spec(), &bad, &catalog()).expect_err("one is bad").code, "unknown-name");
    // A class whose parameters the agent does not have any more: what is left has to fit.
    let careful = ("set_agent_param", r#"{"param":"careful","value":true}"#);
    let react = ("set_agent_class", r#"{"new_class":"react"}"#);
    assert_eq!(apply(&spec(), &proposal(&[careful, react]), &catalog()).expect_err("misfit").code, "unknown-name");
    let twice = proposal(&[
        ("replace_system_prompt", r#"{"new_content":"Count."}"#),
        ("patch_system_prompt", r#"{"diff":"@@ -1 +1,2 @@\n Count.\n+Twice."}"#),
    ]);
    let applied = apply(&spec(), &twice, &catalog()).expect("both");
    assert_eq!(applied.changes.len(), 1, "one place, one change");
    assert_eq!(applied.changes[0].new, Some(Value::from("Count.\nTwice.")));
}

#[test]
fn a_model_that_nobody_trained_is_refused() {
    assert_eq!(code("lora_finetune", r#"{"model":"small"}"#), "no-trainer");
    assert_eq!(code("lora_finetune", r#"{"trained":"mine"}"#), "bad-edit", "a teacher cannot say it was");
}

#[test]
fn names_with_dots_quotes_and_prefixes_are_one_key_and_hit_no_other() {
    let dotted = ("set_model_for_query_class", r#"{"query_class":"new","model":"qwen2.5:7b"}"#);
    let max = ("set_agent_param", r#"{"agent":"max","param":"max_turns","value":7}"#);
    let empty = ("add_tool_to_agent", r#"{"agent":"max","tool_name":"look"}"#);
    let quoted = ("edit_tool_description", r#"{"tool_name":"look","new_description":"a \"b\" \\ 'c' = [d]"}"#);
    let applied = apply(&spec(), &proposal(&[dotted, max, empty, quoted]), &catalog()).expect("applies");
    let at = |pointer| applied.spec.at(&Path::parse(pointer).expect("a pointer"));
    assert_eq!(at("/intelligence/routing/new"), Some("qwen2.5:7b".into()));
    assert_eq!(at("/agents/max/params/max_turns"), Some(7i64.into()));
    assert_eq!(at("/agents/default/params/max_turns"), Some(3i64.into()));
    assert_eq!((at("/agents/max/tools/look"), at("/agents/max/tools/lookup")), (Some(true.into()), None));
    assert_eq!(at("/tools/look/description"), Some("a \"b\" \\ 'c' = [d]".into()));
    assert_eq!(Spec::parse(&applied.spec.text()).as_ref(), Ok(&applied.spec), "what was written reads back");
}

#[test]
fn broken_specs_are_refused_at_their_place() {
    for (from, to, at) in [
        ("auto.spec/1", "auto.spec/2", "/schema"),
        (
            r#""class": "plain", "params": {"max_turns": 3}"#,
            r#""klass": "plain", "params": {"max_turns": 3}"#,
            "/agents/default/klass",
        ),
        (r#""max_turns": 3"#, r#""max_turns": [3]"#, "/agents/default/params/max_turns"),
        (r#"["lookup"]"#, r#"["lookup", "lookup"]"#, "/agents/default/tools"),
        (r#"["lookup"]"#, r#"["nothing"]"#, "/agents/default/tools"),
        (r#""max": {"class""#, r#""m/x": {"class""#, "/agents/m/x"),
        (r#""backend": "none""#, r#""backend": 1"#, "/memory/backend"),
        (r#""sums": "small""#, r#""sums": "s m"#, ""),
    ] {
        let text = SPEC.replacen(from, to, 1);
        assert_ne!(text, SPEC, "{from}");
        assert_eq!(Spec::parse(&text).expect_err(to).at, at, "{to}");
    }
}

#[test]
fn a_rollback_tells_every_place_that_something_else_was_put_since() {
    let first = apply(
        &spec(),
        &proposal(&[("set_engine", r#"{"id":"remote"}"#), ("replace_system_prompt", r#"{"new_content":"A"}"#)]),
        &catalog(),
    )
    .expect("applies");
    let later = apply(&first.spec, &proposal(&[("replace_system_prompt", r#"{"new_content":"B"}"#)]), &catalog())
        .expect("applies");
    let conflicts = replay(&later.spec, &inverse(&first.changes)).expect_err("the prompt is another");
    assert_eq!(
        conflicts.iter().map(|one| (one.code, one.at.as_str())).collect::<Vec<_>>(),
        [("conflict", "/agents/default/prompt")]
    );
    let other = apply(&first.spec, &proposal(&[("add_tool_to_agent", r#"{"tool_name":"look"}"#)]), &catalog())
        .expect("applies");
    let back = replay(&other.spec, &inverse(&first.changes)).expect("no conflict");
    assert_eq!(back.at(&Path::of(["agents", "default", "tools", "look"])), Some(true.into()), "what came later stays");
}

fn any_edits() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    prop::collection::vec((0..WORKING.len()).prop_map(|at| (WORKING[at].0, WORKING[at].1)), 1..6)
}

proptest! {
    #[test]
    fn changes_put_in_twice_are_in_once_and_their_inverse_restores_every_byte(edits in any_edits()) {
        let (spec, catalog) = (spec(), catalog());
        if let Ok(applied) = apply(&spec, &proposal(&edits), &catalog) {
            prop_assert_eq!(replay(&spec, &applied.changes), Ok(applied.spec.clone()));
            prop_assert_eq!(replay(&applied.spec, &applied.changes), Ok(applied.spec.clone()));
            let back = replay(&applied.spec, &inverse(&applied.changes)).expect("nothing came between");
            prop_assert_eq!(back.text(), spec.text());
            for change in &applied.changes {
                prop_assert_eq!(Change::read(&change.to_value()), Some(change.clone()));
            }
            // Applying the proposal again changes nothing, or is refused: never a third spec.
            if !edits.iter().any(|(op, _)| *op == "patch_system_prompt")
                && let Ok(again) = apply(&applied.spec, &proposal(&edits), &catalog)
            {
                prop_assert_eq!(again.spec, applied.spec);
            }
        }
    }

    #[test]
    fn no_text_in_an_edit_makes_it_panic(op in 0..Op::ALL.len(), a in ".{0,12}", b in ".{0,12}") {
        let op = Op::ALL[op];
        let (need, _) = op.payload();
        let mut payload = auto_json::Record::new();
        for (at, key) in need.iter().enumerate() {
            payload.set(*key, if at % 2 == 0 { a.as_str() } else { b.as_str() });
        }
        let value = auto_json::Record::new().with("op", op.name()).with("payload", payload).into();
        if let Ok(edit) = Edit::read(&value, "") {
            let one = auto_spec_search::edit::Proposal::of(vec![], vec![edit], String::new());
            let _ = apply(&spec(), &one, &catalog());
        }
    }
}
