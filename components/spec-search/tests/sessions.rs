//! Whole runs of the driver against a student with a known optimum: every reason to stop, and
//! every decision about a proposal.

mod common;

use auto_json::Value;
use auto_spec_search::lent::{Fault, Ran};
use auto_spec_search::sample::{Split, split};
use auto_spec_search::spec::Path;
use common::house::{
    House, LOOK, NEUTRAL, RIVERS, TEMPERATURE, count, edits, helpful, plan, reply, sessions, teacher, text,
};

fn statuses(report: &Value) -> Vec<String> {
    edits(report).into_iter().map(|(status, _)| status).collect()
}

fn before_after(report: &Value, stratum: &str) -> (i64, i64) {
    let scores = report.get("scores").and_then(Value::as_list).expect("scores");
    let own = scores.iter().find(|score| text(score, "stratum") == stratum).expect(stratum);
    let mean = |key| own.get(key).and_then(|of| of.get("mean")).and_then(Value::as_i64).expect("a mean");
    (mean("before"), mean("after"))
}

/// One session with these proposals.
fn once(proposals: &'static [(&'static str, &'static str)]) -> (House, Value) {
    let house = House::new(teacher(move |_| plan(proposals)));
    let mut house = house.with(r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1"#);
    let report = house.run().expect("a report");
    (house, report)
}

#[test]
fn the_known_optimum_is_reached_in_three_sessions_and_two_more_find_nothing() {
    let mut house = House::new(teacher(helpful));
    let report = house.run().expect("a report");
    assert_eq!((text(&report, "status"), text(&report, "stop")), ("complete", "stagnation"));
    assert_eq!(sessions(&report).len(), 5);
    assert_eq!(statuses(&report), ["applied"; 3]);
    assert_eq!(before_after(&report, "evaluation"), (0, 1_000_000));
    assert_eq!(before_after(&report, "confirm"), (0, 1_000_000), "also on tasks that decided nothing");
    let ends: Vec<Value> = sessions(&report).iter().map(|one| one.get("end").cloned().unwrap_or(Value::Null)).collect();
    assert_eq!(ends[3..], ["no_actionable_clusters".into(), "no_actionable_clusters".into()]);
    assert_eq!(house.spec_now().id().to_string(), text(report.get("after").expect("after"), "id"));
    let again = House::new(teacher(helpful)).run().expect("a report");
    assert_eq!(again, report, "the same inputs, the same report");
}

#[test]
fn each_task_is_run_once_with_each_spec() {
    let mut house = House::new(teacher(helpful));
    let report = house.run().expect("a report");
    assert_eq!(Some(house.ran as u64), report.get("experiments").and_then(Value::as_u64));
    let all: usize = ["sums", "dates", "rivers"].iter().map(|one| count(one, Split::Confirm)).sum();
    assert!(house.ran <= 4 * (90 - all) + 2 * all, "{} runs for four specs", house.ran);
}

#[test]
fn what_helps_one_and_harms_another_and_what_helps_nothing_are_refused() {
    const HARMFUL: &str = r#"{"op":"add_tool_to_agent","payload":{"tool_name":"look"}},
        {"op":"set_engine","payload":{"id":"remote"}}"#;
    let (house, report) =
        once(&[("sums", TEMPERATURE), ("dates", NEUTRAL), ("dates", HARMFUL), ("dates", TEMPERATURE), ("dates", LOOK)]);
    assert_eq!(statuses(&report), ["invalid", "applied", "rejected_by_gate", "rejected_by_gate", "applied"]);
    let reasons: Vec<String> = edits(&report).into_iter().map(|(_, reason)| reason).collect();
    assert!(reasons[0].contains("[tried-before]"), "{reasons:?}");
    assert_eq!(reasons[2], "score/dates bound 0.0", "the target stayed flat");
    assert!(
        reasons[3].starts_with("score/sums bound -1.0; score/sums drift") || reasons[3] == "score/sums bound -1.0",
        "{reasons:?}"
    );
    drop(house);
}

#[test]
fn refused_edits_are_told_to_the_next_plan_and_not_taken_again() {
    let mut house = House::new(teacher(|_| plan(&[("dates", NEUTRAL)])));
    let report = house.run().expect("a report");
    assert_eq!(text(&report, "stop"), "stagnation");
    assert_eq!(statuses(&report), ["rejected_by_gate", "invalid"]);
    let plans: Vec<&str> =
        house.asked.iter().filter(|ask| ask.purpose == "plan").map(|ask| ask.text.as_str()).collect();
    assert!(plans[0].ends_with("nothing\n"));
    assert!(plans[1].contains("score/dates bound 0.0, its targets 0.0"), "{}", plans[1]);
}

#[test]
fn the_loop_stops_at_the_money_and_at_the_number_of_sessions() {
    let mut house = House::new(teacher(|_| plan(&[]))).with(r#""min_traces":0,"max_sessions":3"#);
    assert_eq!(text(&house.run().expect("a report"), "stop"), "sessions");
    let settings = r#""min_traces":0,"max_cost_per_session_usd":0.004,"max_total_cost_usd":0.005"#;
    let mut house = House::new(teacher(|_| plan(&[]))).with(settings);
    let report = house.run().expect("a report");
    assert_eq!(text(&report, "stop"), "budget");
    assert!(house.spent <= 5_000, "{} micro-USD", house.spent);
}

#[test]
fn a_session_never_asks_for_more_than_it_has_left() {
    let settings = r#""min_traces":0,"max_cost_per_session_usd":0.0015,"max_sessions":1"#;
    let mut house = House::new(Box::new(|ask, expected| {
        // A teacher whose every reply costs all that it may.
        match ask.purpose {
            "diagnose" => reply(common::house::diagnosis(&ask.text), 1_000),
            _ => reply(expected, ask.most),
        }
    }))
    .with(settings);
    let report = house.run().expect("a report");
    assert!(house.spent <= 1_500 && house.asked.iter().all(|ask| ask.most <= 1_500));
    assert_eq!(text(&report, "status"), "complete");
    let session = &sessions(&report)[0];
    assert_eq!(session.get("teacher_cost_micro_usd").and_then(Value::as_u64), Some(1_500));
    assert_eq!(text(session, "end"), "no_actionable_clusters", "rates that nobody could pay for are not believed");
}

#[test]
fn a_reply_dearer_than_it_could_be_is_paid_told_and_ends_the_spending() {
    let settings = r#""min_traces":0,"max_cost_per_session_usd":0.01,"max_sessions":1"#;
    let mut house = House::new(Box::new(|ask, _| reply(common::house::diagnosis(&ask.text), 20_000))).with(settings);
    house.capped = false;
    let report = house.run().expect("a report");
    let session = &sessions(&report)[0];
    assert_eq!((text(session, "end"), house.asked.len()), ("budget", 1));
    assert!(session.to_string().contains("over-price"));
    assert_eq!(report.get("spent_micro_usd").and_then(Value::as_u64), Some(20_000));
}

#[test]
fn a_session_fails_with_a_code_and_the_spec_is_what_it_was() {
    let failing = |settings: &str, diagnose: &'static str| {
        let mut house = House::new(Box::new(move |_, _| reply(diagnose, 500))).with(settings);
        let report = house.run().expect("a report");
        assert_eq!((text(&report, "status"), text(&report, "stop")), ("failed", "failed"), "{diagnose}");
        assert_eq!(house.spec_now(), common::spec());
        let session = &sessions(&report)[0];
        assert_eq!(text(session, "status"), "failed");
        let cost = session.get("teacher_cost_micro_usd").and_then(Value::as_u64);
        (text(session.get("error").expect("an error"), "code").to_owned(), cost, house.asked.len())
    };
    let none = r#""min_traces":0"#;
    assert_eq!(
        failing(none, "I cannot help with that."),
        ("reply-refused".to_owned(), Some(500), 1),
        "not asked twice"
    );
    assert_eq!(failing(none, "It is bad at sums."), ("reply-not-json".to_owned(), Some(1_000), 2), "one repair");
    assert_eq!(failing(none, "```json\n[{\"id\""), ("reply-truncated".to_owned(), Some(1_000), 2));
    assert_eq!(failing(r#""min_traces":1"#, "[]"), ("too-few-traces".to_owned(), Some(0), 0));
}

#[test]
fn no_teacher_and_a_host_that_cannot_run_anything_fail_the_run_and_say_so() {
    let mut house = House::new(Box::new(|_, _| auto_spec_search::lent::Told {
        said: Err(Fault::new("no-teacher", "give --model")),
        cost: 0,
    }));
    let report = house.run().expect("a report");
    assert_eq!((text(&report, "status"), text(&report, "why")), ("failed", "give --model [no-teacher]"));
    let mut house = House::new(teacher(helpful));
    house.trouble = Box::new(|_, task| (task == "sums-3").then(|| Fault::new("machine", "no processes")));
    let failed = house.run();
    let told = failed.map_or_else(|fault| fault.code, |report| report.to_string());
    assert!(told.contains("machine"), "{told}");
}

#[test]
fn a_fault_of_the_machine_is_tried_once_more_and_never_counts_as_a_wrong_answer() {
    let mut house = House::new(teacher(helpful));
    let mut left = 1;
    // The second spec cannot be run on one task, once, after it was accepted.
    house.trouble = Box::new(move |spec, task| {
        let cool = spec.text().contains(r#""temperature":0.1"#);
        let hit = cool && task.starts_with("sums") && left > 0;
        left -= i32::from(hit);
        hit.then(|| Fault::new("machine", "no processes"))
    });
    let report = house.run().expect("a report");
    assert_eq!(statuses(&report)[0], "unmeasurable", "{report}");
    assert!(edits(&report)[0].1.contains("score/sums missing"));
    assert_eq!(sessions(&report)[0].get("benchmark_after"), sessions(&report)[0].get("benchmark_before"));
}

#[test]
fn a_judge_that_fails_in_the_middle_is_no_score() {
    let settings = r#""min_traces":0,"scorer":{"kind":"command","command":["judge"]}"#;
    let mut house = House::new(teacher(helpful)).with(settings);
    let mut left = 40;
    house.judge = Box::new(move |_| {
        left -= 1;
        let ending = if left < 0 { "exited 1" } else { "exited 0" };
        Ran { ending: ending.to_owned(), stdout: "0.5".to_owned(), files: vec![], isolation: vec![] }
    });
    let told = house.run().map_or_else(|fault| fault.code, |report| report.to_string());
    assert!(told.contains("scorer-failed"), "{told}");
    assert_eq!(house.spec_now(), common::spec());
    let mut house = House::new(teacher(helpful)).with(settings);
    house.judge =
        Box::new(|_| Ran { ending: "exited 0".to_owned(), stdout: "NaN".to_owned(), files: vec![], isolation: vec![] });
    assert!(house.run().expect_err("no number").message.contains("\"NaN\""));
}

#[test]
fn in_tiered_mode_edits_for_review_wait_and_a_person_decides() {
    let settings = r#""min_traces":0,"max_sessions":1"#;
    let mut house = House::new(teacher(|_| plan(&[("rivers", RIVERS), ("dates", LOOK)]))).with(settings);
    let report = house.run().expect("a report");
    assert_eq!(statuses(&report), ["pending_review", "applied"]);
    assert_eq!(
        (text(&report, "status"), text(&sessions(&report)[0], "status")),
        ("awaiting_review", "awaiting_review")
    );
    let id = report.get("pending").and_then(Value::as_list).expect("a list")[0].as_text().expect("an id").to_owned();
    let unknown = house.act(r#""action":"approve","edit":"nothing""#).expect_err("no such");
    assert_eq!(unknown.code, "no-such-edit");
    let approved = house.act(&format!(r#""action":"approve","edit":"{id}","actor":"ann""#)).expect("a report");
    assert_eq!((statuses(&approved), text(&approved, "status")), (vec!["applied".to_owned()], "complete"));
    let at = |house: &mut House, path| house.spec_now().at(&path).is_some();
    assert!(at(&mut house, Path::of(["agents", "default", "tools", "look"])), "on top of what was accepted since");
    assert_eq!(house.act(&format!(r#""action":"reject","edit":"{id}""#)).expect_err("gone").code, "no-such-edit");
}

#[test]
fn a_person_may_reject_and_what_was_approved_is_judged_like_any_other() {
    let settings = r#""min_traces":0,"max_sessions":1,"autonomy_mode":"manual""#;
    let (good, bad) = (("rivers", RIVERS), ("dates", NEUTRAL));
    let mut house = House::new(teacher(move |_| plan(&[good, bad, ("sums", TEMPERATURE)]))).with(settings);
    let report = house.run().expect("a report");
    assert_eq!(statuses(&report), ["pending_review"; 3], "in manual mode everything waits");
    let ids: Vec<String> = report
        .get("pending")
        .and_then(Value::as_list)
        .expect("a list")
        .iter()
        .map(|id| id.as_text().expect("an id").to_owned())
        .collect();
    let rejected = house.act(&format!(r#""action":"reject","edit":"{}""#, ids[0])).expect("a report");
    assert_eq!(statuses(&rejected), ["rejected_by_user"]);
    assert!(rejected.to_string().contains(&ids[0]), "under the name that it was asked for by");
    assert!(rejected.to_string().contains("s1 is awaiting_review, 2 to decide"));
    let judged = house.act(&format!(r#""action":"approve","edit":"{}""#, ids[1])).expect("a report");
    assert_eq!((statuses(&judged), text(&judged, "status")), (vec!["rejected_by_gate".to_owned()], "failed"));
    let last = house.act(&format!(r#""action":"approve","edit":"{}""#, ids[2])).expect("a report");
    assert!(last.to_string().contains("s1 is completed"));
}

#[test]
fn what_waits_expires_where_its_target_was_changed() {
    let settings = r#""min_traces":0,"max_sessions":1"#;
    let other = r#"{"op":"replace_system_prompt","payload":{"new_content":"Name a river, please."}}"#;
    let mut house = House::new(teacher(move |_| plan(&[("rivers", RIVERS), ("rivers", other)]))).with(settings);
    let report = house.run().expect("a report");
    let ids = report.get("pending").and_then(Value::as_list).expect("a list").to_vec();
    let approve =
        |house: &mut House, id: &Value| house.act(&format!(r#""action":"approve","edit":{id}"#)).expect("a report");
    assert_eq!(statuses(&approve(&mut house, &ids[0])), ["applied"]);
    assert_eq!(statuses(&approve(&mut house, &ids[1])), ["expired"]);
    assert_eq!(house.act(&format!(r#""action":"approve","edit":{}"#, ids[1])).expect_err("gone").code, "no-such-edit");
}

#[test]
fn a_model_is_trained_by_a_command_and_only_where_a_person_says_so() {
    let lora = r#"{"op":"lora_finetune","payload":{"model":"small"}}"#;
    let (_, report) = once(&[("sums", r#"{"op":"lora_finetune","payload":{}}"#)]);
    assert_eq!(statuses(&report), ["skipped"]);
    let run = |trainer: &str, candidates: &'static str| {
        let settings = format!(r#""min_traces":0,"max_sessions":1,"autonomy_mode":"manual"{trainer}"#);
        let mut house = House::new(teacher(move |_| plan(&[("sums", lora)]))).with(&settings);
        house.judge = Box::new(move |_| Ran {
            ending: "exited 0".to_owned(),
            stdout: String::new(),
            files: vec![auto_spec_search::lent::File {
                path: "candidates.json".to_owned(),
                digest: candidates.to_owned(),
                executable: false,
            }],
            isolation: vec![],
        });
        let report = house.run().expect("a report");
        let id = report.get("pending").and_then(Value::as_list).expect("a list")[0].clone();
        let report = house.act(&format!(r#""action":"approve","edit":{id}"#))?;
        let (status, reason) = edits(&report)[0].clone();
        Ok::<_, Fault>((status, reason, report.to_string()))
    };
    let trainer = r#","trainer":{"command":["trainer"]}"#;
    let rows = r#"[{"model":"small-a","benchmark":"b","accuracy":1,"energy":400,"latency":8,"cost":0},
        {"model":"small-b","benchmark":"b","accuracy":1,"energy":200,"latency":5,"cost":0}]"#;
    assert!(run("", rows).expect("a report").1.contains("[no-trainer]"));
    let (status, reason, report) = run(trainer, rows).expect("a report");
    assert_eq!((status.as_str(), reason.as_str()), ("rejected_by_gate", "score/sums bound 0.0"));
    assert!(report.contains("small-b") && !report.contains("+small-a"), "the one with the higher reward: {report}");
    for bad in ["[]", "no", r#"[{"model":"a b","benchmark":"b","accuracy":1,"energy":1,"latency":1,"cost":1}]"#] {
        assert_eq!(run(trainer, bad).expect_err("nothing is decided").code, "bad-candidates", "{bad}");
    }
    let dear = r#"[{"model":"a","benchmark":"b","accuracy":2,"energy":1,"latency":1,"cost":1}]"#;
    assert_eq!(run(trainer, dear).expect_err("nothing is decided").code, "out-of-range");
}

#[test]
fn what_the_gate_admits_has_to_hold_on_other_tasks_where_that_is_asked_for() {
    let of = |trouble: fn(&str) -> bool| {
        let settings = r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1,"confirm_edits":true"#;
        let mut house = House::new(teacher(|_| plan(&[("dates", LOOK)]))).with(settings);
        house.trouble = Box::new(move |spec, task| {
            let edited = spec.at(&Path::parse("/agents/default/tools/look").expect("a pointer")).is_some();
            let confirms = split("personal_v1", task) == Split::Confirm;
            (edited && confirms && trouble(task)).then(|| Fault::new("machine", "no"))
        });
        let report = house.run().expect("a report");
        (edits(&report)[0].clone(), report.get("confirm_queries").and_then(Value::as_u64))
    };
    let ((status, reason), queries) = of(|_| false);
    assert_eq!((status.as_str(), queries), ("applied", Some(1)), "{reason}");
    assert!(reason.starts_with("accepted, confirmed by 0."), "{reason}");
    let ((status, reason), _) = of(|_| true);
    assert!(status == "rejected_by_gate" && reason.starts_with("unconfirmed: no [machine]"), "{status} {reason}");
}

#[test]
fn the_table_says_who_has_to_agree_to_an_operation_but_never_lets_a_model_be_trained_unasked() {
    let of = |overrides: &str, edit: &'static str| {
        let settings = format!(r#""min_traces":0,"max_sessions":1,"tier_overrides":{overrides}"#);
        let mut house = House::new(teacher(move |_| plan(&[("sums", edit)]))).with(&settings);
        house.run().map(|report| statuses(&report)[0].clone())
    };
    assert_eq!(of("{}", TEMPERATURE).as_deref(), Ok("applied"));
    assert_eq!(of(r#"{"set_model_param":"review"}"#, TEMPERATURE).as_deref(), Ok("pending_review"));
    assert_eq!(of(r#"{"set_model_param":"manual"}"#, TEMPERATURE).as_deref(), Ok("skipped"));
    assert_eq!(of("{}", RIVERS).as_deref(), Ok("pending_review"));
    assert_eq!(
        of(r#"{"replace_system_prompt":"auto"}"#, RIVERS).as_deref(),
        Ok("rejected_by_gate"),
        "it helps no sums"
    );
    for (overrides, at) in [
        (r#"{"set_moon":"auto"}"#, "/tier_overrides/set_moon"),
        (r#"{"set_model_param":"always"}"#, "/tier_overrides/set_model_param"),
        (r#"{"set_model_param":1}"#, "/tier_overrides/set_model_param"),
        (r#"{"lora_finetune":"auto"}"#, "/tier_overrides/lora_finetune"),
    ] {
        let fault = of(overrides, TEMPERATURE).expect_err("refused");
        assert!(fault.code == "bad-settings" && fault.message.starts_with(at), "{fault:?}");
    }
}

#[test]
fn a_teacher_that_looks_around_is_told_what_it_asks_for_and_has_to_come_to_an_end() {
    let calls = |list: &str| reply(format!("```json\n[{list}]\n```"), 10);
    let mut turn = 0;
    let mut house = House::new(Box::new(move |ask, expected| match ask.purpose {
        "diagnose" => {
            turn += 1;
            match turn {
                1 => calls(
                    r#"{"tool":"list_personal_benchmark"},{"tool":"get_agent_prompt","arguments":{"agent":"default"}},
                    {"tool":"get_trace","arguments":{"trace_id":"t0"}},{"tool":"search_traces","arguments":{"query":"OPEN"}},
                    {"tool":"rm"},{"tool":"get_trace","arguments":[]}"#,
                ),
                _ if ask.text.contains("No calls are left") => reply(common::house::diagnosis(&ask.text), 10),
                _ => calls(r#"{"tool":"list_traces"},{"tool":"list_available_tools"},{"tool":"get_current_config"}"#),
            }
        }
        "task" => reply(expected, 10),
        _ => reply(plan(&[("dates", LOOK)]), 10),
    }))
    .with(r#""min_traces":1,"max_tool_calls_per_diagnosis":8,"max_sessions":1"#);
    house.traces =
        r#"[{"id":"t0","agent":"default","source":"store","input":"open it","output":"opened","error":"late"}]"#
            .to_owned();
    let report = house.run().expect("a report");
    assert_eq!(statuses(&report), ["applied"]);
    assert_eq!(sessions(&report)[0].get("tool_calls").and_then(Value::as_u64), Some(8), "calls are counted, not turns");
    let last = &house.asked.iter().rfind(|ask| ask.purpose == "diagnose").expect("asked").text;
    for told in
        ["You are a clerk.", "open it", "there is no tool \\\"rm\\\"", "where an object has to", "no calls are left"]
    {
        assert!(last.contains(told), "{told}: {last}");
    }
}
