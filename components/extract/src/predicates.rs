//! Predicates over the examples: thresholds at the roundest number of a gap, equality
//! with values that recur, keywords that recur. One for each distinct set of rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use auto_json::{Number, NumberKind, Value};
use auto_lang::{Expr, Op, cost, literal_cost};

use crate::bank::{Bank, TermId};
use crate::rules::{LOG_UNIT, log2};
use crate::values::{Id, Interner, Kind, Meter, Rows, UNDEFINED, all_rows};

/// Something that holds in some rows.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Where it holds. Where it is undefined it does not.
    pub rows: Rows,
    /// Description length.
    pub cost: u32,
    /// What it takes to say which of all predicates it is, in 1/256 bits.
    pub bits: u64,
    test: Test,
    /// Undefined somewhere, so it needs a default.
    partial: bool,
}

#[derive(Clone, Debug)]
enum Test {
    Term(TermId),
    Compare(Op, TermId, Number),
    Equals(TermId, Id),
    Keyword(Op, usize, String),
    Null(TermId),
    /// That a leaf of the decision list is defined.
    Defined(usize),
    Both(Box<Predicate>, Box<Predicate>),
    Not(Box<Predicate>),
}

/// A text that keywords are looked for in.
struct Form {
    expression: Expr,
    texts: Vec<Option<String>>,
}

/// All predicates of a bank.
pub struct Predicates {
    /// By cost.
    pub all: Vec<Predicate>,
    forms: Vec<Form>,
}

/// The most terms of a kind that predicates are made from.
const MAX_TERMS: usize = 150;

/// Terms dearer than this make no predicates.
const MAX_COST: u32 = 24;

/// Words so frequent in English that one of them seldom is why something was decided.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "again", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "he", "hello", "her", "here", "hi",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "me", "my", "need", "no", "not", "of",
    "on", "one", "or", "our", "out", "please", "she", "so", "some", "than", "thank", "thanks", "that", "the", "their",
    "them", "there", "they", "this", "to", "too", "up", "us", "very", "want", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

impl Predicates {
    /// No predicates.
    pub fn none() -> Predicates {
        Predicates { all: Vec::new(), forms: Vec::new() }
    }

    /// Makes the predicates. Cut short, not wrong, when the meter runs out.
    pub fn make(bank: &Bank, interner: &mut Interner, meter: &mut Meter) -> Predicates {
        let mut maker = Maker { bank, rows: all_rows(bank.rows()), best: HashMap::new(), all: Vec::new() };
        maker.terms(interner, meter);
        let forms = maker.keywords(interner, meter);
        let mut all = maker.all;
        all.sort_by_key(|predicate| predicate.cost);
        name_in_order(&mut all);
        Predicates { all, forms }
    }

    /// All, where keywords that are one of the labels are told from the others: a word that
    /// the output repeats is seldom there by chance.
    pub fn naming(&self, labels: &[String]) -> Vec<Predicate> {
        let says = |keyword: &str| labels.iter().any(|label| label == keyword);
        let told = |predicate: &Predicate| match &predicate.test {
            Test::Keyword(_, _, keyword) if says(keyword) => {
                let cost = predicate.cost.saturating_sub(4);
                Predicate { cost, bits: predicate.bits.min(3 * LOG_UNIT), ..predicate.clone() }
            }
            _ => predicate.clone(),
        };
        let mut all: Vec<Predicate> = self.all.iter().map(told).collect();
        all.sort_by_key(|predicate| predicate.cost);
        all
    }

    /// The predicate as an expression.
    pub fn expr(&self, predicate: &Predicate, bank: &Bank, interner: &Interner) -> Expr {
        let test = match &predicate.test {
            Test::Term(term) => bank.expr(*term, interner),
            Test::Compare(op, term, number) => {
                Expr::Call(*op, vec![bank.expr(*term, interner), Expr::Literal(Value::Number(*number))])
            }
            Test::Equals(term, id) => {
                let value = interner.get(*id).cloned().unwrap_or(Value::Null);
                Expr::Call(Op::Eq, vec![bank.expr(*term, interner), Expr::constant(&value)])
            }
            Test::Keyword(op, form, keyword) => {
                let form = self.forms[*form].expression.clone();
                Expr::Call(*op, vec![form, Expr::Literal(keyword.as_str().into())])
            }
            // Said by `default`, not by a test.
            Test::Defined(_) => Expr::Literal(Value::Bool(true)),
            Test::Null(term) => Expr::Call(Op::IsNull, vec![bank.expr(*term, interner)]),
            Test::Both(a, b) => Expr::Call(Op::And, vec![self.expr(a, bank, interner), self.expr(b, bank, interner)]),
            Test::Not(inner) => Expr::Call(Op::Not, vec![self.expr(inner, bank, interner)]),
        };
        if predicate.partial {
            return Expr::Call(Op::Default, vec![test, Expr::Literal(Value::Bool(false))]);
        }
        test
    }
}

impl Predicate {
    /// That a leaf is defined: `default(leaf, ...)`.
    pub fn defined(leaf: usize, rows: Rows) -> Predicate {
        let bits = 2 * LOG_UNIT;
        Predicate { rows, cost: 2, bits, test: Test::Defined(leaf), partial: false }
    }

    /// The keyword that it looks for.
    fn keyword(&self) -> Option<&str> {
        match &self.test {
            Test::Keyword(_, _, keyword) => Some(keyword),
            _ => None,
        }
    }

    /// Whether it compares a number.
    pub fn is_threshold(&self) -> bool {
        match &self.test {
            Test::Compare(..) => true,
            Test::Both(a, b) => a.is_threshold() && b.is_threshold(),
            Test::Not(inner) => inner.is_threshold(),
            _ => false,
        }
    }

    /// The one leaf that may be taken where it holds.
    pub fn only(&self) -> Option<usize> {
        match self.test {
            Test::Defined(leaf) => Some(leaf),
            _ => None,
        }
    }

    /// What holds where this does not.
    pub fn negated(&self, all: Rows) -> Predicate {
        let flipped = match (&self.test, self.partial) {
            (Test::Compare(op, term, number), false) => Some(Test::Compare(opposite(*op), *term, *number)),
            _ => None,
        };
        let extra = if flipped.is_some() { 0 } else { Op::Not.info().cost };
        let test = flipped.unwrap_or_else(|| Test::Not(Box::new(self.clone())));
        Predicate { rows: all & !self.rows, cost: self.cost + extra, bits: self.bits + LOG_UNIT, test, partial: false }
    }

    /// What holds where both do.
    pub fn and(&self, other: &Predicate) -> Predicate {
        Predicate {
            rows: self.rows & other.rows,
            cost: self.cost + other.cost + Op::And.info().cost,
            bits: self.bits + other.bits + LOG_UNIT,
            test: Test::Both(Box::new(self.clone()), Box::new(other.clone())),
            partial: false,
        }
    }
}

/// What it takes to name each: which kind it is, and its place among those of the kind, in an
/// order that is known before the outputs are. Keywords that are in many examples come first:
/// the longer the list of rare ones, the less one of them means.
fn name_in_order(all: &mut [Predicate]) {
    let mut keywords: Vec<usize> = (0..all.len()).filter(|&index| all[index].keyword().is_some()).collect();
    let others: Vec<usize> = (0..all.len()).filter(|&index| all[index].keyword().is_none()).collect();
    keywords.sort_by_key(|&index| {
        let common = all[index].keyword().is_some_and(is_common);
        (common, std::cmp::Reverse(all[index].rows.count_ones()), all[index].cost)
    });
    for kind in [keywords, others] {
        for (place, index) in kind.into_iter().enumerate() {
            all[index].bits = log2(place as u64 + 2) + LOG_UNIT;
        }
    }
}

/// Whether all words are such as nothing is decided by.
fn is_common(keyword: &str) -> bool {
    keyword.split(' ').all(|word| FUNCTION_WORDS.contains(&word))
}

fn opposite(op: Op) -> Op {
    match op {
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        _ => Op::Lt,
    }
}

struct Maker<'a> {
    bank: &'a Bank,
    rows: Rows,
    best: HashMap<Rows, usize>,
    all: Vec<Predicate>,
}

impl Maker<'_> {
    fn add(&mut self, rows: Rows, cost: u32, test: Test, partial: bool) {
        if rows == 0 || rows == self.rows {
            return;
        }
        let cost = cost + if partial { Op::Default.info().cost + 2 } else { 0 };
        let predicate = Predicate { rows, cost, bits: 0, test, partial };
        match self.best.get(&rows) {
            Some(&known) if self.all[known].cost <= cost => {}
            Some(&known) => self.all[known] = predicate,
            None => {
                self.best.insert(rows, self.all.len());
                self.all.push(predicate);
            }
        }
    }

    fn terms(&mut self, interner: &Interner, meter: &mut Meter) {
        let mut used: BTreeMap<Kind, usize> = BTreeMap::new();
        let bank = self.bank;
        let mut cheap: Vec<TermId> =
            bank.terms().filter(|(_, term)| term.varies && term.cost <= MAX_COST).map(|(id, _)| id).collect();
        cheap.sort_by_key(|&id| bank.term(id).cost);
        for id in cheap {
            let kind = bank.term(id).kind;
            let count = used.entry(kind).or_default();
            *count += 1;
            if *count > MAX_TERMS || !meter.take(bank.rows()) {
                continue;
            }
            match kind {
                Kind::Bool => self.truths(id, interner),
                Kind::Number => {
                    self.thresholds(id, interner);
                    self.equalities(id);
                }
                Kind::Text => self.equalities(id),
                _ => {}
            }
        }
        for (id, _) in bank.terms().filter(|(_, term)| !term.total && term.cost <= 8) {
            self.nulls(id, interner);
        }
    }

    fn truths(&mut self, id: TermId, interner: &Interner) {
        let term = self.bank.term(id);
        let rows = self.where_column(id, |value| interner.get(value).and_then(Value::as_bool) == Some(true));
        self.add(rows, term.cost, Test::Term(id), !term.total);
    }

    fn nulls(&mut self, id: TermId, interner: &Interner) {
        let term = self.bank.term(id);
        let rows = self.where_column(id, |value| interner.kind(value) == Kind::Null);
        self.add(rows, term.cost + Op::IsNull.info().cost, Test::Null(id), !term.total);
    }

    fn where_column(&self, id: TermId, holds: impl Fn(Id) -> bool) -> Rows {
        let column = self.bank.column(id).iter().enumerate();
        column.filter(|(_, value)| holds(**value)).fold(0, |set, (row, _)| set | 1 << row)
    }

    /// A threshold in every gap between the numbers that occur.
    fn thresholds(&mut self, id: TermId, interner: &Interner) {
        let term = self.bank.term(id);
        let mut numbers: Vec<(Number, Rows)> = Vec::new();
        let mut sorted: Vec<(Number, usize)> = Vec::new();
        for (row, &value) in self.bank.column(id).iter().enumerate() {
            if let Some(number) = interner.get(value).and_then(Value::as_number) {
                sorted.push((*number, row));
            }
        }
        sorted.sort_by(|a, b| a.0.compare(&b.0));
        for (number, row) in sorted {
            match numbers.last_mut() {
                Some((last, rows)) if last.compare(&number).is_eq() => *rows |= 1 << row,
                _ => numbers.push((number, 1 << row)),
            }
        }
        let mut above: Rows = numbers.iter().fold(0, |set, (_, rows)| set | rows);
        for pair in numbers.windows(2) {
            above &= !pair[0].1;
            let Some((op, limit)) = threshold(&pair[0].0, &pair[1].0) else { continue };
            let cost = term.cost + op.info().cost + literal_cost(&Value::Number(limit));
            self.add(above, cost, Test::Compare(op, id, limit), !term.total);
            let below = self.where_column(id, |value| value != UNDEFINED) & !above;
            self.add(below, cost, Test::Compare(opposite(op), id, limit), !term.total);
        }
    }

    /// Equality with each value that recurs.
    fn equalities(&mut self, id: TermId) {
        let term = self.bank.term(id);
        let mut values: BTreeMap<Id, Rows> = BTreeMap::new();
        for (row, &value) in self.bank.column(id).iter().enumerate() {
            if value != UNDEFINED {
                *values.entry(value).or_default() |= 1 << row;
            }
        }
        let bits = values.len().next_power_of_two().trailing_zeros();
        for (value, rows) in values {
            if rows.count_ones() >= 2 {
                self.add(rows, term.cost + Op::Eq.info().cost + 4 + bits, Test::Equals(id, value), !term.total);
            }
        }
    }

    /// Words, beginnings of words and pairs of words that recur, in each text and in all
    /// of them together.
    fn keywords(&mut self, interner: &mut Interner, meter: &mut Meter) -> Vec<Form> {
        let forms = self.forms(interner);
        for (index, form) in forms.iter().enumerate() {
            let keywords = keywords(&form.texts);
            // What it takes to say which of them.
            let bits = 4 + keywords.len().next_power_of_two().trailing_zeros();
            for (keyword, whole) in keywords {
                if !meter.take(self.bank.rows()) {
                    return forms;
                }
                let common = if is_common(&keyword) { 8 } else { 0 };
                let own = cost(&form.expression) + bits + common + if whole { 0 } else { 2 };
                let partial = form.texts.iter().any(Option::is_none);
                for op in [Op::Contains, Op::Starts] {
                    let holds = |text: &String| match op {
                        Op::Contains => text.contains(&keyword),
                        _ => text.starts_with(&keyword),
                    };
                    let rows = form.texts.iter().enumerate().filter(|(_, text)| text.as_ref().is_some_and(holds));
                    let rows = rows.fold(0, |set, (row, _)| set | 1 << row);
                    self.add(rows, own + op.info().cost, Test::Keyword(op, index, keyword.clone()), partial);
                }
            }
        }
        forms
    }

    fn forms(&self, interner: &Interner) -> Vec<Form> {
        let bank = self.bank;
        let texts =
            |id: TermId| -> Vec<Option<&str>> { bank.column(id).iter().map(|&value| interner.text(value)).collect() };
        let roots: Vec<(Expr, Vec<Option<&str>>)> = bank
            .terms()
            .filter(|(id, term)| term.kind == Kind::Text && term.varies && bank.is_source(*id))
            .map(|(id, _)| (bank.expr(id, interner), texts(id)))
            .take(12)
            .collect();
        let mut forms = Vec::new();
        for (expression, texts) in &roots {
            forms.push(lowered(expression.clone(), texts.iter().map(|text| text.map(str::to_owned)).collect()));
        }
        let free: Vec<&(Expr, Vec<Option<&str>>)> = roots
            .iter()
            .filter(|(_, texts)| texts.iter().flatten().filter(|text| text.contains(' ')).count() * 2 > texts.len())
            .collect();
        for (index, (left, left_texts)) in free.iter().enumerate() {
            for (right, right_texts) in &free[index + 1..] {
                let parts = vec![left.clone(), Expr::Literal(" ".into()), right.clone()];
                let both = left_texts.iter().zip(right_texts.iter());
                let texts = both.map(|(left, right)| Some(format!("{} {}", (*left)?, (*right)?))).collect();
                forms.push(lowered(Expr::Call(Op::Concat, parts), texts));
            }
        }
        forms
    }
}

/// The text in lowercase, by the operator where any of them has capitals.
fn lowered(expression: Expr, texts: Vec<Option<String>>) -> Form {
    let lower = |text: &String| {
        let value = auto_lang::apply(Op::Lower, &[&Value::from(text.as_str())]);
        value.and_then(|value| value.as_text().map(str::to_owned)).unwrap_or_default()
    };
    let lowered: Vec<Option<String>> = texts.iter().map(|text| text.as_ref().map(lower)).collect();
    if lowered == texts {
        return Form { expression, texts };
    }
    Form { expression: Expr::Call(Op::Lower, vec![expression]), texts: lowered }
}

/// Candidates for keywords: what recurs, and not everywhere. Whole words, longest first,
/// then beginnings, so that of those that say the same the most telling one is taken.
fn keywords(texts: &[Option<String>]) -> Vec<(String, bool)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts.iter().flatten() {
        let mut own: BTreeSet<&str> = BTreeSet::new();
        let mut before: Option<(usize, usize)> = None;
        let mut start = None;
        for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
            match (start, character.is_alphanumeric()) {
                (None, true) => start = Some(at),
                (Some(from), false) => {
                    own.insert(&text[from..at]);
                    if let Some((earlier, end)) = before
                        && from == end + 1
                    {
                        own.insert(&text[earlier..at]);
                    }
                    before = Some((from, at));
                    start = None;
                }
                _ => {}
            }
        }
        own.into_iter().for_each(|word| *seen.entry(word).or_default() += 1);
    }
    let recurs = |count: usize| count >= 2 && count < texts.len();
    let mut keywords: Vec<(String, bool)> =
        seen.iter().filter(|(_, count)| recurs(**count)).map(|(word, _)| ((*word).to_owned(), true)).collect();
    // In order, words with a common beginning are neighbours.
    let words: Vec<&str> = seen.keys().copied().filter(|word| !word.contains(' ')).collect();
    let mut stems: BTreeSet<String> = BTreeSet::new();
    for pair in words.windows(2) {
        let common = pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
        if common >= 4 {
            stems.insert(pair[0].chars().take(common).collect());
        }
    }
    stems.retain(|stem| !seen.get(stem.as_str()).is_some_and(|count| recurs(*count)));
    keywords.extend(stems.into_iter().map(|stem| (stem, false)));
    // Single words before pairs, which are longer by nature.
    keywords.sort_by_key(|(word, whole)| (!whole, word.contains(' '), std::cmp::Reverse(word.len())));
    keywords
}

/// The roundest comparison that holds for `above` and not for `below`, the lesser number.
pub fn threshold(below: &Number, above: &Number) -> Option<(Op, Number)> {
    let (low, low_scale) = below.parts()?;
    let (high, high_scale) = above.parts()?;
    let scale = low_scale.max(high_scale);
    let widen = |mantissa: i128, own: u16| mantissa.checked_mul(10i128.checked_pow(u32::from(scale - own))?);
    let (low, high) = (widen(low, low_scale)?, widen(high, high_scale)?);
    let number = |mantissa: i128| if scale == 0 { Number::integer(mantissa) } else { short(mantissa, scale) };
    let at_least = roundest(low + 1, high);
    // `gt` of the lower end says the same, where that is rounder.
    if roundness(low, low, high) < roundness(at_least, low, high) {
        return Some((Op::Gt, number(low)?));
    }
    Some((Op::Ge, number(at_least)?))
}

/// The number as an integer where it is one.
fn short(mantissa: i128, scale: u16) -> Option<Number> {
    let decimal = Number::decimal(mantissa, scale)?;
    match decimal.parts() {
        Some((whole, 0)) if decimal.kind() == NumberKind::Decimal => Number::integer(whole),
        _ => Some(decimal),
    }
}

/// The roundest number from `low` to `high`.
fn roundest(low: i128, high: i128) -> i128 {
    let mut unit = 1i128;
    let mut best = high;
    while let Some(next) = unit.checked_mul(10) {
        if high.div_euclid(next).saturating_mul(next) < low {
            break;
        }
        unit = next;
    }
    let first = low.div_euclid(unit) + i128::from(low.rem_euclid(unit) != 0);
    let last = high.div_euclid(unit);
    for multiple in first..=last.min(first + 99) {
        let candidate = multiple * unit;
        if roundness(candidate, low, high) < roundness(best, low, high) {
            best = candidate;
        }
    }
    best
}

/// Less is rounder: fewer significant digits, then 1, 2 or 5, then other multiples of 5,
/// then near the middle.
fn roundness(number: i128, low: i128, high: i128) -> (u32, u8, u128) {
    let mut significant = number.unsigned_abs();
    while significant != 0 && significant.is_multiple_of(10) {
        significant /= 10;
    }
    let digits = significant.checked_ilog10().map_or(0, |log| log + 1);
    let middle = low + (high - low) / 2;
    let rank = match significant {
        0 | 1 | 2 | 5 => 0,
        other if other.is_multiple_of(5) => 1,
        _ => 2,
    };
    (digits, rank, number.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(below: &str, above: &str) -> String {
        let number = |text: &str| Value::parse(text).unwrap().as_number().copied().unwrap();
        let (op, limit) = threshold(&number(below), &number(above)).unwrap();
        format!("{op} {}", limit.text())
    }

    #[test]
    fn thresholds_are_round() {
        assert_eq!(at("499", "500"), "ge 500");
        assert_eq!(at("250", "251"), "gt 250");
        assert_eq!(at("120", "900"), "ge 500");
        assert_eq!(at("300", "450"), "ge 400");
        assert_eq!(at("960", "1480"), "ge 1000");
        assert_eq!(at("249", "260"), "ge 250");
        assert_eq!(at("-7", "3"), "ge 0");
        assert_eq!(at("0.2", "0.9"), "ge 0.5");
        assert_eq!(at("1.5", "2.25"), "ge 2");
        assert_eq!(at("3", "3.25"), "gt 3");
        assert_eq!(at("99.99", "100.0"), "ge 100");
    }
}
