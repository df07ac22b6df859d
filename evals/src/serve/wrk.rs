//! `wrk` as the client, and what it prints.

use std::fmt;
use std::process::Command;

use anyhow::{Context, bail, ensure};

const SCRIPT: &str = include_str!("post.lua");

/// What is put on a server.
#[derive(Clone, Copy)]
pub struct Load {
    /// At the same time.
    pub connections: usize,
    /// How long.
    pub seconds: u64,
    /// Milliseconds that a connection waits between a reply and its next request.
    pub delay: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds within which half of them were answered.
    pub p50: f64,
    /// The same of 99 in a hundred.
    pub p99: f64,
    /// Microseconds of a processor that a request took in the server, the kernel's part included.
    pub processor: f64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { rate, p50, p99, processor } = self;
        write!(f, "{rate:.0} requests/s, p50 {p50:.0} µs, p99 {p99:.0} µs, {processor:.1} µs of a processor each")
    }
}

impl Load {
    /// Puts it on a server, and fails where a reply is no 200.
    pub fn put_on(&self, url: &str, body: &str, process: u32) -> anyhow::Result<Measured> {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("post.lua");
        std::fs::write(&script, SCRIPT)?;
        let mut command = Command::new("wrk");
        command.args(["--latency", "--threads", "1"]);
        command.args(["--connections", &self.connections.to_string(), "--duration", &format!("{}s", self.seconds)]);
        command.arg("--script").arg(&script).arg(url).env("BODY", body).env("DELAY", self.delay.to_string());
        let before = spent(process)?;
        let output = command.output().context("starting wrk (it has to be installed)")?;
        let spent = spent(process)? - before;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "wrk: {said}{}", String::from_utf8_lossy(&output.stderr));
        let (requests, measured) = read(&said)?;
        Ok(Measured { processor: spent / requests.max(1.0), ..measured })
    }
}

/// The number of requests, and what else is in what wrk prints.
fn read(said: &str) -> anyhow::Result<(f64, Measured)> {
    if let Some(line) = said.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket errors")) {
        bail!("not all was answered: {}", line.trim());
    }
    let behind = |name: &str| {
        let line = said.lines().map(str::trim).find_map(|line| line.strip_prefix(name));
        line.map(str::trim).with_context(|| format!("wrk said nothing of {name}: {said}"))
    };
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in ")).context("no requests")?;
    let measured = Measured {
        rate: behind("Requests/sec:")?.parse()?,
        p50: micros(behind("50%")?)?,
        p99: micros(behind("99%")?)?,
        processor: f64::NAN,
    };
    Ok((requests.0.parse()?, measured))
}

/// `92.00us`, `1.20ms`, `2.00s`.
fn micros(text: &str) -> anyhow::Result<f64> {
    for (unit, micros) in [("us", 1.0), ("ms", 1e3), ("s", 1e6)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>().with_context(|| text.to_owned())? * micros);
        }
    }
    bail!("{text} is no time")
}

/// Microseconds of a processor that a process took, in the system's ticks of ten milliseconds.
fn spent(process: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').context("a process without a name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("/proc/PID/stat is short");
    Ok((ticks(11)? + ticks(12)?) * 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Running 2s test @ http://127.0.0.1:7433/run/shout
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.10ms    1.05ms  21.74ms   92.62%
    Req/Sec    63.28k     3.55k   67.18k    85.00%
  Latency Distribution
     50%  760.00us
     75%    1.20ms
     90%    2.10ms
     99%    4.70ms
  125959 requests in 2.00s, 30.00MB read
Requests/sec:  62915.11
Transfer/sec:     15.00MB
";

    #[test]
    fn what_wrk_prints_is_read_and_a_reply_that_is_no_200_is_no_measurement() {
        let (requests, measured) = read(SAID).unwrap();
        assert_eq!((requests, measured.rate, measured.p50, measured.p99), (125_959.0, 62_915.11, 760.0, 4_700.0));
        let bad = format!("{SAID}  Non-2xx or 3xx responses: 3\n");
        assert!(read(&bad).unwrap_err().to_string().contains("Non-2xx"));
        assert!(read("").is_err() && micros("12").is_err());
    }
}
