//! Auto component: extract.
