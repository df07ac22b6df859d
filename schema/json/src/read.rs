//! The one JSON grammar: a strict reader that reports what it sees to a [`Sink`].
//!
//! Strict means: UTF-8, no trailing text, no duplicate key (the sink that builds records
//! checks it), no lone surrogate, no number of more than 38 digits, nesting of at most
//! [`MAX_DEPTH`]. Total: no input makes it panic or recurse without bound.

use alloc::string::String;

/// How deep lists and records may nest.
pub const MAX_DEPTH: usize = 64;

/// What is wrong, without the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A character that no value can have here.
    UnexpectedCharacter,
    /// More text after the value.
    TrailingText,
    /// Deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The same key twice in one record.
    DuplicateKey,
    /// An escape that is not JSON's, or half a surrogate pair.
    BadEscape,
    /// A control character that must be escaped.
    ControlCharacter,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// More than 38 significant digits.
    NumberTooLong,
    /// An exponent beyond ±9999.
    ExponentTooLarge,
    /// A number that breaks JSON's grammar (`01`, `1.`, `+1`, `NaN`).
    BadNumber,
    /// The sink has no room left.
    TooLarge,
}

impl ErrorKind {
    /// A sentence without a full stop, for messages.
    pub const fn message(self) -> &'static str {
        match self {
            ErrorKind::UnexpectedEnd => "the JSON ends too early",
            ErrorKind::UnexpectedCharacter => "not JSON: unexpected character",
            ErrorKind::TrailingText => "text after the JSON value",
            ErrorKind::TooDeep => "nested deeper than 64 levels",
            ErrorKind::DuplicateKey => "the same key twice in one object",
            ErrorKind::BadEscape => "bad escape in a string",
            ErrorKind::ControlCharacter => "a control character must be escaped",
            ErrorKind::NotUtf8 => "not UTF-8",
            ErrorKind::NumberTooLong => "a number with more than 38 digits",
            ErrorKind::ExponentTooLarge => "a number with an exponent beyond 9999",
            ErrorKind::BadNumber => "not a JSON number",
            ErrorKind::TooLarge => "the value is too large",
        }
    }
}

/// What is wrong and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The byte offset in the text.
    pub offset: usize,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} at byte {}", self.kind.message(), self.offset)
    }
}

impl core::error::Error for Error {}

/// Receives the values of a text in order. A record is `begin_record`, then `key` and a
/// value for each member, then `end_record`.
pub trait Sink {
    /// `null`.
    fn null(&mut self) -> Result<(), ErrorKind>;
    /// `true` or `false`.
    fn boolean(&mut self, value: bool) -> Result<(), ErrorKind>;
    /// A number; the lexeme obeys the grammar, its length is not checked.
    fn number(&mut self, lexeme: &[u8]) -> Result<(), ErrorKind>;
    /// A string: the bytes between the quotes, valid UTF-8; `escaped` when they hold a
    /// backslash ([`unescape`] resolves it; the escapes are already known to be valid).
    fn text(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind>;
    /// A record's next key, as for [`Sink::text`].
    fn key(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind>;
    /// `[`.
    fn begin_list(&mut self) -> Result<(), ErrorKind>;
    /// `]`.
    fn end_list(&mut self) -> Result<(), ErrorKind>;
    /// `{`.
    fn begin_record(&mut self) -> Result<(), ErrorKind>;
    /// `}`.
    fn end_record(&mut self) -> Result<(), ErrorKind>;
}

/// Reads one JSON value that fills `text`, white space around it aside.
pub fn read<S: Sink>(text: &[u8], sink: &mut S) -> Result<(), Error> {
    let mut reader = Reader { text, at: 0 };
    reader.value(sink).map_err(|kind| Error { kind, offset: reader.at })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

/// One bit a level: is the innermost open bracket a record?
#[derive(Default)]
struct Nesting {
    records: u64,
    depth: usize,
}

impl Nesting {
    fn open(&mut self, record: bool) -> Result<(), ErrorKind> {
        if self.depth == MAX_DEPTH {
            return Err(ErrorKind::TooDeep);
        }
        self.records = (self.records << 1) | u64::from(record);
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.records >>= 1;
        self.depth -= 1;
    }

    fn in_record(&self) -> bool {
        self.records & 1 == 1
    }
}

impl Reader<'_> {
    fn value<S: Sink>(&mut self, sink: &mut S) -> Result<(), ErrorKind> {
        let mut nesting = Nesting::default();
        self.white_space();
        loop {
            // A value starts here. Brackets that open leave `closed` false.
            let closed = match self.peek()? {
                b'{' => {
                    self.at += 1;
                    nesting.open(true)?;
                    sink.begin_record()?;
                    self.white_space();
                    if self.peek()? == b'}' {
                        true
                    } else {
                        self.key(sink)?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    nesting.open(false)?;
                    sink.begin_list()?;
                    self.white_space();
                    if self.peek()? == b']' {
                        true
                    } else {
                        continue;
                    }
                }
                _ => {
                    self.scalar(sink)?;
                    false
                }
            };
            if closed {
                self.close(&mut nesting, sink)?;
            }
            // A value has ended: close what closes, or move to the next member.
            loop {
                self.white_space();
                if nesting.depth == 0 {
                    return if self.at == self.text.len() { Ok(()) } else { Err(ErrorKind::TrailingText) };
                }
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        self.white_space();
                        if nesting.in_record() {
                            self.key(sink)?;
                        }
                        break;
                    }
                    b'}' if nesting.in_record() => self.close(&mut nesting, sink)?,
                    b']' if !nesting.in_record() => self.close(&mut nesting, sink)?,
                    _ => return Err(ErrorKind::UnexpectedCharacter),
                }
            }
        }
    }

    fn close<S: Sink>(&mut self, nesting: &mut Nesting, sink: &mut S) -> Result<(), ErrorKind> {
        self.at += 1;
        if nesting.in_record() {
            sink.end_record()?
        } else {
            sink.end_list()?
        }
        nesting.close();
        Ok(())
    }

    fn key<S: Sink>(&mut self, sink: &mut S) -> Result<(), ErrorKind> {
        if self.peek()? != b'"' {
            return Err(ErrorKind::UnexpectedCharacter);
        }
        let text = self.text;
        let (start, end, escaped) = self.string()?;
        sink.key(text.get(start..end).unwrap_or_default(), escaped)?;
        self.white_space();
        if self.peek()? != b':' {
            return Err(ErrorKind::UnexpectedCharacter);
        }
        self.at += 1;
        self.white_space();
        Ok(())
    }

    fn scalar<S: Sink>(&mut self, sink: &mut S) -> Result<(), ErrorKind> {
        match self.peek()? {
            b'"' => {
                let text = self.text;
                let (start, end, escaped) = self.string()?;
                sink.text(text.get(start..end).unwrap_or_default(), escaped)
            }
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                self.number()?;
                let lexeme = self.text.get(start..self.at).unwrap_or_default();
                sink.number(lexeme).inspect_err(|_| self.at = start)
            }
            b't' => self.word(b"true").and_then(|()| sink.boolean(true)),
            b'f' => self.word(b"false").and_then(|()| sink.boolean(false)),
            b'n' => self.word(b"null").and_then(|()| sink.null()),
            _ => Err(ErrorKind::UnexpectedCharacter),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), ErrorKind> {
        if self.rest().starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(ErrorKind::UnexpectedCharacter)
        }
    }

    fn number(&mut self) -> Result<(), ErrorKind> {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.peek().map_err(|_| ErrorKind::BadNumber)? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return Err(ErrorKind::BadNumber),
        }
        if self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            return Err(ErrorKind::BadNumber);
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ErrorKind> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(ErrorKind::BadNumber) } else { Ok(()) }
    }

    /// From the opening quote to past the closing one; the bounds between the quotes.
    fn string(&mut self) -> Result<(usize, usize, bool), ErrorKind> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain(self.rest());
            match self.peek()? {
                b'"' => {
                    let end = self.at;
                    self.at += 1;
                    return Ok((start, end, escaped));
                }
                b'\\' => {
                    escaped = true;
                    self.at += escape_length(self.rest())?;
                }
                0..0x20 => return Err(ErrorKind::ControlCharacter),
                0x20..0x80 => self.at += ascii(self.rest()),
                _ => self.at += utf8_length(self.rest())?,
            }
        }
    }

    #[inline]
    fn white_space(&mut self) {
        // Mostly there is none.
        if self.text.get(self.at).is_some_and(|&byte| byte <= b' ') {
            self.skip();
        }
    }

    #[inline(never)]
    fn skip(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Result<u8, ErrorKind> {
        self.text.get(self.at).copied().ok_or(ErrorKind::UnexpectedEnd)
    }
}

/// How many bytes at the beginning are ASCII without a quote, a backslash or a control
/// character; the last seven of a text are not looked at.
///
/// Eight at a time: a byte below `n` borrows into its high bit when `n` is subtracted from
/// every byte of a word. So may the bytes above it, but the lowest hit is right (after
/// Mycroft, 1987).
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut length = 0;
    while let Some(chunk) = text.get(length..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        let below = word.wrapping_sub(ONES * 0x20) | quote.wrapping_sub(ONES) | backslash.wrapping_sub(ONES);
        let hits = (below | word) & (ONES * 0x80);
        if hits != 0 {
            return length + hits.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length
}

/// As [`plain`], byte by byte and to the end.
fn ascii(text: &[u8]) -> usize {
    let inside = |byte: &&u8| matches!(**byte, 0x20..0x80) && **byte != b'"' && **byte != b'\\';
    text.iter().take_while(inside).count()
}

/// The length of the multi-byte UTF-8 sequence that `text` starts with (RFC 3629, table 3-7
/// of the Unicode standard).
fn utf8_length(text: &[u8]) -> Result<usize, ErrorKind> {
    let (length, second) = match *text.first().ok_or(ErrorKind::NotUtf8)? {
        0xC2..=0xDF => (2, 0x80..=0xBF),
        0xE0 => (3, 0xA0..=0xBF),
        0xE1..=0xEC | 0xEE..=0xEF => (3, 0x80..=0xBF),
        0xED => (3, 0x80..=0x9F),
        0xF0 => (4, 0x90..=0xBF),
        0xF1..=0xF3 => (4, 0x80..=0xBF),
        0xF4 => (4, 0x80..=0x8F),
        _ => return Err(ErrorKind::NotUtf8),
    };
    let rest = text.get(1..length).ok_or(ErrorKind::NotUtf8)?;
    let valid = rest.first().is_some_and(|byte| second.contains(byte)) && rest.iter().all(|byte| byte & 0xC0 == 0x80);
    if valid { Ok(length) } else { Err(ErrorKind::NotUtf8) }
}

/// The length of the escape that `text` starts with, surrogate pairs as one.
fn escape_length(text: &[u8]) -> Result<usize, ErrorKind> {
    match text.get(1).ok_or(ErrorKind::UnexpectedEnd)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(2),
        b'u' => match hex4(text, 2)? {
            0xD800..=0xDBFF => {
                let low = text.get(6..8) == Some(b"\\u") && matches!(hex4(text, 8)?, 0xDC00..=0xDFFF);
                if low { Ok(12) } else { Err(ErrorKind::BadEscape) }
            }
            0xDC00..=0xDFFF => Err(ErrorKind::BadEscape),
            _ => Ok(6),
        },
        _ => Err(ErrorKind::BadEscape),
    }
}

fn hex4(text: &[u8], at: usize) -> Result<u32, ErrorKind> {
    let mut value = 0;
    for &byte in text.get(at..at + 4).ok_or(ErrorKind::UnexpectedEnd)? {
        let digit = char::from(byte).to_digit(16).ok_or(ErrorKind::BadEscape)?;
        value = value * 16 + digit;
    }
    Ok(value)
}

/// Resolves the escapes of a raw string that [`read`] reported, byte by byte into `out`.
/// The result is UTF-8 and never longer than `raw`.
pub fn unescape(raw: &[u8], out: &mut impl FnMut(u8)) {
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            out(byte);
            at += 1;
            continue;
        }
        let letter = raw.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        let code = match letter {
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let mut code = hex4(raw, at).unwrap_or(0xFFFD);
                at += 4;
                if (0xD800..0xDC00).contains(&code) {
                    let low = hex4(raw, at + 2).unwrap_or(0xDC00);
                    at += 6;
                    code = 0x10000 + ((code - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                }
                code
            }
            other => u32::from(other),
        };
        let mut buffer = [0; 4];
        char::from_u32(code).unwrap_or('\u{FFFD}').encode_utf8(&mut buffer).bytes().for_each(&mut *out);
    }
}

/// [`unescape`] into a string.
pub(crate) fn unescaped(raw: &[u8], escaped: bool) -> Result<String, ErrorKind> {
    let text = if escaped {
        let mut bytes = alloc::vec::Vec::with_capacity(raw.len());
        unescape(raw, &mut |byte| bytes.push(byte));
        String::from_utf8(bytes).map_err(|_| ErrorKind::NotUtf8)?
    } else {
        String::from(core::str::from_utf8(raw).map_err(|_| ErrorKind::NotUtf8)?)
    };
    Ok(text)
}
