//! A recorded run in memory, as importers hand it over (`auto:pass/importer`). How it is
//! kept in the database is not decided here.

use auto_json::Canonical;

/// One recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Unique among all traces; the recorder made it.
    pub id: String,
    /// The task it is a run of.
    pub task: String,
    /// What recorded it.
    pub recorder: String,
    /// Microseconds since 1970.
    pub started: u64,
    /// Free-form notes of the recorder; no key twice.
    pub attributes: Vec<(String, String)>,
    /// What the run was given, where it was declared.
    pub input: Option<Canonical>,
    /// What the run came to, where it was declared.
    pub output: Option<Canonical>,
    /// The recording was cut off; it witnesses nothing.
    pub partial: bool,
    /// In order of opening.
    pub spans: Vec<Span>,
}

/// One recorded operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Unique within the trace.
    pub id: u64,
    /// The span it happened inside of.
    pub parent: Option<u64>,
    /// Order of opening within the trace; strictly rising.
    pub sequence: u64,
    /// What kind of operation.
    pub kind: SpanKind,
    /// Which model, tool, variable or decision.
    pub name: String,
    /// What it was given.
    pub input: Canonical,
    /// What it gave; `null` where it gave nothing.
    pub output: Canonical,
    /// How it failed, if it did. Such a span witnesses no output.
    pub error: Option<String>,
    /// Microseconds since 1970.
    pub started: u64,
    /// Microseconds.
    pub duration: Option<u64>,
    /// Free-form notes of the recorder; no key twice. `cost_usd_micros` and `tokens` are
    /// what the agent says the operation cost.
    pub attributes: Vec<(String, String)>,
}

/// What kind of operation a span records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// A model was asked.
    ModelCall,
    /// A tool was called.
    ToolCall,
    /// Something was read from the environment.
    EnvRead,
    /// Memory was read or written.
    MemoryOp,
    /// The agent decided between ways to go on.
    Branch,
    /// Structure only; never witnessed.
    Structural,
    /// A kind that only some formats have.
    Other(String),
}

impl SpanKind {
    /// The name in traces and contracts; `span` for structure.
    pub fn name(&self) -> &str {
        match self {
            SpanKind::ModelCall => "model_call",
            SpanKind::ToolCall => "tool_call",
            SpanKind::EnvRead => "env_read",
            SpanKind::MemoryOp => "memory_op",
            SpanKind::Branch => "branch",
            SpanKind::Structural => "span",
            SpanKind::Other(name) => name,
        }
    }

    /// The kind of that name; unknown names are [`SpanKind::Other`].
    pub fn from_name(name: &str) -> SpanKind {
        match name {
            "model_call" => SpanKind::ModelCall,
            "tool_call" => SpanKind::ToolCall,
            "env_read" => SpanKind::EnvRead,
            "memory_op" => SpanKind::MemoryOp,
            "branch" => SpanKind::Branch,
            "span" => SpanKind::Structural,
            other => SpanKind::Other(other.to_owned()),
        }
    }
}

impl core::fmt::Display for SpanKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
