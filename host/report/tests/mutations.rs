//! A correct report in which one number, direction or name was changed is caught.

mod common;

use auto_report::{Draft, Ruling, verify, write};
use common::{Run, draft};
use proptest::prelude::*;

/// Sentences that stand, of every kind.
fn standing(corpus: &auto_report::Corpus) -> Vec<Draft> {
    let report = write(corpus, None, None).unwrap();
    assert!(report.deleted.is_empty(), "{:?}", report.deleted);
    let mut all: Vec<Draft> = report.sentences.into_iter().map(|sentence| sentence.draft).collect();
    let (one, two) = ("/scores/0/after/mean", "/scores/0/before/mean");
    let scores = &[one, two];
    all.push(draft(corpus, "The score of i0002 beat that of the baseline on the select rows.", scores, &[]));
    all.push(draft(corpus, "The baseline scored worse on the select rows than i0002.", &[two, one], &[]));
    all.push(draft(corpus, "The score of i0002 on the select rows is 94.72%.", &[one], &[]));
    all
}

/// Places of digits outside of code, quotations and names.
fn digits(text: &str) -> Vec<usize> {
    let (mut inside, mut places, mut word) = (false, Vec::new(), false);
    for (at, one) in text.char_indices() {
        match one {
            '`' => inside = !inside,
            '“' => inside = true,
            '”' => inside = false,
            _ if one.is_alphabetic() => word = true,
            _ if !one.is_alphanumeric() && one != '-' => word = false,
            _ if one.is_ascii_digit() && !inside && !word => places.push(at),
            _ => {}
        }
    }
    places
}

const OPPOSITES: [(&str, &str); 10] = [
    ("higher", "lower"),
    ("lower", "higher"),
    ("smaller", "larger"),
    ("larger", "smaller"),
    ("beat", "equalled"),
    ("worse", "better"),
    ("is ", "is not "),
    ("significantly higher", "significantly lower"),
    ("holds", "does not hold"),
    ("higher", "fewer"),
];

const NAMES: [(&str, &str); 8] = [
    ("i0002", "the baseline"),
    ("i0002", "i0001"),
    ("the baseline", "i0002"),
    ("The baseline", "I0002"),
    ("select", "confirm"),
    ("confirm", "select"),
    ("generation 2", "generation 1"),
    ("dropped", "quarantined"),
];

fn stands(corpus: &auto_report::Corpus, text: String, draft: &Draft) -> bool {
    verify(&Draft { text, ..draft.clone() }, corpus).ruling == Ruling::Supported
}

#[test]
fn every_digit_that_is_changed_is_caught() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let mut changed = 0;
    for draft in standing(&corpus) {
        for at in digits(&draft.text) {
            for digit in '0'..='9' {
                let mut text = draft.text.clone();
                text.replace_range(at..=at, &digit.to_string());
                if text == draft.text {
                    continue;
                }
                changed += 1;
                assert!(!stands(&corpus, text.clone(), &draft), "{text}");
            }
        }
    }
    assert!(changed > 500, "only {changed} numbers were changed");
}

#[test]
fn every_direction_and_name_that_is_swapped_is_caught() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let mut changed = 0;
    for draft in standing(&corpus) {
        for (from, to) in OPPOSITES.iter().chain(&NAMES) {
            for (at, _) in draft.text.match_indices(from) {
                let mut text = draft.text.clone();
                text.replace_range(at..at + from.len(), to);
                let quoted =
                    draft.text[..at].matches(['“', '`']).count() != draft.text[..at].matches(['”', '`']).count();
                if quoted && draft.text[..at].matches('`').count() % 2 == 0 && !draft.text[..at].contains('“') {
                    continue;
                }
                changed += 1;
                assert!(!stands(&corpus, text.clone(), &draft), "{} -> {text}", draft.text);
            }
        }
    }
    assert!(changed > 60, "only {changed} words were swapped");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_numbers_in_the_place_of_right_ones_are_caught(
        pick in 0..10_000_usize, whole in 0..2_000_u32, part in 0..1_000_000_u32, places in 0..7_usize,
    ) {
        thread_local! {
            static STANDING: (auto_report::Corpus, Vec<Draft>) = {
                let corpus = Run::of(1).corpus();
                let all = standing(&corpus).into_iter().filter(|draft| !digits(&draft.text).is_empty()).collect();
                (corpus, all)
            };
        }
        STANDING.with(|(corpus, all)| {
            let draft = &all[pick % all.len()];
            let places_of = digits(&draft.text);
            let start = places_of[0];
            let end = draft.text[start..].find(|one: char| !one.is_ascii_digit() && one != '.' && one != ',').unwrap_or(1) + start;
            let end = start + draft.text[start..end].trim_end_matches(['.', ',']).len();
            let number = match places {
                0 => whole.to_string(),
                _ => format!("{whole}.{}", &format!("{part:06}")[..places]),
            };
            let told = &draft.text[start..end];
            // The same number in other digits is no lie.
            let same = auto_report::Exact::parse(told).unwrap().is_shown_by(
                &auto_report::Exact::parse(&number).unwrap(),
                &num_traits::One::one(),
            );
            let text = format!("{}{number}{}", &draft.text[..start], &draft.text[end..]);
            assert!(same || !stands(corpus, text.clone(), draft), "{text}");
        });
    }
}
