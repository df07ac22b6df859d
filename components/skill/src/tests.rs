//! A skill with a known optimum, and a world that is a function of its text: every way of ending
//! and every decision is reached.
//!
//! What was weak in the system that this one is to replace, and the test that shows ours is not. Those that
//! need a host are in `tests/tests/searching.rs` (S), `host/jobs` (J) and `components/skill/src` (C).
//!
//! | weak | here |
//! |---|---|
//! | a crash between two renames leaves no skill | J `the_head_moves_from_where_it_was_thought_to_be_or_not_at_all`, S `a_search_that_is_killed_anywhere_comes_to_the_same_end_and_pays_for_nothing_twice` |
//! | a run that was begun in part cannot go on | the same of S, from its first write on |
//! | an edit can be paired with the runs of another | J `everything_that_may_change_what_comes_of_it_is_in_its_key` |
//! | attempts are counted anew after a crash | S, killed anywhere: its teacher's first edit of a section breaks the shape |
//! | no runs to begin with divide by nothing | `a_world_that_lies_or_fails_ends_the_search_and_the_incumbent_stands` |
//! | rejections outlive the text that they were of | `what_was_refused_of_a_text_is_forgotten_with_it` |
//! | one cell that is stuck blocks its dimension | `a_text_that_was_refused_is_not_run_again` |
//! | it wanders off after paragraphs | `after_paragraphs_it_goes_on_in_the_dimension_it_was_in` |
//! | runs are taken for runs of the skill that it begins with | S `runs_that_were_made_before_stand_for_the_first_ones_or_are_shown_beside_them` |
//! | two processes at once | S `of_two_who_start_the_same_run_one_waits_and_nothing_is_paid_twice` |
//! | candidates are drawn anew and the incumbent is not | `runs_are_compared_seed_by_seed` |
//! | one judgement decides | `every_way_of_refusing_an_edit_has_its_reason`: a verifier and the time guard it |
//! | a refresh scores everything | `the_known_optimum_is_reached_in_the_known_number_of_iterations` |
//! | nobody looks at the length | C `an_edit_that_changes_the_shape_is_refused_with_the_reason`, S `a_failing_skill_is_improved_until_every_run_passes` |

use std::collections::BTreeMap;

use crate::document::Unit;
use crate::edit::Level;
use crate::machine::search;
use crate::matrix::{Cell, Coordinate, Micros};
use crate::world::{Admission, Comparison, Config, Decision, Report, Step, Trace, World};

const SKILL: &str = "---\nname: files\n---\n\n# Read\n\nFirst.\n\nSecond.\n\n# Write\n\nThird.\n";

/// Scores are what the text says: a unit with `GOOD d` has 5 in dimension `d`, with `FAIR d` 4, else 2.
#[derive(Default)]
struct Student {
    /// What is proposed for a cell, one after the other; the last again and again.
    edits: BTreeMap<(String, String), Vec<&'static str>>,
    asked: BTreeMap<(String, String), usize>,
    /// Units that do not matter.
    irrelevant: Vec<&'static str>,
    calls: Vec<String>,
    scored: BTreeMap<String, usize>,
    broken: Option<&'static str>,
    /// Incumbents, one after the other.
    kept: Vec<String>,
    /// Of each batch of runs.
    seeds: Vec<Vec<u32>>,
}

fn score(text: &str, dimension: &str) -> Micros {
    match () {
        () if text.contains(&format!("GOOD {dimension}")) => 5_000_000,
        () if text.contains(&format!("FAIR {dimension}")) => 4_000_000,
        () if text.contains(&format!("POOR {dimension}")) => 2_400_000,
        () => 2_000_000,
    }
}

impl World for Student {
    type Error = String;

    fn score(
        &mut self,
        document: &str,
        units: &[Unit],
        dimension: &str,
        traces: &[Trace],
    ) -> Result<Vec<Cell>, String> {
        *self.scored.entry(dimension.to_owned()).or_default() += 1;
        let evidence = vec![traces[0].id.clone(), "foreign".to_owned()];
        let cell = |unit: &Unit| match unit.heading.is_empty() {
            true => 5_000_000,
            false => score(unit.text(document), dimension),
        };
        let score = |unit: &Unit| if self.broken == Some("score") { 5_000_001 } else { cell(unit) };
        Ok(units
            .iter()
            .map(|unit| Cell { score: score(unit), evidence: evidence.clone(), reason: String::new() })
            .collect())
    }

    fn edit(
        &mut self,
        document: &str,
        unit: &Unit,
        at: &Coordinate,
        _: &Cell,
        feedback: &[String],
    ) -> Result<String, String> {
        let key = (at.unit.clone(), at.dimension.clone());
        let times = self.asked.entry(key.clone()).or_default();
        let texts = self.edits.get(&key).ok_or_else(|| format!("nobody expected an edit of {at:?}"))?;
        let text = texts[(*times).min(texts.len() - 1)];
        *times += 1;
        self.calls.push(format!("edit {} {} after {}", at.unit, at.dimension, feedback.len()));
        // `+` adds to what there is.
        Ok(match text.strip_prefix('+') {
            Some(more) => format!("{}\n\n{more}", unit.text(document).trim()),
            None => text.to_owned(),
        })
    }

    fn rollouts(&mut self, document: &str, seeds: &[u32]) -> Result<Vec<Trace>, String> {
        self.calls.push("rollouts".to_owned());
        self.seeds.push(seeds.to_vec());
        if self.broken == Some("none") {
            return Ok(Vec::new());
        }
        let slow = document.contains("SLOW");
        let trace = |seed: &u32| Trace {
            id: format!("{}-{seed}", document.len()),
            seed: *seed + u32::from(self.broken == Some("seeds")),
            timed_out: slow && *seed == 0,
            passed: document.contains("VERIFIED").then_some(!document.contains("WRONG") || *seed > 0),
        };
        Ok(seeds.iter().map(trace).collect())
    }

    /// The rule of `auto:pass/admit`.
    fn admit(&mut self, step: &Step) -> Result<Admission, String> {
        let (mut broken, mut missing) = (Vec::new(), Vec::new());
        for one in &step.measures {
            let name = format!("{}/{}", one.metric, one.stratum);
            match (one.before, one.after) {
                (Some((before, _)), Some((after, _))) => {
                    let gain = if one.higher_is_better { after - before } else { before - after };
                    broken.extend((gain < one.bound).then_some(name));
                }
                _ => missing.push(name),
            }
        }
        broken.extend(step.checks.iter().filter(|(_, ok)| !ok).map(|(name, _)| name.clone()));
        Ok(match (missing.is_empty(), broken.is_empty()) {
            (false, _) => Admission::Unmeasurable(missing),
            (true, false) => Admission::Reject(broken),
            (true, true) => Admission::Accept,
        })
    }

    fn decided(&mut self, document: &str, decision: &Decision) -> Result<(), String> {
        if self.broken == Some("keeping") {
            return Err("nothing can be kept".to_owned());
        }
        self.kept.extend(decision.accepted.then(|| document.to_owned()));
        Ok(())
    }

    fn compare(
        &mut self,
        old: &str,
        new: &str,
        at: &Coordinate,
        incumbent: &[Trace],
        _: &[Trace],
    ) -> Result<Comparison, String> {
        Ok(Comparison {
            incumbent: score(old, &at.dimension),
            candidate: score(new, &at.dimension),
            relevant: !self.irrelevant.contains(&at.unit.as_str()),
            regressions: if new.contains("LEAK") { vec!["leak".to_owned()] } else { vec![] },
            evidence: if self.broken == Some("evidence") {
                vec!["foreign".to_owned()]
            } else {
                vec![incumbent[0].id.clone()]
            },
            reason: String::new(),
        })
    }
}

fn student(edits: &[(&str, &str, &[&'static str])]) -> Student {
    let edits =
        edits.iter().map(|(unit, dimension, texts)| ((unit.to_string(), dimension.to_string()), texts.to_vec()));
    Student { edits: edits.collect(), ..Student::default() }
}

fn config(dimensions: &[&str]) -> Config {
    Config { dimensions: dimensions.iter().map(|name| (*name).to_owned()).collect(), ..Config::default() }
}

fn run(world: &mut Student, skill: &str, config: &Config) -> Report<String> {
    let report = search(config, skill, Vec::new(), world);
    assert_eq!(report.error, None);
    assert_eq!(world.kept.last().map_or(skill, String::as_str), report.document);
    report
}

fn decided(report: &Report<String>) -> Vec<(&str, bool, &str)> {
    report.decisions.iter().map(|one| (one.at.unit.as_str(), one.accepted, one.reason.as_str())).collect()
}

fn ends(report: &Report<String>) -> Vec<(Level, u32, &'static str)> {
    report.levels.iter().map(|level| (level.level, level.iterations, level.reason)).collect()
}

const TAKEN: &str = "target_improved_without_runtime_regression";

#[test]
fn the_known_optimum_is_reached_in_the_known_number_of_iterations() {
    let mut world = student(&[
        ("s01-read", "fit", &["+GOOD fit"]),
        ("s02-write", "fit", &["+GOOD fit"]),
        ("s01-read", "economy", &["+GOOD economy"]),
        ("s02-write", "economy", &["+FAIR economy"]),
    ]);
    let report = run(&mut world, SKILL, &config(&["fit", "economy"]));
    let order =
        [("s01-read", true, TAKEN), ("s02-write", true, TAKEN), ("s01-read", true, TAKEN), ("s02-write", true, TAKEN)];
    assert_eq!(decided(&report), order);
    assert_eq!(ends(&report), [(Level::Section, 4, "normalized_gap_converged")]);
    assert_eq!(report.document.matches("GOOD").count() + report.document.matches("FAIR").count(), 4);
    // One of the runs that there were, and four of candidates.
    assert_eq!(world.calls.iter().filter(|call| *call == "rollouts").count(), 5);
    // At first, and again once the other dimension had changed the text.
    assert_eq!(world.scored, BTreeMap::from([("economy".to_owned(), 2), ("fit".to_owned(), 2)]));
    assert_eq!(report.traces[0].id, format!("{}-0", report.document.len()));
}

#[test]
fn every_way_of_refusing_an_edit_has_its_reason() {
    for (text, reason) in [
        ("+POOR fit", "target_cell_did_not_improve"),
        ("+GOOD fit LEAK", "runtime_regressed:leak"),
        ("+GOOD fit SLOW", "runtime_regressed:timeout"),
        ("+GOOD fit LEAK SLOW", "runtime_regressed:leak,timeout"),
        ("# Other", "edit_validation_exhausted"),
    ] {
        let mut world = student(&[("s01-read", "fit", &[text]), ("s01-read/p01", "fit", &["GOOD fit"])]);
        let config = Config { section_iterations: 1, descents: 0, ..config(&["fit"]) };
        let report = run(&mut world, &SKILL.replace("Third.", "GOOD fit"), &config);
        assert_eq!(decided(&report), [("s01-read", false, reason)], "{text}");
        assert_eq!(ends(&report), [(Level::Section, 1, "max_iterations")]);
        assert_eq!(report.document, SKILL.replace("Third.", "GOOD fit"));
    }
    let verified = SKILL.replace("Third.", "GOOD fit VERIFIED");
    let mut world = student(&[("s01-read", "fit", &["+GOOD fit WRONG"])]);
    let report = run(&mut world, &verified, &Config { section_iterations: 1, ..config(&["fit"]) });
    assert_eq!(decided(&report), [("s01-read", false, "runtime_regressed:verifier")]);
    let mut world = Student { irrelevant: vec!["s01-read"], ..student(&[("s01-read", "fit", &["+GOOD fit"])]) };
    let report = run(&mut world, &verified, &Config { section_iterations: 1, ..config(&["fit"]) });
    assert_eq!(decided(&report), [("s01-read", false, "target_unit_not_task_relevant")]);
}

#[test]
fn a_text_that_was_refused_is_not_run_again() {
    let mut world = student(&[("s01-read", "fit", &["+POOR fit"]), ("s02-write", "fit", &["+GOOD fit"])]);
    let report = run(&mut world, SKILL, &Config { descents: 0, ..config(&["fit"]) });
    assert_eq!(
        decided(&report),
        [
            ("s01-read", false, "target_cell_did_not_improve"),
            ("s01-read", false, "exact_duplicate_rejected_edit"),
            ("s02-write", true, TAKEN),
        ]
    );
    // The exhausted cell keeps nobody from the other one in its dimension.
    assert_eq!(
        ends(&report),
        [(Level::Section, 2, "coordinate_exhausted"), (Level::Section, 3, "available_coordinates_exhausted")]
    );
    assert_eq!(world.calls.iter().filter(|call| *call == "rollouts").count(), 3);
    assert!(world.calls.contains(&"edit s01-read fit after 1".to_owned()));
}

#[test]
fn what_was_refused_of_a_text_is_forgotten_with_it() {
    let mut world = student(&[
        ("s01-read", "fit", &["+POOR fit", "+FAIR fit", "+POOR fit still", "+GOOD fit"]),
        // The text is another one now, and the work on its fit is gone.
        ("s01-read", "economy", &["# Read\n\nGOOD economy"]),
    ]);
    let skill = SKILL.replace("Third.", "GOOD fit, GOOD economy");
    let report = run(&mut world, &skill, &config(&["fit", "economy"]));
    let accepted: Vec<bool> = report.decisions.iter().map(|one| one.accepted).collect();
    assert_eq!(accepted, [false, true, true, false, true], "two refusals of a cell would have ended it");
    assert_eq!(ends(&report), [(Level::Section, 5, "normalized_gap_converged")]);
}

#[test]
fn after_paragraphs_it_goes_on_in_the_dimension_it_was_in() {
    let mut world = student(&[
        ("s01-read", "fit", &["+POOR fit", "+POOR fit still"]),
        // What was fair of its economy goes, so that there is as much to win there.
        ("s01-read/p01", "fit", &["First, GOOD fit."]),
        ("s01-read/p02", "fit", &["Second, GOOD fit."]),
        ("s02-write", "fit", &["+GOOD fit"]),
        ("s01-read", "economy", &["+FAIR economy"]),
    ]);
    let skill = SKILL.replace("First.", "First, FAIR economy.").replace("Third.", "Third, FAIR economy.");
    let config = Config { paragraph_iterations: 2, ..config(&["economy", "fit"]) };
    let report = run(&mut world, &skill, &config);
    let order: Vec<(&str, &str)> =
        report.decisions.iter().skip(2).map(|one| (one.at.unit.as_str(), one.at.dimension.as_str())).collect();
    let paragraphs = [("s01-read/p01", "fit"), ("s01-read/p02", "fit")];
    assert_eq!(order[..2], paragraphs);
    assert_eq!(order[2..], [("s02-write", "fit"), ("s01-read", "economy")]);
}

#[test]
fn runs_are_compared_seed_by_seed() {
    let mut world = student(&[("s01-read", "fit", &["+GOOD fit"])]);
    run(&mut world, &SKILL.replace("Third.", "GOOD fit"), &config(&["fit"]));
    assert_eq!(world.seeds, [[0, 1, 2], [0, 1, 2]], "the incumbent and the candidate");
}

#[test]
fn an_edit_that_breaks_the_shape_is_asked_for_again_with_the_reason() {
    let mut world = student(&[("s01-read", "fit", &["# Other", "", "+GOOD fit"])]);
    let report = run(&mut world, &SKILL.replace("Third.", "GOOD fit"), &config(&["fit"]));
    assert_eq!(decided(&report), [("s01-read", true, TAKEN)]);
    assert_eq!(
        world.calls,
        ["rollouts", "edit s01-read fit after 0", "edit s01-read fit after 1", "edit s01-read fit after 2", "rollouts"]
    );
}

#[test]
fn a_section_that_cannot_be_mended_is_looked_at_by_paragraphs_once() {
    let mut world = student(&[
        ("s01-read", "fit", &["+POOR fit", "+POOR fit again"]),
        ("s01-read/p01", "fit", &["First, GOOD fit."]),
        ("s01-read/p02", "fit", &["Second, GOOD fit."]),
    ]);
    let report = run(&mut world, &SKILL.replace("Third.", "GOOD fit"), &config(&["fit"]));
    assert_eq!(
        ends(&report),
        [
            (Level::Section, 2, "coordinate_exhausted"),
            (Level::Paragraph, 2, "normalized_gap_converged"),
            (Level::Section, 2, "normalized_gap_converged"),
        ]
    );
    assert!(report.document.contains("First, GOOD fit.\n\nSecond, GOOD fit.\n\n# Write"), "{}", report.document);
    let levels: Vec<Level> = report.decisions.iter().map(|one| one.level).collect();
    assert_eq!(levels, [Level::Section, Level::Section, Level::Paragraph, Level::Paragraph]);
}

#[test]
fn iterations_have_an_end() {
    let mut world =
        student(&[("s01-read", "fit", &["+FAIR fit"]), ("s02-write", "fit", &["+POOR fit", "+POOR fit 2"])]);
    let most = Config { section_iterations: 1, ..config(&["fit"]) };
    assert_eq!(ends(&run(&mut world, SKILL, &most)), [(Level::Section, 1, "max_iterations_after_accept")]);
    let done = SKILL.replace("First.", "GOOD fit").replace("Third.", "GOOD fit");
    assert_eq!(ends(&run(&mut student(&[]), &done, &most)), [(Level::Section, 0, "normalized_gap_converged")]);
}

#[test]
fn a_world_that_lies_or_fails_ends_the_search_and_the_incumbent_stands() {
    for (lie, why) in
        [("score", "5000001"), ("none", "seeds"), ("seeds", "seeds"), ("evidence", "foreign"), ("keeping", "kept")]
    {
        let mut world = Student { broken: Some(lie), ..student(&[("s01-read", "fit", &["+GOOD fit"])]) };
        let ended = search(&config(&["fit"]), SKILL, Vec::new(), &mut world);
        assert!(ended.error.is_some_and(|error| error.contains(why)), "{lie}");
        assert_eq!(ended.document, world.kept.last().map_or(SKILL, String::as_str));
    }
    // In the middle: what was decided before is kept.
    let mut world = student(&[("s01-read", "fit", &["+GOOD fit"])]);
    let ended = search(&config(&["fit"]), SKILL, Vec::new(), &mut world);
    assert!(ended.error.is_some_and(|error| error.contains("s02-write")));
    assert_eq!((ended.decisions.len(), world.kept.last()), (1, Some(&ended.document)));
}

#[test]
fn a_verifier_that_falls_silent_is_no_pass() {
    // The unit that says that it is verified goes.
    let verified = SKILL.replace("Third.", "VERIFIED");
    let mut world = student(&[("s02-write", "fit", &["# Write\n\nGOOD fit"]), ("s01-read", "fit", &["+POOR fit"])]);
    let config = Config { section_iterations: 1, ..config(&["fit"]) };
    let report = run(&mut world, &verified.replace("First.", "GOOD fit"), &config);
    assert_eq!(decided(&report), [("s02-write", false, "unmeasurable:pass_rate/all")]);
}
