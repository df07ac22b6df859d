//! Applying a proposal: a pure function of a spec. All of its edits stand or none does. What is
//! kept is not the proposal but its changes, each with the value before and the value after: put
//! in twice they do what they do once, and the other way round they restore exactly.

use auto_json::{Record, Value};

use crate::Refusal;
use crate::catalog::{self, Catalog};
use crate::edit::{Edit, Op, Proposal};
use crate::patch;
use crate::spec::{Path, Spec};

/// One place that became something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub at: Path,
    /// What stood there; none where nothing did.
    pub old: Option<Value>,
    /// What stands there now.
    pub new: Option<Value>,
}

/// A spec with a proposal in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new spec.
    pub spec: Spec,
    /// Every place that differs, once.
    pub changes: Vec<Change>,
}

/// Applies a proposal. Every edit has to name what is there, set it to what it may be, and change
/// something.
///
/// Codes: those of the edits (`unknown-name`, `bad-value`, `bad-diff`, `patch-does-not-apply`,
/// `patch-ambiguous`, `no-trainer`, `bad-edit`), `no-op`, `bad-spec`, `empty-proposal`.
pub fn apply(base: &Spec, proposal: &Proposal, catalog: &Catalog) -> Result<Applied, Refusal> {
    if proposal.edits.is_empty() {
        return Err(Refusal::new("empty-proposal", "it has no edits"));
    }
    let (mut spec, mut changes): (Spec, Vec<Change>) = (base.clone(), Vec::new());
    for edit in &proposal.edits {
        let at_edit =
            |refusal: Refusal| Refusal { at: format!("{} {}", edit.id, refusal.at).trim().to_owned(), ..refusal };
        let change = change(&spec, edit, catalog).map_err(at_edit)?;
        if change.old == change.new {
            let message = format!("{} is that already: the edit changes nothing", change.at);
            return Err(at_edit(Refusal::new("no-op", message)));
        }
        spec = spec.with(&change.at, change.new.clone()).map_err(at_edit)?;
        match changes.iter_mut().find(|earlier| earlier.at == change.at) {
            Some(earlier) => earlier.new = change.new,
            None => changes.push(change),
        }
    }
    changes.retain(|change| change.old != change.new);
    if spec == *base {
        return Err(Refusal::new("no-op", "its edits undo each other: together they change nothing"));
    }
    catalog.check(&spec)?;
    Ok(Applied { spec, changes })
}

/// Puts changes into a spec. Those that are in it already stay; where something else stands than
/// they started from, none is made and every such place is told.
pub fn replay(base: &Spec, changes: &[Change]) -> Result<Spec, Vec<Refusal>> {
    let (mut spec, mut conflicts) = (base.clone(), Vec::new());
    for change in changes {
        let now = base.at(&change.at);
        if now == change.new {
            continue;
        }
        let put = if now == change.old {
            spec.with(&change.at, change.new.clone())
        } else {
            Err(Refusal::new("conflict", "something else stands there since").at(change.at.to_string()))
        };
        match put {
            Ok(changed) => spec = changed,
            Err(conflict) => conflicts.push(conflict),
        }
    }
    if conflicts.is_empty() { Ok(spec) } else { Err(conflicts) }
}

/// What takes changes back.
pub fn inverse(changes: &[Change]) -> Vec<Change> {
    let back = |change: &Change| Change { at: change.at.clone(), old: change.new.clone(), new: change.old.clone() };
    changes.iter().rev().map(back).collect()
}

impl Change {
    /// As it is kept. A place without a value has no such key, so that `null` is a value.
    pub fn to_value(&self) -> Value {
        let mut record = Record::new().with("at", self.at.to_string());
        for (key, value) in [("old", &self.old), ("new", &self.new)] {
            if let Some(value) = value {
                record.set(key, value.clone());
            }
        }
        record.into()
    }

    /// Reads it again.
    pub fn read(value: &Value) -> Option<Change> {
        let at = Path::parse(value.get("at")?.as_text()?)?;
        Some(Change { at, old: value.get("old").cloned(), new: value.get("new").cloned() })
    }
}

/// What an edit makes of one place.
fn change(spec: &Spec, edit: &Edit, catalog: &Catalog) -> Result<Change, Refusal> {
    let payload = |key: &str| {
        let text = edit.payload.get(key).and_then(Value::as_text);
        text.ok_or_else(|| Refusal::new("bad-edit", format!("`{key}` has to be a text")).at(format!("/payload/{key}")))
    };
    let agent = |key: &str| -> Result<Path, Refusal> {
        let agents: Vec<String> = spec.names("agents").into_iter().map(str::to_owned).collect();
        if agents.contains(&edit.agent) {
            return Ok(Path::of(["agents", &edit.agent, key]));
        }
        Err(catalog::unknown("agent", &edit.agent, "/payload/agent", agents.iter()))
    };
    let set = |at: Path, new: Value| Change { old: spec.at(&at), at, new: Some(new) };
    Ok(match edit.op {
        Op::SetModelForQueryClass => {
            let model = payload("model")?;
            catalog::known(&catalog.models, "model", model, "/payload/model")?;
            set(Path::of(["intelligence", "routing", payload("query_class")?]), model.into())
        }
        Op::SetModelParam => {
            let model = payload("model")?;
            let kinds = catalog::known(&catalog.models, "model", model, "/payload/model")?;
            param(spec, edit, kinds, Path::of(["intelligence", "params", model, payload("param")?]))?
        }
        Op::LoraFinetune => {
            let trained = edit.payload.get("trained").and_then(Value::as_text).ok_or_else(|| {
                Refusal::new(
                    "no-trainer",
                    "nothing was trained: name the command of a trainer in [learning.spec_search.trainer]",
                )
            })?;
            set(Path::of(["intelligence", "default_model"]), trained.into())
        }
        Op::SetEngine => {
            let id = payload("id")?;
            catalog::known(&catalog.engines, "engine", id, "/payload/id")?;
            set(Path::of(["engine", "id"]), id.into())
        }
        Op::SetEngineParam => own_param(spec, edit, &catalog.engines, "engine", "id", payload("param")?)?,
        Op::SetMemoryBackend => {
            let backend = payload("backend")?;
            catalog::known(&catalog.memory_backends, "memory backend", backend, "/payload/backend")?;
            set(Path::of(["memory", "backend"]), backend.into())
        }
        Op::SetMemoryParam => own_param(spec, edit, &catalog.memory_backends, "memory", "backend", payload("param")?)?,
        Op::PatchSystemPrompt => {
            let at = agent("prompt")?;
            let old = spec.at(&at).and_then(|old| old.as_text().map(str::to_owned)).unwrap_or_default();
            set(at, patch::apply(&old, payload("diff")?)?.text.into())
        }
        Op::ReplaceSystemPrompt => set(agent("prompt")?, payload("new_content")?.into()),
        Op::SetAgentClass => {
            let class = payload("new_class")?;
            catalog::known(&catalog.agent_classes, "class of agents", class, "/payload/new_class")?;
            set(agent("class")?, class.into())
        }
        Op::SetAgentParam => {
            let class =
                spec.at(&agent("class")?).and_then(|class| class.as_text().map(str::to_owned)).unwrap_or_default();
            let kinds = catalog::known(&catalog.agent_classes, "class of agents", &class, "/payload/agent")?;
            param(spec, edit, kinds, Path::of(["agents", &edit.agent, "params", payload("param")?]))?
        }
        Op::EditFewShotExemplars => {
            set(agent("exemplars")?, edit.payload.get("exemplars").cloned().unwrap_or(Value::Null))
        }
        Op::AddToolToAgent | Op::RemoveToolFromAgent => {
            let (mut at, tool) = (agent("tools")?, payload("tool_name")?);
            tool_there(spec, tool)?;
            at.0.push(tool.to_owned());
            let new = (edit.op == Op::AddToolToAgent).then_some(Value::Bool(true));
            Change { old: spec.at(&at), at, new }
        }
        Op::EditToolDescription => {
            let tool = payload("tool_name")?;
            tool_there(spec, tool)?;
            set(Path::of(["tools", tool, "description"]), payload("new_description")?.into())
        }
    })
}

fn tool_there(spec: &Spec, tool: &str) -> Result<(), Refusal> {
    let tools: Vec<String> = spec.names("tools").into_iter().map(str::to_owned).collect();
    match tools.iter().any(|there| there == tool) {
        true => Ok(()),
        false => Err(catalog::unknown("tool", tool, "/payload/tool_name", tools.iter())),
    }
}

/// A parameter of the engine or memory that is in use.
fn own_param(
    spec: &Spec,
    edit: &Edit,
    there: &std::collections::BTreeMap<String, catalog::Params>,
    table: &str,
    id: &str,
    name: &str,
) -> Result<Change, Refusal> {
    let used = spec.at(&Path::of([table, id])).and_then(|used| used.as_text().map(str::to_owned)).unwrap_or_default();
    let kinds = catalog::known(there, table, &used, &format!("/{table}/{id}"))?;
    param(spec, edit, kinds, Path::of([table, "params", name]))
}

fn param(spec: &Spec, edit: &Edit, kinds: &catalog::Params, at: Path) -> Result<Change, Refusal> {
    let name = at.0.last().map(String::as_str).unwrap_or_default();
    let value = edit.payload.get("value").unwrap_or(&Value::Null);
    let new = catalog::taken(kinds, name, value, "/payload/value")?;
    let old = spec.at(&at);
    // The same number in another form is the same setting.
    let same = old.as_ref().is_some_and(|old| catalog::taken(kinds, name, old, "").as_ref() == Ok(&new));
    Ok(Change { at, new: if same { old.clone() } else { Some(new) }, old })
}
