//! What no teacher may see: the tasks that decide, by their names, by what they ask, and by what
//! asks nearly the same.

use std::collections::{BTreeMap, BTreeSet};

/// How alike two questions are at least where one is held out for the other, in millionths of their
/// words: as alike as what the compiler holds out together.
pub const NEAR: u64 = 800_000;

/// The tasks that decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldOut {
    /// Ids and inputs.
    texts: BTreeSet<String>,
    /// The words of each input.
    words: Vec<BTreeSet<String>>,
    /// Which of them have a word among their first: two that are near share one of those.
    first: BTreeMap<String, Vec<usize>>,
}

impl HeldOut {
    /// Tasks by id and input.
    pub fn of<'t>(tasks: impl Iterator<Item = (&'t str, String)>) -> HeldOut {
        let mut held = HeldOut::default();
        for (id, input) in tasks {
            let words = words(&input);
            for word in first(&words) {
                held.first.entry(word.clone()).or_default().push(held.words.len());
            }
            held.words.push(words);
            held.texts.extend([id.to_owned(), input]);
        }
        held
    }

    /// Whether it is a run of one of them, by the name of its task or by what it asks.
    pub fn is_one(&self, task: &str, query: &str) -> bool {
        self.texts.contains(task) || self.texts.contains(query)
    }

    /// Whether it asks nearly what one of them asks.
    pub fn is_near(&self, query: &str) -> bool {
        let own = words(query);
        first(&own).filter_map(|word| self.first.get(word)).flatten().any(|at| near(&own, &self.words[*at]))
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The first words in their order, so many that whoever is near shares one of them: fewer are left than
/// have to be the same (the prefix filter of Chaudhuri, Ganti and Kaushik, 2006).
fn first(words: &BTreeSet<String>) -> impl Iterator<Item = &String> {
    let same = (words.len() as u64 * NEAR).div_ceil(1_000_000) as usize;
    words.iter().take(words.len() - same + 1)
}

/// Jaccard's measure of both; texts without words are near to nothing.
fn near(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let both = a.intersection(b).count() as u64;
    let either = (a.len() + b.len()) as u64 - both;
    either > 0 && both * 1_000_000 >= either * NEAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_near_is_found_wherever_its_words_stand(
            held in prop::collection::vec(prop::collection::btree_set("[a-h]", 0..8), 0..6),
            query in prop::collection::btree_set("[a-h]", 0..8),
        ) {
            let text = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(" ");
            let all = HeldOut::of(held.iter().map(|words| ("", text(words))));
            prop_assert_eq!(all.is_near(&text(&query)), held.iter().any(|held| near(&query, held)));
        }
    }

    #[test]
    fn a_question_is_near_whose_words_are_four_fifths_the_same() {
        let held = HeldOut::of([("k1", "When is the letter of May due?".to_owned())].into_iter());
        assert!(held.is_one("k1", "") && held.is_one("", "When is the letter of May due?"));
        assert!(!held.is_one("k2", "when is the letter of may due"));
        for (query, near) in [
            ("when is the letter of may due", true),
            ("{\"q\":\"When is the  LETTER of May due?\"}", true),
            ("When is the letter of June due?", false),
            ("When is this letter of May due, please tell me", false),
            ("", false),
        ] {
            assert_eq!(held.is_near(query), near, "{query}");
        }
        assert!(!HeldOut::of([("k1", "?!".to_owned())].into_iter()).is_near("?!"));
    }
}
