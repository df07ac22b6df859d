//! The metered twin of an artifact that is there already: its program is emitted again, and
//! where that gives the code in the file, the twin that comes with it counts its steps. Where it
//! gives other code, as of another version, nobody does.

use std::sync::Arc;

use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use wasmtime::component::Val;

use crate::engine::Inner;
use crate::providers::Providers;
use crate::seal::SealError;
use crate::wire;

/// The interface that makes code.
const EMIT: &str = "auto:pass/emit@0.1.0";

/// The twin of the artifact in a file, if there is one.
pub(crate) fn of(engine: &Arc<Inner>, emits: &Providers, file: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
    let artifact = Cbin::read(file).map_err(|damage| SealError::Refused(damage.code, damage.to_string()))?;
    let program = artifact.graph.as_ref().and_then(|graph| graph.to_bytes().ok());
    let (Some(program), Some(emit)) = (program, emits.resolve(EMIT)) else { return Ok(None) };
    let results = engine.call(&emit, "emit", &[Val::List(program.into_iter().map(Val::U8).collect())])?;
    let Some(Val::Result(Ok(Some(emitted)))) = results.first() else { return Ok(None) };
    let bytes = |name: &str| wire::field(emitted, name).and_then(wire::as_bytes);
    let same = bytes("module").is_some_and(|module| Digest::of(&module) == artifact.manifest.code);
    Ok(bytes("metered").filter(|_| same))
}
