//! Predicates over the examples: thresholds at the roundest number of a gap, equality
//! with values that recur, keywords that recur. One for each distinct set of rows.

use std::collections::{BTreeMap, HashMap};

use auto_json::{Number, Value};
use auto_lang::{Expr, Op, cost, literal_cost};

use crate::bank::{Bank, TermId};
use crate::rules::{LOG_UNIT, log2};
use crate::values::{Id, Interner, Kind, Meter, Rows, UNDEFINED, all_rows};

mod thresholds;
mod words;

use thresholds::figures_of;
pub use thresholds::{Round, threshold};
use words::{is_common, keywords};

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
    /// A relation of two texts of the input, in the form of each.
    Related(Op, usize, usize),
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
    written: Written,
}

/// How the letters of a form are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// As in the input, where it has no capitals.
    Plain,
    /// As in the input, where it has capitals.
    Cased,
    /// In lowercase, by the operator.
    Lowered,
}

/// All predicates of a bank.
pub struct Predicates {
    /// By cost.
    pub all: Vec<Predicate>,
    forms: Vec<Form>,
}

/// The most terms of a kind that predicates are made from.
const MAX_TERMS: usize = 150;

/// What it costs that two texts of the input are related: which two says it all.
const RELATION_COST: u32 = 10;

/// What it costs more that a decision is made by how long a text of several words is, or by how many
/// digits a number has: few are, and there is a threshold beside every text.
const SIZE_COST: u32 = 32;

/// What it costs more that a decision is made by what stands at one place of prose: whoever writes it
/// may put it elsewhere.
const PLACE_COST: u32 = 4;

/// What it costs more that a keyword begins or ends with digits: these are a part of a number, more often
/// than of a name.
const DIGITS_COST: u32 = 4;

/// The most texts that are related with each other.
const MAX_RELATED: usize = 12;

/// Terms dearer than this make no predicates.
const MAX_COST: u32 = 24;

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
        maker.relations(&forms, meter);
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
            Test::Related(op, left, right) => {
                Expr::Call(*op, [left, right].map(|form| self.forms[*form].expression.clone()).to_vec())
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

    /// The same with a rounder limit in a comparison: that of `other`, where it compares the same in
    /// the same direction. With how round it is then.
    pub fn rounder(&self, other: &Predicate) -> Option<(Predicate, Round)> {
        match (&self.test, &other.test) {
            (Test::Compare(op, term, limit), Test::Compare(other_op, other_term, other_limit)) => {
                let round = figures_of(other_limit);
                let same = term == other_term && is_above(*op) == is_above(*other_op);
                (same && round < figures_of(limit)).then(|| (other.clone(), round))
            }
            (Test::Both(a, b), Test::Compare(..)) => match (a.rounder(other), b.rounder(other)) {
                (Some((a, round)), _) => Some((a.and(b), round)),
                (None, Some((b, round))) => Some((a.and(&b), round)),
                (None, None) => None,
            },
            _ => None,
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

/// What it takes to say which of the keywords each is: those in many texts come first.
fn bits_of(keywords: &[(String, bool)], texts: &[Option<String>]) -> Vec<u32> {
    let count = |keyword: &str| texts.iter().flatten().filter(|text| text.contains(keyword)).count();
    let mut order: Vec<(usize, usize)> =
        keywords.iter().enumerate().map(|(index, (keyword, _))| (count(keyword), index)).collect();
    order.sort_by_key(|&(count, index)| (std::cmp::Reverse(count), index));
    let mut bits = vec![0; keywords.len()];
    for (place, (_, index)) in order.into_iter().enumerate() {
        bits[index] = 4 + (log2(place as u64 + 2) / LOG_UNIT) as u32;
    }
    bits
}

/// Whether a keyword begins or ends with digits.
fn is_part_of_number(keyword: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    digit(keyword.as_bytes().first()) || digit(keyword.as_bytes().last())
}

fn is_above(op: Op) -> bool {
    matches!(op, Op::Gt | Op::Ge)
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
                    self.equalities(id, interner);
                }
                // What a number is as a text says no more than the number.
                Kind::Text if !bank.is_call(id, Op::Text) => self.equalities(id, interner),
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
        self.add(rows, term.cost + Op::IsNull.info().cost, Test::Null(id), self.bank.defined(id) != self.rows);
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
        let odd = if self.bank.is_size_of_text(id, interner) { SIZE_COST } else { 0 };
        for pair in numbers.windows(2) {
            above &= !pair[0].1;
            let Some((op, limit)) = threshold(&pair[0].0, &pair[1].0) else { continue };
            let cost = term.cost + op.info().cost + literal_cost(&Value::Number(limit)) + odd;
            self.add(above, cost, Test::Compare(op, id, limit), !term.total);
            let below = self.where_column(id, |value| interner.kind(value) == Kind::Number) & !above;
            self.add(below, cost, Test::Compare(opposite(op), id, limit), !term.total);
        }
    }

    /// Equality with each value that recurs.
    fn equalities(&mut self, id: TermId, interner: &Interner) {
        let term = self.bank.term(id);
        let mut values: BTreeMap<Id, Rows> = BTreeMap::new();
        for (row, &value) in self.bank.column(id).iter().enumerate() {
            if value != UNDEFINED {
                *values.entry(value).or_default() |= 1 << row;
            }
        }
        let bits = values.len().next_power_of_two().trailing_zeros();
        // Null equals no value, and that is not undefined.
        let partial = self.bank.defined(id) != self.rows;
        let odd = match () {
            () if self.bank.is_size_of_text(id, interner) => SIZE_COST,
            () if self.bank.is_part_of_prose(id, interner) => PLACE_COST,
            () => 0,
        };
        for (value, rows) in values {
            if rows.count_ones() >= 2 {
                self.add(rows, term.cost + Op::Eq.info().cost + 4 + bits + odd, Test::Equals(id, value), partial);
            }
        }
    }

    /// Words, beginnings of words and pairs of words that recur, in each text and in all
    /// of them together.
    fn keywords(&mut self, interner: &mut Interner, meter: &mut Meter) -> Vec<Form> {
        let forms = self.forms(interner);
        for (index, form) in forms.iter().enumerate() {
            // Keywords are looked for in lowercase.
            if form.written == Written::Cased {
                continue;
            }
            let bytes: usize = form.texts.iter().flatten().map(String::len).sum();
            if !meter.take(bytes / 8) {
                return forms;
            }
            let keywords = keywords(&form.texts);
            let bits = bits_of(&keywords, &form.texts);
            for ((keyword, whole), bits) in keywords.into_iter().zip(bits) {
                if !meter.take(self.bank.rows() / 2 + bytes / 128) {
                    return forms;
                }
                let common = if is_common(&keyword) { 8 } else { 0 };
                let digits = if is_part_of_number(&keyword) { DIGITS_COST } else { 0 };
                let own = cost(&form.expression) + bits + common + digits + if whole { 0 } else { 2 };
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

    /// Whether two texts of the input are equal, or one contains or begins or ends with the
    /// other, as they are or in lowercase.
    fn relations(&mut self, forms: &[Form], meter: &mut Meter) {
        let joined = |expression: &Expr| matches!(expression, Expr::Call(Op::Concat, _));
        let single = |form: &usize| match &forms[*form].expression {
            Expr::Call(Op::Lower, of) => !of.iter().any(joined),
            expression => !joined(expression),
        };
        let forms_of: Vec<usize> = (0..forms.len()).filter(single).take(MAX_RELATED).collect();
        for op in [Op::Eq, Op::Contains, Op::Starts, Op::Ends] {
            for &left in &forms_of {
                for &right in forms_of.iter().filter(|&&form| form != left) {
                    let cases = [forms[left].written, forms[right].written];
                    let apart = cases.contains(&Written::Cased) && cases.contains(&Written::Lowered);
                    if apart || (op == Op::Eq && left > right) || !meter.take(self.bank.rows()) {
                        continue;
                    }
                    let texts = || forms[left].texts.iter().zip(&forms[right].texts);
                    let holds = |(left, right): (&Option<String>, &Option<String>)| match (left, right) {
                        (Some(left), Some(right)) => match op {
                            Op::Contains => left.contains(right.as_str()),
                            Op::Starts => left.starts_with(right.as_str()),
                            Op::Ends => left.ends_with(right.as_str()),
                            _ => left == right,
                        },
                        _ => false,
                    };
                    let rows = texts().enumerate().filter(|(_, pair)| holds(*pair));
                    let rows = rows.fold(0, |set, (row, _)| set | 1 << row);
                    let partial = texts().any(|(left, right)| left.is_none() || right.is_none());
                    let own = RELATION_COST + 2 * u32::from(cases.contains(&Written::Lowered));
                    self.add(rows, own + op.info().cost, Test::Related(op, left, right), partial);
                }
            }
        }
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
            let texts: Vec<Option<String>> = texts.iter().map(|text| text.map(str::to_owned)).collect();
            let form = lowered(expression.clone(), texts.clone());
            let is_cased = form.written == Written::Lowered;
            forms.push(form);
            if is_cased {
                forms.push(Form { expression: expression.clone(), texts, written: Written::Cased });
            }
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
        return Form { expression, texts, written: Written::Plain };
    }
    Form { expression: Expr::Call(Op::Lower, vec![expression]), texts: lowered, written: Written::Lowered }
}
