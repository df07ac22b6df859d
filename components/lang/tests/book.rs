//! `docs/language.md` says what the tables say. `BLESS=1` writes its tables anew.

use std::fmt::Write;
use std::{env, fs};

use auto_json::Value;
use auto_lang::ops::OPS;
use auto_lang::{eval, parse};
use auto_rt::kernels::class::CLASSES;
use auto_rt::kernels::layout::FIELDS;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language.md");

#[test]
fn the_book_has_every_operator_class_and_field() {
    let book = fs::read_to_string(BOOK).expect("the book has a page on the language");
    let mut page = replaced(&book, "operators", &operators());
    page = replaced(&page, "classes", &listed(CLASSES.iter().map(|(name, _)| *name)));
    page = replaced(&page, "fields", &listed(FIELDS.iter().map(|(name, _)| *name)));
    if env::var_os("BLESS").is_some() {
        fs::write(BOOK, &page).expect("the page can be written");
    }
    assert!(page == book || env::var_os("BLESS").is_some(), "docs/language.md is behind the tables; BLESS=1 mends it");
}

/// Every line of a table that has an expression and what it gives.
#[test]
fn the_examples_of_the_book_are_true() {
    let book = fs::read_to_string(BOOK).expect("the book has a page on the language");
    let mut count = 0;
    for line in book.lines().skip_while(|line| !line.starts_with("## Patterns")) {
        let Some((expression, value)) = line.strip_prefix("| `").and_then(|line| line.split_once("` | `")) else {
            continue;
        };
        let expression = parse(&expression.replace("\\|", "|")).unwrap_or_else(|error| panic!("{line}: {error}"));
        let got = eval(&expression, &Value::Null).expect("it is defined").to_string();
        assert_eq!(Some(got.as_str()), value.strip_suffix("` |"), "{line}");
        count += 1;
    }
    assert!(count >= 9, "{count}");
}

/// The page with what lies between two comments replaced.
fn replaced(page: &str, name: &str, content: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{begin}\n{content}\n{end}{after}")
}

fn operators() -> String {
    let mut table = "| operator | types | what it gives |\n|---|---|---|\n".to_owned();
    for operator in OPS {
        let types = operator.types.replace('|', "\\|");
        let doc = operator.doc.replace('|', "\\|");
        writeln!(table, "| `{}` | `{types}` | {doc} |", operator.name).expect("a string takes it");
    }
    table
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("{}\n", names.join(", "))
}
