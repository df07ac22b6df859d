//! What a command writes: its payload alone on stdout where it was asked for there, and never
//! in the place of anything that it reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Output, Stdio};

use auto_json::Value;
use auto_tests::tool::{Tool, printed};

const AGENT: [&str; 4] = ["--", "sh", "-c", "echo the agent speaks; cp shout.jsonl $AUTO_TRACE_FILE"];

/// Every command that puts a payload on stdout, and the file that holds the same.
fn payloads() -> Vec<(Vec<&'static str>, &'static str)> {
    let compile = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out"];
    let infer = ["contract", "infer", "--task", "shout", "--store", "shout.db", "--out"];
    let record = [&["record", "--store", "other.db", "--keep"][..], &["-"], &AGENT].concat();
    vec![
        ([&compile[..], &["-"]].concat(), "shout.cbin"),
        ([&infer[..], &["-"]].concat(), "drafted.toml"),
        (record, "shout.jsonl"),
        (vec!["run", "shout.cbin", "--stdio"], "answers"),
    ]
}

fn report(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    let last = text.trim_end().lines().last().unwrap_or_default();
    Value::parse(last).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn run(tool: &Tool, arguments: &[&str]) -> Output {
    let output = tool.run_on("inputs", arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

fn tool() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("inputs"), "{\"text\":\"please send the blue key\"}\n").unwrap();
    fs::write(tool.path("answers"), "{\"output\":\"PLEASE SEND THE BLUE KEY\"}\n").unwrap();
    run(&tool, &["contract", "infer", "--task", "shout", "--store", "shout.db", "--out", "drafted.toml"]);
    tool
}

#[test]
fn a_payload_stands_alone_on_stdout_and_the_report_goes_to_stderr() {
    let tool = tool();
    for (arguments, same) in payloads() {
        let payload = fs::read(tool.path(same)).unwrap();
        let output = run(&tool, &arguments);
        assert!(output.stdout == payload, "{arguments:?} prints {:?}", String::from_utf8_lossy(&output.stdout));
        assert!(arguments[0] == "run" || !output.stderr.is_empty(), "{arguments:?} reports nothing");
        // With --json too: then the report is a line of JSON.
        let output = run(&tool, &[&["--json"], &arguments[..]].concat());
        assert!(output.stdout == payload, "{arguments:?} prints {:?}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(report(&output.stderr).get("exit"), Some(&Value::from(0u32)), "{arguments:?}");
    }
    // Where no place was given, the contract is the report.
    let infer = ["contract", "infer", "--task", "shout", "--store", "shout.db"];
    assert_eq!(run(&tool, &infer).stdout, fs::read(tool.path("drafted.toml")).unwrap());
    let object = report(&run(&tool, &[&["--json"], &infer[..]].concat()).stdout);
    assert!(object.get("contract").is_some(), "{object}");
}

#[test]
fn a_command_that_fails_leaves_a_stdout_for_payloads_empty() {
    let tool = tool();
    for (arguments, _) in payloads() {
        // Whatever it reads is not there.
        let lost: Vec<&str> = arguments
            .iter()
            .map(|word| match *word {
                "shout.db" => "absent.db",
                "shout.cbin" => "absent.cbin",
                "other.db" => "absent/other.db",
                word => word,
            })
            .collect();
        let stop = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
        let unknown = [&arguments[..stop], &["--no-such-flag"], &arguments[stop..]].concat();
        for wrong in [lost, unknown] {
            for json in [false, true] {
                let flags: &[&str] = if json { &["--json"] } else { &[] };
                let output = tool.run(&[flags, &wrong[..]].concat());
                assert!(!output.status.success() && output.stdout.is_empty(), "{wrong:?}: {output:?}");
                if json {
                    assert!(report(&output.stderr).get("code").is_some(), "{wrong:?}");
                }
            }
        }
    }
}

#[test]
fn a_payload_that_cannot_be_written_is_an_error() {
    let tool = tool();
    for (arguments, _) in payloads() {
        let full = fs::File::create("/dev/full").unwrap();
        let input = fs::File::open(tool.path("inputs")).unwrap();
        let output = tool.command(&arguments).stdin(input).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(printed(&output).contains("unwritable"), "{arguments:?}: {output:?}");
    }
    for words in [&["--help"][..], &["--version"], &["--json", "--help"], &["--json", "--version"], &["run", "--help"]]
    {
        let full = fs::File::create("/dev/full").unwrap();
        let status = tool.command(words).stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}");
    }
}

/// Commands that write a file, without the name of it; and all that each reads.
fn writers() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let store = ["shout.db", "shout.db-wal", "shout.db-shm", "shout.db-journal", "shout.db.spool/run-1.jsonl"];
    let compile = "compile --contract c.toml --store shout.db --pass pass.wasm --module module.wasm --out";
    let folder = "compile --contract c.toml --store shout.db --passes passes --out";
    let infer = "contract infer --task shout --store shout.db --out";
    let record = "record --store shout.db --keep";
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let contract = ["c.toml", "cases.jsonl", "predicate.wasm"];
    vec![
        (words(compile), [&store[..], &contract, &["pass.wasm", "module.wasm", "cache/size"]].concat()),
        (words(folder), [&store[..], &contract, &["passes/auto-emit.wasm"]].concat()),
        (words(infer), store.to_vec()),
        (words(record), [&store[..], &["agent.sh"]].concat()),
    ]
}

#[test]
fn no_output_replaces_what_the_command_reads_however_it_is_named() {
    let tool = tool();
    let predicate = fs::read(auto_tests::root().join("target/components/gate.wasm")).unwrap();
    for file in ["pass.wasm", "module.wasm", "predicate.wasm"] {
        fs::write(tool.path(file), &predicate).unwrap();
    }
    fs::create_dir_all(tool.path("passes")).unwrap();
    for built in auto_tests::built().unwrap() {
        fs::write(tool.path("passes").join(built.made_from.name).with_extension("wasm"), built.bytes).unwrap();
    }
    fs::copy(tool.path("passes/auto-compile.wasm"), tool.path("passes/compile.wasm")).unwrap();
    fs::write(tool.path("cases.jsonl"), "").unwrap();
    let contract = fs::read_to_string(tool.path("shout.contract.toml")).unwrap();
    let contract = contract
        .replace("contract_version = 0", "contract_version = 1\neval_sets = [\"cases.jsonl\"]")
        .replace("task = \"shout\"", "task = \"shout\"\n");
    let digest = auto_schema::digest::Digest::of(&predicate);
    let property = format!("\n[[property]]\nkind = \"predicate\"\nfile = \"predicate.wasm\"\nsha256 = \"{digest}\"\n");
    fs::write(tool.path("c.toml"), contract + &property).unwrap();
    fs::write(tool.path("agent.sh"), "cp shout.jsonl $AUTO_TRACE_FILE\n").unwrap();
    fs::create_dir_all(tool.path("elsewhere")).unwrap();

    for (command, inputs) in writers() {
        for input in inputs {
            let there = tool.path(input);
            let before = fs::read(&there).ok();
            let (soft, hard) = (tool.path("elsewhere/soft"), tool.path("elsewhere/hard"));
            let mut names = vec![input.to_owned(), format!("./elsewhere/../{input}"), there.display().to_string()];
            // SQLite itself makes and removes what lies beside a store, we what is in the cache.
            let changes = input.starts_with("shout.db-") || input.starts_with("cache/");
            if before.is_some() && !changes {
                symlink(&there, &soft).unwrap();
                fs::hard_link(&there, &hard).unwrap();
                names.extend(["elsewhere/soft".to_owned(), "elsewhere/hard".to_owned()]);
            }
            for name in names {
                let agent: &[&str] = if command[0] == "record" { &["--", "sh", "agent.sh"] } else { &[] };
                let words = [&command[..], &[&name], agent].concat();
                let output = tool.run(&words);
                assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
                assert!(printed(&output).contains("error[same-file]"), "{words:?}: {output:?}");
                assert!(changes || fs::read(&there).ok() == before, "{words:?} changed {input}");
            }
            let _ = fs::remove_file(soft);
            let _ = fs::remove_file(hard);
        }
    }
}

#[test]
fn a_store_is_not_made_out_of_what_is_imported() {
    let tool = tool();
    for name in ["shout.jsonl", "./shout.jsonl"] {
        let output = tool.run(&["import", "--store", name, "shout.jsonl"]);
        assert!(output.status.code() == Some(2) && printed(&output).contains("same-file"), "{output:?}");
    }
    fs::copy(tool.path("shout.jsonl"), tool.path("new.db-wal")).unwrap();
    let output = tool.run(&["import", "--store", "new.db", "new.db-wal"]);
    assert!(output.status.code() == Some(2) && printed(&output).contains("same-file"), "{output:?}");
    assert!(!tool.path("new.db").exists());
}

#[test]
fn a_lock_is_never_made_out_of_somebody_s_file() {
    let tool = tool();
    fs::copy(tool.path("shout.contract.toml"), tool.path(".new.cbin.lock")).unwrap();
    let before = fs::read(tool.path(".new.cbin.lock")).unwrap();
    symlink("notes", tool.path(".other.cbin.lock")).unwrap();
    for (contract, out) in [(".new.cbin.lock", "new.cbin"), ("shout.contract.toml", "other.cbin")] {
        let output = tool.run(&["compile", "--contract", contract, "--store", "shout.db", "--out", out]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(printed(&output).contains("unwritable"), "{output:?}");
    }
    assert_eq!(fs::read(tool.path(".new.cbin.lock")).unwrap(), before);
    assert!(!tool.path("notes").exists());
}

#[test]
fn the_longest_name_that_a_file_may_have_can_be_written_and_a_longer_one_is_called_too_long() {
    let tool = tool();
    let compile =
        |name: &str| tool.run(&["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", name]);
    let longest = "n".repeat(255);
    assert!(compile(&longest).status.success());
    assert_eq!(fs::read(tool.path(&longest)).unwrap(), fs::read(tool.path("shout.cbin")).unwrap());
    let output = compile(&"n".repeat(256));
    assert!(output.status.code() == Some(1) && printed(&output).contains("too long"), "{output:?}");
}
