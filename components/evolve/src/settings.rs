//! The table `[learning.evolve]`: its one reader. Every key has a default or has to be there; one that
//! is not known is refused, as is a value of another kind or out of its range.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_search::amount::ONE;
use auto_search::{Command, Fields, Refusal};

use crate::code::Frozen;
use crate::data::Shape;
use crate::program::Interface;
use crate::space::Space;

const CODE: &str = "bad-settings";

/// What an individual is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the variants say")]
pub enum Subject {
    /// Parameters, and files that may be changed; either may be missing.
    Files { space: Space, frozen: Frozen },
    /// A program of the language, and the first one.
    Program { interface: Interface, base: String },
}

/// A number that runs leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// What it may be at all, in millionths; other values make a run invalid.
    pub range: (i64, i64),
    /// Whether it has to be there.
    pub required: bool,
    /// The most it may be.
    pub at_most: Option<i64>,
    /// The least.
    pub at_least: Option<i64>,
    /// What a millionth beyond these costs of the score, in millionths; without it, whoever is beyond
    /// them ranks below all who are not.
    pub weight: Option<i64>,
}

/// A stage before the whole: on a part of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The share of the rows.
    pub share: i64,
    /// How far below the incumbent on that part one may be and go on.
    pub below: i64,
}

/// What is looked at before anybody becomes the incumbent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Runs with seeds of their own, beside the baseline's.
    pub seeds: u32,
    /// How many standard deviations the gain over the baseline has to be above 0, in millionths.
    pub noise: i64,
    /// A score that nobody reaches honestly.
    pub ceiling: i64,
    /// How much better than chance one may be that learned from shuffled labels.
    pub shuffled: Option<i64>,
    /// How far what is predicted may be from what is right (total variation).
    pub apart: Option<i64>,
    /// Whether a run is done again, and has to leave the same.
    pub rerun: bool,
    /// From which share on a field tells the label alone.
    pub derived: i64,
}

/// An A/B test instead of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ab {
    /// The experiment.
    pub command: Command,
    /// The most batches of one candidate.
    pub batches: u32,
    /// The probability of taking any candidate for better that is not, in millionths.
    pub alpha: i64,
    /// The most candidates.
    pub candidates: usize,
}

impl Ab {
    fn read(table: &Fields<'_>) -> Result<Ab, Refusal> {
        let command = Command::read(table, &["batches", "alpha", "candidates"])?;
        Ok(Ab {
            command,
            batches: table.whole("batches", 2..=9_999)?.unwrap_or(40) as u32,
            alpha: table.micros("alpha", 1..=500_000)?.unwrap_or(50_000),
            candidates: table.whole("candidates", 1..=99)?.unwrap_or(8) as usize,
        })
    }

    /// What each candidate may have of the errors of all.
    pub fn alpha_each(&self) -> i64 {
        (self.alpha / i64::try_from(self.candidates).unwrap_or(i64::MAX)).max(1)
    }
}

/// The search's own numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the keys of the same names")]
pub struct Control {
    pub seed: u64,
    pub generations: u32,
    pub offspring: usize,
    pub islands: usize,
    pub migration_every: u32,
    pub restart_every: u32,
    pub elites: usize,
    pub population: usize,
    pub random_share: i64,
    pub stagnation: u32,
    pub target: Option<i64>,
    pub novelty: i64,
    pub parsimony: i64,
    pub max_jobs: u64,
    pub max_spend: u64,
    pub job_cost: u64,
    pub reply_tokens: u32,
    pub most_bytes: usize,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What an individual is.
    pub subject: Subject,
    /// What is run with it; none for programs, which are run in the sandbox.
    pub evaluator: Option<Command>,
    /// What scores the answers of a program; without it they have to be the labels.
    pub scorer: Option<Command>,
    /// An A/B test instead of a search.
    pub ab: Option<Ab>,
    /// How rows are read.
    pub shape: Shape,
    /// The numbers that runs may leave.
    pub metrics: BTreeMap<String, Metric>,
    /// Stages before the whole.
    pub stages: Vec<Stage>,
    /// What is checked.
    pub checks: Checks,
    /// The search's numbers.
    pub control: Control,
    /// Who is asked; nobody where it is empty.
    pub teacher: String,
    /// The run of a tracker that all of this belongs to.
    pub tracker: Option<String>,
    /// What a teacher is told to keep to.
    pub wishes: Vec<String>,
}

const KEYS: [&str; 32] = [
    "space",
    "code",
    "program",
    "evaluator",
    "scorer",
    "rows",
    "metrics",
    "stages",
    "checks",
    "seed",
    "max_generations",
    "offspring",
    "islands",
    "migration_every",
    "restart_every",
    "elites",
    "population",
    "random_share",
    "stagnation",
    "target",
    "novelty",
    "parsimony",
    "max_jobs",
    "max_spend_usd",
    "job_cost_usd",
    "reply_tokens",
    "max_bytes",
    "teacher",
    "strong_teacher",
    "tracker",
    "wishes",
    "ab",
];

impl Settings {
    /// Reads the table. Code: `bad-settings`.
    pub fn read(value: &Value) -> Result<Settings, Refusal> {
        let table = Fields::of(value, "", CODE)?;
        table.only(&KEYS)?;
        let control = control(&table)?;
        let command = |key: &str| -> Result<Option<Command>, Refusal> {
            table.fields(key)?.map(|own| Command::read(&own, &[])).transpose()
        };
        let (evaluator, scorer) = (command("evaluator")?, command("scorer")?);
        let subject = subject(&table, control.most_bytes)?;
        let ab = table.fields("ab")?.map(|own| Ab::read(&own)).transpose()?;
        let is_ab = ab.is_some();
        if is_ab
            && (evaluator.is_some()
                || scorer.is_some()
                || table.get("program").is_some()
                || table.get("code").is_some())
        {
            return Err(table.refuse("ab", "an A/B test is of parameters alone, and its command is all that is run"));
        }
        match (&subject, &evaluator) {
            _ if is_ab => {}
            (Subject::Files { .. }, None) => {
                return Err(table.refuse("evaluator", "nothing says what is run with an individual"));
            }
            (Subject::Program { .. }, Some(_)) => {
                return Err(
                    table.refuse("evaluator", "a program is run in the sandbox; what scores its answers is `scorer`")
                );
            }
            (Subject::Files { .. }, Some(_)) if scorer.is_some() => {
                return Err(
                    table.refuse("scorer", "it scores the answers of programs; an evaluator leaves predictions")
                );
            }
            _ => {}
        }
        let nothing = Value::from(auto_json::Record::new());
        let rows = if is_ab { Fields::of(&nothing, "/rows", CODE)? } else { table.need_fields("rows")? };
        let shape = shape(&rows, control.seed)?;
        if !is_ab && scorer.is_none() && shape.label.is_none() {
            return Err(rows.refuse("label", "predictions are held against labels, and nothing says where these are"));
        }
        let checks = checks(table.fields("checks")?, shape.label.is_some() && evaluator.is_some())?;
        let metrics = match table.fields("metrics")? {
            Some(own) => {
                let one = |(name, value): (&str, &Value)| {
                    Ok((name.to_owned(), metric(&Fields::of(value, own.place_of(name), CODE)?)?))
                };
                own.iter().map(one).collect::<Result<_, Refusal>>()?
            }
            None => BTreeMap::new(),
        };
        Ok(Settings {
            subject,
            evaluator,
            scorer,
            ab,
            shape,
            metrics,
            stages: stages(&table)?,
            checks,
            control,
            teacher: table.text("teacher")?.unwrap_or_default().to_owned(),
            tracker: table.text("tracker")?.map(str::to_owned),
            wishes: table.texts("wishes")?.unwrap_or_default(),
        })
    }

    /// What evaluating one individual takes at most, in jobs.
    pub fn jobs_each(&self) -> u64 {
        let runs = self.stages.len() as u64 + 1;
        if self.scorer.is_some() { runs * 2 } else { runs }
    }

    /// What checking one takes at most.
    pub fn jobs_of_checks(&self) -> u64 {
        let checks = &self.checks;
        let one = if self.scorer.is_some() { 2 } else { 1 };
        let control = u64::from(checks.shuffled.is_some()) + u64::from(self.evaluator.is_some());
        // The baseline's runs with the other seeds are made once, and counted every time.
        one * (u64::from(checks.rerun) + control + 2 * u64::from(checks.seeds.saturating_sub(1)))
    }

    /// What confirming takes.
    pub fn jobs_to_confirm(&self) -> u64 {
        if self.scorer.is_some() { 4 } else { 2 }
    }
}

fn subject(table: &Fields<'_>, most_bytes: usize) -> Result<Subject, Refusal> {
    if let Some(own) = table.fields("program")? {
        own.only(&["input", "output", "base", "max_nodes"])?;
        let ty =
            |key: &str| own.need_text(key)?.parse().map_err(|error| own.refuse(key, format!("it is no type: {error}")));
        let most = own.whole("max_nodes", 1..=2_000)?.unwrap_or(60) as usize;
        let interface = Interface { input: ty("input")?, output: ty("output")?, most };
        let base = own.need_text("base")?.to_owned();
        let base = interface.read(&base).map_err(|why| own.refuse("base", why))?.to_string();
        if table.get("space").is_some() || table.get("code").is_some() {
            return Err(table.refuse("program", "an individual is a program, or parameters and files"));
        }
        return Ok(Subject::Program { interface, base });
    }
    let space = table.fields("space")?.map(|own| Space::read(&own)).transpose()?.unwrap_or_default();
    let frozen = match table.fields("code")? {
        None => Frozen::default(),
        Some(own) => {
            own.only(&["editable", "keep", "banned"])?;
            let texts = |key: &str| own.texts(key).map(Option::unwrap_or_default);
            let (editable, keep, banned) = (texts("editable")?, texts("keep")?, texts("banned")?);
            Frozen { editable, keep, banned, most_bytes }
        }
    };
    if space.0.is_empty() && frozen.editable.is_empty() {
        return Err(table.refuse("space", "nothing may be changed: there is no space, no code, no program"));
    }
    Ok(Subject::Files { space, frozen })
}

fn shape(table: &Fields<'_>, seed: u64) -> Result<Shape, Refusal> {
    table.only(&["label", "id", "group", "select", "confirm", "most", "labels", "rest", "salt"])?;
    let text = |key: &str| Ok::<_, Refusal>(table.text(key)?.map(str::to_owned));
    let share = |key: &str| Ok::<_, Refusal>(table.micros(key, 1..=ONE - 1)?.unwrap_or(250_000));
    let (select, confirm) = (share("select")?, share("confirm")?);
    if select + confirm > ONE {
        return Err(table.refuse("confirm", "the shares are more than all rows together"));
    }
    Ok(Shape {
        label: text("label")?,
        id: text("id")?,
        group: text("group")?,
        select,
        confirm,
        most: table.whole("most", 1..=1_000_000)?.unwrap_or(1_000_000) as usize,
        labels: table.whole("labels", 1..=100_000)?.map(|count| count as usize),
        rest: text("rest")?,
        salt: text("salt")?.unwrap_or_else(|| format!("rows {seed}")),
    })
}

fn metric(table: &Fields<'_>) -> Result<Metric, Refusal> {
    table.only(&["min", "max", "required", "at_most", "at_least", "weight"])?;
    let most = 1_000_000_000 * ONE;
    let number = |key: &str| table.micros(key, -most..=most);
    Ok(Metric {
        range: (number("min")?.unwrap_or(-most), number("max")?.unwrap_or(most)),
        required: table.flag("required")?.unwrap_or(true),
        at_most: number("at_most")?,
        at_least: number("at_least")?,
        weight: table.micros("weight", 0..=1_000 * ONE)?,
    })
}

fn stages(table: &Fields<'_>) -> Result<Vec<Stage>, Refusal> {
    let mut stages = Vec::new();
    for (at, value) in table.list("stages")?.unwrap_or_default().iter().enumerate() {
        let own = Fields::of(value, format!("/stages/{at}"), CODE)?;
        own.only(&["share", "below"])?;
        own.need("share")?;
        let stage = Stage {
            share: own.micros("share", 1..=ONE - 1)?.unwrap_or(ONE / 4),
            below: own.micros("below", 0..=ONE)?.unwrap_or(ONE / 20),
        };
        if stages.last().is_some_and(|before: &Stage| before.share >= stage.share) {
            return Err(own.refuse("share", "each stage has more rows than the one before"));
        }
        stages.push(stage);
    }
    Ok(stages)
}

fn checks(table: Option<Fields<'_>>, learns: bool) -> Result<Checks, Refusal> {
    let empty = Value::from(auto_json::Record::new());
    let table = table.map_or_else(|| Fields::of(&empty, "/checks", CODE), Ok)?;
    table.only(&["seeds", "noise", "ceiling", "shuffled", "apart", "rerun", "derived"])?;
    let share = |key: &str, default: Option<i64>| Ok::<_, Refusal>(table.micros(key, 0..=2 * ONE)?.or(default));
    Ok(Checks {
        seeds: table.whole("seeds", 1..=100)?.unwrap_or(if learns { 3 } else { 1 }) as u32,
        noise: table.micros("noise", 0..=10 * ONE)?.unwrap_or(2 * ONE),
        ceiling: share("ceiling", Some(2 * ONE))?.unwrap_or(2 * ONE),
        shuffled: if learns { share("shuffled", Some(ONE / 10))? } else { None },
        apart: if learns { share("apart", Some(ONE / 10))? } else { None },
        rerun: table.flag("rerun")?.unwrap_or(true),
        derived: share("derived", Some(950_000))?.unwrap_or(950_000),
    })
}

fn control(table: &Fields<'_>) -> Result<Control, Refusal> {
    let whole = |key: &str, range, default| Ok::<_, Refusal>(table.whole(key, range)?.unwrap_or(default));
    let share = |key: &str, default| Ok::<_, Refusal>(table.micros(key, 0..=ONE)?.unwrap_or(default));
    let money = |key: &str| Ok::<_, Refusal>(table.micros(key, 0..=1_000_000 * ONE)?.unwrap_or(0) as u64);
    Ok(Control {
        seed: whole("seed", 0..=u64::MAX, 0)?,
        generations: whole("max_generations", 0..=100_000, 20)? as u32,
        offspring: whole("offspring", 1..=1_000, 6)? as usize,
        islands: whole("islands", 1..=64, 2)? as usize,
        migration_every: whole("migration_every", 1..=100_000, 5)? as u32,
        restart_every: whole("restart_every", 1..=100_000, 10)? as u32,
        elites: whole("elites", 1..=100, 2)? as usize,
        population: whole("population", 2..=1_000, 12)? as usize,
        random_share: share("random_share", 150_000)?,
        stagnation: whole("stagnation", 1..=100_000, 8)? as u32,
        target: table.micros("target", 0..=ONE)?,
        novelty: share("novelty", ONE)?,
        parsimony: share("parsimony", 0)?,
        max_jobs: whole("max_jobs", 1..=10_000_000, 500)?,
        max_spend: money("max_spend_usd")?,
        job_cost: money("job_cost_usd")?,
        reply_tokens: whole("reply_tokens", 64..=1 << 20, 8_192)? as u32,
        most_bytes: whole("max_bytes", 1..=1 << 24, 65_536)? as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"rows":{"label":"label"},"space":{"n":{"kind":"whole","min":1,"max":9,"default":3}},"evaluator":{"command":["x"]}}"#;
    const PROGRAM: &str =
        r#"{"rows":{},"program":{"input":"record{a: int}","output":"int","base":"$.a"},"scorer":{"command":["x"]}}"#;

    fn read(text: &str) -> Result<Settings, Refusal> {
        Settings::read(&Value::parse(text).unwrap())
    }

    #[test]
    fn the_least_tables_have_the_documented_defaults() {
        let settings = read(LEAST).unwrap();
        let Control { generations, offspring, islands, random_share, restart_every, elites, .. } = settings.control;
        assert_eq!((generations, offspring, islands, random_share, restart_every, elites), (20, 6, 2, 150_000, 10, 2));
        assert_eq!(
            (settings.checks.seeds, settings.checks.shuffled, settings.checks.apart),
            (3, Some(100_000), Some(100_000))
        );
        assert_eq!((settings.jobs_each(), settings.jobs_of_checks(), settings.jobs_to_confirm()), (1, 7, 2));
        let program = read(PROGRAM).unwrap();
        assert_eq!((program.checks.seeds, program.checks.shuffled), (1, None));
        assert_eq!((program.jobs_each(), program.jobs_of_checks(), program.jobs_to_confirm()), (2, 2, 4));
    }

    #[test]
    fn unknown_keys_and_odd_values_are_refused_at_their_place() {
        let more = |text: &str, more: &str| text.replacen('{', &format!("{{{more},"), 1);
        for (text, at) in [
            (more(LEAST, r#""generations":3"#), "/generations"),
            (more(LEAST, r#""novelty":1.5"#), "/novelty"),
            (more(LEAST, r#""islands":0"#), "/islands"),
            (more(LEAST, r#""seed":-1"#), "/seed"),
            (more(LEAST, r#""stages":[{"share":0.5},{"share":0.5}]"#), "/stages/1/share"),
            (more(LEAST, r#""checks":{"seed":3}"#), "/checks/seed"),
            (more(LEAST, r#""metrics":{"time":{"least":1}}"#), "/metrics/time/least"),
            (more(LEAST, r#""scorer":{"command":["x"]}"#), "/scorer"),
            (more(PROGRAM, r#""evaluator":{"command":["x"]}"#), "/evaluator"),
            (more(PROGRAM, r#""code":{}"#), "/program"),
            (LEAST.replace(r#""label":"label""#, ""), "/rows/label"),
            (LEAST.replace(r#""label":"label""#, r#""label":"l","select":0.6,"confirm":0.6"#), "/rows/confirm"),
            (LEAST.replace(r#""n":{"kind":"whole","min":1,"max":9,"default":3}"#, ""), "/space"),
            (PROGRAM.replace("\"$.a\"", "\"lower($.a)\""), "/program/base"),
            (PROGRAM.replace("record{a: int}", "thing"), "/program/input"),
        ] {
            let refusal = read(&text).expect_err(&text);
            assert_eq!((refusal.code, refusal.at.as_str()), (CODE, at), "{text}");
        }
    }
}
