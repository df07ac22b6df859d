//! Auto component: check.
