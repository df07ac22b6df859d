//! What everything that runs experiments has in common: a job is submitted, looked after, cancelled,
//! and what it left is collected. Who asks, how often, and what is tried again is in
//! [`Experiments`](crate::Experiments).

use std::path::PathBuf;

use crate::blobs::Blobs;
use crate::experiment::{Experiment, Outcome};
use crate::fault::Fault;

/// One attempt at one experiment of one run.
///
/// Its name is made of all three, so that whoever submits the same again, in this process or in the
/// next one, finds the job that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// `auto-RUN-KEY-ATTEMPT`, of lower-case letters, digits and `-`, at most 63 characters.
    pub name: String,
    /// Its own folder, below the run's.
    pub folder: PathBuf,
    /// What the experiment may take by the clock.
    pub seconds: u32,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was accepted.
    Queued,
    /// It has begun.
    Running,
    /// It came to an end, and what it left can be collected.
    Ended,
    /// It will come to no end: nobody knows of it, or it ended and left nothing. In words.
    Lost(String),
}

/// Where jobs are run.
///
/// A fault is one of the machine or of the moment, or a command that is not there; it never says
/// anything about the experiment. One that is passing is met with another attempt, which is another
/// job; `unreachable` leaves the job where it is, so that another process finds it.
pub trait Backend: Send + Sync {
    /// Its name, as `[jobs]` has it.
    fn name(&self) -> &str;

    /// How many may be there at once.
    fn at_once(&self) -> usize;

    /// Starts a job, or finds it where it was started before. All calls about a job come from one
    /// thread.
    fn submit(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<(), Fault>;

    /// How far it is. A job that is over its time is ended here, with everything that it started.
    fn poll(&self, job: &Job) -> Result<State, Fault>;

    /// Ends it, wherever it is; well, too, where it is not there.
    fn cancel(&self, job: &Job) -> Result<(), Fault>;

    /// What came of a job that ended; what it left goes to the blobs.
    fn collect(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault>;
}
