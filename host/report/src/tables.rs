//! Tables that code makes of the run's files, and of the report itself.

use std::collections::BTreeSet;

use auto_json::Value;

use crate::compose::Report;
use crate::corpus::Corpus;
use crate::evidence::Evidence;
use crate::exact::Exact;

/// A table. Its cells are plain text; code stands between backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The heads of its columns.
    pub head: Vec<&'static str>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

fn table(caption: &str, head: &[&'static str], rows: Vec<Vec<String>>) -> Option<Table> {
    (!rows.is_empty()).then(|| Table { caption: caption.to_owned(), head: head.to_vec(), rows })
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}

fn micros(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_i64().map(|micros| Exact::micros(micros).to_string())
}

fn integer(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_i64).map(|number| number.to_string()).unwrap_or_default()
}

/// Text as it may stand in a cell as code.
fn code(text: &str) -> String {
    let plain = auto_schema::shown(text).replace('`', "'");
    let short: String = plain.chars().take(160).collect();
    let more = if short.len() < plain.len() { "…" } else { "" };
    if short.is_empty() { short } else { format!("`{short}{more}`") }
}

/// What was measured before and after.
pub fn scores(corpus: &Corpus) -> Option<Table> {
    let mut rows = Vec::new();
    for score in list(corpus.report(), "scores") {
        for side in ["before", "after"] {
            let Some(found) = score.get(side).filter(|found| found.get("mean").is_some()) else { continue };
            let interval = micros(found, "low").zip(micros(found, "high"));
            rows.push(vec![
                code(text(score, "metric")),
                code(text(score, "stratum")),
                code(corpus.name(side).unwrap_or(side)),
                micros(found, "mean").unwrap_or_default(),
                interval.map(|(low, high)| format!("{low} to {high}")).unwrap_or_default(),
                integer(found, "n"),
            ]);
        }
    }
    table("What was measured, before and after", &["metric", "rows", "of", "mean", "interval", "n"], rows)
}

/// What counted, one after the other.
pub fn kept(corpus: &Corpus) -> Option<Table> {
    let individuals = list(corpus.report(), "individuals");
    let first = corpus.report().get("before").map(|before| text(before, "individual")).unwrap_or_default();
    let kept = list(corpus.report(), "timeline").iter().filter(|entry| text(entry, "status") == "applied");
    let kept: Vec<&str> = kept.map(|entry| text(entry, "id")).collect();
    let mut rows = Vec::new();
    for own in individuals.iter().filter(|own| text(own, "id") == first || kept.contains(&text(own, "id"))) {
        let program = match text(own, "program") {
            "" => own.get("params").map(|params| params.canonical().into_string()).unwrap_or_default(),
            program => program.to_owned(),
        };
        rows.push(vec![
            code(text(own, "id")),
            integer(own, "generation"),
            code(text(own, "operator")),
            micros(own, "score_micros").unwrap_or_default(),
            integer(own, "bytes"),
            code(&program),
        ]);
    }
    table(
        "What counted, one after the other",
        &["candidate", "generation", "operator", "fitness", "bytes", "what it is"],
        rows,
    )
}

/// What it cost, and what failed: always there.
pub fn disclosure(corpus: &Corpus) -> Option<Table> {
    let starts =
        ["/budget/", "/experiments", "/calls", "/spent", "/teacher", "/individuals?", "/timeline?", "experiments?"];
    let own = corpus.evidence().iter().filter(|one| !one.literature);
    let disclosed = own.filter(|one| starts.iter().any(|start| one.locator.starts_with(start)));
    let rows = disclosed.flat_map(|one| {
        one.values.iter().map(|value| vec![code(&one.locator), value.number.to_string(), value.unit.name().to_owned()])
    });
    table("Budget, failed runs and what was quarantined", &["of", "number", "unit"], rows.collect())
}

/// Every sentence with what it rests on.
pub fn claims(report: &Report) -> Option<Table> {
    let row = |sentence: &crate::sentence::Sentence| {
        let values: Vec<String> = sentence.values.iter().map(|value| code(value)).collect();
        vec![
            sentence.number.to_string(),
            sentence.draft.text.clone(),
            sentence.draft.cites.iter().map(|id| code(id)).collect::<Vec<_>>().join(" "),
            values.join("; "),
            sentence.ruling.name().to_owned(),
        ]
    };
    let rows = report.sentences.iter().map(row).collect();
    table("Claims", &["", "sentence", "evidence", "values", "ruling"], rows)
}

/// The evidence that is cited.
pub fn evidence(report: &Report, corpus: &Corpus) -> Option<Table> {
    let cited: BTreeSet<&String> = report.sentences.iter().flat_map(|sentence| &sentence.draft.cites).collect();
    let rows = corpus
        .evidence()
        .iter()
        .filter(|one| cited.contains(&one.short()))
        .map(|one| vec![code(&one.short()), code(&one.source), code(&one.locator), one.text.clone(), values(one)]);
    table("Evidence", &["id", "file", "place", "what it says", "values"], rows.collect())
}

fn values(evidence: &Evidence) -> String {
    let told =
        |value: &crate::evidence::Typed| code(&format!("{} = {} {}", value.name, value.number, value.unit.name()));
    evidence.values.iter().map(told).collect::<Vec<_>>().join(" ")
}

/// The files that the cited evidence came from.
pub fn files(report: &Report, corpus: &Corpus) -> Option<Table> {
    let cited = report.sentences.iter().flat_map(|sentence| &sentence.draft.cites);
    let sources: BTreeSet<&str> = cited.filter_map(|id| corpus.find(id)).map(|one| one.source.as_str()).collect();
    let own = corpus.artifacts().iter().filter(|artifact| sources.contains(artifact.name.as_str()));
    let rows = own.map(|artifact| vec![code(&artifact.name), code(&artifact.digest.to_string())]).collect();
    table("Files", &["file", "SHA-256"], rows)
}
