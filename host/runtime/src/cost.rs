//! What WebAssembly costs to compile, told from its bytes: the compiler's time and memory
//! grow with the size of the code, but also with the number of functions, the nesting of
//! blocks, the targets of branch tables, and the branches of a function times its locals.
//!
//! The figures beside the limits are of 48.0 on one core. The largest language runtime that
//! was measured, CPython as a component, has 13,355 functions, 6.5 MB of code, blocks 781
//! deep, 43,653 targets, 427 KB in one function, 192,000 joins in one and 5.4 million in all.

use crate::error::LoadError;
use wasmparser::{FunctionBody, Operator, Parser, Payload};

/// Functions: a tenth of a millisecond for each.
const FUNCTIONS: u64 = 50_000;

/// Bytes of code: a second for each MiB.
const CODE: u64 = 32 << 20;

/// Bytes of one function: 200 times as much memory.
const FUNCTION: u64 = 2 << 20;

/// How deep blocks nest in a function.
const NESTING: usize = 5_000;

/// Targets of one branch table, and of all: two microseconds and 600 bytes for each.
const TABLE: u64 = 50_000;
const TARGETS: u64 = 200_000;

/// Blocks and branches of a function times its locals, since values of locals meet there;
/// and the sum over all functions: nearly a microsecond and 100 bytes for each.
const FUNCTION_JOINS: u64 = 1_000_000;
const JOINS: u64 = 25_000_000;

/// Says what is too much in a module, or in the modules of a component. Bytes that are not
/// valid may pass.
#[doc(hidden)]
pub fn check_cost(wasm: &[u8]) -> Result<(), String> {
    let mut cost = Cost::default();
    for payload in Parser::new(0).parse_all(wasm) {
        // What is wrong with it, validation says.
        let Ok(payload) = payload else { break };
        cost.payload(&payload)?;
    }
    Ok(())
}

/// Tables of an artifact, and the most entries of it.
const ARTIFACT_TABLES: u64 = 1;
pub(crate) const TABLE_ENTRIES: usize = 10_000;

/// Globals of an artifact: each takes room in every instance.
const ARTIFACT_GLOBALS: u64 = 20_000;

/// Says what an artifact has more of than every instance has room for.
pub(crate) fn check_room(wasm: &[u8]) -> Result<(), LoadError> {
    let (mut tables, mut globals) = (0, 0);
    for payload in Parser::new(0).parse_all(wasm) {
        // What is wrong with it, validation says.
        let Ok(payload) = payload else { break };
        match payload {
            Payload::TableSection(section) => {
                for table in section.into_iter().flatten() {
                    tables += 1;
                    if table.ty.initial > TABLE_ENTRIES as u64 {
                        return Err(LoadError::Table { needs: table.ty.initial, limit: TABLE_ENTRIES });
                    }
                }
            }
            Payload::GlobalSection(section) => globals += u64::from(section.count()),
            _ => {}
        }
    }
    limit(tables, ARTIFACT_TABLES, "tables")
        .and_then(|()| limit(globals, ARTIFACT_GLOBALS, "globals"))
        .map_err(LoadError::TooLarge)
}

#[derive(Default)]
struct Cost {
    functions: u64,
    code: u64,
    targets: u64,
    joins: u64,
    module: ModuleTypes,
}

/// What is needed to know the number of a function's parameters.
#[derive(Default)]
struct ModuleTypes {
    params: Vec<u64>,
    functions: Vec<u32>,
    bodies: usize,
}

impl Cost {
    fn payload(&mut self, payload: &Payload<'_>) -> Result<(), String> {
        match payload {
            Payload::Version { .. } => self.module = ModuleTypes::default(),
            Payload::TypeSection(types) => {
                for ty in types.clone().into_iter_err_on_gc_types() {
                    self.module.params.push(ty.map_or(0, |ty| ty.params().len() as u64));
                }
            }
            Payload::FunctionSection(functions) => {
                self.module.functions.extend(functions.clone().into_iter().flatten());
            }
            Payload::CodeSectionStart { count, size, .. } => {
                self.functions += u64::from(*count);
                self.code += u64::from(*size);
                limit(self.functions, FUNCTIONS, "functions")?;
                limit(self.code, CODE, "bytes of code")?;
            }
            Payload::CodeSectionEntry(body) => {
                let index = self.module.bodies;
                self.module.bodies += 1;
                self.function(body).map_err(|what| format!("function {index} of a module: {what}"))?;
                limit(self.targets, TARGETS, "targets of branch tables")?;
                limit(self.joins, JOINS, "blocks and branches times locals")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), String> {
        limit(body.range().len() as u64, FUNCTION, "bytes")?;
        let ty = self.module.functions.get(self.module.bodies - 1);
        let params = ty.and_then(|ty| self.module.params.get(*ty as usize)).copied().unwrap_or(0);
        let locals = body.get_locals_reader().into_iter().flatten().flatten();
        let locals = params + locals.map(|(count, _)| u64::from(count)).sum::<u64>();
        let (mut depth, mut branches) = (0usize, 0u64);
        for operator in body.get_operators_reader().into_iter().flatten() {
            match operator {
                Ok(Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. }) => {
                    depth += 1;
                    branches += 1;
                    limit(depth as u64, NESTING as u64, "blocks in each other")?;
                }
                Ok(Operator::End) => depth = depth.saturating_sub(1),
                Ok(Operator::Br { .. } | Operator::BrIf { .. }) => branches += 1,
                Ok(Operator::BrTable { targets }) => {
                    let targets = u64::from(targets.len());
                    limit(targets, TABLE, "targets of a branch table")?;
                    branches += targets;
                    self.targets += targets;
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let joins = branches.saturating_mul(locals);
        self.joins += joins;
        limit(joins, FUNCTION_JOINS, "blocks and branches times locals")
    }
}

fn limit(count: u64, allowed: u64, what: &str) -> Result<(), String> {
    match count > allowed {
        true => Err(format!("{count} {what}, and there may be {allowed}")),
        false => Ok(()),
    }
}
