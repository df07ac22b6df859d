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
    /// An expression over the input.
    Rule(String),
    Model(Box<Linear>),
    Trees(Box<Decision>),
}

/// Trees, with what is made of their scores.
pub(crate) struct Decision {
    /// An expression over the input that gives a list: the score of each class.
    pub(crate) scores: String,
    pub(crate) classes: Vec<Value>,
    /// A lead from which on there is nothing unsure.
    pub(crate) lead: i32,
    /// What doubts the texts of the input, where it has any.
    pub(crate) doubt: Option<Linear>,
    /// In a line.
    pub(crate) text: String,
}

impl Decision {
    /// An expression over the scores that gives `{"doubt", "unsure", "value"}`.
    fn said(&self) -> String {
        let classes: Vec<String> = self.classes.iter().map(Value::to_string).collect();
        let lead = self.lead.max(1);
        let short = format!("sub({lead}, min([{lead}, sub(max($), nth(sort($), -2))]))");
        format!(
            r#"{{"doubt": 0, "unsure": div(mul({short}, {PPM}), {lead}), "value": nth([{}], index_of($, max($)))}}"#,
            classes.join(", ")
        )
    }
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
    let reads = parts.iter().any(|(_, part)| part.reads_texts());
    let inputs = [(source, "input", input.clone())];
    let read = if reads { builder.node("texts", &inputs, Some(("texts", texts.clone())), expression) } else { source };
    let shown: Vec<String> = parts.iter().filter_map(|(name, part)| part.text(name)).collect();
    let given = parts.iter().filter(|(_, part)| !matches!(part, Part::Constant(_))).count();
    let mut joint = Joint { alone: given == 1, ..Joint::default() };
    for (name, part) in parts {
        match part {
            Part::Constant(value) => joint.fields.push((name, value.to_string())),
            Part::Rule(rule) => {
                let ty = field(answer, &name);
                let label = format!("rule of {name}");
                let body = Body::Expression { source: rule };
                let inputs = [(source, "input", input.clone())];
                let node = builder.node(&label, &inputs, Some(("value", ty.clone())), body);
                joint.add(name, Given { node, ty, is_model: false });
            }
            Part::Trees(decision) => {
                let ty = output(if name.is_empty() { answer.clone() } else { field(answer, &name) });
                let node = builder.decision(*decision, &name, (source, input), (read, &texts), &ty);
                joint.add(name, Given { node, ty, is_model: true });
            }
            Part::Model(model) => {
                let ty = output(if name.is_empty() { answer.clone() } else { field(answer, &name) });
                let body = Body::Model { format: LINEAR.to_owned(), weights: model.to_bytes() };
                let label = if name.is_empty() { "model".to_owned() } else { format!("model of {name}") };
                let node = builder.node(&label, &[(read, "texts", texts.clone())], Some(("said", ty.clone())), body);
                joint.add(name, Given { node, ty, is_model: true });
            }
        }
    }
    let said = joint.node(&mut builder, answer);
    let ty = output(answer.clone());
    let scoring = builder.clone().finish("what a model makes of its answer", said, &ty)?;
    let check = |path: &str| Check::Score { path: path.to_owned(), scale: u64::from(PPM) };
    let guard = Guard { limit: PPM, checks: vec![check("/doubt"), check("/unsure")] };
    let sure =
        builder.node("sure enough", &[(said, "said", ty.clone())], Some(("admitted", ty.clone())), Body::Guard(guard));
    let value = Body::Expression { source: "$.value".to_owned() };
    let value = builder.node("answer", &[(sure, "said", ty)], Some(("value", answer.clone())), value);
    let program = builder.finish("model", value, answer)?;
    Ok(Trained { program, scoring, text: shown.join("; "), notes })
}

impl Part {
    /// Whether it looks at the texts of the input.
    fn reads_texts(&self) -> bool {
        match self {
            Part::Constant(_) | Part::Rule(_) => false,
            Part::Model(_) => true,
            Part::Trees(decision) => decision.doubt.is_some(),
        }
    }

    /// What it is, in a line; nothing of what is no model.
    fn text(&self, name: &str) -> Option<String> {
        let what = match self {
            Part::Constant(_) | Part::Rule(_) => return None,
            Part::Model(model) => format!("linear model over n-grams for {} classes", model.classes.len()),
            Part::Trees(decision) => decision.text.clone(),
        };
        Some(if name.is_empty() { what } else { format!("{name}: {what}") })
    }
}

/// A node that gives a part.
struct Given {
    node: u32,
    ty: Type,
    /// Whether it also says how sure it is.
    is_model: bool,
}

/// The parts of an output, to be put together.
#[derive(Default)]
struct Joint {
    given: Vec<Given>,
    /// Whether there will be one of them: it alone is the whole of `$`.
    alone: bool,
    /// Each field with the port that gives it, or an expression that does.
    fields: Vec<(String, String)>,
}

impl Joint {
    fn add(&mut self, name: String, given: Given) {
        let value = if given.is_model { ".value" } else { "" };
        self.fields.push((name, format!("{}{value}", self.port(self.given.len()))));
        self.given.push(given);
    }

    /// What stands for a port in an expression over all of them.
    fn port(&self, index: usize) -> String {
        if self.alone { "$".to_owned() } else { format!("$.{}", name_of_port(index)) }
    }

    /// The node whose output is `{"doubt", "unsure", "value"}` for the whole output: that of the
    /// one model, or the worst of several.
    fn node(self, builder: &mut Builder, answer: &Type) -> u32 {
        if let ([given], [(name, _)]) = (self.given.as_slice(), self.fields.as_slice())
            && name.is_empty()
        {
            return given.node;
        }
        let models: Vec<usize> = (0..self.given.len()).filter(|index| self.given[*index].is_model).collect();
        let worst = |what: &str| {
            let all: Vec<String> = models.iter().map(|index| format!("{}.{what}", self.port(*index))).collect();
            match all.as_slice() {
                [] => "0".to_owned(),
                [only] => only.clone(),
                _ => format!("max([{}])", all.join(", ")),
            }
        };
        let member = |(name, value): &(String, String)| format!("{}: {value}", Value::from(name.as_str()));
        let members: Vec<String> = self.fields.iter().map(member).collect();
        let (doubt, unsure) = (worst("doubt"), worst("unsure"));
        let source = format!(r#"{{"doubt": {doubt}, "unsure": {unsure}, "value": {{{}}}}}"#, members.join(", "));
        let names: Vec<String> = (0..self.given.len()).map(name_of_port).collect();
        let ends = self.given.iter().zip(&names).map(|(given, name)| (given.node, name.as_str(), given.ty.clone()));
        let ends: Vec<(u32, &str, Type)> = ends.collect();
        builder.node("all parts", &ends, Some(("said", output(answer.clone()))), Body::Expression { source })
    }
}

fn name_of_port(index: usize) -> String {
    format!("p{index}")
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

    /// The nodes of a decision by trees; gives the last of them.
    fn decision(
        &mut self,
        decision: Decision,
        name: &str,
        (source, input): (u32, &Type),
        (read, texts): (u32, &Type),
        ty: &Type,
    ) -> u32 {
        let label = |what: &str| if name.is_empty() { what.to_owned() } else { format!("{what} of {name}") };
        let scores = Type::list(Type::Int);
        let body = Body::Expression { source: decision.scores.clone() };
        let inputs = [(source, "input", input.clone())];
        let node = self.node(&label("trees"), &inputs, Some(("scores", scores.clone())), body);
        let body = Body::Expression { source: decision.said() };
        let said = self.node(&label("decision"), &[(node, "scores", scores)], Some(("said", ty.clone())), body);
        let Some(doubt) = decision.doubt else { return said };
        let body = Body::Model { format: LINEAR.to_owned(), weights: doubt.to_bytes() };
        let doubted = output(Type::infer(doubt.classes.iter()));
        let model = [(read, "texts", texts.clone())];
        let model = self.node(&label("model"), &model, Some(("said", doubted.clone())), body);
        let source = r#"{"doubt": $.model.doubt, "unsure": $.trees.unsure, "value": $.trees.value}"#.to_owned();
        let both = [(model, "model", doubted), (said, "trees", ty.clone())];
        self.node(&label("doubted"), &both, Some(("said", ty.clone())), Body::Expression { source })
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
