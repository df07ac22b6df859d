//! The tasks and what specs score on them. The student is run by the host, one job a task and
//! repeat, and scored by the judge; each of them once. What could not be run has no score, and no
//! sample is ever smaller for it: a stratum without all of its scores has no measure.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Fields;
use crate::Refusal;
use crate::amount::{self, ONE};
use crate::cluster::Assignment;
use crate::gate::{Measure, SCORE, Snapshot};
use crate::held_out::HeldOut;
use crate::lent::{Fault, File, Job, Lent, Ran};
use crate::sample::{self, Split};
use crate::settings::{Scorer, Settings};
use crate::spec::Spec;
use crate::trace::shown;
use crate::words;

const CODE: &str = "bad-task";

/// The longest answer that is shown to a teacher, in characters.
const LONGEST_ANSWER: usize = 4_000;

/// A task of the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Unique.
    pub id: String,
    /// What kind it is, where somebody said so.
    pub category: Option<String>,
    /// What the student is given.
    pub input: Value,
    /// What the judge compares with; the student never sees it.
    pub expected: Value,
    /// What it is used for.
    pub split: Split,
}

/// What came of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The mean over its repeats, in millionths.
    pub score: i64,
    /// The answer of the first repeat, or how the student ended.
    pub answer: String,
}

/// The tasks, what measures, and what was measured.
pub struct Bench<'s> {
    /// All tasks by id.
    pub tasks: BTreeMap<String, Task>,
    /// What measures, by digest.
    pub evaluator: Digest,
    settings: &'s Settings,
    files: Files,
    scores: BTreeMap<(Digest, String), Result<Scored, Fault>>,
    /// How runs were kept apart, all that was said of any of them.
    pub isolation: BTreeSet<String>,
    /// Tells another attempt at scoring from one that failed: the host runs the same once.
    pub attempt: u32,
}

/// The code of a run that may start no more experiments.
pub const STARVED: &str = "experiment-budget";

/// The code of a judge that gave no score.
const NO_VERDICT: &str = "scorer-failed";

/// Files that the host put away for each command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Of the student.
    pub student: Vec<File>,
    /// Of the judge.
    pub scorer: Vec<File>,
    /// Of the trainer.
    pub trainer: Vec<File>,
}

impl Files {
    /// Reads the input `files`.
    pub fn read(value: &Value) -> Result<Files, Refusal> {
        let table = Fields::of(value, "/files", "bad-files")?;
        table.only(&["student", "scorer", "trainer"])?;
        let of = |key| -> Result<Vec<File>, Refusal> {
            let list = table.list(key)?.unwrap_or_default();
            let read = |value: &Value| {
                let file = Fields::of(value, table.place_of(key), "bad-files")?;
                file.only(&["path", "digest", "executable"])?;
                Ok(File {
                    path: file.need_text("path")?.to_owned(),
                    digest: file.need_text("digest")?.to_owned(),
                    executable: file.flag("executable")?.unwrap_or(false),
                })
            };
            list.iter().map(read).collect()
        };
        Ok(Files { student: of("student")?, scorer: of("scorer")?, trainer: of("trainer")? })
    }
}

/// Reads the tasks: `{"id", "category"?, "input", "expected"}`.
fn tasks(value: &Value, salt: &str) -> Result<BTreeMap<String, Task>, Refusal> {
    let list = value.as_list().ok_or_else(|| Refusal::new(CODE, "the tasks are no list").at("/tasks"))?;
    let mut tasks = BTreeMap::new();
    for (at, value) in list.iter().enumerate() {
        let fields = Fields::of(value, format!("/tasks/{at}"), CODE)?;
        fields.only(&["id", "category", "input", "expected"])?;
        let id = fields.need_text("id")?.to_owned();
        let task = Task {
            category: fields.text("category")?.map(str::to_owned),
            input: fields.need("input")?.clone(),
            expected: fields.need("expected")?.clone(),
            split: sample::split(salt, &id),
            id: id.clone(),
        };
        if tasks.insert(id.clone(), task).is_some() {
            return Err(fields.refuse("id", format!("a second task has the id {id:?}")));
        }
    }
    apart(&mut tasks, Split::Diagnose, &[Split::Gate, Split::Confirm]);
    apart(&mut tasks, Split::Confirm, &[Split::Gate]);
    let empty = [Split::Diagnose, Split::Gate]
        .into_iter()
        .find(|&split| !tasks.values().any(|task: &Task| task.split == split));
    match empty {
        None => Ok(tasks),
        Some(split) => {
            let message = format!(
                "of {} tasks none is for {split:?}, without those that ask nearly what another asks; there have to be \
                 more",
                tasks.len()
            );
            Err(Refusal::new("too-few-tasks", message).at("/tasks"))
        }
    }
}

/// Takes the tasks out of a split that ask nearly what one of the others asks: a teacher who was shown one
/// knows the other, and what the gate let through is confirmed by nothing that is like what it saw.
fn apart(tasks: &mut BTreeMap<String, Task>, split: Split, from: &[Split]) {
    let others = tasks.values().filter(|task| from.contains(&task.split));
    let others = HeldOut::of(others.map(|task| (task.id.as_str(), shown(Some(&task.input)))));
    for task in tasks.values_mut().filter(|task| task.split == split) {
        if others.is_near(&shown(Some(&task.input))) {
            task.split = Split::Unused;
        }
    }
}

impl<'s> Bench<'s> {
    /// A bench with nothing measured.
    pub fn new(settings: &'s Settings, value: &Value, files: &Value) -> Result<Bench<'s>, Refusal> {
        Ok(Bench {
            tasks: tasks(value, &settings.benchmark)?,
            evaluator: settings.evaluator(files, value),
            settings,
            files: Files::read(files)?,
            scores: BTreeMap::new(),
            isolation: BTreeSet::new(),
            attempt: 1,
        })
    }

    /// Tasks of a split, sorted.
    pub fn of(&self, split: Split) -> Vec<String> {
        self.tasks.values().filter(|task| task.split == split).map(|task| task.id.clone()).collect()
    }

    /// The tasks that are used for nothing, as a note, where there are any.
    pub fn unused(&self) -> Option<String> {
        let names = self.of(Split::Unused);
        let shown = words::cut(&names.join(", "), 200);
        (!names.is_empty()).then(|| format!("not used, since nearly the same as another task: {shown}"))
    }

    /// The tasks that no teacher may see.
    pub fn held_out(&self) -> HeldOut {
        let held = self.tasks.values().filter(|task| [Split::Gate, Split::Confirm].contains(&task.split));
        HeldOut::of(held.map(|task| (task.id.as_str(), shown(Some(&task.input)))))
    }

    /// What a spec scores on tasks; those that are known are not run again.
    pub fn score(&mut self, lent: &mut impl Lent, spec: &Spec, on: &[String]) -> Result<(), Fault> {
        let id = spec.id();
        let new: Vec<&String> = on.iter().filter(|task| !self.scores.contains_key(&(id, (*task).clone()))).collect();
        if new.is_empty() {
            return Ok(());
        }
        let document = lent.put(spec.text().as_bytes())?;
        let mut jobs = Vec::new();
        for task in &new {
            for repeat in 0..self.settings.repeats {
                jobs.push(self.job(lent, &document, &self.tasks[*task], repeat)?);
            }
        }
        let ran = lent.run(&jobs)?;
        self.isolation.extend(ran.iter().flatten().flat_map(|ran| ran.isolation.iter().cloned()));
        let answers = ran.into_iter().map(|ran| ran.and_then(|ran| answer(lent, &ran))).collect::<Vec<_>>();
        let judged = self.judge(lent, &new, &answers)?;
        // Where nothing more may be run, whatever comes next would be a guess.
        if let Some(Err(fault)) = judged.iter().find(|one| one.as_ref().is_err_and(|fault| fault.code == STARVED)) {
            return Err(fault.clone());
        }
        let repeats = self.settings.repeats as usize;
        for ((task, scores), answers) in new.iter().zip(judged.chunks(repeats)).zip(answers.chunks(repeats)) {
            let scores: Result<Vec<i64>, Fault> = scores.iter().cloned().collect();
            let scored = scores.map(|scores| Scored {
                score: amount::mean(&scores).unwrap_or(0),
                answer: answers[0].as_ref().map(Answer::shown).unwrap_or_default(),
            });
            self.scores.insert((id, (*task).clone()), scored);
        }
        Ok(())
    }

    fn job(&self, lent: &mut impl Lent, document: &str, task: &Task, repeat: u32) -> Result<Job, Fault> {
        let given = Record::new().with("id", task.id.as_str()).with("input", task.input.clone());
        let given = lent.put(Value::from(given).canonical().as_str().as_bytes())?;
        let mut files = self.files.student.clone();
        files.push(File { path: "spec.json".to_owned(), digest: document.to_owned(), executable: false });
        files.push(File { path: "task.json".to_owned(), digest: given, executable: false });
        let seed =
            sample::seed("task", &format!("{}\0{}\0{repeat}", self.settings.seed, task.id), &self.settings.benchmark);
        let seed = u64::from_be_bytes([0, 0, 0, seed[0], seed[1], seed[2], seed[3], seed[4]]);
        Ok(Job { command: self.settings.student.clone(), seed, files, collect: vec![] })
    }

    /// Judges answers, so many of each task as there are repeats.
    fn judge(
        &self,
        lent: &mut impl Lent,
        tasks: &[&String],
        answers: &[Result<Answer, Fault>],
    ) -> Result<Vec<Result<i64, Fault>>, Fault> {
        let repeats = answers.len() / tasks.len().max(1);
        let of = |at: usize| &self.tasks[tasks[at / repeats.max(1)]];
        match &self.settings.scorer {
            Scorer::Exact => Ok(answers
                .iter()
                .enumerate()
                .map(|(at, answer)| answer.clone().map(|answer| exact(&answer, &of(at).expected)))
                .collect()),
            Scorer::Command(command) => {
                let mut jobs = Vec::new();
                for (at, answer) in answers.iter().enumerate() {
                    let Ok(Answer::Given(text)) = answer else { continue };
                    let task = of(at);
                    let whole = Record::new()
                        .with("id", task.id.as_str())
                        .with("input", task.input.clone())
                        .with("expected", task.expected.clone());
                    let whole = lent.put(Value::from(whole).canonical().as_str().as_bytes())?;
                    let text = lent.put(text.as_bytes())?;
                    let mut files = self.files.scorer.clone();
                    files.push(File { path: "task.json".to_owned(), digest: whole, executable: false });
                    files.push(File { path: "answer.txt".to_owned(), digest: text, executable: false });
                    jobs.push(Job { command: command.clone(), seed: 0, files, collect: vec![] });
                }
                let mut verdicts = self.verdicts(lent, &jobs)?.into_iter();
                let mut scores = Vec::new();
                for answer in answers {
                    scores.push(match answer {
                        Ok(Answer::Given(_)) => {
                            let none = || Err(Fault::new(NO_VERDICT, "the scorer was not run"));
                            verdicts.next().unwrap_or_else(none)
                        }
                        Ok(Answer::None(_)) => Ok(0),
                        Err(fault) => Err(fault.clone()),
                    });
                }
                Ok(scores)
            }
        }
    }

    /// What the judge says. Where it fails it is asked once more.
    fn verdicts(&self, lent: &mut impl Lent, jobs: &[Job]) -> Result<Vec<Result<i64, Fault>>, Fault> {
        let mut verdicts = Vec::new();
        for ran in lent.run(jobs)? {
            verdicts.push(ran.and_then(|ran| verdict(lent, &ran)));
        }
        let failed = |one: &Result<i64, Fault>| one.as_ref().is_err_and(|fault| fault.code == NO_VERDICT);
        let again: Vec<usize> = (0..verdicts.len()).filter(|at| failed(&verdicts[*at])).collect();
        let jobs: Vec<Job> = again.iter().map(|at| self.another(&jobs[*at])).collect();
        if !jobs.is_empty() {
            for (at, ran) in again.into_iter().zip(lent.run(&jobs)?) {
                verdicts[at] = ran.and_then(|ran| verdict(lent, &ran));
            }
        }
        Ok(verdicts)
    }

    /// The same once more: another attempt, which the command can tell.
    fn another(&self, job: &Job) -> Job {
        let mut job = job.clone();
        job.command.environment.push(("AUTO_ATTEMPT".to_owned(), self.attempt.to_string()));
        job
    }

    /// Scores an answer that is not the student's.
    pub fn judged(&self, lent: &mut impl Lent, task: &str, answer: String) -> Result<i64, Fault> {
        let task = task.to_owned();
        let scores = self.judge(lent, &[&task], &[Ok(Answer::Given(answer))])?;
        scores.into_iter().next().unwrap_or_else(|| Err(Fault::new(NO_VERDICT, "the scorer said nothing")))
    }

    /// What a spec scored on a task, where it was run.
    pub fn scored(&self, spec: &Spec, task: &str) -> Option<&Result<Scored, Fault>> {
        self.scores.get(&(spec.id(), task.to_owned()))
    }

    /// The mean over tasks; a fault where one of them could not be run.
    pub fn overall(&mut self, lent: &mut impl Lent, spec: &Spec, on: &[String]) -> Result<i64, Fault> {
        self.score(lent, spec, on)?;
        let scores: Result<Vec<i64>, Fault> =
            on.iter().map(|task| self.known(spec, task).map(|one| one.score)).collect();
        amount::mean(&scores?).ok_or_else(|| Fault::new("too-few-tasks", "there is nothing to score on"))
    }

    fn known(&self, spec: &Spec, task: &str) -> Result<&Scored, Fault> {
        match self.scored(spec, task) {
            Some(Ok(scored)) => Ok(scored),
            Some(Err(fault)) => Err(fault.clone()),
            None => Err(Fault::new("not-scored", format!("{task} was not run"))),
        }
    }

    /// A snapshot over a sample, a measure for each stratum that was scored whole.
    pub fn snapshot(
        &mut self,
        lent: &mut impl Lent,
        spec: &Spec,
        on: &[String],
        map: &Assignment,
    ) -> Result<Snapshot, Fault> {
        self.score(lent, spec, on)?;
        let mut strata: BTreeMap<&str, Vec<Option<i64>>> = BTreeMap::new();
        for task in on {
            strata.entry(map.of(task)).or_default().push(self.known(spec, task).ok().map(|one| one.score));
        }
        let measures = strata.into_iter().filter_map(|(stratum, scores)| {
            let scores: Vec<i64> = scores.into_iter().collect::<Option<_>>()?;
            Some(Measure {
                metric: SCORE.to_owned(),
                stratum: stratum.to_owned(),
                mean: amount::mean(&scores)?,
                n: scores.len() as u32,
            })
        });
        let measures = measures.collect();
        let tasks: Vec<Value> = on.iter().map(|task| task.as_str().into()).collect();
        let sample = Record::new()
            .with("tasks", tasks)
            .with("map", map.digest().to_string())
            .with("seed", self.settings.seed)
            .with("repeats", self.settings.repeats);
        Ok(Snapshot {
            subject: spec.id().to_string(),
            evaluator: self.evaluator.to_string(),
            sample: Digest::of(Value::from(sample).canonical().as_str().as_bytes()).to_string(),
            measures,
        })
    }

    /// How many scores were asked of the student.
    pub fn runs(&self) -> u64 {
        self.scores.len() as u64 * u64::from(self.settings.repeats)
    }

    /// Forgets what could not be run, so that it is tried again.
    pub fn forget_faults(&mut self) {
        self.attempt += 1;
        self.scores.retain(|_, scored| scored.is_ok());
    }

    /// Files of the trainer.
    pub fn trainer_files(&self) -> &[File] {
        &self.files.trainer
    }
}

/// What the student said.
#[derive(Clone, Debug)]
enum Answer {
    Given(String),
    /// It ended otherwise: how. That is its own failure and scores nothing.
    None(String),
}

impl Answer {
    fn shown(&self) -> String {
        let text = match self {
            Answer::Given(text) => text.clone(),
            Answer::None(ending) => format!("(no answer: {ending})"),
        };
        words::cut(&text, LONGEST_ANSWER)
    }
}

fn answer(lent: &mut impl Lent, ran: &Ran) -> Result<Answer, Fault> {
    if !ran.well() {
        return Ok(Answer::None(ran.ending.clone()));
    }
    match String::from_utf8(lent.get(&ran.stdout)?) {
        Ok(text) => Ok(Answer::Given(text.trim().to_owned())),
        Err(_) => Ok(Answer::None("its answer is not UTF-8".to_owned())),
    }
}

fn exact(answer: &Answer, expected: &Value) -> i64 {
    match answer {
        Answer::Given(text) if text.trim() == shown(Some(expected)).trim() => ONE,
        _ => 0,
    }
}

/// A scorer that fails says nothing about the answer: no score, and not 0.
fn verdict(lent: &mut impl Lent, ran: &Ran) -> Result<i64, Fault> {
    if !ran.well() {
        return Err(Fault::new(NO_VERDICT, format!("the scorer ended with `{}`", ran.ending)));
    }
    let text = String::from_utf8(lent.get(&ran.stdout)?).unwrap_or_default();
    let number = Value::parse(text.trim()).ok().and_then(|value| value.as_number().and_then(amount::truncated));
    match number {
        Some(score) if (0..=ONE).contains(&score) => Ok(score),
        _ => {
            let shown = words::cut(text.trim(), 80);
            Err(Fault::new(NO_VERDICT, format!("the scorer said {shown:?}, and not a number from 0 to 1")))
        }
    }
}
