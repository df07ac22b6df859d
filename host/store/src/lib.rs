//! Auto host: store.
