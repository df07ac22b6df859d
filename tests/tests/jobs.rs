//! A whole search whose commands are run somewhere else: the real `auto-host`, a real Slurm, and a
//! submitter that is killed. What comes of it is what comes of it on one machine, byte for byte.

#[path = "../../host/jobs/tests/cluster/mod.rs"]
mod cluster;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use auto_json::{Record, Value};
use auto_tests::tool::binary;
use cluster::Cluster;
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
}

const SEARCH: [&str; 4] = ["search", "evolve", "--config", "auto.toml"];

impl Bench {
    /// A folder with a trainer, and a table of jobs.
    fn new(jobs: &str) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        fs::write(bench.path("auto.toml"), format!("{jobs}\n{EVOLVE}")).unwrap();
        fs::write(bench.path("trainer.py"), TRAINER).unwrap();
        let row = |at: usize| format!("{{\"x\":{at},\"label\":\"{}\"}}\n", ["a", "b"][at % 2]);
        fs::write(bench.path("rows.jsonl"), (0..240).map(row).collect::<String>()).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn host(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).arg("--json").current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl")).env("USER", "ann");
        // Compiled once for all tests of this file.
        command.env("AUTO_CACHE", std::env::temp_dir().join(format!("auto-jobs-{}", std::process::id())));
        command
    }

    fn said(&self, args: &[&str]) -> (i32, Value) {
        let output = self.host(args).output().unwrap();
        let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (output.status.code().unwrap(), value)
    }

    /// The folder of its only run.
    fn run(&self) -> PathBuf {
        fs::read_dir(self.path("search-runs")).unwrap().next().unwrap().unwrap().path()
    }

    /// How many of its experiments came to an end.
    fn ended(&self) -> usize {
        let runs = fs::read_dir(self.path("search-runs")).into_iter().flatten().flatten();
        runs.map(|run| fs::read_dir(run.path().join("experiments")).map_or(0, Iterator::count)).sum()
    }
}

/// What was found and how, without where.
fn found(report: &Value) -> Value {
    let mut record: Record = report.as_record().unwrap_or_else(|| panic!("{report}")).clone();
    assert_eq!(record.get("status").and_then(Value::as_text), Some("complete"), "{:?}", record.get("why"));
    for place in ["run", "folder", "backend", "isolation"] {
        assert!(record.remove(place).is_some(), "{place}");
    }
    record.into()
}

/// `[jobs]` for a cluster; `before` is what stands before its `sbatch`.
fn slurm(cluster: &Cluster, before: Option<&str>) -> String {
    let words = |name: &str| Value::from(cluster.command(name).into_iter().map(Value::from).collect::<Vec<_>>());
    let sbatch = match before {
        None => words("sbatch").to_string(),
        Some(script) => {
            let (path, state) = (cluster.path("before-sbatch"), cluster.path("state-of-script"));
            fs::create_dir(&state).unwrap();
            let real = cluster.command("sbatch").join(" ");
            fs::write(&path, format!("#!/bin/sh\nREAL='{real}'\nSTATE='{}'\n{script}\n", state.display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            format!("[{:?}]", path.display().to_string())
        }
    };
    format!(
        "[jobs]\nbackend = \"slurm\"\nsbatch = {sbatch}\nscontrol = {}\nscancel = {}\npoll_seconds = 1\nsettle_seconds = 3\n",
        words("scontrol"),
        words("scancel")
    )
}

#[test]
fn on_slurm_with_the_submitter_killed_the_lineage_is_that_of_one_machine() {
    let Some(cluster) = Cluster::start() else { return };
    let (here, there) = (Bench::new(""), Bench::new(&slurm(&cluster, None)));
    let (exit, expected) = here.said(&SEARCH);
    assert_eq!(exit, 0, "{expected}");
    let mut kills = 0;
    let report = loop {
        let mut child = there.host(&SEARCH).stdout(Stdio::piped()).spawn().unwrap();
        let (begun, ended) = (Instant::now(), there.ended());
        // A few came to an end since, and others are under way.
        let due = || there.ended() >= ended + 5 && cluster.jobs().iter().any(|(_, state)| state == "RUNNING");
        while kills < 4 && !due() && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", cluster.jobs());
            std::thread::sleep(Duration::from_millis(10));
        }
        if kills < 4 && child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            continue;
        }
        let output = child.wait_with_output().unwrap();
        break Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    };
    assert!(kills >= 2, "it was over before it could be killed twice");
    assert_eq!(found(&report).canonical().as_str(), found(&expected).canonical().as_str());
    let text = |report: &Value, key: &str| report.get(key).unwrap().to_string();
    assert_eq!((text(&report, "backend"), text(&expected, "backend")), ("\"slurm\"".into(), "\"process\"".into()));
    assert!(text(&report, "isolation").contains("\"slurm\""));
    // Every job was there once: nobody who was resumed submitted one again.
    let names: Vec<String> = cluster.jobs().into_iter().map(|(name, _)| name).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), distinct.len()), (there.ended(), there.ended()), "{names:?}");
    assert!(names.iter().all(|name| name.ends_with("-1")), "{names:?}");
    assert_eq!(there.ended(), here.ended());
}

#[test]
fn a_scheduler_that_loses_jobs_starts_them_twice_or_late_and_leaves_what_others_left_changes_nothing() {
    // Each job is treated in one of five ways, by how many came before it.
    let tricks = "count=0; while ! mkdir \"$STATE/$count\" 2>/dev/null; do count=$((count + 1)); done
folder=$(printf '%s\\n' \"$@\" | sed -n 's/^--chdir=//p')
case $((count % 7)) in
    1) echo 99999 ;;
    2) $REAL \"$@\" >/dev/null; exec $REAL \"$@\" ;;
    3) exec $REAL --begin=now+2 \"$@\" ;;
    4)  printf 'name auto-000000000000-0000000000000000-1\\nended exited 0\\nseconds 1\\nkept limits\\n' >$folder/exit
        exec $REAL \"$@\" ;;
    *) exec $REAL \"$@\" ;;
esac";
    let Some(cluster) = Cluster::start() else { return };
    let few = |bench: Bench| {
        let text = fs::read_to_string(bench.path("auto.toml")).unwrap();
        fs::write(bench.path("auto.toml"), text.replace("max_generations = 4", "max_generations = 2")).unwrap();
        bench
    };
    let (here, there) = (few(Bench::new("")), few(Bench::new(&slurm(&cluster, Some(tricks)))));
    let (_, expected) = here.said(&SEARCH);
    let (exit, report) = there.said(&SEARCH);
    assert_eq!(exit, 0, "{report}");
    assert_eq!(found(&report).canonical().as_str(), found(&expected).canonical().as_str());
    // They were met: some experiments took more than one attempt.
    let records = fs::read_dir(there.run().join("experiments")).unwrap().flatten();
    let again = records.filter(|one| !fs::read_to_string(one.path()).unwrap().contains("\"attempts\":1"));
    assert!(again.count() > 0, "{:?}", cluster.jobs());
}

#[test]
fn what_is_wrong_with_the_table_of_jobs_is_said_before_anything_runs() {
    for (jobs, code) in [
        ("[jobs]", "missing-key"),
        ("[jobs]\nbackend = \"slrum\"", "bad-value"),
        ("[jobs]\nbackend = \"process\"\npartition = \"short\"", "unknown-key"),
        ("[jobs]\nbackend = \"slurm\"\npoll_seconds = 0.5", "wrong-type"),
    ] {
        let bench = Bench::new(jobs);
        let (exit, why) = bench.said(&SEARCH);
        assert_eq!((exit, why.get("code").and_then(Value::as_text)), (2, Some(code)), "{why}");
        assert!(!bench.path("search-runs").exists());
    }
    // One that is not there is no candidate's fault: the run stays, and goes on when it is.
    let bench = Bench::new("[jobs]\nbackend = \"slurm\"\nsbatch = [\"no-such-sbatch\"]");
    let (exit, why) = bench.said(&SEARCH);
    assert_eq!((exit, why.get("code").and_then(Value::as_text)), (1, Some("machine")), "{why}");
    assert!(why.to_string().contains("no-such-sbatch"), "{why}");
    assert!(!bench.run().join("report.json").exists());
}

const EVOLVE: &str = r#"
[learning.evolve]
seed = 7
max_generations = 4
offspring = 4
islands = 1
max_jobs = 400
random_share = 0.3
files = ["trainer.py"]
at_once = 4

[learning.evolve.evaluator]
command = ["python3", "-S", "trainer.py"]
seconds = 60
memory_mib = 256
output_bytes = 1000000

[learning.evolve.rows]
files = ["rows.jsonl"]
label = "label"
select = 0.35
confirm = 0.35

[learning.evolve.space]
skill = { kind = "whole", min = 0, max = 50, default = 2 }
trick = { kind = "choice", choices = ["none", "nan", "fail"], default = "none" }
"#;

/// Learns which label even and odd numbers have, and gets some of a hundred rows wrong, fewer the more
/// skill it has.
const TRAINER: &str = r#"import json, sys, time

request = json.load(open("request.json"))
params = request["params"]
rows = lambda name: [json.loads(line) for line in open(name)]
votes = {}
for row in rows("train.jsonl"):
    side = votes.setdefault(row["input"]["x"] % 2, {})
    side[row["label"]] = side.get(row["label"], 0) + 1
best = {side: max(sorted(labels), key=labels.get) for side, labels in votes.items()}
time.sleep(0.2)
if params["trick"] == "fail":
    sys.exit(3)


def label(row):
    x = row["input"]["x"]
    return "a" if x * 37 % 100 >= 50 + params["skill"] else best.get(x % 2, "a")


with open("predictions.jsonl", "w") as file:
    for row in rows("test.jsonl"):
        file.write(json.dumps({"id": row["id"], "label": label(row)}) + "\n")
with open("metrics.json", "w") as file:
    nan = ', "loss": NaN' if params["trick"] == "nan" else ""
    file.write('{"run": "%s"%s}' % (request["run"], nan))
with open("config.json", "w") as file:
    json.dump(params, file)
"#;
