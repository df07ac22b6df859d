//! The operators on dates, over nodes.

use super::node::{Handle, Node, integer, maybe, text};
use super::texts::{constant, written};
use crate::kernels::date::{self, Moment};
use crate::kernels::{layout, number, span};

/// The moment that a node's text says.
fn moment(a: Handle) -> Option<Moment> {
    Moment::read(text(a)?)
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

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_add(a: Handle, count: Handle, unit: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let unit = unsafe { constant(unit, length) };
    of_moment((|| span::add(&moment(a)?, integer(count)?, span::unit(unit)?))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_diff(a: Handle, b: Handle, unit: *const u8, length: usize) -> Handle {
    // SAFETY: as above.
    let unit = unsafe { constant(unit, length) };
    maybe((|| span::difference(&moment(a)?, &moment(b)?, span::unit(unit)?).map(Node::small))())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_date_round(
    a: Handle,
    count: Handle,
    unit: *const u8,
    unit_length: usize,
    rounding: *const u8,
    rounding_length: usize,
) -> Handle {
    // SAFETY: as above, both of them.
    let (unit, rounding) = unsafe { (constant(unit, unit_length), constant(rounding, rounding_length)) };
    of_moment((|| span::round(&moment(a)?, integer(count)?, span::unit(unit)?, number::rounding(rounding)?))())
}
