//! What a chain does on the way to its answer: a call that no run made is as wrong as a wrong
//! answer, and what recordings did not do is evidence too.

use std::path::{Path, PathBuf};

use auto_json::Value;
use auto_tests::agent::{Step, TASK, Tool, record, region, why};

/// A contract of version 1 with what guards.
fn believed(contract: &str) -> String {
    contract.replace("contract_version = 0", "contract_version = 1").replace("guard = \"none\"\n", "")
}

/// Rewrites a recording.
fn rewrite(file: &Path, change: impl FnOnce(String) -> String) {
    std::fs::write(file, change(std::fs::read_to_string(file).unwrap())).unwrap();
}

/// Leaves a run without its output.
fn unended(file: &Path) {
    rewrite(file, |text| {
        let kept = text.lines().filter(|line| !line.contains(r#""t":"task_output""#));
        kept.map(|line| format!("{line}\n")).collect()
    });
}

const AMOUNTS: [i64; 24] = [
    12, 44, 70, 111, 140, 171, 222, 260, 301, 333, 395, 421, 440, 470, 505, 577, 610, 660, 702, 777, 803, 851, 902, 960,
];

#[test]
fn a_call_that_held_out_runs_did_not_make_is_a_wrong_one() {
    let tool = Tool::new();
    // The lines that the agent draws are told by few runs.
    let file = |(number, amount): (usize, i64)| {
        let box_of = match amount {
            137..411 => "b",
            411..640 => "c",
            _ => "a",
        };
        let (input, given) = (format!(r#"{{"amount":{amount}}}"#), format!(r#"{{"box":{box_of:?}}}"#));
        record(tool.folder.path(), number, &input, "\"done\"", &[("tool_call", "put", &given, "true")])
    };
    let files: Vec<PathBuf> = AMOUNTS.into_iter().enumerate().map(file).collect();
    // The answer is always right.
    tool.prepare(&files, &believed(TASK));
    let told = why(&tool.compile(1), "chain");
    assert!(told.starts_with("what tool_call put is given: "), "{told}");
    assert!(told.contains("what is found without some of the runs is wrong on"), "{told}");
}

#[test]
fn errors_are_told_as_a_process_tells_them() {
    let tool = Tool::new();
    let file = |number: usize| {
        let name = format!("n{}", number * 37 % 101);
        let input = format!(r#"{{"name":{name:?}}}"#);
        let (reply, next) = match number % 3 {
            0 => ("\"found\"", None),
            1 => ("LookupError: access denied", Some("ask")),
            _ => ("LookupError: no such name", Some("create")),
        };
        let mut steps: Vec<Step> = vec![("tool_call", "find", &input, reply)];
        steps.extend(next.map(|next| ("tool_call", next, &input[..], "true")));
        let answer = format!("{:?}", next.unwrap_or("found"));
        record(tool.folder.path(), number, &input, &answer, &steps)
    };
    tool.prepare(&(0..30).map(file).collect::<Vec<_>>(), &believed(TASK));
    let report = tool.compile(0);
    // The process says the text without the class, or with it.
    for class in ["", "LookupError: "] {
        let says = format!("    if name == 'find': raise Exception('{class}access denied')\n    return True\n");
        let process = tool.python(&says);
        let commands: Vec<String> = ["find", "ask", "create"].map(|name| format!("{name}={process}")).to_vec();
        let tools = commands.iter().flat_map(|command| ["--tool", command.as_str()]);
        let arguments: Vec<&str> = ["run", "c.cbin", "--input", r#"{"name":"n38"}"#].into_iter().chain(tools).collect();
        let reply = tool.ask(0, &arguments);
        assert_eq!(reply.get("output").and_then(Value::as_text), Some("ask"), "{class}: {reply} {report}");
    }
}

#[test]
fn runs_that_end_without_an_output_are_ways_that_abstain() {
    let tool = Tool::new();
    let file = |(number, amount): (usize, i64)| {
        let input = format!(r#"{{"amount":{amount},"id":"k{number}"}}"#);
        let asked = format!(r#"{{"id":"k{number}"}}"#);
        let balance = format!(r#"{{"balance":{}}}"#, amount + (number as i64 * 613) % 400 - 200);
        let enough = (number as i64 * 613) % 400 >= 200;
        let mut steps: Vec<Step> = vec![("tool_call", "balance", &asked, &balance)];
        if enough {
            steps.push(("tool_call", "debit", &input, "true"));
        }
        let file = record(tool.folder.path(), number, &input, "\"paid\"", &steps);
        if !enough {
            unended(&file);
        }
        file
    };
    let amounts = AMOUNTS.into_iter().chain(AMOUNTS.map(|amount| amount * 3 + 7));
    let files: Vec<PathBuf> = amounts.enumerate().map(file).collect();
    tool.prepare(&files, &believed(TASK));
    let report = tool.compile(0);
    assert!(report.to_string().contains("recordings end here without an output"), "{report}");
    let process = tool.python("    return {'balance': 500} if name == 'balance' else True\n");
    let tools = [format!("balance={process}"), format!("debit={process}")];
    for (amount, exit, calls) in [(450, 0, 2), (550, 3, 1)] {
        let input = format!(r#"{{"amount":{amount},"id":"k99"}}"#);
        let reply = tool.ask(exit, &["run", "c.cbin", "--input", &input, "--tool", &tools[0], "--tool", &tools[1]]);
        assert_eq!(reply.get("effects").and_then(Value::as_list).map(<[Value]>::len), Some(calls), "{reply}");
    }
}

#[test]
fn runs_that_do_not_come_to_the_end_of_a_region_are_ways_that_abstain() {
    let tool = Tool::new();
    let file = |(number, days): (usize, i64)| {
        let asked = format!(r#"{{"id":"k{number}"}}"#);
        let order = format!(r#"{{"days":{days}}}"#);
        let mut steps: Vec<Step> = vec![("tool_call", "order", &asked, &order)];
        if days < 30 {
            steps.push(("tool_call", "refund", &asked, "true"));
        }
        record(tool.folder.path(), number, &asked, "\"done\"", &steps)
    };
    let days = (0..40).map(|number| number * 17 % 61);
    let files: Vec<PathBuf> = days.enumerate().map(file).collect();
    tool.prepare(&files, &believed(&region("order", "refund")));
    let report = tool.compile(0);
    assert!(report.to_string().contains("recordings end here without an output"), "{report}");
    for (days, exit, calls) in [(10, 0, 2), (50, 3, 1)] {
        let process = tool.python(&format!("    return {{'days': {days}}} if name == 'order' else True\n"));
        let tools = [format!("order={process}"), format!("refund={process}")];
        let input = r#"{"id":"k99"}"#;
        let reply = tool.ask(exit, &["run", "c.cbin", "--input", input, "--tool", &tools[0], "--tool", &tools[1]]);
        assert_eq!(reply.get("effects").and_then(Value::as_list).map(<[Value]>::len), Some(calls), "{reply}");
    }
}

#[test]
fn an_answer_that_says_what_was_done_is_none_where_nothing_can_be_done() {
    let tool = Tool::new();
    let file = |number: usize| {
        let input = format!(r#"{{"to":"n{number}"}}"#);
        let steps = [("env_read", "HOME", "null", "\"/x\""), ("tool_call", "mail", &input[..], "true")];
        record(tool.folder.path(), number, &input, "\"sent\"", &steps)
    };
    tool.prepare(&(0..12).map(file).collect::<Vec<_>>(), &believed(TASK));
    let told = why(&tool.compile(1), "chain");
    assert!(told.contains("reads the environment"), "{told}");
}

#[test]
fn an_act_whose_content_was_not_captured_leaves_its_recording_out() {
    let tool = Tool::new();
    let file = |number: usize| {
        let input = format!(r#"{{"to":"n{number}"}}"#);
        let steps = [("tool_call", "look", &input[..], "true"), ("span", "mail", &input[..], "null")];
        let file = record(tool.folder.path(), number, &input, "\"sent\"", &steps);
        rewrite(&file, |text| {
            let mark = r#"{"attrs":{"uncaptured":"tool_call"},"duration_ms":0,"error":null,"input":"#;
            let lines = text.lines().map(|line| match line.contains(r#""kind":"span""#) {
                true => line.replacen(r#"{"attrs":{},"duration_ms":0,"error":null,"input":"#, mark, 1),
                false => line.to_owned(),
            });
            lines.map(|line| line + "\n").collect()
        });
        file
    };
    tool.prepare(&(0..12).map(file).collect::<Vec<_>>(), &believed(TASK));
    let told = why(&tool.compile(1), "evidence");
    assert!(told.contains("12 recordings have the tool_call \"mail\" without its content"), "{told}");
}

#[test]
fn the_way_is_taken_by_what_was_decided() {
    let tool = Tool::new();
    let file = |(number, amount): (usize, i64)| {
        let most = (number as i64 * 331) % 900;
        let over = most < amount;
        let input = format!(r#"{{"amount":{amount},"id":"k{number}","most":{most}}}"#);
        let decided = format!(r#"{{"amount":{amount},"most":{most}}}"#);
        let (over_text, given) = (over.to_string(), format!(r#"{{"id":"k{number}"}}"#));
        let next = if over { "ask" } else { "pay" };
        let steps = [("branch", "over", &decided[..], &over_text[..]), ("tool_call", next, &given[..], "true")];
        record(tool.folder.path(), number, &input, &format!("{next:?}"), &steps)
    };
    let files: Vec<PathBuf> = AMOUNTS.into_iter().enumerate().map(file).collect();
    tool.prepare(&files, &believed(TASK));
    let report = tool.compile(0);
    // Where both are equal it is not over, although nobody recorded that.
    let process = tool.python("    return True\n");
    let tools = [format!("ask={process}"), format!("pay={process}")];
    let input = r#"{"amount":300,"id":"k5","most":300}"#;
    let reply = tool.ask(0, &["run", "c.cbin", "--input", input, "--tool", &tools[0], "--tool", &tools[1]]);
    assert_eq!(reply.get("output").and_then(Value::as_text), Some("pay"), "{reply} {report}");
}
