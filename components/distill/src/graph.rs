//! A trained model as a program.

use auto_json::Value;
use auto_kit::Fault;
use auto_schema::ir::model::{LINEAR, Linear, output};
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, PPM, Port, Uncertainty};
use auto_schema::types::Type;

use crate::Trained;
use crate::features::Features;

/// What gives a field of the output, or all of it.
pub(crate) enum Part {
    Constant(Value),
    Model(Box<Linear>),
}

/// The two graphs of a model whose parts are the fields of the output, or one part without a
/// name for all of it.
pub(crate) fn trained(
    features: &Features,
    input: &Type,
    answer: &Type,
    parts: Vec<(String, Part)>,
    notes: Vec<String>,
) -> Result<Trained, Fault> {
    let mut builder = Builder::default();
    let texts = Type::list(Type::Text);
    let source = builder.node("input", &[], Some(("value", input.clone())), Body::Input);
    let expression = Body::Expression { source: features.expression() };
    let read = builder.node("texts", &[(source, "input", input.clone())], Some(("texts", texts.clone())), expression);
    let models = parts.iter().filter(|(_, part)| matches!(part, Part::Model(_))).count();
    let mut given = Vec::new();
    let mut fields = Vec::new();
    for (name, part) in parts {
        match part {
            Part::Constant(value) => fields.push((name, value.to_string())),
            Part::Model(model) => {
                let port = format!("m{}", given.len());
                let ty = output(if name.is_empty() { answer.clone() } else { field(answer, &name) });
                let body = Body::Model { format: LINEAR.to_owned(), weights: model.to_bytes() };
                let label = if name.is_empty() { "model".to_owned() } else { format!("model of {name}") };
                let node = builder.node(&label, &[(read, "texts", texts.clone())], Some(("said", ty.clone())), body);
                given.push((node, port.clone(), ty));
                fields.push((name, if models > 1 { format!("$.{port}.value") } else { "$.value".to_owned() }));
            }
        }
    }
    let said = joined(&mut builder, &given, &fields, answer);
    let ty = output(answer.clone());
    let scoring = builder.clone().finish("what a model makes of its answer", said, &ty)?;
    let check = |path: &str| Check::Score { path: path.to_owned(), scale: u64::from(PPM) };
    let guard = Guard { limit: PPM, checks: vec![check("/doubt"), check("/unsure")] };
    let sure =
        builder.node("sure enough", &[(said, "said", ty.clone())], Some(("admitted", ty.clone())), Body::Guard(guard));
    let value = Body::Expression { source: "$.value".to_owned() };
    let value = builder.node("answer", &[(sure, "said", ty)], Some(("value", answer.clone())), value);
    let program = builder.finish("model", value, answer)?;
    let text = format!("linear model over n-grams, {} in all", count(models, "part"));
    Ok(Trained { program, scoring, text, notes })
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The node whose output is `{"doubt", "unsure", "value"}` for the whole output: that of the
/// one model, or the worst of several.
fn joined(builder: &mut Builder, given: &[(u32, String, Type)], fields: &[(String, String)], answer: &Type) -> u32 {
    if let ([(node, _, _)], [(name, _)]) = (given, fields)
        && name.is_empty()
    {
        return *node;
    }
    let worst = |what: &str| match given {
        [_] => format!("$.{what}"),
        _ => {
            let all: Vec<String> = given.iter().map(|(_, port, _)| format!("$.{port}.{what}")).collect();
            format!("max([{}])", all.join(", "))
        }
    };
    let members: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}: {value}", Value::from(name.as_str()))).collect();
    let source = format!(
        r#"{{"doubt": {}, "unsure": {}, "value": {{{}}}}}"#,
        worst("doubt"),
        worst("unsure"),
        members.join(", ")
    );
    let inputs: Vec<(u32, &str, Type)> =
        given.iter().map(|(node, port, ty)| (*node, port.as_str(), ty.clone())).collect();
    builder.node("all parts", &inputs, Some(("said", output(answer.clone()))), Body::Expression { source })
}

fn field(record: &Type, name: &str) -> Type {
    let Type::Record(fields) = record else { return Type::Json };
    fields.iter().find(|field| field.name == name).map_or(Type::Json, |field| field.ty.clone())
}

/// A graph under construction; ids are positions.
#[derive(Clone, Default)]
struct Builder {
    graph: Graph,
}

impl Builder {
    /// Adds a node that takes the first outputs of others.
    fn node(&mut self, name: &str, inputs: &[(u32, &str, Type)], output: Option<(&str, Type)>, body: Body) -> u32 {
        let id = self.graph.nodes.len() as u32;
        for (port, (from, _, _)) in (0..).zip(inputs) {
            self.graph.edges.push(Edge { from: End { node: *from, port: 0 }, to: End { node: id, port } });
        }
        let uncertainty = match body {
            Body::Model { .. } => Uncertainty::Probabilistic,
            _ => Uncertainty::Deterministic,
        };
        self.graph.nodes.push(Node {
            id,
            name: name.to_owned(),
            inputs: inputs.iter().map(|(_, name, ty)| Port::new(*name, ty.clone())).collect(),
            outputs: output.into_iter().map(|(name, ty)| Port::new(name, ty)).collect(),
            effects: Effects::default(),
            uncertainty,
            bounds: Bounds::default(),
            body,
        });
        id
    }

    /// The bytes of the graph that answers with a node's output.
    fn finish(mut self, name: &str, answer: u32, ty: &Type) -> Result<Vec<u8>, Fault> {
        self.graph.name = name.to_owned();
        self.node("output", &[(answer, "answer", ty.clone())], None, Body::Output);
        self.graph.to_bytes().map_err(|violations| {
            let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Fault::new("bad-type", format!("the model does not fit the types: {}", all.join("; ")))
        })
    }
}
