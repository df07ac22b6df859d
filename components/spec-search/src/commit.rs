//! The history of a spec: each record says which spec counts from then on, what came before, what
//! was changed and by which session. The host's head points at the last one and moves at once or
//! not at all, so a candidate that is not committed was never anywhere.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::Refusal;
use crate::apply::{Change, inverse, replay};
use crate::lent::{Fault, Lent};
use crate::patch;
use crate::spec::Spec;

/// The longest history that is walked.
const LONGEST: usize = 100_000;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The spec that counts, a blob.
    pub spec: String,
    /// The record before; none for the first.
    pub parent: Option<String>,
    /// The spec of the first one, which drift is measured against.
    pub anchor: String,
    /// The session that made it, or `rollback`; empty for the first.
    pub session: String,
    /// The proposal.
    pub proposal: String,
    /// What was changed; nothing where only the queue is another.
    pub changes: Vec<Change>,
    /// What waits for a person.
    pub pending: Vec<Pending>,
    /// How many sessions there were.
    pub sessions: u32,
    /// Models that were trained, each with the one it was made from.
    pub trained: BTreeMap<String, String>,
}

/// A proposal that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Twelve digits of the proposal's id.
    pub id: String,
    /// The session it is of.
    pub session: String,
    /// The proposal itself.
    pub proposal: Value,
    /// The places it changes, with what stood there when it was proposed.
    pub changes: Vec<Change>,
    /// The tasks that the gate is to judge it on.
    pub tasks: Vec<String>,
    /// Their clusters.
    pub map: BTreeMap<String, String>,
}

/// The record that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its digest.
    pub digest: String,
    /// Itself.
    pub commit: Commit,
    /// Its spec.
    pub spec: Spec,
}

impl Head {
    /// The head of a run that has one.
    pub fn read(lent: &mut impl Lent) -> Result<Option<Head>, Fault> {
        let Some(digest) = lent.head()? else { return Ok(None) };
        let commit = load(lent, &digest)?;
        let spec = spec(lent, &commit.spec)?;
        Ok(Some(Head { digest, commit, spec }))
    }

    /// The first record of a run.
    pub fn first(lent: &mut impl Lent, spec: Spec) -> Result<Head, Fault> {
        let id = lent.put(spec.text().as_bytes())?;
        let commit = Commit { anchor: id.clone(), spec: id, ..Commit::default() };
        let digest = lent.put(commit.to_value().canonical().as_str().as_bytes())?;
        lent.move_head(None, &digest)?;
        Ok(Head { digest, commit, spec })
    }

    /// Puts another record on top. Where somebody else has moved the head since, nothing happens:
    /// `head-moved`.
    pub fn advance(&mut self, lent: &mut impl Lent, spec: Spec, commit: Commit) -> Result<(), Fault> {
        let id = lent.put(spec.text().as_bytes())?;
        let commit =
            Commit { spec: id, parent: Some(self.digest.clone()), anchor: self.commit.anchor.clone(), ..commit };
        let digest = lent.put(commit.to_value().canonical().as_str().as_bytes())?;
        lent.move_head(Some(&self.digest), &digest)?;
        *self = Head { digest, commit, spec };
        Ok(())
    }

    /// The records from the last to the first.
    pub fn history(&self, lent: &mut impl Lent) -> Result<Vec<Commit>, Fault> {
        let mut history = vec![self.commit.clone()];
        while let Some(parent) = history.last().and_then(|last| last.parent.clone()) {
            if history.len() == LONGEST {
                return Err(Fault::new("bad-head", "the history does not end"));
            }
            history.push(load(lent, &parent)?);
        }
        Ok(history)
    }

    /// The last session that changed something and was not rolled back. Code: `no-such-session`.
    pub fn last_session(&self, lent: &mut impl Lent) -> Result<String, Fault> {
        let history = self.history(lent)?;
        let back = |session: &str| history.iter().any(|commit| commit.session == format!("rollback {session}"));
        let mut changed = history.iter().filter(|commit| !commit.changes.is_empty());
        let last = changed.find(|commit| !commit.session.starts_with("rollback ") && !back(&commit.session));
        let none = || Fault::new("no-such-session", "no session changed anything that still stands");
        last.map(|commit| commit.session.clone()).ok_or_else(none)
    }

    /// The spec without what one session changed: that one and no other whose name begins alike.
    /// The last change is taken back first; every place that something else was put since is told.
    ///
    /// Codes: `no-such-session`, `rolled-back` (nothing of it is left), `conflict`.
    pub fn without(&self, lent: &mut impl Lent, session: &str) -> Result<(Spec, Vec<Change>), Vec<Fault>> {
        let one = |fault: Fault| vec![fault];
        let history = self.history(lent).map_err(one)?;
        let back = format!("rollback {session}");
        if history.iter().any(|commit| commit.session == back) {
            return Err(one(Fault::new("rolled-back", format!("{session} was rolled back before"))));
        }
        let own: Vec<&Commit> =
            history.iter().filter(|commit| commit.session == session && !commit.changes.is_empty()).collect();
        if own.is_empty() {
            let message = format!("no session {session:?} changed anything; `search show` lists them");
            return Err(one(Fault::new("no-such-session", message)));
        }
        let mut changes: Vec<Change> = Vec::new();
        for change in own.iter().flat_map(|commit| inverse(&commit.changes)) {
            match changes.iter_mut().find(|earlier| earlier.at == change.at) {
                Some(earlier) => earlier.new = change.new,
                None => changes.push(change),
            }
        }
        let spec = replay(&self.spec, &changes)
            .map_err(|conflicts| conflicts.into_iter().map(Fault::from).collect::<Vec<Fault>>())?;
        Ok((spec, changes))
    }
}

/// A spec that was put away.
pub fn spec(lent: &mut impl Lent, digest: &str) -> Result<Spec, Fault> {
    let text = lent.get(digest)?;
    let text = String::from_utf8(text).map_err(|_| Fault::new("bad-head", "a spec is not UTF-8"))?;
    Ok(Spec::parse(&text)?)
}

fn load(lent: &mut impl Lent, digest: &str) -> Result<Commit, Fault> {
    let bytes = lent.get(digest)?;
    let value = Value::parse(&bytes).ok();
    value.and_then(|value| Commit::read(&value)).ok_or_else(|| {
        Fault::new("bad-head", format!("{digest} is no record of a spec search of this version; begin a new run"))
    })
}

/// What changed, as diffs with the place above each.
pub fn diff(changes: &[Change]) -> String {
    let text = |value: &Option<Value>| match value {
        None => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.canonical().into_string(),
    };
    let one = |change: &Change| {
        let shown = patch::between(&text(&change.old), &text(&change.new));
        let hunks = shown.find("@@").map_or("", |at| &shown[at..]);
        format!("--- {0}\n+++ {0}\n{hunks}", change.at)
    };
    changes.iter().map(one).collect()
}

const KIND: &str = "spec-head/1";

impl Commit {
    /// As it is kept.
    pub fn to_value(&self) -> Value {
        let list = |changes: &[Change]| changes.iter().map(Change::to_value).collect::<Vec<Value>>();
        let pending = |one: &Pending| {
            let tasks: Vec<Value> = one.tasks.iter().map(|task| task.as_str().into()).collect();
            let map: Record = one.map.iter().map(|(task, of)| (task.clone(), of.as_str().into())).collect();
            let record = Record::new().with("id", one.id.as_str()).with("session", one.session.as_str());
            let record = record.with("proposal", one.proposal.clone()).with("changes", list(&one.changes));
            Value::from(record.with("tasks", tasks).with("map", map))
        };
        let file = Record::new().with("path", "spec.json").with("digest", self.spec.as_str()).with("executable", false);
        let trained: Record = self.trained.iter().map(|(model, base)| (model.clone(), base.as_str().into())).collect();
        Record::new()
            .with("kind", KIND)
            .with("spec", self.spec.as_str())
            // What the host puts beside the run.
            .with("files", vec![Value::from(file)])
            .with("parent", self.parent.as_deref())
            .with("anchor", self.anchor.as_str())
            .with("session", self.session.as_str())
            .with("proposal", self.proposal.as_str())
            .with("changes", list(&self.changes))
            .with("pending", self.pending.iter().map(pending).collect::<Vec<Value>>())
            .with("sessions", self.sessions)
            .with("trained", trained)
            .into()
    }

    fn read(value: &Value) -> Option<Commit> {
        let text = |value: &Value, key: &str| value.get(key)?.as_text().map(str::to_owned);
        let changes = |value: &Value| value.get("changes")?.as_list()?.iter().map(Change::read).collect::<Option<_>>();
        if text(value, "kind")? != KIND {
            return None;
        }
        let pending = |one: &Value| {
            let tasks = one.get("tasks")?.as_list()?.iter().map(|task| task.as_text().map(str::to_owned));
            let map =
                one.get("map")?.as_record()?.iter().map(|(task, of)| Some((task.to_owned(), of.as_text()?.to_owned())));
            Some(Pending {
                id: text(one, "id")?,
                session: text(one, "session")?,
                proposal: one.get("proposal")?.clone(),
                changes: changes(one)?,
                tasks: tasks.collect::<Option<_>>()?,
                map: map.collect::<Option<_>>()?,
            })
        };
        let trained = |value: &Value| {
            let pairs = value.as_record()?.iter();
            pairs.map(|(model, base)| Some((model.to_owned(), base.as_text()?.to_owned()))).collect::<Option<_>>()
        };
        Some(Commit {
            spec: text(value, "spec")?,
            parent: text(value, "parent"),
            anchor: text(value, "anchor")?,
            session: text(value, "session")?,
            proposal: text(value, "proposal")?,
            changes: changes(value)?,
            pending: value.get("pending")?.as_list()?.iter().map(pending).collect::<Option<_>>()?,
            sessions: u32::try_from(value.get("sessions")?.as_u64()?).ok()?,
            trained: value.get("trained").map_or(Some(BTreeMap::new()), trained)?,
        })
    }
}

/// A refusal of something that was asked for by a person.
pub fn no_such_edit(id: &str, pending: &[Pending]) -> Refusal {
    let there: Vec<&str> = pending.iter().map(|one| one.id.as_str()).collect();
    let there =
        if there.is_empty() { "nothing waits".to_owned() } else { format!("waiting are: {}", there.join(", ")) };
    Refusal::new("no-such-edit", format!("no edit {id:?} waits for a decision; {there}"))
}
