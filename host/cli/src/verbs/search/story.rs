//! The whole story of a run in one report: what was done before it failed and went on, what a person
//! had done to it since, and what still stands of it.

use auto_json::{Record, Value};

use super::folder::is_failed;

/// The status of an edit that was kept.
const APPLIED: &str = "applied";

/// Set on an edit that was kept and taken back since.
const TAKEN_BACK: &str = "taken_back";

fn list<'r>(report: &'r Value, key: &str) -> &'r [Value] {
    report.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn text<'r>(value: &'r Value, key: &str) -> &'r str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Whether an entry is an edit that stands.
pub fn stands(entry: &Value) -> bool {
    text(entry, "status") == APPLIED && entry.get(TAKEN_BACK).is_none()
}

/// The status of an entry, as it is now.
pub fn status(entry: &Value) -> &str {
    if text(entry, "status") == APPLIED && !stands(entry) { TAKEN_BACK } else { text(entry, "status") }
}

/// What a driver that goes on is told of what was done before.
pub fn told(report: &Value) -> Record {
    let entries = list(report, "timeline");
    let sessions = entries.iter().filter(|entry| text(entry, "kind") == "session");
    let failed = sessions.clone().filter(|session| text(session, "status") == "failed").count();
    Record::new()
        .with("calls", number(report, "calls"))
        .with("spent_micro_usd", number(report, "spent_micro_usd"))
        .with("experiments", number(report, "experiments"))
        .with("gate_queries", number(report, "gate_queries"))
        .with("confirm_queries", number(report, "confirm_queries"))
        .with("sessions", sessions.count())
        .with("failed_sessions", failed)
        .with("applied", entries.iter().filter(|entry| stands(entry)).count())
}

/// A run that failed and went on: what was done before is told first.
pub fn gone_on(report: &Value, earlier: Option<&Value>) -> Value {
    let (Some(earlier), Some(now)) = (earlier, report.as_record()) else { return report.clone() };
    let mut whole = now.clone();
    for key in ["timeline", "levels"].into_iter().filter(|key| report.get(key).is_some()) {
        whole.set(key, [list(earlier, key), list(report, key)].concat());
    }
    if let Some(before) = earlier.get("before") {
        whole.set("before", before.clone());
    }
    whole.set("scores", scores(report, earlier));
    whole.into()
}

/// Scores as they are now, with what each was at the very beginning.
fn scores(now: &Value, earlier: &Value) -> Vec<Value> {
    let same = |a: &Value, b: &Value| ["metric", "stratum"].iter().all(|key| text(a, key) == text(b, key));
    let first = |score: &Value| {
        let before = list(earlier, "scores").iter().find(|one| same(one, score))?.get("before")?;
        (*before != Value::Null).then(|| before.clone())
    };
    let told = |score: &Value| {
        let mut record = score.as_record().cloned().unwrap_or_default();
        if let Some(before) = first(score) {
            record.set("before", before);
        }
        Value::from(record)
    };
    list(now, "scores").iter().map(told).collect()
}

/// What a person had done.
pub fn acted(done: &Value, earlier: &Value) -> Value {
    // One that tells everything anew is taken as it is.
    if done.get("timeline").is_some() {
        return done.clone();
    }
    let mut whole = earlier.as_record().cloned().unwrap_or_default();
    let mut timeline = list(earlier, "timeline").to_vec();
    timeline.iter_mut().for_each(|entry| taken_back(entry, done));
    let note = Record::new()
        .with("kind", "note")
        .with("id", format!("a{:02}", timeline.len() + 1))
        .with("target", "head")
        .with("status", text(done, "status"))
        .with("reason", text(done, "why"));
    match done.get("entries").and_then(Value::as_list) {
        Some(entries) => timeline.extend(entries.iter().cloned()),
        None => timeline.push(note.into()),
    }
    whole.set("timeline", timeline);
    // Whoever keeps a queue says what is left of it, and what counts now.
    if let Some(pending) = done.get("pending").and_then(Value::as_list).filter(|_| !is_failed(earlier)) {
        whole.set("status", if pending.is_empty() { "complete" } else { "awaiting_review" });
    }
    for key in ["pending", "after", "spec", "runs", "head"] {
        if let Some(value) = done.get(key) {
            whole.set(key, value.clone());
        }
    }
    if done.get("scores").is_some() {
        whole.set("scores", scores(done, earlier));
    }
    whole.into()
}

/// Marks an edit that does not stand any more, and no other: the edits of a session that was taken
/// back, or those that did not lead to the state that a skill went back to.
fn taken_back(entry: &mut Value, done: &Value) {
    if text(entry, "status") != APPLIED {
        return;
    }
    let of_session =
        |undone: &Value| text(undone, "status") == "rolled_back" && text(undone, "session") == text(entry, "session");
    let gone = match done.get("standing").and_then(Value::as_list) {
        Some(standing) => entry.get("commit").is_some_and(|commit| !standing.contains(commit)),
        None => entry.get(TAKEN_BACK).is_some() || list(done, "entries").iter().any(of_session),
    };
    if let Value::Record(record) = entry {
        match gone {
            true => record.set(TAKEN_BACK, true),
            false => drop(record.remove(TAKEN_BACK)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    fn statuses(report: &Value) -> Vec<&str> {
        list(report, "timeline").iter().map(status).collect()
    }

    const FAILED: &str = r#"{"status":"failed","calls":3,"spent_micro_usd":70,"before":{"bytes":1},
        "scores":[{"metric":"score","stratum":"a","before":{"mean":0,"n":2},"after":null}],
        "timeline":[{"kind":"session","id":"s1","status":"failed"},{"kind":"edit","session":"s1","status":"applied"}]}"#;

    #[test]
    fn a_run_that_went_on_is_told_whole_and_scored_from_its_beginning() {
        let told = told(&parse(FAILED));
        let number = |key: &str| told.get(key).and_then(Value::as_u64);
        assert_eq!((number("calls"), number("spent_micro_usd"), number("applied")), (Some(3), Some(70), Some(1)));
        assert_eq!((number("sessions"), number("failed_sessions")), (Some(1), Some(1)));
        let now = r#"{"status":"complete","calls":5,"spent_micro_usd":90,"before":{"bytes":9},"timeline":[{"id":"s2"}],
            "scores":[{"metric":"score","stratum":"a","before":{"mean":5,"n":2},"after":{"mean":9,"n":2}}]}"#;
        let whole = gone_on(&parse(now), Some(&parse(FAILED)));
        assert_eq!((number_of(&whole, "calls"), number_of(&whole, "spent_micro_usd")), (5, 90), "drivers count on");
        assert_eq!(list(&whole, "timeline").len(), 3);
        assert_eq!(whole.get("before"), parse(FAILED).get("before"));
        let score = &list(&whole, "scores")[0];
        assert_eq!(
            score.to_string(),
            r#"{"after":{"mean":9,"n":2},"before":{"mean":0,"n":2},"metric":"score","stratum":"a"}"#
        );
        assert_eq!(gone_on(&parse(now), None), parse(now));
    }

    fn number_of(value: &Value, key: &str) -> u64 {
        number(value, key)
    }

    #[test]
    fn what_was_taken_back_is_not_told_as_kept_and_scores_are_those_of_now() {
        let earlier = parse(
            r#"{"status":"awaiting_review","scores":[{"metric":"m","stratum":"a","before":{"mean":1},"after":{"mean":7}}],
            "timeline":[{"kind":"edit","session":"s1","status":"applied"},{"kind":"edit","session":"s1","status":"invalid"},
                {"kind":"edit","session":"s2","status":"applied"}]}"#,
        );
        let done = parse(
            r#"{"status":"complete","pending":[],"after":{"bytes":3},
            "scores":[{"metric":"m","stratum":"a","before":{"mean":7},"after":{"mean":2}}],
            "entries":[{"kind":"edit","id":"s1","session":"s1","status":"rolled_back"}]}"#,
        );
        let whole = acted(&done, &earlier);
        assert_eq!(statuses(&whole), ["taken_back", "invalid", "applied", "rolled_back"]);
        assert_eq!(
            list(&whole, "scores")[0].to_string(),
            r#"{"after":{"mean":2},"before":{"mean":1},"metric":"m","stratum":"a"}"#
        );
        assert_eq!(text(&whole, "status"), "complete");
        let again = acted(&parse(r#"{"status":"complete","pending":[],"entries":[]}"#), &whole);
        assert_eq!(statuses(&again)[0], "taken_back", "and stays so");
    }

    #[test]
    fn of_a_skill_those_edits_stand_that_led_to_the_state_it_went_back_to() {
        let earlier = parse(
            r#"{"status":"complete","timeline":[{"kind":"edit","commit":"a","status":"applied"},
                {"kind":"edit","commit":null,"status":"rejected"},{"kind":"edit","commit":"b","status":"applied"}]}"#,
        );
        let back = |to: &str, from: &Value| {
            acted(&parse(&format!(r#"{{"status":"rolled_back","why":"back","standing":[{to}]}}"#)), from)
        };
        let whole = back(r#""a""#, &earlier);
        assert_eq!(statuses(&whole), ["applied", "rejected", "taken_back", "rolled_back"]);
        assert_eq!(statuses(&back(r#""a","b""#, &whole))[..3], ["applied", "rejected", "applied"], "and forward again");
    }
}
