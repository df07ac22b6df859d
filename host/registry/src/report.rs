//! Three questions about an artifact, answered apart: is it whole, who signed it, does it meet
//! the policy. A signature by a key that nobody here knows is no bad signature.

use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;

use crate::Result;
use crate::dsse::{Envelope, MOST_SIGNATURES, PAYLOAD_TYPE, pre_authentication};
use crate::error::RegistryError;
use crate::evidence::{EVIDENCE, Evidence};
use crate::key::KeyId;
use crate::keyring::{KeyRing, Standing, revoked};
use crate::policy::{Policy, Unmet};
use crate::statement::Statement;

/// What a signature is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureState {
    /// Of a key that counts.
    Valid(KeyId),
    /// A key that counts did not make it: the statement or the signature was changed.
    Bad(KeyId),
    /// Of a key that no longer counts; why.
    Revoked(KeyId, String),
    /// Of a key that nobody here knows; what it calls itself.
    Unknown(String),
}

/// A statement about the artifact and its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What is said.
    pub statement: Statement,
    /// The digest of what is signed.
    pub payload: Digest,
    /// What each signature is worth.
    pub signatures: Vec<SignatureState>,
}

/// The answers. The artifact is whole, or there would be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The artifact.
    pub artifact: Cbin,
    /// Bytes of the file.
    pub bytes: u64,
    /// What is said about it, and by whom.
    pub signed: Vec<Signed>,
    /// Evidence that a key that counts has signed; the newest first.
    pub evidence: Vec<Evidence>,
    /// Who made the signatures that count.
    pub signers: Vec<KeyId>,
    /// Whether the signatures will do; the refusal where they will not.
    pub signature: Result<()>,
    /// The rules of the policy that it does not meet.
    pub unmet: Vec<Unmet>,
}

impl SignatureState {
    /// In a word: `valid`, `bad`, `revoked`, `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            SignatureState::Valid(_) => "valid",
            SignatureState::Bad(_) => "bad",
            SignatureState::Revoked(..) => "revoked",
            SignatureState::Unknown(_) => "unknown",
        }
    }

    /// The key, as far as it is known.
    pub fn key(&self) -> String {
        match self {
            SignatureState::Valid(id) | SignatureState::Bad(id) | SignatureState::Revoked(id, _) => id.to_string(),
            SignatureState::Unknown(id) => id.clone(),
        }
    }

    /// Whether these signatures make `what` count: one is valid and none is bad.
    ///
    /// Codes: `bad-signature`, `revoked-key`, `unknown-key`, `unsigned`.
    pub(crate) fn accept(states: &[SignatureState], what: &str) -> Result<()> {
        let first = |wanted: fn(&SignatureState) -> bool| states.iter().find(|state| wanted(state));
        if let Some(SignatureState::Bad(id)) = first(|state| matches!(state, SignatureState::Bad(_))) {
            let message = format!("a signature of {what} by the key {id} is wrong: it, or what it signs, was changed");
            return Err(RegistryError::integrity("bad-signature", message).help("get it again from where it came"));
        }
        if first(|state| matches!(state, SignatureState::Valid(_))).is_some() {
            return Ok(());
        }
        if let Some(SignatureState::Revoked(id, why)) = first(|state| matches!(state, SignatureState::Revoked(..))) {
            return Err(RegistryError {
                message: format!("{what}: {}", revoked(*id, why).message),
                ..revoked(*id, why)
            });
        }
        if let Some(SignatureState::Unknown(id)) = states.first() {
            let message = format!("{what} is signed by the key {id:?}, which is not trusted here");
            return Err(RegistryError::refused("unknown-key", message)
                .help("if you know whose it is, `auto-host registry trust KEY.pub`"));
        }
        Err(RegistryError::refused("unsigned", format!("{what} is not signed"))
            .help("sign it with --key, or allow it with --allow-unsigned"))
    }
}

/// What each signature of an envelope is worth.
pub(crate) fn states(envelope: &Envelope, ring: &KeyRing) -> Vec<SignatureState> {
    let message = pre_authentication(PAYLOAD_TYPE, &envelope.payload);
    let state = |signature: &crate::dsse::Signature| {
        let Some(id) = KeyId::parse(&signature.keyid) else {
            return SignatureState::Unknown(signature.keyid.clone());
        };
        match ring.standing(id) {
            Standing::Unknown => SignatureState::Unknown(id.to_string()),
            Standing::Revoked(why) => SignatureState::Revoked(id, why.to_owned()),
            Standing::Trusted(trusted) if trusted.key.verifies(&message, &signature.sig) => SignatureState::Valid(id),
            Standing::Trusted(_) => SignatureState::Bad(id),
        }
    };
    envelope.signatures.iter().map(state).collect()
}

/// Takes the signatures of another envelope of the same payload over. What is known to be wrong goes:
/// it was taken in when nobody here knew its key. Those that count stay, should there be more than an
/// envelope may have.
pub(crate) fn join(envelope: &mut Envelope, other: &Envelope, ring: &KeyRing) {
    envelope.join(other);
    let states = states(envelope, ring);
    let all = std::mem::take(&mut envelope.signatures).into_iter().zip(states);
    let mut kept: Vec<_> = all.filter(|(_, state)| !matches!(state, SignatureState::Bad(_))).collect();
    kept.sort_by_key(|(_, state)| !matches!(state, SignatureState::Valid(_)));
    kept.truncate(MOST_SIGNATURES);
    envelope.signatures = kept.into_iter().map(|(signature, _)| signature).collect();
    envelope.signatures.sort();
}

/// Refuses an envelope with a signature that is known to be wrong. Code: `bad-signature`.
pub(crate) fn refuse_bad(envelope: &Envelope, ring: &KeyRing, what: &str) -> Result<()> {
    let bad = |state: &SignatureState| matches!(state, SignatureState::Bad(_));
    let bad: Vec<SignatureState> = states(envelope, ring).into_iter().filter(bad).collect();
    if bad.is_empty() { Ok(()) } else { SignatureState::accept(&bad, what) }
}

impl Report {
    /// Looks at a file, what is said about it, and what the policy asks for.
    ///
    /// An error where the file or a statement is damaged or about another artifact: those of
    /// [`Cbin::read`], `bad-envelope`, `bad-statement`, `other-artifact`, `other-manifest`,
    /// `other-contract`, `other-eval-run`.
    pub fn of(file: &[u8], envelopes: &[Envelope], ring: &KeyRing, policy: &Policy) -> Result<Report> {
        let artifact = Cbin::read(file)?;
        let (mut signed, mut evidence, mut signers) = (Vec::new(), Vec::new(), Vec::new());
        for envelope in envelopes {
            let statement = statement_about(&artifact, envelope)?;
            let signatures = states(envelope, ring);
            let valid: Vec<KeyId> = policy.counting(&signatures).collect();
            if statement.predicate_type == EVIDENCE {
                let said = Evidence::of(&statement, &artifact)?;
                if !valid.is_empty() || policy.signatures == 0 {
                    evidence.push(said);
                }
                signers.extend(valid);
            }
            signed.push(Signed { statement, payload: envelope.payload_digest(), signatures });
        }
        signers.sort();
        signers.dedup();
        evidence.sort_by_key(|said| core::cmp::Reverse(said.at));
        let signature = signature(&artifact, &signed, policy);
        let mut report =
            Report { artifact, bytes: file.len() as u64, signed, evidence, signers, signature, unmet: Vec::new() };
        report.unmet = policy.unmet(&report, ring);
        Ok(report)
    }

    /// Whether the artifact may be used. Codes: `bad-signature`, `revoked-key`, `unknown-key`,
    /// `unsigned`, `policy`.
    pub fn accept(&self) -> Result<()> {
        self.signature.clone()?;
        if self.unmet.is_empty() {
            return Ok(());
        }
        let rules: Vec<String> = self.unmet.iter().map(|unmet| format!("{}: {}", unmet.rule, unmet.why)).collect();
        let message = format!("the artifact does not meet the policy: {}", rules.join("; "));
        Err(RegistryError::refused("policy", message).help("the rules are in auto.toml under [registry.policy]"))
    }
}

/// The statement of an envelope, if it is about the artifact. Code: `other-artifact`.
pub(crate) fn statement_about(artifact: &Cbin, envelope: &Envelope) -> Result<Statement> {
    let statement = Statement::parse(&envelope.payload)?;
    if statement.is_about(&artifact.id) {
        return Ok(statement);
    }
    let about = statement.subjects.first().map(|(_, digest)| digest.to_string()).unwrap_or_default();
    let message = format!("a statement beside {} is about another artifact, {about}", artifact.id);
    Err(RegistryError::integrity("other-artifact", message).help("get the artifact and its statements again"))
}

/// Whether the signatures of the evidence will do; where none are asked for, none must be bad.
fn signature(artifact: &Cbin, signed: &[Signed], policy: &Policy) -> Result<()> {
    let what = format!("the artifact {}", artifact.id);
    let is_bad = |state: &&SignatureState| matches!(state, SignatureState::Bad(_));
    let all = signed.iter().flat_map(|one| &one.signatures);
    let bad: Vec<SignatureState> = all.filter(is_bad).cloned().collect();
    if !bad.is_empty() {
        return SignatureState::accept(&bad, &what);
    }
    if policy.signatures == 0 {
        return Ok(());
    }
    let evidence = signed.iter().filter(|one| one.statement.predicate_type == EVIDENCE);
    let states: Vec<SignatureState> = evidence.flat_map(|one| one.signatures.clone()).collect();
    SignatureState::accept(&states, &what)
}
