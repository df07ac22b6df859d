//! What models and artifacts say of texts, in figures.

use anyhow::anyhow;
use auto_json::{Record, Value};
use auto_runtime::{Module, Outcome, Program};

use super::bench::Promise;
use super::rows::{Drawn, Row, json};
use crate::clock::{self, Effort, Subject, figure};

/// What the scoring program says of a text.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) answer: String,
    pub(super) right: bool,
    pub(super) doubt: u64,
    pub(super) unsure: u64,
}

/// Asks a scoring program.
pub(super) fn said(scoring: &Module, row: &Row) -> anyhow::Result<Said> {
    let (outcome, _) = scoring.run_fresh(&json(&row.text))?;
    let Outcome::Answer(answer) = outcome else { return Err(anyhow!("{:?} for {:?}", outcome, row.text)) };
    let answer = Value::parse(&answer)?;
    let number = |name| answer.get(name).and_then(Value::as_u64).ok_or_else(|| anyhow!("{answer} has no {name}"));
    let value = answer.get("value").ok_or_else(|| anyhow!("{answer} has no value"))?;
    Ok(Said {
        right: value.as_text() == Some(&row.label),
        answer: value.canonical().into_string(),
        doubt: number("doubt")?,
        unsure: number("unsure")?,
    })
}

/// `part / whole`, to four places.
pub(super) fn share(part: usize, whole: usize) -> Value {
    figure(part as f64 / whole.max(1) as f64, 4)
}

/// The largest share of texts that can be answered with 1% wrong, the surest first.
pub(super) fn coverage(inside: &[Said]) -> Value {
    let mut rows: Vec<&Said> = inside.iter().collect();
    rows.sort_by_key(|said| said.unsure);
    let (mut wrong, mut best) = (0, 0);
    for (answered, said) in (1..).zip(rows) {
        wrong += usize::from(!said.right);
        if wrong * 100 <= answered {
            best = answered;
        }
    }
    share(best, inside.len())
}

/// How well doubt tells texts of no class from texts of one: the area under the curve, and the
/// share of the others that is let through where 95% of these are.
pub(super) fn apart(inside: &[Said], others: &[Said]) -> (Value, Value) {
    let mut doubts: Vec<u64> = inside.iter().map(|said| said.doubt).collect();
    doubts.sort_unstable();
    let below: usize = others.iter().map(|said| doubts.partition_point(|doubt| *doubt < said.doubt)).sum();
    let ties: usize = others
        .iter()
        .map(|said| {
            doubts.partition_point(|doubt| *doubt <= said.doubt) - doubts.partition_point(|doubt| *doubt < said.doubt)
        })
        .sum();
    let area = (below as f64 + ties as f64 / 2.0) / (inside.len() * others.len()) as f64;
    let limit = doubts.get((doubts.len() * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    let leak = others.iter().filter(|said| said.doubt <= limit).count();
    (figure(area, 4), share(leak, others.len()))
}

/// What the artifact does with its limits.
pub(super) fn at_limit(program: &Program, drawn: &Drawn, far: &[Row], promise: &Promise) -> anyhow::Result<Record> {
    let mut session = program.session();
    let mut answered = |rows: &[Row]| -> anyhow::Result<(usize, usize)> {
        let (mut answered, mut wrong) = (0, 0);
        for row in rows {
            if let Outcome::Answer(answer) = session.run(&json(&row.text))? {
                answered += 1;
                wrong += usize::from(answer != json(&row.label));
            }
        }
        Ok((answered, wrong))
    };
    let (inside, wrong) = answered(&drawn.test)?;
    let mut report = Record::new()
        .with("promised", promise.promised)
        .with("at_most", figure(promise.at_most as f64 / 1e6, 4))
        .with("coverage", share(inside, drawn.test.len()))
        .with("silent_error", share(wrong, inside));
    for (name, rows) in [("near_answered", drawn.near.as_slice()), ("far_answered", far)] {
        if !rows.is_empty() {
            report.set(name, share(answered(rows)?.0, rows.len()));
        }
    }
    Ok(report)
}

/// Warm, in one process, over the test texts in turn.
pub(super) fn nanoseconds(effort: &Effort, program: &Program, test: &[Row]) -> Value {
    let inputs: Vec<String> = test.iter().map(|row| json(&row.text)).collect();
    let mut session = program.session();
    let mut next = 0;
    let mut subjects = [Subject::new("warm", || {
        drop(std::hint::black_box(session.run(&inputs[next])));
        next = (next + 1) % inputs.len();
    })];
    figure(clock::measure(effort, &mut subjects)[0].median(), 0)
}
