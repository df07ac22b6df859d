//! `contract`: drafts a contract from what was recorded, and checks one.

use std::path::PathBuf;

use auto_engine::Observation;
use auto_json::{Record, Value};
use auto_schema::contract::{Scope, SpanKind};
use auto_schema::types::Type;
use auto_schema::{is_unseen, shown, shown_path};
use auto_store::Store;
use clap::{Args, Subcommand};

use super::compile::observations;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};

/// Draft a contract from what was recorded, or check one
#[derive(Args)]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write a contract with the types of what was recorded, for its author to edit
    #[command(after_help = "Example:\n  auto-host contract infer --task triage --store auto.db\n  \
        auto-host contract infer --task triage --scope model_call:triage --out triage.contract.toml")]
    Infer {
        /// The task
        #[arg(long)]
        task: String,
        /// `task`, `KIND:NAME` of a span, or `FROM..TO`; may be left out where one operation
        /// was recorded
        #[arg(long)]
        scope: Option<String>,
        #[command(flatten)]
        store: StoreOption,
        /// Where the contract goes [default: stdout]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Read a contract strictly and say what it claims; with a store, whether its types fit
    #[command(after_help = "Example:\n  auto-host contract check triage.contract.toml --store auto.db")]
    Check {
        /// The contract
        file: PathBuf,
        /// What was recorded
        #[arg(long, value_name = "FILE")]
        store: Option<PathBuf>,
    },
}

impl Opts {
    /// Whether a contract goes to stdout because somebody said so. One that nobody gave a place
    /// is the report.
    pub fn owns_stdout(&self) -> bool {
        matches!(&self.action, Action::Infer { out: Some(out), .. } if files::is_stdout(out))
    }

    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::Infer { task, scope, store, out } => {
                let store = files::store(&store.store)?;
                let place = out.as_deref().map(Output::at).transpose()?;
                let text = infer(&store, &task, scope.as_deref())?;
                let fields = Record::new().with("contract", text.as_str());
                match out.zip(place) {
                    None => Ok(Reply { data: true, ..Reply::done("contract", text.trim_end(), fields) }),
                    Some((out, place)) => {
                        place.write(text.as_bytes())?;
                        let said = format!("wrote {}; edit it, then `auto-host contract check` it", shown_path(&out));
                        Ok(Reply::done("contract", said, fields.with("out", out.display().to_string())))
                    }
                }
            }
            Action::Check { file, store } => check(global, &file, store.as_deref()),
        }
    }
}

/// A contract of version 1 as text.
fn infer(store: &Store, task: &str, scope: Option<&str>) -> Result<String, Failure> {
    let scope = match scope {
        Some(text) => parse_scope(text)?,
        None => only_operation(store, task)?,
    };
    let observations = store.observations(task, &scope)?;
    let seen = Seen::of(&observations);
    if seen.inputs.is_empty() {
        let message = format!("nothing was recorded of {scope} in the task {task:?}");
        return Err(Failure::new(Exit::Refused, "no-observations", message)
            .help("`auto-host census --task TASK` shows what was recorded"));
    }
    let (inputs, outputs): (Vec<&Value>, Vec<&Value>) = (seen.inputs.iter().collect(), seen.outputs.iter().collect());
    let input = Type::infer(seen.inputs.iter()).with_maps(&inputs);
    let output = Type::infer(seen.outputs.iter()).with_maps(&outputs).with_labels(&outputs);
    let scope_lines = match &scope {
        Scope::Task => "type = \"task\"".to_owned(),
        Scope::Span { kind, name } => format!("type = \"span\"\nkind = \"{}\"\nname = {}", kind.as_str(), toml(name)),
        Scope::Region { from, to } => format!("type = \"region\"\nfrom = {}\nto = {}", toml(from), toml(to)),
    };
    Ok(format!(
        "# Drafted from {} recorded inputs with {} distinct outputs. The types are the smallest\n\
         # that fit what was seen: widen what may grow, and say in properties what must hold.\n\
         contract_version = 1\n\
         task = {}\n\n\
         [scope]\n{scope_lines}\n\n\
         [interface]\n\
         input = {}\n\
         output = {}\n",
        seen.inputs.len(),
        seen.distinct,
        toml(task),
        toml(&input.to_string()),
        toml(&output.to_string()),
    ))
}

/// What was recorded, as values.
struct Seen {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    distinct: usize,
}

impl Seen {
    fn of(observations: &[Observation]) -> Seen {
        let outputs = || observations.iter().flat_map(|seen| &seen.outputs);
        let distinct: std::collections::BTreeSet<&str> = outputs().map(|(output, _)| output.as_str()).collect();
        Seen {
            inputs: observations.iter().map(|seen| seen.input.value()).collect(),
            outputs: outputs().map(|(output, _)| output.value()).collect(),
            distinct: distinct.len(),
        }
    }
}

/// A TOML string: literal where it can be, so that types stay readable; nothing in it that
/// cannot be seen.
fn toml(text: &str) -> String {
    if text.contains('"') && !text.contains('\'') && !text.chars().any(is_unseen) {
        return format!("'{text}'");
    }
    // What JSON escapes, TOML's basic strings read the same way, but for the slash, which our
    // writer does not escape.
    let mut written = String::new();
    for character in Value::from(text).to_string().chars() {
        match is_unseen(character) {
            true => written.push_str(&format!("\\U{:08X}", u32::from(character))),
            false => written.push(character),
        }
    }
    written
}

fn parse_scope(text: &str) -> Result<Scope, Failure> {
    let wrong = || {
        let kinds = SpanKind::ALL.map(SpanKind::as_str).join(", ");
        Failure::new(Exit::Usage, "bad-scope", format!("{text:?} is no scope"))
            .help(format!("write `task`, `KIND:NAME` with one of {kinds}, or `FROM..TO`"))
    };
    if text == "task" {
        return Ok(Scope::Task);
    }
    if let Some((kind, name)) = text.split_once(':').filter(|(_, name)| !name.is_empty())
        && let Some(kind) = SpanKind::parse(kind)
    {
        return Ok(Scope::Span { kind, name: name.to_owned() });
    }
    match text.split_once("..") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() && from != to => {
            Ok(Scope::Region { from: from.to_owned(), to: to.to_owned() })
        }
        _ => Err(wrong()),
    }
}

/// The one operation that was recorded of a task.
fn only_operation(store: &Store, task: &str) -> Result<Scope, Failure> {
    let census = store.census(task)?;
    let scopes: Vec<(SpanKind, String)> =
        census.operations.iter().filter_map(|row| Some((SpanKind::parse(&row.kind)?, row.name.clone()?))).collect();
    match scopes.as_slice() {
        [] => Err(Failure::new(Exit::Refused, "no-traces", format!("nothing was recorded of the task {task:?}"))),
        [(kind, name)] => Ok(Scope::Span { kind: *kind, name: name.clone() }),
        several => {
            let names: Vec<String> = several.iter().map(|(kind, name)| format!("{}:{name}", kind.as_str())).collect();
            let message = format!("the task {task:?} has {} operations", several.len());
            Err(Failure::new(Exit::Usage, "which-scope", message)
                .help(format!("say which with --scope: task, {}", names.join(", "))))
        }
    }
}

fn check(global: &Global, file: &std::path::Path, store: Option<&std::path::Path>) -> Result<Reply, Failure> {
    let (contract, predicates) = files::contract(file)?;
    let pinned = Toolbox::open(global, &[])?.predicates(predicates)?;
    let mut text = format!(
        "contract {} (version {}), task {:?}, {}\n  {} examples, {} eval cases, {} properties, {} predicates\n",
        contract.id(),
        contract.version,
        contract.task,
        shown(&contract.scope.to_string()),
        contract.examples.len(),
        contract.cases.len(),
        contract.properties.len(),
        pinned.len(),
    );
    contract
        .properties
        .iter()
        .for_each(|property| text.push_str(&format!("  claims that {}\n", shown(&property.sentence()))));
    let mut fields = Record::new()
        .with("id", contract.id().to_string())
        .with("version", contract.version)
        .with("scope", contract.scope.to_string())
        .with("properties", contract.properties.iter().map(|one| one.sentence().into()).collect::<Vec<Value>>());
    let mut misfits = Vec::new();
    if let Some(path) = store {
        let observations = observations(&files::store(path)?, &contract)?;
        let seen = Seen::of(&observations);
        for (what, ty, values) in
            [("input", &contract.input, &seen.inputs), ("output", &contract.output, &seen.outputs)]
        {
            let wrong: Vec<_> = values.iter().filter_map(|value| ty.accepts(value).err()).collect();
            text.push_str(&format!(
                "  {} of {} recorded {what}s are of its type\n",
                values.len() - wrong.len(),
                values.len()
            ));
            if let Some(first) = wrong.first() {
                misfits.push(format!("{} recorded {what}s are not of its type, the first: {first}", wrong.len()));
            }
        }
        fields = fields.with("observations", observations.len());
    }
    if misfits.is_empty() {
        return Ok(Reply::done("contract", text.trim_end(), fields));
    }
    Err(Failure::new(Exit::Refused, "type-mismatch", misfits.join("; "))
        .at(shown_path(file))
        .help("widen the types, or draft them anew with `auto-host contract infer`"))
}
