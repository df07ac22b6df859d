//! A whole search on a landscape that is known: rows are right up to a threshold, and two parameters
//! decide how many a run gets right. Decoys lie in it that look better than they are.

mod common;

use std::collections::BTreeSet;

use auto_json::{Record, Value};
use common::{Desk, House, list, number, of_status, text};

const ROWS: usize = 400;

/// Rows whose label follows from their number, and a field that gives it away.
fn rows(leak: bool) -> String {
    let row = |at: usize| {
        let record = Record::new().with("x", at).with("label", ["a", "b", "c", "d"][at % 4]);
        Value::from(if leak { record.with("code", format!("{}-{}", at % 4, "z")) } else { record })
    };
    Value::List((0..ROWS).map(row).collect()).to_string()
}

const SETTINGS: &str = r#"{
    "seed": 3, "max_generations": 14, "offspring": 6, "islands": 2, "stagnation": 14, "max_jobs": 400,
    "evaluator": {"command": ["trainer"]},
    "rows": {"label": "label", "select": 0.3, "confirm": 0.3},
    "space": {
        "depth": {"kind": "whole", "min": 0, "max": 60, "default": 2},
        "width": {"kind": "whole", "min": 0, "max": 60, "default": 50},
        "trick": {"kind": "choice", "choices": ["none", "leak", "nan", "loop", "other"], "default": "none"}}}"#;

fn settings(from: &str, to: &str) -> String {
    assert!(SETTINGS.contains(from), "{from}");
    SETTINGS.replace(from, to)
}

/// How many of a hundred rows an honest run gets right: the more the nearer to (40, 20).
fn skill(desk: &Desk<'_>) -> i64 {
    90 - (desk.param("depth") - 40).abs() / 2 - (desk.param("width") - 20).abs()
}

/// Learns which label goes with which remainder, if it is taught well, and gets `skill` of the rows right.
fn honest(desk: &mut Desk<'_>) {
    let skill = skill(desk).max(25);
    let known: Vec<(i64, String)> =
        desk.rows("train.jsonl").iter().map(|row| (of(row), text(row, "label").to_owned())).collect();
    let seed = desk.seed;
    desk.predict(move |row| {
        let lucky = (of(row) * 37 + seed as i64) % 100 < skill;
        let votes = known.iter().filter(|(x, _)| x % 4 == of(row) % 4).map(|(_, label)| label);
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        votes.for_each(|label| *counts.entry(label).or_default() += 1);
        let best = counts.into_iter().max_by_key(|(_, count)| *count).map_or("a", |(label, _)| label);
        if lucky { best.to_owned() } else { ["b", "c", "d", "a"][(of(row) % 4) as usize].to_owned() }
    });
}

fn of(row: &Value) -> i64 {
    row.get("input").and_then(|input| input.get("x")?.as_i64()).unwrap()
}

fn trick(desk: &Desk<'_>) -> String {
    desk.request().get("params").and_then(|params| params.get("trick")?.as_text().map(str::to_owned)).unwrap()
}

/// The trainer, with its decoys.
fn trainer(desk: &mut Desk<'_>) {
    honest(desk);
    match trick(desk).as_str() {
        // It learns the field that gives the label away, as any trainer would.
        "leak" => {
            let code = |row: &Value| row.get("input").and_then(|input| input.get("code")).map(Value::to_string);
            let train = desk.rows("train.jsonl");
            let known: std::collections::BTreeMap<String, String> =
                train.iter().filter_map(|row| Some((code(row)?, text(row, "label").to_owned()))).collect();
            desk.predict(move |row| {
                code(row).and_then(|code| known.get(&code).cloned()).unwrap_or_else(|| "a".to_owned())
            });
        }
        "nan" => desk.leave("metrics.json", format!("{{\"run\":\"{}\",\"loss\":NaN}}", text(&desk.request(), "run"))),
        "loop" => desk.ending = "timed out".to_owned(),
        "other" => desk.leave("metrics.json", "{\"run\":\"r-of-somebody-else\"}"),
        _ => {}
    }
}

fn score(report: &Value, stratum: &str, side: &str) -> i64 {
    let score = list(report, "scores").iter().find(|score| text(score, "stratum") == stratum).unwrap();
    number(score.get(side).unwrap(), "mean")
}

#[test]
fn a_weak_baseline_becomes_a_confirmed_improvement_and_the_same_seed_the_same_lineage() {
    let mut house = House::new(SETTINGS, &rows(false), trainer);
    let report = house.run().unwrap();
    assert_eq!(text(&report, "status"), "complete", "{report}");
    assert!(score(&report, "select", "after") > 750_000 && score(&report, "select", "before") < 500_000);
    assert!(score(&report, "confirm", "after") > score(&report, "confirm", "before") + 200_000);
    assert!(house.made()["params.json"].contains("\"trick\":\"none\""), "{:?}", house.made());
    let mut again = House::new(SETTINGS, &rows(false), trainer);
    assert_eq!(again.run().unwrap().to_string(), report.to_string());
    let mut other = House::new(&settings("\"seed\": 3", "\"seed\": 4"), &rows(false), trainer);
    assert_ne!(list(&other.run().unwrap(), "individuals")[5], list(&report, "individuals")[5]);
}

#[test]
fn every_individual_says_where_it_came_from() {
    let report = House::new(SETTINGS, &rows(false), trainer).run().unwrap();
    let all = list(&report, "individuals");
    let ids: BTreeSet<&str> = all.iter().map(|own| text(own, "id")).collect();
    assert_eq!(ids.len(), all.len());
    let mut operators = BTreeSet::new();
    for (at, own) in all.iter().enumerate() {
        let parents = list(own, "parents");
        let earlier = |parent: &Value| all[..at].iter().any(|other| text(other, "id") == parent.as_text().unwrap());
        assert!(parents.iter().all(earlier), "{own}");
        let wanted = match text(own, "operator") {
            "baseline" | "fresh" => 0,
            "crossover" | "repair" => 2,
            _ => 1,
        };
        assert_eq!(parents.len(), wanted, "{own}");
        assert_eq!(at == 0, text(own, "patch").is_empty(), "{own}");
        operators.insert(text(own, "operator"));
    }
    assert!(operators.len() >= 5, "{operators:?}");
    let digests: BTreeSet<&str> = all.iter().map(|own| text(own, "digest")).collect();
    assert_eq!(digests.len(), all.len(), "nothing is tried twice");
}

#[test]
fn a_planted_leak_and_cheats_are_quarantined_and_never_have_children() {
    let mut house = House::new(SETTINGS, &rows(true), trainer);
    let report = house.run().unwrap();
    assert_eq!(text(&report, "status"), "complete", "{report}");
    let caught: Vec<&Value> = of_status(&report, "quarantined");
    let by = |code: &str| caught.iter().filter(|own| text(own, "reason").contains(code)).count();
    assert!(by("[target-derived]") > 0 && by("[not-finite]") > 0 && by("[other-run]") > 0, "{caught:?}");
    assert!(caught.iter().all(|own| ["leak", "nan", "other"].contains(&text(own.get("params").unwrap(), "trick"))));
    let ids: BTreeSet<&str> = caught.iter().map(|own| text(own, "id")).collect();
    for own in list(&report, "individuals") {
        // Whoever was found out only later may have had children before.
        let late = |id: &&str| {
            caught.iter().any(|other| text(other, "id") == *id && !text(other, "reason").contains("[target-derived]"))
        };
        assert!(
            list(own, "parents")
                .iter()
                .all(|parent| !ids.iter().filter(|id| late(id)).any(|id| parent.as_text() == Some(*id))),
            "{own}"
        );
    }
    assert!(house.made()["params.json"].contains("\"trick\":\"none\""));
    assert!(list(&report, "notes")[0].as_text().unwrap().contains("from code alone"));
}

#[test]
fn a_leak_over_the_declared_ceiling_costs_no_run() {
    let ceiling = settings("\"rows\":", "\"checks\": {\"ceiling\": 0.99}, \"rows\":");
    let mut house = House::new(&ceiling, &rows(true), trainer);
    let report = house.run().unwrap();
    let caught = of_status(&report, "quarantined");
    assert!(caught.iter().any(|own| text(own, "reason").contains("[ceiling]")), "{caught:?}");
    assert!(caught.iter().all(|own| !text(own, "reason").contains("[target-derived]")));
}

#[test]
fn what_memorises_labels_that_were_shuffled_is_caught() {
    // It is told every label by a channel that nobody else sees.
    let cheat = |desk: &mut Desk<'_>| {
        trainer(desk);
        if trick(desk) == "leak" {
            desk.predict(|row| ["a", "b", "c", "d"][(of(row) % 4) as usize].to_owned());
        }
    };
    let report = House::new(SETTINGS, &rows(false), cheat).run().unwrap();
    let caught = of_status(&report, "quarantined");
    assert!(caught.iter().any(|own| text(own, "reason").contains("[shuffled-labels]")), "{caught:?}");
    assert_eq!(text(&report, "status"), "complete");
}

#[test]
fn what_differs_from_run_to_run_is_caught_and_a_baseline_that_does_ends_it() {
    let mut count = 0_u64;
    let restless = move |desk: &mut Desk<'_>| {
        trainer(desk);
        count += 1;
        if trick(desk) == "leak" {
            let skip = count;
            desk.predict(move |row| {
                let right = !(of(row) as u64 + skip).is_multiple_of(20);
                if right { ["a", "b", "c", "d"][(of(row) % 4) as usize].to_owned() } else { "d".to_owned() }
            });
        }
    };
    let report = House::new(SETTINGS, &rows(false), restless).run().unwrap();
    let caught = of_status(&report, "quarantined");
    assert!(caught.iter().any(|own| text(own, "reason").contains("[exact-rerun]")), "{caught:?}");
    let mut count = 0_u64;
    let chaos = move |desk: &mut Desk<'_>| {
        count += 1;
        let now = count.to_string();
        desk.predict(move |_| now.clone());
    };
    assert_eq!(House::new(SETTINGS, &rows(false), chaos).run().unwrap_err().code, "not-reproducible");
}

#[test]
fn an_evaluator_that_always_fails_is_said_at_once() {
    let fault = House::new(SETTINGS, &rows(false), |desk| desk.ending = "exited 1".to_owned()).run().unwrap_err();
    assert_eq!(fault.code, "baseline-invalid");
    assert!(fault.message.contains("exited 1") && fault.message.contains("what it said"), "{}", fault.message);
}

#[test]
fn every_reason_to_stop_is_reached_and_no_budget_is_broken() {
    let stop = |from: &str, to: &str| {
        let mut house = House::new(&settings(from, to), &rows(false), trainer);
        let report = house.run().unwrap();
        (text(&report, "stop").to_owned(), number(&report, "experiments"), number(&report, "spent_micro_usd"), report)
    };
    assert_eq!(stop("\"max_generations\": 14", "\"max_generations\": 2").0, "generations");
    assert_eq!(stop("\"stagnation\": 14", "\"target\": 0.6").0, "target_reached");
    let (why, jobs, ..) = stop("\"max_jobs\": 400", "\"max_jobs\": 40");
    assert!(why == "jobs" && jobs <= 40, "{why} {jobs}");
    let (why, _, spent, report) = stop("\"max_jobs\": 400", "\"max_spend_usd\": 0.5, \"job_cost_usd\": 0.01");
    assert!(why == "spend" && (300_000..=500_000).contains(&spent), "{why} {spent}");
    assert_eq!(text(&report, "status"), "complete", "the end was paid for beforehand");
    let flat = |desk: &mut Desk<'_>| desk.predict(|_| "a".to_owned());
    let few = settings("\"stagnation\": 14", "\"stagnation\": 3");
    let report = House::new(&few, &rows(false), flat).run().unwrap();
    assert_eq!((text(&report, "stop"), text(&report, "status")), ("stagnation", "no_improvement"));
    let tight = settings("\"max_jobs\": 400", "\"max_jobs\": 13");
    let report = House::new(&tight, &rows(false), trainer).run().unwrap();
    assert!(list(&report, "notes").iter().any(|note| note.as_text().unwrap().contains("at least three")), "{report}");
}

#[test]
fn a_cancelled_search_tells_what_it_had_and_confirms_nothing() {
    let mut house = House::new(SETTINGS, &rows(false), trainer);
    house.budget = 60;
    let report = house.act(r#""action":"cancel""#).unwrap();
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("cancelled", "cancelled"), "{report}");
    assert_eq!(report.get("confirm"), None);
    assert!(house.made()["params.json"].contains("\"depth\":2"), "the baseline counts");
    let mut early = House::new(SETTINGS, &rows(false), trainer);
    early.budget = 0;
    assert_eq!(early.act(r#""action":"cancel""#).unwrap_err().code, "nothing-measured");
}

#[test]
fn what_does_not_hold_on_rows_that_nobody_saw_does_not_count() {
    // It does well on the rows that the search sees, and on no others.
    let mut seen = BTreeSet::new();
    let fitted = move |desk: &mut Desk<'_>| {
        let tests: Vec<i64> = desk.rows("test.jsonl").iter().map(of).collect();
        if seen.is_empty() {
            seen.extend(tests.iter().copied());
        }
        let own = seen.clone();
        let skill = skill(desk).max(25);
        let known = desk
            .rows("train.jsonl")
            .iter()
            .all(|row| text(row, "label") == ["a", "b", "c", "d"][(of(row) % 4) as usize]);
        desk.predict(move |row| {
            let lucky = own.contains(&of(row)) && (of(row) * 37) % 100 < skill && known;
            let wrong = ["b", "c", "d", "a"][(of(row) % 4) as usize];
            if lucky { ["a", "b", "c", "d"][(of(row) % 4) as usize].to_owned() } else { wrong.to_owned() }
        });
    };
    let mut house = House::new(SETTINGS, &rows(false), fitted);
    let report = house.run().unwrap();
    assert_eq!(text(&report, "status"), "unconfirmed", "{report}");
    assert!(house.made()["params.json"].contains("\"depth\":2"), "the baseline counts");
}

#[test]
fn programs_evolve_against_labels_in_the_sandbox() {
    let row =
        |at: i64| Value::from(Record::new().with("a", at).with("b", at * 7 % 13).with("label", at * 7 % 13 + 2 * at));
    let rows = Value::List((0..120).map(row).collect()).to_string();
    let settings = r#"{"seed": 5, "max_generations": 60, "offspring": 12, "stagnation": 60, "max_jobs": 2000, "novelty": 1,
        "rows": {"label": "label", "select": 0.5, "confirm": 0.4}, "target": 1,
        "program": {"input": "record{a: int, b: int}", "output": "int", "base": "$.a"}}"#;
    let mut house = House::new(settings, &rows, |_| panic!("nothing is run"));
    let report = house.run().unwrap();
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "target_reached"), "{report}");
    assert_eq!(score(&report, "confirm", "after"), 1_000_000);
    assert!(house.made().contains_key("program.wasm") && house.made()["program.lang"].contains("$.b"));
}

#[test]
fn a_search_can_be_taken_back_and_has_nothing_to_approve() {
    let mut house = House::new(SETTINGS, &rows(false), trainer);
    house.run().unwrap();
    let best = house.made();
    assert_eq!(house.act(r#""action":"approve","edit":"i0001""#).unwrap_err().code, "nothing-pending");
    house.act(r#""action":"rollback","actor":"ann""#).unwrap();
    assert_ne!(house.made(), best);
    assert!(house.made()["params.json"].contains("\"depth\":2"));
    assert_eq!(house.act(r#""action":"rollback","to":"nowhere""#).unwrap_err().code, "no-such-state");
}

const AB: &str = r#"{"seed": 1, "max_jobs": 400, "random_share": 0.3,
    "ab": {"command": ["experiment"], "batches": 30, "candidates": 6, "alpha": 0.05},
    "space": {"n": {"kind": "whole", "min": 0, "max": 9, "default": 1}, "trick": {"kind": "choice", "choices": ["no", "never", "nope", "yes"], "default": "no"}}}"#;

/// An experiment in which a policy succeeds the more often the greater its number is, `step` millionths each.
fn experiment(step: i64) -> impl FnMut(&mut Desk<'_>) + 'static {
    move |desk| {
        let request = desk.request();
        let mut random = auto_search::Random::of(desk.seed, "experiment");
        let mut counts = Record::new().with("run", text(&request, "run"));
        for arm in ["baseline", "candidate"] {
            let n = number(request.get(arm).unwrap(), "n");
            let successes = (0..200).filter(|_| random.chance(300_000 + step * n)).count();
            counts.set(arm, Record::new().with("successes", successes).with("trials", 200_u32));
        }
        if text(request.get("candidate").unwrap(), "trick") == "yes" {
            counts.set("candidate", Record::new().with("successes", 201_u32).with("trials", 200_u32));
        }
        desk.leave("counts.json", Value::from(counts).to_string());
    }
}

#[test]
fn an_a_b_test_finds_a_better_policy_and_confirms_it_in_batches_of_its_own() {
    let mut house = House::new(AB, "[]", experiment(40_000));
    let report = house.run().unwrap();
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "candidates"), "{report}");
    assert!(score(&report, "confirm", "after") > score(&report, "confirm", "before") + 50_000);
    assert!(text(&report, "error_rates").contains("at most 0.05 for all 6 candidates together (0.008333 each)"));
    assert!(!house.made()["params.json"].contains("yes"));
    assert_eq!(House::new(AB, "[]", experiment(40_000)).run().unwrap().to_string(), report.to_string());
    let tricked: Vec<&Value> = of_status(&report, "invalid");
    assert!(tricked.iter().all(|own| text(own, "reason").contains("more successes than trials")), "{tricked:?}");
}

#[test]
fn policies_that_are_equal_are_left_as_they_are() {
    let mut promoted = 0;
    for seed in 0..20 {
        let mut house = House::new(&AB.replace("\"seed\": 1", &format!("\"seed\": {seed}")), "[]", experiment(0));
        let report = house.run().unwrap();
        promoted += i32::from(text(&report, "status") != "no_improvement");
    }
    assert!(promoted <= 3, "{promoted} of 20, where 1 is promised on average");
}

#[test]
fn an_a_b_test_keeps_to_its_jobs_and_leaves_some_to_confirm_with() {
    let mut house = House::new(&AB.replace("400", "60"), "[]", experiment(40_000));
    let report = house.run().unwrap();
    assert_eq!(text(&report, "stop"), "jobs", "{report}");
    assert!(number(&report, "experiments") <= 60);
    let refused =
        House::new(&AB.replace("\"ab\"", "\"evaluator\": {\"command\": [\"x\"]}, \"ab\""), "[]", |_| {}).run();
    assert_eq!(refused.unwrap_err().code, "bad-settings");
}

/// A teacher that says the same every time.
fn teacher(said: &'static str, cost: u64) -> impl FnMut(&auto_evolve::lent::Ask) -> auto_evolve::lent::Told + 'static {
    move |ask| {
        let fault = auto_evolve::lent::Fault::new("call-cap", "it may cost more");
        let said = if cost > ask.most { Err(fault) } else { Ok(said.to_owned()) };
        auto_evolve::lent::Told { cost: if said.is_ok() { cost } else { 0 }, said, model: "recorded".to_owned() }
    }
}

#[test]
fn a_teacher_proposes_under_the_cap_and_is_measured_like_anybody_else() {
    let said = r#"Three ideas: ```json
[{"idea": "depth", "params": {"depth": 40, "width": 20, "trick": "none"}},
 {"idea": "out of range", "params": {"depth": 400, "width": 20, "trick": "none"}},
 {"idea": "no such key", "parameters": {}}]
```"#;
    let taught = settings("\"max_jobs\": 400", "\"max_jobs\": 400, \"teacher\": \"x\", \"max_spend_usd\": 0.01");
    let mut house = House::new(&taught, &rows(false), trainer);
    house.teacher = Box::new(teacher(said, 3_000));
    let report = house.run().unwrap();
    let all = list(&report, "individuals");
    let own: Vec<&Value> = all.iter().filter(|own| text(own, "by") == "recorded").collect();
    assert_eq!(own.len(), 2, "{own:?}");
    assert_eq!((text(own[0], "status"), text(own[1], "status")), ("valid", "refused"));
    assert!(text(own[1], "reason").contains("[not-of-the-space]") && text(own[0], "prompt").len() == 64);
    assert_eq!((text(&report, "stop"), number(&report, "spent_micro_usd")), ("spend", 9_000), "{report}");
    assert!(list(&report, "notes").iter().any(|note| note.as_text().unwrap().contains("parameters")));
    assert!(house.asked.iter().all(|ask| !ask.text.contains("\"label\"")), "no row leaves the house");
    assert_eq!(text(&report, "status"), "complete");
}

#[test]
fn a_teacher_that_cannot_be_asked_ends_the_search_and_one_that_talks_does_not() {
    let taught = settings("\"max_jobs\": 400", "\"max_jobs\": 400, \"teacher\": \"x\", \"max_spend_usd\": 1");
    let mut house = House::new(&taught, &rows(false), trainer);
    house.teacher = Box::new(teacher("I cannot help with that.", 10));
    let report = house.run().unwrap();
    assert_eq!(text(&report, "status"), "complete", "{report}");
    assert!(list(&report, "notes")[0].as_text().unwrap().contains("of no use"));
    let mut house = House::new(&taught, &rows(false), trainer);
    house.teacher = Box::new(|_| {
        let said = Err(auto_evolve::lent::Fault::new("model-unauthorized", "the key is wrong"));
        auto_evolve::lent::Told { said, cost: 0, model: String::new() }
    });
    let report = house.run().unwrap();
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("failed", "model-unauthorized"));
    assert!(house.made()["params.json"].contains("\"depth\":2"), "the baseline counts");
}

#[test]
fn what_a_teacher_made_and_failed_is_mended_twice_and_then_by_the_strong_one() {
    let taught = settings("\"max_jobs\": 400", "\"max_jobs\": 400, \"teacher\": \"x\", \"max_spend_usd\": 1");
    let mut house = House::new(&taught, &rows(false), trainer);
    let mut depth = 40;
    house.teacher = Box::new(move |ask| {
        // Something new each time, that fails as what was before it did.
        depth += 1;
        let said = match ask.purpose {
            "propose" | "cross" if depth > 41 => "I cannot help with that.".to_owned(),
            _ => format!(r#"[{{"idea": "loop", "params": {{"depth": {depth}, "width": 20, "trick": "loop"}}}}]"#),
        };
        auto_evolve::lent::Told { cost: 10, said: Ok(said), model: "recorded".to_owned() }
    });
    house.run().unwrap();
    let purposes: Vec<&str> = house.asked.iter().map(|ask| ask.purpose).collect();
    let mending: Vec<&str> =
        purposes.iter().copied().filter(|purpose| ["repair", "escalate"].contains(purpose)).collect();
    assert_eq!(mending.get(..3), Some(&["repair", "repair", "escalate"][..]), "{purposes:?}");
}

#[test]
fn source_files_evolve_within_their_regions() {
    let code = "LIMIT = 9\n# EVOLVE-START\ndepth = 2\nwidth = 50\nnoise = 7\n# EVOLVE-END\ndef run(x):\n    return x\n";
    let table = r#""code": {"editable": ["solver.py"], "keep": ["def run(x):"], "banned": ["import"]}, "evaluator""#;
    let settings = settings("\"evaluator\"", table).replace("\"depth\": {", "\"unused\": {");
    let settings = settings
        .replace("\"max_generations\": 14", "\"max_generations\": 40")
        .replace("\"max_jobs\": 400", "\"max_jobs\": 900");
    // The file says how deep and wide it is; without a line of those nothing runs.
    let solver = |desk: &mut Desk<'_>| {
        let file = desk.files["solver.py"].clone();
        let own = |name: &str| {
            let line = file.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")).map(str::to_owned));
            line.and_then(|text| text.parse::<i64>().ok())
        };
        assert!(file.starts_with("LIMIT = 9\n") && file.ends_with("def run(x):\n    return x\n"), "{file}");
        let (Some(depth), Some(width)) = (own("depth"), own("width")) else {
            desk.ending = "exited 1".to_owned();
            return;
        };
        let skill = (90 - (depth - 40).abs() / 2 - (width - 20).abs()).max(25);
        let taught = desk
            .rows("train.jsonl")
            .iter()
            .all(|row| text(row, "label") == ["a", "b", "c", "d"][(of(row) % 4) as usize]);
        desk.predict(move |row| {
            let at = (of(row) % 4) as usize;
            if (of(row) * 37) % 100 < skill && taught { ["a", "b", "c", "d"][at] } else { ["b", "c", "d", "a"][at] }
                .to_owned()
        });
    };
    let mut house = House::new(&settings, &rows(false), solver);
    let digest = house.keep(code);
    house.inputs.push(("code", format!(r#"[{{"path":"solver.py","digest":"{digest}","executable":false}}]"#)));
    let report = house.run().unwrap();
    assert_eq!(text(&report, "status"), "complete", "{}", text(&report, "why"));
    assert!(score(&report, "select", "after") > score(&report, "select", "before") + 150_000);
    let invalid = of_status(&report, "invalid");
    assert!(!invalid.is_empty() && invalid.iter().all(|own| text(own, "feedback") == "what it said"));
    let patched =
        list(&report, "individuals").iter().skip(1).filter(|own| text(own, "patch").contains("+++ solver.py"));
    assert!(patched.count() > 20);
    assert!(house.made()["solver.py"].contains("LIMIT = 9"));
}
