//! How common a word is before anything was recorded.
//!
//! In few texts it is chance whether a word like "the" goes with a class. So that such words speak
//! for little from the start, the document frequencies of a fit begin with those of imagined
//! English texts in which the most frequent words stand as Zipf's law has it (1949). Where the
//! recorded texts do not look English there are none.

use std::collections::BTreeSet;

/// The most frequent words of spoken and written English, the most frequent first.
const WORDS: &str = "the to i a of and in is for you it my that on me what do can how be have with are this your at \
    from not if was or an we will all they about so would get there when out up as by no just but like which who one \
    any some has now been could did does where why want need please should more than then them their our us here im \
    am i'm don't its it's he she his her him into over after before also only other know tell give make let see go \
    take use find help thing way going got put back new next much many long too very really were had having being \
    these those each every own same such may might must shall while until because since through between under again \
    off down few most both during without within via per s t re ll ve d m";

/// How many texts are imagined.
pub(crate) const TEXTS: u32 = 640;

/// Texts look English where half of them have one of so many of the first words.
const TELLING: usize = 24;

/// The words and in how many of the imagined texts each is; none where the texts are of another
/// language.
pub(crate) fn words<'t>(texts: impl ExactSizeIterator<Item = &'t str>) -> impl Iterator<Item = (&'static str, u32)> {
    let telling: BTreeSet<&str> = WORDS.split_whitespace().take(TELLING).collect();
    let count = texts.len();
    let english = |text: &&str| {
        let words = text.split(|character: char| !character.is_alphanumeric());
        words.map(str::to_lowercase).any(|word| telling.contains(word.as_str()))
    };
    let english = texts.filter(english).count() * 2 >= count;
    let ranked = WORDS.split_whitespace().zip(0u32..).map(|(word, rank)| (word, 4 * TEXTS / (rank + 8)));
    ranked.take(if english { usize::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_of_english_are_common_in_english_texts_alone() {
        let words = |all: &[&'static str]| words(all.iter().copied()).collect::<Vec<_>>();
        let english = words(&["Where is my parcel?", "i want money", "refund"]);
        assert_eq!(english[0], ("the", 320));
        assert!(english.windows(2).all(|pair| pair[0].1 >= pair[1].1) && english.last().unwrap().1 > 0);
        assert!(words(&["Wo bleibt mein Paket?", "Geld zurück"]).is_empty());
    }
}
