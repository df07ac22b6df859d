//! `pass new`: a project for a pass of one's own, with everything that its build needs from us.

use std::path::Path;

use auto_export::Name;
use auto_json::{Record, Value};
use clap::ValueEnum;

use super::template;
use crate::failure::Failure;
use crate::files;
use crate::reply::{Exit, Reply};

/// What a pass is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Plain cargo, or cargo-component
    Rust,
    /// jco, by QuickJS
    Js,
    /// componentize-py
    Python,
    /// clang, with bindings of wit-bindgen
    C,
}

/// Names that cargo takes for no package.
const RESERVED: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum \
                        extern false final fn for if impl in let loop macro match mod move mut override priv \
                        proc-macro pub ref self std struct test use while yield";

pub fn new(name: &str, language: Language) -> Result<Reply, Failure> {
    let bad = |why: String| Failure::new(Exit::Usage, "bad-name", format!("{name:?} is no name for a pass: {why}"));
    let name: Name = name.parse().map_err(bad)?;
    let name = name.to_string();
    if language == Language::Rust && RESERVED.split_whitespace().any(|word| word == name) {
        return Err(bad("cargo takes it for no package".to_owned()).help("choose another"));
    }
    let out = Path::new(&name);
    files::refuse_full(out)?;
    let contents = template::files(&name, language);
    files::write_folder(out, &contents)?;
    let places: Vec<Value> = contents.iter().map(|(place, _)| Value::from(place.as_str())).collect();
    let text = format!("made {name}: {} files; {name}/README.md has the commands that build and try it", places.len());
    Ok(Reply::done("made", text, Record::new().with("out", name.as_str()).with("files", places)))
}
