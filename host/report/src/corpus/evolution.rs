//! What came of an evolution: its candidates, generations, checks and budget.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::digest::Digest;

use super::given::told;
use super::{Making, RUN, codable, counted, integer, list, many, quotable, text, who};
use crate::artifacts::{Unreadable, Whole};
use crate::evidence::{Category, Origin, Sense, Tag, Typed};
use crate::exact::Exact;
use crate::unit::Unit;

/// What may become of a candidate.
pub const STATUSES: [&str; 5] = ["valid", "dropped", "invalid", "refused", "quarantined"];

/// The names of what was before and what was found.
pub fn names(making: &mut Making<'_>) {
    let report = making.whole.report.clone();
    let found = text(&report, "best");
    let first = report.get("before").map(|before| text(before, "individual")).unwrap_or_default();
    for own in list(&report, "individuals") {
        making.lexicon.add(text(own, "id"), Category::Who, text(own, "id"));
        if let Some(generation) = integer(own, "generation") {
            let name = format!("generation {generation}");
            making.lexicon.add(&name, Category::When, &name);
        }
    }
    if making.whole.kind == "evolve" && !first.is_empty() {
        making.lexicon.add("baseline", Category::Who, first);
        making.names.insert("before", first.to_owned());
        if found != first {
            making.names.insert("after", found.to_owned());
        }
    } else {
        making.lexicon.add("baseline", Category::Who, "baseline");
        making.lexicon.add("result", Category::Who, "result");
        making.names.insert("before", "baseline".to_owned());
        making.names.insert("after", "result".to_owned());
    }
    for status in STATUSES {
        making.lexicon.add(status, Category::Status, status);
    }
    for (phrase, what) in [
        ("fitness", "fitness"),
        ("size", "size"),
        ("seed", "seed"),
        ("score", "score"),
        ("scores", "score"),
        ("scored", "score"),
    ] {
        making.lexicon.add(phrase, Category::What, what);
    }
}

impl Making<'_> {
    /// How a sentence calls somebody.
    pub fn called(&self, name: &str) -> String {
        if self.names.get("before").is_some_and(|before| before == name) {
            "the baseline".to_owned()
        } else if name == "result" {
            "the result".to_owned()
        } else {
            name.to_owned()
        }
    }
}

pub fn read(making: &mut Making<'_>) -> Result<(), Unreadable> {
    let report = making.whole.report.clone();
    outcome(making, &report);
    sizes(making, &report);
    budget(making, &report);
    checks(making, list(&report, "confirm"), "/confirm", None);
    for (at, own) in list(&report, "individuals").iter().enumerate() {
        candidate(making, at, own);
        measured(making, at, own)?;
    }
    headline(making.whole, &report)?;
    for (at, entry) in list(&report, "timeline").iter().enumerate() {
        let detail = entry.get("detail").map(|detail| list(detail, "checks").to_vec()).unwrap_or_default();
        checks(making, &detail, &format!("/timeline/{at}/detail/checks"), Some(text(entry, "id")));
    }
    for (at, row) in list(&report, "generations").iter().enumerate() {
        generation(making, at, row);
    }
    Ok(())
}

/// How it ended, and what kept it apart.
fn outcome(making: &mut Making<'_>, report: &Value) {
    let kind = making.whole.kind.clone();
    making.say_of_run("/kind", format!("The run is a search of the kind {kind}."), Vec::new());
    if let Some(status) = codable(text(report, "status")) {
        making.say_of_run("/status", format!("The status of the run is `{status}`."), Vec::new());
    }
    if let Some(stop) = codable(text(report, "stop")) {
        making.say_of_run("/stop", format!("The run stopped at `{stop}`."), Vec::new());
    }
    if let Some(why) = quotable(text(report, "why")) {
        making.say_of_run("/why", format!("The run ended with the words “{why}”."), Vec::new());
    }
    let said = [
        ("isolation", "The experiments of the run were kept apart by"),
        ("proposers", "The candidates of the run were proposed by"),
    ];
    for (key, said) in said {
        if let Some(names) = told(report, key) {
            making.say_of_run(&format!("/{key}"), format!("{said} `{names}`."), Vec::new());
        }
    }
    for (at, note) in list(report, "notes").iter().enumerate() {
        if let Some(note) = note.as_text().and_then(quotable) {
            making.say_of_run(&format!("/notes/{at}"), format!("A note of the run says: “{note}”."), Vec::new());
        }
    }
    if let Some(seed) = integer(report, "seed") {
        let value = Typed::new("seed", Exact::count(seed), Unit::Plain).of(Category::What, "seed");
        making.say_of_run("/seed", format!("The seed of the run is {seed}."), vec![value]);
    }
}

/// How long what was before is, and what counts now.
fn sizes(making: &mut Making<'_>, report: &Value) {
    for side in ["before", "after"] {
        let bytes = report.get(side).and_then(|found| integer(found, "bytes"));
        // What counts at the end may be the baseline, and not what was found.
        let of = report.get(side).map(|found| text(found, "individual").to_owned()).filter(|of| !of.is_empty());
        let (Some(bytes), Some(name)) = (bytes, of.or_else(|| making.names.get(side).cloned())) else { continue };
        let origin = making.origin_of_report();
        let called = making.called(&name);
        let value = size(bytes);
        making.say(
            &origin,
            &format!("/{side}/bytes"),
            format!("The size of {called} is {bytes} bytes."),
            &[who(&name)],
            vec![value],
        );
        if side == "after" {
            making.say(&origin, "/after", format!("{called} counts at the end."), &[who(&name)], Vec::new());
        }
    }
}

fn size(bytes: i64) -> Typed {
    Typed::new("size", Exact::count(bytes), Unit::Bytes).of(Category::What, "size").better(Sense::Lower)
}

fn budget(making: &mut Making<'_>, report: &Value) {
    let empty = Value::Null;
    let budget = report.get("budget").unwrap_or(&empty);
    let rows = [
        (budget, "/budget/jobs", "jobs", "job", "The run used"),
        (budget, "/budget/max_jobs", "max_jobs", "job", "The limit of the run is"),
        (budget, "/budget/max_generations", "max_generations", "generation", "The limit of the run is"),
        (report, "/experiments", "experiments", "experiment", "The run started"),
        (report, "/calls", "calls", "call", "The run asked a teacher in"),
    ];
    for (of, locator, key, noun, said) in rows {
        if let Some(number) = integer(of, key) {
            let said = format!("{said} {}.", many(number, noun));
            making.say_of_run(locator, said, vec![counted(key, number, noun)]);
        }
    }
    let money = [
        (report, "/spent_micro_usd", "spent_micro_usd", "The run spent"),
        (budget, "/budget/max_spend_micro_usd", "max_spend_micro_usd", "The limit of the run is"),
        (report, "/teacher_micro_usd", "teacher_micro_usd", "The run paid a teacher"),
    ];
    for (of, locator, key, said) in money {
        if let Some(micros) = integer(of, key) {
            let number = Exact::micros(micros);
            let said = format!("{said} ${number}.");
            let value = Typed::new(key, number, Unit::Dollars).better(Sense::Lower);
            making.say_of_run(locator, said, vec![value]);
        }
    }
    let tried = list(report, "individuals");
    if tried.is_empty() {
        return;
    }
    let all = i64::try_from(tried.len()).unwrap_or(i64::MAX);
    making.say_of_run(
        "/individuals",
        format!("The run recorded {}.", many(all, "candidate")),
        vec![counted("candidates", all, "candidate")],
    );
    // An A/B test has none: its candidates are tried one after the other.
    let generations = report.get("generations").and_then(Value::as_list).map(<[Value]>::len);
    if let Some(generations) = generations.map(|generations| i64::try_from(generations).unwrap_or(i64::MAX)) {
        let value = counted("generations", generations, "generation");
        let said = format!("The run went through {}.", many(generations, "generation"));
        making.say_of_run("/generations", said, vec![value]);
    }
    let mut by = BTreeMap::<&str, i64>::from(STATUSES.map(|status| (status, 0)));
    for own in tried {
        *by.entry(text(own, "status")).or_default() += 1;
    }
    for (status, number) in by {
        let value = counted("candidates", number, "candidate").of(Category::Status, status);
        let said = format!("{number} {status} candidates of the run are recorded.");
        making.say_of_run(&format!("/individuals?status={status}"), said, vec![value]);
    }
}

/// Checks, of a candidate or of what was confirmed.
fn checks(making: &mut Making<'_>, checks: &[Value], locator: &str, of: Option<&str>) {
    for (at, check) in checks.iter().enumerate() {
        let (name, ok) = (text(check, "name"), check.get("ok").and_then(Value::as_bool) == Some(true));
        let (Some(name), Some(detail)) = (codable(name), quotable(text(check, "detail"))) else { continue };
        let holds = if ok { "holds" } else { "does not hold" };
        let (mut tags, mut about) = (Vec::<Tag>::new(), String::new());
        match of {
            Some(id) => {
                tags.push(who(id));
                about = format!(" of {id}");
            }
            None => {
                if let Some(after) = making.names.get("after").cloned() {
                    tags.push(who(&after));
                    about = format!(" of {after}");
                }
                tags.push((Category::Where, "confirm".to_owned()));
                about.push_str(" on the confirm rows");
            }
        }
        let origin = making.origin_of_report();
        let said = format!("The check `{name}`{about} {holds}: “{detail}”.");
        making.say(&origin, &format!("{locator}/{at}"), said, &tags, Vec::new());
    }
}

fn candidate(making: &mut Making<'_>, at: usize, own: &Value) {
    let origin = making.origin_of_report();
    let id = text(own, "id").to_owned();
    let called = making.called(&id);
    let place = |key: &str| format!("/individuals/{at}/{key}");
    let tags = [who(&id)];
    if let Some(fitness) = integer(own, "score_micros") {
        let number = Exact::micros(fitness);
        let said = format!("The fitness of {called} is {number}.");
        let mut value = Typed::new("fitness", number, Unit::Share).of(Category::What, "fitness").better(Sense::Higher);
        let interval = integer(own, "low_micros").zip(integer(own, "high_micros"));
        value.interval = interval.map(|(low, high)| (Exact::micros(low), Exact::micros(high)));
        making.say(&origin, &place("score_micros"), said, &tags, vec![value]);
    }
    if let Some(bytes) = integer(own, "bytes") {
        making.say(
            &origin,
            &place("bytes"),
            format!("The size of {called} is {bytes} bytes."),
            &tags,
            vec![size(bytes)],
        );
    }
    if let Some(program) = own.get("program").and_then(Value::as_text).and_then(codable) {
        making.say(&origin, &place("program"), format!("The program of {called} is `{program}`."), &tags, Vec::new());
    }
    let params = own.get("params").filter(|params| params.as_record().is_some_and(|all| all.iter().next().is_some()));
    if let Some(params) = params.and_then(|params| codable(params.canonical().as_str())) {
        let said = format!("The parameters of {called} are `{params}`.");
        making.say(&origin, &place("params"), said, &tags, Vec::new());
    }
    let status = text(own, "status");
    let of_status = [who(&id), (Category::Status, status.to_owned())];
    making.say(&origin, &place("status"), format!("{called} is {status}."), &of_status, Vec::new());
    if let Some(reason) = quotable(text(own, "reason")) {
        making.say(&origin, &place("reason"), format!("The reason for {called} is “{reason}”."), &tags, Vec::new());
    }
    let generation = integer(own, "generation").unwrap_or(0);
    let when = [who(&id), (Category::When, format!("generation {generation}"))];
    let parents = told(own, "parents").map(|parents| format!(" out of `{parents}`")).unwrap_or_default();
    if let (Some(operator), Some(idea)) = (codable(text(own, "operator")), codable(text(own, "idea"))) {
        let said = format!(
            "{called} came in generation {generation} by the operator `{operator}` of the class `{idea}`{parents}."
        );
        making.say(&origin, &place("operator"), said, &when, Vec::new());
    }
}

/// The means before and after are those of the candidates' own runs, which are computed again. An A/B
/// test counts, and has no runs with means.
fn headline(whole: &Whole, report: &Value) -> Result<(), Unreadable> {
    let settings = whole.record.get("settings");
    if whole.kind != "evolve" || settings.is_some_and(|settings| settings.get("ab").is_some()) {
        return Ok(());
    }
    let first = report.get("before").map(|before| text(before, "individual")).unwrap_or_default();
    let measured = |id: &str, purpose: &str| {
        let own = list(report, "individuals").iter().find(|own| text(own, "id") == id)?;
        let run = list(own, "runs").iter().find(|run| text(run, "purpose") == purpose)?;
        Some((integer(run, "mean")?, integer(run, "n")?))
    };
    for (at, score) in list(report, "scores").iter().enumerate() {
        let purpose = match text(score, "stratum") {
            "select" => "whole",
            "confirm" => "confirm",
            other => {
                let why = format!(
                    "report.json /scores/{at} is of {}, which nothing was measured on",
                    auto_schema::shown(other)
                );
                return Err(Unreadable::new("mean-differs", why));
            }
        };
        for (side, id) in [("before", first), ("after", text(report, "best"))] {
            let Some(told) = score.get(side).filter(|told| told.get("mean").is_some()) else { continue };
            let told = integer(told, "mean").zip(integer(told, "n"));
            let of_run = measured(id, purpose);
            if told.is_none() || told != of_run {
                let shown = |side: Option<(i64, i64)>| {
                    side.map_or_else(
                        || "no mean".to_owned(),
                        |(mean, n)| format!("{} over {n} rows", Exact::micros(mean)),
                    )
                };
                let why = format!(
                    "report.json /scores/{at}/{side} says {}, and the run of {} ({purpose}) has {}",
                    shown(told),
                    auto_schema::shown(id),
                    shown(of_run)
                );
                return Err(Unreadable::new("mean-differs", why));
            }
        }
    }
    Ok(())
}

/// The mean of each run of a candidate is computed again from the scores that the run left.
fn measured(making: &mut Making<'_>, at: usize, own: &Value) -> Result<(), Unreadable> {
    let scored = making.whole.record.get("settings").is_some_and(|settings| settings.get("scorer").is_some());
    for (run, measured) in list(own, "runs").iter().enumerate() {
        let mut scores = None;
        for left in list(measured, "artifacts") {
            let Some(digest) = Digest::parse(text(left, "digest")) else { continue };
            let bytes = making.artifacts.blob(digest)?;
            if text(left, "path") == "scores.jsonl" {
                scores = Some(bytes);
            }
        }
        let Some((mean, n)) = integer(measured, "mean").zip(integer(measured, "n")) else { continue };
        let right = scores.as_deref().map_or(!scored, |scores| is_mean(scores, mean, n));
        if !right {
            let why = format!(
                "report.json /individuals/{at}/runs/{run} says a mean of {} over {n} scores, and what the run left does not",
                Exact::micros(mean)
            );
            return Err(Unreadable::new("mean-differs", why));
        }
    }
    Ok(())
}

/// Whether millionths are the mean of a file of scores, rounded down.
fn is_mean(bytes: &[u8], mean: i64, n: i64) -> bool {
    let scores: Option<Vec<Exact>> = String::from_utf8_lossy(bytes)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| match Value::parse(line).ok()?.get("score")? {
            Value::Number(number) => Exact::of(number),
            _ => None,
        })
        .collect();
    let Some(scores) = scores else { return false };
    let million = num_rational::BigRational::from_integer(1_000_000.into());
    let half = num_rational::BigRational::new(1.into(), 2.into());
    let micros = |score: &Exact| (&score.value * &million + &half).floor();
    let sum = scores.iter().map(micros).fold(num_rational::BigRational::default(), |sum, score| sum + score);
    let number = num_rational::BigRational::from_integer(n.into());
    i64::try_from(scores.len()) == Ok(n)
        && n > 0
        && (sum / number).floor() == num_rational::BigRational::from_integer(mean.into())
}

fn generation(making: &mut Making<'_>, at: usize, row: &Value) {
    let Some(number) = integer(row, "generation") else { return };
    let origin: Origin = making.origin_of_report();
    let name = format!("generation {number}");
    making.lexicon.add(&name, Category::When, &name);
    let tags = [who(RUN), (Category::When, name.clone())];
    let place = |key: &str| format!("/generations/{at}/{key}");
    if let Some(tried) = integer(row, "tried") {
        let said = format!("The run tried {} in {name}.", many(tried, "candidate"));
        making.say(&origin, &place("tried"), said, &tags, vec![counted("tried", tried, "candidate")]);
    }
    if let Some(jobs) = integer(row, "jobs") {
        let said = format!("By the end of {name} the run had used {}.", many(jobs, "job"));
        making.say(&origin, &place("jobs"), said, &tags, vec![counted("jobs", jobs, "job")]);
    }
}
