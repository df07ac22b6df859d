//! The normal forms agree with the crate `unicode-normalization`, from which their tables are made;
//! `BLESS=1` writes the tables anew.

use std::path::Path;
use std::{env, fs};

use auto_rt::kernels::normal::{FORMS, normalize};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical, decompose_compatible};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/normal");

fn three(code: u32) -> [u8; 3] {
    let [a, b, c, _] = code.to_le_bytes();
    [a, b, c]
}

/// Every code point that is not a syllable of Hangul, which are reckoned.
fn characters() -> impl Iterator<Item = char> {
    ('\0'..=char::MAX).filter(|character| !('\u{AC00}'..='\u{D7A3}').contains(character))
}

fn parts(character: char, decompose: impl Fn(char, &mut dyn FnMut(char))) -> String {
    let mut text = String::new();
    decompose(character, &mut |part| text.push(part));
    text
}

fn canonical(character: char) -> String {
    parts(character, |character, out| decompose_canonical(character, out))
}

fn decompositions(of: impl Fn(char) -> Option<String>) -> Vec<u8> {
    let (mut entries, mut texts, mut count) = (Vec::new(), Vec::new(), 0u16);
    for (character, text) in characters().filter_map(|character| Some((character, of(character)?))) {
        entries.extend(three(character.into()));
        entries.extend(u16::try_from(texts.len()).unwrap().to_le_bytes());
        entries.push(u8::try_from(text.len()).unwrap());
        texts.extend(text.bytes());
        count += 1;
    }
    [&count.to_le_bytes()[..], &entries, &texts].concat()
}

fn compositions() -> Vec<u8> {
    let mut pairs = Vec::new();
    for character in characters() {
        let parts: Vec<char> = canonical(character).chars().collect();
        let [first @ .., second] = parts.as_slice() else { continue };
        let first: Vec<char> = first.iter().copied().nfc().collect();
        if let [first] = first.as_slice()
            && compose(*first, *second) == Some(character)
        {
            pairs.push([u32::from(*first), u32::from(*second), character.into()]);
        }
    }
    pairs.sort_unstable();
    pairs.into_iter().flatten().flat_map(three).collect()
}

fn classes() -> Vec<u8> {
    let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
    for character in characters() {
        let (code, class) = (u32::from(character), canonical_combining_class(character));
        match ranges.last_mut() {
            _ if class == 0 => {}
            Some((_, last, own)) if *last + 1 == code && *own == class => *last = code,
            _ => ranges.push((code, code, class)),
        }
    }
    ranges.into_iter().flat_map(|(first, last, class)| [&three(first)[..], &three(last), &[class]].concat()).collect()
}

#[test]
fn the_tables_are_those_of_unicode() {
    let compatible = |character| {
        let text = parts(character, |character, out| decompose_compatible(character, out));
        (text != canonical(character)).then_some(text)
    };
    let differs = |character: char| Some(canonical(character)).filter(|text| *text != character.to_string());
    let tables = [
        ("canonical.bin", decompositions(differs)),
        ("compatible.bin", decompositions(compatible)),
        ("composed.bin", compositions()),
        ("classes.bin", classes()),
    ];
    for (name, bytes) in tables {
        let path = Path::new(FOLDER).join(name);
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name} is not current; BLESS=1 mends it");
    }
}

fn ours(text: &str) -> Vec<String> {
    let form = |form: u8| {
        let mut bytes = Vec::new();
        normalize(text, &[form], &mut |byte| bytes.push(byte)).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    (0..FORMS.len() as u8).map(form).collect()
}

fn theirs(text: &str) -> Vec<String> {
    vec![text.nfc().collect(), text.nfd().collect(), text.nfkc().collect(), text.nfkd().collect()]
}

#[test]
fn every_code_point_alone_and_among_marks() {
    for character in '\0'..=char::MAX {
        for text in [
            format!("{character}"),
            format!("a\u{323}{character}\u{301}"),
            format!("{character}\u{327}\u{307}\u{31B}e\u{301}"),
        ] {
            assert_eq!(ours(&text), theirs(&text), "{text:?}");
        }
    }
}

/// What composes, what stands in its way, and what has many parts.
fn tricky() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => prop::sample::select("aeo\u{301}\u{308}\u{323}\u{327}\u{31B}\u{345}\u{315}\u{344}\u{F73}\u{1E69}\u{1D160}".chars().collect::<Vec<_>>()),
        2 => prop::sample::select("\u{1100}\u{1161}\u{11A8}\u{AC00}\u{AC01}\u{9C7}\u{9BE}\u{FDFA}\u{3B1}\u{1F82}\u{212B}\u{958}".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn random_texts(characters in prop::collection::vec(tricky(), 0..12)) {
        let text: String = characters.into_iter().collect();
        prop_assert_eq!(ours(&text), theirs(&text), "{:?}", text);
    }
}

/// More marks than any buffer would hold.
#[test]
fn a_thousand_marks_on_one_letter() {
    let text: String = std::iter::once('a').chain("\u{301}\u{323}\u{327}".chars().cycle().take(3_000)).collect();
    assert_eq!(ours(&text), theirs(&text));
}
