//! What the demo measured, and the table at its end.

use std::fmt;

use anyhow::{Context, Result, anyhow, ensure};
use auto_json::Value;

use super::agent::Asked;

/// The model's answers beside the artifact's, on the same inputs.
pub struct Comparison {
    asked: usize,
    equal: usize,
    abstained: usize,
    /// Median, of the model's calls.
    model_micros: u64,
}

/// Everything in the last table.
pub struct Figures {
    /// Answers.
    pub comparison: Comparison,
    /// The last line of `auto-evals call`.
    pub timing: Value,
    /// The artifact's size.
    pub bytes: usize,
}

impl Comparison {
    /// Compares with the lines of `auto-host run --batch`.
    pub fn of(asked: &[Asked], batch: &str) -> Result<Comparison> {
        let lines: Vec<&str> = batch.lines().collect();
        ensure!(lines.len() == asked.len(), "{} tickets gave {} lines", asked.len(), lines.len());
        let mut times: Vec<u64> = asked.iter().map(|one| one.micros).collect();
        times.sort_unstable();
        let model_micros = times.get(times.len() / 2).copied().unwrap_or_default();
        let mut comparison = Comparison { asked: asked.len(), equal: 0, abstained: 0, model_micros };
        for (asked, line) in asked.iter().zip(lines) {
            let reply = Value::parse(line).map_err(|error| anyhow!("{line:?} is not JSON: {error}"))?;
            comparison.equal += usize::from(reply.get("output") == Some(&asked.output));
            comparison.abstained += usize::from(reply.get("abstained").is_some());
        }
        Ok(comparison)
    }

    fn wrong(&self) -> usize {
        self.asked - self.equal - self.abstained
    }

    /// What came of it, in a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "Of {} new tickets the .cbin answered {} as the model did, abstained on {} and was wrong on {}.",
            self.asked,
            self.equal,
            self.abstained,
            self.wrong()
        )
    }

    /// Never wrong, and useful: it answers at least five in six.
    pub fn acceptable(&self) -> Result<()> {
        ensure!(self.wrong() == 0, "the .cbin gave {} wrong answers", self.wrong());
        ensure!(self.equal * 6 >= self.asked * 5, "the .cbin answered only {} of {}", self.equal, self.asked);
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { asked, equal, abstained, model_micros } = &self.comparison;
        let answered = asked - abstained;
        let warm = nanoseconds(&self.timing, "warm");
        let native = nanoseconds(&self.timing, "native");
        let row = |f: &mut fmt::Formatter<'_>, name: &str, model: &str, cbin: &str| {
            writeln!(f, "  {name:<26} {model:>20} {cbin:>20}")
        };
        row(f, "", "model over HTTP", "triage.cbin")?;
        row(f, "new tickets answered", &format!("{asked}/{asked}"), &format!("{answered}/{asked}"))?;
        row(f, "answers equal", "", &format!("{equal}/{answered}"))?;
        row(f, "time per call", &format!("{:.1} ms", *model_micros as f64 / 1e3), &shown(warm))?;
        row(f, "  the rule by hand in Rust", "", &shown(native))?;
        row(f, "size", "", &format!("{} bytes", self.bytes))?;
        writeln!(f, "  The model's time holds 20 ms of think time that server.py states; real ones take longer.")
    }
}

fn nanoseconds(timing: &Value, key: &str) -> Option<f64> {
    timing.get(key)?.to_string().parse().ok()
}

fn shown(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| "not measured".to_owned(), |nanoseconds| format!("{:.2} µs", nanoseconds / 1e3))
}

/// The census of the tau-bench recording against the figures that were counted by other
/// means when the recording was chosen.
pub fn check_tau_bench(census: &str) -> Result<()> {
    let census = Value::parse(census).map_err(|error| anyhow!("census --json printed no JSON: {error}"))?;
    let expected: [(&str, &str, &str, u64); 9] = [
        ("model_call", "all", "spans", 2_454),
        ("model_call", "witnessed", "inputs", 7),
        ("model_call", "witnessed", "spans", 15),
        ("tool_call", "all", "spans", 1_164),
        ("tool_call", "all", "inputs", 568),
        ("tool_call", "witnessed", "inputs", 220),
        ("tool_call", "witnessed", "spans", 816),
        ("tool_call", "deterministic", "inputs", 218),
        ("tool_call", "deterministic", "spans", 810),
    ];
    let kinds = census.get("kinds").and_then(Value::as_list).context("a census without kinds")?;
    for (kind, part, unit, figure) in expected {
        let row = kinds.iter().find(|row| row.get("kind").and_then(Value::as_text) == Some(kind));
        let counted = row.and_then(|row| row.get(part)?.get(unit)?.as_u64());
        ensure!(counted == Some(figure), "{kind}: {part} {unit} should be {figure}, the census says {counted:?}");
    }
    Ok(())
}
