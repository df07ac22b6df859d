//! Auto component: compile.
