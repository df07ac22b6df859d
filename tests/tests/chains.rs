//! Whole runs: the peer's tool and pipeline flows, and our own inbox agent, recorded,
//! compiled, and held against what the agent does on what nobody has seen.

use std::path::{Path, PathBuf};
use std::process::Command;

use auto_json::Value;
use auto_tests::agent::{Step, TASK, Tool, WORDS, pairs, record, region, stages, why};
use auto_tests::shared_data as shared;

fn files(folder: &Path, start: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with(start) && name.ends_with(".jsonl")
    });
    files.sort();
    files
}

#[test]
fn the_peers_tool_flow_compiles_around_its_tool() {
    let Some(data) = shared("peer-v0") else { return };
    let tool = Tool::new();
    let contract = std::fs::read_to_string(data.join("tool-region.contract.toml")).unwrap();
    tool.prepare(&files(&data, "tool-"), &contract);
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[
            ("model_call extract", "compiled"),
            ("tool_call lookup", "effect"),
            ("model_call format", "compiled"),
            ("answer", "compiled"),
        ])
    );
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:lookup"]"#);
}

#[test]
fn the_peers_pipeline_needs_no_model_any_more() {
    let Some(data) = shared("peer-v0") else { return };
    let tool = Tool::new();
    let contract = "contract_version = 0\ntask = \"pipeline-agent\"\n\
        [scope]\ntype = \"region\"\nfrom = \"extract\"\nto = \"format\"\n\
        [interface]\ninput = \"json\"\noutput = \"text\"\n";
    tool.prepare(&files(&data, "pipeline-"), contract);
    let report = tool.compile(0);
    assert!(stages(&report).iter().all(|(_, status)| status == "compiled"), "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), "[]");
    let reply = tool.ask(0, &["run", "c.cbin", "--input", r#"{"doc":"Beta Alpha Gamma"}"#]);
    assert_eq!(reply.get("output").and_then(Value::as_text), Some("BETA"));
}

/// The toy agent's recordings with a clock that gives what `time` makes of a recording's number.
/// What it appends to its memory is taken for something that it read.
fn toy_recordings(data: &Path, folder: &Path, time: fn(usize) -> usize) -> Vec<PathBuf> {
    let reset = |(number, file): (usize, PathBuf)| {
        let lines = std::fs::read_to_string(&file).unwrap();
        let lines = lines.replace("memory_op", "env_read");
        let lines = lines.lines().map(|line| match Value::parse(line).unwrap() {
            Value::Record(mut fields) if line.contains("clock.now_ms") => {
                fields.set("output", Value::parse(time(number).to_string()).unwrap());
                Value::Record(fields).to_string()
            }
            other => other.to_string(),
        });
        let path = folder.join(file.file_name().unwrap());
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
        path
    };
    files(data, "toy-").into_iter().enumerate().map(reset).collect()
}

#[test]
fn what_no_artifact_can_do_again_refuses_a_region() {
    let Some(data) = shared("peer-v0") else { return };
    let contract = "contract_version = 0\ntask = \"toy-agent\"\n\
        [scope]\ntype = \"region\"\nfrom = \"fake-frontier\"\nto = \"clock.now_ms\"\n\
        [interface]\ninput = \"json\"\noutput = \"json\"\n";
    // Whether the runs of one input agree, or each of them saw another time.
    for time in [|_| 5, |number| number] {
        let tool = Tool::new();
        tool.prepare(&toy_recordings(&data, tool.folder.path(), time), contract);
        let report = tool.compile(1);
        assert!(why(&report, "chain").contains(r#"the operation "append" (env_read)"#), "{report}");
    }
}

/// Records the inbox agent; none where there is no Python.
fn recorded_inbox(folder: &Path) -> Option<Vec<String>> {
    let inbox = auto_tests::root().join("evals/inbox");
    let python = |arguments: &[&Path]| {
        let mut python = Command::new("python3");
        python.arg("-B").arg(inbox.join("agent.py")).args(arguments);
        python.output().ok()
    };
    let Some(recorded) = python(&[&inbox.join("messages.jsonl"), folder]) else {
        eprintln!("skipped: python3 cannot be run");
        return None;
    };
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let answers = python(&[&inbox.join("held-out.jsonl"), Path::new("--answers")])?;
    Some(String::from_utf8(answers.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn the_inbox_agent_compiles_around_its_tool_and_its_decision() {
    let tool = Tool::new();
    let traces = tool.folder.path().join("traces");
    std::fs::create_dir(&traces).unwrap();
    let Some(answers) = recorded_inbox(&traces) else { return };
    let inbox = auto_tests::root().join("evals/inbox");
    tool.prepare(&files(&traces, ""), &std::fs::read_to_string(inbox.join("inbox.contract.toml")).unwrap());
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[
            ("model_call classify", "compiled"),
            ("branch names an order", "compiled"),
            ("whether tool_call lookup comes next", "branch"),
            ("tool_call lookup", "effect"),
            ("model_call reply", "compiled"),
            ("answer", "compiled"),
        ])
    );
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:lookup"]"#);
    // Live, with the tool's own process, on messages that nobody has seen.
    let lookup = format!("lookup=python3 -B '{}'", inbox.join("lookup.py").display());
    let unseen = std::fs::read_to_string(inbox.join("held-out.jsonl")).unwrap();
    let mut answered = 0;
    for (message, expected) in unseen.lines().zip(&answers) {
        let output = tool.run(&["--json", "run", "c.cbin", "--input", message, "--tool", &lookup]);
        let reply = Value::parse(String::from_utf8_lossy(&output.stdout).trim()).unwrap();
        if output.status.code() == Some(3) {
            continue;
        }
        assert_eq!(reply.get("output"), Some(&Value::parse(expected).unwrap()), "{message}\n{reply}");
        let named = message.contains("ORD-");
        assert_eq!(
            reply.get("effects").and_then(Value::as_list).map_or(0, <[Value]>::len),
            usize::from(named),
            "{reply}"
        );
        answered += 1;
    }
    assert!(answered >= 9, "{answered} of {} answered", answers.len());
    let ungranted = tool.ask(1, &["run", "c.cbin", "--input", unseen.lines().next().unwrap()]);
    assert_eq!(ungranted.get("code").and_then(Value::as_text), Some("not-granted"), "{ungranted}");
}

#[test]
fn a_tool_called_for_each_item_becomes_a_loop_with_a_bound() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, count) in [0usize, 1, 3, 2, 4, 1, 2, 3].into_iter().enumerate() {
        let items: Vec<String> = (0..count).map(|at| format!("{:?}", WORDS[(number + at) % 8])).collect();
        let upper: Vec<String> = items.iter().map(|item| item.to_uppercase()).collect();
        let inputs: Vec<String> = items.iter().map(|item| format!(r#"{{"word":{item}}}"#)).collect();
        let steps: Vec<Step> =
            inputs.iter().zip(&upper).map(|(input, output)| ("tool_call", "look", &input[..], &output[..])).collect();
        let input = format!(r#"{{"id":{number},"words":[{}]}}"#, items.join(","));
        written.push(record(tool.folder.path(), number, &input, &format!("[{}]", upper.join(",")), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(stages(&report), pairs(&[("tool_call look", "loop"), ("answer", "compiled")]), "{report}");
    assert!(report.to_string().contains("for each of $.words, at most 4 (the most seen)"), "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:look"]"#);
}

#[test]
fn a_tool_called_until_it_succeeds_becomes_a_loop_with_a_bound() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, fails) in [0usize, 2, 1, 0, 1, 0].into_iter().enumerate() {
        let word = format!("{:?}", WORDS[number]);
        let upper = word.to_uppercase();
        let mut steps: Vec<Step> = vec![("tool_call", "look", &word, "it timed out"); fails];
        steps.push(("tool_call", "look", &word, &upper));
        written.push(record(tool.folder.path(), number, &word, &upper, &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(stages(&report), pairs(&[("tool_call look", "loop"), ("answer", "compiled")]), "{report}");
    assert!(report.to_string().contains("until it succeeds, at most 3 times (the most seen)"), "{report}");
}

#[test]
fn a_model_that_no_program_explains_stays_a_request() {
    let tool = Tool::new();
    let says = ["3-1", "q", "7 77", "zz top", "0x1", "..", "a/b", "!"];
    let mut written = Vec::new();
    for (number, (word, said)) in WORDS.iter().zip(says).enumerate() {
        let [word, asked, said] = [format!("{word:?}"), format!(r#"{{"about":{word:?}}}"#), format!("{said:?}")];
        let answer = format!(r#"{{"said":{said}}}"#);
        written.push(record(tool.folder.path(), number, &word, &answer, &[("model_call", "muse", &asked, &said)]));
    }
    tool.prepare(&written, TASK);
    let report =
        tool.ask(0, &["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--steps", "1000000"]);
    assert_eq!(stages(&report), pairs(&[("model_call muse", "effect"), ("answer", "compiled")]), "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["model:muse"]"#);
}

/// As [`TASK`], of version 1 and with what guards.
fn believed() -> String {
    TASK.replace("contract_version = 0", "contract_version = 1").replace("guard = \"none\"\n", "")
}

/// Runs of an agent that asks a model how dear something is and then files it; where the model draws
/// the lines, few runs tell.
fn filed(folder: &Path, model: &str) -> Vec<PathBuf> {
    let amounts = [12, 44, 70, 111, 140, 171, 222, 260, 301, 333, 395, 421, 440, 470, 505, 577, 610, 660, 702, 777];
    let file = |(number, amount): (usize, i64)| {
        let dear = match amount {
            137..411 => "middle",
            411..=640 => "high",
            _ => "low",
        };
        let input = format!(r#"{{"amount":{amount},"id":"k{number}"}}"#);
        let asked = format!(r#"{{"amount":{amount}}}"#);
        let said = format!("{dear:?}");
        let given = format!(r#"{{"dear":{dear:?},"id":"k{number}"}}"#);
        let reply = format!("\"R-{}\"", amount * 7919 % 100_000);
        let answer = format!(r#"{{"dear":{dear:?},"reply":{reply}}}"#);
        let steps = [("model_call", model, &asked[..], &said[..]), ("tool_call", "file", &given[..], &reply[..])];
        record(folder, number, &input, &answer, &steps)
    };
    amounts.into_iter().enumerate().map(file).collect()
}

#[test]
fn a_model_whose_rule_may_fit_by_chance_is_asked() {
    let tool = Tool::new();
    tool.prepare(&filed(tool.folder.path(), "judge"), &believed());
    let report = tool.compile(0);
    let expected = [("model_call judge", "effect"), ("tool_call file", "effect"), ("answer", "compiled")];
    assert_eq!(stages(&report), pairs(&expected), "{report}");
    let trust = why(&report, "trust");
    assert!(
        trust.starts_with("what model_call judge gives: what is found without some of the runs is wrong"),
        "{trust}"
    );
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["model:judge","tool:file"]"#);
    assert!(tool.manifest("notes").to_string().contains("its model is asked"), "{}", tool.manifest("notes"));
}

#[test]
fn what_may_fit_by_chance_and_has_no_model_refuses_the_whole() {
    let tool = Tool::new();
    // What the model is given is not told by anything.
    let files = filed(tool.folder.path(), "judge");
    for (number, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).unwrap();
        let secret = format!(r#""secret":"{}","amount":"#, number * number * 7_919 % 1_000);
        let text = text.replacen(r#""input":{"amount":"#, &format!(r#""input":{{{secret}"#), 1);
        assert!(text.contains("secret"), "{text}");
        std::fs::write(file, text).unwrap();
    }
    tool.prepare(&files, &believed());
    let report = tool.compile(1);
    let told = why(&report, "chain");
    assert!(told.starts_with("what model_call judge gives: what is found without some of the runs is wrong"), "{told}");
    assert!(told.contains("its model cannot be asked instead (model_call judge: "), "{told}");
}

#[test]
fn regions_without_ends_are_refused_by_trace() {
    let tool = Tool::new();
    let word = r#""a""#;
    let step = |name: &'static str| ("model_call", name, word, word);
    let folder = tool.folder.path();
    let written = [
        record(folder, 0, word, word, &[step("first")]),
        record(folder, 1, word, word, &[step("first"), step("first"), step("last")]),
        record(folder, 2, word, word, &[step("last"), step("first")]),
    ];
    tool.prepare(&written, &region("first", "last"));
    let refused = tool.compile(1);
    assert_eq!(refused.get("code").and_then(Value::as_text), Some("no-region"), "{refused}");
    let told = refused.to_string();
    for why in
        [r#"no operation named \"last\""#, r#"several operations named \"first\""#, r#"\"last\" before \"first\""#]
    {
        assert!(told.contains(why), "{told}");
    }
    // One that has it whole is enough to go on, and the others are counted.
    let more = [3, 4].map(|number| {
        let word = format!("{:?}", WORDS[number]);
        record(
            folder,
            number,
            &word,
            &word,
            &[("model_call", "first", &word, &word), ("model_call", "last", &word, &word)],
        )
    });
    tool.prepare(&more, &region("first", "last"));
    let report = tool.compile(0);
    assert!(report.to_string().contains(r#"1 recording has no operation named \"last\""#), "{report}");
}

#[test]
fn a_loop_that_nothing_bounds_is_refused() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, count) in [1usize, 3, 2, 4].into_iter().enumerate() {
        let inputs: Vec<String> = (0..count).map(|page| page.to_string()).collect();
        let steps: Vec<Step> = inputs.iter().map(|page| ("tool_call", "page", &page[..], "true")).collect();
        written.push(record(tool.folder.path(), number, &format!("{:?}", WORDS[number]), "1", &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(1);
    let told = why(&report, "chain");
    assert!(told.starts_with("tool_call page: it is done 1 to 4 times and nothing bounds that: no list"), "{told}");
}

#[test]
fn runs_that_part_for_no_known_reason_are_refused() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, word) in WORDS.iter().enumerate() {
        let name = if [1, 2, 4, 7].contains(&number) { "left" } else { "right" };
        written.push(record(tool.folder.path(), number, &format!("{word:?}"), "1", &[("tool_call", name, "1", "1")]));
    }
    tool.prepare(&written, TASK);
    let report =
        tool.ask(1, &["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--steps", "1000000"]);
    let told = why(&report, "chain");
    assert!(told.contains("the runs part between tool_call left (4), tool_call right (4)"), "{told}");
}

#[test]
fn recordings_with_no_task_output_are_counted() {
    let tool = Tool::new();
    let folder = tool.folder.path();
    let mut written = Vec::new();
    for (number, word) in WORDS.iter().enumerate() {
        let word = format!("{word:?}");
        written.push(record(folder, number, &word, &word, &[("tool_call", "keep", &word, &word)]));
    }
    let silent = std::fs::read_to_string(&written[0]).unwrap();
    let silent: Vec<&str> = silent.lines().filter(|line| !line.contains("task_output")).collect();
    std::fs::write(&written[0], silent.join("\n") + "\n").unwrap();
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert!(why(&report, "evidence").contains("1 recording has no task input or no task output"), "{report}");
}

#[test]
fn a_tool_asked_until_its_reply_will_do_becomes_a_loop_with_a_bound() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, polls) in [1usize, 3, 2, 1, 2, 1, 4, 2].into_iter().enumerate() {
        let word = format!("{:?}", WORDS[number]);
        let done = format!(r#"{{"state":"done","value":{}}}"#, word.to_uppercase());
        let mut steps: Vec<Step> = vec![("tool_call", "poll", &word, r#"{"state":"pending","value":null}"#); polls - 1];
        steps.push(("tool_call", "poll", &word, &done));
        written.push(record(tool.folder.path(), number, &word, &word.to_uppercase(), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(stages(&report), pairs(&[("tool_call poll", "loop"), ("answer", "compiled")]), "{report}");
    assert!(report.to_string().contains("at most 4 times (the most seen)"), "{report}");

    // Live: a process that never gets done ends at the bound, with an abstention.
    let never = tool.folder.path().join("never.py");
    let answer = "import sys, json\nfor line in sys.stdin:\n    \
        print(json.dumps({'id': json.loads(line)['id'], 'ok': {'state': 'pending', 'value': None}}), flush=True)\n";
    std::fs::write(&never, answer).unwrap();
    let command = format!("poll=python3 '{}'", never.display());
    let reply = tool.ask(3, &["run", "c.cbin", "--input", r#""amber""#, "--tool", &command]);
    assert!(reply.to_string().contains("loop-bound"), "{reply}");
    assert_eq!(reply.get("effects").and_then(Value::as_list).map(<[Value]>::len), Some(4), "{reply}");
}

#[test]
fn an_error_that_was_recorded_is_a_value_for_what_comes_after() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, word) in WORDS.iter().enumerate() {
        let (word, upper) = (format!("{word:?}"), format!("{word:?}").to_uppercase());
        let found = number % 2 == 0;
        let first = ("tool_call", "shelf", &word[..], if found { &upper[..] } else { "not on the shelf" });
        let second = ("tool_call", "cellar", &word[..], &upper[..]);
        let steps = if found { vec![first] } else { vec![first, second] };
        written.push(record(tool.folder.path(), number, &word, &upper, &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    let status: Vec<String> = stages(&report).into_iter().map(|(stage, status)| format!("{stage}: {status}")).collect();
    assert!(status.contains(&"tool_call cellar: effect".to_owned()), "{report}");
    assert!(status.iter().any(|stage| stage.ends_with("branch")), "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:cellar","tool:shelf"]"#);
}

#[test]
fn what_is_done_with_an_item_may_depend_on_the_rest_of_the_input() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, count) in [1usize, 3, 2, 4, 1, 2, 3, 2].into_iter().enumerate() {
        let items: Vec<String> = (0..count).map(|at| format!("{:?}", WORDS[(number + at) % 8])).collect();
        let shop = format!("{:?}", WORDS[(number * 3) % 8]);
        let inputs: Vec<String> = items.iter().map(|item| format!(r#"{{"shop":{shop},"word":{item}}}"#)).collect();
        let steps: Vec<Step> = inputs.iter().map(|input| ("tool_call", "stock", &input[..], "true")).collect();
        let input = format!(r#"{{"shop":{shop},"words":[{}]}}"#, items.join(","));
        written.push(record(tool.folder.path(), number, &input, &count.to_string(), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(stages(&report), pairs(&[("tool_call stock", "loop"), ("answer", "compiled")]), "{report}");
}
