//! The text form of date layouts, and the bytes that kernels read.
//!
//! Letters are fields, as the [table](FIELDS) has them: `yyyy-MM-dd`, `MMMM ddd, yyyy`,
//! `h:mm aa`. Other characters stand for themselves, and letters do in quotes: `'week' w`. A
//! `|` stands between layouts of which a date to be read may have any, the first that fits.

use std::fmt;

use auto_rt::kernels::layout::{FIELDS, Field, TEXT};

/// An item of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A part of the date.
    Field(Field),
    /// What stands between.
    Text(String),
}

/// How a date is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout(pub Vec<Item>);

/// Layouts that dates and times have most often. Two that differ in the order of day and month
/// both read `3/4/2024`; which is meant, only more dates can tell.
pub const LAYOUTS: [&str; 56] = [
    "yyyy-MM-dd",
    "yyyy-M-d",
    "yyyy/MM/dd",
    "yyyy/M/d",
    "yyyy.MM.dd",
    "yyyyMMdd",
    "M/d/yyyy",
    "d/M/yyyy",
    "M/d/yy",
    "d/M/yy",
    "MM/dd/yyyy",
    "dd/MM/yyyy",
    "M-d-yyyy",
    "d-M-yyyy",
    "d.M.yyyy",
    "dd.MM.yyyy",
    "d.M.yy",
    "MMddyyyy",
    "ddMMyyyy",
    "d MMM yyyy",
    "d MMMM yyyy",
    "ddd MMMM yyyy",
    "d-MMM-yyyy",
    "dd-MMM-yyyy",
    "d-MMM-yy",
    "MMM d, yyyy",
    "MMM d yyyy",
    "MMMM d, yyyy",
    "MMMM d yyyy",
    "MMMM ddd, yyyy",
    "EEE, d MMM yyyy",
    "EEEE, MMMM d, yyyy",
    "EEEE, d MMMM yyyy",
    "MMM yyyy",
    "MMMM yyyy",
    "M/yyyy",
    "d MMM",
    "d MMMM",
    "MMM d",
    "MMMM d",
    "M/d",
    "d/M",
    "yyyy",
    "yyyy D",
    "H:mm",
    "H:mm:ss",
    "H.mm",
    "HHmm",
    "Hmm",
    "h:mm a",
    "h:mma",
    "h:mm:ss a",
    "ha",
    "h a",
    "yyyy-MM-dd'T'HH:mm:ssZ",
    "yyyy-MM-dd HH:mm:ss",
];

impl Layout {
    /// Reads one layout.
    pub fn parse(text: &str) -> Result<Layout, String> {
        match <[Layout; 1]>::try_from(layouts(text)?) {
            Ok([layout]) => Ok(layout),
            Err(_) => Err("a date is printed in one layout".to_owned()),
        }
    }

    /// The bytes that kernels read.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for item in &self.0 {
            match item {
                Item::Field(field) => bytes.push(*field as u8),
                Item::Text(text) => {
                    bytes.extend([TEXT, text.len() as u8]);
                    bytes.extend(text.bytes());
                }
            }
        }
        bytes
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(&self) -> u32 {
        let cost = |item: &Item| match item {
            Item::Field(_) => 3,
            Item::Text(text) => 2 * text.chars().count() as u32,
        };
        self.0.iter().map(cost).sum()
    }
}

/// Layouts with the numbers of the day and the month in each other's place; none where no layout has
/// both as numbers.
pub fn exchanged(text: &str) -> Option<String> {
    let mut layouts = layouts(text).ok()?;
    let mut any = false;
    for layout in &mut layouts {
        let has = |fields: [Field; 2]| layout.0.iter().any(|item| fields.map(Item::Field).contains(item));
        if !has([Field::Month, Field::LongMonth]) || !has([Field::Day, Field::LongDay]) {
            continue;
        }
        any = true;
        for item in &mut layout.0 {
            *item = match item {
                Item::Field(Field::Month) => Item::Field(Field::Day),
                Item::Field(Field::Day) => Item::Field(Field::Month),
                Item::Field(Field::LongMonth) => Item::Field(Field::LongDay),
                Item::Field(Field::LongDay) => Item::Field(Field::LongMonth),
                _ => continue,
            };
        }
    }
    any.then(|| layouts.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
}

/// Reads layouts with `|` between them.
pub fn layouts(text: &str) -> Result<Vec<Layout>, String> {
    let mut layouts = vec![Layout::default()];
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character == '|' {
            layouts.push(Layout::default());
            rest = &rest[1..];
            continue;
        }
        let (item, after) = item(rest, character)?;
        rest = after;
        let Some(layout) = layouts.last_mut() else { break };
        match (layout.0.last_mut(), item) {
            (Some(Item::Text(text)), Item::Text(more)) => text.push_str(&more),
            (_, item) => layout.0.push(item),
        }
    }
    let is_long = |layout: &Layout| {
        layout.0.iter().any(|item| matches!(item, Item::Text(text) if text.len() > 127)) || layout.encode().len() > 255
    };
    if layouts.iter().any(|layout| !layout.0.iter().any(|item| matches!(item, Item::Field(_)))) {
        return Err("a layout has a field, such as yyyy or M".to_owned());
    }
    if layouts.iter().any(is_long) {
        return Err("a layout has at most 127 bytes of text at a time, and 255 in all".to_owned());
    }
    Ok(layouts)
}

/// The first item, and what follows it.
fn item(text: &str, first: char) -> Result<(Item, &str), String> {
    if first.is_ascii_alphabetic() {
        let end = text.find(|character| character != first).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        return match FIELDS.iter().find(|(own, _)| *own == name) {
            Some((_, field)) => Ok((Item::Field(*field), rest)),
            None => {
                let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
                Err(format!(
                    "`{name}` is no field of a layout; fields are {}, and other letters are quoted",
                    names.join(" ")
                ))
            }
        };
    }
    if first != '\'' {
        return Ok((Item::Text(first.to_string()), &text[first.len_utf8()..]));
    }
    if let Some(rest) = text.strip_prefix("''") {
        return Ok((Item::Text("'".to_owned()), rest));
    }
    match text[1..].find('\'') {
        Some(end) => Ok((Item::Text(text[1..=end].to_owned()), &text[end + 2..])),
        None => Err("a quote is not closed".to_owned()),
    }
}

/// The bytes that kernels read for layouts of which any may be met.
pub fn encode(layouts: &[Layout]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for layout in layouts {
        let layout = layout.encode();
        bytes.push(layout.len() as u8);
        bytes.extend(layout);
    }
    bytes
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.0 {
            match item {
                Item::Field(field) => f.write_str(FIELDS[*field as usize].0)?,
                Item::Text(text) => {
                    let quoted = |character: char| character.is_ascii_alphabetic() || character == '|';
                    for character in text.chars() {
                        match character {
                            '\'' => f.write_str("''")?,
                            character if quoted(character) => write!(f, "'{character}'")?,
                            character => write!(f, "{character}")?,
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_print_as_they_read() {
        for text in LAYOUTS.into_iter().chain(["''yy", "H'h'mm", "yyyy'|'", "yyyy 'of the' MMM", "d''''M"]) {
            let layout = Layout::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(Layout::parse(&layout.to_string()).as_ref(), Ok(&layout), "{text} as {layout}");
        }
        for text in ["", "-", "yyy", "d|M", "'d", "yyyy|", "x", "'yyyy'"] {
            assert!(Layout::parse(text).is_err(), "{text}");
        }
        assert_eq!(layouts("d|M").unwrap().len(), 2);
    }
}
