//! What can be changed: one table of operations. The operation alone says which primitive it
//! belongs to and who has to agree; what a teacher says about either is not read.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Fields;
use crate::Refusal;
use crate::catalog::Catalog;
use crate::spec::is_name;

const CODE: &str = "bad-edit";

/// The four parts of a spec that can be edited. How it learns is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// Which model answers what, and how it is set.
    Intelligence,
    /// What runs the models.
    Engine,
    /// Prompts, examples, classes and parameters.
    Agents,
    /// What an agent can call, and what it remembers with.
    ToolsAndMemory,
}

impl Primitive {
    /// As teachers write it.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Intelligence => "intelligence",
            Primitive::Engine => "engine",
            Primitive::Agents => "agent",
            Primitive::ToolsAndMemory => "tools",
        }
    }
}

/// Who has to agree to an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The gate.
    Auto,
    /// A person, and the gate.
    Review,
    /// Nobody but a person may do it.
    Manual,
}

impl Tier {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Auto => "auto",
            Tier::Review => "review",
            Tier::Manual => "manual",
        }
    }

    /// Reads one.
    pub fn parse(text: &str) -> Option<Tier> {
        [Tier::Auto, Tier::Review, Tier::Manual].into_iter().find(|tier| tier.name() == text)
    }
}

macro_rules! ops {
    ($($op:ident $name:literal $primitive:ident $tier:ident [$($need:literal),*] [$($may:literal),*];)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "their names say it; the table in the book tells more")]
        pub enum Op { $($op),* }

        impl Op {
            /// All of them.
            pub const ALL: &[Op] = &[$(Op::$op),*];

            /// As it is written.
            pub fn name(self) -> &'static str {
                match self { $(Op::$op => $name),* }
            }

            /// What it changes.
            pub fn primitive(self) -> Primitive {
                match self { $(Op::$op => Primitive::$primitive),* }
            }

            /// Who has to agree, whatever it is about.
            pub fn tier(self) -> Tier {
                match self { $(Op::$op => Tier::$tier),* }
            }

            /// Keys that its payload has to have, and those that it may.
            pub fn payload(self) -> (&'static [&'static str], &'static [&'static str]) {
                match self { $(Op::$op => (&[$($need),*], &[$($may),*])),* }
            }
        }
    };
}

ops! {
    SetModelForQueryClass "set_model_for_query_class" Intelligence Auto ["query_class", "model"] [];
    SetModelParam "set_model_param" Intelligence Auto ["model", "param", "value"] [];
    LoraFinetune "lora_finetune" Intelligence Manual [] ["model", "dataset", "rank", "epochs"];
    SetEngine "set_engine" Engine Review ["id"] [];
    SetEngineParam "set_engine_param" Engine Auto ["param", "value"] [];
    PatchSystemPrompt "patch_system_prompt" Agents Review ["diff"] ["agent"];
    ReplaceSystemPrompt "replace_system_prompt" Agents Review ["new_content"] ["agent"];
    SetAgentClass "set_agent_class" Agents Review ["new_class"] ["agent"];
    SetAgentParam "set_agent_param" Agents Auto ["param", "value"] ["agent"];
    EditFewShotExemplars "edit_few_shot_exemplars" Agents Review ["exemplars"] ["agent"];
    AddToolToAgent "add_tool_to_agent" ToolsAndMemory Auto ["tool_name"] ["agent"];
    RemoveToolFromAgent "remove_tool_from_agent" ToolsAndMemory Auto ["tool_name"] ["agent"];
    EditToolDescription "edit_tool_description" ToolsAndMemory Auto ["tool_name", "new_description"] [];
    SetMemoryBackend "set_memory_backend" ToolsAndMemory Review ["backend"] [];
    SetMemoryParam "set_memory_param" ToolsAndMemory Auto ["param", "value"] [];
}

impl Op {
    /// Reads a name.
    pub fn parse(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }
}

/// One change, as it was proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Twelve digits of the digest of what it does.
    pub id: String,
    /// What is done.
    pub op: Op,
    /// The agent it is about, where it is about one.
    pub agent: String,
    /// Checked to have the keys of the operation and no others.
    pub payload: Record,
    /// The teacher's reason.
    pub why: String,
    /// Traces and tasks it rests on.
    pub refs: Vec<String>,
}

impl Edit {
    /// Reads an edit as a teacher writes it. `pillar`, `target` and `risk_tier` may be there; the
    /// first two have to agree with the operation, the third is not read.
    pub fn read(value: &Value, place: &str) -> Result<Edit, Refusal> {
        let fields = Fields::of(value, place, CODE)?;
        fields.only(&[
            "id",
            "pillar",
            "op",
            "target",
            "payload",
            "rationale",
            "expected_improvement",
            "risk_tier",
            "references",
        ])?;
        let name = fields.need_text("op")?;
        let op = Op::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
            Refusal::new("unknown-op", format!("there is no operation {name:?}; there are: {}", known.join(", ")))
                .at(fields.place_of("op"))
        })?;
        if let Some(pillar) = fields.text("pillar")?
            && pillar != op.primitive().name()
        {
            let message = format!("{name} edits `{}`, and the edit says `{pillar}`", op.primitive().name());
            return Err(Refusal::new("pillar-mismatch", message).at(fields.place_of("pillar")));
        }
        let payload = fields.need_fields("payload")?;
        let (need, may) = op.payload();
        payload.only(&[need, may].concat())?;
        need.iter().try_for_each(|key| payload.need(key).map(drop))?;
        let agent = agent(op, &payload, fields.text("target")?)?;
        // Kept apart, so that an edit that names the agent it would be about anyway is the same edit.
        let mut own = payload.record().clone();
        own.remove("agent");
        let mut edit = Edit {
            id: String::new(),
            op,
            agent,
            payload: own,
            why: fields.text("rationale")?.unwrap_or_default().to_owned(),
            refs: fields.texts("references")?.unwrap_or_default(),
        };
        edit.id = Digest::of(edit.essence().canonical().as_str().as_bytes()).to_string()[..12].to_owned();
        Ok(edit)
    }

    /// What it does, without why.
    pub fn essence(&self) -> Value {
        let record = Record::new().with("op", self.op.name()).with("payload", self.payload.clone());
        if self.agent.is_empty() { record.into() } else { record.with("agent", self.agent.as_str()).into() }
    }

    /// Who has to agree. A tool that changes something in the world is given to an agent by a
    /// person only, whatever is set of the operation.
    pub fn tier(&self, catalog: &Catalog) -> Tier {
        let tool = self.payload.get("tool_name").and_then(Value::as_text).unwrap_or_default();
        let tier = catalog.tiers.get(self.op.name()).copied().unwrap_or(self.op.tier());
        match self.op {
            Op::AddToolToAgent if catalog.tools.get(tool).copied().unwrap_or(true) => tier.max(Tier::Review),
            _ => tier,
        }
    }

    /// As a teacher writes it, so that it can be read again.
    pub fn to_value(&self) -> Value {
        let mut payload = self.payload.clone();
        if !self.agent.is_empty() {
            payload.set("agent", self.agent.as_str());
        }
        let refs: Vec<Value> = self.refs.iter().map(|one| one.as_str().into()).collect();
        Record::new()
            .with("op", self.op.name())
            .with("payload", payload)
            .with("rationale", self.why.as_str())
            .with("references", refs)
            .into()
    }
}

/// The agent of the payload, else the second part of the target, else `default`.
fn agent(op: Op, payload: &Fields<'_>, target: Option<&str>) -> Result<String, Refusal> {
    if !op.payload().1.contains(&"agent") {
        return Ok(String::new());
    }
    let named = payload.text("agent")?;
    let name = named.or_else(|| target.and_then(|target| target.split('.').nth(1))).unwrap_or("default");
    if is_name(name) {
        return Ok(name.to_owned());
    }
    let message = format!("{name:?} is no name of an agent: letters, digits, _ and -");
    Err(Refusal::new("bad-name", message).at(payload.place_of("agent")))
}

/// Several edits that stand or fall together, and what they are to make better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The digest of its edits and targets.
    pub id: Digest,
    /// Clusters, sorted.
    pub targets: Vec<String>,
    /// In the order in which they are applied.
    pub edits: Vec<Edit>,
    /// The teacher's reason.
    pub why: String,
}

impl Proposal {
    /// Puts edits together.
    pub fn of(mut targets: Vec<String>, edits: Vec<Edit>, why: String) -> Proposal {
        targets.sort();
        targets.dedup();
        let essence: Vec<Value> = edits.iter().map(Edit::essence).collect();
        let names: Vec<Value> = targets.iter().map(|target| target.as_str().into()).collect();
        let whole = Value::from(Record::new().with("edits", essence).with("targets", names));
        Proposal { id: Digest::of(whole.canonical().as_str().as_bytes()), targets, edits, why }
    }

    /// The digest of its edits alone: equal for what was proposed before for another cluster.
    pub fn edits_id(&self) -> Digest {
        let essence: Vec<Value> = self.edits.iter().map(Edit::essence).collect();
        Digest::of(Value::from(essence).canonical().as_str().as_bytes())
    }

    /// That of its strictest edit.
    pub fn tier(&self, catalog: &Catalog) -> Tier {
        self.edits.iter().map(|edit| edit.tier(catalog)).max().unwrap_or(Tier::Manual)
    }

    /// As it is kept.
    pub fn to_value(&self) -> Value {
        let edits: Vec<Value> = self.edits.iter().map(Edit::to_value).collect();
        let targets: Vec<Value> = self.targets.iter().map(|target| target.as_str().into()).collect();
        Record::new().with("targets", targets).with("edits", edits).with("rationale", self.why.as_str()).into()
    }
}
