//! A whole search whose commands are run somewhere else: the real `auto-host`, a real Slurm, a stand-in
//! for a cluster, the sandbox, a run that was recorded. What comes of it is what comes of it on one
//! machine, byte for byte.

#[path = "../../host/jobs/tests/cluster/mod.rs"]
mod cluster;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_tests::bench::{Bench, EVOLVE as SEARCH, found, text};
use auto_tests::outside;
use cluster::Cluster;

/// A folder with a trainer, a table of jobs, and a search of a few generations.
fn bench(jobs: &str) -> Bench {
    let bench = Bench::trainer(jobs, &["none", "nan", "fail"]);
    for (from, to) in [
        ("max_generations = 12", "max_generations = 2"),
        ("offspring = 8", "offspring = 4"),
        ("islands = 2", "islands = 1"),
        ("at_once = 2", "at_once = 4"),
    ] {
        bench.edit("auto.toml", from, to);
    }
    bench
}

/// The code of a refusal.
fn code(why: &Value) -> Option<&str> {
    why.get("code").and_then(Value::as_text)
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

/// What a search on the cluster comes to that is killed again and again, when so many more came to an end
/// and others are under way.
fn killed(there: &Bench, cluster: &Cluster, more: usize, host: impl Fn() -> Command) -> Value {
    let mut kills = 0;
    loop {
        let mut child = host().stdout(Stdio::piped()).spawn().unwrap();
        let (begun, ended) = (Instant::now(), there.ended());
        let running = || cluster.jobs(there.folder()).iter().any(|(_, state)| state == "RUNNING");
        let due = || there.ended() >= ended + more && running();
        while kills < 4 && !due() && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(600), "{:?}", cluster.jobs(there.folder()));
            std::thread::sleep(Duration::from_millis(10));
        }
        if kills < 4 && child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            continue;
        }
        let output = child.wait_with_output().unwrap();
        assert!(kills >= 2, "it was over before it could be killed twice: {output:?}");
        return Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    }
}

#[test]
fn on_slurm_with_the_submitter_killed_the_lineage_is_that_of_one_machine() {
    let Some(cluster) = Cluster::shared() else { return };
    let slow = |bench: Bench| {
        bench.edit("auto.toml", "max_generations = 2", "max_generations = 3");
        bench.edit("trainer.py", "import json, os, sys, time\n", "import json, os, sys, time\n\ntime.sleep(0.2)\n");
        bench
    };
    let (here, there) = (slow(bench("")), slow(bench(&slurm(&cluster, None))));
    let (exit, expected) = here.said(&SEARCH);
    assert_eq!(exit, 0, "{expected}");
    let report = killed(&there, &cluster, 5, || there.host(&SEARCH));
    assert_eq!(found(&report), found(&expected));
    assert_eq!((text(&report, "backend"), text(&expected, "backend")), ("slurm", "process"));
    assert!(report.get("isolation").unwrap().to_string().contains("\"slurm\""));
    // Every job was there once: nobody who was resumed submitted one again.
    let names: Vec<String> = cluster.jobs(there.folder()).into_iter().map(|(name, _)| name).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), distinct.len()), (there.ended(), there.ended()), "{names:?}");
    assert!(names.iter().all(|name| name.ends_with("-1")), "{names:?}");
    assert_eq!(there.ended(), here.ended());
}

/// The evolutions that are shipped: the table, and its rows where they are not shipped.
const SHIPPED: [(&str, Option<&str>); 2] =
    [("auto.toml", None), ("features/auto.toml", Some("classify/banking77-train.jsonl"))];

#[test]
#[ignore = "takes many minutes: the shipped evolutions, whole, on Slurm and on one machine"]
fn the_shipped_evolutions_on_slurm_are_those_of_one_machine() {
    let Some(cluster) = Cluster::shared() else { return };
    for (config, rows) in SHIPPED {
        let data = match rows.map(auto_tests::shared_data) {
            Some(None) => continue,
            data => data.flatten().map(|path| path.display().to_string()),
        };
        let data = data.iter().flat_map(|data| ["--data", data.as_str()]);
        let args: Vec<&str> = ["search", "evolve", "--config", config].into_iter().chain(data).collect();
        let (here, there) = (Bench::of("evals/search/evolve"), Bench::of("evals/search/evolve"));
        there.write(config, format!("{}\n{}", slurm(&cluster, None), there.read(config)));
        let report = killed(&there, &cluster, 20, || there.host(&args));
        let (exit, expected) = here.said(&args);
        assert_eq!(exit, 0, "{expected}");
        assert_eq!(found(&report), found(&expected), "{config}");
        assert_eq!(text(&report, "backend"), "slurm");
    }
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
    let Some(cluster) = Cluster::shared() else { return };
    let (here, there) = (bench(""), bench(&slurm(&cluster, Some(tricks))));
    let (_, expected) = here.said(&SEARCH);
    let (exit, report) = there.said(&SEARCH);
    assert_eq!(exit, 0, "{report}");
    assert_eq!(found(&report), found(&expected));
    // They were met: some experiments took more than one attempt.
    let records = fs::read_dir(there.run().join("experiments")).unwrap().flatten();
    let again = records.filter(|one| !fs::read_to_string(one.path()).unwrap().contains("\"attempts\":1"));
    assert!(again.count() > 0, "{:?}", cluster.jobs(there.folder()));
}

/// `[jobs]` for the stand-in for `kubectl`; the bench's folder is the volume.
fn kubernetes(bench: &Bench, tricks: &str) -> String {
    fs::create_dir(bench.path("cluster")).unwrap();
    fs::write(bench.path("cluster/tricks"), tricks).unwrap();
    let script = auto_tests::root().join("host/jobs/tests/kubectl.py");
    let words = [outside::interpreter().to_owned(), script, bench.path("cluster"), bench.folder().to_owned()];
    let words: Vec<String> = words.iter().map(|word| format!("{:?}", word.display().to_string())).collect();
    format!(
        "[jobs]\nbackend = \"kubernetes\"\nkubectl = [{}]\nimage = \"python:3.12\"\nclaim = \"runs\"\n\
         folder = \".\"\nnamespace = \"lab\"\nservice_account = \"searcher\"\ncpus = 2\npoll_seconds = 1\nsettle_seconds = 20\n",
        words.join(", ")
    )
}

#[test]
fn on_kubernetes_the_lineage_is_the_same_and_every_manifest_is_one_by_the_published_schema() {
    let (here, there) = (bench(""), bench(""));
    let jobs = kubernetes(&there, "well well twice well early well well lose late well well well");
    there.write("auto.toml", format!("{jobs}{}", there.read("auto.toml")));
    let (_, expected) = here.said(&SEARCH);
    let (exit, report) = there.said(&SEARCH);
    assert_eq!(exit, 0, "{:?}", report.get("message"));
    assert_eq!(found(&report), found(&expected));
    let manifests = there.path("cluster/manifests");
    assert!(fs::read_dir(&manifests).unwrap().count() > there.ended(), "one was lost and submitted again");
    let Some(packages) = outside::python("kubernetes-validate", &["kubernetes-validate"]) else { return };
    let output = Command::new(outside::interpreter())
        .args(["-c", VALIDATE])
        .arg(&manifests)
        .env("PYTHONPATH", packages)
        .output();
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
    let bench = bench("");
    let jobs = kubernetes(&bench, "well");
    bench.edit("auto.toml", "seed = 7", "seed = 7\npass_environment = [\"TOKEN\"]");
    bench.write("auto.toml", format!("{jobs}{}", bench.read("auto.toml")));
    let output = bench.host(&SEARCH).env("TOKEN", "s3cret-value").output().unwrap();
    let why = Value::parse(&output.stdout).unwrap();
    assert_eq!((output.status.code(), code(&why)), (Some(2), Some("no-secret")), "{why}");
    assert!(!bench.path("cluster/manifests").exists());
}

#[test]
fn a_recorded_run_is_replayed_without_running_anything_and_what_it_lacks_is_refused() {
    let made = bench("");
    let (_, expected) = made.said(&SEARCH);
    let jobs = format!("[jobs]\nbackend = \"replay\"\nfrom = {:?}", made.run().display().to_string());
    let again = bench(&jobs);
    // With no path to a program, nothing can be run.
    let empty = again.path("empty");
    fs::create_dir(&empty).unwrap();
    let output = again.host(&SEARCH).env("PATH", &empty).output().unwrap();
    let report = Value::parse(&output.stdout).unwrap();
    assert_eq!(found(&report), found(&expected));
    assert_eq!(again.ended(), made.ended());
    // Another seed tries what nobody recorded.
    let other = bench(&jobs);
    other.edit("auto.toml", "seed = 7", "seed = 8");
    let (exit, why) = other.said(&SEARCH);
    assert_eq!((exit, code(&why)), (1, Some("not-recorded")), "{why}");
    let nowhere = bench("[jobs]\nbackend = \"replay\"\nfrom = \"nowhere\"");
    let (exit, why) = nowhere.said(&SEARCH);
    assert_eq!((exit, code(&why)), (2, Some("no-run")), "{why}");
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
        let bench = bench("[jobs]\nbackend = \"wasm\"\nfuel = 50000000");
        bench.write("trainer.wasm", module);
        bench.edit("auto.toml", "[\"python3\", \"-S\", \"trainer.py\"]", "[\"trainer.wasm\"]");
        bench.edit("auto.toml", "[\"trainer.py\"]", "[\"trainer.wasm\"]");
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
    for (jobs, refusal) in [
        ("[jobs]", "missing-key"),
        ("[jobs]\nbackend = \"slrum\"", "bad-value"),
        ("[jobs]\nbackend = \"process\"\npartition = \"short\"", "unknown-key"),
        ("[jobs]\nbackend = \"slurm\"\npoll_seconds = 0.5", "wrong-type"),
    ] {
        let bench = bench(jobs);
        let (exit, why) = bench.said(&SEARCH);
        assert_eq!((exit, code(&why)), (2, Some(refusal)), "{why}");
        assert!(!bench.path("search-runs").exists());
    }
    // One that is not there is no candidate's fault: the run stays, and goes on when it is.
    let bench = bench("[jobs]\nbackend = \"slurm\"\nsbatch = [\"no-such-sbatch\"]");
    let (exit, why) = bench.said(&SEARCH);
    assert_eq!((exit, code(&why)), (1, Some("machine")), "{why}");
    assert!(why.to_string().contains("no-such-sbatch"), "{why}");
    assert!(!bench.run().join("report.json").exists());
}
