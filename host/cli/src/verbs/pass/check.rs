//! `pass check`: what a component is and whether it would be let in, without running it.

use std::path::Path;

use auto_engine::{Engine, Export, Options, Report};
use auto_json::{Record, Value};
use auto_schema::{shown, shown_path};

use crate::failure::Failure;
use crate::files;
use crate::reply::{Exit, Reply};

pub fn check(file: &Path) -> Result<Reply, Failure> {
    let engine = Engine::new(Options::default())?;
    let report = engine.examine(&shown_path(file), files::read(file)?);
    let (code, exit) = match report.problems.first() {
        None => ("fits", Exit::Done),
        Some(problem) => (problem.code, Exit::Refused),
    };
    Ok(Reply::done(code, text(file, &report).trim_end(), fields(&report)).exit(exit))
}

fn text(file: &Path, report: &Report) -> String {
    let kind = match (report.exports.is_empty(), report.driver) {
        (true, _) => "no component that can be called",
        (_, true) => "a driver",
        (_, false) => "a pass",
    };
    let mut text = format!("{}: {kind}, {} bytes\n  sha-256 {}\n", shown_path(file), report.size, report.digest);
    for export in &report.exports {
        let note = if export.published { " (as published)" } else { "" };
        text.push_str(&format!("  exports {}{note}\n", shown(&export.interface)));
        export
            .functions
            .iter()
            .for_each(|(name, shape)| text.push_str(&format!("    {}: {}\n", shown(name), shown(shape))));
    }
    report.imports.iter().for_each(|(name, source)| text.push_str(&format!("  imports {} ({source})\n", shown(name))));
    for problem in &report.problems {
        text.push_str(&format!("  refused[{}]: {}\n", problem.code, shown(&problem.message)));
    }
    text + if report.problems.is_empty() { "it can be used\n" } else { "it would be refused\n" }
}

fn fields(report: &Report) -> Record {
    let imports = report
        .imports
        .iter()
        .map(|(name, source)| Value::from(Record::new().with("interface", name.as_str()).with("source", *source)));
    let problems = report.problems.iter().map(|problem| {
        let record = Record::new().with("code", problem.code).with("at", problem.at.as_deref());
        Value::from(record.with("message", problem.message.as_str()))
    });
    Record::new()
        .with("digest", report.digest.to_string())
        .with("bytes", report.size)
        .with("driver", report.driver)
        .with("exports", report.exports.iter().map(export).collect::<Vec<_>>())
        .with("imports", imports.collect::<Vec<_>>())
        .with("problems", problems.collect::<Vec<_>>())
}

fn export(export: &Export) -> Value {
    let functions = export
        .functions
        .iter()
        .map(|(name, shape)| Value::from(Record::new().with("name", name.as_str()).with("type", shape.as_str())));
    Record::new()
        .with("interface", export.interface.as_str())
        .with("published", export.published)
        .with("functions", functions.collect::<Vec<_>>())
        .into()
}
