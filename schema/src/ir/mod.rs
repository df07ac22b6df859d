//! The IR graph: what a behaviour is before it is code.
//!
//! A graph is typed dataflow. Exactly one [`Body::Input`] node gives the value a call is
//! made with, exactly one [`Body::Output`] node takes the answer; in between, values flow
//! along edges from output ports to input ports. A node runs at most once, when what it
//! gives is needed and all it takes is there; a branch needs only the side it takes. A
//! node that gives nothing (an undefined expression, a guard that does not know the
//! input) ends the call with an abstention.
//!
//! What a graph must keep to is in `validate`; [`Graph::validate`] reports every broken
//! rule. Bytes are FlatBuffers (`ir.fbs`), canonical: one valid graph has one encoding,
//! [`Graph::to_bytes`] makes it and [`Graph::from_bytes`] accepts nothing else. Nothing
//! here runs a graph.
//!
//! Values are asked for from the output backwards: the inputs of a node in the order of its
//! ports, each before the node; a branch asks for what it tests, then for the side it takes.
//! So the order of effects is part of what a graph means.

mod bytes;
pub mod model;
mod path;
mod text;
mod validate;

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::types::Type;

pub use crate::violation::Violation;
pub use path::{Step, parse_path, type_at, visit};

/// The version of the encoding; the only one there is.
pub const VERSION: u16 = 1;

/// The most bytes of names, texts, weights and tables in one graph.
pub const MAX_CONTENT: usize = 64 << 20;

/// How deep loops may nest: a graph in a node of a graph is nested once.
pub const MAX_NESTING: usize = 4;

/// The most rounds that a loop may be bound to.
pub const MAX_ROUNDS: u32 = 10_000;

/// One million: the whole, in parts per million.
pub const PPM: u32 = 1_000_000;

/// A behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What it is called, for people.
    pub name: String,
    /// Canonical order: by id.
    pub nodes: Vec<Node>,
    /// Canonical order: by the end they go to, then by where they come from.
    pub edges: Vec<Edge>,
    /// Canonical order: by name.
    pub regions: Vec<Region>,
}

/// One step of a behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique in the graph.
    pub id: u32,
    /// For people; need not be unique.
    pub name: String,
    /// What it takes. Every input port is driven by exactly one edge.
    pub inputs: Vec<Port>,
    /// What it gives.
    pub outputs: Vec<Port>,
    /// What it may do beside computing.
    pub effects: Effects,
    /// How far its result can be relied on.
    pub uncertainty: Uncertainty,
    /// What it may use.
    pub bounds: Bounds,
    /// What it is.
    pub body: Body,
}

/// Where a value goes in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Unique among the node's inputs, or its outputs.
    pub name: String,
    /// What flows through it; the same at both ends of an edge.
    pub ty: Type,
}

impl Port {
    /// A port.
    pub fn new(name: impl Into<String>, ty: Type) -> Port {
        Port { name: name.into(), ty }
    }
}

/// Carries the value of an output port to an input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// An output port.
    pub from: End,
    /// An input port.
    pub to: End,
}

/// A port, from outside its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The node's id.
    pub node: u32,
    /// Which of the node's inputs or outputs, from 0.
    pub port: u32,
}

/// Some nodes with a name, for people and for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Unique in the graph.
    pub name: String,
    /// Ids; at least one. Canonical order: ascending.
    pub nodes: Vec<u32>,
}

/// What a node may do beside computing its outputs. Only [`Body::Effect`] and
/// [`Body::Module`] nodes may do anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// What it may ask for. Canonical order: as declared in [`Capability`].
    pub capabilities: Vec<Capability>,
    /// What it may do to the agent's memory. Canonical order: as declared.
    pub memory: Vec<MemoryEffect>,
}

/// Something only the runner can do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// The network.
    Net,
    /// Files.
    Fs,
    /// Other programs.
    Exec,
    /// Secrets.
    Secrets,
    /// Payments.
    Payments,
    /// A named tool of the agent.
    Tool(String),
    /// A language model, by its id.
    Model(String),
    /// The agent's memory. Declared as a [`MemoryEffect`], not among a node's capabilities.
    Memory(MemoryEffect),
}

impl Capability {
    /// Reads the text form: `net`, `fs`, `exec`, `secrets`, `payments`, `tool:NAME`,
    /// `model:ID`, `memory:read`, `memory:write` or `memory:append`.
    pub fn parse(text: &str) -> Option<Capability> {
        let named = |kind| text.strip_prefix(kind).filter(|name| !name.is_empty()).map(str::to_owned);
        Some(match text {
            "net" => Capability::Net,
            "fs" => Capability::Fs,
            "exec" => Capability::Exec,
            "secrets" => Capability::Secrets,
            "payments" => Capability::Payments,
            _ => match (named("tool:"), named("model:")) {
                (Some(name), _) => Capability::Tool(name),
                (None, Some(id)) => Capability::Model(id),
                (None, None) => Capability::Memory(MemoryEffect::parse(text.strip_prefix("memory:")?)?),
            },
        })
    }
}

impl core::fmt::Display for Capability {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Capability::Net => f.write_str("net"),
            Capability::Fs => f.write_str("fs"),
            Capability::Exec => f.write_str("exec"),
            Capability::Secrets => f.write_str("secrets"),
            Capability::Payments => f.write_str("payments"),
            Capability::Tool(name) => write!(f, "tool:{name}"),
            Capability::Model(id) => write!(f, "model:{id}"),
            Capability::Memory(effect) => write!(f, "memory:{}", effect.name()),
        }
    }
}

/// What a node may do to the agent's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryEffect {
    /// Look something up.
    Read,
    /// Replace something.
    Write,
    /// Add something.
    Append,
}

impl MemoryEffect {
    /// Reads a name: `read`, `write` or `append`.
    pub fn parse(name: &str) -> Option<MemoryEffect> {
        let all = [MemoryEffect::Read, MemoryEffect::Write, MemoryEffect::Append];
        all.into_iter().find(|effect| effect.name() == name)
    }

    /// What it is called in texts and recordings.
    pub fn name(self) -> &'static str {
        match self {
            MemoryEffect::Read => "read",
            MemoryEffect::Write => "write",
            MemoryEffect::Append => "append",
        }
    }
}

/// How far a node's result can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uncertainty {
    /// The same inputs give the same, and rightly.
    #[default]
    Deterministic,
    /// A guess with a known rate of error: a trained model.
    Probabilistic,
    /// Free text of a generator.
    Generative,
}

/// What one run of a node may use; `None` says nothing. Declared, and checked by whoever
/// can measure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Metered steps.
    pub steps: Option<u64>,
    /// Microseconds.
    pub latency_us: Option<u64>,
    /// Micro-USD.
    pub cost_usd_micros: Option<u64>,
    /// Tokens of a language model.
    pub tokens: Option<u64>,
    /// Bytes.
    pub memory_bytes: Option<u64>,
}

/// What a node is. The number of ports is part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The value the call is made with. No input, one output.
    Input,
    /// A program in the expression language. One input or more, one output. With one
    /// input, `$` is its value; with several, `$` is the record of them by port name.
    Expression {
        /// Canonical text. Its grammar and types are checked by who compiles it.
        source: String,
    },
    /// A trained model. One input, one output; never deterministic.
    Model {
        /// What the weights are; [`model`] has the formats that are known here.
        format: String,
        /// The model, in that format.
        weights: Vec<u8>,
    },
    /// Lets its input through, or ends the call with an abstention. One input, one output
    /// of the same type.
    Guard(Guard),
    /// Asks the runner for an effect: the input goes out, the reply comes in. One input,
    /// one output.
    Effect {
        /// Text of a [`Capability`] that the node's effects declare, one of memory as such.
        capability: String,
        /// Whether an error is handed on: the output is then `{"ok": REPLY}` or
        /// `{"err": MESSAGE}`. Otherwise it is the reply, and an error ends the call with
        /// an abstention.
        catches: bool,
    },
    /// Chooses. Three inputs (what is tested; what it gives where the predicate is true;
    /// what it gives where it is false), one output of the type of the last two.
    Branch {
        /// An expression over the first input, in canonical text, that gives a boolean.
        predicate: String,
    },
    /// Code from elsewhere. One input, one output.
    Module {
        /// SHA-256 of the code.
        digest: Digest,
    },
    /// The answer. One input, no output.
    Output,
    /// Runs a graph for each item of a list, in order, and gives the list of what it
    /// answers. One input or more, the first the list; one output. With one input, the
    /// graph's input is the item; with several, the record of all by port name, with the
    /// item in the place of the list.
    Each {
        /// What is run.
        graph: Box<Graph>,
        /// The most items; a longer list ends the call with an abstention.
        most: u32,
    },
    /// Runs a graph until what it answers will do. One input or more, one output. With one
    /// input, the graph's input is its value; with several, the record of all by port name.
    Retry {
        /// What is run.
        graph: Box<Graph>,
        /// An expression over what the graph answers, in canonical text, that gives a
        /// boolean: whether it will do.
        until: String,
        /// The most runs; where the last one will not do either, the call ends with an
        /// abstention.
        most: u32,
    },
}

impl Body {
    /// The kind, as the text form has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Input => "input",
            Body::Expression { .. } => "expression",
            Body::Model { .. } => "model",
            Body::Guard(_) => "guard",
            Body::Effect { .. } => "effect",
            Body::Branch { .. } => "branch",
            Body::Module { .. } => "module",
            Body::Output => "output",
            Body::Each { .. } => "each",
            Body::Retry { .. } => "retry",
        }
    }

    /// The graph inside a loop.
    pub fn graph(&self) -> Option<&Graph> {
        match self {
            Body::Each { graph, .. } | Body::Retry { graph, .. } => Some(graph),
            _ => None,
        }
    }
}

/// Decides whether an input is like what was witnessed. The checks run in order, each
/// scores what it sees in parts per million, the highest score counts; above the limit,
/// the behaviour abstains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The most the score may be, in parts per million.
    pub limit: u32,
    /// At least one.
    pub checks: Vec<Check>,
}

/// One check of a guard. A path is a JSON pointer into the input in which `*` stands for
/// every item of a list ([`parse_path`]); where it meets no value the check scores 0, where
/// it meets several their highest score counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Scores 1,000,000 where the type does not accept the input.
    Shape {
        /// What was witnessed.
        ty: Type,
    },
    /// Scores 1,000,000 where a text's code points or a list's items are not in
    /// `min..=max`.
    Length {
        /// To texts or lists.
        path: String,
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// Scores 1,000,000 where a text has a character of a class not in the mask.
    Characters {
        /// To texts.
        path: String,
        /// One bit per class: 0 lower case, 1 upper case, 2 digit, 3 space, 4 ASCII
        /// punctuation, 5 ASCII control, 6 other letter, 7 anything else.
        classes: u32,
    },
    /// Scores 1,000,000 where a number is not in `min..=max`, by value.
    Range {
        /// To numbers.
        path: String,
        /// Canonical text of an exact number.
        min: String,
        /// Canonical text of an exact number.
        max: String,
    },
    /// Scores the share of a text's trigrams that the table has never seen.
    Sketch {
        /// To texts.
        path: String,
        /// The table has `2^bits` bits; 3 to 24.
        bits: u32,
        /// Bit `i` is bit `i % 8` of byte `i / 8`.
        table: Vec<u8>,
    },
    /// Scores what a model thinks of its own answer: a whole number, scaled. What is above a
    /// million counts as a million; what is below 0 or no whole number scores 1,000,000.
    Score {
        /// To numbers, such as the `doubt` of a model.
        path: String,
        /// What a million counts, in parts per million; 1,000,000 leaves the number as it is.
        scale: u64,
    },
}

impl Check {
    /// The kind, as the text form has it; also the `reason` of an abstention.
    pub fn kind(&self) -> &'static str {
        match self {
            Check::Shape { .. } => "shape",
            Check::Length { .. } => "length",
            Check::Characters { .. } => "characters",
            Check::Range { .. } => "range",
            Check::Sketch { .. } => "sketch",
            Check::Score { .. } => "score",
        }
    }
}

impl Graph {
    /// The node of that id.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The one input node, in a valid graph.
    pub fn input(&self) -> Option<&Node> {
        self.nodes.iter().find(|node| node.body == Body::Input)
    }

    /// The one output node, in a valid graph.
    pub fn output(&self) -> Option<&Node> {
        self.nodes.iter().find(|node| node.body == Body::Output)
    }

    /// Whether everything that takes the input is a guard.
    pub fn is_guarded(&self) -> bool {
        let guards: BTreeSet<u32> =
            self.nodes.iter().filter(|node| matches!(node.body, Body::Guard(_))).map(|node| node.id).collect();
        let input = self.input().map(|node| node.id);
        input.is_some() && self.edges.iter().all(|edge| Some(edge.from.node) != input || guards.contains(&edge.to.node))
    }

    /// Whether something in it is a trained model.
    pub fn is_learned(&self) -> bool {
        // Only what was learnt is weighed by how sure it is.
        let weighed = |check: &Check| matches!(check, Check::Score { .. });
        let learned = |node: &Node| match &node.body {
            Body::Model { .. } => true,
            Body::Guard(guard) => guard.checks.iter().any(weighed),
            body => body.graph().is_some_and(Graph::is_learned),
        };
        self.nodes.iter().any(learned)
    }

    /// Everything that can be asked for, in canonical order: what the effect nodes of this
    /// graph and of those inside it ask for, and what code from elsewhere may.
    pub fn capabilities(&self) -> Vec<Capability> {
        let mut all: Vec<Capability> = self.nodes.iter().flat_map(Node::requests).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Puts everything that has no order of its own into canonical order.
    #[must_use]
    pub fn canonical(mut self) -> Graph {
        self.sort();
        self
    }

    fn sort(&mut self) {
        self.nodes.sort_by_key(|node| node.id);
        self.nodes.iter_mut().for_each(Node::sort);
        self.edges.sort_by_key(|edge| (edge.to, edge.from));
        self.regions.sort_by(|a, b| a.name.cmp(&b.name));
        self.regions.iter_mut().for_each(|region| region.nodes.sort_unstable());
    }
}

impl Node {
    /// What it can ask for.
    fn requests(&self) -> Vec<Capability> {
        match &self.body {
            Body::Effect { capability, .. } => Capability::parse(capability).into_iter().collect(),
            Body::Module { .. } => {
                let memory = self.effects.memory.iter().map(|effect| Capability::Memory(*effect));
                self.effects.capabilities.iter().cloned().chain(memory).collect()
            }
            body => body.graph().map(Graph::capabilities).unwrap_or_default(),
        }
    }

    fn sort(&mut self) {
        self.inputs.iter_mut().chain(&mut self.outputs).for_each(|port| port.ty.sort());
        self.effects.capabilities.sort();
        self.effects.memory.sort();
        match &mut self.body {
            Body::Guard(guard) => {
                for check in &mut guard.checks {
                    if let Check::Shape { ty } = check {
                        ty.sort();
                    }
                }
            }
            Body::Each { graph, .. } | Body::Retry { graph, .. } => graph.sort(),
            _ => {}
        }
    }
}
