//! Candidates for keywords: words, beginnings of words and pairs of words that recur.

use std::collections::{BTreeMap, BTreeSet};

/// Words so frequent in English that one of them seldom is why something was decided.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "again", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "he", "hello", "her", "here", "hi",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "me", "my", "need", "no", "not", "of",
    "on", "one", "or", "our", "out", "please", "she", "so", "some", "than", "thank", "thanks", "that", "the", "their",
    "them", "there", "they", "this", "to", "too", "up", "us", "very", "want", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Whether all words are such as nothing is decided by.
pub(super) fn is_common(keyword: &str) -> bool {
    keyword.split(' ').all(|word| FUNCTION_WORDS.contains(&word))
}

/// Candidates for keywords: what recurs, and not everywhere. Whole words, longest first,
/// then beginnings, so that of those that say the same the most telling one is taken.
pub(super) fn keywords(texts: &[Option<String>]) -> Vec<(String, bool)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts.iter().flatten() {
        let mut own: BTreeSet<&str> = BTreeSet::new();
        let mut before: Option<(usize, usize)> = None;
        let mut start = None;
        for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
            match (start, character.is_alphanumeric()) {
                (None, true) => start = Some(at),
                (Some(from), false) => {
                    own.insert(&text[from..at]);
                    if let Some((earlier, end)) = before
                        && from == end + 1
                    {
                        own.insert(&text[earlier..at]);
                    }
                    before = Some((from, at));
                    start = None;
                }
                _ => {}
            }
        }
        own.into_iter().for_each(|word| *seen.entry(word).or_default() += 1);
    }
    let recurs = |count: usize| count >= 2 && count < texts.len();
    let mut keywords: Vec<(String, bool)> =
        seen.iter().filter(|(_, count)| recurs(**count)).map(|(word, _)| ((*word).to_owned(), true)).collect();
    // In order, words with a common beginning are neighbours.
    let words: Vec<&str> = seen.keys().copied().filter(|word| !word.contains(' ')).collect();
    let mut stems: BTreeSet<String> = BTreeSet::new();
    for pair in words.windows(2) {
        let common = pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
        if common >= 4 {
            stems.insert(pair[0].chars().take(common).collect());
        }
    }
    stems.retain(|stem| !seen.get(stem.as_str()).is_some_and(|count| recurs(*count)));
    keywords.extend(stems.into_iter().map(|stem| (stem, false)));
    // Single words before pairs, which are longer by nature.
    keywords.sort_by_key(|(word, whole)| (!whole, word.contains(' '), std::cmp::Reverse(word.len())));
    keywords
}
