//! What a power cut, a full disk and a second process can do to `compile`: nothing that the
//! next run does not make good.
//!
//! `strace` kills the real binary at the n-th call of a kind, for every n until it lives, and
//! makes calls fail. It counts the calls of each thread, so the main thread, which writes the
//! results, is swept alone and all threads together. `AUTO_CRASH=all` tries every n of the
//! long sweeps too; without it they go in steps.
//!
//! The full disk is a small tmpfs in a mount namespace of its own: as root, or where users
//! may make namespaces.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use auto_schema::digest::Digest;
use auto_tests::tool::binary;
use tempfile::TempDir;

/// Calls by which files come about, grow, move and go.
const CALLS: [&str; 10] = [
    "openat",
    "mkdir",
    "flock",
    "write",
    "pwrite64",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename,renameat,renameat2",
    "unlink,unlinkat",
];

/// What was at the output before.
const OLD: &[u8] = b"an older artifact";

const KILL: i32 = 9;

/// A place to compile in, and what comes of it undisturbed.
struct Bench {
    base: TempDir,
    binary: PathBuf,
    /// Every file that a compile leaves, but those of the cache and of SQLite.
    expected: BTreeMap<PathBuf, Vec<u8>>,
}

impl Bench {
    fn new() -> Bench {
        let binary = binary();
        let strace = Command::new("strace").arg("-V").output();
        assert!(strace.is_ok_and(|output| output.status.success()), "strace is needed: apt-get install -y strace");
        let mut bench = Bench { base: tempfile::tempdir().unwrap(), binary, expected: BTreeMap::new() };
        let base = bench.base.path();
        let fixtures = auto_tests::root().join("tests/cli/fixtures");
        for file in ["shout.jsonl", "shout.contract.toml"] {
            fs::copy(fixtures.join(file), base.join(file)).unwrap();
        }
        let mut import = bench.host(base);
        let imported = import.args(["import", "--store", "shout.db", "shout.jsonl"]).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        let folder = bench.folder(None);
        let output = bench.compile(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        bench.expected = left(folder.path());
        assert_eq!(bench.expected.len(), 3, "{:?}", bench.expected.keys());
        copy(&folder.path().join("cache"), &base.join("cache"));
        bench
    }

    /// A folder to compile in, with a cache that knows everything or is not there yet.
    fn folder(&self, cache: Option<&Path>) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in ["shout.db", "shout.contract.toml"] {
            fs::copy(self.base.path().join(file), folder.path().join(file)).unwrap();
        }
        fs::write(folder.path().join("out.cbin"), OLD).unwrap();
        if let Some(cache) = cache {
            copy(cache, &folder.path().join("cache"));
        }
        folder
    }

    fn warm(&self) -> PathBuf {
        self.base.path().join("cache")
    }

    fn host(&self, folder: &Path) -> Command {
        under(Command::new(&self.binary), folder)
    }

    fn compile(&self, folder: &Path) -> Command {
        let mut command = self.host(folder);
        command.args(COMPILE);
        command
    }

    /// The same under strace: what it is to do to which calls.
    fn traced(&self, folder: &Path, threads: bool, calls: &str, does: &str) -> Command {
        let mut command = under(Command::new("strace"), folder);
        if threads {
            command.arg("-f");
        }
        command.args(["-qq", "-o", "trace.log", "-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:{does}")]).arg(&self.binary).args(COMPILE);
        command
    }

    /// Whatever happened before: the output is old or new, and the next run ends as one
    /// that was never disturbed and leaves nothing else behind.
    fn mend(&self, folder: &Path, what: &str) {
        self.whole(folder, what);
        let output = self.compile(folder).output().unwrap();
        assert!(output.status.success(), "{what}, then again: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("waiting"), "{what}: the dead hold no lock, yet {stderr}");
        let _ = fs::remove_file(folder.join("trace.log"));
        let after = left(folder);
        assert_eq!(after.keys().collect::<Vec<_>>(), self.expected.keys().collect::<Vec<_>>(), "{what}");
        assert!(after == self.expected, "{what}: other bytes than undisturbed");
        let temporaries: Vec<_> = fs::read_dir(folder.join("cache/tmp")).unwrap().collect();
        assert!(temporaries.is_empty(), "{what}: {temporaries:?}");
    }

    fn whole(&self, folder: &Path, what: &str) {
        let out = fs::read(folder.join("out.cbin")).unwrap();
        assert!(out == OLD || out == self.expected[Path::new("out.cbin")], "{what}: half an output");
        for record in fs::read_dir(folder.join("auto-runs")).into_iter().flatten() {
            let path = record.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let digest = Digest::of(&fs::read(&path).unwrap()).to_string();
                assert_eq!(path.file_stem().unwrap().to_str(), Some(digest.as_str()), "{what}: half a record");
            }
        }
    }

    /// Does it to the n-th call of a kind, for n = 1, 1 + step, … until it meets none; gives
    /// how often it was done.
    fn sweep(&self, sweep: &Sweep, each: impl Fn(&Path, Output, &str)) -> u32 {
        let cache = sweep.warm.then(|| self.warm());
        for done in 0..1000 {
            let n = 1 + done * sweep.step;
            let folder = self.folder(cache.as_deref());
            let does = format!("{}:when={n}", sweep.does);
            let output = self.traced(folder.path(), sweep.threads, sweep.calls, &does).output().unwrap();
            let what = format!("{} ({:?} {does})", sweep.calls, sweep.threads);
            let log = fs::read_to_string(folder.path().join("trace.log")).unwrap_or_default();
            let killed = output.status.signal() == Some(KILL);
            if !killed && !log.contains("INJECTED") {
                assert!(output.status.success(), "{what}: {output:?}");
                assert!(most(&log, sweep) < n, "{what}: a thread made as many calls, and nothing was done to them");
                return done;
            }
            each(folder.path(), output, &what);
            self.mend(folder.path(), &what);
        }
        panic!("{} never ends", sweep.calls)
    }
}

const COMPILE: [&str; 7] = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "out.cbin"];

#[derive(Clone, Copy, Debug)]
struct Sweep {
    calls: &'static str,
    does: &'static str,
    threads: bool,
    warm: bool,
    step: u32,
}

fn under(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder).env("AUTO_CACHE", folder.join("cache")).env_remove("AUTO_STORE");
    command
}

/// The files in a folder, but the cache and SQLite's.
fn left(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if name.starts_with("cache") || name.to_string_lossy().starts_with("shout.db") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// The most calls of one kind that one thread made, of those in a log of strace.
fn most(log: &str, sweep: &Sweep) -> u32 {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let (thread, call) = if sweep.threads { line.split_once(' ').unwrap_or_default() } else { ("", line) };
        if let Some((name, _)) =
            call.trim().split_once('(').filter(|(name, _)| sweep.calls.split(',').any(|one| one == *name))
        {
            *counts.entry((thread, name)).or_insert(0) += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

/// Every step, or some of them.
fn step(sampled: u32) -> u32 {
    if std::env::var_os("AUTO_CRASH").is_some_and(|value| value == "all") { 1 } else { sampled }
}

/// Runs sweeps two at a time.
fn run(bench: &Bench, sweeps: Vec<Sweep>, each: impl Fn(&Path, Output, &str) + Sync) {
    let queue = Mutex::new(sweeps.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(sweep) = queue.lock().unwrap().next() else { return };
                    let started = Instant::now();
                    let done = bench.sweep(&sweep, &each);
                    eprintln!("{done} times in {:?}: {sweep:?}", started.elapsed());
                    assert!(done > 0, "{sweep:?} met no call");
                }
            });
        }
    });
}

#[test]
fn a_compile_that_is_killed_anywhere_ends_the_same_when_it_is_run_again() {
    let bench = Bench::new();
    let kill = Sweep { calls: "", does: "signal=KILL", threads: false, warm: true, step: 1 };
    // The journal's syncs are the driver's thread's; nothing else calls fdatasync.
    let journal = Sweep { calls: "fdatasync", threads: true, warm: false, ..kill };
    let mut sweeps = vec![journal, Sweep { calls: "write", threads: true, ..kill }];
    sweeps.extend(CALLS.iter().filter(|calls| **calls != "fdatasync").map(|calls| Sweep { calls, ..kill }));
    let cold = Sweep { threads: true, warm: false, step: step(13), ..kill };
    let long = ["openat", "mkdir", "flock", "write", "pwrite64", "rename,renameat,renameat2"];
    sweeps.extend(long.map(|calls| Sweep { calls, ..cold }));
    run(&bench, sweeps, |_, output, what| assert_eq!(output.status.signal(), Some(KILL), "{what}"));
}

#[test]
fn a_call_that_fails_is_said_and_costs_nothing() {
    let bench = Bench::new();
    let fail = |calls, does, threads, warm| Sweep { calls, does, threads, warm, step: 1 };
    let sweeps = vec![
        fail("fdatasync", "error=EIO", true, false),
        fail("fsync", "error=EIO", false, true),
        fail("write", "error=ENOSPC", false, true),
        fail("write", "error=ENOSPC", true, true),
        fail("rename,renameat,renameat2", "error=ENOSPC", false, true),
        Sweep { step: step(13), ..fail("write", "error=ENOSPC", true, false) },
    ];
    run(&bench, sweeps, |folder, output, what| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            // Of what can be made again nothing is said; it is only kept for its speed.
            Some(0) => assert!(fs::read(folder.join("out.cbin")).unwrap() != OLD, "{what}: {stderr}"),
            Some(1) => {
                let says = ["No space left", "Input/output error"].iter().any(|error| stderr.contains(error));
                // Or as a pass's refusal, where the machine refused memory to an instance.
                assert!(says, "{what}: {stderr}");
            }
            _ => panic!("{what}: {output:?}"),
        }
    });
}

/// Runs a script where `full` is a file system of 64 KiB with nothing left on it but what
/// `./fill` and `./free` take and give.
fn on_a_full_disk(bench: &Bench, script: &str) -> (i32, String) {
    let folder = bench.folder(Some(&bench.warm()));
    let path = folder.path();
    fs::create_dir(path.join("full")).unwrap();
    let prelude = "mount -t tmpfs -o size=64k none full || exit 99
        fill() { head -c 100000 /dev/zero > full/filler 2>/dev/null; }
        free() { rm full/filler; }
        compile() { \"$HOST\" compile --contract shout.contract.toml --store shout.db \"$@\"; }
        expect() { [ \"$1\" = \"$2\" ] || { echo \"expected $2, not $1\"; exit 98; }; }\n";
    let mut command = under(Command::new("unshare"), path);
    let root = rustix::process::geteuid().is_root();
    command.arg(if root { "-m" } else { "-rm" }).args(["sh", "-c", &format!("{prelude}{script}")]);
    let output = command.env("HOST", &bench.binary).stdin(Stdio::null()).output().expect("unshare starts");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let code = output.status.code().unwrap_or(-1);
    assert_ne!(code, 99, "no tmpfs could be mounted; run as root, or allow user namespaces: {said}");
    (code, said)
}

#[test]
fn a_full_disk_leaves_the_old_output_and_is_said() {
    let bench = Bench::new();
    let script = "printf old > full/out.cbin; fill
        compile --out full/out.cbin; expect $? 1
        expect \"$(cat full/out.cbin)\" old
        expect \"$(ls -A full | tr '\\n' ' ')\" 'filler out.cbin '
        free; compile --out full/out.cbin; expect $? 0
        cmp full/out.cbin out.expected || exit 97";
    let script = format!("cp '{}' out.expected\n{script}", expected_artifact(&bench).display());
    let (code, said) = on_a_full_disk(&bench, &script);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("error[unwritable]") && said.contains("No space left on device"), "{said}");
}

#[test]
fn a_full_disk_under_the_journal_is_said_and_the_next_run_goes_on() {
    let bench = Bench::new();
    let script = "fill
        compile --out out.cbin --runs full/runs; expect $? 1
        expect \"$(cat out.cbin)\" 'an older artifact'
        free; compile --out out.cbin --runs full/runs; expect $? 0
        expect \"$(ls -A full/runs | wc -l)\" 1";
    let (code, said) = on_a_full_disk(&bench, script);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("error[journal-io]") && said.contains("No space left on device"), "{said}");
}

#[test]
fn a_full_disk_under_the_cache_costs_only_time() {
    let bench = Bench::new();
    let script = "fill
        export AUTO_CACHE=$PWD/full/cache
        compile --out out.cbin; expect $? 0";
    let (code, said) = on_a_full_disk(&bench, script);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_full_disk_under_the_store_leaves_what_was_recorded() {
    let bench = Bench::new();
    let script = "cp shout.db full/shout.db; fill
        sed s/blue/green/g \"$TRACE\" > other.jsonl
        \"$HOST\" import --store full/shout.db other.jsonl; expect $? 1
        compile --store full/shout.db --out out.cbin; expect $? 0
        cmp out.cbin out.expected || exit 97";
    let trace = auto_tests::root().join("tests/cli/fixtures/shout.jsonl");
    let script = format!(
        "cp '{}' out.expected; TRACE='{}'\n{}",
        expected_artifact(&bench).display(),
        trace.display(),
        script.replace("compile --store", "\"$HOST\" compile --contract shout.contract.toml --store")
    );
    let (code, said) = on_a_full_disk(&bench, &script);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("error["), "{said}");
}

fn expected_artifact(bench: &Bench) -> PathBuf {
    let path = bench.base.path().join("expected.cbin");
    fs::write(&path, &bench.expected[Path::new("out.cbin")]).unwrap();
    path
}

/// Starts a compile that rests before it puts its output in place, and waits until it holds
/// the lock whose name starts so; gives what the lock file says.
fn slow(bench: &Bench, folder: &Path, lock: &str) -> (Child, String) {
    let calls = "rename,renameat,renameat2";
    let mut command = bench.traced(folder, false, calls, "delay_enter=3000000");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut who = String::new();
    while !who.ends_with('\n') {
        assert!(Instant::now() < deadline, "the first compile took no lock");
        std::thread::sleep(Duration::from_millis(5));
        who = holder(folder, lock);
    }
    (child, who.trim().to_owned())
}

/// What the lock file says whose name starts so; empty where there is none.
fn holder(folder: &Path, lock: &str) -> String {
    let held = fs::read_dir(folder).into_iter().chain(fs::read_dir(folder.join("auto-runs"))).flatten();
    let is_lock = |name: &str| name.starts_with(lock) && name.ends_with(".lock");
    let mut held = held.map(|entry| entry.unwrap().path());
    let held = held.find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_lock));
    held.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn two_compiles_to_one_output_wait_for_each_other_and_say_for_whom() {
    let bench = Bench::new();
    let folder = bench.folder(Some(&bench.warm()));
    let (first, who) = slow(&bench, folder.path(), ".out.cbin.");
    assert!(who.starts_with("process ") && who.contains(" compile --contract shout.contract.toml"), "{who}");
    let second = bench.compile(folder.path()).args(["--seed", "7"]).output().unwrap();
    assert!(second.status.success(), "{second:?}");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains(&format!("waiting for out.cbin, which is being made by {who}, for ")), "{said}");
    assert!(String::from_utf8_lossy(&second.stdout).contains("wrote out.cbin"));
    finish(first);
    assert!(!folder.path().join(".out.cbin.lock").exists());
}

#[test]
fn equal_compiles_to_two_outputs_share_a_runs_folder() {
    let bench = Bench::new();
    let folder = bench.folder(Some(&bench.warm()));
    let (first, who) = slow(&bench, folder.path(), "journal.");
    let other = |name: &str, seed: &str| {
        let mut command = bench.host(folder.path());
        command.args(&COMPILE[..5]).args(["--out", name, "--seed", seed]).output().unwrap()
    };
    let same = other("same.cbin", "0");
    assert!(same.status.success(), "{same:?}");
    let said = String::from_utf8_lossy(&same.stderr).into_owned();
    assert!(said.contains(&format!("waiting for the same artifact, which is being made by {who}")), "{said}");
    let another = other("another.cbin", "1");
    assert!(another.status.success() && another.stderr.is_empty(), "{another:?}");
    finish(first);
    let artifact = &bench.expected[Path::new("out.cbin")];
    assert!(["out.cbin", "same.cbin"].iter().all(|name| fs::read(folder.path().join(name)).unwrap() == *artifact));
}
