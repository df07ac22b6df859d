//! Interned values and columns of them: one value per example, as small numbers, so that
//! comparing what two programs do is comparing words.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use auto_json::Value;

/// A value, by number.
pub type Id = u32;

/// Where an expression has no value.
pub const UNDEFINED: Id = 0;

/// A set of examples (rows), by bit; the most rows that a search looks at together.
pub type Rows = u128;

/// The most rows of a search.
pub const MAX_ROWS: usize = 128;

/// The set of the first `count` rows.
pub fn all_rows(count: usize) -> Rows {
    if count >= MAX_ROWS { Rows::MAX } else { (1 << count) - 1 }
}

/// The members of a set, in order.
pub fn rows(mut set: Rows) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let row = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            row
        })
    })
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// No value.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// An object.
    Record,
}

/// The kind of a value.
pub fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::Text,
        Value::List(_) => Kind::List,
        Value::Record(_) => Kind::Record,
    }
}

/// Every value met so far, each once.
pub struct Interner {
    values: Vec<Value>,
    kinds: Vec<Kind>,
    /// From hash to the last value of that hash, and from there to those before.
    heads: HashMap<u64, Id, BuildHasherDefault<Passthrough>>,
    previous: Vec<Id>,
}

impl Default for Interner {
    /// Nothing yet.
    fn default() -> Interner {
        Interner {
            values: vec![Value::Null],
            kinds: vec![Kind::Undefined],
            heads: HashMap::default(),
            previous: vec![UNDEFINED],
        }
    }
}

impl Interner {
    /// The number of a value.
    pub fn intern(&mut self, value: Value) -> Id {
        let mut hasher = Fast::default();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        let head = self.heads.get(&hash).copied().unwrap_or(UNDEFINED);
        let mut at = head;
        while at != UNDEFINED {
            if self.values[at as usize] == value {
                return at;
            }
            at = self.previous[at as usize];
        }
        let id = self.values.len() as Id;
        self.kinds.push(kind_of(&value));
        self.values.push(value);
        self.previous.push(head);
        self.heads.insert(hash, id);
        id
    }

    /// The number of a value that may be missing.
    pub fn intern_option(&mut self, value: Option<Value>) -> Id {
        value.map_or(UNDEFINED, |value| self.intern(value))
    }

    /// The value of a number.
    pub fn get(&self, id: Id) -> Option<&Value> {
        if id == UNDEFINED { None } else { self.values.get(id as usize) }
    }

    /// The text of a number, if it is one.
    pub fn text(&self, id: Id) -> Option<&str> {
        self.get(id).and_then(Value::as_text)
    }

    /// What the value is.
    pub fn kind(&self, id: Id) -> Kind {
        self.kinds[id as usize]
    }
}

/// A fast hash (multiply and rotate, as in Firefox); the same on every machine.
#[derive(Default)]
pub struct Fast(u64);

impl Fast {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.add(chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
        let word = chunks.remainder().iter().fold(bytes.len() as u64, |word, &byte| word << 8 | u64::from(byte));
        self.add(word);
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits of a product are weak; tables use them.
        self.0 ^ self.0 >> 32
    }
}

/// For keys that are hashes already.
#[derive(Default)]
pub struct Passthrough(u64);

impl Hasher for Passthrough {
    fn write(&mut self, bytes: &[u8]) {
        let mut fast = Fast::default();
        fast.write(bytes);
        self.0 = fast.finish();
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash of a column.
pub fn hash_column(column: &[Id]) -> u64 {
    let mut hasher = Fast::default();
    column.iter().for_each(|&id| hasher.write_u32(id));
    hasher.finish()
}

/// Counts what a search looks at, against what it may.
pub struct Meter {
    limit: u64,
    used: u64,
}

impl Meter {
    /// A meter that runs to `limit` steps.
    pub fn new(limit: u64) -> Meter {
        Meter { limit, used: 0 }
    }

    /// Counts `steps`; false when there are none left.
    pub fn take(&mut self, steps: usize) -> bool {
        self.used = self.used.saturating_add(steps as u64);
        self.used <= self.limit
    }

    /// Whether the limit was reached.
    pub fn spent(&self) -> bool {
        self.used > self.limit
    }

    /// Steps so far, at most the limit.
    pub fn used(&self) -> u64 {
        self.used.min(self.limit)
    }
}
