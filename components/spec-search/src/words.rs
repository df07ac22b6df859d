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

/// A text of at most so many characters. The host takes secrets out of what leaves by what they
/// look like, and half of one looks like none: so a word, a number or a code is never cut in two.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", whole(&text[..at], &text[at..])),
    }
}

/// The longest number or code with gaps in it, in bytes.
const LONGEST_CODE: usize = 48;

/// The beginning of a text, without what goes on in the rest of it.
fn whole<'t>(head: &'t str, rest: &str) -> &'t str {
    // What a secret of one piece is made of.
    let joins = |one: char| one.is_ascii_graphic() && !"\"'`,;&()[]{}<>".contains(one);
    let head = if rest.starts_with(joins) { head.trim_end_matches(joins) } else { head };
    // Cards, accounts and telephones have gaps.
    let coded = |one: char| one.is_ascii_digit() || one.is_ascii_uppercase() || " ().+-".contains(one);
    let tail = &head[head.trim_end_matches(coded).len()..];
    let tail = &tail[tail.len().saturating_sub(LONGEST_CODE)..];
    if tail.contains(|one: char| one.is_ascii_digit()) { &head[..head.len() - tail.len()] } else { head }
}

/// A value as JSON, cut.
pub fn shown(value: &Value, most: usize) -> String {
    cut(value.canonical().as_str(), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays_as_it_is_and_what_is_long_ends_before_a_word() {
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("one two three", 8), "one two …");
        assert_eq!(cut("one two three", 10), "one two …");
        assert_eq!(cut("größere Wörter überall", 5), "größ…", "letters of no secret may be cut");
        assert_eq!(cut(&"x".repeat(50), 20), "…");
    }

    #[test]
    fn nothing_is_left_of_a_secret_that_is_cut_wherever_it_is() {
        for (secret, parts) in [
            ("jane.doe@corp.example", vec!["jane", "corp"]),
            ("4111 1111 1111 1111", vec!["4111", "11"]),
            ("4111-1111-1111-1111", vec!["4111", "11"]),
            ("+49 (30) 123-45 678", vec!["49", "123", "30"]),
            ("DE89 3704 0044 0532 0130 00", vec!["89", "3704"]),
            ("GB29 NWBK 6016 1331 9268 19", vec!["29", "NWBK"]),
            ("sk-ant-0123456789abcdefghij", vec!["sk-", "0123"]),
            ("eyJhbGciOi.eyJzdWIi.c2lnbmF0", vec!["eyJ"]),
            ("https://ann:hunter22@db.example", vec!["ann", "hunt"]),
            ("password=hunter22", vec!["hunt"]),
        ] {
            let text = format!("please write to {secret} at once");
            let start = "please write to ".len();
            for most in start + 1..start + secret.len() {
                let cut = cut(&text, most);
                assert!(cut.starts_with("please write to"), "{cut}");
                assert!(parts.iter().all(|part| !cut.contains(part)), "{secret} at {most}: {cut}");
            }
        }
    }
}
