//! `tickets`: as many recordings as wanted of the demo's triage, each of an input of its own, for
//! measuring how a compile grows with them. The decisions are those of the policy by hand.

use std::path::PathBuf;

use anyhow::{Context, bail};
use auto_json::{Record, Value};

use crate::native::{Reply, demo};

/// The most tickets of a trace.
const OF_A_TRACE: usize = 1_000;

/// Writes recordings of the demo's triage, with inputs that are all different.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals tickets --count 1000 --out target/tickets")]
pub struct Options {
    /// How many
    #[arg(long)]
    count: usize,
    /// The folder for the traces
    #[arg(long)]
    out: PathBuf,
}

impl Options {
    /// Writes, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        std::fs::create_dir_all(&self.out).with_context(|| format!("making {}", self.out.display()))?;
        for (number, from) in (0..self.count).step_by(OF_A_TRACE).enumerate() {
            let to = self.count.min(from + OF_A_TRACE);
            let path = self.out.join(format!("{number:05}.jsonl"));
            std::fs::write(&path, trace(number, from..to)?).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(Record::new().with("tickets", self.count).with("traces", self.count.div_ceil(OF_A_TRACE)))
    }
}

/// A trace with a model call for each ticket.
fn trace(number: usize, tickets: std::ops::Range<usize>) -> anyhow::Result<String> {
    let id = format!("{number:032x}");
    let line = |kind: &str| Record::new().with("v", 0).with("t", kind).with("trace_id", id.as_str());
    let attrs = || Value::Record(Record::new());
    let header = line("trace")
        .with("task", "support-triage")
        .with("started_at_ms", 0)
        .with("sdk", "auto-evals")
        .with("attrs", attrs());
    let mut lines = vec![Value::Record(header).to_string()];
    for (seq, at) in tickets.enumerate() {
        let input = ticket(at);
        let Reply::Answer(output) = demo::policy(&input.to_string()) else {
            bail!("the policy answers nothing to {input}")
        };
        let span = line("span")
            .with("span_id", seq + 1)
            .with("parent_span_id", Value::Null)
            .with("seq", seq + 1)
            .with("kind", "model_call")
            .with("name", "triage")
            .with("input", input)
            .with("output", Value::parse(&output)?)
            .with("error", Value::Null)
            .with("started_at_ms", 0)
            .with("duration_ms", 0)
            .with("attrs", attrs());
        lines.push(Value::Record(span).to_string());
    }
    Ok(lines.join("\n") + "\n")
}

const FIRST: [&str; 12] =
    ["Ana", "Ben", "Clara", "David", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Liam"];
const LAST: [&str; 11] =
    ["Novak", "Okafor", "Petersen", "Quinn", "Rossi", "Silva", "Tanaka", "Ueda", "Vega", "Weber", "Zeller"];
const THINGS: [&str; 13] = [
    "kettle", "lamp", "chair", "sofa", "table", "toaster", "grill", "shelf", "mirror", "carpet", "printer", "bed",
    "clock",
];
const SUBJECTS: [&str; 8] = [
    "Refund for a broken {}",
    "Where is my refund? The {} is back",
    "Copy of an invoice for the {}",
    "Wrong invoice, {}",
    "Password does not work, order of a {}",
    "Forgot my PASSWORD ({})",
    "When does the {} arrive",
    "Cleaning the {}",
];
const BODIES: [&str; 7] = [
    "The {} of {#} was cracked when it arrived. I have sent it back and would like my money returned.",
    "I returned the {} of order {#} two weeks ago and heard nothing since.",
    "Please send the bill for {#} again. The {} itself is fine.",
    "Since I ordered the {} ({#}) my login has stopped working.",
    "Can somebody tell me where {#} is? We have waited for the {} for days.",
    "Order {#}: the {} has the wrong colour. What do I do now?",
    "How long may I keep the {} from {#} before I decide?",
];

/// The ticket of a number; no two are the same, for their orders differ.
fn ticket(at: usize) -> Value {
    let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let pick = |from: &[&'static str], shift: u32| from[(mixed >> shift) as usize % from.len()];
    let thing = pick(&THINGS, 3);
    let subject = pick(&SUBJECTS, 7).replace("{}", thing);
    let body = pick(&BODIES, 11).replace("{#}", &format!("ORD-{}", 10_000 + at)).replace("{}", thing);
    Record::new()
        .with("amount", mixed % 3_000)
        .with("body", body)
        .with("customer", format!("{} {}", pick(&FIRST, 17), pick(&LAST, 23)))
        .with("subject", subject)
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tickets_are_all_different_and_the_policy_answers_each() {
        let inputs: BTreeSet<String> = (0..2_000).map(|at| ticket(at).to_string()).collect();
        assert_eq!(inputs.len(), 2_000);
        let text = trace(7, 0..300).unwrap();
        assert_eq!(text.lines().count(), 301);
        let outputs: BTreeSet<String> = text
            .lines()
            .skip(1)
            .map(|line| Value::parse(line).unwrap().get("output").unwrap().get("queue").unwrap().to_string())
            .collect();
        assert_eq!(outputs.len(), 4);
    }
}
