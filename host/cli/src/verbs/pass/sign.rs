//! `pass sign`: says of a component, beside its file, that one stands for it.

use std::path::Path;

use auto_json::Record;
use auto_schema::shown_path;

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::registries::{SignOption, beside};
use crate::reply::Reply;
use crate::signed;

pub fn sign(global: &Global, file: &Path, key: &SignOption) -> Result<Reply, Failure> {
    let key = key.read(global)?;
    let bytes = files::read_wasm(file)?;
    // What would not be let in is not worth a signature.
    let pass = auto_engine::Engine::new(auto_engine::Options::default())?.load(&shown_path(file), bytes)?;
    signed::sign(&pass, file, &key)?;
    let (by, target) = (key.public().id().to_string(), shown_path(&beside(file)));
    let text = format!("signed {} in {target}\n  sha-256 {}\n  key {by}", shown_path(file), pass.digest);
    let fields = Record::new().with("digest", pass.digest.to_string()).with("key", by).with("signatures", target);
    Ok(Reply::done("signed", text, fields))
}
