//! The words of a sentence beside its numbers and names: each part has to be said by one cited
//! evidence about the same things.

use std::collections::BTreeSet;
use std::ops::Range;

use super::reading::Reading;
use super::{Findings, all_tags};
use crate::evidence::{CATEGORIES, Category, Evidence};
use crate::lexicon::{self, stem};
use crate::tokens::{Token, tokens};
use crate::unit;

/// Checks every part.
pub fn check(reading: &Reading, cited: &[&Evidence], findings: &mut Findings) {
    for at in 0..reading.segments.len() {
        let part = Part::of(reading, at);
        if part.is_empty(reading, at) {
            continue;
        }
        let mut misses: Vec<Miss> = Vec::new();
        let said = cited
            .iter()
            .filter(|evidence| !evidence.literature)
            .any(|evidence| part.said_by(reading, at, evidence).map_err(|miss| misses.push(miss)).is_ok());
        if !said {
            report(misses, findings);
        }
    }
}

/// Whether an evidence says a part; an error says what it does not.
pub fn says(reading: &Reading, segment: usize, evidence: &Evidence) -> Result<(), String> {
    Part::of(reading, segment).said_by(reading, segment, evidence).map_err(|miss| match miss {
        Miss::Subject(name) => format!("the number is not cited of {name}"),
        Miss::Word(word) => format!("what is cited of the number has no word {word:?}"),
        Miss::Negation => "what is cited of the number differs in a negation".to_owned(),
    })
}

/// Why an evidence does not say a part; the later ones are nearer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    Subject(String),
    Word(String),
    Negation,
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
        Some(Miss::Negation) => {
            findings
                .refuse("negation", "what it cites says it with a negation that it lacks, or without one that it has");
        }
    }
}

/// What a part says beside numbers and names.
struct Part {
    words: BTreeSet<String>,
    code: Vec<String>,
    negated: bool,
}

impl Part {
    fn of(reading: &Reading, segment: usize) -> Part {
        let range = reading.segments[segment].clone();
        let mut part = Part { words: BTreeSet::new(), code: Vec::new(), negated: false };
        for at in range.clone() {
            match &reading.tokens[at] {
                Token::Code(code) => part.code.push(code.clone()),
                Token::Word(_) => {
                    let Some(word) = reading.word(at) else { continue };
                    if lexicon::is_negation(&word) {
                        part.negated = true;
                    } else if !is_checked_elsewhere(reading, &range, at, &word) {
                        part.words.insert(word);
                    }
                }
                _ => {}
            }
        }
        part
    }

    fn is_empty(&self, reading: &Reading, segment: usize) -> bool {
        let names = CATEGORIES.iter().any(|category| !reading.own(segment, *category).is_empty());
        self.words.is_empty() && self.code.is_empty() && !self.negated && !names
    }

    fn said_by(&self, reading: &Reading, segment: usize, evidence: &Evidence) -> Result<(), Miss> {
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
        let said = Said::of(&evidence.text);
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
        let says = !self.words.is_empty() || self.negated;
        if says && said.negated != self.negated {
            return Err(Miss::Negation);
        }
        Ok(())
    }
}

/// Whether a word is checked by other rules, or says nothing.
fn is_checked_elsewhere(reading: &Reading, range: &Range<usize>, at: usize, word: &str) -> bool {
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
fn is_unit(reading: &Reading, range: &Range<usize>, at: usize) -> bool {
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
    stems: BTreeSet<String>,
    code: BTreeSet<String>,
    negated: bool,
}

impl Said {
    fn of(text: &str) -> Said {
        let mut said = Said { stems: BTreeSet::new(), code: BTreeSet::new(), negated: false };
        for token in tokens(text) {
            match token {
                Token::Word(word) => {
                    let word = word.to_lowercase();
                    said.negated |= lexicon::is_negation(&word);
                    said.stems.insert(stem(&word).to_owned());
                }
                Token::Code(code) => drop(said.code.insert(code)),
                _ => {}
            }
        }
        said
    }
}
