//! The text form of a graph, for people, reports and golden files. Complete but for
//! weights and tables, of which it gives size and digest.

use core::fmt;

use super::{Body, Bounds, Check, Graph, Node, Port};
use crate::digest::Digest;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = self.clone().canonical();
        writeln!(f, "graph {:?} {{", graph.name)?;
        for node in &graph.nodes {
            write_node(f, node)?;
        }
        for edge in &graph.edges {
            let (from, to) = (edge.from, edge.to);
            writeln!(f, "  edge {}.{} -> {}.{}", from.node, from.port, to.node, to.port)?;
        }
        for region in &graph.regions {
            let nodes: Vec<String> = region.nodes.iter().map(u32::to_string).collect();
            writeln!(f, "  region {:?} {{ {} }}", region.name, nodes.join(", "))?;
        }
        writeln!(f, "}}")
    }
}

fn write_node(f: &mut fmt::Formatter<'_>, node: &Node) -> fmt::Result {
    write!(f, "  node {} {} {:?} (", node.id, node.body.kind(), node.name)?;
    write_ports(f, &node.inputs)?;
    f.write_str(") -> (")?;
    write_ports(f, &node.outputs)?;
    f.write_str(")")?;
    write!(f, " {}", format!("{:?}", node.uncertainty).to_lowercase())?;
    for capability in &node.effects.capabilities {
        write!(f, " may {:?}", capability.to_string())?;
    }
    for effect in &node.effects.memory {
        write!(f, " memory-{}", effect.name())?;
    }
    write_bounds(f, &node.bounds)?;
    f.write_str("\n")?;
    write_body(f, &node.body)
}

fn write_ports(f: &mut fmt::Formatter<'_>, ports: &[Port]) -> fmt::Result {
    ports.iter().enumerate().try_for_each(|(index, port)| {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write!(f, "{:?}: {}", port.name, port.ty)
    })
}

fn write_bounds(f: &mut fmt::Formatter<'_>, bounds: &Bounds) -> fmt::Result {
    let all = [
        ("steps", bounds.steps),
        ("latency_us", bounds.latency_us),
        ("cost_usd_micros", bounds.cost_usd_micros),
        ("tokens", bounds.tokens),
        ("memory_bytes", bounds.memory_bytes),
    ];
    all.iter().try_for_each(|(name, bound)| bound.map_or(Ok(()), |bound| write!(f, " {name}<={bound}")))
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &Body) -> fmt::Result {
    match body {
        Body::Input | Body::Output => Ok(()),
        Body::Expression { source } => source.lines().try_for_each(|line| writeln!(f, "    {line}")),
        Body::Model { format, weights } => writeln!(f, "    weights {format:?} {}", Summary(weights)),
        Body::Guard(guard) => {
            writeln!(f, "    limit {} ppm", guard.limit)?;
            guard.checks.iter().try_for_each(|check| write_check(f, check))
        }
        Body::Effect { capability, catches } => {
            writeln!(f, "    ask {capability:?}{}", if *catches { " catching errors" } else { "" })
        }
        Body::Branch { predicate } => predicate.lines().try_for_each(|line| writeln!(f, "    {line}")),
        Body::Module { digest } => writeln!(f, "    sha256 {digest}"),
        Body::Each { graph, most } => {
            writeln!(f, "    at most {most} times")?;
            write_nested(f, graph)
        }
        Body::Retry { graph, until, most } => {
            writeln!(f, "    at most {most} times until")?;
            until.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
            write_nested(f, graph)
        }
    }
}

/// A graph inside a node, indented.
fn write_nested(f: &mut fmt::Formatter<'_>, graph: &Graph) -> fmt::Result {
    graph.to_string().lines().try_for_each(|line| writeln!(f, "    {line}"))
}

fn write_check(f: &mut fmt::Formatter<'_>, check: &Check) -> fmt::Result {
    write!(f, "    check {}", check.kind())?;
    match check {
        Check::Shape { ty } => writeln!(f, " {ty}"),
        Check::Length { path, min, max } => writeln!(f, " {path:?} {min}..={max}"),
        Check::Characters { path, classes } => writeln!(f, " {path:?} {classes:#010b}"),
        Check::Range { path, min, max } => writeln!(f, " {path:?} {min}..={max}"),
        Check::Sketch { path, bits, table } => writeln!(f, " {path:?} {bits} bits, {}", Summary(table)),
        Check::Score { path, scale } => writeln!(f, " {path:?} times {scale} ppm"),
    }
}

/// Bytes too many to print.
struct Summary<'a>(&'a [u8]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes sha256 {}", self.0.len(), Digest::of(self.0))
    }
}
