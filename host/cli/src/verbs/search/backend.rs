//! Where the commands of a run are run: the backend of `[jobs]`, as it was kept with the run.

use std::sync::Arc;
use std::time::Duration;

use auto_jobs::{Backend, Patience, Process, Settings, Slurm};
use auto_json::Value;
use auto_schema::shown;

use crate::failure::Failure;
use crate::reply::Exit;

/// The backend of a run's record; processes of this machine where it has none.
pub fn backend(jobs: Option<&Value>, settings: Settings) -> Result<Arc<dyn Backend>, Failure> {
    let Some(jobs) = jobs else { return Ok(Arc::new(Process::new(settings))) };
    let table = Table(jobs);
    let processes = table.number("processes").and_then(|most| u32::try_from(most).ok());
    let settings = Settings { processes: processes.unwrap_or(settings.processes), ..settings };
    match name(jobs) {
        "process" => Ok(Arc::new(Process::new(settings))),
        "slurm" => Ok(Arc::new(table.slurm().backend(settings))),
        other => {
            let message = format!("the run is for the backend {}, which this version does not have", shown(other));
            Err(Failure::new(Exit::Refused, "unknown-backend", message))
        }
    }
}

/// What the backend of a run's record is called.
pub fn name(jobs: &Value) -> &str {
    jobs.get("backend").and_then(Value::as_text).unwrap_or_default()
}

/// A table that was read strictly when the run was begun, with every default in it.
struct Table<'v>(&'v Value);

impl Table<'_> {
    fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Value::as_u64)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_text).map(str::to_owned)
    }

    fn words(&self, key: &str) -> Vec<String> {
        let words = self.0.get(key).and_then(Value::as_list).unwrap_or_default();
        words.iter().filter_map(Value::as_text).map(str::to_owned).collect()
    }

    fn cpus(&self) -> u32 {
        self.number("cpus").and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(1)
    }

    fn patience(&self) -> Patience {
        let seconds = |key: &str| Duration::from_secs(self.number(key).unwrap_or(1));
        Patience {
            poll: seconds("poll_seconds"),
            queue: seconds("queue_seconds"),
            settle: seconds("settle_seconds"),
            unreachable: seconds("answer_seconds"),
        }
    }

    fn slurm(&self) -> Slurm {
        Slurm {
            sbatch: self.words("sbatch"),
            scontrol: self.words("scontrol"),
            scancel: self.words("scancel"),
            partition: self.text("partition"),
            cpus: self.cpus(),
            options: self.words("options"),
            patience: self.patience(),
        }
    }
}
