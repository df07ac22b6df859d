//! The proposals of a teacher's reply. Each has to name clusters that there are and edits that
//! apply to the spec as it is; what does not is told, and the rest stands.

use std::collections::BTreeSet;

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::Fields;
use crate::Refusal;
use crate::apply::apply;
use crate::catalog::Catalog;
use crate::edit::{Edit, Proposal};
use crate::reply;
use crate::spec::Spec;

const CODE: &str = "bad-proposal";

/// The most edits of a proposal.
const MOST_EDITS: usize = 8;

/// The most proposals of a plan: three for each of five clusters.
const MOST: usize = 15;

/// What a reply is read against.
pub struct Against<'p> {
    /// The spec as it is.
    pub spec: &'p Spec,
    /// What there is.
    pub catalog: &'p Catalog,
    /// Clusters that something can be done about.
    pub clusters: &'p BTreeSet<String>,
    /// What was tried before and did not stand.
    pub tried: &'p BTreeSet<Digest>,
}

/// A proposal that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The proposal, where it could be read.
    pub proposal: Option<Proposal>,
    /// Why.
    pub why: Refusal,
}

/// Reads a plan: proposals `{"targets", "edits", "rationale"}`, or single edits with
/// `expected_improvement`.
///
/// Codes: those of [`reply::list`]. Of single proposals: `bad-proposal`, `unknown-cluster`,
/// `tried-before`, `too-many-proposals`, those of an edit and of [`apply`] (but `no-trainer`, which
/// is found out when a trainer is asked).
pub fn read(text: &str, against: &Against<'_>) -> Result<(Vec<Proposal>, Vec<Dropped>), Refusal> {
    let (mut plan, mut dropped): (Vec<Proposal>, Vec<Dropped>) = (Vec::new(), Vec::new());
    for (at, value) in reply::list(text)?.iter().enumerate() {
        let place = format!("/{at}");
        let proposal = match proposal(value, &place) {
            Ok(proposal) => proposal,
            Err(why) => {
                dropped.push(Dropped { proposal: None, why });
                continue;
            }
        };
        let why = why_not(&proposal, &plan, against).map(|why| {
            let at = format!("{place} {}", why.at).trim().to_owned();
            Refusal { at, ..why }
        });
        match why {
            None => plan.push(proposal),
            Some(why) => dropped.push(Dropped { proposal: Some(proposal), why }),
        }
    }
    Ok((plan, dropped))
}

fn why_not(proposal: &Proposal, plan: &[Proposal], against: &Against<'_>) -> Option<Refusal> {
    if plan.len() == MOST {
        return Some(Refusal::new("too-many-proposals", format!("{MOST} proposals are the most")));
    }
    if let Some(target) = proposal.targets.iter().find(|target| !against.clusters.contains(*target)) {
        let there: Vec<&str> = against.clusters.iter().map(String::as_str).collect();
        let message = format!("nothing can be done about a cluster {target:?}; there are: {}", there.join(", "));
        return Some(Refusal::new("unknown-cluster", message));
    }
    let edits = proposal.edits_id();
    if against.tried.contains(&edits) || plan.iter().any(|earlier| earlier.edits_id() == edits) {
        return Some(Refusal::new("tried-before", "the same edits were proposed before"));
    }
    apply(against.spec, proposal, against.catalog).err().filter(|why| why.code != "no-trainer")
}

/// Reads one proposal.
pub fn proposal(value: &Value, place: &str) -> Result<Proposal, Refusal> {
    let fields = Fields::of(value, place, CODE)?;
    if fields.get("op").is_some() {
        let target = fields.need_text("expected_improvement")?.to_owned();
        let edit = Edit::read(value, place)?;
        let why = edit.why.clone();
        return Ok(Proposal::of(vec![target], vec![edit], why));
    }
    fields.only(&["id", "targets", "edits", "rationale"])?;
    let targets = fields.texts("targets")?.unwrap_or_default();
    if targets.is_empty() {
        return Err(fields.refuse("targets", "it names no cluster that it is to make better"));
    }
    let edits = fields.list("edits")?.unwrap_or_default();
    if !(1..=MOST_EDITS).contains(&edits.len()) {
        return Err(fields.refuse("edits", format!("{} edits, and it may have 1 to {MOST_EDITS}", edits.len())));
    }
    let edits = edits.iter().enumerate().map(|(at, edit)| Edit::read(edit, &format!("{place}/edits/{at}")));
    let why = fields.text("rationale")?.unwrap_or_default().to_owned();
    Ok(Proposal::of(targets, edits.collect::<Result<_, _>>()?, why))
}
