//! Constants, mined from the data: separators that occur in the inputs, words at the ends
//! of items, lengths of outputs. With them come the rules by which the bank grows.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_lang::{Op, literal_cost};

use crate::bank::rule_cost;
use crate::values::{Id, Interner, Kind};

/// A way to make a term from another: an operator and its constant arguments.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The operator.
    pub op: Op,
    /// The kind of the term it is applied to.
    pub of: Kind,
    /// The second argument.
    pub second: Option<Id>,
    /// The third argument.
    pub third: Option<Id>,
    /// What it adds to the cost.
    pub cost: u32,
}

/// What was mined.
#[derive(Clone)]
pub struct Constants {
    /// How the bank grows.
    pub rules: Vec<Rule>,
    /// Separators that occur in outputs, for `join`.
    pub joiners: Vec<String>,
}

/// The most separators that are tried.
const MAX_SEPARATORS: usize = 8;

/// The share of a field's texts that a separator occurs in, in percent.
const LEAST_SHARE: usize = 30;

/// The cost of naming a token class.
const CLASS_COST: u32 = 2;

/// The cost of naming a set of punctuation.
const SET_COST: u32 = 4;

impl Constants {
    /// Mines the texts of the inputs and of the outputs, one list per field.
    pub fn mine(inputs: &[Vec<&str>], outputs: &[Vec<&str>], interner: &mut Interner) -> Constants {
        let separators = separators(inputs);
        let joiners = joiners(outputs);
        let mut rules = Vec::new();
        let mut rule = |op: Op, of: Kind, second: Option<Value>, third: Option<Value>, cost: u32| {
            let second = second.map(|value| interner.intern(value));
            let third = third.map(|value| interner.intern(value));
            rules.push(Rule { op, of, second, third, cost });
        };
        let cased = |text: &&str| text.bytes().any(|byte| byte.is_ascii_uppercase());
        let mut unary = vec![Op::Lower, Op::Trim, Op::Digits, Op::Number, Op::Chars, Op::Words];
        if outputs.iter().flatten().any(cased) {
            unary.extend([Op::Upper, Op::Title]);
        }
        if inputs.iter().flatten().any(|text| text.contains('\n')) {
            unary.push(Op::Lines);
        }
        for op in unary {
            rule(op, Kind::Text, None, None, op.info().cost);
        }
        for class in ["digits", "letters", "upper", "lower", "proper", "number", "punct"] {
            for op in [Op::Matches, Op::Has] {
                rule(op, Kind::Text, Some(class.into()), None, op.info().cost + CLASS_COST);
            }
        }
        for place in ["start upper", "start lower", "start digits", "start '-'", "digits end", "letters end"] {
            rule(Op::Has, Kind::Text, Some(place.into()), None, Op::Has.info().cost + 2 * CLASS_COST);
        }
        for op in [Op::Add, Op::Sub] {
            let one = Value::integer(1);
            rule(op, Kind::Number, Some(one.clone()), None, rule_cost(op, Some(&one), None));
        }
        for class in ["digits", "letters", "upper", "alnum", "id", "proper", "number"] {
            for index in [0, 1, 2, -1, -2] {
                let index = Value::integer(index);
                let cost = Op::Token.info().cost + CLASS_COST + literal_cost(&index);
                rule(Op::Token, Kind::Text, Some(class.into()), Some(index), cost);
            }
        }
        for separator in &separators {
            let separator = Value::from(separator.as_str());
            for op in [Op::Split, Op::Before, Op::After] {
                rule(op, Kind::Text, Some(separator.clone()), None, rule_cost(op, Some(&separator), None));
            }
        }
        for separator in separators.iter().filter(|separator| separator.len() == 1) {
            let separator = Value::from(separator.as_str());
            let others = joiners.iter().map(String::as_str).filter(|joiner| separator.as_text() != Some(joiner));
            for to in std::iter::once("").chain(others) {
                let to = Value::from(to);
                let cost = rule_cost(Op::Replace, Some(&separator), Some(&to));
                rule(Op::Replace, Kind::Text, Some(separator.clone()), Some(to), cost);
            }
        }
        if let Some(set) = strip_set(inputs) {
            rule(Op::Strip, Kind::Text, Some(set.into()), None, Op::Strip.info().cost + SET_COST);
        }
        for length in lengths(outputs) {
            let (zero, length, tail) = (Value::integer(0), Value::integer(length), Value::integer(-length));
            let cost = rule_cost(Op::Substr, Some(&zero), Some(&length));
            rule(Op::Substr, Kind::Text, Some(zero), Some(length), cost);
            rule(Op::Substr, Kind::Text, Some(tail.clone()), None, rule_cost(Op::Substr, Some(&tail), None));
        }
        for (from, to) in [(1, None), (0, Some(-1))] {
            let (from, to) = (Value::integer(from), to.map(Value::integer));
            let cost = rule_cost(Op::Substr, Some(&from), to.as_ref());
            rule(Op::Substr, Kind::Text, Some(from), to, cost);
        }
        for (n, from) in strides(inputs, outputs) {
            let (n, from) = (Value::integer(n), Value::integer(from));
            let cost = rule_cost(Op::Every, Some(&n), Some(&from));
            rule(Op::Every, Kind::Text, Some(n), Some(from), cost);
        }
        for op in [Op::First, Op::Last, Op::Count, Op::Sum, Op::Min, Op::Max] {
            rule(op, Kind::List, None, None, op.info().cost);
        }
        for index in [1, 2, 3, -2, -3] {
            let index = Value::integer(index);
            rule(Op::Nth, Kind::List, Some(index.clone()), None, rule_cost(Op::Nth, Some(&index), None));
        }
        for joiner in &joiners {
            let joiner = Value::from(joiner.as_str());
            rule(Op::Join, Kind::List, Some(joiner.clone()), None, rule_cost(Op::Join, Some(&joiner), None));
        }
        rule(Op::Text, Kind::Number, None, None, Op::Text.info().cost);
        Constants { rules, joiners }
    }
}

/// Steps and starts for `every`: those with which all texts of some field have as many code points as those of
/// some output.
fn strides(inputs: &[Vec<&str>], outputs: &[Vec<&str>]) -> Vec<(i64, i64)> {
    const LARGEST: usize = 9;
    let lengths = |texts: &[Vec<&str>]| -> Vec<Vec<usize>> {
        texts.iter().map(|texts| texts.iter().map(|text| text.chars().count()).collect()).collect()
    };
    let (inputs, outputs) = (lengths(inputs), lengths(outputs));
    let fits = |(n, from): &(usize, usize)| {
        let taken = |length: &usize| length.saturating_sub(*from).div_ceil(*n);
        let some = |texts: &&Vec<usize>| texts.iter().any(|length| *length > 1);
        inputs
            .iter()
            .any(|field| outputs.iter().filter(some).any(|wanted| field.iter().map(taken).eq(wanted.iter().copied())))
    };
    let all = (2..=LARGEST).flat_map(|n| (0..n).map(move |from| (n, from)));
    all.filter(fits).map(|(n, from)| (n as i64, from as i64)).collect()
}

/// Punctuation, alone or with a space, that occurs in many texts of some field; the most
/// frequent first.
fn separators(inputs: &[Vec<&str>]) -> Vec<String> {
    let mut share: BTreeMap<String, usize> = BTreeMap::new();
    for texts in inputs.iter().filter(|texts| !texts.is_empty()) {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for text in texts {
            for separator in separators_of(text) {
                *seen.entry(separator).or_default() += 1;
            }
        }
        for (separator, count) in seen {
            let own = count * 100 / texts.len();
            let best = share.entry(separator).or_default();
            *best = own.max(*best);
        }
    }
    let mut frequent: Vec<(usize, String)> =
        share.into_iter().filter(|(_, share)| *share >= LEAST_SHARE).map(|(text, share)| (share, text)).collect();
    frequent.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    frequent.into_iter().take(MAX_SEPARATORS).map(|(_, text)| text).collect()
}

fn separators_of(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut found: Vec<String> = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_punctuation() && byte != b' ' && byte != b'\t' && byte != b'\n' {
            continue;
        }
        found.push(char::from(byte).to_string());
        if byte.is_ascii_punctuation() && bytes.get(at + 1) == Some(&b' ') {
            found.push(format!("{} ", char::from(byte)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What the outputs may have been joined with.
fn joiners(outputs: &[Vec<&str>]) -> Vec<String> {
    let usual = [", ", "; ", " ", ",", "-", "_", "\n", "|", "/", ": "];
    let often = |part: &&&str| {
        outputs.iter().any(|texts| texts.iter().filter(|text| text.contains(**part)).count() * 2 > texts.len())
    };
    usual.iter().filter(often).map(|&text| text.to_owned()).collect()
}

/// Punctuation to strip from ends: the smallest usual set that covers what is there.
fn strip_set(inputs: &[Vec<&str>]) -> Option<&'static str> {
    let words = inputs.iter().flatten().flat_map(|text| text.split_whitespace());
    let mut ends: Vec<char> = Vec::new();
    for word in words {
        for end in word.chars().next().into_iter().chain(word.chars().next_back()) {
            if end.is_ascii_punctuation() && !ends.contains(&end) {
                ends.push(end);
            }
        }
    }
    const SETS: [&str; 3] = [".,", ".,;:!?", ".,;:!?\"'()"];
    if ends.is_empty() {
        return None;
    }
    let covers = |set: &&&str| ends.iter().all(|end| set.contains(*end) || !SETS[2].contains(*end));
    SETS.iter().find(covers).copied()
}

/// Short lengths that all texts of an output share, and small ones in any case.
fn lengths(outputs: &[Vec<&str>]) -> Vec<i64> {
    let mut lengths = vec![1, 3];
    for texts in outputs {
        let Some(common) = texts.first().map(|text| text.chars().count()) else { continue };
        if (1..=16).contains(&common) && texts.iter().all(|text| text.chars().count() == common) {
            lengths.push(common as i64);
        }
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}
