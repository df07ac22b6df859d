//! A whole search whose commands are run somewhere else: the real `auto-host`, a real Slurm, a stand-in
//! for a cluster, the sandbox, a run that was recorded. What comes of it is what comes of it on one
//! machine, byte for byte.

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

/// `[jobs]` for the stand-in for `kubectl`; the bench's folder is the volume.
fn kubernetes(bench: &Bench, tricks: &str) -> String {
    fs::create_dir(bench.path("cluster")).unwrap();
    fs::write(bench.path("cluster/tricks"), tricks).unwrap();
    let script = auto_tests::root().join("host/jobs/tests/kubectl.py");
    let words = [script, bench.path("cluster"), bench.folder.path().to_owned()];
    let words: Vec<String> = words.iter().map(|word| format!("{:?}", word.display().to_string())).collect();
    format!(
        "[jobs]\nbackend = \"kubernetes\"\nkubectl = [\"python3\", {}]\nimage = \"python:3.12\"\nclaim = \"runs\"\n\
         folder = \".\"\nnamespace = \"lab\"\nservice_account = \"searcher\"\ncpus = 2\npoll_seconds = 1\nsettle_seconds = 20\n",
        words.join(", ")
    )
}

#[test]
fn on_kubernetes_the_lineage_is_the_same_and_every_manifest_is_one_by_the_published_schema() {
    let (here, there) = (Bench::new(""), Bench::new(""));
    let jobs = kubernetes(&there, "well well twice well early well well lose late well well well");
    fs::write(there.path("auto.toml"), format!("{jobs}{EVOLVE}")).unwrap();
    for bench in [&here, &there] {
        let text = fs::read_to_string(bench.path("auto.toml")).unwrap();
        fs::write(bench.path("auto.toml"), text.replace("max_generations = 4", "max_generations = 2")).unwrap();
    }
    let (_, expected) = here.said(&SEARCH);
    let (exit, report) = there.said(&SEARCH);
    assert_eq!(exit, 0, "{:?}", report.get("message"));
    assert_eq!(found(&report).canonical().as_str(), found(&expected).canonical().as_str());
    let manifests = there.path("cluster/manifests");
    assert!(fs::read_dir(&manifests).unwrap().count() > there.ended(), "one was lost and submitted again");
    let Some(packages) = auto_tests::outside::python("kubernetes-validate", &["kubernetes-validate"]) else { return };
    let output = Command::new("python3").args(["-c", VALIDATE]).arg(&manifests).env("PYTHONPATH", packages).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("all good"), "{output:?}");
}

/// Holds every manifest against the schema of an older version of Kubernetes and of the newest that is
/// known, and says that the validator refuses one with a key too many.
const VALIDATE: &str = r#"
import json, pathlib, sys
import kubernetes_validate as validator

manifests = [json.loads(path.read_text()) for path in pathlib.Path(sys.argv[1]).iterdir()]
assert manifests
for version in ["1.27", validator.latest_version()]:
    for manifest in manifests:
        validator.validate(manifest, version, strict=True)
    wrong = json.loads(json.dumps(manifests[0]))
    wrong["spec"]["template"]["spec"]["restart"] = "Never"
    try:
        validator.validate(wrong, version, strict=True)
        sys.exit("a key that is not there was let through")
    except validator.ValidationError:
        pass
print("all good", len(manifests))
"#;

#[test]
fn values_that_are_handed_on_are_in_no_manifest() {
    let bench = Bench::new("");
    let jobs = kubernetes(&bench, "well");
    let evolve = EVOLVE.replace("seed = 7", "seed = 7\npass_environment = [\"TOKEN\"]");
    fs::write(bench.path("auto.toml"), format!("{jobs}{evolve}")).unwrap();
    let output = bench.host(&SEARCH).env("TOKEN", "s3cret-value").output().unwrap();
    let why = Value::parse(&output.stdout).unwrap();
    assert_eq!((output.status.code(), why.get("code").and_then(Value::as_text)), (Some(2), Some("no-secret")), "{why}");
    assert!(!bench.path("cluster/manifests").exists());
}

#[test]
fn a_recorded_run_is_replayed_without_running_anything_and_what_it_lacks_is_refused() {
    let made = Bench::new("");
    let (_, expected) = made.said(&SEARCH);
    let jobs = format!("[jobs]\nbackend = \"replay\"\nfrom = {:?}", made.run().display().to_string());
    let again = Bench::new(&jobs);
    // With no path to a program, nothing can be run.
    let empty = again.path("empty");
    fs::create_dir(&empty).unwrap();
    let output = again.host(&SEARCH).env("PATH", &empty).output().unwrap();
    let report = Value::parse(&output.stdout).unwrap();
    assert_eq!(found(&report).canonical().as_str(), found(&expected).canonical().as_str());
    assert_eq!(again.ended(), made.ended());
    // Another seed tries what nobody recorded.
    let other = Bench::new(&jobs);
    let text = fs::read_to_string(other.path("auto.toml")).unwrap();
    fs::write(other.path("auto.toml"), text.replace("seed = 7", "seed = 8")).unwrap();
    let (exit, why) = other.said(&SEARCH);
    assert_eq!((exit, why.get("code").and_then(Value::as_text)), (1, Some("not-recorded")), "{why}");
    let nowhere = Bench::new("[jobs]\nbackend = \"replay\"\nfrom = \"nowhere\"");
    let (exit, why) = nowhere.said(&SEARCH);
    assert_eq!((exit, why.get("code").and_then(Value::as_text)), (2, Some("no-run")), "{why}");
}

/// A module of the world `auto:cbin/cbin` whose `run` does this.
fn module(data: &str, run: &str) -> Vec<u8> {
    let text = format!(
        "(module (memory (export \"memory\") 64) (data (i32.const 16) {data:?})
        (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
        (func (export \"auto:cbin/behavior@0.1.0#run\") (param i32 i32) (result i32) {run})
        (func (export \"auto:cbin/behavior@0.1.0#assess\") (param i32 i32) (result i32) (i32.const 0))
        (func (export \"auto:cbin/behavior@0.1.0#resume\") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0)))"
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn a_module_of_somebody_s_own_is_run_in_the_sandbox_and_held_to_its_fuel() {
    let answer = r#"{"files":{"metrics.json":"{\"run\":\"r-0000000000000000\"}","other.txt":"x"}}"#;
    let answering = format!(
        "(i32.store (i32.const 8) (i32.const 16)) (i32.store (i32.const 12) (i32.const {})) (i32.const 0)",
        answer.len()
    );
    let cases = [
        (module("", "(loop (br 0)) (unreachable)"), "over its limit of fuel"),
        (module("", "(unreachable)"), "exited 5"),
        (module(answer, &answering), "[other-run]"),
        (b"no module".to_vec(), "no module that runs here"),
    ];
    for (module, said) in cases {
        let bench = Bench::new("[jobs]\nbackend = \"wasm\"\nfuel = 50000000");
        fs::write(bench.path("trainer.wasm"), module).unwrap();
        let text = fs::read_to_string(bench.path("auto.toml")).unwrap();
        let text = text.replace("[\"python3\", \"-S\", \"trainer.py\"]", "[\"trainer.wasm\"]");
        fs::write(bench.path("auto.toml"), text.replace("[\"trainer.py\"]", "[\"trainer.wasm\"]")).unwrap();
        let (exit, why) = bench.said(&SEARCH);
        assert_eq!(exit, 1, "{said}");
        assert!(why.to_string().contains(said), "{said}: {why}");
        if said == "[other-run]" {
            let record = fs::read_dir(bench.run().join("experiments")).unwrap().next().unwrap().unwrap();
            let record = fs::read_to_string(record.path()).unwrap();
            assert!(
                record.contains("metrics.json") && !record.contains("other.txt"),
                "only what is collected: {record}"
            );
            assert!(record.contains("\"wasm\""), "{record}");
        }
    }
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
