//! What a teacher proposes: read against the spec as it is.

mod common;

use std::collections::BTreeSet;

use auto_spec_search::plan::{Against, read};
use common::{catalog, spec};

fn codes(reply: &str) -> (usize, Vec<&'static str>) {
    let (spec, catalog) = (spec(), catalog());
    let clusters = BTreeSet::from(["dates".to_owned(), "sums".to_owned()]);
    let tried = BTreeSet::new();
    let against = Against { spec: &spec, catalog: &catalog, clusters: &clusters, tried: &tried };
    match read(reply, &against) {
        Ok((plan, dropped)) => (plan.len(), dropped.into_iter().map(|one| one.why.code).collect()),
        Err(refusal) => (0, vec![refusal.code]),
    }
}

const GOOD: &str = r#"{"targets":["dates"],"edits":[{"op":"set_engine","payload":{"id":"remote"}},
    {"op":"set_engine_param","payload":{"param":"batch","value":4}}],"rationale":"faster"}"#;

#[test]
fn proposals_of_several_edits_and_single_edits_are_both_read() {
    let single = r#"{"op":"set_agent_param","expected_improvement":"sums","payload":{"param":"max_turns","value":9}}"#;
    assert_eq!(codes(&format!("Plan:\n```json\n[{GOOD},{single}]\n```")), (2, vec![]));
}

#[test]
fn each_bad_proposal_is_told_and_the_rest_stands() {
    let edit = |edit: &str| format!(r#"{{"targets":["sums"],"edits":[{edit}]}}"#);
    for (bad, code) in [
        (GOOD.replace("dates", "rivers"), "unknown-cluster"),
        (GOOD.replace("dates", "_rest"), "unknown-cluster"),
        (GOOD.to_owned(), "tried-before"),
        (GOOD.replace("\"dates\"", "\"sums\""), "tried-before"),
        (r#"{"targets":[],"edits":[]}"#.to_owned(), "bad-proposal"),
        (r#"{"targets":["sums"],"edits":[]}"#.to_owned(), "bad-proposal"),
        (r#"{"targets":["sums"],"edits":[{}],"cost":1}"#.to_owned(), "bad-proposal"),
        (r#"{"op":"set_engine","payload":{"id":"remote"}}"#.to_owned(), "bad-proposal"),
        (edit(r#"{"op":"rm","payload":{}}"#), "unknown-op"),
        (edit(r#"{"op":"replace_system_prompt","payload":{"agent":"../x","new_content":"y"}}"#), "bad-name"),
        (edit(r#"{"op":"set_engine","payload":{"id":"local"}}"#), "no-op"),
        (edit(r#"{"op":"patch_system_prompt","payload":{"diff":"be nice"}}"#), "bad-diff"),
        (
            edit(r#"{"op":"patch_system_prompt","payload":{"diff":"@@ -1 +1 @@\n-No such line\n+x"}}"#),
            "patch-does-not-apply",
        ),
        (edit(r#"{"op":"set_engine_param","payload":{"param":"batch","value":99}}"#), "bad-value"),
    ] {
        assert_eq!(codes(&format!("[{GOOD},{bad}]")), (1, vec![code]), "{bad}");
    }
}

#[test]
fn replies_without_a_plan_have_the_codes_of_replies() {
    assert_eq!(codes("[{\"targets\":[\"dates\"],").1, ["reply-truncated"]);
    assert_eq!(codes("I cannot do that.").1, ["reply-refused"]);
    assert_eq!(codes("Use the remote engine.").1, ["reply-not-json"]);
    assert_eq!(codes("[]"), (0, vec![]));
}

#[test]
fn a_plan_has_no_more_proposals_than_may_be_tried() {
    let many: Vec<String> = (1..=9)
        .flat_map(|turns| (1..=2).map(move |batch| (turns, batch)))
        .map(|(turns, batch)| {
            format!(
                r#"{{"targets":["sums"],"edits":[{{"op":"set_agent_param","payload":{{"agent":"max","param":"max_turns","value":{turns}}}}},
                {{"op":"set_memory_param","payload":{{"param":"size","value":{batch}}}}}]}}"#
            )
        })
        .collect();
    let (taken, dropped) = codes(&format!("[{}]", many.join(",")));
    assert_eq!((taken, dropped), (15, vec!["too-many-proposals"; 3]));
}
