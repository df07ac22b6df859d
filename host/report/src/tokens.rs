//! The words, numbers and quotations of a sentence.

use auto_schema::is_unseen;

use crate::exact::Exact;
use crate::unit;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word, as it stands.
    Word(String),
    /// A number, as it stands, and what it says.
    Number(String, Exact),
    /// What stands between backticks.
    Code(String),
    /// What stands between curved quotation marks.
    Quote(String),
    /// `%` or `$`.
    Sign(char),
    /// A comma, full stop and the like.
    Stop(char),
    /// What is none of these, and is refused.
    Strange(String),
}

impl Token {
    /// As a word, in lower case; numbers, too, because names have them.
    pub fn word(&self) -> Option<String> {
        match self {
            Token::Word(text) | Token::Number(text, _) => Some(text.to_lowercase()),
            _ => None,
        }
    }
}

/// Takes a sentence apart. Whatever is in it, is in a token.
pub fn tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let (token, next) = one(&characters, at);
        tokens.extend(token);
        at = next;
    }
    tokens
}

fn one(characters: &[char], at: usize) -> (Option<Token>, usize) {
    let first = characters[at];
    let after = |offset: usize| characters.get(at + offset).copied().unwrap_or(' ');
    match first {
        ' ' => (None, at + 1),
        '`' => quoted(characters, at, '`', Token::Code),
        '“' => quoted(characters, at, '”', Token::Quote),
        '%' | '$' => (Some(Token::Sign(first)), at + 1),
        ',' | ';' | ':' | '(' | ')' | '.' | '—' => (Some(Token::Stop(first)), at + 1),
        '+' | '-' | '−' if after(1).is_ascii_digit() => number(characters, at),
        _ if first.is_ascii_digit() => number(characters, at),
        _ if first.is_alphabetic() && !is_unseen(first) => word(characters, at),
        _ => (Some(Token::Strange(first.to_string())), at + 1),
    }
}

fn quoted(characters: &[char], at: usize, end: char, make: fn(String) -> Token) -> (Option<Token>, usize) {
    match characters[at + 1..].iter().position(|one| *one == end) {
        Some(length) => {
            let text: String = characters[at + 1..at + 1 + length].iter().collect();
            (Some(make(text)), at + length + 2)
        }
        None => (Some(Token::Strange(characters[at].to_string())), at + 1),
    }
}

/// A number; letters that follow at once have to be a unit.
fn number(characters: &[char], at: usize) -> (Option<Token>, usize) {
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let mut end = at + 1;
    while let Some(one) = characters.get(end) {
        let inside = matches!(one, ',' | '.') && is_digit(end + 1);
        let signed = matches!(characters.get(end + 1), Some('-' | '+'));
        let exponent = matches!(one, 'e' | 'E') && (is_digit(end + 1) || (signed && is_digit(end + 2)));
        match () {
            () if one.is_ascii_digit() || inside => end += 1,
            () if exponent => end += 1 + usize::from(signed),
            () => break,
        }
    }
    let text: String = characters[at..end].iter().collect();
    let letters: String = characters[end..].iter().take_while(|one| one.is_alphanumeric()).collect();
    let joined = matches!(characters.get(end), Some('-' | '/' | '_' | '\'' | '’'));
    let fits = letters.is_empty() || unit::after(&[&letters]).is_some();
    match Exact::parse(&text).filter(|_| fits && !joined) {
        Some(number) => (Some(Token::Number(text, number)), end),
        None => {
            let whole: String = characters[at..].iter().take_while(|one| **one != ' ').collect();
            let length = whole.chars().count();
            (Some(Token::Strange(whole)), at + length)
        }
    }
}

fn word(characters: &[char], at: usize) -> (Option<Token>, usize) {
    let mut end = at;
    while let Some(one) = characters.get(end) {
        let next = characters.get(end + 1).is_some_and(|next| next.is_alphanumeric());
        let joint = matches!(one, '-' | '_' | '.' | '\'' | '’' | '/') && next;
        let plain = one.is_alphabetic() || one.is_ascii_digit();
        if !(plain || joint) || is_unseen(*one) {
            break;
        }
        end += 1;
    }
    let text: String = characters[at..end].iter().collect();
    let bare = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(&text);
    (Some(Token::Word(bare.to_owned())), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_sentence_is_lost() {
        let found = tokens("i0068's score is 0.95 (95.0%), $1,221.5 of `f(1)`; 12KiB.");
        let number = |text: &str| Token::Number(text.to_owned(), Exact::parse(text).unwrap());
        let word = |text: &str| Token::Word(text.to_owned());
        let expected = vec![
            word("i0068"),
            word("score"),
            word("is"),
            number("0.95"),
            Token::Stop('('),
            number("95.0"),
            Token::Sign('%'),
            Token::Stop(')'),
            Token::Stop(','),
            Token::Sign('$'),
            number("1,221.5"),
            word("of"),
            Token::Code("f(1)".to_owned()),
            Token::Stop(';'),
            number("12"),
            word("KiB"),
            Token::Stop('.'),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_looks_like_a_number_and_is_not_read_as_one_is_strange() {
        for text in ["½", "٣", "９", "10k", "3/4", "1-2", "1.2.3", "²", "\"", "a\u{200b}b", "#", "*", "1_000", "0x1f"]
        {
            assert!(tokens(text).iter().any(|token| matches!(token, Token::Strange(_))), "{text}: {:?}", tokens(text));
        }
    }
}
