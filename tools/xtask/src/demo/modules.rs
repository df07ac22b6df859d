//! Files the gate and the loader must refuse.

use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, MemorySection, MemoryType, Module, TypeSection, ValType,
};

/// Where constant results lie in the module's memory.
const RUN: i32 = 16;
const RESUME: i32 = 48;
const ASSESS: i32 = 80;
const TEXT: i32 = 128;
/// Where `cabi_realloc` starts to hand out memory.
const HEAP: i32 = 4096;

const ANSWER: &str = r#"{"priority":"normal","queue":"support","reference":"ORD-00000","reply":"Dear customer, no."}"#;

/// A module of the world `auto:cbin/cbin` that gives every ticket the same answer.
pub fn wrong_answers() -> Vec<u8> {
    behavior(false)
}

/// The same module with an import.
pub fn importing() -> Vec<u8> {
    behavior(true)
}

/// A copy with one bit flipped in the middle.
pub fn tampered(artifact: &[u8]) -> Vec<u8> {
    let mut copy = artifact.to_vec();
    let middle = copy.len() / 2;
    if let Some(byte) = copy.get_mut(middle) {
        *byte ^= 0x10;
    }
    copy
}

/// Every function returns the address of a constant, except the allocator.
fn behavior(import: bool) -> Vec<u8> {
    let mut module = Module::new();
    let i32s = |count| vec![ValType::I32; count];
    let mut types = TypeSection::new();
    for parameters in [2, 5, 2, 4] {
        types.ty().function(i32s(parameters), [ValType::I32]);
    }
    types.ty().function([], [ValType::I64]);
    module.section(&types);
    if import {
        let mut imports = ImportSection::new();
        imports.import("env", "now", EntityType::Function(4));
        module.section(&imports);
    }
    let mut functions = FunctionSection::new();
    (0..4).for_each(|index| {
        functions.function(index);
    });
    module.section(&functions);
    let mut memories = MemorySection::new();
    let memory = MemoryType { minimum: 32, maximum: None, memory64: false, shared: false, page_size_log2: None };
    memories.memory(memory);
    module.section(&memories);
    let mut globals = GlobalSection::new();
    let heap = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    globals.global(heap, &ConstExpr::i32_const(HEAP));
    module.section(&globals);
    module.section(&exports(u32::from(import)));
    module.section(&code());
    module.section(&data());
    module.finish()
}

fn exports(first: u32) -> ExportSection {
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    let names = ["auto:cbin/behavior@0.1.0#run", "auto:cbin/behavior@0.1.0#resume", "auto:cbin/behavior@0.1.0#assess"];
    for (index, name) in (first..).zip(names.into_iter().chain(["cabi_realloc"])) {
        exports.export(name, ExportKind::Func, index);
    }
    exports
}

fn code() -> CodeSection {
    let mut code = CodeSection::new();
    for result in [RUN, RESUME, ASSESS] {
        let mut function = Function::new([]);
        function.instructions().i32_const(result).end();
        code.function(&function);
    }
    // cabi_realloc(old, old size, align, size): the next aligned address; nothing is freed.
    let mut allocate = Function::new([(1, ValType::I32)]);
    let mut body = allocate.instructions();
    body.global_get(0).local_get(2).i32_add().i32_const(1).i32_sub();
    body.i32_const(0).local_get(2).i32_sub().i32_and().local_tee(4);
    body.local_get(3).i32_add().global_set(0).local_get(4).end();
    code.function(&allocate);
    code
}

/// The results in the canonical ABI's layout: discriminants, then payloads, 4-aligned.
fn data() -> DataSection {
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let text = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let mut data = DataSection::new();
    // ok(answer(text))
    data.active(0, &ConstExpr::i32_const(RUN), words(&[0, 0, TEXT, text(ANSWER)]));
    // err(unsupported(text))
    data.active(0, &ConstExpr::i32_const(RESUME), words(&[1, 1, TEXT, text(ANSWER)]));
    // novelty { reason, score, limit }
    data.active(0, &ConstExpr::i32_const(ASSESS), words(&[TEXT, 0, 0, 1_000_000]));
    data.active(0, &ConstExpr::i32_const(TEXT), ANSWER.bytes());
    data
}

#[cfg(test)]
mod tests {
    use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
    use wit_parser::Resolve;

    /// What is refused is refused for its answers, not because it is no behaviour.
    #[test]
    fn the_wrong_module_is_a_behavior() {
        let mut resolve = Resolve::default();
        let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/cbin");
        let (package, _) = resolve.push_dir(wit).unwrap();
        let world = resolve.select_world(&[package], Some("cbin")).unwrap();
        let lift = |mut module: Vec<u8>| {
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
            ComponentEncoder::default().validate(true).module(&module)?.encode()
        };
        lift(super::wrong_answers()).unwrap();
        assert!(lift(super::importing()).is_err());
    }

    #[test]
    fn tampering_flips_one_bit() {
        let copy = super::tampered(&[0, 1, 2, 3]);
        assert_eq!(copy, [0, 1, 0x12, 3]);
    }
}
