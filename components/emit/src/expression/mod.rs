//! Expressions to code: every subexpression leaves a handle on the stack, 0 where it is
//! undefined.
//!
//! Runtime functions give 0 for a 0, so undefined values flow through calls without
//! tests; only what copies nodes or chooses between branches tests. Lambdas are loops in
//! place. A part without `$` is evaluated now; a part that occurs again is kept in a local
//! once it has been computed.

mod answer;
mod loops;
mod names;

use std::collections::BTreeMap;

use auto_json::Value;
use auto_lang::{Expr, Op, eval};
use auto_schema::types::Type;
use wasm_encoder::{Instruction, ValType};

use crate::access::{position, within};
use crate::code::{Body, Callee, Label, Local, Unit};
use crate::constants::{Constants, MEMBER, MEMBER_VALUE, NODE, NULL};
use names::{kind_named, literal_text, moment_name, runtime_name, takes_moment, token};

/// Values made now are kept if their text is no longer than this.
const FOLDED: usize = 4096;

/// Repeated parts of more nodes than this have a function of their own, so that code does
/// not grow with the number of their occurrences.
const SHORT: usize = 4;

/// Adds a function from the handle of `$`, whose type was checked, to that of the value;
/// `as_answer`, to the result of `run` that answers with the value, 0 where it is undefined.
pub(crate) fn compile(expression: &Expr, input: &Type, as_answer: bool, unit: &mut Unit) -> Callee {
    let mut repeats = BTreeMap::new();
    count(expression, false, &mut repeats);
    repeats.retain(|_, times| *times > 1);
    let mut parts = BTreeMap::new();
    // The smallest first: a part is called by those that it is a part of.
    let mut long: Vec<&Expr> = repeats.keys().copied().filter(|part| part.size() > SHORT).collect();
    long.sort_by_key(|part| part.size());
    for part in long {
        let callee = function(part, input, &repeats, &parts, false, unit);
        parts.insert(part, callee);
    }
    function(expression, input, &repeats, &parts, as_answer, unit)
}

/// Adds the function of an expression, given the functions of its long repeated parts.
fn function<'e>(
    expression: &'e Expr,
    input: &'e Type,
    repeats: &BTreeMap<&'e Expr, u32>,
    parts: &'e BTreeMap<&'e Expr, Callee>,
    as_answer: bool,
    unit: &mut Unit,
) -> Callee {
    let mut compiler = Compiler {
        body: Body::new(&[ValType::I32], ValType::I32),
        constants: &mut unit.constants,
        input,
        scope: Vec::new(),
        kept: repeats.keys().filter(|part| **part != expression).map(|part| (*part, None)).collect(),
        parts,
    };
    if as_answer {
        compiler.answer(expression);
    } else {
        compiler.value(expression);
    }
    let body = compiler.body;
    unit.add(body)
}

/// Counts occurrences of parts that depend on `$` alone; one in a loop counts twice.
fn count<'e>(expression: &'e Expr, in_loop: bool, times: &mut BTreeMap<&'e Expr, u32>) {
    if matches!(expression, Expr::Call(..) | Expr::Field(..) | Expr::Each { .. })
        && reads(expression) == (Reads { input: true, free: false })
    {
        let seen = times.entry(expression).or_default();
        *seen += 1 + u32::from(in_loop);
        if *seen > 1 + u32::from(in_loop) {
            return;
        }
    }
    match expression {
        Expr::Each { list, body, .. } => {
            count(list, in_loop, times);
            count(body, true, times);
        }
        other => other.children().into_iter().for_each(|child| count(child, in_loop, times)),
    }
}

/// What an expression depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reads {
    input: bool,
    /// A variable that is bound outside of it.
    free: bool,
}

impl Reads {
    const NOTHING: Reads = Reads { input: false, free: false };
}

fn reads(expression: &Expr) -> Reads {
    fn walk<'e>(expression: &'e Expr, bound: &mut Vec<&'e str>, reads: &mut Reads) {
        match expression {
            Expr::Input => reads.input = true,
            Expr::Variable(name) => reads.free |= !bound.contains(&name.as_str()),
            Expr::Each { list, variable, body, .. } => {
                walk(list, bound, reads);
                bound.push(variable);
                walk(body, bound, reads);
                bound.pop();
            }
            other => other.children().into_iter().for_each(|child| walk(child, bound, reads)),
        }
    }
    let mut found = Reads { input: false, free: false };
    walk(expression, &mut Vec::new(), &mut found);
    found
}

struct Compiler<'a> {
    body: Body,
    constants: &'a mut Constants,
    /// The type of `$`.
    input: &'a Type,
    scope: Vec<Bound<'a>>,
    /// Repeated parts, and the locals that hold their values once they were computed.
    kept: BTreeMap<&'a Expr, Option<Local>>,
    /// Those that have functions.
    parts: &'a BTreeMap<&'a Expr, Callee>,
}

/// A variable.
struct Bound<'a> {
    name: &'a str,
    local: Local,
    ty: Option<&'a Type>,
}

/// `$`.
const INPUT: Local = Local(0);

impl<'a> Compiler<'a> {
    /// Pushes the handle of a value.
    fn value(&mut self, expression: &'a Expr) {
        if self.folded(expression) {
            return;
        }
        let Some(kept) = self.kept.get(expression).copied() else { return self.computed(expression) };
        let local = kept.unwrap_or_else(|| self.body.local());
        self.kept.insert(expression, Some(local));
        self.body.get(local);
        self.body.choose();
        self.body.get(local);
        self.body.otherwise();
        match self.parts.get(expression) {
            Some(part) => {
                self.body.get(INPUT);
                self.body.call(*part);
            }
            None => self.computed(expression),
        }
        self.body.tee(local);
        self.body.end();
    }

    /// Pushes a constant if the value can be known now.
    fn folded(&mut self, expression: &Expr) -> bool {
        if reads(expression) != Reads::NOTHING {
            return false;
        }
        match eval(expression, &Value::Null) {
            Some(value) if matches!(expression, Expr::Literal(_)) || value.canonical().as_str().len() <= FOLDED => {
                self.constant(&value);
            }
            Some(_) => return false,
            None => self.body.constant(0),
        }
        true
    }

    fn constant(&mut self, value: &Value) {
        let place = self.constants.value(value);
        self.body.address(place);
    }

    fn computed(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Input => self.body.get(INPUT),
            Expr::Variable(name) => match self.bound(name).map(|bound| bound.local) {
                Some(local) => self.body.get(local),
                None => self.body.constant(0),
            },
            Expr::Literal(value) => self.constant(value),
            Expr::Field(of, name) => {
                let ty = self.type_of(of);
                self.value(of);
                self.body.field(self.constants, ty, name);
            }
            Expr::List(items) => {
                let items: Vec<&Expr> = items.iter().collect();
                self.list(&items);
            }
            Expr::Record(members) => self.record(members),
            Expr::Call(op, arguments) => self.operator(*op, arguments),
            Expr::Each { each, list, variable, body } => self.each(*each, list, variable, body),
        }
    }

    fn bound(&self, name: &str) -> Option<&Bound<'a>> {
        self.scope.iter().rev().find(|bound| bound.name == name)
    }

    /// The type of a place in the input that every input has.
    fn type_of(&self, expression: &Expr) -> Option<&'a Type> {
        match expression {
            Expr::Input => Some(self.input),
            Expr::Variable(name) => self.bound(name)?.ty,
            Expr::Field(of, name) => {
                let ty = self.type_of(of)?;
                // Not of a field that may be absent: the type is that of a value that is there.
                position(ty, name)?;
                within(ty, Some(name))
            }
            _ => None,
        }
    }

    /// Pushes what `write` leaves on the stack, or 0 where it branches to its label.
    fn partial(&mut self, write: impl FnOnce(&mut Self, Label)) {
        let done = self.body.block_of_handle();
        let undefined = self.body.block();
        write(self, undefined);
        self.body.branch(done);
        self.body.end();
        self.body.constant(0);
        self.body.end();
    }

    /// A fresh local with the value, which is not undefined.
    fn defined(&mut self, expression: &'a Expr, undefined: Label) -> Local {
        self.value(expression);
        let local = self.body.scratch();
        self.body.tee(local);
        self.body.branch_unless(undefined);
        local
    }

    fn list(&mut self, items: &[&'a Expr]) {
        self.partial(|this, undefined| {
            let values: Vec<Local> = items.iter().map(|item| this.defined(item, undefined)).collect();
            let array = this.allocate(NODE * values.len() as u32);
            for (index, value) in (0..).zip(&values) {
                this.body.copy_node(*value, array, NODE * index);
                this.body.release(*value);
            }
            this.body.get(array);
            this.body.constant(values.len() as u32);
            this.body.runtime("rt_list");
            this.body.release(array);
        });
    }

    fn record(&mut self, members: &'a [(String, Expr)]) {
        self.partial(|this, undefined| {
            let values: Vec<Local> = members.iter().map(|(_, item)| this.defined(item, undefined)).collect();
            let array = this.allocate(MEMBER * values.len() as u32);
            for (index, ((key, _), value)) in (0..).zip(members.iter().zip(&values)) {
                let at = MEMBER * index;
                let place = this.constants.bytes(key.as_bytes());
                this.body.key(array, at, place, key.len());
                this.body.copy_node(*value, array, at + MEMBER_VALUE);
                this.body.release(*value);
            }
            this.body.get(array);
            this.body.constant(values.len() as u32);
            this.body.runtime("rt_record");
            this.body.release(array);
        });
    }

    /// Whether a place in the input is in every input.
    fn is_present(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Input => true,
            Expr::Field(of, name) => self.type_of(of).is_some_and(|ty| position(ty, name).is_some()),
            _ => false,
        }
    }

    fn allocate(&mut self, bytes: u32) -> Local {
        let array = self.body.scratch();
        self.body.constant(bytes);
        self.body.runtime("rt_allocate");
        self.body.set(array);
        array
    }

    fn operator(&mut self, op: Op, arguments: &'a [Expr]) {
        match (op, arguments) {
            (Op::If, [condition, yes, no]) => self.conditional(condition, yes, no),
            (Op::Default, [first, second]) => {
                self.value(first);
                let local = self.body.scratch();
                self.body.tee(local);
                self.body.choose();
                self.body.get(local);
                self.body.release(local);
                self.body.otherwise();
                self.value(second);
                self.body.end();
            }
            (Op::And | Op::Or, arguments) => self.connective(op == Op::Or, arguments),
            (Op::Concat, arguments) => {
                let texts: Vec<&Expr> = arguments.iter().collect();
                self.list(&texts);
                self.constant(&Value::from(""));
                self.body.runtime("rt_join");
            }
            (Op::Lt | Op::Le | Op::Gt | Op::Ge, [a, b]) if self.is_ordered(a, b).is_some() => self.order(op, a, b),
            (Op::TypeIs, [value, kind]) => self.kind_is(value, kind_named(kind)),
            (Op::IsNull, [value]) => self.kind_is(value, NULL),
            (Op::Token, [text, class, index]) => {
                self.value(text);
                self.index(index);
                self.body.runtime(token(class));
            }
            (op, arguments) => {
                self.arguments(op, arguments);
                self.body.runtime(runtime_name(op, arguments));
            }
        }
    }

    /// Pushes a position as 64 bits.
    fn index(&mut self, index: &'a Expr) {
        match index {
            Expr::Literal(value) if value.as_i64().is_some() => {
                self.body.op(Instruction::I64Const(value.as_i64().unwrap_or_default()));
            }
            other => {
                self.value(other);
                self.body.runtime("rt_index");
            }
        }
    }

    /// Pushes the arguments of an operator that evaluates them all.
    fn arguments(&mut self, op: Op, arguments: &'a [Expr]) {
        for (index, argument) in arguments.iter().enumerate() {
            match op.literal(index).and_then(|literal| literal.encode(literal_text(argument))) {
                Some(bytes) => self.body.bytes(self.constants, &bytes),
                None if takes_moment(op, index) => self.moment(argument),
                None => self.value(argument),
            }
        }
    }

    /// Pushes a date for an operator on dates: what another one gives is handed on as a moment, and
    /// never becomes a text.
    fn moment(&mut self, date: &'a Expr) {
        match date {
            Expr::Call(op, arguments) if !self.kept.contains_key(date) && reads(date) != Reads::NOTHING => {
                match moment_name(*op) {
                    Some(name) => {
                        self.arguments(*op, arguments);
                        self.body.runtime(name);
                    }
                    None => self.value(date),
                }
            }
            other => self.value(other),
        }
    }

    /// Whether one side is an integer of every input and the other one of 64 bits that is known:
    /// that one, and whether it stands on the left.
    fn is_ordered(&self, a: &Expr, b: &Expr) -> Option<(i64, bool)> {
        let known = |side: &Expr| match side {
            Expr::Literal(value) => value.as_i64(),
            _ => None,
        };
        let whole = |side: &Expr| self.type_of(side) == Some(&Type::Int) && self.is_present(side);
        match (known(a), known(b)) {
            (None, Some(bound)) if whole(a) => Some((bound, false)),
            (Some(bound), None) if whole(b) => Some((bound, true)),
            _ => None,
        }
    }

    /// A comparison of which [`Compiler::is_ordered`] holds.
    fn order(&mut self, op: Op, a: &'a Expr, b: &'a Expr) {
        let Some((bound, on_left)) = self.is_ordered(a, b) else { return };
        self.constant(&Value::Bool(true));
        self.constant(&Value::Bool(false));
        self.value(if on_left { b } else { a });
        self.body.op(Instruction::I64Const(bound));
        self.body.runtime("rt_order");
        self.body.constant(0);
        self.body.op(match (op, on_left) {
            (Op::Lt, false) | (Op::Gt, true) => Instruction::I32LtS,
            (Op::Le, false) | (Op::Ge, true) => Instruction::I32LeS,
            (Op::Gt, false) | (Op::Lt, true) => Instruction::I32GtS,
            _ => Instruction::I32GeS,
        });
        self.body.op(Instruction::Select);
    }

    fn kind_is(&mut self, value: &'a Expr, kind: u32) {
        self.value(value);
        self.body.constant(kind);
        self.body.runtime("rt_kind_is");
    }

    fn conditional(&mut self, condition: &'a Expr, yes: &'a Expr, no: &'a Expr) {
        let truth = self.truth(condition);
        self.body.get(truth);
        self.body.constant(2);
        self.body.op(Instruction::I32Eq);
        self.body.choose();
        self.value(yes);
        self.body.otherwise();
        self.body.get(truth);
        self.body.release(truth);
        self.body.choose();
        self.value(no);
        self.body.otherwise();
        self.body.constant(0);
        self.body.end();
        self.body.end();
    }

    /// A local with 2 for true, 1 for false, 0 for anything else.
    fn truth(&mut self, condition: &'a Expr) -> Local {
        self.value(condition);
        let truth = self.body.scratch();
        self.body.runtime("rt_truth");
        self.body.set(truth);
        truth
    }

    /// `and`, which stops at false, or `or`, which stops at true.
    fn connective(&mut self, stop: bool, arguments: &'a [Expr]) {
        let done = self.body.block_of_handle();
        for argument in arguments {
            let truth = self.truth(argument);
            self.body.get(truth);
            self.body.constant(1 + u32::from(!stop));
            self.body.op(Instruction::I32Ne);
            self.body.when();
            self.constant(&Value::Bool(stop));
            self.body.constant(0);
            self.body.get(truth);
            self.body.op(Instruction::Select);
            self.body.branch(done);
            self.body.end();
            self.body.release(truth);
        }
        self.constant(&Value::Bool(!stop));
        self.body.end();
    }
}
