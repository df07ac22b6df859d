//! Auto component: lang.
