//! `registry verify`: is it whole, who signed it, does it meet the policy; and with --explain the
//! numbers that somebody who was not there needs to decide.

use std::path::PathBuf;

use auto_json::{Record, Value};
use auto_registry::{EVIDENCE, Evidence, KeyRing, Reference, Report, SignatureState, Standing, TagLog, rfc3339};
use auto_schema::{shown, shown_path};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply};
use crate::verbs::registry::numbers::numbers;

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
    /// The log of the name, and whether it leads there by somebody's word that counts; none without a
    /// name.
    tag: Option<(TagLog, auto_registry::Result<()>)>,
}

impl Verify {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let Found { report, ring, tag } = match self.look(global) {
            Ok(found) => found,
            Err(failure) if failure.exit == Exit::Integrity => return Ok(damaged(failure)),
            Err(failure) => return Err(failure),
        };
        let named = tag.as_ref().map_or(Ok(()), |(_, named)| named.clone());
        let refused = named.and_then(|()| report.accept()).err().map(Failure::from);
        let mut text = answers(&report, &ring);
        let mut fields = fields(&report, &ring);
        if let Some((log, named)) = &tag {
            let code = named.as_ref().map_or_else(|error| error.code, |()| "ok");
            let head = log.head();
            let led = format!("yes: statement {} of its log leads here", head.number);
            let word = if named.is_ok() { led } else { format!("NO, {code}") };
            text = format!("name       {word}\n{text}");
            let fields_of = Record::new().with("ok", named.is_ok()).with("code", code);
            fields.set("name", fields_of.with("number", head.number).with("at", rfc3339(head.at)));
        }
        if self.explain {
            let head = tag.as_ref().map(|(log, _)| log.head());
            text.push_str(&numbers(&report, &ring, head));
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
                    let named = log.accept(&ring, &policy);
                    (log.head().id, Some((log, named)))
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
        let kind = signed.statement.predicate_type.as_str();
        let what = if kind == EVIDENCE { String::new() } else { format!(", of {}", shown(kind)) };
        for state in &signed.signatures {
            let label = label(state, ring);
            let key = Some(state.key()).filter(|key| !key.is_empty()).unwrap_or_else(|| "a key without an id".into());
            text.push_str(&format!("  {} {}{label}{what}\n", state.word(), shown(&key)));
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

/// What is known of a key beside its id, in brackets.
pub(super) fn label(state: &SignatureState, ring: &KeyRing) -> String {
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
