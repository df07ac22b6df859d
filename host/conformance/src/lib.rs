//! What a pass must do whoever wrote it, as data: calls of the published interfaces, and what is
//! to come of them (`vectors/`, a file for each interface).
//!
//! A vector claims no more than the text of its interface: a fault where one is documented, a
//! result where there is only one, and else what any result has to be, such as a program that is
//! right on the observations. Programs are judged by the `auto:pass/check` of the components
//! beneath, modules by running them. Each call is made twice, because a pass gives the same for
//! the same arguments.

mod judge;
mod pattern;
mod short;
mod vector;

pub use judge::{Bench, Outcome, Verdict};
pub use vector::{BadVector, Suite, Vector};

/// The files, by the interface they are of.
const FILES: &[(&str, &str)] = &[
    ("admit", include_str!("../vectors/admit.json")),
    ("check", include_str!("../vectors/check.json")),
    ("distill", include_str!("../vectors/distill.json")),
    ("emit", include_str!("../vectors/emit.json")),
    ("explain", include_str!("../vectors/explain.json")),
    ("extract", include_str!("../vectors/extract.json")),
    ("gate", include_str!("../vectors/gate.json")),
    ("guard", include_str!("../vectors/guard.json")),
    ("importer", include_str!("../vectors/importer.json")),
    ("narrow", include_str!("../vectors/narrow.json")),
    ("optimize", include_str!("../vectors/optimize.json")),
    ("risk", include_str!("../vectors/risk.json")),
];

/// The vectors of an interface, named with its version; none where there are none.
///
/// The error is of the files that come with this crate, which a test reads.
pub fn suite(interface: &str) -> Result<Option<Suite>, BadVector> {
    for (name, text) in FILES {
        if interface.strip_prefix("auto:pass/").and_then(|rest| rest.split('@').next()) == Some(name) {
            let suite = Suite::parse(name, text)?;
            return Ok(Some(suite).filter(|suite| suite.interface == interface));
        }
    }
    Ok(None)
}

/// All vectors that there are.
pub fn suites() -> Result<Vec<Suite>, BadVector> {
    FILES.iter().map(|(name, text)| Suite::parse(name, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_every_vector_has_a_name_of_its_own() {
        let suites = suites().unwrap();
        for suite in &suites {
            assert_eq!(super::suite(&suite.interface).unwrap().unwrap().vectors.len(), suite.vectors.len());
            let mut names: Vec<&str> = suite.vectors.iter().map(|vector| vector.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), suite.vectors.len(), "{}", suite.interface);
        }
        assert!(suites.iter().map(|suite| suite.vectors.len()).sum::<usize>() > 40);
    }

    #[test]
    fn other_interfaces_and_versions_have_no_vectors() {
        for interface in ["auto:pass/guard@0.2.0", "auto:pass/predicate@0.1.0", "auto:driver/job@0.1.0", "guard"] {
            assert!(suite(interface).unwrap().is_none(), "{interface}");
        }
    }
}
