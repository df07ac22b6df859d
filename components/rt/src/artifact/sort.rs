//! Two sorts: a stable one for lists, whose scratch space is the arena, and a short one for
//! the members of records, which every artifact carries.

use core::cmp::Ordering;

use super::arena::allocate_many;

/// Runs of this length are sorted by insertion.
const RUN: usize = 8;

/// Sorts in place; equal items keep their order.
pub(super) fn sort<T: Copy>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    for run in items.chunks_mut(RUN) {
        insertion(run, &compare);
    }
    let mut width = RUN;
    if items.len() <= width {
        return;
    }
    // SAFETY: room for as many items; every one is written before it is read.
    let scratch = unsafe {
        let place = allocate_many::<T>(items.len());
        core::ptr::copy_nonoverlapping(items.as_ptr(), place, items.len());
        core::slice::from_raw_parts_mut(place, items.len())
    };
    while width < items.len() {
        let pair = width.saturating_mul(2).max(1);
        for (from, to) in items.chunks(pair).zip(scratch.chunks_mut(pair)) {
            merge(from, width, to, &compare);
        }
        items.iter_mut().zip(scratch.iter()).for_each(|(item, sorted)| *item = *sorted);
        width = pair;
    }
}

/// Sorts in place, equal items in any order (Shell, 1959; the gaps of Gonnet and
/// Baeza-Yates, 1991).
pub(super) fn sort_short<T: Copy>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut gap = items.len();
    while gap > 1 {
        // 5/11 of the last one, down to 1; no count of items overflows.
        gap = ((gap as u64 * 5 / 11) as usize).max(1);
        for end in gap..items.len() {
            let mut at = end;
            while let (Some(lower), Some(item)) = (at.checked_sub(gap).and_then(|at| items.get(at)), items.get(at))
                && compare(lower, item).is_gt()
            {
                items.swap(at - gap, at);
                at -= gap;
            }
        }
    }
}

fn insertion<T: Copy>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && compare(&items[at - 1], &items[at]).is_gt() {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Merges `from[..middle]` and `from[middle..]`, each sorted, into `to`.
fn merge<T: Copy>(from: &[T], middle: usize, to: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    let (mut left, mut right) = from.split_at_checked(middle).unwrap_or((from, &[]));
    for place in to {
        *place = match (left, right) {
            ([l, rest @ ..], [r, ..]) if compare(l, r).is_le() => {
                left = rest;
                *l
            }
            (_, [r, rest @ ..]) => {
                right = rest;
                *r
            }
            ([l, rest @ ..], []) => {
                left = rest;
                *l
            }
            ([], []) => return,
        };
    }
}
