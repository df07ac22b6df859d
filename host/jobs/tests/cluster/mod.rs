//! A real Slurm of one node, on loopback alone, with a configuration and folders of its own: `munged`,
//! `slurmctld` and `slurmd` of Debian's packages, started here and ended by their process ids.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The cluster, while this lives.
pub struct Cluster {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// The one of this process, as long as a test has it; none, said on stderr with what to do, where
    /// there is no Slurm.
    pub fn shared() -> Option<Arc<Cluster>> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = shared.upgrade() {
            return Some(cluster);
        }
        let cluster = Arc::new(Cluster::start()?);
        *shared = Arc::downgrade(&cluster);
        Some(cluster)
    }

    fn start() -> Option<Cluster> {
        let there = |program: &str| {
            let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
                .any(|at| at.join(program).exists());
            found || Path::new("/usr/sbin").join(program).exists()
        };
        for program in ["slurmctld", "slurmd", "sbatch", "scontrol", "scancel", "munged"] {
            if !there(program) {
                eprintln!("skipped: there is no {program}; get it with: sudo apt-get install -y slurm-wlm munge");
                return None;
            }
        }
        let folder = tempfile::Builder::new().prefix("slurm").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["state", "spool"] {
            fs::create_dir(at(name)).unwrap();
        }
        // A key for this cluster alone: nobody else's secret, and gone with the folder.
        fs::write(at("key"), (0..128_u8).map(|at| at.wrapping_mul(37)).collect::<Vec<u8>>()).unwrap();
        let mut key = fs::metadata(at("key")).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut key, 0o600);
        fs::set_permissions(at("key"), key).unwrap();
        fs::write(at("slurm.conf"), configuration(folder.path())).unwrap();
        let mut cluster = Cluster { folder, daemons: Vec::new() };
        cluster.daemons().unwrap_or_else(|why| panic!("Slurm did not come up: {why}"));
        Some(cluster)
    }

    /// A file of the cluster.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The words that run one of Slurm's commands on it.
    pub fn command(&self, name: &str) -> Vec<String> {
        vec!["env".to_owned(), format!("SLURM_CONF={}", self.path("slurm.conf").display()), name.to_owned()]
    }

    /// What one of them says.
    pub fn said(&self, words: &[&str]) -> String {
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).env("SLURM_CONF", self.path("slurm.conf")).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The names of all jobs below a folder that it remembers, with how each is.
    pub fn jobs(&self, folder: &Path) -> Vec<(String, String)> {
        let text = self.said(&["scontrol", "--oneliner", "show", "job"]);
        let word = |line: &str, key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)).map(str::to_owned);
        let own = |line: &&str| word(line, "WorkDir=").is_some_and(|place| Path::new(&place).starts_with(folder));
        let jobs = text.lines().filter(own);
        jobs.filter_map(|line| Some((word(line, "JobName=")?, word(line, "JobState=")?))).collect()
    }

    fn daemons(&mut self) -> Result<(), String> {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let started = |program: &str, flags: &[&str]| {
            let log = fs::File::create(self.folder.path().join(format!("{program}.out"))).unwrap();
            let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
            let mut command = Command::new(program);
            command.args(flags).env("SLURM_CONF", at("slurm.conf")).env("PATH", path).stdin(Stdio::null());
            command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
        };
        let munged = ["key-file=key", "socket=munge", "pid-file=munge.pid", "log-file=munge.log", "seed-file=seed"];
        let munged: Vec<String> = munged
            .iter()
            .map(|flag| flag.split_once('=').map(|(flag, file)| format!("--{flag}={}", at(file))).unwrap())
            .chain(["--foreground", "--force"].map(str::to_owned))
            .collect();
        let munged = started("munged", &munged.iter().map(String::as_str).collect::<Vec<_>>());
        let until = |what: &str, there: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !there() {
                if begun.elapsed() > Duration::from_secs(60) {
                    let log = |name: &str| fs::read_to_string(at(name)).unwrap_or_default();
                    return Err(format!("no {what}\n{}{}{}", log("munged.out"), log("ctld.log"), log("slurmd.log")));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        };
        let mut daemons = vec![munged];
        let mut up = until("munge", &|| Path::new(&at("munge")).exists());
        if up.is_ok() {
            daemons.push(started("slurmctld", &["-D", "-c", "-f", &at("slurm.conf")]));
            daemons.push(started("slurmd", &["-D", "-f", &at("slurm.conf")]));
            up = until("idle node", &|| self.said(&["scontrol", "show", "node"]).contains("State=IDLE"));
        }
        self.daemons = daemons;
        up
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.said(&["scancel", "--me", "--full", "--signal=KILL", "--quiet"]);
        self.said(&["scancel", "--me", "--quiet"]);
        let busy = || {
            self.jobs(Path::new("/"))
                .iter()
                .any(|(_, state)| ["RUNNING", "COMPLETING", "PENDING"].contains(&state.as_str()))
        };
        let begun = Instant::now();
        while busy() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        for mut daemon in self.daemons.drain(..).rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn configuration(folder: &Path) -> String {
    let said = |program: &str, flag: &str| {
        let output = Command::new(program).arg(flag).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    // Two that are free now.
    let ports = [TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap()];
    let [control, node] = ports.map(|port| port.local_addr().unwrap().port());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    CONFIGURATION
        .replace("@folder@", &folder.display().to_string())
        .replace("@host@", &host)
        .replace("@user@", &said("id", "-un"))
        .replace("@control@", &control.to_string())
        .replace("@node@", &node.to_string())
}

/// More of everything than there is, since what is run here takes little.
const CONFIGURATION: &str = "ClusterName=auto
SlurmctldHost=@host@(127.0.0.1)
SlurmctldPort=@control@
SlurmdPort=@node@
SlurmUser=@user@
SlurmdUser=@user@
AuthType=auth/munge
AuthInfo=socket=@folder@/munge
CryptoType=crypto/munge
StateSaveLocation=@folder@/state
SlurmdSpoolDir=@folder@/spool
SlurmctldPidFile=@folder@/ctld.pid
SlurmdPidFile=@folder@/slurmd.pid
SlurmctldLogFile=@folder@/ctld.log
SlurmdLogFile=@folder@/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=1
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=@host@ NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 State=UNKNOWN
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP
";
