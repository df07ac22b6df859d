//! The rules of a graph. Every broken one is reported, not the first only, so that the
//! author of a pass mends them in one go.
//!
//! | code | rule |
//! |---|---|
//! | `duplicate-node` | node ids are unique |
//! | `no-input`, `several-inputs`, `no-output`, `several-outputs` | one input node, one output node |
//! | `port-count` | a node has the ports its kind has |
//! | `port-name` | port names are there and unique on their side |
//! | `port-type` | types keep their own rules; a guard gives what it takes, a branch what its sides give, a loop takes and gives what its graph does |
//! | `unknown-node`, `unknown-port` | edges and regions point at what exists |
//! | `duplicate-edge` | no edge is there twice |
//! | `undriven`, `driven-twice` | one edge into every input port |
//! | `type-mismatch` | both ends of an edge have the same type |
//! | `cycle` | no node depends on itself |
//! | `unused` | every node leads to the output |
//! | `effects` | only effect and module nodes have effects; none is listed twice |
//! | `capability` | capabilities have a name; an effect node declares the one it asks for; memory is declared as memory effects |
//! | `uncertainty` | a model is not deterministic; what computes or passes on is, loops aside |
//! | `body` | no empty text, no weights without a format; weights of a known format make sense |
//! | `nesting` | loops nest no deeper than [`MAX_NESTING`] |
//! | `rounds` | a loop is bound to 1 to [`MAX_ROUNDS`] rounds |
//! | `guard` | limits, paths, ranges and tables of a guard's checks make sense |
//! | `region` | regions have a unique name and some nodes, none twice |
//! | `too-large` | no more than [`MAX_CONTENT`] bytes of content |

mod checks;
mod links;

use core::fmt;
use std::collections::BTreeMap;

use auto_json::Value;

use super::model::{self, Linear};
use super::{
    Body, Capability, Check, Edge, Graph, MAX_CONTENT, MAX_NESTING, MAX_ROUNDS, Node, Port, Region, Uncertainty,
};
use crate::types::{Field, Type};
use crate::violation::{Quoted, Violation, Violations, brief};

impl Graph {
    /// Everything that is wrong with the graph, in the order of its parts. Order of nodes,
    /// edges, regions and effects does not matter.
    pub fn validate(&self) -> Result<(), Vec<Violation>> {
        self.clone().canonical().check()
    }

    /// [`Graph::validate`] of a graph whose types are in canonical form.
    pub(super) fn check(&self) -> Result<(), Vec<Violation>> {
        let mut wrong = Violations::default();
        rules(self, MAX_NESTING, &mut wrong);
        content(self, &mut wrong);
        wrong.into_result()
    }
}

/// The rules of a graph in which loops may nest so deep.
fn rules(graph: &Graph, nesting: usize, wrong: &mut Violations) {
    let index = Index::new(&graph.nodes, wrong);
    ends(graph, wrong);
    for node in &graph.nodes {
        ports(node, wrong);
        effects(node, wrong);
        uncertainty(node, wrong);
        body(node, wrong);
        nested(node, nesting, wrong);
    }
    links::check(graph, &index, wrong);
    regions(&graph.regions, &index, wrong);
}

/// The graph inside a loop, and how it meets the node.
fn nested(node: &Node, nesting: usize, wrong: &mut Violations) {
    let (graph, most) = match &node.body {
        Body::Each { graph, most } | Body::Retry { graph, most, .. } => (graph, *most),
        _ => return,
    };
    if !(1..=MAX_ROUNDS).contains(&most) {
        wrong.add("rounds", Place(node), format!("at most {most} rounds; a loop has 1 to {MAX_ROUNDS}"));
    }
    let Some(nesting) = nesting.checked_sub(1) else {
        wrong.add("nesting", Place(node), format!("a loop inside {MAX_NESTING} others; so many may nest"));
        return;
    };
    let mut inside = Violations::default();
    rules(graph, nesting, &mut inside);
    wrong.inside(Place(node), inside);
    meets(node, graph, wrong);
}

/// Whether a loop takes and gives what its graph does.
fn meets(node: &Node, graph: &Graph, wrong: &mut Violations) {
    if let (Some(wanted), Some(port)) = (loop_input(node, wrong), graph.input().and_then(|node| node.outputs.first()))
        && port.ty != wanted
    {
        let message = format!("what the graph inside takes: {}", Differing(&port.ty, &wanted));
        wrong.add("port-type", Place(node), message);
    }
    let answer = graph.output().and_then(|node| node.inputs.first()).map(|port| match node.body {
        Body::Each { .. } => Type::list(port.ty.clone()),
        _ => port.ty.clone(),
    });
    if let (Some(answer), Some(port)) = (answer, node.outputs.first())
        && port.ty != answer
    {
        let message = format!("what the graph inside gives: {}", Differing(&port.ty, &answer));
        wrong.add("port-type", format!("{}, output 0", Place(node)), message);
    }
}

/// What the graph of a loop takes: the value of its one input port, or the record of them
/// all; of the list it goes through, the item.
fn loop_input(node: &Node, wrong: &mut Violations) -> Option<Type> {
    let each = matches!(node.body, Body::Each { .. });
    let taken = |(index, port): (usize, &Port)| match (&port.ty, each && index == 0) {
        (ty, false) => Some(ty.clone()),
        (Type::List(item), true) => Some((**item).clone()),
        (Type::Json, true) => Some(Type::Json),
        _ => None,
    };
    let types: Option<Vec<Type>> = node.inputs.iter().enumerate().map(taken).collect();
    let Some(mut types) = types else {
        wrong.add("port-type", format!("{}, input 0", Place(node)), "an each goes through a list, or json");
        return None;
    };
    if types.len() == 1 {
        return types.pop();
    }
    let fields = node.inputs.iter().zip(types).map(|(port, ty)| Field::new(&port.name, ty)).collect();
    (!node.inputs.is_empty()).then(|| Type::Record(fields).canonical())
}

/// The nodes by id; of two with one id, the first.
struct Index<'g> {
    nodes: &'g [Node],
    by_id: BTreeMap<u32, usize>,
}

impl<'g> Index<'g> {
    fn new(nodes: &'g [Node], wrong: &mut Violations) -> Index<'g> {
        let mut by_id = BTreeMap::new();
        for (position, node) in nodes.iter().enumerate() {
            if *by_id.entry(node.id).or_insert(position) != position {
                wrong.add("duplicate-node", Place(node), "another node has this id");
            }
        }
        Index { nodes, by_id }
    }

    fn position(&self, id: u32) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    fn node(&self, id: u32) -> Option<&'g Node> {
        self.position(id).map(|position| &self.nodes[position])
    }
}

/// Names a node in a message.
struct Place<'g>(&'g Node);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0.id)
    }
}

fn ends(graph: &Graph, wrong: &mut Violations) {
    for (kind, body, none, several) in
        [("input", Body::Input, "no-input", "several-inputs"), ("output", Body::Output, "no-output", "several-outputs")]
    {
        let mut found = graph.nodes.iter().filter(|node| node.body == body);
        if found.next().is_none() {
            wrong.add(none, "", format!("a graph has one {kind} node; this one has none"));
        }
        found.for_each(|node| wrong.add(several, Place(node), format!("a second {kind} node; a graph has one")));
    }
}

/// How many inputs (at least, at most) and outputs a kind of node has.
fn port_counts(body: &Body) -> (usize, usize, usize) {
    match body {
        Body::Input => (0, 0, 1),
        Body::Expression { .. } | Body::Each { .. } | Body::Retry { .. } => (1, usize::MAX, 1),
        Body::Model { .. } | Body::Guard(_) | Body::Effect { .. } | Body::Module { .. } => (1, 1, 1),
        Body::Branch { .. } => (3, 3, 1),
        Body::Output => (1, 1, 0),
    }
}

fn ports(node: &Node, wrong: &mut Violations) {
    let (least, most, outputs) = port_counts(&node.body);
    let kind = node.body.kind();
    if node.inputs.len() < least || node.inputs.len() > most {
        let wanted = if most == usize::MAX { format!("{least} or more") } else { least.to_string() };
        let message = format!("input ports of a node of kind {kind}: {wanted}, here {}", node.inputs.len());
        wrong.add("port-count", Place(node), message);
    }
    if node.outputs.len() != outputs {
        let message = format!("output ports of a node of kind {kind}: {outputs}, here {}", node.outputs.len());
        wrong.add("port-count", Place(node), message);
    }
    for (side, ports) in [("input", &node.inputs), ("output", &node.outputs)] {
        port_names(node, side, ports, wrong);
        for (index, port) in ports.iter().enumerate() {
            if let Err(why) = port.ty.check() {
                wrong.add("port-type", format!("{}, {side} {index}", Place(node)), why);
            }
        }
    }
    let same: &[usize] = match node.body {
        Body::Guard(_) => &[0],
        Body::Branch { .. } => &[1, 2],
        _ => &[],
    };
    for &index in same {
        if let (Some(input), Some(output)) = (node.inputs.get(index), node.outputs.first())
            && input.ty != output.ty
        {
            let message = format!("a {kind} gives the type it takes; {}", Differing(&input.ty, &output.ty));
            wrong.add("port-type", format!("{}, input {index}", Place(node)), message);
        }
    }
}

fn port_names(node: &Node, side: &str, ports: &[Port], wrong: &mut Violations) {
    let mut seen = BTreeMap::new();
    for (index, port) in ports.iter().enumerate() {
        let at = || format!("{}, {side} {index}", Place(node));
        if port.name.is_empty() {
            wrong.add("port-name", at(), "a port needs a name");
        } else if let Some(first) = seen.insert(&port.name, index) {
            wrong.add("port-name", at(), format!("{} is also {side} {first}", Quoted(&port.name)));
        }
    }
}

/// Two types that should be one.
struct Differing<'t>(&'t Type, &'t Type);

impl fmt::Display for Differing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not `{}`", brief(self.0), brief(self.1))
    }
}

/// What can be asked for.
const CAPABILITIES: &str =
    "net, fs, exec, secrets, payments, tool:NAME, model:ID, memory:read, memory:write, memory:append";

fn effects(node: &Node, wrong: &mut Violations) {
    let Node { effects, body, .. } = node;
    let may = matches!(body, Body::Effect { .. } | Body::Module { .. });
    if !may && (!effects.capabilities.is_empty() || !effects.memory.is_empty()) {
        wrong.add("effects", Place(node), format!("a node of kind {} has no effects", body.kind()));
    }
    if repeats(effects.capabilities.iter()) || repeats(effects.memory.iter()) {
        wrong.add("effects", Place(node), "the same effect is listed twice");
    }
    let nameless = |capability: &Capability| matches!(capability, Capability::Tool(name) | Capability::Model(name) if name.is_empty());
    if effects.capabilities.iter().any(nameless) {
        wrong.add("capability", Place(node), "a tool or model needs a name");
    }
    if let Some(Capability::Memory(effect)) =
        effects.capabilities.iter().find(|capability| matches!(capability, Capability::Memory(_)))
    {
        let message = format!("memory:{} is declared as a memory effect, not as a capability", effect.name());
        wrong.add("capability", Place(node), message);
    }
    if let Body::Effect { capability: asked, .. } = body {
        let declares = |capability: &Capability| match capability {
            Capability::Memory(effect) => effects.memory.contains(effect),
            other => effects.capabilities.contains(other),
        };
        match Capability::parse(asked) {
            None => wrong.add("capability", Place(node), format!("{} is none of {CAPABILITIES}", Quoted(asked))),
            Some(capability) if !declares(&capability) => wrong.add(
                "capability",
                Place(node),
                format!("asks for {}, which its effects do not declare", Quoted(asked)),
            ),
            Some(_) => {}
        }
    }
}

fn repeats<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.windows(2).any(|pair| pair[0] == pair[1])
}

fn uncertainty(node: &Node, wrong: &mut Violations) {
    let deterministic = node.uncertainty == Uncertainty::Deterministic;
    match node.body {
        // A loop is what its graph is.
        Body::Effect { .. } | Body::Module { .. } | Body::Each { .. } | Body::Retry { .. } => {}
        Body::Model { .. } if deterministic => {
            wrong.add("uncertainty", Place(node), "a model guesses: it is probabilistic or generative");
        }
        Body::Model { .. } => {}
        _ if !deterministic => {
            let message = format!("a node of kind {} is deterministic", node.body.kind());
            wrong.add("uncertainty", Place(node), message);
        }
        _ => {}
    }
}

fn body(node: &Node, wrong: &mut Violations) {
    let (what, text) = match &node.body {
        Body::Expression { source } => ("an expression", source),
        Body::Branch { predicate } | Body::Retry { until: predicate, .. } => ("a predicate", predicate),
        Body::Model { format, weights } => {
            if format == model::LINEAR {
                linear(node, weights, wrong);
            }
            ("a model's format", format)
        }
        Body::Guard(guard) => return checks::check(node, guard, wrong),
        _ => return,
    };
    if text.trim().is_empty() {
        wrong.add("body", Place(node), format!("{what} cannot be empty"));
    }
}

/// A model of a format that is known here makes sense, and takes and gives what it is said to.
fn linear(node: &Node, weights: &[u8], wrong: &mut Violations) {
    let model = match Linear::from_bytes(weights) {
        Ok(model) => model,
        Err(why) => return wrong.add("body", Place(node), why),
    };
    let texts = Type::list(Type::Text);
    if let Some(port) = node.inputs.first()
        && port.ty != texts
    {
        wrong.add("port-type", format!("{}, input 0", Place(node)), Differing(&port.ty, &texts));
    }
    let Some(port) = node.outputs.first() else { return };
    let given = |value: &Value| value_type(&port.ty).is_some_and(|ty| ty.accepts(value).is_ok());
    if !model.classes.iter().all(given) {
        let message = format!("`{}` is not what a model with these classes gives", brief(&port.ty));
        wrong.add("port-type", format!("{}, output 0", Place(node)), message);
    }
}

/// The type of the value in what a model gives.
fn value_type(output: &Type) -> Option<&Type> {
    let Type::Record(fields) = output else { return None };
    let value = fields.iter().find(|field| field.name == "value").map(|field| &field.ty)?;
    (*output == model::output(value.clone())).then_some(value)
}

fn regions(all: &[Region], index: &Index<'_>, wrong: &mut Violations) {
    let mut names = BTreeMap::new();
    for (position, region) in all.iter().enumerate() {
        let at = || format!("region {}", Quoted(&region.name));
        if region.name.is_empty() {
            wrong.add("region", at(), "a region needs a name");
        } else if names.insert(&region.name, position).is_some() {
            wrong.add("region", at(), "another region has this name");
        }
        if region.nodes.is_empty() {
            wrong.add("region", at(), "a region needs nodes");
        }
        if repeats(region.nodes.iter()) {
            wrong.add("region", at(), "the same node is listed twice");
        }
        for id in region.nodes.iter().filter(|&&id| index.node(id).is_none()) {
            wrong.add("unknown-node", at(), format!("there is no node {id}"));
        }
    }
}

fn content(graph: &Graph, wrong: &mut Violations) {
    let total = graph_content(graph);
    if total > MAX_CONTENT {
        wrong.add("too-large", "", format!("about {total} bytes of content; a graph may have {MAX_CONTENT}"));
    }
}

fn graph_content(graph: &Graph) -> usize {
    let nodes: usize = graph.nodes.iter().map(node_content).sum();
    let edges = graph.edges.len() * size_of::<Edge>();
    let regions: usize = graph.regions.iter().map(|region| 32 + region.name.len() + 4 * region.nodes.len()).sum();
    graph.name.len() + nodes + edges + regions
}

/// About how many bytes a node takes encoded, types left out: they are bounded by what
/// made them.
fn node_content(node: &Node) -> usize {
    let ports = node.inputs.iter().chain(&node.outputs).map(|port| 32 + port.name.len());
    let capabilities = node.effects.capabilities.iter().map(|capability| 16 + capability.to_string().len());
    let body = match &node.body {
        Body::Expression { source: text }
        | Body::Branch { predicate: text }
        | Body::Effect { capability: text, .. } => text.len(),
        Body::Each { graph, .. } => graph_content(graph),
        Body::Retry { graph, until, .. } => until.len() + graph_content(graph),
        Body::Model { format, weights } => format.len() + weights.len(),
        Body::Guard(guard) => guard.checks.iter().map(check_content).sum(),
        Body::Input | Body::Module { .. } | Body::Output => 32,
    };
    128 + node.name.len() + ports.sum::<usize>() + capabilities.sum::<usize>() + body
}

fn check_content(check: &Check) -> usize {
    64 + match check {
        Check::Shape { .. } => 0,
        Check::Length { path, .. } | Check::Characters { path, .. } | Check::Score { path, .. } => path.len(),
        Check::Range { path, min, max } => path.len() + min.len() + max.len(),
        Check::Sketch { path, table, .. } => path.len() + table.len(),
    }
}
