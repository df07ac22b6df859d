//! Auto component: rt.
