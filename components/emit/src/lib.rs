//! Auto component: emit.
