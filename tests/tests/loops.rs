//! Loops of several operations, and ways that part and come together again: what follows is
//! learnt once and from all recordings.

use std::path::PathBuf;

use auto_json::Value;
use auto_schema::digest::Digest;
use auto_tests::agent::{Step, TASK, Tool, WORDS, pairs, record, stages, why};

/// An operation with texts of its own: kind, name, input, output.
type Owned = (&'static str, &'static str, String, String);

fn write(tool: &Tool, number: usize, input: &str, output: &str, steps: &[Owned]) -> PathBuf {
    let steps: Vec<Step> =
        steps.iter().map(|(kind, name, input, output)| (*kind, *name, &input[..], &output[..])).collect();
    record(tool.folder.path(), number, input, output, &steps)
}

/// Of which half have an even number of letters.
const ORDERS: [&str; 8] = ["ab", "abc", "cedars", "dunes", "fjords", "grove", "heat", "amber"];

/// Each order is looked up, and refunded where it is late.
fn orders(number: usize, count: usize) -> (String, String, Vec<Owned>) {
    let orders: Vec<String> = (0..count).map(|at| ORDERS[(number * 5 + at * 3) % 8].to_owned()).collect();
    let mut steps = Vec::new();
    let mut late = 0;
    for order in &orders {
        // Those with an even number of letters are late.
        let status = if order.len() % 2 == 0 { "late" } else { "sent" };
        steps.push(("tool_call", "look", format!(r#"{{"order":"{order}"}}"#), format!(r#"{{"status":"{status}"}}"#)));
        if status == "late" {
            late += 1;
            steps.push(("tool_call", "refund", format!(r#"{{"id":"{order}","why":"late"}}"#), "true".to_owned()));
        }
    }
    let input = format!(
        r#"{{"id":{number},"orders":[{}]}}"#,
        orders.iter().map(|order| format!("{order:?}")).collect::<Vec<_>>().join(",")
    );
    (input, format!(r#"{{"seen":{count},"late":{late}}}"#), steps)
}

#[test]
fn several_operations_for_each_item_become_a_loop_in_which_ways_part() {
    let tool = Tool::new();
    let written = [2, 0, 3, 1, 4, 2, 3, 1, 2, 4, 3, 2].into_iter().enumerate().map(|(number, count)| {
        let (input, output, steps) = orders(number, count);
        let output = format!(r#"{{"seen":{count}}}"#, count = Value::parse(&output).unwrap().get("seen").unwrap());
        write(&tool, number, &input, &output, &steps)
    });
    tool.prepare(&written.collect::<Vec<_>>(), TASK);
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[
            ("tool_call look and what follows it", "loop"),
            ("tool_call look", "effect"),
            ("whether tool_call refund comes next", "branch"),
            ("tool_call refund", "effect"),
            ("answer", "compiled"),
        ]),
        "{report}"
    );
    assert!(report.to_string().contains("for each of $.orders, at most 4 (the most seen)"), "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:look","tool:refund"]"#);
    // Live, with lists as long as the longest that was seen, and longer.
    let command = tool.python(
        "    return True if name == 'refund' else {'status': 'late' if len(input['order']) % 2 == 0 else 'sent'}",
    );
    let [look, refund] = ["look", "refund"].map(|name| format!("{name}={command}"));
    let input = r#"{"id":99,"orders":["ab","abc","abcdef","abcde"]}"#;
    let reply = tool.ask(0, &["run", "c.cbin", "--input", input, "--tool", &look, "--tool", &refund]);
    assert_eq!(reply.get("output").map(Value::to_string).as_deref(), Some(r#"{"seen":4}"#), "{reply}");
    let effects = reply.get("effects").and_then(Value::as_list).unwrap_or_default();
    let names: Vec<&str> = effects.iter().filter_map(|one| one.get("capability")?.as_text()).collect();
    let [look, refund] = ["tool:look", "tool:refund"];
    assert_eq!(names, [look, refund, look, look, refund, look], "{reply}");
    let long = format!(r#"{{"id":99,"orders":[{}]}}"#, [r#""ab""#; 5].join(","));
    let [look, refund] = ["look", "refund"].map(|name| format!("{name}={command}"));
    let reply = tool.ask(3, &["run", "c.cbin", "--input", &long, "--tool", &look, "--tool", &refund]);
    assert!(reply.to_string().contains("loop-bound"), "{reply}");
}

#[test]
fn several_operations_until_what_they_give_will_do_become_a_loop_with_a_bound() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, rounds) in [1usize, 3, 2, 1, 2, 4, 1, 2].into_iter().enumerate() {
        let word = WORDS[number];
        let mut steps = Vec::new();
        for round in 1..=rounds {
            let state = if round == rounds { "ready" } else { "busy" };
            steps.push(("tool_call", "log_in", format!("{word:?}"), format!(r#"{{"token":"{word}-t"}}"#)));
            steps.push((
                "tool_call",
                "fetch",
                format!(r#"{{"token":"{word}-t"}}"#),
                format!(r#"{{"page":"{word} page","state":"{state}"}}"#),
            ));
        }
        steps.push(("tool_call", "keep", format!(r#""{word} page""#), "null".to_owned()));
        written.push(write(&tool, number, &format!("{word:?}"), &format!(r#""{word} page""#), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[
            ("tool_call log_in and what follows it", "loop"),
            ("tool_call log_in", "effect"),
            ("tool_call fetch", "effect"),
            ("tool_call keep", "effect"),
            ("answer", "compiled"),
        ]),
        "{report}"
    );
    assert!(report.to_string().contains(r#"until eq($.fetch.state, \"ready\"), at most 4 times"#), "{report}");
}

#[test]
fn ways_that_come_together_are_followed_by_what_all_recordings_teach() {
    let tool = Tool::new();
    let mut written = Vec::new();
    // Two recordings go the long way; alone they would not teach what follows.
    for (number, word) in WORDS.iter().enumerate() {
        let vip = [2, 5].contains(&number);
        let mut steps = Vec::new();
        if vip {
            steps.push(("tool_call", "alert", format!(r#"{{"who":"{word}"}}"#), "null".to_owned()));
        }
        steps.push((
            "tool_call",
            "mail",
            format!(r#"{{"to":"{word}"}}"#),
            format!(r#"{{"ticket":"{word}-{number}"}}"#),
        ));
        let input = format!(r#"{{"name":"{word}","vip":{vip}}}"#);
        written.push(write(&tool, number, &input, &format!(r#""{word}-{number}""#), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[
            ("whether tool_call mail comes next", "branch"),
            ("tool_call alert", "effect"),
            ("tool_call mail", "effect"),
            ("answer", "compiled"),
        ]),
        "{report}"
    );
    let command = tool.python("    return None if name == 'alert' else {'ticket': input['to'] + '-7'}");
    let [alert, mail] = ["alert", "mail"].map(|name| format!("{name}={command}"));
    for (vip, effects) in [("true", 2), ("false", 1)] {
        let input = format!(r#"{{"name":"unseen","vip":{vip}}}"#);
        let reply = tool.ask(0, &["run", "c.cbin", "--input", &input, "--tool", &alert, "--tool", &mail]);
        assert_eq!(reply.get("output").and_then(Value::as_text), Some("unseen-7"), "{reply}");
        assert_eq!(reply.get("effects").and_then(Value::as_list).map(<[Value]>::len), Some(effects), "{reply}");
    }
}

#[test]
fn a_loop_whose_rounds_depend_on_each_other_is_refused() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for (number, pages) in [1usize, 3, 2, 4].into_iter().enumerate() {
        let mut steps = Vec::new();
        for page in 0..pages {
            steps.push(("tool_call", "page", format!("{}", page * 7 + number), format!("{}", page * 7 + number)));
            steps.push(("tool_call", "store", format!("{page}"), "true".to_owned()));
        }
        written.push(write(&tool, number, &format!("{:?}", WORDS[number]), "1", &steps));
    }
    tool.prepare(&written, TASK);
    let told = why(&tool.compile(1), "chain");
    assert!(told.contains("as a loop, what tool_call page is given: the same came before it"), "{told}");
}

#[test]
fn a_stage_that_no_program_explains_is_a_table_where_the_contract_asks_for_no_rule() {
    let tool = Tool::new();
    let said = ["3-1", "q", "7 77", "zz top", "0x1", "..", "a/b", "!"];
    let mut written = Vec::new();
    for (number, (word, said)) in WORDS.iter().zip(said).enumerate() {
        let steps = [
            ("model_call", "muse", format!("\"{}{said}?\"", number * number), format!("{said:?}")),
            ("tool_call", "keep", format!(r#"{{"word":"{word}"}}"#), "null".to_owned()),
        ];
        written.push(write(&tool, number, &format!("{word:?}"), &format!("{said:?}"), &steps));
    }
    tool.prepare(&written, TASK);
    let compile = ["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--steps", "1000000"];
    let refused = tool.ask(1, &compile);
    assert!(why(&refused, "chain").starts_with("model_call muse: what it gives cannot be told"), "{refused}");
    let contract = TASK.replacen('0', "1", 1) + "[acceptance]\nmemorise = true\n";
    std::fs::write(tool.folder.path().join("c.toml"), contract).unwrap();
    let report = tool.ask(0, &compile);
    assert_eq!(
        stages(&report),
        pairs(&[("model_call muse", "compiled"), ("tool_call keep", "effect"), ("answer", "compiled")]),
        "{report}"
    );
    let keep = format!("keep={}", tool.python("    return None"));
    let reply = tool.ask(0, &["run", "c.cbin", "--input", "\"cedar\"", "--tool", &keep]);
    assert_eq!(reply.get("output").and_then(Value::as_text), Some("7 77"), "{reply}");
    // What is in no table is not answered, and nothing is done.
    let reply = tool.ask(3, &["run", "c.cbin", "--input", "\"cider\"", "--tool", &keep]);
    assert_eq!(reply.get("effects"), None, "{reply}");
}

/// Each team is opened, then each of its members is invited.
fn teams(sizes: &[usize]) -> (String, String, Vec<Owned>) {
    let mut steps = Vec::new();
    let mut input = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        let team = WORDS[(at + sizes.len() * 3) % WORDS.len()];
        let members: Vec<&str> = (0..*size).map(|member| ORDERS[(member * 3 + at + sizes.len()) % 8]).collect();
        steps.push(("tool_call", "open", format!(r#"{{"team":"{team}"}}"#), "true".to_owned()));
        for member in &members {
            steps.push(("tool_call", "invite", format!(r#"{{"to":"{member}"}}"#), "true".to_owned()));
        }
        let members: Vec<String> = members.iter().map(|member| format!("{member:?}")).collect();
        input.push(format!(r#"{{"members":[{}],"name":"{team}"}}"#, members.join(",")));
    }
    (format!(r#"{{"teams":[{}]}}"#, input.join(",")), format!(r#"{{"teams":{}}}"#, sizes.len()), steps)
}

#[test]
fn a_loop_in_a_loop_is_a_loop_for_each_item_of_each_item() {
    let tool = Tool::new();
    let sizes: [&[usize]; 12] =
        [&[2, 1], &[3], &[], &[1, 0, 2], &[2, 2], &[1], &[0, 3], &[2, 1, 1], &[3, 2], &[1, 1], &[0], &[2, 3, 1]];
    let written = sizes.iter().enumerate().map(|(number, sizes)| {
        let (input, output, steps) = teams(sizes);
        write(&tool, number, &input, &output, &steps)
    });
    tool.prepare(&written.collect::<Vec<_>>(), TASK);
    let report = tool.compile(0);
    let loops = stages(&report).iter().filter(|(_, status)| status == "loop").count();
    assert_eq!(loops, 2, "{report}");
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["tool:invite","tool:open"]"#);
    let command = tool.python("    return True");
    let [open, invite] = ["open", "invite"].map(|name| format!("{name}={command}"));
    let (input, output, steps) = teams(&[3, 0, 2]);
    let reply = tool.ask(0, &["run", "c.cbin", "--input", &input, "--tool", &open, "--tool", &invite]);
    assert_eq!(reply.get("output").map(Value::to_string).as_deref(), Some(&*output), "{reply}");
    let effects = reply.get("effects").and_then(Value::as_list).unwrap_or_default();
    let asked: Vec<(String, String)> = effects
        .iter()
        .filter_map(|one| Some((one.get("capability")?.as_text()?.to_owned(), one.get("input")?.to_string())))
        .collect();
    // The record of a run holds digests.
    let digest = |input: &str| Value::from(Digest::of(input.as_bytes()).to_string()).to_string();
    let wanted: Vec<(String, String)> =
        steps.iter().map(|(_, name, input, _)| (format!("tool:{name}"), digest(input))).collect();
    assert_eq!(asked, wanted, "{reply}");
}
