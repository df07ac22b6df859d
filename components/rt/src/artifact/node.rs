//! Values: sixteen bytes each, their contents elsewhere in memory and shared.
//!
//! `emit` writes the same layout into data segments, so constants need no work at run
//! time; the layout is stated once more, and checked, in its `nodes` module.

use auto_json::{Number, NumberKind};

use super::arena;

/// The address of a node, null for the undefined value.
pub(super) type Handle = *const Node;

/// The undefined value.
pub(super) const UNDEFINED: Handle = core::ptr::null();

pub(super) const NULL: u32 = 1;
pub(super) const BOOL: u32 = 2;
pub(super) const NUMBER: u32 = 3;
pub(super) const TEXT: u32 = 4;
pub(super) const LIST: u32 = 5;
pub(super) const RECORD: u32 = 6;
/// A moment on its way from one operator on dates to the next: `pointer` to it. Generated code hands
/// it to nothing else.
pub(super) const MOMENT: u32 = 7;

/// A number as it was written: `pointer` and `length` of the lexeme.
pub(super) const LEXEME: u32 = 0;
/// An integer that fits 64 bits, in the place of `pointer` and `length`.
pub(super) const SMALL: u32 = 1;
/// Any number: `pointer` to a [`Number`].
pub(super) const EXACT: u32 = 2;

/// A value.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Node {
    /// `NULL` … `RECORD`.
    pub(super) kind: u32,
    /// Of a boolean, 0 or 1; of a number, `LEXEME`, `SMALL` or `EXACT`; else 0.
    pub(super) form: u32,
    /// The bytes of a text, the [`Node`]s of a list, the [`Member`]s of a record.
    pub(super) pointer: u32,
    /// How many.
    pub(super) length: u32,
}

/// A member of a record; records hold theirs in canonical key order.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Member {
    pub(super) key: u32,
    pub(super) key_length: u32,
    pub(super) value: Node,
}

impl Member {
    pub(super) fn key(&self) -> &'static [u8] {
        bytes(self.key, self.key_length)
    }
}

static FALSE: Node = Node { kind: BOOL, form: 0, pointer: 0, length: 0 };
static TRUE: Node = Node { kind: BOOL, form: 1, pointer: 0, length: 0 };

fn bytes(pointer: u32, length: u32) -> &'static [u8] {
    // SAFETY: nodes and members hold addresses of bytes that live as long as the call.
    unsafe { core::slice::from_raw_parts(pointer as *const u8, length as usize) }
}

impl Node {
    pub(super) const fn null() -> Node {
        Node { kind: NULL, form: 0, pointer: 0, length: 0 }
    }

    pub(super) const fn boolean(value: bool) -> Node {
        Node { kind: BOOL, form: value as u32, pointer: 0, length: 0 }
    }

    pub(super) fn of_text(text: &[u8]) -> Node {
        Node { kind: TEXT, form: 0, pointer: text.as_ptr() as u32, length: text.len() as u32 }
    }

    pub(super) fn lexeme(lexeme: &[u8]) -> Node {
        Node { kind: NUMBER, form: LEXEME, pointer: lexeme.as_ptr() as u32, length: lexeme.len() as u32 }
    }

    pub(super) fn small(value: i64) -> Node {
        Node { kind: NUMBER, form: SMALL, pointer: value as u32, length: (value >> 32) as u32 }
    }

    pub(super) fn of_list(items: &[Node]) -> Node {
        Node { kind: LIST, form: 0, pointer: items.as_ptr() as u32, length: items.len() as u32 }
    }

    pub(super) fn of_record(members: &[Member]) -> Node {
        Node { kind: RECORD, form: 0, pointer: members.as_ptr() as u32, length: members.len() as u32 }
    }

    /// A number in its cheapest form.
    pub(super) fn of_number(number: Number) -> Node {
        if let Some(value) = number.as_i64() {
            return Node::small(value);
        }
        let place = arena::allocate_many::<Number>(1);
        // SAFETY: just allocated for it.
        unsafe { place.write(number) };
        Node { kind: NUMBER, form: EXACT, pointer: place as u32, length: 0 }
    }

    pub(super) fn as_text(&self) -> Option<&'static str> {
        // SAFETY: a text node is only made of UTF-8.
        (self.kind == TEXT).then(|| unsafe { core::str::from_utf8_unchecked(bytes(self.pointer, self.length)) })
    }

    pub(super) fn as_items(&self) -> Option<&'static [Node]> {
        // SAFETY: a list node holds the address of so many nodes.
        (self.kind == LIST)
            .then(|| unsafe { core::slice::from_raw_parts(self.pointer as *const Node, self.length as usize) })
    }

    pub(super) fn as_members(&self) -> Option<&'static [Member]> {
        // SAFETY: a record node holds the address of so many members.
        (self.kind == RECORD)
            .then(|| unsafe { core::slice::from_raw_parts(self.pointer as *const Member, self.length as usize) })
    }

    /// The bytes of a number's lexeme, where it still is one.
    pub(super) fn as_lexeme(&self) -> Option<&'static [u8]> {
        (self.kind == NUMBER && self.form == LEXEME).then(|| bytes(self.pointer, self.length))
    }

    pub(super) fn as_small(&self) -> Option<i64> {
        (self.kind == NUMBER && self.form == SMALL)
            .then_some(i64::from(self.length as i32) << 32 | i64::from(self.pointer))
    }

    /// The number at the address of an exact node.
    fn as_exact(&self) -> Option<&'static Number> {
        // SAFETY: an exact node holds the address of a number.
        (self.kind == NUMBER && self.form == EXACT).then(|| unsafe { &*(self.pointer as *const Number) })
    }

    pub(super) fn as_number(&self) -> Option<Number> {
        if let Some(lexeme) = self.as_lexeme() {
            return Number::from_lexeme(lexeme).ok();
        }
        match self.as_small() {
            Some(value) => Number::integer(i128::from(value)),
            None => self.as_exact().copied(),
        }
    }

    /// The value of an integer that fits.
    pub(super) fn as_integer(&self) -> Option<i64> {
        match self.as_lexeme() {
            Some(lexeme) => lexeme_integer(lexeme),
            // An exact one does not fit, or it would not be exact.
            None => self.as_small(),
        }
    }

    /// Whether it is a number written as an integer.
    pub(super) fn is_integer(&self) -> bool {
        match self.as_lexeme() {
            Some(lexeme) => is_integer(lexeme),
            None => {
                self.as_small().is_some() || self.as_exact().is_some_and(|exact| exact.kind() == NumberKind::Integer)
            }
        }
    }
}

fn is_integer(lexeme: &[u8]) -> bool {
    lexeme.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
}

/// An integer that fits 64 bits.
pub(super) fn lexeme_integer(lexeme: &[u8]) -> Option<i64> {
    let (negative, digits) = match lexeme {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() < 19 {
        let mut value: i64 = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + i64::from(digit);
        }
        return Some(if negative { -value } else { value });
    }
    let mut value: i64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || digits.len() > 19 {
            return None;
        }
        let digit = i64::from(digit);
        // Below zero, where there is one more.
        value = value.wrapping_mul(10).wrapping_sub(digit);
        if value > 0 {
            return None;
        }
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// The node at an address, `None` for null.
pub(super) fn get(handle: Handle) -> Option<&'static Node> {
    // SAFETY: a handle is null or the address of a node that lives as long as the call.
    unsafe { handle.as_ref() }
}

/// Puts a node into the arena.
pub(super) fn put(node: Node) -> Handle {
    let place = arena::allocate_many::<Node>(1);
    // SAFETY: just allocated for it.
    unsafe { place.write(node) };
    place
}

/// A boolean's handle; these two are never allocated.
pub(super) fn truth(value: bool) -> Handle {
    if value { &raw const TRUE } else { &raw const FALSE }
}

pub(super) fn text(handle: Handle) -> Option<&'static str> {
    get(handle)?.as_text()
}

pub(super) fn items(handle: Handle) -> Option<&'static [Node]> {
    get(handle)?.as_items()
}

pub(super) fn number(handle: Handle) -> Option<Number> {
    get(handle)?.as_number()
}

pub(super) fn integer(handle: Handle) -> Option<i64> {
    get(handle)?.as_integer()
}

/// The handle of what is there, [`UNDEFINED`] where nothing is.
pub(super) fn maybe(node: Option<Node>) -> Handle {
    node.map_or(UNDEFINED, put)
}

/// The handle of a part of a text, or of nothing.
pub(super) fn maybe_text(text: Option<&str>) -> Handle {
    maybe(text.map(|text| Node::of_text(text.as_bytes())))
}
