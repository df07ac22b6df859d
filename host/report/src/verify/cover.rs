//! The words of a sentence beside its numbers and names: each part has to be said by one cited
//! evidence about the same things.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::compare::Pair;
use super::numbers::Bound;
use super::reading::Reading;
use super::{Findings, all_tags};
use crate::evidence::{CATEGORIES, Category, Evidence};
use crate::lexicon::{self, stem};
use crate::tokens::Token;
use crate::unit;

/// What is known of the numbers of a sentence.
pub struct Given<'v> {
    /// What each of them is.
    pub bound: &'v BTreeMap<usize, Bound>,
    /// What is compared.
    pub compared: Vec<Pair<'v>>,
    /// Whether what is named is known to be just what is compared or computed.
    pub computed: bool,
}

impl Given<'_> {
    /// Whether a part that rests on an evidence gives a number of it, where it has one: of nothing at
    /// all it would say that there is some. A part that only names something may leave it to another.
    fn gives(&self, range: &Range<usize>, part: &Part, evidence: &Evidence) -> bool {
        let id = evidence.short();
        let compares = |(one, other): &Pair<'_>| evidence.values.contains(one) || evidence.values.contains(other);
        let gives = |(at, bound): (&usize, &Bound)| {
            bound.evidence.contains(&id) && (bound.is_derived || !part.tells || range.contains(at))
        };
        evidence.values.is_empty() || self.bound.iter().any(gives) || self.compared.iter().any(compares)
    }
}

/// Checks every part.
pub fn check(reading: &Reading<'_>, cited: &[&Evidence], given: &Given<'_>, findings: &mut Findings) {
    // Where a number is wrong, that is what is told.
    let numbers = findings.reasons.is_empty();
    for at in 0..reading.segments.len() {
        let part = Part::of(reading, at);
        if part.is_empty(reading, at) {
            continue;
        }
        if !given.computed {
            listed(reading, &part, at, findings);
        }
        let mut misses: Vec<Miss> = Vec::new();
        let said = cited.iter().filter(|evidence| !evidence.literature).any(|evidence| {
            let said = part.said_by(reading, at, evidence).and_then(|()| {
                let gives = !numbers || given.gives(&reading.segments[at], &part, evidence);
                if gives { Ok(()) } else { Err(Miss::Number(evidence.text.clone())) }
            });
            said.map_err(|miss| misses.push(miss)).is_ok()
        });
        if !said {
            report(misses, findings);
        }
    }
    let tells = (0..reading.segments.len()).any(|at| Part::of(reading, at).tells);
    if findings.reasons.is_empty() && !tells && given.bound.is_empty() && given.compared.is_empty() && !given.computed {
        findings.refuse("not-a-sentence", "it names something, and says nothing of it");
    }
}

/// Whether an evidence says a part; an error says what it does not.
pub fn says(reading: &Reading<'_>, segment: usize, evidence: &Evidence) -> Result<(), String> {
    let part = Part::of(reading, segment);
    let all = || part.says_all(&Said::of(reading, evidence));
    part.said_by(reading, segment, evidence).and_then(|()| all()).map_err(|miss| match miss {
        Miss::Lacks(word) => format!("what is cited of the number says {word:?}, which this part lacks"),
        Miss::Subject(name) => format!("the number is not cited of {name}"),
        Miss::Word(word) => format!("what is cited of the number has no word {word:?}"),
        Miss::Voice(word) => format!("what is cited of the number says {word:?} the other way around"),
        Miss::Negation => "what is cited of the number differs in a negation".to_owned(),
        Miss::Number(text) => format!("its number is left out: \"{text}\""),
    })
}

/// What an evidence says of a number, and no part of a sentence does.
pub fn lacks(reading: &Reading<'_>, evidence: &Evidence) -> Option<String> {
    let parts: Vec<Part> = (0..reading.segments.len()).map(|at| Part::of(reading, at)).collect();
    let all = Part {
        words: parts.iter().flat_map(|part| part.words.iter().cloned()).collect(),
        done: BTreeSet::new(),
        code: parts.iter().flat_map(|part| part.code.iter().cloned()).collect(),
        negated: false,
        tells: true,
    };
    match all.says_all(&Said::of(reading, evidence)) {
        Err(Miss::Lacks(word)) => Some(format!("what is cited says {word:?}, which the sentence lacks")),
        _ => None,
    }
}

/// A part that only names something says of it what another part says of something else ("A and B
/// scored 1"): nobody checks that.
fn listed(reading: &Reading<'_>, part: &Part, segment: usize, findings: &mut Findings) {
    let number = reading.segments[segment].clone().any(|at| match &reading.tokens[at] {
        Token::Number(..) => !reading.is_named(at),
        Token::Word(_) => {
            reading.counts_none(at) || reading.word(at).is_some_and(|word| lexicon::number_word(&word).is_some())
        }
        _ => false,
    });
    if number || !part.words.is_empty() || !part.code.is_empty() {
        return;
    }
    for category in [Category::Who, Category::Where, Category::When, Category::Status] {
        let own = reading.own(segment, category);
        // "A is valid" says of A that it is.
        let other = match category {
            Category::Who => Category::Status,
            Category::Status => Category::Who,
            category => category,
        };
        let says = other != category && !reading.own(segment, other).is_empty();
        if !own.is_empty() && !says && reading.named(category).len() > 1 {
            let names: Vec<&str> = own.into_iter().collect();
            let why = format!("nothing of its own is said of {}: say it in a sentence of its own", names.join(", "));
            findings.refuse("wrong-subject", why);
        }
    }
}

/// Why an evidence does not say a part; the later ones are nearer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    Subject(String),
    Word(String),
    Lacks(String),
    /// A word of what does something, where the evidence has it of what it is done to, or the other way.
    Voice(String),
    Negation,
    Number(String),
}

fn report(misses: Vec<Miss>, findings: &mut Findings) {
    match misses.into_iter().max() {
        None => findings.refuse("no-evidence", "nothing that it cites says it"),
        Some(Miss::Subject(name)) => {
            findings.refuse("wrong-subject", format!("no cited evidence says this of {name}"));
        }
        Some(Miss::Word(word)) => {
            let why = format!("no cited evidence about the same thing has the word {word:?}");
            findings.refuse("word-unsupported", why);
        }
        Some(Miss::Lacks(word)) => {
            findings.refuse(
                "word-unsupported",
                format!("it lacks {word:?}, without which the evidence says something else"),
            );
        }
        Some(Miss::Voice(word)) => {
            let why = format!("what it cites says {word:?} the other way around: of what does it, or it is done to");
            findings.refuse("word-unsupported", why);
        }
        Some(Miss::Number(text)) => {
            let why = format!("what it cites is a number, and is nothing without it: give the number of \"{text}\"");
            findings.refuse("number-left-out", why);
        }
        Some(Miss::Negation) => {
            findings
                .refuse("negation", "what it cites says it with a negation that it lacks, or without one that it has");
        }
    }
}

/// What a part says beside numbers and names.
struct Part {
    words: BTreeSet<String>,
    /// The stems of those that something is done to: "was proposed" is not "proposed".
    done: BTreeSet<String>,
    code: Vec<String>,
    negated: bool,
    /// Whether it says anything, and does not only name something.
    tells: bool,
}

impl Part {
    fn of(reading: &Reading<'_>, segment: usize) -> Part {
        let range = reading.segments[segment].clone();
        let (words, done) = (BTreeSet::new(), passive(reading, &range));
        let mut part = Part { words, done, code: Vec::new(), negated: false, tells: false };
        for at in range.clone() {
            match &reading.tokens[at] {
                Token::Code(code) => part.code.push(code.clone()),
                Token::Word(_) => {
                    let Some(word) = reading.word(at) else { continue };
                    if reading.counts_none(at) {
                        continue;
                    }
                    if lexicon::is_negation(&word) {
                        part.negated = true;
                    } else if !is_checked_elsewhere(reading, &range, at, &word) {
                        part.words.insert(word);
                    }
                }
                _ => {}
            }
        }
        let status = !reading.own(segment, Category::Status).is_empty();
        part.tells = !part.words.is_empty() || !part.code.is_empty() || part.negated || status;
        part
    }

    fn is_empty(&self, reading: &Reading<'_>, segment: usize) -> bool {
        let names = CATEGORIES.iter().any(|category| !reading.own(segment, *category).is_empty());
        self.words.is_empty() && self.code.is_empty() && !self.negated && !names
    }

    /// Whether a part says all that an evidence says: a number or a piece of code that lacks a word of
    /// that may be said of something else.
    fn says_all(&self, said: &Said) -> Result<(), Miss> {
        let stems: BTreeSet<&str> = self.words.iter().map(|word| stem(word)).collect();
        match said.own.iter().find(|own| !stems.contains(own.as_str())) {
            Some(own) => Err(Miss::Lacks(own.clone())),
            None if said.code.iter().any(|code| !self.code.contains(code)) => Err(Miss::Lacks("code".to_owned())),
            None => Ok(()),
        }
    }

    fn said_by(&self, reading: &Reading<'_>, segment: usize, evidence: &Evidence) -> Result<(), Miss> {
        for category in CATEGORIES {
            let (own, of) = (reading.own(segment, category), all_tags(evidence, category));
            if let Some(name) = own.difference(&of).next() {
                return Err(Miss::Subject((*name).to_owned()));
            }
        }
        let about = reading.about(segment, Category::Who);
        if !about.is_empty() && about.is_disjoint(&all_tags(evidence, Category::Who)) {
            return Err(Miss::Subject(about.into_iter().collect::<Vec<_>>().join(", ")));
        }
        let said = Said::of(reading, evidence);
        if self.code.len() > 1 && !said.is_verbatim(reading, segment) {
            return Err(Miss::Word(format!("`{}` in these words", self.code.join("`, `"))));
        }
        // What has no number and no code is said whole: half of its words may say something else.
        if !self.code.is_empty() || (!self.words.is_empty() && evidence.values.is_empty()) {
            self.says_all(&said)?;
        }
        for code in &self.code {
            if !said.code.contains(code) {
                return Err(Miss::Word(format!("`{code}`")));
            }
        }
        for word in &self.words {
            if !said.stems.contains(stem(word)) {
                return Err(Miss::Word(word.clone()));
            }
        }
        for word in &self.words {
            if self.done.contains(stem(word)) != said.done.contains(stem(word)) {
                return Err(Miss::Voice(word.clone()));
            }
        }
        let says = !self.words.is_empty() || self.negated;
        if says && said.negated != self.negated {
            return Err(Miss::Negation);
        }
        Ok(())
    }
}

/// The stems of the words behind a form of "be", but for a negation between them.
fn passive(reading: &Reading<'_>, range: &Range<usize>) -> BTreeSet<String> {
    let is = |at: usize| {
        reading.word(at).is_some_and(|word| ["is", "are", "was", "were", "be", "been"].contains(&word.as_str()))
    };
    let not = |at: usize| reading.word(at).is_some_and(|word| lexicon::is_negation(&word));
    let behind = |at: usize| {
        let before = at.checked_sub(1).filter(|at| !not(*at)).or_else(|| at.checked_sub(2));
        before.is_some_and(|before| range.contains(&before) && is(before))
    };
    let done = range.clone().filter(|at| behind(*at)).filter_map(|at| reading.word(at));
    done.map(|word| stem(&word).to_owned()).collect()
}

/// Whether a word is checked by other rules, or says nothing.
fn is_checked_elsewhere(reading: &Reading<'_>, range: &Range<usize>, at: usize, word: &str) -> bool {
    let is_number = lexicon::number_word(word).is_some() || lexicon::multiple_word(word).is_some();
    let compares = lexicon::comparison(word).is_some() || lexicon::is_significance(word);
    let called = super::numbers::operation_of(word).is_some() && reading.computes;
    let hedge = lexicon::is_hedge(word) && matches!(reading.tokens.get(at + 1), Some(Token::Number(..)));
    lexicon::is_glue(word)
        || lexicon::is_joint(word)
        || is_number
        || compares
        || hedge
        || called
        || is_unit(reading, range, at)
}

/// Whether a word is the unit of the number before it.
fn is_unit(reading: &Reading<'_>, range: &Range<usize>, at: usize) -> bool {
    let number = |at: usize| range.contains(&at) && matches!(reading.tokens[at], Token::Number(..));
    (1..=2).any(|back| {
        let Some(start) = at.checked_sub(back).filter(|start| number(*start)) else { return false };
        let words: Vec<String> = (start + 1..=start + 2).filter_map(|at| reading.tokens.get(at)?.word()).collect();
        let cased: Vec<&str> = words.iter().map(String::as_str).collect();
        let raw: Vec<&str> = (start + 1..=start + 2)
            .filter_map(|at| match reading.tokens.get(at) {
                Some(Token::Word(word)) => Some(word.as_str()),
                _ => None,
            })
            .collect();
        [cased, raw].iter().any(|words| unit::after(words).is_some_and(|shown| shown.words >= back))
    })
}

/// What an evidence says.
struct Said {
    /// All its words.
    stems: BTreeSet<String>,
    /// Those that are no names, and say something.
    own: BTreeSet<String>,
    done: BTreeSet<String>,
    code: BTreeSet<String>,
    negated: bool,
    tokens: Vec<Token>,
}

impl Said {
    fn of(reading: &Reading<'_>, evidence: &Evidence) -> Said {
        let theirs = Reading::of(&evidence.text, reading.lexicon, false);
        let (mut stems, mut code, mut negated) = (BTreeSet::new(), BTreeSet::new(), false);
        for (at, token) in theirs.tokens.iter().enumerate() {
            match token {
                // The name of rows is no word: "confirm" is what nobody does.
                Token::Word(_) if theirs.is_in(at, Category::Where) => {}
                Token::Word(word) => {
                    let word = word.to_lowercase();
                    negated |= lexicon::is_negation(&word);
                    stems.insert(stem(&word).to_owned());
                }
                Token::Code(text) => drop(code.insert(text.clone())),
                _ => {}
            }
        }
        let whole = 0..theirs.tokens.len();
        let words = whole.clone().filter_map(|at| Some((at, theirs.word(at)?)));
        let own = words
            .filter(|(at, word)| !lexicon::is_negation(word) && !is_checked_elsewhere(&theirs, &whole, *at, word))
            .map(|(_, word)| stem(&word).to_owned())
            .collect();
        let done = passive(&theirs, &whole);
        Said { stems, own, done, code, negated, tokens: theirs.tokens }
    }

    /// Whether the part says it in the same words, in their order.
    fn is_verbatim(&self, reading: &Reading<'_>, segment: usize) -> bool {
        let kept = |token: &&Token| matches!(token, Token::Word(_) | Token::Code(_) | Token::Number(..));
        let plain = |token: &Token| token.word().map_or_else(|| token.clone(), Token::Word);
        let mine: Vec<Token> =
            reading.tokens[reading.segments[segment].clone()].iter().filter(kept).map(plain).collect();
        let theirs: Vec<Token> = self.tokens.iter().filter(kept).map(plain).collect();
        mine == theirs
            || theirs.windows(mine.len()).any(|window| window == mine.as_slice() && mine.len() * 4 >= theirs.len() * 3)
    }
}
