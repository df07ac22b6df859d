//! A plan as an IR graph. Every expression takes the whole environment, so the operations
//! before it are done before it, in the order of its ports.

use std::collections::BTreeSet;

use auto_json::Value;
use auto_schema::contract::Contract;
use auto_schema::ir::{Body as Kind, Bounds, Capability, Edge, Effects, End, Graph, Node, Port, Region, Uncertainty};
use auto_schema::types::{Field, Type};

use super::plan::{Action, Ask, Body, Plan, Step, Until};
use super::values::member;
use super::walk::unclassed;
use crate::bindings::auto::pass::types::Fault;
use crate::fault;

/// An expression that has no value.
const UNDEFINED: &str = "first([])";

/// Whether a caught reply is no error: `err` is there only in one.
const SUCCEEDS: &str = "default(not(type_is($.err, \"text\")), true)";

/// A caught reply as the environment has it, see `Done::reply`: its error without any class that
/// recorded errors had before their text.
fn caught(ask: &Ask) -> String {
    let errors = ask.seen.iter().filter_map(|seen| seen.reply.as_ref().err());
    let classes: BTreeSet<&str> = errors.filter_map(|text| Some(unclassed(text)?.0)).collect();
    let error = classes.into_iter().fold("default($.err, null)".to_owned(), |otherwise, class| {
        let head = Value::from(format!("{class}: "));
        let length = class.chars().count() + 2;
        format!("if(default(starts($.err, {head}), false), substr($.err, {length}), {otherwise})")
    });
    format!(
        "{{\"error\": {error}, \"failed\": type_is(default($.err, null), \"text\"), \"value\": default($.ok, null)}}"
    )
}

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
        let mut effects = Effects::default();
        match asks {
            Some(Capability::Memory(effect)) => effects.memory.push(effect),
            asks => effects.capabilities.extend(asks),
        }
        self.nodes.push(Node {
            id,
            name: name.to_owned(),
            inputs: from.iter().map(|(name, _, ty)| Port::new(*name, ty.clone())).collect(),
            outputs: gives.map(|ty| Port::new("value", ty)).into_iter().collect(),
            effects,
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

    /// What happens up to the answer.
    fn plan(&mut self, plan: &Plan, known: &[Known], answer: &Type) -> u32 {
        match plan {
            Plan::Answer(hole) => self.expression("answer", &hole.program, known, answer.clone()),
            // Where a way ends, nothing more is computed; a whole plan ends with an answer, or without one
            // as runs did.
            Plan::End | Plan::Abstain => self.expression("end", UNDEFINED, known, answer.clone()),
            Plan::Step(step) => {
                let known = self.known_after(step, known);
                self.plan(&step.then, &known, answer)
            }
            Plan::Choice { test, yes, no } => {
                let tested = self.expression(&test.place, &test.program, known, Type::Bool);
                let yes = self.plan(yes, known, answer);
                let no = self.plan(no, known, answer);
                self.branch(&test.place, tested, (yes, no), answer)
            }
        }
    }

    fn branch(&mut self, name: &str, tested: u32, (yes, no): (u32, u32), gives: &Type) -> u32 {
        let from = [("tested", tested, Type::Bool), ("yes", yes, gives.clone()), ("no", no, gives.clone())];
        self.add(name, &from, Some(gives.clone()), Kind::Branch { predicate: "$".to_owned() })
    }

    /// What is known where a way or a round ends.
    fn way(&mut self, plan: &Plan, known: &[Known]) -> Vec<Known> {
        let mut known = known.to_vec();
        let mut plan = plan;
        while let Plan::Step(step) = plan {
            known = self.known_after(step, &known);
            plan = &step.then;
        }
        known
    }

    fn known_after(&mut self, step: &Step, known: &[Known]) -> Vec<Known> {
        let added = self.step(step, known);
        [known, &added].concat()
    }

    /// What a step adds to what is known.
    fn step(&mut self, step: &Step, known: &[Known]) -> Vec<Known> {
        let first = self.nodes.len() as u32;
        let one = |(node, ty): (u32, Type)| {
            step.gives.iter().take(1).map(|name| Known { name: name.clone(), node, ty: ty.clone() }).collect()
        };
        let added: Vec<Known> = match &step.action {
            Action::Skip => return Vec::new(),
            Action::Compute(hole) => one((self.expression(&step.stage, &hole.program, known, Type::Json), Type::Json)),
            Action::Decide { given, test } => {
                let name = format!("what {} is given", step.stage);
                let given = self.expression(&name, &given.program, known, Type::Json);
                let source = Kind::Expression { source: test.program.clone() };
                one((self.add(&step.stage, &[("given", given, Type::Json)], Some(Type::Json), source), Type::Json))
            }
            Action::Ask(ask) => one(self.settled(&step.stage, ask, &ports(known))),
            Action::Either { test, yes, no } => self.either(step, &test.program, (yes, no), known),
            Action::Each { list, item, context, body, most } => {
                self.each(step, (list, item), *context, body, *most, known)
            }
            Action::Retry { body, until, most } => self.retry(step, body, until, *most, known),
        };
        let last = self.nodes.len() as u32 - 1;
        self.region(&step.stage, first..=last);
        added
    }

    /// Two ways that come together: each value is that of the way that was taken.
    fn either(&mut self, step: &Step, test: &str, (yes, no): (&Plan, &Plan), known: &[Known]) -> Vec<Known> {
        let tested = self.expression(&step.stage, test, known, Type::Bool);
        let (yes, no) = (self.way(yes, known), self.way(no, known));
        let mut gives = Vec::new();
        for name in &step.gives {
            let mut side = |way: &[Known]| {
                let given = way.iter().skip(known.len()).find(|given| given.name == *name);
                self.any(name, given, tested)
            };
            let sides = (side(&yes), side(&no));
            let node = self.branch(name, tested, sides, &Type::Json);
            gives.push(Known { name: name.clone(), node, ty: Type::Json });
        }
        gives
    }

    /// A value as one of any type; null where there is none.
    fn any(&mut self, name: &str, given: Option<&Known>, tested: u32) -> u32 {
        match given {
            Some(Known { node, ty: Type::Json, .. }) => *node,
            Some(Known { node, ty, .. }) => {
                let same = Kind::Expression { source: "$".to_owned() };
                self.add(name, &[("value", *node, ty.clone())], Some(Type::Json), same)
            }
            None => {
                let nothing = Kind::Expression { source: "null".to_owned() };
                self.add(name, &[("tested", tested, Type::Bool)], Some(Type::Json), nothing)
            }
        }
    }

    fn region(&mut self, stage: &str, nodes: std::ops::RangeInclusive<u32>) {
        let taken = |name: &str| self.regions.iter().any(|region| region.name == name);
        let numbered = (2..).map(|number| format!("{stage} {number}"));
        let name = std::iter::once(stage.to_owned()).chain(numbered).find(|name| !taken(name));
        self.regions.extend(name.map(|name| Region { name, nodes: nodes.collect() }));
    }

    /// What it is asked with, the request, and what is let through of what comes back.
    fn ask(&mut self, stage: &str, ask: &Ask, from: &[(&str, u32, Type)]) -> (u32, Type) {
        let source = Kind::Expression { source: ask.input.program.clone() };
        let input = self.add(&format!("what {stage} is given"), from, Some(Type::Json), source);
        let reply = reply(ask);
        let body = Kind::Effect { capability: ask.capability.clone(), catches: ask.catches };
        let mut node = self.add(stage, &[("input", input, Type::Json)], Some(reply.clone()), body);
        for guard in &ask.guards {
            let (name, from) = (format!("what comes back of {stage}"), [("reply", node, reply.clone())]);
            node = self.add(&name, &from, Some(reply.clone()), Kind::Guard(guard.clone()));
        }
        if let Some(always) = &ask.always {
            let from = ("reply", node, reply.clone());
            let undefined = Kind::Expression { source: UNDEFINED.to_owned() };
            let never = self.add(&format!("what never came back of {stage}"), &[from], Some(reply.clone()), undefined);
            let name = format!("what always came back of {stage}");
            let from = [("tested", node, reply.clone()), ("yes", node, reply.clone()), ("no", never, reply.clone())];
            node = self.add(&name, &from, Some(reply.clone()), Kind::Branch { predicate: always.clone() });
        }
        (node, reply)
    }

    /// As [`Nodes::ask`]; a caught reply says in fields that are always there what it is.
    fn settled(&mut self, stage: &str, ask: &Ask, from: &[(&str, u32, Type)]) -> (u32, Type) {
        let (reply, ty) = self.ask(stage, ask, from);
        if !ask.catches {
            return (reply, ty);
        }
        let body = Kind::Expression { source: caught(ask) };
        (self.add(&format!("how {stage} ended"), &[("reply", reply, ty)], Some(Type::Json), body), Type::Json)
    }

    fn each(
        &mut self,
        step: &Step,
        (list, item): (&str, &str),
        context: bool,
        body: &Body,
        most: u32,
        known: &[Known],
    ) -> Vec<Known> {
        let list = self.expression(&format!("the list of {}", step.stage), list, known, Type::Json);
        let mut from = vec![(item, list, Type::Json)];
        from.extend(ports(known).into_iter().filter(|_| context));
        let (graph, gives) = inside(step, &from, body);
        let gives = Type::list(gives);
        let body = Kind::Each { graph: Box::new(graph), most };
        let node = self.add(&step.stage, &from, Some(gives.clone()), body);
        self.columns(step, node, gives, |field| format!("map($, round => round{field})"))
    }

    fn retry(&mut self, step: &Step, body: &Body, until: &Until, most: u32, known: &[Known]) -> Vec<Known> {
        let from = ports(known);
        let (graph, gives) = inside(step, &from, body);
        let holds = match until {
            Until::Succeeds => SUCCEEDS.to_owned(),
            Until::Says(test) => test.clone(),
            Until::Holds(hole) => hole.program.clone(),
        };
        let body = Kind::Retry { graph: Box::new(graph), until: holds, most };
        let tried = self.add(&step.stage, &from, Some(gives.clone()), body);
        match until {
            Until::Holds(_) | Until::Says(_) => self.columns(step, tried, gives, |field| format!("${field}")),
            Until::Succeeds => {
                let body = Kind::Expression { source: "$.ok".to_owned() };
                let node = self.add(&step.stage, &[("reply", tried, gives)], Some(Type::Json), body);
                step.gives.iter().take(1).map(|name| Known { name: name.clone(), node, ty: Type::Json }).collect()
            }
        }
    }

    /// What a loop gave, by operation: itself where there is one, else a field of its rounds.
    fn columns(&mut self, step: &Step, node: u32, ty: Type, field: impl Fn(&str) -> String) -> Vec<Known> {
        if let [name] = &step.gives[..] {
            return vec![Known { name: name.clone(), node, ty }];
        }
        let column = |name: &String| {
            let source = Kind::Expression { source: field(&member(name)) };
            let column = self.add(name, &[("rounds", node, ty.clone())], Some(Type::Json), source);
            Known { name: name.clone(), node: column, ty: Type::Json }
        };
        step.gives.iter().map(column).collect()
    }

    /// What one round gives: a value, or a record of what its operations give.
    fn round(&mut self, step: &Step, body: &Body, input: Known, from: &[(&str, u32, Type)]) -> (u32, Type) {
        let (input, taken) = (input.node, &input.ty);
        let whole = [("input", input, taken.clone())];
        match body {
            Body::Compute(hole) => {
                let body = Kind::Expression { source: hole.program.clone() };
                (self.add(&step.stage, &whole, Some(Type::Json), body), Type::Json)
            }
            Body::Ask(ask) if matches!(step.action, Action::Retry { .. }) => self.ask(&step.stage, ask, &whole),
            Body::Ask(ask) => self.settled(&step.stage, ask, &whole),
            Body::Several(plan) => {
                let known = self.unpacked(input, taken, from);
                let gives = self.way(plan, &known).split_off(known.len());
                if let [one] = &gives[..] {
                    return (one.node, one.ty.clone());
                }
                (self.expression(&step.stage, "$", &gives, Type::Json), Type::Json)
            }
        }
    }

    /// What the node of a loop takes, inside its graph, each value by its name.
    fn unpacked(&mut self, input: u32, taken: &Type, from: &[(&str, u32, Type)]) -> Vec<Known> {
        let (Type::Record(fields), [_, _, ..]) = (taken, from) else {
            return from.iter().take(1).map(|(name, _, ty)| known(name, input, ty)).collect();
        };
        let field = |(name, _, _): &(&str, u32, Type)| {
            let ty = fields.iter().find(|field| field.name == *name).map_or(Type::Json, |field| field.ty.clone());
            let source = Kind::Expression { source: format!("${}", member(name)) };
            let node = self.add(name, &[("input", input, taken.clone())], Some(ty.clone()), source);
            known(name, node, &ty)
        };
        from.iter().map(field).collect()
    }
}

fn known(name: &str, node: u32, ty: &Type) -> Known {
    Known { name: name.to_owned(), node, ty: ty.clone() }
}

/// The graph of a loop whose node takes these ports; `first` is its list where it has one.
fn inside(step: &Step, from: &[(&str, u32, Type)], body: &Body) -> (Graph, Type) {
    let taken = match from {
        [(_, _, ty)] => ty.clone(),
        ports => {
            let fields = ports.iter().map(|(name, _, ty)| Field::new(*name, ty.clone()));
            Type::Record(fields.collect()).canonical()
        }
    };
    let mut nodes = Nodes::default();
    let input = nodes.add("input", &[], Some(taken.clone()), Kind::Input);
    let (answer, gives) = nodes.round(step, body, known("input", input, &taken), from);
    nodes.add("output", &[("answer", answer, gives.clone())], None, Kind::Output);
    (nodes.graph(&step.stage), gives)
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
