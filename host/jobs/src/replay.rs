//! Jobs that are not run: what came of them stands in the folder of a run that was made before, and
//! what does not stand there is refused.

use std::path::{Path, PathBuf};

use crate::backend::{Backend, Job, State};
use crate::blobs::Blobs;
use crate::cost;
use crate::experiment::{Experiment, Outcome};
use crate::experiments::recorded;
use crate::fault::Fault;

/// The backend.
pub struct Replay {
    /// The folder of the run that was made.
    run: PathBuf,
    blobs: Blobs,
}

impl Replay {
    /// What the run in this folder recorded.
    pub fn of(run: &Path) -> Replay {
        Replay { run: run.to_owned(), blobs: Blobs::of(run) }
    }

    fn found(&self, experiment: &Experiment) -> Result<Outcome, Fault> {
        // What is asked for its cost is recorded as the one that was not.
        let plain = cost::without(experiment);
        let found = recorded(&self.run, &self.blobs, experiment, experiment.key());
        found.or_else(|| recorded(&self.run, &self.blobs, &plain, plain.key())).ok_or_else(|| {
            let command = experiment.command.join(" ");
            let message = format!(
                "{} has nothing whole of the experiment {} ({command}); a replay runs nothing, so record it first",
                auto_schema::shown_path(&self.run),
                plain.key()
            );
            Fault::new("not-recorded", message)
        })
    }
}

impl Backend for Replay {
    fn name(&self) -> &str {
        "replay"
    }

    fn at_once(&self) -> usize {
        1
    }

    fn submit(&self, _: &Job, experiment: &Experiment, _: &Blobs) -> Result<(), Fault> {
        self.found(experiment).map(drop)
    }

    fn poll(&self, _: &Job) -> Result<State, Fault> {
        Ok(State::Ended)
    }

    fn cancel(&self, _: &Job) -> Result<(), Fault> {
        Ok(())
    }

    fn collect(&self, _: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault> {
        let outcome = self.found(experiment)?;
        let files = outcome.files.iter().map(|file| file.digest);
        for digest in [outcome.stdout, outcome.stderr].into_iter().chain(files) {
            blobs.put(&self.blobs.get(digest)?)?;
        }
        Ok(outcome)
    }
}
