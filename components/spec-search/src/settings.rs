//! The table `[learning.spec_search]`: its one reader. Every key has a default or has to be there;
//! one that is not known is refused, as is a value of another kind or out of its range.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::spec_search as keys;
pub use auto_search::Command;

use crate::Fields;
use crate::Refusal;
use crate::amount::ONE;
use crate::autonomy::Autonomy;
use crate::catalog::Catalog;
use crate::corpora::Mapping;
use crate::edit::{Op, Tier};
use crate::gate::Bounds;
use crate::reward::Weights;
use crate::trace::Eligible;

const CODE: &str = "bad-settings";

/// The most that money may be, in micro-USD: a million dollars.
const MOST_MONEY: i64 = 1_000_000 * ONE;

/// How an answer is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scorer {
    /// One where it is what was expected, apart from space around it; else nothing.
    Exact,
    /// A command that is given `task.json` and `answer.txt` and prints a number from 0 to 1.
    Command(Command),
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who is asked; for the record.
    pub teacher_model: String,
    /// Through what; for the record.
    pub teacher_engine: String,
    /// How much is left to the search.
    pub autonomy: Autonomy,
    /// The fewest eligible traces of one's own.
    pub min_traces: usize,
    /// Micro-USD of one session.
    pub session_cost: u64,
    /// Calls of tools in a diagnosis.
    pub tool_calls: u32,
    /// Sessions without an improvement.
    pub stagnation_k: u32,
    /// What counts as one, in millionths.
    pub stagnation_eps: i64,
    /// Micro-USD of all sessions.
    pub total_cost: u64,
    /// The gate's.
    pub bounds: Bounds,
    /// Tasks that a step is judged on.
    pub sample_size: usize,
    /// Tasks of each cluster, at least.
    pub sample_floor: usize,
    /// Runs of each task.
    pub repeats: u32,
    /// The name of the tasks, and the salt of their splits.
    pub benchmark: String,
    /// Decides what is drawn.
    pub seed: u64,
    /// Sessions at most.
    pub sessions: u32,
    /// Tasks of each cluster that the teacher does itself.
    pub teacher_runs: u32,
    /// Whether what the gate admits has to hold on the tasks to confirm, too.
    pub confirm_edits: bool,
    /// Of a trained model.
    pub weights: Weights,
    /// The agent.
    pub student: Command,
    /// The judge.
    pub scorer: Scorer,
    /// What trains models, where there is something.
    pub trainer: Option<Command>,
    /// What may leave.
    pub eligible: Eligible,
    /// Corpora of one's own.
    pub mapped: BTreeMap<String, Mapping>,
    /// What there is.
    pub catalog: Catalog,
}

impl Settings {
    /// Reads the table. Codes: `bad-settings`, `not-enabled`.
    pub fn read(value: &Value) -> Result<Settings, Refusal> {
        let table = Fields::of(value, "", CODE)?;
        table.only(&keys::DRIVER)?;
        if !table.flag("enabled")?.unwrap_or(false) {
            let message = "spec search is off; set enabled = true in [learning.spec_search]";
            return Err(Refusal::new("not-enabled", message).at("/enabled"));
        }
        let text = |key, default: &str| Ok::<_, Refusal>(table.text(key)?.unwrap_or(default).to_owned());
        let whole = |key, range, default| Ok::<_, Refusal>(table.whole(key, range)?.unwrap_or(default));
        let share = |key, default| Ok::<_, Refusal>(table.micros(key, 0..=ONE)?.unwrap_or(default));
        let money = |key, default| Ok::<_, Refusal>(table.micros(key, 1..=MOST_MONEY)?.unwrap_or(default) as u64);
        let mode = text("autonomy_mode", "tiered")?;
        let autonomy = Autonomy::parse(&mode)
            .ok_or_else(|| table.refuse("autonomy_mode", format!("{mode:?} is none of auto, tiered, manual")))?;
        let engine = text("teacher_engine", "cloud")?;
        if !["cloud", "local"].contains(&engine.as_str()) {
            return Err(table.refuse("teacher_engine", format!("{engine:?} is neither cloud nor local")));
        }
        let student = table.need_fields("student")?;
        Ok(Settings {
            teacher_model: text("teacher_model", "claude-opus-4-6")?,
            teacher_engine: engine,
            autonomy,
            min_traces: whole("min_traces", 0..=1_000_000, 20)? as usize,
            session_cost: money("max_cost_per_session_usd", 5 * ONE)?,
            tool_calls: whole("max_tool_calls_per_diagnosis", 0..=1_000, 30)? as u32,
            stagnation_k: whole("stagnation_k", 1..=1_000, 5)? as u32,
            stagnation_eps: share("stagnation_eps", 1_000)?,
            total_cost: money("max_total_cost_usd", 50 * ONE)?,
            bounds: Bounds {
                epsilon: share("max_regression", 10_000)?,
                least: share("min_improvement", 0)?,
                drift: share("max_drift", 50_000)?,
            },
            sample_size: whole("benchmark_subsample_size", 1..=100_000, 50)? as usize,
            sample_floor: whole("sample_floor", 1..=1_000, 5)? as usize,
            repeats: whole("repeats", 1..=100, 1)? as u32,
            benchmark: text("benchmark_version", "personal_v1")?,
            seed: whole("seed", 0..=u64::MAX, 0)?,
            sessions: whole("max_sessions", 1..=1_000, 20)? as u32,
            teacher_runs: whole("teacher_runs", 3..=100, 3)? as u32,
            confirm_edits: table.flag("confirm_edits")?.unwrap_or(false),
            weights: table.fields("composite_reward")?.map(|table| weights(&table)).transpose()?.unwrap_or_default(),
            student: Command::read(&student, &[])?,
            scorer: table.fields("scorer")?.map_or(Ok(Scorer::Exact), |table| Scorer::read(&table))?,
            trainer: table.fields("trainer")?.map(|table| Command::read(&table, &[])).transpose()?,
            eligible: eligible(table.fields("eligible")?)?,
            mapped: mapped(table.fields("mapped")?)?,
            catalog: Catalog {
                tiers: table.fields("tier_overrides")?.map(|table| tiers(&table)).transpose()?.unwrap_or_default(),
                ..Catalog::read(&table.need_fields("catalog")?)?
            },
        })
    }
}

fn weights(table: &Fields<'_>) -> Result<Weights, Refusal> {
    table.only(&keys::REWARD)?;
    let Weights { alpha, beta, gamma, delta } = Weights::default();
    let weight = |key, default| Ok::<_, Refusal>(table.micros(key, 0..=1_000 * ONE)?.unwrap_or(default));
    Ok(Weights {
        alpha: weight("alpha", alpha)?,
        beta: weight("beta", beta)?,
        gamma: weight("gamma", gamma)?,
        delta: weight("delta", delta)?,
    })
}

fn eligible(table: Option<Fields<'_>>) -> Result<Eligible, Refusal> {
    let most: u64 = 1 << 20;
    let Some(table) = table else { return Ok(Eligible { max_bytes: most as usize, ..Eligible::default() }) };
    table.only(&keys::ELIGIBLE)?;
    let set = |key| -> Result<Option<BTreeSet<String>>, Refusal> {
        Ok(table.texts(key)?.map(|texts| texts.into_iter().collect()))
    };
    let paths = set("denied_paths")?.unwrap_or_default();
    if paths.contains("") {
        return Err(table.refuse("denied_paths", "an empty text stands in every trace"));
    }
    Ok(Eligible {
        agents: set("agents")?,
        sources: set("sources")?,
        consent: table.flag("consent")?.unwrap_or(false),
        denied_tools: set("denied_tools")?.unwrap_or_default(),
        denied_paths: paths,
        max_age_days: table.whole("max_age_days", 0..=100_000)?,
        max_bytes: table.whole("max_bytes", 1..=1 << 26)?.unwrap_or(most) as usize,
    })
}

/// Who has to agree to which operation. A model is trained by a person alone, so that one is fixed.
fn tiers(table: &Fields<'_>) -> Result<BTreeMap<&'static str, Tier>, Refusal> {
    let mut tiers = BTreeMap::new();
    for (name, _) in table.iter() {
        let op = Op::ALL.iter().find(|op| op.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
            table.refuse(name, format!("{name:?} is no operation; there are: {}", known.join(", ")))
        })?;
        let text = table.need_text(name)?;
        let tier =
            Tier::parse(text).ok_or_else(|| table.refuse(name, format!("{text:?} is none of auto, review, manual")))?;
        if *op == Op::LoraFinetune && tier != Tier::Manual {
            return Err(table.refuse(name, "a model is trained where a person said so, and not otherwise: manual"));
        }
        tiers.insert(op.name(), tier);
    }
    Ok(tiers)
}

fn mapped(table: Option<Fields<'_>>) -> Result<BTreeMap<String, Mapping>, Refusal> {
    let Some(table) = table else { return Ok(BTreeMap::new()) };
    let read = |(name, value)| -> Result<(String, Mapping), Refusal> {
        let mapping = Mapping::read(&Fields::of(value, table.place_of(name), CODE)?)?;
        Ok((name.to_owned(), mapping))
    };
    table.iter().map(read).collect()
}

impl Scorer {
    fn read(table: &Fields<'_>) -> Result<Scorer, Refusal> {
        match table.need_text("kind")? {
            "exact" => table.only(&keys::SCORER).map(|()| Scorer::Exact),
            "command" => Ok(Scorer::Command(Command::read(table, &keys::SCORER)?)),
            other => Err(table.refuse("kind", format!("{other:?} is neither `exact` nor `command`"))),
        }
    }
}

impl Settings {
    /// What measures, by digest: the student's command, the scorer, their files, the tasks. Only
    /// scores of the same one are compared.
    pub fn evaluator(&self, files: &Value, tasks: &Value) -> Digest {
        let scorer = match &self.scorer {
            Scorer::Exact => Value::from("exact"),
            Scorer::Command(command) => command.to_value(),
        };
        let record = Record::new()
            .with("benchmark", self.benchmark.as_str())
            .with("student", self.student.to_value())
            .with("scorer", scorer)
            .with("files", files.clone())
            .with("tasks", tasks.clone())
            .with("repeats", self.repeats);
        Digest::of(Value::from(record).canonical().as_str().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"enabled":true,"student":{"command":["student"]},"catalog":{}}"#;

    fn read(text: &str) -> Result<Settings, Refusal> {
        Settings::read(&Value::parse(text).expect("JSON"))
    }

    #[test]
    fn defaults_are_those_of_the_book() {
        let settings = read(LEAST).expect("sound");
        assert_eq!((settings.teacher_model.as_str(), settings.teacher_engine.as_str()), ("claude-opus-4-6", "cloud"));
        assert_eq!((settings.autonomy, settings.min_traces), (Autonomy::Tiered, 20));
        assert_eq!((settings.session_cost, settings.total_cost), (5_000_000, 50_000_000));
        assert_eq!((settings.tool_calls, settings.stagnation_k, settings.stagnation_eps), (30, 5, 1_000));
        assert_eq!(settings.bounds, Bounds { epsilon: 10_000, least: 0, drift: 50_000 });
        assert_eq!((settings.sample_size, settings.benchmark.as_str()), (50, "personal_v1"));
        assert_eq!(settings.weights, Weights { alpha: 500_000, beta: 100_000, gamma: 100_000, delta: 300_000 });
        assert_eq!(settings.scorer, Scorer::Exact);
        assert_eq!(read(&LEAST.replace("true", "false")).expect_err("off").code, "not-enabled");
        assert_eq!(read(&LEAST.replace(r#""enabled":true,"#, "")).expect_err("off").code, "not-enabled");
    }

    #[test]
    fn unknown_keys_and_odd_values_are_refused_at_their_place() {
        for (more, at) in [
            (r#""triggers":{}"#, "/triggers"),
            (r#""max_regresion":0.1"#, "/max_regresion"),
            (r#""composite_reward":{"epsilon":1}"#, "/composite_reward/epsilon"),
            (r#""composite_reward":{"alpha":-0.5}"#, "/composite_reward/alpha"),
            (r#""max_regression":1.5"#, "/max_regression"),
            (r#""max_regression":0.0000001"#, "/max_regression"),
            (r#""min_traces":"20""#, "/min_traces"),
            (r#""min_traces":2.5"#, "/min_traces"),
            (r#""stagnation_k":0"#, "/stagnation_k"),
            (r#""max_total_cost_usd":0"#, "/max_total_cost_usd"),
            (r#""autonomy_mode":"full""#, "/autonomy_mode"),
            (r#""teacher_engine":"warp""#, "/teacher_engine"),
            (r#""scorer":{"kind":"judge"}"#, "/scorer/kind"),
            (r#""scorer":{"kind":"exact","command":["x"]}"#, "/scorer/command"),
            (r#""trainer":{"command":[]}"#, "/trainer/command"),
            (r#""trainer":{"command":["t"],"gpu":1}"#, "/trainer/gpu"),
            (r#""eligible":{"agent":["x"]}"#, "/eligible/agent"),
            (r#""eligible":{"denied_paths":[""]}"#, "/eligible/denied_paths"),
            (r#""mapped":{"x":{"id":"k","problem":"/p","reference":"/r"}}"#, "/mapped/x/id"),
            (r#""teacher_runs":2"#, "/teacher_runs"),
        ] {
            let refusal = read(&LEAST.replacen('{', &format!("{{{more},"), 1)).expect_err(more);
            assert_eq!((refusal.code, refusal.at.as_str()), (CODE, at), "{more}");
        }
        let kinds = r#""catalog":{"models":{"m":{"t":{"kind":"decimal","min":2,"max":1}}}}"#;
        let refusal = read(&LEAST.replace(r#""catalog":{}"#, kinds)).expect_err("empty range");
        assert_eq!(refusal.at, "/catalog/models/m/t/kind");
        assert_eq!(read(r#"{"enabled":true,"catalog":{}}"#).expect_err("no student").at, "/student");
    }

    #[test]
    fn what_measures_is_told_apart_by_all_that_it_is() {
        let settings = read(LEAST).expect("sound");
        let digest = |settings: &Settings, tasks: i64| settings.evaluator(&Value::Null, &tasks.into());
        let same = digest(&settings, 1);
        assert_eq!(same, digest(&read(LEAST).expect("sound"), 1));
        assert_ne!(same, digest(&settings, 2));
        assert_ne!(same, digest(&Settings { benchmark: "v2".to_owned(), ..settings.clone() }, 1));
        assert_ne!(same, digest(&read(&LEAST.replace("[\"student\"]", "[\"student\",\"-v\"]")).expect("sound"), 1));
    }
}
