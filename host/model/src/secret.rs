//! A key: it can be sent, and cannot be shown.

use std::fmt;

use auto_json::Value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A key from the environment or a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// How deep texts of JSON in texts of JSON are looked into.
const NESTED: u32 = 4;

/// Shorter texts are no keys, and replacing them would garble messages.
const SHORTEST: usize = 8;

impl Secret {
    /// A key as text; white space around it is not part of it. `None` for what cannot be sent in
    /// a header.
    pub fn new(text: &str) -> Option<Secret> {
        let text = text.trim();
        let sendable = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        sendable.then(|| Secret(text.to_owned()))
    }

    /// For the header, and nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether bytes from outside hold it: as they are, in a text or key of the JSON that they are
    /// (where `\u0073` is `s`), in JSON in such a text, or in base64.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.is_plain_in(bytes) || Value::parse(bytes).is_ok_and(|value| self.is_said(&value, NESTED))
    }

    fn is_plain_in(&self, bytes: &[u8]) -> bool {
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        // Three bytes are four characters, so what stands before it shifts them in three ways; those that are
        // made of the key alone are looked for.
        let coded = (0..3).map(|before| {
            let text = STANDARD_NO_PAD.encode([&b"\0\0\0"[..before], self.0.as_bytes()].concat());
            let (first, last) = ((before * 8).div_ceil(6), (before + self.0.len()) * 8 / 6);
            text.get(first..last).unwrap_or_default().to_owned()
        });
        let url = |coded: &str| coded.replace('+', "-").replace('/', "_");
        holds(self.0.as_bytes())
            || coded.into_iter().any(|coded| holds(coded.as_bytes()) || holds(url(&coded).as_bytes()))
    }

    fn is_said(&self, value: &Value, nested: u32) -> bool {
        let text = |text: &str| {
            self.is_plain_in(text.as_bytes())
                || nested > 0 && Value::parse(text).is_ok_and(|inner| self.is_said(&inner, nested - 1))
        };
        match value {
            Value::Text(inside) => text(inside),
            Value::List(items) => items.iter().any(|item| self.is_said(item, nested)),
            Value::Record(fields) => fields.iter().any(|(key, value)| text(key) || self.is_said(value, nested)),
            _ => false,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
