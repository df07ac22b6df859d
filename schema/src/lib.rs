//! The formats the parts agree on: IR graph, manifest, contract, types, digests.
