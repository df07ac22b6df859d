//! The bump arena that one call lives in.
//!
//! The first allocation after a return starts over at the end of the static data, so
//! nothing survives between calls, and memory that was grown is used again.

use core::arch::wasm32::{memory_grow, memory_size, unreachable};

use crate::kernels::text::MAX_TEXT;

const PAGE: usize = 65536;

/// Memory is grown by this many pages at a time where that much is to be had.
const STRIDE: usize = 16;

unsafe extern "C" {
    /// Where static data ends; `emit` gives it its final place.
    static __heap_base: u8;
}

/// Where the next allocation goes; 0 when the last call has returned.
static mut NEXT: usize = 0;

fn next() -> usize {
    // SAFETY: a module has one thread.
    unsafe { NEXT }
}

fn set_next(at: usize) {
    // SAFETY: as above.
    unsafe { NEXT = at }
}

fn base() -> usize {
    &raw const __heap_base as usize
}

/// Starts a call whose arguments end at `end`: the arena goes on behind what the host
/// allocated, or starts over where it allocated nothing. Arguments that a host wrote into
/// the arena without asking are left alone.
#[unsafe(no_mangle)]
pub(super) extern "C" fn rt_begin(pointer: usize, length: usize) {
    if next() == 0 {
        set_next(base().max(pointer.saturating_add(length)));
    }
}

/// Ends a call: what was allocated is forgotten at the next allocation.
pub(super) fn end() {
    set_next(0);
}

/// The canonical ABI's allocator.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    if next() == 0 {
        set_next(base());
    }
    if new_size == 0 {
        return align as *mut u8;
    }
    let align = align.max(1);
    if old_size > 0 && (old as usize).wrapping_add(old_size) == next() && new_size >= old_size {
        // The last allocation: extend it where it is.
        claim(old as usize, new_size);
        return old;
    }
    let new = allocate(new_size, align);
    if old_size > 0 {
        // SAFETY: the caller owns `old_size` bytes there; the new block is no smaller than
        // what is copied.
        unsafe { core::ptr::copy(old, new, old_size.min(new_size)) };
    }
    new
}

/// `size` fresh bytes, their contents unspecified. `align` is a power of two.
pub(super) fn allocate(size: usize, align: usize) -> *mut u8 {
    let start = next().wrapping_add(align - 1) & !(align - 1);
    claim(start, size);
    start as *mut u8
}

/// Room for `count` values of `T`, uninitialised.
pub(super) fn allocate_many<T>(count: usize) -> *mut T {
    match count.checked_mul(size_of::<T>()) {
        Some(size) => allocate(size, align_of::<T>()).cast(),
        None => unreachable(),
    }
}

fn claim(start: usize, size: usize) {
    let Some(end) = start.checked_add(size) else { unreachable() };
    reserve(end);
    set_next(end);
}

/// Makes every address below `end` usable, or traps.
fn reserve(end: usize) {
    let pages = end.div_ceil(PAGE);
    let have = memory_size::<0>();
    if pages > have {
        grow(pages - have);
    }
}

#[cold]
#[inline(never)]
fn grow(pages: usize) {
    if memory_grow::<0>(pages.max(STRIDE)) == usize::MAX && (pages >= STRIDE || memory_grow::<0>(pages) == usize::MAX) {
        unreachable()
    }
}

/// A text under construction at the end of the arena. Nothing else may be allocated
/// before it is [finished](Bytes::finish).
pub(super) struct Bytes {
    start: usize,
    at: usize,
    /// Up to here there is room without asking.
    end: usize,
    most: usize,
    full: bool,
}

impl Bytes {
    /// For what an operator makes.
    pub(super) fn new() -> Bytes {
        Bytes::bounded(MAX_TEXT)
    }

    /// For what only memory bounds.
    pub(super) fn unbounded() -> Bytes {
        Bytes::bounded(usize::MAX)
    }

    fn bounded(most: usize) -> Bytes {
        let start = next();
        let end = start.saturating_add(most).min(memory_size::<0>().saturating_mul(PAGE));
        Bytes { start, at: start, end, most, full: false }
    }

    /// Makes room for `more` bytes, if so many are allowed.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, more: usize) -> bool {
        let left = self.most.wrapping_sub(self.at.wrapping_sub(self.start));
        if more > left {
            self.full = true;
            return false;
        }
        let Some(end) = self.at.checked_add(more) else { unreachable() };
        reserve(end);
        self.end = self.start.saturating_add(self.most).min(memory_size::<0>().saturating_mul(PAGE));
        true
    }

    #[inline]
    fn room(&mut self, more: usize) -> bool {
        more <= self.end.wrapping_sub(self.at) || self.widen(more)
    }

    /// Appends a byte.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if self.room(1) {
            // SAFETY: there is room, and memory from `start` on is ours.
            unsafe { *(self.at as *mut u8) = byte };
            self.at += 1;
        }
    }

    /// Appends bytes.
    #[inline(never)]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if self.room(bytes.len()) {
            // SAFETY: there is room, and no slice reaches beyond `start`.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at as *mut u8, bytes.len()) };
            self.at += bytes.len();
        }
    }

    /// Appends eight bytes.
    #[inline]
    pub(super) fn push_word(&mut self, word: u64) {
        if self.room(8) {
            // SAFETY: there is room.
            unsafe { (self.at as *mut u64).write_unaligned(word) };
            self.at += 8;
        }
    }

    /// [`Bytes::push`] where few bytes are written in many places.
    #[inline(never)]
    pub(super) fn push_one(&mut self, byte: u8) {
        self.push(byte);
    }

    /// Allocates what was written; `None` where that was too long.
    pub(super) fn finish(self) -> Option<&'static [u8]> {
        if self.full {
            return None;
        }
        set_next(self.at);
        // SAFETY: written above, and nothing writes there again during this call.
        Some(unsafe { core::slice::from_raw_parts(self.start as *const u8, self.at - self.start) })
    }
}

/// An array under construction at the end of the arena, as [`Bytes`] is.
pub(super) struct Array<T> {
    start: usize,
    at: usize,
    end: usize,
    items: core::marker::PhantomData<T>,
}

impl<T: Copy> Array<T> {
    /// An empty one.
    pub(super) fn new() -> Array<T> {
        let start = next().wrapping_add(align_of::<T>() - 1) & !(align_of::<T>() - 1);
        Array { start, at: start, end: start, items: core::marker::PhantomData }
    }

    /// Appends an item.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        if self.end.wrapping_sub(self.at) < size_of::<T>() {
            let Some(end) = self.at.checked_add(size_of::<T>()) else { unreachable() };
            reserve(end);
            self.end = memory_size::<0>().saturating_mul(PAGE);
        }
        // SAFETY: there is room, aligned, and memory from `start` on is ours.
        unsafe { (self.at as *mut T).write(item) };
        self.at += size_of::<T>();
    }

    /// Allocates what was written.
    pub(super) fn finish(self) -> &'static mut [T] {
        set_next(self.at);
        // SAFETY: written above; the only reference to it.
        unsafe { core::slice::from_raw_parts_mut(self.start as *mut T, (self.at - self.start) / size_of::<T>()) }
    }
}
