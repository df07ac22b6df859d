//! A table of what was recorded, as a program: for contracts that ask for no rule.

use auto_json::{Canonical, Value};
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::Type;

use crate::bindings::auto::pass::types::Observation;

/// What a table is said to cost: more than any rule.
pub const COST: u32 = u32::MAX;

/// The expression that gives for each observed input its output and is undefined on every
/// other; none where a text is no JSON.
pub fn source(known: &[Observation]) -> Option<String> {
    let rows = known.iter().map(|one| {
        let (input, output) = (Canonical::of(&one.input).ok()?, Canonical::of(&one.outputs.first()?.output).ok()?);
        Some(format!("{{\"i\": {}, \"o\": {}}}", literal(&input.value()), literal(&output.value())))
    });
    let rows = rows.collect::<Option<Vec<_>>>()?.join(", ");
    Some(format!("first(filter([{rows}], row => eq(row.i, $))).o"))
}

/// [`source`] as a program, in canonical bytes.
pub fn program(known: &[Observation], input: &Type, output: &Type) -> Option<(Vec<u8>, String)> {
    let source = source(known)?;
    Some((graph(&source, input, output).to_bytes().ok()?, source))
}

/// The expression that always gives a value: its text, spaced as the language writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Record(record) => {
            let members = record.iter().map(|(key, value)| format!("{}: {}", Value::from(key), literal(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn graph(source: &str, input: &Type, output: &Type) -> Graph {
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
    let edge = |from: u32, to: u32| Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } };
    Graph {
        name: "table".to_owned(),
        nodes: vec![
            node(0, "input", Vec::new(), port("value", input), Body::Input),
            node(1, "table", port("in", input), port("out", output), Body::Expression { source: source.to_owned() }),
            node(2, "output", port("value", output), Vec::new(), Body::Output),
        ],
        edges: vec![edge(0, 1), edge(1, 2)],
        regions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::auto::pass::types::Witness;

    #[test]
    fn a_table_has_a_row_for_each_observation() {
        let one = |input: &str, output: &str| Observation {
            input: input.to_owned(),
            outputs: vec![Witness { output: output.to_owned(), count: 2 }],
            errors: 0,
        };
        let known = [one(r#"{"a":1}"#, r#"["x"]"#), one("\"b\"", "null")];
        let (bytes, source) = program(&known, &Type::Json, &Type::Json).unwrap();
        assert_eq!(
            source,
            r#"first(filter([{"i": {"a": 1}, "o": ["x"]}, {"i": "b", "o": null}], row => eq(row.i, $))).o"#
        );
        assert!(Graph::from_bytes(&bytes).is_ok());
        assert!(program(&[one("{", "1")], &Type::Json, &Type::Json).is_none());
    }
}
