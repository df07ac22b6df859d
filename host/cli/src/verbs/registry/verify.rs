//! `registry verify`: is it whole, who signed it, does it meet the policy; and with --explain the
//! numbers that somebody who was not there needs to decide.

use std::path::PathBuf;

use auto_json::{Record, Value};
use auto_registry::{Evidence, KeyRing, Reference, Report, SignatureState, Standing, rfc3339};
use auto_schema::{shown, shown_path};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply};

/// Say of an artifact whether it is whole, who signed it, and whether it meets the policy
///
/// Three answers, each for itself, and with a name a fourth: whether it leads there by a signed log. Exit code 6: it is damaged, a signature is wrong, or its key
/// was revoked. 1: it is signed by nobody that is known here, or does not meet the policy.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry verify triage\n  \
    auto-host registry verify triage.cbin --explain")]
pub struct Verify {
    #[command(flatten)]
    registry: RegistryOption,
    /// Its name or id, or a file with what is signed about it beside it
    artifact: PathBuf,
    /// Also show what was measured, on how much, by whom, and what the contract asks for
    #[arg(long)]
    explain: bool,
}

/// What there is to say about an artifact.
struct Found {
    report: Report,
    ring: KeyRing,
    /// Whether the name leads there by somebody's word that counts; none without a name.
    tag: Option<auto_registry::Result<()>>,
}

impl Verify {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let Found { report, ring, tag } = match self.look(global) {
            Ok(found) => found,
            Err(failure) if failure.exit == Exit::Integrity => return Ok(damaged(failure)),
            Err(failure) => return Err(failure),
        };
        let refused = tag.clone().unwrap_or(Ok(())).and_then(|()| report.accept()).err().map(Failure::from);
        let mut text = answers(&report, &ring);
        let mut fields = fields(&report, &ring);
        if let Some(tag) = tag {
            let code = tag.as_ref().map_or_else(|error| error.code, |()| "ok");
            let word = if tag.is_ok() { "yes".to_owned() } else { format!("NO, {code}") };
            text = format!("name       {word}\n{text}");
            fields.set("name", Record::new().with("ok", tag.is_ok()).with("code", code));
        }
        if self.explain {
            text.push_str(&numbers(&report));
            fields.set("manifest", report.artifact.manifest.to_value());
            fields.set("evidence", report.evidence.iter().map(evidence).collect::<Vec<_>>());
        }
        let Some(failure) = refused else { return Ok(Reply::done("verified", text.trim_end(), fields)) };
        fields.set("message", failure.message.as_str());
        let mut reply = Reply::done(&failure.code, format!("{}\n{failure}", text.trim_end()), fields);
        reply.failed = true;
        Ok(reply.exit(failure.exit))
    }

    fn look(&self, global: &Global) -> Result<Found, Failure> {
        let policy = self.registry.policy(global);
        if let Some(reference) = self.registry.reference(global, &self.artifact) {
            let registry = self.registry.open(global)?;
            let ring = registry.keys()?;
            let (id, tag) = match reference {
                Reference::Id(id) => (id, None),
                Reference::Tag(tag) => {
                    let log = registry.log(&tag)?;
                    (log.head().id, Some(log.accept(&ring, &policy)))
                }
            };
            let report = registry.look(&Reference::Id(id), &policy)?.report;
            return Ok(Found { report, ring, tag });
        }
        let bytes = files::read(&self.artifact)?;
        let (envelopes, ring) = self.registry.said_of(global, &self.artifact, &bytes)?;
        let report = Report::of(&bytes, &envelopes, &ring, &policy);
        let report = report.map_err(|error| Failure::from(error).at(shown_path(&self.artifact)))?;
        Ok(Found { report, ring, tag: None })
    }
}

/// The answers where the first one is no.
fn damaged(failure: Failure) -> Reply {
    let open = |word: &str| Record::new().with("ok", Value::Null).with("why", word);
    let fields = Record::new()
        .with("integrity", Record::new().with("ok", false).with("why", failure.message.as_str()))
        .with("signature", open("not looked at"))
        .with("policy", open("not looked at"))
        .with("message", failure.message.as_str());
    let text = format!("integrity  NO\nsignature  not looked at\npolicy     not looked at\n{failure}");
    let mut reply = Reply::done(&failure.code, text, fields);
    reply.failed = true;
    reply.exit(Exit::Integrity)
}

fn answers(report: &Report, ring: &KeyRing) -> String {
    let artifact = &report.artifact;
    let mut text = format!("integrity  yes: {} ({} bytes)\n", artifact.id, report.bytes);
    let word = match &report.signature {
        Ok(()) if report.signers.is_empty() => "none, which is allowed".to_owned(),
        Ok(()) => "yes".to_owned(),
        Err(error) => format!("NO, {}", error.code),
    };
    text.push_str(&format!("signature  {word}\n"));
    for signed in &report.signed {
        for state in &signed.signatures {
            let label = label(state, ring);
            text.push_str(&format!("  {} {}{label}\n", state.word(), shown(&state.key())));
        }
    }
    match report.unmet.as_slice() {
        [] => text.push_str("policy     yes\n"),
        unmet => {
            text.push_str("policy     NO\n");
            unmet.iter().for_each(|unmet| text.push_str(&format!("  {}: {}\n", unmet.rule, shown(&unmet.why))));
        }
    }
    text
}

fn label(state: &SignatureState, ring: &KeyRing) -> String {
    match state {
        SignatureState::Valid(id) => match ring.standing(*id) {
            Standing::Trusted(trusted) if !trusted.label.is_empty() => format!(" ({})", shown(&trusted.label)),
            _ => String::new(),
        },
        SignatureState::Revoked(_, why) if !why.is_empty() => format!(" ({})", shown(why)),
        _ => String::new(),
    }
}

fn fields(report: &Report, ring: &KeyRing) -> Record {
    let signature = |state: &SignatureState| -> Value {
        let label = label(state, ring);
        let label = label.trim_start_matches(" (").trim_end_matches(')');
        Record::new().with("key", state.key()).with("state", state.word()).with("label", label).into()
    };
    let statements: Vec<Value> = report
        .signed
        .iter()
        .map(|signed| {
            Record::new()
                .with("predicate_type", signed.statement.predicate_type.as_str())
                .with("payload", signed.payload.to_string())
                .with("signatures", signed.signatures.iter().map(signature).collect::<Vec<_>>())
                .into()
        })
        .collect();
    let unmet: Vec<Value> = report
        .unmet
        .iter()
        .map(|unmet| Record::new().with("rule", unmet.rule).with("why", unmet.why.as_str()).into())
        .collect();
    let code = report.signature.as_ref().map_or_else(|error| error.code, |()| "ok");
    Record::new()
        .with("id", report.artifact.id.to_string())
        .with("bytes", report.bytes)
        .with("integrity", Record::new().with("ok", true))
        .with(
            "signature",
            Record::new().with("ok", report.signature.is_ok()).with("code", code).with("statements", statements),
        )
        .with("policy", Record::new().with("ok", report.unmet.is_empty()).with("unmet", unmet))
}

fn evidence(said: &Evidence) -> Value {
    Record::new()
        .with("at", rfc3339(said.at))
        .with("contract", said.contract.clone())
        .with("eval_run", said.eval_run.clone())
        .with("latency", said.latency.clone())
        .with("machine", said.machine.clone())
        .into()
}

/// What was measured, in words.
fn numbers(report: &Report) -> String {
    let manifest = &report.artifact.manifest;
    let mut text = String::new();
    let mut line = |name: &str, what: String| text.push_str(&format!("{name:<10} {}\n", shown(&what)));
    line("does", format!("{}, {}: {} -> {}", manifest.task, manifest.scope, manifest.input, manifest.output));
    line(
        "asks for",
        if manifest.capabilities.is_empty() { "nothing".into() } else { manifest.capabilities.join(", ") },
    );
    line(
        "guard",
        if manifest.guarded {
            "abstains on what is unlike the recordings"
        } else {
            "NONE: it answers whatever has the right type"
        }
        .into(),
    );
    line("made from", format!("{} distinct recorded inputs", manifest.observations));
    line("agreement", format!("{} of the recorded inputs that it answers, as recorded", percent(manifest.agreement)));
    line("coverage", format!("{} of the recorded inputs are answered", percent(manifest.coverage)));
    let rows = manifest.out_of_fold_rows;
    line(
        "held out",
        format!("{} right, of {rows} inputs that its like had not been shown", percent(manifest.out_of_fold)),
    );
    if let (Some(right), true) = (manifest.out_of_fold, rows > 0) {
        let wrong = 1_000_000_u32.saturating_sub(right);
        line("silent", format!("{} of what it answers there is wrong, and says nothing", percent(Some(wrong))));
    }
    if let Some(steps) = manifest.steps {
        line(
            "steps",
            format!("{} in the middle, {} at the 95th percentile, {} at most", steps.p50, steps.p95, steps.max),
        );
    }
    let gate = |pass: &&auto_schema::manifest::PassRef| pass.interface.starts_with("auto:pass/gate@");
    for pass in manifest.passes.iter().filter(gate) {
        let which = match manifest.trusted_gate {
            Some(digest) if digest == pass.digest => ", put in place of the built-in one",
            _ => "",
        };
        line("gate", format!("{}{which}", pass.digest));
    }
    if let Some(judged) = &manifest.judged {
        line("judge", format!("{} gave {} opinions that the verdict rests on", judged.model, judged.opinions));
    }
    let word = if report.signers.is_empty() { "said" } else { "signed" };
    for said in &report.evidence {
        spoken(word, said, &mut line);
    }
    if report.evidence.is_empty() {
        line("signed", "nothing: contract, eval run and latencies are unknown".into());
    }
    text
}

fn spoken(word: &str, said: &Evidence, line: &mut impl FnMut(&str, String)) {
    line(word, format!("at {}", rfc3339(said.at)));
    let figure = |of: &Option<Value>, key: &str| {
        of.as_ref()
            .and_then(|of| of.get(key))
            .map(|value| value.as_text().map_or_else(|| value.to_string(), str::to_owned))
    };
    if let (Some(p50), Some(p95)) = (figure(&said.latency, "p50_ns"), figure(&said.latency, "p95_ns")) {
        let calls = figure(&said.latency, "calls").unwrap_or_default();
        let cpu = figure(&said.machine, "cpu").unwrap_or_else(|| "an unnamed machine".to_owned());
        line(
            "  latency",
            format!("{p50} ns in the middle, {p95} ns at the 95th percentile, of {calls} calls on {cpu}"),
        );
    }
    if let Some(status) = figure(&said.eval_run, "status") {
        let findings = said.eval_run.as_ref().and_then(|run| run.get("findings")?.as_list()).unwrap_or_default();
        line("  eval run", format!("{status}, with {} findings", findings.len()));
    }
    if let Some(contract) = &said.contract {
        let count = |key: &str| contract.get(key).and_then(Value::as_list).map_or(0, <[Value]>::len);
        let (examples, properties) = (count("example"), count("property"));
        line("  contract", format!("{examples} examples, {properties} properties, {} eval cases", count("eval_cases")));
    }
}

/// Parts per million as a percentage, exactly.
fn percent(ppm: Option<u32>) -> String {
    let Some(ppm) = ppm else { return "not measured:".to_owned() };
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    let rest = format!("{rest:04}");
    match rest.trim_end_matches('0') {
        "" => format!("{whole}%"),
        rest => format!("{whole}.{rest}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_shown_exactly() {
        let shown: Vec<String> =
            [0, 1, 10_000, 998_700, 999_999, 1_000_000].map(Some).into_iter().map(percent).collect();
        assert_eq!(shown, ["0%", "0.0001%", "1%", "99.87%", "99.9999%", "100%"]);
        assert_eq!(percent(None), "not measured:");
    }
}
