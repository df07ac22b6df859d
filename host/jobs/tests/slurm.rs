//! Experiments on a real Slurm: what comes of them is what comes of processes here, and whatever the
//! scheduler does, each is run once and counted once.

mod cluster;
mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use auto_jobs::{Backend, Ending, Experiment, Fault, Job, Limits, Outcome, Patience, Process, Settings, Slurm, State};
use cluster::Cluster;
use common::{Bench, LIMITS, patience, shell, side_by_side, until};

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

fn run(bench: &Bench, slurm: Slurm, experiment: &Experiment) -> Result<Outcome, Fault> {
    bench.run_on(slurm.backend(Settings::default()), experiment)
}

/// A command that stands before one of Slurm's: `$REAL` is that one, `$STATE` a folder of the bench's.
fn before(cluster: &Cluster, bench: &Bench, name: &str, script: &str) -> Vec<String> {
    let path: PathBuf = bench.path(&format!("{name}-{}", script.len()));
    let state = bench.path("state-of-scripts");
    fs::create_dir_all(&state).unwrap();
    let text =
        format!("#!/bin/sh\nREAL='{}'\nSTATE='{}'\n{script}\n", cluster.command(name).join(" "), state.display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    vec![path.display().to_string()]
}

#[test]
fn what_comes_of_a_job_is_what_comes_of_a_process() {
    let Some(cluster) = Cluster::shared() else { return };
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
    let experiments = |bench: &Bench| -> Vec<Experiment> {
        let environment = [("SEED", "7"), ("VALUE", "a 'b' \"c\" $d `e`\nf")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let one = |script: &&str| Experiment {
            environment: environment.to_vec(),
            input: "from stdin\n".to_owned(),
            files: vec![bench.file("in.txt", "from a file\n", false)],
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
    let here_ran = here.on(Process::new(handed.clone())).run("process", &experiments(&here)).unwrap();
    let there_ran = there.on(slurm(&cluster).backend(handed)).run("process", &experiments(&there)).unwrap();
    for ((script, here_one), there_one) in scripts.iter().zip(here_ran).zip(there_ran) {
        let (here_one, there_one) = (here_one.unwrap(), there_one.unwrap());
        assert_eq!(there_one.ending, here_one.ending, "{script}: {}", there.text(there_one.stderr));
        assert_eq!(there_one.files, here_one.files, "{script}");
        assert_eq!(there.text(there_one.stdout), here.text(here_one.stdout), "{script}");
        assert_eq!((there_one.isolation[0].as_str(), there_one.attempts), ("slurm", 1));
    }
    let absent = Experiment { command: vec!["no-such-program".to_owned()], ..shell("") };
    assert_eq!(run(&there, slurm(&cluster), &absent).unwrap_err().code, "no-command");
    assert!(!there.path("work").read_dir().unwrap().any(|_| true), "no folder of a job is left");
}

#[test]
fn a_job_that_was_submitted_before_is_found_again_and_not_submitted_twice() {
    let Some(cluster) = Cluster::shared() else { return };
    let bench = Bench::new();
    // It ends when it may.
    let experiment = bench.counting("while [ ! -e $COUNT.go ]; do sleep 0.1; done; echo done");
    let job = Job {
        name: "auto-000000000000-0123456789abcdef-1".to_owned(),
        folder: bench.path("work/0123456789abcdef/1"),
        seconds: 60,
    };
    let scontrol = before(&cluster, &bench, "scontrol", "[ ! -e $STATE/deaf ] || exit 1; exec $REAL \"$@\"");
    let deaf = bench.path("state-of-scripts/deaf");
    let submit = || {
        let backend = Slurm { scontrol: scontrol.clone(), ..slurm(&cluster) }.backend(Settings::default());
        backend.submit(&job, &experiment, &bench.blobs).unwrap();
        backend
    };
    submit();
    // Whoever submitted it is gone; the next one knows its name alone, even where the number is lost.
    fs::remove_file(job.folder.join("id")).unwrap();
    let next = submit();
    assert_eq!(cluster.jobs(bench.folder.path()).len(), 1);
    // Nobody answers for longer than anybody waits: the job is no more lost for that than it was before.
    fs::write(&deaf, "").unwrap();
    until("nobody answers", || matches!(next.poll(&job), Err(fault) if fault.code == "unreachable"));
    assert!(!matches!(next.poll(&job), Ok(State::Lost(_))), "it was submitted");
    until("nobody answers again", || matches!(next.poll(&job), Err(fault) if fault.code == "unreachable"));
    fs::remove_file(&deaf).unwrap();
    fs::write(bench.path("count.go"), "").unwrap();
    until("it ends", || next.poll(&job).unwrap() == State::Ended);
    // It is found after its end, too.
    let last = submit();
    assert_eq!(last.poll(&job), Ok(State::Ended));
    let outcome = last.collect(&job, &experiment, &bench.blobs).unwrap();
    assert_eq!((outcome.ending, bench.text(outcome.stdout).as_str()), (Ending::Exited(0), "done\n"));
    assert_eq!((cluster.jobs(bench.folder.path()).len(), bench.count()), (1, 1));
}

#[test]
fn a_job_that_is_cancelled_behind_our_back_is_submitted_again_and_counted() {
    let Some(cluster) = Cluster::shared() else { return };
    let bench = Bench::new();
    // The first time it would take too long, and is lost meanwhile.
    let experiment = bench.counting("[ \"$(wc -l < $COUNT)\" -gt 1 ] || sleep 50; echo done");
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&bench, slurm(&cluster), &experiment));
        until("it begins", || bench.count() > 0);
        let name = cluster.jobs(bench.folder.path())[0].0.clone();
        cluster.said(&["scancel", &format!("--name={name}")]);
        run.join().unwrap().unwrap()
    });
    assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 2, 2));
    let names: Vec<String> = cluster.jobs(bench.folder.path()).into_iter().map(|(name, _)| name).collect();
    assert!(names[0].ends_with("-1") && names[1].ends_with("-2") && names.len() == 2, "{names:?}");
}

#[test]
fn a_scheduler_that_starts_every_job_twice_has_it_run_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let bench = Bench::new();
    let sbatch = before(&cluster, &bench, "sbatch", "$REAL \"$@\" >/dev/null; exec $REAL \"$@\"");
    let experiments: Vec<Experiment> = (0..4).map(|at| bench.counting(&format!("sleep 1; echo {at}"))).collect();
    let on = bench.on(Slurm { sbatch, ..slurm(&cluster) }.backend(Settings::default()));
    let outcomes = on.run("process", &experiments).unwrap();
    for (at, outcome) in outcomes.iter().enumerate() {
        let outcome = outcome.as_ref().unwrap();
        assert_eq!((bench.text(outcome.stdout), outcome.attempts), (format!("{at}\n"), 1));
    }
    assert_eq!((cluster.jobs(bench.folder.path()).len(), bench.count()), (8, 4));
}

#[test]
fn a_scheduler_that_loses_jobs_is_asked_again_so_often() {
    let Some(cluster) = Cluster::shared() else { return };
    // It takes the first and forgets it; it forgets all; it says why it takes none.
    let cases = [
        ("if mkdir $STATE/once 2>/dev/null; then echo 4711; exit 0; fi; exec $REAL \"$@\"", None),
        ("echo 4711", Some("job-lost")),
        ("echo 'no such partition' >&2; exit 1", Some("machine")),
    ];
    side_by_side(&cases, |(script, code)| {
        let bench = Bench::new();
        let sbatch = before(&cluster, &bench, "sbatch", script);
        let settle = if code.is_some() { Duration::from_secs(1) } else { patience().settle };
        let patience = Patience { settle, ..patience() };
        let outcome = run(&bench, Slurm { sbatch, patience, ..slurm(&cluster) }, &bench.counting("echo done"));
        match (code, outcome) {
            (None, Ok(outcome)) => {
                assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 2, 1));
            }
            (Some(code), Err(fault)) => {
                assert_eq!((fault.code, fault.passing, bench.count()), (*code, true, 0), "{fault}");
                assert!(*code == "job-lost" || fault.message.contains("no such partition"), "{fault}");
            }
            (code, outcome) => panic!("{code:?}: {outcome:?}"),
        }
    });
}

#[test]
fn a_scheduler_that_begins_late_is_waited_for_and_one_that_never_begins_given_up() {
    let Some(cluster) = Cluster::shared() else { return };
    side_by_side(&["--begin=now+3", "--hold"], |flag| {
        let bench = Bench::new();
        let sbatch = before(&cluster, &bench, "sbatch", &format!("exec $REAL {flag} \"$@\""));
        let never = *flag == "--hold";
        let queue = Duration::from_secs(if never { 1 } else { 60 });
        let patience = Patience { queue, ..patience() };
        let outcome = run(&bench, Slurm { sbatch, patience, ..slurm(&cluster) }, &bench.counting("echo late"));
        if never {
            let fault = outcome.unwrap_err();
            assert_eq!((fault.code, bench.count()), ("job-lost", 0), "{fault}");
            let jobs = cluster.jobs(bench.folder.path());
            assert!(jobs.iter().all(|(_, state)| state != "PENDING"), "{jobs:?}");
        } else {
            let outcome = outcome.unwrap();
            assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 1, 1));
        }
    });
}

#[test]
fn a_scheduler_that_does_not_answer_loses_nothing_and_a_run_that_is_given_up_ends_its_jobs() {
    let Some(cluster) = Cluster::shared() else { return };
    side_by_side(&["sleep 4; echo done", "sleep 50"], |script| {
        let bench = Bench::new();
        let experiment = bench.counting(script);
        // Nobody says where the job is, so it stays where it is, and is found when somebody does.
        let scontrol = before(&cluster, &bench, "scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1");
        let fault = run(&bench, Slurm { scontrol, ..slurm(&cluster) }, &experiment).unwrap_err();
        assert_eq!((fault.code, fault.passing), ("unreachable", true), "{fault}");
        if *script == "sleep 50" {
            let alive = || {
                let jobs = cluster.jobs(bench.folder.path());
                jobs.iter().filter(|(_, state)| ["RUNNING", "PENDING"].contains(&state.as_str())).count()
            };
            assert_eq!(alive(), 1);
            bench.on(slurm(&cluster).backend(Settings::default())).cancel().unwrap();
            until("it is ended", || alive() == 0);
        } else {
            let outcome = run(&bench, slurm(&cluster), &experiment).unwrap();
            assert_eq!((outcome.ending, outcome.attempts, bench.count()), (Ending::Exited(0), 1, 1));
        }
    });
}

#[test]
fn what_another_run_left_is_not_taken() {
    let Some(cluster) = Cluster::shared() else { return };
    let bench = Bench::new();
    // Before the job runs, something lies in its place: a whole end, of another job.
    let plant = "folder=$(printf '%s\\n' \"$@\" | sed -n 's/^--chdir=//p')
if mkdir $STATE/planted 2>/dev/null; then
    echo stolen > $folder/stdout
    printf 'name auto-000000000000-0000000000000000-1\\nended exited 0\\nseconds 1\\nkept limits\\n' > $folder/exit
    echo 4711; exit 0
fi
exec $REAL \"$@\"";
    let sbatch = before(&cluster, &bench, "sbatch", plant);
    let outcome = run(&bench, Slurm { sbatch, ..slurm(&cluster) }, &bench.counting("echo own")).unwrap();
    assert_eq!((bench.text(outcome.stdout).as_str(), outcome.attempts, bench.count()), ("own\n", 2, 1));
}
