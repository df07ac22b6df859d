//! Where everything lies in memory, and the data section that puts it there.

use std::collections::BTreeSet;

use super::object::{Object, Symbol};
use crate::constants::{Constants, Place};

/// The stack lies at the bottom, so that running over it traps. The deepest recursion is
/// the writer's over a value that nests as deep as input and program allow.
pub(super) const STACK: u32 = 32 << 10;

/// What a call may use without growing memory.
const ROOM: u32 = 32 << 10;

const PAGE: u32 = 64 << 10;

/// Zeros in a row that are cheaper to leave out than to write.
const GAP: usize = 8;

/// Addresses of all that has one.
pub(super) struct Layout {
    segments: Vec<Placed>,
    /// Node constants first, bytes behind them.
    nodes: u32,
    bytes: u32,
    end: u32,
}

/// A segment of the runtime.
pub(super) struct Placed {
    pub(super) segment: u32,
    pub(super) address: u32,
}

impl Layout {
    pub(super) fn new(object: &Object<'_>, reached: &BTreeSet<u32>, constants: &Constants) -> Layout {
        let mut end = STACK;
        let mut segments = Vec::new();
        for &segment in reached {
            let Some(data) = object.segments.get(segment as usize) else { continue };
            let address = end.next_multiple_of(data.align);
            segments.push(Placed { segment, address });
            end = address + data.bytes.len() as u32;
        }
        let nodes = end.next_multiple_of(8);
        let bytes = nodes + constants.nodes_length();
        Layout { segments, nodes, bytes, end: bytes + constants.bytes_length() }
    }

    pub(super) fn segments(&self) -> &[Placed] {
        &self.segments
    }

    /// The address a symbol stands for.
    pub(super) fn address(&self, symbol: &Symbol<'_>) -> Option<u32> {
        match symbol {
            Symbol::Data { segment, offset } => {
                let at = self.segments.binary_search_by_key(segment, |placed| placed.segment).ok()?;
                Some(self.segments[at].address + offset)
            }
            Symbol::Absolute("__heap_base") => Some(self.heap()),
            _ => None,
        }
    }

    /// The address of a constant.
    pub(super) fn constant(&self, place: Place) -> u32 {
        match place {
            Place::Node(offset) => self.nodes + offset,
            Place::Bytes(offset) => self.bytes + offset,
        }
    }

    pub(super) fn constants_start(&self) -> u32 {
        self.nodes
    }

    /// The constants as they lie in memory.
    pub(super) fn constants(&self, constants: &Constants) -> Vec<u8> {
        constants.image(|place| self.constant(place))
    }

    fn heap(&self) -> u32 {
        self.end.next_multiple_of(16)
    }

    /// The pages a module starts with.
    pub(super) fn pages(&self) -> u32 {
        (self.heap() + ROOM).div_ceil(PAGE)
    }
}

/// The pieces of an image that are not zero, which memory is to begin with.
pub(super) fn split(image: Vec<(u32, Vec<u8>)>) -> Vec<(u32, Vec<u8>)> {
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    for (address, bytes) in image {
        for (offset, &byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            let at = address + offset as u32;
            match pieces.last_mut() {
                Some((start, piece)) if (at as usize) < *start as usize + piece.len() + GAP => {
                    piece.resize((at - *start) as usize, 0);
                    piece.push(byte);
                }
                _ => pieces.push((at, vec![byte])),
            }
        }
    }
    pieces
}
