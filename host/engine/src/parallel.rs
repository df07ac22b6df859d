//! Work on all cores of this machine, results in the order of the work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Stack that a thread needs beside that of the WebAssembly it runs.
const OWN_STACK: usize = 1536 << 10;

/// The stack of WebAssembly that the calling thread has room for.
const SMALL_STACK: usize = 512 << 10;

/// Applies `work` to every item, on threads with so much stack for WebAssembly. Where no
/// thread can be started, this one does it all; if its own stack is too small for that, the
/// results are fewer than the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], stack: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let small = stack <= SMALL_STACK;
    if small && cores < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let take = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            let result = work(item);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
        }
    };
    thread::scope(|scope| {
        // This thread is one of them, where it may be.
        for _ in usize::from(small)..cores {
            // Fewer threads only take longer.
            let thread = thread::Builder::new().stack_size(stack.saturating_add(OWN_STACK));
            let _ = thread.spawn_scoped(scope, take);
        }
        if small {
            take();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What the results of many calls take together. Each has its own limit; without this one, as
/// many as there are inputs could fill the machine.
pub(crate) struct Together {
    most: u64,
    taken: AtomicU64,
}

impl Together {
    /// At most so many bytes.
    pub(crate) fn new(most: u64) -> Together {
        Together { most, taken: AtomicU64::new(0) }
    }

    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// A result of so many bytes is held.
    pub(crate) fn add(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether they are too much. In whatever order they come, it is so in the end or not.
    pub(crate) fn is_over(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > self.most
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_order_is_that_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        let slow = |item: &u64| {
            std::thread::sleep(std::time::Duration::from_micros(item % 7 * 10));
            item * 2
        };
        for stack in [0, 8 << 20] {
            assert_eq!(super::map(&items, stack, slow), (0..1000).map(|item| item * 2).collect::<Vec<_>>());
            assert_eq!(super::map(&[] as &[u64], stack, slow), [0; 0]);
        }
    }
}
