//! Auto host: runtime.
