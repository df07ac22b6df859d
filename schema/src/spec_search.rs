//! The keys of `[learning.spec_search]`. The host refuses what nobody reads, where it stands in the
//! file, and the driver what it was not told of: both read these lists, so that no key is known to one
//! and not to the other.

/// What the host reads, and does not hand on.
pub const HOST: [&str; 15] = [
    "spec",
    "tasks",
    "store_task",
    "traces",
    "corpora",
    "student_files",
    "scorer_files",
    "trainer_files",
    "network",
    "pass_environment",
    "at_once",
    "max_experiments",
    "max_runs_cost_usd",
    "triggers",
    "model_mode",
];

/// What the driver reads.
pub const DRIVER: [&str; 29] = [
    "enabled",
    "teacher_model",
    "teacher_engine",
    "autonomy_mode",
    "min_traces",
    "max_cost_per_session_usd",
    "max_tool_calls_per_diagnosis",
    "stagnation_k",
    "stagnation_eps",
    "max_total_cost_usd",
    "max_regression",
    "min_improvement",
    "benchmark_subsample_size",
    "benchmark_version",
    "composite_reward",
    "max_drift",
    "sample_floor",
    "repeats",
    "seed",
    "max_sessions",
    "teacher_runs",
    "student",
    "scorer",
    "trainer",
    "eligible",
    "mapped",
    "catalog",
    "tier_overrides",
    "confirm_edits",
];

/// Of a command: `[.student]`, `[.trainer]`, and `[.scorer]` beside [`SCORER`].
pub const COMMAND: [&str; 7] =
    ["command", "environment", "seconds", "cpu_seconds", "memory_mib", "output_bytes", "costs"];

/// Of `[.scorer]`, beside those of a command.
pub const SCORER: [&str; 1] = ["kind"];

/// Of `[.eligible]`.
pub const ELIGIBLE: [&str; 7] =
    ["agents", "sources", "consent", "denied_tools", "denied_paths", "max_age_days", "max_bytes"];

/// Of `[.composite_reward]`.
pub const REWARD: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// Of `[.catalog]`.
pub const CATALOG: [&str; 5] = ["models", "engines", "agent_classes", "tools", "memory_backends"];

/// Of `[.triggers]`, which the host reads.
pub const TRIGGERS: [&str; 5] = [
    "scheduled_enabled",
    "scheduled_min_new_traces",
    "cluster_enabled",
    "cluster_min_size",
    "cluster_failure_threshold",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_host_s_or_the_driver_s_and_never_of_both() {
        assert!(HOST.iter().all(|key| !DRIVER.contains(key)));
    }
}
