//! The one table of limits of component calls, and what enforces memory. Limits of
//! artifacts (`.cbin`) are the runtime's.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// What one call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Units of fuel: about one a wasm instruction. Never measured in time, so the same
    /// call runs out at the same place everywhere.
    pub fuel: u64,
    /// Bytes of linear memory, of all memories of the instance together.
    pub memory: u64,
    /// Time of its own: what passes in the components and services it calls is not
    /// counted.
    pub deadline: Duration,
    /// Bytes of the value it returns.
    pub output: u64,
}

/// Which of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Budget::fuel`].
    Fuel,
    /// [`Budget::memory`].
    Memory,
    /// [`Budget::deadline`].
    Deadline,
    /// [`Budget::output`].
    Output,
}

impl Limit {
    /// The flag that raises it.
    pub const fn flag(self) -> &'static str {
        match self {
            Limit::Fuel => "--fuel",
            Limit::Memory => "--memory",
            Limit::Deadline => "--deadline",
            Limit::Output => "--max-output",
        }
    }
}

/// The deepest a value that crosses the host may nest.
pub const MAX_DEPTH: usize = 64;

/// The most bytes that the arguments of a call may take.
pub const MAX_VALUE: u64 = 64 << 20;

/// The most entries of all tables of an instance together.
pub(crate) const MAX_TABLE: usize = 200_000;

const M: u64 = 1_000_000;
const G: u64 = 1_000 * M;
const MIB: u64 = 1 << 20;

/// `(interface, G of fuel, MiB of memory, seconds, MiB of output)`; the last row is for
/// every interface that is not named.
const TABLE: &[(&str, u64, u64, u64, u64)] = &[
    ("auto:pass/extract", 20, 1024, 120, 64),
    ("auto:pass/distill", 200, 1024, 600, 64),
    ("auto:pass/check", 10, 512, 60, 64),
    ("auto:pass/explain", 10, 512, 60, 64),
    ("auto:pass/guard", 10, 512, 60, 64),
    ("auto:pass/optimize", 10, 512, 60, 64),
    ("auto:pass/emit", 10, 512, 60, 64),
    ("auto:pass/gate", 20, 1024, 120, 64),
    ("auto:pass/importer", 50, 1024, 120, 64),
    ("auto:driver/job", 100, 1024, 600, 64),
    ("", 10, 512, 60, 64),
];

/// The table, with what the user has set instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `--fuel`: instead of the table's fuel, for every interface.
    pub fuel: Option<u64>,
    /// `--memory`, in bytes.
    pub memory: Option<u64>,
    /// `--deadline`.
    pub deadline: Option<Duration>,
    /// `--max-output`, in bytes.
    pub output: Option<u64>,
}

impl Limits {
    /// What a call of this interface may use.
    pub fn of(&self, interface: &str) -> Budget {
        let path = interface.split('@').next().unwrap_or(interface);
        let row = TABLE.iter().find(|row| row.0 == path).unwrap_or(&TABLE[TABLE.len() - 1]);
        Budget {
            fuel: self.fuel.unwrap_or(row.1 * G),
            memory: self.memory.unwrap_or(row.2 * MIB),
            deadline: self.deadline.unwrap_or(Duration::from_secs(row.3)),
            output: self.output.unwrap_or(row.4 * MIB),
        }
    }

    /// The table as it stands, for help texts: an interface (or `any other`) and its
    /// budget a row.
    pub fn table(&self) -> Vec<(&'static str, Budget)> {
        let name = |row: &(&'static str, u64, u64, u64, u64)| if row.0.is_empty() { "any other" } else { row.0 };
        TABLE.iter().map(|row| (name(row), self.of(row.0))).collect()
    }
}

/// Counts memory and tables of one instance, and remembers what it refused: wasmtime
/// reports a refused growth to the guest alone, and the guest then fails in its own way.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    limit: u64,
    used: u64,
    tables: usize,
    /// The size that was refused.
    pub(crate) refused: Option<u64>,
}

impl MemoryLimiter {
    pub(crate) fn new(limit: u64) -> MemoryLimiter {
        MemoryLimiter { limit, used: 0, tables: 0, refused: None }
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.used.saturating_add((desired - current.min(desired)) as u64);
        if total > self.limit {
            self.refused = Some(total);
            return Ok(false);
        }
        self.used = total;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.tables.saturating_add(desired - current.min(desired));
        if total > MAX_TABLE {
            self.refused = Some(self.used);
            return Ok(false);
        }
        self.tables = total;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_beats_the_table() {
        let limits = Limits { fuel: Some(7), ..Limits::default() };
        assert_eq!(limits.of("auto:pass/extract@0.1.0").fuel, 7);
        assert_eq!(limits.of("auto:pass/extract@0.1.0").memory, 1 << 30);
        assert_eq!(Limits::default().of("third:party/thing@9.0.0").fuel, 10 * G);
    }
}
