//! Experiments that are answered from a run that was made before.

mod common;

use std::fs;
use std::sync::Arc;

use auto_jobs::{Blobs, Experiment, Experiments, Process, Replay, Settings};
use common::{Bench, shell};
use tempfile::TempDir;

#[test]
fn what_was_recorded_is_answered_and_nothing_is_run() {
    let (made, again) = (Bench::new(), TempDir::new().unwrap());
    let leaving = |script: &str| Experiment { collect: vec!["out".to_owned()], ..made.counting(script) };
    let both = [leaving("echo 7 > out; echo said"), leaving("exit 3")];
    let first = made.on(Process::new(Settings::default())).run("process", &both).unwrap();
    let replay = || Experiments::of(again.path(), Vec::new(), 9).with_configured(Arc::new(Replay::of(&made.run)));
    assert_eq!(replay().run("process", &both).unwrap(), first);
    assert_eq!(made.count(), 2, "each was run when it was recorded");
    // What it left is in the new run, too, which stands by itself from then on.
    let outcome = first[0].as_ref().unwrap();
    assert_eq!(Blobs::of(again.path()).get(outcome.files[0].digest).unwrap(), b"7\n");
    // What nobody recorded is refused, and so is what was changed since.
    let other = shell("echo other");
    let fault = replay().run("process", &[other]).unwrap().remove(0).unwrap_err();
    assert_eq!((fault.code, fault.passing), ("not-recorded", false), "{fault}");
    let third = TempDir::new().unwrap();
    fs::write(made.path("blobs").join(outcome.files[0].digest.to_string()), "8\n").unwrap();
    let replay = Experiments::of(third.path(), Vec::new(), 9).with_configured(Arc::new(Replay::of(&made.run)));
    let results = replay.run("process", &both).unwrap();
    assert_eq!(results[0].as_ref().unwrap_err().code, "not-recorded");
    assert!(results[1].is_ok());
}
