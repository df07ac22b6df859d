//! Deduction on printed numbers: where an output goes on with a number, its format is read
//! off what is there, and what the number is of the input's numbers is worked out backwards:
//! the same, rounded to a step, moved or scaled by a constant.

use std::collections::HashMap;

use auto_json::{Number, Value};
use auto_lang::{Expr, Op, apply, literal_cost};

use crate::affine;
use crate::bank::Bank;
use crate::values::{Interner, Kind, Meter};

mod figures;
mod ranges;

use figures::{Extent, Figures, format, number, printed};
pub use ranges::relate;

/// A number in every row.
pub struct NumberSource {
    /// What gives it.
    pub expression: Expr,
    /// Its description length.
    pub cost: u32,
    /// One per row; `None` where it is undefined.
    pub values: Vec<Option<Number>>,
}

/// A number or a date, and how it is printed.
#[derive(Clone, Debug)]
pub struct Printed {
    /// `print_number` or `print_date`.
    pub op: Op,
    /// The number or date.
    pub of: Expr,
    /// The format.
    pub layout: String,
    /// What is printed, one per row of all.
    pub values: Vec<Option<Value>>,
    /// Whether it was rounded.
    pub rounded: bool,
}

impl Printed {
    /// The text as an expression.
    pub fn expr(&self) -> Expr {
        Expr::Call(self.op, vec![self.of.clone(), Expr::Literal(self.layout.as_str().into())])
    }
}

/// A text that a number or a date was printed as.
#[derive(Clone, Debug)]
pub struct Derived {
    /// What gives it.
    pub printed: Printed,
    /// Description length.
    pub cost: u32,
    /// One per row of all.
    pub texts: Vec<Option<String>>,
    /// How many bytes of the rest it is in each sampled row.
    pub lengths: Vec<u32>,
}

impl Derived {
    /// What a number that was rounded is printed as, where it is the same in some rows, two at least.
    pub fn same(&self, rows: &[usize]) -> Option<&str> {
        let [first, others @ ..] = rows else { return None };
        let text = self.texts.get(*first)?.as_deref()?;
        let rounded = self.printed.op == Op::PrintNumber && self.printed.rounded;
        let alike = others.iter().all(|row| self.texts[*row].as_deref() == Some(text));
        (rounded && alike && !others.is_empty()).then_some(text)
    }
}

/// The most numbers of the input that are tried.
const MAX_SOURCES: usize = 16;

/// The most that a text may cost whose number is tried.
const MAX_COST: u32 = 22;

/// What it takes to make a number and print it, in steps.
const PRINTING: usize = 6;

/// Steps that people round to, the digits before a power of ten.
const STEPS: [i128; 8] = [1, 5, 2, 25, 3, 6, 15, 4];

/// Ways to round, with what naming one costs.
const ROUNDINGS: [(&str, u32); 4] = [("half_up", 1), ("down", 2), ("up", 3), ("zero", 4)];

/// The numbers in the input: those of terms, and those that texts of terms say.
pub fn sources(bank: &Bank, interner: &Interner, meter: &mut Meter) -> Vec<NumberSource> {
    let mut found: Vec<NumberSource> = Vec::new();
    let mut terms: Vec<_> = bank
        .terms()
        .filter(|(_, term)| matches!(term.kind, Kind::Text | Kind::Number) && term.varies && term.cost <= MAX_COST)
        .map(|(id, term)| (term.cost, id))
        .collect();
    terms.sort_unstable();
    for (cost, id) in terms {
        if found.len() >= MAX_SOURCES || !meter.take(bank.rows()) {
            break;
        }
        let column: Vec<Option<&Value>> = bank.column(id).iter().map(|&value| interner.get(value)).collect();
        for read in [Read::Plain, Read::Style("1,234.5")] {
            let values: Vec<Option<Number>> =
                column.iter().map(|value| value.and_then(|value| read.number(value))).collect();
            let defined = values.iter().flatten().count();
            let same = |other: &NumberSource| other.values == values;
            if defined * 2 < values.len() || defined < 2 || found.iter().any(same) {
                continue;
            }
            let plain = bank.term(id).kind == Kind::Number;
            if plain && read != Read::Plain {
                continue;
            }
            let expression = bank.expr(id, interner);
            let (expression, own) =
                if plain { (expression, cost) } else { (read.expr(expression), cost + read.cost()) };
            found.push(NumberSource { expression, cost: own, values });
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Plain,
    Style(&'static str),
}

impl Read {
    fn number(self, value: &Value) -> Option<Number> {
        if let Some(number) = value.as_number() {
            return (self == Read::Plain).then_some(*number);
        }
        let read = match self {
            Read::Plain => apply(Op::Number, &[value]),
            Read::Style(style) => apply(Op::ReadNumber, &[value, &Value::from(style)]),
        };
        read?.as_number().copied()
    }

    fn expr(self, text: Expr) -> Expr {
        match self {
            Read::Plain => Expr::Call(Op::Number, vec![text]),
            Read::Style(style) => Expr::Call(Op::ReadNumber, vec![text, Expr::Literal(style.into())]),
        }
    }

    fn cost(self) -> u32 {
        match self {
            Read::Plain => Op::Number.info().cost,
            Read::Style(_) => Op::ReadNumber.info().cost + 2,
        }
    }
}

/// Every number that the rest of the sampled outputs can go on with.
pub fn derive(sources: &[NumberSource], rest: &[&str], sample: &[usize], meter: &mut Meter) -> Vec<Derived> {
    let mut found: Vec<Derived> = Vec::new();
    let begins = |text: &&str| text.trim_start_matches([' ', '-']).starts_with(|first: char| first.is_ascii_digit());
    if !rest.iter().all(begins) {
        return found;
    }
    let mut seen: Vec<Vec<u32>> = Vec::new();
    for extent in [Extent::Decimal, Extent::Grouped, Extent::Integer, Extent::Padded] {
        let all: Option<Vec<Figures>> = rest.iter().map(|text| printed(text, extent)).collect();
        let Some(all) = all else { continue };
        let lengths: Vec<u32> = all.iter().map(|one| one.length as u32).collect();
        if seen.contains(&lengths) {
            continue;
        }
        let numbers: Option<Vec<Number>> = all.iter().map(number).collect();
        if let Some(numbers) = numbers {
            found.extend(target(sources, &all, &numbers, &lengths, rest, sample, meter));
        }
        seen.push(lengths);
    }
    found
}

/// What makes the numbers of a source into the printed ones.
struct Change {
    make: Box<dyn Fn(Expr) -> Expr>,
    cost: u32,
    rounded: bool,
}

fn target(
    sources: &[NumberSource],
    all: &[Figures],
    numbers: &[Number],
    lengths: &[u32],
    rest: &[&str],
    sample: &[usize],
    meter: &mut Meter,
) -> Vec<Derived> {
    let (format, format_cost) = format(all);
    let format = Value::from(format);
    let wanted: Vec<&str> = rest.iter().zip(lengths).map(|(text, &length)| &text[..length as usize]).collect();
    let mut found: Vec<Derived> = Vec::new();
    let mut known: HashMap<Vec<Option<String>>, usize> = HashMap::new();
    for source in sources {
        let own: Option<Vec<Number>> = sample.iter().map(|&row| source.values[row]).collect();
        let Some(own) = own else { continue };
        for change in changes(&own, numbers, meter) {
            let print = |number: Expr| Expr::Call(Op::PrintNumber, vec![number, Expr::Literal(format.clone())]);
            let value = |number: &Number| {
                let made = print((change.make)(Expr::Literal(Value::Number(*number))));
                auto_lang::eval(&made, &Value::Null)?.as_text().map(str::to_owned)
            };
            if !meter.take(PRINTING) {
                return found;
            }
            let mut pairs = own.iter().zip(&wanted);
            if !pairs.all(|(own, wanted)| meter.take(PRINTING) && value(own).as_deref() == Some(*wanted)) {
                continue;
            }
            // Printed, and as a number.
            meter.take(2 * PRINTING * source.values.len());
            let texts: Vec<Option<String>> =
                source.values.iter().map(|number| number.as_ref().and_then(value)).collect();
            let cost = source.cost + change.cost + Op::PrintNumber.info().cost + format_cost;
            let made =
                |number: &Number| auto_lang::eval(&(change.make)(Expr::Literal(Value::Number(*number))), &Value::Null);
            let printed = Printed {
                op: Op::PrintNumber,
                of: (change.make)(source.expression.clone()),
                layout: format.as_text().unwrap_or_default().to_owned(),
                values: source.values.iter().map(|number| number.as_ref().and_then(made)).collect(),
                rounded: change.rounded,
            };
            let derived = Derived { printed, cost, texts: texts.clone(), lengths: lengths.to_vec() };
            match known.get(&texts) {
                Some(&old) if found[old].cost <= cost => {}
                Some(&old) => found[old] = derived,
                None => {
                    known.insert(texts, found.len());
                    found.push(derived);
                }
            }
        }
    }
    found
}

fn changes(own: &[Number], wanted: &[Number], meter: &mut Meter) -> Vec<Change> {
    let mut found = vec![Change { make: Box::new(|number| number), cost: 0, rounded: false }];
    for (op, swapped, constant) in affine::constants(own, wanted) {
        let cost = op.info().cost + literal_cost(&Value::Number(constant));
        let make = move |number: Expr| {
            let constant = Expr::Literal(Value::Number(constant));
            Expr::Call(op, if swapped { vec![constant, number] } else { vec![number, constant] })
        };
        found.push(Change { make: Box::new(make), cost, rounded: false });
    }
    for scale in SCALES {
        let Some(factor) = Value::parse(scale).ok().and_then(|value| value.as_number().copied()) else { continue };
        let make = move |number: Expr| Expr::Call(Op::Mul, vec![number, Expr::Literal(Value::Number(factor))]);
        found.push(Change { make: Box::new(make), cost: Op::Mul.info().cost + 6, rounded: false });
    }
    found.extend(rounded(own, wanted, meter));
    found
}

/// Rounding to a step, and a constant added.
fn rounded(own: &[Number], wanted: &[Number], meter: &mut Meter) -> Vec<Change> {
    let mut found = Vec::new();
    let calculate = |op: Op, a: &Number, b: &Number| {
        apply(op, &[&Value::Number(*a), &Value::Number(*b)]).and_then(|value| value.as_number().copied())
    };
    for (step, step_cost) in steps(wanted) {
        for (rounding, rounding_cost) in ROUNDINGS {
            if !meter.take(own.len()) {
                return found;
            }
            let round = |number: &Number| {
                let arguments = [&Value::Number(*number), &Value::Number(step), &Value::from(rounding)];
                apply(Op::Round, &arguments).and_then(|value| value.as_number().copied())
            };
            let mut moved: Option<Number> = None;
            let constant = own.iter().zip(wanted).all(|(own, wanted)| {
                let Some(difference) = round(own).and_then(|own| calculate(Op::Sub, wanted, &own)) else {
                    return false;
                };
                *moved.get_or_insert(difference) == difference
                    || moved.is_some_and(|moved| moved.compare(&difference).is_eq())
            });
            let Some(moved) = moved.filter(|_| constant) else { continue };
            let still = moved.parts().is_some_and(|(mantissa, _)| mantissa == 0);
            let negative = moved.parts().is_some_and(|(mantissa, _)| mantissa < 0);
            // A move by more than the step, or to no round place, is chance.
            let within = calculate(Op::Sub, &step, &magnitude(&moved))
                .is_some_and(|left| left.parts().is_some_and(|(mantissa, _)| mantissa >= 0));
            if !still && !within {
                continue;
            }
            // To the nearest, each goes up or down by chance; a bit for each that went the same way.
            let by_chance = if rounding == "half_up" && one_way(own, &round) { own.len().min(4) as u32 } else { 0 };
            let mut cost = Op::Round.info().cost + step_cost + rounding_cost + by_chance;
            if !still {
                cost += Op::Add.info().cost + literal_cost(&Value::Number(magnitude(&moved)));
            }
            let make = move |number: Expr| {
                let literal = |value: Value| Expr::Literal(value);
                let round = Expr::Call(Op::Round, vec![number, literal(Value::Number(step)), literal(rounding.into())]);
                if still {
                    return round;
                }
                let op = if negative { Op::Sub } else { Op::Add };
                Expr::Call(op, vec![round, literal(Value::Number(magnitude(&moved)))])
            };
            found.push(Change { make: Box::new(make), cost, rounded: true });
        }
    }
    found
}

/// Whether rounding moves all numbers, and in the same direction.
fn one_way(own: &[Number], round: &dyn Fn(&Number) -> Option<Number>) -> bool {
    let mut directions = own.iter().map(|number| round(number).map(|rounded| rounded.compare(number)));
    match directions.next() {
        Some(Some(first)) if !first.is_eq() => directions.all(|direction| direction == Some(first)),
        _ => false,
    }
}

/// Powers of ten that people leave out: thousands, millions, cents.
const SCALES: [&str; 8] = ["0.001", "1000", "0.000001", "0.01", "100", "0.1", "10", "0.000000001"];

fn magnitude(number: &Number) -> Number {
    apply(Op::Abs, &[&Value::Number(*number)]).and_then(|value| value.as_number().copied()).unwrap_or(*number)
}

/// Steps of which all differences of the numbers are multiples, the roundest and widest
/// first, with their costs.
fn steps(wanted: &[Number]) -> Vec<(Number, u32)> {
    let parts: Option<Vec<(i128, u16)>> = wanted.iter().map(Number::parts).collect();
    let Some(parts) = parts else { return Vec::new() };
    let scale = parts.iter().map(|(_, scale)| *scale).max().unwrap_or(0).max(2);
    let widen = |&(mantissa, own): &(i128, u16)| {
        10i128.checked_pow(u32::from(scale - own)).and_then(|factor| mantissa.checked_mul(factor))
    };
    let scaled: Option<Vec<i128>> = parts.iter().map(widen).collect();
    let Some(scaled) = scaled else { return Vec::new() };
    let mut found = Vec::new();
    for power in (0..=u32::from(scale) + 6).rev() {
        for (rank, digits) in STEPS.into_iter().enumerate() {
            let Some(step) = 10i128.checked_pow(power).and_then(|unit| unit.checked_mul(digits)) else { continue };
            if scaled.iter().all(|number| (number - scaled[0]) % step == 0) {
                let number = match step % 10i128.pow(u32::from(scale)) {
                    0 => Number::integer(step / 10i128.pow(u32::from(scale))),
                    _ => Number::decimal(step, scale),
                };
                found.extend(number.map(|number| (number, 3 + rank as u32)));
            }
        }
    }
    found.truncate(24);
    found
}
