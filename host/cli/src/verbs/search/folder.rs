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
use auto_jobs::Settings;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::{shown, shown_path};

use super::{backend, page};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::Exit;
use crate::verbs::compile;

/// When a run was started, where that matters: seconds since 1970.
const STARTED: &str = "started";

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
        let given = Record::new()
            .with("form", FORM)
            .with("kind", self.kind)
            .with("label", self.label.as_str())
            .with("settings", self.settings)
            .with("inputs", inputs)
            .with("host", self.host);
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
            return Ok(report.clone());
        }
        let part = |key: &str| self.record.get(key).cloned().unwrap_or(Value::Null);
        let config =
            action.with("run", self.id.as_str()).with("settings", part("settings")).with("inputs", part("inputs"));
        let config = match self.started()? {
            Some(now) => config.with("now", now),
            None => config,
        };
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
        let ended = toolbox.engine.run_driver(&toolbox.driver(self.kind())?, &toolbox.providers, job)?;
        let report = match (is_run, earlier) {
            (true, earlier) => with_earlier(&ended.report.report, earlier.as_ref()),
            // What a person had done to it is told beside what the search did.
            (false, Some(earlier)) => acted(&ended.report.report, &earlier),
            (false, None) => ended.report.report.clone(),
        };
        let report = self.on_its_backend(report);
        self.keep(&report)?;
        let _ = fs::remove_dir(self.folder.join("work"));
        let done = ended.close().report;
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

    /// When it was started, where that matters. Code: `run-damaged`.
    fn started(&self) -> Result<Option<u64>, Failure> {
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
        let experiments = Experiments::of(&self.folder, Vec::new(), budget).with_configured(backend);
        // Whoever gives a run up leaves nothing running.
        if !starts {
            experiments.cancel().map_err(unkept)?;
        }
        Ok(experiments)
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

/// A run that failed and went on: what was done before is told first.
fn with_earlier(report: &Value, earlier: Option<&Value>) -> Value {
    let (Some(earlier), Some(now)) = (earlier, report.as_record()) else { return report.clone() };
    let mut whole = now.clone();
    for key in ["timeline", "levels"] {
        let list = |value: &Value| value.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        whole.set(key, [list(earlier), list(report)].concat());
    }
    for key in ["spent_micro_usd", "calls", "experiments"] {
        let number = |value: &Value| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        whole.set(key, number(earlier).saturating_add(number(report)));
    }
    if let Some(before) = earlier.get("before") {
        whole.set("before", before.clone());
    }
    whole.into()
}

/// What a person had done.
fn acted(done: &Value, earlier: &Value) -> Value {
    // One that tells everything anew is taken as it is.
    if done.get("timeline").is_some() {
        return done.clone();
    }
    let mut whole = earlier.as_record().cloned().unwrap_or_default();
    let mut timeline = earlier.get("timeline").and_then(Value::as_list).unwrap_or_default().to_vec();
    let text = |key: &str| done.get(key).and_then(Value::as_text).unwrap_or_default();
    let note = Record::new()
        .with("kind", "note")
        .with("id", format!("a{:02}", timeline.len() + 1))
        .with("target", "head")
        .with("status", text("status"))
        .with("reason", text("why"));
    match done.get("entries").and_then(Value::as_list) {
        Some(entries) => timeline.extend(entries.iter().cloned()),
        None => timeline.push(note.into()),
    }
    whole.set("timeline", timeline);
    // Whoever keeps a queue says what is left of it, and what counts now.
    if let Some(pending) = done.get("pending").and_then(Value::as_list).filter(|_| !is_failed(earlier)) {
        whole.set("status", if pending.is_empty() { "complete" } else { "awaiting_review" });
    }
    for key in ["pending", "after", "spec"] {
        if let Some(value) = done.get(key) {
            whole.set(key, value.clone());
        }
    }
    if let Some(head) = done.get("head") {
        whole.set("head", head.clone());
    }
    whole.into()
}

/// What a blob or the head says of itself.
pub fn unkept(fault: auto_jobs::Fault) -> Failure {
    let exit = if fault.code.ends_with("-damaged") { Exit::Integrity } else { Exit::Refused };
    Failure::new(exit, fault.code, fault.message)
}
