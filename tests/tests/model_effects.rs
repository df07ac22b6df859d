//! A step that stays a model's: what an artifact asks for is asked of a model, under the cap.

#[path = "../cli/asking.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod asking;
#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::fs;

use auto_json::Value;
use auto_schema::ir::{Body, Capability, Node};
use auto_tests::tool::Tool;
use server::{Server, json, said};

/// What the step is called, and who does it here.
const TOOL: [&str; 2] = ["--tool", "model:classify=model:openai/gpt-4o"];

/// A folder with an artifact that asks `model:classify` about its input.
fn place() -> Tool {
    let body = Body::Effect { capability: "model:classify".to_owned(), catches: false };
    let mut ask: Node = asking::node(1, body);
    ask.effects.capabilities = vec![Capability::Model("classify".to_owned())];
    let graph = asking::graph("text", vec![ask, asking::expression(2, r#"{"kind": $}"#)]);
    let place = Tool::new();
    fs::write(place.path("ask.cbin"), asking::sealed(&graph)).unwrap();
    place
}

/// Runs it with `--json`; the exit code and the object.
fn run(place: &Tool, server: &Server, more: &[&str]) -> (Option<i32>, Value) {
    let arguments = ["run", "ask.cbin", "--input", "\"Where is it?\"", "--json"];
    let output = place.asking(&server.url, &[&arguments, more].concat()).output().unwrap();
    (output.status.code(), Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
}

fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    path.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_text)
}

#[test]
fn a_model_does_the_step_that_is_its_and_what_it_costs_is_in_the_ledger() {
    let server = Server::start(|_, _| said("delivery", 100, 5));
    let place = place();
    let (exit, reply) = run(&place, &server, &[&TOOL[..], &["--spend-cap-usd", "1"]].concat());
    assert_eq!((exit, text(&reply, &["output", "kind"])), (Some(0), Some("delivery")), "{reply}");
    let body = server.received()[0].body.clone();
    assert!(body.contains("classify") && body.contains("Where is it?"), "{body}");
    assert_eq!(auto_model::Ledger::open(&place.path("spend.jsonl")).unwrap().spent().0, 300);
}

#[test]
fn without_a_cap_or_with_a_server_that_fails_the_artifact_is_told_and_abstains() {
    let server = Server::start(|_, _| json(500, "{}"));
    let place = place();
    let effect = |more: &[&str]| {
        let (exit, reply) = run(&place, &server, more);
        assert_eq!((exit, text(&reply, &["abstained", "reason"])), (Some(3), Some("effect-failed")), "{reply}");
        let effects = reply.get("effects").and_then(Value::as_list).unwrap();
        text(&effects[0], &["outcome"]).map(str::to_owned)
    };
    assert_eq!(effect(&TOOL).as_deref(), Some("spend-cap"));
    assert_eq!(server.received().len(), 0);
    assert_eq!(effect(&[&TOOL[..], &["--spend-cap-usd", "1"]].concat()).as_deref(), Some("model-failed"));
}

#[test]
fn what_is_not_granted_or_no_model_is_refused_before_anything_is_asked() {
    let server = Server::start(|_, _| said("delivery", 1, 1));
    let place = place();
    for (more, code) in [
        (&[][..], "not-granted"),
        (&["--tool", "model:classify=model:no-such-model"], "unknown-model"),
        (&["--tool", "model:classify=model:openai/gpt-4o --fast"], "bad-tool"),
        (&["--tool-once", "model:classify=model:openai/gpt-4o"], "bad-tool"),
    ] {
        let (exit, reply) = run(&place, &server, more);
        assert_eq!(text(&reply, &["code"]), Some(code), "{reply}");
        assert!(matches!(exit, Some(1 | 2)));
    }
    assert_eq!(server.received().len(), 0);
}
