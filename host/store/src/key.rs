//! Key policies in the store: for an operation of a task, what of its recorded input is the
//! input. What was recorded stays as it is; the policy is applied whenever it is read, so that
//! it can be changed, and so that what is recorded later is read in the same way.

use std::collections::HashMap;

use auto_json::{Canonical, Value};
use auto_schema::key::Part;

use crate::database::{Row, cells};
use crate::rows::{Kept, RecordedSpan};
use crate::seal::Seals;
use crate::summary::Operation;
use crate::{Digest, Store, StoreError};

/// What of an operation's recorded input is the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPolicy {
    /// The task.
    pub task: String,
    /// The kind of the operation.
    pub kind: String,
    /// The operation's name; every one of the kind that has no policy of its own, where none.
    pub name: Option<String>,
    /// The part of the input.
    pub key: Part,
}

impl KeyPolicy {
    /// What is hashed into the store's seal.
    pub(crate) fn digest(&self) -> Digest {
        let name = self.name.as_deref().map(Value::from);
        let row = vec![self.task.as_str().into(), self.kind.as_str().into(), name.into(), self.key.to_value()];
        Digest::of(Value::List(row).canonical().as_str().as_bytes())
    }

    fn is_of(&self, kind: &str, name: &str) -> bool {
        self.kind == kind && self.name.as_deref().is_none_or(|own| own == name)
    }
}

/// What of a request's text is the input of an artifact that was compiled under a key, as canonical
/// JSON; none where the key does not fit it. Errors: why the text is no JSON.
pub fn input_of(key: &Part, request: &str) -> Result<Option<Canonical>, String> {
    let request = Value::parse(request).map_err(|error| error.to_string())?;
    Ok(key.of(&request).map(|input| input.canonical()))
}

impl Store {
    /// What of an operation's request is the input: by its own policy, or that of its kind. None where
    /// it is all of it.
    ///
    /// Codes as for [`Store::key_policies`].
    pub fn key_of(&self, task: &str, kind: &str, name: &str) -> Result<Option<Part>, StoreError> {
        let policies = self.key_policies()?;
        let of = |policy: &&KeyPolicy| policy.task == task && policy.is_of(kind, name);
        let own = policies.iter().filter(of).min_by_key(|policy| policy.name.is_none());
        Ok(own.map(|policy| policy.key.clone()))
    }

    /// The key policies of all tasks, by task, kind and name.
    ///
    /// Codes: `store-damaged`, `store-io`, `store-busy`.
    pub fn key_policies(&self) -> Result<Vec<KeyPolicy>, StoreError> {
        let _snapshot = self.snapshot()?;
        self.seals()?;
        self.policies()
    }

    /// Sets the key policy of an operation, or of a kind; removes it where `key` is none.
    /// Nothing that was recorded changes. Gives whether anything was there before.
    ///
    /// Codes as for [`Store::ingest`].
    pub fn set_key(
        &mut self,
        task: &str,
        kind: &str,
        name: Option<&str>,
        key: Option<&Part>,
    ) -> Result<bool, StoreError> {
        let transaction = self.writing()?;
        self.check_version()?;
        let seals: Seals = self.seals()?;
        let before =
            self.policies()?.iter().any(|own| own.task == task && own.kind == kind && own.name.as_deref() == name);
        let name = name.unwrap_or_default();
        self.execute("DELETE FROM policy WHERE task = ?1 AND kind = ?2 AND name = ?3", cells![task, kind, name])?;
        if let Some(key) = key {
            let text = key.to_value().canonical().into_string();
            self.execute(
                "INSERT INTO policy (task, kind, name, key) VALUES (?1, ?2, ?3, ?4)",
                cells![task, kind, name, &text],
            )?;
        }
        self.write_seals(&seals, std::iter::empty())?;
        transaction.commit()?;
        Ok(before)
    }

    /// The policies as they lie in the store; the seal is held against them.
    pub(crate) fn policies(&self) -> Result<Vec<KeyPolicy>, StoreError> {
        let read = |row: &dyn Row| Ok((row.get(0)?, row.get(1)?, row.get::<String>(2)?, row.get::<String>(3)?));
        let rows = self.all("SELECT task, kind, name, key FROM policy ORDER BY task, kind, name", &[], read)?;
        let policy = |(task, kind, name, text): (String, String, String, String)| {
            let value = Value::parse(&text).map_err(|_| self.damaged("a key policy is no JSON"))?;
            let key = Part::from_value(&value).map_err(|error| self.damaged(format!("a key policy: {error}")))?;
            Ok(KeyPolicy { task, kind, name: (!name.is_empty()).then_some(name), key })
        };
        rows.into_iter().map(policy).collect()
    }

    /// The policies of a task, to be applied while its spans are read.
    pub(crate) fn keys(&self, task: &str) -> Result<Keys<'_>, StoreError> {
        let mut policies = self.policies()?;
        policies.retain(|policy| policy.task == task);
        // That of an operation before that of its kind.
        policies.sort_by_key(|policy| policy.name.is_none());
        Ok(Keys { store: self, policies, known: HashMap::new() })
    }
}

/// Where the text of an input is: as it was recorded, or a part of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    row: i64,
    policy: Option<u32>,
}

/// How many keys of recorded inputs are remembered.
const MOST_KNOWN: usize = 200_000;

impl Input {
    /// An input as it was recorded.
    pub(crate) fn whole(kept: Kept) -> Input {
        Input { row: kept.row, policy: None }
    }
}

/// Policies at work. Each recorded input is read once, as long as they are few.
pub(crate) struct Keys<'s> {
    store: &'s Store,
    policies: Vec<KeyPolicy>,
    known: HashMap<(usize, i64), Option<Digest>>,
}

impl Keys<'_> {
    /// The key of an operation, if it has one; runs have none.
    pub(crate) fn of(&self, operation: &Operation) -> Option<&Part> {
        let fits = |policy: &&KeyPolicy| !operation.run && policy.is_of(&operation.kind, &operation.name);
        self.policies.iter().find(fits).map(|policy| &policy.key)
    }

    /// The input of a span by its digest, and where its text is; none where a policy does not
    /// fit it.
    pub(crate) fn input(&mut self, span: &RecordedSpan) -> Result<Option<(Digest, Input)>, StoreError> {
        let Some(policy) = self.policies.iter().position(|policy| policy.is_of(&span.kind, &span.name)) else {
            return Ok(Some((span.input.digest, Input::whole(span.input))));
        };
        let found = match self.known.get(&(policy, span.input.row)) {
            Some(known) => *known,
            None => {
                let key = self.policies[policy].key.of(&self.store.text(span.input.row)?.value());
                let digest = key.map(|key| Digest::of(key.canonical().as_str().as_bytes()));
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                }
                self.known.insert((policy, span.input.row), digest);
                digest
            }
        };
        let policy = u32::try_from(policy).ok();
        Ok(found.map(|digest| (digest, Input { row: span.input.row, policy })))
    }

    /// The text of an input.
    pub(crate) fn text(&self, input: Input) -> Result<Canonical, StoreError> {
        let text = self.store.text(input.row)?;
        match input.policy.map(|policy| policy as usize) {
            None => Ok(text),
            // It fitted when it was met.
            Some(policy) => Ok(self.policies[policy].key.of(&text.value()).unwrap_or(Value::Null).canonical()),
        }
    }
}
