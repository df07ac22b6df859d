//! The folder of a run: what it was given (`run.json` and blobs), what came of it (`report.json`,
//! `index.html`, what it made), and what it needs to go on (the journal, replies, experiments).
//!
//! A run is named after what it was given, so that the same search is the same run: started again it
//! goes on, or says what came of it. `--label` tells apart runs that are to be made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{Blobs, Experiments, Job, Teacher};
use auto_files::{Lock, regular};
use auto_jobs::{Cost, Settings};
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::{shown, shown_path};

use super::{backend, page, story};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::Exit;
use crate::verbs::compile;

/// When a run was started, where that matters: seconds since 1970.
const STARTED: &str = "started";

/// In which journal the search itself is, while it runs or after it was cut off.
const RUNNING: &str = "running";

/// How often it failed.
const FAILURES: &str = "failures";

/// Changes when what is in the folder does.
const FORM: u64 = 1;

/// What a run is given.
pub struct Plan {
    /// Which driver: `skill`.
    pub kind: &'static str,
    /// What the driver reads.
    pub settings: Record,
    /// Its inputs, each a blob.
    pub inputs: Vec<(&'static str, Vec<u8>)>,
    /// Other blobs that settings and inputs name.
    pub blobs: Vec<Vec<u8>>,
    /// What the host itself has to know to run it again.
    pub host: Record,
    /// Tells apart runs that are else the same.
    pub label: String,
    /// Whether the driver is to know when the run was started.
    pub dated: bool,
    /// Why it is begun, where the driver is to know it.
    pub trigger: Option<Record>,
}

/// A run.
pub struct Run {
    pub id: String,
    pub folder: PathBuf,
    record: Value,
}

impl Plan {
    /// The same, where the configuration says that commands are run. One that merely lies there names
    /// none.
    pub fn on(mut self, global: &Global) -> Plan {
        if let Some(jobs) = global.file.jobs.as_ref().filter(|_| global.config.is_some()) {
            self.host.set("jobs", jobs.clone());
        }
        self
    }

    /// Makes the folder of the run, or finds it.
    pub fn start(self, runs: &Path) -> Result<Run, Failure> {
        let inputs = self
            .inputs
            .iter()
            .fold(Record::new(), |inputs, (name, bytes)| inputs.with(*name, Digest::of(bytes).to_string()));
        let mut given = Record::new()
            .with("form", FORM)
            .with("kind", self.kind)
            .with("label", self.label.as_str())
            .with("settings", self.settings)
            .with("inputs", inputs)
            .with("host", self.host);
        if let Some(trigger) = self.trigger {
            given.set("trigger", trigger);
        }
        let text = Value::from(given).canonical().into_string();
        let id = format!("{}-{}", self.kind, &Digest::of(text.as_bytes()).to_string()[..12]);
        let folder = runs.join(&id);
        let path = folder.join("run.json");
        if !path.exists() {
            let blobs = Blobs::of(&folder);
            let mut all = self.inputs.iter().map(|(_, bytes)| bytes).chain(&self.blobs);
            all.try_for_each(|bytes| blobs.put(bytes).map(drop)).map_err(unkept)?;
            if self.dated {
                files::write(&folder.join(STARTED), super::spec::now().to_string().as_bytes())?;
            }
            // Last, so that a run that is there is there whole.
            files::write(&path, text.as_bytes())?;
        }
        Run::load(runs, &id)
    }
}

impl Run {
    /// A run by its name. Codes: `no-run`, `run-version`, `run-damaged`.
    pub fn load(runs: &Path, id: &str) -> Result<Run, Failure> {
        let folder = runs.join(id);
        let plain = !id.is_empty() && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        let path = folder.join("run.json");
        if !plain || !path.exists() {
            let message = format!("there is no run {} in {}", shown(id), shown_path(runs));
            return Err(Failure::new(Exit::Usage, "no-run", message).help("`auto-host search list` names them"));
        }
        let damaged = |why: &str| {
            Failure::new(Exit::Integrity, "run-damaged", format!("{} {why}", shown_path(&path)))
                .help("what the run was given is not known, so it cannot go on; start it anew")
        };
        let text = regular::read(&path, files::LARGEST).map_err(|error| files::unreadable(&path, &error))?;
        let record = Value::parse(&text).map_err(|_| damaged("is no JSON"))?;
        if record.get("form").and_then(Value::as_u64) != Some(FORM) {
            let message = format!("{} was written by another version of this program", shown_path(&path));
            return Err(Failure::new(Exit::Refused, "run-version", message).help("start it anew"));
        }
        let kind = record.get("kind").and_then(Value::as_text).unwrap_or_default();
        if id != format!("{kind}-{}", &Digest::of(&text).to_string()[..12]) {
            return Err(damaged("does not hold what the name of its folder says"));
        }
        Ok(Run { id: id.to_owned(), folder, record })
    }

    /// Which driver.
    pub fn kind(&self) -> &str {
        self.record.get("kind").and_then(Value::as_text).unwrap_or_default()
    }

    /// The verb that began it.
    pub fn verb(&self) -> &str {
        self.kind().strip_suffix("-search").unwrap_or(self.kind())
    }

    /// What tells it apart.
    pub fn label(&self) -> &str {
        self.record.get("label").and_then(Value::as_text).unwrap_or_default()
    }

    /// A part of what the host has to know.
    pub fn host(&self, key: &str) -> Option<&Value> {
        self.record.get("host")?.get(key)
    }

    /// A setting that the driver reads, where it is a text.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.record.get("settings")?.get(key)?.as_text()
    }

    /// An input that it was given, where it is JSON. Code: `run-damaged`.
    pub fn input(&self, name: &str) -> Result<Option<Value>, Failure> {
        let digest = self.record.get("inputs").and_then(|inputs| inputs.get(name)?.as_text()).and_then(Digest::parse);
        let Some(digest) = digest else { return Ok(None) };
        let bytes = self.blobs().get(digest).map_err(unkept)?;
        Ok(Value::parse(bytes).ok())
    }

    /// Variables that are handed on to its commands, as far as they are set.
    pub fn passed_on(&self) -> Vec<(String, String)> {
        let names = self.host("pass_environment").and_then(Value::as_list).unwrap_or_default();
        let named = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
        names.iter().filter_map(Value::as_text).filter_map(named).collect()
    }

    /// What came of it; none while it has not come to an end. Code: `run-damaged`.
    pub fn report(&self) -> Result<Option<Value>, Failure> {
        let path = self.folder.join("report.json");
        if !path.exists() {
            return Ok(None);
        }
        let text = regular::read(&path, files::LARGEST).map_err(|error| files::unreadable(&path, &error))?;
        let report = Value::parse(&text).map_err(|error| {
            Failure::new(Exit::Integrity, "run-damaged", format!("{} is no JSON: {error}", shown_path(&path)))
        })?;
        Ok(Some(report))
    }

    /// Its blobs and head.
    pub fn blobs(&self) -> Blobs {
        Blobs::of(&self.folder)
    }

    /// Owned by one process at a time.
    fn own(&self) -> Result<Lock, Failure> {
        let path = self.folder.join("run.lock");
        let waiting = |holder: &auto_files::Holder| files::wait(&format!("the run {}", self.id), holder);
        Lock::take(&path, waiting).map_err(|error| {
            Failure::new(Exit::Refused, "unwritable", format!("cannot lock {}: {error}", shown_path(&path)))
        })
    }

    /// Has the driver do something: `action` says what.
    pub fn drive(
        &self,
        global: &Global,
        toolbox: &Toolbox,
        action: Record,
        teacher: Option<Arc<dyn Teacher>>,
        reissue: bool,
    ) -> Result<Value, Failure> {
        let _lock = self.own()?;
        let asked = action.get("action").and_then(Value::as_text).unwrap_or_default();
        // Whoever ends a run is told what it came to, and starts nothing any more.
        let (is_run, starts) = (["run", "cancel"].contains(&asked), asked != "cancel");
        let earlier = self.report()?;
        if let Some(report) = earlier.as_ref().filter(|report| is_run && !is_failed(report)) {
            self.ended();
            return Ok(report.clone());
        }
        let part = |key: &str| self.record.get(key).cloned().unwrap_or(Value::Null);
        let config =
            action.with("run", self.id.as_str()).with("settings", part("settings")).with("inputs", part("inputs"));
        let mut config = match self.started()? {
            Some(now) => config.with("now", now),
            None => config,
        };
        if let Some(trigger) = self.record.get("trigger") {
            config.set("trigger", trigger.clone());
        }
        let failures = self.failures();
        if failures > 0 && self.counts_on() {
            config.set("failures", failures);
        }
        if let Some(report) = earlier.as_ref().filter(|_| is_run && self.counts_on()) {
            config.set("earlier", story::told(report));
        }
        let job = Job {
            config: config.into(),
            matter: None,
            run_dir: self.folder.clone(),
            experiments: Some(self.experiments(starts)?),
            builtin: toolbox.builtin.clone(),
            progress: compile::progress(global),
            waiting: Box::new(|holder| files::wait(&"the same search", holder)),
            teacher,
            reissue,
        };
        let driver = toolbox.driver(self.kind())?;
        let journal = toolbox.engine.journal(&driver, &toolbox.providers, &job)?;
        let cut_off = self.journals().into_iter().find(|other| *other != journal);
        match &earlier {
            None if !is_run => return Err(self.unfinished(cut_off.as_deref())),
            Some(_) if !is_run && cut_off.is_some() => return Err(self.unfinished(cut_off.as_deref())),
            _ => {}
        }
        if is_run {
            let name = journal.file_name().unwrap_or_default();
            files::write(&self.folder.join(RUNNING), name.as_encoded_bytes())?;
        }
        let counted = self.experiments(starts)?;
        let ended = toolbox.engine.run_driver(&driver, &toolbox.providers, job).inspect_err(|_| {
            // The driver has said no: going on, or deciding once more, tries again what failed.
            if !journal.exists() {
                self.failed(failures);
            }
        })?;
        let report = match (is_run, earlier) {
            (true, earlier) => story::gone_on(&ended.report.report, earlier.as_ref().filter(|_| self.counts_on())),
            // What a person had done to it is told beside what the search did.
            (false, Some(earlier)) => story::acted(&ended.report.report, &earlier),
            (false, None) => ended.report.report.clone(),
        };
        let mut report = self.on_its_backend(report);
        if let Value::Record(record) = &mut report
            && self.kind() == "spec-search"
        {
            // A driver knows only what it had run this time.
            record.set("experiments", counted.started());
        }
        tell_cost(&mut report, counted.cost());
        self.keep(&report)?;
        if is_run && is_failed(&report) {
            self.failed(failures);
        }
        let _ = fs::remove_dir(self.folder.join("work"));
        let done = ended.close().report;
        if is_run {
            self.ended();
        }
        Ok(if is_run { report } else { done })
    }

    /// A driver does not know where its commands were run.
    fn on_its_backend(&self, report: Value) -> Value {
        match (self.host("jobs"), report.as_record()) {
            (Some(jobs), Some(record)) if record.get("backend").is_some() => {
                record.clone().with("backend", backend::name(jobs)).into()
            }
            _ => report,
        }
    }

    /// Whether its driver goes on counting from a run that failed, and does not tell all of it anew.
    fn counts_on(&self) -> bool {
        self.kind() != "evolve"
    }

    /// The search has come to its end: what it was journaled in is of no further use.
    fn ended(&self) {
        let running = self.folder.join(RUNNING);
        let name = regular::read(&running, 256).ok().and_then(|name| String::from_utf8(name).ok());
        let own = name.filter(|name| name.starts_with("journal.") && !name.contains('/'));
        if let Some(name) = own {
            let _ = fs::remove_file(self.folder.join(name));
            let _ = fs::remove_file(running);
        }
    }

    /// Journals of what has not come to its end.
    fn journals(&self) -> Vec<PathBuf> {
        let named = |name: &str| name.strip_prefix("journal.").is_some_and(|rest| !rest.contains('.'));
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let own = files.filter(|file| file.file_name().to_str().is_some_and(named));
        own.map(|file| file.path()).collect()
    }

    /// Nothing is decided of a run that something is left to be done in: it would be lost.
    fn unfinished(&self, journal: Option<&Path>) -> Failure {
        let message = format!("the run {} was cut off, and has not come to its end", self.id);
        let mut help = format!("go on with it first: auto-host search {} --resume {}", self.verb(), self.id);
        if let Some(journal) = journal.filter(|_| self.folder.join("report.json").exists()) {
            help.push_str(&format!(
                "; or repeat the decision that was cut off, or give it up by removing {}",
                shown_path(journal)
            ));
        }
        Failure::new(Exit::Refused, "unfinished", message).help(help)
    }

    /// How often it failed: what failed then is tried anew, and not told from before.
    fn failures(&self) -> u64 {
        let text = regular::read(&self.folder.join(FAILURES), 64).unwrap_or_default();
        std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn failed(&self, before: u64) {
        // Where it cannot be written, the same is told once more.
        let _ = files::write(&self.folder.join(FAILURES), (before + 1).to_string().as_bytes());
    }

    /// When it was started, where that matters. Code: `run-damaged`.
    pub fn started(&self) -> Result<Option<u64>, Failure> {
        let path = self.folder.join(STARTED);
        if !path.exists() {
            return Ok(None);
        }
        let text = regular::read(&path, 64).map_err(|error| files::unreadable(&path, &error))?;
        let started = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        started.map(Some).ok_or_else(|| {
            Failure::new(Exit::Integrity, "run-damaged", format!("{} is no number of seconds", shown_path(&path)))
        })
    }

    /// Writes down what came of it, and what it made.
    fn keep(&self, report: &Value) -> Result<(), Failure> {
        self.made()?;
        files::write(&self.folder.join("index.html"), page::page(&self.id, report).as_bytes())?;
        // Last: with it the run has come to its end.
        files::write(&self.folder.join("report.json"), report.canonical().as_str().as_bytes())
    }

    /// The files of the state that counts, in `made`.
    fn made(&self) -> Result<(), Failure> {
        let Some(head) = self.blobs().head().map_err(unkept)? else { return Ok(()) };
        let state = Value::parse(self.blobs().get(head).map_err(unkept)?).unwrap_or(Value::Null);
        if let Some(spec) = state.get("spec").and_then(Value::as_text).and_then(Digest::parse) {
            files::write(&self.folder.join("made/spec.json"), &self.blobs().get(spec).map_err(unkept)?)?;
        }
        for file in state.get("files").and_then(Value::as_list).unwrap_or_default() {
            let text = |key: &str| file.get(key).and_then(Value::as_text);
            let (Some(path), Some(digest)) = (text("path"), text("digest").and_then(Digest::parse)) else { continue };
            let place = self.folder.join("made").join(path);
            files::write(&place, &self.blobs().get(digest).map_err(unkept)?)?;
            if file.get("executable").and_then(Value::as_bool) == Some(true) {
                use std::os::unix::fs::PermissionsExt as _;
                let _ = fs::set_permissions(&place, fs::Permissions::from_mode(0o755));
            }
        }
        Ok(())
    }

    fn experiments(&self, starts: bool) -> Result<Experiments, Failure> {
        let names = self.host("pass_environment").and_then(Value::as_list).unwrap_or_default();
        let mut settings = Settings {
            at_once: self.host("at_once").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()),
            network: self.host("network").and_then(Value::as_bool).unwrap_or(false),
            ..Settings::default()
        };
        for name in names.iter().filter_map(Value::as_text) {
            let value = std::env::var(name).map_err(|_| {
                let message = format!("the variable {} is to be handed on to the agent, and is not set", shown(name));
                Failure::new(Exit::Usage, "no-variable", message).help("set it, or take it out of pass_environment")
            })?;
            settings.environment.insert(name.to_owned(), value);
        }
        let budget = self.host("max_experiments").and_then(Value::as_u64).and_then(|most| u32::try_from(most).ok());
        let backend = backend::backend(self.host("jobs"), settings)?;
        let budget = if starts { budget.unwrap_or(u32::MAX) } else { 0 };
        let mut experiments = Experiments::of(&self.folder, Vec::new(), budget).with_configured(backend);
        if let Some(most) = self.host("max_runs_micro_usd").and_then(Value::as_u64) {
            experiments = experiments.up_to(most);
        }
        // Whoever gives a run up leaves nothing running.
        if !starts {
            experiments.cancel().map_err(unkept)?;
        }
        Ok(experiments)
    }
}

/// Puts into a report what the commands say that they cost, where any does.
fn tell_cost(report: &mut Value, cost: Cost) {
    if let Value::Record(record) = report
        && cost != Cost::default()
    {
        record.set("runs_micro_usd", cost.micro_usd);
        record.set("runs_that_told_their_cost", cost.told);
        record.set("runs_with_an_unreadable_cost", cost.unreadable);
    }
}

/// Every run in a folder, sorted; what is none of ours is left alone.
pub fn all(runs: &Path) -> Vec<Result<Run, (String, Failure)>> {
    let mut names: Vec<String> = fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("run.json").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.into_iter().map(|name| Run::load(runs, &name).map_err(|failure| (name, failure))).collect()
}

/// Whether it ended because something went wrong, so that it may go on.
pub fn is_failed(report: &Value) -> bool {
    report.get("status").and_then(Value::as_text) == Some("failed")
}

/// What a blob or the head says of itself.
pub fn unkept(fault: auto_jobs::Fault) -> Failure {
    let exit = if fault.code.ends_with("-damaged") { Exit::Integrity } else { Exit::Refused };
    Failure::new(exit, fault.code, fault.message)
}
