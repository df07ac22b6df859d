//! The driver's configuration: JSON from the host, strict.

use auto_json::{Record, Value};

use crate::bindings::auto::host::experiments::{File, Limits};
use crate::bindings::auto::pass::types::Fault;
use crate::fault;
use crate::matrix::{Micros, Reading};
use crate::world::Config as Search;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Search, from the head if there is one.
    Run,
    /// Go back: to a commit, or to the one before the head.
    Rollback(Option<String>),
    /// Say yes or no to an edit that waits; none ever does.
    Review,
}

/// A command that is run for each seed.
#[derive(Clone, Debug)]
pub struct Command {
    pub command: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub files: Vec<File>,
    pub limits: Limits,
}

/// Everything.
pub struct Config {
    pub run: String,
    pub action: Action,
    pub actor: String,
    pub search: Search,
    pub name: String,
    /// What the agent is told.
    pub prompt: String,
    pub agent: Command,
    /// Where the package lies in the agent's folder.
    pub skill_at: String,
    /// What the agent leaves that the verifier looks at.
    pub collect: Vec<String>,
    pub verify: Option<Command>,
    /// Whether running the agent may spend money.
    pub agent_costs: bool,
    /// The most that all consultations may cost together; none where only the host says.
    pub max_cost: Option<u64>,
    pub reply_tokens: u32,
    /// Which version the first comparison shows first.
    pub seed: u32,
    /// The package, as a blob of a list of files.
    pub package: String,
    /// Runs that there were, as a blob of a list.
    pub rollouts: Option<String>,
    /// How often the search failed before.
    pub failures: u32,
    /// What it did before it failed and went on.
    pub earlier: Earlier,
}

/// Counts of what was done before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier {
    pub calls: u32,
    pub spent: u64,
    pub rollouts: u32,
}

impl Earlier {
    fn read(value: Option<&Value>) -> Result<Earlier, Fault> {
        let Some(value) = value else { return Ok(Earlier::default()) };
        let earlier = Reader::of(value, "earlier")?;
        Ok(Earlier {
            calls: earlier.small("calls")?,
            spent: earlier.number("spent_micro_usd")?,
            rollouts: earlier.small("experiments")?,
        })
    }
}

impl Config {
    /// Reads the configuration. Code: `bad-config`.
    pub fn read(text: &str) -> Result<Config, Fault> {
        let value = Value::parse(text).map_err(|error| bad(error.to_string()))?;
        let top = Reader::of(&value, "the configuration")?;
        top.only(&["run", "action", "edit", "to", "actor", "settings", "inputs", "failures", "earlier"])?;
        let action = match top.text("action")? {
            "run" => Action::Run,
            "rollback" => Action::Rollback(top.optional_text("to")?.map(str::to_owned)),
            "approve" | "reject" => Action::Review,
            other => return Err(bad(format!("there is no action {other:?}"))),
        };
        let settings = Reader::of(top.get("settings")?, "settings")?;
        settings.only(&SETTINGS)?;
        let inputs = Reader::of(top.get("inputs")?, "inputs")?;
        inputs.only(&["package", "rollouts"])?;
        Ok(Config {
            run: top.text("run")?.to_owned(),
            action,
            actor: top.optional_text("actor")?.unwrap_or_default().to_owned(),
            search: search(&settings)?,
            name: settings.text("name")?.to_owned(),
            prompt: settings.text("prompt")?.to_owned(),
            agent: command(&settings, "agent")?,
            skill_at: settings.text("skill_at")?.to_owned(),
            collect: settings.texts("collect")?,
            verify: settings.record.get("verify").map(|_| command(&settings, "verify")).transpose()?,
            agent_costs: settings.flag("agent_costs")?,
            max_cost: settings
                .record
                .get("max_cost_micro_usd")
                .map(|_| settings.number("max_cost_micro_usd"))
                .transpose()?,
            reply_tokens: settings.small("reply_tokens")?,
            seed: settings.small("seed")?,
            package: inputs.text("package")?.to_owned(),
            rollouts: inputs.optional_text("rollouts")?.map(str::to_owned),
            failures: if top.record.get("failures").is_some() { top.small("failures")? } else { 0 },
            earlier: Earlier::read(top.record.get("earlier"))?,
        })
    }
}

const SETTINGS: [&str; 24] = [
    "name",
    "prompt",
    "agent",
    "skill_at",
    "collect",
    "verify",
    "agent_costs",
    "max_cost_micro_usd",
    "reply_tokens",
    "seed",
    "dimensions",
    "rollouts",
    "section_iterations",
    "paragraph_iterations",
    "attempts",
    "threshold_micros",
    "rejections",
    "descend_at_micros",
    "descents",
    "accept_micros",
    "reading",
    "max_bytes",
    "teacher",
    "backend",
];

fn search(settings: &Reader<'_>) -> Result<Search, Fault> {
    let micros = |name: &str| settings.number(name).and_then(|n| Micros::try_from(n).map_err(|_| bad(name.to_owned())));
    let dimensions = settings.texts("dimensions")?;
    let mut sorted = dimensions.clone();
    sorted.sort();
    sorted.dedup();
    if dimensions.is_empty() || sorted.len() < dimensions.len() || sorted.iter().any(|name| name.trim().is_empty()) {
        return Err(bad("dimensions are at least one name, each once".to_owned()));
    }
    let reading = match settings.text("reading")? {
        "cell_max" => Reading::CellMax,
        "column_mean" => Reading::ColumnMean,
        other => return Err(bad(format!("reading is neither cell_max nor column_mean, but {other:?}"))),
    };
    let rollouts = settings.small("rollouts")?;
    if rollouts == 0 {
        return Err(bad("rollouts is 0, and nothing can be told from no run".to_owned()));
    }
    Ok(Search {
        dimensions,
        rollouts,
        section_iterations: settings.small("section_iterations")?,
        paragraph_iterations: settings.small("paragraph_iterations")?,
        attempts: settings.small("attempts")?,
        threshold: micros("threshold_micros")?,
        rejections: settings.small("rejections")?,
        descend_at: micros("descend_at_micros")?,
        descents: settings.small("descents")?,
        accept: micros("accept_micros")?,
        reading,
        most_bytes: settings.small("max_bytes")? as usize,
    })
}

fn command(settings: &Reader<'_>, name: &str) -> Result<Command, Fault> {
    let command = Reader::of(settings.get(name)?, name)?;
    command.only(&["command", "environment", "files", "limits"])?;
    let limits = Reader::of(command.get("limits")?, "limits")?;
    limits.only(&["seconds", "cpu_seconds", "memory_mib", "output_bytes", "files"])?;
    let environment = Reader::of(command.get("environment")?, "environment")?;
    let pair = |(key, value): (&str, &Value)| Some((key.to_owned(), value.as_text()?.to_owned()));
    Ok(Command {
        command: command.texts("command")?,
        environment: environment
            .record
            .iter()
            .map(pair)
            .collect::<Option<_>>()
            .ok_or_else(|| bad(format!("a variable of {name} is no text")))?,
        files: files(command.get("files")?).ok_or_else(|| bad(format!("the files of {name} are no list of files")))?,
        limits: Limits {
            seconds: limits.small("seconds")?,
            cpu_seconds: limits.small("cpu_seconds")?,
            memory_mib: limits.small("memory_mib")?,
            output_bytes: limits.number("output_bytes")?,
            files: limits.small("files")?,
        },
    })
}

/// A list of files.
pub fn files(value: &Value) -> Option<Vec<File>> {
    let file = |value: &Value| {
        Some(File {
            path: value.get("path")?.as_text()?.to_owned(),
            digest: value.get("digest")?.as_text()?.to_owned(),
            executable: value.get("executable")?.as_bool()?,
        })
    };
    value.as_list()?.iter().map(file).collect()
}

/// A record that is read strictly.
struct Reader<'v> {
    record: &'v Record,
    name: &'v str,
}

impl<'v> Reader<'v> {
    fn of(value: &'v Value, name: &'v str) -> Result<Reader<'v>, Fault> {
        let record = value.as_record().ok_or_else(|| bad(format!("{name} is not an object")))?;
        Ok(Reader { record, name })
    }

    fn only(&self, known: &[&str]) -> Result<(), Fault> {
        match self.record.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => Err(bad(format!("unknown key {key} in {}", self.name))),
            None => Ok(()),
        }
    }

    fn get(&self, key: &str) -> Result<&'v Value, Fault> {
        self.record.get(key).ok_or_else(|| bad(format!("there is no {key} in {}", self.name)))
    }

    fn optional_text(&self, key: &str) -> Result<Option<&'v str>, Fault> {
        match self.record.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(key).map(Some),
        }
    }

    fn text(&self, key: &str) -> Result<&'v str, Fault> {
        self.get(key)?.as_text().ok_or_else(|| bad(format!("{key} is not text")))
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, Fault> {
        let texts = self.get(key)?.as_list().and_then(|list| {
            list.iter().map(|text| text.as_text().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        texts.ok_or_else(|| bad(format!("{key} is not a list of texts")))
    }

    fn flag(&self, key: &str) -> Result<bool, Fault> {
        self.get(key)?.as_bool().ok_or_else(|| bad(format!("{key} is neither true nor false")))
    }

    fn number(&self, key: &str) -> Result<u64, Fault> {
        self.get(key)?.as_u64().ok_or_else(|| bad(format!("{key} is not a whole number")))
    }

    fn small(&self, key: &str) -> Result<u32, Fault> {
        u32::try_from(self.number(key)?).map_err(|_| bad(format!("{key} is too large")))
    }
}

fn bad(message: String) -> Fault {
    fault("bad-config", message)
}
