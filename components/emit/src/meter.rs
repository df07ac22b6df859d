//! The metered twin: the same code with a counter.
//!
//! Every basic block adds its number of instructions when it is entered, so the count is
//! a property of program and input, equal on every engine.

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Function, Instruction};
use wasmparser::{BinaryReader, FunctionBody, Operator};

use crate::link::LinkError;

/// A function body that counts its instructions in the `i64` global `counter`, and
/// starts the count anew if it is an entry.
pub(crate) fn metered(body: &[u8], counter: u32, entry: bool) -> Result<Vec<u8>, LinkError> {
    let body = FunctionBody::new(BinaryReader::new(body, 0));
    let mut locals = Vec::new();
    for local in body.get_locals_reader()? {
        let (count, ty) = local?;
        locals.push((count, RoundtripReencoder.val_type(ty)?));
    }
    let mut code = Function::new(locals);
    if entry {
        code.instruction(&Instruction::I64Const(0));
        code.instruction(&Instruction::GlobalSet(counter));
    }
    let mut block = Vec::new();
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let operator = operators.read()?;
        let last = ends_block(&operator);
        block.push(RoundtripReencoder.instruction(operator)?);
        if last {
            flush(&mut block, counter, &mut code);
        }
    }
    flush(&mut block, counter, &mut code);
    Ok(code.into_raw_body())
}

/// Writes a basic block behind the addition of its length.
fn flush(block: &mut Vec<Instruction<'_>>, counter: u32, code: &mut Function) {
    // A lone `end` is where blocks meet, not work.
    if block.iter().any(|instruction| !matches!(instruction, Instruction::End)) {
        for instruction in [
            Instruction::GlobalGet(counter),
            Instruction::I64Const(block.len() as i64),
            Instruction::I64Add,
            Instruction::GlobalSet(counter),
        ] {
            code.instruction(&instruction);
        }
    }
    block.drain(..).for_each(|instruction| {
        code.instruction(&instruction);
    });
}

/// Whether control may come from elsewhere, or go elsewhere, right behind it.
fn ends_block(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Unreachable
    )
}
