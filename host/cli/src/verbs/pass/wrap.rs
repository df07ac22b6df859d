//! `pass wrap`: a component of a core module that knows its world, as compilers of languages
//! without components leave it.

use std::path::Path;

use auto_engine::{Engine, Options};
use auto_json::Record;
use auto_schema::digest::Digest;
use auto_schema::shown_path;
use wit_component::ComponentEncoder;

use crate::failure::Failure;
use crate::files::{self, Output};
use crate::reply::{Exit, Reply};

pub fn wrap(file: &Path, out: &Path) -> Result<Reply, Failure> {
    let refuse = |code, why: String, help: &str| Failure::new(Exit::Refused, code, why).at(shown_path(file)).help(help);
    let module = files::read_wasm(file)?;
    let out = Output::at(out)?;
    match module.get(..8) {
        Some(b"\0asm\x01\0\0\0") => {}
        Some(b"\0asm\x0d\0\x01\0") => {
            return Err(refuse("component", "it is a component already".to_owned(), "use it as it is"));
        }
        _ => {
            let why = "it does not start as a WebAssembly module does".to_owned();
            return Err(refuse("not-wasm", why, "give what the compiler wrote"));
        }
    }
    let help =
        "build it with the bindings of wit-bindgen, for a target without WASI; they put the world into the module";
    let encoded = ComponentEncoder::default().validate(true).module(&module).and_then(|mut encoder| encoder.encode());
    let component =
        encoded.map_err(|error| refuse("no-world", format!("no component can be made of it: {error:#}"), help))?;
    // A module that knows no world becomes a component of nothing.
    let report = Engine::new(Options::default())?.examine(&shown_path(file), component.clone());
    if report.exports.is_empty() {
        return Err(refuse("no-world", "it exports no interface".to_owned(), help));
    }
    out.write(&component)?;
    let (bytes, digest) = (component.len(), Digest::of(&component));
    let fields = Record::new().with("digest", digest.to_string()).with("bytes", bytes);
    Ok(Reply::done("wrapped", format!("wrapped: {bytes} bytes\n  sha-256 {digest}"), fields))
}
