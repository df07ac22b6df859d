//! Predicates: components that decide properties which a contract cannot put into words.
//! The contract pins each by its digest; the host asks, so that nobody under judgement
//! answers for them. The gate reads what they said.

use std::collections::BTreeSet;
use std::sync::Arc;

use auto_json::Value;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_schema::manifest::PassRef;
use wasmtime::component::Val;

use crate::engine::Inner;
use crate::fault::{Fault, FaultClass};
use crate::name::InterfaceName;
use crate::pass::Pass;
use crate::providers::{Provider, Providers};
use crate::{parallel, wire};

/// The interface of predicates.
pub(crate) const PREDICATE: &str = "auto:pass/predicate@0.1.0";

/// The predicates of a contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct Predicates(Vec<Provider>);

impl Predicates {
    /// Binds the components that a contract pins. Each must be there, export the interface
    /// and import nothing.
    pub(crate) fn bind(contract: &Contract, given: &[Arc<Pass>]) -> Result<Predicates, Fault> {
        let pinned = contract.properties.iter().filter_map(|property| property.predicate());
        let distinct: BTreeSet<Digest> = pinned.collect();
        distinct.into_iter().map(|digest| provider(digest, given)).collect::<Result<_, _>>().map(Predicates)
    }

    /// Asks about every answer that a property applies to; `auto:pass/gate.ruled` for each.
    /// A predicate that fails has ruled, by failing.
    pub(crate) fn rule(
        &self,
        engine: &Arc<Inner>,
        contract: &Contract,
        answers: &[(&str, &str)],
    ) -> Result<Val, Fault> {
        let mut rulings = Vec::new();
        for (index, property) in contract.properties.iter().enumerate() {
            let Some(predicate) = property.predicate().and_then(|digest| self.find(digest)) else { continue };
            let applies = |(input, output): &&(&str, &str)| match (Value::parse(input), Value::parse(output)) {
                (Ok(input), Ok(output)) => property.applies(&input, &output),
                // The gate says what is wrong with an answer that is no JSON.
                _ => false,
            };
            let asked: Vec<&(&str, &str)> = answers.iter().filter(applies).collect();
            let ruled = parallel::map(&asked, 0, |(input, output)| ask(engine, predicate, input, output));
            for ((input, output), ruling) in asked.into_iter().zip(ruled) {
                rulings.push(wire::record([
                    ("property", Val::U32(u32::try_from(index).unwrap_or(u32::MAX))),
                    ("input", wire::text(*input)),
                    ("output", wire::text(*output)),
                    ("ruling", ruling),
                ]));
            }
        }
        Ok(Val::List(rulings))
    }

    /// The components, for the manifest.
    pub(crate) fn refs(&self) -> impl Iterator<Item = PassRef> + '_ {
        let reference =
            |provider: &Provider| PassRef { interface: provider.interface.to_string(), digest: provider.pass.digest };
        self.0.iter().map(reference)
    }

    fn find(&self, digest: Digest) -> Option<&Provider> {
        self.0.iter().find(|provider| provider.pass.digest == digest)
    }
}

/// `auto:pass/gate.ruling`.
fn ask(engine: &Arc<Inner>, predicate: &Provider, input: &str, output: &str) -> Val {
    match engine.call(predicate, "decide", &[wire::text(input), wire::text(output)]) {
        Err(fault) => wire::case("failed", wire::text(format!("{}: {}", fault.class.code(), fault.message))),
        Ok(results) => match results.first() {
            Some(Val::Result(Ok(Some(decision)))) => {
                match (wire::field(decision, "holds"), wire::field(decision, "why")) {
                    (Some(Val::Bool(true)), _) => Val::Variant("holds".to_owned(), None),
                    (_, why) => wire::case("broken", wire::text(why.and_then(wire::as_text).unwrap_or_default())),
                }
            }
            Some(Val::Result(Err(refusal))) => {
                let text = |name: &str| {
                    refusal
                        .as_deref()
                        .and_then(|refusal| wire::field(refusal, name))
                        .and_then(wire::as_text)
                        .unwrap_or_default()
                };
                wire::case("failed", wire::text(format!("{}: {}", text("code"), text("message"))))
            }
            _ => wire::case("failed", wire::text("it returned no decision")),
        },
    }
}

/// Whether a component can be asked: it exports the interface and imports nothing. Gives the
/// interface.
///
/// # Errors
/// [`FaultClass::Host`] with `predicate-imports`, [`FaultClass::MissingImport`].
pub fn check_predicate(pass: &Pass) -> Result<InterfaceName, Fault> {
    if let Some((import, _)) = pass.needs.iter().next() {
        let message = format!("a predicate imports nothing, and it imports {import}");
        return Err(refused(pass.digest, FaultClass::Host("predicate-imports"), &pass.label, message));
    }
    InterfaceName::parse(PREDICATE).and_then(|name| Some(pass.offer(&name)?.0.clone())).ok_or_else(|| {
        let message = format!("it is no predicate: it does not export {PREDICATE}");
        refused(pass.digest, FaultClass::MissingImport, &pass.label, message)
    })
}

fn provider(digest: Digest, given: &[Arc<Pass>]) -> Result<Provider, Fault> {
    let Some(pass) = given.iter().find(|pass| pass.digest == digest) else {
        let message = "the contract pins a predicate with this digest, and no component given has it".to_owned();
        return Err(refused(digest, FaultClass::MissingImport, "host", message));
    };
    Ok(Provider { pass: pass.clone(), interface: check_predicate(pass)?, below: Providers::new() })
}

fn refused(digest: Digest, class: FaultClass, label: &str, message: String) -> Fault {
    Fault {
        pass: label.to_owned(),
        digest: Some(digest),
        function: format!("{PREDICATE}#decide"),
        class,
        message,
        at: None,
        log: Vec::new(),
        callers: Vec::new(),
    }
}
