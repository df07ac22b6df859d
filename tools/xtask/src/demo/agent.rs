//! The model's server, as a child process, and the agent asking it without a recorder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use auto_json::Value;

/// `evals/demo/server.py`, running. It stops when this is dropped.
pub struct Model {
    child: Child,
    port: u64,
}

/// What the model said about one ticket.
pub struct Asked {
    /// The decision.
    pub output: Value,
    /// How long the call took.
    pub micros: u64,
}

impl Model {
    /// Starts the server on a free port.
    pub fn start(data: &Path) -> Result<Model> {
        let mut child = Command::new("python3")
            .arg(data.join("server.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("could not start python3")?;
        let mut line = String::new();
        let printed = child.stdout.take().context("the server has no stdout")?;
        BufReader::new(printed).read_line(&mut line)?;
        let port = Value::parse(line.trim()).ok().and_then(|value| value.get("port").and_then(Value::as_u64));
        let port = port.with_context(|| format!("server.py printed {line:?} instead of its port"))?;
        Ok(Model { child, port })
    }

    /// Where the agent finds it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// How many questions it has answered.
    pub fn calls(&self) -> Result<u64> {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port))?;
        stream.write_all(b"GET /calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let body = response.split("\r\n\r\n").nth(1).unwrap_or_default();
        let calls = Value::parse(body).ok().and_then(|value| value.get("calls").and_then(Value::as_u64));
        calls.with_context(|| format!("the server answered {response:?}"))
    }

    /// Asks about every ticket of a file, with nothing recorded.
    pub fn ask(&self, folder: &Path, agent: &str, tickets: &str) -> Result<Vec<Asked>> {
        let printed = Command::new("python3")
            .args([agent, tickets, "--answers"])
            .current_dir(folder)
            .env("DEMO_MODEL_URL", self.url())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("AUTO_TRACE_FILE")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("could not start python3")?;
        if !printed.status.success() {
            bail!("agent.py --answers ended with {}", printed.status);
        }
        String::from_utf8_lossy(&printed.stdout).lines().map(asked).collect()
    }
}

fn asked(line: &str) -> Result<Asked> {
    let value = Value::parse(line).map_err(|error| anyhow!("agent.py printed {line:?}: {error}"))?;
    let output = value.get("output").cloned().with_context(|| format!("no output in {line:?}"))?;
    let micros = value.get("microseconds").and_then(Value::as_u64).with_context(|| format!("no time in {line:?}"))?;
    Ok(Asked { output, micros })
}

impl Drop for Model {
    fn drop(&mut self) {
        // Our own child, and it holds nothing worth keeping.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
