//! What WebAssembly 1.0 does not have, said in what it has: bulk memory as two functions,
//! sign extension as shifts.

use wasm_encoder::{BlockType, Function, Instruction, MemArg, ValType};
use wasmparser::Operator;

use crate::module::FunctionType;

/// A function that stands for an operator and takes its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Helper {
    /// `memory.copy`: to, from, length.
    Copy,
    /// `memory.fill`: to, byte, length.
    Fill,
}

const TO: u32 = 0;
const FROM: u32 = 1;
const LENGTH: u32 = 2;
/// A byte eight times over.
const WORD: u32 = 3;

impl Helper {
    pub(super) fn ty() -> FunctionType {
        FunctionType { params: vec![ValType::I32; 3], result: None }
    }

    pub(super) fn body(self) -> Vec<u8> {
        use Instruction as I;
        let mut code = match self {
            Helper::Copy => Function::new([]),
            Helper::Fill => Function::new([(1, ValType::I64)]),
        };
        let write = |code: &mut Function, instructions: &[I<'_>]| {
            instructions.iter().for_each(|instruction| {
                code.instruction(instruction);
            });
        };
        match self {
            Helper::Copy => {
                // Downwards where the target begins inside the source.
                write(
                    &mut code,
                    &[
                        I::LocalGet(TO),
                        I::LocalGet(FROM),
                        I::I32Sub,
                        I::LocalGet(LENGTH),
                        I::I32LtU,
                        I::If(BlockType::Empty),
                    ],
                );
                write(&mut code, &down(8, &[I::I64Load(at(0)), I::I64Store(at(0))]));
                write(&mut code, &down(1, &[I::I32Load8U(at(0)), I::I32Store8(at(0))]));
                write(&mut code, &[I::Return, I::End]);
                let from = |load, store| [I::LocalGet(TO), I::LocalGet(FROM), load, store];
                write(&mut code, &up(8, &from(I::I64Load(at(0)), I::I64Store(at(0))), true));
                write(&mut code, &up(1, &from(I::I32Load8U(at(0)), I::I32Store8(at(0))), true));
            }
            Helper::Fill => {
                write(
                    &mut code,
                    &[
                        I::LocalGet(FROM),
                        I::I64ExtendI32U,
                        I::I64Const(0xFF),
                        I::I64And,
                        I::I64Const(0x0101_0101_0101_0101),
                        I::I64Mul,
                        I::LocalSet(WORD),
                    ],
                );
                write(&mut code, &up(8, &[I::LocalGet(TO), I::LocalGet(WORD), I::I64Store(at(0))], false));
                write(&mut code, &up(1, &[I::LocalGet(TO), I::LocalGet(FROM), I::I32Store8(at(0))], false));
            }
        }
        code.instruction(&I::End);
        code.into_raw_body()
    }
}

fn at(offset: u64) -> MemArg {
    MemArg { offset, align: 0, memory_index: 0 }
}

/// While `width` bytes are left: `step`, and on by so many bytes.
fn up(width: i32, step: &[Instruction<'static>], with_from: bool) -> Vec<Instruction<'static>> {
    use Instruction as I;
    let mut code = vec![
        I::Block(BlockType::Empty),
        I::Loop(BlockType::Empty),
        I::LocalGet(LENGTH),
        I::I32Const(width),
        I::I32LtU,
        I::BrIf(1),
    ];
    code.extend_from_slice(step);
    let advance = |local| [I::LocalGet(local), I::I32Const(width), I::I32Add, I::LocalSet(local)];
    code.extend(advance(TO));
    if with_from {
        code.extend(advance(FROM));
    }
    code.extend([I::LocalGet(LENGTH), I::I32Const(width), I::I32Sub, I::LocalSet(LENGTH), I::Br(0), I::End, I::End]);
    code
}

/// While `width` bytes are left: copies the last so many.
fn down(width: i32, load_store: &[Instruction<'static>; 2]) -> Vec<Instruction<'static>> {
    use Instruction as I;
    let [load, store] = load_store.clone();
    vec![
        I::Block(BlockType::Empty),
        I::Loop(BlockType::Empty),
        I::LocalGet(LENGTH),
        I::I32Const(width),
        I::I32LtU,
        I::BrIf(1),
        I::LocalGet(LENGTH),
        I::I32Const(width),
        I::I32Sub,
        I::LocalSet(LENGTH),
        I::LocalGet(TO),
        I::LocalGet(LENGTH),
        I::I32Add,
        I::LocalGet(FROM),
        I::LocalGet(LENGTH),
        I::I32Add,
        load,
        store,
        I::Br(0),
        I::End,
        I::End,
    ]
}

/// A sign extension as two shifts.
pub(super) fn sign_extension(operator: &Operator<'_>) -> Option<[Instruction<'static>; 4]> {
    use Instruction as I;
    let narrow = |bits| Some([I::I32Const(bits), I::I32Shl, I::I32Const(bits), I::I32ShrS]);
    let wide = |bits| Some([I::I64Const(bits), I::I64Shl, I::I64Const(bits), I::I64ShrS]);
    match operator {
        Operator::I32Extend8S => narrow(24),
        Operator::I32Extend16S => narrow(16),
        Operator::I64Extend8S => wide(56),
        Operator::I64Extend16S => wide(48),
        Operator::I64Extend32S => wide(32),
        _ => None,
    }
}
