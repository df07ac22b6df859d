//! What all witnesses keep to: their shape, and for each place in it how long texts and
//! lists are, which characters occur, and how large numbers get.
//!
//! Margins. Of n exchangeable values the next one is outside the witnessed range with
//! probability at most 2/(n+1), whatever the distribution; margins keep small n from
//! turning that into abstentions:
//!
//! - lengths: up by half the span and a quarter of the longest; down by half the span and
//!   a quarter of the shortest, but never below half of the shortest. So what is ten times
//!   as long as the longest witness is refused, and so is an empty text where none was.
//! - numbers: half the span on both sides, not across zero where no witness is. A number
//!   that was always the same has no span and stays what it was.
//! - characters: none. A class of characters that no witness has is a new kind of input.
//! - enums: a text with few values, each in two witnesses or more, is taken to have no
//!   others: where nothing was seen just once, the probability of something new is
//!   estimated as 0 (Good 1953).

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Number, NumberKind, Value};
use auto_rt::kernels::novelty::character_classes;
use auto_schema::ir::Check;
use auto_schema::types::{Field, Type};

/// The most values, and the most code points in one, of a text taken for an enum; and how
/// many witnesses it takes per value.
const ENUM_VALUES: usize = 16;
const ENUM_LENGTH: usize = 32;
const ENUM_WITNESSES: usize = 4;

/// The profile of some witnesses.
pub(crate) struct Profile {
    /// The shape first, then by place.
    pub checks: Vec<Check>,
    /// The places of texts that vary, for sketches.
    pub texts: Vec<String>,
}

/// The values of each witness at one place.
type Seen<'a> = Vec<Vec<&'a Value>>;

impl Profile {
    pub(crate) fn of(witnesses: &[Value]) -> Profile {
        let mut profile = Profile { checks: Vec::new(), texts: Vec::new() };
        let seen = witnesses.iter().map(|witness| vec![witness]).collect();
        let ty = profile.place(&Type::infer(witnesses.iter()), String::new(), seen);
        profile.checks.insert(0, Check::Shape { ty });
        profile
    }

    /// Adds the checks for a place and what is inside it; gives the type to expect there.
    fn place(&mut self, ty: &Type, path: String, seen: Seen) -> Type {
        match ty {
            Type::Optional(item) => {
                let present = inside(&seen, |value| Some(value).filter(|value| **value != Value::Null));
                Type::optional(self.place(item, path, present))
            }
            Type::Record(fields) => {
                let fields = fields.iter().map(|field| Field { ty: self.field(field, &path, &seen), ..field.clone() });
                Type::Record(fields.collect())
            }
            Type::List(item) => {
                self.lengths(&path, &seen);
                let items = inside(&seen, |value| value.as_list().unwrap_or_default());
                Type::list(self.place(item, format!("{path}/*"), items))
            }
            Type::Text => match labels(&seen) {
                Some(labels) => Type::Enum(labels),
                None => {
                    self.lengths(&path, &seen);
                    self.texts(path, &seen);
                    Type::Text
                }
            },
            Type::Int | Type::Number => {
                self.numbers(&path, &seen);
                ty.clone()
            }
            Type::Json => {
                // Values of several kinds: the shape says nothing, so each kind is looked at.
                self.numbers(&path, &seen);
                self.lengths(&path, &seen);
                self.texts(path, &seen);
                Type::Json
            }
            Type::Unit | Type::Bool | Type::Bytes | Type::Enum(_) | Type::Map(_) => ty.clone(),
        }
    }

    fn field(&mut self, field: &Field, path: &str, seen: &Seen) -> Type {
        // In a path `*` is every item, so a field of that name has no path; the shape holds.
        if field.name == "*" {
            return field.ty.clone();
        }
        let path = format!("{path}/{}", field.name.replace('~', "~0").replace('/', "~1"));
        let members = inside(seen, |value| value.get(&field.name));
        self.place(&field.ty, path, members)
    }

    /// Of texts and lists alike, as the check does not tell them apart.
    fn lengths(&mut self, path: &str, seen: &Seen) {
        let length = |value: &Value| match value {
            Value::Text(text) => Some(text.chars().count()),
            Value::List(items) => Some(items.len()),
            _ => None,
        };
        let range = values(seen).filter_map(length).fold(None, |range: Option<(usize, usize)>, length| {
            let (shortest, longest) = range.unwrap_or((length, length));
            Some((shortest.min(length), longest.max(length)))
        });
        if let Some((shortest, longest)) = range {
            let half_span = (longest - shortest).div_ceil(2);
            let down = (half_span + shortest.div_ceil(4)).min(shortest / 2);
            let up = half_span + longest.div_ceil(4);
            let (min, max) = ((shortest - down) as u64, (longest + up) as u64);
            self.checks.push(Check::Length { path: path.to_owned(), min, max });
        }
    }

    fn texts(&mut self, path: String, seen: &Seen) {
        let texts = || values(seen).filter_map(Value::as_text);
        if texts().next().is_some() {
            let classes = texts().fold(0, |classes, text| classes | character_classes(text));
            self.checks.push(Check::Characters { path: path.clone(), classes });
            self.texts.push(path);
        }
    }

    fn numbers(&mut self, path: &str, seen: &Seen) {
        let numbers = || values(seen).filter_map(Value::as_number);
        let least = numbers().min_by(|a, b| a.compare(b));
        let most = numbers().max_by(|a, b| a.compare(b));
        if let (Some(least), Some(most)) = (least, most) {
            let (min, max) = widened(least, most).unwrap_or((*least, *most));
            self.checks.push(Check::Range { path: path.to_owned(), min: min.text(), max: max.text() });
        }
    }
}

/// What is inside the values of each witness.
fn inside<'a, I: IntoIterator<Item = &'a Value>>(seen: &Seen<'a>, inside: impl Fn(&'a Value) -> I) -> Seen<'a> {
    seen.iter().map(|values| values.iter().flat_map(|value| inside(value)).collect()).collect()
}

fn values<'a>(seen: &'a Seen<'a>) -> impl Iterator<Item = &'a Value> {
    seen.iter().flatten().copied()
}

/// The labels, if the texts of a place look like an enum's.
fn labels(seen: &Seen) -> Option<Vec<String>> {
    let mut witnesses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut having = 0;
    for values in seen {
        let texts: BTreeSet<&str> = values.iter().filter_map(|value| value.as_text()).collect();
        having += usize::from(!texts.is_empty());
        for text in texts {
            if text.chars().count() > ENUM_LENGTH {
                return None;
            }
            *witnesses.entry(text).or_default() += 1;
            if witnesses.len() > ENUM_VALUES {
                return None;
            }
        }
    }
    let repeated = witnesses.values().all(|count| *count >= 2);
    let often = having >= ENUM_WITNESSES * witnesses.len();
    (repeated && often && having > 0).then(|| witnesses.into_keys().map(str::to_owned).collect())
}

/// Both bounds moved out by half of what lies between them, exactly; integers stay
/// integers. `None` where the sums need more than 38 digits.
fn widened(least: &Number, most: &Number) -> Option<(Number, Number)> {
    let ((low, low_scale), (high, high_scale)) = (least.parts()?, most.parts()?);
    let integers = least.kind() == NumberKind::Integer && most.kind() == NumberKind::Integer;
    // Half of a decimal may take one digit more.
    let scale = low_scale.max(high_scale) + u16::from(!integers);
    let to_scale = |mantissa: i128, own| mantissa.checked_mul(10i128.checked_pow(u32::from(scale - own))?);
    let (low, high) = (to_scale(low, low_scale)?, to_scale(high, high_scale)?);
    let span = high.checked_sub(low)?;
    let half = span / 2 + span % 2;
    let (min, max) = (low.checked_sub(half)?, high.checked_add(half)?);
    let min = if low >= 0 { min.max(0) } else { min };
    let max = if high <= 0 { max.min(0) } else { max };
    let number = |mantissa| if integers { Number::integer(mantissa) } else { Number::decimal(mantissa, scale) };
    Some((number(min)?, number(max)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(witnesses: &[&str]) -> Vec<String> {
        let witnesses: Vec<Value> = witnesses.iter().map(|text| Value::parse(text).unwrap()).collect();
        let profile = Profile::of(&witnesses);
        let shown = profile.checks.iter().map(|check| match check {
            Check::Shape { ty } => ty.to_string(),
            Check::Length { path, min, max } => format!("{path} {min}..{max}"),
            Check::Characters { path, classes } => format!("{path} {classes:#b}"),
            Check::Range { path, min, max } => format!("{path} {min}..{max}"),
            Check::Sketch { .. } | Check::Score { .. } => unreachable!("profiles measure inputs alone"),
        });
        shown.collect()
    }

    #[test]
    fn margins_are_those_of_the_formulas() {
        assert_eq!(checks(&[r#""abcdefgh""#, r#""ab""#]), ["text", " 1..13", " 0b1"]);
        assert_eq!(checks(&["10", "20"]), ["int", " 5..25"]);
        assert_eq!(checks(&["1", "20"]), ["int", " 0..30"]);
        assert_eq!(checks(&["-4", "20"]), ["int", " -16..32"]);
        assert_eq!(checks(&["-9", "-2"]), ["int", " -13..0"]);
        assert_eq!(checks(&["0.5", "0.25"]), ["number", " 0.125..0.625"]);
        assert_eq!(checks(&["7"]), ["int", " 7..7"]);
        let most = format!("9{}", "0".repeat(37));
        assert_eq!(checks(&[&most, &format!("-{most}")]), ["int".to_owned(), format!(" -{most}..{most}")]);
    }

    #[test]
    fn every_place_is_looked_at() {
        let got = checks(&[r#"{"a":[{"b/":"x"}],"n":null,"z":[]}"#, r#"{"a":[],"n":"y","z":[]}"#]);
        let want = [
            r#"record{a: list<record{"b/": text}>, n: optional<text>, z: list<json>}"#,
            "/a 0..3",
            "/a/*/b~1 1..2",
            "/a/*/b~1 0b1",
            "/n 1..2",
            "/n 0b1",
            "/z 0..0",
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn places_of_several_kinds_are_looked_at_kind_by_kind() {
        assert_eq!(checks(&["1", r#""ab""#, "[1,2]"]), ["json", " 1..1", " 1..3", " 0b1"]);
    }

    #[test]
    fn repeated_labels_are_an_enum_and_single_ones_are_not() {
        let tier = |labels: &[&str]| {
            let rows = labels.iter().enumerate().map(|(id, tier)| format!(r#"{{"id":{id},"tier":"{tier}"}}"#));
            let rows: Vec<String> = rows.collect();
            checks(&rows.iter().map(String::as_str).collect::<Vec<_>>())[0].clone()
        };
        let repeated = ["gold", "none", "gold", "none", "gold", "gold", "none", "none"];
        assert_eq!(tier(&repeated), r#"record{id: int, tier: enum{"gold", "none"}}"#);
        assert_eq!(
            tier(&["gold", "gold", "gold", "gold", "gold", "gold", "gold", "none"]),
            "record{id: int, tier: text}"
        );
        assert_eq!(tier(&["gold", "none", "gold", "none"]), "record{id: int, tier: text}");
        assert_eq!(tier(&["en", "en", "en", "en"]), r#"record{id: int, tier: enum{"en"}}"#);
    }
}
