//! Two engines: wasmtime, which compiles, and wasmi, which interprets.

use super::{Novelty, Outcome};

/// What a call may have.
const MEMORY: usize = 64 << 20;

/// A module that can be called.
pub trait Machine {
    /// Calls the allocator.
    fn allocate(&mut self, size: u32) -> u32;
    /// Calls an export by its function name.
    fn call(&mut self, function: &str, arguments: &[u32]) -> Result<u32, String>;
    fn read(&mut self, address: u32, length: usize) -> Vec<u8>;
    fn write(&mut self, address: u32, bytes: &[u8]);
    /// The global `steps` of a metered module.
    fn steps(&mut self) -> Option<i64>;

    fn place(&mut self, bytes: &[u8]) -> (u32, u32) {
        let address = self.allocate(bytes.len() as u32);
        self.write(address, bytes);
        (address, bytes.len() as u32)
    }

    fn run(&mut self, input: &[u8]) -> Outcome {
        let (address, length) = self.place(input);
        let result = self.call("run", &[address, length]).unwrap_or_else(|error| panic!("trap: {error}"));
        self.outcome(result)
    }

    fn resume(&mut self, state: &[u8], reply: Result<&[u8], &[u8]>) -> Outcome {
        let (state, state_length) = self.place(state);
        let case = u32::from(reply.is_err());
        let (reply, reply_length) = self.place(reply.unwrap_or_else(|error| error));
        let result = self.call("resume", &[state, state_length, case, reply, reply_length]).unwrap();
        self.outcome(result)
    }

    fn assess(&mut self, input: &[u8]) -> Novelty {
        let (address, length) = self.place(input);
        let result = self.call("assess", &[address, length]).unwrap_or_else(|error| panic!("trap: {error}"));
        self.novelty(result)
    }

    fn word(&mut self, address: u32) -> u32 {
        u32::from_le_bytes(self.read(address, 4).try_into().unwrap())
    }

    fn string(&mut self, address: u32) -> String {
        let (pointer, length) = (self.word(address), self.word(address + 4));
        String::from_utf8(self.read(pointer, length as usize)).unwrap()
    }

    fn novelty(&mut self, at: u32) -> Novelty {
        Novelty { reason: self.string(at), score: self.word(at + 8), limit: self.word(at + 12) }
    }

    /// Lifts `result<outcome, failure>`.
    fn outcome(&mut self, at: u32) -> Outcome {
        match (self.read(at, 1)[0], self.read(at + 4, 1)[0]) {
            (0, 0) => Outcome::Answer(self.string(at + 8)),
            (0, 1) => Outcome::Abstain(self.novelty(at + 8)),
            (0, 2) => {
                let (state, length) = (self.word(at + 24), self.word(at + 28));
                Outcome::Request {
                    capability: self.string(at + 8),
                    input: self.string(at + 16),
                    state: self.read(state, length as usize),
                }
            }
            (1, 0) => Outcome::BadInput(self.string(at + 8)),
            (1, 1) => Outcome::Unsupported(self.string(at + 8)),
            other => panic!("no such outcome: {other:?}"),
        }
    }
}

fn export(function: &str) -> String {
    match function {
        "cabi_realloc" => function.to_owned(),
        function => format!("auto:cbin/behavior@0.1.0#{function}"),
    }
}

/// Compiled modules and the engine they are for.
pub struct Wasmtime {
    store: wasmtime::Store<wasmtime::StoreLimits>,
    instance: wasmtime::Instance,
    memory: wasmtime::Memory,
}

thread_local! {
    // Tests compile many modules and run each little.
    static ENGINE: wasmtime::Engine = {
        let mut config = wasmtime::Config::new();
        config.cranelift_opt_level(wasmtime::OptLevel::None);
        wasmtime::Engine::new(&config).unwrap()
    };
}

pub fn wasmtime_module(module: &[u8]) -> wasmtime::Module {
    ENGINE.with(|engine| wasmtime::Module::new(engine, module).unwrap())
}

impl Wasmtime {
    pub fn new(module: &[u8]) -> Wasmtime {
        Wasmtime::of(&wasmtime_module(module))
    }

    /// A fresh instance.
    pub fn of(module: &wasmtime::Module) -> Wasmtime {
        let limits = wasmtime::StoreLimitsBuilder::new().memory_size(MEMORY).build();
        let mut store = wasmtime::Store::new(module.engine(), limits);
        store.limiter(|limits| limits);
        let instance = wasmtime::Instance::new(&mut store, module, &[]).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        Wasmtime { store, instance, memory }
    }

    pub fn memory_size(&self) -> usize {
        self.memory.data_size(&self.store)
    }
}

impl Machine for Wasmtime {
    fn allocate(&mut self, size: u32) -> u32 {
        self.call("cabi_realloc", &[0, 0, 1, size]).unwrap()
    }

    fn call(&mut self, function: &str, arguments: &[u32]) -> Result<u32, String> {
        let function = self.instance.get_func(&mut self.store, &export(function)).unwrap();
        let arguments: Vec<wasmtime::Val> = arguments.iter().map(|value| wasmtime::Val::I32(*value as i32)).collect();
        let mut results = [wasmtime::Val::I32(0)];
        function.call(&mut self.store, &arguments, &mut results).map_err(|error| format!("{error:?}"))?;
        Ok(results[0].unwrap_i32() as u32)
    }

    fn read(&mut self, address: u32, length: usize) -> Vec<u8> {
        self.memory.data(&self.store)[address as usize..address as usize + length].to_vec()
    }

    fn write(&mut self, address: u32, bytes: &[u8]) {
        self.memory.data_mut(&mut self.store)[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn steps(&mut self) -> Option<i64> {
        let global = self.instance.get_global(&mut self.store, "steps")?;
        Some(global.get(&mut self.store).unwrap_i64())
    }
}

/// The interpreter.
pub struct Wasmi {
    store: wasmi::Store<wasmi::StoreLimits>,
    instance: wasmi::Instance,
    memory: wasmi::Memory,
}

impl Wasmi {
    pub fn new(module: &[u8]) -> Wasmi {
        let engine = wasmi::Engine::default();
        let module = wasmi::Module::new(&engine, module).unwrap();
        let limits = wasmi::StoreLimitsBuilder::new().memory_size(MEMORY).build();
        let mut store = wasmi::Store::new(&engine, limits);
        store.limiter(|limits| limits);
        let instance = wasmi::Linker::new(&engine).instantiate_and_start(&mut store, &module).unwrap();
        let memory = instance.get_memory(&store, "memory").unwrap();
        Wasmi { store, instance, memory }
    }
}

impl Machine for Wasmi {
    fn allocate(&mut self, size: u32) -> u32 {
        self.call("cabi_realloc", &[0, 0, 1, size]).unwrap()
    }

    fn call(&mut self, function: &str, arguments: &[u32]) -> Result<u32, String> {
        let function = self.instance.get_func(&self.store, &export(function)).unwrap();
        let arguments: Vec<wasmi::Val> = arguments.iter().map(|value| wasmi::Val::I32(*value as i32)).collect();
        let mut results = [wasmi::Val::I32(0)];
        function.call(&mut self.store, &arguments, &mut results).map_err(|error| format!("{error:?}"))?;
        match results[0] {
            wasmi::Val::I32(value) => Ok(value as u32),
            _ => Err("not an i32".to_owned()),
        }
    }

    fn read(&mut self, address: u32, length: usize) -> Vec<u8> {
        self.memory.data(&self.store)[address as usize..address as usize + length].to_vec()
    }

    fn write(&mut self, address: u32, bytes: &[u8]) {
        self.memory.data_mut(&mut self.store)[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn steps(&mut self) -> Option<i64> {
        match self.instance.get_global(&self.store, "steps")?.get(&self.store) {
            wasmi::Val::I64(value) => Some(value),
            _ => None,
        }
    }
}
