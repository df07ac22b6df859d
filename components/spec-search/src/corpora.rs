//! Corpora of others as traces: rows of JSON to synthetic runs `ext-NAME-RECORD`. Three are known
//! by their fields; any other is mapped with JSON pointers. Such traces are shown to a teacher and
//! never count as experience of one's own.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::Fields;
use crate::Refusal;
use crate::trace::{EXTERNAL, Trace, agreed, shown};

/// The longest reference of `toolorchestra`, in characters.
const LONGEST_REFERENCE: usize = 2_000;

/// Feedback of what nobody has seen run.
const UNKNOWN_FEEDBACK: i64 = 500_000;

/// Where the parts of a row stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// JSON pointers.
    pub id: String,
    /// What is asked.
    pub problem: String,
    /// What is right.
    pub reference: String,
    /// What is kept beside it, by name.
    pub metadata: BTreeMap<String, String>,
}

impl Mapping {
    /// Reads `[learning.spec_search.mapped.NAME]`.
    pub fn read(fields: &Fields<'_>) -> Result<Mapping, Refusal> {
        fields.only(&["id", "problem", "reference", "metadata"])?;
        let pointer = |fields: &Fields<'_>, key: &str| {
            let text = fields.need_text(key)?;
            let sound = text.is_empty() || text.starts_with('/');
            if sound { Ok(text.to_owned()) } else { Err(fields.refuse(key, format!("{text:?} is no JSON pointer"))) }
        };
        let mut metadata = BTreeMap::new();
        if let Some(table) = fields.fields("metadata")? {
            for (name, _) in table.iter() {
                metadata.insert(name.to_owned(), pointer(&table, name)?);
            }
        }
        Ok(Mapping {
            id: pointer(fields, "id")?,
            problem: pointer(fields, "problem")?,
            reference: pointer(fields, "reference")?,
            metadata,
        })
    }
}

/// A row, read.
struct Row {
    id: String,
    problem: String,
    reference: String,
    metadata: Record,
}

/// The rows of a corpus as traces. A row that cannot be read is told with its place and left out;
/// so is a second one of the same id.
///
/// Codes: `unknown-corpus`, `bad-corpus` (no list).
pub fn traces(
    name: &str,
    rows: &Value,
    mapped: &BTreeMap<String, Mapping>,
) -> Result<(Vec<Trace>, Vec<Refusal>), Refusal> {
    let known: fn(&Value) -> Option<Row> = match name {
        _ if mapped.contains_key(name) => |_| None,
        "adp" => adp,
        "toolorchestra" => toolorchestra,
        "generalthoughts" => generalthoughts,
        _ => {
            let message = format!(
                "nobody knows the fields of {name:?}; known are adp, toolorchestra and generalthoughts, and any \
                 other is told in [learning.spec_search.mapped.{name}]"
            );
            return Err(Refusal::new("unknown-corpus", message).at(format!("/corpora/{name}")));
        }
    };
    let rows = rows.as_list().ok_or_else(|| Refusal::new("bad-corpus", format!("{name} is no list of rows")))?;
    let mut traces: BTreeMap<String, Trace> = BTreeMap::new();
    let mut refused = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut refuse = |code, why: &str| refused.push(Refusal::new(code, why).at(format!("/corpora/{name}/{at}")));
        match mapped.get(name).map_or_else(|| known(row), |mapping| of_mapping(row, mapping)) {
            None => refuse("bad-row", "its id, problem or reference is not where this corpus has it"),
            Some(row) if row.problem.trim().is_empty() => refuse("bad-row", "it asks nothing"),
            Some(own) => {
                let said = [row.get("consent"), row.get("metadata").and_then(|own| own.get("consent"))];
                let said = agreed(said.into_iter().flatten().chain(own.metadata.get("consent")));
                let trace = Trace { consent: said, ..synthetic(name, own) };
                match traces.contains_key(&trace.id) {
                    true => refuse("duplicate-trace", "an earlier row has the same id"),
                    false => drop(traces.insert(trace.id.clone(), trace)),
                }
            }
        }
    }
    Ok((traces.into_values().collect(), refused))
}

fn synthetic(name: &str, row: Row) -> Trace {
    // What the row says of its source stands below, where it hides nothing.
    let metadata = Record::new().with("source", name).with("record_id", row.id.as_str()).with("record", row.metadata);
    let id = format!("ext-{name}-{}", row.id);
    let record = Record::new()
        .with("id", id.as_str())
        .with("agent", EXTERNAL)
        .with("source", name)
        .with("input", row.problem.as_str())
        .with("output", row.reference.as_str())
        .with("metadata", metadata);
    Trace {
        id,
        agent: EXTERNAL.to_owned(),
        source: name.to_owned(),
        query: row.problem,
        result: row.reference,
        feedback: Some(UNKNOWN_FEEDBACK),
        record,
        ..Trace::default()
    }
}

/// A text or a number as an id.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.text()),
        _ => None,
    }
}

fn kept(row: &Value, keys: &[&str]) -> Record {
    let there = keys.iter().filter_map(|key| row.get(key).map(|value| ((*key).to_owned(), value.clone())));
    there.collect()
}

fn adp(row: &Value) -> Option<Row> {
    let turns = row.get("content")?.as_list()?;
    let is = |turn: &Value, key: &str, text: &str| turn.get(key).and_then(Value::as_text) == Some(text);
    let content = |turn: &Value| turn.get("content").map(|content| shown(Some(content)));
    let problem = turns.iter().find(|turn| is(turn, "source", "user")).and_then(content)?;
    let last = turns.iter().rfind(|turn| is(turn, "class_", "message_action"));
    let last = last.or_else(|| turns.iter().rfind(|turn| !is(turn, "source", "user")));
    let reference = last.and_then(content)?;
    Some(Row { id: id(row.get("id")?)?, problem, reference, metadata: kept(row, &["details"]) })
}

/// A field that may be JSON in a text.
fn opened(value: Option<&Value>) -> Option<Value> {
    match value? {
        Value::Text(text) => Value::parse(text).ok(),
        value => Some(value.clone()),
    }
}

fn toolorchestra(row: &Value) -> Option<Row> {
    let scenario = opened(row.get("user_scenario"))?;
    let problem = scenario.get("instructions")?.get("task_instructions")?.as_text()?.to_owned();
    let criteria = opened(row.get("evaluation_criteria"))?;
    let reference = shown(Some(criteria.get("actions")?)).chars().take(LONGEST_REFERENCE).collect();
    Some(Row { id: id(row.get("id")?)?, problem, reference, metadata: kept(row, &["description"]) })
}

fn generalthoughts(row: &Value) -> Option<Row> {
    let metadata =
        ["task", "model_name", "model_answer", "question_source", "verifier_score", "community_question_score"];
    Some(Row {
        id: id(row.get("question_id")?)?,
        problem: row.get("question")?.as_text()?.to_owned(),
        reference: shown(row.get("reference_answer")),
        metadata: kept(row, &metadata),
    })
}

fn of_mapping(row: &Value, mapping: &Mapping) -> Option<Row> {
    let metadata = mapping.metadata.iter().filter_map(|(name, at)| Some((name.clone(), pointed(row, at)?.clone())));
    Some(Row {
        id: id(pointed(row, &mapping.id)?)?,
        problem: shown(Some(pointed(row, &mapping.problem)?)),
        reference: shown(Some(pointed(row, &mapping.reference)?)),
        metadata: metadata.collect(),
    })
}

fn pointed<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, key| {
        let key = key.replace("~1", "/").replace("~0", "~");
        match value {
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            value => value.get(&key),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, rows: &str, mapped: &BTreeMap<String, Mapping>) -> (Vec<Trace>, Vec<Refusal>) {
        traces(name, &Value::parse(rows).expect("JSON"), mapped).expect("a known corpus")
    }

    fn one(name: &str, row: &str) -> Trace {
        let (mut traces, refused) = read(name, &format!("[{row}]"), &BTreeMap::new());
        assert_eq!(refused, []);
        traces.pop().expect("a trace")
    }

    #[test]
    fn each_known_corpus_is_read_by_its_own_fields() {
        let trace = one(
            "adp",
            r#"{"id":"a1","content":[{"source":"user","content":"Fix it"},{"class_":"message_action","content":"Done"},
            {"source":"environment","content":"ok"}],"details":{"source":"theirs"}}"#,
        );
        assert_eq!((trace.id.as_str(), trace.query.as_str(), trace.result.as_str()), ("ext-adp-a1", "Fix it", "Done"));
        let trace = one(
            "adp",
            r#"{"id":"a2","content":[{"source":"user","content":"Q"},{"source":"environment","content":"E"}]}"#,
        );
        assert_eq!(trace.result, "E");
        let actions = format!("[{}]", vec!["\"act\""; 900].join(","));
        let trace = one(
            "toolorchestra",
            &format!(
                r#"{{"id":7,"user_scenario":"{{\"instructions\":{{\"task_instructions\":\"Book\"}}}}",
                "evaluation_criteria":{{"actions":{actions}}}}}"#
            ),
        );
        assert_eq!((trace.id.as_str(), trace.query.as_str()), ("ext-toolorchestra-7", "Book"));
        assert_eq!(trace.result.chars().count(), LONGEST_REFERENCE);
        let trace = one(
            "generalthoughts",
            r#"{"question_id":"q","question":"2+2?","reference_answer":"4","task":"Sums","model_name":"m"}"#,
        );
        assert_eq!((trace.query.as_str(), trace.result.as_str()), ("2+2?", "4"));
    }

    #[test]
    fn what_a_row_says_of_its_source_hides_nothing() {
        let trace = one(
            "adp",
            r#"{"id":"a","content":[{"source":"user","content":"Q"},{"source":"x","content":"E"}],"details":{"source":"evil"}}"#,
        );
        assert_eq!((trace.source.as_str(), trace.is_external()), ("adp", true));
        let source = trace.record.get("metadata").and_then(|of| of.get("source"));
        assert_eq!(source.and_then(Value::as_text), Some("adp"));
        assert_eq!((trace.success, trace.failed(), trace.feedback), (None, false, Some(500_000)));
    }

    #[test]
    fn any_other_corpus_is_told_with_pointers() {
        let mapping = Value::parse(r#"{"id":"/k","problem":"/q/0","reference":"/a~1b","metadata":{"level":"/l"}}"#);
        let mapping = mapping.expect("JSON");
        let mapping = Mapping::read(&Fields::of(&mapping, "", "bad-settings").expect("an object")).expect("sound");
        let mapped = BTreeMap::from([("ours".to_owned(), mapping)]);
        let (traces, refused) = read("ours", r#"[{"k":1,"q":["Why?"],"a/b":"So","l":3},{"k":2}]"#, &mapped);
        assert_eq!((traces[0].query.as_str(), traces[0].result.as_str()), ("Why?", "So"));
        assert_eq!((refused[0].code, refused[0].at.as_str()), ("bad-row", "/corpora/ours/1"));
        let unknown = super::traces("others", &Value::Null, &mapped).expect_err("unknown");
        assert!(unknown.message.contains("[learning.spec_search.mapped.others]"), "{unknown}");
    }

    #[test]
    fn a_second_row_of_an_id_is_told_and_not_taken() {
        let row = r#"{"question_id":"q","question":"2+2?","reference_answer":"4"}"#;
        let (traces, refused) = read("generalthoughts", &format!("[{row},{row}]"), &BTreeMap::new());
        assert_eq!((traces.len(), refused[0].code), (1, "duplicate-trace"));
    }
}
