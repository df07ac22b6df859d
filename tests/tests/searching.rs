//! The skill compiler, whole: the real `auto-host`, a real agent on the command line and its
//! verifier, and a teacher that is a script or a server. What goes wrong ends the run clearly and
//! leaves what counts as it was; wherever it is killed it comes to the same end.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auto_json::{Record, Value};
use auto_tests::browser;
use auto_tests::tool::{self, binary};
use server::{Act, Received, Server, json};
use tempfile::TempDir;

/// A folder with the skill of `evals/search/skill` in it.
struct Bench {
    folder: TempDir,
    url: String,
}

impl Bench {
    fn new(server: Option<&Server>) -> Bench {
        let folder = tool::scratch();
        let from = auto_tests::root().join("evals/search/skill");
        let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(folder.path()).status().unwrap();
        assert!(copied.success());
        let bench = Bench { folder, url: server.map(|server| server.url.clone()).unwrap_or_default() };
        if server.is_some() {
            bench.edit("auto.toml", "model_mode = \"scripted:replies.jsonl\"", "max_cost_usd = 1");
        }
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

    fn under(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("OPENAI_BASE_URL", format!("{}/v1", self.url)).env("OPENAI_API_KEY", "sk-search-0123456789");
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl")).env("USER", "somebody");
        command.env("PATH", tool::path());
        // Compiled once for all tests of this file.
        command.env("AUTO_CACHE", std::env::temp_dir().join(format!("auto-searching-{}", std::process::id())));
        command
    }

    fn host(&self, args: &[&str]) -> Command {
        let mut command = self.under(Command::new(binary()));
        command.args(args);
        command
    }

    fn search(&self, more: &[&str]) -> (i32, Value) {
        told(self.host(&[&SEARCH[..], more, &["--json"]].concat()))
    }

    /// The only run there is.
    fn run(&self) -> PathBuf {
        let runs = fs::read_dir(self.path("search-runs")).unwrap();
        let mut runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    fn made(&self) -> String {
        fs::read_to_string(self.run().join("made/SKILL.md")).unwrap()
    }

    fn original(&self) -> String {
        fs::read_to_string(self.path("invoices/SKILL.md")).unwrap()
    }
}

const SEARCH: [&str; 4] = ["search", "skill", "--config", "auto.toml"];

fn told(mut command: Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap(), value)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// What became of each edit.
fn decided(report: &Value) -> Vec<(String, String)> {
    let timeline = report.get("timeline").and_then(Value::as_list).unwrap().iter();
    timeline.map(|edit| (text(edit, "status").to_owned(), text(edit, "reason").to_owned())).collect()
}

/// A share of the runs, before and after, in micros.
fn pass_rate(report: &Value) -> (u64, u64) {
    let scores = report.get("scores").and_then(Value::as_list).unwrap();
    let passes = scores.iter().find(|score| text(score, "metric") == "pass_rate").unwrap();
    let side = |key: &str| number(passes.get(key).unwrap(), "mean");
    (side("before"), side("after"))
}

#[test]
fn of_two_who_start_the_same_run_one_waits_and_nothing_is_paid_twice() {
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    let begin = || {
        let mut command = bench.host(&[&SEARCH[..], &["--json"]].concat());
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let said = [begin(), begin()].map(|child| child.wait_with_output().unwrap().stdout);
    assert_eq!(said[0], said[1]);
    let report = Value::parse(&said[0]).unwrap();
    assert_eq!(text(&report, "status"), "complete", "{report}");
    assert_eq!(server.received().len() as u64, number(&report, "calls"));
}

#[test]
fn a_failing_skill_is_improved_until_every_run_passes() {
    let bench = Bench::new(None);
    let original = bench.original();
    let (exit, report) = bench.search(&["--html", "page.html"]);
    assert_eq!(
        (exit, text(&report, "status"), text(&report, "stop")),
        (0, "complete", "normalized_gap_converged"),
        "{report}"
    );
    assert_eq!(pass_rate(&report), (0, 1_000_000));
    let taken = ("applied".to_owned(), "target_improved_without_runtime_regression".to_owned());
    let refused = ("rejected".to_owned(), "runtime_regressed:verifier".to_owned());
    assert_eq!(decided(&report), [taken.clone(), refused, taken.clone(), taken]);
    // The package is as it was; what was made of it is shorter and passes.
    assert_eq!(bench.original(), original);
    let made = bench.made();
    assert!(made.len() < original.len() && made.contains("skip it") && !made.contains("below 100"), "{made}");
    assert_eq!(number(report.get("after").unwrap(), "bytes"), made.len() as u64);
    assert_eq!((number(&report, "calls"), number(&report, "experiments")), (13, 15));
    assert_eq!(number(&report, "spent_micro_usd"), 0);
    assert!(report.get("verifier_signal_used").and_then(Value::as_bool).unwrap());
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert_eq!(page, fs::read_to_string(bench.run().join("index.html")).unwrap());
    assert!(page.contains("runtime_regressed:verifier") && page.contains("+3. Count each invoice once"), "{page}");
    browser::looked_at(&bench.path("page.html"), &["runtime_regressed:verifier", "Count each invoice once"]);
    // The same search is the same run: it says what came of it, and asks nobody.
    fs::write(bench.path("replies.jsonl"), "").unwrap();
    let (exit, again) = bench.search(&[]);
    assert_eq!((exit, decided(&again)), (0, decided(&report)));
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    assert_eq!(sent.lines().count(), 13);
}

/// The state that an edit made.
fn timeline_commit(report: &Value, at: usize) -> String {
    text(&report.get("timeline").and_then(Value::as_list).unwrap()[at], "commit").to_owned()
}

#[test]
fn a_run_can_be_listed_shown_and_taken_back() {
    let bench = Bench::new(None);
    let (_, report) = bench.search(&[]);
    let id = text(&report, "run").to_owned();
    let said = |args: &[&str]| {
        let output = bench.host(args).output().unwrap();
        (
            output.status.code().unwrap(),
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat(),
        )
    };
    let (exit, list) = said(&["search", "list"]);
    assert!(exit == 0 && list.contains(&id) && list.contains("complete") && list.contains("3 applied"), "{list}");
    let (exit, shown) = said(&["search", "show", &id, "--diff"]);
    assert!(exit == 0 && shown.contains("pass_rate 0% of 3 -> 100% of 3"), "{shown}");
    assert!(
        shown.contains("      -1. Read the files `inbox/*.txt`.")
            && shown.contains("      +1. Read the files `inbox/*`."),
        "{shown}"
    );
    for action in ["approve", "reject"] {
        let (exit, why) = said(&["search", action, &id, "e01"]);
        assert!(exit == 1 && why.contains("[nothing-pending]"), "{why}");
    }
    // Back by one, and then to the beginning.
    let (exit, back) = said(&["search", "rollback", &id]);
    assert!(exit == 0 && back.contains("back to"), "{back}");
    assert!(bench.made().contains("They have been around") && bench.made().contains("skip it"));
    let (exit, back) = said(&["search", "rollback", &id]);
    assert!(exit == 0 && bench.made().contains("no amount, stop"), "a second one goes on: {back}");
    assert!(bench.made().contains("Count each invoice once"));
    let (_, shown) = said(&["search", "show", &id]);
    assert_eq!((shown.matches("taken_back").count(), shown.matches(" applied ").count()), (2, 1), "{shown}");
    assert!(!shown.contains("pass_rate 0% of 3 -> 100% of 3"), "its scores are those of what counts: {shown}");
    let third = timeline_commit(&report, 3);
    let (exit, back) = said(&["search", "rollback", &id, "--to", &third[..12]]);
    assert!(exit == 0 && shown.contains(&third[..12]), "by the name that is shown: {back}");
    assert!(said(&["search", "list"]).1.contains("3 applied"));
    let first = text(report.get("before").unwrap(), "commit");
    let (exit, back) = said(&["search", "rollback", &id, "--to", first]);
    assert!(exit == 0, "{back}");
    assert_eq!(bench.made(), bench.original());
    let (_, shown) = said(&["search", "show", &id]);
    assert_eq!(shown.matches("rolled_back").count(), 4, "{shown}");
    let (exit, why) = said(&["search", "rollback", &id, "--to", &"0".repeat(64)]);
    assert!(exit == 1 && why.contains("[no-such-state]"), "{why}");
    assert_eq!(bench.made(), bench.original());
    for (args, code) in [(["search", "show", "skill-000000000000"], "no-run"), (["search", "show", "../x"], "no-run")] {
        let (exit, why) = said(&args);
        assert!(exit == 2 && why.contains(code), "{why}");
    }
}

#[test]
fn a_run_of_another_version_or_one_that_was_changed_is_refused() {
    let bench = Bench::new(None);
    let (_, report) = bench.search(&[]);
    let (id, path) = (text(&report, "run").to_owned(), bench.run().join("run.json"));
    let whole = fs::read_to_string(&path).unwrap();
    for (from, to, exit, code) in [
        ("\"form\":1", "\"form\":2", 1, "run-version"),
        ("inbox", "outbox", 6, "run-damaged"),
        ("{", "", 6, "run-damaged"),
    ] {
        fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        let (ended, why) = told(bench.host(&["search", "show", &id, "--json"]));
        assert_eq!((ended, text(&why, "code")), (exit, code), "{why}");
        let (_, list) = told(bench.host(&["search", "list", "--json"]));
        assert!(list.to_string().contains(code), "{list}");
    }
}

#[test]
fn what_is_not_understood_of_the_table_is_said_before_anything_runs() {
    let bench = Bench::new(None);
    let (exit, why) = told(bench.host(&["search", "skill", "--json"]));
    assert_eq!((exit, text(&why, "code")), (2, "no-config"), "a file that merely lies there names no commands");
    for (from, to, code) in [
        ("[learning.skill.limits]", "[learning.skill.limit]", "unknown-key"),
        ("folder = \"invoices\"", "folder = \"cases\"", "no-skill"),
        ("agent_files = [\"agent.py\", \"cases\"]", "agent_files = [\"nowhere\"]", "unreadable"),
    ] {
        let bench = Bench::new(None);
        bench.edit("auto.toml", from, to);
        let (exit, why) = bench.search(&[]);
        assert_eq!((exit, text(&why, "code")), (2, code), "{why}");
        assert!(!bench.path("search-runs").exists());
    }
    let bench = Bench::new(None);
    fs::write(bench.path("invoices/SKILL.md"), b"---\nname: \xff\n---\n").unwrap();
    let (exit, why) = bench.search(&[]);
    assert_eq!((exit, text(&why, "code")), (1, "no-skill"), "{why}");
    assert!(!bench.run().join("experiments").exists() && !bench.run().join("egress.jsonl").exists());
}

/// What a skilled teacher says, whatever was said before: a function of the question alone.
fn skilled(question: &Received) -> Act {
    let body = Value::parse(&question.body).unwrap();
    let messages = body.get("messages").and_then(Value::as_list).unwrap();
    let [system, data] = [0, 1].map(|at| text(&messages[at], "content"));
    let data = Value::parse(data.split("\n\nYour last reply").next().unwrap()).unwrap();
    let reply = if system.starts_with("You judge") {
        scores(&data)
    } else if system.starts_with("You improve") {
        edit(&data)
    } else {
        compared(&data)
    };
    answered(&Value::from(reply).to_string())
}

fn answered(reply: &str) -> Act {
    answered_as(reply, "stop")
}

fn answered_as(reply: &str, finish: &str) -> Act {
    let message = Record::new().with("role", "assistant").with("content", reply);
    let choice = Record::new().with("message", message).with("finish_reason", finish);
    let usage = Record::new().with("prompt_tokens", 400_u32).with("completion_tokens", 40_u32);
    json(200, &Value::from(Record::new().with("choices", vec![Value::from(choice)]).with("usage", usage)).to_string())
}

/// What a text is worth.
fn score(unit: &str, dimension: &str, text: &str) -> u32 {
    match (&unit[..3], dimension) {
        ("s02", "Procedure Completeness") => {
            if text.contains("inbox/*`") {
                5
            } else {
                2
            }
        }
        ("s03", "Procedure Completeness") => {
            if text.contains("skip it") {
                5
            } else {
                3
            }
        }
        ("s04", "Economy") if text.len() > 200 => 2,
        _ => 5,
    }
}

fn scores(data: &Value) -> Record {
    let row = |unit: &Value| {
        let (id, dimension) = (text(unit, "unit"), text(data, "dimension"));
        let record = Record::new().with("unit", id).with("score", score(id, dimension, text(unit, "text")));
        Value::from(record.with("evidence", Vec::<Value>::new()).with("reason", "so it is"))
    };
    let units = data.get("units").and_then(Value::as_list).unwrap();
    Record::new().with("units", units.iter().map(row).collect::<Vec<_>>())
}

fn edit(data: &Value) -> Record {
    let tried = data.get("refused").and_then(Value::as_list).unwrap().len();
    let steps = "## Steps\n\n1. Read the files `inbox/*`.\n2. Take the number after `Amount:`, and leave out the commas.\n\
        3. Count each invoice once.\n4. Add up the numbers.\n5. Write the sum to `out/total.txt`.";
    let odd = "## When something is odd\n\n- If a file has no amount, skip it.";
    let new = match (&text(data, "unit")[..3], tried) {
        ("s02", 0) => format!("{steps}\n\n## More\n\n- Look again."),
        ("s02", _) => steps.to_owned(),
        ("s03", 0) => format!("{odd}\n- Leave out amounts below 100."),
        ("s03", _) => odd.to_owned(),
        _ => "## Background\n\nAn invoice has a number and an amount.".to_owned(),
    };
    Record::new().with("text", new).with("summary", "better")
}

fn compared(data: &Value) -> Record {
    let side = |key: &str| score(text(data, "unit"), text(data, "dimension"), text(data.get(key).unwrap(), "text"));
    Record::new()
        .with("a", side("a"))
        .with("b", side("b"))
        .with("task_relevant", true)
        .with("worse_with_a", Vec::<Value>::new())
        .with("worse_with_b", Vec::<Value>::new())
        .with("evidence", Vec::<Value>::new())
        .with("reason", "so it is")
}

#[test]
fn a_teacher_that_fails_ends_the_run_what_counts_stands_and_the_run_can_go_on() {
    type Failing = fn() -> Act;
    let cases: [(&str, Failing); 6] = [
        ("bad-reply", || answered("I cannot help with that.")),
        ("bad-reply", || answered("{\"a\":9,\"b\":1}")),
        ("bad-reply", || answered_as("{\"inc", "length")),
        ("model-failed", || json(500, "{}")),
        ("model-unauthorized", || json(401, "{}")),
        ("model-bad-reply", || json(200, "what?")),
    ];
    for (code, failing) in cases {
        // The second comparison fails: one edit was kept before.
        let broken = Arc::new(AtomicBool::new(true));
        let still = broken.clone();
        let server = Server::start(move |_, question| {
            let second = question.body.contains("You compare") && question.body.contains("s03-when");
            if second && still.load(Ordering::Relaxed) { failing() } else { skilled(question) }
        });
        let bench = Bench::new(Some(&server));
        let (exit, report) = bench.search(&[]);
        assert_eq!((exit, text(&report, "code"), text(&report, "status")), (1, code, "failed"), "{report}");
        assert_eq!(decided(&report).len(), 1, "{report}");
        assert!(bench.made().contains("Count each invoice once") && bench.made().contains("no amount, stop"));
        assert!(number(&report, "spent_micro_usd") > 0 && bench.run().join("index.html").exists());
        broken.store(false, Ordering::Relaxed);
        let id = text(&report, "run").to_owned();
        let (exit, report) = bench.search(&["--resume", &id]);
        assert_eq!((exit, text(&report, "status")), (0, "complete"), "{report}");
        assert_eq!(pass_rate(&report).1, 1_000_000);
        assert_eq!(decided(&report).iter().filter(|(status, _)| status == "applied").count(), 3, "{report}");
        assert_eq!(number(report.get("before").unwrap(), "bytes"), bench.original().len() as u64);
    }
}

#[test]
fn what_may_be_spent_is_the_end_of_it_and_never_exceeded() {
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    // About 4 calls; the worst case of one is far dearer than what it comes to.
    bench.edit("auto.toml", "max_cost_usd = 1", "max_cost_usd = 0.09");
    let (exit, report) = bench.search(&[]);
    assert_eq!((exit, text(&report, "status")), (0, "stopped"), "{report}");
    assert!(["call-cap", "spend-cap"].contains(&text(&report, "stop")), "{report}");
    let spent = number(&report, "spent_micro_usd");
    assert!(spent > 0 && spent <= 90_000, "{spent}");
    let ledger = auto_model::Ledger::open(&bench.path("spend.jsonl")).unwrap();
    assert_eq!(ledger.spent().0, spent);
    // Nobody named, and a cap of nothing.
    let bench = Bench::new(Some(&server));
    bench.edit("auto.toml", "max_cost_usd = 1", "");
    let (exit, report) = bench.search(&[]);
    assert_eq!((exit, text(&report, "stop")), (0, "spend-cap"), "{report}");
    assert_eq!(bench.made(), bench.original());
}

#[test]
fn a_verifier_that_breaks_ends_the_run_and_is_no_failed_run() {
    let server = Server::start(|_, question| skilled(question));
    for (from, to, code) in [
        ("sys.exit(0 if found == expected else 1)", "sys.exit(2)", "verifier-failed"),
        ("amounts = {}", "import time; time.sleep(100)", "verifier-failed"),
    ] {
        let bench = Bench::new(Some(&server));
        bench.edit("verify.py", from, to);
        bench.edit("auto.toml", "seconds = 30", "seconds = 2");
        let (exit, report) = bench.search(&[]);
        assert_eq!((exit, text(&report, "code")), (1, code), "{report}");
        assert_eq!((decided(&report).len(), bench.made()), (0, bench.original()));
    }
    // What cannot be run at all is said at once, and counts as no run.
    let bench = Bench::new(Some(&server));
    bench.edit("auto.toml", "agent = [\"python3\"", "agent = [\"no-such-python\"");
    let (exit, why) = bench.search(&[]);
    assert_eq!((exit, text(&why, "code")), (1, "no-command"), "{why}");
    // Experiments have a budget, too: two batches of three runs and their verifiers.
    let bench = Bench::new(Some(&server));
    bench.edit("auto.toml", "collect = ", "max_experiments = 13\ncollect = ");
    let (exit, report) = bench.search(&[]);
    assert_eq!((exit, text(&report, "stop"), decided(&report).len()), (0, "experiment-budget", 1), "{report}");
}

#[test]
fn secrets_stay_in_the_house_and_in_the_skill() {
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    let secret = "ops.team@mill-street-bakery.example";
    bench.edit(
        "invoices/SKILL.md",
        "If a file has no amount, stop.",
        &format!("If a file has no amount, stop.\n- Ask {secret}."),
    );
    bench.edit("invoices/SKILL.md", "Use this when", &format!("Questions go to {secret}. Use this when"));
    let (exit, report) = bench.search(&[]);
    assert_eq!(exit, 0, "{report}");
    assert!(server.received().iter().all(|question| !question.body.contains(secret)));
    assert!(bench.made().contains(&format!("Questions go to {secret}.")));
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    assert_eq!(sent.lines().count(), server.received().len());
    assert!(sent.contains("\"email\":") && !sent.contains(secret), "{sent}");
}

/// Files of a run that have to come out the same, by name.
fn left(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = ["run.json", "report.json", "index.html", "HEAD", "made/SKILL.md"];
    names.into_iter().map(|name| (name.to_owned(), fs::read(run.join(name)).unwrap_or_default())).collect()
}

#[test]
fn a_search_that_is_killed_anywhere_comes_to_the_same_end_and_pays_for_nothing_twice() {
    let server = Server::start(|_, question| skilled(question));
    let undisturbed = Bench::new(Some(&server));
    let (exit, report) = undisturbed.search(&[]);
    assert_eq!((exit, pass_rate(&report)), (0, (0, 1_000_000)), "{report}");
    let (expected, calls) = (left(&undisturbed.run()), server.received().len());
    assert_eq!(calls as u64, number(&report, "calls"));
    let all = std::env::var_os("AUTO_CRASH").is_some_and(|value| value == "all");
    // The journal's syncs; and all else that is put in its place.
    for (kind, step) in [("fdatasync", if all { 1 } else { 6 }), ("rename,renameat,renameat2", if all { 1 } else { 7 })]
    {
        let mut killed = 0;
        for n in (1..2_000).step_by(step) {
            let bench = Bench::new(Some(&server));
            let before = server.received().len();
            let mut command = bench.under(Command::new("strace"));
            command.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &format!("trace={kind}")]);
            command.args(["-e", &format!("inject={kind}:signal=KILL:when={n}")]).arg(binary()).args(SEARCH);
            let output = command.output().unwrap();
            if output.status.signal().is_none() {
                assert!(output.status.success(), "{kind} {n}: {output:?}");
                break;
            }
            killed += 1;
            let mut paid_again = 0;
            let mut again = bench.host(&SEARCH).output().unwrap();
            if !again.status.success() {
                assert!(said(&again).contains("[journal-unanswered]"), "{kind} {n}: {again:?}");
                again = bench.host(&[&SEARCH[..], &["--reissue"]].concat()).output().unwrap();
                paid_again = 1;
            }
            assert!(again.status.success(), "{kind} {n}: {again:?}");
            let told = |run: &Path| Value::parse(fs::read_to_string(run.join("report.json")).unwrap()).unwrap();
            let (now, then) = (told(&bench.run()), told(&undisturbed.run()));
            if number(&now, "spent_micro_usd") == number(&then, "spent_micro_usd") {
                assert_eq!(left(&bench.run()), expected, "{kind} {n}");
            } else {
                // What was lost may have been paid for: that counts, and nothing else is another.
                let without = |report: &Value| report.as_record().unwrap().clone().with("spent_micro_usd", 0_u64);
                assert_eq!((paid_again, without(&now)), (1, without(&then)), "{kind} {n}");
                assert_eq!(bench.made(), undisturbed.made());
            }
            let asked = server.received().len() - before;
            assert!(asked <= calls + paid_again, "{kind} {n}: {asked} calls, and {calls} are needed");
        }
        assert!(killed > 0, "{kind} was met by nothing");
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the teacher was first asked: the runs and the earlier runs.
fn first_asked(server: &Server) -> Value {
    let body = Value::parse(&server.received()[0].body).unwrap();
    let messages = body.get("messages").and_then(Value::as_list).unwrap();
    Value::parse(text(&messages[1], "content")).unwrap()
}

#[test]
fn runs_that_were_made_before_stand_for_the_first_ones_or_are_shown_beside_them() {
    // Rows of our own, of this very skill and with every seed: nothing is run first.
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    let digest = auto_schema::digest::Digest::of(bench.original().as_bytes());
    let row = |seed: u32| {
        format!(
            "{{\"id\":\"run-{seed}\",\"seed\":{seed},\"skill_sha256\":\"{digest}\",\"passed\":false,\"transcript\":\"it stopped\"}}\n"
        )
    };
    fs::write(bench.path("before.jsonl"), (0..3).map(row).collect::<String>()).unwrap();
    bench.edit("auto.toml", "collect = ", "rollouts_from = \"before.jsonl\"\ncollect = ");
    let (exit, report) = bench.search(&[]);
    assert_eq!((exit, number(&report, "experiments"), pass_rate(&report)), (0, 12, (0, 1_000_000)), "{report}");
    assert!(first_asked(&server).get("runs").unwrap().to_string().contains("\"id\":\"run-2\""));

    // Of another skill, or without seeds, as BenchFlow and Harbor leave them: shown, and no more.
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    let write = |name: &str, text: &str| {
        let path = bench.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("jobs/result.json", "{\"n_total_trials\":2}");
    write(
        "jobs/sum__a/result.json",
        "{\"task_name\":\"sum\",\"rollout_name\":\"sum__a\",\"rewards\":{\"reward\":1.0},\"error\":null}",
    );
    write("jobs/sum__a/trajectory/acp_trajectory.jsonl", "{\"type\":\"agent_message\",\"text\":\"all added\"}\n");
    write("jobs/sum__a/verifier/test-stdout.txt", "1 passed\n");
    let harbor = "{\"task_name\":\"sum\",\"trial_name\":\"sum__b\",\"verifier_result\":{\"rewards\":{\"reward\":0.5}},\
        \"exception_info\":{\"exception_type\":\"AgentTimeoutError\"}}";
    write("jobs/sum__b/result.json", harbor);
    bench.edit("auto.toml", "collect = ", "rollouts_from = \"jobs\"\ncollect = ");
    let (exit, report) = bench.search(&[]);
    assert_eq!((exit, number(&report, "experiments")), (0, 15), "{report}");
    let earlier = first_asked(&server).get("earlier_runs").and_then(Value::as_list).unwrap().to_vec();
    let told = |at: usize, key: &str| earlier[at].get(key).cloned().unwrap();
    assert_eq!((told(0, "verified"), told(0, "timed_out")), (Value::Bool(true), Value::Bool(false)));
    assert_eq!((told(1, "verified"), told(1, "timed_out")), (Value::Bool(false), Value::Bool(true)));
    assert!(
        text(&earlier[0], "transcript").contains("all added") && text(&earlier[0], "transcript").contains("1 passed")
    );

    // From a store, likewise; and rows that are none are refused before anything runs.
    let server = Server::start(|_, question| skilled(question));
    let bench = Bench::new(Some(&server));
    let shout = auto_tests::root().join("tests/cli/fixtures/shout.jsonl");
    let imported = bench.host(&["import", "--store", "auto.db", shout.to_str().unwrap()]).output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    bench.edit("auto.toml", "collect = ", "store_task = \"shout\"\ncollect = ");
    let before = fs::read(bench.path("auto.db")).unwrap();
    let (exit, report) = bench.search(&[]);
    assert_eq!(exit, 0, "{report}");
    let earlier = first_asked(&server).get("earlier_runs").cloned().unwrap();
    assert!(!earlier.as_list().unwrap().is_empty());
    assert!(fs::read(bench.path("auto.db")).unwrap() == before, "what was recorded is only read");
    fs::write(bench.path("auto.db"), &before[..before.len() / 2]).unwrap();
    let asked = server.received().len();
    let (exit, why) = bench.search(&["--label", "damaged"]);
    assert_eq!((exit, text(&why, "code"), server.received().len()), (6, "store-damaged", asked), "{why}");
    // Where a yes is needed, silence is none; a no is heard anyway.
    for (needed, shown) in [("", 2), ("consent = true\n", 1)] {
        let server = Server::start(|_, question| skilled(question));
        let bench = Bench::new(Some(&server));
        let row = |at: usize, more: &str| format!("{{\"id\":\"r{at}\",{more}\"transcript\":\"PRIVATE-{at}\"}}\n");
        let rows = [row(0, ""), row(1, "\"consent\":true,"), row(2, "\"consent\":\"no\",")];
        fs::write(bench.path("before.jsonl"), rows.concat()).unwrap();
        bench.edit("auto.toml", "collect = ", &format!("{needed}rollouts_from = \"before.jsonl\"\ncollect = "));
        let (exit, report) = bench.search(&[]);
        assert_eq!(exit, 0, "{report}");
        let earlier = first_asked(&server).get("earlier_runs").and_then(Value::as_list).unwrap().to_vec();
        assert!(earlier.len() == shown && !earlier.iter().any(|run| run.to_string().contains("PRIVATE-2")), "{needed}");
    }
    let bench = Bench::new(Some(&server));
    fs::write(bench.path("before.jsonl"), "{\"transcript\":1}\n").unwrap();
    bench.edit("auto.toml", "collect = ", "rollouts_from = \"before.jsonl\"\ncollect = ");
    let (exit, why) = bench.search(&[]);
    assert_eq!((exit, text(&why, "code")), (1, "bad-rollouts"), "{why}");
}
