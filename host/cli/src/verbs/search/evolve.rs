//! `search evolve`: programs, files and parameters, by generations that are measured.

use std::path::PathBuf;

use auto_config::Evolve;
use auto_json::{Record, Value};
use clap::Args;

use super::folder::Plan;
use super::spec::rows;
use super::start::Start;
use super::tree::Tree;
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Improve a program, its files or its parameters, by generations of candidates that are measured
///
/// Reads [learning.evolve] of the file that --config names. Works without a model: what is built in
/// proposes. What is found counts only if rows that nothing saw confirm it.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search evolve --config auto.toml --data rows.jsonl --html evolve.html")]
pub struct Opts {
    /// The rows to measure on, instead of `files` in [learning.evolve.rows]: a JSON list, or a row a line
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    data: Vec<PathBuf>,
    #[command(flatten)]
    start: Start,
}

impl Opts {
    pub fn run(mut self, global: &Global) -> Result<Reply, Failure> {
        let table = global.file.learning.evolve.as_ref().filter(|_| global.config.is_some());
        self.start.strong = table.and_then(|table| table.strong.clone());
        let plan = || table.map(|table| self.plan(table)).transpose();
        self.start.run(global, ("evolve", "evolve"), table.map(|table| &table.teacher), plan)
    }

    fn plan(&self, table: &Evolve) -> Result<Plan, Failure> {
        let mut settings = table.settings.clone();
        if let Some(model) = self.start.teacher.model(&table.teacher) {
            settings.set("teacher", model);
        }
        let paths = if self.data.is_empty() { &table.rows } else { &self.data };
        if paths.is_empty() && table.settings.get("ab").is_none() {
            let message = "nobody says what to measure on: there are no `files` in [learning.evolve.rows]";
            return Err(Failure::new(Exit::Usage, "no-rows", message).help("give them there, or with --data FILE"));
        }
        let mut all = Vec::new();
        for path in paths {
            all.extend(rows(path)?.as_list().unwrap_or_default().iter().cloned());
        }
        let input = |value: Value| value.canonical().into_string().into_bytes();
        let beside = Tree::of_paths(&table.files)?;
        let mut inputs = vec![("rows", input(Value::List(all))), ("files", input(beside.list()))];
        let mut blobs = beside.blobs;
        if let Some(folder) = &table.code {
            let code = Tree::of_folder(folder)?;
            inputs.push(("code", input(code.list())));
            blobs.extend(code.blobs);
        }
        if let Some(path) = &table.probe {
            inputs.push(("probe", input(rows(path)?)));
        }
        let names = table.pass_environment.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
        let host = Record::new()
            .with("network", table.network)
            .with("pass_environment", names)
            .with("at_once", table.at_once)
            .with("max_experiments", table.max_jobs);
        Ok(Plan {
            kind: "evolve",
            settings,
            inputs,
            blobs,
            host,
            label: self.start.label.clone(),
            dated: false,
            trigger: None,
        })
    }
}
