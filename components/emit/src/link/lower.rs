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
/// What [`fill`] takes in the place of [`FROM`].
const BYTE: u32 = 1;
const LENGTH: u32 = 2;
/// The byte of [`fill`] eight times over.
const WORD: u32 = 3;

impl Helper {
    pub(super) fn ty() -> FunctionType {
        FunctionType { params: vec![ValType::I32; 3], result: None }
    }

    pub(super) fn body(self) -> Vec<u8> {
        let (mut code, parts) = match self {
            Helper::Copy => (Function::new([(3, ValType::I32), (1, ValType::I64)]), copy()),
            Helper::Fill => (Function::new([(1, ValType::I64)]), fill()),
        };
        for instruction in parts.iter().flatten() {
            code.instruction(instruction);
        }
        code.instruction(&Instruction::End);
        code.into_raw_body()
    }
}

/// Few bytes are all read before any is written; more go in words, the last of them read
/// first, so that no byte is left over. Downwards where the target begins in the source.
fn copy() -> Vec<Vec<Instruction<'static>>> {
    use Instruction as I;
    let [first, middle, last] = [3, 4, 5];
    let tail = 6;
    let less_than = |bytes| vec![I::LocalGet(LENGTH), I::I32Const(bytes), I::I32LtU, I::If(BlockType::Empty)];
    let behind = |start, back| [I::LocalGet(start), I::LocalGet(LENGTH), I::I32Add, I::I32Const(back), I::I32Sub];
    let mut parts = vec![less_than(8), less_than(4), vec![I::LocalGet(LENGTH), I::I32Eqz, I::If(BlockType::Empty)]];
    parts.push(vec![I::Return, I::End]);
    // One to three bytes: the first, the middle one, the last.
    let half = [I::LocalGet(LENGTH), I::I32Const(1), I::I32ShrU, I::I32Add];
    let byte = |local| [I::I32Load8U(at(0)), I::LocalSet(local)];
    parts.push([[I::LocalGet(FROM)].as_slice(), &byte(first)].concat());
    parts.push([[I::LocalGet(FROM)].as_slice(), &half, &byte(middle)].concat());
    parts.push([behind(FROM, 1).as_slice(), &byte(last)].concat());
    parts.push(vec![I::LocalGet(TO), I::LocalGet(first), I::I32Store8(at(0))]);
    parts.push([[I::LocalGet(TO)].as_slice(), &half, &[I::LocalGet(middle), I::I32Store8(at(0))]].concat());
    parts.push([behind(TO, 1).as_slice(), &[I::LocalGet(last), I::I32Store8(at(0))]].concat());
    parts.push(vec![I::Return, I::End]);
    // Four to seven: the first four and the last four.
    let four = |local| [I::I32Load(at(0)), I::LocalSet(local)];
    parts.push([[I::LocalGet(FROM)].as_slice(), &four(first)].concat());
    parts.push([behind(FROM, 4).as_slice(), &four(last)].concat());
    parts.push(vec![I::LocalGet(TO), I::LocalGet(first), I::I32Store(at(0))]);
    parts.push([behind(TO, 4).as_slice(), &[I::LocalGet(last), I::I32Store(at(0))]].concat());
    parts.push(vec![I::Return, I::End]);

    parts.push(vec![
        I::LocalGet(TO),
        I::LocalGet(FROM),
        I::I32Sub,
        I::LocalGet(LENGTH),
        I::I32LtU,
        I::If(BlockType::Empty),
    ]);
    parts.push(down(8, [I::I64Load(at(0)), I::I64Store(at(0))]));
    parts.push(down(1, [I::I32Load8U(at(0)), I::I32Store8(at(0))]));
    parts.push(vec![I::Return, I::End]);

    parts.push([behind(FROM, 8).as_slice(), &[I::I64Load(at(0)), I::LocalSet(tail)]].concat());
    parts.push([behind(TO, 8).as_slice(), &[I::LocalSet(last)]].concat());
    parts.push(up(8, &[I::LocalGet(TO), I::LocalGet(FROM), I::I64Load(at(0)), I::I64Store(at(0))], true));
    parts.push(vec![I::LocalGet(last), I::LocalGet(tail), I::I64Store(at(0))]);
    parts
}

fn fill() -> Vec<Vec<Instruction<'static>>> {
    use Instruction as I;
    vec![
        vec![
            I::LocalGet(BYTE),
            I::I64ExtendI32U,
            I::I64Const(0xFF),
            I::I64And,
            I::I64Const(0x0101_0101_0101_0101),
            I::I64Mul,
            I::LocalSet(WORD),
        ],
        up(8, &[I::LocalGet(TO), I::LocalGet(WORD), I::I64Store(at(0))], false),
        up(1, &[I::LocalGet(TO), I::LocalGet(BYTE), I::I32Store8(at(0))], false),
    ]
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
fn down(width: i32, [load, store]: [Instruction<'static>; 2]) -> Vec<Instruction<'static>> {
    use Instruction as I;
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
