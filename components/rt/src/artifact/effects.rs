//! Effects: the replies so far, requests for the next one, and the state that takes a call
//! from a request to its reply. Replay is the continuation: a call that is resumed is
//! evaluated from the start, and every effect up to the new reply answers from the state.
//!
//! ```text
//! state   0: "ACS1"   4: the program's id, 32 bytes   36: checksum of the rest   44: lines
//! lines   the input, then for each reply `+` and its value or `-` and the message, all in
//!         canonical JSON, with a line feed between them
//! ```
//!
//! Lines and not one list, because a value may be as deep as a JSON text may be.

use super::arena::{self, Bytes, allocate_many};
use super::input::rt_read;
use super::node::{Handle, Member, Node, UNDEFINED, get, put};
use super::outcome::{bad_input, json_error, returned, rt_abstain, rt_answer, rt_unsupported};
use super::output;
use crate::kernels::text::{FNV, fnv};

/// The most bytes of a state. A call that would need more abstains.
const MAX_STATE: usize = 1 << 20;

const VERSION: &[u8; 4] = b"ACS1";
const ID: usize = 32;
const CHECKSUM: usize = VERSION.len() + ID;
const LINES: usize = CHECKSUM + 8;

const OK: &[u8] = b"ok";
const ERR: &[u8] = b"err";

/// How the message begins where no reply came for a reason of the runner's own: no error of a
/// tool, so that no recording says what follows it.
const RUNNER_FAILED: &str = "runner-failed: ";

/// As novel as can be.
const MOST: u32 = 1_000_000;

/// The call that is under way.
struct Call {
    /// The id of the program.
    id: *const u8,
    input: Handle,
    /// A member `ok` or `err` for each reply.
    replies: *const Member,
    count: usize,
    /// How many effects were answered.
    next: usize,
}

static mut CALL: Call = Call { id: core::ptr::null(), input: UNDEFINED, replies: core::ptr::null(), count: 0, next: 0 };

fn call() -> &'static mut Call {
    // SAFETY: a module has one thread, and no two of these live at once.
    unsafe { &mut *(&raw mut CALL) }
}

impl Call {
    fn replies(&self) -> &'static [Member] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: `resumed` wrote so many members there.
        unsafe { core::slice::from_raw_parts(self.replies, self.count) }
    }

    fn id(&self) -> &'static [u8] {
        // SAFETY: generated code passes the address of a constant of so many bytes.
        unsafe { core::slice::from_raw_parts(self.id, ID) }
    }
}

/// Room for so many words, all 0: the values of a graph that is being evaluated.
#[unsafe(no_mangle)]
extern "C" fn rt_frame(words: usize) -> *mut u32 {
    let frame = allocate_many::<u32>(words);
    // SAFETY: just allocated; zero is a `u32`.
    unsafe { frame.write_bytes(0, words) };
    frame
}

/// Begins a call of `run`.
#[unsafe(no_mangle)]
extern "C" fn rt_start(input: Handle, id: *const u8) {
    *call() = Call { id, input, replies: core::ptr::null(), count: 0, next: 0 };
}

/// Begins a call of `resume`: the input of the call that the state is of; null where the
/// call has ended already.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_resume(
    state: *const u8,
    state_length: usize,
    case: u32,
    reply: *const u8,
    reply_length: usize,
    id: *const u8,
) -> Handle {
    let end = (state as usize).saturating_add(state_length).max((reply as usize).saturating_add(reply_length));
    arena::rt_begin(0, end);
    rt_start(UNDEFINED, id);
    // SAFETY: the entry passes on what the host says about its arguments; an address outside
    // memory traps.
    let (state, reply) =
        unsafe { (core::slice::from_raw_parts(state, state_length), core::slice::from_raw_parts(reply, reply_length)) };
    match checked(state) {
        Ok(lines) => resumed(lines, case, reply),
        Err(message) => refuse(message),
    }
}

/// Ends the call.
fn refuse(message: &'static str) -> Handle {
    rt_unsupported(message.as_ptr() as u32, message.len() as u32);
    UNDEFINED
}

/// The lines of a state that this program made, or something that looks just like one.
fn checked(state: &'static [u8]) -> Result<&'static [u8], &'static str> {
    if state.len() > MAX_STATE {
        return Err("the state is larger than any that an artifact makes");
    }
    let (Some(head), Some(sum), Some(lines)) = (state.get(..CHECKSUM), state.get(CHECKSUM..LINES), state.get(LINES..))
    else {
        return Err("the state is too short to be one");
    };
    if !head.starts_with(VERSION) {
        return Err("this is no state, or one of another version of artifacts");
    }
    if head.get(VERSION.len()..) != Some(call().id()) {
        return Err("the state was made by another artifact");
    }
    if sum != checksum(head, lines).to_le_bytes() {
        return Err("the state is damaged: its checksum is another one");
    }
    Ok(lines)
}

fn checksum(head: &[u8], lines: &[u8]) -> u64 {
    fnv(fnv(FNV, head), lines)
}

/// Reads input and replies, adds the new reply, and gives the input.
fn resumed(lines: &'static [u8], case: u32, reply: &'static [u8]) -> Handle {
    const ODD: &str = "the state is not in canonical form";
    let count = 1 + lines.iter().filter(|&&byte| byte == b'\n').count();
    let replies = allocate_many::<Member>(count);
    let mut lines = lines.split(|&byte| byte == b'\n');
    let input = canonical(lines.next().unwrap_or_default());
    if input.is_null() {
        return refuse(ODD);
    }
    let mut written = 0;
    for line in lines {
        let member = match line.split_first() {
            Some((b'+', value)) => member(OK, canonical(value)),
            Some((b'-', message)) => member(ERR, canonical(message)).filter(|member| member.value.as_text().is_some()),
            _ => None,
        };
        let Some(member) = member else { return refuse(ODD) };
        // SAFETY: there are fewer of these lines than `count`.
        unsafe { replies.add(written).write(member) };
        written += 1;
    }
    let Some(last) = received(case, reply) else { return UNDEFINED };
    // SAFETY: the last of them.
    unsafe { replies.add(written).write(last) };
    *call() = Call { id: call().id, input, replies, count, next: 0 };
    input
}

/// The value of a canonical text; null for any other text.
fn canonical(text: &'static [u8]) -> Handle {
    // SAFETY: a slice is what it says.
    let value = unsafe { rt_read(text.as_ptr(), text.len()) };
    let mut again = Bytes::unbounded();
    if let Some(node) = get(value) {
        output::value(node, &mut again);
    }
    if again.finish() == Some(text) { value } else { UNDEFINED }
}

fn member(key: &'static [u8], value: Handle) -> Option<Member> {
    Some(Member { key: key.as_ptr() as u32, key_length: key.len() as u32, value: *get(value)? })
}

/// The reply that the host brings; otherwise the call has ended.
fn received(case: u32, reply: &'static [u8]) -> Option<Member> {
    let (key, text) = if case == 0 {
        (OK, reply)
    } else {
        // A message becomes JSON and is read as such, which finds what is no text.
        let mut quoted = Bytes::unbounded();
        output::string(reply, &mut quoted);
        (ERR, quoted.finish()?)
    };
    // SAFETY: a slice is what it says.
    let received = member(key, unsafe { rt_read(text.as_ptr(), text.len()) });
    if received.is_none() {
        let mut message = Bytes::unbounded();
        message.extend(b"the reply: ");
        json_error(&mut message);
        bad_input(message);
    }
    received
}

/// Asks for an effect: what was replied, or null where the call has ended, with a request
/// or with an abstention.
#[unsafe(no_mangle)]
extern "C" fn rt_effect(input: Handle, capability: u32, capability_length: u32, catches: u32, limit: u32) -> Handle {
    const FAILED: &[u8] = b"effect-failed";
    let call = call();
    let Some(reply) = call.replies().get(call.next) else {
        request(call, input, capability, capability_length, limit);
        return UNDEFINED;
    };
    call.next += 1;
    let runner_failed = reply.key() == ERR && reply.value.as_text().is_some_and(|text| text.starts_with(RUNNER_FAILED));
    if catches != 0 && !runner_failed {
        put(Node::of_record(core::slice::from_ref(reply)))
    } else if reply.key() == OK {
        &reply.value
    } else {
        rt_abstain(FAILED.as_ptr() as u32, FAILED.len() as u32, MOST, limit);
        UNDEFINED
    }
}

/// Ends the call with a request.
fn request(call: &Call, input: Handle, capability: u32, capability_length: u32, limit: u32) {
    const TOO_LARGE: &[u8] = b"state-limit";
    let mut text = Bytes::unbounded();
    if let Some(node) = get(input) {
        output::value(node, &mut text);
    }
    let text = text.finish().unwrap_or_default();
    let state = state(call);
    if state.len() > MAX_STATE {
        rt_abstain(TOO_LARGE.as_ptr() as u32, TOO_LARGE.len() as u32, MOST, limit);
        return;
    }
    returned([
        0,
        2,
        capability,
        capability_length,
        text.as_ptr() as u32,
        text.len() as u32,
        state.as_ptr() as u32,
        state.len() as u32,
    ]);
}

fn state(call: &Call) -> &'static [u8] {
    let mut bytes = Bytes::unbounded();
    bytes.extend(VERSION);
    bytes.extend(call.id());
    bytes.push_word(0);
    if let Some(input) = get(call.input) {
        output::value(input, &mut bytes);
    }
    for reply in call.replies() {
        bytes.extend(if reply.key() == OK { b"\n+" } else { b"\n-" });
        output::value(&reply.value, &mut bytes);
    }
    let state = bytes.finish().unwrap_or_default();
    if let (Some(head), Some(lines)) = (state.get(..CHECKSUM), state.get(LINES..)) {
        let sum = checksum(head, lines);
        // SAFETY: the eight bytes between the two; nobody else has seen them yet.
        unsafe { state.as_ptr().add(CHECKSUM).cast_mut().cast::<u64>().write_unaligned(sum) };
    }
    state
}

/// Ends the call with its answer.
#[unsafe(no_mangle)]
extern "C" fn rt_finish(value: Handle) -> *const u32 {
    const MORE: &str = "the state holds replies that nothing asked for";
    let call = call();
    if call.next < call.count {
        return rt_unsupported(MORE.as_ptr() as u32, MORE.len() as u32);
    }
    rt_answer(value)
}
