//! What a search job needs beside the engine: bytes by their digest and the head of a run
//! ([`Blobs`]), and commands that are run somewhere else ([`Experiments`], [`Backend`]).
//!
//! An experiment is data: a command, the files it starts from, limits, and a key made of all of
//! that. A backend gives what came of it: how it ended and the files that it left. One that could
//! not be run at all is a [`Fault`], never a failed run, so that no search is scored on the sample
//! that happened to work. [`Process`] and [`Container`] run on this machine, [`Slurm`] and
//! [`Kubernetes`] where the run's folder is seen, and [`Replay`] runs nothing; others only have to
//! implement [`Backend`].
//!
//! What a job is, and how its calls survive a crash, is the engine's.

mod ask;
mod backend;
mod blobs;
mod collect;
mod container;
mod cost;
mod counted;
mod experiment;
mod experiments;
mod fault;
mod kubernetes;
mod place;
mod posted;
mod process;
mod replay;
mod script;
mod slurm;
mod withheld;

pub use backend::{Backend, Job, State};
pub use blobs::{Blobs, Head, MOST_BYTES};
pub use container::Container;
pub use cost::Cost;
pub use experiment::{Ending, Experiment, File, Limits, Outcome};
pub use experiments::Experiments;
pub use fault::Fault;
pub use kubernetes::Kubernetes;
pub use posted::Patience;
pub use process::{PROCESSES, Process, Settings};
pub use replay::Replay;
pub use slurm::Slurm;
pub use withheld::{forms, is_withheld};
