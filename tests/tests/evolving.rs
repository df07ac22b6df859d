//! Evolution, whole: the real `auto-host`, candidates that are run as processes or in the sandbox, and
//! nobody who has to be paid. What candidates do to it, it outlives; wherever it is killed, it comes
//! to the same end.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use auto_json::{Record, Value};
use auto_tests::tool::binary;
use server::{Server, said};
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
}

const SEARCH: [&str; 4] = ["search", "evolve", "--config", "auto.toml"];

impl Bench {
    /// A folder with `evals/search/evolve` in it.
    fn shipped() -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        let from = auto_tests::root().join("evals/search/evolve");
        let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(bench.folder.path()).status().unwrap();
        assert!(copied.success());
        bench
    }

    /// A folder with a trainer whose tricks are parameters.
    fn hostile(tricks: &[&str]) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        let names: Vec<String> = tricks.iter().map(|trick| format!("\"{trick}\"")).collect();
        fs::write(bench.path("auto.toml"), HOSTILE.replace("TRICKS", &names.join(", "))).unwrap();
        fs::write(bench.path("trainer.py"), TRAINER).unwrap();
        let row = |at: usize| format!("{{\"x\":{at},\"label\":\"{}\"}}\n", ["a", "b"][at % 2]);
        fs::write(bench.path("rows.jsonl"), (0..240).map(row).collect::<String>()).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name}: {text}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    fn host(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).arg("--json").current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl")).env("USER", "ann");
        // Compiled once for all tests of this file.
        command.env("AUTO_CACHE", std::env::temp_dir().join(format!("auto-evolving-{}", std::process::id())));
        command
    }

    fn said(&self, args: &[&str]) -> (i32, Value) {
        let output = self.host(args).output().unwrap();
        let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (output.status.code().unwrap(), value)
    }

    fn run(&self) -> PathBuf {
        fs::read_dir(self.path("search-runs")).unwrap().next().unwrap().unwrap().path()
    }

    fn made(&self, name: &str) -> String {
        fs::read_to_string(self.run().join("made").join(name)).unwrap()
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn score(report: &Value, stratum: &str, side: &str) -> i64 {
    let score = list(report, "scores").iter().find(|score| text(score, "stratum") == stratum).unwrap();
    score.get(side).and_then(|side| side.get("mean")?.as_i64()).unwrap()
}

/// Without the folder, which is where it is.
fn without_folder(report: &Value) -> Value {
    let mut record: Record = report.as_record().unwrap().clone();
    record.remove("folder");
    record.into()
}

#[test]
fn a_packing_heuristic_in_the_sandbox_becomes_better_and_rows_that_nobody_saw_confirm_it() {
    let bench = Bench::shipped();
    bench.edit("auto.toml", "max_generations = 40", "max_generations = 8");
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
    let other = Bench::shipped();
    other.edit("auto.toml", "max_generations = 40", "max_generations = 8");
    assert_eq!(without_folder(&other.said(&SEARCH).1), without_folder(&report));
}

#[test]
fn killed_anywhere_it_comes_to_the_same_bytes_and_repeats_nothing() {
    let bench = || {
        let bench = Bench::hostile(&["none", "nan"]);
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
    let count = |bench: &Bench| fs::read_dir(bench.run().join("experiments")).unwrap().count();
    assert_eq!(count(&killed), count(&whole), "nothing was run twice");
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
    let bench = Bench::hostile(&names);
    bench.edit("auto.toml", "seconds = 60\ncpu", "seconds = 8\ncpu");
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
        let bench = Bench::hostile(&["none"]);
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
    let bench = Bench::hostile(&["none"]);
    let (exit, why) = bench.said(&["search", "evolve"]);
    assert_eq!((exit, text(&why, "code")), (2, "no-config"), "a file that merely lies there names no commands");
    fs::write(bench.path("rows.jsonl"), "{\"x\":1,\"label\":\"a\"}\n{\"x\":").unwrap();
    assert_eq!(text(&bench.said(&SEARCH).1, "code"), "bad-input");
    bench.edit("trainer.py", "import", "raise SystemExit(3)\nimport");
    fs::write(
        bench.path("rows.jsonl"),
        (0..90).map(|at| format!("{{\"x\":{at},\"label\":\"a\"}}\n")).collect::<String>(),
    )
    .unwrap();
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
    let bench = Bench::hostile(&["none"]);
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
    let number = |key: &str| report.get(key).and_then(Value::as_u64).unwrap();
    assert!((1..=2_000_000).contains(&number("spent_micro_usd")));
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    assert_eq!((sent.lines().count() as u64, server.received().len() as u64), (number("calls"), number("calls")));
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
    let bench = Bench::hostile(&["none"]);
    let mut child = bench.host(&SEARCH).stdout(Stdio::piped()).spawn().unwrap();
    let measured = || {
        let runs = fs::read_dir(bench.path("search-runs")).into_iter().flatten().flatten();
        runs.flat_map(|run| fs::read_dir(run.path().join("experiments"))).flatten().count()
    };
    while measured() < 8 {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be cut off");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let id = bench.run().file_name().unwrap().to_string_lossy().into_owned();
    let count = || fs::read_dir(bench.run().join("experiments")).map_or(0, Iterator::count);
    let before = count();
    let (exit, report) = bench.said(&["search", "cancel", &id]);
    assert_eq!((exit, text(&report, "status"), text(&report, "stop")), (0, "cancelled", "cancelled"), "{report}");
    assert_eq!(count(), before, "nothing was started");
    assert!(bench.made("params.json").contains("\"skill\":2"), "the baseline counts");
    let (exit, why) = bench.said(&["search", "cancel", "evolve-000000000000"]);
    assert_eq!((exit, text(&why, "code")), (2, "no-run"));
}

const HOSTILE: &str = r#"
[learning.evolve]
seed = 7
max_generations = 12
offspring = 8
islands = 2
max_jobs = 400
random_share = 0.3
files = ["trainer.py"]
at_once = 2

[learning.evolve.evaluator]
command = ["python3", "-S", "trainer.py"]
seconds = 60
cpu_seconds = 4
memory_mib = 256
output_bytes = 1000000

[learning.evolve.rows]
files = ["rows.jsonl"]
label = "label"
select = 0.35
confirm = 0.35

[learning.evolve.space]
skill = { kind = "whole", min = 0, max = 50, default = 2 }
trick = { kind = "choice", choices = [TRICKS], default = "none" }
"#;

/// Learns which label even and odd numbers have, and gets some of a hundred rows wrong, fewer the more
/// skill it has.
const TRAINER: &str = r#"import json, os, sys, time

request = json.load(open("request.json"))
params = request["params"]
rows = lambda name: [json.loads(line) for line in open(name)]
votes = {}
for row in rows("train.jsonl"):
    side = votes.setdefault(row["input"]["x"] % 2, {})
    side[row["label"]] = side.get(row["label"], 0) + 1
best = {side: max(sorted(labels), key=labels.get) for side, labels in votes.items()}
tests = rows("test.jsonl")


def predict():
    lines = []
    for row in tests:
        x = row["input"]["x"]
        wrong = x * 37 % 100 >= 50 + params["skill"]
        lines.append({"id": row["id"], "label": "a" if wrong else best.get(x % 2, "a")})
    return lines


def leave(name, text):
    with open(name, "w") as file:
        file.write(text)


def honest():
    leave("predictions.jsonl", "".join(json.dumps(line) + "\n" for line in predict()))
    leave("metrics.json", json.dumps({"run": request["run"]}))
    leave("config.json", json.dumps(params))


trick = params["trick"]
if trick == "loop":
    while True:
        pass
elif trick == "sleep":
    time.sleep(60)
elif trick == "flood":
    while True:
        sys.stdout.write("x" * 65536)
elif trick == "fork":
    for _ in range(40):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
            os._exit(0)
elif trick == "huge":
    with open("predictions.jsonl", "wb") as file:
        while True:
            file.write(b"0" * 65536)
elif trick == "symlink":
    honest()
    os.remove("metrics.json")
    os.symlink("/etc/hostname", "metrics.json")
elif trick == "many":
    for at in range(2000):
        leave(f"junk-{at}", "x")
    honest()
elif trick == "other-run":
    honest()
    leave("metrics.json", json.dumps({"run": "r-0123456789abcdef"}))
elif trick == "nan":
    honest()
    leave("metrics.json", '{"run": "%s", "loss": NaN}' % request["run"])
elif trick == "infinite":
    honest()
    leave("predictions.jsonl", "".join('{"id": "%s", "label": Infinity}\n' % row["id"] for row in tests))
elif trick == "labels":
    honest()
    leave("predictions.jsonl", "".join(json.dumps({"id": row["id"], "label": row["label"]}) + "\n" for row in rows("train.jsonl")))
elif trick == "memory":
    hoard = b"x" * (1 << 30)
    honest()
else:
    honest()
"#;
