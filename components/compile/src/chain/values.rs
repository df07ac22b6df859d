//! Places in recorded values: where lists and scalars are, what tells replies apart, and
//! what type they all have.

use auto_json::Value;
use auto_schema::types::{Field, Type};

/// How deep lists and scalars are looked for in what is known.
pub const MOST_DEPTH: usize = 4;

/// The type without records that differed: what other keys there are, nobody knows.
pub fn loose(ty: Type) -> Type {
    match ty {
        Type::Record(fields) if fields.iter().any(|field| field.optional) => Type::Json,
        Type::Record(fields) => {
            Type::Record(fields.into_iter().map(|field| Field { ty: loose(field.ty), ..field }).collect())
        }
        Type::List(item) => Type::list(loose(*item)),
        Type::Optional(inner) => match loose(*inner) {
            Type::Json => Type::Json,
            inner => Type::optional(inner),
        },
        Type::Unit => Type::Json,
        other => other,
    }
}

/// A test for one value in a reply: it is in all that will do and in no other, or the other
/// way round.
pub fn telling(replies: &[(&Value, bool)]) -> Option<String> {
    let (first, _) = replies.first()?;
    for path in scalars(first, MOST_DEPTH) {
        let values: Option<Vec<(&Value, bool)>> =
            replies.iter().map(|(reply, does)| Some((at(reply, &path)?, *does))).collect();
        let Some(values) = values else { continue };
        for wanted in [true, false] {
            let Some((one, _)) = values.iter().find(|(_, does)| *does == wanted) else { continue };
            if !matches!(one, Value::List(_) | Value::Record(_))
                && values.iter().all(|(value, does)| (value == one) == (*does == wanted))
            {
                let test = format!("eq({}, {one})", place(&path));
                return Some(if wanted { test } else { format!("not({test})") });
            }
        }
    }
    None
}

/// The paths to all scalars in a value that are not in lists.
pub(super) fn scalars(value: &Value, depth: usize) -> Vec<Vec<String>> {
    match value {
        Value::Record(record) if depth > 0 => {
            let inside = record.iter().flat_map(|(key, value)| {
                scalars(value, depth - 1).into_iter().map(move |path| [vec![key.to_owned()], path].concat())
            });
            inside.collect()
        }
        Value::Record(_) | Value::List(_) => Vec::new(),
        _ => vec![Vec::new()],
    }
}

/// The paths to all lists in a value, outer ones first.
pub fn lists(value: &Value, depth: usize) -> Vec<Vec<String>> {
    match value {
        Value::List(_) => vec![Vec::new()],
        Value::Record(record) if depth > 0 => {
            let inside = record.iter().flat_map(|(key, value)| {
                lists(value, depth - 1).into_iter().map(move |path| [vec![key.to_owned()], path].concat())
            });
            inside.collect()
        }
        _ => Vec::new(),
    }
}

/// What a path leads to.
pub fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, field| value.get(field))
}

/// The list that a path leads to; of none nothing.
pub fn items<'v>(value: &'v Value, path: &[String]) -> &'v [Value] {
    at(value, path).and_then(Value::as_list).unwrap_or_default()
}

/// A path, as the language writes it.
pub fn place(path: &[String]) -> String {
    under("$", path)
}

/// A path inside of what an expression gives.
pub fn under(root: &str, path: &[String]) -> String {
    path.iter().fold(root.to_owned(), |text, field| text + &member(field))
}

/// A member, as the language writes it.
pub fn member(field: &str) -> String {
    let plain = field.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && field.chars().all(|other| other.is_ascii_alphanumeric() || other == '_');
    if plain { format!(".{field}") } else { format!(".{}", Value::from(field)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_found_where_they_are_and_written_as_the_language_does() {
        let known = Value::parse(r#"{"a":{"b c":[1,2]},"d":[[3]],"e":"f"}"#).unwrap();
        let paths = lists(&known, MOST_DEPTH);
        let written: Vec<String> = paths.iter().map(|path| place(path)).collect();
        assert_eq!(written, [r#"$.a."b c""#, "$.d"]);
        assert_eq!(items(&known, &paths[0]).len(), 2);
        assert!(lists(&known, 0).is_empty());
    }

    #[test]
    fn one_value_tells_whether_a_reply_will_do() {
        let test = |replies: &[(&str, bool)]| {
            let replies: Vec<(Value, bool)> =
                replies.iter().map(|(text, does)| (Value::parse(text).unwrap(), *does)).collect();
            telling(&replies.iter().map(|(value, does)| (value, *does)).collect::<Vec<_>>())
        };
        let pending = r#"{"n":1,"state":"pending"}"#;
        let done = test(&[(pending, false), (r#"{"n":1,"state":"done"}"#, true), (r#"{"n":2,"state":"done"}"#, true)]);
        assert_eq!(done.as_deref(), Some(r#"eq($.state, "done")"#));
        let ended = test(&[(pending, false), (r#"{"n":1,"state":"a"}"#, true), (r#"{"n":1,"state":"b"}"#, true)]);
        assert_eq!(ended.as_deref(), Some(r#"not(eq($.state, "pending"))"#));
        assert_eq!(test(&[("true", true), ("false", false)]).as_deref(), Some("eq($, true)"));
        assert_eq!(test(&[(pending, false), (pending, true)]), None);
        assert_eq!(test(&[(pending, false), (r#"{"n":1}"#, true)]), None);
    }

    #[test]
    fn what_differed_between_replies_is_of_no_type() {
        let of = |texts: &[&str]| {
            let values: Vec<Value> = texts.iter().map(|text| Value::parse(text).unwrap()).collect();
            loose(Type::infer(values.iter())).to_string()
        };
        assert_eq!(of(&[r#"{"a":"x"}"#, r#"{"a":"y"}"#]), "record{a: text}");
        assert_eq!(of(&[r#"{"a":"x"}"#, r#"{"b":"y"}"#]), "json");
        assert_eq!(of(&[r#"[{"a":1}]"#, r#"[{"a":1,"b":2}]"#]), "list<json>");
        assert_eq!(of(&["null"]), "json");
    }
}
