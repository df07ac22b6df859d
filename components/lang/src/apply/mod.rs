//! What operators do to values. Texts and numbers are worked on by the kernels that
//! artifacts run.

use auto_json::{Number, Value};
use auto_rt::kernels::class::Kinds;
use auto_rt::kernels::date::{self, Moment};
use auto_rt::kernels::text::MAX_TEXT;
use auto_rt::kernels::{fold, layout, normal, number, pattern, quantity, recase, span, text};

use crate::Op;

pub(crate) mod lists;
mod records;

use lists::{dedup, extreme, nth, numbers, slice, sort};

/// An operator applied to values; `None` where it is undefined. Arguments that a lazy
/// operator would not have looked at are ignored.
pub fn apply(op: Op, arguments: &[&Value]) -> Option<Value> {
    match *arguments {
        [a] => unary(op, a),
        [a, b] => binary(op, a, b),
        [a, b, c] => ternary(op, a, b, c),
        _ => variadic(op, arguments),
    }
}

fn unary(op: Op, a: &Value) -> Option<Value> {
    let text_of = |run: fn(&str, &mut Bytes)| {
        Bytes::collect(|out| {
            run(a.as_text()?, out);
            Some(())
        })
    };
    match op {
        Op::Lower => text_of(|text, out| text::lower(text, &mut out.sink())),
        Op::Upper => text_of(|text, out| text::upper(text, &mut out.sink())),
        Op::Title => text_of(|text, out| text::title(text, &mut out.sink())),
        Op::Collapse => text_of(|text, out| text::collapse(text, &mut out.sink())),
        Op::Digits => text_of(|text, out| text::digits(text, &mut out.sink())),
        Op::Letters => text_of(|text, out| text::letters(text, &mut out.sink())),
        Op::Trim => Some(text::trim(a.as_text()?).into()),
        Op::Words => parts(a, |text, items| {
            text::words(text, &mut |word| items.push(word.into()));
            Some(())
        }),
        Op::Lines => parts(a, |text, items| {
            text::lines(text, &mut |line| items.push(line.into()));
            Some(())
        }),
        Op::Chars => Some(text::chars(a.as_text()?).into()),
        Op::Number => number::parse(a.as_text()?).map(Value::Number),
        Op::Text => match a {
            Value::Number(number) => Some(number.text().into()),
            Value::Bool(value) => Some(if *value { "true" } else { "false" }.into()),
            _ => None,
        },
        Op::Neg => number::neg(a.as_number()?).map(Value::Number),
        Op::Abs => number::abs(a.as_number()?).map(Value::Number),
        Op::Ordinal => {
            let value = integer(a)?;
            Bytes::collect(|out| {
                quantity::ordinal(value, &mut out.sink());
                Some(())
            })
        }
        Op::Roman => Bytes::collect(|out| quantity::roman(integer(a)?, &mut out.sink())),
        Op::Unroman => quantity::unroman(a.as_text()?).map(Value::from),
        Op::Unspell => quantity::unspell(a.as_text()?).map(Value::from),
        Op::Transpose => lists::transposed(a.as_list()?),
        Op::Spell => Bytes::collect(|out| quantity::spell(integer(a)?, &mut out.sink())),
        Op::Mirror => text_of(|text, out| text::reverse(text, &mut out.sink())),
        Op::Unaccent => text_of(|text, out| fold::unaccent(text, &mut out.sink())),
        Op::Flatten => lists::flatten(a.as_list()?),
        Op::Keys => Some(Value::List(a.as_record()?.iter().map(|(key, _)| key.into()).collect())),
        Op::Values => Some(Value::List(a.as_record()?.iter().map(|(_, value)| value.clone()).collect())),
        Op::Entries => Some(records::entries(a.as_record()?)),
        Op::Gather => records::gather(a.as_list()?),
        Op::ReadQuery => records::read_query(a.as_text()?),
        Op::ReadJson => records::read_json(a.as_text()?),
        Op::PrintJson => records::print_json(a),
        Op::Digest => Some(Value::integer(text::digest(a.canonical().as_str().as_bytes()))),
        Op::Not => Some(Value::Bool(!a.as_bool()?)),
        Op::IsNull => Some(Value::Bool(*a == Value::Null)),
        Op::First => a.as_list()?.first().cloned(),
        Op::Last => a.as_list()?.last().cloned(),
        Op::Count => Some(a.as_list()?.len().into()),
        Op::Reverse => Some(Value::List(a.as_list()?.iter().rev().cloned().collect())),
        Op::Dedup => Some(Value::List(dedup(a.as_list()?))),
        Op::Sort => sort(a.as_list()?),
        Op::Sum => numbers(a)?.try_fold(Number::integer(0)?, |sum, item| number::add(&sum, item?)).map(Value::Number),
        Op::Min => extreme(a, |best, item| item.compare(best).is_lt()),
        Op::Max => extreme(a, |best, item| item.compare(best).is_gt()),
        _ => variadic(op, &[a]),
    }
}

fn binary(op: Op, a: &Value, b: &Value) -> Option<Value> {
    match op {
        Op::Strip => Some(text::strip(a.as_text()?, b.as_text()?).into()),
        Op::Split => parts(a, |text, items| text::split(text, b.as_text()?, &mut |part| items.push(part.into()))),
        Op::Join => join(a.as_list()?, b.as_text()?),
        Op::Substr => text::substr(a.as_text()?, integer(b)?, None).map(Value::from),
        Op::Before => text::before(a.as_text()?, b.as_text()?).map(Value::from),
        Op::After => text::after(a.as_text()?, b.as_text()?).map(Value::from),
        Op::Starts => Some(Value::Bool(text::starts(a.as_text()?, b.as_text()?))),
        Op::Ends => Some(Value::Bool(text::ends(a.as_text()?, b.as_text()?))),
        Op::Contains => Some(Value::Bool(text::contains(a.as_text()?, b.as_text()?))),
        Op::Nth => nth(a.as_list()?, integer(b)?).cloned(),
        Op::Take => Some(Value::List(a.as_list()?.iter().take(count(b)?).cloned().collect())),
        Op::Drop => Some(Value::List(a.as_list()?.iter().skip(count(b)?).cloned().collect())),
        Op::Slice => slice(a.as_list()?, integer(b)?, None),
        Op::Includes => Some(Value::Bool(a.as_list()?.contains(b))),
        Op::Add => number::add(a.as_number()?, b.as_number()?).map(Value::Number),
        Op::Sub => number::sub(a.as_number()?, b.as_number()?).map(Value::Number),
        Op::Mul => number::mul(a.as_number()?, b.as_number()?).map(Value::Number),
        Op::Find => records::find(a.as_text()?, b.as_text()?),
        Op::Occurrences => text::occurrences(a.as_text()?, b.as_text()?).map(Value::from),
        Op::Recase => Bytes::collect(|out| recase::recase(a.as_text()?, &described(op, 1, b)?, &mut out.sink())),
        Op::Normalize => Bytes::collect(|out| normal::normalize(a.as_text()?, &described(op, 1, b)?, &mut out.sink())),
        Op::Zip => Some(lists::zip(a.as_list()?, b.as_list()?)),
        Op::IndexOf => records::index_of(a.as_list()?, b),
        Op::Get => a.as_record()?.get(b.as_text()?).cloned(),
        Op::Merge => Some(records::merge(a.as_record()?, b.as_record()?)),
        Op::Pick => records::chosen(a.as_record()?, b.as_list()?, true),
        Op::Omit => records::chosen(a.as_record()?, b.as_list()?, false),
        Op::ReadCsv => records::read_csv(a.as_text()?, b.as_text()?),
        Op::ReadDate => moment(layout::read(a.as_text()?, &described(op, 1, b)?)),
        Op::PrintDate => {
            let moment = Moment::read(a.as_text()?)?;
            Bytes::collect(|out| layout::print(&moment, &described(op, 1, b)?, &mut out.sink()))
        }
        Op::DatePart => {
            let part = date::part_numbered(&described(op, 1, b)?)?;
            date::part(&Moment::read(a.as_text()?)?, part).map(Value::from)
        }
        Op::Div => number::div(a.as_number()?, b.as_number()?).map(Value::Number),
        Op::Mod => number::modulo(a.as_number()?, b.as_number()?).map(Value::Number),
        Op::ReadNumber => quantity::read(a.as_text()?, &described(op, 1, b)?).map(Value::Number),
        Op::PrintNumber => {
            Bytes::collect(|out| quantity::print(a.as_number()?, &described(op, 1, b)?, &mut out.sink()))
        }
        Op::Lt => Some(Value::Bool(a.as_number()?.compare(b.as_number()?).is_lt())),
        Op::Le => Some(Value::Bool(a.as_number()?.compare(b.as_number()?).is_le())),
        Op::Gt => Some(Value::Bool(a.as_number()?.compare(b.as_number()?).is_gt())),
        Op::Ge => Some(Value::Bool(a.as_number()?.compare(b.as_number()?).is_ge())),
        Op::Eq => Some(Value::Bool(a == b)),
        Op::TypeIs => Some(Value::Bool(kind(a) == b.as_text()?)),
        Op::Default => Some(a.clone()),
        Op::Has => pattern::has::<ALL>(a.as_text()?, &described(op, 1, b)?).map(Value::Bool),
        Op::Matches => parts(a, |text, items| {
            pattern::matches::<ALL>(text, &described(op, 1, b)?, &mut |part| items.push(part.into()))
        }),
        Op::SplitOn => parts(a, |text, items| {
            pattern::split::<ALL>(text, &described(op, 1, b)?, &mut |part| items.push(part.into()))
        }),
        _ => variadic(op, &[a, b]),
    }
}

fn ternary(op: Op, a: &Value, b: &Value, c: &Value) -> Option<Value> {
    match op {
        Op::Replace => Bytes::collect(|out| text::replace(a.as_text()?, b.as_text()?, c.as_text()?, &mut out.sink())),
        Op::Substr => text::substr(a.as_text()?, integer(b)?, Some(integer(c)?)).map(Value::from),
        Op::Every => Bytes::collect(|out| text::every(a.as_text()?, integer(b)?, integer(c)?, &mut out.sink())),
        Op::Between => text::between(a.as_text()?, b.as_text()?, c.as_text()?).map(Value::from),
        Op::Token => {
            text::token(a.as_text()?, text::class_named(b.as_text()?).filter(|class| !class.is_place())?, integer(c)?)
                .map(Value::from)
        }
        Op::Slice => slice(a.as_list()?, integer(b)?, Some(integer(c)?)),
        Op::If => Some(if a.as_bool()? { b } else { c }.clone()),
        Op::Rename => records::rename(a.as_record()?, b.as_text()?, c.as_text()?),
        Op::ReadPairs => records::read_pairs(a.as_text()?, b.as_text()?, c.as_text()?),
        Op::DateAdd => {
            let unit = span::unit(&described(op, 2, c)?)?;
            moment(span::add(&Moment::read(a.as_text()?)?, integer(b)?, unit))
        }
        Op::DateDiff => {
            let unit = span::unit(&described(op, 2, c)?)?;
            span::difference(&Moment::read(a.as_text()?)?, &Moment::read(b.as_text()?)?, unit).map(Value::from)
        }
        Op::Ratio => number::ratio(a.as_number()?, b.as_number()?, integer(c)?).map(Value::Number),
        Op::Round => number::round_by(a.as_number()?, b.as_number()?, &described(op, 2, c)?).map(Value::Number),
        Op::Match => pattern::matched::<ALL>(a.as_text()?, &described(op, 1, b)?, integer(c)?).map(Value::from),
        Op::Cut => pattern::cut::<ALL>(a.as_text()?, &described(op, 1, b)?, &described(op, 2, c)?).map(Value::from),
        Op::Substitute => Bytes::collect(|out| {
            pattern::substitute::<ALL>(a.as_text()?, &described(op, 1, b)?, c.as_text()?, &mut out.sink())
        }),
        _ => variadic(op, &[a, b, c]),
    }
}

fn variadic(op: Op, arguments: &[&Value]) -> Option<Value> {
    match op {
        Op::Pad => {
            let [text, width, fill, side] = arguments else { return None };
            let side = described(op, 3, side)?;
            let (text, fill) = (text.as_text()?, fill.as_text()?);
            Bytes::collect(|out| text::pad(text, integer(width)?, fill, &side, &mut out.sink()))
        }
        Op::DateRound => {
            let [date, count, unit, rounding] = arguments else { return None };
            let unit = span::unit(&described(op, 2, unit)?)?;
            let rounding = number::rounding(&described(op, 3, rounding)?)?;
            moment(span::round(&Moment::read(date.as_text()?)?, integer(count)?, unit, rounding))
        }
        Op::Concat => {
            let mut text = String::new();
            for argument in arguments {
                text.push_str(argument.as_text()?);
            }
            (text.len() <= MAX_TEXT).then_some(Value::Text(text))
        }
        Op::And | Op::Or => {
            let stop = op == Op::Or;
            for argument in arguments {
                if argument.as_bool()? == stop {
                    return Some(Value::Bool(stop));
                }
            }
            Some(Value::Bool(!stop))
        }
        _ => None,
    }
}

/// Bytes that kernels write; UTF-8 as long as kernels are right.
struct Bytes(Vec<u8>);

impl Bytes {
    fn collect(run: impl FnOnce(&mut Bytes) -> Option<()>) -> Option<Value> {
        let mut bytes = Bytes(Vec::new());
        run(&mut bytes)?;
        if bytes.0.len() > MAX_TEXT {
            return None;
        }
        String::from_utf8(bytes.0).ok().map(Value::Text)
    }

    fn sink(&mut self) -> impl FnMut(u8) {
        // Past the limit the result is thrown away, so it need not grow.
        |byte| {
            if self.0.len() <= MAX_TEXT {
                self.0.push(byte);
            }
        }
    }
}

fn parts<'a>(text: &'a Value, run: impl FnOnce(&'a str, &mut Vec<Value>) -> Option<()>) -> Option<Value> {
    let mut items = Vec::new();
    run(text.as_text()?, &mut items)?;
    Some(Value::List(items))
}

/// The text of a moment.
fn moment(moment: Option<Moment>) -> Option<Value> {
    let moment = moment?;
    Bytes::collect(|out| {
        moment.write(&mut out.sink());
        Some(())
    })
}

/// All classes: the evaluator does not choose.
const ALL: u8 = Kinds::EVERY;

/// The bytes of a literal argument that says how an operator works.
fn described(op: Op, index: usize, value: &Value) -> Option<Vec<u8>> {
    op.literal(index)?.encode(value.as_text()?)
}

fn join(items: &[Value], separator: &str) -> Option<Value> {
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(item.as_text()?);
    }
    (text.len() <= MAX_TEXT).then_some(Value::Text(text))
}

fn integer(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(integer(value)?).ok()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Text(_) => "text",
        Value::List(_) => "list",
        Value::Record(_) => "record",
    }
}
