//! The demo agent's decision (`evals/demo/policy.md`) as an engineer would write it by hand:
//! a parser for this one record that borrows its texts, the guard's arithmetic over tables
//! resolved beforehand, and answers put together in one string.

use std::borrow::Cow;

use anyhow::{Context, bail, ensure};
use auto_json::Value;
use auto_rt::kernels::novelty;
use auto_runtime::Program;
use auto_schema::ir::{self, Body};

use super::{Native, Reply};

const INPUT: &str = "record{amount: int, body: text, customer: text, subject: text}";
const MILLION: u32 = 1_000_000;

/// The baseline, with the artifact's guard.
pub struct Demo {
    limit: u32,
    checks: Vec<Check>,
}

/// The policy alone: what it answers without any guard.
pub fn policy(input: &str) -> Reply {
    Demo { limit: MILLION, checks: vec![] }.call(input.as_bytes())
}

/// A text of a ticket.
#[derive(Clone, Copy)]
enum Field {
    Body,
    Customer,
    Subject,
}

/// A check of the guard, resolved to the field it looks at.
enum Check {
    Length { field: Field, min: u64, max: u64 },
    Characters { field: Field, classes: u32 },
    Amount { min: i64, max: i64 },
    Sketch { field: Field, bits: u32, table: Vec<u8> },
}

/// A ticket; texts are copied only where they have escapes.
#[derive(Debug, PartialEq)]
struct Ticket<'a> {
    amount: i64,
    body: Cow<'a, str>,
    customer: Cow<'a, str>,
    subject: Cow<'a, str>,
}

impl Demo {
    /// Takes the guard out of the artifact's graph.
    pub fn new(program: &Program) -> anyhow::Result<Demo> {
        let input = program.manifest().input.to_string();
        ensure!(input == INPUT, "the artifact is not the demo's: its input is {input}");
        let graph = program.graph().context("the artifact carries no graph")?;
        let mut guards = graph.nodes.iter().filter_map(|node| match &node.body {
            Body::Guard(guard) => Some(guard),
            _ => None,
        });
        let Some(guard) = guards.next() else { return Ok(Demo { limit: MILLION, checks: vec![] }) };
        ensure!(guards.next().is_none(), "the baseline knows one guard, the artifact has more");
        let checks = guard.checks.iter().filter_map(|check| Check::resolve(check).transpose());
        Ok(Demo { limit: guard.limit, checks: checks.collect::<anyhow::Result<_>>()? })
    }

    fn novelty(&self, ticket: &Ticket) -> u32 {
        self.checks.iter().map(|check| check.score(ticket)).max().unwrap_or(0)
    }

    fn abstain(&self, score: u32) -> Reply {
        Reply::Abstain { score, limit: self.limit }
    }
}

impl Native for Demo {
    fn call(&self, input: &[u8]) -> Reply {
        let Some(ticket) = str::from_utf8(input).ok().and_then(Ticket::parse) else { return Reply::BadInput };
        let score = self.novelty(&ticket);
        if score > self.limit {
            return self.abstain(score);
        }
        match ticket.reference() {
            Some(reference) => Reply::Answer(ticket.answer(reference)),
            None => self.abstain(MILLION),
        }
    }
}

impl Check {
    /// Nothing for the check of the whole input's type, which parsing has done.
    fn resolve(check: &ir::Check) -> anyhow::Result<Option<Check>> {
        Ok(match check {
            ir::Check::Shape { ty } if ty.to_string() == INPUT => None,
            ir::Check::Length { path, min, max } => {
                Some(Check::Length { field: Field::of(path)?, min: *min, max: *max })
            }
            ir::Check::Characters { path, classes } => {
                Some(Check::Characters { field: Field::of(path)?, classes: *classes })
            }
            ir::Check::Range { path, min, max } if path == "/amount" => {
                Some(Check::Amount { min: min.parse()?, max: max.parse()? })
            }
            ir::Check::Sketch { path, bits, table } => {
                Some(Check::Sketch { field: Field::of(path)?, bits: *bits, table: table.clone() })
            }
            other => bail!("the baseline does not know this check: {}", other.kind()),
        })
    }

    fn score(&self, ticket: &Ticket) -> u32 {
        let refused = match self {
            Check::Length { field, min, max } => {
                let length = ticket.text(*field).chars().count() as u64;
                length < *min || length > *max
            }
            Check::Characters { field, classes } => novelty::character_classes(ticket.text(*field)) & !classes != 0,
            Check::Amount { min, max } => ticket.amount < *min || ticket.amount > *max,
            Check::Sketch { field, bits, table } => {
                return novelty::sketch_score(ticket.text(*field).as_bytes(), *bits, table);
            }
        };
        if refused { MILLION } else { 0 }
    }
}

impl Field {
    fn of(path: &str) -> anyhow::Result<Field> {
        Ok(match path {
            "/body" => Field::Body,
            "/customer" => Field::Customer,
            "/subject" => Field::Subject,
            other => bail!("the baseline does not know the path {other:?}"),
        })
    }
}

impl<'a> Ticket<'a> {
    fn parse(text: &'a str) -> Option<Ticket<'a>> {
        let mut parser = Parser { text, at: 0 };
        let (mut amount, mut body, mut customer, mut subject) = (None, None, None, None);
        parser.expect(b'{')?;
        loop {
            let key = parser.text()?;
            parser.expect(b':')?;
            match &*key {
                "amount" if amount.is_none() => amount = Some(parser.integer()?),
                "body" if body.is_none() => body = Some(parser.text()?),
                "customer" if customer.is_none() => customer = Some(parser.text()?),
                "subject" if subject.is_none() => subject = Some(parser.text()?),
                _ => return None,
            }
            if parser.expect(b',').is_none() {
                break;
            }
        }
        parser.expect(b'}')?;
        parser.end()?;
        Some(Ticket { amount: amount?, body: body?, customer: customer?, subject: subject? })
    }

    fn text(&self, field: Field) -> &str {
        match field {
            Field::Body => &self.body,
            Field::Customer => &self.customer,
            Field::Subject => &self.subject,
        }
    }

    fn queue(&self) -> &'static str {
        let says =
            |word: &[u8]| self.subject.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        match () {
            () if says(b"refund") => "returns",
            () if says(b"invoice") => "billing",
            () if says(b"password") => "accounts",
            () => "support",
        }
    }

    fn priority(&self) -> &'static str {
        match self.amount {
            1000.. => "urgent",
            250.. => "high",
            _ => "normal",
        }
    }

    /// The order number: the body's first run of letters and digits joined by hyphens (or
    /// underscores) that holds a digit.
    fn reference(&self) -> Option<&str> {
        let bytes = self.body.as_bytes();
        let alnum = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            let (mut joined, mut digit) = (false, false);
            while alnum(at) || (at > start && matches!(bytes.get(at), Some(b'-' | b'_')) && alnum(at + 1)) {
                joined |= !alnum(at);
                digit |= bytes[at].is_ascii_digit();
                at += 1;
            }
            if joined && digit {
                return self.body.get(start..at);
            }
            at += 1;
        }
        None
    }

    fn answer(&self, reference: &str) -> String {
        let mut answer = String::with_capacity(160 + self.customer.len());
        for part in
            [r#"{"priority":""#, self.priority(), r#"","queue":""#, self.queue(), r#"","reference":""#, reference]
        {
            answer.push_str(part);
        }
        answer.push_str(r#"","reply":"Dear "#);
        push_escaped(&mut answer, &self.customer);
        for part in [", we are looking into ", reference, r#" and will write to you soon."}"#] {
            answer.push_str(part);
        }
        answer
    }
}

/// Most names need no escapes; those that do go through the shared writer.
fn push_escaped(answer: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        answer.push_str(text);
    } else {
        let quoted = Value::from(text).to_string();
        answer.push_str(&quoted[1..quoted.len() - 1]);
    }
}

/// Reads the few things a ticket is made of.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Goes past a byte and the blanks before it; stays where another one comes.
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.blank();
        (self.byte() == Some(byte)).then(|| self.at += 1)
    }

    fn end(&mut self) -> Option<()> {
        self.blank();
        (self.at == self.text.len()).then_some(())
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.expect(b'"')?;
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut escaped = false;
        loop {
            self.at += plain(&bytes[self.at..]);
            match self.byte()? {
                b'"' => break,
                b'\\' => (escaped, self.at) = (true, (self.at + 2).min(bytes.len())),
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        if escaped {
            // The shared reader knows escapes.
            let whole = Value::parse(&self.text[start - 1..self.at]).ok()?;
            return whole.as_text().map(|text| Cow::Owned(text.to_owned()));
        }
        Some(Cow::Borrowed(&self.text[start..self.at - 1]))
    }

    /// An integer of at most 38 digits; beyond 64 bits only its sign and size matter.
    fn integer(&mut self) -> Option<i64> {
        self.blank();
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(negative);
        let start = self.at;
        let mut value = 0i64;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - start;
        let zero_first = self.text.as_bytes().get(start) == Some(&b'0');
        if digits == 0 || digits > 38 || (zero_first && digits > 1) || matches!(self.byte(), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        Some(if negative { -value } else { value })
    }
}

/// How many bytes, in steps of eight, hold no quote, no backslash and no control character
/// (the bit trick of Mycroft, 1987: a byte below `n` borrows into its high bit).
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let (chunks, _) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (control | zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')))) & HIGHS;
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    chunks.len() * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy() {
        let input =
            r#"{"amount":250,"body":"A follow-up on ORD-50921.","customer":"A \"B\"","subject":"reFUND invoice"}"#;
        let expected = r#"{"priority":"high","queue":"returns","reference":"ORD-50921","reply":"Dear A \"B\", we are looking into ORD-50921 and will write to you soon."}"#;
        assert_eq!(policy(input), Reply::Answer(expected.into()));
        let none = input.replace("ORD-50921", "nothing");
        assert_eq!(policy(&none), Reply::Abstain { score: MILLION, limit: MILLION });
    }

    #[test]
    fn the_parser_reads_what_the_shared_reader_reads() {
        let whole =
            r#"{"subject":"s\n","amount": -7 ,"body":"\u00fc long enough to be skipped in steps","customer":""}"#;
        let read = Ticket::parse(whole).unwrap();
        let value = Value::parse(whole).unwrap();
        assert_eq!(read.amount, -7);
        assert_eq!(Some(&*read.body), value.get("body").and_then(Value::as_text));
        assert_eq!(Some(&*read.subject), value.get("subject").and_then(Value::as_text));
        for at in 0..whole.len() {
            assert_eq!(Ticket::parse(&whole[..at]), None);
        }
        for (from, to) in
            [("-7", "7.0"), ("-7", "07"), ("-7", "\"7\""), ("\"body\"", "\"subject\""), ("\\n", "\n"), ("\\n", "\\x")]
        {
            assert_eq!(Ticket::parse(&whole.replacen(from, to, 1)), None, "{from} -> {to}");
        }
    }

    #[test]
    fn the_bit_trick_stops_where_it_should() {
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut bytes = *b"abcdefgh";
                bytes[at] = byte;
                let stops = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(plain(&bytes), if stops { at } else { 8 }, "{byte} at {at}");
            }
        }
    }
}
