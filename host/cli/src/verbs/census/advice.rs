//! What to say of model calls that never repeat: the key under which they would.

use auto_json::{Record, Value};
use auto_schema::shown;
use auto_store::{Census, Proposal, Row, Store};

use crate::failure::Failure;

/// A key that would let an operation repeat itself.
pub struct Advice {
    row: Row,
    best: Proposal,
}

/// Of how many spans of an operation keys are looked for without being asked, and of how many inputs of
/// all operations together: beyond that it takes its time.
const MOST: u64 = 20_000;
const MOST_INPUTS: u64 = 200_000;

/// What to say of model calls of which few were seen twice: the key that most of them would
/// repeat under, where there is one.
pub fn advice(store: &Store, census: &Census) -> Result<Vec<Advice>, Failure> {
    if census.total.all.inputs > MOST_INPUTS {
        return Ok(Vec::new());
    }
    let rare = |row: &&Row| {
        let repeats = row.witnessed.spans * 2 < row.all.spans;
        row.kind == "model_call" && repeats && (4..MOST).contains(&row.all.spans)
    };
    let keyed: Vec<_> = store.key_policies()?.into_iter().filter(|policy| policy.task == census.task).collect();
    let mut advice = Vec::new();
    for row in census.operations.iter().filter(rare) {
        let name = row.name.as_deref().unwrap_or_default();
        if keyed.iter().any(|policy| policy.kind == row.kind && policy.name.as_deref().is_none_or(|own| own == name)) {
            continue;
        }
        let (_, proposals) = store.propose_keys(&census.task, &row.kind, name)?;
        advice.extend(proposals.into_iter().next().map(|best| Advice { row: row.clone(), best }));
    }
    Ok(advice)
}

impl Advice {
    /// In a paragraph.
    pub fn text(&self, task: &str) -> String {
        let (name, best) = (shown(self.row.name.as_deref().unwrap_or_default()), &self.best);
        format!(
            "\nmodel_call {name}: {} of its spans were seen before, because each has the whole history as its input.\n  \
             keyed on {}, {} inputs with {} spans would be witnessed, {} of these deterministic, {} agree.\n  \
             see `auto-host key propose --task {}`; a key must hold what the answer depends on.\n",
            self.row.coverage(),
            best.what,
            best.row.witnessed.inputs,
            best.row.witnessed.spans,
            best.row.deterministic_by_spans(),
            best.agreement(),
            shown(task),
        )
    }

    /// The same for machines.
    pub fn value(&self, task: &str) -> Value {
        Record::new()
            .with("task", task)
            .with("kind", self.row.kind.as_str())
            .with("name", self.row.name.as_deref())
            .with("key", self.best.key.to_value())
            .with("what", self.best.what.as_str())
            .with("witnessed_inputs", self.best.row.witnessed.inputs)
            .with("witnessed_spans", self.best.row.witnessed.spans)
            .with("deterministic_spans", self.best.row.deterministic.spans)
            .into()
    }
}
