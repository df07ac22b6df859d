//! `key`: what of a recorded request is the input.

use std::path::Path;

use auto_json::{Record, Value};
use auto_schema::key::Part;
use auto_schema::shown;
use auto_store::{KeyPolicy, Proposal, Store};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::files;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};

/// Say what of a recorded request is the input
///
/// A chat agent sends its whole history with every request, so that none repeats. A key policy
/// says which part a decision depends on. It is kept in the store with the task, changes nothing
/// that was recorded, and is applied wherever the task's operations are read, also those that are
/// recorded later. A key that leaves out what mattered shows in the census as divergent inputs.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host key propose --task airline --kind model_call --store auto.db\n  \
    auto-host key set --task airline --kind model_call --store auto.db /-1\n  \
    auto-host key set --task tickets --kind model_call --store auto.db \\\n      \
    '{\"template\": \"Classify: {text}\", \"of\": \"/messages/-1/content\"}'")]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the key policies of a store
    Show {
        /// Only those of this task
        #[arg(long)]
        task: Option<String>,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Align the recorded inputs of an operation, and count what parts of them would repeat
    Propose {
        #[command(flatten)]
        operation: Operation,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Set the key policy of an operation, or of all of a kind
    Set {
        #[command(flatten)]
        operation: Operation,
        /// A JSON pointer (an index may count from the end: /messages/-1), or a JSON object with
        /// `last`, `roles`, `template` or `fields`
        key: String,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Take a key policy away
    Unset {
        #[command(flatten)]
        operation: Operation,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Print the key of a request, as it must be given to an artifact that was compiled under
    /// the policy
    Apply {
        #[command(flatten)]
        operation: Operation,
        /// The request as JSON; `-` reads stdin, `@FILE` a file
        #[arg(long, value_name = "JSON")]
        input: String,
        #[command(flatten)]
        store: StoreOption,
    },
}

#[derive(Args)]
struct Operation {
    /// The task
    #[arg(long)]
    task: String,
    /// The kind of operation
    #[arg(long, default_value = "model_call")]
    kind: String,
    /// Which one; every one of the kind when left out
    #[arg(long)]
    name: Option<String>,
}

impl Opts {
    pub fn run(self, _: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::Show { task, store } => show(&files::store(&store.store)?, task.as_deref()),
            Action::Propose { operation, store } => propose(&files::store(&store.store)?, &operation),
            Action::Set { operation, key, store } => {
                let part = Part::parse(&key).map_err(|error| {
                    Failure::new(Exit::Usage, "bad-key", format!("{key:?} is no key policy: {error}"))
                        .help("write a pointer such as /messages/-1/content, or an object with last, roles, template or fields")
                })?;
                set(&mut files::store_for_recording(&store.store)?, &operation, Some(&part))
            }
            Action::Unset { operation, store } => set(&mut files::store_for_recording(&store.store)?, &operation, None),
            Action::Apply { operation, input, store } => apply(&files::store(&store.store)?, &operation, &input),
        }
    }
}

fn show(store: &Store, task: Option<&str>) -> Result<Reply, Failure> {
    let policies = store.key_policies()?;
    let kept: Vec<&KeyPolicy> = policies.iter().filter(|policy| task.is_none_or(|task| policy.task == task)).collect();
    let line = |policy: &&KeyPolicy| {
        let name = policy.name.as_deref().map_or("every".to_owned(), shown);
        format!("{}: {} {name}: {}", shown(&policy.task), shown(&policy.kind), shown(&policy.key.to_string()))
    };
    let text = match &kept[..] {
        [] => "there is no key policy; inputs are taken as they were recorded".to_owned(),
        kept => kept.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    let fields = kept.iter().map(|policy| value(policy)).collect::<Vec<_>>();
    Ok(Reply::done("keys", text, Record::new().with("policies", fields)))
}

fn value(policy: &KeyPolicy) -> Value {
    Record::new()
        .with("task", policy.task.as_str())
        .with("kind", policy.kind.as_str())
        .with("name", policy.name.as_deref())
        .with("key", policy.key.to_value())
        .into()
}

fn set(store: &mut Store, of: &Operation, key: Option<&Part>) -> Result<Reply, Failure> {
    let before = store.set_key(&of.task, &of.kind, of.name.as_deref(), key)?;
    let what = format!("{} {}", of.kind, of.name.as_deref().unwrap_or("(every one)"));
    let text = match (key, before) {
        (Some(key), _) => format!("the input of {what} of task {:?} is now {key}", of.task),
        (None, true) => format!("the input of {what} of task {:?} is what was recorded", of.task),
        (None, false) => format!("{what} of task {:?} had no key policy", of.task),
    };
    Ok(Reply::done("key-set", text, Record::new().with("key", key.map(Part::to_value)).with("replaced", before)))
}

fn apply(store: &Store, of: &Operation, input: &str) -> Result<Reply, Failure> {
    let key = store.key_of(&of.task, &of.kind, of.name.as_deref().unwrap_or_default())?.ok_or_else(|| {
        let message = format!("task {:?} has no key policy for {}", of.task, of.kind);
        Failure::new(Exit::Refused, "no-key", message).help("set one with `auto-host key set`")
    })?;
    let text = match (input, input.strip_prefix('@')) {
        ("-", _) => files::read(Path::new("-"))?,
        (_, Some(file)) => files::read(Path::new(file))?,
        (input, None) => input.as_bytes().to_vec(),
    };
    let request = Value::parse(&text)
        .map_err(|error| Failure::new(Exit::Usage, "bad-input", format!("the request is not JSON: {error}")))?;
    let key = key.of(&request).ok_or_else(|| {
        let message = format!("the key policy {key} does not fit the request");
        Failure::new(Exit::Refused, "no-key", message).help("such a request is not for an artifact compiled under it")
    })?;
    let mut reply = Reply::done("key", key.to_string(), Record::new().with("key", key));
    reply.data = true;
    Ok(reply)
}

fn propose(store: &Store, of: &Operation) -> Result<Reply, Failure> {
    let census = store.census(&of.task)?;
    let named = |row: &&auto_store::Row| {
        row.kind == of.kind && of.name.as_ref().is_none_or(|name| row.name.as_ref() == Some(name))
    };
    let names: Vec<String> = census.operations.iter().filter(named).filter_map(|row| row.name.clone()).collect();
    if names.is_empty() {
        let message = format!("task {:?} has no {} {}", of.task, of.kind, of.name.as_deref().unwrap_or_default());
        return Err(
            Failure::new(Exit::Refused, "no-operation", message).help("`auto-host census` shows what a task has")
        );
    }
    let mut text = Vec::new();
    let mut fields = Vec::new();
    for name in names {
        let (whole, proposals) = store.propose_keys(&of.task, &of.kind, &name)?;
        text.push(told(&of.kind, &name, &whole, &proposals));
        let record = Record::new().with("kind", of.kind.as_str()).with("name", name).with("whole", counted(&whole));
        fields.push(record.with("proposals", proposals.iter().map(counted).collect::<Vec<_>>()).into());
    }
    text.push("a key must hold what the output depends on: look at what would be left out before you set one,\nand at the divergent inputs of the census after".to_owned());
    let fields: Vec<Value> = fields;
    Ok(Reply::done("proposed", text.join("\n\n"), Record::new().with("operations", fields)))
}

/// The proposals for an operation as text.
pub fn told(kind: &str, name: &str, whole: &Proposal, proposals: &[Proposal]) -> String {
    let line = |one: &Proposal| {
        format!(
            "  {}: {} inputs with {} spans are witnessed, {} of these deterministic, {} agree{}",
            one.what,
            one.row.witnessed.inputs,
            one.row.witnessed.spans,
            one.row.deterministic_by_spans(),
            one.agreement(),
            if one.unkeyed > 0 { format!("; it does not fit {} spans", one.unkeyed) } else { String::new() },
        )
    };
    let mut text = format!("{} {}: {} spans\n{}", shown(kind), shown(name), whole.row.all.spans, line(whole));
    for one in proposals {
        text += &format!("\n{}\n    {}", line(one), shown(&one.key.to_string()));
    }
    if proposals.is_empty() {
        text += "\n  no part of the input repeats more often than the whole";
    }
    text
}

fn counted(one: &Proposal) -> Value {
    Record::new()
        .with("key", one.key.to_value())
        .with("what", one.what.as_str())
        .with("spans", one.row.all.spans)
        .with("witnessed_inputs", one.row.witnessed.inputs)
        .with("witnessed_spans", one.row.witnessed.spans)
        .with("deterministic_inputs", one.row.deterministic.inputs)
        .with("deterministic_spans", one.row.deterministic.spans)
        .with("agreement_ppm", one.agreement().0)
        .with("unkeyed_spans", one.unkeyed)
        .into()
}
