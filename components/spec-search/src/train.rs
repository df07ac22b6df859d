//! A trained model: an external command trains candidates and measures them, the composite reward
//! ranks them, and the best one is what the edit puts into the spec. Nothing is trained here, and
//! without such a command the edit is refused.

use std::collections::BTreeMap;

use auto_json::Value;

use crate::Fields;
use crate::Refusal;
use crate::amount;
use crate::catalog::Catalog;
use crate::edit::{Op, Proposal};
use crate::lent::{Fault, File, Job, Lent};
use crate::reward::{Candidate, Weights, rewards};
use crate::settings::Command;
use crate::spec::{Path, Spec, is_model_id};

/// What the trainer leaves in its folder: `[{"model", "benchmark", "accuracy", "energy", "latency",
/// "cost"}]`.
const RESULT: &str = "candidates.json";

/// What trains.
pub struct Trainer<'t> {
    /// The command, where there is one.
    pub command: Option<&'t Command>,
    /// What it finds in its folder.
    pub files: &'t [File],
    /// How candidates are ranked.
    pub weights: Weights,
    /// Which attempt it is: the host runs the same once, and the command can tell.
    pub attempt: u32,
}

/// Trains what a proposal wants trained, and returns it with the model that came of it, and each
/// model that was not there with the one it was made from. It is then among what there is.
///
/// Codes: `no-trainer`, `trainer-failed`, `bad-candidates`, those of [`rewards`].
pub fn trained(
    lent: &mut impl Lent,
    proposal: Proposal,
    spec: &Spec,
    trainer: &Trainer<'_>,
    catalog: &mut Catalog,
) -> Result<(Proposal, BTreeMap<String, String>), Fault> {
    let (mut proposal, mut made) = (proposal, BTreeMap::new());
    for edit in proposal.edits.iter_mut().filter(|edit| edit.op == Op::LoraFinetune) {
        let command = trainer.command.ok_or_else(|| {
            Fault::new("no-trainer", "nothing trains models; name a command in [learning.spec_search.trainer]")
        })?;
        let default = spec.at(&Path::of(["intelligence", "default_model"]));
        let base = edit.payload.get("model").cloned().or(default).unwrap_or(Value::Null);
        let base = base.as_text().unwrap_or_default().to_owned();
        if !catalog.models.contains_key(&base) {
            return Err(Fault::new("unknown-name", format!("there is no model {base:?} to train")));
        }
        let mut order = edit.payload.clone();
        order.set("model", base.as_str());
        let mut files = trainer.files.to_vec();
        for (path, bytes) in [("spec.json", spec.text()), ("edit.json", Value::from(order).canonical().into_string())] {
            let digest = lent.put(bytes.as_bytes())?;
            files.push(File { path: path.to_owned(), digest, executable: false });
        }
        let mut command = command.clone();
        if trainer.attempt > 1 {
            command.environment.push(("AUTO_ATTEMPT".to_owned(), trainer.attempt.to_string()));
        }
        let job = Job { command, seed: 0, files, collect: vec![RESULT.to_owned()] };
        let ran = lent.run(&[job])?.into_iter().next();
        let ran = ran.unwrap_or_else(|| Err(Fault::new("trainer-failed", "the trainer was not run")))?;
        if !ran.well() {
            return Err(Fault::new("trainer-failed", format!("the trainer ended with `{}`", ran.ending)));
        }
        let Some(result) = ran.files.iter().find(|file| file.path == RESULT) else {
            return Err(Fault::new("trainer-failed", format!("the trainer left no {RESULT}")));
        };
        let model = best(&lent.get(&result.digest)?, trainer.weights)?;
        if !catalog.models.contains_key(&model) {
            made.insert(model.clone(), base);
            add(catalog, &made);
        }
        edit.payload.set("trained", model);
    }
    Ok((proposal, made))
}

/// Puts models that were trained among what there is, each with the parameters of the one it was
/// made from.
pub fn add(catalog: &mut Catalog, trained: &BTreeMap<String, String>) {
    // One may be made from another one.
    for _ in 0..=trained.len() {
        for (model, base) in trained {
            if let Some(params) = catalog.models.get(base).cloned() {
                catalog.models.entry(model.clone()).or_insert(params);
            }
        }
    }
}

/// The candidate with the highest reward; of equal ones the first.
fn best(bytes: &[u8], weights: Weights) -> Result<String, Refusal> {
    const CODE: &str = "bad-candidates";
    let value = Value::parse(bytes).map_err(|error| Refusal::new(CODE, format!("{RESULT} is no JSON: {error}")))?;
    let list = value.as_list().unwrap_or_default();
    let (mut models, mut batch) = (Vec::new(), Vec::new());
    for (at, value) in list.iter().enumerate() {
        let fields = Fields::of(value, format!("/{at}"), CODE)?;
        fields.only(&["model", "benchmark", "accuracy", "energy", "latency", "cost"])?;
        let number = |key| {
            let number = fields.need(key)?.as_number().and_then(amount::truncated);
            number.ok_or_else(|| fields.refuse(key, format!("`{key}` is no number")))
        };
        let model = fields.need_text("model")?;
        if !is_model_id(model) {
            return Err(fields.refuse("model", format!("{model:?} is no id of a model")));
        }
        models.push(model.to_owned());
        batch.push(Candidate {
            benchmark: fields.need_text("benchmark")?.to_owned(),
            accuracy: number("accuracy")?,
            energy: number("energy")?,
            latency: number("latency")?,
            cost: number("cost")?,
        });
    }
    let rewards = rewards(&batch, weights)?;
    let best = rewards.iter().enumerate().max_by_key(|(at, reward)| (**reward, std::cmp::Reverse(*at)));
    best.map(|(at, _)| models[at].clone()).ok_or_else(|| Refusal::new(CODE, "the trainer made no candidate"))
}
