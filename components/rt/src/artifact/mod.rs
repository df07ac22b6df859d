//! What `emit` links: values in an arena, and wasm exports over them.
//!
//! Built once, for wasm32 only, with every export named `rt_*`; `emit` follows relocations
//! from the exports a program calls. So: no `dyn`, no formatting, no function pointers,
//! and a panic is an `unreachable` that no input reaches. A value is the address of a
//! [`node::Node`]; the null address is the undefined value, and every export gives null
//! for what it is not defined on, null included.
//!
//! A call lives like this: the host places its arguments with `cabi_realloc`, the entry
//! that `emit` generates calls [`arena::rt_begin`], reads, checks, computes, and ends in
//! one of the exports of [`outcome`], which release the whole arena.

mod arena;
mod dates;
mod effects;
mod guard;
mod input;
mod lists;
mod memory;
mod model;
mod node;
mod numbers;
mod outcome;
mod output;
mod patterns;
mod records;
mod sort;
mod texts;

/// Nothing here panics on any input; what the compiler cannot see ends in a trap.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

/// Kernels do not allocate; this satisfies `alloc`'s types in `auto-json`.
struct Refusing;

// SAFETY: a null result is the documented way to refuse.
unsafe impl core::alloc::GlobalAlloc for Refusing {
    unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;
