//! A loaded module of the world `auto:cbin/cbin`, sealed or not.
//!
//! [`Module`] only knows the ABI. Whether the file is intact and what its manifest says is
//! [`crate::Program`]'s business; the host's sandbox uses this one for code that is not
//! sealed yet.

use std::sync::Arc;

use wasmtime::{ExternType, InstancePre, Linker, ModuleExport, Mutability, ValType};

use auto_schema::cbin;

use crate::cache::is_precompiled;
use crate::cost::{check_cost, check_room};
use crate::error::{CallError, LoadError};
use crate::live::{Live, check_input};
use crate::sandbox::{Clocked, Lane, Sandbox};

/// How a call ended that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer, a JSON text.
    Answer(String),
    /// The artifact does not know; ask whatever it replaces.
    Abstain {
        /// Which check speaks, or `undefined`.
        reason: String,
        /// What it measured, in parts per million.
        score: u32,
        /// The most it may be.
        limit: u32,
    },
    /// The artifact needs an effect; hand the reply to [`crate::Session::resume`].
    Request {
        /// What is asked for.
        capability: String,
        /// What to hand to it, a JSON text.
        input: String,
        /// Opaque; to be handed back.
        state: Vec<u8>,
    },
}

/// What the guard thinks of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Novelty {
    /// Which check speaks.
    pub reason: String,
    /// What it measured, in parts per million.
    pub score: u32,
    /// The most it may be.
    pub limit: u32,
}

/// A compiled module with its exports checked. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    pub(crate) sandbox: Sandbox,
    pub(crate) lane: Lane,
    pub(crate) clocked: Arc<Clocked>,
    pub(crate) pre: InstancePre<crate::live::Limiter>,
    pub(crate) exports: Indices,
    pub(crate) has_initialize: bool,
}

/// Where the exports are.
#[derive(Clone)]
pub(crate) struct Indices {
    pub(crate) memory: ModuleExport,
    pub(crate) realloc: ModuleExport,
    pub(crate) run: ModuleExport,
    pub(crate) assess: ModuleExport,
    pub(crate) resume: ModuleExport,
    pub(crate) steps: Option<ModuleExport>,
}

/// An export of the canonical ABI: its name, the number of its 32-bit parameters (it
/// returns one 32-bit value), and how to say so.
struct Function {
    name: &'static str,
    parameters: usize,
    expected: &'static str,
}

const REALLOC: Function = Function { name: "cabi_realloc", parameters: 4, expected: "func(i32, i32, i32, i32) -> i32" };
const RUN: Function =
    Function { name: "auto:cbin/behavior@0.1.0#run", parameters: 2, expected: "func(i32, i32) -> i32" };
const ASSESS: Function =
    Function { name: "auto:cbin/behavior@0.1.0#assess", parameters: 2, expected: "func(i32, i32) -> i32" };
const RESUME: Function = Function {
    name: "auto:cbin/behavior@0.1.0#resume",
    parameters: 5,
    expected: "func(i32, i32, i32, i32, i32) -> i32",
};
/// The longest module, in bytes.
const BYTES: usize = 64 << 20;

const MEMORY: &str = "memory";
const MEMORY_EXPECTED: &str = "a 32-bit memory";

impl Module {
    /// See [`Sandbox::load`].
    pub(crate) fn load(sandbox: &Sandbox, bytes: &[u8], lane: Lane) -> Result<Module, LoadError> {
        let imports = cbin::import_names(bytes).map_err(|damage| unreadable(damage, bytes))?;
        if !imports.is_empty() {
            return Err(LoadError::Imports(imports));
        }
        if bytes.len() > BYTES {
            return Err(LoadError::TooLarge(format!("{} bytes, and there may be {BYTES}", bytes.len())));
        }
        check_cost(bytes).map_err(LoadError::TooLarge)?;
        check_room(bytes)?;
        let clocked = sandbox.clocked(lane)?;
        let module = sandbox.compile(&clocked.engine, bytes)?;
        let exports = Indices::of(&module)?;
        check_memory(&module, sandbox.limits().memory)?;
        let has_initialize = match module.get_export("_initialize") {
            Some(ExternType::Func(ty)) => ty.params().len() == 0 && ty.results().len() == 0,
            _ => false,
        };
        let pre = Linker::new(&clocked.engine).instantiate_pre(&module);
        let pre = pre.map_err(|error| LoadError::Invalid(format!("{error:#}")))?;
        Ok(Module { sandbox: sandbox.clone(), lane, clocked, pre, exports, has_initialize })
    }

    /// Runs one input in an instance made for it and thrown away after it. The number is
    /// what the exported global `steps` says afterwards, for metered twins.
    ///
    /// The answer is checked to be canonical JSON.
    pub fn run_fresh(&self, input: &str) -> Result<(Outcome, Option<u64>), CallError> {
        check_input(self.sandbox.limits(), input.len())?;
        let mut live = Live::new(self, false)?;
        let outcome = live.run(self, input, true)?;
        Ok((outcome, live.steps()))
    }

    /// Goes on after a request, as [`Module::run_fresh`] begins: `state` is the request's,
    /// `reply` a JSON text or what went wrong.
    pub fn resume_fresh(&self, state: &[u8], reply: Result<&str, &str>) -> Result<(Outcome, Option<u64>), CallError> {
        let size = state.len().saturating_add(reply.map_or_else(str::len, str::len));
        check_input(self.sandbox.limits(), size)?;
        let mut live = Live::new(self, false)?;
        let outcome = live.resume(self, state, reply, true)?;
        Ok((outcome, live.steps()))
    }

    /// The sandbox it runs in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}

/// Why bytes are no module.
pub(crate) fn unreadable(damage: cbin::Damage, bytes: &[u8]) -> LoadError {
    if is_precompiled(bytes) { LoadError::Precompiled } else { damage.into() }
}

impl Indices {
    fn of(module: &wasmtime::Module) -> Result<Indices, LoadError> {
        let steps = match module.get_export("steps") {
            Some(ExternType::Global(ty))
                if matches!((ty.content(), ty.mutability()), (ValType::I64, Mutability::Var)) =>
            {
                module.get_export_index("steps")
            }
            _ => None,
        };
        Ok(Indices {
            memory: memory(module)?,
            realloc: function(module, &REALLOC)?,
            run: function(module, &RUN)?,
            assess: function(module, &ASSESS)?,
            resume: function(module, &RESUME)?,
            steps,
        })
    }
}

fn memory(module: &wasmtime::Module) -> Result<ModuleExport, LoadError> {
    let missing = LoadError::MissingExport { name: MEMORY, expected: MEMORY_EXPECTED };
    match module.get_export(MEMORY) {
        Some(ExternType::Memory(ty)) if !ty.is_64() && !ty.is_shared() => {
            module.get_export_index(MEMORY).ok_or(missing)
        }
        Some(other) => Err(LoadError::WrongExport { name: MEMORY, expected: MEMORY_EXPECTED, found: describe(&other) }),
        None => Err(missing),
    }
}

fn function(module: &wasmtime::Module, wanted: &Function) -> Result<ModuleExport, LoadError> {
    let Function { name, parameters, expected } = *wanted;
    let missing = LoadError::MissingExport { name, expected };
    let Some(found) = module.get_export(name) else { return Err(missing) };
    let fits = match &found {
        ExternType::Func(ty) => {
            ty.params().len() == parameters
                && ty.results().len() == 1
                && ty.params().chain(ty.results()).all(|value| value.is_i32())
        }
        _ => false,
    };
    if fits {
        module.get_export_index(name).ok_or(missing)
    } else {
        Err(LoadError::WrongExport { name, expected, found: describe(&found) })
    }
}

/// An export in words: `func(i64) -> i32`, `a memory`.
fn describe(found: &ExternType) -> String {
    let list = |values: &mut dyn Iterator<Item = ValType>| {
        values.map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
    };
    match found {
        ExternType::Func(ty) => {
            let (parameters, results) = (list(&mut ty.params()), list(&mut ty.results()));
            match ty.results().len() {
                0 => format!("func({parameters})"),
                1 => format!("func({parameters}) -> {results}"),
                _ => format!("func({parameters}) -> ({results})"),
            }
        }
        ExternType::Global(_) => "a global".into(),
        ExternType::Table(_) => "a table".into(),
        ExternType::Memory(ty) if ty.is_64() => "a 64-bit memory".into(),
        ExternType::Memory(ty) if ty.is_shared() => "a shared memory".into(),
        ExternType::Memory(_) => "a memory".into(),
        ExternType::Tag(_) => "a tag".into(),
    }
}

/// Refuses at load what could never be instantiated.
fn check_memory(module: &wasmtime::Module, limit: usize) -> Result<(), LoadError> {
    let needs = match module.get_export(MEMORY) {
        Some(ExternType::Memory(ty)) => ty.minimum().saturating_mul(ty.page_size()),
        _ => 0,
    };
    if needs > limit as u64 {
        return Err(LoadError::Memory { needs, limit });
    }
    Ok(())
}
