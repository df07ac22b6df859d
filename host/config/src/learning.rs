//! `[learning]`: the tables of the search loops.

use std::path::{Path, PathBuf};

use auto_json::{Record, Value};

use crate::evolve::{self, Evolve};
use crate::spec::{self, SpecSearch};
use crate::table::{ConfigError, Table};

/// What the search loops are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learning {
    /// `runs`: the folder of runs.
    pub runs: Option<PathBuf>,
    /// `[learning.skill]`
    pub skill: Option<Skill>,
    /// `[learning.spec_search]`
    pub spec_search: Option<SpecSearch>,
    /// `[learning.evolve]`
    pub evolve: Option<Evolve>,
}

/// `[learning.skill]`: the skill compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// `folder`: the package, with `SKILL.md` at its top.
    pub folder: PathBuf,
    /// `name`: what it is called; the folder's name where nobody says.
    pub name: String,
    /// `prompt`, or what `prompt_file` holds: what the agent is told.
    pub prompt: Prompt,
    /// `agent`: the command that is run for each seed.
    pub agent: Vec<String>,
    /// `agent_files`: files and folders that it finds, by their names.
    pub agent_files: Vec<PathBuf>,
    /// `environment`: variables, each as `NAME=VALUE`.
    pub environment: Vec<(String, String)>,
    /// `pass_environment`: names of variables that are handed on and kept nowhere.
    pub pass_environment: Vec<String>,
    /// `network`: whether the agent may use it.
    pub network: bool,
    /// `collect`: what the agent leaves that the verifier looks at.
    pub collect: Vec<String>,
    /// `verify`: the command that passes (exit 0) or fails (exit 1) what a run left.
    pub verify: Option<Vec<String>>,
    /// `verify_files`: what only it finds.
    pub verify_files: Vec<PathBuf>,
    /// `rollouts_from`: runs that were recorded with this skill.
    pub rollouts_from: Option<PathBuf>,
    /// `store_task`: runs of that task in the store.
    pub store_task: Option<String>,
    /// `consent`: whether only runs are shown that somebody agreed to.
    pub consent: bool,
    /// `at_once`: how many runs at once.
    pub at_once: Option<u64>,
    /// `max_experiments`: the most that are started, verifiers included.
    pub max_experiments: u64,
    /// `max_runs_cost_usd`, in micro-USD: what commands may say they cost before none is started.
    pub max_runs_cost: Option<u64>,
    /// What the driver reads, every default filled in.
    pub settings: Record,
    /// Who is asked.
    pub teacher: Teacher,
}

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// These words.
    Words(String),
    /// Those of a file.
    File(PathBuf),
}

/// Who is asked, where no flag says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teacher {
    /// `teacher`: as `--teacher`.
    pub model: Option<String>,
    /// `model_mode`: as `--model-mode`; a path in it is relative to the file.
    pub mode: Option<String>,
    /// `max_cost_usd`, in micro-USD: as `--spend-cap-usd`.
    pub cap: Option<u64>,
}

type Result<T> = core::result::Result<T, ConfigError>;

/// A million: micros of one.
const ONE: u64 = 1_000_000;

/// What skills are looked at for.
const DIMENSIONS: [&str; 7] = [
    "Trigger Fit",
    "Procedure Completeness",
    "Tool Accuracy",
    "Constraint Clarity",
    "Error Recovery",
    "Output Verification",
    "Economy",
];

pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Learning> {
    table.only(&["runs", "skill", "spec_search", "evolve"])?;
    Ok(Learning {
        runs: table.text("runs")?.map(|path| folder.join(path)),
        skill: table.table("skill")?.map(|table| skill(&table, folder)).transpose()?,
        spec_search: table.table("spec_search")?.map(|table| spec::read(&table, folder)).transpose()?,
        evolve: table.table("evolve")?.map(|table| evolve::read(&table, folder)).transpose()?,
    })
}

fn skill(table: &Table<'_>, folder: &Path) -> Result<Skill> {
    table.only(&[
        "folder",
        "name",
        "prompt",
        "prompt_file",
        "agent",
        "agent_files",
        "environment",
        "pass_environment",
        "network",
        "collect",
        "verify",
        "verify_files",
        "rollouts_from",
        "store_task",
        "at_once",
        "max_experiments",
        "max_runs_cost_usd",
        "limits",
        "teacher",
        "model_mode",
        "max_cost_usd",
        "agent_costs",
        "skill_at",
        "reply_tokens",
        "seed",
        "consent",
        "dimensions",
        "rollouts",
        "section_iterations",
        "paragraph_iterations",
        "attempts",
        "threshold",
        "rejections",
        "descend_at",
        "descents",
        "accept",
        "reading",
        "max_bytes",
    ])?;
    let paths = |key| Ok(table.texts(key)?.unwrap_or_default().iter().map(|path| folder.join(path)).collect());
    let package = folder.join(table.text("folder")?.ok_or_else(|| missing(table, "folder"))?);
    let last = package.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = table.text("name")?.unwrap_or(last);
    let cap = table.micros("max_cost_usd", 0..=ONE * ONE)?;
    let (settings, prompt) = (settings(table, &name, cap)?, prompt(table, folder)?);
    Ok(Skill {
        folder: package,
        name,
        prompt,
        agent: command(table, "agent")?.ok_or_else(|| missing(table, "agent"))?,
        agent_files: paths("agent_files")?,
        environment: environment(table)?,
        pass_environment: table.texts("pass_environment")?.unwrap_or_default(),
        network: table.bool("network")?.unwrap_or(false),
        collect: table.texts("collect")?.unwrap_or_default(),
        verify: command(table, "verify")?,
        verify_files: paths("verify_files")?,
        rollouts_from: rollouts_from(table, folder)?,
        store_task: table.text("store_task")?,
        consent: table.bool("consent")?.unwrap_or(false),
        at_once: table.number("at_once", 1..=1024)?,
        max_experiments: table.number("max_experiments", 1..=1_000_000)?.unwrap_or(500),
        max_runs_cost: table.micros("max_runs_cost_usd", 1..=1_000_000_000_000)?,
        settings,
        teacher: Teacher { model: table.text("teacher")?, mode: mode(table, folder)?, cap },
    })
}

/// What the driver itself reads of the table.
fn settings(table: &Table<'_>, name: &str, cap: Option<u64>) -> Result<Record> {
    let small = |key, range, default| Ok(table.number(key, range)?.unwrap_or(default));
    let dimensions = table.texts("dimensions")?.unwrap_or_else(|| DIMENSIONS.map(str::to_owned).to_vec());
    let mut sorted = dimensions.clone();
    sorted.sort();
    sorted.dedup();
    if dimensions.is_empty() || sorted.len() < dimensions.len() || sorted.iter().any(|name| name.trim().is_empty()) {
        return Err(table.bad("dimensions", "it has to hold at least one name, and each once"));
    }
    let reading = table.text("reading")?.unwrap_or_else(|| "cell_max".to_owned());
    if !["cell_max", "column_mean"].contains(&reading.as_str()) {
        return Err(table.bad("reading", "it is neither cell_max nor column_mean"));
    }
    let mut settings = Record::new()
        .with("name", name)
        .with("skill_at", table.text("skill_at")?.unwrap_or_else(|| "skill".to_owned()))
        .with("agent_costs", table.bool("agent_costs")?.unwrap_or(false))
        .with("reply_tokens", small("reply_tokens", 64..=1 << 20, 8_192)?)
        .with("seed", small("seed", 0..=u32::MAX.into(), 0)?)
        .with("dimensions", dimensions.into_iter().map(Value::from).collect::<Vec<_>>())
        .with("rollouts", small("rollouts", 1..=100, 3)?)
        .with("section_iterations", small("section_iterations", 0..=1_000, 6)?)
        .with("paragraph_iterations", small("paragraph_iterations", 0..=1_000, 3)?)
        .with("attempts", small("attempts", 1..=20, 3)?)
        .with("threshold_micros", table.micros("threshold", 0..=ONE)?.unwrap_or(375_000))
        .with("rejections", small("rejections", 1..=100, 2)?)
        .with("descend_at_micros", table.micros("descend_at", ONE..=5 * ONE)?.unwrap_or(3_500_000))
        .with("descents", small("descents", 0..=100, 1)?)
        .with("accept_micros", table.micros("accept", 1..=4 * ONE)?.unwrap_or(500_000))
        .with("reading", reading)
        .with("max_bytes", small("max_bytes", 1..=1 << 20, 64 << 10)?)
        .with("limits", limits(table)?);
    if let Some(cap) = cap {
        settings.set("max_cost_micro_usd", cap);
    }
    Ok(settings)
}

/// `[learning.skill.limits]`: of a run, and of a verifier.
fn limits(table: &Table<'_>) -> Result<Record> {
    let inner = table.table("limits")?;
    if let Some(inner) = &inner {
        inner.only(&["seconds", "cpu_seconds", "memory_mib", "output_bytes", "files"])?;
    }
    let number = |key, range, default| match &inner {
        Some(inner) => Ok(inner.number(key, range)?.unwrap_or(default)),
        None => Ok(default),
    };
    Ok(Record::new()
        .with("seconds", number("seconds", 1..=604_800, 120)?)
        .with("cpu_seconds", number("cpu_seconds", 1..=604_800, 120)?)
        .with("memory_mib", number("memory_mib", 16..=1 << 20, 2_048)?)
        .with("output_bytes", number("output_bytes", 1..=16 << 20, 1 << 20)?)
        .with("files", number("files", 1..=10_000, 256)?))
}

fn rollouts_from(table: &Table<'_>, folder: &Path) -> Result<Option<PathBuf>> {
    match (table.text("rollouts_from")?, table.text("store_task")?) {
        (Some(_), Some(_)) => {
            Err(table.bad("store_task", "rollouts_from says where runs are already; give one of them"))
        }
        (path, _) => Ok(path.map(|path| folder.join(path))),
    }
}

fn prompt(table: &Table<'_>, folder: &Path) -> Result<Prompt> {
    match (table.text("prompt")?, table.text("prompt_file")?) {
        (Some(_), Some(_)) => Err(table.bad("prompt_file", "there is a prompt already; give one of them")),
        (Some(words), None) => Ok(Prompt::Words(words)),
        (None, Some(path)) => Ok(Prompt::File(folder.join(path))),
        (None, None) => Err(missing(table, "prompt")),
    }
}

fn command(table: &Table<'_>, key: &str) -> Result<Option<Vec<String>>> {
    match table.texts(key)? {
        Some(words) if words.first().is_none_or(String::is_empty) => Err(table.bad(key, "it names no program")),
        words => Ok(words),
    }
}

fn environment(table: &Table<'_>) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pairs = table.texts("environment")?.unwrap_or_default().iter().map(pair).collect::<Option<_>>();
    pairs.ok_or_else(|| table.bad("environment", "each is NAME=VALUE"))
}

/// A mode whose path is relative to the file.
pub(crate) fn mode(table: &Table<'_>, folder: &Path) -> Result<Option<String>> {
    Ok(table.text("model_mode")?.map(|mode| match mode.split_once(':') {
        Some((kind @ ("record" | "replay" | "scripted"), path)) => format!("{kind}:{}", folder.join(path).display()),
        _ => mode,
    }))
}

fn missing(table: &Table<'_>, key: &str) -> ConfigError {
    table.absent(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn parse(text: &str) -> core::result::Result<Skill, ConfigError> {
        let text = format!("[learning]\nruns = \"r\"\n[learning.skill]\n{text}");
        Config::parse(&text, Path::new("conf/auto.toml")).map(|config| config.learning.skill.unwrap())
    }

    const LEAST: &str = "folder = \"my-skill\"\nprompt = \"Do it.\"\nagent = [\"sh\", \"a.sh\"]\n";

    #[test]
    fn the_least_table_has_the_documented_defaults() {
        let skill = parse(LEAST).unwrap();
        assert_eq!((skill.folder, skill.name.as_str()), ("conf/my-skill".into(), "my-skill"));
        let number = |key: &str| skill.settings.get(key).and_then(Value::as_u64).unwrap();
        assert_eq!([number("rollouts"), number("section_iterations"), number("paragraph_iterations")], [3, 6, 3]);
        assert_eq!([number("threshold_micros"), number("accept_micros")], [375_000, 500_000]);
        assert_eq!((skill.settings.get("max_cost_micro_usd"), skill.teacher), (None, Teacher::default()));
    }

    #[test]
    fn decimals_are_exact_and_paths_are_those_of_the_file() {
        let more = "accept = 0.25\nthreshold = 1\nmax_cost_usd = 0.000001\nmodel_mode = \"scripted:replies\"\n\
            teacher = \"openai/gpt-4o\"\nenvironment = [\"A=b=c\"]\n[learning.skill.limits]\nseconds = 7\n";
        let skill = parse(&format!("{LEAST}{more}")).unwrap();
        let number = |key: &str| skill.settings.get(key).and_then(Value::as_u64).unwrap();
        assert_eq!(
            [number("accept_micros"), number("threshold_micros"), number("max_cost_micro_usd")],
            [250_000, ONE, 1]
        );
        assert_eq!(skill.teacher.mode.as_deref(), Some("scripted:conf/replies"));
        assert_eq!((skill.teacher.cap, skill.environment), (Some(1), vec![("A".to_owned(), "b=c".to_owned())]));
        assert_eq!(skill.settings.get("limits").and_then(|limits| limits.get("seconds")?.as_u64()), Some(7));
    }

    #[test]
    fn what_is_not_understood_is_an_error_at_its_place() {
        for (text, code, at) in [
            ("foldr = \"x\"\n", "unknown-key", "conf/auto.toml:7:1 learning.skill.foldr"),
            ("accept = 0.0000001\n", "bad-value", "conf/auto.toml:7:10 learning.skill.accept"),
            ("accept = 0\n", "bad-value", "conf/auto.toml:7:10 learning.skill.accept"),
            ("accept = 1e-1\n", "bad-value", "conf/auto.toml:7:10 learning.skill.accept"),
            ("accept = nan\n", "bad-value", "conf/auto.toml:7:10 learning.skill.accept"),
            ("rollouts = 0\n", "bad-value", "conf/auto.toml:7:12 learning.skill.rollouts"),
            ("reading = \"max\"\n", "bad-value", "conf/auto.toml:7:11 learning.skill.reading"),
            ("dimensions = [\"a\", \"a\"]\n", "bad-value", "conf/auto.toml:7:14 learning.skill.dimensions"),
            ("verify = []\n", "bad-value", "conf/auto.toml:7:10 learning.skill.verify"),
            ("environment = [\"A\"]\n", "bad-value", "conf/auto.toml:7:15 learning.skill.environment"),
            ("prompt_file = \"p\"\n", "bad-value", "conf/auto.toml:7:15 learning.skill.prompt_file"),
            ("[learning.skill.limits]\nfuel = 1\n", "unknown-key", "conf/auto.toml:8:1 learning.skill.limits.fuel"),
        ] {
            let error = parse(&format!("{LEAST}{text}")).unwrap_err();
            assert_eq!((error.code, error.at.as_str()), (code, at), "{text}: {}", error.message);
        }
        for lost in ["folder", "prompt", "agent"] {
            let error = parse(&LEAST.replace(lost, "name")).unwrap_err();
            assert_eq!(error.code, if lost == "agent" { "wrong-type" } else { "missing-key" }, "{lost}");
        }
    }
}
