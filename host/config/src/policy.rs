//! `[registry.policy]`: what an artifact has to bring before it is used.

use auto_registry::{KeyId, Part, Policy};
use auto_schema::digest::Digest;

use crate::table::{ConfigError, Table};

const PPM: u64 = 1_000_000;

/// Every key has a default: one signature by a trusted key, and nothing else.
pub(crate) fn read(table: &Table<'_>) -> Result<Policy, ConfigError> {
    table.only(&[
        "signatures",
        "keys",
        "predicates",
        "min_agreement_ppm",
        "min_coverage_ppm",
        "max_silent_error_ppm",
        "min_held_out",
        "gates",
        "allow_trusted_gate",
        "allow_unguarded",
        "allow_judged",
        "capabilities",
    ])?;
    let default = Policy::default();
    let count = |key, most| Ok(table.number(key, 0..=most)?.and_then(|number| u32::try_from(number).ok()));
    let allow = |key, default| Ok(table.bool(key)?.unwrap_or(default));
    Ok(Policy {
        signatures: count("signatures", 64)?.unwrap_or(default.signatures),
        keys: each(table, "keys", "an id of a key has 64 hex digits", KeyId::parse)?,
        predicates: each(
            table,
            "predicates",
            "known are contract, eval-run, latency, machine, and the URIs of predicate types",
            Part::parse,
        )?,
        min_agreement_ppm: count("min_agreement_ppm", PPM)?,
        min_coverage_ppm: count("min_coverage_ppm", PPM)?,
        max_silent_error_ppm: count("max_silent_error_ppm", PPM)?,
        min_held_out: count("min_held_out", u64::from(u32::MAX))?,
        gates: each(table, "gates", "a gate is named by its digest, 64 hex digits", Digest::parse)?,
        allow_trusted_gate: allow("allow_trusted_gate", default.allow_trusted_gate)?,
        allow_unguarded: allow("allow_unguarded", default.allow_unguarded)?,
        allow_judged: allow("allow_judged", default.allow_judged)?,
        capabilities: table.texts("capabilities")?,
    })
}

fn each<T>(
    table: &Table<'_>,
    key: &str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ConfigError> {
    let texts = table.texts(key)?.unwrap_or_default();
    let read = |text: &String| parse(text).ok_or_else(|| table.bad(key, format!("{text:?}: {expected}")));
    texts.iter().map(read).collect()
}
