//! Arguments for tests of a pass.

use std::collections::BTreeMap;

use auto_json::Value;

use crate::types::{Observation, Witness};

/// Observations from pairs of JSON texts, as the host would hand them over: canonical,
/// one for each distinct input, sorted, equal outputs counted.
///
/// # Panics
///
/// If a text is not JSON; a test wants to know.
pub fn observations<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Observation> {
    let mut grouped: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for (input, output) in pairs {
        *grouped.entry(canonical(input)).or_default().entry(canonical(output)).or_default() += 1;
    }
    let witness = |(output, count)| Witness { output, count };
    grouped
        .into_iter()
        .map(|(input, outputs)| Observation { input, outputs: outputs.into_iter().map(witness).collect(), errors: 0 })
        .collect()
}

fn canonical(text: &str) -> String {
    match Value::parse(text) {
        Ok(value) => value.canonical().into_string(),
        Err(error) => panic!("{text} is not JSON: {error}"),
    }
}
