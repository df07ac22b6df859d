//! What must not happen to a spec search: that something private leaves, that money is spent which
//! nobody allowed, that a decision or a crash loses what was done, or that one bad moment ends it.
//!
//! What is bad from outside has a clear end, and what counted before counts on:
//!
//! | bad | test |
//! |---|---|
//! | a reply that is cut off, no JSON, or a refusal | `spec_search.rs`: `a_teacher_that_says_nothing_useful_fails_the_run_and_the_spec_is_what_it_was`; `searching.rs`: `a_teacher_that_fails_ends_the_run_what_counts_stands_and_the_run_can_go_on` |
//! | one that names unknown clusters, or paths | `components/spec-search/tests/plans.rs`: `each_bad_proposal_is_told_and_the_rest_stands`; `edits.rs`: `names_that_are_paths_and_things_that_are_not_there_are_refused` |
//! | one that costs more than it may | `components/spec-search/tests/sessions.rs`: `a_reply_dearer_than_it_could_be_is_paid_told_and_ends_the_spending`; `searching.rs`: `what_may_be_spent_is_the_end_of_it_and_never_exceeded` |
//! | a broken spec | `spec_search.rs`: `what_is_wrong_with_the_table_a_spec_or_the_tasks_is_said_before_anything_is_paid` |
//! | a broken skill | `searching.rs`: `what_is_not_understood_of_the_table_is_said_before_anything_runs`; `components/skill/src/document.rs`: `odd_texts_have_sections_too` |
//! | a scorer that fails in the middle | here, and `components/spec-search/tests/sessions.rs`: `a_judge_that_fails_in_the_middle_is_no_score` |
//! | a run's folder of another version | `searching.rs`: `a_run_of_another_version_or_one_that_was_changed_is_refused` |
//! | a store that is damaged, a backend that fails | here: `a_stored_run_whose_consent_is_a_no_never_leaves`, `what_was_recorded_makes_the_same_spec_without_a_teacher_or_a_process` |

mod spec_bench;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_tests::tool::binary;
use spec_bench::server::{Act, Received, Server, said};
use spec_bench::{Bench, SEARCH, edits, knowing, number, score, text, told, without_money};

fn ledger(bench: &Bench) -> u64 {
    auto_model::Ledger::open(&bench.path("spend.jsonl")).unwrap().spent().0
}

fn sessions(report: &Value) -> Vec<&Value> {
    let timeline = report.get("timeline").and_then(Value::as_list).unwrap().iter();
    timeline.filter(|one| text(one, "kind") == "session").map(|one| one.get("detail").unwrap()).collect()
}

/// A teacher that first looks at the recorded runs.
fn looking(bench: &Bench) -> Server {
    let expected = bench.expected();
    Server::start(move |_, question| {
        let looked = question.body.contains("You called tools") || !question.body.contains("You diagnose");
        let calls = r#"[{\"tool\":\"list_traces\",\"arguments\":{\"limit\":100}}]"#;
        if looked { knowing(question, &expected) } else { said(calls, 400, 40) }
    })
}

/// All bytes below a folder.
fn everything(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { everything(&path) } else { fs::read(&path).unwrap() });
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_stored_run_whose_consent_is_a_no_never_leaves() {
    for (table, kept) in [("", &[1, 3, 5][..]), ("consent = true", &[1, 5][..])] {
        let bench = Bench::live();
        let run = |at: usize| {
            let consent = [
                "\"consent\":\"false\",",
                "\"consent\":\"true\",",
                "\"consent\":\"no\",",
                "",
                "\"consent\":\"False\",",
                "\"consent\":\"true\",",
            ][at];
            let id = format!("{:032x}", at + 1);
            format!(
                "{{\"v\":0,\"t\":\"trace\",\"trace_id\":\"{id}\",\"task\":\"clerk\",\"started_at_ms\":1796000000000,\"sdk\":\"x\",\
                 \"attrs\":{{{consent}\"agent\":\"default\"}},\"task_input\":{{\"q\":\"PRIVATE-{at}\"}}}}\n\
                 {{\"v\":0,\"t\":\"span\",\"trace_id\":\"{id}\",\"span_id\":1,\"parent_span_id\":null,\"seq\":0,\"kind\":\"model_call\",\
                 \"name\":\"m\",\"input\":{{\"q\":{at}}},\"output\":\"o\",\"error\":null,\"started_at_ms\":1796000000001,\
                 \"duration_ms\":1,\"attrs\":{{}}}}\n"
            )
        };
        let files: Vec<String> = (0..6).map(|at| format!("run-{at}.jsonl")).collect();
        files.iter().enumerate().for_each(|(at, file)| fs::write(bench.path(file), run(at)).unwrap());
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let imported = bench.host(&[&["import", "--store", "my.db"][..], &files].concat()).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        bench.edit("auto.toml", "traces = \"traces.jsonl\"", "store_task = \"clerk\"");
        bench.edit("auto.toml", "sources = [\"clerk\"]", table);
        bench.edit("auto.toml", "min_traces = 5", "min_traces = 1\nmax_sessions = 1");
        bench.small(3, 2, 1);
        let server = looking(&bench);
        let search = [&SEARCH[..], &["--store", "my.db"]].concat();
        let before = stored(&bench);
        let (exit, report) = bench.asked(&server, &search);
        assert_eq!(exit, 0, "{report}");
        assert!(stored(&bench) == before, "what was recorded is only read");
        let sent: String = server.received().into_iter().map(|question| question.body).collect();
        let left: Vec<usize> = (0..6).filter(|at| sent.contains(&format!("PRIVATE-{at}"))).collect();
        assert_eq!(left, kept, "{table}");
        assert_eq!(number(sessions(&report)[0].get("left_out").unwrap(), "no-consent") as usize, 6 - kept.len());
        // One that is damaged is no smaller one: nothing is begun with what can still be read.
        let asked = server.received().len();
        let mut bytes = fs::read(bench.path("my.db")).unwrap();
        let last = bytes.len() - 2_048..;
        bytes[4_096..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x5a);
        bytes[last].fill(0);
        fs::write(bench.path("my.db"), bytes).unwrap();
        let (exit, why) = bench.asked(&server, &[&search[..], &["--label", "damaged"]].concat());
        assert_eq!((exit, text(&why, "code")), (6, "store-damaged"), "{why}");
        assert_eq!((server.received().len(), fs::read_dir(bench.path("search-runs")).unwrap().count()), (asked, 1));
    }
}

/// What is in the store, and that nothing waits to be put there: a reader leaves an empty log beside it.
fn stored(bench: &Bench) -> Vec<u8> {
    let waiting = fs::metadata(bench.path("my.db-wal")).map_or(0, |log| log.len());
    assert_eq!(waiting, 0);
    fs::read(bench.path("my.db")).unwrap()
}

#[test]
fn a_local_teacher_stays_local_whatever_is_named_later() {
    let bench = Bench::live();
    bench.edit("auto.toml", "teacher_engine = \"cloud\"", "teacher_engine = \"local\"");
    let server = bench.teacher();
    let (exit, why) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, text(&why, "code")), (2, "bad-value"), "{why}");
    bench.edit("auto.toml", "openai/gpt-4o", "ollama/qwen");
    for more in [&["--teacher", "model:openai/gpt-4o"][..], &["--teacher", "openai/gpt-4o", "--spend-cap-usd", "1"][..]]
    {
        let (exit, why) = bench.asked(&server, &[&SEARCH[..], more].concat());
        assert_eq!((exit, text(&why, "code")), (2, "not-local"), "{why}");
    }
    bench.edit("auto.toml", "\"local\"", "\"warp\"");
    assert_eq!(text(&bench.asked(&server, &SEARCH).1, "code"), "bad-value");
    assert_eq!(server.received().len(), 0, "nothing left");
}

#[test]
fn what_is_handed_on_and_what_is_cut_leaves_no_secret() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.edit("student.py", "import json\n", "import base64\nimport json\nimport os\nimport urllib.parse\n");
    bench.edit("student.py", "print(kinds", "pw = os.environ[\"CLERK_PW\"]\nprint(\"it is\", pw, base64.b64encode((\"me:\" + pw).encode()).decode(), pw.encode().hex(), \
         urllib.parse.quote(pw))\nprint(kinds");
    bench.set("pass_environment = [\"CLERK_PW\"]\nmax_sessions = 1");
    // The lists of runs cut what was asked after two hundred characters of its JSON.
    let row = |at: usize, secret: &str| {
        let letter = "so ".repeat(58 - 2 * at);
        format!(
            "{{\"id\":\"cut-{at}\",\"agent\":\"default\",\"source\":\"clerk\",\"input\":\"{letter}{secret} and on {}\"}}\n",
            "x ".repeat(90)
        )
    };
    let secrets = ["jane.doe@corp.example", "4111 1111 1111 1111"];
    let rows: String = (0..6)
        .flat_map(|at| secrets.map(|secret| row(at, secret).replace("cut-", &format!("cut-{}-", secret.len()))))
        .collect();
    let traces = fs::read_to_string(bench.path("traces.jsonl")).unwrap();
    fs::write(bench.path("traces.jsonl"), traces + &rows).unwrap();
    let server = looking(&bench);
    let password = "hunter22&correct/horse";
    let coded = ["aHVudGVyMjImY29ycmVjdC9ob3Jz", "68756e746572323226", "hunter22%26correct/horse"];
    let mut command = bench.asking(&server, &SEARCH);
    command.env("CLERK_PW", password);
    let (exit, report) = told(command);
    assert_eq!(exit, 0, "{report}");
    assert!(server.received().iter().any(|question| question.body.contains("cut-")), "runs were looked at");
    for question in server.received() {
        for part in coded.into_iter().chain([password, "hunter22", "jane.doe", "@corp", "4111 11", "4111"]) {
            assert!(!question.body.contains(part), "{part}: {}", question.body);
        }
        assert!(question.body.contains("environment:CLERK_PW") || !question.body.contains("it is"));
    }
    let kept = everything(&bench.run());
    assert!(![password].iter().chain(&coded).any(|part| holds(&kept, part)), "and it is kept nowhere");
}

#[test]
fn what_the_student_says_it_costs_is_told_and_ends_the_run_where_it_is_too_much() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.edit(
        "student.py",
        "print(kinds",
        "json.dump({\"micro_usd\": 100}, open(\"spent.json\", \"w\"))\nprint(kinds",
    );
    bench.edit("auto.toml", "seconds = 20\n", "seconds = 20\ncosts = true\n");
    bench.set("max_runs_cost_usd = 0.001");
    let server = bench.teacher();
    let (exit, report) = bench.asked(&server, &SEARCH);
    let cost = number(&report, "runs_micro_usd");
    assert_eq!((exit, text(&report, "stop")), (0, "experiment-budget"), "{report}");
    assert_eq!(cost, 100 * number(&report, "experiments"));
    assert!(
        cost >= 1_000 && number(&report, "runs_that_told_their_cost") == number(&report, "experiments"),
        "{report}"
    );
}

#[test]
fn a_recorded_run_that_asks_nearly_what_a_task_asks_that_decides_never_leaves() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("max_sessions = 1");
    let tasks = fs::read_to_string(bench.path("tasks.jsonl")).unwrap();
    let rows = tasks.lines().map(|line| {
        let task = Value::parse(line).unwrap();
        let asked = task.get("input").unwrap().to_string().replace("Dear all", "DEAR  all, hello");
        format!(
            "{{\"id\":\"copy-{}\",\"agent\":\"default\",\"source\":\"clerk\",\"input\":{asked}}}\n",
            text(&task, "id")
        )
    });
    let traces = fs::read_to_string(bench.path("traces.jsonl")).unwrap();
    let all = tasks.lines().count();
    fs::write(bench.path("traces.jsonl"), traces + &rows.collect::<String>()).unwrap();
    let server = looking(&bench);
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!(exit, 0, "{report}");
    // Three kinds of tasks, of which three are for diagnosis each.
    let near = number(sessions(&report)[0].get("left_out").unwrap(), "near-held-out") as usize;
    assert!(near >= all - 9, "{report}");
    let shown = server.received().iter().filter(|question| question.body.contains("copy-")).count();
    assert!(shown > 0, "those of the others are shown");
}

/// Waits until a server was asked once more, and kills the process: true; false if it ended before.
fn killed_while_asking(child: &mut Child, asked: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(240) {
        if asked() {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("neither asked nor ended");
}

/// A teacher that can be made to say nothing.
fn silent_while(bench: &Bench, when: impl Fn(&Received) -> bool + Send + Sync + 'static) -> (Server, Arc<AtomicBool>) {
    let (expected, silent) = (bench.expected(), Arc::new(AtomicBool::new(true)));
    let still = silent.clone();
    let server = Server::start(move |_, question| {
        if still.load(Ordering::Relaxed) && when(question) {
            return Act::Hang(Duration::from_secs(300));
        }
        knowing(question, &expected)
    });
    (server, silent)
}

fn started(bench: &Bench, server: &Server) -> Child {
    let mut command = bench.asking(server, &[&SEARCH[..], &["--reissue"]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn ended(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn calls_that_a_crash_lost_count_towards_every_cap_and_stand_in_the_report() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.edit("auto.toml", "max_cost_per_session_usd = 5.0", "max_cost_per_session_usd = 0.10");
    bench.edit("auto.toml", "max_total_cost_usd = 50.0", "max_total_cost_usd = 0.45");
    bench.edit("auto.toml", "stagnation_k = 2", "stagnation_k = 9");
    let (server, silent) = silent_while(&bench, |_| true);
    let mut kills = 0;
    for _ in 0..3 {
        let before = server.received().len();
        let mut child = started(&bench, &server);
        kills += u32::from(killed_while_asking(&mut child, || server.received().len() > before));
    }
    assert_eq!(kills, 3);
    assert!(ledger(&bench) > 200_000, "each of them may have been paid for");
    silent.store(false, Ordering::Relaxed);
    let report = ended(started(&bench, &server));
    assert_eq!(text(&report, "status"), "complete", "{report}");
    assert_eq!(number(&report, "spent_micro_usd"), ledger(&bench), "what is told is what was counted");
    assert!(ledger(&bench) <= 450_000);
    for session in sessions(&report) {
        assert!(number(session, "teacher_cost_micro_usd") <= 100_000, "{session}");
    }
    let sent = fs::read_to_string(bench.run().join("egress.jsonl")).unwrap();
    assert_eq!(sent.lines().count(), server.received().len(), "a line for each text that left, and for no other");
}

#[test]
fn a_run_that_failed_at_a_bad_reply_asks_anew_and_is_charged_for_nothing_twice() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    let (expected, refusing) = (bench.expected(), Arc::new(AtomicBool::new(true)));
    let still = refusing.clone();
    let server = Server::start(move |_, question| match still.load(Ordering::Relaxed) {
        true => said("I cannot help with that.", 400, 40),
        false => knowing(question, &expected),
    });
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, text(&report, "status"), text(&report, "fault")), (1, "failed", "reply-refused"), "{report}");
    let id = text(&report, "run").to_owned();
    let resume = [&SEARCH[..], &["--resume", &id]].concat();
    for calls in 2..4 {
        let (exit, report) = bench.asked(&server, &resume);
        assert_eq!((exit, number(&report, "calls")), (1, calls), "{report}");
        assert_eq!(server.received().len() as u64, calls, "it was really asked");
        assert_eq!(number(&report, "spent_micro_usd"), ledger(&bench));
    }
    refusing.store(false, Ordering::Relaxed);
    let (exit, report) = bench.asked(&server, &resume);
    assert_eq!((exit, text(&report, "status")), (0, "complete"), "{report}");
    assert_eq!(
        (server.received().len() as u64, ledger(&bench)),
        (number(&report, "calls"), number(&report, "spent_micro_usd"))
    );
    assert_eq!(edits(&report), ["applied"; 3]);
    assert!(
        text(&report, "why").starts_with(&format!("{} sessions, 3 edits applied", sessions(&report).len())),
        "{report}"
    );
    let cost: u64 = sessions(&report).iter().map(|session| number(session, "teacher_cost_micro_usd")).sum();
    assert_eq!(cost, number(&report, "spent_micro_usd"), "the sessions add up");
    assert_eq!(score(&report, "evaluation", "before"), 0);
}

#[test]
fn a_run_that_was_cut_off_is_finished_before_anything_is_decided_of_it() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.edit("auto.toml", "autonomy_mode = \"auto\"", "autonomy_mode = \"tiered\"");
    // The fourth session asks when the third one has left an edit to a person.
    let waits = |question: &Received| {
        question.body.contains("You diagnose")
            && question.body.contains("\\\"calendar\\\"]")
            && question.body.contains("\\\"max_steps\\\":8")
    };
    let diagnosed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = diagnosed.clone();
    let (server, silent) =
        silent_while(&bench, move |question| waits(question) && count.fetch_add(1, Ordering::Relaxed) > 0);
    let mut child = started(&bench, &server);
    assert!(killed_while_asking(&mut child, || diagnosed.load(Ordering::Relaxed) > 1));
    let id = bench.run().file_name().unwrap().to_str().unwrap().to_owned();
    let state = fs::read(bench.run().join("HEAD")).unwrap();
    for decision in [
        &["search", "rollback", &id][..],
        &["search", "approve", &id, "whatever"],
        &["search", "reject", &id, "whatever"],
    ] {
        let (exit, why) = bench.said(decision);
        assert_eq!((exit, text(&why, "code")), (1, "unfinished"), "{why}");
        assert!(why.to_string().contains(&format!("search spec --resume {id}")), "{why}");
    }
    let (_, shown) = bench.said(&["search", "show", &id]);
    assert!(shown.to_string().contains(&format!("search spec --resume {id}")), "{shown}");
    assert!(!bench.run().join("report.json").exists() && fs::read(bench.run().join("HEAD")).unwrap() == state);
    silent.store(false, Ordering::Relaxed);
    let report = ended(started(&bench, &server));
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("awaiting_review", "stagnation"), "{report}");
    let waiting = report.get("pending").and_then(Value::as_list).unwrap()[0].as_text().unwrap().to_owned();
    let (exit, done) = bench.said(&["search", "approve", &id, &waiting]);
    assert_eq!((exit, text(&done, "status")), (0, "complete"), "{done}");
    // One damaged run hides no other.
    fs::write(bench.run().join("report.json"), "{").unwrap();
    let (exit, list) = bench.said(&["search", "list"]);
    assert!(exit == 0 && list.to_string().contains("run-damaged"), "{list}");
}

#[test]
fn a_judge_that_fails_once_is_asked_over_and_one_that_is_mended_is_heard() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("max_sessions = 1\nscorer_files = [\"judge.py\"]");
    bench.edit(
        "auto.toml",
        "[learning.spec_search.eligible]",
        "[learning.spec_search.scorer]\nkind = \"command\"\ncommand = [\"python3\", \"-S\", \"judge.py\"]\n\n[learning.spec_search.eligible]",
    );
    let judge = |broken: &str| {
        let marker = bench.path("marker");
        format!(
            "import json, os\nmarker = {:?}\n{broken}\n\
             task, answer = json.load(open('task.json')), open('answer.txt').read().strip()\n\
             print(1 if answer == task['expected'] else 0)\n",
            marker.to_str().unwrap()
        )
    };
    fs::write(
        bench.path("judge.py"),
        judge("if not os.path.exists(marker):\n    open(marker, 'w').close()\n    raise SystemExit(1)"),
    )
    .unwrap();
    let server = bench.teacher();
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&report)), (0, vec!["applied".to_owned()]), "{report}");
    assert!(bench.path("marker").exists());
    // One that fails whenever somebody says so.
    fs::remove_file(bench.path("marker")).unwrap();
    fs::write(bench.path("judge.py"), judge("if os.path.exists(marker):\n    raise SystemExit(1)")).unwrap();
    fs::write(bench.path("marker"), "").unwrap();
    fs::remove_dir_all(bench.path("search-runs")).unwrap();
    for _ in 0..2 {
        let (exit, why) = bench.asked(&server, &SEARCH);
        assert_eq!((exit, text(&why, "code")), (1, "scorer-failed"), "{why}");
    }
    fs::remove_file(bench.path("marker")).unwrap();
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&report)), (0, vec!["applied".to_owned()]), "{report}");
}

#[test]
fn a_judge_may_ask_a_model_itself_and_what_that_costs_is_told() {
    let bench = Bench::live();
    bench.small(3, 1, 1);
    bench.set(
        "max_sessions = 1\nscorer_files = [\"judge.py\"]\nnetwork = true\n\
         pass_environment = [\"OPENAI_BASE_URL\", \"OPENAI_API_KEY\"]",
    );
    bench.edit(
        "auto.toml",
        "[learning.spec_search.eligible]",
        "[learning.spec_search.scorer]\nkind = \"command\"\ncommand = [\"python3\", \"-S\", \"judge.py\"]\ncosts = true\n\n\
         [learning.spec_search.eligible]",
    );
    fs::write(
        bench.path("judge.py"),
        "import json, os, urllib.request\n\
         task, answer = json.load(open('task.json')), open('answer.txt').read().strip()\n\
         text = f\"Is {answer!r} as good as {task['expected']!r}?\"\n\
         body = {'model': 'gpt-4o', 'messages': [{'role': 'user', 'content': text}]}\n\
         asked = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json.dumps(body).encode(),\n\
         \x20   {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']})\n\
         said = json.load(urllib.request.urlopen(asked))\n\
         json.dump({'micro_usd': 7}, open('spent.json', 'w'))\n\
         print(said['choices'][0]['message']['content'])\n",
    )
    .unwrap();
    let expected = bench.expected();
    let server = Server::start(move |_, question| match question.body.split_once("Is '") {
        Some((_, rest)) => {
            let (answer, wanted) = rest.split_once("' as good as '").unwrap();
            said(if wanted.starts_with(&format!("{answer}'")) { "1" } else { "0" }, 40, 1)
        }
        None => knowing(question, &expected),
    });
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&report)), (0, vec!["applied".to_owned()]), "{report}");
    let judged = server.received().iter().filter(|question| question.body.contains("as good as")).count() as u64;
    assert_eq!((number(&report, "runs_micro_usd"), number(&report, "runs_that_told_their_cost")), (7 * judged, judged));
    assert!(judged > 20 && !holds(&everything(&bench.run()), "sk-spec-0123456789"), "{judged}");
}

#[test]
fn experiments_that_are_used_up_end_the_run_and_say_so() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("max_experiments = 18");
    let server = bench.teacher();
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!(
        (exit, text(&report, "status"), text(&report, "stop")),
        (0, "complete", "experiment-budget"),
        "{report}"
    );
    assert_eq!((sessions(&report).len(), edits(&report)), (1, vec!["unmeasurable".to_owned()]));
    assert_eq!(number(&report, "experiments"), 18);
    let plans = server.received().iter().filter(|question| question.body.contains("You make an agent")).count();
    assert_eq!(plans, 1, "nobody is asked for what cannot be tried");
}

#[test]
fn what_was_recorded_makes_the_same_spec_without_a_teacher_or_a_process() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.set("model_mode = \"record:said.jsonl\"");
    let server = bench.teacher();
    let (exit, recorded) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&recorded)), (0, vec!["applied".to_owned(); 3]), "{recorded}");
    let made = bench.made();
    let asked = server.received().len();
    let left = |run: &Path| ["run.json", "HEAD", "made/spec.json"].map(|name| fs::read(run.join(name)).unwrap());
    let expected = left(&bench.run());
    fs::rename(bench.path("search-runs"), bench.path("recorded")).unwrap();
    bench.edit("auto.toml", "record:", "replay:");
    let (exit, replayed) = bench.said(&SEARCH);
    assert_eq!((exit, without_money(&replayed)), (0, without_money(&recorded)), "a reply that is replayed is free");
    assert_eq!((left(&bench.run()), bench.made()), (expected, made));
    assert_eq!((server.received().len(), number(&replayed, "spent_micro_usd")), (asked, 0));

    // Its commands can be replayed as well; then nothing is run at all.
    let folder = format!("recorded/{}", text(&recorded, "run"));
    let jobs = format!("[jobs]\nbackend = \"replay\"\nfrom = \"{folder}\"\n\n[learning.spec_search]");
    bench.edit("auto.toml", "[learning.spec_search]", &jobs);
    bench.edit("student.py", "import json\n", "import json\nraise SystemExit(1)\n");
    let (exit, why) = bench.said(&SEARCH);
    assert_eq!((exit, text(&why, "code")), (1, "not-recorded"), "another student was not recorded: {why}");
    bench.edit("student.py", "import json\nraise SystemExit(1)\n", "import json\n");
    let (exit, again) = bench.said(&SEARCH);
    let found = |report: &Value| {
        let mut record = without_money(report).as_record().unwrap().clone();
        ["run", "backend", "isolation"].iter().for_each(|place| drop(record.remove(place)));
        record
    };
    assert_eq!((exit, found(&again)), (0, found(&recorded)), "{again}");

    // A result that is missing in the middle ends the run, and makes no sample smaller.
    let spec = fs::read(bench.path("spec.json")).unwrap();
    let given = Value::parse(&spec).unwrap();
    let mut results: Vec<_> =
        fs::read_dir(bench.path(&folder).join("experiments")).unwrap().map(|entry| entry.unwrap().path()).collect();
    results.sort();
    for (at, result) in [&results[0], &results[results.len() / 2]].into_iter().enumerate() {
        let kept = fs::read(result).unwrap();
        fs::remove_file(result).unwrap();
        let (exit, why) = bench.said(&[&SEARCH[..], &["--label", &format!("missing {at}")]].concat());
        assert_eq!((exit, text(&why, "code")), (1, "not-recorded"), "{why}");
        fs::write(result, kept).unwrap();
    }
    // A question that nobody recorded, likewise: the last one, when something was accepted already.
    let said = fs::read_to_string(bench.path("said.jsonl")).unwrap();
    for kept in [0, said.lines().count() - 1] {
        let lines: String = said.lines().take(kept).map(|line| format!("{line}\n")).collect();
        fs::write(bench.path("said.jsonl"), lines).unwrap();
        let (exit, report) = bench.said(&[&SEARCH[..], &["--label", &format!("{kept} replies")]].concat());
        assert_eq!(
            (exit, text(&report, "status"), text(&report, "fault")),
            (1, "failed", "replay-unknown"),
            "{report}"
        );
        assert_eq!(edits(&report).len(), if kept == 0 { 0 } else { 3 });
        let run = bench.path("search-runs").join(text(&report, "run"));
        let counts = Value::parse(fs::read(run.join("made/spec.json")).unwrap()).unwrap();
        assert_eq!(counts == given, kept == 0, "what was accepted before counts");
    }
    assert_eq!(server.received().len(), asked);
}

#[test]
fn on_bad_days_of_the_network_every_run_has_a_clear_end_and_counts_what_it_may_have_cost() {
    for seed in [1, 2, 5] {
        let bench = Bench::live();
        bench.small(3, 2, 1);
        bench.set(&format!("model_mode = \"chaos:{seed}\""));
        let server = bench.teacher();
        let (exit, report) = bench.asked(&server, &SEARCH);
        let ended = (exit, text(&report, "status"));
        assert!(ended == (0, "complete") || ended == (1, "failed"), "seed {seed}: {report}");
        assert_eq!(number(&report, "spent_micro_usd"), ledger(&bench), "seed {seed}");
        let kept = edits(&report).iter().filter(|status| *status == "applied").count();
        let given = Value::parse(fs::read_to_string(bench.path("spec.json")).unwrap()).unwrap();
        assert_eq!(kept == 0, bench.made() == given, "seed {seed}: what counts is what was accepted");
    }
}

#[test]
fn killed_at_any_write_a_search_comes_to_the_same_end_and_pays_for_nothing_twice() {
    let bench = || {
        let bench = Bench::live();
        bench.small(3, 1, 1);
        bench.set("at_once = 1");
        bench
    };
    let undisturbed = bench();
    let server = undisturbed.teacher();
    let (exit, report) = undisturbed.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&report)), (0, vec!["applied".to_owned(); 3]), "{report}");
    let calls = server.received().len();
    assert_eq!(calls as u64, number(&report, "calls"));
    let left = |bench: &Bench| {
        ["run.json", "HEAD", "made/spec.json", "report.json", "index.html"]
            .map(|name| fs::read(bench.run().join(name)).unwrap_or_default())
    };
    let expected = left(&undisturbed);
    let all = std::env::var_os("AUTO_CRASH").is_some_and(|value| value == "all");
    for (kind, step) in
        [("fdatasync", if all { 1 } else { 17 }), ("rename,renameat,renameat2", if all { 1 } else { 61 })]
    {
        let mut killed = 0;
        for n in (1..5_000).step_by(step) {
            let bench = bench();
            let before = server.received().len();
            let mut command = Command::new("strace");
            command.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &format!("trace={kind}")]);
            command.args(["-e", &format!("inject={kind}:signal=KILL:when={n}")]).arg(binary()).args(SEARCH);
            let output = bench.under(&server, command).output().unwrap();
            if std::os::unix::process::ExitStatusExt::signal(&output.status).is_none() {
                assert!(output.status.success(), "{kind} {n}: {output:?}");
                break;
            }
            killed += 1;
            let (mut exit, mut again) = bench.asked(&server, &SEARCH);
            let mut lost = 0;
            if exit != 0 {
                assert_eq!(text(&again, "code"), "journal-unanswered", "{kind} {n}: {again}");
                (exit, again) = bench.asked(&server, &[&SEARCH[..], &["--reissue"]].concat());
                lost = 1;
            }
            assert_eq!(exit, 0, "{kind} {n}: {again}");
            let asked = server.received().len() - before;
            assert!(asked <= calls + lost, "{kind} {n}: {asked} calls, and {calls} are needed");
            if number(&again, "spent_micro_usd") == number(&report, "spent_micro_usd") {
                assert!(left(&bench) == expected, "{kind} {n}");
            } else {
                // The call that was lost counts, and nothing else is another.
                assert_eq!((lost, without_money(&again)), (1, without_money(&report)), "{kind} {n}");
            }
            assert_eq!(number(&again, "spent_micro_usd"), ledger(&bench), "{kind} {n}");
        }
        assert!(killed > 0, "{kind} was met by nothing");
    }
}

#[test]
fn a_model_that_a_process_trained_is_there_for_the_edits_that_follow() {
    let bench = Bench::live();
    bench.small(3, 2, 1);
    bench.edit("auto.toml", "autonomy_mode = \"auto\"", "autonomy_mode = \"manual\"");
    bench.set("max_sessions = 1\ntrainer_files = [\"train.py\"]");
    bench.edit(
        "auto.toml",
        "[learning.spec_search.eligible]",
        "[learning.spec_search.trainer]\ncommand = [\"python3\", \"-S\", \"train.py\"]\n\n[learning.spec_search.eligible]",
    );
    let train = "import json\nbase = json.load(open('edit.json'))['model']\n\
        row = {'benchmark': 'b', 'accuracy': 1, 'energy': 1, 'latency': 1, 'cost': 1}\n\
        json.dump([{'model': base + '-ft', **row}], open('candidates.json', 'w'))\n";
    fs::write(bench.path("train.py"), train).unwrap();
    let expected = bench.expected();
    let plan = r#"[{"targets":["total"],"edits":[{"op":"lora_finetune","payload":{}},
        {"op":"set_agent_param","payload":{"param":"max_steps","value":8}}]},
        {"targets":["due"],"edits":[{"op":"add_tool_to_agent","payload":{"tool_name":"calendar"}}]}]"#;
    let plan = plan.replace('\n', " ").replace('"', "\\\"");
    let server = Server::start(move |_, question| match question.body.contains("You make an agent") {
        true => said(&plan, 400, 40),
        false => knowing(question, &expected),
    });
    let (exit, report) = bench.asked(&server, &SEARCH);
    assert_eq!((exit, edits(&report)), (0, vec!["pending_review".to_owned(); 2]), "{report}");
    let id = text(&report, "run").to_owned();
    for waiting in report.get("pending").and_then(Value::as_list).unwrap() {
        let (exit, done) = bench.said(&["search", "approve", &id, waiting.as_text().unwrap()]);
        assert_eq!(exit, 0, "{done}");
    }
    let made = bench.made();
    assert!(made.to_string().contains("-ft\"") && made.to_string().contains("[\"calendar\"]"), "{made}");
    let (_, shown) = bench.said(&["search", "show", &id]);
    assert_eq!(edits(&shown)[2..], ["applied", "applied"], "{shown}");
}
