//! Experiments as processes: what they are given, what ends them, what is brought back, and that
//! each is run once.

mod common;

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_jobs::{
    Backend, Blobs, Ending, Experiment, Experiments, Fault, File, Job, Limits, Outcome, Process, Replay, Settings,
    State,
};
use auto_schema::digest::Digest;
use common::{Bench, LIMITS, shell, until};

/// Processes under the usual name, of which so many are run.
fn with(bench: &Bench, backend: Arc<dyn Backend>, budget: u32) -> Experiments {
    Experiments::of(&bench.run, vec![backend], budget)
}

fn experiments(bench: &Bench) -> Experiments {
    with(bench, Arc::new(Process::new(Settings::default())), 100)
}

fn run(bench: &Bench, experiment: &Experiment) -> Outcome {
    experiments(bench).run("process", std::slice::from_ref(experiment)).unwrap().remove(0).unwrap()
}

#[test]
fn a_command_gets_its_files_its_input_and_no_other_variable() {
    let bench = Bench::new();
    let files = vec![
        bench.file("bin/agent", "#!/bin/sh\ncat; cat data/in.txt; env | sort | cut -d= -f1\n", true),
        bench.file("data/in.txt", "from a file\n", false),
    ];
    let experiment = Experiment {
        command: vec!["bin/agent".to_owned()],
        environment: vec![("SEED".to_owned(), "7".to_owned())],
        input: "from stdin\n".to_owned(),
        files,
        ..shell("")
    };
    let outcome = run(&bench, &experiment);
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", bench.text(outcome.stderr));
    let said = bench.text(outcome.stdout);
    // `_` and PWD are the shell's own.
    let names: Vec<&str> =
        said.lines().skip(2).filter(|name| !["_", "PWD", "OLDPWD", "SHLVL"].contains(name)).collect();
    assert!(said.starts_with("from stdin\nfrom a file\n"), "{said}");
    assert_eq!(names, ["HOME", "LANG", "PATH", "SEED", "TMPDIR"]);
    assert!(!bench.path("work").join("files").exists());
    assert_eq!(fs::read_dir(bench.path("work")).unwrap().count(), 0, "its folder goes");
}

#[test]
fn a_command_that_fails_is_an_outcome_and_one_that_is_not_there_a_fault() {
    let bench = Bench::new();
    for (script, ending) in [
        ("exit 3", Ending::Exited(3)),
        ("kill -9 $$", Ending::Signalled(9)),
        ("head -c 100000 /dev/zero", Ending::OverLimit("output".to_owned())),
        ("head -c 100000 /dev/zero > big", Ending::OverLimit("output".to_owned())),
        ("head -c 100000 /dev/zero >&2", Ending::OverLimit("output".to_owned())),
        ("while :; do :; done", Ending::OverLimit("cpu".to_owned())),
        ("sleep 100", Ending::TimedOut),
    ] {
        // However busy the machine is, what is no sleep ends by itself.
        let seconds = if ending == Ending::TimedOut { 2 } else { 60 };
        let limits = Limits { seconds, cpu_seconds: 1, ..LIMITS };
        let outcome = run(&bench, &Experiment { limits, ..shell(script) });
        assert_eq!(outcome.ending, ending, "{script}: {}", bench.text(outcome.stderr));
    }
    for command in ["no-such-program", "./nor-this"] {
        let absent = Experiment { command: vec![command.to_owned()], ..shell("") };
        let results = experiments(&bench).run("process", &[absent]).unwrap();
        assert_eq!(results[0].as_ref().unwrap_err().code, "no-command");
    }
}

#[test]
fn memory_has_a_limit() {
    let bench = Bench::new();
    let script = "exec python3 -c 'print(len(bytearray(1 << 28)))'";
    let outcome = run(&bench, &shell(script));
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", bench.text(outcome.stderr));
    let limits = Limits { memory_mib: 200, ..LIMITS };
    let outcome = run(&bench, &Experiment { limits, ..shell(script) });
    assert_eq!(outcome.ending, Ending::Exited(1));
    assert!(bench.text(outcome.stderr).contains("MemoryError"));
}

#[test]
fn nothing_that_a_command_started_outlives_it() {
    let bench = Bench::new();
    let marker = bench.path("marker");
    for (script, seconds) in [("(sleep 1; echo > $MARKER) & exit 0", 20), ("(sleep 2; echo > $MARKER) & sleep 100", 1)]
    {
        let environment = vec![("MARKER".to_owned(), marker.display().to_string())];
        let limits = Limits { seconds, ..LIMITS };
        run(&bench, &Experiment { environment, limits, ..shell(script) });
    }
    let environment = vec![("MARKER".to_owned(), marker.display().to_string())];
    let away = run(&bench, &Experiment { environment, ..shell("setsid sh -c 'sleep 1; echo > $MARKER' & exit 0") });
    std::thread::sleep(Duration::from_millis(1_600));
    let held = away.isolation.iter().any(|kept| kept == "process-namespace");
    assert!(!held || !marker.exists(), "{:?}", away.isolation);
}

#[test]
fn a_command_dies_with_whoever_submitted_it() {
    if !Command::new("setpriv").args(["--pdeathsig", "KILL", "true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: setpriv cannot be run");
        return;
    }
    // A namespace of users, which others need, unties it: then it ends with its time.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    let job = Job { name: "auto-0-0-1".to_owned(), folder: bench.path("job"), seconds: 60 };
    let process = Process::new(Settings::default());
    let experiment = shell("echo > begun; exec sleep 50");
    // To the kernel a thread that ends is as good as a process that was killed.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            process.submit(&job, &experiment, &bench.blobs).unwrap();
            until("it begins", || job.folder.join("files/begun").exists());
        });
    });
    until("it ends", || process.poll(&job).unwrap() == State::Ended);
    let outcome = process.collect(&job, &experiment, &bench.blobs).unwrap();
    assert_eq!(outcome.ending, Ending::Signalled(9));
}

#[test]
fn so_many_processes_and_no_more() {
    let bench = Bench::new();
    let few = Process::new(Settings { processes: 20, ..Settings::default() });
    let script = "for i in $(seq 40); do sleep 20 & done; wait";
    let limits = Limits { seconds: 4, ..LIMITS };
    let experiment = Experiment { limits, ..shell(script) };
    let outcome = with(&bench, Arc::new(few), 9).run("process", &[experiment]).unwrap().remove(0).unwrap();
    let said = bench.text(outcome.stderr);
    let held = outcome.isolation.iter().any(|kept| kept == "process-count");
    assert_eq!(said.contains("fork"), held, "{:?}: {said}", outcome.isolation);
    assert!(outcome.ending != Ending::Exited(0), "{:?}", outcome.ending);
}

#[test]
fn where_there_is_no_network_nothing_is_reached() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'");
    let outcome = run(&bench, &shell(&script));
    let kept_apart = outcome.isolation.iter().any(|kept| kept == "no-network");
    assert_eq!(outcome.ending, Ending::Exited(kept_apart.into()), "{:?}", outcome.isolation);
    let open = Process::new(Settings { network: true, ..Settings::default() });
    let other = Bench::new();
    let outcome = with(&other, Arc::new(open), 9).run("process", &[shell(&script)]).unwrap().remove(0).unwrap();
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", other.text(outcome.stderr));
    assert!(!outcome.isolation.iter().any(|kept| kept == "no-network"));
}

#[test]
fn only_regular_files_inside_the_folder_are_brought_back() {
    let bench = Bench::new();
    let script = "mkdir -p out/deep; echo 1 > out/deep/one; echo 2 > out/two; chmod +x out/two; \
        ln -s /etc/passwd out/link; ln -s /etc etc; mkfifo out/pipe; echo 3 > else";
    let collect = ["out", "out/two", "etc", "etc/passwd", "none"].map(str::to_owned).to_vec();
    let outcome = run(&bench, &Experiment { collect: collect.clone(), ..shell(script) });
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", bench.text(outcome.stderr));
    let brought: Vec<_> = outcome.files.iter().map(|file| (file.path.as_str(), file.executable)).collect();
    assert_eq!(brought, [("out/deep/one", false), ("out/two", true)]);
    assert_eq!(bench.text(outcome.files[1].digest), "2\n");
    let many = "mkdir out; for i in 1 2 3 4 5 6 7 8 9; do echo > out/$i; done";
    assert_eq!(run(&bench, &Experiment { collect, ..shell(many) }).ending, Ending::OverLimit("files".to_owned()));
}

#[test]
fn equal_experiments_are_run_once_and_never_again() {
    let bench = Bench::new();
    let count = bench.path("count");
    let experiment = Experiment {
        environment: vec![("COUNT".to_owned(), count.display().to_string())],
        ..shell("echo x >> $COUNT; echo done")
    };
    let runs = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    let both = experiments(&bench).run("process", &[experiment.clone(), experiment.clone()]).unwrap();
    assert_eq!((runs(), &both[0]), (1, &both[1]));
    // Another process, later.
    assert!(experiments(&bench).known(std::slice::from_ref(&experiment)));
    assert_eq!((Ok(run(&bench, &experiment)), runs()), (both[0].clone(), 1));
    // What was written down is believed only if it is whole.
    let records = || fs::read_dir(bench.path("experiments")).unwrap();
    let path = records().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"with\":0", "\"with\":1")).unwrap();
    assert_ne!(text, fs::read_to_string(&path).unwrap());
    fs::write(&path, text.replace("exited", "exitet")).unwrap();
    run(&bench, &experiment);
    assert_eq!((runs(), records().count()), (2, 1));
}

#[test]
fn no_more_are_started_than_the_run_may() {
    let bench = Bench::new();
    let process = || Arc::new(Process::new(Settings::default()));
    let three = ["echo 1", "echo 2", "echo 3"].map(shell);
    let results = with(&bench, process(), 2).run("process", &three).unwrap();
    let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(|fault| fault.code)).collect();
    assert_eq!(codes, [None, None, Some("experiment-budget")]);
    // Those that are known are no new ones, in another process either.
    let again = with(&bench, process(), 2).run("process", &three).unwrap();
    assert_eq!(again, results);
    assert!(with(&bench, process(), 3).run("process", &three).unwrap().iter().all(Result::is_ok));
}

#[test]
fn what_was_under_way_when_a_run_was_cut_off_keeps_its_place_in_the_budget() {
    let bench = Bench::new();
    let process = || Arc::new(Process::new(Settings::default()));
    let [begun, other] = ["echo begun", "echo other"].map(shell);
    let folder = bench.path("work").join(&begun.key().to_string()[..16]).join("1");
    fs::create_dir_all(folder).unwrap();
    let ran = with(&bench, process(), 1).run("process", &[other.clone(), begun.clone()]).unwrap();
    let codes: Vec<_> = ran.iter().map(|result| result.as_ref().err().map(|fault| fault.code)).collect();
    assert_eq!(codes, [Some("experiment-budget"), None]);
    assert!(with(&bench, process(), 2).run("process", &[begun, other]).unwrap().iter().all(Result::is_ok));
}

/// A machine that fails so often before it works.
struct Shaky {
    left: AtomicU32,
    process: Process,
}

impl Shaky {
    fn new(failures: u32) -> Shaky {
        Shaky { left: AtomicU32::new(failures), process: Process::new(Settings::default()) }
    }
}

impl Backend for Shaky {
    fn name(&self) -> &str {
        "shaky"
    }

    fn at_once(&self) -> usize {
        1
    }

    fn submit(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<(), Fault> {
        self.process.submit(job, experiment, blobs)
    }

    fn poll(&self, job: &Job) -> Result<State, Fault> {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return Err(Fault { code: "machine", message: "it shakes".to_owned(), passing: true });
        }
        self.process.poll(job)
    }

    fn cancel(&self, job: &Job) -> Result<(), Fault> {
        self.process.cancel(job)
    }

    fn collect(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault> {
        self.process.collect(job, experiment, blobs)
    }
}

#[test]
fn what_the_machine_did_is_tried_again_so_often_and_is_no_failed_run() {
    for (failures, attempts) in [(0, Some(1)), (2, Some(3)), (3, None)] {
        let bench = Bench::new();
        let shaky = with(&bench, Arc::new(Shaky::new(failures)), 9);
        let result = shaky.run("shaky", &[shell("exit 1")]).unwrap().remove(0);
        match attempts {
            Some(attempts) => {
                let outcome = result.unwrap();
                assert_eq!((outcome.ending, outcome.attempts), (Ending::Exited(1), attempts));
            }
            None => assert_eq!(result.unwrap_err().code, "machine"),
        }
    }
    let bench = Bench::new();
    assert_eq!(experiments(&bench).run("slurm", &[]).unwrap_err().code, "unknown-backend");
    let lost =
        Experiment { files: vec![File { path: "x".into(), digest: Digest::of(b"x"), executable: false }], ..shell("") };
    assert_eq!(experiments(&bench).run("process", &[lost]).unwrap_err().code, "no-blob");
}

#[test]
fn what_commands_say_they_cost_is_added_up_once_and_ends_what_costs() {
    let bench = Bench::new();
    let costing = |script: &str| Experiment { costs: true, ..shell(script) };
    let told = |micros: u32| costing(&format!("echo '{{\"micro_usd\":{micros}}}' > spent.json"));
    let first = [told(70), costing("true"), costing("echo much > spent.json"), Experiment { costs: false, ..told(9) }];
    let all = experiments(&bench);
    assert!(all.run("process", &first).unwrap().iter().all(Result::is_ok));
    assert!(all.run("process", &first).unwrap().iter().all(Result::is_ok));
    let cost = all.cost();
    assert_eq!(
        (cost.micro_usd, cost.told, cost.unreadable),
        (70, 1, 1),
        "each once, and who costs nothing is not asked"
    );

    let elsewhere = tempfile::tempdir().unwrap();
    let replay = Arc::new(Replay::of(bench.folder.path()));
    let again = Experiments::of(elsewhere.path(), Vec::new(), 100).with_configured(replay);
    assert!(again.run("process", &first).unwrap().iter().all(Result::is_ok));
    assert_eq!(again.cost(), cost, "as it was recorded");

    // What cannot be read may be any amount, so under a cap nothing that costs comes after it.
    for (number, wrong) in
        ["{\\\"micro_usd\\\":1.5}", "{\\\"micro_usd\\\":\\\"9\\\"}", "{\\\"micro_usd\\\":-5}"].iter().enumerate()
    {
        let bench = Bench::new();
        let capped = experiments(&bench).up_to(1_000);
        let unreadable = costing(&format!("echo \"{wrong}\" > spent.json # {number}"));
        assert!(capped.run("process", &[unreadable]).unwrap().remove(0).is_ok(), "{wrong}");
        assert_eq!(
            capped.run("process", &[told(1)]).unwrap().remove(0).unwrap_err().code,
            "unreadable-cost",
            "{wrong}"
        );
        assert!(capped.run("process", &[shell("echo free")]).unwrap().remove(0).is_ok());
    }

    let bench = Bench::new();
    assert!(experiments(&bench).run("process", &[told(70)]).unwrap().remove(0).is_ok());
    let within = |most: u64, one: Experiment| experiments(&bench).up_to(most).run("process", &[one]).unwrap().remove(0);
    assert!(within(71, told(30)).is_ok());
    assert_eq!(within(100, told(31)).unwrap_err().code, "experiment-budget");
    assert!(within(100, shell("echo free")).is_ok(), "what costs nothing goes on");
    assert!(within(100, told(30)).is_ok(), "and what is known is known");
    assert_eq!(experiments(&bench).cost().micro_usd, 100);
}
