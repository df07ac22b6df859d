//! Jobs for Slurm: `sbatch` starts them, `scontrol` says where they are, `scancel` ends them. No
//! accounting database is asked for anything.

use std::path::PathBuf;

use auto_files::regular;

use crate::ask::{ask, command};
use crate::backend::{Backend, Job};
use crate::experiment::Limits;
use crate::posted::{Patience, Posted, Scheduler, Seen};
use crate::process::Settings;

/// What is to be known of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slurm {
    /// The commands.
    pub sbatch: Vec<String>,
    /// As `sbatch`.
    pub scontrol: Vec<String>,
    /// As `sbatch`.
    pub scancel: Vec<String>,
    /// Where jobs go; Slurm's own default where it is none.
    pub partition: Option<String>,
    /// Of a job.
    pub cpus: u32,
    /// More arguments for `sbatch`.
    pub options: Vec<String>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Slurm {
    /// The backend. The folder of the run has to be one that the nodes see under the same path.
    pub fn backend(self, settings: Settings) -> impl Backend {
        let patience = self.patience;
        Posted::new(self, settings, patience)
    }

    /// What `scontrol` says of the jobs that it is asked for; none where it knows no such job.
    fn shown(&self, id: Option<&str>) -> Result<Option<String>, String> {
        let said = ask(command(&self.scontrol).args(["--oneliner", "show", "job"]).args(id), "")?;
        match said.well {
            true => Ok(Some(said.out)),
            false if said.complaint.contains("Invalid job id") => Ok(None),
            false => Err(said.complaint),
        }
    }
}

/// Where the number that Slurm gave a job is written down.
fn number(job: &Job) -> PathBuf {
    job.folder.join("id")
}

impl Scheduler for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn launch(&self, job: &Job, limits: &Limits, settings: &Settings) -> Result<(), String> {
        let mut sbatch = command(&self.sbatch);
        // Slurm's own limit is in minutes, and there only if the script's does not hold.
        let minutes = limits.seconds.div_ceil(60).saturating_add(1);
        let handed = settings.environment.keys().map(String::as_str);
        let export = ["PATH"].into_iter().chain(handed).collect::<Vec<_>>().join(",");
        sbatch.args(["--parsable", "--no-requeue", "--ntasks=1", "--input=/dev/null", "--open-mode=append"]);
        sbatch.arg(format!("--job-name={}", job.name)).arg(format!("--chdir={}", job.folder.display()));
        sbatch.arg(format!("--output={}", job.folder.join("said").display()));
        sbatch.arg(format!("--time={minutes}")).arg(format!("--mem={}M", limits.memory_mib));
        sbatch.arg(format!("--cpus-per-task={}", self.cpus)).arg(format!("--export={export}"));
        sbatch.args(self.partition.iter().map(|partition| format!("--partition={partition}")));
        sbatch.args(&self.options).arg(job.folder.join("job.sh")).envs(&settings.environment);
        let said = ask(&mut sbatch, "")?;
        if !said.well {
            return Err(said.complaint);
        }
        // `NUMBER` or `NUMBER;CLUSTER`. Where it is lost, the job is found by its name.
        let id = said.out.trim().split(';').next().unwrap_or_default().to_owned();
        auto_files::replace(&number(job), id.as_bytes()).map_err(|error| error.to_string())
    }

    fn look(&self, job: &Job) -> Result<Seen, String> {
        let id = regular::read(&number(job), 64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let shown = match &id {
            Some(id) => self.shown(Some(id))?,
            None => self.shown(None)?,
        };
        // A number may be another job's by now.
        let name = format!(" JobName={} ", job.name);
        let shown = shown.unwrap_or_default();
        let own = shown.lines().filter(|line| line.contains(&name));
        let seen: Vec<Seen> = own.map(seen).collect();
        // Of several, one that is still there counts.
        let first = |wanted: fn(&Seen) -> bool| seen.iter().find(|seen| wanted(seen)).cloned();
        Ok(first(|seen| *seen == Seen::Running)
            .or_else(|| first(|seen| *seen == Seen::Waiting))
            .or_else(|| seen.first().cloned())
            .unwrap_or(Seen::Absent))
    }

    fn stop(&self, job: &Job) -> Result<(), String> {
        let name = format!("--name={}", job.name);
        // At once where it runs, which says nothing to one that waits.
        ask(command(&self.scancel).args(["--full", "--signal=KILL", "--quiet", &name]), "")?;
        let said = ask(command(&self.scancel).args(["--quiet", &name]), "")?;
        if said.well { Ok(()) } else { Err(said.complaint) }
    }
}

/// The state in a line of `scontrol`.
fn seen(line: &str) -> Seen {
    let state = line.split(' ').find_map(|word| word.strip_prefix("JobState=")).unwrap_or_default();
    match state {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD" | "SUSPENDED" => Seen::Waiting,
        "RUNNING" | "COMPLETING" | "STAGE_OUT" | "SIGNALING" | "STOPPED" => Seen::Running,
        "OUT_OF_MEMORY" => Seen::OutOfMemory,
        other => Seen::Ended(other.to_owned()),
    }
}
