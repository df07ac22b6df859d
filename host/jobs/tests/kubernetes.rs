//! Experiments on Kubernetes, as far as the stand-ins go: `kubectl.py` for `kubectl` and the cluster, and
//! `apiserver.py`, which the real `kubectl` talks to where there is one. What a cluster may do to a job,
//! and what a manifest says. No real cluster is asked.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use auto_jobs::{Backend as _, Ending, Experiment, Fault, Job, Kubernetes, Limits, Outcome, Patience, Settings};
use auto_json::Value;
use auto_tests::outside;
use common::{LIMITS, patience, side_by_side};

/// A volume with a run on it, and a cluster with these tricks.
struct Bench(common::Bench);

impl std::ops::Deref for Bench {
    type Target = common::Bench;

    fn deref(&self) -> &common::Bench {
        &self.0
    }
}

impl Bench {
    fn new(tricks: &str) -> Bench {
        let bench = Bench(common::Bench::at("volume/runs/one"));
        fs::create_dir(bench.path("cluster")).unwrap();
        fs::write(bench.path("cluster/tricks"), tricks).unwrap();
        bench
    }

    fn kubernetes(&self) -> Kubernetes {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl.py");
        let words = [outside::interpreter().to_owned(), script, self.path("cluster"), self.path("volume")];
        Kubernetes {
            kubectl: words.map(|path| path.display().to_string()).to_vec(),
            namespace: Some("lab".to_owned()),
            image: "registry.example/python:3.12".to_owned(),
            claim: "runs".to_owned(),
            folder: self.path("volume"),
            cpus: 2,
            secret: Some("keys".to_owned()),
            service_account: None,
            patience: patience(),
        }
    }

    fn run(&self, script: &str) -> Result<Outcome, Fault> {
        self.on(self.kubernetes(), script)
    }

    fn on(&self, kubernetes: Kubernetes, script: &str) -> Result<Outcome, Fault> {
        let environment = BTreeMap::from([("TOKEN".to_owned(), "s3cret-value".to_owned())]);
        let keys = self.path("cluster/secrets/keys");
        fs::create_dir_all(&keys).unwrap();
        fs::write(keys.join("TOKEN"), "s3cret-value").unwrap();
        self.run_on(kubernetes.backend(Settings { environment, ..Settings::default() }), &self.experiment(script))
    }

    fn experiment(&self, script: &str) -> Experiment {
        let seconds = if script.contains("sleep 100") { 2 } else { 60 };
        let limits = Limits { seconds, ..LIMITS };
        Experiment { collect: vec!["out".to_owned()], limits, ..self.counting(script) }
    }

    /// Every manifest that was ever handed over, by its number.
    fn manifests(&self) -> Vec<Value> {
        let files = fs::read_dir(self.path("cluster/manifests")).unwrap().flatten();
        files.map(|file| Value::parse(fs::read(file.path()).unwrap()).unwrap()).collect()
    }
}

#[test]
fn a_job_runs_within_its_limits_and_what_it_leaves_comes_back() {
    let bench = Bench::new("well");
    let outcome = bench.run("echo \"$TOKEN $HOSTNAME\"; echo 7 > out").unwrap();
    let text = |digest| bench.text(digest);
    assert_eq!((&outcome.ending, outcome.attempts), (&Ending::Exited(0), 1), "{}", text(outcome.stderr));
    // The value of the secret reached the job, and is kept nowhere.
    assert_eq!(text(outcome.stdout), "<environment:TOKEN> \n");
    assert_eq!(text(outcome.files[0].digest), "7\n");
    assert_eq!(outcome.isolation[0], "kubernetes");
    assert_eq!(bench.run("exit 3").unwrap().ending, Ending::Exited(3));
    assert_eq!(bench.run("sleep 100").unwrap().ending, Ending::TimedOut);
    for manifest in bench.manifests() {
        assert!(!manifest.to_string().contains("s3cret"), "{manifest}");
        let spec = manifest.get("spec").unwrap();
        assert_eq!(spec.get("backoffLimit").and_then(Value::as_u64), Some(0), "we try again, and nobody else");
        let pod = spec.get("template").and_then(|template| template.get("spec")).unwrap();
        assert_eq!(pod.get("automountServiceAccountToken").and_then(Value::as_bool), Some(false));
        let container = &pod.get("containers").and_then(Value::as_list).unwrap()[0];
        let place = container.get("workingDir").and_then(Value::as_text).unwrap();
        assert!(place.starts_with("/auto/runs/one/work/"), "{place}");
    }
}

#[test]
fn whatever_a_cluster_does_to_a_job_it_is_run_and_counted_once() {
    // What the cluster does in turn, how many attempts it takes, and how often the command began.
    let cases = [("twice", 1, 1), ("late", 1, 1), ("early", 1, 1), ("lose well", 2, 1), ("refuse lose well", 3, 1)];
    side_by_side(&cases, |&(tricks, attempts, count)| {
        let bench = Bench::new(tricks);
        // A busy machine takes long, and what is lost is lost at once.
        let settle = Duration::from_secs(if tricks.contains("lose") { 2 } else { 60 });
        let patience = Patience { settle, ..bench.kubernetes().patience };
        let outcome = bench.on(Kubernetes { patience, ..bench.kubernetes() }, "sleep 1; echo done");
        let outcome = outcome.unwrap_or_else(|fault| panic!("{tricks}: {fault}"));
        assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), attempts, count), "{tricks}");
    });
    side_by_side(&[("lose", "job-lost"), ("refuse", "machine")], |&(tricks, code)| {
        let bench = Bench::new(tricks);
        let patience = Patience { settle: Duration::from_secs(1), ..patience() };
        let fault = bench.on(Kubernetes { patience, ..bench.kubernetes() }, "echo never").unwrap_err();
        assert_eq!((fault.code, bench.manifests().len(), bench.count()), (code, 3, 0), "{fault}");
    });
    let bench = Bench::new("memory");
    assert_eq!(bench.run("echo never").unwrap().ending, Ending::OverLimit("memory".to_owned()));
}

#[test]
fn a_job_that_nobody_ends_in_its_time_is_ended_and_submitted_again() {
    let bench = Bench::new("stuck well");
    let patience = Patience { grace: Duration::from_secs(1), ..patience() };
    let kubernetes = Kubernetes { patience, ..bench.kubernetes() };
    let outcome = bench.on(kubernetes, "echo done; : sleep 100").unwrap();
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 2, 1));
    assert_eq!(fs::read_dir(bench.path("cluster/jobs")).unwrap().count(), 1, "the first was deleted");
}

#[test]
fn a_job_stays_where_nobody_answers_and_is_found_again() {
    let bench = Bench::new("well");
    // `kubectl` creates, and then finds the cluster no more.
    let script = bench.path("deaf.sh");
    let real = bench.kubernetes().kubectl.join(" ");
    fs::write(
        &script,
        format!("case \"$*\" in *create*) exec {real} \"$@\" ;; *) echo 'no route' >&2; exit 1 ;; esac"),
    )
    .unwrap();
    let kubectl = vec!["sh".to_owned(), script.display().to_string()];
    let fault = bench.on(Kubernetes { kubectl, ..bench.kubernetes() }, "sleep 4; echo done").unwrap_err();
    assert_eq!((fault.code, fault.passing), ("unreachable", true), "{fault}");
    assert!(fault.message.contains("no route"), "{fault}");
    let outcome = bench.run("sleep 4; echo done").unwrap();
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 1, 1));
}

#[test]
fn a_run_that_is_not_on_the_volume_is_refused() {
    let bench = Bench::new("well");
    let elsewhere = Kubernetes { folder: bench.path("other"), ..bench.kubernetes() };
    let fault = bench.on(elsewhere, "echo never").unwrap_err();
    assert!(fault.message.contains("--runs"), "{fault}");
}

/// The stand-in for an API server, while this lives.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The real `kubectl` with a configuration of its own, and the server that it leads to.
fn real(bench: &Bench) -> Option<(Server, Vec<String>)> {
    let version = Command::new("kubectl").args(["version", "--client"]).env("HOME", bench.folder.path()).output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let minor = version.split("v1.").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    // Older ones want the schema in a form that the stand-in does not have.
    if minor.is_none_or(|minor| minor < 27) {
        eprintln!("skipped: there is no kubectl of 1.27 or newer; see https://kubernetes.io/docs/tasks/tools");
        return None;
    }
    let mut server = Command::new(outside::interpreter());
    server.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apiserver.py"));
    server.args([bench.path("cluster"), bench.path("volume")]).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         users: [{{name: u, user: {{}}}}], clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{}'}}}}]}}",
        port.trim()
    );
    fs::write(bench.path("config"), config).unwrap();
    let home = format!("HOME={}", bench.folder.path().display());
    let config = format!("--kubeconfig={}", bench.path("config").display());
    Some((Server(server), vec!["env".to_owned(), home, "kubectl".to_owned(), config]))
}

#[test]
fn the_real_kubectl_takes_what_it_is_told_and_says_what_is_read() {
    let cases = [
        ("well", 1, Ending::Exited(0)),
        ("twice", 1, Ending::Exited(0)),
        ("lose well", 2, Ending::Exited(0)),
        ("refuse well", 2, Ending::Exited(0)),
        ("memory", 1, Ending::OverLimit("memory".to_owned())),
    ];
    side_by_side(&cases, |(tricks, attempts, ending)| {
        let bench = Bench::new(tricks);
        let Some((_server, kubectl)) = real(&bench) else { return };
        let settle = Duration::from_secs(if tricks.contains("lose") { 2 } else { 60 });
        let unreachable = Duration::from_secs(60);
        let patience = Patience { settle, unreachable, ..bench.kubernetes().patience };
        let outcome = bench.on(Kubernetes { kubectl, patience, ..bench.kubernetes() }, "sleep 1; echo done");
        let outcome = outcome.unwrap_or_else(|fault| panic!("{tricks}: {fault}"));
        assert_eq!((&outcome.ending, &outcome.attempts), (ending, attempts), "{tricks}");
    });
    // What is there already is no second job, and what is not there is no fault.
    let bench = Bench::new("well");
    let Some((_server, kubectl)) = real(&bench) else { return };
    let backend = Kubernetes { kubectl, ..bench.kubernetes() }.backend(Settings::default());
    let job = Job { name: "auto-0-0-1".to_owned(), folder: bench.path("volume/one"), seconds: 60 };
    let experiment = bench.experiment("sleep 30");
    backend.submit(&job, &experiment, &bench.blobs).unwrap();
    fs::remove_file(job.folder.join("name")).unwrap();
    backend.submit(&job, &experiment, &bench.blobs).unwrap();
    assert_eq!(fs::read_dir(bench.path("cluster/jobs")).unwrap().count(), 1);
    backend.cancel(&job).unwrap();
    backend.cancel(&job).unwrap();
    assert_eq!(fs::read_dir(bench.path("cluster/jobs")).unwrap().count(), 0);
}
