//! The paths of a guard's checks: JSON pointers (RFC 6901) in which the segment `*` stands
//! for every item of a list. A list is entered only so; any other segment is a key.

use auto_json::Value;

use crate::types::Type;

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `*`: every item of a list.
    Each,
    /// The member of that key.
    Field(String),
}

/// Reads a path; `None` where it does not start with `/` (and is not empty) or has a `~`
/// that is neither `~0` nor `~1`.
pub fn parse_path(path: &str) -> Option<Vec<Step>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    path.strip_prefix('/')?.split('/').map(step).collect()
}

fn step(segment: &str) -> Option<Step> {
    if segment == "*" {
        return Some(Step::Each);
    }
    let mut parts = segment.split('~');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        name.push(match part.as_bytes().first() {
            Some(b'0') => '~',
            Some(b'1') => '/',
            _ => return None,
        });
        name.push_str(&part[1..]);
    }
    Some(Step::Field(name))
}

/// The type of what a path meets in values of `ty`, itself never optional; `None` where
/// it can meet nothing. Everything inside `json` is `json`.
pub fn type_at<'t>(ty: &'t Type, path: &[Step]) -> Option<&'t Type> {
    match (ty, path) {
        (Type::Optional(item), path) => type_at(item, path),
        (ty, []) => Some(ty),
        (Type::Json, _) => Some(ty),
        (Type::List(item), [Step::Each, rest @ ..]) => type_at(item, rest),
        (Type::Map(item), [Step::Field(_), rest @ ..]) => type_at(item, rest),
        (Type::Record(fields), [Step::Field(name), rest @ ..]) => {
            fields.iter().find(|field| field.name == *name).and_then(|field| type_at(&field.ty, rest))
        }
        _ => None,
    }
}

/// Calls `see` with every value that a path meets, in order.
pub fn visit<'v>(value: &'v Value, path: &[Step], see: &mut impl FnMut(&'v Value)) {
    match (path, value) {
        ([], value) => see(value),
        ([Step::Each, rest @ ..], Value::List(items)) => items.iter().for_each(|item| visit(item, rest, see)),
        ([Step::Field(name), rest @ ..], Value::Record(record)) => {
            if let Some(value) = record.get(name) {
                visit(value, rest, see);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(value: &str, path: &str) -> Vec<String> {
        let value = Value::parse(value).unwrap();
        let mut met = Vec::new();
        visit(&value, &parse_path(path).unwrap(), &mut |value| met.push(value.to_string()));
        met
    }

    #[test]
    fn a_path_meets_what_a_pointer_would_and_every_item() {
        let value = r#"{"a":[{"b":1},{"c":2},{"b":[3]}],"x/y~":4,"":5,"0":[6]}"#;
        assert_eq!(met(value, "/a/*/b"), ["1", "[3]"]);
        assert_eq!(met(value, "/a/*/b/*"), ["3"]);
        assert_eq!(met(value, "/x~1y~0"), ["4"]);
        assert_eq!(met(value, "/"), ["5"]);
        assert_eq!(met(value, "/0/0"), [""; 0]);
        assert_eq!(met("7", ""), ["7"]);
    }

    #[test]
    fn what_is_not_a_pointer_is_refused() {
        for path in ["a", "/~", "/~2", "/a~", "*"] {
            assert_eq!(parse_path(path), None, "{path}");
        }
    }

    #[test]
    fn the_type_at_a_path_is_that_of_what_it_meets() {
        let ty: Type = "record{a?: list<optional<record{b: int}>>, m: map<text>, j: json}".parse().unwrap();
        let at = |path: &str| type_at(&ty, &parse_path(path).unwrap()).map(Type::to_string);
        assert_eq!(at("/a/*/b").as_deref(), Some("int"));
        assert_eq!(at("/m/any key").as_deref(), Some("text"));
        assert_eq!(at("/j/*/x").as_deref(), Some("json"));
        assert_eq!(at("/a/b"), None);
        assert_eq!(at("/m/x/y"), None);
    }
}
