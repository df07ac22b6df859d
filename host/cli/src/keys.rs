//! What of a request is the input of an artifact, by the key policies of a store.

use std::borrow::Cow;
use std::path::PathBuf;

use auto_runtime::{CallError, Class, Program};
use auto_schema::key::Part;
use auto_store::{Store, input_of};
use clap::Args;

use crate::failure::Failure;

/// Which key policies hold for what is given.
#[derive(Args, Clone)]
pub struct KeyOptions {
    /// What is given are whole requests: an artifact gets what the key policies of this store say is
    /// its input, tier 0 and recordings get all of it
    #[arg(long, value_name = "STORE")]
    key_policies: Option<PathBuf>,
}

impl KeyOptions {
    /// What of a request is an artifact's input; none where all of it is. Codes: those of the store.
    pub fn of(&self, program: &Program) -> Result<Option<Part>, Failure> {
        let Some(path) = &self.key_policies else { return Ok(None) };
        let manifest = program.manifest();
        // Only single operations have one.
        let Some((kind, name)) = manifest.scope.strip_prefix("span ").and_then(|scope| scope.split_once(' ')) else {
            return Ok(None);
        };
        // Not as an input of the command: the same store may take recordings.
        Ok(Store::open_read(path)?.key_of(&manifest.task, kind, name)?)
    }
}

/// The artifact's input of what is given; none where the key does not fit it, so that the artifact
/// has nothing to say. Errors: `bad-input`.
pub fn input<'g>(key: Option<&Part>, given: &'g str) -> Result<Option<Cow<'g, str>>, CallError> {
    match key {
        None => Ok(Some(given.into())),
        Some(key) => match input_of(key, given) {
            Ok(input) => Ok(input.map(|input| input.into_string().into())),
            Err(message) => Err(CallError { class: Class::BadInput, message }),
        },
    }
}
