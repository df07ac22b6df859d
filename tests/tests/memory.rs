//! The agent's memory: recorded, compiled as effects, refused unless granted, and kept in a file
//! that outlives the run.

use std::path::PathBuf;

use auto_json::Value;
use auto_tests::agent::{Step, TASK, Tool, WORDS, pairs, record, stages};

#[test]
fn what_an_agent_remembers_is_read_and_written_again_and_only_where_it_is_granted() {
    let tool = Tool::new();
    let mut written: Vec<PathBuf> = Vec::new();
    for (number, word) in WORDS.iter().enumerate() {
        let before = format!("{:?}", &WORDS[..=number % 3]);
        let key = format!(r#"{{"key":"{word}"}}"#);
        let note = format!(r#"{{"key":"{word}","value":"{word}-1"}}"#);
        let input = format!(r#"{{"who":"{word}"}}"#);
        let steps: [Step; 2] = [("memory_op", "read", &key, &before), ("memory_op", "append", &note, "null")];
        written.push(record(tool.folder.path(), number, &input, &format!(r#"{{"before":{before}}}"#), &steps));
    }
    tool.prepare(&written, TASK);
    let report = tool.compile(0);
    assert_eq!(
        stages(&report),
        pairs(&[("memory_op read", "effect"), ("memory_op append", "effect"), ("answer", "compiled")]),
        "{report}"
    );
    assert_eq!(tool.manifest("capabilities").to_string(), r#"["memory:append","memory:read"]"#);
    let ask = ["run", "c.cbin", "--input", r#"{"who":"unseen"}"#];
    let refused = tool.ask(1, &ask);
    assert_eq!(refused.get("code").and_then(Value::as_text), Some("not-granted"), "{refused}");
    assert!(refused.to_string().contains("--memory-file FILE"), "{refused}");
    let file = tool.folder.path().join("m.json");
    std::fs::write(&file, r#"{"unseen":["x"]}"#).unwrap();
    for before in [r#"["x"]"#, r#"["x","unseen-1"]"#] {
        let reply = tool.ask(0, &[&ask[..], &["--memory-file", "m.json"]].concat());
        assert_eq!(reply.get("output").map(Value::to_string), Some(format!(r#"{{"before":{before}}}"#)), "{reply}");
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "{\"unseen\":[\"x\",\"unseen-1\",\"unseen-1\"]}\n");
}
