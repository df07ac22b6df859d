//! Where the commands of a run are run: the backend of `[jobs]`, as it was kept with the run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auto_jobs::{Backend, Container, Kubernetes, Patience, Process, Replay, Settings, Slurm};
use auto_json::Value;
use auto_schema::shown;

use super::wasm::Wasm;
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
        "container" => Ok(Arc::new(table.container().backend(settings))),
        "kubernetes" => {
            let handed = settings.environment.keys().next().filter(|_| table.text("secret").is_none());
            if let Some(handed) = handed {
                let message = format!("what the variable {} holds would stand in every manifest", shown(handed));
                let help =
                    "put it into a Secret of the cluster under that name, and name the Secret with `secret` in [jobs]";
                return Err(Failure::new(Exit::Usage, "no-secret", message).help(help));
            }
            Ok(Arc::new(table.kubernetes().backend(settings)))
        }
        "wasm" => Ok(Arc::new(Wasm::new(table.number("fuel").unwrap_or(1), settings.at_once))),
        "replay" => replay(&table.text("from").unwrap_or_default()),
        other => {
            let message = format!("the run is for the backend {}, which this version does not have", shown(other));
            Err(Failure::new(Exit::Refused, "unknown-backend", message))
        }
    }
}

/// What the run in a folder recorded. Code: `no-run`.
fn replay(from: &str) -> Result<Arc<dyn Backend>, Failure> {
    let folder = Path::new(from);
    if !folder.join("run.json").exists() {
        let message = format!("there is no run in {}, which `from` in [jobs] names", shown(from));
        let help = "name the folder of a run, such as search-runs/evolve-6bc96ccb1462";
        return Err(Failure::new(Exit::Usage, "no-run", message).help(help));
    }
    Ok(Arc::new(Replay::of(folder)))
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
            grace: Patience::GRACE,
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

    fn container(&self) -> Container {
        Container {
            command: self.words("command"),
            image: self.text("image").unwrap_or_default(),
            options: self.words("options"),
            patience: self.patience(),
        }
    }

    fn kubernetes(&self) -> Kubernetes {
        Kubernetes {
            kubectl: self.words("kubectl"),
            namespace: self.text("namespace"),
            image: self.text("image").unwrap_or_default(),
            claim: self.text("claim").unwrap_or_default(),
            folder: self.text("folder").unwrap_or_default().into(),
            cpus: self.cpus(),
            secret: self.text("secret"),
            service_account: self.text("service_account"),
            patience: self.patience(),
        }
    }
}
