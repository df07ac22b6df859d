//! Experiments that are answered from a run that was made before.

use std::fs;
use std::sync::Arc;

use auto_jobs::{Blobs, Experiment, Experiments, Limits, Process, Replay, Settings};
use tempfile::TempDir;

fn shell(script: &str) -> Experiment {
    Experiment {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        input: String::new(),
        files: Vec::new(),
        collect: vec!["out".to_owned()],
        limits: Limits { seconds: 20, cpu_seconds: 10, memory_mib: 512, output_bytes: 64 << 10, files: 8 },
        costs: false,
    }
}

#[test]
fn what_was_recorded_is_answered_and_nothing_is_run() {
    let (made, again) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let count = made.path().join("count");
    let counted = |script: &str| Experiment {
        environment: vec![("COUNT".to_owned(), count.display().to_string())],
        ..shell(&format!("echo x >> $COUNT; {script}"))
    };
    let both = [counted("echo 7 > out; echo said"), counted("exit 3")];
    let process = Arc::new(Process::new(Settings::default()));
    let first = Experiments::of(made.path(), vec![process], 9).run("process", &both).unwrap();
    let replay = || Experiments::of(again.path(), Vec::new(), 9).with_configured(Arc::new(Replay::of(made.path())));
    assert_eq!(replay().run("process", &both).unwrap(), first);
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2, "each was run when it was recorded");
    // What it left is in the new run, too, which stands by itself from then on.
    let outcome = first[0].as_ref().unwrap();
    assert_eq!(Blobs::of(again.path()).get(outcome.files[0].digest).unwrap(), b"7\n");
    // What nobody recorded is refused, and so is what was changed since.
    let other = shell("echo other");
    let fault = replay().run("process", &[other]).unwrap().remove(0).unwrap_err();
    assert_eq!((fault.code, fault.passing), ("not-recorded", false), "{fault}");
    let third = TempDir::new().unwrap();
    fs::write(made.path().join("blobs").join(outcome.files[0].digest.to_string()), "8\n").unwrap();
    let replay = Experiments::of(third.path(), Vec::new(), 9).with_configured(Arc::new(Replay::of(made.path())));
    let results = replay.run("process", &both).unwrap();
    assert_eq!(results[0].as_ref().unwrap_err().code, "not-recorded");
    assert!(results[1].is_ok());
}
