//! What is served now: names and the artifacts they stand for. Another version takes a name's
//! place between two requests; those that have begun keep theirs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use auto_runtime::{Program, Sandbox};
use auto_schema::digest::Digest;
use auto_schema::key::Part;
use axum::http::StatusCode;

use super::backing::{Backing, Refusal};
use super::counts::Counts;
use super::pace::Pace;
use super::shelf::Shelf;
use crate::http::Problem;

/// The most artifacts that are kept because somebody asked for their id.
const BY_ID: usize = 64;

/// An artifact that answers.
pub struct Artifact {
    /// The name it is asked by; its id where it has none.
    pub name: String,
    /// It.
    pub program: Program,
    /// Its id as text.
    pub id: String,
    /// What its name came to.
    pub counts: Arc<Counts>,
    /// What an answer of tier 0 costs, where that was recorded.
    pub price: Option<u64>,
    /// What of a request is the input; all of it where none.
    pub key: Option<Part>,
    /// How quick it was so far.
    pub(super) pace: Pace,
}

/// A name that does not get what it is to stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What the registry says the name stands for; none where it cannot say.
    pub wanted: Option<Digest>,
    /// Why it does not.
    pub why: Refusal,
}

/// Names and artifacts.
#[derive(Default)]
struct Shown {
    names: BTreeMap<String, Arc<Artifact>>,
    ids: HashMap<Digest, Arc<Artifact>>,
    held: BTreeMap<String, Held>,
}

/// See the module.
pub struct Catalog {
    shelf: Box<dyn Shelf>,
    sandbox: Sandbox,
    backing: Arc<dyn Backing>,
    shown: RwLock<Arc<Shown>>,
    counts: Mutex<BTreeMap<String, Arc<Counts>>>,
    /// One at a time; what the shelf said of itself the last time.
    reloading: Mutex<Option<Digest>>,
    unreachable: Mutex<Option<Refusal>>,
}

/// What a reload changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Names that stand for something new.
    pub taken: Vec<(String, Digest)>,
    /// Names that are gone.
    pub gone: Vec<String>,
    /// Names that keep what they had, or nothing, because of this.
    pub refused: Vec<(String, Held)>,
    /// Names or ids of what was served and is trusted no longer, and why.
    pub ended: Vec<(String, Refusal)>,
}

impl Catalog {
    /// An empty catalog.
    pub fn new(shelf: Box<dyn Shelf>, sandbox: Sandbox, backing: Arc<dyn Backing>) -> Catalog {
        let (shown, counts) = (RwLock::default(), Mutex::default());
        Catalog { shelf, sandbox, backing, shown, counts, reloading: Mutex::default(), unreachable: Mutex::default() }
    }

    fn shown(&self) -> Arc<Shown> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The artifact of a name or id, where it is served already. `NAME:latest` is `NAME`.
    pub fn find(&self, name: &str) -> Option<Arc<Artifact>> {
        let shown = self.shown();
        let name = name.strip_suffix(":latest").unwrap_or(name);
        let by_id = || shown.ids.get(&Digest::parse(name)?);
        shown.names.get(name).or_else(by_id).cloned()
    }

    /// The same, where the registry has to be asked; takes its time. Problems:
    /// `unknown-artifact`, and those of loading.
    pub fn fetch(&self, name: &str) -> Result<Arc<Artifact>, Problem> {
        if let Some(found) = self.find(name) {
            return Ok(found);
        }
        let unavailable = |why: Refusal| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why.code, why.message);
        if let Some(held) = self.shown().held.get(name) {
            return Err(unavailable(held.why.clone()));
        }
        let id = Digest::parse(name).ok_or_else(unknown)?;
        let artifact = Arc::new(self.load(name, id).map_err(|why| match why.code.as_str() {
            "unknown-artifact" => unknown(),
            _ => unavailable(why),
        })?);
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let mut ids = shown.ids.clone();
        let named = |id: &Digest| shown.names.values().any(|artifact| artifact.program.id() == *id);
        if ids.len() >= BY_ID + shown.names.len() {
            ids.retain(|id, _| named(id));
        }
        ids.insert(id, artifact.clone());
        *shown = Arc::new(Shown { names: shown.names.clone(), ids, held: shown.held.clone() });
        Ok(artifact)
    }

    /// Everything with a name.
    pub fn named(&self) -> Vec<Arc<Artifact>> {
        self.shown().names.values().cloned().collect()
    }

    /// Names that do not get what they are to stand for, and why.
    pub fn held(&self) -> BTreeMap<String, Held> {
        self.shown().held.clone()
    }

    /// Whether an artifact is served still.
    pub fn serves(&self, id: Digest) -> bool {
        self.shown().ids.contains_key(&id)
    }

    /// Why the registry cannot be read, where it cannot.
    pub fn unreachable(&self) -> Option<Refusal> {
        self.unreachable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counters of a name.
    fn counts(&self, name: &str) -> Arc<Counts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(name.to_owned()).or_default().clone()
    }

    fn load(&self, name: &str, id: Digest) -> Result<Artifact, Refusal> {
        let file = self.shelf.get(id)?.ok_or_else(|| Refusal {
            code: "unknown-artifact".to_owned(),
            message: format!("the registry has no artifact {id}"),
        })?;
        let program = Program::load(&self.sandbox, &file);
        let program = program.map_err(|error| Refusal { code: error.code().to_owned(), message: error.to_string() })?;
        if program.id() != id {
            let message = format!("the registry gave {} for {id}", program.id());
            return Err(Refusal { code: "wrong-artifact".to_owned(), message });
        }
        let (price, key) = (self.backing.price(&program), self.backing.key(&program)?);
        let (counts, pace) = (self.counts(name), Pace::default());
        Ok(Artifact { name: name.to_owned(), id: id.to_string(), counts, price, key, pace, program })
    }

    /// Lets each name stand for what the registry says now. What cannot be loaded leaves a name
    /// with what it had, unless that is trusted no longer. A registry that cannot be read leaves
    /// everything as it is.
    pub fn reload(&self) -> Result<Changes, Refusal> {
        let mut seen = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.shelf.version();
        let wanted = self.shelf.names();
        *self.unreachable.lock().unwrap_or_else(PoisonError::into_inner) = wanted.as_ref().err().cloned();
        let (wanted, now) = (wanted?, self.shown());
        let mut changes = Changes::default();
        let mut next = Shown::default();
        for (name, wanted) in wanted {
            let old = now.names.get(&name);
            let kept = |next: &mut Shown, old: Option<&Arc<Artifact>>| {
                if let Some(old) = old {
                    next.names.insert(name.clone(), old.clone());
                }
            };
            let id = wanted.as_ref().ok().copied();
            if old.is_some_and(|old| Some(old.program.id()) == id) {
                kept(&mut next, old);
                continue;
            }
            let again = |held: &&Held| held.wanted == id && id.is_some() && !passes(&held.why);
            if let Some(held) = now.held.get(&name).filter(again) {
                next.held.insert(name.clone(), held.clone());
                kept(&mut next, old);
                continue;
            }
            let loaded = wanted.and_then(|id| Ok((id, self.load(&name, id)?)));
            match loaded {
                Ok((id, artifact)) => {
                    artifact.counts.curve.lock().unwrap_or_else(PoisonError::into_inner).reloaded();
                    changes.taken.push((name.clone(), id));
                    next.names.insert(name.clone(), Arc::new(artifact));
                }
                Err(why) => {
                    let held = Held { wanted: id, why };
                    if now.held.get(&name) != Some(&held) {
                        changes.refused.push((name.clone(), held.clone()));
                    }
                    next.held.insert(name.clone(), held);
                    kept(&mut next, old);
                }
            }
        }
        changes.gone = now.names.keys().filter(|name| !next.names.contains_key(*name)).cloned().collect();
        let may_have_ended = version.is_none() || version != *seen;
        if may_have_ended {
            changes.ended = self.ended(&mut next, &now);
        }
        *seen = version;
        if changes != Changes::default() || next.held != now.held {
            next.ids = next.names.values().map(|artifact| (artifact.program.id(), artifact.clone())).collect();
            *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        }
        Ok(changes)
    }

    /// Takes out what was kept and is trusted no longer: its name may stand for something else that is
    /// not taken, and is no reason to go on with what somebody revoked.
    fn ended(&self, next: &mut Shown, now: &Shown) -> Vec<(String, Refusal)> {
        let mut ended = Vec::new();
        for name in next.held.keys() {
            let Some(old) = next.names.get(name) else { continue };
            if let Some(why) = self.distrusted(old.program.id()) {
                next.names.remove(name);
                ended.push((name.clone(), why));
            }
        }
        let named = |id: &Digest| next.names.values().any(|artifact| artifact.program.id() == *id);
        for (id, artifact) in now.ids.iter().filter(|(id, artifact)| artifact.name == artifact.id && !named(id)) {
            ended.extend(self.distrusted(*id).map(|why| (artifact.name.clone(), why)));
        }
        ended
    }

    /// Why an artifact may be served no longer. What is damaged on the disk since it was loaded is whole
    /// here.
    fn distrusted(&self, id: Digest) -> Option<Refusal> {
        let why = self.shelf.get(id).err()?;
        matches!(why.code.as_str(), "policy" | "revoked-key" | "unknown-key" | "unsigned" | "bad-signature")
            .then_some(why)
    }

    /// Lets a name stand for what it stood for before.
    pub fn roll_back(&self, artifact: &Artifact) -> Result<Option<Digest>, Refusal> {
        let back = self.shelf.roll_back(&artifact.name, artifact.program.id())?;
        if back.is_some() {
            self.reload()?;
        }
        Ok(back)
    }
}

/// Whether a reason may be gone the next time, without a change of the name.
fn passes(why: &Refusal) -> bool {
    matches!(why.code.as_str(), "unreadable" | "unknown-artifact" | "cache" | "sandbox" | "wrong-artifact")
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "unknown-artifact", "there is no artifact of this name or id")
        .help("`/artifacts` lists what there is")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::backing::Nobody;
    use crate::run::shelf::Names;
    use auto_runtime::Limits;

    /// A shelf that says what it is told.
    struct Told(Arc<Mutex<Option<Names>>>);

    impl Shelf for Told {
        fn names(&self) -> Result<Names, Refusal> {
            let gone = || Refusal { code: "unreadable".into(), message: "gone".into() };
            self.0.lock().unwrap().clone().ok_or_else(gone)
        }
        fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal> {
            Ok((id != Digest::of(b"missing")).then(|| b"no artifact".to_vec()))
        }
        fn roll_back(&self, _: &str, _: Digest) -> Result<Option<Digest>, Refusal> {
            Ok(None)
        }
    }

    #[test]
    fn what_cannot_be_loaded_is_held_with_its_reason_and_tried_again_only_where_that_may_pass() {
        let told = Arc::new(Mutex::new(Some(BTreeMap::new())));
        let sandbox = Sandbox::new(Limits::default()).unwrap();
        let catalog = Catalog::new(Box::new(Told(told.clone())), sandbox, Arc::new(Nobody));
        let names = [("a".to_owned(), Ok(Digest::of(b"bytes"))), ("b".to_owned(), Ok(Digest::of(b"missing")))];
        *told.lock().unwrap() = Some(BTreeMap::from(names));
        let changes = catalog.reload().unwrap();
        let codes = |changes: &Changes| -> Vec<String> {
            changes.refused.iter().map(|(name, held)| format!("{name} {}", held.why.code)).collect()
        };
        assert_eq!(codes(&changes), ["a not-wasm", "b unknown-artifact"]);
        assert_eq!(catalog.reload().unwrap(), Changes::default(), "said once");
        assert_eq!(catalog.fetch("a").err().unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
        for unknown in ["c", "../../etc/passwd", "a/../a", "", &Digest::of(b"missing").to_string()] {
            assert_eq!(catalog.fetch(unknown).err().unwrap().code, "unknown-artifact", "{unknown}");
        }
        *told.lock().unwrap() = None;
        assert_eq!(catalog.reload().unwrap_err().code, "unreadable");
        assert_eq!(catalog.unreachable().unwrap().code, "unreadable");
        assert_eq!(catalog.held().len(), 2, "a registry that is gone changes nothing");
    }
}
