//! The tasks: how a line is read, and one that has no answer.

use std::path::Path;

use anyhow::{Context, ensure};
use auto_json::Value;

/// An input and what comes out.
pub struct Example {
    pub input: Value,
    pub output: Value,
}

/// A task: examples of one rule.
pub struct Task {
    pub id: String,
    /// Of distinct inputs, in the order of the file.
    pub examples: Vec<Example>,
    /// How many the task itself says are given.
    pub train: Option<usize>,
}

/// Reads a file of tasks, one a line.
pub fn read(path: &Path) -> anyhow::Result<Vec<Task>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered.map(|(line, text)| task(text).with_context(|| format!("{}:{}", path.display(), line + 1))).collect()
}

fn task(line: &str) -> anyhow::Result<Task> {
    let value = Value::parse(line)?;
    let id = value.get("id").and_then(Value::as_text).context("a task has an \"id\", a text")?.to_owned();
    let train = match value.get("train") {
        None => None,
        Some(train) => Some(train.as_u64().and_then(|train| usize::try_from(train).ok()).context("\"train\" counts")?),
    };
    let mut examples: Vec<Example> = Vec::new();
    for example in value.get("examples").and_then(Value::as_list).context("a task has \"examples\", a list")? {
        let (Some(input), Some(output)) = (example.get("input"), example.get("output")) else {
            anyhow::bail!("an example has an \"input\" and an \"output\"");
        };
        if examples.iter().all(|known| known.input != *input) {
            examples.push(Example { input: input.clone(), output: output.clone() });
        }
    }
    ensure!(!examples.is_empty(), "{id} has no examples");
    Ok(Task { id, examples, train })
}

/// Texts whose outputs have nothing to do with them: a search that always runs to its end.
pub fn without_a_rule() -> Vec<Example> {
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    // Marsaglia's xorshift, 2003.
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 33) % below
    };
    let mut word = |length: u64| -> String { (0..length).map(|_| char::from(b'a' + next(26) as u8)).collect() };
    (0..8)
        .map(|row| {
            let input = format!("{} {}-{}, {}", word(5 + row % 3), word(3), word(4 + row % 2), word(6));
            Example { input: Value::List(vec![input.into()]), output: word(9).into() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_inputs_count_once_and_what_is_no_task_is_refused() {
        let read = task(
            r#"{"id": "a", "train": 2, "examples": [{"input": ["x"], "output": 1}, {"input": ["x"], "output": 2}]}"#,
        )
        .unwrap();
        assert_eq!((read.examples.len(), read.train), (1, Some(2)));
        for bad in ["[]", r#"{"id": "a", "examples": []}"#, r#"{"id": "a", "examples": [{"input": 1}]}"#] {
            assert!(task(bad).is_err(), "{bad}");
        }
    }
}
