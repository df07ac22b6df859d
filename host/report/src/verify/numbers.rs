//! Every number of a sentence, in digits or in words, and which cited number it is.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use num_traits::{One as _, Signed as _};

use super::Findings;
use super::reading::Reading;
use crate::evidence::{Category, Evidence, Tag, Typed};
use crate::exact::{Exact, ten};
use crate::expression::Operation;
use crate::lexicon;
use crate::sentence::Draft;
use crate::tokens::Token;
use crate::unit::{self, Kind, Unit, is_noun};

/// How far after a number its noun may be.
const NOUN_WITHIN: usize = 4;

/// What a declared expression came to, and what each of its numbers belongs to.
pub struct Derived {
    operation: Operation,
    value: Typed,
    operands: Vec<BTreeSet<Tag>>,
    /// The short names of the evidence of its numbers.
    evidence: Vec<String>,
    /// What the evidence of its numbers says, and the sentence does not.
    lacks: Option<String>,
}

/// A number of a sentence and what it was found to be.
pub struct Bound {
    /// The cited number.
    pub value: Typed,
    /// Whether it is the difference of two.
    pub is_difference: bool,
    /// Whether it was computed.
    pub is_derived: bool,
    /// The short names of the evidence that it is of.
    pub evidence: Vec<String>,
    /// The number as the sentence shows it, in the unit that it has there.
    pub shown: Exact,
    /// How many of that unit one of ours is.
    pub factor: BigRational,
    /// For people.
    pub told: String,
}

/// A number as the sentence has it.
struct Seen {
    at: usize,
    lexeme: String,
    shown: Exact,
    /// Whether it is in words, and so shows no digits.
    in_words: bool,
    /// Whether the word is a multiple or a part.
    is_multiple: bool,
}

impl Derived {
    /// Whether it says how far two numbers are apart.
    fn is_change(&self) -> bool {
        matches!(self.operation, Operation::Difference | Operation::PercentChange)
    }

    /// Whether the sentence says what was computed: a difference stands beside a word of comparison, and
    /// the others are called what they are.
    fn is_called_so(&self, reading: &Reading<'_>, at: usize) -> bool {
        let words = || (0..reading.tokens.len()).filter_map(|at| reading.word(at));
        match self.operation {
            Operation::Ratio | Operation::Count => true,
            Operation::Difference | Operation::PercentChange => {
                is_beside_comparison(reading, at) || words().any(|word| word == "difference")
            }
            other => words().any(|word| operation_of(&word) == Some(other)),
        }
    }
}

/// The computation that a word says was done.
pub fn operation_of(word: &str) -> Option<Operation> {
    Some(match word {
        "difference" => Operation::Difference,
        "sum" | "total" | "together" | "altogether" => Operation::Sum,
        "mean" | "average" => Operation::Mean,
        "minimum" | "least" | "lowest" | "smallest" => Operation::Min,
        "maximum" | "most" | "highest" | "largest" => Operation::Max,
        _ => return None,
    })
}

/// Whether nothing but units and the like is between a number and a word of comparison.
fn is_beside_comparison(reading: &Reading<'_>, at: usize) -> bool {
    let compares = |at: usize| reading.word(at).is_some_and(|word| lexicon::comparison(&word).is_some());
    let mut after = at + 1;
    while super::compare::is_filler(reading, after) {
        after += 1;
    }
    let mut before = at;
    while before > 0 && super::compare::is_filler(reading, before - 1) {
        before -= 1;
    }
    compares(after) || before.checked_sub(1).is_some_and(compares)
}

/// Whether the evidence of a number says what its part of the sentence says, too.
fn said(reading: &Reading<'_>, seen: &Seen, evidence: &Evidence) -> Result<(), Miss> {
    super::cover::says(reading, reading.segment(seen.at), evidence).map_err(Miss::Subject)
}

/// Computes the declared expressions.
pub fn derived(draft: &Draft, reading: &Reading<'_>, cited: &[&Evidence], findings: &mut Findings) -> Vec<Derived> {
    let mut all = Vec::new();
    for expression in &draft.using {
        match expression.evaluate(cited) {
            Ok(value) => {
                let operands = expression.of.iter().filter_map(|of| tags(cited, &of.evidence, &of.value)).collect();
                let used = cited.iter().filter(|one| expression.of.iter().any(|of| of.evidence == one.short()));
                let lacks = used.filter_map(|evidence| super::cover::lacks(reading, evidence)).next();
                let evidence = expression.of.iter().map(|of| of.evidence.clone()).collect();
                all.push(Derived { operation: expression.operation, value, operands, evidence, lacks });
            }
            Err(why) => findings.refuse("bad-expression", format!("{expression}: {why}")),
        }
    }
    all
}

fn tags(cited: &[&Evidence], evidence: &str, value: &str) -> Option<BTreeSet<Tag>> {
    let evidence = cited.iter().find(|one| one.short() == evidence)?;
    evidence.value(value).map(|value| value.tags.clone())
}

/// Finds what each number is.
pub fn bind(
    reading: &Reading<'_>,
    cited: &[&Evidence],
    derived: &[Derived],
    findings: &mut Findings,
) -> BTreeMap<usize, Bound> {
    let mut all = BTreeMap::new();
    for seen in seen(reading, findings) {
        vague(reading, &seen, findings);
        let mut misses = Vec::new();
        let given = cited.iter().filter(|evidence| !evidence.literature);
        let mut given = given.flat_map(|evidence| evidence.values.iter().map(move |value| (*evidence, value)));
        // What was declared comes first: a difference may be equal to one of its numbers.
        let computed = derived.iter().find_map(|derived| {
            fits(reading, &seen, &derived.value, Some(derived)).map_err(|miss| misses.push(miss)).ok()?;
            let told = format!("{} = {} = {}", seen.lexeme, derived.value.number, derived.value.name);
            let (value, evidence) = (derived.value.clone(), derived.evidence.clone());
            let (shown, factor) = (seen.shown.clone(), unit_of(reading, &seen).1);
            Some(Bound { value, is_difference: derived.is_change(), is_derived: true, evidence, shown, factor, told })
        });
        let found = computed.or_else(|| {
            given.by_ref().filter(|_| !seen.is_multiple).find_map(|(evidence, value)| {
                let fits = fits(reading, &seen, value, None).and_then(|()| said(reading, &seen, evidence));
                fits.map_err(|miss| misses.push(miss)).ok()?;
                let told = format!("{} = {} ({}/{})", seen.lexeme, value.number, evidence.short(), value.name);
                let is_difference = value.unit == Unit::Points;
                let (value, evidence) = (value.clone(), vec![evidence.short()]);
                let (shown, factor) = (seen.shown.clone(), unit_of(reading, &seen).1);
                Some(Bound { value, is_difference, is_derived: false, evidence, shown, factor, told })
            })
        });
        match found {
            Some(bound) => drop(all.insert(seen.at, bound)),
            None => report(&seen, misses, findings),
        }
    }
    super::digits::alike(&all, findings);
    all
}

/// The numbers of a sentence.
fn seen(reading: &Reading<'_>, findings: &mut Findings) -> Vec<Seen> {
    let mut all = Vec::new();
    let mut last_word = None;
    for (at, token) in reading.tokens.iter().enumerate().filter(|(at, _)| !reading.is_named(*at)) {
        match token {
            Token::Number(lexeme, shown) => {
                let (lexeme, shown) = (lexeme.clone(), shown.clone());
                all.push(Seen { at, lexeme, shown, in_words: false, is_multiple: false });
            }
            Token::Word(word) => {
                let lower = word.to_lowercase();
                let none = reading.counts_none(at).then(BigRational::default);
                let whole = none.or_else(|| lexicon::number_word(&lower));
                let multiple = lexicon::multiple_word(&lower);
                let is_multiple = whole.is_none();
                let Some(value) = whole.or(multiple) else { continue };
                if last_word == at.checked_sub(1) && last_word.is_some() {
                    findings.refuse("number-words", format!("{word}: write a number of several words in digits"));
                }
                last_word = Some(at);
                let shown = Exact { value, places: None };
                all.push(Seen { at, lexeme: word.clone(), shown, in_words: true, is_multiple });
            }
            _ => {}
        }
    }
    all
}

/// Words that make a number less of one.
fn vague(reading: &Reading<'_>, seen: &Seen, findings: &mut Findings) {
    let dollars = seen.at.checked_sub(1).is_some_and(|at| reading.tokens[at] == Token::Sign('$'));
    let first = if dollars { seen.at - 1 } else { seen.at };
    let before = |back: usize| first.checked_sub(back).and_then(|at| reading.word(at)).unwrap_or_default();
    let (word, earlier) = (before(1), before(2));
    if lexicon::is_hedge(&word) {
        let from = format!("{word} ");
        findings.weaken("vague-number", format!("\"{word} {}\" is no number", seen.lexeme), &from, "");
    } else if lexicon::is_vague(&word) || (word == "to" && earlier == "up") {
        findings.refuse("vague-number", format!("\"{word} {}\" is a bound, and no cited number", seen.lexeme));
    }
}

/// Why a number is not the one; the later ones are nearer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    Value,
    Unit(String),
    Subject(String),
    Sign(String),
    Digits { most: u32, instead: String },
    Few(String),
}

fn fits(reading: &Reading<'_>, seen: &Seen, value: &Typed, derived: Option<&Derived>) -> Result<(), Miss> {
    let (kind, factor) = unit_of(reading, seen);
    let magnitude = derived.is_some() && value.number.value.is_negative() && !seen.shown.value.is_negative();
    let number = match magnitude {
        true => Exact { value: -value.number.value.clone(), places: value.number.places },
        false => value.number.clone(),
    };
    let exact = &number.value * &factor == seen.shown.value;
    let whole = kind == Some(Kind::Percent) && is_whole_or_none(&seen.shown.value);
    let counted = matches!(value.unit, Unit::Count(_) | Unit::Bytes) && factor.is_one() && number.value.is_integer();
    let equal = match seen.in_words || whole || counted {
        true => exact,
        false => number.is_shown_by(&seen.shown, &factor),
    };
    if !equal {
        return Err(Miss::Value);
    }
    has_unit(reading, seen, value, kind)?;
    match derived {
        Some(derived) => {
            belongs_derived(reading, value, derived)?;
            derived.lacks.as_ref().map_or(Ok(()), |why| Err(Miss::Subject(why.clone())))?;
        }
        None => belongs(reading, seen, value)?,
    }
    if derived.is_some_and(|derived| !derived.is_called_so(reading, seen.at)) {
        return Err(Miss::Subject(format!("{} is {}, and is not called so", seen.lexeme, value.name)));
    }
    if magnitude && !compares(reading) {
        return Err(Miss::Sign(format!("{} is less than nothing, and nothing says so", value.number)));
    }
    digits(seen, &number, &factor)?;
    super::digits::enough(&seen.shown, &number, &value.unit, &factor)
        .map_err(|why| Miss::Few(format!("{} {why}", seen.lexeme)))
}

/// A hundred percent, or none at all: that is said of all or none, and not of nearly so many.
fn is_whole_or_none(shown: &BigRational) -> bool {
    *shown == BigRational::from_integer(100.into()) || *shown == BigRational::from_integer(0.into())
}

/// Whether there is a word of comparison; which way it is, is checked elsewhere.
fn compares(reading: &Reading<'_>) -> bool {
    (0..reading.tokens.len()).filter_map(|at| reading.word(at)).any(|word| lexicon::comparison(&word).is_some())
}

/// The unit that stands at a number.
fn unit_of(reading: &Reading<'_>, seen: &Seen) -> (Option<Kind>, BigRational) {
    if seen.is_multiple {
        return (None, BigRational::one());
    }
    if seen.at.checked_sub(1).is_some_and(|at| reading.tokens[at] == Token::Sign('$')) {
        return (Some(Kind::Dollars), BigRational::one());
    }
    let words: Vec<&str> = reading.tokens[seen.at + 1..].iter().take(2).map_while(word).collect();
    unit::after(&words).map_or((None, BigRational::one()), |shown| (Some(shown.of), shown.factor))
}

fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) => Some(word),
        Token::Sign('%') => Some("%"),
        _ => None,
    }
}

fn has_unit(reading: &Reading<'_>, seen: &Seen, value: &Typed, kind: Option<Kind>) -> Result<(), Miss> {
    let wrong = |shown: &str| Err(Miss::Unit(format!("{} is a number of {}, {shown}", seen.lexeme, value.unit.name())));
    if seen.is_multiple {
        let fits = matches!(value.unit, Unit::Times | Unit::Share);
        return if fits { Ok(()) } else { wrong("and no part or multiple") };
    }
    if let Some(kind) = kind {
        return if value.unit.is_shown_in(kind) { Ok(()) } else { wrong("and has another unit beside it") };
    }
    let dollar = seen.at.checked_sub(1).is_some_and(|at| matches!(reading.tokens[at], Token::Sign(_)));
    match &value.unit {
        _ if dollar => wrong("and has another unit beside it"),
        Unit::Count(noun) => match has_noun(reading, seen.at, noun) {
            true => Ok(()),
            false => wrong("and that has to stand behind it"),
        },
        unit if !unit.is_shown_bare() => wrong("and that has to stand beside it"),
        _ if is_followed_by_nothing(reading, seen.at) => Ok(()),
        _ => wrong("and something else stands behind it"),
    }
}

/// Whether the noun follows, with nothing but names of things in between.
fn has_noun(reading: &Reading<'_>, at: usize, noun: &str) -> bool {
    for next in at + 1..reading.tokens.len().min(at + 1 + NOUN_WITHIN) {
        let Token::Word(word) = &reading.tokens[next] else { return false };
        if is_noun(noun, &word.to_lowercase()) {
            return true;
        }
        if !reading.is_named(next) {
            return false;
        }
    }
    false
}

/// Whether what follows a number without a unit is no noun that it would count.
fn is_followed_by_nothing(reading: &Reading<'_>, at: usize) -> bool {
    let Some(next) = reading.tokens.get(at + 1) else { return true };
    match next {
        Token::Stop(_) => true,
        Token::Word(_) if reading.is_named(at + 1) => false,
        Token::Word(word) => {
            let word = word.to_lowercase();
            lexicon::is_glue(&word) || lexicon::is_joint(&word) || lexicon::comparison(&word).is_some()
        }
        _ => false,
    }
}

/// Whether a cited number belongs to what its part of the sentence is about.
fn belongs(reading: &Reading<'_>, seen: &Seen, value: &Typed) -> Result<(), Miss> {
    let segment = reading.segment(seen.at);
    for category in crate::evidence::CATEGORIES {
        let (of, own) = (value.tagged(category), reading.own(segment, category));
        let about = reading.about(segment, category);
        let wrong = |of: &BTreeSet<&str>, about: &BTreeSet<&str>| {
            let list = |names: &BTreeSet<&str>| match names.is_empty() {
                true => "nothing of the kind".to_owned(),
                false => names.iter().copied().collect::<Vec<_>>().join(", "),
            };
            Miss::Subject(format!("{} belongs to {}, and this part is about {}", seen.lexeme, list(of), list(about)))
        };
        if !own.is_subset(&of) {
            return Err(wrong(&of, &own));
        }
        let has_who = !value.tagged(Category::Who).is_empty();
        let needed = !of.is_empty() && (category != Category::When || !has_who);
        if needed && of.is_disjoint(&about) {
            return Err(wrong(&of, &about));
        }
        if !of.is_empty() && !about.is_empty() && of.is_disjoint(&about) {
            return Err(wrong(&of, &about));
        }
    }
    Ok(())
}

/// The same of one that was computed: the sentence names what its numbers belong to, all of that and
/// nothing else, in that order.
fn belongs_derived(reading: &Reading<'_>, value: &Typed, derived: &Derived) -> Result<(), Miss> {
    for category in [Category::Who, Category::Where, Category::What] {
        let (of, named) = (value.tagged(category), reading.named(category));
        if of != named {
            let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
            let why = format!("{} is of {}, and the sentence names {}", value.name, list(&of), list(&named));
            return Err(Miss::Subject(why));
        }
    }
    // What comes of several times is said of all of them.
    let (times, named) = (value.tagged(Category::When), reading.named(Category::When));
    let several = derived.operands.iter().any(|tags| crate::evidence::tagged(tags, Category::When) != times);
    if !named.is_subset(&times) || (several && named != times) {
        let times: Vec<&str> = times.into_iter().collect();
        return Err(Miss::Subject(format!(
            "{} is of {}, and the sentence names another time",
            value.name,
            times.join(", ")
        )));
    }
    let ordered = matches!(derived.operation, Operation::Difference | Operation::Ratio | Operation::PercentChange);
    let [first, second] = derived.operands.as_slice() else { return Ok(()) };
    if !ordered {
        return Ok(());
    }
    let place = |mine: &BTreeSet<Tag>, other: &BTreeSet<Tag>| {
        let own = |mention: &&lexicon::Mention| mine.contains(&mention.tag) && !other.contains(&mention.tag);
        reading.mentions.iter().find(own).map(|mention| mention.at)
    };
    match (place(first, second), place(second, first)) {
        (Some(first), Some(second)) if first < second => Ok(()),
        _ => Err(Miss::Subject(format!("{} is the other way around", value.name))),
    }
}

/// A number may not show more digits than are known.
fn digits(seen: &Seen, number: &Exact, factor: &BigRational) -> Result<(), Miss> {
    let (Some(known), Some(shown)) = (number.places, seen.shown.places) else { return Ok(()) };
    let power = (0..=known).find(|power| *factor == BigRational::from_integer(ten(*power)));
    let Some(most) = power.and_then(|power| known.checked_sub(power)) else { return Ok(()) };
    if shown <= most {
        return Ok(());
    }
    let instead = Exact { value: &number.value * factor, places: None }.shown(most);
    Err(Miss::Digits { most, instead })
}

/// Says what is wrong with a number that none is.
fn report(seen: &Seen, misses: Vec<Miss>, findings: &mut Findings) {
    let lexeme = &seen.lexeme;
    match misses.into_iter().max() {
        None | Some(Miss::Value) => {
            let why = format!("{lexeme} is no cited number and no declared expression of cited numbers");
            findings.refuse("number-unsupported", why);
        }
        Some(Miss::Unit(why)) => findings.refuse("wrong-unit", why),
        Some(Miss::Subject(why)) => findings.refuse("wrong-subject", why),
        Some(Miss::Sign(why)) => findings.refuse("wrong-direction", why),
        Some(Miss::Few(why)) => findings.refuse("too-few-digits", why),
        Some(Miss::Digits { most, instead }) => {
            let why = format!("{lexeme} shows more than the {most} digits after the point that are known");
            findings.weaken("too-many-digits", why, lexeme, &instead);
        }
    }
}
