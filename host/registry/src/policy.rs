//! What an artifact has to bring before it is used here.

use auto_schema::digest::Digest;

use crate::evidence::Evidence;
use crate::key::KeyId;
use crate::keyring::KeyRing;
use crate::report::{Report, SignatureState};

const GATE: &str = "auto:pass/gate@";
const PPM: u32 = 1_000_000;

/// Rules; the default asks for one signature of a key that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How many keys must have signed the evidence; 0 lets unsigned artifacts in.
    pub signatures: u32,
    /// The keys that count; all that are trusted where there are none.
    pub keys: Vec<KeyId>,
    /// What the evidence must have, and what else must be said.
    pub predicates: Vec<Part>,
    /// The least agreement with what was recorded, in parts per million.
    pub min_agreement_ppm: Option<u32>,
    /// The least share of recorded inputs that is answered.
    pub min_coverage_ppm: Option<u32>,
    /// The most held-out inputs that are answered wrongly, of those that are answered.
    pub max_silent_error_ppm: Option<u32>,
    /// The least inputs that this was measured on.
    pub min_held_out: Option<u32>,
    /// The gates that may have decided; any where there are none.
    pub gates: Vec<Digest>,
    /// Whether a gate that `--trust-gate` put in place of the built-in one is taken.
    pub allow_trusted_gate: bool,
    /// Whether an artifact without a guard is taken.
    pub allow_unguarded: bool,
    /// Whether a verdict that rests on the opinions of a model is taken.
    pub allow_judged: bool,
    /// The capabilities that it may ask for; any where this is none.
    pub capabilities: Option<Vec<String>>,
}

/// Something that must be said about an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The evidence has the contract.
    Contract,
    /// The evidence has the eval run.
    EvalRun,
    /// The evidence has measured latencies.
    Latency,
    /// The evidence says on which machine.
    Machine,
    /// There is a signed statement of this predicate type.
    Other(String),
}

/// A rule that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The rule, as it is called in `auto.toml`.
    pub rule: &'static str,
    /// Why not.
    pub why: String,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            signatures: 1,
            keys: Vec::new(),
            predicates: Vec::new(),
            min_agreement_ppm: None,
            min_coverage_ppm: None,
            max_silent_error_ppm: None,
            min_held_out: None,
            gates: Vec::new(),
            allow_trusted_gate: true,
            allow_unguarded: true,
            allow_judged: true,
            capabilities: None,
        }
    }
}

impl Policy {
    /// Takes whatever is whole, signed or not.
    pub fn unsigned() -> Policy {
        Policy { signatures: 0, ..Policy::default() }
    }

    /// The keys among these signatures that count here: those that are trusted and, where the policy
    /// names keys, among those.
    pub(crate) fn counting<'a>(&'a self, signatures: &'a [SignatureState]) -> impl Iterator<Item = KeyId> + 'a {
        signatures.iter().filter_map(|state| match state {
            SignatureState::Valid(id) if self.keys.is_empty() || self.keys.contains(id) => Some(*id),
            _ => None,
        })
    }

    /// The rules that an artifact does not meet.
    pub(crate) fn unmet(&self, report: &Report, ring: &KeyRing) -> Vec<Unmet> {
        let manifest = &report.artifact.manifest;
        let wrong_of_answered = manifest.out_of_fold.map(|right| PPM.saturating_sub(right));
        let mut unmet: Vec<Unmet> = self.signers(report, ring).into_iter().collect();
        unmet.extend(self.said(report));
        let figures = [
            least("min_agreement_ppm", self.min_agreement_ppm, manifest.agreement, "agreement"),
            least("min_coverage_ppm", self.min_coverage_ppm, manifest.coverage, "coverage"),
            most("max_silent_error_ppm", self.max_silent_error_ppm, wrong_of_answered, "silent error"),
            least("min_held_out", self.min_held_out, Some(manifest.out_of_fold_rows), "held-out inputs"),
        ];
        unmet.extend(figures.into_iter().flatten());
        unmet.extend(self.made_by(report));
        unmet
    }

    fn signers(&self, report: &Report, ring: &KeyRing) -> Option<Unmet> {
        let found = report.signers.len();
        if found as u64 >= u64::from(self.signatures) {
            return None;
        }
        let all = report.signed.iter().flat_map(|one| &one.signatures);
        let passed_over = all.filter(|state| matches!(state, SignatureState::Valid(id) if !self.keys.contains(id)));
        let named = passed_over.map(|state| match state {
            SignatureState::Valid(id) => match ring.standing(*id) {
                crate::Standing::Trusted(trusted) if !trusted.label.is_empty() => format!("{id} ({})", trusted.label),
                _ => id.to_string(),
            },
            other => other.key(),
        });
        let named: Vec<String> = if self.keys.is_empty() { Vec::new() } else { named.collect() };
        let (rule, which) = if self.keys.is_empty() { ("signatures", "") } else { ("keys", " of the required keys") };
        let others = if named.is_empty() { String::new() } else { format!("; signed by {}", named.join(", ")) };
        Some(Unmet { rule, why: format!("{found}{which} signed it, not {}{others}", self.signatures) })
    }

    fn said(&self, report: &Report) -> Vec<Unmet> {
        let some = |part: fn(&Evidence) -> bool| report.evidence.iter().any(part);
        let missing = self.predicates.iter().filter(|part| !match part {
            Part::Contract => some(|said| said.contract.is_some()),
            Part::EvalRun => some(|said| said.eval_run.is_some()),
            Part::Latency => some(|said| said.latency.is_some()),
            Part::Machine => some(|said| said.machine.is_some()),
            Part::Other(wanted) => report.signed.iter().any(|one| {
                let counts = self.signatures == 0 || self.counting(&one.signatures).next().is_some();
                one.statement.predicate_type == *wanted && counts
            }),
        });
        missing
            .map(|part| Unmet { rule: "predicates", why: format!("nothing signed says its {}", part.name()) })
            .collect()
    }

    fn made_by(&self, report: &Report) -> Vec<Unmet> {
        let manifest = &report.artifact.manifest;
        let mut unmet = Vec::new();
        let mut add = |rule, why: String| unmet.push(Unmet { rule, why });
        let gates: Vec<Digest> =
            manifest.passes.iter().filter(|pass| pass.interface.starts_with(GATE)).map(|pass| pass.digest).collect();
        if !self.gates.is_empty() && !gates.iter().any(|gate| self.gates.contains(gate)) {
            let which = gates.iter().map(Digest::to_string).collect::<Vec<_>>().join(", ");
            add("gates", format!("it was let through by {}", if which.is_empty() { "no gate" } else { &which }));
        }
        if let Some(gate) = manifest.trusted_gate.filter(|_| !self.allow_trusted_gate) {
            add("allow_trusted_gate", format!("the gate {gate} stood in place of the built-in one"));
        }
        if !manifest.guarded && !self.allow_unguarded {
            add("allow_unguarded", "it has no guard".to_owned());
        }
        if let Some(judged) = manifest.judged.as_ref().filter(|_| !self.allow_judged) {
            add("allow_judged", format!("{} opinions of {} are in its verdict", judged.opinions, judged.model));
        }
        if let Some(allowed) = &self.capabilities {
            let more: Vec<&str> =
                manifest.capabilities.iter().filter(|one| !allowed.contains(one)).map(String::as_str).collect();
            if !more.is_empty() {
                add("capabilities", format!("it may ask for {}", more.join(", ")));
            }
        }
        unmet
    }
}

impl Part {
    /// Reads `contract`, `eval-run`, `latency`, `machine`, or the URI of a predicate type.
    pub fn parse(text: &str) -> Option<Part> {
        Some(match text {
            "contract" => Part::Contract,
            "eval-run" => Part::EvalRun,
            "latency" => Part::Latency,
            "machine" => Part::Machine,
            uri if uri.contains(':') => Part::Other(uri.to_owned()),
            _ => return None,
        })
    }

    fn name(&self) -> &str {
        match self {
            Part::Contract => "contract",
            Part::EvalRun => "eval run",
            Part::Latency => "latency",
            Part::Machine => "machine",
            Part::Other(uri) => uri,
        }
    }
}

fn least(rule: &'static str, wanted: Option<u32>, found: Option<u32>, what: &str) -> Option<Unmet> {
    bound(rule, wanted, found, what, |found, wanted| found >= wanted)
}

fn most(rule: &'static str, wanted: Option<u32>, found: Option<u32>, what: &str) -> Option<Unmet> {
    bound(rule, wanted, found, what, |found, wanted| found <= wanted)
}

/// What was not measured does not meet a bound.
fn bound(
    rule: &'static str,
    wanted: Option<u32>,
    found: Option<u32>,
    what: &str,
    holds: fn(u32, u32) -> bool,
) -> Option<Unmet> {
    let wanted = wanted?;
    match found {
        Some(found) if holds(found, wanted) => None,
        Some(found) => Some(Unmet { rule, why: format!("{what} is {found}, the bound {wanted}") }),
        None => Some(Unmet { rule, why: format!("{what} was not measured") }),
    }
}
