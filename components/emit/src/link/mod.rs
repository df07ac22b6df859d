//! Links generated code with what it reaches of the runtime.
//!
//! From the exports, every function, data segment and global that code or data names is
//! followed; the rest is left out. What stays is placed anew: stack, runtime data,
//! constants, arena, in this order from address 0. Function bodies are written again, with
//! shortest encodings, and without the operators that WebAssembly 1.0 does not have.

mod image;
mod lower;
mod object;

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Function, Instruction};
use wasmparser::{BinaryReader, FunctionBody, Operator, RelocationType};

use crate::code::{Callee, Op, Unit};
use crate::module::{FunctionType, Module};
use image::Layout;
use lower::Helper;
pub(crate) use object::Object;
use object::{Relocation, Symbol};

/// Why the runtime cannot be linked. Says that emit was built wrongly, never anything
/// about a program.
#[derive(Debug)]
pub(crate) struct LinkError(String);

impl LinkError {
    fn new(message: &str) -> LinkError {
        LinkError(message.to_owned())
    }
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the runtime inside emit cannot be linked: {}", self.0)
    }
}

impl From<wasmparser::Error> for LinkError {
    fn from(error: wasmparser::Error) -> LinkError {
        LinkError(error.to_string())
    }
}

impl From<wasm_encoder::reencode::Error> for LinkError {
    fn from(error: wasm_encoder::reencode::Error) -> LinkError {
        LinkError(error.to_string())
    }
}

/// Links a unit of generated code with a runtime.
pub(crate) fn link(object: &Object<'_>, unit: &Unit) -> Result<Module, LinkError> {
    let reached = Reached::from(object, unit)?;
    let layout = Layout::new(object, &reached.segments, &unit.constants);
    let mut linker = Linker {
        object,
        functions: reached.functions.iter().enumerate().map(|(new, old)| (*old, new as u32)).collect(),
        generated: reached.functions.len() as u32,
        layout: &layout,
        helpers: Vec::new(),
        first_helper: (reached.functions.len() + unit.functions.len()) as u32,
        module: Module::default(),
    };
    for old in &reached.functions {
        linker.runtime_function(*old)?;
    }
    for function in &unit.functions {
        let body = linker.generated_function(function)?;
        linker.module.function(function.ty.clone(), body);
    }
    linker.finish(unit)
}

/// What the exports of a unit lead to.
#[derive(Default)]
struct Reached {
    functions: BTreeSet<u32>,
    segments: BTreeSet<u32>,
}

impl Reached {
    fn from(object: &Object<'_>, unit: &Unit) -> Result<Reached, LinkError> {
        let mut reached = Reached::default();
        let mut open: Vec<(bool, u32)> = Vec::new();
        let calls = unit.functions.iter().flat_map(|function| &function.code).filter_map(|op| match op {
            Op::Call(callee) => Some(*callee),
            _ => None,
        });
        for callee in calls.chain(unit.exports.iter().map(|export| export.1)) {
            if let Callee::Runtime(name) = callee {
                open.push((true, exported(object, name)?));
            }
        }
        while let Some((is_function, index)) = open.pop() {
            let set = if is_function { &mut reached.functions } else { &mut reached.segments };
            if !set.insert(index) {
                continue;
            }
            let relocations = if is_function {
                object.functions.get(index as usize).map(|function| &function.relocations)
            } else {
                object.segments.get(index as usize).map(|segment| &segment.relocations)
            };
            for relocation in relocations.ok_or(LinkError::new("an index out of range"))? {
                match object.symbols.get(relocation.symbol as usize) {
                    Some(Symbol::Function(index)) => open.push((true, *index)),
                    Some(Symbol::Data { segment, .. }) => open.push((false, *segment)),
                    Some(Symbol::Global(0) | Symbol::Absolute("__heap_base")) => {}
                    _ => return Err(LinkError::new("a relocation of an unknown symbol")),
                }
            }
        }
        Ok(reached)
    }
}

fn exported(object: &Object<'_>, name: &str) -> Result<u32, LinkError> {
    object.exports.get(name).copied().ok_or_else(|| LinkError(format!("the runtime has no `{name}`")))
}

struct Linker<'a> {
    object: &'a Object<'a>,
    /// New index by old.
    functions: BTreeMap<u32, u32>,
    /// The index of the first generated function.
    generated: u32,
    layout: &'a Layout,
    /// Those that were needed, in the order of their indices.
    helpers: Vec<Helper>,
    first_helper: u32,
    module: Module,
}

impl Linker<'_> {
    fn runtime_function(&mut self, index: u32) -> Result<(), LinkError> {
        let function = &self.object.functions[index as usize];
        let ty = self.object.types.get(function.ty as usize).ok_or(LinkError::new("a type out of range"))?;
        let ty = FunctionType::of(ty).ok_or(LinkError::new("a type that WebAssembly 1.0 does not have"))?;
        let bytes = self.relocated(function.body, &function.relocations)?;
        let body = FunctionBody::new(BinaryReader::new(&bytes, 0));
        let mut locals = Vec::new();
        for local in body.get_locals_reader()? {
            let (count, ty) = local?;
            locals.push((count, RoundtripReencoder.val_type(ty)?));
        }
        let mut code = Function::new(locals);
        let mut calls = 0;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            calls += usize::from(matches!(operator, Operator::Call { .. }));
            if !self.lowered(&operator, &mut code)? {
                code.instruction(&RoundtripReencoder.instruction(operator)?);
            }
        }
        // Every call must have been renumbered.
        let renumbered =
            function.relocations.iter().filter(|place| place.ty == RelocationType::FunctionIndexLeb).count();
        if calls != renumbered {
            return Err(LinkError::new("a call without a relocation"));
        }
        self.module.function(ty, code.into_raw_body());
        Ok(())
    }

    /// Writes what stands for an operator that WebAssembly 1.0 does not have.
    fn lowered(&mut self, operator: &Operator<'_>, code: &mut Function) -> Result<bool, LinkError> {
        use Instruction as I;
        match operator {
            Operator::MemoryCopy { dst_mem: 0, src_mem: 0 } => {
                code.instruction(&I::Call(self.helper(Helper::Copy)));
            }
            Operator::MemoryFill { mem: 0 } => {
                code.instruction(&I::Call(self.helper(Helper::Fill)));
            }
            other => match lower::sign_extension(other) {
                Some(instructions) => instructions.iter().for_each(|instruction| {
                    code.instruction(instruction);
                }),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// The index of a helper, which comes behind all other functions.
    fn helper(&mut self, helper: Helper) -> u32 {
        let place = self.helpers.iter().position(|known| *known == helper).unwrap_or_else(|| {
            self.helpers.push(helper);
            self.helpers.len() - 1
        });
        self.first_helper + place as u32
    }

    /// The bytes with every relocated place filled in.
    fn relocated(&self, bytes: &[u8], relocations: &[Relocation]) -> Result<Vec<u8>, LinkError> {
        let mut bytes = bytes.to_vec();
        for relocation in relocations {
            let value = self.value(relocation)?;
            let place = bytes.get_mut(relocation.range.clone()).ok_or(LinkError::new("a relocation out of range"))?;
            match relocation.ty {
                RelocationType::MemoryAddrI32 => place.copy_from_slice(&value.to_le_bytes()),
                _ => padded_leb(value, place),
            }
        }
        Ok(bytes)
    }

    fn value(&self, relocation: &Relocation) -> Result<u32, LinkError> {
        use RelocationType as R;
        let symbol = self.object.symbols.get(relocation.symbol as usize);
        match (relocation.ty, symbol) {
            (R::FunctionIndexLeb, Some(Symbol::Function(old))) => self.functions.get(old).copied(),
            (R::GlobalIndexLeb, Some(Symbol::Global(0))) => Some(0),
            (R::MemoryAddrLeb | R::MemoryAddrSleb | R::MemoryAddrI32, Some(symbol)) => {
                self.layout.address(symbol).map(|address| address.wrapping_add_signed(relocation.addend))
            }
            _ => None,
        }
        .ok_or_else(|| LinkError(format!("a relocation {:?} that cannot be filled in", relocation.ty)))
    }

    fn generated_function(&self, function: &crate::code::Generated) -> Result<Vec<u8>, LinkError> {
        let mut code = Function::new_with_locals_types(function.locals.iter().copied());
        for op in &function.code {
            let instruction = match op {
                Op::Plain(instruction) => instruction.clone(),
                Op::Call(callee) => Instruction::Call(self.callee(*callee)?),
                Op::Address(place) => Instruction::I32Const(self.layout.constant(*place) as i32),
            };
            code.instruction(&instruction);
        }
        code.instruction(&Instruction::End);
        Ok(code.into_raw_body())
    }

    fn callee(&self, callee: Callee) -> Result<u32, LinkError> {
        match callee {
            Callee::Generated(index) => Ok(self.generated + index),
            Callee::Runtime(name) => self
                .functions
                .get(&exported(self.object, name)?)
                .copied()
                .ok_or(LinkError::new("a function that was not reached")),
        }
    }

    fn finish(mut self, unit: &Unit) -> Result<Module, LinkError> {
        for (name, callee) in &unit.exports {
            let index = self.callee(*callee)?;
            self.module.exports.push(((*name).to_owned(), index));
        }
        let mut image = Vec::new();
        for place in self.layout.segments() {
            let segment = &self.object.segments[place.segment as usize];
            image.push((place.address, self.relocated(segment.bytes, &segment.relocations)?));
        }
        image.push((self.layout.constants_start(), self.layout.constants(&unit.constants)));
        self.module.data = image::split(image);
        self.module.stack_pointer = image::STACK;
        self.module.pages = self.layout.pages();
        for helper in &self.helpers {
            self.module.function(Helper::ty(), helper.body());
        }
        Ok(self.module)
    }
}

/// Five bytes, as signed and unsigned readers both take them: addresses and indices stay
/// below 2^31.
fn padded_leb(mut value: u32, place: &mut [u8]) {
    let last = place.len().saturating_sub(1);
    for (index, byte) in place.iter_mut().enumerate() {
        *byte = (value & 0x7F) as u8 | if index < last { 0x80 } else { 0 };
        value >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{KnownCustom, Linking, Parser, Payload, SymbolInfo};

    /// Nothing that formats or panics is in the runtime, whatever a program reaches of it.
    #[test]
    fn the_runtime_cannot_panic() {
        let mut names = Vec::new();
        for payload in Parser::new(0).parse_all(crate::RUNTIME) {
            let Payload::CustomSection(section) = payload.unwrap() else { continue };
            let KnownCustom::Linking(linking) = section.as_known() else { continue };
            for part in linking.subsections() {
                let Linking::SymbolTable(symbols) = part.unwrap() else { continue };
                names.extend(symbols.into_iter().filter_map(|symbol| match symbol.unwrap() {
                    SymbolInfo::Func { name, .. } => name.map(str::to_owned),
                    _ => None,
                }));
            }
        }
        assert!(names.iter().any(|name| name == "rt_read"));
        let bad =
            |name: &&String| ["panic", "3fmt", "slice_index", "unwrap_failed"].iter().any(|part| name.contains(part));
        assert_eq!(names.iter().filter(bad).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
