//! The operators over records, and those that read records and lists from texts.

use auto_json::write::compare_keys;

use super::arena::Array;
use super::input::{in_order, rt_read};
use super::node::{Handle, Member, Node, UNDEFINED, get, items, maybe, put, text};
use super::texts::{listed, written};
use super::{output, sort};
use crate::kernels::fields;
use crate::kernels::text::digest;

fn members(a: Handle) -> Option<&'static [Member]> {
    get(a)?.as_members()
}

fn member(key: &[u8], value: Node) -> Member {
    Member { key: key.as_ptr() as u32, key_length: key.len() as u32, value }
}

/// The record of members in any order; `None` where two have one key.
fn record(members: &'static mut [Member]) -> Option<Node> {
    if !in_order(members) {
        sort::sort_short(members, |a, b| compare_keys(a.key(), b.key()));
        if !in_order(members) {
            return None;
        }
    }
    Some(Node::of_record(members))
}

/// The record of members that `run` gives.
#[inline]
fn made(run: impl FnOnce(&mut Array<Member>) -> Option<()>) -> Handle {
    maybe((|| {
        let mut members = Array::new();
        run(&mut members)?;
        record(members.finish())
    })())
}

fn named<'a>(members: &'a [Member], key: &[u8]) -> Option<&'a Node> {
    members.iter().find(|member| member.key() == key).map(|member| &member.value)
}

#[unsafe(no_mangle)]
extern "C" fn rt_get(a: Handle, key: Handle) -> Handle {
    match (members(a), text(key)) {
        (Some(members), Some(key)) => named(members, key.as_bytes()).map_or(UNDEFINED, |value| value),
        _ => UNDEFINED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_keys(a: Handle) -> Handle {
    maybe(listed(|out| {
        members(a)?.iter().for_each(|member| out.push(Node::of_text(member.key())));
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_values(a: Handle) -> Handle {
    maybe(listed(|out| {
        members(a)?.iter().for_each(|member| out.push(member.value));
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_entries(a: Handle) -> Handle {
    maybe((|| {
        let members = members(a)?;
        let mut pairs = Array::new();
        for entry in members {
            pairs.push(member(b"key", Node::of_text(entry.key())));
            pairs.push(member(b"value", entry.value));
        }
        let pairs = pairs.finish();
        listed(|out| {
            pairs.chunks_exact(2).for_each(|pair| out.push(Node::of_record(pair)));
            Some(())
        })
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_gather(a: Handle) -> Handle {
    made(|out| {
        for entry in items(a)? {
            let [key, value] = entry.as_members()? else { return None };
            if key.key() != b"key" || value.key() != b"value" {
                return None;
            }
            out.push(member(key.value.as_text()?.as_bytes(), value.value));
        }
        Some(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rt_merge(a: Handle, b: Handle) -> Handle {
    maybe((|| {
        // Both are in order, so they are merged as they are.
        let (mut left, mut right) = (members(a)?, members(b)?);
        let mut merged = Array::new();
        while let (Some((first, rest)), Some((second, others))) = (left.split_first(), right.split_first()) {
            let order = compare_keys(first.key(), second.key());
            merged.push(if order.is_lt() { *first } else { *second });
            left = if order.is_gt() { left } else { rest };
            right = if order.is_lt() { right } else { others };
        }
        left.iter().chain(right).for_each(|member| merged.push(*member));
        Some(Node::of_record(merged.finish()))
    })())
}

/// The members that are named, or those that are not.
fn chosen(a: Handle, names: Handle, wanted: bool) -> Handle {
    maybe((|| {
        let (members, names) = (members(a)?, items(names)?);
        if names.iter().any(|name| name.as_text().is_none()) {
            return None;
        }
        let mut kept = Array::new();
        for member in members {
            let named = names.iter().any(|name| name.as_text().is_some_and(|name| name.as_bytes() == member.key()));
            if named == wanted {
                kept.push(*member);
            }
        }
        Some(Node::of_record(kept.finish()))
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_pick(a: Handle, names: Handle) -> Handle {
    chosen(a, names, true)
}

#[unsafe(no_mangle)]
extern "C" fn rt_omit(a: Handle, names: Handle) -> Handle {
    chosen(a, names, false)
}

#[unsafe(no_mangle)]
extern "C" fn rt_rename(a: Handle, from: Handle, to: Handle) -> Handle {
    made(|out| {
        let (members, from, to) = (members(a)?, text(from)?.as_bytes(), text(to)?.as_bytes());
        named(members, from)?;
        for entry in members {
            out.push(if entry.key() == from { member(to, entry.value) } else { *entry });
        }
        Some(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rt_read_pairs(a: Handle, separator: Handle, assign: Handle) -> Handle {
    made(|out| {
        fields::pairs(text(a)?, text(separator)?, text(assign)?, &mut |key, value| {
            out.push(member(key.as_bytes(), Node::of_text(value.as_bytes())));
        })
    })
}

/// A part of a query string without its escapes.
fn decoded(part: &str) -> Option<Node> {
    let node = written(|out| fields::decoded(part, &mut |byte| out.push_one(byte)))?;
    // What was written may be anything.
    core::str::from_utf8(node.as_text()?.as_bytes()).ok()?;
    Some(node)
}

#[unsafe(no_mangle)]
extern "C" fn rt_read_query(a: Handle) -> Handle {
    maybe((|| {
        let mut raw = Array::new();
        fields::query(text(a)?, &mut |key, value| {
            raw.push(member(key.as_bytes(), Node::of_text(value.as_bytes())));
        })?;
        let raw = raw.finish();
        for entry in raw.iter_mut() {
            let key = decoded(core::str::from_utf8(entry.key()).ok()?)?;
            let value = decoded(entry.value.as_text()?)?;
            *entry = member(key.as_text()?.as_bytes(), value);
        }
        record(raw)
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_read_csv(a: Handle, separator: Handle) -> Handle {
    maybe((|| {
        let mut raw: Array<(Node, bool)> = Array::new();
        fields::csv(text(a)?, text(separator)?, &mut |field, doubled| {
            raw.push((Node::of_text(field.as_bytes()), doubled));
        })?;
        let raw = raw.finish();
        for (field, doubled) in raw.iter_mut() {
            if *doubled {
                let text = field.as_text()?;
                *field = written(|out| {
                    fields::undoubled(text, &mut |byte| out.push_one(byte));
                    Some(())
                })?;
            }
        }
        listed(|out| {
            raw.iter().for_each(|(field, _)| out.push(*field));
            Some(())
        })
    })())
}

#[unsafe(no_mangle)]
extern "C" fn rt_read_json(a: Handle) -> Handle {
    match text(a) {
        // SAFETY: the text is there.
        Some(text) => unsafe { rt_read(text.as_ptr(), text.len()) },
        None => UNDEFINED,
    }
}

#[unsafe(no_mangle)]
extern "C" fn rt_print_json(a: Handle) -> Handle {
    maybe(written(|out| {
        output::value(get(a)?, out);
        Some(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn rt_digest(a: Handle) -> Handle {
    let printed = written(|out| {
        output::value(get(a)?, out);
        Some(())
    });
    maybe(printed.and_then(|node| Some(Node::small(digest(node.as_text()?.as_bytes())))))
}

/// A record of a `key` and the `items` that have it.
pub(super) fn group(key: Node, items: &[Node]) -> Node {
    let mut members = Array::new();
    members.push(member(b"items", Node::of_list(items)));
    members.push(member(b"key", key));
    Node::of_record(members.finish())
}

/// The handle of a list of so many lists of two.
#[unsafe(no_mangle)]
extern "C" fn rt_zip(a: Handle, b: Handle) -> Handle {
    let pairs = (|| {
        let (a, b) = (items(a)?, items(b)?);
        let mut nodes = Array::new();
        for (a, b) in a.iter().zip(b) {
            nodes.push(*a);
            nodes.push(*b);
        }
        let nodes = nodes.finish();
        listed(|out| {
            nodes.chunks_exact(2).for_each(|pair| out.push(Node::of_list(pair)));
            Some(())
        })
    })();
    pairs.map_or(UNDEFINED, put)
}
