//! Measures individuals: files and parameters by the user's command, programs in the sandbox. What a
//! command learns from has labels, what it predicts has none, and what confirms is in neither.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_search::Command;

use crate::code::Files;
use crate::data::{Row, Rows, Split, lines, shuffled};
use crate::genome::{Genome, PROGRAM};
use crate::lent::{Fault, File, Job, Lent, Ran};
use crate::measure::{self, Bad, Judged, Measured};
use crate::settings::{Settings, Subject};

/// The most characters of what a run said that are kept.
const SAID: usize = 1_500;

/// What is measured on, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// What for; it names the run.
    pub purpose: String,
    /// Which rows are scored.
    pub split: Split,
    /// Which share of them, and of those to learn from.
    pub share: i64,
    /// The seed.
    pub seed: u64,
    /// Whether the labels to learn from are shuffled.
    pub shuffled: bool,
    /// Fields that are left out.
    pub without: Vec<String>,
    /// How often the same was run before.
    pub again: u32,
}

impl Course {
    /// All rows that score, once.
    pub fn whole(seed: u64) -> Course {
        Course {
            purpose: "whole".to_owned(),
            split: Split::Select,
            share: 1_000_000,
            seed,
            shuffled: false,
            without: Vec::new(),
            again: 0,
        }
    }
}

/// What a program answers to each input, or why it is none.
type Answers = Result<Vec<Option<String>>, String>;

/// Measures.
pub struct Bench<'s> {
    settings: &'s Settings,
    /// What is measured on.
    pub rows: Rows,
    /// What lies beside an individual.
    files: Vec<File>,
    /// What a program is run on; its rows' inputs where there is none.
    probe: Option<Vec<String>>,
    /// Files that an individual's replace.
    base: Files,
    /// How many jobs were started.
    pub jobs: u64,
    /// How they were kept apart.
    pub isolation: std::collections::BTreeSet<String>,
    /// Files of rows that were made before, by what is in them.
    kept: BTreeMap<String, String>,
    /// What programs answered, by their digest.
    answers: BTreeMap<String, Answers>,
}

impl<'s> Bench<'s> {
    /// One of those rows. Codes: `bad-input`.
    pub fn new(
        settings: &'s Settings,
        rows: Rows,
        files: Vec<File>,
        probe: Option<&Value>,
        base: Files,
    ) -> Result<Bench<'s>, Fault> {
        let taken = ["request.json", "train.jsonl", "test.jsonl", "instances.jsonl", "outputs.jsonl"];
        if let Some(file) =
            files.iter().find(|file| base.contains_key(&file.path) || taken.contains(&file.path.as_str()))
        {
            return Err(Fault::new("bad-input", format!("two files are to be {} in the folder of a run", file.path)));
        }
        let probe = probe.and_then(Value::as_list);
        let probe = probe.map(|list| list.iter().map(|value| value.canonical().into_string()).collect());
        Ok(Bench {
            settings,
            rows,
            files,
            probe,
            base,
            jobs: 0,
            isolation: std::collections::BTreeSet::new(),
            kept: BTreeMap::new(),
            answers: BTreeMap::new(),
        })
    }

    /// What measures, by digest.
    pub fn evaluator(&self) -> String {
        let command = |command: &Option<Command>| command.as_ref().map_or(Value::Null, Command::to_value);
        let files =
            self.files.iter().map(|file| format!("{} {}", file.path, file.digest).into()).collect::<Vec<Value>>();
        let record = Record::new()
            .with("evaluator", command(&self.settings.evaluator))
            .with("scorer", command(&self.settings.scorer))
            .with("files", files);
        Digest::of(Value::from(record).canonical().as_str().as_bytes()).to_string()
    }

    /// What it is measured on, by digest.
    pub fn sample(&self, course: &Course) -> String {
        let rows = self.rows.of(course.split, course.share);
        let ids: String = rows.iter().map(|row| format!("{}\n", row.id)).collect();
        Digest::of(format!("{} {}\n{ids}", course.seed, course.shuffled).as_bytes()).to_string()
    }

    /// Measures each on its course, side by side. A fault says that the machine kept one from being run.
    pub fn measure(&mut self, lent: &mut impl Lent, on: &[(&Genome, &Course)]) -> Result<Vec<Judged>, Fault> {
        match &self.settings.subject {
            Subject::Files { .. } => self.commanded(lent, on),
            Subject::Program { .. } => self.programmed(lent, on),
        }
    }

    fn commanded(&mut self, lent: &mut impl Lent, on: &[(&Genome, &Course)]) -> Result<Vec<Judged>, Fault> {
        let Some(command) = &self.settings.evaluator else {
            return Err(Fault::new("bad-settings", "nothing says what is run with an individual"));
        };
        let mut jobs = Vec::new();
        for (genome, course) in on {
            let request = Record::new()
                .with("run", run_id(genome, course))
                .with("params", genome.params.clone())
                .with("seed", course.seed);
            let request = Value::from(request).canonical().into_string();
            let mut files = self.files.clone();
            for (path, digest) in self.rows_of(lent, course)? {
                files.push(File { path: path.to_owned(), digest, executable: false });
            }
            let own = self.base.keys().filter_map(|path| Some((path.as_str(), genome.files.get(path)?.clone())));
            for (path, text) in [("request.json", request)].into_iter().chain(own) {
                files.push(File { path: path.to_owned(), digest: lent.put(text.as_bytes())?, executable: false });
            }
            let collect = ["metrics.json", "config.json", "predictions.jsonl"].map(str::to_owned).to_vec();
            jobs.push(Job { command: command.clone(), seed: course.seed, files, collect, again: course.again });
        }
        let ran = self.run(lent, &jobs)?;
        let mut judged = Vec::new();
        for ((genome, course), ran) in on.iter().zip(ran) {
            let rows = self.rows.of(course.split, course.share);
            let read = read_run(lent, self.settings, &ran, genome, course, &rows)?;
            judged.push(told(lent, read, &ran)?);
        }
        Ok(judged)
    }

    /// The rows to learn from and to predict, each kept once.
    fn rows_of(&mut self, lent: &mut impl Lent, course: &Course) -> Result<[(&'static str, String); 2], Fault> {
        let Course { split, share, seed, shuffled: mixed, without, .. } = course;
        // Only what is shuffled depends on the seed.
        let seed = if *mixed { *seed } else { 0 };
        let mut digests = Vec::new();
        for split in [Split::Train, *split] {
            let key = format!("{split:?} {share} {mixed} {seed} {without:?}");
            let digest = match self.kept.get(&key) {
                Some(digest) => digest.clone(),
                None => {
                    let rows = self.rows.of(split, *share);
                    let labels = match (split, mixed) {
                        (Split::Train, true) => shuffled(&rows, seed),
                        (Split::Train, false) => rows.iter().map(|row| row.label.as_deref()).collect(),
                        _ => vec![None; rows.len()],
                    };
                    let digest = lent.put(lines(&rows, &labels, without).as_bytes())?;
                    self.kept.insert(key, digest.clone());
                    digest
                }
            };
            digests.push(digest);
        }
        let [train, test] = [0, 1].map(|at: usize| digests.get(at).cloned().unwrap_or_default());
        Ok([("train.jsonl", train), ("test.jsonl", test)])
    }

    fn programmed(&mut self, lent: &mut impl Lent, on: &[(&Genome, &Course)]) -> Result<Vec<Judged>, Fault> {
        let mut answers = Vec::new();
        for (genome, course) in on {
            let rows = self.rows.of(course.split, course.share);
            let own: Vec<String> = rows.iter().map(|row| row.input.canonical().into_string()).collect();
            answers.push(self.answered(lent, genome, own)?);
        }
        let Some(scorer) = &self.settings.scorer else {
            let judge = |((genome, course), answers): (&(&Genome, &Course), Answers)| {
                let rows = self.rows.of(course.split, course.share);
                match answers {
                    Ok(answers) => Judged::Good(held_against_labels(genome, course, &rows, &answers)),
                    Err(why) => Judged::Bad(Bad::new("not-compiled", why)),
                }
            };
            return Ok(on.iter().zip(answers).map(judge).collect());
        };
        let (mut jobs, mut of) = (Vec::new(), Vec::new());
        for (at, ((genome, course), answers)) in on.iter().zip(&answers).enumerate() {
            let Ok(answers) = answers else { continue };
            let rows = self.rows.of(course.split, course.share);
            let inputs = self.probe.clone();
            let inputs = inputs.unwrap_or_else(|| rows.iter().map(|row| row.input.canonical().into_string()).collect());
            let request = Record::new().with("run", run_id(genome, course)).with("seed", course.seed);
            let texts = [
                ("request.json", Value::from(request).canonical().into_string()),
                (
                    "instances.jsonl",
                    lines(&rows, &rows.iter().map(|row| row.label.as_deref()).collect::<Vec<_>>(), &[]),
                ),
                ("outputs.jsonl", outputs(&inputs, answers)),
            ];
            let mut files = self.files.clone();
            for (path, text) in texts {
                files.push(File { path: path.to_owned(), digest: lent.put(text.as_bytes())?, executable: false });
            }
            let collect = ["metrics.json", "scores.jsonl"].map(str::to_owned).to_vec();
            jobs.push(Job { command: scorer.clone(), seed: course.seed, files, collect, again: course.again });
            of.push(at);
        }
        let ran: BTreeMap<usize, Ran> = of.into_iter().zip(self.run(lent, &jobs)?).collect();
        let mut judged = Vec::new();
        for (at, ((genome, course), answers)) in on.iter().zip(answers).enumerate() {
            judged.push(match (answers, ran.get(&at)) {
                (Ok(_), Some(ran)) => {
                    let rows = self.rows.of(course.split, course.share);
                    let read = read_scored(lent, self.settings, ran, genome, course, &rows)?;
                    told(lent, read, ran)?
                }
                (Err(why), _) => Judged::Bad(Bad::new("not-compiled", why)),
                (Ok(_), None) => return Err(Fault::new("bad-output", "the host returned fewer results than jobs")),
            });
        }
        Ok(judged)
    }

    /// What a program answers; each is run once on the same inputs.
    fn answered(&mut self, lent: &mut impl Lent, genome: &Genome, own: Vec<String>) -> Result<Answers, Fault> {
        let Subject::Program { interface, .. } = &self.settings.subject else {
            return Err(Fault::new("bad-settings", "it is no program"));
        };
        let inputs = self.probe.as_ref().unwrap_or(&own);
        let key = format!("{} {}", genome.digest(), Digest::of(inputs.join("\n").as_bytes()));
        if let Some(known) = self.answers.get(&key) {
            return Ok(known.clone());
        }
        let text = genome.files.get(PROGRAM).map(String::as_str).unwrap_or_default();
        let graph = interface
            .read(text)
            .and_then(|program| interface.graph(&program).ok_or_else(|| "it is too large".to_owned()));
        let answers = match graph.map(|graph| lent.emit(&graph)) {
            Err(why) => Err(why),
            Ok(Err(fault)) => Err(format!("{} [{}]", fault.message, fault.code)),
            Ok(Ok(module)) => {
                self.jobs += 1;
                lent.sandbox(&module, inputs).map_err(|fault| format!("{} [{}]", fault.message, fault.code))
            }
        };
        self.answers.insert(key, answers.clone());
        Ok(answers)
    }

    fn run(&mut self, lent: &mut impl Lent, jobs: &[Job]) -> Result<Vec<Ran>, Fault> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.jobs += jobs.len() as u64;
        let ran: Vec<Ran> = lent.run(jobs)?.into_iter().collect::<Result<_, Fault>>()?;
        if ran.len() != jobs.len() {
            return Err(Fault::new("bad-output", "the host returned fewer results than jobs"));
        }
        ran.iter().for_each(|ran| self.isolation.extend(ran.isolation.iter().cloned()));
        Ok(ran)
    }
}

/// What a run is called: by all that it is given.
pub fn run_id(genome: &Genome, course: &Course) -> String {
    let Course { split, share, seed, shuffled, without, .. } = course;
    let given = format!("{} {split:?} {share} {seed} {shuffled} {without:?}", genome.digest());
    format!("r-{}", &Digest::of(given.as_bytes()).to_string()[..16])
}

fn outputs(inputs: &[String], answers: &[Option<String>]) -> String {
    let line = |(input, answer): (&String, &Option<String>)| {
        format!("{{\"input\":{input},\"output\":{}}}\n", answer.as_deref().unwrap_or("null"))
    };
    inputs.iter().zip(answers).map(line).collect()
}

fn held_against_labels(genome: &Genome, course: &Course, rows: &[&Row], answers: &[Option<String>]) -> Measured {
    let plain = |text: &String| match Value::parse(text) {
        Ok(Value::Text(text)) => text,
        _ => text.clone(),
    };
    let right = |(row, answer): (&&Row, &Option<String>)| match (answer.as_ref().map(plain), &row.label) {
        (Some(answer), Some(label)) if answer == *label => 1_000_000,
        _ => 0,
    };
    let all = answers.iter().map(|answer| answer.as_deref().unwrap_or("-")).collect::<Vec<_>>().join("\n");
    Measured {
        scores: rows.iter().zip(answers).map(right).collect(),
        output: Digest::of(all.as_bytes()).to_string(),
        run: run_id(genome, course),
        ..Measured::default()
    }
}

type Read = Result<Measured, Bad>;

/// A file that a run has to leave.
fn left(lent: &mut impl Lent, ran: &Ran, path: &str) -> Result<Result<Vec<u8>, Bad>, Fault> {
    match ran.file(path) {
        Some(file) => Ok(Ok(lent.get(&file.digest)?)),
        None => Ok(Err(Bad::new("nothing-left", format!("the run left no {path}")))),
    }
}

macro_rules! have {
    ($read:expr) => {
        match $read {
            Ok(value) => value,
            Err(bad) => return Ok(Err(bad)),
        }
    };
}

fn read_run(
    lent: &mut impl Lent,
    settings: &Settings,
    ran: &Ran,
    genome: &Genome,
    course: &Course,
    rows: &[&Row],
) -> Result<Read, Fault> {
    have!(ended(ran));
    let run = run_id(genome, course);
    let metrics = have!(left(lent, ran, "metrics.json")?);
    let told = have!(measure::metrics(&metrics, &run, &settings.metrics));
    let config = have!(left(lent, ran, "config.json")?);
    have!(measure::config(&config, &genome.params));
    let predictions = have!(left(lent, ran, "predictions.jsonl")?);
    let (scores, predicted) = have!(measure::predictions(&predictions, rows));
    have!(measure::claim(&told, &scores));
    // Numbers such as times may differ from run to run; what was predicted may not.
    let kept: Vec<File> = ran.files.iter().filter(|file| file.path != "metrics.json").cloned().collect();
    Ok(Ok(Measured {
        scores,
        metrics: told.metrics,
        tracker: told.tracker,
        predicted,
        output: measure::output(&kept),
        files: ran.files.clone(),
        run,
    }))
}

fn read_scored(
    lent: &mut impl Lent,
    settings: &Settings,
    ran: &Ran,
    genome: &Genome,
    course: &Course,
    rows: &[&Row],
) -> Result<Read, Fault> {
    have!(ended(ran));
    let run = run_id(genome, course);
    let mut told = measure::Told::default();
    if ran.file("metrics.json").is_some() || !settings.metrics.is_empty() {
        let metrics = have!(left(lent, ran, "metrics.json")?);
        told = have!(measure::metrics(&metrics, &run, &settings.metrics));
    }
    let text = have!(left(lent, ran, "scores.jsonl")?);
    let scores = have!(measure::scores(&text, rows));
    let kept: Vec<File> = ran.files.iter().filter(|file| file.path != "metrics.json").cloned().collect();
    Ok(Ok(Measured {
        scores,
        metrics: told.metrics,
        tracker: told.tracker,
        predicted: BTreeMap::new(),
        output: measure::output(&kept),
        files: ran.files.clone(),
        run,
    }))
}

fn ended(ran: &Ran) -> Result<(), Bad> {
    match ran.well() {
        true => Ok(()),
        false => Err(Bad::new("ended-badly", format!("the run ended with: {}", ran.ending))),
    }
}

/// A run that does not count, with the end of what it said.
fn told(lent: &mut impl Lent, read: Read, ran: &Ran) -> Result<Judged, Fault> {
    let bad = match read {
        Ok(measured) => return Ok(Judged::Good(measured)),
        Err(bad) => bad,
    };
    let text = String::from_utf8_lossy(&lent.get(&ran.stderr)?).into_owned();
    let from = text.ceil_char_boundary(text.len().saturating_sub(SAID));
    Ok(Judged::Bad(Bad { said: text[from..].to_owned(), ..bad }))
}
