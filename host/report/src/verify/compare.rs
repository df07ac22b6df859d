//! Every comparison of a sentence, and the two cited numbers behind it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use super::numbers::Bound;
use super::reading::Reading;
use crate::evidence::{Category, Evidence, Sense, Typed};
use crate::lexicon::{self, Direction, Domain};
use crate::tokens::Token;

/// What two sides of a comparison may differ in.
const SIDES: [Category; 3] = [Category::Who, Category::Where, Category::When];

/// Two numbers that are compared.
pub type Pair<'v> = (&'v Typed, &'v Typed);

/// Checks all of them, and what is said to be significant; returns what is compared.
pub fn check<'v>(
    reading: &Reading<'_>,
    cited: &[&'v Evidence],
    bound: &'v BTreeMap<usize, Bound>,
    findings: &mut Findings,
) -> Vec<Pair<'v>> {
    let mut compared = Vec::new();
    if comparisons(reading) > 1 {
        findings.refuse("comparison-without-evidence", "it compares more than once: make two sentences of it");
    }
    for at in 0..reading.tokens.len() {
        let Some(word) = reading.word(at) else { continue };
        if lexicon::is_passive(&word) {
            findings.refuse("comparison-without-evidence", format!("\"{word}\": say who is compared, and with whom"));
        }
        let Some((direction, domain)) = lexicon::comparison(&word) else { continue };
        if is_turned(reading, at) {
            let why = format!("\"{word}\" is negated or in the passive: say which of the two is so");
            findings.refuse("wrong-direction", why);
            continue;
        }
        adjacent(reading, at, &word, bound, findings);
        let pairs = pairs(reading, at, domain, cited, bound);
        if pairs.is_empty() {
            let why = format!(
                "nothing that it cites has two numbers, of what the sentence names, that \"{word}\" \
                 compares: say what it is that is compared"
            );
            findings.refuse("comparison-without-evidence", why);
        }
        for (left, right) in &pairs {
            if !holds(direction, left, right) {
                let (one, two) = (&left.number, &right.number);
                findings.refuse("wrong-direction", format!("\"{word}\" is said of {one} beside {two}"));
            }
        }
        compared.extend(pairs);
    }
    significant(reading, &compared, findings);
    compared
}

/// How many words of comparison there are.
pub fn comparisons(reading: &Reading<'_>) -> usize {
    let words = (0..reading.tokens.len()).filter_map(|at| reading.word(at));
    words.filter(|word| lexicon::comparison(word).is_some()).count()
}

/// Whether "not" stands before it in its part, or it is said of who is compared with.
fn is_turned(reading: &Reading<'_>, at: usize) -> bool {
    let stop = (0..at).rfind(|at| matches!(reading.tokens[*at], Token::Stop(_))).unwrap_or(0);
    let negated = (stop..at).filter_map(|at| reading.word(at)).any(|word| lexicon::is_negation(&word));
    let by = (at + 1..=at + 2).any(|at| reading.word(at).as_deref() == Some("by"));
    let was = (1..=2)
        .filter_map(|back| reading.word(at.checked_sub(back)?))
        .any(|word| matches!(word.as_str(), "was" | "were" | "is" | "are" | "been" | "be" | "being" | "get" | "got"));
    // "by" before a number says how much.
    let much = (at + 2..=at + 4).any(|at| matches!(reading.tokens.get(at), Some(Token::Number(..))));
    negated || (by && was) || (by && !much)
}

/// A number right at a word of comparison says how much of it there is.
fn adjacent(reading: &Reading<'_>, at: usize, word: &str, bound: &BTreeMap<usize, Bound>, findings: &mut Findings) {
    let mut before = at;
    while before > 0 && is_filler(reading, before - 1) {
        before -= 1;
    }
    let mut after = at + 1;
    while is_filler(reading, after) {
        after += 1;
    }
    let from = reading.word(after).as_deref() == Some("from");
    let places = [before.checked_sub(1), (!from).then_some(after)];
    for place in places.into_iter().flatten() {
        if bound.get(&place).is_some_and(|bound| !bound.is_difference) {
            let why = format!("the number beside \"{word}\" is not how much: declare a difference");
            findings.refuse("wrong-direction", why);
        }
    }
}

/// Whether a token may stand between a number and the word that says how it compares.
pub fn is_filler(reading: &Reading<'_>, at: usize) -> bool {
    match reading.tokens.get(at) {
        Some(Token::Sign(_)) => true,
        Some(Token::Word(raw)) => {
            let word = reading.word(at).unwrap_or_default();
            let unit =
                crate::unit::after(&[raw]).is_some() || matches!(word.as_str(), "percentage" | "point" | "points");
            unit || matches!(word.as_str(), "by" | "of" | "a" | "an" | "as" | "much") || lexicon::is_significance(&word)
        }
        _ => false,
    }
}

/// The cited numbers that a word of comparison may be about.
fn pairs<'v>(
    reading: &Reading<'_>,
    at: usize,
    domain: Domain,
    cited: &[&'v Evidence],
    bound: &'v BTreeMap<usize, Bound>,
) -> Vec<Pair<'v>> {
    if let Some(pair) = from_to(reading, at, bound) {
        return if domain.holds(&pair.0.unit) { vec![pair] } else { Vec::new() };
    }
    for category in SIDES {
        let Some((left, right)) = reading.sides(at, category) else { continue };
        if left == right {
            continue;
        }
        // Of three, or of two in two places, it is not known which are compared.
        let clear = SIDES.iter().all(|other| {
            let named = reading.named(*other).len();
            if *other == category { named == 2 } else { named <= 1 }
        });
        if !clear {
            return Vec::new();
        }
        let of = |side: &str| -> Vec<&'v Typed> {
            let given = cited.iter().filter(|evidence| !evidence.literature);
            let values = given.flat_map(|evidence| evidence.values.iter());
            let own = BTreeSet::from([side]);
            values.filter(|value| value.tagged(category) == own && domain.holds(&value.unit)).collect()
        };
        let (lefts, rights) = (of(left), of(right));
        let all = lefts.iter().flat_map(|left| rights.iter().map(move |right| (*left, *right)));
        return all.filter(|pair| is_comparable(reading, *pair, category)).collect();
    }
    Vec::new()
}

/// Two numbers of the same thing, alike in all but the side, and of what the sentence names.
fn is_comparable(reading: &Reading<'_>, (left, right): Pair<'_>, side: Category) -> bool {
    let alike = |category| category == side || left.tagged(category) == right.tagged(category);
    let named = |category| {
        let (named, of) = (reading.named(category), left.tagged(category));
        category == side || named.is_empty() || of.is_empty() || !named.is_disjoint(&of)
    };
    // What is higher has to be said: of another metric it may be the other way.
    let metric = left.tagged(Category::What);
    let says_what = metric.is_empty() || !metric.is_disjoint(&reading.named(Category::What));
    left.unit == right.unit
        && says_what
        && alike(Category::What)
        && alike(Category::Where)
        && (side == Category::When || alike(Category::Who) || side == Category::Who)
        && [Category::What, Category::Where].into_iter().all(named)
        && !(left.tagged(Category::What).is_empty() && left.sense.is_none())
}

/// `from 1 to 2`: the second is compared with the first.
fn from_to<'v>(reading: &Reading<'_>, at: usize, bound: &'v BTreeMap<usize, Bound>) -> Option<Pair<'v>> {
    let after = |word: &str, start: usize| {
        let place = (start..reading.tokens.len()).find(|at| reading.word(*at).as_deref() == Some(word))?;
        let number = (place + 1..=place + 2).find(|at| matches!(reading.tokens.get(*at), Some(Token::Number(..))))?;
        bound.get(&number).filter(|bound| !bound.is_derived).map(|bound| (number, &bound.value))
    };
    let (first, from) = after("from", at)?;
    let (_, to) = after("to", first)?;
    let same = from.unit == to.unit
        && from.tagged(Category::What) == to.tagged(Category::What)
        && from.tagged(Category::Where) == to.tagged(Category::Where);
    same.then_some((to, from))
}

fn holds(direction: Direction, left: &Typed, right: &Typed) -> bool {
    let order = left.number.value.cmp(&right.number.value);
    match (direction, left.sense) {
        (Direction::More, _) | (Direction::Better, Some(Sense::Higher)) | (Direction::Worse, Some(Sense::Lower)) => {
            order == Ordering::Greater
        }
        (Direction::Less, _) | (Direction::Better, Some(Sense::Lower)) | (Direction::Worse, Some(Sense::Higher)) => {
            order == Ordering::Less
        }
        (Direction::Equal, _) => order == Ordering::Equal,
        // Nobody said which way is better.
        (Direction::Better | Direction::Worse, None) => false,
    }
}

/// "Significant" is said of two numbers whose intervals do not meet.
fn significant(reading: &Reading<'_>, compared: &[Pair<'_>], findings: &mut Findings) {
    for at in 0..reading.tokens.len() {
        let Some(word) = reading.word(at).filter(|word| lexicon::is_significance(word)) else { continue };
        let apart = |(left, right): &Pair<'_>| match (&left.interval, &right.interval) {
            (Some((low, high)), Some((other_low, other_high))) => {
                low.value > other_high.value || other_low.value > high.value
            }
            _ => false,
        };
        if !compared.is_empty() && compared.iter().all(apart) {
            continue;
        }
        let why = format!("\"{word}\": there are no two intervals that do not meet");
        match word.ends_with("ly") {
            true => findings.weaken("not-significant", why, &format!("{word} "), ""),
            false => findings.refuse("not-significant", why),
        }
    }
}
