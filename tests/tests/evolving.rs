//! Evolution, whole: the real `auto-host`, candidates that are run as processes or in the sandbox, and
//! nobody who has to be paid. What candidates do to it, it outlives; wherever it is killed, it comes
//! to the same end.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Duration;

use auto_json::Value;
use auto_tests::bench::{Bench, EVOLVE as SEARCH, list, number, text, without};
use server::{Server, said};

/// A folder with the packing that is shipped, and few generations of it.
fn packing() -> Bench {
    let bench = Bench::of("evals/search/evolve");
    bench.edit("auto.toml", "max_generations = 40", "max_generations = 8");
    bench
}

/// A folder with a trainer whose tricks are parameters.
fn hostile(tricks: &[&str]) -> Bench {
    Bench::trainer("", tricks)
}

fn score(report: &Value, stratum: &str, side: &str) -> i64 {
    let score = list(report, "scores").iter().find(|score| text(score, "stratum") == stratum).unwrap();
    score.get(side).and_then(|side| side.get("mean")?.as_i64()).unwrap()
}

/// Without the folder, which is where it is.
fn without_folder(report: &Value) -> Value {
    without(report, &["folder"])
}

#[test]
fn a_packing_heuristic_in_the_sandbox_becomes_better_and_rows_that_nobody_saw_confirm_it() {
    let bench = packing();
    let (exit, report) = bench.said(&[&SEARCH[..], &["--html", "page.html"]].concat());
    assert_eq!((exit, text(&report, "status")), (0, "complete"), "{report}");
    assert!(score(&report, "select", "before") < 880_000 && score(&report, "select", "after") > 920_000, "{report}");
    assert!(score(&report, "confirm", "after") > 920_000);
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("aria-label=\"lineage\"") && page.contains("aria-label=\"fitness by generation\""));
    // What was found is a module that runs by itself.
    let module = fs::read(bench.run().join("made/program.wasm")).unwrap();
    assert_eq!(&module[..4], b"\0asm");
    assert!(!bench.made("program.lang").is_empty());
    // The same search is the same run, and says what came of it.
    let (_, again) = bench.said(&SEARCH);
    assert_eq!(without_folder(&again), without_folder(&report));
    // Another place, the same bytes.
    assert_eq!(without_folder(&packing().said(&SEARCH).1), without_folder(&report));
}

#[test]
fn the_shipped_a_b_test_finds_a_better_policy_and_its_report_tells_of_what_it_tried() {
    let bench = Bench::of("evals/search/evolve");
    bench.edit("ab/auto.toml", "candidates = 8", "candidates = 4");
    let (exit, report) = bench.said(&["search", "evolve", "--config", "ab/auto.toml"]);
    assert_eq!((exit, text(&report, "status")), (0, "complete"), "{report}");
    assert!(score(&report, "confirm", "after") > score(&report, "confirm", "before"), "{report}");
    assert!(bench.made("params.json").contains("retries"));
    let (exit, told) = bench.said(&["search", "report", text(&report, "run"), "--out", "report"]);
    assert_eq!(exit, 0, "{told}");
    let written = bench.read("report/report.md");
    assert!(!written.contains("went through 0 generations"), "{written}");
    let dropped = list(&report, "individuals").iter().find(|own| text(own, "status") == "dropped");
    let kept = written.split("What counted, one after the other").nth(1).unwrap().split("##").next().unwrap();
    assert!(dropped.is_none_or(|own| !kept.contains(text(own, "id"))), "{kept}");
}

#[test]
fn killed_anywhere_it_comes_to_the_same_bytes_and_repeats_nothing() {
    let bench = || {
        let bench = hostile(&["none", "nan"]);
        bench.edit("auto.toml", "max_generations = 12", "max_generations = 6");
        bench
    };
    let (whole, killed) = (bench(), bench());
    let (exit, report) = whole.said(&SEARCH);
    assert_eq!(exit, 0, "{report}");
    let mut kills = 0;
    let again = loop {
        let mut child = killed.host(&SEARCH).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(250 * (kills + 1)));
        if kills < 6 && child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9));
            kills += 1;
            continue;
        }
        let output = child.wait_with_output().unwrap();
        break Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    };
    assert!(kills > 0, "it was over before it could be killed");
    assert_eq!(without_folder(&again), without_folder(&report));
    assert_eq!(killed.ended(), whole.ended(), "nothing was run twice");
}

/// Every trick of the trainer below, and what becomes of it.
const TRICKS: [(&str, &str, &str); 12] = [
    ("loop", "invalid", "[ended-badly]"),
    ("sleep", "invalid", "timed out"),
    ("flood", "invalid", "over its limit of output"),
    ("fork", "invalid", "[nothing-left]"),
    ("huge", "invalid", "over its limit of output"),
    ("symlink", "invalid", "[nothing-left]"),
    ("many", "valid", ""),
    ("other-run", "quarantined", "[other-run]"),
    ("nan", "quarantined", "[not-finite]"),
    ("infinite", "quarantined", "[not-finite]"),
    ("labels", "quarantined", "[foreign-id]"),
    ("memory", "invalid", "[ended-badly]"),
];

#[test]
fn hostile_candidates_are_caught_each_in_its_way_and_the_search_goes_on() {
    let names: Vec<&str> = ["none"].into_iter().chain(TRICKS.iter().map(|trick| trick.0)).collect();
    let bench = hostile(&names);
    bench.edit("auto.toml", "seconds = 60\ncpu", "seconds = 12\ncpu");
    let (exit, report) = bench.said(&SEARCH);
    assert_eq!((exit, text(&report, "status")), (0, "complete"), "{report}");
    let made = bench.made("params.json");
    assert!(made.contains("\"trick\":\"none\"") || made.contains("\"trick\":\"many\""), "{made}");
    let mut seen = BTreeMap::<&str, Vec<&Value>>::new();
    for own in list(&report, "individuals") {
        seen.entry(text(own.get("params").unwrap(), "trick")).or_default().push(own);
    }
    for (trick, status, reason) in TRICKS {
        let own = seen.get(trick).unwrap_or_else(|| panic!("{trick} was not tried; choose another seed"));
        // On a machine that is busy any run may take too long; nothing else may come of one.
        let late = |one: &&&Value| text(one, "status") == "invalid" && text(one, "reason").contains("timed out");
        let caught = |one: &&&Value| text(one, "status") == status && text(one, "reason").contains(reason);
        assert!(own.iter().any(|one| caught(&one)), "{trick}: {own:?}");
        assert!(own.iter().all(|one| caught(&one) || late(&one)), "{trick}: {own:?}");
    }
    // Nothing that somebody started is still there, and nothing was written beside the run.
    assert!(!bench.path("escaped").exists());
    assert!(fs::read_dir(bench.run().join("work")).is_err(), "no folder of an experiment is left");
}

#[test]
fn what_is_wrong_with_the_table_or_the_rows_is_said_before_anything_runs() {
    let refused = |from: &str, to: &str| {
        let bench = hostile(&["none"]);
        bench.edit("auto.toml", from, to);
        let (exit, why) = bench.said(&SEARCH);
        (exit, text(&why, "code").to_owned(), why.to_string())
    };
    let (exit, code, why) = refused("max_generations = 12", "generations = 12");
    assert_eq!((exit, code.as_str()), (1, "bad-settings"));
    assert!(why.contains("/generations") && why.contains("max_generations"), "what is wrong and what is known: {why}");
    assert_eq!(refused("files = [\"rows.jsonl\"]", "files = []").1, "no-rows");
    assert_eq!(refused("files = [\"rows.jsonl\"]", "files = [\"nowhere.jsonl\"]").1, "unreadable");
    assert_eq!(refused("label = \"label\"", "label = \"answer\"").1, "bad-rows");
    assert_eq!(refused("\"trainer.py\"]\nat", "\"nobody.py\"]\nat").1, "unreadable");
    assert_eq!(refused("[\"python3\", \"-S\", \"trainer.py\"]", "[\"no-such-program\"]").1, "no-command");
    assert_eq!(refused("default = \"none\"", "default = \"some\"").1, "bad-settings");
    let bench = hostile(&["none"]);
    let (exit, why) = bench.said(&["search", "evolve"]);
    assert_eq!((exit, text(&why, "code")), (2, "no-config"), "a file that merely lies there names no commands");
    bench.write("rows.jsonl", "{\"x\":1,\"label\":\"a\"}\n{\"x\":");
    assert_eq!(text(&bench.said(&SEARCH).1, "code"), "bad-input");
    bench.edit("trainer.py", "import", "raise SystemExit(3)\nimport");
    bench.write("rows.jsonl", (0..90).map(|at| format!("{{\"x\":{at},\"label\":\"a\"}}\n")).collect::<String>());
    let (exit, why) = bench.said(&SEARCH);
    assert_eq!((exit, text(&why, "code")), (1, "baseline-invalid"), "{why}");
}

#[test]
fn a_teacher_proposes_under_the_cap_and_what_leaves_the_house_is_written_down() {
    let server = Server::start(|_, _| {
        let reply = r#"[{"idea": "all of it", "params": {"skill": 50, "trick": "none"}}]"#;
        let escaped = Value::from(reply).to_string();
        said(&escaped[1..escaped.len() - 1], 400, 40)
    });
    let bench = hostile(&["none"]);
    let teacher = "seed = 7\nteacher = \"model:openai/gpt-4o\"\nstrong_teacher = \"model:openai/gpt-4o-mini\"\n\
        max_cost_usd = 2\nmigration_every = 2";
    bench.edit("auto.toml", "seed = 7", teacher);
    bench.edit("auto.toml", "max_generations = 12", "max_generations = 4");
    let mut command = bench.host(&SEARCH);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.url)).env("OPENAI_API_KEY", "sk-evolve-0123456789");
    let output = command.output().unwrap();
    let report = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(text(&report, "status"), "complete", "{report}");
    let taught = list(&report, "individuals").iter().filter(|own| text(own, "by").contains("gpt-4o"));
    assert_eq!(taught.count(), 1, "the second time it is not new: {report}");
    assert!(bench.made("params.json").contains("\"skill\":50"));
    assert!((1..=2_000_000).contains(&number(&report, "spent_micro_usd")));
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    let calls = number(&report, "calls");
    assert_eq!((sent.lines().count() as u64, server.received().len() as u64), (calls, calls));
    let to = |purpose: &str, model: &str| {
        sent.lines().any(|line| {
            line.contains(&format!("\"purpose\":\"{purpose}\"")) && line.contains(&format!("\"to\":\"{model}\""))
        })
    };
    assert!(to("propose", "openai/gpt-4o") && to("cross", "openai/gpt-4o-mini"), "{sent}");
    assert!(server.received().iter().all(|asked| !asked.body.contains("\\\"label\\\"")), "no row leaves the house");
}

#[test]
fn a_run_that_was_cut_off_can_be_ended_with_what_it_has() {
    let bench = hostile(&["none"]);
    let mut child = bench.host(&SEARCH).stdout(Stdio::piped()).spawn().unwrap();
    while bench.ended() < 8 {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be cut off");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let id = bench.run().file_name().unwrap().to_string_lossy().into_owned();
    let before = bench.ended();
    let (exit, report) = bench.said(&["search", "cancel", &id]);
    assert_eq!((exit, text(&report, "status"), text(&report, "stop")), (0, "cancelled", "cancelled"), "{report}");
    assert_eq!(bench.ended(), before, "nothing was started");
    assert!(bench.made("params.json").contains("\"skill\":2"), "the baseline counts");
    let (exit, why) = bench.said(&["search", "cancel", "evolve-000000000000"]);
    assert_eq!((exit, text(&why, "code")), (2, "no-run"));
}
