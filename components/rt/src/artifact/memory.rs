//! What the compiler calls to compare bytes, in words; the one it brings goes byte by byte.
//! Copying and filling are operators, which `emit` replaces by functions of its own.

/// The order of the first difference: negative, zero or positive.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    let mut at = 0;
    // As many words as are equal; a difference is then found byte by byte.
    while length - at >= 8 {
        // SAFETY: eight bytes from `at` on lie within both.
        let (x, y) = unsafe { (a.add(at).cast::<u64>().read_unaligned(), b.add(at).cast::<u64>().read_unaligned()) };
        if x != y {
            break;
        }
        at += 8;
    }
    if length - at >= 4 {
        let back = length - 4;
        // SAFETY: four bytes from `at` on, and the last four, lie within both.
        let (x, y) = unsafe { (a.add(at).cast::<u32>().read_unaligned(), b.add(at).cast::<u32>().read_unaligned()) };
        // SAFETY: as above.
        let (v, w) =
            unsafe { (a.add(back).cast::<u32>().read_unaligned(), b.add(back).cast::<u32>().read_unaligned()) };
        // Of fewer than eight these are all.
        if x == y && v == w && length - at < 8 {
            return 0;
        }
        at += if x == y { 4 } else { 0 };
    }
    while at < length {
        // SAFETY: `at` lies within both.
        let (x, y) = unsafe { (*a.add(at), *b.add(at)) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
        at += 1;
    }
    0
}
