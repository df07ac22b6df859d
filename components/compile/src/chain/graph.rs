//! A plan as an IR graph. Every expression takes the whole environment, so the operations
//! before it are done before it, in the order of its ports.

use auto_schema::contract::Contract;
use auto_schema::ir::{Body as Kind, Bounds, Capability, Edge, Effects, End, Graph, Node, Port, Region, Uncertainty};
use auto_schema::types::{Field, Type};

use super::plan::{Action, Ask, Body, Plan, Step, Until};
use crate::bindings::auto::pass::types::Fault;
use crate::fault;

/// Whether a caught reply is no error: `err` is there only in one.
const SUCCEEDS: &str = "default(not(type_is($.err, \"text\")), true)";

/// A caught reply as the environment has it, see `Done::reply`.
const CAUGHT: &str = "{\"error\": default($.err, null), \"failed\": type_is(default($.err, null), \"text\"), \
                      \"value\": default($.ok, null)}";

/// A value that is known, by its name.
#[derive(Clone)]
struct Known {
    name: String,
    node: u32,
    ty: Type,
}

/// The plan's graph in canonical bytes.
pub fn program(plan: &Plan, contract: &Contract) -> Result<Vec<u8>, Fault> {
    let mut nodes = Nodes::default();
    let input = nodes.add("input", &[], Some(contract.input.clone()), Kind::Input);
    let known = vec![Known { name: "input".to_owned(), node: input, ty: contract.input.clone() }];
    let answer = nodes.plan(plan, &known, &contract.output);
    nodes.add("output", &[("answer", answer, contract.output.clone())], None, Kind::Output);
    let graph = nodes.graph("chain").canonical();
    graph.to_bytes().map_err(|violations| {
        let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
        fault("bad-graph", format!("the chain is no sound program: {}", all.join("; ")))
    })
}

/// A graph that grows.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    regions: Vec<Region>,
}

impl Nodes {
    /// Adds a node that takes from others; gives its id.
    fn add(&mut self, name: &str, from: &[(&str, u32, Type)], gives: Option<Type>, body: Kind) -> u32 {
        let id = self.nodes.len() as u32;
        for (port, (_, node, _)) in (0u32..).zip(from) {
            self.edges.push(Edge { from: End { node: *node, port: 0 }, to: End { node: id, port } });
        }
        let asks = match &body {
            Kind::Effect { capability, .. } => Capability::parse(capability),
            _ => None,
        };
        let generative = matches!(asks, Some(Capability::Model(_)));
        self.nodes.push(Node {
            id,
            name: name.to_owned(),
            inputs: from.iter().map(|(name, _, ty)| Port::new(*name, ty.clone())).collect(),
            outputs: gives.map(|ty| Port::new("value", ty)).into_iter().collect(),
            effects: Effects { capabilities: asks.into_iter().collect(), memory: Vec::new() },
            uncertainty: if generative { Uncertainty::Generative } else { Uncertainty::Deterministic },
            bounds: Bounds::default(),
            body,
        });
        id
    }

    fn graph(self, name: &str) -> Graph {
        Graph { name: name.to_owned(), nodes: self.nodes, edges: self.edges, regions: self.regions }
    }

    /// An expression over everything that is known.
    fn expression(&mut self, name: &str, source: &str, known: &[Known], gives: Type) -> u32 {
        let body = Kind::Expression { source: source.to_owned() };
        self.add(name, &ports(known), Some(gives), body)
    }

    fn plan(&mut self, plan: &Plan, known: &[Known], answer: &Type) -> u32 {
        match plan {
            Plan::Answer(hole) => self.expression("answer", &hole.program, known, answer.clone()),
            Plan::Step(step) => {
                let mut known = known.to_vec();
                known.extend(self.step(step, &known));
                self.plan(&step.then, &known, answer)
            }
            Plan::Choice { test, yes, no } => {
                let tested = self.expression(&test.place, &test.program, known, Type::Bool);
                let yes = self.plan(yes, known, answer);
                let no = self.plan(no, known, answer);
                let from = [("tested", tested, Type::Bool), ("yes", yes, answer.clone()), ("no", no, answer.clone())];
                let body = Kind::Branch { predicate: "$".to_owned() };
                self.add(&test.place, &from, Some(answer.clone()), body)
            }
        }
    }

    /// What a step adds to what is known.
    fn step(&mut self, step: &Step, known: &[Known]) -> Option<Known> {
        let first = self.nodes.len() as u32;
        let (node, ty) = match &step.action {
            Action::Skip => return None,
            Action::Compute(hole) => (self.expression(&step.stage, &hole.program, known, Type::Json), Type::Json),
            Action::Ask(ask) => self.settled(&step.stage, ask, &ports(known)),
            Action::Each { list, context, body, most } => self.each(step, list, *context, body, *most, known),
            Action::Retry { ask, until, most } => self.retry(step, ask, until, *most, known),
        };
        self.region(&step.stage, first..=node);
        Some(Known { name: step.name.clone(), node, ty })
    }

    fn region(&mut self, stage: &str, nodes: std::ops::RangeInclusive<u32>) {
        let taken = |name: &str| self.regions.iter().any(|region| region.name == name);
        let numbered = (2..).map(|number| format!("{stage} {number}"));
        let name = std::iter::once(stage.to_owned()).chain(numbered).find(|name| !taken(name));
        self.regions.extend(name.map(|name| Region { name, nodes: nodes.collect() }));
    }

    /// What it is asked with, and the request.
    fn ask(&mut self, stage: &str, ask: &Ask, from: &[(&str, u32, Type)]) -> (u32, Type) {
        let source = Kind::Expression { source: ask.input.program.clone() };
        let input = self.add(&format!("what {stage} is given"), from, Some(Type::Json), source);
        let reply = reply(ask);
        let body = Kind::Effect { capability: ask.capability.clone(), catches: ask.catches };
        (self.add(stage, &[("input", input, Type::Json)], Some(reply.clone()), body), reply)
    }

    /// As [`Nodes::ask`]; a caught reply says in fields that are always there what it is.
    fn settled(&mut self, stage: &str, ask: &Ask, from: &[(&str, u32, Type)]) -> (u32, Type) {
        let (reply, ty) = self.ask(stage, ask, from);
        if !ask.catches {
            return (reply, ty);
        }
        let body = Kind::Expression { source: CAUGHT.to_owned() };
        (self.add(&format!("how {stage} ended"), &[("reply", reply, ty)], Some(Type::Json), body), Type::Json)
    }

    fn each(&mut self, step: &Step, list: &str, context: bool, body: &Body, most: u32, known: &[Known]) -> (u32, Type) {
        let list = self.expression(&format!("the list of {}", step.stage), list, known, Type::Json);
        let mut from = vec![("item", list, Type::Json)];
        from.extend(ports(known).into_iter().filter(|_| context));
        let (graph, gives) = inside(&step.stage, &from, |nodes, input| match body {
            Body::Compute(hole) => {
                let body = Kind::Expression { source: hole.program.clone() };
                (nodes.add(&step.stage, &[input], Some(Type::Json), body), Type::Json)
            }
            Body::Ask(ask) => nodes.settled(&step.stage, ask, &[input]),
        });
        let gives = Type::list(gives);
        let body = Kind::Each { graph: Box::new(graph), most };
        (self.add(&step.stage, &from, Some(gives.clone()), body), gives)
    }

    fn retry(&mut self, step: &Step, ask: &Ask, until: &Until, most: u32, known: &[Known]) -> (u32, Type) {
        let from = ports(known);
        let (graph, gives) = inside(&step.stage, &from, |nodes, input| nodes.ask(&step.stage, ask, &[input]));
        let holds = match until {
            Until::Succeeds => SUCCEEDS.to_owned(),
            Until::Says(test) => test.clone(),
            Until::Holds(hole) => hole.program.clone(),
        };
        let body = Kind::Retry { graph: Box::new(graph), until: holds, most };
        let tried = self.add(&step.stage, &from, Some(gives.clone()), body);
        match until {
            Until::Holds(_) | Until::Says(_) => (tried, gives),
            Until::Succeeds => {
                let body = Kind::Expression { source: "$.ok".to_owned() };
                let unwrapped = self.add(&step.stage, &[("reply", tried, gives)], Some(Type::Json), body);
                (unwrapped, Type::Json)
            }
        }
    }
}

/// The graph of a loop whose node takes these ports; `first` is its list where it has one.
fn inside(
    stage: &str,
    from: &[(&str, u32, Type)],
    write: impl FnOnce(&mut Nodes, (&'static str, u32, Type)) -> (u32, Type),
) -> (Graph, Type) {
    let taken = match from {
        [(_, _, ty)] => ty.clone(),
        ports => {
            let fields = ports.iter().map(|(name, _, ty)| Field::new(*name, ty.clone()));
            Type::Record(fields.collect()).canonical()
        }
    };
    let mut nodes = Nodes::default();
    let input = nodes.add("input", &[], Some(taken.clone()), Kind::Input);
    let (answer, gives) = write(&mut nodes, ("input", input, taken));
    nodes.add("output", &[("answer", answer, gives.clone())], None, Kind::Output);
    (nodes.graph(stage), gives)
}

fn ports(known: &[Known]) -> Vec<(&str, u32, Type)> {
    known.iter().map(|known| (known.name.as_str(), known.node, known.ty.clone())).collect()
}

/// What a request gives: a reply, or a reply or an error.
fn reply(ask: &Ask) -> Type {
    if !ask.catches {
        return ask.reply.clone();
    }
    let field = |name: &str, ty: Type| Field { name: name.to_owned(), optional: true, ty };
    Type::Record(vec![field("ok", ask.reply.clone()), field("err", Type::Text)]).canonical()
}
