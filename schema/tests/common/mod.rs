//! Random types, values, graphs and manifests for the property tests. Every graph made
//! here is valid; tests that want a broken one break it themselves.
#![allow(dead_code)]

use auto_json::{Number, Record, Value};
use auto_schema::digest::Digest;
use auto_schema::ir::{
    Body, Bounds, Capability, Check, Edge, Effects, End, Graph, Guard, MAX_ROUNDS, MemoryEffect, Node, Port, Region,
    Uncertainty,
};
use auto_schema::manifest::{FORMAT, Judged, Manifest, PassRef, Steps};
use auto_schema::types::{Field, Type};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

/// Names, odd ones among them.
pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z_][a-z0-9_]{0,6}", 1 => "\\PC{1,6}", 1 => Just("\u{10000}\u{e000}\"\\".to_owned())]
}

/// Canonical types.
pub fn ty() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Unit),
        Just(Type::Bool),
        Just(Type::Int),
        Just(Type::Number),
        Just(Type::Text),
        Just(Type::Bytes),
        Just(Type::Json),
        btree_set(name(), 1..4).prop_map(|labels| Type::Enum(labels.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::optional),
            inner.clone().prop_map(Type::map),
            btree_map(name(), (any::<bool>(), inner), 0..4).prop_map(|fields| {
                Type::Record(fields.into_iter().map(|(name, (optional, ty))| Field { name, optional, ty }).collect())
            }),
        ]
    })
    .prop_map(Type::canonical)
}

pub fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(|value| Number::integer(value.into()).unwrap()),
        (any::<i32>(), 0u16..6).prop_map(|(mantissa, scale)| Number::decimal(mantissa.into(), scale).unwrap()),
    ]
}

/// Any JSON value, shallow.
pub fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        "\\PC{0,5}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            btree_map("[ab/~]", inner, 0..4).prop_map(|members| Value::Record(members.into_iter().collect::<Record>())),
        ]
    })
}

/// Values that a type accepts.
pub fn value_of(ty: &Type) -> BoxedStrategy<Value> {
    match ty.clone() {
        Type::Unit => Just(Value::Null).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Int => any::<i64>().prop_map(Value::integer).boxed(),
        Type::Number => number().prop_map(Value::Number).boxed(),
        Type::Text | Type::Bytes => "\\PC{0,5}".prop_map(Value::Text).boxed(),
        Type::Json => value().boxed(),
        Type::List(item) => vec(value_of(&item), 0..3).prop_map(Value::List).boxed(),
        Type::Optional(item) => prop_oneof![Just(Value::Null), value_of(&item)].boxed(),
        Type::Map(item) => btree_map(name(), value_of(&item), 0..3)
            .prop_map(|members| Value::Record(members.into_iter().collect()))
            .boxed(),
        Type::Enum(labels) => prop::sample::select(labels).prop_map(Value::Text).boxed(),
        Type::Record(fields) => fields
            .into_iter()
            .map(|field| {
                let value = value_of(&field.ty).prop_map(Some);
                let member = if field.optional { prop_oneof![Just(None), value].boxed() } else { value.boxed() };
                (Just(field.name), member)
            })
            .collect::<Vec<_>>()
            .prop_map(|members| {
                let present = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
                Value::Record(present.collect())
            })
            .boxed(),
    }
}

pub fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

fn capability() -> impl Strategy<Value = Capability> {
    prop_oneof![
        Just(Capability::Net),
        Just(Capability::Fs),
        Just(Capability::Exec),
        Just(Capability::Secrets),
        Just(Capability::Payments),
        name().prop_map(Capability::Tool),
        name().prop_map(Capability::Model),
    ]
}

fn memory() -> impl Strategy<Value = Vec<MemoryEffect>> {
    let all = vec![MemoryEffect::Read, MemoryEffect::Write, MemoryEffect::Append];
    prop::sample::subsequence(all, 0..=3)
}

fn uncertainty() -> impl Strategy<Value = Uncertainty> {
    prop_oneof![Just(Uncertainty::Deterministic), Just(Uncertainty::Probabilistic), Just(Uncertainty::Generative)]
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let bound = || option::of(any::<u64>());
    (bound(), bound(), bound(), bound(), bound()).prop_map(
        |(steps, latency_us, cost_usd_micros, tokens, memory_bytes)| Bounds {
            steps,
            latency_us,
            cost_usd_micros,
            tokens,
            memory_bytes,
        },
    )
}

/// A path to something that `measured` says yes to, in values of a type.
fn paths(ty: &Type, measured: fn(&Type) -> bool) -> Vec<String> {
    let mut found = if measured(ty) { vec![String::new()] } else { Vec::new() };
    let mut inside = |segment: &str, item: &Type| {
        found.extend(paths(item, measured).into_iter().map(|rest| format!("/{segment}{rest}")));
    };
    match ty {
        Type::Optional(item) => return paths(item, measured),
        Type::List(item) => inside("*", item),
        Type::Map(item) => inside("some key", item),
        Type::Record(fields) => fields
            .iter()
            .filter(|field| field.name != "*")
            .for_each(|field| inside(&field.name.replace('~', "~0").replace('/', "~1"), &field.ty)),
        _ => {}
    }
    found
}

fn check(input: &Type) -> BoxedStrategy<Check> {
    let mut kinds = vec![ty().prop_map(|ty| Check::Shape { ty }).boxed()];
    let texts = paths(input, |ty| matches!(ty, Type::Text | Type::Bytes | Type::Json | Type::Enum(_)));
    if !texts.is_empty() {
        let path = prop::sample::select(texts);
        let table = (3u32..9).prop_flat_map(|bits| (Just(bits), vec(any::<u8>(), 1 << (bits - 3))));
        kinds.push((path.clone(), 0u32..256).prop_map(|(path, classes)| Check::Characters { path, classes }).boxed());
        kinds.push((path, table).prop_map(|(path, (bits, table))| Check::Sketch { path, bits, table }).boxed());
    }
    let numbers = paths(input, |ty| matches!(ty, Type::Int | Type::Number | Type::Json));
    if !numbers.is_empty() {
        let score = (prop::sample::select(numbers), 0u64..2_000_000);
        kinds.push(score.prop_map(|(path, scale)| Check::Score { path, scale }).boxed());
    }
    let lists = paths(input, |ty| matches!(ty, Type::Text | Type::List(_) | Type::Json));
    if !lists.is_empty() {
        let length = (prop::sample::select(lists), any::<u64>(), any::<u64>());
        kinds.push(length.prop_map(|(path, a, b)| Check::Length { path, min: a.min(b), max: a.max(b) }).boxed());
    }
    let numbers = paths(input, |ty| matches!(ty, Type::Int | Type::Number | Type::Json));
    if !numbers.is_empty() {
        let range = (prop::sample::select(numbers), number(), number());
        kinds.push(
            range
                .prop_map(|(path, a, b)| {
                    let (min, max) = if a.compare(&b).is_gt() { (b, a) } else { (a, b) };
                    Check::Range { path, min: min.text(), max: max.text() }
                })
                .boxed(),
        );
    }
    prop::strategy::Union::new(kinds).boxed()
}

/// What one node of a random graph is to be; numbers pick among what there is.
#[derive(Clone, Debug)]
struct Plan {
    kind: u8,
    sources: Vec<prop::sample::Index>,
    output: Type,
    text: String,
    bytes: Vec<u8>,
    capabilities: Vec<Capability>,
    memory: Vec<MemoryEffect>,
    uncertainty: Uncertainty,
    bounds: Bounds,
    limit: u32,
    checks: Vec<prop::sample::Index>,
    digest: Digest,
    flag: bool,
    most: u32,
}

fn plan() -> impl Strategy<Value = Plan> {
    let picks = || vec(any::<prop::sample::Index>(), 1..4);
    (
        (0u8..9, picks(), ty(), "\\S\\PC{0,8}", vec(any::<u8>(), 0..9)),
        (btree_set(capability(), 1..4), memory(), uncertainty(), bounds()),
        (0u32..=1_000_000, picks(), digest(), any::<bool>(), 1..=MAX_ROUNDS),
    )
        .prop_map(
            |(
                (kind, sources, output, text, bytes),
                (capabilities, memory, uncertainty, bounds),
                (limit, checks, digest, flag, most),
            )| {
                let capabilities = capabilities.into_iter().collect();
                Plan {
                    kind,
                    sources,
                    output,
                    text,
                    bytes,
                    capabilities,
                    memory,
                    uncertainty,
                    bounds,
                    limit,
                    checks,
                    digest,
                    flag,
                    most,
                }
            },
        )
}

/// Valid graphs in canonical order.
pub fn graph() -> impl Strategy<Value = Graph> {
    let checks = ty().prop_flat_map(|input| vec(check(&input), 1..4).prop_map(move |checks| (input.clone(), checks)));
    (
        name(),
        checks,
        vec(plan(), 0..7),
        btree_set(any::<u32>(), 12),
        btree_map(name(), vec(any::<prop::sample::Index>(), 1..4), 0..3),
    )
        .prop_map(|(name, (input, checks), plans, ids, regions)| build(name, input, checks, plans, ids, regions))
}

fn build(
    name: String,
    input: Type,
    checks: Vec<Check>,
    plans: Vec<Plan>,
    ids: std::collections::BTreeSet<u32>,
    regions: std::collections::BTreeMap<String, Vec<prop::sample::Index>>,
) -> Graph {
    // Walked from the middle, so that the order of ids is not the order of flow.
    let mut ids: Vec<u32> = ids.into_iter().collect();
    ids.rotate_left(5);
    let mut graph = Graph { name, ..Graph::default() };
    let mut outputs: Vec<(u32, Type)> = Vec::new();
    let first = node(ids[0], Body::Input, &[], Some(input.clone()));
    outputs.push((first.id, input.clone()));
    graph.nodes.push(first);
    let mut ids = ids.into_iter().skip(1);
    for plan in plans {
        let sources: Vec<(u32, Type)> = plan.sources.iter().map(|pick| pick.get(&outputs).clone()).collect();
        let one = vec![sources[0].clone()];
        let (body, sources, output) = match plan.kind {
            0 => (Body::Expression { source: plan.text.clone() }, sources, plan.output.clone()),
            1 => (Body::Model { format: plan.text.clone(), weights: plan.bytes.clone() }, one, plan.output.clone()),
            2 => {
                let checks = if one[0].1 == input {
                    plan.checks.iter().map(|pick| pick.get(&checks).clone()).collect()
                } else {
                    vec![Check::Shape { ty: plan.output.clone() }]
                };
                let ty = one[0].1.clone();
                (Body::Guard(Guard { limit: plan.limit, checks }), one, ty)
            }
            3 => {
                let capability = plan.capabilities[0].to_string();
                (Body::Effect { capability, catches: plan.flag }, one, plan.output.clone())
            }
            4 => {
                let test = plan.sources[plan.sources.len() - 1].get(&outputs).clone();
                let ty = sources[0].1.clone();
                let other = outputs.iter().rev().find(|(_, other)| *other == ty).unwrap().clone();
                (Body::Branch { predicate: plan.text.clone() }, vec![test, sources[0].clone(), other], ty)
            }
            5 => (Body::Module { digest: plan.digest }, one, plan.output.clone()),
            6 => {
                let graph = Box::new(inner(&plan, taken(&sources, false)));
                (Body::Retry { graph, until: plan.text.clone(), most: plan.most }, sources, plan.output.clone())
            }
            7 => {
                // Through a list, or through whatever it is.
                let list = outputs.iter().rev().find(|(_, ty)| matches!(ty, Type::List(_) | Type::Json));
                let mut sources = sources;
                match list {
                    Some(list) => {
                        sources[0] = list.clone();
                        let graph = Box::new(inner(&plan, taken(&sources, true)));
                        (Body::Each { graph, most: plan.most }, sources, Type::list(plan.output.clone()))
                    }
                    None => (Body::Expression { source: plan.text.clone() }, sources, plan.output.clone()),
                }
            }
            _ => (Body::Expression { source: plan.text.clone() }, one, plan.output.clone()),
        };
        let mut made = node(ids.next().unwrap(), body, &sources, Some(output.clone()));
        made.bounds = plan.bounds;
        if matches!(made.body, Body::Effect { .. } | Body::Module { .. }) {
            made.effects = Effects { capabilities: plan.capabilities, memory: plan.memory };
            made.uncertainty = plan.uncertainty;
        }
        if matches!(made.body, Body::Model { .. }) && plan.uncertainty != Uncertainty::Deterministic {
            made.uncertainty = plan.uncertainty;
        }
        connect(&mut graph, &sources, made.id);
        outputs.push((made.id, output));
        graph.nodes.push(made);
    }
    // Whatever nothing takes yet goes into one last expression, so that nothing is unused.
    let loose: Vec<(u32, Type)> =
        outputs.into_iter().filter(|(id, _)| !graph.edges.iter().any(|edge| edge.from.node == *id)).collect();
    let last = node(ids.next().unwrap(), Body::Expression { source: "$".to_owned() }, &loose, Some(Type::Json));
    connect(&mut graph, &loose, last.id);
    let answer = vec![(last.id, Type::Json)];
    graph.nodes.push(last);
    let output = node(ids.next().unwrap(), Body::Output, &answer, None);
    connect(&mut graph, &answer, output.id);
    graph.nodes.push(output);
    for (name, picks) in regions {
        let nodes: std::collections::BTreeSet<u32> = picks.iter().map(|pick| pick.get(&graph.nodes).id).collect();
        graph.regions.push(Region { name, nodes: nodes.into_iter().collect() });
    }
    graph.canonical()
}

/// What the graph of a loop takes.
fn taken(sources: &[(u32, Type)], each: bool) -> Type {
    let ty = |index: usize| match &sources[index].1 {
        Type::List(item) if each && index == 0 => (**item).clone(),
        ty => ty.clone(),
    };
    match sources.len() {
        1 => ty(0),
        count => {
            Type::Record((0..count).map(|index| Field::new(format!("in{index}"), ty(index))).collect()).canonical()
        }
    }
}

/// A graph for a loop: an effect, or where the plan says so an expression in a loop.
fn inner(plan: &Plan, input: Type) -> Graph {
    let mut ask = node(
        4,
        Body::Effect { capability: plan.capabilities[0].to_string(), catches: plan.flag },
        &[(9, input.clone())],
        Some(plan.output.clone()),
    );
    ask.effects = Effects { capabilities: plan.capabilities.clone(), memory: plan.memory.clone() };
    let mut graph = Graph {
        name: plan.text.clone(),
        nodes: vec![
            ask,
            node(7, Body::Output, &[(4, plan.output.clone())], None),
            node(9, Body::Input, &[], Some(input.clone())),
        ],
        edges: vec![edge(9, 4, 0), edge(4, 7, 0)],
        regions: Vec::new(),
    };
    if plan.bytes.len() > 6 {
        let again = Body::Retry { graph: Box::new(graph.clone()), until: plan.text.clone(), most: plan.most };
        graph.nodes[0] = node(4, again, &[(9, input)], Some(plan.output.clone()));
    }
    graph
}

/// A node with the ports its sources ask for, and nothing special.
pub fn node(id: u32, body: Body, sources: &[(u32, Type)], output: Option<Type>) -> Node {
    let inputs = sources.iter().enumerate().map(|(port, (_, ty))| Port::new(format!("in{port}"), ty.clone())).collect();
    let uncertainty =
        if matches!(body, Body::Model { .. }) { Uncertainty::Probabilistic } else { Uncertainty::Deterministic };
    Node {
        id,
        name: format!("n{id}"),
        inputs,
        outputs: output.into_iter().map(|ty| Port::new("out", ty)).collect(),
        effects: Effects::default(),
        uncertainty,
        bounds: Bounds::default(),
        body,
    }
}

/// An edge from the first output of each source to the inputs of `to`, in order.
pub fn connect(graph: &mut Graph, sources: &[(u32, Type)], to: u32) {
    for (port, (from, _)) in sources.iter().enumerate() {
        graph.edges.push(edge(*from, to, port as u32));
    }
}

pub fn edge(from: u32, to: u32, port: u32) -> Edge {
    Edge { from: End { node: from, port: 0 }, to: End { node: to, port } }
}

/// Input 0, guard 1, expression 2, output 3.
pub fn small_graph() -> Graph {
    let ty: Type = "record{doc: text, tags?: list<text>}".parse().unwrap();
    let checks = vec![
        Check::Shape { ty: ty.clone() },
        Check::Length { path: "/doc".to_owned(), min: 1, max: 80 },
        Check::Characters { path: "/tags/*".to_owned(), classes: 0b101 },
        Check::Sketch { path: "/doc".to_owned(), bits: 4, table: vec![0x0F, 0x80] },
    ];
    let graph = Graph {
        name: "small".to_owned(),
        nodes: vec![
            node(0, Body::Input, &[], Some(ty.clone())),
            node(1, Body::Guard(Guard { limit: 50_000, checks }), &[(0, ty.clone())], Some(ty.clone())),
            node(2, Body::Expression { source: "trim($.doc)".to_owned() }, &[(1, ty)], Some(Type::Text)),
            node(3, Body::Output, &[(2, Type::Text)], None),
        ],
        edges: vec![edge(0, 1, 0), edge(1, 2, 0), edge(2, 3, 0)],
        regions: vec![Region { name: "all".to_owned(), nodes: vec![0, 1, 2, 3] }],
    };
    graph.canonical()
}

fn judged() -> impl Strategy<Value = Option<Judged>> {
    option::of(("[a-z/-]{1,9}", 1u32..).prop_map(|(model, opinions)| Judged { model, opinions }))
}

/// Valid manifests in canonical order.
pub fn manifest() -> impl Strategy<Value = Manifest> {
    let share = || option::of(0u32..=1_000_000);
    let pass = || ("[a-z/@.]{1,9}", digest()).prop_map(|(interface, digest)| PassRef { interface, digest });
    let steps = (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(a, b, c)| {
        let p50 = u64::from(a);
        let p95 = p50 + u64::from(b);
        Steps { p50, p95, max: p95 + u64::from(c) }
    });
    (
        (name(), name(), ty(), ty(), btree_set(capability().prop_map(|capability| capability.to_string()), 0..4)),
        (any::<bool>(), digest(), digest(), digest(), digest(), any::<u32>()),
        (share(), share(), share(), any::<u32>(), option::of(steps), any::<u32>()),
        (vec(pass(), 0..4), option::of(digest()), any::<bool>(), vec("\\PC{0,8}", 0..3), judged()),
    )
        .prop_map(|(texts, digests, figures, lists)| {
            let (task, scope, input, output, capabilities) = texts;
            let (guarded, contract, evidence, eval_run, code, observations) = digests;
            let (agreement, coverage, out_of_fold, out_of_fold_rows, steps, module_bytes) = figures;
            let (passes, trusted_gate, reusable, notes, judged) = lists;
            Manifest {
                format: FORMAT,
                task,
                scope,
                input,
                output,
                capabilities: capabilities.into_iter().collect(),
                guarded,
                contract,
                evidence,
                eval_run,
                code,
                observations,
                agreement,
                coverage,
                out_of_fold,
                out_of_fold_rows,
                steps,
                module_bytes,
                passes,
                trusted_gate,
                reusable,
                notes,
                judged,
            }
            .canonical()
        })
}

/// A damaged copy of some bytes.
pub fn damaged(bytes: &[u8], damage: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, kind, value) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        match kind {
            0..4 => bytes[at] ^= 1 << (value % 8),
            4 => bytes[at] = *value,
            5 => bytes.truncate(at),
            6 => bytes.insert(at, *value),
            _ => bytes.extend([0; 4]),
        }
    }
    bytes
}

/// How to damage some bytes.
pub fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    vec((any::<prop::sample::Index>(), 0u8..8, any::<u8>()), 1..4)
}
