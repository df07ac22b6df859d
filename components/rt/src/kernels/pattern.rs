//! Patterns of tokens, and the places between them (FlashFill; Gulwani, 2011).
//!
//! A pattern is a sequence of items: a token of a class, a run of code points of a set, or
//! a literal text, each directly behind the one before. A position is where one pattern
//! ends and another begins, the k-th such place from either end of the text. Both come
//! encoded; `auto-lang` reads and writes their text form.
//!
//! Tokens are those that [`class::next`] finds in the whole text. All places are visited
//! from left to right with a cursor an item, so that a search takes time in proportion to
//! the text, whatever is in it.

use super::class::{self, CLASSES, Class};
use super::text::find;

/// The most items of a pattern.
pub const MOST_ITEMS: usize = 4;

/// The most bytes of a literal or of a set.
pub const MOST_BYTES: usize = 127;

/// Begins an item that is a literal: its length and its bytes follow.
pub const LITERAL: u8 = 0x80;

/// Begins an item that is a set of code points: its length and its bytes follow.
pub const SET: u8 = 0x81;

/// Begins a position that counts code points from an end of the text: 32 bits follow.
pub const OFFSET: u8 = 0;

/// Begins a position in the whole text: `k` in 16 bits, the length of the left pattern, the
/// left and the right pattern follow.
pub const WHOLE: u8 = 1;

/// [`WHOLE`], counted from the end of what was found before.
pub const REST: u8 = 2;

#[derive(Clone, Copy)]
enum Item<'p> {
    Class(Class),
    Literal(&'p [u8]),
    Set(&'p str),
}

/// An item, and its token that the search is at.
#[derive(Clone, Copy)]
struct Cursor<'p> {
    item: Item<'p>,
    start: usize,
    end: usize,
    /// No token follows.
    done: bool,
}

impl<'p> Cursor<'p> {
    fn is_place(&self) -> bool {
        matches!(self.item, Item::Class(class) if class.is_place())
    }

    fn is_literal(&self) -> bool {
        matches!(self.item, Item::Literal(_))
    }

    /// Goes on to the first token that begins, or ends, at `at` or later.
    fn seek<const KINDS: u8>(&mut self, text: &str, at: usize, by_end: bool) -> Option<(usize, usize)> {
        // No token is empty, so this is before the first.
        while !self.done && (self.end == 0 || (if by_end { self.end } else { self.start }) < at) {
            let found = match self.item {
                Item::Class(class) => class::next::<KINDS>(text, class, self.end),
                Item::Set(set) => class::run(text, self.end, |character| set.chars().any(|member| member == character)),
                Item::Literal(_) => None,
            };
            match found {
                Some((start, end)) => (self.start, self.end) = (start, end),
                None => self.done = true,
            }
        }
        (!self.done).then_some((self.start, self.end))
    }

    /// Where the item ends that begins at `at`.
    fn end_of<const KINDS: u8>(&mut self, text: &str, at: usize) -> Option<usize> {
        match self.item {
            Item::Literal(literal) => text.as_bytes().get(at..)?.starts_with(literal).then_some(at + literal.len()),
            Item::Class(class) if class.is_place() => class.is_at(text, at).then_some(at),
            _ => self.seek::<KINDS>(text, at, false).filter(|(start, _)| *start == at).map(|(_, end)| end),
        }
    }

    /// Where the item begins that ends at `at`.
    fn start_of<const KINDS: u8>(&mut self, text: &str, at: usize) -> Option<usize> {
        match self.item {
            Item::Literal(literal) => text.as_bytes().get(..at)?.ends_with(literal).then_some(at - literal.len()),
            Item::Class(class) if class.is_place() => class.is_at(text, at).then_some(at),
            _ => self.seek::<KINDS>(text, at, true).filter(|(_, end)| *end == at).map(|(start, _)| start),
        }
    }

    /// The first place at `at` or later where it ends, if it stands to the left of the
    /// place, or else begins.
    fn place<const KINDS: u8>(&mut self, text: &str, at: usize, left: bool) -> Option<usize> {
        match self.item {
            Item::Literal(literal) => {
                let behind = if left { literal.len() } else { 0 };
                let from = at.saturating_sub(behind);
                Some(from + find(text.as_bytes().get(from..)?, literal)? + behind)
            }
            Item::Class(Class::Start) => (at == 0).then_some(0),
            Item::Class(Class::End) => (at <= text.len()).then_some(text.len()),
            Item::Class(class) if class.is_place() => (at..=text.len()).find(|at| class.is_at(text, *at)),
            _ => self.seek::<KINDS>(text, at, left).map(|(start, end)| if left { end } else { start }),
        }
    }
}

/// A search for places with something to the left, something to the right, or both. It is begun
/// where it lies and never moved: it is large.
pub struct Search<'t, 'p, const KINDS: u8> {
    text: &'t str,
    /// Those of the left pattern, the nearest first; then those of the right one.
    cursors: [Cursor<'p>; 2 * MOST_ITEMS],
    left: usize,
    count: usize,
    /// The item that places are looked for by.
    anchor: usize,
}

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where the left pattern begins.
    pub start: usize,
    /// Where it ends and the right one begins.
    pub at: usize,
    /// Where that one ends.
    pub end: usize,
}

impl<'t, 'p, const KINDS: u8> Search<'t, 'p, KINDS> {
    /// For places in a text; [`Search::seek`] says which.
    #[inline(always)]
    pub fn new(text: &'t str) -> Self {
        const NONE: Cursor<'static> = Cursor { item: Item::Literal(b""), start: 0, end: 0, done: false };
        Search { text, cursors: [NONE; 2 * MOST_ITEMS], left: 0, count: 0, anchor: 0 }
    }

    /// Sets the encoded patterns, one of which may be empty; `None` if they are not well formed.
    pub fn seek(&mut self, left: &'p [u8], right: &'p [u8]) -> Option<()> {
        self.read(left)?;
        self.left = self.count;
        if self.left > 1 {
            self.cursors.get_mut(..self.left)?.reverse();
        }
        self.read(right)?;
        self.anchor = self.best_anchor()?;
        Some(())
    }

    /// Begins anew.
    fn restart(&mut self) {
        for cursor in self.cursors.iter_mut().take(self.count) {
            (cursor.start, cursor.end, cursor.done) = (0, 0, false);
        }
    }

    fn read(&mut self, mut pattern: &'p [u8]) -> Option<()> {
        while let Some((&kind, rest)) = pattern.split_first() {
            let item;
            if kind < LITERAL {
                item = Item::Class(CLASSES.get(usize::from(kind))?.1);
                pattern = rest;
            } else {
                let (&length, rest) = rest.split_first()?;
                let (bytes, rest) = rest.split_at_checked(usize::from(length))?;
                item = match kind {
                    SET => Item::Set(core::str::from_utf8(bytes).ok()?),
                    _ if bytes.is_empty() => return None,
                    _ => Item::Literal(bytes),
                };
                pattern = rest;
            }
            self.cursors.get_mut(self.count)?.item = item;
            self.count += 1;
        }
        Some(())
    }

    /// Of the two items at the place: a token rather than a literal, a literal rather than
    /// nothing.
    fn best_anchor(&self) -> Option<usize> {
        let near = [(self.left > 0).then_some(0), (self.count > self.left).then_some(self.left)];
        let rank = |at: &usize| {
            self.cursors.get(*at).map_or(3, |cursor| if cursor.is_place() { 2 } else { u8::from(cursor.is_literal()) })
        };
        near.into_iter().flatten().min_by_key(rank)
    }

    /// The first place at `from` or later. `from` never goes back.
    pub fn next(&mut self, mut from: usize) -> Option<Hit> {
        loop {
            let left = self.anchor < self.left;
            let at = self.cursors.get_mut(self.anchor)?.place::<KINDS>(self.text, from, left)?;
            if let Some(hit) = self.check(at) {
                return Some(hit);
            }
            from = at + 1;
        }
    }

    fn check(&mut self, at: usize) -> Option<Hit> {
        let (left, right) = self.cursors.get_mut(..self.count)?.split_at_mut_checked(self.left)?;
        let mut start = at;
        for cursor in left {
            start = cursor.start_of::<KINDS>(self.text, start)?;
        }
        let mut end = at;
        for cursor in right {
            end = cursor.end_of::<KINDS>(self.text, end)?;
        }
        Some(Hit { start, at, end })
    }
}

/// The place of an encoded position, in bytes; `from` is what [`REST`] counts from.
pub fn position<const KINDS: u8>(text: &str, position: &[u8], from: usize) -> Option<usize> {
    let (&kind, rest) = position.split_first()?;
    if kind == OFFSET {
        return offset(text, i32::from_le_bytes(*rest.first_chunk()?));
    }
    let (&[low, high, length], patterns) = rest.split_first_chunk()?;
    let (left, right) = patterns.split_at_checked(usize::from(length))?;
    let from = if kind == REST { from } else { 0 };
    let wanted = i16::from_le_bytes([low, high]);
    match (left, right) {
        (&[LITERAL, 1, byte], []) => beside(text.as_bytes(), byte, 1, wanted, from),
        ([], &[LITERAL, 1, byte]) => beside(text.as_bytes(), byte, 0, wanted, from),
        _ => searched::<KINDS>(text, left, right, wanted, from),
    }
}

/// The places before a byte, or `behind` it: most programs cut at one.
fn beside(text: &[u8], byte: u8, behind: usize, wanted: i16, from: usize) -> Option<usize> {
    let first = from.saturating_sub(behind);
    let mut places = text.get(first..)?.iter().enumerate().filter(|(_, own)| **own == byte).map(|(at, _)| at);
    let at = match usize::try_from(wanted) {
        Ok(k) => places.nth(k),
        Err(_) => places.nth_back(usize::from(wanted.unsigned_abs()) - 1),
    };
    at.map(|at| first + at + behind)
}

/// The places between any two patterns.
fn searched<const KINDS: u8>(text: &str, left: &[u8], right: &[u8], wanted: i16, from: usize) -> Option<usize> {
    let mut search = Search::<KINDS>::new(text);
    search.seek(left, right)?;
    let k = match usize::try_from(wanted) {
        Ok(k) => k,
        Err(_) => {
            let (mut count, mut last, mut next) = (0usize, None, from);
            while let Some(hit) = search.next(next) {
                count += 1;
                last = Some(hit.at);
                next = hit.at + 1;
            }
            if wanted == -1 {
                return last;
            }
            search.restart();
            count.checked_sub(usize::from(wanted.unsigned_abs()))?
        }
    };
    let mut hit = search.next(from)?;
    for _ in 0..k {
        hit = search.next(hit.at + 1)?;
    }
    Some(hit.at)
}

/// The place so many code points from the beginning, or, below zero, from the end.
fn offset(text: &str, count: i32) -> Option<usize> {
    match usize::try_from(count) {
        Ok(0) => Some(0),
        Ok(count) => text.char_indices().nth(count - 1).map(|(at, character)| at + character.len_utf8()),
        Err(_) => text.char_indices().nth_back(count.unsigned_abs() as usize - 1).map(|(at, _)| at),
    }
}

/// What lies between two positions. Undefined where one of them is not there, or the second
/// is before the first.
pub fn cut<'a, const KINDS: u8>(text: &'a str, from: &[u8], to: &[u8]) -> Option<&'a str> {
    let from = position::<KINDS>(text, from, 0)?;
    text.get(from..position::<KINDS>(text, to, from)?)
}

/// All matches of a pattern that do not overlap, from left to right, until `each` says to
/// stop by `false`.
#[inline]
pub fn each_match<const KINDS: u8>(
    text: &str,
    pattern: &[u8],
    each: &mut impl FnMut(usize, usize) -> bool,
) -> Option<()> {
    let mut search = Search::<KINDS>::new(text);
    search.seek(b"", pattern)?;
    let mut from = 0;
    while let Some(Hit { at, end, .. }) = search.next(from) {
        if !each(at, end) {
            break;
        }
        from = end.max(at + 1);
    }
    Some(())
}

/// The `index`-th match of a pattern: from 0, or from -1 backwards from the end.
pub fn matched<'a, const KINDS: u8>(text: &'a str, pattern: &[u8], index: i64) -> Option<&'a str> {
    let mut wanted = index;
    loop {
        let (mut count, mut found) = (0, None);
        each_match::<KINDS>(text, pattern, &mut |start, end| {
            if count == wanted {
                found = text.get(start..end);
            }
            count += 1;
            found.is_none()
        })?;
        if found.is_some() || wanted >= 0 {
            return found;
        }
        wanted = count.checked_add(index).filter(|wanted| *wanted >= 0)?;
    }
}

/// Whether a pattern occurs.
pub fn has<const KINDS: u8>(text: &str, pattern: &[u8]) -> Option<bool> {
    let mut search = Search::<KINDS>::new(text);
    search.seek(b"", pattern)?;
    Some(search.next(0).is_some())
}

/// All matches of a pattern.
pub fn matches<'a, const KINDS: u8>(text: &'a str, pattern: &[u8], each: &mut impl FnMut(&'a str)) -> Option<()> {
    each_match::<KINDS>(text, pattern, &mut |start, end| {
        each(text.get(start..end).unwrap_or_default());
        true
    })
}

/// The parts between the matches of a pattern, one more than there are matches.
pub fn split<'a, const KINDS: u8>(text: &'a str, pattern: &[u8], each: &mut impl FnMut(&'a str)) -> Option<()> {
    let mut from = 0;
    each_match::<KINDS>(text, pattern, &mut |start, end| {
        each(text.get(from..start).unwrap_or_default());
        from = end;
        true
    })?;
    each(text.get(from..)?);
    Some(())
}

/// Every match of a pattern as `to`.
pub fn substitute<const KINDS: u8>(text: &str, pattern: &[u8], to: &str, out: &mut impl FnMut(u8)) -> Option<()> {
    let mut first = true;
    split::<KINDS>(text, pattern, &mut |part| {
        if !first {
            to.bytes().for_each(&mut *out);
        }
        first = false;
        part.bytes().for_each(&mut *out);
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::class::Kinds;

    proptest! {
        #[test]
        fn places_beside_a_byte_are_those_of_the_search(
            text in "[a/\u{e9}.]{0,12}", byte in prop::sample::select(b"/a.".to_vec()), wanted in -5i16..5, from in 0usize..16
        ) {
            let literal = [LITERAL, 1, byte];
            let before = searched::<{ Kinds::ALL }>(&text, &[], &literal, wanted, from);
            prop_assert_eq!(beside(text.as_bytes(), byte, 0, wanted, from), before);
            let behind = searched::<{ Kinds::ALL }>(&text, &literal, &[], wanted, from);
            prop_assert_eq!(beside(text.as_bytes(), byte, 1, wanted, from), behind);
        }
    }
}
