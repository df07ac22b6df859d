//! What the graph and the manifest share about FlatBuffers: the check before reading.

use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Vector, Verifiable, VerifierOptions, WIPOffset,
};

use crate::violation::{Violation, Violations};

/// How deep tables may nest: a check in a guard in a graph that is as deep in loops as one
/// may be, and some levels more, so that a graph one level too deep is told what is wrong.
const MAX_DEPTH: usize = 32;

/// The most bytes of texts that are in several places, counted once a place.
const SHARED_TEXTS: usize = 4 << 20;

/// Verifies bytes and gives the root table.
///
/// The writer never shares a table, and a text only with places that hold the same one, as
/// the types along a chain do. The bound on the apparent size leaves room for those, and
/// keeps a small hostile file from unfolding into a large value.
pub(crate) fn root<'b, T>(bytes: &'b [u8], identifier: &str, what: &str) -> Result<T::Inner, Vec<Violation>>
where
    T: Follow<'b> + Verifiable + 'b,
{
    if bytes.get(4..8) != Some(identifier.as_bytes()) {
        let message = format!("not {what}: bytes 4 to 8 must be {identifier:?}");
        return Err(Violations::one("wrong-kind", message));
    }
    let options = VerifierOptions {
        max_depth: MAX_DEPTH,
        max_tables: bytes.len() / 4 + 1,
        max_apparent_size: bytes.len().saturating_mul(8).saturating_add(SHARED_TEXTS),
        ignore_missing_null_terminator: false,
    };
    flatbuffers::root_with_opts::<T>(&options, bytes)
        .map_err(|error| Violations::one("malformed", format!("damaged {what}: {}", brief(&error))))
}

/// The first line of the verifier's message, in our form.
fn brief(error: &InvalidFlatbuffer) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Reading decoded bytes and writing them again gave other bytes.
pub(crate) fn not_canonical(what: &str) -> Vec<Violation> {
    Violations::one("not-canonical", format!("{what} is not in canonical form: writing it again gives other bytes"))
}

/// A vector of texts that the builder is still to write.
pub(crate) type Texts<'b> = WIPOffset<Vector<'b, ForwardsUOffset<&'b str>>>;

/// Writes texts, none shared.
pub(crate) fn texts<'b>(builder: &mut FlatBufferBuilder<'b>, texts: impl Iterator<Item = String>) -> Texts<'b> {
    let offsets: Vec<_> = texts.map(|text| builder.create_string(&text)).collect();
    builder.create_vector(&offsets)
}
