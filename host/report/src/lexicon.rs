//! Which words mean what: those that compare, that say why, that count, that negate, and those that
//! say nothing; and the names that a run has for its own things.

use std::collections::BTreeMap;

use num_rational::BigRational;

use crate::evidence::{Category, Tag};
use crate::tokens::Token;
use crate::unit::{Unit, is_noun};

/// Which way something is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Of a greater number.
    More,
    /// Of a lesser number.
    Less,
    /// Of a number that is further the way that is better.
    Better,
    /// Of one that is further the other way.
    Worse,
    /// Of the same number.
    Equal,
}

/// What a word of comparison may be said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any number.
    Any,
    /// How long something takes.
    Time,
    /// What something costs.
    Money,
    /// How much room something takes.
    Size,
    /// What is counted.
    Counted,
}

impl Domain {
    /// Whether a number of that unit is one of these.
    pub fn holds(self, unit: &Unit) -> bool {
        match self {
            Domain::Any => true,
            Domain::Time => *unit == Unit::Seconds,
            Domain::Money => *unit == Unit::Dollars,
            Domain::Size => matches!(unit, Unit::Bytes | Unit::Seconds),
            Domain::Counted => matches!(unit, Unit::Count(_)),
        }
    }
}

/// What a word says of two numbers; none where it compares nothing.
pub fn comparison(word: &str) -> Option<(Direction, Domain)> {
    use Direction::{Better, Equal, Less, More, Worse};
    Some(match word {
        "higher" | "more" | "greater" | "above" | "larger" | "bigger" | "exceed" | "exceeds" | "exceeded" | "rose"
        | "rises" | "increase" | "increased" | "increases" | "grew" | "grows" | "up" | "upward" => (More, Domain::Any),
        "lower" | "less" | "below" | "smaller" | "fell" | "falls" | "decrease" | "decreased" | "decreases"
        | "shrank" | "reduced" | "reduces" | "down" | "under" => (Less, Domain::Any),
        "longer" => (More, Domain::Size),
        "shorter" => (Less, Domain::Size),
        "fewer" => (Less, Domain::Counted),
        "faster" | "quicker" | "sooner" => (Less, Domain::Time),
        "slower" => (More, Domain::Time),
        "cheaper" => (Less, Domain::Money),
        "dearer" | "costlier" => (More, Domain::Money),
        "better" | "improve" | "improved" | "improves" | "improvement" | "beat" | "beats" | "outperform"
        | "outperformed" | "outperforms" | "surpassed" | "surpasses" | "gain" | "gained" | "gains" | "superior"
        | "won" | "wins" => (Better, Domain::Any),
        "worse" | "worsened" | "lost" | "loses" | "inferior" | "underperformed" | "underperforms" | "regressed"
        | "degraded" | "deteriorated" => (Worse, Domain::Any),
        "same" | "equal" | "equals" | "equalled" | "unchanged" | "tied" | "ties" | "matches" | "matched"
        | "identical" => (Equal, Domain::Any),
        _ => return None,
    })
}

/// Whether a word turns who is compared with whom around, which is not followed.
pub fn is_passive(word: &str) -> bool {
    matches!(word, "beaten" | "outperformed-by" | "surpassed-by" | "topped")
}

/// Whether words begin to say why something is: nothing that a run leaves proves that.
pub fn is_causal(words: &[&str]) -> bool {
    let one = [
        "because",
        "cause",
        "caused",
        "causes",
        "causing",
        "therefore",
        "hence",
        "thus",
        "consequently",
        "thereby",
        "enabled",
        "enables",
        "driven",
        "drives",
        "explains",
        "explained",
        "attributable",
        "responsible",
        "makes",
        "made",
        "led",
        "leads",
        "yields",
        "yielded",
        "so",
        "why",
        "proves",
        "proved",
        "since",
    ];
    words.first().is_some_and(|word| one.contains(word))
        || matches!(
            words,
            ["due" | "thanks" | "owing", "to", ..] | ["result" | "results" | "resulted", "of" | "in" | "from", ..]
        )
}

/// Whether a word makes a number less of one.
pub fn is_vague(word: &str) -> bool {
    matches!(
        word,
        "about"
            | "around"
            | "approximately"
            | "roughly"
            | "nearly"
            | "almost"
            | "circa"
            | "some"
            | "over"
            | "under"
            | "least"
            | "most"
            | "than"
            | "beyond"
            | "up"
            | "exactly"
            | "precisely"
            | "only"
            | "just"
    )
}

/// Those of them that may be left out without saying more than is known.
pub fn is_hedge(word: &str) -> bool {
    matches!(
        word,
        "about" | "around" | "approximately" | "roughly" | "circa" | "exactly" | "precisely" | "only" | "just"
    )
}

/// Whether a word says that a difference is beyond chance.
pub fn is_significance(word: &str) -> bool {
    matches!(word, "significant" | "significantly" | "significance" | "statistically")
}

/// Whether a word says that something is not.
pub fn is_negation(word: &str) -> bool {
    matches!(
        word,
        "not"
            | "no"
            | "never"
            | "none"
            | "nobody"
            | "nothing"
            | "neither"
            | "nor"
            | "without"
            | "cannot"
            | "unless"
            | "hardly"
            | "except"
    ) || word.ends_with("n't")
        || word.ends_with("n’t")
}

/// Whether a word is the noun of something that a run counts.
pub fn is_counted(word: &str) -> bool {
    let nouns = ["call", "candidate", "edit", "experiment", "generation", "job", "row"];
    nouns.iter().any(|noun| is_noun(noun, word))
}

/// Whether a word says nothing of its own.
pub fn is_glue(word: &str) -> bool {
    const GLUE: [&str; 45] = [
        "a", "an", "the", "of", "on", "in", "at", "by", "for", "to", "from", "and", "as", "is", "are", "was", "were",
        "be", "been", "it", "its", "this", "that", "these", "those", "which", "with", "into", "than", "has", "have",
        "had", "there", "while", "whereas", "but", "over", "against", "versus", "compared", "their", "they", "them",
        "also", "says",
    ];
    GLUE.contains(&word)
}

/// Whether a word ends one part of a sentence and begins another, of which something else may be said.
pub fn is_joint(word: &str) -> bool {
    let between = comparison(word).is_some() || multiple_word(word).is_some();
    between
        || matches!(
            word,
            "and"
                | "but"
                | "while"
                | "whereas"
                | "or"
                | "against"
                | "versus"
                | "than"
                | "over"
                | "above"
                | "below"
                | "from"
                | "to"
                | "compared"
                | "times"
        )
}

/// The number that a word says; exact, since it shows no digits.
pub fn number_word(word: &str) -> Option<BigRational> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let whole = |number: usize| BigRational::from_integer(number.into());
    let small = |word: &str| SMALL.iter().position(|known| *known == word);
    let tens = |word: &str| TENS.iter().position(|known| *known == word).map(|at| (at + 2) * 10);
    if let Some((first, second)) = word.split_once('-') {
        let unit = small(second).filter(|unit| (1..10).contains(unit))?;
        return Some(whole(tens(first)? + unit));
    }
    let other = match word {
        "dozen" => 12,
        "hundred" => 100,
        "thousand" => 1_000,
        "million" => 1_000_000,
        _ => return small(word).or_else(|| tens(word)).map(whole),
    };
    Some(whole(other))
}

/// A multiple or part that a word says.
pub fn multiple_word(word: &str) -> Option<BigRational> {
    let (numerator, denominator) = match word {
        "twice" | "double" | "doubled" | "doubles" | "twofold" => (2, 1),
        "thrice" | "triple" | "tripled" | "triples" | "threefold" => (3, 1),
        "quadrupled" | "fourfold" => (4, 1),
        "tenfold" => (10, 1),
        "half" | "halved" | "halves" => (1, 2),
        "third" | "thirds" => (1, 3),
        "quarter" | "quarters" => (1, 4),
        _ => return None,
    };
    Some(BigRational::new(numerator.into(), denominator.into()))
}

/// A word without the endings that change nothing of what it means.
pub fn stem(word: &str) -> &str {
    let mut stem = word;
    loop {
        let shorter = ["ing", "ies", "ed", "es", "s", "d", "y", "e"]
            .iter()
            .find_map(|ending| stem.strip_suffix(ending).filter(|shorter| shorter.len() >= 3));
        match shorter {
            Some(shorter) => stem = shorter,
            None => return stem,
        }
    }
}

/// The names that the things of a run have in sentences.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    phrases: BTreeMap<Vec<String>, Tag>,
    longest: usize,
}

/// A name in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Its first token.
    pub at: usize,
    /// How many tokens it has.
    pub length: usize,
    /// What it is the name of.
    pub tag: Tag,
}

impl Lexicon {
    /// Adds a name for something. One that names something else already stays.
    pub fn add(&mut self, phrase: &str, category: Category, name: &str) {
        let words: Vec<String> = phrase.split(' ').map(str::to_lowercase).collect();
        self.longest = self.longest.max(words.len());
        self.phrases.entry(words).or_insert_with(|| (category, name.to_owned()));
    }

    /// The names in a sentence, the longest first where several begin at the same word.
    pub fn mentions(&self, tokens: &[Token]) -> Vec<Mention> {
        let mut mentions = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match self.longest_at(tokens, at) {
                Some((length, tag)) => {
                    mentions.push(Mention { at, length, tag: tag.clone() });
                    at += length;
                }
                None => at += 1,
            }
        }
        mentions
    }

    fn longest_at(&self, tokens: &[Token], at: usize) -> Option<(usize, &Tag)> {
        let most = self.longest.min(tokens.len() - at);
        (1..=most).rev().find_map(|length| {
            let words: Option<Vec<String>> = tokens[at..at + length].iter().map(Token::word).collect();
            Some((length, self.phrases.get(&words?)?))
        })
    }

    /// Whether something has that name.
    pub fn knows(&self, phrase: &str) -> bool {
        let words: Vec<String> = phrase.split(' ').map(str::to_lowercase).collect();
        self.phrases.contains_key(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokens;

    #[test]
    fn the_longest_name_counts_and_numbers_may_be_in_it() {
        let mut lexicon = Lexicon::default();
        lexicon.add("generation 9", Category::When, "generation 9");
        lexicon.add("select rows", Category::Where, "select");
        lexicon.add("select", Category::Where, "select");
        let found = lexicon.mentions(&tokens("In Generation 9 of the select rows, 9 generations."));
        let names: Vec<(usize, usize)> = found.iter().map(|mention| (mention.at, mention.length)).collect();
        assert_eq!(names, [(1, 2), (5, 2)]);
    }

    #[test]
    fn number_words_are_numbers() {
        let whole = |word: &str| number_word(word).map(|number| number.to_string());
        assert_eq!(whole("three").as_deref(), Some("3"));
        assert_eq!(whole("twenty-one").as_deref(), Some("21"));
        assert_eq!((whole("twenty-ten"), whole("tree"), whole("well-known")), (None, None, None));
        assert_eq!(multiple_word("half").unwrap().to_string(), "1/2");
    }
}
