//! Auto host: engine.
