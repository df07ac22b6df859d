//! What a call may use. The one place where the defaults of a `.cbin` call are written.

use std::time::Duration;

/// What one call of an artifact may use. Every call starts with all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// WebAssembly instructions, roughly. The same on every machine.
    pub fuel: u64,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Bytes of input; for `resume`, of state and reply together.
    pub input: usize,
    /// Wall-clock time, a backstop to `fuel`. Kept to about a tenth.
    pub deadline: Duration,
    /// Bytes of stack. A thread that calls an artifact needs as much and some room for itself.
    pub stack: usize,
    /// Instances alive at the same time in one sandbox, warm ones included.
    pub instances: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            fuel: 500_000_000,
            memory: 64 << 20,
            input: 1 << 20,
            deadline: Duration::from_secs(10),
            stack: 512 << 10,
            instances: 256,
        }
    }
}

impl Limits {
    /// With another amount of fuel a call.
    pub fn with_fuel(self, fuel: u64) -> Limits {
        Limits { fuel, ..self }
    }

    /// With another memory limit, in bytes.
    pub fn with_memory(self, memory: usize) -> Limits {
        Limits { memory, ..self }
    }

    /// With another input limit, in bytes.
    pub fn with_input(self, input: usize) -> Limits {
        Limits { input, ..self }
    }

    /// With another deadline a call.
    pub fn with_deadline(self, deadline: Duration) -> Limits {
        Limits { deadline, ..self }
    }

    /// With another stack, in bytes.
    pub fn with_stack(self, stack: usize) -> Limits {
        Limits { stack, ..self }
    }

    /// With another number of instances at the same time.
    pub fn with_instances(self, instances: u32) -> Limits {
        Limits { instances, ..self }
    }
}
