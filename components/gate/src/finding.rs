//! What a judgement is made of: one finding a claim, and the rule that combines them.

use auto_json::Value;

use crate::wit;

/// What became of a claim. Ordered: the worst of several is what they come to together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was checked and holds.
    Pass,
    /// Nothing broke it, but it was not, or not wholly, checked.
    Inconclusive,
    /// It is broken.
    Fail,
}

/// One claim and what became of it; as in the WIT interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable within a contract.
    pub id: String,
    /// What became of it.
    pub status: Status,
    /// The claim, in a sentence.
    pub claim: String,
    /// What was measured.
    pub detail: String,
    /// The smallest input that breaks it.
    pub counterexample: Option<Value>,
}

/// Every finding and what they come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The worst status of all; `inconclusive` where there are no findings.
    pub status: Status,
    /// In a fixed order.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Fail beats inconclusive beats pass.
    pub fn of(findings: Vec<Finding>) -> Verdict {
        let status = findings.iter().map(|finding| finding.status).max().unwrap_or(Status::Inconclusive);
        Verdict { status, findings }
    }
}

impl Finding {
    pub(crate) fn new(
        id: impl Into<String>,
        status: Status,
        claim: impl Into<String>,
        detail: impl Into<String>,
    ) -> Finding {
        Finding { id: id.into(), status, claim: claim.into(), detail: detail.into(), counterexample: None }
    }

    pub(crate) fn with(mut self, breaches: &Breaches) -> Finding {
        self.counterexample = breaches.smallest().cloned();
        self
    }
}

/// The inputs that break a claim: how many, and the smallest with what it shows. Smallest
/// is by the length of the canonical text, then by the text.
#[derive(Default)]
pub(crate) struct Breaches {
    count: usize,
    first: Option<(usize, String, Value, String)>,
}

impl Breaches {
    pub(crate) fn add(&mut self, input: &Value, why: impl Into<String>) {
        self.count += 1;
        let text = input.canonical().into_string();
        let smaller = |(length, own, _, _): &(usize, String, Value, String)| (text.len(), &text) < (*length, own);
        if self.first.as_ref().is_none_or(smaller) {
            self.first = Some((text.len(), text, input.clone(), why.into()));
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn smallest(&self) -> Option<&Value> {
        self.first.as_ref().map(|(_, _, input, _)| input)
    }

    /// What the smallest one shows, as a clause to append to a count.
    pub(crate) fn why(&self) -> String {
        self.first.as_ref().map(|(_, _, _, why)| format!("; on the smallest {why}")).unwrap_or_default()
    }
}

/// A value for a sentence: its canonical text, cut after 160 characters.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.canonical().into_string();
    match text.char_indices().nth(160) {
        None => text,
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

/// The whole, in parts per million.
pub(crate) const MILLION: u32 = 1_000_000;

/// Whether a share is reached that is known to lie between `least` and `most` of `total`:
/// `least / total >= share / 1,000,000`, in whole numbers.
pub(crate) fn reaches(least: usize, most: usize, total: usize, share: u32) -> Status {
    let wanted = u128::from(share) * total as u128;
    match total {
        0 => Status::Inconclusive,
        _ if least as u128 * u128::from(MILLION) >= wanted => Status::Pass,
        _ if most as u128 * u128::from(MILLION) >= wanted => Status::Inconclusive,
        _ => Status::Fail,
    }
}

/// `part / whole` in parts per million, rounded down; 0 of nothing is 0.
pub(crate) fn ppm(part: usize, whole: usize) -> u32 {
    let share = (part as u128 * 1_000_000).checked_div(whole as u128).unwrap_or(0);
    u32::try_from(share).unwrap_or(u32::MAX)
}

/// Parts per million as a percentage, exactly: `95.0000%`.
pub(crate) fn percent(ppm: u32) -> String {
    format!("{}.{:04}%", ppm / 10_000, ppm % 10_000)
}

impl From<Status> for wit::Status {
    fn from(status: Status) -> wit::Status {
        match status {
            Status::Pass => wit::Status::Pass,
            Status::Inconclusive => wit::Status::Inconclusive,
            Status::Fail => wit::Status::Fail,
        }
    }
}

impl From<Verdict> for wit::Verdict {
    fn from(verdict: Verdict) -> wit::Verdict {
        let findings = verdict.findings.into_iter().map(|finding| wit::Finding {
            id: finding.id,
            status: finding.status.into(),
            claim: finding.claim,
            detail: finding.detail,
            counterexample: finding.counterexample.map(|value| value.canonical().into_string()),
        });
        wit::Verdict { status: verdict.status.into(), findings: findings.collect() }
    }
}
