//! What the gate lets pass, what it refuses, and what it will not say.

use auto_gate::{
    Candidate, Evidence, Finding, Hearings, Observation, Outcome, Reference, Replay, Ruling, Scored, Status, Subject,
    Verdict, decide,
};
use auto_json::Value;
use auto_schema::contract::Contract;
use proptest::prelude::*;

fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

/// A contract over ints to ints with some more members.
fn contract(more: &str) -> Contract {
    typed("json", "json", more)
}

fn typed(input: &str, output: &str, more: &str) -> Contract {
    let text = format!(
        r#"{{"contract_version":0,"task":"t","scope":{{"type":"task"}},"interface":{{"input":"{input}","output":"{output}"}}{more}}}"#
    );
    Contract::from_value(&json(&text)).unwrap()
}

fn seen(input: &str, outputs: &[(&str, u32)], errors: u32) -> Observation {
    let outputs = outputs.iter().map(|(output, count)| (json(output), *count)).collect();
    Observation { input: json(input), outputs, errors }
}

fn recordings(contract: &Contract, observations: &[Observation], reference: Reference) -> Verdict {
    decide(
        contract,
        &Evidence {
            observations: observations.to_vec(),
            subject: Subject::Recordings(reference),
            hearings: Hearings::default(),
        },
    )
}

fn artifact(contract: &Contract, observations: &[Observation], candidate: Candidate) -> Verdict {
    decide(
        contract,
        &Evidence {
            observations: observations.to_vec(),
            subject: Subject::Artifact(candidate),
            hearings: Hearings::default(),
        },
    )
}

fn answers(pairs: &[(&str, &str)]) -> Candidate {
    let replay = |(input, output): &(&str, &str)| Replay {
        input: json(input),
        outcome: Outcome::Answer(json(output)),
        steps: 1,
    };
    Candidate { guarded: true, replays: pairs.iter().map(replay).collect(), ..Candidate::default() }
}

fn find<'a>(verdict: &'a Verdict, id: &str) -> &'a Finding {
    verdict.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("no {id} in {verdict:#?}"))
}

fn status(verdict: &Verdict, id: &str) -> Status {
    find(verdict, id).status
}

#[test]
fn recordings_that_keep_every_claim_pass() {
    let contract = typed(
        "int",
        "text",
        r#","example":[{"name":"one","match":"exact","input":1,"output":"ab"}],
           "property":[{"kind":"regex","target":"output","pattern":"^[a-z]+$"}],
           "budgets":{"max_latency_ms_p95":2}"#,
    );
    let reference = Reference { durations: vec![Some(2_000), Some(1_000), Some(900)], ..Reference::default() };
    let verdict = recordings(&contract, &[seen("1", &[("\"ab\"", 2)], 0), seen("2", &[("\"c\"", 1)], 0)], reference);
    assert_eq!(verdict.status, Status::Pass, "{verdict:#?}");
    assert_eq!(find(&verdict, "recordings/observed").detail, "3 recordings of 2 distinct inputs");
    assert_eq!(find(&verdict, "budget/latency").detail, "p95 is 2000 us over 3 recordings");
}

#[test]
fn what_breaks_in_recordings_fails_with_the_smallest_counterexample() {
    let contract = typed(
        "int",
        "text",
        r#","example":[{"name":"one","match":"exact","input":100,"output":"zz"}],
           "property":[{"kind":"regex","target":"output","pattern":"^[a-z]+$"},{"kind":"len_range","target":"output","max":1}]"#,
    );
    let observations = [
        seen("100", &[("\"ab\"", 2)], 0),
        seen("2", &[("\"C\"", 1)], 3),
        seen("33", &[("\"D\"", 1), ("7", 1)], 0),
        seen("\"x\"", &[("\"d\"", 1)], 0),
    ];
    let verdict = recordings(&contract, &observations, Reference { malformed: 1, ..Reference::default() });
    assert_eq!(verdict.status, Status::Fail);
    let broken: Vec<(&str, Option<String>)> = verdict
        .findings
        .iter()
        .filter(|finding| finding.status == Status::Fail)
        .map(|finding| (finding.id.as_str(), finding.counterexample.as_ref().map(Value::to_string)))
        .collect();
    let at = |text: &str| Some(text.to_owned());
    assert_eq!(
        broken,
        [
            ("recordings/errors", at("2")),
            ("interface/input", at("\"x\"")),
            ("interface/output", at("33")),
            ("example/one", at("100")),
            ("property/0", at("2")),
            ("property/1", at("33")),
            ("budget/malformed", None),
        ]
    );
}

#[test]
fn what_recordings_do_not_show_is_inconclusive() {
    let nothing = recordings(&contract(""), &[], Reference::default());
    assert_eq!(nothing.status, Status::Inconclusive);
    let contract = contract(
        r#","example":[{"name":"far","match":"exact","input":9,"output":9},{"name":"near","match":"judged","input":1,"output":2}],
           "eval_cases":[{"input":1,"expected":1},{"input":5}],
           "budgets":{"max_latency_ms_p95":1,"max_cost_usd_micros":1,"max_tokens":1}"#,
    );
    let reference =
        Reference { durations: vec![Some(1), None], costs: vec![], tokens: vec![Some(1), Some(1)], malformed: 0 };
    let verdict = recordings(&contract, &[seen("1", &[("1", 2)], 0)], reference);
    assert_eq!(verdict.status, Status::Inconclusive, "{verdict:#?}");
    for id in ["example/far", "example/near", "case/1", "budget/latency", "budget/cost"] {
        assert_eq!(status(&verdict, id), Status::Inconclusive, "{id}");
    }
    for id in ["case/0", "budget/tokens", "recordings/divergence"] {
        assert_eq!(status(&verdict, id), Status::Pass, "{id}");
    }
}

#[test]
fn the_percentile_is_by_nearest_rank() {
    let contract = contract(r#","budgets":{"max_tokens":95}"#);
    let p95 = |count: u64| {
        let reference = Reference { tokens: (1..=count).rev().map(Some).collect(), ..Reference::default() };
        let verdict = recordings(&contract, &[seen("1", &[("1", 1)], 0)], reference);
        (find(&verdict, "budget/tokens").detail.clone(), status(&verdict, "budget/tokens"))
    };
    assert_eq!(p95(1), ("p95 is 1 tokens over 1 recordings".to_owned(), Status::Pass));
    assert_eq!(p95(20), ("p95 is 19 tokens over 20 recordings".to_owned(), Status::Pass));
    assert_eq!(p95(100), ("p95 is 95 tokens over 100 recordings".to_owned(), Status::Pass));
    assert_eq!(p95(101), ("p95 is 96 tokens over 101 recordings".to_owned(), Status::Fail));
}

#[test]
fn an_artifact_without_a_guard_needs_the_contracts_word() {
    let observations = [seen("1", &[("2", 1)], 0)];
    let bare = Candidate { guarded: false, ..answers(&[("1", "2")]) };
    assert_eq!(artifact(&contract(""), &observations, bare.clone()).status, Status::Fail);
    assert_eq!(artifact(&contract(r#","guard":"none""#), &observations, bare).status, Status::Pass);
}

#[test]
fn budgets_never_block_an_artifact() {
    let contract = contract(r#","budgets":{"max_latency_ms_p95":0,"max_cost_usd_micros":0}"#);
    let verdict = artifact(&contract, &[seen("1", &[("2", 1)], 0)], answers(&[("1", "2")]));
    assert_eq!(verdict.status, Status::Pass);
    assert!(
        find(&verdict, "budget/reference").detail.starts_with("max_latency_ms_p95, max_cost_usd_micros not judged")
    );
}

#[test]
fn divergent_or_errored_recordings_fail_in_exact_mode_and_count_against_a_threshold() {
    let observations = [seen("1", &[("1", 1)], 0), seen("2", &[("2", 5), ("3", 1)], 0), seen("4", &[("4", 1)], 1)];
    let right = answers(&[("1", "1"), ("2", "2"), ("4", "4")]);
    let agreement = |more: &str| {
        let verdict = artifact(&contract(more), &observations, right.clone());
        (status(&verdict, "replay/agreement"), find(&verdict, "replay/agreement").detail.clone())
    };
    let (exact, detail) = agreement("");
    assert_eq!(exact, Status::Fail);
    assert_eq!(
        detail,
        "1 of 3 equal (33.3333%), 1 divergent recordings, 1 errored recordings; on the smallest its recordings diverge"
    );
    assert_eq!(agreement(r#","acceptance":{"differential_min_agreement_milli":333}"#).0, Status::Pass);
    assert_eq!(agreement(r#","acceptance":{"differential_min_agreement_milli":334}"#).0, Status::Fail);
}

#[test]
fn rare_recordings_are_put_to_the_judge_too() {
    let observations =
        [seen("1", &[("1", 3)], 0), seen("2", &[("2", 2), ("3", 1), ("5", 1)], 0), seen("4", &[("4", 1)], 1)];
    let agreement = |milli: u32, said: &[(&str, bool)]| {
        let contract = contract(&format!(
            r#","acceptance":{{"differential_min_agreement_milli":{milli},"differential_match":"judged"}}"#
        ));
        let mut hearings = Hearings::default();
        said.iter().for_each(|(expected, same)| hearings.opine(json("2"), json(expected), json("2"), *same));
        let verdict = heard(&contract, &observations, answers(&[("1", "1"), ("2", "2"), ("4", "4")]), hearings);
        (status(&verdict, "replay/agreement"), find(&verdict, "replay/agreement").detail.clone())
    };
    let alike = [("3", true), ("5", true)];
    let (passed, detail) = agreement(666, &alike);
    assert_eq!(
        (passed, detail.contains("2 of 3 equal (66.6666%), 1 of them JUDGED")),
        (Status::Pass, true),
        "{detail}"
    );
    assert_eq!(agreement(667, &alike).0, Status::Fail, "no judge can rescue an errored group");
    assert_eq!(agreement(666, &[]).0, Status::Inconclusive, "nobody was asked about the rare ones");
    assert_eq!(agreement(666, &alike[..1]).0, Status::Inconclusive);
    let (failed, detail) = agreement(666, &[("3", false)]);
    assert_eq!(failed, Status::Fail);
    assert!(detail.contains("1 divergent recordings"), "{detail}");
    assert!(detail.contains("a recording gives 3, JUDGED another output"), "{detail}");
}

#[test]
fn a_judge_that_was_not_asked_leaves_the_question_open() {
    let observations = [seen("1", &[("\"a\"", 1)], 0), seen("2", &[("\"b\"", 1)], 0)];
    let judged = contract(
        r#","acceptance":{"differential_min_agreement_milli":900,"differential_match":"judged"},
            "example":[{"name":"e","match":"judged","input":1,"output":"a"},{"name":"f","match":"judged","input":2,"output":"b"}]"#,
    );
    let verdict = artifact(&judged, &observations, answers(&[("1", "\"a\""), ("2", "\"B\"")]));
    assert_eq!(verdict.status, Status::Inconclusive, "{verdict:#?}");
    assert_eq!(status(&verdict, "replay/agreement"), Status::Inconclusive);
    assert_eq!(status(&verdict, "example/e"), Status::Pass);
    assert_eq!(status(&verdict, "example/f"), Status::Inconclusive);
}

#[test]
fn expectations_of_an_artifact() {
    let contract = contract(
        r#","example":[{"name":"right","match":"exact","input":1,"output":1},{"name":"wrong","match":"exact","input":2,"output":1},
                       {"name":"silent","match":"exact","input":3,"output":3},{"name":"recorded","match":"exact","input":4,"output":4},
                       {"name":"broken","match":"exact","input":5,"output":5}],
            "eval_cases":[{"input":6},{"input":7}]"#,
    );
    let mut candidate = answers(&[("1", "1"), ("2", "2"), ("6", "0")]);
    let abstain = || Outcome::Abstain("sketch".to_owned(), 900_000, 100_000);
    candidate.replays.push(Replay { input: json("3"), outcome: abstain(), steps: 1 });
    candidate.replays.push(Replay { input: json("4"), outcome: abstain(), steps: 1 });
    candidate.replays.push(Replay {
        input: json("5"),
        outcome: Outcome::Failed("trap: unreachable".to_owned()),
        steps: 1,
    });
    let verdict = artifact(&contract, &[seen("4", &[("4", 1)], 0)], candidate);
    let got: Vec<(&str, Status)> = verdict
        .findings
        .iter()
        .filter(|finding| finding.id.starts_with("example/") || finding.id.starts_with("case/"))
        .map(|finding| (finding.id.as_str(), finding.status))
        .collect();
    assert_eq!(
        got,
        [
            ("example/right", Status::Pass),
            ("example/wrong", Status::Fail),
            ("example/silent", Status::Inconclusive),
            ("example/recorded", Status::Fail),
            ("example/broken", Status::Fail),
            ("case/0", Status::Pass),
            ("case/1", Status::Inconclusive),
        ]
    );
}

#[test]
fn held_out_answers_are_told_and_judged_only_by_a_floor() {
    let row = |input: &str, outcome| Scored { fold: 0, input: json(input), expected: json(input), outcome };
    let held_out = vec![
        row("1", Outcome::Answer(json("1"))),
        row("2", Outcome::Answer(json("1"))),
        row("3", Outcome::Abstain("undefined".to_owned(), 1_000_000, 0)),
        row("4", Outcome::Answer(json("4"))),
    ];
    let judge = |more: &str, held_out: &[Scored]| {
        let candidate = Candidate { held_out: held_out.to_vec(), ..answers(&[("1", "1")]) };
        artifact(&contract(more), &[seen("1", &[("1", 1)], 0)], candidate)
    };
    let told = judge("", &held_out);
    assert_eq!(told.status, Status::Pass);
    let detail = "2 of 4 right (50.0000%), 1 wrong, 1 without an answer, 0 failed; on the smallest the answer is 1, recorded is 2";
    assert_eq!(find(&told, "out-of-fold").detail, detail);
    let floor = |ppm: u32| format!(r#","acceptance":{{"out_of_fold_min_ppm":{ppm}}}"#);
    assert_eq!(judge(&floor(500_000), &held_out).status, Status::Pass);
    assert_eq!(judge(&floor(500_001), &held_out).status, Status::Fail);
    assert_eq!(judge(&floor(0), &[]).status, Status::Inconclusive, "a floor with nothing measured");
    assert!(judge("", &[]).findings.iter().all(|finding| finding.id != "out-of-fold"));
}

#[test]
fn capabilities_and_purity() {
    let observations = [seen("1", &[("1", 1)], 0)];
    let mut candidate = answers(&[("1", "1"), ("2", "1"), ("2", "1")]);
    candidate.capabilities = vec!["tool:lookup".to_owned()];
    candidate.replays.push(Replay { input: json("3"), outcome: Outcome::Request("tool:lookup".to_owned()), steps: 1 });
    assert_eq!(artifact(&contract(""), &observations, candidate.clone()).status, Status::Pass);
    candidate.replays.push(Replay { input: json("4"), outcome: Outcome::Request("tool:pay".to_owned()), steps: 1 });
    let verdict = artifact(&contract(""), &observations, candidate.clone());
    assert_eq!(find(&verdict, "capabilities").counterexample, Some(json("4")));
    candidate.replays.push(Replay { input: json("2"), outcome: Outcome::Answer(json("0")), steps: 1 });
    let verdict = artifact(&contract(""), &observations, candidate);
    assert_eq!(find(&verdict, "replay/pure").counterexample, Some(json("2")));
}

/// Recordings that agree with themselves, and an artifact that gives them back.
fn faithful(count: usize) -> (Vec<Observation>, Candidate) {
    let text = |index: usize| index.to_string();
    let observations = (0..count).map(|index| seen(&text(index), &[(&text(index * 7), 2)], 0)).collect();
    let replay =
        |index: usize| Replay { input: json(&text(index)), outcome: Outcome::Answer(json(&text(index * 7))), steps: 1 };
    (observations, Candidate { guarded: true, replays: (0..count).map(replay).collect(), ..Candidate::default() })
}

fn spoiled() -> impl Strategy<Value = Option<Outcome>> {
    prop_oneof![
        Just(None),
        Just(Some(Outcome::Answer(json("\"other\"")))),
        // The same number, written as a decimal, is another value.
        Just(Some(Outcome::Answer(json("7.0")))),
        Just(Some(Outcome::Abstain("length".to_owned(), 1_000_000, 5))),
        Just(Some(Outcome::Request("net".to_owned()))),
        Just(Some(Outcome::Failed("out of fuel".to_owned()))),
    ]
}

proptest! {
    #[test]
    fn any_one_spoiled_replay_keeps_an_artifact_out(count in 1usize..30, at: prop::sample::Index, spoiled in spoiled()) {
        let (observations, candidate) = faithful(count);
        prop_assert_eq!(artifact(&contract(""), &observations, candidate.clone()).status, Status::Pass);
        let mut candidate = candidate;
        let at = at.index(count);
        let missing = spoiled.is_none();
        match spoiled {
            Some(outcome) => candidate.replays[at].outcome = outcome,
            None => { candidate.replays.remove(at); }
        }
        let verdict = artifact(&contract(""), &observations, candidate);
        let expected = if missing { Status::Inconclusive } else { Status::Fail };
        prop_assert_eq!(status(&verdict, "replay/agreement"), expected);
        prop_assert!(verdict.status >= expected);
    }

    #[test]
    fn a_threshold_is_the_exact_fraction(count in 1usize..60, wrong in 0usize..60, milli in 1u32..=1000) {
        let wrong = wrong.min(count);
        let (observations, mut candidate) = faithful(count);
        for replay in &mut candidate.replays[..wrong] {
            replay.outcome = Outcome::Abstain("sketch".to_owned(), 1, 0);
        }
        let contract = contract(&format!(r#","acceptance":{{"differential_min_agreement_milli":{milli}}}"#));
        let verdict = artifact(&contract, &observations, candidate);
        let enough = (count - wrong) * 1000 >= milli as usize * count;
        prop_assert_eq!(status(&verdict, "replay/agreement"), if enough { Status::Pass } else { Status::Fail });
    }

    #[test]
    fn the_verdict_is_the_worst_finding_and_ids_are_unique(
        errors in prop::collection::vec(0u32..2, 0..6),
        outputs in prop::collection::vec(0usize..3, 6),
        as_artifact: bool,
    ) {
        let outputs_of = |count: usize| (0..count).map(|index| (Value::from(index), 1)).collect();
        let observations: Vec<Observation> = errors
            .iter()
            .enumerate()
            .map(|(index, errors)| Observation { input: index.into(), outputs: outputs_of(outputs[index]), errors: *errors })
            .collect();
        let contract = contract(r#","eval_cases":[{"input":0,"expected":0},{"input":1}]"#);
        let verdict = if as_artifact {
            artifact(&contract, &observations, answers(&[("0", "0"), ("1", "1")]))
        } else {
            recordings(&contract, &observations, Reference::default())
        };
        prop_assert_eq!(Some(verdict.status), verdict.findings.iter().map(|finding| finding.status).max());
        let mut ids: Vec<&str> = verdict.findings.iter().map(|finding| finding.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), verdict.findings.len());
        let broken = observations.is_empty() || observations.iter().any(|seen| seen.errors > 0);
        prop_assert!(!broken || verdict.status > Status::Pass);
    }
}

/// A contract of version 1 over JSON values with some more members.
fn newer(more: &str) -> Contract {
    let text = format!(
        r#"{{"contract_version":1,"task":"t","scope":{{"type":"task"}},"interface":{{"input":"json","output":"json"}}{more}}}"#
    );
    Contract::from_value(&json(&text)).unwrap()
}

fn heard(contract: &Contract, observations: &[Observation], candidate: Candidate, hearings: Hearings) -> Verdict {
    decide(contract, &Evidence { observations: observations.to_vec(), subject: Subject::Artifact(candidate), hearings })
}

fn held_out(rows: &[(&str, &str, &str)]) -> Vec<Scored> {
    let row = |(input, expected, answer): &(&str, &str, &str)| Scored {
        fold: 0,
        input: json(input),
        expected: json(expected),
        outcome: if *answer == "-" {
            Outcome::Abstain("shape".to_owned(), 1, 0)
        } else {
            Outcome::Answer(json(answer))
        },
    };
    rows.iter().map(row).collect()
}

#[test]
fn a_predicate_decides_and_one_that_fails_or_was_not_asked_never_passes() {
    let digest = "ab".repeat(32);
    let contract = newer(&format!(
        r#","property":[{{"kind":"predicate","sha256":"{digest}","name":"polite","when":{{"kind":"regex","pattern":"!"}}}}]"#
    ));
    let observations = [seen("1", &[("\"a!\"", 2)], 0), seen("2", &[("\"b\"", 2)], 0)];
    let candidate = || answers(&[("1", "\"a!\""), ("2", "\"b\"")]);
    let verdict = |ruling: Option<Ruling>| {
        let mut hearings = Hearings::default();
        if let Some(ruling) = ruling {
            hearings.rule(0, json("1"), json("\"a!\""), ruling);
        }
        heard(&contract, &observations, candidate(), hearings)
    };
    assert_eq!(status(&verdict(Some(Ruling::Holds)), "property/polite"), Status::Pass);
    assert_eq!(status(&verdict(None), "property/polite"), Status::Inconclusive);
    let broken = verdict(Some(Ruling::Broken("it shouts".to_owned())));
    assert_eq!(status(&broken, "property/polite"), Status::Fail);
    assert!(find(&broken, "property/polite").detail.contains("it shouts"));
    let failed = verdict(Some(Ruling::Failed("out-of-fuel".to_owned())));
    assert_eq!(status(&failed, "property/polite"), Status::Fail);
    assert!(find(&failed, "property/polite").detail.contains("the predicate failed: out-of-fuel"));
    assert_eq!(failed.status, Status::Fail);
}

#[test]
fn a_judges_word_counts_and_is_marked() {
    let contract = newer(r#","acceptance":{"match":"judged","agreement_min_ppm":1000000}"#);
    let observations = [seen("1", &[("\"hello\"", 2)], 0)];
    let verdict = |same: Option<bool>| {
        let mut hearings = Hearings::default();
        if let Some(same) = same {
            hearings.opine(json("1"), json("\"hello\""), json("\"hi\""), same);
        }
        heard(&contract, &observations, answers(&[("1", "\"hi\"")]), hearings)
    };
    let agreed = verdict(Some(true));
    assert_eq!(status(&agreed, "replay/agreement"), Status::Pass);
    assert!(find(&agreed, "replay/agreement").detail.contains("1 of them JUDGED"));
    assert_eq!(status(&verdict(Some(false)), "replay/agreement"), Status::Fail);
    assert_eq!(status(&verdict(None), "replay/agreement"), Status::Inconclusive);
}

#[test]
fn approximate_answers_agree_up_to_the_tolerance() {
    let contract = newer(r#","acceptance":{"match":"approximate","tolerance":0.01}"#);
    let observations = [seen("1", &[(r#"{"total":3.50}"#, 2)], 0)];
    let agreement = |answer: &str| {
        status(&heard(&contract, &observations, answers(&[("1", answer)]), Hearings::default()), "replay/agreement")
    };
    assert_eq!(agreement(r#"{"total":3.51}"#), Status::Pass);
    assert_eq!(agreement(r#"{"total":3.511}"#), Status::Fail);
    assert_eq!(agreement(r#"{"total":"3.50"}"#), Status::Fail);
}

#[test]
fn silent_errors_and_classes_are_judged_at_their_exact_boundary() {
    let rows = [("1", "\"a\"", "\"a\""), ("2", "\"a\"", "\"b\""), ("3", "\"b\"", "-"), ("4", "\"b\"", "\"b\"")];
    let observations = [seen("1", &[("\"a\"", 2)], 0)];
    let judge = |acceptance: &str| {
        let candidate = Candidate { held_out: held_out(&rows), ..answers(&[("1", "\"a\"")]) };
        heard(&newer(&format!(r#","acceptance":{{{acceptance}}}"#)), &observations, candidate, Hearings::default())
    };
    let counted = |most: u32| judge(&format!(r#""max_silent_error_ppm":{most},"silent_error_confidence_ppm":0"#));
    assert_eq!(status(&counted(250_000), "silent-error"), Status::Pass);
    let verdict = counted(249_999);
    assert_eq!(status(&verdict, "silent-error"), Status::Fail);
    assert_eq!(find(&verdict, "silent-error").counterexample, Some(json("2")));
    let verdict = judge(r#""classes":{"path":"","min_ppm":500000}"#);
    assert_eq!((status(&verdict, "class/\"a\""), status(&verdict, "class/\"b\"")), (Status::Pass, Status::Pass));
    let verdict = judge(r#""classes":{"path":"","min_ppm":500001}"#);
    assert_eq!((status(&verdict, "class/\"a\""), status(&verdict, "class/\"b\"")), (Status::Fail, Status::Fail));
}

#[test]
fn a_silent_error_is_promised_only_where_enough_was_held_out() {
    let observations = [seen("1", &[("\"a\"", 2)], 0)];
    let judge = |rows: usize, wrong: usize, acceptance: &str| {
        let inputs: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
        let row = |(index, input): (usize, &String)| -> (String, &str, &str) {
            (input.clone(), "\"a\"", if index < wrong { "\"b\"" } else { "\"a\"" })
        };
        let rows: Vec<(String, &str, &str)> = inputs.iter().enumerate().map(row).collect();
        let rows: Vec<(&str, &str, &str)> = rows.iter().map(|(input, a, b)| (input.as_str(), *a, *b)).collect();
        let candidate = Candidate { held_out: held_out(&rows), ..answers(&[("1", "\"a\"")]) };
        let verdict =
            heard(&newer(&format!(r#","acceptance":{{{acceptance}}}"#)), &observations, candidate, Hearings::default());
        (status(&verdict, "silent-error"), find(&verdict, "silent-error").detail.clone())
    };
    // Without a wrong answer: n >= ln(0.05) / ln(0.99).
    assert_eq!(judge(299, 0, r#""max_silent_error_ppm":10000"#).0, Status::Pass);
    let (status, detail) = judge(298, 0, r#""max_silent_error_ppm":10000"#);
    assert_eq!(status, Status::Inconclusive);
    assert!(detail.contains("rule out no less than 1.0"), "{detail}");
    assert_eq!(judge(298, 0, r#""max_silent_error_ppm":10000,"silent_error_confidence_ppm":900000"#).0, Status::Pass);
    // One of 299 is within the share, and proves it no longer.
    assert_eq!(judge(299, 1, r#""max_silent_error_ppm":10000"#).0, Status::Inconclusive);
    assert_eq!(judge(299, 3, r#""max_silent_error_ppm":10000"#).0, Status::Fail);
    assert_eq!(judge(3, 3, r#""max_silent_error_ppm":1000000"#).0, Status::Pass);
}

#[test]
fn an_artifact_is_held_to_its_own_budgets_and_never_to_the_references() {
    let budgets = r#","budgets":{"reference":{"max_cost_usd_micros":0,"max_tokens":0},
        "artifact":{"max_steps":9,"max_steps_p95":9,"max_bytes":100,"max_latency_us_p95":5}}"#;
    let observations = [seen("1", &[("1", 2)], 0)];
    let judge = |metered: bool, steps: u64, size: u32, latency_us_p95: Option<u64>| {
        let mut candidate = Candidate { metered, size, latency_us_p95, ..answers(&[("1", "1")]) };
        candidate.replays[0].steps = steps;
        heard(&newer(budgets), &observations, candidate, Hearings::default())
    };
    assert_eq!(judge(true, 9, 100, Some(5)).status, Status::Pass);
    assert_eq!(status(&judge(true, 10, 100, Some(5)), "budget/steps"), Status::Fail);
    assert_eq!(status(&judge(true, 10, 100, Some(5)), "budget/steps-p95"), Status::Fail);
    assert_eq!(status(&judge(true, 9, 101, Some(5)), "budget/bytes"), Status::Fail);
    assert_eq!(status(&judge(true, 9, 100, Some(6)), "budget/latency"), Status::Fail);
    assert_eq!(judge(true, 9, 100, None).status, Status::Inconclusive);
    assert_eq!(status(&judge(false, 9, 100, Some(5)), "budget/steps"), Status::Inconclusive);
    let twice = [judge(true, 9, 100, Some(4)), judge(true, 9, 100, Some(5))];
    assert_eq!(twice[0], twice[1], "the same judgement has the same record, whatever the clock said");
}

#[test]
fn wrong_answers_are_grouped_by_where_they_part() {
    let observations = [
        seen("1", &[(r#"{"a":1,"b":[1]}"#, 2)], 0),
        seen("2", &[(r#"{"a":1,"b":[1]}"#, 2)], 0),
        seen("3", &[(r#"{"a":1,"b":[1]}"#, 2)], 0),
    ];
    let candidate = answers(&[("1", r#"{"a":2,"b":[1]}"#), ("2", r#"{"a":1,"b":[2]}"#), ("3", r#"{"a":1,"b":[3]}"#)]);
    let verdict = heard(&newer(""), &observations, candidate, Hearings::default());
    let detail = &find(&verdict, "replay/agreement").detail;
    assert!(detail.contains(r#"they part 2 at "/b/*", 1 at "/a""#), "{detail}");
}
