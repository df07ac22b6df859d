//! The canonical encoding: FlatBuffers as `ir.fbs` says, written in one fixed order,
//! nothing shared, defaults left out. Reading verifies, decodes, validates, and then
//! writes again: bytes that differ are refused, whatever the difference is.

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

use super::{
    Body, Bounds, Capability, Check, Edge, Effects, End, Graph, Guard, MemoryEffect, Node, Port, Region, Uncertainty,
    VERSION,
};
use crate::digest::Digest;
use crate::flat;
use crate::generated::ir::auto::ir as fb;
use crate::types::Type;
use crate::violation::{Quoted, Violation, Violations};

impl Graph {
    /// The canonical bytes of a valid graph; otherwise everything that is wrong with it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Vec<Violation>> {
        let graph = self.clone().canonical();
        graph.check()?;
        Ok(encode(&graph))
    }

    /// Reads canonical bytes of a valid graph, and nothing else.
    ///
    /// Codes besides those of [`Graph::validate`]: `wrong-kind`, `malformed`, `version`,
    /// `unknown-value`, `bad-type`, `not-canonical`. Uses memory in proportion to the
    /// bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Graph, Vec<Violation>> {
        let root = flat::root::<fb::Graph>(bytes, fb::GRAPH_IDENTIFIER, "an IR graph")?;
        if root.version() != VERSION {
            let message = format!("graph version {}, this program reads {VERSION}", root.version());
            return Err(Violations::one("version", message));
        }
        let mut wrong = Violations::default();
        let graph = decode(root, &mut wrong).canonical();
        wrong.into_result()?;
        graph.check()?;
        if encode(&graph) == bytes { Ok(graph) } else { Err(flat::not_canonical("the graph")) }
    }
}

type Builder<'b> = FlatBufferBuilder<'b>;

fn encode(graph: &Graph) -> Vec<u8> {
    let mut builder = Builder::new();
    let root = write_graph(&mut builder, graph);
    fb::finish_graph_buffer(&mut builder, root);
    builder.finished_data().to_vec()
}

fn write_graph<'b>(builder: &mut Builder<'b>, graph: &Graph) -> WIPOffset<fb::Graph<'b>> {
    let nodes: Vec<_> = graph.nodes.iter().map(|node| write_node(builder, node)).collect();
    let regions: Vec<_> = graph.regions.iter().map(|region| write_region(builder, region)).collect();
    let end = |end: End| fb::End::new(end.node, end.port);
    let edges: Vec<_> = graph.edges.iter().map(|edge| fb::Edge::new(&end(edge.from), &end(edge.to))).collect();
    let args = fb::GraphArgs {
        version: VERSION,
        name: Some(builder.create_shared_string(&graph.name)),
        nodes: Some(builder.create_vector(&nodes)),
        edges: Some(builder.create_vector(&edges)),
        regions: Some(builder.create_vector(&regions)),
    };
    fb::Graph::create(builder, &args)
}

fn write_region<'b>(builder: &mut Builder<'b>, region: &Region) -> WIPOffset<fb::Region<'b>> {
    let args = fb::RegionArgs {
        name: Some(builder.create_shared_string(&region.name)),
        nodes: Some(builder.create_vector(&region.nodes)),
    };
    fb::Region::create(builder, &args)
}

fn write_node<'b>(builder: &mut Builder<'b>, node: &Node) -> WIPOffset<fb::Node<'b>> {
    let (body_type, body) = write_body(builder, &node.body);
    let inputs: Vec<_> = node.inputs.iter().map(|port| write_port(builder, port)).collect();
    let outputs: Vec<_> = node.outputs.iter().map(|port| write_port(builder, port)).collect();
    let memory: Vec<_> = node.effects.memory.iter().map(|effect| memory_code(*effect)).collect();
    let args = fb::NodeArgs {
        id: node.id,
        name: Some(builder.create_shared_string(&node.name)),
        inputs: Some(builder.create_vector(&inputs)),
        outputs: Some(builder.create_vector(&outputs)),
        capabilities: Some(flat::texts(builder, node.effects.capabilities.iter().map(Capability::to_string))),
        memory: Some(builder.create_vector(&memory)),
        uncertainty: uncertainty_code(node.uncertainty),
        bounds: Some(write_bounds(builder, &node.bounds)),
        body_type,
        body: Some(body),
    };
    fb::Node::create(builder, &args)
}

fn write_port<'b>(builder: &mut Builder<'b>, port: &Port) -> WIPOffset<fb::Port<'b>> {
    let name = builder.create_shared_string(&port.name);
    let type_ = builder.create_shared_string(&port.ty.to_string());
    fb::Port::create(builder, &fb::PortArgs { name: Some(name), type_: Some(type_) })
}

fn write_bounds<'b>(builder: &mut Builder<'b>, bounds: &Bounds) -> WIPOffset<fb::Bounds<'b>> {
    let args = fb::BoundsArgs {
        steps: bounds.steps,
        latency_us: bounds.latency_us,
        cost_usd_micros: bounds.cost_usd_micros,
        tokens: bounds.tokens,
        memory_bytes: bounds.memory_bytes,
    };
    fb::Bounds::create(builder, &args)
}

fn write_body(builder: &mut Builder<'_>, body: &Body) -> (fb::NodeBody, WIPOffset<UnionWIPOffset>) {
    use fb::NodeBody as Kind;
    match body {
        Body::Input => (Kind::InputBody, fb::InputBody::create(builder, &fb::InputBodyArgs {}).as_union_value()),
        Body::Expression { source } => {
            let source = Some(builder.create_shared_string(source));
            let body = fb::ExpressionBody::create(builder, &fb::ExpressionBodyArgs { source });
            (Kind::ExpressionBody, body.as_union_value())
        }
        Body::Model { format, weights } => {
            let format = Some(builder.create_shared_string(format));
            let weights = Some(builder.create_vector(weights));
            let body = fb::ModelBody::create(builder, &fb::ModelBodyArgs { format, weights });
            (Kind::ModelBody, body.as_union_value())
        }
        Body::Guard(guard) => {
            let checks: Vec<_> = guard.checks.iter().map(|check| write_check(builder, check)).collect();
            let args = fb::GuardBodyArgs { limit: guard.limit, checks: Some(builder.create_vector(&checks)) };
            (Kind::GuardBody, fb::GuardBody::create(builder, &args).as_union_value())
        }
        Body::Effect { capability, catches } => {
            let capability = Some(builder.create_shared_string(capability));
            let body = fb::EffectBody::create(builder, &fb::EffectBodyArgs { capability, catches: *catches });
            (Kind::EffectBody, body.as_union_value())
        }
        Body::Branch { predicate } => {
            let predicate = Some(builder.create_shared_string(predicate));
            let body = fb::BranchBody::create(builder, &fb::BranchBodyArgs { predicate });
            (Kind::BranchBody, body.as_union_value())
        }
        Body::Module { digest } => {
            let digest = fb::Digest::new(digest.as_bytes());
            let body = fb::ModuleBody::create(builder, &fb::ModuleBodyArgs { digest: Some(&digest) });
            (Kind::ModuleBody, body.as_union_value())
        }
        Body::Output => (Kind::OutputBody, fb::OutputBody::create(builder, &fb::OutputBodyArgs {}).as_union_value()),
        Body::Each { graph, most } => {
            let graph = Some(write_graph(builder, graph));
            let body = fb::EachBody::create(builder, &fb::EachBodyArgs { graph, most: *most });
            (Kind::EachBody, body.as_union_value())
        }
        Body::Retry { graph, until, most } => {
            let graph = Some(write_graph(builder, graph));
            let until = Some(builder.create_shared_string(until));
            let body = fb::RetryBody::create(builder, &fb::RetryBodyArgs { graph, until, most: *most });
            (Kind::RetryBody, body.as_union_value())
        }
    }
}

fn write_check<'b>(builder: &mut Builder<'b>, check: &Check) -> WIPOffset<fb::Check<'b>> {
    use fb::CheckBody as Kind;
    let (body_type, body) = match check {
        Check::Shape { ty } => {
            let type_ = Some(builder.create_shared_string(&ty.to_string()));
            let body = fb::ShapeCheck::create(builder, &fb::ShapeCheckArgs { type_ });
            (Kind::ShapeCheck, body.as_union_value())
        }
        Check::Length { path, min, max } => {
            let args = fb::LengthCheckArgs { path: Some(builder.create_shared_string(path)), min: *min, max: *max };
            (Kind::LengthCheck, fb::LengthCheck::create(builder, &args).as_union_value())
        }
        Check::Characters { path, classes } => {
            let args = fb::CharactersCheckArgs { path: Some(builder.create_shared_string(path)), classes: *classes };
            (Kind::CharactersCheck, fb::CharactersCheck::create(builder, &args).as_union_value())
        }
        Check::Range { path, min, max } => {
            let args = fb::RangeCheckArgs {
                path: Some(builder.create_shared_string(path)),
                min: Some(builder.create_shared_string(min)),
                max: Some(builder.create_shared_string(max)),
            };
            (Kind::RangeCheck, fb::RangeCheck::create(builder, &args).as_union_value())
        }
        Check::Sketch { path, bits, table } => {
            let args = fb::SketchCheckArgs {
                path: Some(builder.create_shared_string(path)),
                bits: *bits,
                table: Some(builder.create_vector(table)),
            };
            (Kind::SketchCheck, fb::SketchCheck::create(builder, &args).as_union_value())
        }
        Check::Score { path, scale } => {
            let args = fb::ScoreCheckArgs { path: Some(builder.create_shared_string(path)), scale: *scale };
            (Kind::ScoreCheck, fb::ScoreCheck::create(builder, &args).as_union_value())
        }
    };
    fb::Check::create(builder, &fb::CheckArgs { body_type, body: Some(body) })
}

fn memory_code(effect: MemoryEffect) -> fb::MemoryEffect {
    match effect {
        MemoryEffect::Read => fb::MemoryEffect::Read,
        MemoryEffect::Write => fb::MemoryEffect::Write,
        MemoryEffect::Append => fb::MemoryEffect::Append,
    }
}

fn uncertainty_code(uncertainty: Uncertainty) -> fb::Uncertainty {
    match uncertainty {
        Uncertainty::Deterministic => fb::Uncertainty::Deterministic,
        Uncertainty::Probabilistic => fb::Uncertainty::Probabilistic,
        Uncertainty::Generative => fb::Uncertainty::Generative,
    }
}

/// What the tables say; what has no meaning is reported and something harmless put in
/// its place, so that the rest is looked at too.
fn decode(graph: fb::Graph<'_>, wrong: &mut Violations) -> Graph {
    let end = |end: &fb::End| End { node: end.node(), port: end.port() };
    Graph {
        name: graph.name().to_owned(),
        nodes: graph.nodes().iter().map(|node| read_node(node, wrong)).collect(),
        edges: graph.edges().iter().map(|edge| Edge { from: end(edge.from()), to: end(edge.to()) }).collect(),
        regions: graph
            .regions()
            .iter()
            .map(|region| Region { name: region.name().to_owned(), nodes: region.nodes().iter().collect() })
            .collect(),
    }
}

fn read_node(node: fb::Node<'_>, wrong: &mut Violations) -> Node {
    let at = format!("node {}", node.id());
    let mut ports = |ports: flatbuffers::Vector<'_, flatbuffers::ForwardsUOffset<fb::Port<'_>>>| -> Vec<Port> {
        let port = |port: fb::Port<'_>| Port::new(port.name(), read_type(port.type_(), &at, wrong));
        ports.iter().map(port).collect()
    };
    let (inputs, outputs) = (ports(node.inputs()), ports(node.outputs()));
    let bounds = node.bounds();
    Node {
        id: node.id(),
        name: node.name().to_owned(),
        inputs,
        outputs,
        effects: read_effects(node, &at, wrong),
        uncertainty: read_uncertainty(node.uncertainty(), &at, wrong),
        bounds: Bounds {
            steps: bounds.steps(),
            latency_us: bounds.latency_us(),
            cost_usd_micros: bounds.cost_usd_micros(),
            tokens: bounds.tokens(),
            memory_bytes: bounds.memory_bytes(),
        },
        body: read_body(node, &at, wrong),
    }
}

fn read_type(text: &str, at: &str, wrong: &mut Violations) -> Type {
    text.parse().unwrap_or_else(|error| {
        wrong.add("bad-type", at, format!("{} is not a type: {error}", Quoted(text)));
        Type::Json
    })
}

fn read_effects(node: fb::Node<'_>, at: &str, wrong: &mut Violations) -> Effects {
    let mut effects = Effects::default();
    for text in node.capabilities() {
        match Capability::parse(text) {
            Some(capability) => effects.capabilities.push(capability),
            None => wrong.add("unknown-value", at, format!("{} is not a capability", Quoted(text))),
        }
    }
    for effect in node.memory() {
        effects.memory.push(match effect {
            fb::MemoryEffect::Read => MemoryEffect::Read,
            fb::MemoryEffect::Write => MemoryEffect::Write,
            fb::MemoryEffect::Append => MemoryEffect::Append,
            other => {
                wrong.add("unknown-value", at, format!("{} is not a memory effect", other.0));
                continue;
            }
        });
    }
    effects
}

fn read_uncertainty(uncertainty: fb::Uncertainty, at: &str, wrong: &mut Violations) -> Uncertainty {
    match uncertainty {
        fb::Uncertainty::Deterministic => Uncertainty::Deterministic,
        fb::Uncertainty::Probabilistic => Uncertainty::Probabilistic,
        fb::Uncertainty::Generative => Uncertainty::Generative,
        other => {
            wrong.add("unknown-value", at, format!("{} is not an uncertainty", other.0));
            Uncertainty::Deterministic
        }
    }
}

fn read_body(node: fb::Node<'_>, at: &str, wrong: &mut Violations) -> Body {
    let body = match node.body_type() {
        fb::NodeBody::InputBody => Some(Body::Input),
        fb::NodeBody::ExpressionBody => {
            node.body_as_expression_body().map(|body| Body::Expression { source: body.source().to_owned() })
        }
        fb::NodeBody::ModelBody => node
            .body_as_model_body()
            .map(|body| Body::Model { format: body.format().to_owned(), weights: body.weights().bytes().to_vec() }),
        fb::NodeBody::GuardBody => node.body_as_guard_body().map(|body| {
            let checks = body.checks().iter().filter_map(|check| read_check(check, at, wrong)).collect();
            Body::Guard(Guard { limit: body.limit(), checks })
        }),
        fb::NodeBody::EffectBody => node
            .body_as_effect_body()
            .map(|body| Body::Effect { capability: body.capability().to_owned(), catches: body.catches() }),
        fb::NodeBody::BranchBody => {
            node.body_as_branch_body().map(|body| Body::Branch { predicate: body.predicate().to_owned() })
        }
        fb::NodeBody::ModuleBody => {
            node.body_as_module_body().map(|body| Body::Module { digest: Digest(body.digest().bytes().into()) })
        }
        fb::NodeBody::OutputBody => Some(Body::Output),
        fb::NodeBody::EachBody => node.body_as_each_body().map(|body| {
            let graph = Box::new(read_nested(body.graph(), at, wrong));
            Body::Each { graph, most: body.most() }
        }),
        fb::NodeBody::RetryBody => node.body_as_retry_body().map(|body| {
            let graph = Box::new(read_nested(body.graph(), at, wrong));
            Body::Retry { graph, until: body.until().to_owned(), most: body.most() }
        }),
        _ => None,
    };
    body.unwrap_or_else(|| {
        wrong.add("unknown-value", at, format!("{} is not a kind of node", node.body_type().0));
        Body::Input
    })
}

/// A graph inside a node; what is wrong in it is reported there.
fn read_nested(graph: fb::Graph<'_>, at: &str, wrong: &mut Violations) -> Graph {
    if graph.version() != VERSION {
        let message = format!("graph version {}, this program reads {VERSION}", graph.version());
        wrong.add("version", at, message);
    }
    let mut inside = Violations::default();
    let graph = decode(graph, &mut inside);
    wrong.inside(at, inside);
    graph
}

fn read_check(check: fb::Check<'_>, at: &str, wrong: &mut Violations) -> Option<Check> {
    let read = match check.body_type() {
        fb::CheckBody::ShapeCheck => {
            check.body_as_shape_check().map(|body| Check::Shape { ty: read_type(body.type_(), at, wrong) })
        }
        fb::CheckBody::LengthCheck => check.body_as_length_check().map(|body| Check::Length {
            path: body.path().to_owned(),
            min: body.min(),
            max: body.max(),
        }),
        fb::CheckBody::CharactersCheck => check
            .body_as_characters_check()
            .map(|body| Check::Characters { path: body.path().to_owned(), classes: body.classes() }),
        fb::CheckBody::RangeCheck => check.body_as_range_check().map(|body| Check::Range {
            path: body.path().to_owned(),
            min: body.min().to_owned(),
            max: body.max().to_owned(),
        }),
        fb::CheckBody::SketchCheck => check.body_as_sketch_check().map(|body| Check::Sketch {
            path: body.path().to_owned(),
            bits: body.bits(),
            table: body.table().bytes().to_vec(),
        }),
        fb::CheckBody::ScoreCheck => {
            check.body_as_score_check().map(|body| Check::Score { path: body.path().to_owned(), scale: body.scale() })
        }
        _ => None,
    };
    if read.is_none() {
        wrong.add("unknown-value", at, format!("{} is not a kind of check", check.body_type().0));
    }
    read
}

#[cfg(test)]
mod tests {
    //! Bytes that only somebody who uses the schema without this crate can make.

    use super::*;

    /// What may be wrong with an otherwise plausible graph of one node.
    struct Odd {
        version: u16,
        identifier: &'static str,
        ty: &'static str,
        capability: &'static str,
        memory: u8,
        uncertainty: u8,
        body_type: u8,
        check_type: u8,
    }

    const PLAIN: Odd = Odd {
        version: VERSION,
        identifier: fb::GRAPH_IDENTIFIER,
        ty: "int",
        capability: "net",
        memory: 0,
        uncertainty: 0,
        body_type: fb::NodeBody::GuardBody.0,
        check_type: fb::CheckBody::ShapeCheck.0,
    };

    fn codes(odd: &Odd) -> Vec<&'static str> {
        let mut builder = Builder::new();
        let type_ = Some(builder.create_string(odd.ty));
        let shape = fb::ShapeCheck::create(&mut builder, &fb::ShapeCheckArgs { type_ });
        let args = fb::CheckArgs { body_type: fb::CheckBody(odd.check_type), body: Some(shape.as_union_value()) };
        let check = fb::Check::create(&mut builder, &args);
        let checks = Some(builder.create_vector(&[check]));
        let guard = fb::GuardBody::create(&mut builder, &fb::GuardBodyArgs { limit: 1, checks });
        let name = builder.create_string("n");
        let port = fb::Port::create(&mut builder, &fb::PortArgs { name: Some(name), type_ });
        let args = fb::NodeArgs {
            id: 1,
            name: Some(name),
            inputs: Some(builder.create_vector(&[port])),
            outputs: Some(builder.create_vector(&[port])),
            capabilities: Some(flat::texts(&mut builder, [odd.capability.to_owned()].into_iter())),
            memory: Some(builder.create_vector(&[fb::MemoryEffect(odd.memory)])),
            uncertainty: fb::Uncertainty(odd.uncertainty),
            bounds: Some(fb::Bounds::create(&mut builder, &fb::BoundsArgs::default())),
            body_type: fb::NodeBody(odd.body_type),
            body: Some(guard.as_union_value()),
        };
        let node = fb::Node::create(&mut builder, &args);
        let args = fb::GraphArgs {
            version: odd.version,
            name: Some(name),
            nodes: Some(builder.create_vector(&[node])),
            edges: Some(builder.create_vector::<fb::Edge>(&[])),
            regions: Some(builder.create_vector::<WIPOffset<fb::Region<'_>>>(&[])),
        };
        let root = fb::Graph::create(&mut builder, &args);
        builder.finish(root, Some(odd.identifier));
        let wrong = Graph::from_bytes(builder.finished_data()).expect_err("it was accepted");
        wrong.iter().map(|wrong| wrong.code).collect()
    }

    #[test]
    fn what_has_no_order_must_be_in_canonical_order() {
        let node = |id, body, inputs: &[&str], outputs: &[&str]| {
            let ports = |names: &[&str]| names.iter().map(|name| Port::new(*name, Type::Int)).collect();
            Node {
                id,
                name: String::new(),
                inputs: ports(inputs),
                outputs: ports(outputs),
                effects: Effects::default(),
                uncertainty: Uncertainty::Deterministic,
                bounds: Bounds::default(),
                body,
            }
        };
        let edge = |from, to, port| Edge { from: End { node: from, port: 0 }, to: End { node: to, port } };
        let mut module = node(1, Body::Module { digest: Digest::of(b"") }, &["a"], &["b"]);
        module.effects.capabilities = vec![Capability::Net, Capability::Fs];
        module.effects.memory = vec![MemoryEffect::Read, MemoryEffect::Append];
        let sum = Body::Expression { source: "add($.a, $.b)".to_owned() };
        let region = |name: &str| Region { name: name.to_owned(), nodes: vec![0, 1] };
        let graph = Graph {
            name: String::new(),
            nodes: vec![
                node(0, Body::Input, &[], &["a"]),
                module,
                node(2, sum, &["a", "b"], &["c"]),
                node(3, Body::Output, &["a"], &[]),
            ],
            edges: vec![edge(0, 1, 0), edge(0, 2, 0), edge(1, 2, 1), edge(2, 3, 0)],
            regions: vec![region("a"), region("b")],
        };
        assert_eq!(Graph::from_bytes(&encode(&graph)).as_ref(), Ok(&graph));
        let reorders: [fn(&mut Graph); 6] = [
            |graph| graph.nodes.swap(0, 1),
            |graph| graph.edges.swap(1, 2),
            |graph| graph.regions.swap(0, 1),
            |graph| graph.regions[0].nodes.swap(0, 1),
            |graph| graph.nodes[1].effects.capabilities.swap(0, 1),
            |graph| graph.nodes[1].effects.memory.swap(0, 1),
        ];
        for (index, reorder) in reorders.iter().enumerate() {
            let mut other = graph.clone();
            reorder(&mut other);
            let wrong = Graph::from_bytes(&encode(&other)).expect_err("it was accepted");
            assert_eq!(wrong[0].code, "not-canonical", "{index}");
            assert_eq!(other.to_bytes(), graph.to_bytes(), "{index}");
        }
    }

    #[test]
    fn unknown_versions_and_values_are_refused_by_name() {
        assert_eq!(codes(&PLAIN), ["no-input", "no-output", "effects", "undriven"]);
        assert_eq!(codes(&Odd { identifier: "AIRX", ..PLAIN }), ["wrong-kind"]);
        assert_eq!(codes(&Odd { version: 0, ..PLAIN }), ["version"]);
        assert_eq!(codes(&Odd { version: 2, ..PLAIN }), ["version"]);
        assert_eq!(codes(&Odd { ty: "string", ..PLAIN }), ["bad-type"; 3]);
        let all = Odd { capability: "x", memory: 3, uncertainty: 3, check_type: 7, ..PLAIN };
        assert_eq!(codes(&all), ["unknown-value"; 4]);
        assert_eq!(codes(&Odd { body_type: 11, ..PLAIN }), ["unknown-value"]);
    }
}
