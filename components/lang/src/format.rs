//! The text form of number styles and formats, and the bytes that kernels read.
//!
//! A style shows what numbers to be read look like: `1,234.5`, `1.234,5`. A format is
//! written as in spreadsheets: `$#,##0.00`, `000`, `0.##%`, `?0.0` (`?` is a space where
//! there is no digit), `#.##0,00`. Text around the digits stands for itself; in quotes
//! (`'%'`) also what has a meaning: `#`, `0`, `?`, `;`, `'`, `%`, which multiplies by a
//! hundred, and `+`, which shows the sign. Behind `;` stands what a negative number has around
//! it: `0;(0)`.

use std::fmt;

use auto_rt::kernels::quantity::{MOST_PLACES, NEGATIVE, PERCENT, PLUS};

/// Every style of numbers to be read.
pub const STYLES: [&str; 7] = ["1234.5", "1,234.5", "1.234,5", "1 234,5", "1'234.5", "1 234.5", "1234,5"];

/// The bytes that kernels read for a style.
pub fn encode_style(style: &str) -> Option<Vec<u8>> {
    STYLES.contains(&style).then_some(())?;
    let bytes = style.as_bytes();
    let group = bytes.get(1).filter(|byte| !byte.is_ascii_digit());
    Some(vec![*bytes.get(bytes.len() - 2)?, group.copied().unwrap_or(0)])
}

/// How a number is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NumberFormat {
    /// What stands before the digits, and behind them.
    pub around: [String; 2],
    /// What does so of a negative number instead of a `-` at the very beginning.
    pub negative: Option<[String; 2]>,
    /// Whether the number is multiplied by a hundred. The text around has the `%`.
    pub percent: bool,
    /// Whether the `+` in the text before shows the sign.
    pub plus: bool,
    /// The decimal separator, `.` or `,`; needed where there are decimals.
    pub decimal: Option<char>,
    /// The grouping separator: a point, a comma, a space or an apostrophe.
    pub group: Option<char>,
    /// Digits of the integer part that are zeros where there are none.
    pub zeros: u8,
    /// Places before those that are spaces where there are no digits.
    pub spaces: u8,
    /// Decimals that are always there.
    pub always: u8,
    /// Decimals behind those that are spaces where they are zero.
    pub padded: u8,
    /// Decimals behind those that are left out where they are zero.
    pub more: u8,
}

/// A character of a format, and whether it was quoted.
type Glyph = (char, bool);

/// What is before the digits, the digits, and what is behind.
type Parts<'g> = (&'g [Glyph], &'g [Glyph], &'g [Glyph]);

impl NumberFormat {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<NumberFormat, String> {
        let glyphs = glyphs(text)?;
        let (positive, negative) = match glyphs.iter().position(|glyph| *glyph == (';', false)) {
            Some(at) => (&glyphs[..at], Some(&glyphs[at + 1..])),
            None => (glyphs.as_slice(), None),
        };
        let (before, body, behind) = parts(positive)?;
        let mut format = NumberFormat { around: [string(before), string(behind)], ..NumberFormat::default() };
        format.percent = before.iter().chain(behind).any(|glyph| *glyph == ('%', false));
        format.plus = before.contains(&('+', false));
        format.read_digits(body)?;
        if let Some(negative) = negative {
            let (before, _, behind) = parts(negative)?;
            format.negative = Some([string(before), string(behind)]);
        }
        let places = [format.zeros + format.spaces, format.always + format.padded + format.more];
        let longest = format.around.iter().chain(format.negative.iter().flatten()).map(String::len).max();
        if places.iter().any(|places| usize::from(*places) > MOST_PLACES) || longest > Some(120) {
            return Err(format!("a format has at most {MOST_PLACES} places a side and 120 bytes of text around them"));
        }
        Ok(format)
    }

    fn read_digits(&mut self, body: &[Glyph]) -> Result<(), String> {
        let places: Vec<char> = body.iter().map(|(character, _)| *character).collect();
        let separators: Vec<usize> = (0..places.len()).filter(|at| !is_place(places[*at])).collect();
        let decimal = decimal_of(&places, &separators);
        let (integer, fraction) = places.split_at(decimal.unwrap_or(places.len()));
        self.decimal = decimal.map(|at| places[at]);
        for character in integer.iter().rev() {
            match character {
                '0' if self.spaces == 0 => self.zeros += 1,
                '?' => self.spaces += 1,
                '#' => {}
                '0' => return Err("a `0` stands behind every `?` and `#`".to_owned()),
                separator if self.group.is_none_or(|group| group == *separator) => self.group = Some(*separator),
                _ => return Err("a format has one grouping separator".to_owned()),
            }
        }
        for character in fraction.iter().skip(1) {
            match character {
                '0' if self.padded + self.more == 0 => self.always += 1,
                '?' if self.more == 0 => self.padded += 1,
                '#' if self.padded == 0 => self.more += 1,
                _ => return Err("decimals are `0`, then `?` or `#`".to_owned()),
            }
        }
        Ok(())
    }

    /// The bytes that kernels read.
    pub fn encode(&self) -> Vec<u8> {
        let flags = (u8::from(self.percent) * PERCENT)
            | (u8::from(self.plus) * PLUS)
            | (u8::from(self.negative.is_some()) * NEGATIVE);
        let byte = |separator: Option<char>| separator.map_or(0, |separator| separator as u8);
        let mut bytes = vec![flags, byte(self.decimal), byte(self.group), self.zeros, self.spaces];
        bytes.extend([self.always, self.padded, self.more]);
        let none = [String::new(), String::new()];
        for text in self.around.iter().chain(self.negative.as_ref().unwrap_or(&none)) {
            bytes.push(text.len() as u8);
            bytes.extend(text.bytes());
        }
        bytes
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(&self) -> u32 {
        let texts = self.around.iter().chain(self.negative.iter().flatten());
        let characters: usize = texts.map(|text| text.chars().count()).sum();
        let places = [self.zeros.saturating_sub(1), self.spaces, self.always, self.padded, self.more];
        let flags = [self.percent, self.plus, self.group.is_some()];
        3 + 3 * characters as u32
            + places.iter().map(|places| u32::from(*places)).sum::<u32>()
            + flags.iter().map(|flag| 2 * u32::from(*flag)).sum::<u32>()
    }
}

fn is_place(character: char) -> bool {
    matches!(character, '0' | '#' | '?')
}

/// Which of the separators is the decimal one: the last, if it is another one than those
/// before it; a single point; a single comma that three places do not follow.
fn decimal_of(places: &[char], separators: &[usize]) -> Option<usize> {
    let last = *separators.last()?;
    let alone = separators.iter().filter(|at| places[**at] == places[last]).count() == 1;
    let known = match places[last] {
        '.' => true,
        ',' => separators.len() > 1 || places.len() - last - 1 != 3,
        _ => false,
    };
    (alone && known).then_some(last)
}

/// The characters of a format, without quotes; one between two places groups digits.
fn glyphs(text: &str) -> Result<Vec<Glyph>, String> {
    let characters: Vec<char> = text.chars().collect();
    let place = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(|character| is_place(*character));
    let mut glyphs = Vec::new();
    let mut quoted = false;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        if character != '\'' || (!quoted && place(at.checked_sub(1)) && place(Some(at + 1))) {
            glyphs.push((character, quoted));
        } else if characters.get(at + 1) == Some(&'\'') {
            glyphs.push(('\'', true));
            at += 1;
        } else {
            quoted = !quoted;
        }
        at += 1;
    }
    if quoted { Err("a quote is not closed".to_owned()) } else { Ok(glyphs) }
}

/// What is before the digits, the digits with their separators, and what is behind.
fn parts(glyphs: &[Glyph]) -> Result<Parts<'_>, String> {
    let place = |glyph: &Glyph| !glyph.1 && is_place(glyph.0);
    let Some(mut start) = glyphs.iter().position(place) else {
        return Err("a format has a `0`, `#` or `?`".to_owned());
    };
    let mut end = start;
    while end < glyphs.len() {
        let separator = !glyphs[end].1 && matches!(glyphs[end].0, '.' | ',' | ' ' | '\'');
        let inside = place(&glyphs[end]) || (separator && glyphs.get(end + 1).is_some_and(place));
        if !inside {
            break;
        }
        end += 1;
    }
    // `.00` begins with its separator.
    if start > 0 && glyphs[start - 1] == ('.', false) {
        start -= 1;
    }
    if glyphs[end..].iter().any(place) {
        return Err("a format has its digits in one place; other `0`, `#` and `?` are quoted".to_owned());
    }
    Ok((&glyphs[..start], &glyphs[start..end], &glyphs[end..]))
}

fn string(glyphs: &[Glyph]) -> String {
    glyphs.iter().map(|(character, _)| character).collect()
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        write!(f, "{}{digits}{}", self.quoted(0), self.quoted(1))?;
        match &self.negative {
            Some([before, behind]) => write!(f, ";{}0{}", plain(before), plain(behind)),
            None => Ok(()),
        }
    }
}

impl NumberFormat {
    fn digits(&self) -> String {
        let mut places = "0".repeat(self.zeros.into());
        places.insert_str(0, &"?".repeat(self.spaces.into()));
        if let Some(group) = self.group {
            while places.len() < 4 {
                places.insert(0, '#');
            }
            for at in (1..places.len()).filter(|at| at % 3 == 0).collect::<Vec<_>>() {
                let at = places.len() - at - (at / 3 - 1) * group.len_utf8();
                places.insert(at, group);
            }
        }
        let fraction = self.always + self.padded + self.more > 0;
        if places.is_empty() && !fraction {
            places.push('#');
        }
        if let Some(decimal) = self.decimal.filter(|_| fraction) {
            // A comma with nothing before it would not be read as one.
            if places.is_empty() {
                places.push('#');
            }
            places.push(decimal);
            places.push_str(&"0".repeat(self.always.into()));
            places.push_str(&"?".repeat(self.padded.into()));
            places.push_str(&"#".repeat(self.more.into()));
        }
        places
    }

    /// The text on a side, what has a meaning that is not meant in quotes.
    fn quoted(&self, side: usize) -> String {
        let text = &self.around[side];
        let mut rest = plain(text);
        if self.percent {
            rest = rest.replace("'%'", "%");
        }
        if self.plus && side == 0 {
            rest = rest.replace("'+'", "+");
        }
        rest
    }
}

/// A text with what has a meaning in quotes.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        match character {
            '\'' => plain.push_str("''"),
            '#' | '0' | '?' | ';' | '%' | '+' | '.' | ',' | ' ' => plain.extend(['\'', character, '\'']),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_print_as_they_read() {
        for text in [
            "0",
            "#",
            "000",
            "0.00",
            "$#,##0.00",
            "#.##0,00 €",
            "0,00",
            "# ##0",
            "#'##0.5",
            "0.##%",
            "+0",
            "?0.0??",
            ".00",
            "0;(0)",
            "'#'0",
            "0''",
            "0'%'",
            "'a b 'x0",
            "00,000,000",
            "0.000",
            "0' '",
            "#,##0",
        ] {
            let Ok(format) = NumberFormat::parse(text) else { panic!("{text}: {:?}", NumberFormat::parse(text)) };
            let printed = format.to_string();
            assert_eq!(NumberFormat::parse(&printed).as_ref(), Ok(&format), "{text} as {printed}");
        }
        for text in ["", "x", "'0'", "0 x 0", "#0#x#", "0?", "0.#0", "0.?#", "'0", "0;x", "#,##0 000"] {
            assert!(NumberFormat::parse(text).is_err(), "{text}: {:?}", NumberFormat::parse(text));
        }
    }
}
