//! Spec search, whole: the real `auto-host`, the student of the quickstart as a process of its own,
//! and a teacher that is a script. What a person decides afterwards is part of it, and so is what
//! goes wrong.

mod spec_bench;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Duration;

use auto_json::Value;
use auto_tests::browser;
use spec_bench::server::Server;
use spec_bench::{Bench, SEARCH, default_agent, edits, score, text, without_money};

#[test]
fn the_quickstart_runs_whole_sessions_and_a_person_decides_what_is_left() {
    let bench = Bench::new();
    let given = fs::read_to_string(bench.path("spec.json")).unwrap();
    let (exit, report) = bench.said(&[&SEARCH[..], &["--html", "page.html"]].concat());
    assert_eq!(
        (exit, text(&report, "status"), text(&report, "stop")),
        (0, "awaiting_review", "stagnation"),
        "{report}"
    );
    assert_eq!(
        edits(&report),
        ["applied", "rejected_by_gate", "pending_review", "applied", "pending_review", "invalid", "invalid"]
    );
    assert!(score(&report, "evaluation", "after") > score(&report, "evaluation", "before"));
    assert!(score(&report, "confirm", "after") > score(&report, "confirm", "before"));
    let made = bench.made();
    let agent = default_agent(&made);
    assert_eq!(agent.get("tools").unwrap().to_string(), r#"["calendar"]"#);
    assert_eq!(agent.get("params").unwrap().to_string(), r#"{"max_steps":8}"#);
    assert_eq!(fs::read_to_string(bench.path("spec.json")).unwrap(), given, "what was given is as it was");
    // Nothing that is not allowed out has left, and what left is written down.
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    assert_eq!(sent.lines().count() as u64, report.get("calls").and_then(Value::as_u64).unwrap());
    assert!(sent.contains("\"email\":"), "the address in a trace was taken out: {sent}");
    assert!(report.to_string().contains(r#""left_out":{"denied-path":1}"#));
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("score/total bound 0.0") && page.contains("last line"), "why, and what");
    browser::looked_at(&bench.path("page.html"), &["score/total bound 0.0", "The sender is in the last line"]);

    let id = text(&report, "run").to_owned();
    let pending: Vec<String> = report
        .get("pending")
        .and_then(Value::as_list)
        .unwrap()
        .iter()
        .map(|id| id.as_text().unwrap().to_owned())
        .collect();
    let (exit, done) = bench.said(&["search", "reject", &id, &pending[0]]);
    assert_eq!((exit, text(&done, "status")), (0, "awaiting_review"), "{done}");
    let (exit, done) = bench.said(&["search", "approve", &id, &pending[1]]);
    assert_eq!((exit, text(&done, "status")), (0, "complete"), "{done}");
    assert!(text(default_agent(&bench.made()), "prompt").ends_with("last line of the letter."));
    // What is told is told of what counts now.
    let (_, shown) = bench.said(&["search", "show", &id]);
    for stratum in ["evaluation", "confirm"] {
        assert!(score(&shown, stratum, "after") > score(&report, stratum, "after"), "{stratum}: {shown}");
        assert_eq!(score(&shown, stratum, "before"), score(&report, stratum, "before"));
    }
    let best = score(&shown, "confirm", "after");
    let (exit, again) = bench.said(&["search", "approve", &id, &pending[1]]);
    assert_eq!((exit, text(&again, "code")), (1, "no-such-edit"));
    // The first session alone is taken back, by every byte.
    let (exit, done) = bench.said(&["search", "rollback", &id, "--to", "s1"]);
    assert_eq!(exit, 0, "{done}");
    let (now, before) = (bench.made(), Value::parse(&given).unwrap());
    assert_eq!(default_agent(&now).get("params"), default_agent(&before).get("params"));
    assert_eq!(default_agent(&now).get("tools").unwrap().to_string(), r#"["calendar"]"#, "s2 stands");
    assert_eq!(text(&bench.said(&["search", "rollback", &id, "--to", "s1"]).1, "code"), "rolled-back");
    let (_, shown) = bench.said(&["search", "show", &id]);
    assert_eq!(edits(&shown)[7..], ["rejected_by_user", "applied", "rolled_back"], "the whole story");
    assert!(score(&shown, "confirm", "after") < best, "{shown}");
    let timeline = shown.get("timeline").and_then(Value::as_list).unwrap();
    let gone: Vec<&str> =
        timeline.iter().filter(|one| one.get("taken_back").is_some()).map(|one| text(one, "session")).collect();
    assert_eq!(gone, ["s1"]);
    let (_, list) = bench.said(&["search", "list"]);
    let listed = &list.get("runs").and_then(Value::as_list).unwrap()[0];
    assert_eq!(listed.get("applied").and_then(Value::as_u64), Some(2), "{list}");
    let page = fs::read_to_string(bench.run().join("index.html")).unwrap();
    assert!(page.contains("<dt>2</dt><dd>edits kept</dd>") && page.contains("<dt>1</dt><dd>taken back</dd>"), "{page}");
}

#[test]
fn what_is_wrong_with_the_table_a_spec_or_the_tasks_is_said_before_anything_is_paid() {
    let refused = |file: &str, from: &str, to: &str| {
        let bench = Bench::new();
        bench.edit(file, from, to);
        let (exit, why) = bench.said(&SEARCH);
        assert!(
            !bench.path("spend.jsonl").exists() || fs::read_to_string(bench.path("spend.jsonl")).unwrap().is_empty()
        );
        (exit, text(&why, "code").to_owned(), why.to_string())
    };
    let code = |file, from, to| refused(file, from, to).1;
    let (exit, found, why) = refused("auto.toml", "stagnation_k = 2", "stagnation = 2");
    assert_eq!((exit, found.as_str()), (2, "unknown-key"));
    assert!(why.contains("stagnation_eps") && why.contains("store_task"), "what is known, to whoever reads it: {why}");
    assert!(why.contains("auto.toml:") && why.contains("learning.spec_search.stagnation"), "and where: {why}");
    assert_eq!(code("auto.toml", "enabled = true", "enabled = false"), "not-enabled");
    assert_eq!(code("auto.toml", "spec = \"spec.json\"", ""), "missing-key");
    assert_eq!(code("auto.toml", "[\"student.py\"]", "[\"nobody.py\"]"), "unreadable");
    assert_eq!(code("spec.json", "\"max_steps\": 2", "\"max_steps\": 200"), "bad-value");
    assert_eq!(code("spec.json", "\"backend\": \"none\"", "\"backend\": \"redis\""), "unknown-name");
    assert_eq!(code("spec.json", "auto.spec/1", "auto.spec/9"), "bad-spec");
    assert_eq!(code("tasks.jsonl", "\"id\": \"due-0\"", "\"id\": \"due-1\""), "bad-task");
    assert_eq!(code("tasks.jsonl", "\"expected\"", "\"answer\""), "bad-task");
    assert_eq!(code("traces.jsonl", "\"run-2\"", "\"run-1\""), "duplicate-trace");
    let bench = Bench::new();
    let (exit, why) = bench.said(&["search", "spec"]);
    assert_eq!((exit, text(&why, "code")), (2, "no-config"), "a file that merely lies there names no commands");
}

#[test]
fn a_teacher_that_says_nothing_useful_fails_the_run_and_the_spec_is_what_it_was() {
    for (line, code) in [
        (r#"{"text": "I cannot help with that."}"#, "[reply-refused]"),
        ("{\"text\": \"It is bad at dates.\"}\n{\"text\": \"Really.\"}", "[reply-not-json]"),
        ("{\"text\": \"```json\\n[{\\\"id\\\"\"}\n{\"text\": \"[{\"}", "[reply-truncated]"),
        (r#"{"status": 401, "body": "{}"}"#, "[model-unauthorized]"),
    ] {
        let bench = Bench::new();
        fs::write(bench.path("replies.jsonl"), line).unwrap();
        let (exit, report) = bench.said(&SEARCH);
        assert_eq!((exit, text(&report, "status"), text(&report, "stop")), (1, "failed", "failed"), "{report}");
        assert!(text(&report, "why").contains(code), "{code}: {report}");
        let given = Value::parse(fs::read_to_string(bench.path("spec.json")).unwrap()).unwrap();
        assert_eq!(bench.made(), given);
    }
}

#[test]
fn a_student_that_crashes_scores_nothing_and_a_judge_that_crashes_fails_the_run() {
    let bench = Bench::new();
    bench.edit("student.py", "spec = json.load", "raise SystemExit(3)\nspec = json.load");
    bench.edit("auto.toml", "stagnation_k = 2", "stagnation_k = 2\nmax_sessions = 1");
    let (_, report) = bench.said(&SEARCH);
    assert_eq!(score(&report, "evaluation", "before"), 0, "{report}");
    let bench = Bench::new();
    let judge = "[learning.spec_search.scorer]\nkind = \"command\"\ncommand = [\"python3\", \"-S\", \"judge.py\"]\n\n\
        [learning.spec_search.eligible]";
    bench.edit("auto.toml", "[learning.spec_search.eligible]", judge);
    bench.edit("auto.toml", "student_files = ", "scorer_files = [\"judge.py\"]\nstudent_files = ");
    fs::write(bench.path("judge.py"), "raise SystemExit(1)").unwrap();
    let (exit, report) = bench.said(&SEARCH);
    assert_eq!((exit, text(&report, "code")), (1, "scorer-failed"), "{report}");
}

#[test]
fn killed_anywhere_the_run_comes_to_the_same_spec_and_no_reply_is_paid_for_twice() {
    let started = |bench: &Bench, server: &Server| {
        let mut command = bench.asking(server, &[&SEARCH[..], &["--reissue"]].concat());
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let whole = Bench::live();
    let server = whole.teacher();
    let output = started(&whole, &server).wait_with_output().unwrap();
    let report = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "stagnation"), "{report}");
    assert_eq!((edits(&report), score(&report, "evaluation", "after")), (vec!["applied".to_owned(); 3], 1_000_000));
    assert_eq!(score(&report, "confirm", "after"), 1_000_000);
    let calls = report.get("calls").and_then(Value::as_u64).unwrap();
    assert_eq!(server.received().len() as u64, calls);
    assert!(report.get("spent_micro_usd").and_then(Value::as_u64).unwrap() > 0);

    let killed = Bench::live();
    let server = killed.teacher();
    let mut kills = 0;
    let again = loop {
        let mut child = started(&killed, &server);
        std::thread::sleep(Duration::from_millis(600 * (kills + 1)));
        if kills < 4 && child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9));
            kills += 1;
            continue;
        }
        let output = child.wait_with_output().unwrap();
        break Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    };
    assert!(kills > 0, "the run was over before it could be killed");
    assert_eq!(without_money(&again), without_money(&report));
    assert_eq!(killed.made(), whole.made());
    assert!(server.received().len() as u64 <= calls + kills, "at most what was in flight is asked again");
}
