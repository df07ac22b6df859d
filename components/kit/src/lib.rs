//! Auto component: kit.
