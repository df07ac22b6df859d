//! Stands in for [`crate::wasi`] where the engine is built without it: nothing is served.

use wasmtime::component::Linker;

use crate::call::State;
use crate::log::Log;

/// The state of one call.
#[derive(Default)]
pub(crate) struct Wasi;

impl Wasi {
    pub(crate) fn end_lines(&mut self, _: &mut Log) {}
}

/// Whether an import is served; the error is a code and what is wrong with it.
pub(crate) fn serves(import: &str) -> Result<(), (&'static str, String)> {
    let message = format!(
        "imports {import}, and this build of the host lends no WASI: build the component for wasm32-unknown-unknown, which needs none, or the host with the feature `wasi`"
    );
    Err(("unknown-import", message))
}

pub(crate) fn ended(_: &wasmtime::Error) -> Option<String> {
    None
}

pub(crate) fn link(_: &mut Linker<State>) -> wasmtime::Result<()> {
    Ok(())
}
