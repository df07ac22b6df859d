//! A limit on how many processes a job may have, by the kernel's control groups, for a host that runs
//! as root: the limit of the process itself (`RLIMIT_NPROC`) does not hold for root.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A control group that counts, which goes when this does.
pub(crate) struct Counted {
    pub(crate) folder: PathBuf,
}

/// How often the group is tried to be removed: its processes were killed, and take a moment to go.
const TRIES: u32 = 50;

impl Counted {
    /// One for at most so many processes; none where this user may make none.
    pub(crate) fn of(name: &str, most: u32) -> Option<Counted> {
        // The first is version 1, the other version 2, where the controller has to be switched on.
        ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].iter().find_map(|root| Counted::below(Path::new(root), name, most))
    }

    fn below(root: &Path, name: &str, most: u32) -> Option<Counted> {
        if !root.join("cgroup.procs").exists() {
            return None;
        }
        // Those of hosts that were killed, as far as nothing is in them any more.
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&format!("{name}.")) {
                let _ = fs::remove_dir(entry.path());
            }
        }
        let counted = Counted { folder: root.join(format!("{name}.{}", std::process::id())) };
        fs::create_dir(&counted.folder).ok()?;
        // Without the controller there is no such file, and the folder goes again.
        let limit = counted.folder.join("pids.max");
        (limit.exists() && fs::write(limit, format!("{most}\n")).is_ok()).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
