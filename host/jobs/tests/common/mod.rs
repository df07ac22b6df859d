//! What the tests of all backends start from: an experiment, and the folder of a run.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use auto_jobs::{Backend, Blobs, Experiment, Experiments, Fault, File, Limits, Outcome, Patience};
use auto_schema::digest::Digest;
use tempfile::TempDir;

/// Of an experiment.
pub const LIMITS: Limits = Limits { seconds: 60, cpu_seconds: 10, memory_mib: 512, output_bytes: 64 << 10, files: 8 };

/// Of those that wait for a scheduler. What has to settle in it is lost, and no test waits for much more.
pub fn patience() -> Patience {
    Patience {
        poll: Duration::from_millis(100),
        queue: Duration::from_secs(60),
        grace: Duration::from_secs(10),
        settle: Duration::from_secs(3),
        unreachable: Duration::from_secs(1),
    }
}

/// A script for a shell.
pub fn shell(script: &str) -> Experiment {
    Experiment {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        input: String::new(),
        files: Vec::new(),
        collect: Vec::new(),
        limits: LIMITS,
        costs: false,
    }
}

/// The folder of a run, in one that is gone with this.
pub struct Bench {
    pub folder: TempDir,
    pub run: PathBuf,
    pub blobs: Blobs,
}

impl Bench {
    /// One where that folder is the run's.
    pub fn new() -> Bench {
        Bench::at("")
    }

    /// One where the run is in this place of the folder.
    pub fn at(place: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join(place);
        fs::create_dir_all(&run).unwrap();
        Bench { blobs: Blobs::of(&run), folder, run }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What runs everything on a backend.
    pub fn on(&self, backend: impl Backend + 'static) -> Experiments {
        Experiments::of(&self.run, Vec::new(), 100).with_configured(Arc::new(backend))
    }

    /// What comes of one experiment there.
    pub fn run_on(&self, backend: impl Backend + 'static, experiment: &Experiment) -> Result<Outcome, Fault> {
        self.on(backend).run("process", std::slice::from_ref(experiment)).unwrap().remove(0)
    }

    /// A script that writes down that it was begun.
    pub fn counting(&self, script: &str) -> Experiment {
        let count = ("COUNT".to_owned(), self.path("count").display().to_string());
        Experiment { environment: vec![count], ..shell(&format!("echo x >> $COUNT; {script}")) }
    }

    /// How often one was.
    pub fn count(&self) -> usize {
        fs::read_to_string(self.path("count")).unwrap_or_default().lines().count()
    }

    pub fn text(&self, digest: Digest) -> String {
        String::from_utf8(self.blobs.get(digest).unwrap()).unwrap()
    }

    pub fn file(&self, path: &str, text: &str, executable: bool) -> File {
        File { path: path.to_owned(), digest: self.blobs.put(text.as_bytes()).unwrap(), executable }
    }
}

/// Waits until something is so.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Does the same for all at once: most of it is waiting.
pub fn side_by_side<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
    thread::scope(|scope| all.iter().for_each(|one| drop(scope.spawn(|| work(one)))));
}
