//! Jobs for Kubernetes: a manifest a job, handed to the user's `kubectl`, which knows where the cluster
//! is and who the user is. The run's folder is on a volume that the pods mount, too.

use std::path::PathBuf;

use auto_json::{Record, Value};

use crate::ask::{ask, command};
use crate::backend::{Backend, Job};
use crate::experiment::Limits;
use crate::posted::{Patience, Posted, Scheduler, Seen};
use crate::process::Settings;

/// Where a pod has the volume.
const MOUNT: &str = "/auto";
/// What a pod may take beside the command's memory, in MiB: the shell that starts it.
const BESIDE: u32 = 64;
/// How long the cluster remembers a job that ended, in seconds.
const REMEMBERED: u32 = 86_400;

/// What is to be known of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubernetes {
    /// The command.
    pub kubectl: Vec<String>,
    /// Where jobs go; that of `kubectl`'s own context where it is none.
    pub namespace: Option<String>,
    /// What a job runs in: an image with a POSIX shell and what the command needs.
    pub image: String,
    /// The volume claim that pods mount.
    pub claim: String,
    /// The folder that the same volume is here. Runs have to lie in it.
    pub folder: PathBuf,
    /// Of a job.
    pub cpus: u32,
    /// The Secret whose keys are the variables that are handed on.
    pub secret: Option<String>,
    /// Whose account a pod has; it gets no token of it in any case.
    pub service_account: Option<String>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Kubernetes {
    /// The backend.
    pub fn backend(self, settings: Settings) -> impl Backend {
        let patience = self.patience;
        Posted::new(self, settings, patience)
    }

    /// The manifest of a job. An error says that its folder is not on the volume.
    fn manifest(&self, job: &Job, limits: &Limits, settings: &Settings) -> Result<Value, String> {
        let text = |key: &str, value: &str| Record::new().with(key, value);
        let inside = job.folder.strip_prefix(&self.folder).ok().and_then(|inside| inside.to_str());
        let Some(inside) = inside else {
            let (job, folder) = (job.folder.display(), self.folder.display());
            return Err(format!("{job} is not in {folder}, which `folder` says the volume is here; give --runs"));
        };
        let mut parts = job.name.split('-');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (_, run, key) = (part(), part(), part());
        let labels = text("app.kubernetes.io/managed-by", "auto-host").with("auto-run", run).with("auto-key", key);
        let quantities =
            |memory: u32| Record::new().with("cpu", self.cpus.to_string()).with("memory", format!("{memory}Mi"));
        let memory = limits.memory_mib.saturating_add(BESIDE);
        let secret = |name: &String| -> Value {
            let key = text("name", self.secret.as_deref().unwrap_or_default()).with("key", name.as_str());
            text("name", name).with("valueFrom", Record::new().with("secretKeyRef", key)).into()
        };
        let dropped = Record::new().with("drop", vec![Value::from("ALL")]);
        let security = Record::new().with("allowPrivilegeEscalation", false).with("capabilities", dropped);
        let mount = text("name", "runs").with("mountPath", MOUNT);
        let container = text("name", "job")
            .with("image", self.image.as_str())
            .with("command", vec![Value::from("sh"), Value::from("job.sh")])
            .with("workingDir", format!("{MOUNT}/{inside}"))
            .with("env", settings.environment.keys().map(secret).collect::<Vec<_>>())
            .with("resources", Record::new().with("requests", quantities(memory)).with("limits", quantities(memory)))
            .with("securityContext", security)
            .with("volumeMounts", vec![mount.into()]);
        let claim = text("name", "runs").with("persistentVolumeClaim", text("claimName", &self.claim));
        let mut pod = text("restartPolicy", "Never")
            .with("automountServiceAccountToken", false)
            .with("enableServiceLinks", false)
            .with("containers", vec![container.into()])
            .with("volumes", vec![claim.into()]);
        if let Some(account) = &self.service_account {
            pod.set("serviceAccountName", account.as_str());
        }
        // The cluster's clock begins before the pod does.
        let queue = u32::try_from(self.patience.queue.as_secs()).unwrap_or(u32::MAX);
        let template = Record::new().with("metadata", Record::new().with("labels", labels.clone())).with("spec", pod);
        let spec = Record::new()
            .with("backoffLimit", 0)
            .with("completions", 1)
            .with("parallelism", 1)
            .with("activeDeadlineSeconds", limits.seconds.saturating_add(60).saturating_add(queue))
            .with("ttlSecondsAfterFinished", REMEMBERED)
            .with("template", template);
        let mut metadata = text("name", &job.name).with("labels", labels);
        if let Some(namespace) = &self.namespace {
            metadata.set("namespace", namespace.as_str());
        }
        Ok(text("apiVersion", "batch/v1").with("kind", "Job").with("metadata", metadata).with("spec", spec).into())
    }

    /// What `kubectl` says.
    fn asked(&self, words: &[&str], input: &str) -> Result<String, String> {
        let mut kubectl = command(&self.kubectl);
        kubectl.args(self.namespace.iter().map(|namespace| format!("--namespace={namespace}"))).args(words);
        let said = ask(&mut kubectl, input)?;
        if said.well { Ok(said.out) } else { Err(said.complaint) }
    }

    /// Whether the pod of a job that failed was killed for its memory.
    fn out_of_memory(&self, job: &Job) -> Result<bool, String> {
        let selector = format!("--selector=job-name={}", job.name);
        let pods = self.asked(&["get", "pods", &selector, "--output=json"], "")?;
        let pods = Value::parse(&pods).map_err(|error| format!("kubectl says no JSON: {error}"))?;
        let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        let of = |pod: &Value| pod.get("status").map(|status| list(status, "containerStatuses")).unwrap_or_default();
        let killed = |status: &Value| {
            let reason = status.get("state").and_then(|state| state.get("terminated")?.get("reason")?.as_text());
            reason == Some("OOMKilled")
        };
        Ok(list(&pods, "items").iter().any(|pod| of(pod).iter().any(killed)))
    }
}

impl Scheduler for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    /// A cluster has one job of a name, so that one is not made twice.
    fn launch(&self, job: &Job, limits: &Limits, settings: &Settings) -> Result<(), String> {
        let manifest = self.manifest(job, limits, settings)?.canonical().into_string();
        match self.asked(&["create", "--filename=-"], &manifest) {
            Err(why) if why.contains("AlreadyExists") || why.contains("already exists") => Ok(()),
            made => made.map(drop),
        }
    }

    fn look(&self, job: &Job) -> Result<Seen, String> {
        let found = self.asked(&["get", "job", &job.name, "--output=json", "--ignore-not-found"], "")?;
        if found.trim().is_empty() {
            return Ok(Seen::Absent);
        }
        let found = Value::parse(&found).map_err(|error| format!("kubectl says no JSON: {error}"))?;
        let status = found.get("status");
        let conditions = status.and_then(|status| status.get("conditions")?.as_list()).unwrap_or_default();
        let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
        let holds =
            |one: &&Value| text(one, "status") == "True" && ["Complete", "Failed"].contains(&&*text(one, "type"));
        if let Some(condition) = conditions.iter().find(holds) {
            if text(condition, "type") == "Failed" && self.out_of_memory(job)? {
                return Ok(Seen::OutOfMemory);
            }
            return Ok(Seen::Ended(format!("{} {}", text(condition, "type"), text(condition, "reason"))));
        }
        let ready = status.and_then(|status| status.get("ready")?.as_u64()).unwrap_or(0);
        Ok(if ready > 0 { Seen::Running } else { Seen::Waiting })
    }

    fn stop(&self, job: &Job) -> Result<(), String> {
        let words = ["delete", "job", &job.name, "--ignore-not-found", "--wait=false", "--cascade=background"];
        self.asked(&words, "").map(drop)
    }
}
