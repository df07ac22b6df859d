//! What a gate decided, as the host reads it and writes it down, and how the verdicts of
//! several gates become one.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use wasmtime::component::Val;

use crate::wire;

/// `auto:pass/gate.verdict`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// `pass`, `fail`, `inconclusive` or another word.
    pub(crate) status: String,
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq)]
struct Finding {
    id: String,
    status: String,
    claim: String,
    detail: String,
    counterexample: Option<String>,
}

impl Verdict {
    /// Reads one; `None` for a value of another type.
    pub(crate) fn from_val(value: &Val) -> Option<Verdict> {
        let findings = wire::as_list(wire::field(value, "findings")?)?;
        Some(Verdict {
            status: status(wire::field(value, "status")?)?,
            findings: findings.iter().map(Finding::from_val).collect::<Option<_>>()?,
        })
    }

    pub(crate) fn to_val(&self) -> Val {
        wire::record([
            ("status", status_val(&self.status)),
            ("findings", Val::List(self.findings.iter().map(Finding::to_val).collect())),
        ])
    }

    /// `{"status": …, "findings": [{"id", "status", "claim", "detail", "counterexample"}]}`.
    pub(crate) fn to_record(&self) -> Record {
        let findings = self.findings.iter().map(|finding| {
            Record::new()
                .with("id", finding.id.as_str())
                .with("status", finding.status.as_str())
                .with("claim", finding.claim.as_str())
                .with("detail", finding.detail.as_str())
                .with("counterexample", finding.counterexample.clone())
                .into()
        });
        Record::new().with("status", self.status.as_str()).with("findings", findings.collect::<Vec<Value>>())
    }

    /// Takes over what another gate found, and its verdict if that is worse.
    pub(crate) fn tighten(&mut self, other: Verdict, gate: Digest) {
        if severity(&other.status) > severity(&self.status) {
            self.status = other.status;
        }
        let gate = gate.to_string();
        let renamed = other
            .findings
            .into_iter()
            .map(|finding| Finding { id: format!("{}/{}", &gate[..12], finding.id), ..finding });
        self.findings.extend(renamed);
    }
}

impl Finding {
    fn from_val(value: &Val) -> Option<Finding> {
        let text = |name: &str| wire::field(value, name).and_then(wire::as_text).map(str::to_owned);
        let counterexample = wire::as_option(wire::field(value, "counterexample")?)?;
        Some(Finding {
            id: text("id")?,
            status: status(wire::field(value, "status")?)?,
            claim: text("claim")?,
            detail: text("detail")?,
            counterexample: counterexample.and_then(wire::as_text).map(str::to_owned),
        })
    }

    fn to_val(&self) -> Val {
        wire::record([
            ("id", wire::text(&self.id)),
            ("status", status_val(&self.status)),
            ("claim", wire::text(&self.claim)),
            ("detail", wire::text(&self.detail)),
            ("counterexample", wire::option(self.counterexample.as_ref().map(wire::text))),
        ])
    }
}

/// `fail` beats any word we do not know, which beats `inconclusive`, which beats `pass`.
fn severity(status: &str) -> u8 {
    match status {
        "pass" => 0,
        "inconclusive" => 1,
        "fail" => 3,
        _ => 2,
    }
}

fn status(value: &Val) -> Option<String> {
    match value {
        Val::Variant(name, None) => Some(name.clone()),
        Val::Variant(_, Some(other)) => wire::as_text(other).map(str::to_owned),
        _ => None,
    }
}

fn status_val(status: &str) -> Val {
    match status {
        "pass" | "fail" | "inconclusive" => Val::Variant(status.to_owned(), None),
        other => wire::case("other", wire::text(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_verdict_counts() {
        let verdict = |status: &str| Verdict { status: status.to_owned(), findings: Vec::new() };
        for (first, second, both) in [
            ("pass", "pass", "pass"),
            ("pass", "inconclusive", "inconclusive"),
            ("inconclusive", "odd", "odd"),
            ("fail", "pass", "fail"),
            ("odd", "fail", "fail"),
        ] {
            let mut verdict_of_both = verdict(first);
            verdict_of_both.tighten(verdict(second), Digest::of(b""));
            assert_eq!(verdict_of_both.status, both);
        }
    }
}
