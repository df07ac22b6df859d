//! The summary that a census reads says what the spans say, however they came in and whatever went.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use auto_json::Canonical;
use auto_schema::key::Part;
use auto_store::{Census, Retention, Row, Span, SpanKind, Store, Tally, Trace};
use proptest::prelude::*;

fn json(text: &str) -> Canonical {
    Canonical::of(text).unwrap()
}

/// A run whose few inputs, outputs and errors come from a number.
fn trace(number: u64, seed: u64, cut: bool) -> Trace {
    let span = |place: u64| {
        let dice = (seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(place * 977 + number)) >> 7;
        let kinds = [SpanKind::Structural, SpanKind::ModelCall, SpanKind::ToolCall, SpanKind::Other("own".into())];
        let kind = kinds[(dice % 4) as usize].clone();
        let mut attributes = Vec::new();
        if dice.is_multiple_of(3) {
            attributes.push(("cost_usd_micros".to_owned(), (dice % 50).to_string()));
        }
        if dice.is_multiple_of(5) {
            attributes.push(("tokens".to_owned(), (dice % 70).to_string()));
        }
        if kind == SpanKind::Structural && dice.is_multiple_of(2) {
            attributes.push(("uncaptured".to_owned(), "tool_call".to_owned()));
        }
        Span {
            id: place + 1,
            parent: None,
            sequence: place + 1,
            kind,
            name: format!("n{}", dice / 7 % 3),
            input: json(&format!("{{\"a\":{},\"b\":{place}}}", dice / 11 % 4)),
            output: json(&format!("[{}]", dice / 13 % 2)),
            error: dice.is_multiple_of(9).then(|| "failed".into()),
            started: number,
            duration: (!dice.is_multiple_of(4)).then_some(if dice.is_multiple_of(97) {
                u64::MAX / 2
            } else {
                dice % 1_000
            }),
            attributes,
        }
    };
    Trace {
        id: format!("t{number}"),
        task: format!("task {}", number % 2),
        recorder: "test".into(),
        started: number * 1_000_000,
        attributes: Vec::new(),
        input: (!seed.is_multiple_of(5)).then(|| json(&(seed % 3).to_string())),
        output: (!seed.is_multiple_of(7) && !cut).then(|| json(&(seed % 2).to_string())),
        partial: cut,
        spans: (0..seed % 9).map(span).collect(),
    }
}

/// What the spans of a task say of themselves, counted as one would by hand.
fn counted(store: &Store, task: &str, key: Option<&Part>) -> Vec<(String, String, Tally, Tally, Tally, u64)> {
    type Seen = (BTreeSet<String>, u64, Tally);
    let mut groups: BTreeMap<(String, String), BTreeMap<String, Seen>> = BTreeMap::new();
    for trace in store.traces_of(task).unwrap().iter().filter(|trace| !trace.partial) {
        for span in trace.spans.iter().filter(|span| span.kind != SpanKind::Structural) {
            let is_model = span.kind == SpanKind::ModelCall;
            let input = match key.filter(|_| is_model) {
                Some(key) => match key.of(&span.input.value()) {
                    Some(key) => key.canonical(),
                    None => continue,
                },
                None => span.input.clone(),
            };
            let of = groups.entry((span.kind.name().to_owned(), span.name.clone())).or_default();
            let (outputs, errors, tally) = of.entry(input.as_str().to_owned()).or_default();
            match span.error {
                Some(_) => *errors += 1,
                None => drop(outputs.insert(span.output.as_str().to_owned())),
            }
            let said =
                |name: &str| span.attributes.iter().find(|(key, _)| key == name).map(|(_, n)| n.parse().unwrap());
            let cost: Option<u64> = said("cost_usd_micros");
            tally.inputs = 1;
            tally.spans += 1;
            tally.micros = tally.micros.saturating_add(span.duration.unwrap_or(0));
            tally.priced += u64::from(cost.is_some());
            tally.cost += cost.unwrap_or(0);
            tally.tokens += said("tokens").unwrap_or(0);
        }
    }
    let join = |all: &mut Tally, more: &Tally| {
        all.inputs += more.inputs;
        all.spans += more.spans;
        all.micros = all.micros.saturating_add(more.micros);
        all.priced += more.priced;
        all.cost += more.cost;
        all.tokens += more.tokens;
    };
    let row = |((kind, name), inputs): ((String, String), BTreeMap<String, Seen>)| {
        let (mut all, mut witnessed, mut deterministic, mut errors) =
            (Tally::default(), Tally::default(), Tally::default(), 0);
        for (outputs, failed, tally) in inputs.values() {
            join(&mut all, tally);
            errors += failed;
            if tally.spans >= 2 {
                join(&mut witnessed, tally);
                if *failed == 0 && outputs.len() == 1 {
                    join(&mut deterministic, tally);
                }
            }
        }
        (kind, name, all, witnessed, deterministic, errors)
    };
    groups.into_iter().map(row).collect()
}

fn rows(census: &Census) -> Vec<(String, String, Tally, Tally, Tally, u64)> {
    let row = |row: &Row| {
        (row.kind.clone(), row.name.clone().unwrap(), row.all, row.witnessed, row.deterministic, row.errors)
    };
    census.operations.iter().map(row).collect()
}

fn check(path: &Path, key: Option<&Part>) {
    let store = Store::open_read(path).unwrap();
    for task in store.tasks().unwrap() {
        let census = store.census(&task.task).unwrap();
        assert_eq!(rows(&census), counted(&store, &task.task, key));
        let traces = store.traces_of(&task.task).unwrap();
        let whole = || traces.iter().filter(|trace| !trace.partial);
        let structural = whole().flat_map(|trace| &trace.spans).filter(|span| span.kind == SpanKind::Structural);
        let uncaptured = structural.clone().filter(|span| span.attributes.iter().any(|(key, _)| key == "uncaptured"));
        assert_eq!((census.structural, census.uncaptured), (structural.count() as u64, uncaptured.count() as u64));
        let sided = whole().filter(|trace| trace.input.is_some() != trace.output.is_some()).count() as u64;
        let both = whole().filter(|trace| trace.input.is_some() && trace.output.is_some()).count() as u64;
        let runs = census.runs.map(|runs| (runs.row.all.spans, runs.one_sided));
        assert_eq!(runs, (both > 0).then_some((both, sided)));
    }
    store.verify().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_summary_says_what_the_spans_say(seeds in prop::collection::vec(any::<u64>(), 1..24), batch in 1..9_usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut store = Store::create_or_open(&path).unwrap();
        // Every fourth run is first there cut off, and some of those go on to their end.
        let some = |keep: fn(u64) -> bool, cut: bool| -> Vec<Trace> {
            (0..).zip(&seeds).filter(|(at, _)| keep(*at)).map(|(at, seed)| trace(at, *seed, cut)).collect()
        };
        store.ingest(&some(|at| at.is_multiple_of(4), true)).unwrap();
        let whole = some(|at| !at.is_multiple_of(8), false);
        for together in whole.chunks(batch) {
            store.ingest(together).unwrap();
            store.ingest(together).unwrap();
        }
        check(&path, None);
        for (text, last) in [("/a", false), ("/absent", true)] {
            let key = Part::parse(text).unwrap();
            for task in ["task 0", "task 1"] {
                store.set_key(task, "model_call", None, Some(&key)).unwrap();
            }
            check(&path, Some(&key));
            if last {
                store.prune(&Retention { before: Some(6_000_000), ..Retention::default() }, false).unwrap();
                check(&path, Some(&key));
            }
        }
    }
}

#[test]
fn a_summary_that_something_else_changed_is_refused() {
    let changes = [
        "DELETE FROM tally WHERE input = (SELECT max(input) FROM tally)",
        "UPDATE tally SET spans = spans + 1",
        "UPDATE tally SET output = output + 1",
        "UPDATE tally SET cost = cost + 1",
        "UPDATE operation SET name = 'other' WHERE name = 'n1'",
        "UPDATE operation SET run = 0, kind = 'k' WHERE run = 1",
        "DELETE FROM operation WHERE name = 'n1'",
        "UPDATE summary SET structural = structural + 1",
        "DELETE FROM summary WHERE task = 'task 1'",
        "DELETE FROM seal WHERE id = 2",
    ];
    let traces: Vec<Trace> = (0..40).map(|number| trace(number, number * 31 + 8, false)).collect();
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        Store::create_or_open(&path).unwrap().ingest(&traces).unwrap();
        let changing = format!("PRAGMA foreign_keys = OFF; {change}");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&changing).unwrap();
        let store = Store::open_read(&path).unwrap();
        let error = ["task 0", "task 1"].iter().find_map(|task| store.census(task).err()).expect(change);
        assert!(error.is_integrity() && error.message.contains("s.db"), "{change}: {error}");
    }
}
