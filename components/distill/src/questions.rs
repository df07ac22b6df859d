//! What a tree may ask of an input: whether a number is at most so much, whether a text or a truth
//! value is that one, whether a word occurs. Each question is an expression of the language, and is
//! answered here as that is.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Number, NumberKind, Value};

use crate::features::{Features, Kind, Place};

/// The most questions about one number, about the values of one text, and about its words.
const THRESHOLDS: usize = 32;
const LABELS: usize = 16;
const WORDS: usize = 200;

/// The longest text, in code points, that is taken for a label.
const LABEL_LENGTH: usize = 32;

/// The shortest word that is asked for.
const SHORTEST: usize = 3;

/// A question about a place.
pub(crate) struct Question<'f> {
    place: &'f Place,
    asks: Asks,
}

enum Asks {
    AtMost(Number),
    Is(Value),
    /// In small letters.
    Has(String),
}

impl Question<'_> {
    /// Whether it holds; where the place has nothing of the kind it does not.
    pub(crate) fn holds(&self, input: &Value) -> bool {
        let Some(value) = self.place.value(input) else { return false };
        match &self.asks {
            Asks::AtMost(most) => value.as_number().is_some_and(|number| number.compare(most).is_le()),
            Asks::Is(label) => value == label,
            Asks::Has(word) => value.as_text().is_some_and(|text| text.to_lowercase().contains(word.as_str())),
        }
    }

    /// Whether it asks for a word of a text.
    pub(crate) fn is_of_words(&self) -> bool {
        matches!(self.asks, Asks::Has(_))
    }

    /// Whether it asks about a text.
    pub(crate) fn is_of_a_text(&self) -> bool {
        self.place.kind == Kind::Text
    }

    /// The same as an expression.
    pub(crate) fn expression(&self) -> String {
        let at = self.place.at();
        let asked = match &self.asks {
            Asks::AtMost(most) => format!("le({at}, {})", most.text()),
            Asks::Is(label) => format!("eq({at}, {label})"),
            Asks::Has(word) => format!("contains(lower({at}), {})", Value::from(word.as_str())),
        };
        format!("default({asked}, false)")
    }
}

/// Whether trees have something to ask that is no word of a text.
pub(crate) fn structured(questions: &[Question]) -> bool {
    questions.iter().any(|question| !question.is_of_words())
}

/// The questions that part some inputs from others.
pub(crate) fn questions<'f>(features: &'f Features, inputs: &[&Value]) -> Vec<Question<'f>> {
    let mut questions = Vec::new();
    for place in &features.places {
        let values: Vec<&Value> = inputs.iter().filter_map(|input| place.value(input)).collect();
        let asks = match place.kind {
            Kind::Text => texts(&values),
            Kind::Scalar => {
                let truths: Vec<&Value> = values.iter().copied().filter(|value| value.as_bool().is_some()).collect();
                labels(&truths).into_iter().chain(numbers(&values)).collect()
            }
            Kind::Texts => Vec::new(),
        };
        questions.extend(asks.into_iter().map(|asks| Question { place, asks }));
    }
    questions
}

/// A label where the text takes few values, each more than once; else its words.
fn texts(values: &[&Value]) -> Vec<Asks> {
    let distinct: BTreeSet<&&Value> = values.iter().collect();
    let short = |value: &&&Value| value.as_text().is_some_and(|text| text.chars().count() <= LABEL_LENGTH);
    if distinct.len() <= LABELS && distinct.len() * 2 <= values.len() && distinct.iter().all(short) {
        return labels(values);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in values.iter().filter_map(|value| value.as_text()) {
        let words = text.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
        let words: BTreeSet<String> = words.filter(|word| word.chars().count() >= SHORTEST).collect();
        words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    words.sort_by(|(a, often), (b, more)| more.cmp(often).then(a.cmp(b)));
    words.into_iter().take(WORDS).map(|(word, _)| Asks::Has(word)).collect()
}

fn labels(values: &[&Value]) -> Vec<Asks> {
    let distinct: BTreeSet<&&Value> = values.iter().collect();
    // What is one of two is not the other.
    let asked = if distinct.len() == 2 { 1 } else { distinct.len().min(LABELS) };
    distinct.into_iter().take(asked).map(|value| Asks::Is((**value).clone())).collect()
}

/// Between values that follow one another, at as many places as are allowed.
fn numbers(values: &[&Value]) -> Vec<Asks> {
    let mut numbers: Vec<&Number> = values.iter().filter_map(|value| value.as_number()).collect();
    numbers.sort_by(|a, b| a.compare(b));
    numbers.dedup_by(|a, b| a.compare(b).is_eq());
    let gaps: Vec<(&Number, &Number)> = numbers.iter().copied().zip(numbers.iter().skip(1).copied()).collect();
    let step = gaps.len().div_ceil(THRESHOLDS).max(1);
    gaps.into_iter().step_by(step).map(|(low, high)| Asks::AtMost(between(low, high))).collect()
}

/// A number from `low` on and below `high`: the middle, as round as there is room for. What decides
/// lies somewhere between, and people like round numbers.
fn between(low: &Number, high: &Number) -> Number {
    rounded(low, high).unwrap_or(*low)
}

fn rounded(low: &Number, high: &Number) -> Option<Number> {
    let ((a, a_scale), (b, b_scale)) = (low.parts()?, high.parts()?);
    let integers = low.kind() == NumberKind::Integer && high.kind() == NumberKind::Integer;
    let scale = a_scale.max(b_scale);
    let to_scale = |mantissa: i128, own| mantissa.checked_mul(10i128.checked_pow(u32::from(scale - own))?);
    let (a, b) = (to_scale(a, a_scale)?, to_scale(b, b_scale)?);
    let middle = a.checked_add(b)?.div_euclid(2);
    // The largest power of ten of which a multiple is in between; of those the one nearest the middle.
    let mut found = middle;
    let mut power = 1i128;
    while let Some(next) = power.checked_mul(10) {
        power = next;
        let down = middle.div_euclid(power) * power;
        let nearest = if middle - down <= down + power - middle { down } else { down + power };
        let other = if nearest == down { down + power } else { down };
        match [nearest, other].into_iter().find(|candidate| (a..b).contains(candidate)) {
            Some(candidate) => found = candidate,
            None => break,
        }
    }
    if integers { Number::integer(found) } else { Number::decimal(found, scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_lexeme(text.as_bytes()).unwrap()
    }

    #[test]
    fn thresholds_are_round_and_part_what_they_are_between() {
        for (low, high, want) in [
            ("310", "900", "600"),
            ("499", "500", "499"),
            ("15000", "22000", "20000"),
            ("-7", "3", "0"),
            ("0.25", "0.5", "0.4"),
            ("1", "2", "1"),
            ("12", "17", "14"),
        ] {
            let (low, high) = (number(low), number(high));
            let got = between(&low, &high);
            assert!(low.compare(&got).is_le() && got.compare(&high).is_lt(), "{low:?} {got:?} {high:?}");
            assert_eq!(got.text(), want);
        }
    }

    #[test]
    fn questions_are_about_what_varies() {
        let inputs: Vec<Value> = [
            r#"{"amount":10,"gold":true,"tier":"a","body":"please pay the bill"}"#,
            r#"{"amount":30,"gold":false,"tier":"b","body":"pay it now please"}"#,
            r#"{"amount":90,"gold":true,"tier":"a","body":"nothing to say"}"#,
            r#"{"amount":90,"gold":true,"tier":"b","body":"never mind"}"#,
        ]
        .iter()
        .map(|text| Value::parse(text).unwrap())
        .collect();
        let inputs: Vec<&Value> = inputs.iter().collect();
        let features = Features::of(&inputs).unwrap();
        let questions = questions(&features, &inputs);
        let asked: Vec<String> = questions.iter().map(Question::expression).collect();
        let want = [
            "default(le($.amount, 20), false)",
            "default(le($.amount, 60), false)",
            r#"default(contains(lower($.body), "pay"), false)"#,
            r#"default(contains(lower($.body), "please"), false)"#,
            "default(eq($.gold, false), false)",
            r#"default(eq($.tier, "a"), false)"#,
        ];
        assert_eq!(asked, want);
        let holds: Vec<bool> = questions.iter().map(|question| question.holds(inputs[1])).collect();
        assert_eq!(holds, [false, true, true, true, true, false]);
        assert!(structured(&questions) && !structured(&questions[2..4]));
    }
}
