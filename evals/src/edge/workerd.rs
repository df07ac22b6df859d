//! workerd: one worker with everything in it, and what is sent to it over loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use auto_export::Target;
use auto_json::Value;

use super::outside::{report, task, unpacked};
use super::{CALLS, Run, Work};

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// V8, as workerd has it: `$WORKERD`, or that of `PATH`. The clock of a worker stands still while it
/// works, so calls are timed from outside: what a request with so many of them takes longer than one
/// with none.
pub(super) fn workerd(work: &Work<'_>) -> anyhow::Result<Run> {
    let folder = unpacked(work, Target::Workers)?;
    for (name, text) in [
        ("driver.mjs", include_str!("driver.mjs")),
        ("worker.mjs", include_str!("worker.mjs")),
        ("workerd.capnp", include_str!("workerd.capnp")),
    ] {
        std::fs::write(folder.path().join(name), text)?;
    }
    let started = Instant::now();
    let server = Server::start(folder.path())?;
    let loaded = started.elapsed();
    let all = report(&server.asked(&task(&Work { rounds: 0, ..*work }))?)?;
    let some = Work { inputs: &work.inputs[..work.timed], ..*work };
    let took = |rounds: usize| -> anyhow::Result<Duration> {
        let started = Instant::now();
        report(&server.asked(&task(&Work { rounds, ..some }))?)?;
        Ok(started.elapsed())
    };
    let (none, rounds) = (took(0)?, took(work.rounds)?);
    let calls = work.rounds * CALLS.div_ceil(work.timed) * work.timed;
    let call_ns = rounds.saturating_sub(none).as_nanos() as f64 / calls as f64;
    Ok(Run { load_ns: loaded.as_nanos() as f64, call_ns, ..all })
}

/// A server that is ended when it is let go.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(folder: &std::path::Path) -> anyhow::Result<Server> {
        let program = std::env::var_os("WORKERD").unwrap_or_else(|| "workerd".into());
        let mut command = Command::new(program);
        // It says on that descriptor where it listens.
        command.args(["serve", "workerd.capnp", "--control-fd=1"]).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().context("workerd cannot be run")?;
        let said = process.stdout.take().context("no stdout")?;
        let mut server = Server { process, port: 0 };
        let mut line = String::new();
        BufReader::new(said.take(1 << 16)).read_line(&mut line)?;
        let port = Value::parse(line.trim()).ok().and_then(|said| said.get("port")?.as_u64());
        server.port =
            port.and_then(|port| u16::try_from(port).ok()).with_context(|| format!("workerd said {line:?}"))?;
        Ok(server)
    }

    /// What comes back of a request.
    fn asked(&self, body: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let head =
            format!("POST / HTTP/1.1\r\nhost: edge\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let (head, body) = reply.split_once("\r\n\r\n").context("no HTTP")?;
        let (head, body) = (head.to_ascii_lowercase(), body.to_owned());
        ensure!(head.starts_with("http/1.1 200 "), "workerd says {head} {body:.200}");
        ensure!(head.contains("\r\ncontent-length:"), "workerd says no length: {head}");
        Ok(body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Our own child.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
