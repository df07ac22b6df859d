//! The normal forms of Unicode (UAX #15): NFC, NFD, NFKC, NFKD.
//!
//! Nothing is stored on the way, however many marks a letter has: the marks behind a starter
//! are gone through once for each combining class that occurs, which is the canonical order,
//! and once more for those that are left where the starter took some in. The tables lie in
//! files that `tests/normal.rs` makes from the crate `unicode-normalization` (Unicode 18), and are
//! linked only into what asks for the form.

/// A normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Canonical, composed.
    Nfc,
    /// Canonical, decomposed.
    Nfd,
    /// Compatible, composed.
    Nfkc,
    /// Compatible, decomposed.
    Nfkd,
}

/// Every form with its name, in the order of their numbers.
pub const FORMS: [(&str, Form); 4] =
    [("NFC", Form::Nfc), ("NFD", Form::Nfd), ("NFKC", Form::Nfkc), ("NFKD", Form::Nfkd)];

/// Whole decompositions that are canonical, and those that are only compatible: a count, then
/// for each code point its number (3 bytes), where its text begins (2) and how long it is (1),
/// then the texts.
static CANONICAL: &[u8] = include_bytes!("normal/canonical.bin");
static COMPATIBLE: &[u8] = include_bytes!("normal/compatible.bin");

/// Two code points and what they compose to, three bytes each.
static COMPOSED: &[u8] = include_bytes!("normal/composed.bin");

/// The first and last code point of a range (3 bytes each) and their combining class (1).
static CLASSES: &[u8] = include_bytes!("normal/classes.bin");

const ENTRY: usize = 6;
const PAIR: usize = 9;
const RANGE: usize = 7;

/// A text in the form that a byte numbers.
pub fn normalize(text: &str, form: &[u8], out: &mut impl FnMut(u8)) -> Option<()> {
    match FORMS.get(usize::from(*form.first()?))?.1 {
        Form::Nfc => formed::<false, true>(text, out),
        Form::Nfd => formed::<false, false>(text, out),
        Form::Nfkc => formed::<true, true>(text, out),
        Form::Nfkd => formed::<true, false>(text, out),
    }
    Some(())
}

/// A text in one form, with the tables of no other.
#[inline(always)]
pub fn formed<const COMPATIBLE: bool, const COMPOSE: bool>(text: &str, out: &mut impl FnMut(u8)) {
    let mut rest = Marks::<COMPATIBLE> { text, skipped: 0 };
    // What comes before the first starter belongs to none.
    rest.in_order(&mut |mark, _| put(mark, out));
    rest = rest.behind();
    let mut starter = None;
    while let Some(character) = rest.next() {
        starter = match starter {
            Some(before) if COMPOSE => match composed(before, character) {
                Some(both) => Some(both),
                None => {
                    put(before, out);
                    Some(character)
                }
            },
            _ => Some(character),
        };
        let Some(own) = starter else { break };
        if COMPOSE {
            if let Some(whole) = absorbed(own, rest) {
                starter = Some(whole);
            } else {
                emit(own, rest, out);
                starter = None;
            }
        } else {
            put(own, out);
            rest.in_order(&mut |mark, _| put(mark, out));
        }
        rest = rest.behind();
    }
    if let (Some(last), true) = (starter, COMPOSE) {
        put(last, out);
    }
}

/// A starter with all marks behind it taken in; none where some are left.
fn absorbed<const COMPATIBLE: bool>(starter: char, marks: Marks<'_, COMPATIBLE>) -> Option<char> {
    let mut left = false;
    let whole = taken_in(starter, marks, &mut |_| left = true);
    (!left).then_some(whole)
}

/// Writes a starter with the marks that it takes in, then those that are left.
fn emit<const COMPATIBLE: bool>(starter: char, marks: Marks<'_, COMPATIBLE>, out: &mut impl FnMut(u8)) {
    put(taken_in(starter, marks, &mut |_| ()), out);
    taken_in(starter, marks, &mut |mark| put(mark, out));
}

/// The starter with the marks that it takes in; the others, in canonical order, go to `left`. A
/// mark is kept away by one of its class, or a higher one, that is left before it.
fn taken_in<const COMPATIBLE: bool>(starter: char, marks: Marks<'_, COMPATIBLE>, left: &mut impl FnMut(char)) -> char {
    let (mut whole, mut last) = (starter, 0);
    marks.in_order(&mut |mark, class| match composed(whole, mark) {
        Some(both) if last < class => whole = both,
        _ => {
            last = class;
            left(mark);
        }
    });
    whole
}

/// A place in a text, seen decomposed.
#[derive(Clone, Copy)]
struct Marks<'a, const COMPATIBLE: bool> {
    text: &'a str,
    /// Code points of the first one's decomposition that are behind us.
    skipped: usize,
}

impl<const COMPATIBLE: bool> Iterator for Marks<'_, COMPATIBLE> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let mut characters = self.text.chars();
        let first = characters.next()?;
        let parts = Decomposed::of::<COMPATIBLE>(first);
        let part = parts.get(self.skipped)?;
        self.skipped += 1;
        if parts.get(self.skipped).is_none() {
            (self.text, self.skipped) = (characters.as_str(), 0);
        }
        Some(part)
    }
}

impl<const COMPATIBLE: bool> Marks<'_, COMPATIBLE> {
    /// The marks from here to the next starter, by rising class, those of one class as they are.
    fn in_order(self, each: &mut impl FnMut(char, u8)) {
        let mut last = 0;
        let classes = || self.map(class_of).take_while(|class| *class > 0);
        while let Some(next) = classes().filter(|class| *class > last).min() {
            let marks = self.map(|mark| (mark, class_of(mark))).take_while(|(_, class)| *class > 0);
            marks.filter(|(_, class)| *class == next).for_each(|(mark, class)| each(mark, class));
            last = next;
        }
    }

    /// The place of the next starter.
    fn behind(mut self) -> Self {
        let mut here = self;
        while here.next().is_some_and(|character| class_of(character) > 0) {
            self = here;
        }
        self
    }
}

/// What a code point is made of.
enum Decomposed {
    Itself(char),
    Text(&'static str),
    /// A syllable of Hangul: leading, vowel and perhaps trailing.
    Syllable([u32; 3]),
}

const S_BASE: u32 = 0xAC00;
const L_BASE: u32 = 0x1100;
const V_BASE: u32 = 0x1161;
const T_BASE: u32 = 0x11A7;
const L_COUNT: u32 = 19;
const V_COUNT: u32 = 21;
const T_COUNT: u32 = 28;

impl Decomposed {
    #[inline(always)]
    fn of<const COMPATIBLE_TOO: bool>(character: char) -> Decomposed {
        let code = u32::from(character);
        if code < 0xA0 {
            return Decomposed::Itself(character);
        }
        if let Some(index) = code.checked_sub(S_BASE).filter(|index| *index < L_COUNT * V_COUNT * T_COUNT) {
            let (vowels, trailing) = (index / T_COUNT, index % T_COUNT);
            return Decomposed::Syllable([L_BASE + vowels / V_COUNT, V_BASE + vowels % V_COUNT, T_BASE + trailing]);
        }
        let compatible = if COMPATIBLE_TOO { entry(COMPATIBLE, code) } else { None };
        match compatible.or_else(|| entry(CANONICAL, code)) {
            Some(text) => Decomposed::Text(text),
            None => Decomposed::Itself(character),
        }
    }

    fn get(&self, index: usize) -> Option<char> {
        match self {
            Decomposed::Itself(character) => (index == 0).then_some(*character),
            Decomposed::Text(text) => text.chars().nth(index),
            Decomposed::Syllable(parts) => {
                parts.get(index).filter(|part| **part != T_BASE).and_then(|part| char::from_u32(*part))
            }
        }
    }
}

/// The decomposition of a code point in a table.
fn entry(table: &'static [u8], code: u32) -> Option<&'static str> {
    let (count, rest) = table.split_first_chunk::<2>()?;
    let (entries, texts) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * ENTRY)?;
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let at = entries.partition_point(|entry| three(entry) < code);
    let found @ [_, _, _, low, high, length] = entries.get(at)?;
    let from = usize::from(u16::from_le_bytes([*low, *high]));
    let text = texts.get(from..from + usize::from(*length))?;
    if three(found) != code {
        return None;
    }
    core::str::from_utf8(text).ok()
}

/// The combining class of a code point; 0 for a starter.
fn class_of(character: char) -> u8 {
    let code = u32::from(character);
    // Combining marks begin there.
    if code < 0x300 {
        return 0;
    }
    let (ranges, _) = CLASSES.as_chunks::<RANGE>();
    let at = ranges.partition_point(|range| three(range.get(3..).unwrap_or_default()) < code);
    match ranges.get(at) {
        Some(range @ [.., class]) if three(range) <= code => *class,
        _ => 0,
    }
}

/// What two code points compose to.
fn composed(first: char, second: char) -> Option<char> {
    let (a, b) = (u32::from(first), u32::from(second));
    if let Some(syllable) = syllable(a, b) {
        return char::from_u32(syllable);
    }
    // Below that nothing is a second one.
    if b < 0x300 {
        return None;
    }
    let (pairs, _) = COMPOSED.as_chunks::<PAIR>();
    let both = |pair: &[u8; PAIR]| (three(pair), three(pair.get(3..).unwrap_or_default()));
    let at = pairs.partition_point(|pair| both(pair) < (a, b));
    let pair = pairs.get(at).filter(|pair| both(pair) == (a, b))?;
    char::from_u32(three(pair.get(6..)?))
}

fn syllable(a: u32, b: u32) -> Option<u32> {
    let leading = a.checked_sub(L_BASE).filter(|leading| *leading < L_COUNT);
    let vowel = b.checked_sub(V_BASE).filter(|vowel| *vowel < V_COUNT);
    if let (Some(leading), Some(vowel)) = (leading, vowel) {
        return Some(S_BASE + (leading * V_COUNT + vowel) * T_COUNT);
    }
    let open = a.checked_sub(S_BASE).filter(|index| *index < L_COUNT * V_COUNT * T_COUNT && index % T_COUNT == 0);
    let trailing = b.checked_sub(T_BASE).filter(|trailing| (1..T_COUNT).contains(trailing));
    open.and(trailing).map(|trailing| a + trailing)
}

fn three(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, ..] => u32::from_le_bytes([*a, *b, *c, 0]),
        _ => 0,
    }
}

fn put(character: char, out: &mut impl FnMut(u8)) {
    super::text::put(character, out);
}
