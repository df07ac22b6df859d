//! What a result is to be like: of an object the members that are named, of a list every item, of
//! anything else itself. Three forms ask for less:
//!
//! | form | is like |
//! |---|---|
//! | `{"$any": true}` | anything |
//! | `{"$text": part}` | a text that is not empty and has the part in it |
//! | `{"$some": pattern}` | a list with an item that is like the pattern |

use auto_json::Value;

use crate::short::form;

/// Where a value is not like a pattern, and what was expected there; none where it is.
pub fn difference(pattern: &Value, value: &Value) -> Option<String> {
    parting(pattern, value, "")
}

fn parting(pattern: &Value, value: &Value, at: &str) -> Option<String> {
    let expected = || {
        let place = if at.is_empty() { String::new() } else { format!("{at} is ") };
        Some(format!("{place}{pattern}"))
    };
    match (pattern, value) {
        (Value::Record(pattern), value) => match (form(pattern), value) {
            (Some(("$any", _)), _) => None,
            (Some(("$text", part)), Value::Text(text)) => {
                let part = part.as_text().unwrap_or_default();
                if text.is_empty() || !text.contains(part) { expected() } else { None }
            }
            (Some(("$some", wanted)), Value::List(items)) => {
                let found = items.iter().any(|item| parting(wanted, item, at).is_none());
                if found { None } else { expected() }
            }
            (None, Value::Record(record)) => pattern.iter().find_map(|(key, wanted)| match record.get(key) {
                Some(value) => parting(wanted, value, &format!("{at}/{key}")),
                None => Some(format!("{at}/{key} is {wanted}")),
            }),
            _ => expected(),
        },
        (Value::List(wanted), Value::List(items)) if wanted.len() == items.len() => {
            let mut pairs = wanted.iter().zip(items).enumerate();
            pairs.find_map(|(number, (wanted, item))| parting(wanted, item, &format!("{at}/{number}")))
        }
        (pattern, value) if pattern == value => None,
        _ => expected(),
    }
}

/// The values at a pointer in which `*` is every item of a list; empty where nothing is there.
pub fn all_at<'v>(value: &'v Value, pointer: &str) -> Vec<&'v Value> {
    pointer.split('/').skip(1).fold(vec![value], |found, step| {
        let inner = |value: &'v Value| -> Vec<&'v Value> {
            match (value, step) {
                (Value::List(items), "*") => items.iter().collect(),
                (Value::List(items), step) => {
                    step.parse::<usize>().ok().and_then(|at| items.get(at)).into_iter().collect()
                }
                (value, step) => value.get(step).into_iter().collect(),
            }
        };
        found.into_iter().flat_map(inner).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn a_pattern_names_what_counts_and_the_difference_says_where() {
        let value = json(r#"{"a": [1, {"b": "xyz", "c": 2}], "d": null}"#);
        for alike in [
            r#"{}"#,
            r#"{"a": [1, {"b": "xyz"}]}"#,
            r#"{"a": {"$some": {"c": 2}}, "d": null}"#,
            r#"{"a": [{"$any": true}, {"b": {"$text": "y"}}]}"#,
        ] {
            assert_eq!(difference(&json(alike), &value), None, "{alike}");
        }
        for (other, says) in [
            (r#"{"a": [1]}"#, "/a is [1]"),
            (r#"{"a": [1, {"b": "x"}]}"#, r#"/a/1/b is "x""#),
            (r#"{"e": 1}"#, "/e is 1"),
            (r#"{"a": {"$some": 3}}"#, r#"/a is {"$some":3}"#),
            (r#"{"d": {"$text": ""}}"#, r#"/d is {"$text":""}"#),
            ("3", "3"),
        ] {
            assert_eq!(difference(&json(other), &value).as_deref(), Some(says), "{other}");
        }
    }

    #[test]
    fn a_pointer_with_a_star_finds_every_item() {
        let value = json(r#"{"found": [{"p": 1}, {"p": 2}]}"#);
        assert_eq!(all_at(&value, "/found/*/p"), [&json("1"), &json("2")]);
        assert_eq!(all_at(&value, "/found/1/p"), [&json("2")]);
        assert_eq!(all_at(&value, ""), [&value]);
        assert!(all_at(&value, "/absent/*").is_empty());
    }
}
