//! What a chain does with what comes back of its requests: no more rounds than were seen, no
//! reply and no error unlike all recorded ones, and no way that other recordings contradict.

use std::path::PathBuf;

use auto_json::Value;
use auto_tests::agent::{Step, TASK, Tool, record, why};

/// An operation with texts of its own: kind, name, input, output.
type Owned = (&'static str, &'static str, String, String);

const SYLLABLES: [&str; 11] = ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa"];

/// A name of three syllables, another one for each number below 1331.
fn name(number: usize) -> String {
    let at = number * 457 % 1331;
    [SYLLABLES[at % 11], SYLLABLES[at / 11 % 11], SYLLABLES[at / 121]].concat()
}

/// A number below `below` that nothing but `number` and `salt` tells.
fn chance(number: usize, salt: u64, below: u64) -> u64 {
    let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % below
}

fn write(tool: &Tool, number: usize, input: &str, output: &str, steps: &[Owned]) -> PathBuf {
    let steps: Vec<Step> =
        steps.iter().map(|(kind, name, input, output)| (*kind, *name, &input[..], &output[..])).collect();
    record(tool.folder.path(), number, input, output, &steps)
}

fn call(name: &'static str, input: String, output: String) -> Owned {
    ("tool_call", name, input, output)
}

fn guarded() -> String {
    TASK.replace("guard = \"none\"\n", "")
}

/// Why an artifact abstained.
fn reason(reply: &Value) -> &str {
    reply.get("abstained").and_then(|novelty| novelty.get("reason")).and_then(Value::as_text).unwrap_or_default()
}

fn effects(reply: &Value) -> usize {
    reply.get("effects").and_then(Value::as_list).map_or(0, <[Value]>::len)
}

/// What runs the artifact's tools in one process.
fn tools<'t>(names: &[&str], command: &str, flags: &'t mut Vec<String>) -> Vec<&'t str> {
    *flags = names.iter().map(|name| format!("{name}={command}")).collect();
    flags.iter().flat_map(|flag| ["--tool", flag.as_str()]).collect()
}

#[test]
fn nothing_is_done_more_often_than_was_seen() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for number in 0..16 {
        let (q, count) = (name(number), number % 4);
        let ids: Vec<String> = (0..count).map(|at| format!("D{}", chance(number, at as u64, 1000))).collect();
        let bodies: Vec<String> = ids.iter().map(|id| format!("text {id}")).collect();
        let hits: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
        let found = format!(r#"{{"hits":[{}]}}"#, hits.join(","));
        let mut steps = vec![call("search", format!(r#"{{"q":"{q}"}}"#), found)];
        for (id, body) in ids.iter().zip(&bodies) {
            steps.push(call("fetch", format!(r#"{{"id":"{id}"}}"#), format!(r#"{{"body":"{body}"}}"#)));
        }
        let output = format!(r#""{q}: {}""#, bodies.join("; "));
        written.push(write(&tool, number, &format!(r#"{{"q":"{q}"}}"#), &output, &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert!(report.to_string().contains("at most 3 (the most seen)"), "{report}");
    let process = |hits: usize| {
        tool.python(&format!(
            "    if name == 'search': return {{'hits': [{{'id': 'D%d' % at}} for at in range({hits})]}}\n    \
             return {{'body': 'text ' + input['id']}}"
        ))
    };
    let run = |exit, hits| {
        let mut flags = Vec::new();
        let tools = tools(&["search", "fetch"], &process(hits), &mut flags);
        tool.ask(exit, &[&["run", "c.cbin", "--input", r#"{"q":"new"}"#], &tools[..]].concat())
    };
    let reply = run(0, 3);
    assert_eq!(reply.get("output").and_then(Value::as_text), Some("new: text D0; text D1; text D2"), "{reply}");
    // The program for the answer was found for three at most, whatever it would make of four.
    let reply = run(3, 4);
    assert_eq!((reason(&reply), effects(&reply)), ("loop-bound", 1), "{reply}");
}

/// Orders that are taxed in two countries and need a customs code in two others.
fn shipments(tool: &Tool) -> Vec<PathBuf> {
    let written = (0..40).map(|number| {
        let (city, net) = (name(number), chance(number, 1, 490) + 10);
        let country = ["DE", "FR", "US", "CN"][chance(number, 2, 4) as usize];
        let (rate, code) = (chance(number, 3, 21) + 7, format!("C{}", chance(number, 4, 900) + 100));
        let mut steps = vec![call("geo", format!(r#"{{"city":"{city}"}}"#), format!(r#"{{"country":"{country}"}}"#))];
        let (note, extra) = match country {
            "DE" | "FR" => {
                steps.push(call("tax", format!(r#"{{"country":"{country}"}}"#), format!(r#"{{"rate":{rate}}}"#)));
                ("EU".to_owned(), rate)
            }
            _ => {
                steps.push(call("customs", format!(r#"{{"city":"{city}"}}"#), format!(r#"{{"code":"{code}"}}"#)));
                (code, 0)
            }
        };
        steps.push(call("send", format!(r#"{{"note":"{note}","to":"{city}"}}"#), r#"{"sent":true}"#.to_owned()));
        let output = format!(r#"{{"gross":{},"note":"{note}"}}"#, net + extra);
        write(tool, number, &format!(r#"{{"city":"{city}","net":{net}}}"#), &output, &steps)
    });
    written.collect()
}

#[test]
fn a_reply_unlike_all_recorded_ones_is_abstained_from_before_it_is_used() {
    let tool = Tool::new();
    tool.prepare(&shipments(&tool), &guarded());
    let report = tool.compile(0);
    let told = why(&report, "guard");
    assert_eq!(told, "calibrated on the held-out answers", "{report}");
    let notes = tool.manifest("notes").to_string();
    assert!(notes.contains("a reply unlike all recorded ones is abstained from: tool:customs, tool:geo"), "{notes}");
    let explained = tool.run(&["explain", "c.cbin"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("what comes back of tool_call geo: abstains"), "{explained}");
    // A recorded input, and a process that says other things.
    let input = format!(r#"{{"city":"{}","net":100}}"#, name(7));
    let run = |exit, country: &str, rate: &str, sent: &str| {
        let replies = format!(
            "    return {{'geo': {{'country': '{country}'}}, 'tax': {{'rate': {rate}}}, 'customs': {{'code': 'C123'}}, \
             'send': {{'sent': {sent}}}}}[name]"
        );
        let mut flags = Vec::new();
        let tools = tools(&["geo", "tax", "customs", "send"], &tool.python(&replies), &mut flags);
        tool.ask(exit, &[&["run", "c.cbin", "--input", &input], &tools[..]].concat())
    };
    let reply = run(0, "FR", "19", "True");
    assert_eq!(reply.get("output").map(Value::to_string).as_deref(), Some(r#"{"gross":119,"note":"EU"}"#), "{reply}");
    let reply = run(3, "IT", "19", "True");
    assert_eq!((reason(&reply), effects(&reply)), ("effect-shape", 1), "{reply}");
    let reply = run(3, "DE", "-999999999", "True");
    assert_eq!((reason(&reply), effects(&reply)), ("effect-range", 2), "{reply}");
    let reply = run(3, "DE", "19", "False");
    assert_eq!((reason(&reply), effects(&reply)), ("undefined", 3), "{reply}");
}

/// Payments, of which every third is declined and told so; the recorder puts the class of the
/// exception before the error.
fn payments(tool: &Tool) -> Vec<PathBuf> {
    let written = (0..30).map(|number| {
        let (who, amount) = (name(number), chance(number, 5, 900) + 1);
        let given = format!(r#"{{"amount":{amount},"who":"{who}"}}"#);
        if number % 3 > 0 {
            let tx = format!("T{}", chance(number, 6, 9000) + 1000);
            let steps = [call("pay", given.clone(), format!(r#"{{"tx":"{tx}"}}"#))];
            return write(tool, number, &given, &format!(r#"{{"ref":"{tx}","status":"paid"}}"#), &steps);
        }
        let text = format!("Payment of {amount} failed: declined");
        let steps = [
            call("pay", given.clone(), "RuntimeError: declined".to_owned()),
            call("send", format!(r#"{{"text":"{text}","to":"{who}"}}"#), "null".to_owned()),
        ];
        write(tool, number, &given, r#"{"ref":null,"status":"failed"}"#, &steps)
    });
    written.collect()
}

#[test]
fn an_error_unlike_all_recorded_ones_is_abstained_from_and_so_is_a_failure_of_the_runner() {
    let tool = Tool::new();
    tool.prepare(&payments(&tool), &guarded());
    tool.compile(0);
    let input = format!(r#"{{"amount":77,"who":"{}"}}"#, name(6));
    let run = |exit, pays: &str| {
        let replies = format!("    if name == 'send': return None\n    {pays}");
        let mut flags = Vec::new();
        let tools = tools(&["pay", "send"], &tool.python(&replies), &mut flags);
        // Only what never replies is waited for in vain.
        let timeout = if pays.contains("sleep") { "1" } else { "60" };
        tool.ask(exit, &[&["run", "c.cbin", "--input", &input, "--tool-timeout", timeout], &tools[..]].concat())
    };
    let reply = run(0, "raise RuntimeError('declined')");
    assert_eq!(reply.get("output").map(Value::to_string).as_deref(), Some(r#"{"ref":null,"status":"failed"}"#));
    assert_eq!(effects(&reply), 2, "{reply}");
    let reply = run(3, "raise RuntimeError('insufficient funds')");
    assert_eq!((reason(&reply), effects(&reply)), ("effect-shape", 1), "{reply}");
    // A hang, a death, and what is no JSON are no error of the tool.
    for pays in ["time.sleep(9)", "sys.exit(1)", "print('{', flush=True)"] {
        let reply = run(3, pays);
        assert_eq!((reason(&reply), effects(&reply)), ("effect-failed", 1), "{pays}: {reply}");
    }
}

#[test]
fn what_gave_up_after_three_tries_is_not_tried_a_fourth_time() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for number in 0..20 {
        let job = format!(r#"{{"job":"{}"}}"#, name(number));
        let fails = chance(number, 7, 5) as usize;
        let value = format!(r#""V{}""#, chance(number, 8, 1000));
        let mut steps = vec![call("flaky", job.clone(), "RuntimeError: busy".to_owned()); fails.min(3)];
        if fails < 3 {
            steps.push(call("flaky", job.clone(), value.clone()));
        }
        let file = write(&tool, number, &job, &value, &steps);
        if fails >= 3 {
            // Such a run ends without an output.
            let text = std::fs::read_to_string(&file).unwrap();
            let kept: Vec<&str> = text.lines().filter(|line| !line.contains("task_output")).collect();
            std::fs::write(&file, kept.join("\n") + "\n").unwrap();
        }
        written.push(file);
    }
    tool.prepare(&written, &guarded());
    let report = tool.compile(0);
    assert!(report.to_string().contains("until it succeeds, at most 3 times (the most seen)"), "{report}");
    let command = tool.python("    raise RuntimeError('busy')");
    let input = format!(r#"{{"job":"{}"}}"#, name(3));
    let reply = tool.ask(3, &["run", "c.cbin", "--input", &input, "--tool", &format!("flaky={command}")]);
    assert_eq!((reason(&reply), effects(&reply)), ("loop-bound", 3), "{reply}");
}

#[test]
fn what_is_tried_three_times_and_then_done_otherwise_is_tried_three_times() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for number in 0..40 {
        let job = format!(r#"{{"job":"{}"}}"#, name(number));
        let fails = chance(number, 13, 5) as usize;
        let value = format!("V{}", chance(number, 14, 1000));
        let mut steps = vec![call("flaky", job.clone(), "RuntimeError: busy".to_owned()); fails.min(3)];
        let output = if fails < 3 {
            steps.push(call("flaky", job.clone(), format!(r#"{{"v":"{value}"}}"#)));
            format!(r#"{{"ok":true,"r":"{value}"}}"#)
        } else {
            steps.push(call("send", format!(r#"{{"to":"{}"}}"#, name(number)), "null".to_owned()));
            r#"{"ok":false,"r":null}"#.to_owned()
        };
        written.push(write(&tool, number, &job, &output, &steps));
    }
    tool.prepare(&written, &guarded());
    tool.compile(0);
    let input = format!(r#"{{"job":"{}"}}"#, name(3));
    for (fails, output, calls) in
        [(0, r#"{"ok":true,"r":"V77"}"#, 1), (2, r#"{"ok":true,"r":"V77"}"#, 3), (9, r#"{"ok":false,"r":null}"#, 4)]
    {
        let count = tool.folder.path().join(format!("count-{fails}"));
        let command = tool.python(&format!(
            "    if name == 'send': return None\n    file = open({:?}, 'a+'); file.write('.'); file.flush(); \
             file.seek(0)\n    if len(file.read()) <= {fails}: raise RuntimeError('busy')\n    return {{'v': 'V77'}}",
            count.display().to_string()
        ));
        let mut flags = Vec::new();
        let tools = tools(&["flaky", "send"], &command, &mut flags);
        let reply = tool.ask(0, &[&["run", "c.cbin", "--input", &input], &tools[..]].concat());
        assert_eq!(reply.get("output").map(Value::to_string).as_deref(), Some(output), "{reply}");
        assert_eq!(effects(&reply), calls, "{reply}");
    }
}

#[test]
fn a_decision_is_learnt_from_what_it_was_recorded_to_be_decided_by() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for number in 0..24 {
        let (sku, want, have) = (name(number), chance(number, 9, 15) + 1, chance(number, 10, 20));
        let enough = have >= want;
        let mut steps = vec![
            call("stock", format!(r#"{{"sku":"{sku}"}}"#), format!(r#"{{"qty":{have}}}"#)),
            ("branch", "enough", format!(r#"{{"have":{have},"want":{want}}}"#), enough.to_string()),
        ];
        if enough {
            steps.push(call("reserve", format!(r#"{{"qty":{want},"sku":"{sku}"}}"#), "null".to_owned()));
        }
        let output = if enough { r#""shipped""# } else { r#""backorder""# };
        written.push(write(&tool, number, &format!(r#"{{"qty":{want},"sku":"{sku}"}}"#), output, &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    let decided = r#"{"have": $.stock.qty, "want": $.input.qty}"#.replace('"', "\\\"");
    let told = report.to_string();
    assert!(told.contains(&decided) && told.contains("$.have") && !told.contains("any("), "{report}");
    for (have, way) in [(3, "backorder"), (4, "shipped"), (5, "shipped")] {
        let command = tool.python(&format!("    return {{'qty': {have}}} if name == 'stock' else None"));
        let mut flags = Vec::new();
        let tools = tools(&["stock", "reserve"], &command, &mut flags);
        let reply = tool.ask(0, &[&["run", "c.cbin", "--input", r#"{"qty":4,"sku":"x"}"#], &tools[..]].concat());
        assert_eq!(reply.get("output").and_then(Value::as_text), Some(way), "{reply}");
    }
}

#[test]
fn a_predicate_that_other_runs_contradict_is_refused() {
    let tool = Tool::new();
    let mut written = Vec::new();
    for number in 0..50 {
        let (key, q, rate) = (name(number), chance(number, 11, 30) + 1, chance(number, 12, 50));
        let mut steps = vec![call("rate", format!(r#"{{"k":"{key}"}}"#), format!(r#"{{"r":{rate}}}"#))];
        // No predicate says this of two fields; thresholds of each fit the runs.
        if rate * 3 > q * 5 {
            steps.push(call("note", format!(r#"{{"k":"{key}"}}"#), "null".to_owned()));
        }
        let output = steps.len().to_string();
        written.push(write(&tool, number, &format!(r#"{{"k":"{key}","q":{q}}}"#), &output, &steps));
    }
    tool.prepare(&written, &TASK.replace("contract_version = 0", "contract_version = 1"));
    let report = tool.compile(1);
    let told = why(&report, "chain");
    assert!(told.starts_with("whether ") && told.contains("parts per million must be right"), "{report}");
}
