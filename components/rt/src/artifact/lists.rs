//! The operators over lists, records and any value.

use core::cmp::Ordering;

use auto_json::Number;

use super::arena::{Array, allocate_many};
use super::node::{
    BOOL, Handle, LIST, Member, NULL, NUMBER, Node, RECORD, TEXT, UNDEFINED, get, integer, items, maybe, put, truth,
};
use super::{arena, sort};
use crate::kernels::text;

/// The member of a record. `hint` is where it most likely is.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_field(record: Handle, key: *const u8, key_length: usize, hint: usize) -> Handle {
    let Some(members) = get(record).and_then(Node::as_members) else { return UNDEFINED };
    // SAFETY: generated code passes a constant of its own.
    let key = unsafe { core::slice::from_raw_parts(key, key_length) };
    if let Some(member) = members.get(hint)
        && member.key() == key
    {
        return &member.value;
    }
    members.iter().find(|member| member.key() == key).map_or(UNDEFINED, |member| &member.value)
}

/// Room for items or members that generated code writes.
#[unsafe(no_mangle)]
extern "C" fn rt_allocate(bytes: usize) -> *mut u8 {
    arena::allocate(bytes, 8)
}

/// The list of items that generated code wrote.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_list(items: *const Node, count: usize) -> Handle {
    // SAFETY: generated code wrote so many items there.
    put(Node::of_list(unsafe { core::slice::from_raw_parts(items, count) }))
}

/// The record of members that generated code wrote, in canonical order.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_record(members: *const Member, count: usize) -> Handle {
    // SAFETY: generated code wrote so many members there.
    put(Node::of_record(unsafe { core::slice::from_raw_parts(members, count) }))
}

/// 1 for false, 2 for true, 0 for anything else.
#[unsafe(no_mangle)]
extern "C" fn rt_truth(a: Handle) -> u32 {
    match get(a) {
        Some(node) if node.kind == BOOL => node.form + 1,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_not(a: Handle) -> Handle {
    match get(a) {
        Some(node) if node.kind == BOOL => truth(node.form == 0),
        _ => UNDEFINED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_kind_is(a: Handle, kind: u32) -> Handle {
    get(a).map_or(UNDEFINED, |node| truth(node.kind == kind))
}

/// An item, by a position that may count from the end.
#[unsafe(no_mangle)]
extern "C" fn rt_nth(list: Handle, index: Handle) -> Handle {
    let item = (|| {
        let (items, index) = (items(list)?, integer(index)?);
        let index = if index < 0 { index.checked_add(items.len() as i64)? } else { index };
        items.get(usize::try_from(index).ok()?)
    })();
    item.map_or(UNDEFINED, |item| item)
}

#[unsafe(no_mangle)]
extern "C" fn rt_first(list: Handle) -> Handle {
    items(list).and_then(|items| items.first()).map_or(UNDEFINED, |item| item)
}

#[unsafe(no_mangle)]
extern "C" fn rt_last(list: Handle) -> Handle {
    items(list).and_then(|items| items.last()).map_or(UNDEFINED, |item| item)
}

/// A count, which is not negative, cut to how many there are.
fn cut(items: &[Node], count: Handle) -> Option<usize> {
    let count = u64::try_from(integer(count)?).ok()?;
    Some(count.min(items.len() as u64) as usize)
}

#[unsafe(no_mangle)]
extern "C" fn rt_take(list: Handle, count: Handle) -> Handle {
    maybe((|| {
        let items = items(list)?;
        items.get(..cut(items, count)?).map(Node::of_list)
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_drop(list: Handle, count: Handle) -> Handle {
    maybe((|| {
        let items = items(list)?;
        items.get(cut(items, count)?..).map(Node::of_list)
    })())
}

fn slice(list: Handle, from: Handle, to: Option<i64>) -> Option<Node> {
    let items = items(list)?;
    let (from, to) = text::range(items.len() as i64, integer(from)?, to)?;
    items.get(from..to).map(Node::of_list)
}

#[unsafe(no_mangle)]
extern "C" fn rt_slice(list: Handle, from: Handle) -> Handle {
    maybe(slice(list, from, None))
}

#[unsafe(no_mangle)]
extern "C" fn rt_slice_to(list: Handle, from: Handle, to: Handle) -> Handle {
    maybe(integer(to).and_then(|to| slice(list, from, Some(to))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_reverse(list: Handle) -> Handle {
    maybe(items(list).map(|items| {
        let mut reversed = Array::new();
        items.iter().rev().for_each(|&item| reversed.push(item));
        Node::of_list(reversed.finish())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_count(list: Handle) -> Handle {
    maybe(items(list).map(|items| Node::small(items.len() as i64)))
}

/// Whether the canonical texts of two values are equal.
fn equal(a: &Node, b: &Node) -> bool {
    if a.kind != b.kind {
        return false;
    }
    match a.kind {
        NULL => true,
        BOOL => a.form == b.form,
        NUMBER => a.as_number() == b.as_number(),
        TEXT => a.as_text() == b.as_text(),
        LIST => {
            let (a, b) = (a.as_items().unwrap_or_default(), b.as_items().unwrap_or_default());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        RECORD => {
            let (a, b) = (a.as_members().unwrap_or_default(), b.as_members().unwrap_or_default());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key() == b.key() && equal(&a.value, &b.value))
        }
        _ => false,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_eq(a: Handle, b: Handle) -> Handle {
    match (get(a), get(b)) {
        (Some(a), Some(b)) => truth(equal(a, b)),
        _ => UNDEFINED,
    }
}

/// [`rt_eq`] where one side is a text, which is what most comparisons are.
#[unsafe(no_mangle)]
extern "C" fn rt_eq_text(a: Handle, b: Handle) -> Handle {
    match (get(a), get(b)) {
        (Some(a), Some(b)) => truth(a.kind == b.kind && a.as_text() == b.as_text()),
        _ => UNDEFINED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_includes(list: Handle, value: Handle) -> Handle {
    match (items(list), get(value)) {
        (Some(items), Some(value)) => truth(items.iter().any(|item| equal(item, value))),
        _ => UNDEFINED,
    }
}

/// Texts by their bytes, numbers by value and then kind; anything else is undefined.
#[unsafe(no_mangle)]
extern "C" fn rt_sort(list: Handle) -> Handle {
    maybe((|| {
        let items = items(list)?;
        if items.iter().all(|item| item.kind == TEXT) {
            Some(Node::of_list(sorted(items, |a, b| a.as_text().cmp(&b.as_text()))))
        } else if items.iter().all(|item| item.kind == NUMBER) {
            Some(Node::of_list(sorted_numbers(items)?))
        } else {
            None
        }
    })())
}

fn copied<T: Copy>(items: impl ExactSizeIterator<Item = T>) -> &'static mut [T] {
    let mut copy = Array::new();
    items.for_each(|item| copy.push(item));
    copy.finish()
}

fn sorted(items: &[Node], compare: impl Fn(&Node, &Node) -> Ordering) -> &'static [Node] {
    let copy = copied(items.iter().copied());
    sort::sort(copy, compare);
    copy
}

/// Reads every number once, then sorts.
fn sorted_numbers(items: &[Node]) -> Option<&'static [Node]> {
    let keyed = allocate_many::<(Number, Node)>(items.len());
    for (index, item) in items.iter().enumerate() {
        // SAFETY: within the allocation.
        unsafe { keyed.add(index).write((item.as_number()?, *item)) };
    }
    // SAFETY: every item was written.
    let keyed = unsafe { core::slice::from_raw_parts_mut(keyed, items.len()) };
    sort::sort(keyed, |(a, _), (b, _)| a.cmp(b));
    Some(copied(keyed.iter().map(|&(_, node)| node)))
}

#[unsafe(no_mangle)]
extern "C" fn rt_flatten(lists: Handle) -> Handle {
    maybe((|| {
        let mut all = Array::new();
        for list in items(lists)? {
            list.as_items()?.iter().for_each(|item| all.push(*item));
        }
        Some(Node::of_list(all.finish()))
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_transpose(rows: Handle) -> Handle {
    maybe((|| {
        let rows = items(rows)?;
        let width = rows.first().map_or(Some(0), |row| row.as_items().map(<[Node]>::len))?;
        if !rows.iter().all(|row| row.as_items().is_some_and(|row| row.len() == width)) {
            return None;
        }
        let columns = allocate_many::<Node>(width);
        for at in 0..width {
            let mut column = Array::new();
            rows.iter().filter_map(|row| row.as_items()?.get(at)).for_each(|cell| column.push(*cell));
            // SAFETY: within the allocation.
            unsafe { columns.add(at).write(Node::of_list(column.finish())) };
        }
        // SAFETY: all were written.
        Some(Node::of_list(unsafe { core::slice::from_raw_parts(columns, width) }))
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_index_of(list: Handle, value: Handle) -> Handle {
    maybe((|| {
        let value = get(value)?;
        let at = items(list)?.iter().position(|item| equal(item, value))?;
        Some(Node::small(at as i64))
    })())
}

/// Items in rising order of as many keys.
#[unsafe(no_mangle)]
extern "C" fn rt_sort_by(list: Handle, keys: Handle) -> Handle {
    maybe((|| {
        let (items, keys) = (items(list)?, items(keys)?);
        if keys.iter().all(|key| key.kind == TEXT) {
            let keyed = copied(keys.iter().copied().zip(items.iter().copied()));
            sort::sort(keyed, |(a, _), (b, _)| a.as_text().cmp(&b.as_text()));
            return Some(Node::of_list(copied(keyed.iter().map(|&(_, item)| item))));
        }
        let mut keyed = Array::new();
        for (key, item) in keys.iter().zip(items) {
            keyed.push((key.as_number()?, *item));
        }
        let keyed = keyed.finish();
        sort::sort(keyed, |(a, _), (b, _)| a.cmp(b));
        Some(Node::of_list(copied(keyed.iter().map(|&(_, item)| item))))
    })())
}

/// A record for each distinct one of as many keys.
#[unsafe(no_mangle)]
extern "C" fn rt_group_by(list: Handle, keys: Handle) -> Handle {
    maybe((|| {
        let (items, keys) = (items(list)?, items(keys)?);
        let distinct = allocate_many::<Node>(keys.len());
        let table = if keys.len() > FEW { zeroed((keys.len() * 2).next_power_of_two()) } else { &mut [] };
        let group_of = zeroed(keys.len());
        let mut count = 0;
        for (key, group) in keys.iter().zip(group_of.iter_mut()) {
            // SAFETY: `count` keys are written there.
            let so_far = unsafe { core::slice::from_raw_parts(distinct, count) };
            *group = match place(key, so_far, table) {
                Some(known) => known,
                None => {
                    // SAFETY: no more distinct keys than keys.
                    unsafe { distinct.add(count).write(*key) };
                    count += 1;
                    count as u32 - 1
                }
            };
        }
        // Where each group ends among all items, once they are laid out one group after another.
        let ends = zeroed(count + 1);
        group_of.iter().for_each(|group| {
            if let Some(end) = ends.get_mut(*group as usize + 1) {
                *end += 1;
            }
        });
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += *end;
            *end = sum;
        }
        let laid = allocate_many::<Node>(items.len());
        let next = copied(ends.iter().copied());
        for (item, group) in items.iter().zip(group_of.iter()) {
            let at = next.get_mut(*group as usize)?;
            // SAFETY: groups have as much room as they have items, in all as many as there are.
            unsafe { laid.add(*at as usize).write(*item) };
            *at += 1;
        }
        // SAFETY: all were written.
        let laid = unsafe { core::slice::from_raw_parts(laid, items.len()) };
        let groups = allocate_many::<Node>(count);
        for at in 0..count {
            let items = laid.get(*ends.get(at)? as usize..*ends.get(at + 1)? as usize)?;
            // SAFETY: within both allocations; the key was written.
            unsafe { groups.add(at).write(super::records::group(*distinct.add(at), items)) };
        }
        // SAFETY: all were written.
        Some(Node::of_list(unsafe { core::slice::from_raw_parts(groups, count) }))
    })())
}

/// Up to so many items are compared pair by pair.
const FEW: usize = 16;

/// Each distinct item where it first occurs.
#[unsafe(no_mangle)]
extern "C" fn rt_dedup(list: Handle) -> Handle {
    maybe(items(list).map(|items| {
        let distinct = allocate_many::<Node>(items.len());
        // Twice as many places as items, so that a free one is always near.
        let places = (items.len() * 2).next_power_of_two();
        let table = if items.len() > FEW { zeroed(places) } else { &mut [] };
        let mut count = 0;
        for item in items {
            // SAFETY: `count` items are written there.
            let so_far = unsafe { core::slice::from_raw_parts(distinct, count) };
            if place(item, so_far, table).is_none() {
                // SAFETY: no more distinct items than items.
                unsafe { distinct.add(count).write(*item) };
                count += 1;
            }
        }
        // SAFETY: as above.
        Node::of_list(unsafe { core::slice::from_raw_parts(distinct, count) })
    }))
}

fn zeroed(count: usize) -> &'static mut [u32] {
    let place = allocate_many::<u32>(count);
    // SAFETY: just allocated; zero is a `u32`.
    unsafe {
        place.write_bytes(0, count);
        core::slice::from_raw_parts_mut(place, count)
    }
}

/// Where an equal item is among those so far; if nowhere, the table, of positions from 1,
/// learns that it comes next.
fn place(item: &Node, so_far: &[Node], table: &mut [u32]) -> Option<u32> {
    let Some(mask) = table.len().checked_sub(1) else {
        return so_far.iter().position(|other| equal(other, item)).map(|at| at as u32);
    };
    let mut at = hash(item) as usize & mask;
    while let Some(place) = table.get_mut(at) {
        let Some(other) = place.checked_sub(1) else {
            *place = so_far.len() as u32 + 1;
            return None;
        };
        if so_far.get(other as usize).is_some_and(|other| equal(other, item)) {
            return Some(other);
        }
        at = (at + 1) & mask;
    }
    None
}

/// Equal values have equal hashes.
fn hash(node: &Node) -> u64 {
    match node.kind {
        NUMBER => match node.as_integer() {
            Some(value) => mix(u64::from(NUMBER), value as u64),
            None => {
                let mut all = u64::from(NUMBER);
                if let Some(number) = node.as_number() {
                    number.write(&mut |byte| all = mix(all, u64::from(byte)));
                }
                all
            }
        },
        TEXT => hash_bytes(node.as_text().unwrap_or_default().as_bytes()),
        LIST => node.as_items().unwrap_or_default().iter().fold(1, |all, item| mix(all, hash(item))),
        RECORD => node
            .as_members()
            .unwrap_or_default()
            .iter()
            .fold(2, |all, member| mix(mix(all, hash_bytes(member.key())), hash(&member.value))),
        kind => mix(u64::from(kind), u64::from(node.form)),
    }
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let all = words.iter().fold(bytes.len() as u64, |all, word| mix(all, u64::from_le_bytes(*word)));
    rest.iter().fold(all, |all, byte| mix(all, u64::from(*byte)))
}

/// Multiply and fold, with the odd constant of Knuth's multiplicative hashing.
fn mix(all: u64, more: u64) -> u64 {
    let product = (all ^ more).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}
