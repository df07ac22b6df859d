//! Results of pure calls, under what they depend on: the component and all that serves
//! it, the function, the arguments and the limits. Only results are kept, never faults: a
//! deadline or a lack of memory is not the arguments' doing.

use auto_runtime::Cache;
use auto_schema::digest::{Digest, Hasher};
use wasmtime::component::Val;

use crate::limits::Budget;
use crate::value;

/// Changes when a key or an entry means something else.
const VERSION: &str = "auto-memo-1\n";

/// What a result depends on.
pub(crate) fn key(identity: Digest, function: &str, budget: &Budget, args: &[Val]) -> Digest {
    let mut bytes = Vec::new();
    for limit in budget.words() {
        bytes.extend_from_slice(&limit.to_le_bytes());
    }
    value::encode(&[Val::String(function.to_owned())], &mut bytes);
    value::encode(args, &mut bytes);
    let mut hasher = Hasher::new();
    hasher.update(VERSION);
    hasher.update(identity.as_bytes());
    hasher.update(&bytes);
    hasher.finish()
}

/// Results and the fuel they took.
pub(crate) fn read(cache: &Cache, key: Digest) -> Option<(Vec<Val>, u64)> {
    let bytes = cache.read(&key.to_string())?;
    let (fuel, results) = bytes.split_first_chunk::<8>()?;
    Some((value::decode(results)?, u64::from_le_bytes(*fuel)))
}

pub(crate) fn write(cache: &Cache, key: Digest, results: &[Val], fuel: u64) {
    let mut bytes = fuel.to_le_bytes().to_vec();
    value::encode(results, &mut bytes);
    cache.write(&key.to_string(), &bytes);
}

/// Whether two calls gave the same, to the byte.
pub(crate) fn same(one: &[Val], other: &[Val]) -> bool {
    let bytes = |values: &[Val]| {
        let mut bytes = Vec::new();
        value::encode(values, &mut bytes);
        bytes
    };
    bytes(one) == bytes(other)
}
