//! The numbers of `registry verify --explain`: what somebody who was not there needs to decide.

use auto_json::{Record, Value};
use auto_registry::{EVIDENCE, Evidence, KeyRing, Report, SignatureState, TagEntry, rfc3339};
use auto_schema::manifest::Manifest;
use auto_schema::shown;

use super::percent;
use super::verify::label;
use crate::components::{GATE, is_built_in_gate};

/// What was measured, in words; and since when a name leads there, where it was asked by one.
pub fn numbers(report: &Report, ring: &KeyRing, head: Option<&TagEntry>) -> String {
    let manifest = &report.artifact.manifest;
    let mut text = String::new();
    let mut line = |name: &str, what: String| text.push_str(&format!("{name:<10} {}\n", shown(&what)));
    if let Some(head) = head {
        let note = if head.note.is_empty() { String::new() } else { format!(": {}", head.note) };
        line("named", format!("since {}{note}", rfc3339(head.at)));
    }
    does(manifest, &mut line);
    measured(manifest, &mut line);
    judged(manifest, &mut line);
    manifest.notes.iter().for_each(|note| line("note", note.clone()));
    let word = if report.signers.is_empty() { "said" } else { "signed" };
    for said in &report.evidence {
        line(word, format!("at {}{}", rfc3339(said.at), by(report, said, ring)));
        spoken(said, &mut line);
    }
    if report.evidence.is_empty() {
        line("signed", "nothing: contract, eval run and latencies are unknown".into());
    }
    text
}

fn does(manifest: &Manifest, line: &mut impl FnMut(&str, String)) {
    line("does", format!("{}, {}: {} -> {}", manifest.task, manifest.scope, manifest.input, manifest.output));
    let asks = if manifest.capabilities.is_empty() { "nothing".into() } else { manifest.capabilities.join(", ") };
    line("asks for", asks);
    let guard = if manifest.guarded {
        "abstains on what is unlike the recordings"
    } else {
        "NONE: it answers whatever has the right type"
    };
    line("guard", guard.into());
}

fn measured(manifest: &Manifest, line: &mut impl FnMut(&str, String)) {
    line("made from", format!("{} distinct recorded inputs", manifest.observations));
    line("agreement", format!("{} of the recorded inputs that it answers, as recorded", percent(manifest.agreement)));
    line("coverage", format!("{} of the recorded inputs are answered", percent(manifest.coverage)));
    let rows = manifest.out_of_fold_rows;
    line(
        "held out",
        format!("{} right, of {rows} inputs that its like had not been shown", percent(manifest.out_of_fold)),
    );
    if let (Some(right), true) = (manifest.out_of_fold, rows > 0) {
        let wrong = 1_000_000_u32.saturating_sub(right);
        let could = not_ruled_out(rows, wrong).map(|most| format!("; so few inputs do not rule out {most}"));
        let found = format!("{} of what it answers there is wrong, and says nothing", percent(Some(wrong)));
        line("silent", found + &could.unwrap_or_default());
    }
    if let Some(steps) = manifest.steps {
        line(
            "steps",
            format!("{} in the middle, {} at the 95th percentile, {} at most", steps.p50, steps.p95, steps.max),
        );
    }
}

fn judged(manifest: &Manifest, line: &mut impl FnMut(&str, String)) {
    for pass in manifest.passes.iter().filter(|pass| pass.interface == GATE) {
        let which = match manifest.trusted_gate {
            Some(digest) if digest == pass.digest => ", PUT IN PLACE of the built-in one",
            _ if is_built_in_gate(pass.digest) => ", which this program has built in",
            _ => ", which this program does not have",
        };
        line("gate", format!("{}{which}", pass.digest));
    }
    if let Some(judged) = &manifest.judged {
        line("judge", format!("{} gave {} opinions that the verdict rests on", judged.model, judged.opinions));
    }
}

/// Whose signatures of this evidence count.
fn by(report: &Report, said: &Evidence, ring: &KeyRing) -> String {
    let at = |one: &&auto_registry::Signed| {
        let predicate = &one.statement.predicate;
        one.statement.predicate_type == EVIDENCE && predicate.get("at").and_then(Value::as_u64) == Some(said.at)
    };
    let states = report.signed.iter().filter(at).flat_map(|one| &one.signatures);
    let valid = states.filter(|state| matches!(state, SignatureState::Valid(_)));
    let keys: Vec<String> = valid.map(|state| format!("{}{}", state.key(), label(state, ring))).collect();
    if keys.is_empty() { String::new() } else { format!(" by {}", keys.join(", ")) }
}

fn spoken(said: &Evidence, line: &mut impl FnMut(&str, String)) {
    let figure = |of: &Option<Value>, key: &str| of.as_ref().and_then(|of| of.get(key)).map(plain);
    if let (Some(p50), Some(p95)) = (figure(&said.latency, "p50_ns"), figure(&said.latency, "p95_ns")) {
        let calls = figure(&said.latency, "calls").unwrap_or_default();
        let cpu = figure(&said.machine, "cpu").unwrap_or_else(|| "an unnamed machine".to_owned());
        line(
            "  latency",
            format!("{p50} ns in the middle, {p95} ns at the 95th percentile, of {calls} calls on {cpu}"),
        );
    }
    if let Some(contract) = &said.contract {
        let count = |key: &str| contract.get(key).and_then(Value::as_list).map_or(0, <[Value]>::len);
        let (examples, properties) = (count("example"), count("property"));
        let asked = asked(contract);
        let asked = if asked.is_empty() { "and no threshold".to_owned() } else { asked.join(", ") };
        line(
            "  contract",
            format!("{examples} examples, {properties} properties, {} eval cases, {asked}", count("eval_cases")),
        );
    }
    if let Some(status) = figure(&said.eval_run, "status") {
        let findings = said.eval_run.as_ref().and_then(|run| run.get("findings")?.as_list()).unwrap_or_default();
        line("  eval run", format!("{status}, with {} findings", findings.len()));
        for finding in findings {
            let text = |key: &str| finding.get(key).map(plain).unwrap_or_default();
            line("", format!("  {}: {} ({})", text("status"), text("claim"), text("detail")));
        }
    }
}

/// The thresholds of a contract, as they are written in it.
fn asked(contract: &Value) -> Vec<String> {
    let mut asked = Vec::new();
    for table in ["acceptance", "budgets"] {
        let members = contract.get(table).and_then(Value::as_record).into_iter().flat_map(Record::iter);
        asked.extend(members.map(|(key, value)| format!("{key} = {}", plain(value))));
    }
    asked.extend(contract.get("guard").map(|guard| format!("guard = {}", plain(guard))));
    asked
}

fn plain(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

/// The least share of wrong answers that would be followed by so few wrong ones in one of twenty cases
/// (Clopper and Pearson 1934), rounded up to a tenth of a percent; none of more inputs than it is worth
/// working out for. It is for a reader: nothing is decided by it.
fn not_ruled_out(rows: u32, wrong_ppm: u32) -> Option<String> {
    const MOST: u32 = 100_000;
    if rows > MOST {
        return None;
    }
    let n = f64::from(rows);
    let wrong = (u64::from(rows) * u64::from(wrong_ppm) + 500_000) / 1_000_000;
    let is_likely = |share: f64| {
        let (mut term, mut tail) = (n * (1.0 - share).ln(), 0.0);
        for j in 0..=wrong {
            tail += term.exp();
            let j = j as f64;
            term += ((n - j) / (j + 1.0)).ln() + (share / (1.0 - share)).ln();
        }
        tail > 0.05
    };
    let (mut low, mut high) = (0_u32, 1000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if is_likely(f64::from(middle) / 1000.0) { low = middle } else { high = middle }
    }
    Some(percent(Some(high * 1000)))
}

#[cfg(test)]
mod tests {
    use super::not_ruled_out;

    #[test]
    fn what_few_inputs_do_not_rule_out_is_the_bound_of_clopper_and_pearson() {
        // 1 - 0.05^(1/n) of none wrong; of others from the tables.
        for (rows, wrong_ppm, bound) in [
            (12, 0, Some("22.1%")),
            (100, 0, Some("3%")),
            (2, 0, Some("77.7%")),
            (20, 50_000, Some("21.7%")),
            (1000, 10_000, Some("1.7%")),
            (10, 1_000_000, Some("100%")),
            (100_001, 0, None),
        ] {
            assert_eq!(not_ruled_out(rows, wrong_ppm).as_deref(), bound, "{rows}, {wrong_ppm}");
        }
    }
}
