//! A value's bytes: self-describing, one form for each value, for memo keys, memo
//! entries and journal records. Lists of bytes are kept as bytes.

use std::borrow::Borrow;

use wasmtime::component::Val;

/// Stops [`decode`] at nesting that no type of a loaded component has.
const MAX_NESTING: usize = 200;

/// Takes bytes, one piece after the other.
pub trait Sink {
    /// Takes some.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Hands over the bytes of some values.
pub fn encode(values: &[Val], out: &mut impl Sink) {
    encode_each(values.iter(), out);
}

/// [`encode`] of values that are made only when it is their turn.
pub fn encode_each(values: impl ExactSizeIterator<Item: Borrow<Val>>, out: &mut impl Sink) {
    length(values.len(), out);
    values.for_each(|value| one(value.borrow(), out));
}

fn one(value: &Val, out: &mut impl Sink) {
    let mut put = |tag: u8, bytes: &[u8]| {
        out.put(&[tag]);
        out.put(bytes);
    };
    match value {
        Val::Bool(value) => put(0, &[u8::from(*value)]),
        Val::S8(value) => put(1, &value.to_le_bytes()),
        Val::U8(value) => put(2, &value.to_le_bytes()),
        Val::S16(value) => put(3, &value.to_le_bytes()),
        Val::U16(value) => put(4, &value.to_le_bytes()),
        Val::S32(value) => put(5, &value.to_le_bytes()),
        Val::U32(value) => put(6, &value.to_le_bytes()),
        Val::S64(value) => put(7, &value.to_le_bytes()),
        Val::U64(value) => put(8, &value.to_le_bytes()),
        Val::Float32(value) => put(9, &value.to_bits().to_le_bytes()),
        Val::Float64(value) => put(10, &value.to_bits().to_le_bytes()),
        Val::Char(value) => put(11, &u32::from(*value).to_le_bytes()),
        Val::String(value) => {
            out.put(&[12]);
            text(value, out);
        }
        Val::List(items) => list(items, out),
        Val::Tuple(items) => {
            out.put(&[15]);
            encode(items, out);
        }
        Val::Record(fields) => {
            out.put(&[16]);
            length(fields.len(), out);
            for (name, value) in fields {
                text(name, out);
                one(value, out);
            }
        }
        Val::Variant(case, payload) => {
            out.put(&[17]);
            text(case, out);
            optional(payload, out);
        }
        Val::Enum(case) => {
            out.put(&[18]);
            text(case, out);
        }
        Val::Option(payload) => {
            out.put(&[19]);
            optional(payload, out);
        }
        Val::Result(Ok(payload)) => {
            out.put(&[20]);
            optional(payload, out);
        }
        Val::Result(Err(payload)) => {
            out.put(&[21]);
            optional(payload, out);
        }
        Val::Flags(names) => {
            out.put(&[22]);
            length(names.len(), out);
            names.iter().for_each(|name| text(name, out));
        }
        // `Ty` has none of these, so no function that is called returns or takes one.
        Val::Map(_)
        | Val::FixedLengthList(_)
        | Val::Resource(_)
        | Val::Future(_)
        | Val::Stream(_)
        | Val::ErrorContext(_) => out.put(&[255]),
    }
}

fn list(items: &[Val], out: &mut impl Sink) {
    let byte = |item: &Val| if let Val::U8(byte) = item { Some(*byte) } else { None };
    match items.iter().map(byte).collect::<Option<Vec<u8>>>() {
        Some(bytes) if !bytes.is_empty() => {
            out.put(&[14]);
            length(bytes.len(), out);
            out.put(&bytes);
        }
        _ => {
            out.put(&[13]);
            encode(items, out);
        }
    }
}

fn optional(payload: &Option<Box<Val>>, out: &mut impl Sink) {
    out.put(&[u8::from(payload.is_some())]);
    if let Some(value) = payload {
        one(value, out);
    }
}

fn text(value: &str, out: &mut impl Sink) {
    length(value.len(), out);
    out.put(value.as_bytes());
}

fn length(value: usize, out: &mut impl Sink) {
    out.put(&(value as u64).to_le_bytes());
}

/// Reads what [`encode`] wrote; `None` for any other bytes.
pub fn decode(bytes: &[u8]) -> Option<Vec<Val>> {
    let mut reader = Reader { rest: bytes, nesting: 0 };
    let values = reader.all()?;
    reader.rest.is_empty().then_some(values)
}

struct Reader<'a> {
    rest: &'a [u8],
    nesting: usize,
}

impl<'a> Reader<'a> {
    fn all(&mut self) -> Option<Vec<Val>> {
        let count = self.length()?;
        (0..count).map(|_| self.one()).collect()
    }

    fn one(&mut self) -> Option<Val> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let value = self.tagged();
        self.nesting -= 1;
        value
    }

    fn tagged(&mut self) -> Option<Val> {
        Some(match self.bytes(1)?[0] {
            0 => Val::Bool(match self.array()? {
                [0] => false,
                [1] => true,
                _ => return None,
            }),
            1 => Val::S8(i8::from_le_bytes(self.array()?)),
            2 => Val::U8(u8::from_le_bytes(self.array()?)),
            3 => Val::S16(i16::from_le_bytes(self.array()?)),
            4 => Val::U16(u16::from_le_bytes(self.array()?)),
            5 => Val::S32(i32::from_le_bytes(self.array()?)),
            6 => Val::U32(u32::from_le_bytes(self.array()?)),
            7 => Val::S64(i64::from_le_bytes(self.array()?)),
            8 => Val::U64(u64::from_le_bytes(self.array()?)),
            9 => Val::Float32(f32::from_bits(u32::from_le_bytes(self.array()?))),
            10 => Val::Float64(f64::from_bits(u64::from_le_bytes(self.array()?))),
            11 => Val::Char(char::from_u32(u32::from_le_bytes(self.array()?))?),
            12 => Val::String(self.text()?),
            13 => {
                let items = self.all()?;
                let bytes = !items.is_empty() && items.iter().all(|item| matches!(item, Val::U8(_)));
                (!bytes).then_some(Val::List(items))?
            }
            14 => {
                let count = self.length().filter(|&count| count > 0)?;
                Val::List(self.bytes(count)?.iter().map(|byte| Val::U8(*byte)).collect())
            }
            15 => Val::Tuple(self.all()?),
            16 => {
                let count = self.length()?;
                Val::Record((0..count).map(|_| Some((self.text()?, self.one()?))).collect::<Option<_>>()?)
            }
            17 => Val::Variant(self.text()?, self.optional()?),
            18 => Val::Enum(self.text()?),
            19 => Val::Option(self.optional()?),
            20 => Val::Result(Ok(self.optional()?)),
            21 => Val::Result(Err(self.optional()?)),
            22 => {
                let count = self.length()?;
                Val::Flags((0..count).map(|_| self.text()).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn optional(&mut self) -> Option<Option<Box<Val>>> {
        match self.array()? {
            [0] => Some(None),
            [1] => Some(Some(Box::new(self.one()?))),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<String> {
        let count = self.length()?;
        String::from_utf8(self.bytes(count)?.to_vec()).ok()
    }

    /// A count of things that take at least a byte each, so that no count makes the
    /// reader allocate more than it was given.
    fn length(&mut self) -> Option<usize> {
        let count = usize::try_from(u64::from_le_bytes(self.array()?)).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }
}
