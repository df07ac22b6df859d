//! When a spec search begins by itself, and what one begins with that goes on from another.

mod spec_bench;

use std::fs;

use auto_json::Value;
use spec_bench::{Bench, SEARCH, edits, text};

fn trigger(report: &Value) -> &Value {
    let mut timeline = report.get("timeline").and_then(Value::as_list).unwrap().iter();
    let session = timeline.rfind(|one| text(one, "kind") == "session").unwrap();
    session.get("detail").and_then(|detail| detail.get("trigger")).unwrap()
}

fn spec(report: &Value, side: &str) -> String {
    text(report.get(side).unwrap(), "id").to_owned()
}

#[test]
fn a_search_begins_by_itself_where_it_is_due_and_goes_on_from_what_the_last_one_left() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("max_sessions = 1");
    let server = bench.teacher();
    let due = [&SEARCH[..], &["--when-due"]].concat();
    let triggers = |more: &str| format!("[learning.spec_search.triggers]\n{more}\n\n[learning.spec_search.student]");
    bench.edit("auto.toml", "[learning.spec_search.student]", &triggers("cluster_enabled = false"));
    let (exit, why) = bench.asked(&server, &due);
    assert_eq!((exit, text(&why, "code")), (0, "not-due"), "seven are less than twenty: {why}");
    assert!(!bench.path("search-runs").exists() && server.received().is_empty());

    bench.edit("auto.toml", "cluster_enabled = false", "cluster_enabled = false\nscheduled_min_new_traces = 7");
    let (exit, first) = bench.asked(&server, &due);
    assert_eq!((exit, edits(&first), text(trigger(&first), "kind")), (0, vec!["applied".to_owned()], "scheduled"));
    let asked = server.received();
    assert!(asked.iter().any(|question| question.body.contains("new_trace_count")), "the teacher is told why");
    let (exit, why) = bench.asked(&server, &due);
    assert_eq!((exit, text(&why, "code")), (0, "not-due"), "none of them is new any more: {why}");

    let row = |at: u32| {
        format!(
            "{{\"id\":\"late-{at}\",\"agent\":\"default\",\"source\":\"clerk\",\"input\":\"open {at}\",\"feedback\":0.1}}\n"
        )
    };
    let traces = fs::read_to_string(bench.path("traces.jsonl")).unwrap();
    fs::write(bench.path("traces.jsonl"), traces + &(0..5).map(row).collect::<String>()).unwrap();
    bench.edit("auto.toml", "cluster_enabled = false", "cluster_enabled = true");
    let (exit, second) = bench.asked(&server, &due);
    assert_eq!((exit, text(trigger(&second), "kind")), (0, "cluster"), "{second}");
    assert_eq!(spec(&second, "before"), spec(&first, "after"));
    assert_ne!(text(&second, "run"), text(&first, "run"));

    let (exit, why) = bench.asked(&server, &[&SEARCH[..], &["--flag", "late-9"]].concat());
    assert_eq!((exit, text(&why, "code")), (2, "no-such-trace"), "{why}");
    let (exit, third) = bench.asked(&server, &[&SEARCH[..], &["--flag", "late-2"]].concat());
    assert_eq!((exit, text(trigger(&third), "kind")), (0, "user_flag"), "{third}");
    assert_eq!(spec(&third, "before"), spec(&second, "after"));

    // Without either it begins where the table says.
    let (exit, plain) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, text(trigger(&plain), "kind")), (0, "on_demand"), "{plain}");
    assert_eq!(spec(&plain, "before"), spec(&first, "before"));
}

#[test]
fn no_search_begins_by_itself_while_edits_of_the_last_one_wait_or_it_has_not_come_to_its_end() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("max_sessions = 1");
    bench.edit("auto.toml", "autonomy_mode = \"auto\"", "autonomy_mode = \"manual\"");
    let triggers = "[learning.spec_search.triggers]\nscheduled_min_new_traces = 1\n\n[learning.spec_search.student]";
    bench.edit("auto.toml", "[learning.spec_search.student]", triggers);
    let server = bench.teacher();
    let due = [&SEARCH[..], &["--when-due"]].concat();
    let (exit, first) = bench.asked(&server, &due);
    assert_eq!((exit, text(&first, "status")), (0, "awaiting_review"), "{first}");
    let more = "{\"id\":\"late\",\"agent\":\"default\",\"source\":\"clerk\",\"input\":\"open\"}\n";
    let traces = fs::read_to_string(bench.path("traces.jsonl")).unwrap();
    fs::write(bench.path("traces.jsonl"), traces + more).unwrap();
    let (exit, why) = bench.asked(&server, &due);
    assert_eq!((exit, text(&why, "code")), (0, "not-due"), "{why}");
    assert!(text(&why, "why").contains("wait for a person"), "{why}");
    fs::remove_file(bench.run().join("report.json")).unwrap();
    let (exit, why) = bench.asked(&server, &due);
    assert_eq!((exit, text(&why, "code")), (1, "unfinished"), "{why}");
    assert!(why.to_string().contains("--resume spec-search-"), "{why}");
}
