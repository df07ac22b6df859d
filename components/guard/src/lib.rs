//! Auto component: guard.
