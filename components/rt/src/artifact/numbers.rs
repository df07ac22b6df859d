//! The number operators over nodes. Integers that fit 64 bits take a short way to what
//! the kernels would give.

use core::cmp::Ordering;

use auto_json::Number;

use super::node::{Handle, Node, UNDEFINED, get, integer, items, lexeme_integer, maybe, number, text, truth};
use super::texts::{constant, written};
use crate::kernels::number as kernel;
use crate::kernels::quantity;

#[unsafe(no_mangle)]
extern "C" fn rt_number(a: Handle) -> Handle {
    maybe((|| kernel::parse(text(a)?).map(Node::of_number))())
}

macro_rules! arithmetic {
    ($($name:ident $kernel:ident $short:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, b: Handle) -> Handle {
            maybe((|| {
                if let (Some(a), Some(b)) = (integer(a), integer(b))
                    && let Some(result) = a.$short(b)
                {
                    return Some(Node::small(result));
                }
                kernel::$kernel(&number(a)?, &number(b)?).map(Node::of_number)
            })())
        }
    )*};
}

arithmetic! {
    rt_add add checked_add;
    rt_sub sub checked_sub;
    rt_mul mul checked_mul;
}

#[unsafe(no_mangle)]
extern "C" fn rt_div(a: Handle, b: Handle) -> Handle {
    maybe((|| kernel::div(&number(a)?, &number(b)?).map(Node::of_number))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_mod(a: Handle, b: Handle) -> Handle {
    maybe((|| kernel::modulo(&number(a)?, &number(b)?).map(Node::of_number))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_ratio(a: Handle, b: Handle, places: Handle) -> Handle {
    maybe((|| kernel::ratio(&number(a)?, &number(b)?, integer(places)?).map(Node::of_number))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_round(a: Handle, step: Handle, rounding: *const u8, length: usize) -> Handle {
    // SAFETY: generated code passes a constant of its own.
    let rounding = unsafe { constant(rounding, length) };
    maybe((|| kernel::round_by(&number(a)?, &number(step)?, rounding).map(Node::of_number))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_read_number(a: Handle, style: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let style = unsafe { constant(style, length) };
    maybe((|| quantity::read(text(a)?, style).map(Node::of_number))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_print_number(a: Handle, format: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let format = unsafe { constant(format, length) };
    maybe(written(|out| quantity::print(&number(a)?, format, &mut |byte| out.push_one(byte))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_ordinal(a: Handle) -> Handle {
    maybe(written(|out| {
        quantity::ordinal(integer(a)?, &mut |byte| out.push_one(byte));
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_roman(a: Handle) -> Handle {
    maybe(written(|out| quantity::roman(integer(a)?, &mut |byte| out.push_one(byte))))
}

#[unsafe(no_mangle)]
extern "C" fn rt_unroman(a: Handle) -> Handle {
    maybe((|| quantity::unroman(text(a)?).map(Node::small))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_unspell(a: Handle) -> Handle {
    maybe((|| quantity::unspell(text(a)?).map(Node::small))())
}

#[unsafe(no_mangle)]
extern "C" fn rt_spell(a: Handle) -> Handle {
    maybe(written(|out| quantity::spell(integer(a)?, &mut |byte| out.push_one(byte))))
}

macro_rules! signs {
    ($($name:ident $kernel:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle) -> Handle {
            maybe((|| kernel::$kernel(&number(a)?).map(Node::of_number))())
        }
    )*};
}

signs! {
    rt_neg neg;
    rt_abs abs;
}

/// The order of two numbers by value.
pub(super) fn compare(a: &Node, b: &Node) -> Option<Ordering> {
    match (a.as_integer(), b.as_integer()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => Some(a.as_number()?.compare(&b.as_number()?)),
    }
}

macro_rules! comparisons {
    ($($name:ident $test:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: Handle, b: Handle) -> Handle {
            match (get(a), get(b)) {
                (Some(a), Some(b)) => compare(a, b).map_or(UNDEFINED, |order| truth(order.$test())),
                _ => UNDEFINED,
            }
        }
    )*};
}

comparisons! {
    rt_lt is_lt;
    rt_le is_le;
    rt_gt is_gt;
    rt_ge is_ge;
}

/// The order of an integer of the input and a bound: negative, zero or positive. What most programs compare, without the code for exact decimals.
#[unsafe(no_mangle)]
extern "C" fn rt_order(a: Handle, bound: i64) -> i32 {
    let Some(lexeme) = get(a).and_then(Node::as_lexeme) else { return 0 };
    match lexeme_integer(lexeme) {
        Some(value) => value.cmp(&bound) as i32,
        // Beyond 64 bits, so its sign decides.
        None if lexeme.first() == Some(&b'-') => -1,
        None => 1,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_sum(list: Handle) -> Handle {
    maybe((|| {
        let mut sum = Number::integer(0)?;
        for item in items(list)? {
            sum = kernel::add(&sum, &item.as_number()?)?;
        }
        Some(Node::of_number(sum))
    })())
}

/// The item that beats all before it.
fn extreme(list: Handle, better: impl Fn(Ordering) -> bool) -> Handle {
    let best = (|| {
        let mut best: Option<&Node> = None;
        for item in items(list)? {
            let first = best.unwrap_or(item);
            if better(compare(item, first)?) || best.is_none() {
                best = Some(item);
            }
        }
        best
    })();
    best.map_or(UNDEFINED, |best| best)
}

#[unsafe(no_mangle)]
extern "C" fn rt_min(list: Handle) -> Handle {
    extreme(list, Ordering::is_lt)
}

#[unsafe(no_mangle)]
extern "C" fn rt_max(list: Handle) -> Handle {
    extreme(list, Ordering::is_gt)
}
