//! Constants as they lie in memory: nodes ready for use, and bytes.
//!
//! The layout of nodes is `auto-rt`'s (`artifact/node.rs`); that the two agree is what
//! the tests of literals show.

use std::collections::BTreeMap;

use auto_json::Value;

/// Kinds of nodes.
pub(crate) const NULL: u32 = 1;
pub(crate) const BOOL: u32 = 2;
pub(crate) const NUMBER: u32 = 3;
pub(crate) const TEXT: u32 = 4;
pub(crate) const LIST: u32 = 5;
pub(crate) const RECORD: u32 = 6;

/// Bytes of a node.
pub(crate) const NODE: u32 = 16;
/// Bytes of a member of a record.
pub(crate) const MEMBER: u32 = 24;
/// Where the node of a member lies in it.
pub(crate) const MEMBER_VALUE: u32 = 8;
/// Where a node has its kind.
pub(crate) const KIND: u32 = 0;
/// Where a node has the address of its contents.
pub(crate) const POINTER: u32 = 8;
/// Where a node has the number of its bytes, items or members.
pub(crate) const LENGTH: u32 = 12;

/// Forms of numbers.
const LEXEME: u32 = 0;
const SMALL: u32 = 1;

/// Where a constant lies: in one of two areas, whose addresses the linker chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Node(u32),
    Bytes(u32),
}

/// The constants of a module, each once.
#[derive(Default)]
pub(crate) struct Constants {
    nodes: Vec<u8>,
    bytes: Vec<u8>,
    /// Addresses to fill in, by their offset among the nodes.
    addresses: Vec<(u32, Place)>,
    known_values: BTreeMap<Value, u32>,
    known_bytes: BTreeMap<Vec<u8>, u32>,
}

impl Constants {
    /// Bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Place {
        let next = self.bytes.len() as u32;
        let offset = *self.known_bytes.entry(bytes.to_vec()).or_insert(next);
        if offset == next {
            self.bytes.extend_from_slice(bytes);
        }
        Place::Bytes(offset)
    }

    /// The node of a value.
    pub(crate) fn value(&mut self, value: &Value) -> Place {
        if let Some(&known) = self.known_values.get(value) {
            return Place::Node(known);
        }
        let at = self.reserve(NODE);
        self.write(at, value);
        self.known_values.insert(value.clone(), at);
        Place::Node(at)
    }

    fn reserve(&mut self, bytes: u32) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.resize((at + bytes) as usize, 0);
        at
    }

    fn put(&mut self, at: u32, word: u32) {
        self.nodes[at as usize..at as usize + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn contents(&mut self, at: u32, kind: u32, place: Place, count: usize) {
        self.put(at + KIND, kind);
        self.addresses.push((at + POINTER, place));
        self.put(at + LENGTH, count as u32);
    }

    /// Writes a value's node at an offset reserved for it.
    fn write(&mut self, at: u32, value: &Value) {
        match value {
            Value::Null => self.put(at + KIND, NULL),
            Value::Bool(value) => {
                self.put(at + KIND, BOOL);
                self.put(at + 4, u32::from(*value));
            }
            Value::Number(number) => match number.as_i64() {
                Some(small) => {
                    self.put(at + KIND, NUMBER);
                    self.put(at + 4, SMALL);
                    self.put(at + POINTER, small as u32);
                    self.put(at + LENGTH, (small >> 32) as u32);
                }
                None => {
                    let text = number.text();
                    let place = self.bytes(text.as_bytes());
                    self.contents(at, NUMBER, place, text.len());
                    self.put(at + 4, LEXEME);
                }
            },
            Value::Text(text) => {
                let place = self.bytes(text.as_bytes());
                self.contents(at, TEXT, place, text.len());
            }
            Value::List(items) => {
                let first = self.reserve(NODE * items.len() as u32);
                self.contents(at, LIST, Place::Node(first), items.len());
                for (index, item) in (0..).zip(items) {
                    self.write(first + NODE * index, item);
                }
            }
            Value::Record(record) => {
                let first = self.reserve(MEMBER * record.len() as u32);
                self.contents(at, RECORD, Place::Node(first), record.len());
                for (index, (key, item)) in (0..).zip(record.iter()) {
                    let member = first + MEMBER * index;
                    let place = self.bytes(key.as_bytes());
                    self.addresses.push((member, place));
                    self.put(member + 4, key.len() as u32);
                    self.write(member + MEMBER_VALUE, item);
                }
            }
        }
    }

    pub(crate) fn nodes_length(&self) -> u32 {
        self.nodes.len() as u32
    }

    pub(crate) fn bytes_length(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Nodes, then bytes, with addresses filled in.
    pub(crate) fn image(&self, address: impl Fn(Place) -> u32) -> Vec<u8> {
        let mut image = self.nodes.clone();
        for (at, place) in &self.addresses {
            image[*at as usize..*at as usize + 4].copy_from_slice(&address(*place).to_le_bytes());
        }
        image.extend_from_slice(&self.bytes);
        image
    }
}
