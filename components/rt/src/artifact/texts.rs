//! The text operators over nodes.

use super::arena::{Array, Bytes};
use super::node::{BOOL, Handle, NUMBER, Node, get, integer, items, maybe, maybe_text, text, truth};
use super::{node, output};
use crate::kernels::text::{self as kernel, Class};
use crate::kernels::{fold, normal, recase};

/// A text that a kernel writes.
#[inline]
pub(super) fn written(run: impl FnOnce(&mut Bytes) -> Option<()>) -> Option<Node> {
    let mut bytes = Bytes::new();
    run(&mut bytes)?;
    bytes.finish().map(Node::of_text)
}

/// A list of the parts of a text that a kernel finds.
#[inline]
pub(super) fn listed(run: impl FnOnce(&mut Array<Node>) -> Option<()>) -> Option<Node> {
    let mut texts = Array::new();
    run(&mut texts)?;
    Some(Node::of_list(texts.finish()))
}

/// A constant that says how an operator works, as generated code passes it.
///
/// # Safety
///
/// The constant lies there, and nothing writes to it.
pub(super) unsafe fn constant(pointer: *const u8, length: usize) -> &'static [u8] {
    // SAFETY: as the caller promises.
    unsafe { core::slice::from_raw_parts(pointer, length) }
}

macro_rules! text_from_text {
    ($($name:ident $kernel:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle) -> Handle {
            maybe(written(|out| Some(kernel::$kernel(text(a)?, &mut |byte| out.push(byte)))))
        }
    )*};
}

text_from_text! {
    rt_title title;
    rt_collapse collapse;
    rt_digits digits;
    rt_letters letters;
    rt_mirror reverse;
}

/// A text mapped code point by code point: ASCII in words, and from the first other code
/// point on by the kernel.
#[inline]
fn mapped(a: Handle, word: impl Fn(u64) -> u64, rest: impl Fn(&str, &mut Bytes)) -> Handle {
    maybe(written(|out| {
        let text = text(a)?;
        let mut at = 0;
        while let Some(eight) = text.as_bytes().get(at..).and_then(<[u8]>::first_chunk) {
            let eight = u64::from_le_bytes(*eight);
            if eight & (u64::MAX / 255 * 0x80) != 0 {
                break;
            }
            out.push_word(word(eight));
            at += 8;
        }
        // `at` is behind ASCII, hence at a boundary.
        rest(text.get(at..)?, out);
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_lower(a: Handle) -> Handle {
    mapped(a, kernel::lower_word, |text, out| kernel::lower(text, &mut |byte| out.push_one(byte)))
}

#[unsafe(no_mangle)]
extern "C" fn rt_upper(a: Handle) -> Handle {
    mapped(a, kernel::upper_word, |text, out| kernel::upper(text, &mut |byte| out.push_one(byte)))
}

macro_rules! list_from_text {
    ($($name:ident $kernel:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle) -> Handle {
            maybe(listed(|out| Some(kernel::$kernel(text(a)?, &mut |part| out.push(Node::of_text(part.as_bytes()))))))
        }
    )*};
}

list_from_text! {
    rt_words words;
    rt_lines lines;
}

#[unsafe(no_mangle)]
extern "C" fn rt_split(a: Handle, separator: Handle) -> Handle {
    maybe(listed(|out| kernel::split(text(a)?, text(separator)?, &mut |part| out.push(Node::of_text(part.as_bytes())))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_trim(a: Handle) -> Handle {
    maybe_text(text(a).map(kernel::trim))
}

macro_rules! part_of_text {
    ($($name:ident($($argument:ident),*) $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, $($argument: Handle),*) -> Handle {
            maybe_text((|| {
                let part: Option<&str> = $body(text(a)?, $(text($argument)?),*);
                part
            })())
        }
    )*};
}

part_of_text! {
    rt_strip(set) |text, set| Some(kernel::strip(text, set));
    rt_before(separator) kernel::before;
    rt_after(separator) kernel::after;
    rt_between(left, right) kernel::between;
}

#[unsafe(no_mangle)]
extern "C" fn rt_substr(a: Handle, from: Handle) -> Handle {
    maybe_text((|| kernel::substr(text(a)?, integer(from)?, None))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_substr_to(a: Handle, from: Handle, to: Handle) -> Handle {
    maybe_text((|| kernel::substr(text(a)?, integer(from)?, Some(integer(to)?)))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_every(a: Handle, n: Handle, from: Handle) -> Handle {
    maybe(written(|out| kernel::every(text(a)?, integer(n)?, integer(from)?, &mut |byte| out.push(byte))))
}

macro_rules! tokens {
    ($($name:ident $class:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, index: i64) -> Handle {
            maybe_text(text(a).and_then(|text| kernel::token(text, Class::$class, index)))
        }
    )*};
}

/// A position, as the exports below take it; the least number, at which nothing is, where it is
/// none.
#[unsafe(no_mangle)]
extern "C" fn rt_index(a: Handle) -> i64 {
    integer(a).unwrap_or(i64::MIN)
}

// One export a class, so that a program links only those it names.
tokens! {
    rt_token_digits Digits;
    rt_token_letters Letters;
    rt_token_upper Upper;
    rt_token_alnum Alnum;
    rt_token_id Id;
    rt_token_lower Lower;
    rt_token_proper Proper;
    rt_token_word Word;
    rt_token_space Space;
    rt_token_punct Punct;
    rt_token_number Number;
    rt_token_money Money;
    rt_token_email Email;
    rt_token_url Url;
    rt_token_hex Hex;
    rt_token_uuid Uuid;
    rt_token_date Date;
    rt_token_time Time;
    rt_token_quoted Quoted;
    rt_token_numeral Numeral;
    rt_token_punctuation Punctuation;
    rt_token_symbol Symbol;
    rt_token_mark Mark;
}

macro_rules! tests {
    ($($name:ident $kernel:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, b: Handle) -> Handle {
            match (text(a), text(b)) {
                (Some(a), Some(b)) => truth(kernel::$kernel(a, b)),
                _ => node::UNDEFINED,
            }
        }
    )*};
}

tests! {
    rt_starts starts;
    rt_ends ends;
    rt_contains contains;
}

#[unsafe(no_mangle)]
extern "C" fn rt_replace(a: Handle, from: Handle, to: Handle) -> Handle {
    maybe(written(|out| kernel::replace(text(a)?, text(from)?, text(to)?, &mut |byte| out.push(byte))))
}

/// Also `concat`: the arguments as a list, and the empty separator.
#[unsafe(no_mangle)]
extern "C" fn rt_join(list: Handle, separator: Handle) -> Handle {
    maybe(written(|out| {
        let separator = text(separator)?.as_bytes();
        let mut separate = false;
        for item in items(list)? {
            if separate {
                out.extend(separator);
            }
            separate = true;
            out.extend(item.as_text()?.as_bytes());
        }
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_chars(a: Handle) -> Handle {
    maybe(text(a).map(|text| Node::small(kernel::chars(text) as i64)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_pad(a: Handle, width: Handle, fill: Handle, side: *const u8, length: usize) -> Handle {
    // SAFETY: generated code passes a constant of its own.
    let side = unsafe { constant(side, length) };
    maybe(written(|out| kernel::pad(text(a)?, integer(width)?, text(fill)?, side, &mut |byte| out.push_one(byte))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_find(a: Handle, part: Handle) -> Handle {
    maybe((|| kernel::position(text(a)?, text(part)?).map(|at| Node::small(at as i64)))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_occurrences(a: Handle, part: Handle) -> Handle {
    maybe((|| kernel::occurrences(text(a)?, text(part)?).map(|count| Node::small(count as i64)))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_recase(a: Handle, style: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let style = unsafe { constant(style, length) };
    maybe(written(|out| recase::recase(text(a)?, style, &mut |byte| out.push_one(byte))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_unaccent(a: Handle) -> Handle {
    maybe(written(|out| {
        fold::unaccent(text(a)?, &mut |byte| out.push(byte));
        Some(())
    }))
}

macro_rules! normal_forms {
    ($($name:ident $compatible:literal $compose:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, _form: *const u8, _length: usize) -> Handle {
            maybe(written(|out| {
                normal::formed::<$compatible, $compose>(text(a)?, &mut |byte| out.push_one(byte));
                Some(())
            }))
        }
    )*};
}

// One export a form, as for classes.
normal_forms! {
    rt_nfc false true;
    rt_nfd false false;
    rt_nfkc true true;
    rt_nfkd true false;
}

/// The canonical text of a number or a boolean.
#[unsafe(no_mangle)]
extern "C" fn rt_text(a: Handle) -> Handle {
    maybe((|| {
        let value = get(a)?;
        match value.kind {
            NUMBER | BOOL => written(|out| {
                output::value(value, out);
                Some(())
            }),
            _ => None,
        }
    })())
}
