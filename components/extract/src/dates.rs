//! Deduction on dates and times: what the texts of the input say is read in the layouts
//! that fit, and where an output goes on with a date, rounded and moved or not, its layout is
//! found field by field.

use std::collections::{BTreeSet, HashMap};

use auto_json::Value;
use auto_lang::layout::Layout;
use auto_lang::{Expr, Op};
use auto_rt::kernels::date::Moment;
use auto_rt::kernels::layout::{self, FIELDS};
use auto_rt::kernels::number::Rounding;
use auto_rt::kernels::span::{self, Unit};

use crate::bank::Bank;
use crate::numbers::{Derived, Printed};
use crate::values::{Interner, Kind, Meter};

mod readers;

use readers::Readers;

/// The most texts of the input that are tried, and what one may cost.
const MAX_TEXTS: usize = 24;
const MAX_COST: u32 = 20;

/// The most readings that are kept.
const MAX_SOURCES: usize = 6;

/// More rows are not rounded in every way.
const MAX_ROWS: usize = 48;

/// What people round to: how many of which unit.
const STEPS: [(i64, Unit, &str); 20] = [
    (1, Unit::Hours, "hours"),
    (30, Unit::Minutes, "minutes"),
    (15, Unit::Minutes, "minutes"),
    (10, Unit::Minutes, "minutes"),
    (5, Unit::Minutes, "minutes"),
    (1, Unit::Minutes, "minutes"),
    (20, Unit::Minutes, "minutes"),
    (2, Unit::Hours, "hours"),
    (3, Unit::Hours, "hours"),
    (4, Unit::Hours, "hours"),
    (6, Unit::Hours, "hours"),
    (8, Unit::Hours, "hours"),
    (12, Unit::Hours, "hours"),
    (1, Unit::Days, "days"),
    (1, Unit::Weeks, "weeks"),
    (1, Unit::Months, "months"),
    (3, Unit::Months, "months"),
    (1, Unit::Years, "years"),
    (10, Unit::Years, "years"),
    (30, Unit::Seconds, "seconds"),
];

/// The most numbers of the input by which dates are moved, and what one may cost.
const MAX_NUMBERS: usize = 4;
const MAX_NUMBER_COST: u32 = 12;

/// What dates are moved by, with what it costs more.
const MOVES: [(Unit, &str, u32); 6] = [
    (Unit::Days, "days", 0),
    (Unit::Months, "months", 1),
    (Unit::Weeks, "weeks", 1),
    (Unit::Hours, "hours", 1),
    (Unit::Minutes, "minutes", 2),
    (Unit::Years, "years", 2),
];

/// What it takes to print every field of a date, in steps.
const PRINTING: usize = 8;

/// A date in every row, with what rounding makes of it.
pub struct DateSource {
    expression: Expr,
    cost: u32,
    moments: Vec<Option<Moment>>,
    variants: Vec<Variant>,
}

/// A whole number in every row, by which dates may be moved.
struct Count {
    expression: Expr,
    cost: u32,
    values: Vec<Option<i64>>,
}

/// How a date is moved by a number of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    by: Expr,
    unit: &'static str,
}

/// A date made of a source's.
struct Variant {
    change: Change,
    /// Where it is moved by a number of the input and nothing else is done.
    moved: Option<Move>,
    cost: u32,
    moments: Vec<Option<Moment>>,
    /// Every field as it is printed, by field and row.
    fields: Vec<Vec<Option<String>>>,
}

/// What is done to a date, in this order: moved back, rounded, moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    before: i64,
    round: Option<(usize, Rounding)>,
    after: i64,
    /// The unit of the moves.
    minutes: bool,
}

/// The dates in the input.
pub fn sources(bank: &Bank, interner: &Interner, meter: &mut Meter) -> Vec<DateSource> {
    let mut terms: Vec<_> = bank
        .terms()
        .filter(|(_, term)| term.kind == Kind::Text && term.varies && term.cost <= MAX_COST)
        .map(|(id, term)| (term.cost, id))
        .collect();
    terms.sort_unstable();
    let readers = Readers::new();
    let counts = counts(bank, interner);
    let mut found: Vec<DateSource> = Vec::new();
    let mut seen: BTreeSet<&[u32]> = BTreeSet::new();
    for (cost, id) in terms.into_iter().take(MAX_TEXTS) {
        if found.len() >= MAX_SOURCES || !seen.insert(bank.column(id)) || !meter.take(bank.rows() * 64) {
            continue;
        }
        let texts: Vec<Option<&str>> = bank.column(id).iter().map(|&value| interner.text(value)).collect();
        for (layouts, own, moments) in readers.read(&texts) {
            if found.iter().any(|other| other.moments == moments) {
                continue;
            }
            let arguments = vec![bank.expr(id, interner), Expr::Literal(layouts.into())];
            let expression = Expr::Call(Op::ReadDate, arguments);
            let cost = cost + Op::ReadDate.info().cost + own;
            found.push(DateSource::new(expression, cost, moments, &counts, meter));
        }
    }
    found
}

/// The numbers of the input by which dates may be moved.
fn counts(bank: &Bank, interner: &Interner) -> Vec<Count> {
    let mut terms: Vec<_> = bank
        .terms()
        .filter(|(_, term)| term.kind == Kind::Number && term.varies && term.cost <= MAX_NUMBER_COST)
        .map(|(id, term)| (term.cost, id))
        .collect();
    terms.sort_unstable();
    let count = |(cost, id): (u32, u32)| {
        let number = |&value: &u32| interner.get(value).and_then(Value::as_number).and_then(auto_json::Number::as_i64);
        let values: Vec<Option<i64>> = bank.column(id).iter().map(number).collect();
        let some = values.iter().flatten().count() * 2 >= values.len();
        some.then(|| Count { expression: bank.expr(id, interner), cost, values })
    };
    terms.into_iter().filter_map(count).take(MAX_NUMBERS).collect()
}

impl DateSource {
    fn new(
        expression: Expr,
        cost: u32,
        moments: Vec<Option<Moment>>,
        counts: &[Count],
        meter: &mut Meter,
    ) -> DateSource {
        let mut source = DateSource { expression, cost, moments, variants: Vec::new() };
        for (change, cost) in changes(source.moments.len() <= MAX_ROWS) {
            if !meter.take(source.moments.len()) {
                break;
            }
            let moments: Vec<Option<Moment>> =
                source.moments.iter().map(|moment| moment.and_then(|moment| change.apply(&moment))).collect();
            if moments.iter().zip(&source.moments).any(|(made, own)| made.is_none() && own.is_some()) {
                continue;
            }
            source.add((change, None), cost, moments, meter);
        }
        for count in counts {
            for (unit, name, dearer) in MOVES {
                for sign in [1, -1] {
                    if !meter.take(source.moments.len()) {
                        return source;
                    }
                    let pairs = source.moments.iter().zip(&count.values);
                    let moved = |(moment, by): (&Option<Moment>, &Option<i64>)| {
                        span::add(moment.as_ref()?, (*by)?.checked_mul(sign)?, unit)
                    };
                    let moments: Vec<Option<Moment>> = pairs.map(moved).collect();
                    if moments.iter().flatten().count() * 2 < moments.len() {
                        continue;
                    }
                    let by = match sign {
                        1 => count.expression.clone(),
                        _ => Expr::Call(Op::Neg, vec![count.expression.clone()]),
                    };
                    let negated = if sign == 1 { 0 } else { Op::Neg.info().cost };
                    let own = Op::DateAdd.info().cost + count.cost + dearer + negated;
                    source.add((Change::default(), Some(Move { by, unit: name })), own, moments, meter);
                }
            }
        }
        source
    }

    /// Adds a variant, unless a cheaper one is the same.
    fn add(
        &mut self,
        (change, moved): (Change, Option<Move>),
        cost: u32,
        moments: Vec<Option<Moment>>,
        meter: &mut Meter,
    ) {
        match self.variants.iter_mut().find(|known| known.moments == moments) {
            Some(known) if known.cost <= cost => {}
            Some(known) => (known.change, known.moved, known.cost) = (change, moved, cost),
            None => {
                meter.take(PRINTING * moments.len());
                let fields = FIELDS.iter().map(|(name, _)| printed(name, &moments)).collect();
                self.variants.push(Variant { change, moved, cost, moments, fields });
            }
        }
    }
}

impl Variant {
    /// The date as an expression.
    fn expr(&self, date: Expr) -> Expr {
        let date = self.change.expr(date);
        match &self.moved {
            Some(Move { by, unit }) => Expr::Call(Op::DateAdd, vec![date, by.clone(), Expr::Literal((*unit).into())]),
            None => date,
        }
    }
}

fn printed(name: &str, moments: &[Option<Moment>]) -> Vec<Option<String>> {
    let Ok(layout) = Layout::parse(name) else { return vec![None; moments.len()] };
    let encoded = layout.encode();
    let print = |moment: &Option<Moment>| {
        let mut bytes = Vec::new();
        layout::print(moment.as_ref()?, &encoded, &mut |byte| bytes.push(byte))?;
        String::from_utf8(bytes).ok()
    };
    moments.iter().map(print).collect()
}

/// What may be done to a date, with what it costs.
fn changes(all: bool) -> Vec<(Change, u32)> {
    let mut found = vec![(Change::default(), 0)];
    if !all {
        return found;
    }
    for (index, (count, unit, _)) in STEPS.into_iter().enumerate() {
        let own = 8 + index as u32 / 4;
        let minutes = match unit {
            Unit::Minutes => count,
            Unit::Hours => count * 60,
            _ => 0,
        };
        for (rounding, cost) in [(Rounding::Down, 0), (Rounding::HalfUp, 1), (Rounding::Up, 2)] {
            let round = Some((index, rounding));
            found.push((Change { round, ..Change::default() }, own + cost));
            if minutes == 0 || rounding != Rounding::Down {
                continue;
            }
            for (after, dearer) in [(minutes, 0), (minutes - 1, 3), (minutes / 2, 5)] {
                if after > 0 {
                    found.push((Change { round, after, minutes: true, ..Change::default() }, own + 7 + dearer));
                }
            }
            // A grid that is off by half a step.
            if minutes % 2 == 0 {
                for after in [-minutes / 2, 0, minutes / 2, minutes] {
                    let change = Change { before: -(minutes / 2), round, after: after + minutes / 2, minutes: true };
                    found.push((Change { after: change.after - minutes / 2, ..change }, own + 16));
                    found.push((change, own + 16));
                }
            }
        }
    }
    for after in [-120, -60, -30, -15, 15, 30, 60, 120] {
        found.push((Change { after, minutes: true, ..Change::default() }, 14));
    }
    found
}

impl Change {
    fn apply(&self, moment: &Moment) -> Option<Moment> {
        let mut moment = *moment;
        if self.before != 0 {
            moment = span::add(&moment, self.before, Unit::Minutes)?;
        }
        if let Some((step, rounding)) = self.round {
            let (count, unit, _) = STEPS[step];
            moment = span::round(&moment, count, unit, rounding)?;
        }
        if self.after != 0 {
            moment = span::add(&moment, self.after, Unit::Minutes)?;
        }
        Some(moment)
    }

    fn expr(&self, mut expression: Expr) -> Expr {
        let text = |text: &str| Expr::Literal(text.into());
        let number = |number: i64| Expr::Literal(Value::integer(number));
        let moved = |expression: Expr, minutes: i64| {
            let (count, unit) = if minutes % 60 == 0 { (minutes / 60, "hours") } else { (minutes, "minutes") };
            Expr::Call(Op::DateAdd, vec![expression, number(count), text(unit)])
        };
        if self.before != 0 {
            expression = moved(expression, self.before);
        }
        if let Some((step, rounding)) = self.round {
            let (count, _, unit) = STEPS[step];
            let name = match rounding {
                Rounding::Up => "up",
                Rounding::HalfUp => "half_up",
                _ => "down",
            };
            expression = Expr::Call(Op::DateRound, vec![expression, number(count), text(unit), text(name)]);
        }
        if self.after != 0 {
            expression = moved(expression, self.after);
        }
        expression
    }
}

/// A moment as a value of a program.
fn value(moment: Moment) -> Value {
    let mut bytes = Vec::new();
    moment.write(&mut |byte| bytes.push(byte));
    String::from_utf8(bytes).unwrap_or_default().into()
}

/// The most characters that stand between two fields.
const MAX_BETWEEN: usize = 5;

/// The most fields of a layout.
const MAX_FIELDS: usize = 7;

/// A layout as far as it was found.
struct Prefix {
    layout: String,
    cost: u32,
    lengths: Vec<u32>,
    fields: usize,
}

/// Every date that the rest of the sampled outputs can go on with.
pub fn derive(sources: &[DateSource], rest: &[&str], sample: &[usize], meter: &mut Meter) -> Vec<Derived> {
    let mut found: HashMap<Vec<u32>, (Derived, u32)> = HashMap::new();
    for source in sources {
        if sample.iter().any(|&row| source.moments[row].is_none()) {
            continue;
        }
        for variant in &source.variants {
            if !meter.take(4) {
                return Vec::new();
            }
            for prefix in prefixes(variant, rest, sample, meter) {
                let cost = source.cost + variant.cost + Op::PrintDate.info().cost + prefix.cost;
                if found.get(&prefix.lengths).is_some_and(|(_, known)| *known <= cost) {
                    continue;
                }
                meter.take(2 * variant.moments.len());
                let texts = printed(&prefix.layout, &variant.moments);
                let date = variant.expr(source.expression.clone());
                let values = variant.moments.iter().map(|moment| moment.map(value)).collect();
                let rounded = variant.change.round.is_some();
                let printed = Printed { op: Op::PrintDate, of: date, layout: prefix.layout.clone(), values, rounded };
                let lengths = prefix.lengths.clone();
                found.insert(prefix.lengths, (Derived { printed, cost, texts, lengths }, cost));
            }
        }
    }
    let mut found: Vec<Derived> = found.into_values().map(|(derived, _)| derived).collect();
    // The order must not depend on that of a table.
    found.sort_by(|a, b| (a.cost, &a.lengths).cmp(&(b.cost, &b.lengths)));
    found
}

fn prefixes(variant: &Variant, rest: &[&str], sample: &[usize], meter: &mut Meter) -> Vec<Prefix> {
    let mut found = Vec::new();
    let mut open = vec![Prefix { layout: String::new(), cost: 0, lengths: vec![0; rest.len()], fields: 0 }];
    while let Some(prefix) = open.pop() {
        if prefix.fields == MAX_FIELDS || found.len() + open.len() > 64 || !meter.take(4) {
            continue;
        }
        let left: Vec<&str> = rest.iter().zip(&prefix.lengths).map(|(rest, &at)| &rest[at as usize..]).collect();
        for between in 0..=MAX_BETWEEN {
            if prefix.fields == 0 && between > 0 {
                break;
            }
            let Some(constant) = left[0].get(..between) else { continue };
            if !left.iter().all(|left| left.starts_with(constant)) {
                break;
            }
            for ((name, _), texts) in FIELDS.iter().zip(&variant.fields) {
                let fits = left.iter().zip(sample).all(|(left, &row)| {
                    let text = texts[row].as_deref();
                    text.is_some_and(|text| left.get(between..).is_some_and(|left| ends_well(left, text)))
                });
                if !fits {
                    continue;
                }
                let lengths: Vec<u32> = prefix
                    .lengths
                    .iter()
                    .zip(sample)
                    .map(|(at, &row)| at + (between + texts[row].as_ref().map_or(0, String::len)) as u32)
                    .collect();
                let layout = format!("{}{}{name}", prefix.layout, quoted(constant));
                // A layout that begins with the letter that the one before ends with is another.
                let joined = constant.is_empty() && prefix.layout.ends_with(&name[..1]);
                if joined {
                    continue;
                }
                let own = if name.starts_with('a') { 0 } else { 3 };
                let cost = prefix.cost + own + field_cost(name, &prefix.layout) + between_cost(constant);
                found.push(Prefix {
                    layout: layout.clone(),
                    cost,
                    lengths: lengths.clone(),
                    fields: prefix.fields + 1,
                });
                open.push(Prefix { layout, cost, lengths, fields: prefix.fields + 1 });
            }
        }
    }
    found
}

/// Whether a text begins with a field and not with a part of a longer number.
fn ends_well(left: &str, field: &str) -> bool {
    let Some(after) = left.strip_prefix(field) else { return false };
    let digit = |text: Option<char>| text.is_some_and(|character| character.is_ascii_digit());
    !(digit(field.chars().next_back()) && digit(after.chars().next()) && field.len() < 2)
}

/// What a field costs more that is seldom meant behind such a layout: half a day without its
/// hour, minutes without hours, days in two digits beside months in one.
fn field_cost(name: &str, before: &str) -> u32 {
    let has = |field: &str| before.contains(field);
    match name {
        "D" | "w" | "Q" | "SSS" | "Z" => 4,
        // The half of the day says why the hour was one of twelve.
        "a" | "aa" | "aaa" if has("h") => 0,
        "hh" | "ddd" | "s" => 2,
        "a" | "aa" | "aaa" => 13,
        "m" if has("h") || has("H") => 3,
        "m" | "mm" if !has("h") && !has("H") => 4,
        "dd" if has("M") && !has("MM") => 3,
        "d" if has("MM") && !has("MMM") => 3,
        "M" if has("dd") => 3,
        "MM" if has("d") && !has("dd") => 3,
        "HH" | "h" => 3,
        "dd" | "H" => 1,
        _ => 0,
    }
}

/// What a character between two fields costs.
fn between_cost(text: &str) -> u32 {
    text.chars().map(|character| if character.is_alphanumeric() { 6 } else { 1 }).sum()
}

/// What stands between fields, as layouts write it.
fn quoted(text: &str) -> String {
    if text.contains(|character: char| character.is_ascii_alphabetic() || character == '|' || character == '\'') {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        text.to_owned()
    }
}
