//! The operators with patterns, over nodes. Patterns are constants that generated code
//! passes by address and length; there is a copy of each function for each choice of
//! [`Kinds`], so that a program links the tables of the classes it names and no others.

use super::node::{Handle, Node, UNDEFINED, integer, maybe, maybe_text, text, truth};
use super::texts::{constant, listed, written};
use crate::kernels::class::Kinds;
use crate::kernels::pattern as kernel;

macro_rules! patterns {
    ($($kinds:ident $matched:ident $matches:ident $has:ident $cut:ident $split:ident $substitute:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $matched(a: Handle, pattern: *const u8, length: usize, index: Handle) -> Handle {
            // SAFETY: generated code passes a constant of its own.
            let pattern = unsafe { constant(pattern, length) };
            maybe_text((|| kernel::matched::<{ Kinds::$kinds }>(text(a)?, pattern, integer(index)?))())
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $matches(a: Handle, pattern: *const u8, length: usize) -> Handle {
            // SAFETY: as above.
            let pattern = unsafe { constant(pattern, length) };
            maybe(listed(|out| {
                kernel::matches::<{ Kinds::$kinds }>(text(a)?, pattern, &mut |part| {
                    out.push(Node::of_text(part.as_bytes()));
                })
            }))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $has(a: Handle, pattern: *const u8, length: usize) -> Handle {
            // SAFETY: as above.
            let pattern = unsafe { constant(pattern, length) };
            (|| kernel::has::<{ Kinds::$kinds }>(text(a)?, pattern))().map_or(UNDEFINED, truth)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $cut(
            a: Handle,
            from: *const u8,
            from_length: usize,
            to: *const u8,
            to_length: usize,
        ) -> Handle {
            // SAFETY: as above, both of them.
            let (from, to) = unsafe { (constant(from, from_length), constant(to, to_length)) };
            maybe_text((|| kernel::cut::<{ Kinds::$kinds }>(text(a)?, from, to))())
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $split(a: Handle, pattern: *const u8, length: usize) -> Handle {
            // SAFETY: as above.
            let pattern = unsafe { constant(pattern, length) };
            maybe(listed(|out| {
                kernel::split::<{ Kinds::$kinds }>(text(a)?, pattern, &mut |part| {
                    out.push(Node::of_text(part.as_bytes()));
                })
            }))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $substitute(a: Handle, pattern: *const u8, length: usize, to: Handle) -> Handle {
            // SAFETY: as above.
            let pattern = unsafe { constant(pattern, length) };
            maybe(written(|out| {
                kernel::substitute::<{ Kinds::$kinds }>(text(a)?, pattern, text(to)?, &mut |byte| out.push(byte))
            }))
        }
    )*};
}

patterns! {
    PLAIN rt_match_plain rt_matches_plain rt_has_plain rt_cut_plain rt_split_on_plain rt_substitute_plain;
    LETTERS rt_match_letters rt_matches_letters rt_has_letters rt_cut_letters rt_split_on_letters rt_substitute_letters;
    SHAPES rt_match_shapes rt_matches_shapes rt_has_shapes rt_cut_shapes rt_split_on_shapes rt_substitute_shapes;
    ALL rt_match_all rt_matches_all rt_has_all rt_cut_all rt_split_on_all rt_substitute_all;
    EVERY rt_match_every rt_matches_every rt_has_every rt_cut_every rt_split_on_every rt_substitute_every;
}
