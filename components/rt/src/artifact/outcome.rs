//! How a call ends: results in the layout of the canonical ABI, and the words for inputs
//! that are refused. Everything here ends the call and releases the arena.
//!
//! ```text
//! result<outcome, failure>   0: 0 ok, 4: 0 answer, 8: text
//!                            0: 0 ok, 4: 1 abstain, 8: reason, 16: score, 20: limit
//!                            0: 0 ok, 4: 2 request, 8: capability, 16: input, 24: state
//!                            0: 1 error, 4: 0 bad-input or 1 unsupported, 8: text
//! novelty                    0: reason, 8: score, 12: limit
//! ```

use super::arena::{self, Bytes, allocate_many};
use super::input;
use super::node::{BOOL, Handle, LIST, NULL, NUMBER, Node, RECORD, get, items, text};
use super::output;

/// Where results are returned. Rewritten by every call before it returns.
static mut RESULT: [u32; 8] = [0; 8];

pub(super) fn returned(words: [u32; 8]) -> *const u32 {
    arena::end();
    // SAFETY: a module has one thread, and the host reads before it calls again.
    unsafe {
        RESULT = words;
        (&raw const RESULT).cast()
    }
}

/// The result of a call that has ended somewhere inside.
#[unsafe(no_mangle)]
extern "C" fn rt_stopped() -> *const u32 {
    (&raw const RESULT).cast()
}

/// `answer`: the canonical text of a value.
#[unsafe(no_mangle)]
pub(super) extern "C" fn rt_answer(value: Handle) -> *const u32 {
    let mut bytes = Bytes::unbounded();
    if let Some(node) = get(value) {
        output::value(node, &mut bytes);
    }
    answer(Some(bytes))
}

/// `answer`: a value that is a text.
#[unsafe(no_mangle)]
extern "C" fn rt_answer_text(value: Handle) -> *const u32 {
    let mut bytes = Bytes::unbounded();
    output::string(text(value).unwrap_or_default().as_bytes(), &mut bytes);
    answer(Some(bytes))
}

/// `answer`: JSON that is known.
#[unsafe(no_mangle)]
extern "C" fn rt_answer_json(json: u32, length: u32) -> *const u32 {
    answered(json, length)
}

/// The answer that generated code writes piece by piece; nothing is allocated meanwhile.
static mut ANSWER: Option<Bytes> = None;

#[inline]
fn write(piece: impl FnOnce(&mut Bytes)) {
    let answer = &raw mut ANSWER;
    // SAFETY: a module has one thread, and no piece writes another.
    if let Some(answer) = unsafe { (*answer).as_mut() } {
        piece(answer);
    }
}

/// Begins an answer.
#[unsafe(no_mangle)]
extern "C" fn rt_write_begin() {
    // SAFETY: a module has one thread.
    unsafe { ANSWER = Some(Bytes::unbounded()) };
}

/// JSON that is known.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_write_json(json: *const u8, length: usize) {
    // SAFETY: a constant of generated code.
    write(|answer| answer.extend(unsafe { constant(json, length) }));
}

/// A value that is a text.
#[unsafe(no_mangle)]
extern "C" fn rt_write_text(value: Handle) {
    write(|answer| output::string(text(value).unwrap_or_default().as_bytes(), answer));
}

/// A value that is a text, as a part of one: without quotes.
#[unsafe(no_mangle)]
extern "C" fn rt_write_part(value: Handle) {
    write(|answer| output::part(text(value).unwrap_or_default().as_bytes(), answer));
}

/// Any value.
#[unsafe(no_mangle)]
extern "C" fn rt_write_value(value: Handle) {
    if let Some(node) = get(value) {
        write(|answer| output::value(node, answer));
    }
}

/// `answer`: what was written.
#[unsafe(no_mangle)]
extern "C" fn rt_write_answer() -> *const u32 {
    let written = &raw mut ANSWER;
    // SAFETY: a module has one thread.
    answer(unsafe { (*written).take() })
}

fn answer(bytes: Option<Bytes>) -> *const u32 {
    let text = bytes.and_then(Bytes::finish).unwrap_or_default();
    answered(text.as_ptr() as u32, text.len() as u32)
}

/// What an answer does not have stays as it was: no host reads it.
#[inline]
fn answered(pointer: u32, length: u32) -> *const u32 {
    arena::end();
    // SAFETY: as for `returned`.
    unsafe {
        let [case, outcome, at, size, ..] = &mut *(&raw mut RESULT);
        (*case, *outcome, *at, *size) = (0, 0, pointer, length);
        (&raw const RESULT).cast()
    }
}

/// `abstain`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn rt_abstain(reason: u32, reason_length: u32, score: u32, limit: u32) -> *const u32 {
    returned([0, 1, reason, reason_length, score, limit, 0, 0])
}

/// The result of `assess`.
#[unsafe(no_mangle)]
extern "C" fn rt_novelty(reason: u32, reason_length: u32, score: u32, limit: u32) -> *const u32 {
    returned([reason, reason_length, score, limit, 0, 0, 0, 0])
}

/// `unsupported`, with a message that generated code has.
#[unsafe(no_mangle)]
pub(super) extern "C" fn rt_unsupported(message: u32, message_length: u32) -> *const u32 {
    returned([1, 1, message, message_length, 0, 0, 0, 0])
}

pub(super) fn bad_input(message: Bytes) -> *const u32 {
    let text = message.finish().unwrap_or_default();
    returned([1, 0, text.as_ptr() as u32, text.len() as u32, 0, 0, 0, 0])
}

/// `bad-input` after [`input::rt_read`] gave nothing, in the words of `auto-json`'s error.
#[unsafe(no_mangle)]
extern "C" fn rt_bad_json() -> *const u32 {
    let mut message = Bytes::unbounded();
    json_error(&mut message);
    bad_input(message)
}

/// Why [`input::rt_read`] gave nothing, in the words of `auto-json`'s error.
#[inline]
pub(super) fn json_error(message: &mut Bytes) {
    // SAFETY: a module has one thread.
    let error = unsafe { input::ERROR };
    message.extend(error.kind.message().as_bytes());
    message.extend(b" at byte ");
    output::small(error.offset as i64, message);
}

/// Where a value is not of the input's type: built from the value outwards, so that the
/// path comes out in order.
pub(super) struct Failure {
    expected: &'static [u8],
    got: Got,
    path: Option<&'static Segment>,
}

enum Got {
    Words(&'static str),
    Label(&'static str),
}

enum Step {
    Key(&'static [u8]),
    Index(u32),
}

struct Segment {
    step: Step,
    rest: Option<&'static Segment>,
}

fn place<T>(value: T) -> *mut T {
    let place = allocate_many::<T>(1);
    // SAFETY: just allocated for it.
    unsafe { place.write(value) };
    place
}

/// SAFETY: `pointer` and `length` are a constant of generated code or a key of the input.
unsafe fn constant(pointer: *const u8, length: usize) -> &'static [u8] {
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(pointer, length) }
}

/// What a value is, in words, telling integers from other numbers; null is one absent.
fn kind(value: Handle) -> &'static str {
    let Some(node) = get(value) else { return "nothing" };
    match node.kind {
        NULL => "null",
        BOOL => "a boolean",
        NUMBER if node.is_integer() => "an integer",
        NUMBER => "a number that is not an integer",
        LIST => "a list",
        RECORD => "an object",
        _ => "text",
    }
}

/// The value, or that there is none, is not what was expected.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_fail(got: Handle, expected: *const u8, length: usize) -> *const Failure {
    // SAFETY: a constant of generated code.
    place(Failure { expected: unsafe { constant(expected, length) }, got: Got::Words(kind(got)), path: None })
}

/// The value is not a label of an enum.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_fail_label(got: Handle, expected: *const u8, length: usize) -> *const Failure {
    let words = text(got).map_or(Got::Words(kind(got)), Got::Label);
    // SAFETY: a constant of generated code.
    place(Failure { expected: unsafe { constant(expected, length) }, got: words, path: None })
}

/// A record has a member that is not among the fields; null where it has none.
#[unsafe(no_mangle)]
extern "C" fn rt_fail_unknown(record: Handle, fields: Handle) -> *const Failure {
    let fields: &[Node] = items(fields).unwrap_or_default();
    let members = get(record).and_then(Node::as_members).unwrap_or_default();
    let known = |key: &[u8]| fields.iter().any(|field| field.as_text().is_some_and(|name| name.as_bytes() == key));
    let Some(unknown) = members.iter().find(|member| !known(member.key())) else { return core::ptr::null() };
    let path = place(Segment { step: Step::Key(unknown.key()), rest: None });
    // SAFETY: just placed.
    let path = unsafe { path.as_ref() };
    place(Failure { expected: b"no such field", got: Got::Words(kind(&unknown.value)), path })
}

fn under(failure: *mut Failure, step: Step) -> *const Failure {
    // SAFETY: a failure that one of the exports above placed, and nobody else looks at.
    if let Some(failure) = unsafe { failure.as_mut() } {
        let segment = place(Segment { step, rest: failure.path });
        // SAFETY: just placed.
        failure.path = unsafe { segment.as_ref() };
    }
    failure
}

/// The failure is in the member of this key.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_under_key(failure: *mut Failure, key: *const u8, length: usize) -> *const Failure {
    // SAFETY: a constant of generated code or a key of the input.
    under(failure, Step::Key(unsafe { constant(key, length) }))
}

/// The failure is in the item at this position.
#[unsafe(no_mangle)]
extern "C" fn rt_under_index(failure: *mut Failure, index: u32) -> *const Failure {
    under(failure, Step::Index(index))
}

/// `bad-input` for a value of another type, in the words of `auto-schema`'s mismatch.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_bad_type(failure: *const Failure) -> *const u32 {
    // SAFETY: as for `under`.
    let Some(failure) = (unsafe { failure.as_ref() }) else { return rt_abstain(0, 0, 0, 0) };
    let mut message = Bytes::unbounded();
    if failure.path.is_none() {
        message.extend(b"the value");
    }
    let mut path = failure.path;
    while let Some(segment) = path {
        message.push_one(b'/');
        match segment.step {
            Step::Index(index) => output::small(i64::from(index), &mut message),
            Step::Key(key) => pointer_segment(key, &mut message),
        }
        path = segment.rest;
    }
    message.extend(b": expected ");
    message.extend(failure.expected);
    message.extend(b", got ");
    match failure.got {
        Got::Words(words) => message.extend(words.as_bytes()),
        Got::Label(label) => quoted(label, &mut message),
    }
    bad_input(message)
}

/// A segment of a JSON pointer (RFC 6901, 3).
fn pointer_segment(key: &[u8], out: &mut Bytes) {
    for &byte in key {
        match byte {
            b'~' => out.extend(b"~0"),
            b'/' => out.extend(b"~1"),
            byte => out.push_one(byte),
        }
    }
}

/// A text of the input in a message: as JSON, and cut where it is long.
fn quoted(label: &'static str, out: &mut Bytes) {
    const LONG: usize = 80;
    let cut = label.char_indices().nth(LONG).map_or(label.len(), |(at, _)| at);
    let shown = label.as_bytes().get(..cut).unwrap_or_default();
    output::string(shown, out);
    if cut < label.len() {
        out.extend("…".as_bytes());
    }
}
