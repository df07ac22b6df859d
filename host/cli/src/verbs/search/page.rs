//! A run as a page: one file, nothing outside it.

use std::fmt::Write as _;

use auto_json::{Record, Value};
use auto_schema::shown;

use super::show::{percent, signed, usd};
use super::{diff, lineage, story};
use crate::verbs::census::escaped;

const STYLE: &str = concat!(include_str!("../census/page.css"), include_str!("page.css"));

/// How wide the scale of a score is drawn.
const WIDTH: f64 = 420.0;
/// Where it begins; its name is to the left.
const LEFT: f64 = 200.0;

/// The page.
pub fn page(id: &str, report: &Value) -> String {
    let part = |key: &str| escaped(&shown(report.get(key).and_then(Value::as_text).unwrap_or_default()));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{id}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Search <em>{id}</em></h1>\n<p><span class=\"badge {status}\">{status}</span> {why} (<code>{stop}</code>)</p>\n",
        id = escaped(id),
        status = part("status"),
        why = part("why"),
        stop = part("stop"),
    );
    html.push_str(&cards(report));
    section(&mut html, "Scores", &scores(report));
    for (title, body) in lineage::sections(report) {
        section(&mut html, title, &body);
    }
    section(&mut html, "Edits", &timeline(report));
    section(&mut html, "Runs of what counts now", &table(report, "runs"));
    section(&mut html, "Levels", &table(report, "levels"));
    section(&mut html, "Notes", &notes(report));
    section(&mut html, "Sessions", &table(report, "sessions"));
    section(&mut html, "Set-up", &setup(report));
    html + "</main>\n</body>\n</html>\n"
}

fn section(html: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(html, "<section>\n<h2>{title}</h2>\n{body}</section>\n");
    }
}

fn list<'r>(report: &'r Value, key: &str) -> &'r [Value] {
    report.get(key).and_then(Value::as_list).unwrap_or_default()
}

/// What becomes of an edit that is not kept, beside being rejected.
const REFUSED: [&str; 4] = ["invalid", "apply_failed", "gate_error", "unmeasurable"];

fn cards(report: &Value) -> String {
    let number = |key: &str| report.get(key).and_then(Value::as_u64).unwrap_or(0);
    let with = |is: fn(&str) -> bool| {
        list(report, "timeline").iter().filter(|entry| is(story::status(entry))).count().to_string()
    };
    let refused = |status: &str| status.starts_with("rejected") || REFUSED.contains(&status);
    let mut cards = vec![
        (with(|status| status == "applied"), "edits kept".to_owned()),
        (with(refused), "edits refused".to_owned()),
        (usd(number("spent_micro_usd")), format!("for {} calls of the teacher", number("calls"))),
        (number("experiments").to_string(), "runs".to_owned()),
    ];
    if let Some(cost) = report.get("runs_micro_usd").and_then(Value::as_u64) {
        cards.push((usd(cost), "cost of the runs, as they say".to_owned()));
    }
    let taken_back = with(|status| status == "taken_back");
    if taken_back != "0" {
        cards.push((taken_back, "taken back".to_owned()));
    }
    let bytes = |side: &str| report.get(side)?.get("bytes")?.as_u64();
    if let (Some(before), Some(after)) = (bytes("before"), bytes("after")) {
        cards.push((format!("{after} bytes"), format!("long; {before} before")));
    }
    let mut html = "<dl class=\"cards\">\n".to_owned();
    for (figure, what) in cards {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(&figure), escaped(&what));
    }
    html + "</dl>\n"
}

/// A mean of so many, and its interval where the driver knows it.
struct Side {
    mean: i64,
    n: u64,
    interval: Option<(i64, i64)>,
}

fn side(score: &Value, key: &str) -> Option<Side> {
    let side = score.get(key)?;
    let number = |key: &str| side.get(key)?.as_i64();
    let interval = number("low").zip(number("high"));
    Some(Side { mean: number("mean")?, n: side.get("n")?.as_u64()?, interval })
}

/// Before and after, each a dot with its interval, on one scale from 0 to 1.
fn scores(report: &Value) -> String {
    let scores = list(report, "scores");
    if scores.is_empty() {
        return String::new();
    }
    let height = scores.len() as f64 * 52.0 + 24.0;
    let mut svg = format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 840 {height}\" role=\"img\" aria-label=\"scores before and after\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    for (row, score) in scores.iter().enumerate() {
        let top = row as f64 * 52.0 + 16.0;
        let part = |key: &str| score.get(key).and_then(Value::as_text).unwrap_or_default();
        let name = if part("stratum") == "all" {
            part("metric").to_owned()
        } else {
            format!("{} {}", part("metric"), part("stratum"))
        };
        let _ = writeln!(
            svg,
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 12.0,
            top + 10.0,
            escaped(&shown(&name))
        );
        for (offset, class, key) in [(0.0, "once", "before"), (20.0, "fixed", "after")] {
            svg.push_str(&dot(top + offset, class, key, side(score, key)));
        }
    }
    let bottom = height - 8.0;
    for (share, said) in [(0.0, "0"), (0.5, "50%"), (1.0, "100%")] {
        let _ = writeln!(svg, "<text class=\"tick\" x=\"{:.1}\" y=\"{bottom:.1}\">{said}</text>", LEFT + share * WIDTH);
    }
    svg + "</svg></div>\n<p>Grey is before, green after; a line is the 95% interval: Wilson's of a share of so many runs, else that of a mean.</p>\n"
}

fn dot(y: f64, class: &str, key: &str, side: Option<Side>) -> String {
    let Some(Side { mean, n, interval }) = side else {
        return format!("<text x=\"{LEFT:.1}\" y=\"{y:.1}\">{key}: not measured</text>\n");
    };
    let share = mean as f64 / 1e6;
    let told = interval.map(|(low, high)| (low as f64 / 1e6, high as f64 / 1e6));
    let (low, high) = told.unwrap_or_else(|| wilson(share, n as f64));
    let at = |share: f64| LEFT + share.clamp(0.0, 1.0) * WIDTH;
    format!(
        "<line class=\"{class} range\" x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
         <circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"6\"/>\
         <text x=\"{:.1}\" y=\"{y:.1}\">{key} {} of {n}</text>\n",
        at(low),
        at(high),
        at(share),
        LEFT + WIDTH + 14.0,
        percent(mean)
    )
}

/// Where a share is that was seen in `n` (Wilson 1927, 95%); only ever drawn.
fn wilson(share: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let square = Z * Z / n;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = Z / (1.0 + square) * (share * (1.0 - share) / n + square / (4.0 * n)).max(0.0).sqrt();
    (middle - half, middle + half)
}

fn timeline(report: &Value) -> String {
    let mut html = String::new();
    for entry in list(report, "timeline") {
        let part = |key: &str| escaped(&shown(entry.get(key).and_then(Value::as_text).unwrap_or_default()));
        let delta = entry.get("delta_micros").and_then(Value::as_i64).map(signed).unwrap_or_default();
        if entry.get("kind").and_then(Value::as_text) == Some("session") {
            let (id, status, reason) = (part("id"), part("status"), part("reason"));
            let _ = writeln!(
                html,
                "<h3>{id} <span class=\"badge {status}\">{status}</span> <span class=\"delta\">{delta}</span> {reason}</h3>"
            );
            html.push_str(&session(entry.get("detail").unwrap_or(&Value::Null)));
            continue;
        }
        let _ = writeln!(
            html,
            "<details class=\"edit\"><summary><span class=\"badge {status}\">{status}</span> <b>{id}</b> {target} \
             <span class=\"delta\">{delta}</span> <code>{reason}</code></summary>",
            status = escaped(&shown(story::status(entry))),
            id = part("id"),
            target = part("target"),
            reason = part("reason"),
        );
        html.push_str(&changed(entry));
        if let Some(detail) = entry.get("detail") {
            html.push_str(&members(detail));
        }
        html.push_str("</details>\n");
    }
    html
}

/// What a session cost and found.
fn session(detail: &Value) -> String {
    let number = |key: &str| detail.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut html = String::new();
    if detail.get("teacher_calls").is_some() {
        let cost = usd(number("teacher_cost_micro_usd"));
        let _ = writeln!(
            html,
            "<p>{} calls of the teacher, {cost}; {} of tools</p>",
            number("teacher_calls"),
            number("tool_calls")
        );
    }
    let notes = list(detail, "notes").iter().filter_map(Value::as_text);
    let notes: String = notes.map(|note| format!("<li>{}</li>\n", escaped(&shown(note)))).collect();
    if !notes.is_empty() {
        let _ = write!(html, "<ul>\n{notes}</ul>\n");
    }
    let left_out = detail.get("left_out").filter(|left| left.as_record().is_some_and(|left| !left.is_empty()));
    if let Some(left_out) = left_out {
        let _ = writeln!(html, "<p>Recorded runs that were not shown: {}</p>", escaped(&shown(&plain(Some(left_out)))));
    }
    html.push_str(&columns(list(detail, "failure_clusters"), &CLUSTER));
    html
}

/// What is told of a cluster.
const CLUSTER: [&str; 8] = [
    "id",
    "description",
    "n_student",
    "student_failure_rate",
    "n_teacher",
    "teacher_success_rate",
    "headroom",
    "dropped",
];

/// A record as a table; what it says elsewhere on the page is left out.
fn members(detail: &Value) -> String {
    let mut html = "<table>\n".to_owned();
    for (key, value) in detail.as_record().into_iter().flat_map(Record::iter).filter(|(key, _)| *key != "diff") {
        let _ = writeln!(
            html,
            "<tr><th>{}</th><td>{}</td></tr>",
            escaped(&shown(key)),
            escaped(&shown(&plain(Some(value))))
        );
    }
    html + "</table>\n"
}

fn changed(entry: &Value) -> String {
    let lines = diff::of(entry);
    if lines.is_empty() {
        return String::new();
    }
    let mut html = "<pre class=\"diff\">".to_owned();
    for (mark, line) in lines {
        let class = match mark {
            '+' => "added",
            '-' => "removed",
            _ => "same",
        };
        // Each is a block, so a line end would be a second one.
        let _ = write!(html, "<span class=\"{class}\">{mark}{}</span>", escaped(&shown(&line)));
    }
    html + "</pre>\n"
}

/// A list of records, with the keys of the first as its head.
fn table(report: &Value, key: &str) -> String {
    let rows = list(report, key);
    let Some(first) = rows.first().and_then(Value::as_record) else { return String::new() };
    columns(rows, &first.iter().map(|(key, _)| key).collect::<Vec<&str>>())
}

/// Some columns of records.
fn columns(rows: &[Value], keys: &[&str]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut html = "<div class=\"wide\"><table><tr>".to_owned();
    for key in keys {
        let _ = write!(html, "<th>{}</th>", escaped(&shown(key)));
    }
    html.push_str("</tr>\n");
    for row in rows {
        html.push_str("<tr>");
        for key in keys {
            let _ = write!(html, "<td>{}</td>", escaped(&shown(&plain(row.get(key)))));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n"
}

/// A value for a reader: a list or a record of plain values without the brackets of JSON.
fn plain(value: Option<&Value>) -> String {
    let inner = |value: &Value| matches!(value, Value::List(_) | Value::Record(_));
    match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::List(items)) if !items.iter().any(inner) => joined(items.iter().map(|item| plain(Some(item)))),
        Some(Value::Record(record)) if !record.iter().any(|(_, value)| inner(value)) => {
            joined(record.iter().map(|(key, value)| format!("{key} {}", plain(Some(value)))))
        }
        Some(value) => value.canonical().into_string(),
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

fn notes(report: &Value) -> String {
    let notes: Vec<&str> = list(report, "notes").iter().filter_map(Value::as_text).collect();
    if notes.is_empty() {
        return String::new();
    }
    let item = |note: &&str| format!("<li>{}</li>\n", escaped(&shown(note)));
    format!("<ul>\n{}</ul>\n", notes.iter().map(item).collect::<String>())
}

/// What was run, and how it was kept apart.
fn setup(report: &Value) -> String {
    let rows = [
        ("task", "Task"),
        ("agent", "Agent"),
        ("judge_model", "Teacher"),
        ("backend", "Backend"),
        ("isolation", "Kept apart by"),
        ("verifier_signal_used", "A verifier decided, too"),
        ("teacher_model", "Teacher"),
        ("proposers", "Proposed by"),
        ("seed", "Seed"),
        ("evaluator", "Evaluator"),
        ("tracker", "Tracker"),
    ];
    let mut html = String::new();
    for (key, what) in rows.iter().filter(|(key, _)| report.get(key).is_some()) {
        let words = report.get(key).and_then(Value::as_list).filter(|_| *key == "agent");
        let told = words.map(|words| words.iter().map(|word| plain(Some(word))).collect::<Vec<_>>().join(" "));
        let told = told.unwrap_or_else(|| plain(report.get(key)));
        let _ = writeln!(html, "<tr><th>{what}</th><td>{}</td></tr>", escaped(&shown(&told)));
    }
    if html.is_empty() { html } else { format!("<table>\n{html}</table>\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_wrote_is_text_and_never_markup() {
        let report = "{\"status\":\"complete\",\"why\":\"<script>\",\"timeline\":[{\"id\":\"e1\",\"status\":\"applied\",\
            \"target\":\"<b>\",\"reason\":\"<i>\",\"old\":\"a\",\"new\":\"</pre><script>alert(1)</script>\"}]}";
        let html = page("skill-x", &Value::parse(report).unwrap());
        for never in ["<script>", "<b>&", "<i>", "</pre><"] {
            assert!(!html.contains(never), "{never}: {html}");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn sessions_are_headings_and_every_edit_that_is_not_kept_counts_as_refused() {
        let entry = |kind: &str, status: &str| format!(r#"{{"kind":"{kind}","id":"{status}","status":"{status}"}}"#);
        let edits = ["applied", "rejected_by_gate", "rejected_by_user", "invalid", "pending_review"];
        let entries = edits.map(|status| entry("edit", status)).join(",") + "," + &entry("session", "completed");
        let html = page("spec-x", &Value::parse(format!(r#"{{"timeline":[{entries}]}}"#)).unwrap());
        assert!(html.contains("<dt>1</dt><dd>edits kept</dd>"), "{html}");
        assert!(html.contains("<dt>3</dt><dd>edits refused</dd>"), "{html}");
        assert!(html.contains("<h3>completed ") && html.matches("<details").count() == 5, "{html}");
    }

    #[test]
    fn a_session_tells_what_it_cost_found_and_noted_and_an_edit_its_parts() {
        let report = r#"{"timeline":[{"kind":"session","id":"s1","status":"completed","detail":{"teacher_calls":4,
            "teacher_cost_micro_usd":1200,"tool_calls":2,"notes":["a cluster was not <taken>"],"left_out":{"denied-path":1},
            "failure_clusters":[{"id":"dates","description":"fails","n_student":9,"student_failure_rate":0.9,"dropped":null}]}},
            {"kind":"edit","id":"e1","status":"applied","taken_back":true,"diff":"--- /p\n+++ /p\n@@ -1 +1 @@\n-a\n+b\n",
            "detail":{"rationale":"it helps","cluster_tasks":{"dates":4},"diff":"twice"}}],
            "teacher_model":"openai/gpt-4o","isolation":["no-network"]}"#;
        let html = page("spec-x", &Value::parse(report).unwrap());
        for told in [
            "4 calls of the teacher, $0.001200; 2 of tools",
            "<li>a cluster was not &lt;taken&gt;</li>",
            "not shown: denied-path 1<",
            "<tr><th>cluster_tasks</th><td>dates 4</td></tr>",
            "<td>dates</td><td>fails</td><td>9</td><td>0.9</td>",
            "<tr><th>rationale</th><td>it helps</td></tr>",
            "<th>Teacher</th><td>openai/gpt-4o</td>",
            "no-network",
            "<dt>0</dt><dd>edits kept</dd>",
            "<dt>1</dt><dd>taken back</dd>",
            "<span class=\"badge taken_back\">taken_back</span>",
            "<span class=\"same\"> --- /p</span><span class=\"same\"> +++ /p</span>",
            "<span class=\"removed\">-a</span><span class=\"added\">+b</span>",
        ] {
            assert!(html.contains(told), "{told}: {html}");
        }
        assert!(!html.contains("twice"));
    }

    #[test]
    fn an_interval_holds_the_share_and_narrows() {
        let (low, high) = wilson(0.0, 3.0);
        assert!(low.abs() < 1e-9 && (high - 0.5615).abs() < 1e-3, "{low} {high}");
        let (low, high) = wilson(0.5, 100.0);
        assert!((low - 0.4038).abs() < 1e-3 && (high - 0.5962).abs() < 1e-3, "{low} {high}");
    }
}
