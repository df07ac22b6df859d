//! `registry diff`: what changed between two artifacts, in program, guard, accuracy and evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::ir::{Body, Graph};
use auto_schema::{shown, shown_path};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

use super::percent;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::Reply;

/// Say what changed between two artifacts: program, guard, accuracy, evidence
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry diff triage:stable triage\n  \
    auto-host registry diff old.cbin new.cbin --json")]
pub struct Diff {
    #[command(flatten)]
    registry: RegistryOption,
    /// The older one: its name, id, or file
    old: PathBuf,
    /// The newer one
    new: PathBuf,
}

/// Something that is another thing now.
pub(super) struct Change {
    part: &'static str,
    what: &'static str,
    old: Value,
    new: Value,
}

impl Change {
    /// As JSON.
    pub(super) fn to_value(&self) -> Value {
        let row = Record::new().with("part", self.part).with("what", self.what);
        row.with("old", self.old.clone()).with("new", self.new.clone()).into()
    }

    /// As lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let one = |what: &str, old: &str, new: &str| format!("{what}: {} -> {}", shown(old), shown(new));
        let share = |value: &Value| match value.as_u64() {
            Some(ppm) => percent(u32::try_from(ppm).ok()),
            None => "not measured".to_owned(),
        };
        match self.what {
            "agreement" | "coverage" | "out_of_fold" => vec![one(self.what, &share(&self.old), &share(&self.new))],
            "passes" => {
                let (old, new) = (by_interface(&self.old), by_interface(&self.new));
                let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
                let of = |passes: &BTreeMap<String, String>, name: &String| {
                    passes.get(name).cloned().unwrap_or_else(|| "none".to_owned())
                };
                let differing = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
                differing.map(|name| one(&shown(name), &of(&old, name), &of(&new, name))).collect()
            }
            what => vec![one(what, &plain(&self.old), &plain(&self.new))],
        }
    }
}

/// The digests of passes by what they export.
fn by_interface(passes: &Value) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for pass in passes.as_list().unwrap_or_default() {
        let text = |key: &str| pass.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
        let digests = found.entry(text("interface")).or_default();
        let comma = if digests.is_empty() { "" } else { ", " };
        digests.push_str(&format!("{comma}{}", text("digest")));
    }
    found
}

impl Diff {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let (old, new) = (self.read(global, &self.old)?, self.read(global, &self.new)?);
        let changes = changes(&old, &new);
        let lines = self.program(global, &old, &new)?;
        let mut text = format!("{} -> {}\n", old.id, new.id);
        for part in PARTS {
            let these: Vec<&Change> = changes.iter().filter(|change| change.part == part).collect();
            let program = if part == "program" { lines.as_slice() } else { &[] };
            if these.is_empty() && program.is_empty() {
                text.push_str(&format!("{part}: the same\n"));
                continue;
            }
            text.push_str(&format!("{part}:\n"));
            these.iter().flat_map(|change| change.lines()).for_each(|line| text.push_str(&format!("  {line}\n")));
            program.iter().for_each(|line| text.push_str(&format!("  {}\n", shown(line))));
        }
        let fields = Record::new()
            .with("old", old.id.to_string())
            .with("new", new.id.to_string())
            .with("changes", changes.iter().map(Change::to_value).collect::<Vec<_>>())
            .with("program", super::texts(lines.iter()));
        let code = if old.id == new.id { "same" } else { "different" };
        Ok(Reply::done(code, text.trim_end(), fields))
    }

    fn read(&self, global: &Global, named: &Path) -> Result<Cbin, Failure> {
        let bytes = self.registry.artifact(global, named)?;
        Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(shown_path(named)))
    }

    /// The lines of the programs' texts that went and came, as `explain` writes them.
    fn program(&self, global: &Global, old: &Cbin, new: &Cbin) -> Result<Vec<String>, Failure> {
        if old.program == new.program {
            return Ok(Vec::new());
        }
        let toolbox = Toolbox::open(global, &[])?;
        let text = |artifact: &Cbin| explained(&toolbox, artifact.graph.as_ref());
        let (old, new) = (text(old)?, text(new)?);
        Ok(lines(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>()))
    }
}

const PARTS: [&str; 6] = ["interface", "program", "guard", "accuracy", "evidence", "made by"];

/// What the manifests and guards say that changed.
pub(super) fn changes(old: &Cbin, new: &Cbin) -> Vec<Change> {
    let (a, b) = (old.manifest.to_value(), new.manifest.to_value());
    let keys = [
        ("interface", ["task", "scope", "input", "output", "capabilities"].as_slice()),
        ("program", &["code", "module_bytes", "steps"]),
        ("guard", &["guarded"]),
        ("accuracy", &["agreement", "coverage", "out_of_fold", "out_of_fold_rows", "judged"]),
        ("evidence", &["observations", "evidence", "contract", "eval_run"]),
        ("made by", &["passes", "trusted_gate", "reusable", "notes"]),
    ];
    let mut changes: Vec<Change> = Vec::new();
    for (part, keys) in keys {
        for what in keys {
            let (old, new) = (a.get(what).cloned(), b.get(what).cloned());
            if old != new {
                changes.push(Change { part, what, old: old.unwrap_or(Value::Null), new: new.unwrap_or(Value::Null) });
            }
        }
    }
    let (old_guard, new_guard) = (guard(&old.graph), guard(&new.graph));
    if old_guard != new_guard {
        changes.push(Change { part: "guard", what: "bytes", old: old_guard, new: new_guard });
    }
    changes.sort_by_key(|change| PARTS.iter().position(|part| *part == change.part));
    changes
}

/// Digest of the guard's nodes: whether it measures inputs as before.
fn guard(graph: &Option<Graph>) -> Value {
    let Some(graph) = graph else { return Value::Null };
    let nodes = graph.nodes.iter().filter(|node| matches!(node.body, Body::Guard { .. }));
    let text: String = nodes.map(|node| format!("{:?}", node.body)).collect();
    if text.is_empty() { Value::Null } else { auto_schema::digest::Digest::of(text.as_bytes()).to_string().into() }
}

fn explained(toolbox: &Toolbox, graph: Option<&Graph>) -> Result<String, Failure> {
    let Some(bytes) = graph.and_then(|graph| graph.to_bytes().ok()) else {
        return Ok("(a module of somebody's own: there is no program to show)".to_owned());
    };
    let arguments = Value::List(vec![STANDARD.encode(bytes).into(), Value::Null]);
    let text = toolbox.engine.call_json(&toolbox.providers, "auto:pass/explain@0.1.0", "explain", &arguments)?;
    Ok(text.as_text().unwrap_or_default().to_owned())
}

/// Lines that went, with `-`, and came, with `+`: the longest common subsequence stays. Programs
/// are short; beyond what fits a table all lines are taken to be others.
fn lines(old: &[&str], new: &[&str]) -> Vec<String> {
    const MOST: usize = 2000;
    let fits = old.len() <= MOST && new.len() <= MOST;
    let width = new.len() + 1;
    let mut common = vec![0u32; if fits { (old.len() + 1) * width } else { 0 }];
    let same = |i: usize, j: usize| fits && old[i] == new[j];
    if fits {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                common[i * width + j] = match same(i, j) {
                    true => common[(i + 1) * width + j + 1] + 1,
                    false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
                };
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && same(i, j) {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || !fits || common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(format!("- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
    lines
}

fn plain(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn only_lines_that_went_or_came_are_shown() {
        let diff = |old: &str, new: &str| {
            lines(&old.split_whitespace().collect::<Vec<_>>(), &new.split_whitespace().collect::<Vec<_>>()).join(" ")
        };
        assert_eq!(diff("a b c", "a b c"), "");
        assert_eq!(diff("a b c", "a x c"), "- b + x");
        assert_eq!(diff("", "a"), "+ a");
        assert_eq!(diff("a b", ""), "- a - b");
        assert_eq!(diff("a b c d", "b d e"), "- a - c + e");
        let long = "x ".repeat(2001);
        assert_eq!(diff(&long, "x").matches('-').count(), 2001);
    }
}
