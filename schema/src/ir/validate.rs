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
//! | `capability` | capabilities have a name; an effect node declares the one it asks for |
//! | `uncertainty` | a model is not deterministic; what computes or passes on is, loops aside |
//! | `body` | no empty text, and no weights without a format |
//! | `nesting` | loops nest no deeper than [`MAX_NESTING`] |
//! | `rounds` | a loop is bound to 1 to [`MAX_ROUNDS`] rounds |
//! | `guard` | limits, paths, ranges and tables of a guard's checks make sense |
//! | `region` | regions have a unique name and some nodes, none twice |
//! | `too-large` | no more than [`MAX_CONTENT`] bytes of content |

use core::fmt;
use std::collections::BTreeMap;

use auto_json::{Number, Value};

use super::{
    Body, Capability, Check, Edge, End, Graph, Guard, MAX_CONTENT, MAX_NESTING, MAX_ROUNDS, Node, PPM, Port, Region,
    Step, Uncertainty, parse_path, type_at,
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
    let links = edges(&graph.edges, &index, wrong);
    driven(graph, &index, &links, wrong);
    cycles(&index, &links, wrong);
    unused(&index, &links, wrong);
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
    if let Body::Effect { capability: asked, .. } = body {
        match Capability::parse(asked) {
            None => wrong.add(
                "capability",
                Place(node),
                format!("{} is none of net, fs, exec, secrets, payments, tool:NAME, model:ID", Quoted(asked)),
            ),
            Some(capability) if !effects.capabilities.contains(&capability) => wrong.add(
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
        Body::Model { format, .. } => ("a model's format", format),
        Body::Guard(guard) => return self::guard(node, guard, wrong),
        _ => return,
    };
    if text.trim().is_empty() {
        wrong.add("body", Place(node), format!("{what} cannot be empty"));
    }
}

fn guard(node: &Node, guard: &Guard, wrong: &mut Violations) {
    if guard.limit > PPM {
        wrong.add("guard", Place(node), format!("the limit is {} of {PPM} parts per million", guard.limit));
    }
    if guard.checks.is_empty() {
        wrong.add("guard", Place(node), "a guard without checks guards nothing");
    }
    let input = node.inputs.first().map(|port| &port.ty);
    for (index, check) in guard.checks.iter().enumerate() {
        if let Err(why) = check_makes_sense(check).and_then(|()| check_reaches(check, input)) {
            wrong.add("guard", format!("{}, check {index}", Place(node)), why);
        }
    }
}

fn check_makes_sense(check: &Check) -> Result<(), String> {
    match check {
        Check::Shape { ty } => ty.check().map_err(str::to_owned),
        Check::Length { min, max, .. } if min > max => Err(format!("no length is in {min}..={max}")),
        Check::Characters { classes, .. } if *classes > 0xFF => {
            Err(format!("{classes:#b} has bits beyond the eight classes"))
        }
        Check::Range { min, max, .. } => match (canonical_number(min), canonical_number(max)) {
            (Some(low), Some(high)) if low.compare(&high).is_gt() => {
                Err(format!("no number is in {}..={}", Quoted(min), Quoted(max)))
            }
            (Some(_), Some(_)) => Ok(()),
            (None, _) => Err(format!("{} is not the canonical text of a number", Quoted(min))),
            (_, None) => Err(format!("{} is not the canonical text of a number", Quoted(max))),
        },
        Check::Sketch { bits, .. } if !(3..=24).contains(bits) => {
            Err(format!("a table has 2^3 to 2^24 bits, not 2^{bits}"))
        }
        Check::Sketch { bits, table, .. } if table.len() != 1 << (bits - 3) => {
            Err(format!("a table of 2^{bits} bits has {} bytes, this one {}", 1u32 << (bits - 3), table.len()))
        }
        _ => Ok(()),
    }
}

fn canonical_number(text: &str) -> Option<Number> {
    let number = *Value::parse(text).ok()?.as_number()?;
    (number.text() == text).then_some(number)
}

/// Whether the check can ever meet a value it measures. One that cannot would score 0
/// for ever and guard nothing.
fn check_reaches(check: &Check, input: Option<&Type>) -> Result<(), String> {
    let (path, wanted) = match check {
        Check::Shape { .. } => return Ok(()),
        Check::Length { path, .. } => (path, "text or a list"),
        Check::Characters { path, .. } | Check::Sketch { path, .. } => (path, "text"),
        Check::Range { path, .. } => (path, "a number"),
    };
    let steps: Vec<Step> = parse_path(path)
        .ok_or_else(|| format!("{} is not a JSON pointer (empty, or `/` and segments)", Quoted(path)))?;
    let Some(input) = input else { return Ok(()) };
    let Some(ty) = type_at(input, &steps) else {
        return Err(format!("{} meets nothing in `{}`", Quoted(path), brief(input)));
    };
    let measured = match (check, ty) {
        (_, Type::Json) => true,
        (Check::Range { .. }, ty) => matches!(ty, Type::Int | Type::Number),
        (Check::Length { .. }, Type::List(_)) => true,
        (_, ty) => matches!(ty, Type::Text | Type::Bytes | Type::Enum(_)),
    };
    if measured { Ok(()) } else { Err(format!("{} meets `{}`, not {wanted}", Quoted(path), brief(ty))) }
}

/// Reports what is wrong with single edges; gives those between existing ports, as
/// positions of nodes, without repetitions.
fn edges(all: &[Edge], index: &Index<'_>, wrong: &mut Violations) -> Vec<Link> {
    let mut sorted: Vec<&Edge> = all.iter().collect();
    sorted.sort_by_key(|edge| (edge.to, edge.from));
    let mut links = Vec::with_capacity(sorted.len());
    for (position, edge) in sorted.iter().enumerate() {
        let at = || format!("edge {}.{} -> {}.{}", edge.from.node, edge.from.port, edge.to.node, edge.to.port);
        if position > 0 && sorted[position - 1] == *edge {
            wrong.add("duplicate-edge", at(), "this edge is there twice");
            continue;
        }
        let from = end(edge.from, "output", index, &at, wrong);
        let to = end(edge.to, "input", index, &at, wrong);
        let (Some((from, source)), Some((to, target))) = (from, to) else { continue };
        if source.ty != target.ty {
            wrong.add("type-mismatch", at(), Differing(&source.ty, &target.ty));
        }
        links.push(Link { from, to, port: edge.to.port as usize });
    }
    links
}

/// An edge whose ends exist: positions of nodes, and the input port it drives.
struct Link {
    from: usize,
    to: usize,
    port: usize,
}

/// The node and port an edge's end points at.
fn end<'g>(
    end: End,
    side: &str,
    index: &Index<'g>,
    at: &impl Fn() -> String,
    wrong: &mut Violations,
) -> Option<(usize, &'g Port)> {
    let Some(position) = index.position(end.node) else {
        wrong.add("unknown-node", at(), format!("there is no node {}", end.node));
        return None;
    };
    let node = &index.nodes[position];
    let ports = if side == "input" { &node.inputs } else { &node.outputs };
    let port = ports.get(end.port as usize);
    if port.is_none() {
        wrong.add("unknown-port", at(), format!("node {} has no {side} {}", end.node, end.port));
    }
    port.map(|port| (position, port))
}

fn driven(graph: &Graph, index: &Index<'_>, links: &[Link], wrong: &mut Violations) {
    let mut drivers: Vec<Vec<u32>> = graph.nodes.iter().map(|node| vec![0; node.inputs.len()]).collect();
    for link in links {
        drivers[link.to][link.port] += 1;
    }
    for (position, node) in graph.nodes.iter().enumerate() {
        // Edges name ids, so a second node of an id cannot be driven; it has been reported.
        if index.position(node.id) != Some(position) {
            continue;
        }
        for (port, count) in drivers[position].iter().enumerate() {
            let at = || format!("{}, input {port}", Place(node));
            match count {
                0 => wrong.add("undriven", at(), "no edge drives this port"),
                1 => {}
                count => wrong.add("driven-twice", at(), format!("{count} edges drive this port; one may")),
            }
        }
    }
}

/// The links leaving each node, in one array: those of node `n` are `targets[starts[n]..starts[n + 1]]`.
struct Adjacency {
    starts: Vec<usize>,
    targets: Vec<usize>,
}

impl Adjacency {
    fn new(nodes: usize, links: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut starts = vec![0; nodes + 1];
        links.clone().for_each(|(from, _)| starts[from + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes]];
        for (from, to) in links {
            targets[next[from]] = to;
            next[from] += 1;
        }
        Adjacency { starts, targets }
    }

    fn of(&self, node: usize) -> &[usize] {
        &self.targets[self.starts[node]..self.starts[node + 1]]
    }
}

/// Reports every strongly connected set of nodes that is a cycle (Tarjan 1972, with a
/// stack of our own, since the depth is the input's).
fn cycles(index: &Index<'_>, links: &[Link], wrong: &mut Violations) {
    let count = index.nodes.len();
    let next = Adjacency::new(count, links.iter().map(|link| (link.from, link.to)));
    let mut search =
        Tarjan { order: vec![0; count], low: vec![0; count], open: Vec::new(), is_open: vec![false; count] };
    let mut visited = 0;
    // Nodes being visited, and how many of their targets have been.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..count {
        if search.order[start] == 0 {
            search.enter(start, &mut visited);
            path.push((start, 0));
        }
        while let Some((node, done)) = path.pop() {
            if let Some(&target) = next.of(node).get(done) {
                path.push((node, done + 1));
                if search.order[target] == 0 {
                    search.enter(target, &mut visited);
                    path.push((target, 0));
                } else if search.is_open[target] {
                    search.low[node] = search.low[node].min(search.order[target]);
                }
                continue;
            }
            if let Some(&(parent, _)) = path.last() {
                search.low[parent] = search.low[parent].min(search.low[node]);
            }
            if search.low[node] == search.order[node] {
                let members = search.close(node);
                if members.len() > 1 || next.of(node).contains(&node) {
                    report_cycle(index, members, wrong);
                }
            }
        }
    }
}

struct Tarjan {
    /// When a node was first met, from 1; 0 before.
    order: Vec<usize>,
    low: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
}

impl Tarjan {
    fn enter(&mut self, node: usize, visited: &mut usize) {
        *visited += 1;
        self.order[node] = *visited;
        self.low[node] = *visited;
        self.open.push(node);
        self.is_open[node] = true;
    }

    /// The set whose first member was `root`.
    fn close(&mut self, root: usize) -> Vec<usize> {
        let start = self.open.iter().rposition(|&node| node == root).unwrap_or(0);
        let members = self.open.split_off(start);
        members.iter().for_each(|&node| self.is_open[node] = false);
        members
    }
}

fn report_cycle(index: &Index<'_>, mut members: Vec<usize>, wrong: &mut Violations) {
    members.sort_unstable_by_key(|&position| index.nodes[position].id);
    let names: Vec<String> = members.iter().take(8).map(|&position| index.nodes[position].id.to_string()).collect();
    let more = if members.len() > 8 { format!(" and {} more", members.len() - 8) } else { String::new() };
    let message = format!("nodes {}{more} depend on themselves in a circle", names.join(", "));
    wrong.add("cycle", Place(&index.nodes[members[0]]), message);
}

fn unused(index: &Index<'_>, links: &[Link], wrong: &mut Violations) {
    let count = index.nodes.len();
    let previous = Adjacency::new(count, links.iter().map(|link| (link.to, link.from)));
    let mut used = vec![false; count];
    let mut open: Vec<usize> = (0..count).filter(|&node| index.nodes[node].body == Body::Output).collect();
    // Without an output everything is unused, and saying so helps nobody.
    if open.is_empty() {
        return;
    }
    while let Some(node) = open.pop() {
        if !core::mem::replace(&mut used[node], true) {
            open.extend(previous.of(node).iter().filter(|&&source| !used[source]));
        }
    }
    for (position, node) in index.nodes.iter().enumerate() {
        if !used[position] && index.position(node.id) == Some(position) {
            wrong.add("unused", Place(node), "nothing it gives reaches the output");
        }
    }
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
        Check::Length { path, .. } | Check::Characters { path, .. } => path.len(),
        Check::Range { path, min, max } => path.len() + min.len() + max.len(),
        Check::Sketch { path, table, .. } => path.len() + table.len(),
    }
}
