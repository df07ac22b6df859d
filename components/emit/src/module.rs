//! A linked module and its bytes, plain or metered.

use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataSection, ExportKind, ExportSection, FunctionSection, GlobalSection,
    GlobalType, MemorySection, MemoryType, TypeSection, ValType,
};

use crate::link::LinkError;
use crate::meter;

/// The type of a function of WebAssembly 1.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionType {
    pub(crate) params: Vec<ValType>,
    pub(crate) result: Option<ValType>,
}

impl FunctionType {
    /// `None` for what WebAssembly 1.0 does not have.
    pub(crate) fn of(ty: &wasmparser::FuncType) -> Option<FunctionType> {
        let value = |ty: &wasmparser::ValType| match ty {
            wasmparser::ValType::I32 => Some(ValType::I32),
            wasmparser::ValType::I64 => Some(ValType::I64),
            _ => None,
        };
        let result = match ty.results() {
            [] => None,
            [result] => Some(value(result)?),
            _ => return None,
        };
        Some(FunctionType { params: ty.params().iter().map(value).collect::<Option<_>>()?, result })
    }
}

/// A module with one memory, one global (the stack pointer) and no imports.
#[derive(Default)]
pub(crate) struct Module {
    types: Vec<FunctionType>,
    /// Type and body of each.
    functions: Vec<(u32, Vec<u8>)>,
    pub(crate) exports: Vec<(String, u32)>,
    /// Addresses and bytes.
    pub(crate) data: Vec<(u32, Vec<u8>)>,
    pub(crate) stack_pointer: u32,
    pub(crate) pages: u32,
}

impl Module {
    /// Adds a function.
    pub(crate) fn function(&mut self, ty: FunctionType, body: Vec<u8>) {
        let index = self.types.iter().position(|known| *known == ty).unwrap_or_else(|| {
            self.types.push(ty);
            self.types.len() - 1
        });
        self.functions.push((index as u32, body));
    }

    /// The bytes of the module.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.assemble(self.functions.iter().map(|(_, body)| body.as_slice()), false)
    }

    /// The bytes of the same module with a counter.
    pub(crate) fn encode_metered(&self) -> Result<Vec<u8>, LinkError> {
        let entry = |index| self.exports.iter().any(|(name, export)| name.contains('#') && *export == index);
        let bodies: Vec<Vec<u8>> = (0..)
            .zip(&self.functions)
            .map(|(index, (_, body))| meter::metered(body, STEPS, entry(index)))
            .collect::<Result<_, _>>()?;
        Ok(self.assemble(bodies.iter().map(Vec::as_slice), true))
    }

    fn assemble<'a>(&self, bodies: impl Iterator<Item = &'a [u8]>, metered: bool) -> Vec<u8> {
        let mut types = TypeSection::new();
        self.types.iter().for_each(|ty| types.ty().function(ty.params.iter().copied(), ty.result));
        let mut functions = FunctionSection::new();
        for (ty, _) in &self.functions {
            functions.function(*ty);
        }
        let mut code = CodeSection::new();
        for body in bodies {
            code.raw(body);
        }
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: self.pages.into(),
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mutable = |val_type| GlobalType { val_type, mutable: true, shared: false };
        let mut globals = GlobalSection::new();
        globals.global(mutable(ValType::I32), &ConstExpr::i32_const(self.stack_pointer as i32));
        let mut exports = ExportSection::new();
        exports.export("memory", ExportKind::Memory, 0);
        for (name, index) in &self.exports {
            exports.export(name, ExportKind::Func, *index);
        }
        if metered {
            globals.global(mutable(ValType::I64), &ConstExpr::i64_const(0));
            exports.export("steps", ExportKind::Global, STEPS);
        }
        let mut data = DataSection::new();
        for (address, bytes) in &self.data {
            data.active(0, &ConstExpr::i32_const(*address as i32), bytes.iter().copied());
        }
        let mut module = wasm_encoder::Module::new();
        module.section(&types).section(&functions).section(&memories).section(&globals).section(&exports);
        module.section(&code).section(&data);
        module.section(&CustomSection {
            name: auto_schema::cbin::COMPONENT_TYPE_SECTION.into(),
            data: auto_schema::cbin::COMPONENT_TYPE.into(),
        });
        module.finish()
    }
}

/// The index of the counter, behind the stack pointer.
const STEPS: u32 = 1;
