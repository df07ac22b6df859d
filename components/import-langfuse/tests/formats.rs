//! A fixture of the export's form, the table's form of the same, and the six public traces.

use std::path::PathBuf;

use auto_import_langfuse::Component;
use auto_importer::{Importer as _, Note, Source, Trace, Value, kind_name};

const EXPORT: &str = include_str!("fixtures/export.json");

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    assert!(Component::detect(text), "not detected");
    let batch = Component::parse(&Source::of("f", text), 0).unwrap();
    (batch.traces, batch.notes)
}

#[test]
fn observations_become_operations_in_the_order_of_their_start() {
    let (traces, notes) = read(EXPORT);
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!((trace.id.as_str(), trace.task.as_str(), trace.started), ("t-1", "ticket-agent", 1_749_209_493_965_000));
    assert_eq!(
        (trace.input.as_deref(), trace.output.as_deref()),
        (Some(r#"{"ticket":"Where is order A-17?"}"#), Some(r#""shipped""#))
    );
    assert!(
        trace.attributes.contains(&("release".into(), "7".into()))
            && trace.attributes.contains(&("userId".into(), "u".into()))
    );
    let shown: Vec<_> =
        trace.spans.iter().map(|span| (kind_name(&span.kind), span.name.as_str(), span.output.as_str())).collect();
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(
        shown,
        [
            ("span", "agent", "null"),
            ("model_call", "gpt-4o", call),
            ("tool_call", "lookup", r#""shipped""#),
            ("span", "gpt-4o", "null"),
            ("model_call", "gpt-4o", "null"),
        ]
    );
    let asked = &trace.spans[1];
    let input = r#"{"messages":[{"content":"Where is order A-17?","role":"user"}],"temperature":0,"tools":[{"function":{"name":"lookup"},"type":"function"}]}"#;
    assert_eq!(
        (asked.input.as_str(), asked.duration, asked.parent),
        (input, Some(90_000), Some(0x85f4_f51e_deb6_03d8))
    );
    let note = |key: &str| asked.attributes.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
    assert_eq!((note("tokens"), note("cost_usd_micros")), (Some("44"), Some("25")));
    assert_eq!(trace.spans[2].input, r#"{"order":"A-17"}"#);
    assert_eq!((trace.spans[4].error.as_deref(), trace.spans[4].parent), (Some("rate limited"), None));
    let codes: Vec<_> = notes.iter().map(|note| (note.code.as_str(), note.usable)).collect();
    assert_eq!(codes, [("uncaptured", false), ("no-parent", true)]);
}

#[test]
fn a_table_of_observations_gives_the_same_spans() {
    let export = Value::parse(EXPORT).unwrap();
    let lines: Vec<String> =
        export.get("observations").unwrap().as_list().unwrap().iter().map(Value::to_string).collect();
    let (expected, _) = read(EXPORT);
    for text in [lines.join("\n"), format!("[{}]", lines.join(","))] {
        let (traces, _) = read(&text);
        assert_eq!((traces.len(), &traces[0].spans), (1, &expected[0].spans));
    }
}

/// A table as the export writes it as CSV: every cell in quotes, a line feed behind each row.
fn csv(columns: &[&str], rows: &[Value]) -> String {
    let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
    let cell = |row: &Value, column: &str| match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let line = |cells: Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
    let rows = rows.iter().map(|row| line(columns.iter().map(|column| cell(row, column)).collect()));
    line(columns.iter().map(|&column| column.to_owned()).collect()) + &rows.collect::<String>()
}

const COLUMNS: [&str; 15] = [
    "id",
    "traceId",
    "type",
    "name",
    "startTime",
    "endTime",
    "parentObservationId",
    "model",
    "modelParameters",
    "usageDetails",
    "totalCost",
    "metadata",
    "input",
    "output",
    "level",
];

#[test]
fn a_table_of_observations_as_csv_gives_the_same_spans() {
    let export = Value::parse(EXPORT).unwrap();
    let rows = export.get("observations").and_then(Value::as_list).unwrap();
    let columns = [&COLUMNS[..], &["statusMessage", "traceName"]].concat();
    let named = |row: &Value| {
        let mut row = row.as_record().cloned().unwrap();
        row.set("traceName", "ticket-agent");
        Value::from(row)
    };
    let (expected, _) = read(EXPORT);
    let text = csv(&columns, &rows.iter().map(named).collect::<Vec<_>>());
    for text in [text.clone(), text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
        let (traces, notes) = read(&text);
        let [trace] = &traces[..] else { panic!("{traces:?}") };
        assert_eq!((trace.task.as_str(), &trace.spans), ("ticket-agent", &expected[0].spans));
        assert_eq!(notes.len(), 2);
    }
    // A head alone holds nothing; older tables say how many tokens in a column of their own.
    assert!(read(&csv(&columns, &[])).0.is_empty());
    let row = Value::parse(
        r#"{"id":"g","traceId":"t","startTime":"2025-06-06T11:31:34Z","type":"GENERATION","input":"a","output":"b","totalUsage":7}"#,
    );
    let (traces, _) =
        read(&csv(&["id", "traceId", "startTime", "type", "input", "output", "totalUsage"], &[row.unwrap()]));
    assert!(traces[0].spans[0].attributes.contains(&("tokens".into(), "7".into())));
}

#[test]
fn a_table_of_traces_as_csv_gives_what_went_in_and_what_came_out() {
    let row = Value::parse(
        r#"{"id":"t-9","timestamp":"2025-06-06T11:31:33Z","name":"agent","input":"{\"a\":1}","output":"done, \"so\"","tags":["x"]}"#,
    );
    let (traces, notes) = read(&csv(&["id", "timestamp", "name", "input", "output", "tags"], &[row.unwrap()]));
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!((trace.id.as_str(), trace.task.as_str(), trace.spans.len()), ("t-9", "agent", 0));
    let said = Value::from("done, \"so\"").to_string();
    assert_eq!((trace.input.as_deref(), trace.output.as_deref()), (Some(r#"{"a":1}"#), Some(said.as_str())));
    assert!(notes.is_empty());
}

#[test]
fn a_table_that_is_cut_off_or_ragged_is_refused_with_its_line() {
    let refused = |text: &str| Component::parse(&Source::of("f", text), 0).unwrap_err();
    let head = "\"id\",\"traceId\",\"startTime\",\"type\"\n";
    for (rows, line) in
        [("\"a\",\"t\"\n", "line 2"), ("\"a\",\"t\",\"x\ny\",\"z\"\n\"b", "line 4"), ("\"a\"x\n", "line 2")]
    {
        let fault = refused(&format!("{head}{rows}"));
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-trace", Some(line)), "{rows}: {}", fault.message);
    }
    let (_, notes) = read(&format!("{head}\"\",\"t\",\"\",\"\"\n"));
    assert_eq!(notes[0].code, "bad-span");
    for other in ["id,name\n1,a\n", "id,traceId,startTime", ""] {
        assert!(!Component::detect(other), "{other}");
    }
}

/// What is known of each public trace: its model calls and tool calls that can be used.
#[test]
fn the_six_public_traces_import_whole() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("AUTO_SHARED_DATA").map_or(root, PathBuf::from).join("traces/langfuse");
    let Ok(files) = std::fs::read_dir(&folder) else {
        return eprintln!("skipped: no {}; set AUTO_SHARED_DATA to the folder of public data", folder.display());
    };
    let mut found = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (traces, notes) = read(&text);
        let observations = Value::parse(&text).unwrap().get("observations").and_then(Value::as_list).unwrap().len();
        let [trace] = &traces[..] else { panic!("{}", path.display()) };
        assert_eq!(trace.spans.len(), observations, "{}", path.display());
        let count = |kind: &str| trace.spans.iter().filter(|span| kind_name(&span.kind) == kind).count();
        let random = ["call_1oGK", "call_Sz1Q", "prompt_token_count", "4f5904a4-473c"];
        for span in trace.spans.iter().filter(|span| kind_name(&span.kind) == "model_call") {
            assert!(
                !random.iter().any(|word| span.input.contains(word) || span.output.contains(word)),
                "{}",
                span.input
            );
        }
        let name = path.file_stem().unwrap().to_str().unwrap().rsplitn(4, '-').last().unwrap().to_owned();
        found.push((name, count("model_call"), count("tool_call"), notes.iter().filter(|note| !note.usable).count()));
    }
    found.sort();
    let expected = [
        ("autogen", 1, 0, 0),
        ("google-adk", 2, 1, 0),
        ("google-vertex-tools-langchain", 1, 0, 0),
        ("langgraph", 2, 0, 0),
        ("microsoft-agent", 2, 1, 0),
        ("openai-assistants", 1, 0, 0),
    ];
    assert_eq!(found, expected.map(|(name, models, tools, left)| (name.to_owned(), models, tools, left)));
}
