//! The text form, read strictly: names, arities and bound variables are checked here, so
//! that everything behind the parser may rely on them.

use std::fmt;

use auto_json::Value;
use auto_json::write::compare_keys;

use crate::expr::is_plain;
use crate::{EACH, Each, Expr, Op};

/// How deep expressions may nest.
pub const MAX_DEPTH: usize = 128;

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where, in bytes.
    pub offset: usize,
    /// What was expected there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads an expression. White space between tokens is free.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    let mut parser = Parser { text, at: 0, depth: 0, bound: Vec::new() };
    let expression = parser.expression()?;
    parser.space();
    if parser.at < text.len() {
        return parser.fail("expected the end of the expression");
    }
    Ok(expression)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    bound: Vec<String>,
}

impl<'a> Parser<'a> {
    fn expression(&mut self) -> Result<Expr, ParseError> {
        if self.depth == MAX_DEPTH {
            return self.fail(format!("expressions nest at most {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let mut expression = self.primary()?;
        let mut fields = 0;
        while self.accept(b'.') {
            fields += 1;
            if self.depth + fields > MAX_DEPTH {
                return self.fail(format!("expressions nest at most {MAX_DEPTH} deep"));
            }
            self.space();
            let name = if self.peek() == Some(b'"') { self.string()? } else { self.name()?.to_owned() };
            expression = expression.field(name);
        }
        self.depth -= 1;
        Ok(expression)
    }

    fn primary(&mut self) -> Result<Expr, ParseError> {
        self.space();
        match self.peek() {
            Some(b'$') => {
                self.at += 1;
                Ok(Expr::Input)
            }
            Some(b'"') => Ok(Expr::Literal(Value::Text(self.string()?))),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => {
                self.at += 1;
                Ok(Expr::List(self.list(b']')?))
            }
            Some(b'{') => self.record(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.word(),
            _ => self.fail("expected an expression"),
        }
    }

    fn word(&mut self) -> Result<Expr, ParseError> {
        let start = self.at;
        let name = self.name()?;
        if self.accept(b'(') {
            return self.call(start, name);
        }
        match name {
            "null" => Ok(Expr::Literal(Value::Null)),
            "true" => Ok(Expr::Literal(Value::Bool(true))),
            "false" => Ok(Expr::Literal(Value::Bool(false))),
            name if self.bound.iter().any(|bound| bound == name) => Ok(Expr::Variable(name.to_owned())),
            name => self.fail_at(start, format!("`{name}` is neither a variable here nor called with `(`")),
        }
    }

    fn call(&mut self, start: usize, name: &str) -> Result<Expr, ParseError> {
        if let Some(each) = EACH.into_iter().find(|each| each.name() == name) {
            return self.each(each);
        }
        let Some(op) = Op::named(name) else {
            return self.fail_at(start, format!("there is no operator `{name}`"));
        };
        let arguments = self.list(b')')?;
        let info = op.info();
        if arguments.len() < info.least || arguments.len() > info.most {
            return self.fail_at(start, format!("`{name}` takes {}, not {} arguments", info.types, arguments.len()));
        }
        for (index, literal) in op.literals() {
            let text = match &arguments[*index] {
                Expr::Literal(Value::Text(text)) => text,
                _ => {
                    return self.fail_at(start, format!("`{name}` takes {}, the text {index} written out", info.types));
                }
            };
            if let Err(why) = literal.check(text) {
                return self.fail_at(start, format!("`{name}` takes {}: {why}", info.types));
            }
        }
        Ok(Expr::Call(op, arguments))
    }

    fn each(&mut self, each: Each) -> Result<Expr, ParseError> {
        let list = self.expression()?;
        self.expect(b',')?;
        self.space();
        let start = self.at;
        let variable = self.name()?.to_owned();
        if ["null", "true", "false"].contains(&variable.as_str()) {
            return self.fail_at(start, format!("`{variable}` is a literal and cannot be a variable"));
        }
        self.expect(b'=')?;
        self.expect(b'>')?;
        self.bound.push(variable.clone());
        let body = self.expression()?;
        self.bound.pop();
        self.expect(b')')?;
        Ok(Expr::Each { each, list: Box::new(list), variable, body: Box::new(body) })
    }

    /// The rest of a list, up to `close`.
    fn list(&mut self, close: u8) -> Result<Vec<Expr>, ParseError> {
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(self.expression()?);
            if self.accept(close) {
                return Ok(items);
            }
            self.expect(b',')?;
        }
    }

    fn record(&mut self) -> Result<Expr, ParseError> {
        self.expect(b'{')?;
        // With the place of each key.
        let mut members: Vec<(String, usize, Expr)> = Vec::new();
        while !(members.is_empty() && self.accept(b'}')) {
            self.space();
            let start = self.at;
            let key = self.string()?;
            self.expect(b':')?;
            members.push((key, start, self.expression()?));
            if self.accept(b'}') {
                break;
            }
            self.expect(b',')?;
        }
        members.sort_by(|(a, ..), (b, ..)| compare_keys(a.as_bytes(), b.as_bytes()));
        if let Some([_, (key, start, _)]) = members.array_windows().find(|[(a, ..), (b, ..)]| a == b) {
            return self.fail_at(*start, format!("the key {} occurs twice", Value::from(key.as_str())));
        }
        Ok(Expr::Record(members.into_iter().map(|(key, _, item)| (key, item)).collect()))
    }

    fn name(&mut self) -> Result<&'a str, ParseError> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|&byte| byte.is_ascii_alphanumeric() || byte == b'_').count();
        let name = &rest[..length];
        if !is_plain(name) {
            return self.fail("expected a name");
        }
        self.at += length;
        Ok(name)
    }

    fn number(&mut self) -> Result<Expr, ParseError> {
        let bytes = &self.text.as_bytes()[self.at..];
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let digits = |from: usize| (from..).take_while(|&at| digit(at)).count();
        let mut end = usize::from(bytes.first() == Some(&b'-'));
        end += digits(end);
        // A point that no digit follows is a field access.
        if bytes.get(end) == Some(&b'.') && digit(end + 1) {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            end += 1 + sign + digits(end + 1 + sign);
        }
        self.literal(end)
    }

    fn string(&mut self) -> Result<String, ParseError> {
        let bytes = &self.text.as_bytes()[self.at..];
        if bytes.first() != Some(&b'"') {
            return self.fail("expected a string");
        }
        let mut end = 1;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = (end + 1).min(bytes.len());
        match self.literal(end)? {
            Expr::Literal(Value::Text(text)) => Ok(text),
            _ => self.fail("expected a string"),
        }
    }

    /// Reads the next `length` bytes as a JSON text.
    fn literal(&mut self, length: usize) -> Result<Expr, ParseError> {
        match Value::parse(&self.text.as_bytes()[self.at..self.at + length]) {
            Ok(value) => {
                self.at += length;
                Ok(Expr::Literal(value))
            }
            Err(error) => self.fail_at(self.at + error.offset, error.kind.message()),
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        if self.accept(byte) { Ok(()) } else { self.fail(format!("expected `{}`", char::from(byte))) }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        self.fail_at(self.at, message)
    }

    fn fail_at<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { offset, message: message.into() })
    }
}
