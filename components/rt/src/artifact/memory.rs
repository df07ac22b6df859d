//! What the compiler calls to compare bytes, in words; the one it brings goes byte by byte.
//! Copying and filling are operators, which `emit` replaces by functions of its own.

/// The order of the first difference: negative, zero or positive.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: of every read, that it lies within `length` bytes of both.
    unsafe {
        let word = |at: usize| order(read::<u64>(a, at).swap_bytes(), read::<u64>(b, at).swap_bytes());
        let half = |at: usize| order(read::<u32>(a, at).swap_bytes(), read::<u32>(b, at).swap_bytes());
        if length >= 8 {
            let mut at = 0;
            while at + 8 < length {
                let order = word(at);
                if order != 0 {
                    return order;
                }
                at += 8;
            }
            // The last eight, whatever of them is compared again.
            return word(length - 8);
        }
        if length >= 4 {
            let order = half(0);
            return if order != 0 { order } else { half(length - 4) };
        }
        let mut at = 0;
        while at < length {
            let order = order(*a.add(at), *b.add(at));
            if order != 0 {
                return order;
            }
            at += 1;
        }
    }
    0
}

/// SAFETY: the bytes from `at` on must be readable.
#[inline(always)]
unsafe fn read<T: Copy>(from: *const u8, at: usize) -> T {
    // SAFETY: as the caller says.
    unsafe { from.add(at).cast::<T>().read_unaligned() }
}

#[inline(always)]
fn order<T: Ord>(a: T, b: T) -> i32 {
    i32::from(a > b) - i32::from(a < b)
}
