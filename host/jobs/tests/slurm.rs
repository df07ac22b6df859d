//! Experiments on a real Slurm: what comes of them is what comes of processes here, and whatever the
//! scheduler does, each is run once and counted once.

mod cluster;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use auto_jobs::{
    Backend, Blobs, Ending, Experiment, Experiments, File, Job, Limits, Outcome, Patience, Process, Settings, Slurm,
    State,
};
use cluster::Cluster;
use tempfile::TempDir;

const LIMITS: Limits = Limits { seconds: 60, cpu_seconds: 10, memory_mib: 512, output_bytes: 64 << 10, files: 8 };

fn patience() -> Patience {
    Patience {
        poll: Duration::from_millis(200),
        queue: Duration::from_secs(60),
        settle: Duration::from_secs(3),
        unreachable: Duration::from_secs(2),
    }
}

fn shell(script: &str) -> Experiment {
    Experiment {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        input: String::new(),
        files: Vec::new(),
        collect: Vec::new(),
        limits: LIMITS,
        costs: false,
    }
}

fn slurm(cluster: &Cluster) -> Slurm {
    Slurm {
        sbatch: cluster.command("sbatch"),
        scontrol: cluster.command("scontrol"),
        scancel: cluster.command("scancel"),
        partition: Some("work".to_owned()),
        cpus: 1,
        options: Vec::new(),
        patience: patience(),
    }
}

/// The folder of a run, where every job writes into `count` that it was run.
struct Bench {
    folder: TempDir,
    blobs: Blobs,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        Bench { folder, blobs }
    }

    fn with(&self, backend: impl Backend + 'static) -> Experiments {
        Experiments::of(self.folder.path(), Vec::new(), 100).with_configured(Arc::new(backend))
    }

    fn run(&self, slurm: Slurm, experiment: &Experiment) -> Result<Outcome, auto_jobs::Fault> {
        let on = self.with(slurm.backend(Settings::default()));
        on.run("process", std::slice::from_ref(experiment)).unwrap().remove(0)
    }

    fn counting(&self, script: &str) -> Experiment {
        let count = ("COUNT".to_owned(), self.folder.path().join("count").display().to_string());
        Experiment { environment: vec![count], ..shell(&format!("echo x >> $COUNT; {script}")) }
    }

    fn count(&self) -> usize {
        fs::read_to_string(self.folder.path().join("count")).unwrap_or_default().lines().count()
    }

    fn text(&self, digest: auto_schema::digest::Digest) -> String {
        String::from_utf8(self.blobs.get(digest).unwrap()).unwrap()
    }
}

/// A command that stands before one of Slurm's: `$REAL` is that one.
fn before(cluster: &Cluster, name: &str, script: &str) -> Vec<String> {
    let path: PathBuf = cluster.path(&format!("{name}-{}", script.len()));
    let state = cluster.path("state-of-scripts");
    fs::create_dir_all(&state).unwrap();
    let text =
        format!("#!/bin/sh\nREAL='{}'\nSTATE='{}'\n{script}\n", cluster.command(name).join(" "), state.display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    vec![path.display().to_string()]
}

#[test]
fn what_comes_of_a_job_is_what_comes_of_a_process() {
    let Some(cluster) = Cluster::start() else { return };
    let (here, there) = (Bench::new(), Bench::new());
    let scripts = [
        "cat; cat in.txt; echo to stderr >&2; echo it\\'s > out; chmod +x out",
        "env | grep -c SLURM; echo \"$SEED $VALUE\"; env | sort | cut -d= -f1",
        "exit 3",
        "kill -9 $$",
        "head -c 100000 /dev/zero",
        "head -c 100000 /dev/zero > out",
        "while :; do :; done",
        "sleep 100",
        "(sleep 100; echo > late) & exit 0",
        "mkdir out; for i in 1 2 3 4 5 6 7 8 9; do echo > out/$i; done",
        "exec python3 -c 'bytearray(1 << 30)'",
    ];
    let files = |bench: &Bench| {
        let digest = bench.blobs.put(b"from a file\n").unwrap();
        vec![File { path: "in.txt".to_owned(), digest, executable: false }]
    };
    let experiments = |bench: &Bench| -> Vec<Experiment> {
        let environment = [("SEED", "7"), ("VALUE", "a 'b' \"c\" $d `e`\nf")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let one = |script: &&str| Experiment {
            environment: environment.to_vec(),
            input: "from stdin\n".to_owned(),
            files: files(bench),
            collect: vec!["out".to_owned()],
            limits: Limits { seconds: if script.starts_with("sleep") { 3 } else { 60 }, cpu_seconds: 2, ..LIMITS },
            ..shell(script)
        };
        scripts.iter().map(one).collect()
    };
    let handed = Settings {
        environment: [("TOKEN".to_owned(), "s3cret-value".to_owned())].into_iter().collect(),
        ..Settings::default()
    };
    let here_ran = here.with(Process::new(handed.clone())).run("process", &experiments(&here)).unwrap();
    let there_ran = there.with(slurm(&cluster).backend(handed)).run("process", &experiments(&there)).unwrap();
    for ((script, here_one), there_one) in scripts.iter().zip(here_ran).zip(there_ran) {
        let (here_one, there_one) = (here_one.unwrap(), there_one.unwrap());
        assert_eq!(there_one.ending, here_one.ending, "{script}: {}", there.text(there_one.stderr));
        assert_eq!(there_one.files, here_one.files, "{script}");
        assert_eq!(there.text(there_one.stdout), here.text(here_one.stdout), "{script}");
        assert_eq!((there_one.isolation[0].as_str(), there_one.attempts), ("slurm", 1));
    }
    let absent = Experiment { command: vec!["no-such-program".to_owned()], ..shell("") };
    assert_eq!(there.run(slurm(&cluster), &absent).unwrap_err().code, "no-command");
    assert!(!there.folder.path().join("work").read_dir().unwrap().any(|_| true), "no folder of a job is left");
}

#[test]
fn a_job_that_was_submitted_before_is_found_again_and_not_submitted_twice() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    let experiment = bench.counting("sleep 2; echo done");
    let job = Job {
        name: "auto-000000000000-0123456789abcdef-1".to_owned(),
        folder: bench.folder.path().join("work/0123456789abcdef/1"),
        seconds: 60,
    };
    let submit = || {
        let backend = slurm(&cluster).backend(Settings::default());
        backend.submit(&job, &experiment, &bench.blobs).unwrap();
        backend
    };
    submit();
    // Whoever submitted it is gone; the next one knows its name alone, even where the number is lost.
    fs::remove_file(job.folder.join("id")).unwrap();
    let next = submit();
    assert_eq!(cluster.jobs().len(), 1, "{:?}", cluster.jobs());
    let begun = std::time::Instant::now();
    while next.poll(&job).unwrap() != State::Ended {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    // It is found after its end, too.
    let last = submit();
    assert_eq!(last.poll(&job), Ok(State::Ended));
    let outcome = last.collect(&job, &experiment, &bench.blobs).unwrap();
    assert_eq!((outcome.ending, bench.text(outcome.stdout).as_str()), (Ending::Exited(0), "done\n"));
    assert_eq!((cluster.jobs().len(), bench.count()), (1, 1));
}

#[test]
fn a_job_that_is_cancelled_behind_our_back_is_submitted_again_and_counted() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    // The first time it would take too long, and is lost meanwhile.
    let experiment = bench.counting("[ \"$(wc -l < $COUNT)\" -gt 1 ] || sleep 50; echo done");
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.run(slurm(&cluster), &experiment));
        while bench.count() == 0 {
            std::thread::sleep(Duration::from_millis(50));
        }
        let name = cluster.jobs()[0].0.clone();
        cluster.said(&["scancel", &format!("--name={name}")]);
        run.join().unwrap().unwrap()
    });
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 2, 2));
    let names: Vec<String> = cluster.jobs().into_iter().map(|(name, _)| name).collect();
    assert!(names[0].ends_with("-1") && names[1].ends_with("-2") && names.len() == 2, "{names:?}");
}

#[test]
fn a_scheduler_that_starts_every_job_twice_has_it_run_once() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    let sbatch = before(&cluster, "sbatch", "$REAL \"$@\" >/dev/null; exec $REAL \"$@\"");
    let experiments: Vec<Experiment> = (0..4).map(|at| bench.counting(&format!("sleep 1; echo {at}"))).collect();
    let on = bench.with(Slurm { sbatch, ..slurm(&cluster) }.backend(Settings::default()));
    let outcomes = on.run("process", &experiments).unwrap();
    for (at, outcome) in outcomes.iter().enumerate() {
        let outcome = outcome.as_ref().unwrap();
        assert_eq!((bench.text(outcome.stdout), outcome.attempts), (format!("{at}\n"), 1));
    }
    assert_eq!((cluster.jobs().len(), bench.count()), (8, 4));
}

#[test]
fn a_scheduler_that_loses_jobs_is_asked_again_so_often() {
    let Some(cluster) = Cluster::start() else { return };
    // It takes the first and forgets it.
    let once = "if mkdir $STATE/once 2>/dev/null; then echo 4711; exit 0; fi; exec $REAL \"$@\"";
    let bench = Bench::new();
    let sbatch = before(&cluster, "sbatch", once);
    let outcome = bench.run(Slurm { sbatch, ..slurm(&cluster) }, &bench.counting("echo done")).unwrap();
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 2, 1));
    // It forgets all; then it says why it takes none.
    for (script, code) in [("echo 4711", "job-lost"), ("echo 'no such partition' >&2; exit 1", "machine")] {
        let bench = Bench::new();
        let sbatch = before(&cluster, "sbatch", script);
        let fault = bench.run(Slurm { sbatch, ..slurm(&cluster) }, &bench.counting("echo done")).unwrap_err();
        assert_eq!((fault.code, fault.passing, bench.count()), (code, true, 0), "{fault}");
        assert!(code == "job-lost" || fault.message.contains("no such partition"), "{fault}");
    }
}

#[test]
fn a_scheduler_that_answers_late_or_not_at_all_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    let sbatch = before(&cluster, "sbatch", "exec $REAL --begin=now+3 \"$@\"");
    let outcome = bench.run(Slurm { sbatch, ..slurm(&cluster) }, &bench.counting("echo late")).unwrap();
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 1, 1));
    // Nobody says where the job is, so it stays where it is, and is found when somebody does.
    let experiment = bench.counting("sleep 6; echo done");
    let scontrol = before(&cluster, "scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1");
    let fault = bench.run(Slurm { scontrol, ..slurm(&cluster) }, &experiment).unwrap_err();
    assert_eq!((fault.code, fault.passing), ("unreachable", true), "{fault}");
    let outcome = bench.run(slurm(&cluster), &experiment).unwrap();
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 1, 2));
    // One that waits for longer than anybody would is given up, and ended.
    let sbatch = before(&cluster, "sbatch", "exec $REAL --hold \"$@\"");
    let patience = Patience { queue: Duration::from_secs(1), ..patience() };
    let fault = bench.run(Slurm { sbatch, patience, ..slurm(&cluster) }, &bench.counting("echo never")).unwrap_err();
    assert_eq!((fault.code, bench.count()), ("job-lost", 2), "{fault}");
    assert!(cluster.jobs().iter().all(|(_, state)| state != "PENDING"), "{:?}", cluster.jobs());
}

#[test]
fn what_another_run_left_is_not_taken() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    // Before the job runs, something lies in its place: a whole end, of another job.
    let plant = "folder=$(printf '%s\\n' \"$@\" | sed -n 's/^--chdir=//p')
if mkdir $STATE/planted 2>/dev/null; then
    echo stolen > $folder/stdout
    printf 'name auto-000000000000-0000000000000000-1\\nended exited 0\\nseconds 1\\nkept limits\\n' > $folder/exit
    echo 4711; exit 0
fi
exec $REAL \"$@\"";
    let sbatch = before(&cluster, "sbatch", plant);
    let outcome = bench.run(Slurm { sbatch, ..slurm(&cluster) }, &bench.counting("echo own")).unwrap();
    assert_eq!((bench.text(outcome.stdout).as_str(), outcome.attempts, bench.count()), ("own\n", 2, 1));
}

#[test]
fn a_run_that_is_given_up_ends_its_jobs() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    let scontrol = before(&cluster, "scontrol", "exit 1");
    let fault = bench.run(Slurm { scontrol, ..slurm(&cluster) }, &bench.counting("sleep 50")).unwrap_err();
    assert_eq!(fault.code, "unreachable");
    let running =
        || cluster.jobs().iter().filter(|(_, state)| ["RUNNING", "PENDING"].contains(&state.as_str())).count();
    assert_eq!(running(), 1);
    bench.with(slurm(&cluster).backend(Settings::default())).cancel().unwrap();
    let begun = std::time::Instant::now();
    while running() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", cluster.jobs());
        std::thread::sleep(Duration::from_millis(50));
    }
}
