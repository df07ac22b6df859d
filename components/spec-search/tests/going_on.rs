//! Runs that meet a bad moment, run out of something, failed and went on, or were decided about:
//! nothing is counted twice, nothing is asked in vain, and what is told is told of what counts.

mod common;

use auto_json::Value;
use auto_spec_search::lent::{Fault, File, Ran, Told};
use common::house::{
    House, LOOK, RIVERS, TEMPERATURE, diagnosis, edits, helpful, plan, reply, sessions, teacher, text,
};

const ONE: &str = r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1"#;

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn statuses(report: &Value) -> Vec<String> {
    edits(report).into_iter().map(|(status, _)| status).collect()
}

/// Before and after, where they were measured.
fn score(report: &Value, stratum: &str) -> (Option<i64>, Option<i64>) {
    let scores = report.get("scores").and_then(Value::as_list).expect("scores");
    let own = scores.iter().find(|score| text(score, "stratum") == stratum).expect("the stratum");
    let side = |key: &str| own.get(key)?.get("mean")?.as_i64();
    (side("before"), side("after"))
}

fn pending(report: &Value) -> Vec<String> {
    let ids = report.get("pending").and_then(Value::as_list).expect("a list").iter();
    ids.map(|id| id.as_text().expect("an id").to_owned()).collect()
}

fn failing(code: &'static str) -> Told {
    Told { said: Err(Fault::new(code, "a bad moment")), cost: 7 }
}

#[test]
fn one_bad_moment_of_a_teacher_is_asked_over_and_ends_nothing() {
    for code in ["model-failed", "model-timeout", "model-connect", "model-interrupted", "model-bad-reply"] {
        let (mut whole, mut last) = (teacher(helpful), String::new());
        // The first question of every kind meets it.
        let mut house = House::new(Box::new(move |ask, expected| {
            if last == ask.purpose {
                return whole(ask, expected);
            }
            last = ask.purpose.to_owned();
            failing(code)
        }))
        .with(ONE);
        let report = house.run().expect("a report");
        assert_eq!((text(&report, "status"), statuses(&report)), ("complete", vec!["applied".to_owned()]), "{code}");
        assert_eq!(sessions(&report).len(), 1, "no session is lost for it");
        assert_eq!(number(&report, "spent_micro_usd"), house.spent, "and what it cost is counted");
        assert_eq!(number(&report, "calls"), house.asked.len() as u64);
    }
    let mut house = House::new(Box::new(|_, _| failing("model-timeout"))).with(ONE);
    let report = house.run().expect("a report");
    assert_eq!((text(&report, "status"), text(&report, "fault")), ("failed", "model-timeout"));
    assert_eq!(house.asked.len(), 4, "twice, in each of two sessions");
}

#[test]
fn no_money_for_a_repair_ends_the_session_and_not_the_run() {
    let settings = r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1,"max_cost_per_session_usd":0.001"#;
    let mut house =
        House::new(Box::new(|ask, _| reply("It is bad at sums.", if ask.purpose == "repair" { 500 } else { 900 })));
    house = house.with(settings);
    let report = house.run().expect("a report");
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "sessions"), "{report}");
    let session = &sessions(&report)[0];
    assert_eq!((text(session, "status"), text(session, "end")), ("completed", "budget"));
    assert_eq!((house.spent, number(&report, "spent_micro_usd")), (900, 900));
}

#[test]
fn without_experiments_left_nobody_is_asked_any_more_and_the_run_says_why_it_stopped() {
    let asked = |most: usize| {
        let mut house = House::new(teacher(helpful));
        let mut ran = 0;
        house.trouble = Box::new(move |_, _| {
            ran += 1;
            (ran > most).then(|| Fault::new("experiment-budget", "the run may start no more"))
        });
        let report = house.run();
        (house.asked.iter().map(|ask| ask.purpose).collect::<Vec<_>>(), report)
    };
    let (whole, report) = asked(usize::MAX);
    let runs = number(&report.expect("a report"), "experiments") as usize;
    // In the middle of the gate, after the first plan.
    let (purposes, report) = asked(90);
    let report = report.expect("a report");
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "experiment-budget"), "{report}");
    assert_eq!(purposes.iter().filter(|purpose| **purpose == "plan").count(), 1);
    assert_eq!(statuses(&report), ["unmeasurable"]);
    assert!(edits(&report)[0].1.contains("[experiment-budget]"));
    assert!(purposes.len() < whole.len() && 90 < runs);
    // Before anything could be measured it is no search at all.
    let (purposes, report) = asked(3);
    assert_eq!((purposes.len(), report.expect_err("nothing measured").code.as_str()), (0, "experiment-budget"));
}

fn scored(ending: &str) -> Ran {
    Ran { ending: ending.to_owned(), stdout: "0.5".to_owned(), files: vec![], isolation: vec![] }
}

#[test]
fn a_judge_that_fails_once_is_asked_over_although_the_host_runs_the_same_once() {
    let settings =
        r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1,"scorer":{"kind":"command","command":["judge"]}"#;
    let mut house = House::new(teacher(helpful)).with(settings);
    let mut asked = 0;
    house.judge = Box::new(move |_| {
        asked += 1;
        scored(if asked == 5 { "exited 1" } else { "exited 0" })
    });
    assert_eq!(text(&house.run().expect("a report"), "status"), "complete");
    // One that fails for good fails the run; going on tries it anew.
    let mut house = House::new(teacher(helpful)).with(settings);
    house.judge = Box::new(|_| scored("exited 1"));
    assert_eq!(house.run().expect_err("no score").code, "scorer-failed");
    house.judge = Box::new(|_| scored("exited 0"));
    assert_eq!(house.run().expect_err("the same again").code, "scorer-failed");
    let report = house.act(r#""action":"run","failures":1"#).expect("a report");
    assert_eq!(text(&report, "status"), "complete");
}

#[test]
fn what_failed_and_goes_on_counts_on_and_spends_no_more_than_is_left() {
    let settings = r#""autonomy_mode":"auto","min_traces":0,"max_total_cost_usd":0.005"#;
    let mut house = House::new(teacher(helpful)).with(settings);
    let earlier = r#""earlier":{"calls":7,"spent_micro_usd":4000,"experiments":1,"gate_queries":2,"sessions":2,
        "failed_sessions":1,"applied":1}"#;
    let report = house.act(&format!(r#""action":"run",{earlier}"#)).expect("a report");
    assert_eq!(house.asked.iter().map(|ask| ask.ordinal).next(), Some(8), "no two questions have the same number");
    assert!(house.spent <= 1_000, "{}", house.spent);
    assert_eq!(number(&report, "spent_micro_usd"), 4_000 + house.spent);
    assert_eq!(number(&report, "calls"), 7 + house.asked.len() as u64);
    assert_eq!(text(&report, "stop"), "budget");
    let told = format!("{} sessions, {} edits applied", 2 + sessions(&report).len(), 1 + edits(&report).len());
    assert!(text(&report, "why").starts_with(&told) || edits(&report).is_empty(), "{report}");
    // With nothing left nobody is asked.
    let mut house = House::new(teacher(helpful)).with(settings);
    let report = house.act(r#""action":"run","earlier":{"calls":7,"spent_micro_usd":5000}"#).expect("a report");
    assert_eq!((house.asked.len(), text(&report, "stop")), (0, "budget"));
}

#[test]
fn a_run_that_goes_on_is_scored_against_the_spec_that_it_began_with() {
    let mut house = House::new(teacher(helpful)).with(ONE);
    let first = house.run().expect("a report");
    let second =
        house.act(r#""action":"run","earlier":{"calls":5,"spent_micro_usd":0,"sessions":1,"failed_sessions":1}"#);
    let second = second.expect("a report");
    assert_eq!(score(&second, "evaluation").0, score(&first, "evaluation").0);
    assert_eq!(score(&second, "confirm").0, score(&first, "confirm").0);
    assert!(score(&second, "evaluation").1 > score(&first, "evaluation").1);
    assert_eq!(first.get("before"), second.get("before"));
}

#[test]
fn after_a_decision_the_scores_are_those_of_what_counts_then() {
    let settings = r#""min_traces":0,"max_sessions":1,"autonomy_mode":"manual""#;
    let mut house = House::new(teacher(|_| plan(&[("rivers", RIVERS), ("dates", LOOK)]))).with(settings);
    let report = house.run().expect("a report");
    assert_eq!(score(&report, "evaluation"), (Some(0), Some(0)));
    let ids = pending(&report);
    let approved = house.act(&format!(r#""action":"approve","edit":"{}""#, ids[0])).expect("a report");
    let (before, after) = score(&approved, "evaluation");
    assert!(before == Some(0) && after > Some(0), "{approved}");
    let rejected = house.act(&format!(r#""action":"reject","edit":"{}""#, ids[1])).expect("a report");
    assert_eq!(score(&rejected, "evaluation"), (before, after));
    let back = house.act(r#""action":"rollback""#).expect("a report");
    assert_eq!((score(&back, "evaluation"), score(&back, "confirm")), ((Some(0), Some(0)), (Some(0), Some(0))));
    assert_eq!(
        back.get("after").and_then(|after| after.get("bytes")),
        report.get("before").and_then(|of| of.get("bytes"))
    );
}

#[test]
fn a_trained_model_that_was_accepted_is_there_for_the_edits_that_follow() {
    let both: &'static str =
        Box::leak(format!(r#"{{"op":"lora_finetune","payload":{{"model":"small"}}}},{TEMPERATURE}"#).into_boxed_str());
    let settings = r#""min_traces":0,"max_sessions":1,"autonomy_mode":"manual","trainer":{"command":["trainer"]}"#;
    let mut house = House::new(teacher(move |_| plan(&[("sums", both), ("dates", LOOK)]))).with(settings);
    house.judge = Box::new(|_| Ran {
        files: vec![File {
            path: "candidates.json".to_owned(),
            digest: r#"[{"model":"small-ft2","benchmark":"b","accuracy":1,"energy":1,"latency":1,"cost":1}]"#
                .to_owned(),
            executable: false,
        }],
        ..scored("exited 0")
    });
    let ids = pending(&house.run().expect("a report"));
    let approve =
        |house: &mut House, id: &str| house.act(&format!(r#""action":"approve","edit":"{id}""#)).expect("a report");
    assert_eq!(statuses(&approve(&mut house, &ids[0])), ["applied"]);
    assert!(house.spec_now().text().contains("small-ft2"));
    let next = approve(&mut house, &ids[1]);
    assert_eq!(statuses(&next), ["applied"], "{next}");
    // Also for whoever plans next.
    let asked = house.asked.len();
    house.teacher = teacher(|_| plan(&[("rivers", RIVERS)]));
    let report = house.run().expect("a report");
    assert_eq!(statuses(&report), ["pending_review"], "{report}");
    let planned = house.asked[asked..].iter().find(|ask| ask.purpose == "plan").expect("a plan");
    assert!(planned.text.contains("A model small-ft2, which takes what small does."), "{}", planned.text);
}

#[test]
fn a_trainer_that_fails_decides_nothing_and_is_started_anew_when_it_is_approved_again() {
    let lora = r#"{"op":"lora_finetune","payload":{"model":"small"}}"#;
    let settings = r#""min_traces":0,"max_sessions":1,"autonomy_mode":"manual","trainer":{"command":["trainer"]}"#;
    let mut house = House::new(teacher(move |_| plan(&[("sums", lora)]))).with(settings);
    house.judge = Box::new(|_| scored("exited 1"));
    let ids = pending(&house.run().expect("a report"));
    let head = house.head.clone();
    let approve = |house: &mut House, failures: u32| {
        house.act(&format!(r#""action":"approve","edit":"{}","failures":{failures}"#, ids[0]))
    };
    assert_eq!(approve(&mut house, 0).expect_err("nothing is decided").code, "trainer-failed");
    assert_eq!(house.head, head, "it waits as before");
    house.judge = Box::new(|_| Ran {
        files: vec![File {
            path: "candidates.json".to_owned(),
            digest: r#"[{"model":"small-ft","benchmark":"b","accuracy":1,"energy":1,"latency":1,"cost":1}]"#.to_owned(),
            executable: false,
        }],
        ..scored("exited 0")
    });
    assert_eq!(statuses(&approve(&mut house, 1).expect("a report")), ["rejected_by_gate"]);
}

#[test]
fn what_is_measured_is_told_with_the_runs_that_it_rests_on() {
    let mut house = House::new(teacher(|_| plan(&[("dates", LOOK)]))).with(ONE);
    let report = house.run().expect("a report");
    let session = &sessions(&report)[0];
    let clusters = session.get("failure_clusters").and_then(Value::as_list).expect("clusters");
    for cluster in clusters {
        let runs = |key: &str| cluster.get(key).and_then(Value::as_list).expect("runs").len() as u64;
        assert_eq!(
            (runs("student_runs"), runs("teacher_runs")),
            (number(cluster, "n_student"), number(cluster, "n_teacher"))
        );
        assert!(runs("teacher_runs") >= 3);
    }
    let outcome = &session.get("edit_outcomes").and_then(Value::as_list).expect("outcomes")[0];
    let tasks = outcome.get("cluster_tasks").expect("how many tasks of each cluster");
    assert!(number(tasks, "dates") >= 5 && tasks.as_record().is_some_and(|tasks| tasks.len() == 3), "{tasks}");
    assert_eq!(report.get("isolation").map(Value::to_string).as_deref(), Some(r#"["limits"]"#));
    assert_eq!(text(&report, "teacher_model"), "claude-opus-4-6");
    let asked = |purpose: &str| house.asked.iter().filter(|ask| ask.purpose == purpose).count();
    assert!(asked("diagnose") == 1 && !diagnosis(&house.asked[0].text).is_empty());
}
