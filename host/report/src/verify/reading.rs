//! A sentence in parts, each with what it names.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::evidence::Category;
use crate::lexicon::{self, Lexicon, Mention};
use crate::tokens::{Token, tokens};

/// A sentence, taken apart.
pub struct Reading<'l> {
    pub tokens: Vec<Token>,
    pub mentions: Vec<Mention>,
    pub segments: Vec<Range<usize>>,
    /// Whether something is computed, so that words may say what.
    pub computes: bool,
    pub lexicon: &'l Lexicon,
}

impl<'l> Reading<'l> {
    pub fn of(text: &str, lexicon: &'l Lexicon, computes: bool) -> Reading<'l> {
        let tokens = tokens(text);
        let mentions = lexicon.mentions(&tokens);
        let mut reading = Reading { tokens, mentions, segments: Vec::new(), computes, lexicon };
        let mut start = 0;
        for at in 0..reading.tokens.len() {
            if reading.is_joint(at) {
                reading.segments.push(start..at);
                start = at;
            }
        }
        reading.segments.push(start..reading.tokens.len());
        reading
    }

    fn is_joint(&self, at: usize) -> bool {
        match &self.tokens[at] {
            Token::Stop(_) => true,
            Token::Word(word) => !self.is_named(at) && lexicon::is_joint(&word.to_lowercase()),
            _ => false,
        }
    }

    /// Whether a token is part of a name.
    pub fn is_named(&self, at: usize) -> bool {
        self.mentions.iter().any(|mention| (mention.at..mention.at + mention.length).contains(&at))
    }

    /// Whether a token is part of a name of that category.
    pub fn is_in(&self, at: usize, category: Category) -> bool {
        let mut of = self.mentions.iter().filter(|mention| mention.tag.0 == category);
        of.any(|mention| (mention.at..mention.at + mention.length).contains(&at))
    }

    /// A word that is no part of a name, in lower case.
    pub fn word(&self, at: usize) -> Option<String> {
        match self.tokens.get(at)? {
            Token::Word(word) if !self.is_named(at) => Some(word.to_lowercase()),
            _ => None,
        }
    }

    /// Whether a word is a "no" that counts: `no experiments`, `no valid candidates`.
    pub fn counts_none(&self, at: usize) -> bool {
        let next = (at + 1..self.tokens.len()).find(|at| !self.is_named(*at));
        self.word(at).as_deref() == Some("no")
            && next.and_then(|at| self.word(at)).is_some_and(|word| lexicon::is_counted(&word))
    }

    /// What is quoted.
    pub fn quotes(&self) -> impl Iterator<Item = &String> {
        self.tokens.iter().filter_map(|token| match token {
            Token::Quote(text) => Some(text),
            _ => None,
        })
    }

    /// Which part a token is in.
    pub fn segment(&self, at: usize) -> usize {
        self.segments.iter().position(|segment| segment.contains(&at)).unwrap_or(0)
    }

    /// What is named in the whole sentence, of a category.
    pub fn named(&self, category: Category) -> BTreeSet<&str> {
        let named = self.mentions.iter().filter(|mention| mention.tag.0 == category);
        named.map(|mention| mention.tag.1.as_str()).collect()
    }

    /// What a part names itself, of a category.
    pub fn own(&self, segment: usize, category: Category) -> BTreeSet<&str> {
        let range = &self.segments[segment];
        let inside = self.mentions.iter().filter(|mention| mention.tag.0 == category && range.contains(&mention.at));
        inside.map(|mention| mention.tag.1.as_str()).collect()
    }

    /// What a part is about, of a category: what it names itself; else what the nearest part before
    /// it named last; else what the nearest after it names first.
    pub fn about(&self, segment: usize, category: Category) -> BTreeSet<&str> {
        let own = self.own(segment, category);
        if !own.is_empty() {
            return own;
        }
        let range = &self.segments[segment];
        let of = |mention: &&Mention| mention.tag.0 == category;
        let before = self.mentions.iter().filter(of).rfind(|mention| mention.at < range.start);
        let after = self.mentions.iter().filter(of).find(|mention| mention.at >= range.end);
        before.or(after).map(|mention| mention.tag.1.as_str()).into_iter().collect()
    }

    /// The names of a category that a word of comparison is between: the nearest before it and after
    /// it; where none is before, those before and after the "than" that follows.
    pub fn sides(&self, at: usize, category: Category) -> Option<(&str, &str)> {
        let than = (at..self.tokens.len()).find(|at| self.word(*at).as_deref() == Some("than"));
        self.around(at, at, category).or_else(|| self.around(at, than?, category))
    }

    fn around(&self, word: usize, pivot: usize, category: Category) -> Option<(&str, &str)> {
        let mut of = self.mentions.iter().filter(|mention| mention.tag.0 == category);
        // With "higher on A than on B" nothing of the kind stands before "higher".
        let from = if word == pivot { 0 } else { word };
        let left = of.clone().rfind(|mention| (from..pivot).contains(&mention.at))?;
        let right = of.find(|mention| mention.at > pivot)?;
        Some((&left.tag.1, &right.tag.1))
    }
}
