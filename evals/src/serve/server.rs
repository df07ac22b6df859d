//! `auto-host serve` over a folder of artifacts, from where this binary is.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// It, until it is dropped.
pub struct Server {
    child: Child,
    /// `HOST:PORT`.
    pub address: String,
    /// Where the artifacts lie for it.
    _folder: tempfile::TempDir,
}

/// What an artifact is served as.
pub fn name(at: usize) -> String {
    format!("artifact-{at}")
}

impl Server {
    /// Serves artifacts as [`name`] says, and waits until it listens.
    pub fn start(artifacts: &[PathBuf]) -> anyhow::Result<Server> {
        let folder = tempfile::tempdir()?;
        for (at, artifact) in artifacts.iter().enumerate() {
            copy(artifact, &folder.path().join(format!("{}.cbin", name(at))))?;
        }
        let binary = std::env::current_exe()?.with_file_name("auto-host");
        let mut command = Command::new(&binary);
        command.args(["serve", "--addr", "127.0.0.1:0", "--registry"]).arg(folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {} (build it first)", binary.display()))?;
        let mut said = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let address = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on http://")?.split(' ').next()?.to_owned()));
        // What it says later is nobody's, and must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let mut server = Server { child, address: String::new(), _folder: folder };
        server.address = address.context("auto-host serve does not listen")?;
        Ok(server)
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::copy(from, to).with_context(|| format!("reading {}", from.display()))?;
    Ok(())
}

impl Drop for Server {
    fn drop(&mut self) {
        // Our own child, which has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
