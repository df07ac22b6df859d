//! One test for each defect that was found in the system this one is to replace, named after what
//! holds here. Those of single edits, diffs and replies stand with these.
//!
//! | defect there | test here |
//! |---|---|
//! | 1. what was refused stays, and later edits are judged on top of it | `d01_…` |
//! | 2. the baseline never moves | `d02_…` |
//! | 3. a gate that breaks leaves its edit applied | `d03_…` |
//! | 4. a home that is not clean cannot be staged or restored | `d04_…` |
//! | 5. taking `s1` back takes `s10` back, and a second time fails oddly | `d05_…`, both |
//! | 6. diffs ignore their context; a bad one becomes the prompt | `components/search/src/patch.rs`: `context_and_removed_lines_have_to_stand_there`, `a_text_that_is_no_diff_never_becomes_the_prompt`, `one_line_at_the_top_is_one_changed_line` |
//! | 7. files are edited line by line: quotes, prefixes, dots, missing keys | `edits.rs`: `names_with_dots_quotes_and_prefixes_are_one_key_and_hit_no_other`, `every_operation_changes_exactly_one_place`, `an_edit_that_changes_nothing_is_invalid_and_never_gated` |
//! | 8. names are paths, pillars are believed | `edits.rs`: `names_that_are_paths_and_things_that_are_not_there_are_refused`, `what_a_teacher_says_of_tier_is_not_read_and_a_wrong_pillar_is_refused` |
//! | 9. outcomes and deltas are lost | `d09_…` |
//! | 10. an earlier bracket hides the clusters; a rate of 1.5 is taken for 0.015 | `components/search/src/reply.rs`: `the_last_list_of_objects_counts`; `cluster.rs`: `good_clusters_are_taken_and_each_bad_one_is_told` (a rate of 1.5 is refused, and what counts is counted) |
//! | 11. the teacher sees the tasks that decide | `d11_…`, all |
//! | traces of corpora count as experience | `d12_…` |

mod common;

use auto_json::Value;
use auto_spec_search::bench::Bench;
use auto_spec_search::lent::{Fault, Lent};
use auto_spec_search::sample::{Split, split};
use auto_spec_search::settings::Settings;
use auto_spec_search::spec::Path;
use common::house::{House, LOOK, NEUTRAL, RIVERS, TEMPERATURE, edits, helpful, plan, sessions, tasks, teacher, text};

const ONE: &str = r#""autonomy_mode":"auto","min_traces":0,"max_sessions":1"#;

#[test]
fn d01_what_the_gate_refuses_leaves_nothing_and_later_edits_are_judged_without_it() {
    let remote = r#"{"op":"set_engine","payload":{"id":"remote"}}"#;
    let mut house = House::new(teacher(move |_| plan(&[("dates", remote), ("sums", TEMPERATURE)]))).with(ONE);
    let report = house.run().expect("a report");
    let statuses: Vec<String> = edits(&report).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["rejected_by_gate", "applied"], "with the engine it refused, sums would not have got better");
    assert_eq!(house.spec_now().at(&Path::of(["engine", "id"])), Some("local".into()));
    let session = &sessions(&report)[0];
    assert_ne!(text(session, "checkpoint_pre"), text(session, "checkpoint_post"));
}

#[test]
fn d02_the_baseline_is_the_incumbent_after_every_acceptance() {
    let hot = r#"{"op":"set_model_param","payload":{"model":"small","param":"temperature","value":0.9}}"#;
    // The second gains on its own target and takes back what the first one gained.
    let both: &'static str = Box::leak(format!("{hot},{LOOK}").into_boxed_str());
    let mut house = House::new(teacher(move |_| plan(&[("sums", TEMPERATURE), ("dates", both)]))).with(ONE);
    let statuses: Vec<String> = edits(&house.run().expect("a report")).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["applied", "rejected_by_gate"]);
}

#[test]
fn d03_a_gate_that_breaks_leaves_the_spec_and_the_session_goes_on() {
    let mut house = House::new(teacher(|_| plan(&[("sums", TEMPERATURE), ("dates", LOOK)]))).with(ONE);
    house.trouble =
        Box::new(|spec, _| spec.text().contains(r#""temperature":0.1"#).then(|| Fault::new("machine", "no processes")));
    let report = house.run().expect("a report");
    let statuses: Vec<String> = edits(&report).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["unmeasurable", "applied"]);
    assert_eq!(text(&sessions(&report)[0], "status"), "completed");
}

#[test]
fn d04_a_candidate_is_only_ever_a_blob_so_nothing_has_to_be_clean_or_restored() {
    let mut house = House::new(teacher(|_| plan(&[("dates", NEUTRAL)]))).with(ONE);
    house.run().expect("a report");
    let head = house.spec_now();
    assert_eq!(head, common::spec());
    for (digest, bytes) in &house.blobs {
        assert_eq!(*digest, auto_schema::digest::Digest::of(bytes).to_string());
    }
}

#[test]
fn d05_a_rollback_takes_back_one_session_and_a_second_one_is_refused() {
    let mut number = 0;
    // Eleven sessions: the first and the eleventh change something, so that s1 begins s11.
    let mut house = House::new(teacher(move |_| {
        number += 1;
        match number {
            1 => plan(&[("sums", TEMPERATURE)]),
            11 => plan(&[("dates", LOOK)]),
            _ => plan(&[]),
        }
    }))
    .with(r#""autonomy_mode":"auto","min_traces":0,"max_sessions":11,"stagnation_k":100"#);
    assert_eq!(sessions(&house.run().expect("a report")).len(), 11);
    let report = house.act(r#""action":"rollback","to":"s1""#).expect("a report");
    assert_eq!(edits(&report)[0].0, "rolled_back");
    let spec = house.spec_now();
    assert!(spec.at(&Path::of(["agents", "default", "tools", "look"])).is_some(), "s11 stays");
    assert_eq!(
        spec.at(&Path::of(["intelligence", "params"])),
        common::spec().at(&Path::of(["intelligence", "params"])),
        "exactly what was there before s1"
    );
    assert_eq!(house.act(r#""action":"rollback","to":"s1""#).expect_err("twice").code, "rolled-back");
    assert_eq!(house.act(r#""action":"rollback","to":"s""#).expect_err("a prefix").code, "no-such-session");
    assert_eq!(house.act(r#""action":"rollback","to":"s5""#).expect_err("it changed nothing").code, "no-such-session");
    house.act(r#""action":"rollback""#).expect("the last that stands: s11");
    assert_eq!(house.spec_now(), common::spec(), "every byte");
    assert_eq!(house.act(r#""action":"rollback""#).expect_err("nothing is left").code, "no-such-session");
}

#[test]
fn d05_a_rollback_over_later_edits_tells_the_conflict_and_changes_nothing() {
    let mut number = 0;
    let other = r#"{"op":"replace_system_prompt","payload":{"new_content":"Which river? And be kind."}}"#;
    let mut house = House::new(teacher(move |_| {
        number += 1;
        // The second edit is of the same place, and has a target of its own to make better.
        let both: &'static str = Box::leak(format!("{other},{LOOK}").into_boxed_str());
        if number == 1 { plan(&[("rivers", RIVERS)]) } else { plan(&[("dates", both)]) }
    }))
    .with(r#""autonomy_mode":"auto","min_traces":0,"max_sessions":2"#);
    house.run().expect("a report");
    let before = house.spec_now();
    let report = house.act(r#""action":"rollback","to":"s1""#).expect("a report");
    assert_eq!(text(&report, "status"), "failed");
    assert!(report.to_string().contains("/agents/default/prompt"), "{report}");
    assert_eq!(house.spec_now(), before);
}

#[test]
fn d09_outcomes_and_deltas_are_in_the_record_of_every_session_also_of_one_that_ends_early() {
    let mut house = House::new(teacher(|_| plan(&[("sums", TEMPERATURE), ("dates", NEUTRAL)]))).with(ONE);
    let report = house.run().expect("a report");
    let outcomes = sessions(&report)[0].get("edit_outcomes").and_then(Value::as_list).expect("outcomes").to_vec();
    let deltas: Vec<String> =
        outcomes.iter().map(|one| one.get("cluster_deltas").expect("deltas").to_string()).collect();
    assert_eq!(deltas[0], r#"{"dates":0.0,"rivers":0.0,"sums":1.0}"#);
    let mut house = House::new(teacher(helpful)).with(r#""min_traces":7"#);
    let report = house.run().expect("a report");
    let session = &sessions(&report)[0];
    assert_eq!((text(session, "id"), text(session, "status")), ("s1", "failed"));
    assert!(session.get("error").is_some_and(|error| text(error, "message").contains("7 are needed")));
}

#[test]
fn d11_no_task_that_decides_is_ever_shown_to_the_teacher() {
    let tasks = tasks();
    let tasks = tasks.as_list().expect("a list");
    let held: Vec<&Value> =
        tasks.iter().filter(|task| split("personal_v1", text(task, "id")) != Split::Diagnose).collect();
    let mut house = House::new(teacher(helpful));
    // Traces of such tasks: by name, and by what they ask.
    house.traces = format!(
        r#"[{{"id":"a","task":{},"input":"x"}},{{"id":"b","input":{}}},{{"id":"c","input":"open"}}]"#,
        held[0].get("id").expect("an id"),
        held[1].get("input").expect("an input")
    );
    let report = house.run().expect("a report");
    assert_eq!(sessions(&report)[0].get("left_out").expect("counts").to_string(), r#"{"held-out":2}"#);
    assert!(held.len() > 40);
    for ask in &house.asked {
        for task in &held {
            for key in ["id", "input"] {
                // A name may be the beginning of another's.
                let told = ask.text.split(['"', ' ', '\n', ';', ':']).any(|word| word == text(task, "id"));
                assert!(!told, "{key} of {task} in {}", ask.text);
            }
            assert!(!ask.text.contains(&format!("\"{}\"", text(task, "input"))) && ask.text != text(task, "input"));
        }
    }
}

#[test]
fn d11_a_task_that_asks_nearly_what_one_that_decides_asks_is_used_for_nothing() {
    let of = |wanted: Split, at: usize| {
        let ids = (0..200).map(|number| format!("t{number:03}"));
        ids.filter(|id| split("personal_v1", id) == wanted).nth(at).expect("enough of each split")
    };
    let [near, other] = [0, 1].map(|at| of(Split::Diagnose, at));
    let [alike, last] = [0, 1].map(|at| of(Split::Confirm, at));
    let gate = of(Split::Gate, 0);
    let task = |id: &str, input: &str| format!(r#"{{"id":"{id}","input":"{input}","expected":"x"}}"#);
    let rest = [
        task(&gate, "By which day in May do we have to pay the letter?"),
        task(&near, "by which day in MAY do we have to pay  the letter"),
        task(&alike, "By which day in May, do we have to pay the letter now?"),
        task(&last, "Who wrote it?"),
    ]
    .join(",");
    let least = r#"{"enabled":true,"student":{"command":["student"]},"catalog":{}}"#;
    let settings = Settings::read(&common::json(least)).expect("sound");
    let files = common::json("{}");
    let tasks = common::json(&format!("[{},{rest}]", task(&other, "Which river?")));
    let bench = Bench::new(&settings, &tasks, &files).expect("a bench");
    assert_eq!((bench.of(Split::Diagnose), bench.of(Split::Confirm)), (vec![other], vec![last]));
    let unused = bench.unused().expect("a note");
    assert!(unused.starts_with("not used") && unused.contains(&near) && unused.contains(&alike), "{unused}");
    // Where none is left to look at, that is said.
    let Err(refusal) = Bench::new(&settings, &common::json(&format!("[{rest}]")), &files) else {
        panic!("none is left")
    };
    assert!(refusal.code == "too-few-tasks" && refusal.message.contains("nearly"), "{refusal}");
}

#[test]
fn d11_how_old_traces_are_is_not_guessed() {
    let mut house =
        House::new(teacher(helpful)).with(r#""min_traces":1,"max_sessions":1,"eligible":{"max_age_days":2}"#);
    house.traces = r#"[{"id":"a","input":"x","started_at":1}]"#.to_owned();
    let report = house.run().expect("a report");
    assert_eq!(sessions(&report)[0].get("left_out").expect("counts").to_string(), r#"{"too-old":1}"#);
}

#[test]
fn d12_traces_of_a_corpus_and_of_the_search_itself_never_count_as_experience() {
    let mut house = House::new(teacher(helpful)).with(r#""min_traces":1,"max_sessions":1"#);
    house.traces =
        r#"[{"id":"a","source":"auto-search","input":"x"},{"id":"b","agent":"external","input":"y"}]"#.to_owned();
    let report = house.run().expect("a report");
    assert!(text(&report, "why").contains("[too-few-traces]"), "{report}");
}

#[test]
fn a_head_that_somebody_else_moved_ends_the_session_and_is_not_overwritten() {
    let mut house = House::new(teacher(|_| plan(&[("dates", LOOK)]))).with(ONE);
    house.run().expect("a report");
    let head = house.head.clone();
    assert_eq!(house.move_head(None, "other").expect_err("moved").code, "head-moved");
    assert_eq!(house.head, head);
}
