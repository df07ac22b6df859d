//! The operators on dates, over nodes.

use super::arena::allocate_many;
use super::node::{Handle, MOMENT, Node, get, integer, maybe, text};
use super::texts::{constant, written};
use crate::kernels::date::{self, Moment};
use crate::kernels::{layout, number, span};

/// The moment that a node holds, or that its text says.
fn moment(a: Handle) -> Option<Moment> {
    let node = get(a)?;
    if node.kind == MOMENT {
        // SAFETY: such a node holds the address of a moment.
        return Some(unsafe { *(node.pointer as *const Moment) });
    }
    Moment::read(node.as_text()?)
}

/// A moment for another operator on dates, which its text would tell the same: all that operators
/// give are valid.
fn held(moment: Option<Moment>) -> Handle {
    maybe(moment.map(|moment| {
        let place = allocate_many::<Moment>(1);
        // SAFETY: just allocated for it.
        unsafe { place.write(moment) };
        Node { kind: MOMENT, form: 0, pointer: place as u32, length: 0 }
    }))
}

fn of_moment(moment: Option<Moment>) -> Handle {
    maybe(written(|out| {
        moment?.write(&mut |byte| out.push_one(byte));
        Some(())
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_read_date(a: Handle, layouts: *const u8, length: usize) -> Handle {
    // SAFETY: generated code passes a constant of its own.
    let layouts = unsafe { constant(layouts, length) };
    of_moment(text(a).and_then(|text| layout::read(text, layouts)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_read_moment(a: Handle, layouts: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let layouts = unsafe { constant(layouts, length) };
    held(text(a).and_then(|text| layout::read(text, layouts)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_print_date(a: Handle, layout: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let layout = unsafe { constant(layout, length) };
    maybe(written(|out| layout::print(&moment(a)?, layout, &mut |byte| out.push_one(byte))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_part(a: Handle, part: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let part = unsafe { constant(part, length) };
    maybe((|| date::part(&moment(a)?, date::part_numbered(part)?).map(Node::small))())
}

fn later(a: Handle, count: Handle, unit: &[u8]) -> Option<Moment> {
    span::add(&moment(a)?, integer(count)?, span::unit(unit)?)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_add(a: Handle, count: Handle, unit: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    of_moment(later(a, count, unsafe { constant(unit, length) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_add_moment(a: Handle, count: Handle, unit: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    held(later(a, count, unsafe { constant(unit, length) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_diff(a: Handle, b: Handle, unit: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let unit = unsafe { constant(unit, length) };
    maybe((|| span::difference(&moment(a)?, &moment(b)?, span::unit(unit)?).map(Node::small))())
}

fn rounded(a: Handle, count: Handle, unit: &[u8], rounding: &[u8]) -> Option<Moment> {
    span::round(&moment(a)?, integer(count)?, span::unit(unit)?, number::rounding(rounding)?)
}

macro_rules! rounders {
    ($($name:ident $made:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            a: Handle,
            count: Handle,
            unit: *const u8,
            unit_length: usize,
            rounding: *const u8,
            rounding_length: usize,
        ) -> Handle {
            // SAFETY: as above, both of them.
            let (unit, rounding) = unsafe { (constant(unit, unit_length), constant(rounding, rounding_length)) };
            $made(rounded(a, count, unit, rounding))
        }
    )*};
}

rounders! {
    rt_date_round of_moment;
    rt_round_moment held;
}
