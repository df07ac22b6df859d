//! The categories are those of the crate `unicode-properties`, from which their tables are made;
//! `BLESS=1` writes the tables anew.

use std::path::Path;
use std::{env, fs};

use auto_rt::kernels::category::{is_mark, is_numeral, is_punctuation, is_symbol};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/category");

/// The file of a table, what it is made of, and what reads it.
type Table = (&'static str, fn(char) -> bool, fn(char) -> bool);

const TABLES: [Table; 4] = [
    ("numerals.bin", |character| character.general_category() == GeneralCategory::DecimalNumber, is_numeral),
    ("punctuation.bin", |character| group(character) == GeneralCategoryGroup::Punctuation, is_punctuation),
    ("symbols.bin", |character| group(character) == GeneralCategoryGroup::Symbol, is_symbol),
    ("marks.bin", |character| group(character) == GeneralCategoryGroup::Mark, is_mark),
];

fn group(character: char) -> GeneralCategoryGroup {
    character.general_category_group()
}

fn table(inside: fn(char) -> bool) -> Vec<u8> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for code in ('\0'..=char::MAX).filter(|character| inside(*character)).map(u32::from) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => ranges.push((code, code)),
        }
    }
    let three = |code: u32| code.to_le_bytes().into_iter().take(3);
    ranges.into_iter().flat_map(|(first, last)| three(first).chain(three(last))).collect()
}

#[test]
fn the_tables_are_those_of_unicode() {
    for (name, inside, _) in TABLES {
        let (path, bytes) = (Path::new(FOLDER).join(name), table(inside));
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name} is not current; BLESS=1 mends it");
    }
}

#[test]
fn every_code_point_is_where_it_belongs() {
    for (name, inside, read) in TABLES {
        for character in '\0'..=char::MAX {
            assert_eq!(read(character), inside(character), "{name}: {character:?}");
        }
    }
}
