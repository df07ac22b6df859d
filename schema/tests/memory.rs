//! Reading takes memory in proportion to the bytes read, whatever they are. One test in a
//! program of its own, because it counts every allocation.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use auto_schema::ir::{Body, Graph};
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;
use common::{connect, node};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator; the counters change nothing about it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that reading takes beyond what was in use before.
fn peak(read: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    read();
    MOST.load(Relaxed) - before
}

/// What reading `length` bytes may take: a multiple, and the longest list of violations.
fn allowed(length: usize) -> usize {
    64 * length + (auto_schema::MAX_VIOLATIONS + 100) * 1024
}

fn check(bytes: &[u8]) {
    let taken = peak(|| drop((Graph::from_bytes(bytes), Manifest::from_bytes(bytes))));
    assert!(taken <= allowed(bytes.len()), "{} bytes took {taken}", bytes.len());
}

#[test]
fn reading_takes_memory_in_proportion() {
    let mut runner = TestRunner::deterministic();
    let damage = common::damage();
    for _ in 0..300 {
        let graph = common::graph().new_tree(&mut runner).unwrap().current().to_bytes().unwrap();
        let manifest = common::manifest().new_tree(&mut runner).unwrap().current().to_bytes().unwrap();
        for bytes in [graph, manifest] {
            check(&bytes);
            for _ in 0..20 {
                check(&common::damaged(&bytes, &damage.new_tree(&mut runner).unwrap().current()));
            }
        }
    }
    let unfolding = unfolding();
    assert_eq!(Graph::from_bytes(&unfolding).unwrap_err()[0].code, "malformed");
    check(&unfolding);
}

/// A chain of nodes, one of them large, with a list of nodes whose every entry has been
/// pointed at the large one: a gigabyte, were it read as it stands.
fn unfolding() -> Vec<u8> {
    const LENGTH: u32 = 20_000;
    let mut graph = Graph { name: "chain".to_owned(), ..Graph::default() };
    graph.nodes.push(node(0, Body::Input, &[], Some(Type::Int)));
    for id in 1..=LENGTH {
        let sources = [(id - 1, Type::Int)];
        let source = if id == LENGTH { "x".repeat(50_000) } else { "$".to_owned() };
        graph.nodes.push(node(id, Body::Expression { source }, &sources, Some(Type::Int)));
        connect(&mut graph, &sources, id);
    }
    graph.nodes.push(node(LENGTH + 1, Body::Output, &[(LENGTH, Type::Int)], None));
    connect(&mut graph, &[(LENGTH, Type::Int)], LENGTH + 1);
    let mut bytes = graph.to_bytes().unwrap();

    // FlatBuffers by hand: the root table, its field 2, the vector it points at.
    let offset = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let root = offset(&bytes, 0);
    let vtable = root - offset(&bytes, root);
    let field = root + usize::from(u16::from_le_bytes([bytes[vtable + 8], bytes[vtable + 9]]));
    let vector = field + offset(&bytes, field);
    assert_eq!(offset(&bytes, vector), graph.nodes.len());
    let entry = |index: usize| vector + 4 + 4 * index;
    let large = entry(LENGTH as usize) + offset(&bytes, entry(LENGTH as usize));
    for index in 0..graph.nodes.len() {
        let to = (large - entry(index)) as u32;
        bytes[entry(index)..entry(index) + 4].copy_from_slice(&to.to_le_bytes());
    }
    bytes
}
