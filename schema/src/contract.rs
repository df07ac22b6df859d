//! The contract: what a behaviour must do, and the type system of the compiler.
//!
//! A contract is written in TOML (feature `toml`, [`Contract::load`]), checked once, and
//! from then on travels as a [`Value`]: [`Contract::to_value`] is the canonical form whose
//! SHA-256 is the contract's id, and [`Contract::from_value`] reads it back as strictly as
//! the file was read. Judging by a contract is the gate's work; only what a single
//! property says about a single value is decided here.

mod claim;
mod conform;
#[cfg(feature = "toml")]
mod file;
mod place;
mod property;
mod read;
mod spot;

pub use claim::{Claim, Pattern, Relation};
#[cfg(feature = "toml")]
pub use file::Predicate;
pub use place::{Place, Side};
pub use property::{Condition, Property};

use core::cmp::Ordering;
use core::fmt;

use auto_json::{Number, Record, Value};

use crate::digest::Digest;
use crate::types::Type;

/// The contract versions that are read. Version 0 is the peer's format and means what it
/// meant there; version 1 can say more.
pub const CONTRACT_VERSIONS: [u32; 2] = [0, 1];

/// How sure `max_silent_error_ppm` has to be where nothing is said, in parts per million.
const SILENT_ERROR_CONFIDENCE: u32 = 950_000;

/// The share of held-out inputs that a guard must admit where nothing is said, in parts per million.
pub const GUARD_ADMIT: u32 = 950_000;

/// A contract that was read and found sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// One of [`CONTRACT_VERSIONS`].
    pub version: u32,
    /// The task whose traces it speaks of.
    pub task: String,
    /// Which part of a trace it speaks of.
    pub scope: Scope,
    /// The type of inputs.
    pub input: Type,
    /// The type of outputs.
    pub output: Type,
    /// Whether an artifact must carry a guard.
    pub guard: GuardPolicy,
    /// Named input and output pairs, in the order written.
    pub examples: Vec<Example>,
    /// Claims about every output, in the order written.
    pub properties: Vec<Property>,
    /// What the eval sets hold, in the order of files and lines.
    pub cases: Vec<EvalCase>,
    /// What the reference and the artifact may cost.
    pub budgets: Budgets,
    /// What an artifact must reach.
    pub acceptance: Acceptance,
}

/// Which part of a trace is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole run: task input to task output.
    Task,
    /// Every span of that kind and name.
    Span {
        /// The kind of the spans.
        kind: SpanKind,
        /// Their name.
        name: String,
    },
    /// The spans from one named span to another.
    Region {
        /// The name of the first span.
        from: String,
        /// The name of the last.
        to: String,
    },
}

/// The kinds of span that have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// A call of a language model.
    ModelCall,
    /// A call of a tool.
    ToolCall,
    /// A read of the environment.
    EnvRead,
    /// An operation on the agent's memory.
    MemoryOp,
    /// A decision of the agent's own code.
    Branch,
}

/// How an output is compared with the expected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Match {
    /// Equal as canonical JSON.
    #[default]
    Exact,
    /// Equal, but for numbers, which may differ by this much (version 1).
    Approximate(Number),
    /// Equal, or a judge says that it means the same.
    Judged,
}

/// Whether an artifact must carry a guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardPolicy {
    /// It must; this is the default.
    #[default]
    Auto,
    /// It may answer any input of its type.
    None,
}

/// A named input and the output it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Unique within the contract.
    pub name: String,
    /// How outputs are compared.
    pub compare: Match,
    /// Of the input type.
    pub input: Value,
    /// Of the output type.
    pub output: Value,
}

/// A line of an eval set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalCase {
    /// Of the input type.
    pub input: Value,
    /// Of the output type; none where the case only asks for an answer.
    pub expected: Option<Value>,
}

/// What may be spent. A budget on the reference is judged by `verify` of recordings and
/// never keeps an artifact from being made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// What the reference may cost.
    pub reference: ReferenceBudgets,
    /// What an artifact may cost (version 1).
    pub artifact: ArtifactBudgets,
}

/// What the reference may cost; each is a 95th percentile over its recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReferenceBudgets {
    /// Milliseconds.
    pub max_latency_ms_p95: Option<u64>,
    /// Micro-USD.
    pub max_cost_usd_micros: Option<u64>,
    /// Tokens.
    pub max_tokens: Option<u64>,
}

/// What an artifact may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArtifactBudgets {
    /// Metered steps of a call: the most over everything that was run.
    pub max_steps: Option<u64>,
    /// Metered steps of a call, the 95th percentile.
    pub max_steps_p95: Option<u64>,
    /// Bytes of the module, without manifest.
    pub max_bytes: Option<u64>,
    /// Microseconds of a call, the 95th percentile on the machine that judges.
    pub max_latency_us_p95: Option<u64>,
}

/// What an artifact must reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acceptance {
    /// Parts per million (1 to 1,000,000) of the distinct inputs whose recorded output it
    /// must give; none asks for every one, and for recordings without divergence. Version
    /// 0 counts in thousandths.
    pub agreement_min_ppm: Option<u32>,
    /// How replays are compared with recordings.
    pub compare: Match,
    /// Parts per million (0 to 1,000,000) of the held-out inputs that a program which had
    /// not been shown them must answer rightly; none reports the figure and asks nothing
    /// of a program that is a rule.
    pub out_of_fold_min_ppm: Option<u32>,
    /// Parts per million of the held-out inputs that may be answered wrongly (version 1).
    pub max_silent_error_ppm: Option<u32>,
    /// How sure that has to be, in parts per million: below 1,000,000, and 950,000 where none is
    /// given; 0 takes the count of the held-out inputs for enough (version 1).
    pub silent_error_confidence_ppm: Option<u32>,
    /// What is learnt from an input that was recorded with several outputs (version 1).
    pub divergent: Divergent,
    /// A floor for each class of outputs (version 1).
    pub classes: Option<ClassFloor>,
    /// Whether an artifact may be a table of what was recorded where no rule was found
    /// (version 1). It then answers what was recorded and abstains on everything else.
    pub memorise: bool,
    /// Parts per million of the held-out inputs that the guard must admit; 950,000 where
    /// none is given (version 1).
    pub guard_admit_ppm: Option<u32>,
    /// The most questions to the judge (version 1).
    pub judge_calls: Option<u32>,
}

/// What is learnt from an input that was recorded with several outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Divergent {
    /// Nothing.
    #[default]
    Refuse,
    /// The most frequent output; of several the one whose canonical text sorts first.
    MostCommon,
    /// By a rule nothing; by a model every output, as often as it was recorded.
    Weighted,
}

impl Divergent {
    /// Every choice, by its name.
    pub const NAMES: [(&str, Divergent); 3] =
        [("refuse", Divergent::Refuse), ("most-common", Divergent::MostCommon), ("weighted", Divergent::Weighted)];

    /// The name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, choice)| *choice == self).map_or("refuse", |(name, _)| name)
    }
}

/// A floor for each class of outputs: held-out inputs with the same value at a path of
/// their recorded output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFloor {
    /// Where in the output.
    pub place: Place,
    /// Parts per million (1 to 1,000,000) of a class that must be answered rightly.
    pub min_ppm: u32,
}

/// Why a contract was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractError {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// The key path (`property[0].pattern`), after `file:line:column ` where it was read
    /// from a file.
    pub at: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Contract {
    /// Reads the canonical form, or the parsed form of a contract file whose eval sets are
    /// inlined as `eval_cases`. Strict: an unknown key is an error.
    ///
    /// Codes: `missing-key`, `unknown-key`, `wrong-type`, `bad-value`, `bad-version`,
    /// `bad-type`, `bad-regex`, `type-mismatch`, `duplicate-name`, `contradiction`.
    pub fn from_value(value: &Value) -> Result<Contract, ContractError> {
        read::contract(value, &read::CANONICAL)
    }

    /// The canonical form: what is not declared, or declared to be the default, is absent.
    pub fn to_value(&self) -> Value {
        let interface = Record::new().with("input", self.input.to_string()).with("output", self.output.to_string());
        let mut root = Record::new()
            .with("contract_version", self.version)
            .with("task", self.task.as_str())
            .with("scope", self.scope.to_record())
            .with("interface", interface);
        set_list(&mut root, "example", &self.examples, Example::to_value);
        set_list(&mut root, "property", &self.properties, Property::to_value);
        set_list(&mut root, "eval_cases", &self.cases, EvalCase::to_value);
        set_record(&mut root, "budgets", self.budgets.to_record(self.version));
        set_record(&mut root, "acceptance", self.acceptance.to_record(self.version));
        if self.guard == GuardPolicy::None {
            root.set("guard", "none");
        }
        root.into()
    }

    /// SHA-256 of the canonical form: comments, layout and defaults do not change it.
    pub fn id(&self) -> Digest {
        Digest::of(self.to_value().canonical().as_str().as_bytes())
    }
}

fn set_list<T>(root: &mut Record, key: &str, items: &[T], to_value: impl Fn(&T) -> Value) {
    if !items.is_empty() {
        root.set(key, items.iter().map(to_value).collect::<Vec<_>>());
    }
}

fn set_record(root: &mut Record, key: &str, record: Record) {
    if !record.is_empty() {
        root.set(key, record);
    }
}

fn set_option(record: &mut Record, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        record.set(key, value);
    }
}

/// A default that is written out is the same contract as one that is not.
fn set_unless(record: &mut Record, key: &str, value: Option<u32>, default: u32) {
    set_option(record, key, value.filter(|value| *value != default));
}

impl Scope {
    fn to_record(&self) -> Record {
        match self {
            Scope::Task => Record::new().with("type", "task"),
            Scope::Span { kind, name } => {
                Record::new().with("type", "span").with("kind", kind.as_str()).with("name", name.as_str())
            }
            Scope::Region { from, to } => {
                Record::new().with("type", "region").with("from", from.as_str()).with("to", to.as_str())
            }
        }
    }
}

impl fmt::Display for Scope {
    /// `task`, `span model_call NAME` or `region FROM..TO`, as the manifest writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Task => f.write_str("task"),
            Scope::Span { kind, name } => write!(f, "span {} {name}", kind.as_str()),
            Scope::Region { from, to } => write!(f, "region {from}..{to}"),
        }
    }
}

impl SpanKind {
    /// Every kind.
    pub const ALL: [SpanKind; 5] =
        [SpanKind::ModelCall, SpanKind::ToolCall, SpanKind::EnvRead, SpanKind::MemoryOp, SpanKind::Branch];

    /// The name in traces and contracts.
    pub const fn as_str(self) -> &'static str {
        match self {
            SpanKind::ModelCall => "model_call",
            SpanKind::ToolCall => "tool_call",
            SpanKind::EnvRead => "env_read",
            SpanKind::MemoryOp => "memory_op",
            SpanKind::Branch => "branch",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<SpanKind> {
        SpanKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Match {
    /// The name in contracts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Match::Exact => "exact",
            Match::Approximate(_) => "approximate",
            Match::Judged => "judged",
        }
    }

    /// Whether an output counts as the expected one without asking anybody.
    pub fn agrees(self, output: &Value, expected: &Value) -> bool {
        match self {
            Match::Exact | Match::Judged => output == expected,
            Match::Approximate(tolerance) => near(output, expected, &tolerance),
        }
    }

    fn write(self, mut record: Record, key: &str) -> Record {
        record.set(key, self.as_str());
        if let Match::Approximate(tolerance) = self {
            record.set("tolerance", tolerance);
        }
        record
    }
}

/// Equal but for numbers, which are at most `tolerance` apart.
fn near(output: &Value, expected: &Value, tolerance: &Number) -> bool {
    match (output, expected) {
        (Value::Number(a), Value::Number(b)) => {
            claim::distance(a, b).is_some_and(|distance| distance.compare(tolerance) != Ordering::Greater)
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b, tolerance)),
        (Value::Record(a), Value::Record(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && near(a, b, tolerance))
        }
        (a, b) => a == b,
    }
}

impl Example {
    fn to_value(&self) -> Value {
        let record = self.compare.write(Record::new().with("name", self.name.as_str()), "match");
        record.with("input", self.input.clone()).with("output", self.output.clone()).into()
    }
}

impl EvalCase {
    fn to_value(&self) -> Value {
        let mut record = Record::new().with("input", self.input.clone());
        set_option(&mut record, "expected", self.expected.clone());
        record.into()
    }
}

impl Budgets {
    /// Version 0 knows budgets of the reference alone.
    fn to_record(self, version: u32) -> Record {
        if version == 0 {
            return self.reference.to_record();
        }
        let mut record = Record::new();
        set_record(&mut record, "reference", self.reference.to_record());
        set_record(&mut record, "artifact", self.artifact.to_record());
        record
    }
}

impl ReferenceBudgets {
    fn to_record(self) -> Record {
        let mut record = Record::new();
        set_option(&mut record, "max_latency_ms_p95", self.max_latency_ms_p95);
        set_option(&mut record, "max_cost_usd_micros", self.max_cost_usd_micros);
        set_option(&mut record, "max_tokens", self.max_tokens);
        record
    }
}

impl ArtifactBudgets {
    fn to_record(self) -> Record {
        let mut record = Record::new();
        set_option(&mut record, "max_steps", self.max_steps);
        set_option(&mut record, "max_steps_p95", self.max_steps_p95);
        set_option(&mut record, "max_bytes", self.max_bytes);
        set_option(&mut record, "max_latency_us_p95", self.max_latency_us_p95);
        record
    }
}

impl Acceptance {
    /// How sure `max_silent_error_ppm` has to be, in parts per million.
    pub fn silent_error_confidence(&self) -> u32 {
        self.silent_error_confidence_ppm.unwrap_or(SILENT_ERROR_CONFIDENCE)
    }

    fn to_record(&self, version: u32) -> Record {
        let mut record = Record::new();
        set_option(&mut record, "out_of_fold_min_ppm", self.out_of_fold_min_ppm);
        if version == 0 {
            set_option(&mut record, "differential_min_agreement_milli", self.agreement_min_ppm.map(|ppm| ppm / 1_000));
            if self.compare != Match::Exact {
                record.set("differential_match", self.compare.as_str());
            }
            return record;
        }
        set_option(&mut record, "agreement_min_ppm", self.agreement_min_ppm);
        if self.compare != Match::Exact {
            record = self.compare.write(record, "match");
        }
        set_option(&mut record, "max_silent_error_ppm", self.max_silent_error_ppm);
        set_unless(
            &mut record,
            "silent_error_confidence_ppm",
            self.silent_error_confidence_ppm,
            SILENT_ERROR_CONFIDENCE,
        );
        if self.divergent != Divergent::Refuse {
            record.set("divergent", self.divergent.as_str());
        }
        if let Some(classes) = &self.classes {
            record.set("classes", Record::new().with("path", classes.place.path()).with("min_ppm", classes.min_ppm));
        }
        if self.memorise {
            record.set("memorise", true);
        }
        set_unless(&mut record, "guard_admit_ppm", self.guard_admit_ppm, GUARD_ADMIT);
        set_unless(&mut record, "judge_calls", self.judge_calls, crate::judging::QUESTIONS);
        record
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            write!(f, "{} [{}]", self.message, self.code)
        } else {
            write!(f, "{}: {} [{}]", self.at, self.message, self.code)
        }
    }
}

impl core::error::Error for ContractError {}
