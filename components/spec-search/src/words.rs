//! What is said to a teacher.

use auto_json::Value;

use crate::edit::Op;

/// To whoever diagnoses.
pub const DIAGNOSE: &str = "You diagnose an agent, the student: you find out what kinds of task it fails at, and \
what it lacks. You change nothing. You may call tools, which only read: reply with nothing but a fenced JSON list of \
calls, such as
```json
[{\"tool\": \"get_trace\", \"arguments\": {\"trace_id\": \"t1\"}}]
```
and you are told the results. When you know enough, say in prose what you found, and end with a fenced JSON list of 1 \
to 5 clusters of failures:
```json
[{\"id\": \"short_name\", \"description\": \"what goes wrong\", \"category\": \"the category of its tasks, if they \
have one\", \"task_ids\": [\"...\"], \"sample_trace_ids\": [\"...\"], \"skill_gap\": \"what the student lacks\"}]
```
Name only tasks and traces that you were shown. An empty list says that there is nothing to make better.";

/// To whoever wrote no clusters.
pub const REPAIR: &str = "What follows was to end in a JSON list of clusters of failures and does not. Reply with \
nothing but that list in a JSON fence, with the keys id, description, category, task_ids, sample_trace_ids, skill_gap.";

/// To whoever does a task itself.
pub const TASK: &str = "Do the task. Reply with the answer alone, in the form that the task asks for.";

/// To whoever plans.
pub const PLAN: &str = "You make an agent better by editing its spec. You are given the spec, what there is to choose \
from, the operations, and clusters of tasks that the agent fails at. Propose 1 to 3 edits for each cluster. Each \
proposal is applied alone and measured on tasks that you do not see: it stands if its targets get better and nothing \
else gets worse. Reply with a fenced JSON list of proposals:
```json
[{\"targets\": [\"cluster\"], \"edits\": [{\"op\": \"...\", \"payload\": {}, \"rationale\": \"...\"}], \
\"rationale\": \"...\"}]
```
Several edits of one proposal stand or fall together. A diff is a unified diff with exact context.";

/// The operations and their payloads, a line each.
pub fn operations() -> String {
    let keys = |keys: &[&str]| keys.join(", ");
    let line = |op: &Op| {
        let (need, may) = op.payload();
        let may = if may.is_empty() { String::new() } else { format!(" (and perhaps {})", keys(may)) };
        format!("- {}: payload {}{may}\n", op.name(), keys(need))
    };
    Op::ALL.iter().map(line).collect()
}

/// A text of at most so many characters.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// A value as JSON, cut.
pub fn shown(value: &Value, most: usize) -> String {
    cut(value.canonical().as_str(), most)
}
