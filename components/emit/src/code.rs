//! Code before it is linked: functions that name runtime functions, one another, and
//! constants by what they are.

use wasm_encoder::{BlockType, Instruction, MemArg, ValType};

use crate::constants::{Constants, Place};
use crate::module::FunctionType;

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Plain(Instruction<'static>),
    Call(Callee),
    /// The address of a constant.
    Address(Place),
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// An export of `auto-rt`.
    Runtime(&'static str),
    /// The position in [`Unit::functions`].
    Generated(u32),
}

/// All generated code of one module.
#[derive(Default)]
pub(crate) struct Unit {
    pub(crate) functions: Vec<Generated>,
    pub(crate) constants: Constants,
    pub(crate) exports: Vec<(&'static str, Callee)>,
}

impl Unit {
    /// Adds a function.
    pub(crate) fn add(&mut self, body: Body) -> Callee {
        self.functions.push(body.finish());
        Callee::Generated(self.functions.len() as u32 - 1)
    }
}

/// A finished function.
pub(crate) struct Generated {
    pub(crate) ty: FunctionType,
    /// Types of the locals behind the parameters.
    pub(crate) locals: Vec<ValType>,
    pub(crate) code: Vec<Op>,
}

/// A local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local(pub(crate) u32);

/// A block that code inside it can leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(u32);

/// A function being written.
pub(crate) struct Body {
    ty: FunctionType,
    locals: Vec<ValType>,
    /// Locals that are not in use.
    free: Vec<Local>,
    code: Vec<Op>,
    depth: u32,
}

impl Body {
    /// A function of `params` to `result`.
    pub(crate) fn new(params: &[ValType], result: ValType) -> Body {
        let ty = FunctionType { params: params.to_vec(), result: Some(result) };
        Body { ty, locals: Vec::new(), free: Vec::new(), code: Vec::new(), depth: 0 }
    }

    fn finish(self) -> Generated {
        Generated { ty: self.ty, locals: self.locals, code: self.code }
    }

    /// A fresh local of 32 bits, 0 at first.
    pub(crate) fn local(&mut self) -> Local {
        self.local_of(ValType::I32)
    }

    /// A local of 32 bits that holds whatever it last held.
    pub(crate) fn scratch(&mut self) -> Local {
        self.free.pop().unwrap_or_else(|| self.local())
    }

    /// Gives a local back that is not read any more.
    pub(crate) fn release(&mut self, local: Local) {
        self.free.push(local);
    }

    /// A fresh local, 0 at first.
    pub(crate) fn local_of(&mut self, ty: ValType) -> Local {
        self.locals.push(ty);
        Local((self.ty.params.len() + self.locals.len()) as u32 - 1)
    }

    pub(crate) fn op(&mut self, instruction: Instruction<'static>) {
        self.code.push(Op::Plain(instruction));
    }

    pub(crate) fn get(&mut self, local: Local) {
        self.op(Instruction::LocalGet(local.0));
    }

    pub(crate) fn set(&mut self, local: Local) {
        self.op(Instruction::LocalSet(local.0));
    }

    pub(crate) fn tee(&mut self, local: Local) {
        self.op(Instruction::LocalTee(local.0));
    }

    pub(crate) fn constant(&mut self, value: u32) {
        self.op(Instruction::I32Const(value as i32));
    }

    /// Pushes the address of a constant.
    pub(crate) fn address(&mut self, place: Place) {
        self.code.push(Op::Address(place));
    }

    /// Pushes address and length of constant bytes.
    pub(crate) fn bytes(&mut self, constants: &mut Constants, bytes: &[u8]) {
        let place = constants.bytes(bytes);
        self.address(place);
        self.constant(bytes.len() as u32);
    }

    pub(crate) fn call(&mut self, callee: Callee) {
        self.code.push(Op::Call(callee));
    }

    /// Calls an export of the runtime.
    pub(crate) fn runtime(&mut self, name: &'static str) {
        self.call(Callee::Runtime(name));
    }

    /// Loads 32 bits at an offset from the address on the stack.
    pub(crate) fn load(&mut self, offset: u32) {
        self.op(Instruction::I32Load(word(offset, 2)));
    }

    /// Stores 32 bits at an offset from an address; both are on the stack.
    pub(crate) fn store(&mut self, offset: u32) {
        self.op(Instruction::I32Store(word(offset, 2)));
    }

    /// Writes `address` of 16 bytes to `target`, `offset` bytes on.
    pub(crate) fn copy_node(&mut self, address: Local, target: Local, offset: u32) {
        for half in [0, 8] {
            self.get(target);
            self.get(address);
            self.op(Instruction::I64Load(word(half, 3)));
            self.op(Instruction::I64Store(word(offset + half, 3)));
        }
    }

    /// Writes the key of a member that lies `offset` bytes behind `members`.
    pub(crate) fn key(&mut self, members: Local, offset: u32, key: Place, length: usize) {
        self.get(members);
        self.address(key);
        self.op(Instruction::I32Store(word(offset, 2)));
        self.get(members);
        self.constant(length as u32);
        self.op(Instruction::I32Store(word(offset + 4, 2)));
    }

    /// `local += amount`.
    pub(crate) fn advance(&mut self, local: Local, amount: u32) {
        self.get(local);
        self.constant(amount);
        self.op(Instruction::I32Add);
        self.set(local);
    }

    /// Begins a block that gives nothing.
    pub(crate) fn block(&mut self) -> Label {
        self.begin(Instruction::Block(BlockType::Empty))
    }

    /// Begins a block that gives a handle.
    pub(crate) fn block_of_handle(&mut self) -> Label {
        self.begin(Instruction::Block(BlockType::Result(ValType::I32)))
    }

    /// Begins a block whose label is its beginning.
    pub(crate) fn repeat(&mut self) -> Label {
        self.begin(Instruction::Loop(BlockType::Empty))
    }

    /// Begins what runs if what is on the stack is not zero.
    pub(crate) fn when(&mut self) {
        self.begin(Instruction::If(BlockType::Empty));
    }

    /// Begins what gives a handle if what is on the stack is not zero;
    /// [`Body::otherwise`] must follow.
    pub(crate) fn choose(&mut self) {
        self.begin(Instruction::If(BlockType::Result(ValType::I32)));
    }

    /// Begins the other half.
    pub(crate) fn otherwise(&mut self) {
        self.op(Instruction::Else);
    }

    fn begin(&mut self, instruction: Instruction<'static>) -> Label {
        self.op(instruction);
        self.depth += 1;
        Label(self.depth)
    }

    /// Ends the innermost of what was begun.
    pub(crate) fn end(&mut self) {
        self.depth -= 1;
        self.op(Instruction::End);
    }

    /// Leaves a block, or goes to the beginning of a repeated one.
    pub(crate) fn branch(&mut self, to: Label) {
        self.op(Instruction::Br(self.depth - to.0));
    }

    /// [`Body::branch`] if what is on the stack is not zero.
    pub(crate) fn branch_if(&mut self, to: Label) {
        self.op(Instruction::BrIf(self.depth - to.0));
    }

    /// [`Body::branch`] if what is on the stack is zero.
    pub(crate) fn branch_unless(&mut self, to: Label) {
        self.op(Instruction::I32Eqz);
        self.branch_if(to);
    }

    /// Returns what is on the stack.
    pub(crate) fn give(&mut self) {
        self.op(Instruction::Return);
    }
}

/// An operand of loads and stores; `align` is a power of two.
fn word(offset: u32, align: u32) -> MemArg {
    MemArg { offset: offset.into(), align, memory_index: 0 }
}
