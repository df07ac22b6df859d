//! Jobs as containers of this machine, by the user's `podman` or `docker`: an OCI image, no network
//! unless it is wanted, no capabilities, a root that cannot be written.

use auto_json::Value;

use crate::ask::{ask, command};
use crate::backend::{Backend, Job};
use crate::experiment::Limits;
use crate::posted::{Patience, Posted, Scheduler, Seen};
use crate::process::Settings;

/// Where a container has its job's folder.
const MOUNT: &str = "/auto";
/// What a container may take beside the command's memory, in MiB: the shell that starts it.
const BESIDE: u32 = 64;

/// What containers are run by, and in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// `podman` or `docker`, or one that is called as they are.
    pub command: Vec<String>,
    /// An image with a POSIX shell and what the command needs.
    pub image: String,
    /// More arguments for `run`.
    pub options: Vec<String>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Container {
    /// The backend.
    pub fn backend(self, settings: Settings) -> impl Backend {
        let patience = self.patience;
        Posted::new(self, settings, patience)
    }
}

/// Whether the complaint is that there is no container of the name.
fn is_absent(complaint: &str) -> bool {
    let complaint = complaint.to_lowercase();
    ["no such container", "no such object", "no container with name"].iter().any(|words| complaint.contains(words))
}

impl Scheduler for Container {
    fn name(&self) -> &'static str {
        "container"
    }

    fn launch(&self, job: &Job, limits: &Limits, settings: &Settings) -> Result<(), String> {
        let memory = limits.memory_mib.saturating_add(BESIDE);
        let mut run = command(&self.command);
        run.args(["run", "--detach", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"]);
        run.args(["--tmpfs=/tmp", &format!("--workdir={MOUNT}"), &format!("--name={}", job.name)]);
        run.arg(format!("--volume={}:{MOUNT}", job.folder.display()));
        run.arg(format!("--memory={memory}m")).arg(format!("--pids-limit={}", settings.processes));
        run.args(if settings.network { None } else { Some("--network=none") });
        // By name: what a variable holds is not in the arguments.
        run.args(settings.environment.keys().map(|name| format!("--env={name}"))).envs(&settings.environment);
        run.args(&self.options).arg(&self.image).args(["sh", "job.sh"]);
        let said = ask(&mut run, "")?;
        // One that was made and could not be started is in the way of the next.
        if said.well { Ok(()) } else { self.stop(job).and(Err(said.complaint)) }
    }

    fn look(&self, job: &Job) -> Result<Seen, String> {
        let mut inspect = command(&self.command);
        let said = ask(inspect.args(["inspect", "--type=container", "--format={{json .State}}", &job.name]), "")?;
        if !said.well {
            return if is_absent(&said.complaint) { Ok(Seen::Absent) } else { Err(said.complaint) };
        }
        let state = Value::parse(said.out.trim()).map_err(|error| format!("inspect says no JSON: {error}"))?;
        let status = state.get("Status").and_then(Value::as_text).unwrap_or_default();
        Ok(match status {
            "created" | "configured" | "initialized" => Seen::Waiting,
            "running" | "paused" | "restarting" | "stopping" => Seen::Running,
            _ if state.get("OOMKilled").and_then(Value::as_bool) == Some(true) => Seen::OutOfMemory,
            other => Seen::Ended(other.to_owned()),
        })
    }

    fn stop(&self, job: &Job) -> Result<(), String> {
        // At once, where it runs; else it is asked to end, and waited for.
        ask(command(&self.command).args(["kill", "--signal=KILL", &job.name]), "")?;
        let said = ask(command(&self.command).args(["rm", "--force", &job.name]), "")?;
        if said.well || is_absent(&said.complaint) { Ok(()) } else { Err(said.complaint) }
    }

    fn tidy(&self, job: &Job) {
        // One that stays is in nobody's way.
        let _ = self.stop(job);
    }

    fn kept(&self, settings: &Settings) -> Vec<&'static str> {
        let network = if settings.network { None } else { Some("no-network") };
        ["process-namespace", "process-count"].into_iter().chain(network).collect()
    }
}
