//! Recording with real processes: many at once, killed, told to stop, on a full disk, over
//! a damaged store. What a `record` that ended with 0 took in is in the store, and what an
//! agent wrote is somewhere.
//!
//! `AUTO_ROUNDS` sets how often the parallel recorders run; the default is few.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_store::{Scope, Store};
use auto_tests::disk::Disk;
use rustix::process::{Pid, Signal, kill_process};

const RECORDERS: usize = 24;

/// An agent of the Python SDK: says which run it is, and leaves a file when all is written.
const AGENT: &str = r#"
import sys, auto_sdk
run = int(sys.argv[1])
with auto_sdk.trace("many", task_input=run):
    for n in range(20):
        with auto_sdk.model_call("m", {"question": n, "run": run}) as call:
            call.output = n * 2
    auto_sdk.task_output(run)
open(f"done-{run}", "w").close()
"#;

/// `auto-host` in a folder of its own.
struct Tool {
    folder: tempfile::TempDir,
    binary: PathBuf,
    cache: PathBuf,
}

impl Tool {
    fn new() -> Tool {
        Tool::within(&std::env::temp_dir())
    }

    fn within(place: &Path) -> Tool {
        let test = std::env::current_exe().unwrap();
        let built = test.ancestors().nth(2).unwrap();
        let folder = tempfile::tempdir_in(place).unwrap();
        fs::write(folder.path().join("agent.py"), AGENT).unwrap();
        fs::copy(auto_tests::root().join("tests/cli/fixtures/shout.jsonl"), folder.path().join("shout.jsonl")).unwrap();
        Tool { folder, binary: auto_tests::tool::binary(), cache: built.join("recording-cache") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) -> PathBuf {
        self.path("s.db")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).current_dir(self.folder.path()).env("AUTO_CACHE", &self.cache);
        command.env("PYTHONPATH", auto_tests::root().join("tools/sdk/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env_remove("AUTO_TRACE_FILE").env("AUTO_STORE", "s.db");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap_or_else(|error| panic!("{}: {error}", self.binary.display()))
    }

    fn record(&self, agent: &str) -> Output {
        self.run(&["record", "--", "sh", "-c", agent])
    }

    fn start_python(&self, run: usize) -> Child {
        self.command(&["record", "--", "python3", "agent.py", &run.to_string()]).spawn().unwrap()
    }

    /// The runs whose input and output are in the store, which is whole.
    fn runs(&self) -> BTreeSet<usize> {
        let store = Store::open_read(self.store()).unwrap();
        store.verify().unwrap();
        let runs = store.observations("many", &Scope::Task).unwrap();
        runs.iter().map(|run| run.input.as_str().parse().unwrap()).collect()
    }

    fn traces(&self, task: &str) -> u64 {
        let tasks = Store::open_read(self.store()).unwrap().tasks().unwrap();
        tasks.iter().find(|one| one.task == task).map_or(0, |one| one.traces)
    }

    /// The trace files in the spool.
    fn spooled(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("s.db.spool")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension() == Some(OsStr::new("jsonl"))).collect()
    }

    /// Starts an agent and waits until it has written its trace.
    fn start(&self, agent: &str) -> Child {
        let child = self.command(&["record", "--", "sh", "-c", agent]).spawn().unwrap();
        wait_until("the agent to write", || self.path("ready").exists());
        child
    }
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("skipped: python3 cannot be run");
    }
    found
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn parallel_recorders_lose_nothing() {
    if !has_python() {
        return;
    }
    let rounds = std::env::var("AUTO_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let tool = Tool::new();
        let recorders: Vec<Child> = (0..RECORDERS).map(|run| tool.start_python(run)).collect();
        for recorder in recorders {
            let output = recorder.wait_with_output().unwrap();
            assert!(output.status.success(), "round {round}: {}", told(&output));
        }
        assert_eq!(tool.runs().len(), RECORDERS, "round {round}");
        assert_eq!(tool.traces("many"), RECORDERS as u64, "round {round}");
        assert!(!tool.path("s.db.spool").exists(), "round {round} left a trace");
    }
}

#[test]
fn killed_recorders_leave_a_whole_store_and_every_trace() {
    if !has_python() {
        return;
    }
    let tool = Tool::new();
    let mut finished = BTreeSet::new();
    for wave in 0..6 {
        let mut recorders: Vec<(usize, Child)> =
            (wave * 8..wave * 8 + 8).map(|run| (run, tool.start_python(run))).collect();
        let start = Instant::now();
        for (run, recorder) in &recorders[..6] {
            // Spread over all that a recorder does: starting, waiting, taking in.
            let at = Duration::from_millis((*run as u64 * 97) % 700);
            std::thread::sleep(at.saturating_sub(start.elapsed()));
            signal(recorder, Signal::KILL);
        }
        for (run, recorder) in &mut recorders {
            if recorder.wait().unwrap().success() {
                finished.insert(*run);
            }
        }
        assert!(tool.runs().is_superset(&finished), "what was recorded is not there: {finished:?}, {:?}", tool.runs());
    }
    assert!(finished.len() >= 12, "{finished:?}");
    // Agents go on without their recorder; what they wrote is taken in when they are done.
    wait_until("the last agent", || {
        let output = tool.run(&["import", "--spool", "--recover-partial"]);
        assert!(output.status.success() || told(&output).contains("torn"), "{}", told(&output));
        tool.spooled().iter().all(|trace| fs::metadata(trace).is_ok_and(|file| file.len() == 0))
    });
    let wrote = |run: &usize| tool.path(&format!("done-{run}")).exists();
    let wrote: BTreeSet<usize> = (0..48).filter(wrote).collect();
    let runs = tool.runs();
    let lost: Vec<_> = wrote.difference(&runs).collect();
    assert!(lost.is_empty() && wrote.len() > finished.len(), "lost {lost:?} of {wrote:?}");
}

#[test]
fn a_signal_stops_the_agent_and_what_it_wrote_is_taken_in() {
    for (name, number, code) in [("TERM", Signal::TERM, 143), ("INT", Signal::INT, 130), ("HUP", Signal::HUP, 129)] {
        let tool = Tool::new();
        let child = tool.start("cp shout.jsonl $AUTO_TRACE_FILE; touch ready; sleep 60; touch survived");
        signal(&child, number);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        assert!(told(&output).contains(&format!("SIG{name} came and the agent was stopped")), "{}", told(&output));
        assert!(tool.traces("shout") == 1 && tool.spooled().is_empty());
    }
}

#[test]
fn an_agent_that_ends_in_order_when_told_gives_its_own_code() {
    let tool = Tool::new();
    let child =
        tool.start("trap 'cp shout.jsonl $AUTO_TRACE_FILE; exit 7' TERM; touch ready; while :; do sleep 0.1; done");
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), tool.traces("shout")), (Some(7), 1), "{}", told(&output));
}

#[test]
fn a_second_signal_kills_an_agent_that_does_not_stop() {
    let tool = Tool::new();
    let child = tool.start("trap '' TERM; cp shout.jsonl $AUTO_TRACE_FILE; touch ready; sleep 60");
    signal(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), tool.traces("shout")), (Some(137), 1), "{}", told(&output));
}

/// Keeps the store locked until it is told to stop.
const HOLDER: &str = r#"
import os, sqlite3, time
held = sqlite3.connect("s.db", isolation_level=None)
held.execute("BEGIN IMMEDIATE")
open("locked", "w").close()
deadline = time.time() + 50
while time.time() < deadline and not os.path.exists("stop"):
    time.sleep(0.05)
"#;

#[test]
fn a_signal_after_the_agent_s_end_ends_the_recorder_and_the_trace_is_kept() {
    if !has_python() {
        return;
    }
    let tool = Tool::new();
    fs::write(tool.path("holder.py"), HOLDER).unwrap();
    let agent = "cp shout.jsonl $AUTO_TRACE_FILE; python3 holder.py >out 2>&1 & while [ ! -e locked ]; do sleep 0.05; done; touch ready";
    let child = tool.start(agent);
    // The agent has ended when the recorder waits for the store.
    std::thread::sleep(Duration::from_millis(1500));
    let start = Instant::now();
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "it waited for the store all the same");
    assert_eq!(output.status.signal(), Some(15), "{}", told(&output));
    fs::write(tool.path("stop"), "").unwrap();
    wait_until("the trace to be taken in", || {
        tool.run(&["import", "--spool"]);
        tool.traces("shout") == 1
    });
    assert!(tool.spooled().is_empty());
}

#[test]
fn what_is_no_file_in_the_place_of_a_trace_keeps_nobody_waiting() {
    for (put, left) in [
        ("rm $AUTO_TRACE_FILE; mkfifo $AUTO_TRACE_FILE", 0),
        ("rm $AUTO_TRACE_FILE; ln -s /dev/zero $AUTO_TRACE_FILE", 0),
        ("rm $AUTO_TRACE_FILE; ln -s $PWD/pipe $AUTO_TRACE_FILE; mkfifo pipe", 0),
        ("rm $AUTO_TRACE_FILE; mkdir $AUTO_TRACE_FILE; touch $AUTO_TRACE_FILE/x", 1),
    ] {
        let tool = Tool::new();
        let mut child = tool.command(&["record", "--", "sh", "-c", put]).spawn().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                panic!("`record` waits after `{put}`");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.code() == Some(1) && told(&output).contains("error[no-trace]"),
            "{put}: {}",
            told(&output)
        );
        assert_eq!(tool.spooled().len(), left, "{put}");
        // Nor do those who look for what was left.
        for words in [&["import", "--spool"][..], &["doctor"]] {
            let output = tool.run(words);
            assert!(output.status.success() && !told(&output).contains("was left"), "{put}: {}", told(&output));
        }
    }
}

#[test]
fn pipes_that_lie_in_the_spool_keep_nobody_waiting() {
    let tool = Tool::new();
    assert!(tool.record("cp shout.jsonl $AUTO_TRACE_FILE").status.success());
    let spool = tool.path("s.db.spool");
    fs::create_dir(&spool).unwrap();
    fs::copy(tool.path("shout.jsonl"), spool.join("run-b.jsonl")).unwrap();
    for pipe in ["run-a.jsonl", "run-b.lock", "run-c.lock"] {
        assert!(Command::new("mkfifo").arg(spool.join(pipe)).status().unwrap().success());
    }
    for words in [&["doctor"][..], &["import", "--spool"], &["census", "--task", "shout"]] {
        let start = Instant::now();
        let output = tool.run(words);
        assert!(output.status.success() && start.elapsed() < Duration::from_secs(30), "{}", told(&output));
    }
}

#[test]
fn a_recorder_that_is_killed_leaves_the_trace_where_the_next_command_finds_it() {
    let tool = Tool::new();
    let mut child =
        tool.start("cp shout.jsonl $AUTO_TRACE_FILE; touch ready; while [ ! -e stop ]; do sleep 0.05; done");
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    // The agent still runs, so its trace is not touched.
    let output = tool.run(&["import", "--spool"]);
    assert!(output.status.success() && tool.spooled().len() == 1, "{}", told(&output));
    assert!(!told(&tool.run(&["doctor"])).contains("was left"));
    fs::write(tool.path("stop"), "").unwrap();
    wait_until("the lock to go", || told(&tool.run(&["doctor"])).contains("1 recording was left in s.db.spool"));
    let other = tool.record(
        "sed s/shout/other/g shout.jsonl | sed 's/\"trace_id\": *\"..../\"trace_id\":\"ffff/' > $AUTO_TRACE_FILE",
    );
    let advice = "auto-host import --store s.db --spool";
    assert!(told(&other).contains(advice), "{}", told(&other));
    let output = tool.run(&["import", "--spool"]);
    assert!(told(&output).contains("1 trace with 24 spans added"), "{}", told(&output));
    assert!(tool.traces("shout") == 1 && !tool.path("s.db.spool").exists());
    assert!(!told(&tool.run(&["census", "--task", "shout"])).contains("left"));
}

#[test]
fn a_trace_that_is_refused_is_kept_and_its_place_is_said() {
    let tool = Tool::new();
    let output = tool.record("head -c 1000 shout.jsonl > $AUTO_TRACE_FILE");
    let kept = tool.spooled();
    assert_eq!((output.status.code(), kept.len()), (Some(1), 1), "{}", told(&output));
    assert_eq!(fs::metadata(&kept[0]).unwrap().len(), 1000);
    let name = kept[0].file_name().unwrap().to_string_lossy().into_owned();
    assert!(told(&output).contains(&name) && told(&output).contains("--spool"), "{}", told(&output));
    // Taken in as it is, it is refused again and stays; recovered, it goes.
    let output = tool.run(&["import", "--spool"]);
    assert!(output.status.code() == Some(1) && tool.spooled() == kept, "{}", told(&output));
    let output = tool.run(&["import", "--spool", "--recover-partial"]);
    assert!(output.status.success() && tool.spooled().is_empty(), "{}", told(&output));
    // The whole trace takes the place of the torn one, and is not displaced by it.
    let output = tool.run(&["import", "shout.jsonl"]);
    assert!(told(&output).contains("1 completed that had been cut off"), "{}", told(&output));
    fs::write(tool.path("torn.jsonl"), &fs::read(tool.path("shout.jsonl")).unwrap()[..1000]).unwrap();
    let output = tool.run(&["import", "--recover-partial", "torn.jsonl"]);
    assert!(told(&output).contains("1 already there"), "{}", told(&output));
    assert_eq!(tool.traces("shout"), 1);
}

#[test]
fn a_store_that_is_damaged_meanwhile_costs_no_trace() {
    let tool = Tool::new();
    assert!(tool.run(&["import", "shout.jsonl"]).status.success());
    let output = tool.record(
        "sed 's/\"trace_id\": *\"..../\"trace_id\":\"ffff/' shout.jsonl > $AUTO_TRACE_FILE; truncate -s 9000 s.db",
    );
    let kept = tool.spooled();
    assert_eq!((output.status.code(), kept.len()), (Some(6), 1), "{}", told(&output));
    // Now it is refused before the agent costs anything.
    let output = tool.record("touch started");
    assert!(output.status.code() == Some(6) && !tool.path("started").exists(), "{}", told(&output));
    let kept = kept[0].to_str().unwrap();
    assert!(tool.run(&["import", "--store", "new.db", kept]).status.success());
}

#[test]
fn damage_ends_with_exit_code_6_or_changes_nothing() {
    let tool = Tool::new();
    assert!(tool.run(&["import", "shout.jsonl"]).status.success());
    let census = |tool: &Tool| tool.run(&["census", "--task", "shout", "--json"]);
    let good = census(&tool).stdout;
    let whole = fs::read(tool.store()).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).filter(|&at| at < 100 || whole[at] != 0).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(tool.store(), bytes).unwrap();
        let output = census(&tool);
        match output.status.code() {
            Some(0) => assert_eq!(output.stdout, good, "byte {at}"),
            Some(6) => {
                let reply = Value::parse(&output.stdout).unwrap();
                let code = reply.get("code").and_then(Value::as_text).unwrap_or_default();
                assert!(["store-damaged", "not-a-store", "store-version"].contains(&code), "byte {at}: {code}");
                refused += 1;
            }
            other => panic!("byte {at}: exit {other:?}: {}", told(&output)),
        }
    }
    assert!(refused > 10, "{refused} were noticed");
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was_and_the_trace_where_it_is() {
    let Some(disk) = Disk::new("1200k") else { return };
    let tool = Tool::within(&disk.0);
    assert!(tool.run(&["import", "shout.jsonl"]).status.success());
    let other = "sed 's/\"trace_id\": *\"..../\"trace_id\":\"ffff/' shout.jsonl > $AUTO_TRACE_FILE";
    let fill = format!("{other}; cat /dev/zero > filler 2> /dev/null; true");
    let output = tool.record(&fill);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("full") && told(&output).contains("--spool"), "{}", told(&output));
    assert_eq!(tool.spooled().len(), 1);
    // Neither a file nor a recording can be taken in, and reading goes on.
    disk.fill();
    let output = tool.run(&["import", "--spool"]);
    assert!(output.status.code() == Some(1) && told(&output).contains("full"), "{}", told(&output));
    let census = tool.run(&["census", "--task", "shout"]);
    assert!(census.status.success() && told(&census).contains("1 whole trace"), "{}", told(&census));
    let output = tool.record("true");
    assert!(output.status.code() == Some(1) && tool.spooled().len() == 1, "{}", told(&output));
    for filler in [tool.path("filler"), disk.0.join("filler")] {
        let _ = fs::remove_file(filler);
    }
    let output = tool.run(&["import", "--spool"]);
    assert!(output.status.success() && tool.spooled().is_empty(), "{}", told(&output));
    assert_eq!(tool.traces("shout"), 2);
}
