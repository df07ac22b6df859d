//! A key: it can be sent, and cannot be shown.

use std::fmt;

/// A key from the environment or a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

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

    /// Whether bytes from outside hold it.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(self.0.len()).any(|window| window == self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
