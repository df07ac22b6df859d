//! Labelled texts: read, drawn, and as the host would hand them over.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use auto_json::Value;
use auto_kit::types::{Observation, Witness};
use auto_schema::digest::Digest;

/// A labelled text.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) label: String,
}

/// What is trained on and what is measured.
pub(super) struct Drawn {
    pub(super) train: Vec<Row>,
    /// Of the classes that were drawn.
    pub(super) test: Vec<Row>,
    /// Of the others.
    pub(super) near: Vec<Row>,
}

/// How much is drawn.
pub(super) struct Draw {
    pub(super) seed: u64,
    /// Classes; all of them without.
    pub(super) classes: Option<usize>,
    /// Training texts; all of those classes without.
    pub(super) labels: Option<usize>,
    /// Whether the training texts that were not drawn are tested on too.
    pub(super) rest: bool,
}

impl Draw {
    /// Draws. `evals/classify/beside.py` draws the same.
    pub(super) fn from(&self, train: &[Row], test: &[Row]) -> anyhow::Result<Drawn> {
        let mut labels: Vec<&str> = train.iter().map(|row| row.label.as_str()).collect();
        labels.sort_by_cached_key(|label| order(self.seed, label));
        labels.dedup();
        let classes: Vec<&str> = labels.into_iter().take(self.classes.unwrap_or(usize::MAX)).collect();
        let of_class = |row: &&Row| classes.contains(&row.label.as_str());
        let mut pool: Vec<Row> = train.iter().filter(of_class).cloned().collect();
        pool.sort_by_cached_key(|row| order(self.seed, &row.text));
        let wanted = self.labels.unwrap_or(pool.len());
        ensure!(wanted >= classes.len(), "fewer labels than classes");
        // One of each class first, so that every class is known.
        let is_first = |index: usize| pool[..index].iter().all(|row| row.label != pool[index].label);
        let (first, others): (Vec<usize>, Vec<usize>) = (0..pool.len()).partition(|index| is_first(*index));
        let order: Vec<usize> = first.into_iter().chain(others).collect();
        let (chosen, left) = order.split_at(wanted.min(order.len()));
        let rows = |indices: &[usize]| indices.iter().map(|index| pool[*index].clone()).collect::<Vec<Row>>();
        let (mut inside, near): (Vec<Row>, Vec<Row>) = test.iter().cloned().partition(|row| of_class(&row));
        let train = rows(chosen);
        if self.rest {
            let known: Vec<&str> = train.iter().map(|row| row.text.as_str()).collect();
            inside.extend(rows(left).into_iter().filter(|row| !known.contains(&row.text.as_str())));
        }
        Ok(Drawn { train, test: inside, near })
    }
}

/// A place in an order that depends on the seed.
pub(super) fn order(seed: u64, text: &str) -> Digest {
    Digest::of(format!("{seed}\n{text}").as_bytes())
}

/// The rows of a file, one `{"text", "label"}` a line.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let row = |(number, line): (usize, &str)| {
        let value = Value::parse(line).with_context(|| format!("{}:{}", path.display(), number + 1))?;
        let text = |key| value.get(key).and_then(Value::as_text).map(str::to_owned);
        let both = text("text").zip(text("label")).map(|(text, label)| Row { text, label });
        both.ok_or_else(|| anyhow!("{}:{} has no text and label", path.display(), number + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
}

/// As the host would hand them over: distinct inputs in order, with every output.
pub(super) fn observations(rows: &[Row]) -> Vec<Observation> {
    let mut all: BTreeMap<String, BTreeMap<String, u32>> = Default::default();
    for row in rows {
        *all.entry(json(&row.text)).or_default().entry(json(&row.label)).or_default() += 1;
    }
    let witness = |(output, count)| Witness { output, count };
    let observation = |(input, outputs): (String, BTreeMap<String, u32>)| Observation {
        input,
        outputs: outputs.into_iter().map(witness).collect(),
        errors: 0,
    };
    all.into_iter().map(observation).collect()
}

/// A text as canonical JSON.
pub(super) fn json(text: &str) -> String {
    Value::from(text).canonical().into_string()
}
