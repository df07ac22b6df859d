//! Auto component: gate.
