//! What calls of an artifact take on this machine, to be signed with it.

use std::time::Instant;

use auto_json::{Record, Value};
use auto_runtime::{Limits, Program, Sandbox};

use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::options::Global;

/// How often each input is run.
const ROUNDS: usize = 5;

/// Runs the artifact on every input a few times, and gives what a call took: `calls`, `p50_ns`, `p95_ns`,
/// `max_ns`; none of no inputs.
pub fn measure(global: &Global, artifact: &[u8], inputs: &[String]) -> Result<Option<Value>, Failure> {
    let sandbox = Sandbox::with_cache(Limits::default(), artifact_cache(global)?)?;
    let program = Program::load(&sandbox, artifact)?;
    let mut session = program.session();
    let mut took = Vec::with_capacity(inputs.len() * ROUNDS);
    for round in 0..=ROUNDS {
        for input in inputs {
            let started = Instant::now();
            let outcome = session.run(input);
            let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            outcome?;
            // The first round makes the instance.
            if round > 0 {
                took.push(nanos);
            }
        }
    }
    took.sort_unstable();
    let Some(max) = took.last() else { return Ok(None) };
    let rank = |percent: usize| took[(took.len() * percent).div_ceil(100).saturating_sub(1)];
    let fields = Record::new().with("calls", took.len()).with("p50_ns", rank(50)).with("p95_ns", rank(95));
    Ok(Some(fields.with("max_ns", *max).into()))
}

/// Where that was measured.
pub fn machine() -> Value {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Record::new()
        .with("cpu", model.map(|(_, name)| name.trim()).unwrap_or("unknown"))
        .with("cores", cores)
        .with("os", std::env::consts::OS)
        .with("arch", std::env::consts::ARCH)
        .with("tool", concat!("auto-host ", env!("CARGO_PKG_VERSION")))
        .into()
}
