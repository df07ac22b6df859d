//! The verifier: whether the evidence that a sentence cites says what the sentence says.
//!
//! It reads a small part of English by closed rules, and refuses whatever it cannot follow: a wrong
//! refusal costs a sentence, a wrong acceptance would be a lie with a footnote. A sentence stands if
//!
//! 1. every id it cites is one of the run's, and whatever it names is in what it cites;
//! 2. every number, in digits or in words, is a cited one or a declared expression of cited ones,
//!    within half of its last digit, in a unit of the same kind, and belongs to what that part of the
//!    sentence names; enough of it is shown, and what rests on a number gives it;
//! 3. every comparison has two cited numbers behind it that differ that way, and "significant" two
//!    intervals that do not meet;
//! 4. it gives no cause, and its other words are those of one cited evidence, negations included;
//! 5. other people's texts are quoted whole, by name, and prove nothing else.

mod compare;
mod cover;
mod digits;
mod numbers;
mod reading;

use crate::corpus::Corpus;
use crate::evidence::{Category, Evidence};
use crate::lexicon;
use crate::sentence::Draft;
use crate::tokens::Token;
use reading::Reading;

/// The most characters of a sentence.
const LONGEST: usize = 600;
/// The most evidence that a sentence may cite.
const MOST_CITED: usize = 8;

/// Why sentences do not stand, all of it.
pub const CODES: [&str; 21] = [
    "no-evidence",
    "dangling-id",
    "strange-text",
    "not-a-sentence",
    "literature-not-quoted",
    "not-quoted",
    "causal-claim",
    "number-words",
    "vague-number",
    "number-unsupported",
    "number-left-out",
    "too-few-digits",
    "too-many-digits",
    "wrong-unit",
    "wrong-subject",
    "wrong-direction",
    "comparison-without-evidence",
    "not-significant",
    "word-unsupported",
    "negation",
    "bad-expression",
];

/// Why a sentence does not stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What and why.
    pub message: String,
}

/// What is ruled of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It stands.
    Supported,
    /// It says more than is known; this says as much as is.
    Weaken(String, Vec<Reason>),
    /// It does not stand.
    Unsupported(Vec<Reason>),
}

/// A ruling, and the numbers it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What is ruled.
    pub ruling: Ruling,
    /// Each number of the sentence with what it was found to be.
    pub values: Vec<String>,
}

impl Ruling {
    /// One word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Ruling::Supported => "supported",
            Ruling::Weaken(..) => "weaken",
            Ruling::Unsupported(_) => "unsupported",
        }
    }

    /// Why it does not stand as it is.
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Ruling::Supported => &[],
            Ruling::Weaken(_, reasons) | Ruling::Unsupported(reasons) => reasons,
        }
    }
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    reasons: Vec<Reason>,
    /// Parts of the text that say too much, and what says as much as is known.
    weaker: Vec<(String, String)>,
}

impl Findings {
    fn refuse(&mut self, code: &'static str, message: impl Into<String>) {
        self.reasons.push(Reason { code, message: message.into() });
    }

    fn weaken(&mut self, code: &'static str, message: impl Into<String>, from: &str, to: &str) {
        self.refuse(code, message);
        self.weaker.push((from.to_owned(), to.to_owned()));
    }
}

/// Rules on a sentence.
pub fn verify(draft: &Draft, corpus: &Corpus) -> Verdict {
    let mut findings = Findings::default();
    let cited = cited(draft, corpus, &mut findings);
    let reading = Reading::of(&draft.text, corpus.lexicon(), !draft.using.is_empty());
    let values = rule(draft, &reading, &cited, &mut findings);
    Verdict { ruling: ruling(&draft.text, findings), values }
}

/// The evidence that a sentence cites.
fn cited<'c>(draft: &Draft, corpus: &'c Corpus, findings: &mut Findings) -> Vec<&'c Evidence> {
    if draft.cites.is_empty() {
        findings.refuse("no-evidence", "it cites nothing");
    }
    if draft.cites.len() > MOST_CITED {
        findings.refuse("no-evidence", format!("it cites more than {MOST_CITED} evidences"));
    }
    let mut cited = Vec::new();
    for id in draft.cites.iter().take(MOST_CITED) {
        match corpus.find(id) {
            Some(evidence) => cited.push(evidence),
            None => findings.refuse("dangling-id", format!("there is no evidence {id} in this run")),
        }
    }
    cited
}

fn rule(draft: &Draft, reading: &Reading<'_>, cited: &[&Evidence], findings: &mut Findings) -> Vec<String> {
    plain(&draft.text, reading, findings);
    if quotes_others(reading, cited, findings) {
        return Vec::new();
    }
    names(reading, cited, findings);
    let derived = numbers::derived(draft, reading, cited, findings);
    let bound = numbers::bind(reading, cited, &derived, findings);
    let compared = compare::check(reading, cited, &bound, findings);
    causes(reading, findings);
    let computed = compare::comparisons(reading) > 0 || bound.values().any(|bound| bound.is_derived);
    cover::check(reading, cited, &cover::Given { bound: &bound, compared, computed }, findings);
    bound.values().map(|bound| bound.told.clone()).collect()
}

/// Whether it is one sentence of what can be read.
fn plain(text: &str, reading: &Reading<'_>, findings: &mut Findings) {
    for token in &reading.tokens {
        if let Token::Strange(strange) = token {
            findings.refuse("strange-text", format!("{strange:?} cannot be read: write plain words and digits"));
        }
    }
    let ends = reading.tokens.last() == Some(&Token::Stop('.'));
    let inner = reading.tokens.iter().filter(|token| **token == Token::Stop('.')).count();
    if !ends || inner != 1 || text.chars().count() > LONGEST || text.trim() != text {
        findings.refuse("not-a-sentence", format!("it has to be one sentence of at most {LONGEST} characters"));
    }
}

/// What somebody else wrote is quoted, whole and by name, and nothing else is said beside it.
fn quotes_others(reading: &Reading<'_>, cited: &[&Evidence], findings: &mut Findings) -> bool {
    if !cited.iter().any(|evidence| evidence.literature) {
        return false;
    }
    let quotes: Vec<&String> = reading.quotes().collect();
    let says = |evidence: &&Evidence| {
        let named = reading.mentions.iter().any(|mention| evidence.tags.contains(&mention.tag));
        named && quotes.iter().any(|quote| **quote == evidence.text)
    };
    let beside = reading.tokens.iter().enumerate().any(|(at, token)| match token {
        Token::Word(word) => !reading.is_named(at) && !lexicon::is_glue(&word.to_lowercase()),
        Token::Number(..) | Token::Code(_) | Token::Sign(_) => !reading.is_named(at),
        Token::Quote(_) | Token::Stop(_) | Token::Strange(_) => false,
    });
    if beside || quotes.len() != cited.len() || !cited.iter().all(says) {
        findings.refuse(
            "literature-not-quoted",
            "a text that was given may be quoted whole, between “ and ”, with its name, and proves nothing else",
        );
    }
    true
}

/// Whatever a sentence names has to be in what it cites; what it quotes of the run, too.
fn names(reading: &Reading<'_>, cited: &[&Evidence], findings: &mut Findings) {
    for mention in &reading.mentions {
        let known = |evidence: &&Evidence| {
            evidence.tags.contains(&mention.tag)
                || evidence.values.iter().any(|value| value.tags.contains(&mention.tag))
        };
        if !cited.iter().any(known) {
            findings.refuse("wrong-subject", format!("nothing that it cites is about {}", mention.tag.1));
        }
    }
    if reading.quotes().next().is_some() && cited.len() != 1 {
        findings.refuse("not-quoted", "a sentence that quotes the run cites what it quotes and nothing else");
    }
    for quote in reading.quotes() {
        let whole = format!("“{quote}”");
        if !cited.iter().any(|evidence| evidence.text.contains(&whole)) {
            findings.refuse("not-quoted", format!("nothing that it cites says “{quote}” in those words"));
        }
    }
}

/// No file of a run proves why something came out as it did.
fn causes(reading: &Reading<'_>, findings: &mut Findings) {
    let words: Vec<String> = reading.tokens.iter().map(|token| token.word().unwrap_or_default()).collect();
    for at in 0..words.len() {
        let rest: Vec<&str> = words[at..].iter().take(3).map(String::as_str).collect();
        if !reading.is_named(at) && lexicon::is_causal(&rest) {
            findings.refuse("causal-claim", format!("\"{}\" gives a cause, and nothing proves one", words[at]));
        }
    }
}

/// Where all that is wrong with it can be left out or said with less, that is proposed.
fn ruling(text: &str, findings: Findings) -> Ruling {
    let Findings { reasons, weaker } = findings;
    if reasons.is_empty() {
        return Ruling::Supported;
    }
    if weaker.len() < reasons.len() {
        return Ruling::Unsupported(reasons);
    }
    let weakened = weaker.iter().fold(text.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
    Ruling::Weaken(weakened, reasons)
}

/// The names of a category in a set of tags that an evidence has anywhere.
fn all_tags(evidence: &Evidence, category: Category) -> std::collections::BTreeSet<&str> {
    let values = evidence.values.iter().flat_map(|value| value.tagged(category));
    crate::evidence::tagged(&evidence.tags, category).into_iter().chain(values).collect()
}
