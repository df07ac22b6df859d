//! How nodes hang together: edges between ports that exist, one into every input port, no
//! circle, and nothing that leads nowhere.

use super::{Differing, Index, Place};
use crate::ir::{Body, Edge, End, Graph, Port};
use crate::violation::Violations;

/// Reports what is wrong with the edges of a graph.
pub(super) fn check(graph: &Graph, index: &Index<'_>, wrong: &mut Violations) {
    let links = edges(&graph.edges, index, wrong);
    driven(graph, index, &links, wrong);
    cycles(index, &links, wrong);
    unused(index, &links, wrong);
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
