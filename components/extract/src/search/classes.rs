//! Outputs that are plainly classes of free text: thousands of texts, few labels, none of them
//! in its text. Rules over words may explain them, but nothing computes them; what no short
//! search finds is for a trained model.

use std::collections::HashSet;

use auto_json::Value;

use super::Example;

/// The fewest examples, and examples for each label.
const EXAMPLES: usize = 400;
const OF_EACH: usize = 20;

/// A free text has so many words at least.
const WORDS: usize = 3;

/// How many examples are looked at for what their texts are.
const LOOKED: usize = 256;

/// Why the examples are classes of free text, if they are.
pub fn of_free_text(examples: &[Example]) -> Option<String> {
    if examples.len() < EXAMPLES {
        return None;
    }
    let labels: Option<HashSet<&str>> = examples.iter().map(|example| example.output.as_text()).collect();
    let labels = labels?;
    if labels.len() < 2 || labels.len() * OF_EACH > examples.len() {
        return None;
    }
    let step = examples.len().div_ceil(LOOKED);
    let looked: Vec<&Example> = examples.iter().step_by(step).collect();
    let free = looked.iter().filter(|example| is_free(example)).count();
    (free * 10 >= looked.len() * 9).then(|| {
        format!(
            "{} inputs of free text have {} outputs, which are no parts of them: classes, so only rules over words were \
             looked for, with a small share of the steps",
            examples.len(),
            labels.len()
        )
    })
}

/// Whether the input has a text of several words, and none with the output in it.
fn is_free(example: &Example) -> bool {
    let label = example.output.as_text().unwrap_or_default().to_lowercase();
    let mut texts = Vec::new();
    collect(&example.input, &mut texts);
    let several = texts.iter().any(|text| text.split_whitespace().nth(WORDS - 1).is_some());
    several && !texts.iter().any(|text| text.to_lowercase().contains(&label))
}

fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::Text(text) => texts.push(text),
        Value::List(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Record(record) => record.iter().for_each(|(_, item)| collect(item, texts)),
        _ => {}
    }
}
