//! Short forms in vectors: an object whose only key starts with `$` stands for what nobody could
//! read if it were written out.
//!
//! | form | stands for |
//! |---|---|
//! | `{"$json": value}` | the canonical text of the value |
//! | `{"$observations": [[input, output…]…]}` | a list of observations, equal outputs counted |
//! | `{"$answered": [[fold, input, expected, answer]…]}` | a list of held-out answers |
//! | `{"$program": {"input", "rule", "output"}}` | the graph of a rule between two types; `between` has a guard let through numbers from the first to the second |
//! | `{"$repeat": [text, times]}` | the text so often |

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most characters of a repeated text.
const LONGEST: usize = 1 << 20;

/// A value with every short form in it written out. Patterns of results keep their own forms.
pub fn expanded(value: &Value) -> Result<Value, String> {
    match value {
        Value::List(items) => Ok(items.iter().map(expanded).collect::<Result<Vec<_>, _>>()?.into()),
        Value::Record(record) => match form(record) {
            Some(("$json", inner)) => Ok(inner.to_string().into()),
            Some(("$observations", rows)) => observations(rows),
            Some(("$answered", rows)) => answered(rows),
            Some(("$program", parts)) => program(parts),
            Some(("$repeat", parts)) => repeated(parts),
            _ => {
                let member = |(key, value): (&str, &Value)| Ok((key.to_owned(), expanded(value)?));
                Ok(record.iter().map(member).collect::<Result<Record, String>>()?.into())
            }
        },
        value => Ok(value.clone()),
    }
}

/// The only member of an object, if its key is one of ours.
pub fn form(record: &Record) -> Option<(&str, &Value)> {
    let mut members = record.iter();
    let only = members.next().filter(|(key, _)| key.starts_with('$'))?;
    members.next().is_none().then_some(only)
}

/// Observations from rows of an input and its outputs: sorted, equal outputs counted, as the host
/// hands them over.
pub fn observations(rows: &Value) -> Result<Value, String> {
    let mut grouped: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for row in rows.as_list().ok_or("observations are a list")? {
        let (input, outputs) = row.as_list().and_then(<[Value]>::split_first).ok_or("an observation is a list")?;
        let seen = grouped.entry(input.to_string()).or_default();
        outputs.iter().for_each(|output| *seen.entry(output.to_string()).or_default() += 1);
    }
    let witness =
        |(output, count): (String, u32)| -> Value { Record::new().with("output", output).with("count", count).into() };
    let observation = |(input, outputs): (String, BTreeMap<String, u32>)| -> Value {
        let outputs: Vec<Value> = outputs.into_iter().map(witness).collect();
        Record::new().with("input", input).with("outputs", outputs).with("errors", 0u32).into()
    };
    Ok(grouped.into_iter().map(observation).collect::<Vec<Value>>().into())
}

fn answered(rows: &Value) -> Result<Value, String> {
    let row = |row: &Value| -> Result<Value, String> {
        let Some([fold, input, expected, answer]) = row.as_list() else {
            return Err("a held-out answer is a list of fold, input, expected output and answer".to_owned());
        };
        let scored = Record::new()
            .with("fold", fold.clone())
            .with("input", input.to_string())
            .with("expected", expected.to_string())
            .with("outcome", Record::new().with("answer", answer.to_string()))
            .with("scores", Vec::new());
        Ok(scored.into())
    };
    Ok(rows.as_list().ok_or("held-out answers are a list")?.iter().map(row).collect::<Result<Vec<_>, _>>()?.into())
}

/// An input, a rule and an output, in base64.
fn program(parts: &Value) -> Result<Value, String> {
    let text = |key: &str| parts.get(key).and_then(Value::as_text).ok_or_else(|| format!("a program has no `{key}`"));
    let ty = |key: &str| text(key)?.parse::<Type>().map_err(|error| format!("`{key}` is no type: {error}"));
    let (input, output) = (ty("input")?, ty("output")?);
    let node = |id: u32, name: &str, inputs: Vec<Port>, outputs: Vec<Port>, body: Body| Node {
        id,
        name: name.to_owned(),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let port = |name: &str, ty: &Type| vec![Port::new(name, ty.clone())];
    let rule = Body::Expression { source: text("rule")?.to_owned() };
    let mut nodes = vec![node(0, "input", Vec::new(), port("value", &input), Body::Input)];
    if let Some(between) = parts.get("between") {
        let guard = Guard { limit: 0, checks: vec![range(between)?] };
        nodes.push(node(1, "guard", port("input", &input), port("admitted", &input), Body::Guard(guard)));
    }
    nodes.push(node(2, "rule", port("in", &input), port("out", &output), rule));
    nodes.push(node(3, "output", port("value", &output), Vec::new(), Body::Output));
    let end = |node: &Node| End { node: node.id, port: 0 };
    let edges = nodes.windows(2).map(|pair| Edge { from: end(&pair[0]), to: end(&pair[1]) }).collect();
    let graph = Graph { name: "program".to_owned(), nodes, edges, regions: Vec::new() };
    let bytes = graph.to_bytes().map_err(|violations| format!("the program is not valid: {violations:?}"))?;
    Ok(STANDARD.encode(bytes).into())
}

/// A check for numbers from one to another.
fn range(between: &Value) -> Result<Check, String> {
    match between.as_list() {
        Some([min, max]) => Ok(Check::Range { path: String::new(), min: min.to_string(), max: max.to_string() }),
        _ => Err("`between` is a list of two numbers".to_owned()),
    }
}

fn repeated(parts: &Value) -> Result<Value, String> {
    let Some([text, times]) = parts.as_list() else { return Err("`$repeat` takes a text and a number".to_owned()) };
    let (text, times) = (text.as_text().ok_or("it repeats a text")?, times.as_u64().ok_or("it repeats so often")?);
    let times = usize::try_from(times).ok().filter(|times| times.saturating_mul(text.len()) <= LONGEST);
    Ok(text.repeat(times.ok_or("it is too long")?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Value, String> {
        expanded(&Value::parse(text).unwrap())
    }

    #[test]
    fn short_forms_stand_for_what_the_host_hands_over() {
        assert_eq!(of(r#"[{"$json": {"b": 1, "a": "x"}}]"#).unwrap().to_string(), r#"["{\"a\":\"x\",\"b\":1}"]"#);
        let seen = of(r#"{"$observations": [["b", 1, 2, 1], ["a"]]}"#).unwrap().to_string();
        assert_eq!(
            seen,
            r#"[{"errors":0,"input":"\"a\"","outputs":[]},{"errors":0,"input":"\"b\"","outputs":[{"count":2,"output":"1"},{"count":1,"output":"2"}]}]"#
        );
        assert_eq!(of(r#"{"$repeat": ["ab", 3]}"#).unwrap(), "ababab".into());
        let graph = of(r#"{"$program": {"input": "text", "rule": "upper($)", "output": "text"}}"#).unwrap();
        assert!(Graph::from_bytes(&STANDARD.decode(graph.as_text().unwrap()).unwrap()).is_ok());
        // More than one member: no short form.
        assert_eq!(of(r#"{"$json": 1, "a": 2}"#).unwrap().to_string(), r#"{"$json":1,"a":2}"#);
    }

    #[test]
    fn what_is_no_short_form_is_refused() {
        for text in [
            r#"{"$observations": 1}"#,
            r#"{"$observations": [[]]}"#,
            r#"{"$answered": [[1, 2]]}"#,
            r#"{"$program": {"input": "text", "output": "text"}}"#,
            r#"{"$program": {"input": "txt", "rule": "$", "output": "text"}}"#,
            r#"{"$repeat": ["a", 99999999]}"#,
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
