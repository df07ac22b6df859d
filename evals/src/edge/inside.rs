//! Engines that are libraries: wasmtime through `auto-runtime`, and wasmi through a loader of its
//! own, written from what the book says of the format.

use std::time::Instant;

use anyhow::{Context, bail, ensure};
use auto_runtime::{Class, Outcome};

use super::{CALLS, Run, Work, program};

/// What an input came to, in a line: the kind and its parts with tabs between them.
pub(super) fn line(parts: &[&str]) -> String {
    parts.join("\t")
}

/// Bytes as hex digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The engine of the host.
pub(super) fn wasmtime(work: &Work<'_>) -> anyhow::Result<Run> {
    let start = Instant::now();
    let program = program(work.file)?;
    let load_ns = start.elapsed().as_nanos() as f64;
    let mut session = program.session();
    let mut lines = Vec::new();
    for input in work.inputs {
        lines.push(match session.run(input) {
            Ok(Outcome::Answer(text)) => line(&["answer", &text]),
            Ok(Outcome::Abstain { reason, score, limit }) => {
                line(&["abstain", &reason, &score.to_string(), &limit.to_string()])
            }
            Ok(Outcome::Request { capability, input, state }) => line(&["request", &capability, &input, &hex(&state)]),
            Err(error) if matches!(error.class, Class::BadInput | Class::Unsupported) => line(&["error", error.code()]),
            Err(error) => return Err(error).with_context(|| format!("on {input}")),
        });
    }
    let call_ns = timed(work, |input| {
        // What it gives was looked at before.
        drop(std::hint::black_box(session.run(input)));
        Ok(())
    })?;
    // The one thing that the session does not show, since it depends on the calls alone.
    let memory = interpreted(work.file)?.after(work.inputs)?;
    Ok(Run { lines, load_ns, call_ns, memory })
}

/// The median over the rounds of a call's time.
fn timed(work: &Work<'_>, mut call: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let some = &work.inputs[..work.timed];
    let again = CALLS.div_ceil(some.len());
    let mut rounds = Vec::new();
    for _ in 0..work.rounds {
        let start = Instant::now();
        (0..again).try_for_each(|_| some.iter().try_for_each(|input| call(input)))?;
        rounds.push(start.elapsed().as_nanos() as f64 / (again * some.len()) as f64);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[rounds.len() / 2])
}

/// An interpreter.
pub(super) fn wasmi(work: &Work<'_>) -> anyhow::Result<Run> {
    let start = Instant::now();
    let mut live = interpreted(work.file)?;
    let load_ns = start.elapsed().as_nanos() as f64;
    let lines = work.inputs.iter().map(|input| live.run(input)).collect::<anyhow::Result<Vec<String>>>()?;
    let memory = live.memory.data_size(&live.store) as u64;
    let call_ns = timed(work, |input| live.run(input).map(drop))?;
    Ok(Run { lines, load_ns, call_ns, memory })
}

/// An instance in wasmi.
struct Interpreted {
    store: wasmi::Store<()>,
    memory: wasmi::Memory,
    realloc: wasmi::TypedFunc<(u32, u32, u32, u32), u32>,
    run: wasmi::TypedFunc<(u32, u32), u32>,
}

fn interpreted(file: &[u8]) -> anyhow::Result<Interpreted> {
    let wrong = |error: wasmi::Error| anyhow::anyhow!("wasmi: {error}");
    let engine = wasmi::Engine::default();
    let module = wasmi::Module::new(&engine, file).map_err(wrong)?;
    let mut store = wasmi::Store::new(&engine, ());
    let instance = wasmi::Linker::new(&engine).instantiate_and_start(&mut store, &module).map_err(wrong)?;
    let memory = instance.get_memory(&store, "memory").context("it exports no memory")?;
    let realloc = instance.get_typed_func(&store, "cabi_realloc").map_err(wrong)?;
    let run = instance.get_typed_func(&store, "auto:cbin/behavior@0.1.0#run").map_err(wrong)?;
    Ok(Interpreted { store, memory, realloc, run })
}

impl Interpreted {
    fn run(&mut self, input: &str) -> anyhow::Result<String> {
        let wrong = |error: wasmi::Error| anyhow::anyhow!("wasmi: {error}");
        let size = u32::try_from(input.len())?;
        let at = self.realloc.call(&mut self.store, (0, 0, 1, size)).map_err(wrong)?;
        self.memory.write(&mut self.store, at as usize, input.as_bytes())?;
        let result = self.run.call(&mut self.store, (at, size)).map_err(wrong)?;
        let held = self.memory.data(&self.store);
        let block = held.get(result as usize..result as usize + 32).context("the result is outside memory")?;
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        let bytes = |at: usize| {
            let (from, size) = (word(at) as usize, word(at + 4) as usize);
            held.get(from..from + size).context("a text is outside memory")
        };
        let text = |at: usize| anyhow::Ok(str::from_utf8(bytes(at)?)?);
        Ok(match (block[0], block[4]) {
            (0, 0) => line(&["answer", text(8)?]),
            (0, 1) => line(&["abstain", text(8)?, &word(16).to_string(), &word(20).to_string()]),
            (0, 2) => line(&["request", text(8)?, text(16)?, &hex(bytes(24)?)]),
            (1, 0) => line(&["error", "bad-input"]),
            (1, 1) => line(&["error", "unsupported"]),
            (result, case) => bail!("case {case} of {result}"),
        })
    }

    /// How much memory there is after a call of each input.
    fn after(mut self, inputs: &[String]) -> anyhow::Result<u64> {
        ensure!(!inputs.is_empty(), "no inputs");
        inputs.iter().try_for_each(|input| self.run(input).map(drop))?;
        Ok(self.memory.data_size(&self.store) as u64)
    }
}
