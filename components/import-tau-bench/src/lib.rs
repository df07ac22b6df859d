//! Auto component: import-tau-bench.
