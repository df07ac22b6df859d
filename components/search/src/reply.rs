//! The JSON in what a teacher wrote. The last list of objects counts: in a fence where there are
//! fences, else where brackets say so; a bracket in the prose before it hides nothing. Whatever
//! else came has a code of its own, so that a session knows whether asking again makes sense.

use auto_json::Value;

use crate::Refusal;

/// The longest reply that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// How a refusal to answer begins, in lower case.
const REFUSING: [&str; 8] =
    ["i can't", "i cannot", "i can not", "i'm sorry", "i am sorry", "i'm unable", "i am unable", "i won't"];

/// The list that a reply ends in.
///
/// Codes: `reply-too-large`, `reply-truncated` (it ends in the middle of the JSON),
/// `reply-not-json` (it has none, or none that is a list of objects), `reply-refused` (the teacher
/// does not want to).
pub fn list(reply: &str) -> Result<Vec<Value>, Refusal> {
    if reply.len() > LONGEST {
        return Err(Refusal::new("reply-too-large", format!("the reply has {} bytes", reply.len())));
    }
    let fences: Vec<&str> = reply.split("```").collect();
    let (found, open) = if fences.len() > 1 {
        // Every second part is inside; the rest of a fence's own line names a language.
        let inside = fences.iter().skip(1).step_by(2).map(|part| part.split_once('\n').map_or(*part, |(_, text)| text));
        let inside: Vec<&str> = inside.collect();
        let open = fences.len().is_multiple_of(2);
        let closed = &inside[..inside.len() - usize::from(open)];
        (closed.iter().rev().find_map(|text| objects(text)), open)
    } else {
        bracketed(reply)
    };
    match (found, open) {
        (Some(list), _) => Ok(list),
        (None, true) => {
            let message = "the reply ends before its JSON does; give the teacher more tokens";
            Err(Refusal::new("reply-truncated", message))
        }
        (None, false) if refuses(reply) => {
            Err(Refusal::new("reply-refused", "the teacher does not want to answer; nothing was changed"))
        }
        (None, false) => Err(Refusal::new("reply-not-json", "the reply has no JSON list of objects")),
    }
}

fn objects(text: &str) -> Option<Vec<Value>> {
    match Value::parse(text.trim()).ok()? {
        Value::List(items) if items.iter().all(|item| item.as_record().is_some()) => Some(items),
        _ => None,
    }
}

/// How many bytes of brackets are looked through, for each byte of a reply: one that opens
/// thousands of them says nothing.
const LOOKS: usize = 16;

/// The last list of objects between brackets, and whether a list of objects stays open.
fn bracketed(text: &str) -> (Option<Vec<Value>>, bool) {
    let (mut found, mut open, mut from) = (None, false, 0);
    let mut left = text.len() * LOOKS;
    while let Some(at) = text[from..].find('[').map(|at| from + at) {
        let inside = text[at + 1..].trim_start();
        // An empty list in another one is no answer.
        let nothing = inside.starts_with(']') && text[..at].trim_end().ends_with('[');
        if !inside.starts_with(['{', ']']) || nothing {
            from = at + 1;
            continue;
        }
        let end = closing(&text[at..]);
        left = left.saturating_sub(end.unwrap_or(text.len() - at));
        if left == 0 {
            return (found, open);
        }
        match end {
            Some(end) => match objects(&text[at..at + end]) {
                Some(list) => {
                    found = Some(list);
                    from = at + end;
                }
                None => from = at + 1,
            },
            None => {
                open |= text[at + 1..].trim_start().starts_with('{');
                from = at + 1;
            }
        }
    }
    (found, open)
}

/// Behind the bracket that closes the first one, as JSON has it.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn refuses(reply: &str) -> bool {
    let start = reply.trim_start().to_lowercase().replace('\u{2019}', "'");
    REFUSING.iter().any(|phrase| start.starts_with(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(reply: &str) -> &'static str {
        list(reply).expect_err(reply).code
    }

    #[test]
    fn the_last_list_of_objects_counts() {
        for reply in [
            "Prose [1] and [2].\n```json\n[{\"id\":\"c\"}]\n```\n",
            "As [1] says: [{\"id\":\"c\"}] and so on",
            "```\n[{\"id\":\"old\"}]\n```\nBetter:\n```json\n[{\"id\":\"c\"}]\n```",
            "[{\"id\":\"old\"}] [{\"id\":\"c\"}]",
            "```json\n[{\"id\":\"c\"}]\n```\n```json\n{\"n",
        ] {
            let list = list(reply).expect(reply);
            assert_eq!(list[0].get("id").and_then(Value::as_text), Some("c"), "{reply}");
        }
        assert_eq!(list("Nothing is wrong: ```json\n[]\n```"), Ok(vec![]));
    }

    #[test]
    fn each_way_to_say_nothing_has_a_code_of_its_own() {
        assert_eq!(code("```json\n[{\"id\":\"c\"},{\"id\""), "reply-truncated");
        assert_eq!(code("[{\"id\":\"c\"},{\"id\""), "reply-truncated");
        assert_eq!(code("I\u{2019}m sorry, but I cannot help with that."), "reply-refused");
        assert_eq!(code("It fails at dates."), "reply-not-json");
        assert_eq!(code("see [1]"), "reply-not-json");
        assert_eq!(code("```json\n[1, 2]\n```"), "reply-not-json");
        assert_eq!(code("```json\n{]\n```"), "reply-not-json");
        assert_eq!(code("so [[]] it is"), "reply-not-json");
        assert_eq!(code(""), "reply-not-json");
        assert_eq!(code(&"x".repeat(LONGEST + 1)), "reply-too-large");
    }

    #[test]
    fn thousands_of_brackets_are_told_in_time_and_hide_no_list_after_a_few() {
        let began = std::time::Instant::now();
        for bracket in ["[", "[{", "[{\"a\":", "[ ", "[1]"] {
            assert!(list(&bracket.repeat(200_000)).is_err(), "{bracket}");
        }
        assert!(list(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).is_err());
        assert!(began.elapsed().as_secs() < 20, "it is not looked through again for each of them");
        assert_eq!(list("[[[ [1] [] [{\"id\":1}]").map(|list| list.len()), Ok(1));
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in ["[", "]", "[[[[", "```", "``````", "[\"\\", "[{\"a\":\"]\"}", "é[é"] {
            let _ = list(text);
        }
    }
}
