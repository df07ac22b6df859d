//! Counters in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;

use super::app::App;
use super::counts::{BUCKETS, Latency, Tally};

/// What requests came to.
#[derive(Debug, Default)]
pub struct Requests {
    counts: Mutex<BTreeMap<(&'static str, u16), u64>>,
    latency: Latency,
}

impl Requests {
    /// One more.
    pub fn add(&self, route: &'static str, status: StatusCode, took: Duration) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry((route, status.as_u16())).or_default() += 1;
        self.latency.add(took);
    }
}

/// Writes one family after the other: all lines of one stand together.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], latency: &Latency) {
        let (below, total, micros) = latency.read();
        let bucket = format!("{name}_bucket");
        for (end, count) in BUCKETS.iter().zip(&below) {
            self.line(&bucket, &[labels, &[("le", &seconds(*end))]].concat(), *count);
        }
        self.line(&bucket, &[labels, &[("le", "+Inf")]].concat(), total);
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}_sum{labels} {}\n{name}_count{labels} {total}", seconds(micros));
    }
}

/// Microseconds as seconds, exactly.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All of them.
pub fn text(app: &App) -> String {
    let mut text = Text(String::new());
    service(app, &mut text);
    artifacts(app, &mut text);
    text.0
}

fn service(app: &App, text: &mut Text) {
    text.family("auto_requests_total", "counter", "Requests by route and status.");
    let counts = app.requests.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for ((route, status), count) in counts {
        text.line("auto_requests_total", &[("route", route), ("status", &status.to_string())], count);
    }
    text.family("auto_request_seconds", "histogram", "How long requests with inputs took, without reading the socket.");
    text.histogram("auto_request_seconds", &[], &app.requests.latency);
    let traffic = &app.traffic;
    for (name, kind, help, value) in [
        ("auto_connections", "gauge", "Open connections.", traffic.open.load(Relaxed)),
        ("auto_connections_total", "counter", "Connections accepted.", traffic.accepted.load(Relaxed)),
        ("auto_connections_refused_total", "counter", "Connections turned away.", traffic.turned_away.load(Relaxed)),
        ("auto_alarms_total", "counter", "Alarms.", app.events.alarms.load(Relaxed)),
        ("auto_artifacts", "gauge", "Names that are served.", app.catalog.named().len() as u64),
        ("auto_artifacts_held", "gauge", "Names whose artifact is not taken.", app.catalog.held().len() as u64),
        ("auto_up_seconds", "counter", "Seconds since the start.", app.started.elapsed().as_secs()),
    ] {
        text.family(name, kind, help);
        text.line(name, &[], value);
    }
    text.family("auto_queued", "gauge", "Inputs that wait, by lane.");
    for (lane, queued) in
        [("brief", app.brief.queued()), ("long", app.long.queued()), ("waiting", app.waiting.queued())]
    {
        text.line("auto_queued", &[("lane", lane)], queued as u64);
    }
    let Some(spans) = &app.settings.spans else { return };
    for (name, help, value) in [
        ("auto_spans_sent_total", "Spans that a collector took.", spans.sent()),
        ("auto_spans_dropped_total", "Spans that none took.", spans.dropped()),
    ] {
        text.family(name, "counter", help);
        text.line(name, &[], value);
    }
}

fn artifacts(app: &App, text: &mut Text) {
    let named = app.catalog.named();
    text.family("auto_artifact_info", "gauge", "Which artifact a name stands for.");
    for artifact in &named {
        text.line("auto_artifact_info", &[("name", &artifact.name), ("id", &artifact.id)], 1);
    }
    text.family("auto_answers_total", "counter", "Answers by tier.");
    for artifact in &named {
        for (tier, count) in [("1", &artifact.counts.tier1), ("0", &artifact.counts.tier0)] {
            text.line("auto_answers_total", &[("name", &artifact.name), ("tier", tier)], count.load(Relaxed));
        }
    }
    type Of = fn(&super::counts::Counts) -> &Tally;
    let tallies: [(&str, &str, &str, Of); 3] = [
        ("auto_abstained_total", "reason", "Abstentions of artifacts, by reason.", |counts| &counts.trips),
        ("auto_failures_total", "code", "Inputs that artifacts refused or failed on.", |counts| &counts.failures),
        ("auto_tier0_failures_total", "code", "Inputs that tier 0 gave no answer to.", |counts| &counts.tier0_failures),
    ];
    for (name, label, help, of) in tallies {
        text.family(name, "counter", help);
        for artifact in &named {
            for (what, count) in of(&artifact.counts).all() {
                text.line(name, &[("name", &artifact.name), (label, &what)], count);
            }
        }
    }
    type Figure = fn(&super::counts::Counts) -> u64;
    let figures: [(&str, &str, Figure); 5] = [
        ("auto_spent_micro_usd_total", "What tier 0 cost.", |counts| counts.spent.load(Relaxed)),
        ("auto_saved_micro_usd_total", "Answers of artifacts at the median recorded price.", |counts| {
            counts.saved.load(Relaxed)
        }),
        ("auto_drift_sampled_total", "Answers that tier 0 was asked for too.", |counts| counts.sampled.load(Relaxed)),
        ("auto_drift_agreed_total", "Those of them that were the same.", |counts| counts.agreed.load(Relaxed)),
        ("auto_drift_missed_total", "Samples that were not taken.", |counts| counts.unsampled.load(Relaxed)),
    ];
    for (name, help, of) in figures {
        text.family(name, "counter", help);
        for artifact in &named {
            text.line(name, &[("name", &artifact.name)], of(&artifact.counts));
        }
    }
    text.family("auto_answer_seconds", "histogram", "How long inputs took, by name.");
    for artifact in &named {
        text.histogram("auto_answer_seconds", &[("name", &artifact.name)], &artifact.counts.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_seconds_are_exact() {
        let mut text = Text(String::new());
        text.line("a", &[("b", "x\"y\\z\n")], 3);
        assert_eq!(text.0, "a{b=\"x\\\"y\\\\z\\n\"} 3\n");
        assert_eq!((seconds(5).as_str(), seconds(1_500_000).as_str()), ("0.000005", "1.500000"));
    }
}
