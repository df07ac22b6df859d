//! Reads the input: `auto-json`'s reader, its events turned into nodes.
//!
//! Texts without escapes and numbers stay where they are in the input.

use core::mem::MaybeUninit;

use auto_json::write::compare_keys;
use auto_json::{Error, ErrorKind, MAX_DEPTH, Number, Sink, read, unescape};

use super::arena::{Bytes, allocate_many};
use super::node::{Handle, Member, Node, UNDEFINED, put};
use super::{output, sort};

/// Why the last text could not be read. Only looked at right after [`rt_read`] failed.
pub(super) static mut ERROR: Error = Error { kind: ErrorKind::UnexpectedEnd, offset: 0 };

/// Reads a JSON text; null where it is none, with the reason in [`ERROR`].
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn rt_read(pointer: *const u8, length: usize) -> Handle {
    // SAFETY: the entry passes on what the host says about its argument; an address
    // outside memory traps.
    let text = unsafe { core::slice::from_raw_parts(pointer, length) };
    let mut nodes = Nodes::new();
    match read(text, &mut nodes) {
        Ok(()) => nodes.root(),
        Err(error) => {
            // SAFETY: a module has one thread.
            unsafe { ERROR = error };
            UNDEFINED
        }
    }
}

/// [`rt_read`] where a text is wanted: one of ASCII without escapes is what lies between the quotes,
/// and all else is read as ever.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_read_text(pointer: *const u8, length: usize) -> Handle {
    // SAFETY: as for `rt_read`.
    let text = unsafe { core::slice::from_raw_parts(pointer, length) };
    if let [b'"', inside @ .., b'"'] = text
        && output::is_plain(inside)
    {
        return put(Node::of_text(inside));
    }
    // SAFETY: as above.
    unsafe { rt_read(pointer, length) }
}

/// Members and items of what is open, one after the other, as words: an item is a node, a
/// member is a key and a node. What closes is copied to its final place.
struct Nodes {
    words: *mut u64,
    length: usize,
    capacity: usize,
    /// Where the members or items of each open value begin.
    open: [MaybeUninit<u32>; MAX_DEPTH],
    depth: usize,
}

const NODE_WORDS: usize = size_of::<Node>() / 8;
const MEMBER_WORDS: usize = size_of::<Member>() / 8;

impl Nodes {
    fn new() -> Nodes {
        const ROOM: usize = 48;
        Nodes {
            words: allocate_many(ROOM),
            length: 0,
            capacity: ROOM,
            open: [MaybeUninit::uninit(); MAX_DEPTH],
            depth: 0,
        }
    }

    fn root(&self) -> Handle {
        self.words.cast_const().cast()
    }

    #[inline]
    fn room(&mut self) {
        if self.capacity - self.length < NODE_WORDS {
            self.widen();
        }
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) {
        let words = allocate_many::<u64>(self.capacity * 2);
        // SAFETY: `length` words are written there, and the new place has room for them.
        unsafe { core::ptr::copy_nonoverlapping(self.words, words, self.length) };
        self.words = words;
        self.capacity *= 2;
    }

    #[inline(never)]
    fn add(&mut self, node: Node) -> Result<(), ErrorKind> {
        self.room();
        // SAFETY: there is room for a node, and words are aligned as nodes are.
        unsafe { self.words.add(self.length).cast::<Node>().write(node) };
        self.length += NODE_WORDS;
        Ok(())
    }

    fn begin(&mut self) -> Result<(), ErrorKind> {
        // The reader checks the depth first.
        self.open.get_mut(self.depth).ok_or(ErrorKind::TooDeep)?.write(self.length as u32);
        self.depth += 1;
        Ok(())
    }

    /// Moves what the innermost open value holds to its final place: address and words.
    fn close(&mut self) -> (*mut u64, usize) {
        self.depth = self.depth.wrapping_sub(1);
        // SAFETY: it was opened, hence written; the reader closes only what it has opened.
        let from = self.open.get(self.depth).map_or(0, |from| unsafe { from.assume_init() } as usize);
        let count = self.length.wrapping_sub(from);
        let place = allocate_many::<u64>(count);
        // SAFETY: the words from `from` on are written; the place is new.
        unsafe { core::ptr::copy_nonoverlapping(self.words.add(from), place, count) };
        self.length = from;
        (place, count)
    }
}

/// The bytes a raw string stands for.
#[inline]
fn resolved(raw: &[u8], escaped: bool) -> Node {
    if escaped { unescaped(raw) } else { Node::of_text(raw) }
}

#[cold]
#[inline(never)]
fn unescaped(raw: &[u8]) -> Node {
    let mut bytes = Bytes::unbounded();
    unescape(raw, &mut |byte| bytes.push_one(byte));
    Node::of_text(bytes.finish().unwrap_or_default())
}

impl Sink for Nodes {
    fn null(&mut self) -> Result<(), ErrorKind> {
        self.add(Node::null())
    }

    fn boolean(&mut self, value: bool) -> Result<(), ErrorKind> {
        self.add(Node::boolean(value))
    }

    fn number(&mut self, lexeme: &[u8]) -> Result<(), ErrorKind> {
        // So short and without an exponent, it has few enough digits.
        if lexeme.len() > 38 || lexeme.iter().any(|byte| byte | 0x20 == b'e') {
            Number::check(lexeme)?;
        }
        self.add(Node::lexeme(lexeme))
    }

    fn text(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        self.add(resolved(raw, escaped))
    }

    fn key(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        let key = resolved(raw, escaped);
        self.room();
        // SAFETY: there is room for a node, hence for a word.
        unsafe { self.words.add(self.length).write(u64::from(key.length) << 32 | u64::from(key.pointer)) };
        self.length += 1;
        Ok(())
    }

    fn begin_list(&mut self) -> Result<(), ErrorKind> {
        self.begin()
    }

    fn end_list(&mut self) -> Result<(), ErrorKind> {
        let (words, count) = self.close();
        // SAFETY: so many items were just copied there.
        let items = unsafe { core::slice::from_raw_parts(words.cast::<Node>(), count / NODE_WORDS) };
        self.add(Node::of_list(items))
    }

    fn begin_record(&mut self) -> Result<(), ErrorKind> {
        self.begin()
    }

    fn end_record(&mut self) -> Result<(), ErrorKind> {
        let (words, count) = self.close();
        let count = count / MEMBER_WORDS;
        // SAFETY: so many members were just copied there.
        let members = unsafe { core::slice::from_raw_parts_mut(words.cast::<Member>(), count) };
        if !in_order(members) {
            sort::sort_short(members, |a, b| compare_keys(a.key(), b.key()));
            if !in_order(members) {
                return Err(ErrorKind::DuplicateKey);
            }
        }
        self.add(Node::of_record(members))
    }
}

/// Whether keys strictly rise.
pub(super) fn in_order(members: &[Member]) -> bool {
    members.is_sorted_by(|a, b| compare_keys(a.key(), b.key()).is_lt())
}
