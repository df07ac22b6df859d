//! The one table of limits of component calls, and what counts memories and tables. The
//! class that each is reported as, and the flag that raises it, stand in [`crate::fault`].
//! Limits of artifacts (`.cbin`) are the runtime's.

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
    /// Entries of all its tables together.
    pub table_entries: u64,
    /// Bytes of stack, those of the host's own frames between two of its functions too.
    pub stack: u64,
    /// Core instances that it consists of; memories and tables, as many of each.
    pub instances: u64,
    /// How deep a value may nest, in either direction.
    pub depth: u64,
    /// Bytes of the arguments together, of its own and of what it calls.
    pub value: u64,
    /// Bytes that it may write to the log.
    pub log: u64,
}

const M: u64 = 1_000_000;
const G: u64 = 1_000 * M;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// `(interface, G of fuel, MiB of memory, seconds, MiB of output)`; the last row is for
/// every interface that is not named.
const TABLE: &[(&str, u64, u64, u64, u64)] = &[
    ("auto:pass/extract", 20, 1024, 120, 64),
    ("auto:pass/propose", 10, 512, 60, 64),
    ("auto:pass/distill", 1000, 1024, 600, 64),
    ("auto:pass/check", 10, 512, 60, 64),
    ("auto:pass/explain", 10, 512, 60, 64),
    ("auto:pass/guard", 20, 512, 120, 64),
    ("auto:pass/optimize", 10, 512, 60, 64),
    ("auto:pass/emit", 10, 512, 60, 64),
    ("auto:pass/gate", 20, 1024, 120, 64),
    ("auto:pass/importer", 50, 1024, 120, 64),
    ("auto:driver/job", 100, 1024, 600, 64),
    ("", 10, 512, 60, 64),
];

// What is the same for every interface.
const TABLE_ENTRIES: u64 = 200_000;
const STACK: u64 = 512 * KIB;
const INSTANCES: u64 = 64;
const DEPTH: u64 = 64;
const VALUE: u64 = 64 * MIB;

/// What is given recordings, replays and held-out answers at once, each of which may be as large
/// as a value elsewhere.
const GIVEN_ALL: &str = "auto:pass/gate";
const LOG: u64 = MIB;

/// The table, with what the user has set instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `--fuel`: instead of the table's fuel, for every interface.
    pub fuel: Option<u64>,
    /// An interface, without its version, and the fuel that a call of it has at least; not where
    /// `fuel` is given.
    pub raised: Option<(&'static str, u64)>,
    /// `--memory`, in bytes.
    pub memory: Option<u64>,
    /// `--deadline`.
    pub deadline: Option<Duration>,
    /// `--max-output`, in bytes.
    pub output: Option<u64>,
    /// `--table-entries`.
    pub table_entries: Option<u64>,
    /// `--stack`, in bytes.
    pub stack: Option<u64>,
    /// `--instances`.
    pub instances: Option<u64>,
    /// `--max-depth`.
    pub depth: Option<u64>,
    /// `--max-value`, in bytes.
    pub value: Option<u64>,
    /// `--max-log`, in bytes.
    pub log: Option<u64>,
}

impl Limits {
    /// What a call of this interface may use.
    pub fn of(&self, interface: &str) -> Budget {
        let path = interface.split('@').next().unwrap_or(interface);
        let row = TABLE.iter().find(|row| row.0 == path).unwrap_or(&TABLE[TABLE.len() - 1]);
        Budget {
            fuel: self.fuel.unwrap_or_else(|| {
                let raised = self.raised.filter(|(interface, _)| *interface == path).map_or(0, |(_, fuel)| fuel);
                raised.max(row.1 * G)
            }),
            memory: self.memory.unwrap_or(row.2 * MIB),
            deadline: self.deadline.unwrap_or(Duration::from_secs(row.3)),
            output: self.output.unwrap_or(row.4 * MIB),
            table_entries: self.table_entries.unwrap_or(TABLE_ENTRIES),
            stack: self.stack.unwrap_or(STACK),
            instances: self.instances.unwrap_or(INSTANCES),
            depth: self.depth.unwrap_or(DEPTH),
            value: self.value.unwrap_or(if path == GIVEN_ALL { 3 * VALUE } else { VALUE }),
            log: self.log.unwrap_or(LOG),
        }
    }

    /// The table as it stands, for help texts: an interface (or `any other`) and its
    /// budget a row.
    pub fn table(&self) -> Vec<(&'static str, Budget)> {
        let name = |row: &(&'static str, u64, u64, u64, u64)| if row.0.is_empty() { "any other" } else { row.0 };
        TABLE.iter().map(|row| (name(row), self.of(row.0))).collect()
    }
}

impl Limits {
    /// The stack of every call: engines have one size for all.
    pub(crate) fn stack(&self) -> usize {
        usize::try_from(self.of("").stack).unwrap_or(usize::MAX)
    }
}

impl Budget {
    /// All of it as numbers, for keys of what depends on it.
    pub(crate) fn words(&self) -> [u64; 10] {
        let deadline = u64::try_from(self.deadline.as_micros()).unwrap_or(u64::MAX);
        let Budget { fuel, memory, output, table_entries, stack, instances, depth, value, log, .. } = *self;
        [fuel, memory, deadline, output, table_entries, stack, instances, depth, value, log]
    }
}

/// Counts memories and tables of one call, and remembers what it refused: wasmtime
/// reports a refused growth to the guest alone, and the guest then fails in its own way.
/// A guest that is given what it asks for after a refusal has found its way around it.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Counted,
    tables: Counted,
    instances: usize,
}

/// Something that grows up to a limit.
#[derive(Debug)]
struct Counted {
    limit: u64,
    used: u64,
    refused: Option<u64>,
}

impl Counted {
    fn new(limit: u64) -> Counted {
        Counted { limit, used: 0, refused: None }
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let total = self.used.saturating_add(desired.saturating_sub(current) as u64);
        let fits = total <= self.limit;
        self.refused = (!fits).then_some(total);
        // Above its own maximum it cannot grow anyway.
        let grows = fits && maximum.is_none_or(|maximum| desired <= maximum);
        if grows {
            self.used = total;
        }
        grows
    }
}

impl Limiter {
    pub(crate) fn new(budget: &Budget) -> Limiter {
        Limiter {
            memory: Counted::new(budget.memory),
            tables: Counted::new(budget.table_entries),
            instances: usize::try_from(budget.instances).unwrap_or(usize::MAX),
        }
    }

    /// The bytes of memory that it has; memories do not shrink.
    pub(crate) fn memory(&self) -> u64 {
        self.memory.used
    }

    /// The bytes of memory that were refused last, if nothing was granted since.
    pub(crate) fn refused_memory(&self) -> Option<u64> {
        self.memory.refused
    }

    /// The same for entries of tables.
    pub(crate) fn refused_table(&self) -> Option<u64> {
        self.tables.refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory.grow(current, desired, maximum))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.tables.grow(current, desired, maximum))
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.instances
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
        let raised = Limits { raised: Some(("auto:pass/extract", 50 * G)), ..Limits::default() };
        assert_eq!(raised.of("auto:pass/extract@0.1.0").fuel, 50 * G);
        assert_eq!(raised.of("auto:pass/check@0.1.0").fuel, 10 * G);
        assert_eq!(Limits { fuel: Some(7), ..raised }.of("auto:pass/extract@0.1.0").fuel, 7);
    }
}
