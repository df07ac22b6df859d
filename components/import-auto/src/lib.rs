//! Auto component: import-auto.
