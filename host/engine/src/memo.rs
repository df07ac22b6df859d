//! Results of pure calls, under what they depend on: the component and all that serves
//! it, the function, the arguments and the limits. Only results are kept, never faults: a
//! deadline or a lack of memory is not the arguments' doing.

use std::borrow::Borrow;

use auto_runtime::Cache;
use auto_schema::digest::{Digest, Hasher};
use wasmtime::component::Val;

use crate::limits::Budget;
use crate::value::{self, Sink};

/// Changes when a key or an entry means something else.
const VERSION: &str = "auto-memo-1\n";

/// What a result depends on.
pub(crate) fn key(identity: Digest, function: &str, budget: &Budget, args: &[Val]) -> Digest {
    let mut hashed = Hashed { hasher: Hasher::new(), waiting: Vec::with_capacity(2 * PIECE) };
    hashed.put(VERSION.as_bytes());
    hashed.put(identity.as_bytes());
    for limit in budget.words() {
        hashed.put(&limit.to_le_bytes());
    }
    value::encode(&[Val::String(function.to_owned())], &mut hashed);
    value::encode(args, &mut hashed);
    hashed.finish()
}

/// Bytes that are hashed at once.
const PIECE: usize = 1 << 16;

/// A digest of bytes that come in small pieces, and may be many.
struct Hashed {
    hasher: Hasher,
    waiting: Vec<u8>,
}

impl Hashed {
    fn finish(mut self) -> Digest {
        self.hasher.update(&self.waiting);
        self.hasher.finish()
    }
}

impl Sink for Hashed {
    fn put(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }
}

/// Results and the fuel they took.
pub(crate) fn read(cache: &Cache, key: Digest) -> Option<(Vec<Val>, u64)> {
    let bytes = cache.read(&key.to_string())?;
    let (fuel, results) = bytes.split_first_chunk::<8>()?;
    Some((value::decode(results)?, u64::from_le_bytes(*fuel)))
}

pub(crate) fn write(cache: &Cache, key: Digest, results: impl ExactSizeIterator<Item: Borrow<Val>>, fuel: u64) {
    let mut bytes = fuel.to_le_bytes().to_vec();
    value::encode_each(results, &mut bytes);
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
