//! Deduction on printed numbers: where an output goes on with a number, its format is read
//! off what is there, and what the number is of the input's numbers is worked out backwards:
//! the same, rounded to a step, moved or scaled by a constant.

use std::collections::HashMap;

use auto_json::{Number, Value};
use auto_lang::{Expr, Op, apply, literal_cost};

use crate::affine;
use crate::bank::Bank;
use crate::values::{Interner, Kind, Meter};

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

/// The most numbers of the input that are tried.
const MAX_SOURCES: usize = 16;

/// The most that a text may cost whose number is tried.
const MAX_COST: u32 = 22;

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

/// How a number is cut off the beginning of a text.
#[derive(Clone, Copy)]
enum Extent {
    Integer,
    Grouped,
    Decimal,
    /// With the spaces that make a column of it.
    Padded,
}

/// A number as it stands in a text.
struct Figures {
    length: usize,
    negative: bool,
    integer: String,
    decimals: Option<String>,
    grouped: bool,
    /// Spaces before and behind.
    padding: [usize; 2],
}

fn printed(text: &str, extent: Extent) -> Option<Figures> {
    let padded = matches!(extent, Extent::Padded);
    let before = if padded { text.len() - text.trim_start_matches(' ').len() } else { 0 };
    let bytes = text.as_bytes();
    let negative = bytes.get(before) == Some(&b'-');
    let mut at = before + usize::from(negative);
    let mut integer = String::new();
    let mut grouped = false;
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while digit(at) {
        integer.push(char::from(bytes[at]));
        at += 1;
        let group = bytes.get(at) == Some(&b',') && (1..=3).all(|next| digit(at + next)) && !digit(at + 4);
        if group && !matches!(extent, Extent::Integer) {
            grouped = true;
            at += 1;
        }
    }
    if integer.is_empty() {
        return None;
    }
    let mut decimals = None;
    if matches!(extent, Extent::Decimal) && bytes.get(at) == Some(&b'.') && digit(at + 1) {
        let end = (at + 1..).find(|&at| !digit(at)).unwrap_or(at + 1);
        decimals = Some(text[at + 1..end].to_owned());
        at = end;
    }
    if padded && bytes.get(at) == Some(&b'.') {
        at += 1;
        while digit(at) {
            decimals.get_or_insert_with(String::new).push(char::from(bytes[at]));
            at += 1;
        }
    }
    let behind = if padded { bytes[at..].iter().take_while(|byte| **byte == b' ').count() } else { 0 };
    Some(Figures { length: at + behind, negative, integer, decimals, grouped, padding: [before, behind] })
}

/// The format that all of them have in common, and its cost.
fn format(all: &[Figures]) -> (String, u32) {
    if let Some(column) = column(all) {
        return column;
    }
    let width = all.iter().map(|one| one.integer.len()).min().unwrap_or(1);
    let padded = all.iter().any(|one| one.integer.len() > 1 && one.integer.starts_with('0'));
    let zeros = if padded { width } else { 1 };
    let places = |one: &Figures| one.decimals.as_ref().map_or(0, String::len);
    let most = all.iter().map(places).max().unwrap_or(0);
    // Where some have fewer, none has more than it needs.
    let least = if all.iter().all(|one| places(one) == most) { most } else { 0 };
    let mut text = if all.iter().any(|one| one.grouped) { "#,##0".to_owned() } else { "0".repeat(zeros) };
    if most > 0 {
        text.push('.');
        text.push_str(&"0".repeat(least));
        text.push_str(&"#".repeat(most - least));
    }
    let cost = zeros as u32 + 2 * (most - least) as u32 + u32::from(text.starts_with('#')) * 2;
    (text, cost)
}

/// The format of numbers that stand below each other.
fn column(all: &[Figures]) -> Option<(String, u32)> {
    let any = |side: usize| all.iter().any(|one| one.padding[side] > 0);
    if !any(0) && !any(1) {
        return None;
    }
    let left = |one: &Figures| one.padding[0] + usize::from(one.negative) + one.integer.len();
    let right = |one: &Figures| one.decimals.as_ref().map_or(0, String::len) + one.padding[1];
    let spaces = if any(0) { left(&all[0]) - 1 } else { 0 };
    let decimals = if right(&all[0]) > 0 { format!(".{}", "?".repeat(right(&all[0]))) } else { String::new() };
    Some((format!("{}0{decimals}", "?".repeat(spaces)), 2 + (spaces + right(&all[0])) as u32))
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

fn number(one: &Figures) -> Option<Number> {
    let sign = if one.negative { "-" } else { "" };
    let integer = match one.integer.trim_start_matches('0') {
        "" => "0",
        integer => integer,
    };
    let text = match &one.decimals {
        Some(decimals) => format!("{sign}{integer}.{decimals}"),
        None => format!("{sign}{integer}"),
    };
    Value::parse(&text).ok()?.as_number().copied()
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
            let fits = own.iter().zip(&wanted).all(|(own, wanted)| value(own).as_deref() == Some(*wanted));
            if !meter.take(4 * own.len()) || !fits {
                continue;
            }
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

/// A range says its end by its beginning: what is printed later and is always so much more
/// than what was rounded before becomes that and a constant, and a step that is narrower
/// than the range becomes as wide.
pub fn relate(parts: &mut [&mut Printed]) {
    for later in 1..parts.len() {
        let (before, after) = parts.split_at_mut(later);
        let Some(end) = after.first_mut() else { continue };
        for start in before.iter_mut().rev() {
            if start.op != end.op || !(start.rounded || end.rounded) || start.of == end.of {
                continue;
            }
            if let Some(moved) = moved(start, end) {
                end.of = moved;
                break;
            }
        }
    }
}

fn moved(start: &mut Printed, end: &Printed) -> Option<Expr> {
    let pairs: Vec<(&Value, &Value)> = start
        .values
        .iter()
        .zip(&end.values)
        .filter_map(|(start, end)| Some((start.as_ref()?, end.as_ref()?)))
        .collect();
    let literal = |value: Value| Expr::Literal(value);
    if start.op == Op::PrintDate {
        let minutes = Value::from("minutes");
        let first = apply(Op::DateDiff, &[pairs.first()?.1, pairs.first()?.0, &minutes])?;
        let width = first.as_number()?.as_i64()?.rem_euclid(24 * 60);
        let (count, unit) = if width % 60 == 0 { (width / 60, "hours") } else { (width, "minutes") };
        let (count, unit) = (Value::integer(count), Value::from(unit));
        let same = |(start, end): &(&Value, &Value)| apply(Op::DateAdd, &[start, &count, &unit]).as_ref() == Some(*end);
        let fits = width > 0 && pairs.iter().all(same);
        return fits.then(|| Expr::Call(Op::DateAdd, vec![start.of.clone(), literal(count), literal(unit)]));
    }
    let width = apply(Op::Sub, &[pairs.first()?.1, pairs.first()?.0])?;
    let positive = width.as_number()?.parts()?.0 > 0;
    let same = |(start, end): &(&Value, &Value)| apply(Op::Sub, &[end, start]).as_ref() == Some(&width);
    if !positive || !pairs.iter().all(same) {
        return None;
    }
    widen(start, &width);
    Some(Expr::Call(Op::Add, vec![start.of.clone(), literal(width)]))
}

/// Makes the step as wide as the range, if that gives the same.
fn widen(start: &mut Printed, width: &Value) {
    let Expr::Call(Op::Round, arguments) = &start.of else { return };
    let [number, _, rounding] = arguments.as_slice() else { return };
    let one_more = apply(Op::Add, &[width, &Value::integer(1)]);
    for step in [Some(width.clone()), one_more].into_iter().flatten() {
        let same = start.values.iter().flatten().all(|value| {
            let down = apply(Op::Round, &[value, &step, &Value::from("down")]);
            down.zip(value.as_number())
                .is_some_and(|(down, value)| down.as_number().is_some_and(|down| down.compare(value).is_eq()))
        });
        if same {
            start.of = Expr::Call(Op::Round, vec![number.clone(), Expr::Literal(step), rounding.clone()]);
            return;
        }
    }
}
