//! What products that watch agents (Langfuse, LangSmith) say of an operation in common: ids that are
//! numbers or not, times, costs, notes, and content that may not have been captured.

use crate::{Notes, Record, Span, SpanKind, Value, identity, json, pairs, set, uncaptured};

/// Attributes that say what an operation cost; no note may have their name.
const FIGURES: [&str; 2] = ["tokens", "cost_usd_micros"];

/// Sixteen hex digits are a number; any other id is hashed to one.
pub fn number(id: &str) -> u64 {
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap_or_default();
    let plain = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { hex(id) } else { hex(&identity(&[id])[..16]) }
}

/// When an operation began, and how long it took where it ended after that.
pub fn timed(span: &mut Span, started: Option<u64>, ended: Option<u64>) {
    span.started = started.unwrap_or(0);
    span.duration = ended.and_then(|ended| ended.checked_sub(span.started));
}

/// What an operation was given and gave. An operation, other than structure, without its content is
/// one whose content was not captured.
pub fn content(span: &mut Span, input: Option<Value>, output: Option<Value>, notes: &mut Notes, place: &str) {
    let captured = input.is_some() && (output.is_some() || span.error.is_some());
    let text = |value: Option<Value>| json(&value.unwrap_or(Value::Null));
    (span.input, span.output) = (text(input), text(output));
    if span.kind != SpanKind::Structural && !captured {
        uncaptured(span, notes, place);
    }
}

/// The members that have no meaning of their own, as attributes.
pub fn notes_of(record: &Record, known: &[&str]) -> Vec<(String, String)> {
    let kept = record.iter().filter(|(key, _)| !known.contains(key) && !FIGURES.contains(key));
    pairs(&kept.map(|(key, value)| (key.to_owned(), value.clone())).collect())
}

/// Adds notes whose names are not taken.
pub fn extend(attributes: &mut Vec<(String, String)>, more: &Record) {
    for (key, value) in pairs(more) {
        if !FIGURES.contains(&key.as_str()) && attributes.iter().all(|(own, _)| *own != key) {
            attributes.push((key, value));
        }
    }
}

/// What an operation cost. Nothing is what an unknown price comes to as well.
pub fn figures(attributes: &mut Vec<(String, String)>, tokens: Option<u64>, micro_usd: Option<u64>) {
    for (key, figure) in FIGURES.into_iter().zip([tokens, micro_usd]) {
        if let Some(figure) = figure.filter(|figure| *figure > 0) {
            set(attributes, key, figure.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span;

    #[test]
    fn ids_are_numbers_where_they_are_hex_and_else_hashed() {
        assert_eq!((number("00000000000000ff"), number("00000000000000FF")), (255, 255));
        assert_ne!(number("ff"), 255);
        assert_ne!(number("a"), number("b"));
    }

    #[test]
    fn what_ends_before_it_begins_has_no_duration() {
        let mut one = span(SpanKind::ToolCall, "t");
        timed(&mut one, Some(5), Some(4));
        assert_eq!((one.started, one.duration), (5, None));
        timed(&mut one, Some(5), Some(5));
        assert_eq!(one.duration, Some(0));
    }

    #[test]
    fn an_operation_without_its_content_is_structure_and_structure_stays_so() {
        let mut notes = Notes::default();
        let mut one = span(SpanKind::ToolCall, "t");
        content(&mut one, Some(Value::from(1)), None, &mut notes, "x");
        assert_eq!((one.kind.clone(), one.input.as_str()), (SpanKind::Structural, "1"));
        let mut failed = span(SpanKind::ToolCall, "t");
        failed.error = Some("no".into());
        content(&mut failed, Some(Value::from(1)), None, &mut notes, "x");
        assert_eq!(failed.kind, SpanKind::ToolCall);
        assert_eq!(notes.finish().len(), 1);
    }

    #[test]
    fn notes_take_no_name_that_is_taken_and_no_figure() {
        let record = |text: &str| Value::parse(text).unwrap().as_record().cloned().unwrap();
        let mut attributes = notes_of(&record(r#"{"id":1,"a":"x","tokens":9,"n":null}"#), &["id"]);
        extend(&mut attributes, &record(r#"{"a":"y","b":[1],"cost_usd_micros":9}"#));
        figures(&mut attributes, Some(7), Some(0));
        let expected = [("a", "x"), ("b", "[1]"), ("tokens", "7")];
        assert_eq!(attributes, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}
