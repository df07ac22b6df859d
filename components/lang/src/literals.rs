//! Arguments that must be literals, because they say how an operator works: what they may
//! be, what they cost, and the bytes that kernels read.

use auto_rt::kernels::class::{CLASSES, TOKENS};
use auto_rt::kernels::date::PARTS;
use auto_rt::kernels::normal::FORMS;
use auto_rt::kernels::number::ROUNDINGS;
use auto_rt::kernels::recase::STYLES as CASES;
use auto_rt::kernels::span::UNITS;

use crate::Op;
use crate::format::{self, NumberFormat, STYLES};
use crate::layout::{self, Layout};
use crate::ops::KINDS;
use crate::pattern::{Pattern, Position};

/// What a literal argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// The name of a class of tokens.
    Class,
    /// The name of a kind of value.
    Kind,
    /// A [`Pattern`].
    Pattern,
    /// A [`Position`].
    Position,
    /// A side of a text.
    Side,
    /// A way to write words.
    Case,
    /// How a number is rounded.
    Rounding,
    /// One of [`STYLES`].
    NumberStyle,
    /// A [`NumberFormat`].
    NumberFormat,
    /// A [`Layout`].
    Layout,
    /// Layouts of which any may be met.
    Layouts,
    /// The name of a part of a date.
    DatePart,
    /// The name of a unit of time.
    DateUnit,
    /// The name of a normal form.
    Form,
}

/// The first names of a table.
macro_rules! names {
    ($table:ident, $count:expr) => {{
        let mut names = [""; $count];
        let mut at = 0;
        while at < $count {
            names[at] = $table[at].0;
            at += 1;
        }
        names
    }};
}

/// The names of classes whose tokens are not empty.
const TOKEN_NAMES: [&str; TOKENS] = names!(CLASSES, TOKENS);
const ROUNDING_NAMES: [&str; ROUNDINGS.len()] = names!(ROUNDINGS, ROUNDINGS.len());
const PART_NAMES: [&str; PARTS.len()] = names!(PARTS, PARTS.len());
const CASE_NAMES: [&str; CASES.len()] = names!(CASES, CASES.len());
/// In the order of their numbers.
const SIDES: [&str; 3] = ["left", "right", "both"];
const FORM_NAMES: [&str; FORMS.len()] = names!(FORMS, FORMS.len());
const UNIT_NAMES: [&str; UNITS.len()] = names!(UNITS, UNITS.len());

/// Which of some names it is, as the byte that kernels read.
fn number_in(names: &[&str], text: &str) -> Option<Vec<u8>> {
    Some(vec![names.iter().position(|name| *name == text)? as u8])
}

impl Op {
    /// The arguments that must be literals.
    pub fn literals(self) -> &'static [(usize, Literal)] {
        match self {
            Op::Token => &[(1, Literal::Class)],
            Op::TypeIs => &[(1, Literal::Kind)],
            Op::Match | Op::Matches | Op::Has | Op::SplitOn | Op::Substitute => &[(1, Literal::Pattern)],
            Op::Cut => &[(1, Literal::Position), (2, Literal::Position)],
            Op::Round => &[(2, Literal::Rounding)],
            Op::Pad => &[(3, Literal::Side)],
            Op::Recase => &[(1, Literal::Case)],
            Op::Normalize => &[(1, Literal::Form)],
            Op::ReadDate => &[(1, Literal::Layouts)],
            Op::PrintDate => &[(1, Literal::Layout)],
            Op::DatePart => &[(1, Literal::DatePart)],
            Op::DateAdd | Op::DateDiff => &[(2, Literal::DateUnit)],
            Op::DateRound => &[(2, Literal::DateUnit), (3, Literal::Rounding)],
            Op::ReadNumber => &[(1, Literal::NumberStyle)],
            Op::PrintNumber => &[(1, Literal::NumberFormat)],
            _ => &[],
        }
    }

    /// What the argument at an index must be, where it must be a literal.
    pub fn literal(self, index: usize) -> Option<Literal> {
        self.literals().iter().find(|(at, _)| *at == index).map(|(_, literal)| *literal)
    }
}

impl Literal {
    /// Why a text is not such.
    pub fn check(self, text: &str) -> Result<(), String> {
        let one_of = |what: &str, names: &[&str]| {
            if names.contains(&text) { Ok(()) } else { Err(format!("the {what} is one of {}", names.join(", "))) }
        };
        match self {
            Literal::Class => one_of("class", &TOKEN_NAMES),
            Literal::Kind => one_of("kind", &KINDS),
            Literal::Pattern => Pattern::parse(text).map(drop),
            Literal::Position => Position::parse(text).map(drop),
            Literal::Side => one_of("side", &SIDES),
            Literal::Case => one_of("style", &CASE_NAMES),
            Literal::Rounding => one_of("rounding", &ROUNDING_NAMES),
            Literal::NumberStyle => one_of("style", &STYLES),
            Literal::NumberFormat => NumberFormat::parse(text).map(drop),
            Literal::Layout => Layout::parse(text).map(drop),
            Literal::Layouts => layout::layouts(text).map(drop),
            Literal::DatePart => one_of("part", &PART_NAMES),
            Literal::DateUnit => one_of("unit", &UNIT_NAMES),
            Literal::Form => one_of("form", &FORM_NAMES),
        }
    }

    /// The bytes that kernels read, where they read any.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Literal::Class | Literal::Kind => None,
            Literal::Pattern => Some(Pattern::parse(text).ok()?.encode()),
            Literal::Position => Some(Position::parse(text).ok()?.encode()),
            Literal::Side => number_in(&SIDES, text),
            Literal::Case => number_in(&CASE_NAMES, text),
            Literal::Rounding => number_in(&ROUNDING_NAMES, text),
            Literal::DatePart => number_in(&PART_NAMES, text),
            Literal::DateUnit => number_in(&UNIT_NAMES, text),
            Literal::Form => number_in(&FORM_NAMES, text),
            Literal::Layout => Some(Layout::parse(text).ok()?.encode()),
            Literal::Layouts => Some(layout::encode(&layout::layouts(text).ok()?)),
            Literal::NumberStyle => format::encode_style(text),
            Literal::NumberFormat => Some(NumberFormat::parse(text).ok()?.encode()),
        }
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(self, text: &str) -> u32 {
        match self {
            Literal::Class | Literal::Kind => 4,
            Literal::Side | Literal::Form => 2,
            Literal::Case | Literal::Rounding | Literal::NumberStyle | Literal::DatePart | Literal::DateUnit => 3,
            Literal::Layout => Layout::parse(text).map_or(u32::MAX, |layout| layout.cost()),
            Literal::Layouts => layout::layouts(text)
                .map_or(u32::MAX, |layouts| layouts.iter().fold(0, |sum, layout| sum + 2 + layout.cost())),
            Literal::NumberFormat => NumberFormat::parse(text).map_or(u32::MAX, |format| format.cost()),
            Literal::Pattern => Pattern::parse(text).map_or(u32::MAX, |pattern| pattern.cost()),
            Literal::Position => Position::parse(text).map_or(u32::MAX, |position| position.cost()),
        }
    }

    /// Some that are right, for tests and for people.
    pub fn examples(self) -> &'static [&'static str] {
        match self {
            Literal::Class => &TOKEN_NAMES,
            Literal::Kind => &KINDS,
            Literal::Side => &SIDES,
            Literal::Case => &CASE_NAMES,
            Literal::Rounding => &ROUNDING_NAMES,
            Literal::DatePart => &PART_NAMES,
            Literal::DateUnit => &UNIT_NAMES,
            Literal::Form => &FORM_NAMES,
            Literal::Layout => &[
                "yyyy-MM-dd",
                "EEEE, MMMM ddd, yyyy",
                "d MMM yy",
                "h:mm a",
                "hh:mm:ss.SSS aaa",
                "'Q'Q ''yyyy",
                "D w EEE",
                "H:m:s aa Z",
                "M/dd",
                "HHmm",
            ],
            Literal::Layouts => &[
                "yyyy-MM-dd|M/d/yyyy|MMMM d, yyyy",
                "d/M/yyyy|H:mm:ss|d MMMM yyyy",
                "d-MMM-yyyy|h:mm a|h aaa|yyyy",
                "EEE, d MMM yy|HHmm|ddMMyyyy",
                "yyyy-MM-dd'T'HH:mm:ssZ|yyyy D",
                "ddd MMMM|Hmm|M/yyyy",
                "yyyy-MM-dd",
                "H:mm",
            ],
            Literal::NumberStyle => &STYLES,
            Literal::NumberFormat => &[
                "0",
                "#",
                "$#,##0.00",
                "0.##",
                "000",
                "#.##0,0# €",
                "0%",
                "+0.0;(0)",
                "?????0.??",
                "'x'0,000,000.000",
                ".00",
                "# ##0",
            ],
            Literal::Pattern => &[
                "digits",
                "[,;] space",
                "'-'",
                "upper digits",
                "proper",
                "line_start word",
                "number",
                "letters punct",
                "digits '-' digits end",
                "'a' 'b'",
                "email",
                "time",
            ],
            Literal::Position => &[
                "0",
                "2",
                "-1",
                "^ digits",
                "digits ^ #1",
                "> ^ digits #1",
                "^ end",
                "start upper ^",
                "' ' ^ letters #-1",
                "> digits ^",
                "lower ^ upper",
                "^ '-' #-1",
                "> ^ [,;.]",
                "line_start ^ #1",
                "> ^ line_end",
                "^ 'a' #-2",
                "'a' ^ 'b'",
                "^ money",
                "^ proper space",
                "id ^",
            ],
        }
    }
}
