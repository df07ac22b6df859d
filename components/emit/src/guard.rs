//! Guards to code: a function from the handle of the input to the highest score and the
//! reason of the check that gave it, the first of equals. A second argument says which
//! score is enough: where none is above it, the score need not be exact.
//!
//! ```text
//! i64   high half: address of the reason, a text node; low half: score, parts per million
//! ```

use auto_json::Value;
use auto_schema::ir::{Check, Guard, PPM, Step, parse_path};
use auto_schema::types::Type;
use wasm_encoder::{Instruction, ValType};

use crate::access::within;
use crate::code::{Body, Callee, Local, Unit};
use crate::constants::{KIND, LENGTH, LIST, NODE, POINTER};
use crate::types::Checks;

const INPUT: Local = Local(0);
const ENOUGH: Local = Local(1);

/// What a guard is of: it begins the reason of an abstention.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The input, or what was computed from it.
    Input,
    /// What came back from an effect.
    Reply,
}

impl Of {
    /// The reason where a check of this kind refuses.
    fn reason(self, kind: &str) -> String {
        match self {
            Of::Input => kind.to_owned(),
            Of::Reply => format!("effect-{kind}"),
        }
    }
}

/// Adds the function of a guard over values of type `input`, which were checked before.
pub(crate) fn compile(guard: &Guard, of: Of, input: &Type, checks: &mut Checks, unit: &mut Unit) -> Callee {
    let mut writer =
        Writer { body: Body::new(&[ValType::I32; 2], ValType::I64), unit, of, best: Local(0), reason: Local(0) };
    writer.best = writer.body.local();
    writer.reason = writer.body.local();
    // Where every check scores 0, the first speaks.
    let first = guard.checks.first().map_or(String::new(), |check| of.reason(check.kind()));
    let first = writer.unit.constants.value(&first.into());
    writer.body.address(first);
    writer.body.set(writer.reason);
    for check in &guard.checks {
        writer.check(check, input, checks);
    }
    let Writer { mut body, unit, best, reason, .. } = writer;
    body.get(reason);
    body.op(Instruction::I64ExtendI32U);
    body.op(Instruction::I64Const(32));
    body.op(Instruction::I64Shl);
    body.get(best);
    body.op(Instruction::I64ExtendI32U);
    body.op(Instruction::I64Or);
    unit.add(body)
}

struct Writer<'a> {
    body: Body,
    unit: &'a mut Unit,
    of: Of,
    /// The highest score so far, and the check that gave it.
    best: Local,
    reason: Local,
}

impl Writer<'_> {
    fn check(&mut self, check: &Check, input: &Type, checks: &mut Checks) {
        let reason = self.unit.constants.value(&Value::from(self.of.reason(check.kind())));
        let score = self.body.local();
        match check {
            // What the contract's type accepts was found out already.
            Check::Shape { ty } if ty == input => return,
            Check::Shape { ty } => {
                let Some(callee) = checks.check(ty, self.unit) else { return };
                self.body.constant(PPM);
                self.body.constant(0);
                self.body.get(INPUT);
                self.body.call(callee);
                self.body.op(Instruction::Select);
                self.body.set(score);
            }
            Check::Length { path, min, max } => self.at(path, input, score, |this, value, _| {
                this.body.get(value);
                this.body.op(Instruction::I64Const(*min as i64));
                this.body.op(Instruction::I64Const(*max as i64));
                this.body.runtime("rt_length");
            }),
            Check::Characters { path, classes } => self.at(path, input, score, |this, value, _| {
                this.body.get(value);
                this.body.constant(*classes);
                // Telling letters from others beyond ASCII takes a table; most masks need none.
                let beyond = (classes >> 6) & 3;
                this.body.runtime(if beyond == 0 || beyond == 3 { "rt_characters_ascii" } else { "rt_characters" });
            }),
            Check::Range { path, min, max } => self.range(path, min, max, input, score),
            Check::Sketch { path, bits, table } => {
                let table = self.unit.constants.bytes(table);
                self.at(path, input, score, |this, value, _| {
                    this.body.get(value);
                    this.body.constant(*bits);
                    this.body.address(table);
                    this.body.get(ENOUGH);
                    this.body.runtime("rt_sketch");
                });
            }
            Check::Score { path, scale } => self.at(path, input, score, |this, value, _| {
                this.body.get(value);
                this.body.op(Instruction::I64Const(*scale as i64));
                this.body.runtime("rt_score");
            }),
        }
        self.body.get(score);
        self.body.get(self.best);
        self.body.op(Instruction::I32GtU);
        self.body.when();
        self.body.get(score);
        self.body.set(self.best);
        self.body.address(reason);
        self.body.set(self.reason);
        self.body.end();
    }

    fn range(&mut self, path: &str, min: &str, max: &str, input: &Type, score: Local) {
        // Canonical texts of numbers, as a valid graph has them.
        let read = |text: &str| Value::parse(text).unwrap_or(Value::Null);
        let (min, max) = (read(min), read(max));
        self.at(path, input, score, |this, value, ty| match (ty, min.as_i64(), max.as_i64()) {
            (Some(Type::Int), Some(min), Some(max)) => this.between(value, min, max),
            _ => {
                this.body.get(value);
                for bound in [&min, &max] {
                    let place = this.unit.constants.value(bound);
                    this.body.address(place);
                }
                this.body.runtime("rt_range");
            }
        });
    }

    /// Pushes the score of an integer that is to be in a range.
    fn between(&mut self, value: Local, min: i64, max: i64) {
        self.body.constant(PPM);
        self.body.constant(0);
        for (bound, outside) in [(min, Instruction::I32LtS), (max, Instruction::I32GtS)] {
            self.body.get(value);
            self.body.op(Instruction::I64Const(bound));
            self.body.runtime("rt_order");
            self.body.constant(0);
            self.body.op(outside);
        }
        self.body.op(Instruction::I32Or);
        self.body.op(Instruction::Select);
    }

    /// Sets `score` to the highest of what `measure` pushes for the values that a path
    /// meets.
    fn at(&mut self, path: &str, input: &Type, score: Local, measure: impl Fn(&mut Self, Local, Option<&Type>)) {
        let steps = parse_path(path).unwrap_or_default();
        self.walk(&steps, Some(input), INPUT, score, &measure);
    }

    fn walk(
        &mut self,
        steps: &[Step],
        ty: Option<&Type>,
        value: Local,
        score: Local,
        measure: &impl Fn(&mut Self, Local, Option<&Type>),
    ) {
        match steps {
            [] => {
                let measured = self.body.local();
                measure(self, value, ty);
                self.body.tee(measured);
                self.body.get(score);
                self.body.get(measured);
                self.body.get(score);
                self.body.op(Instruction::I32GtU);
                self.body.op(Instruction::Select);
                self.body.set(score);
            }
            [Step::Field(name), rest @ ..] => {
                let member = self.body.local();
                self.body.get(value);
                self.body.field(&mut self.unit.constants, ty, name);
                self.body.tee(member);
                self.body.when();
                self.walk(rest, ty.and_then(|ty| within(ty, Some(name))), member, score, measure);
                self.body.end();
            }
            [Step::Each, rest @ ..] => {
                self.each(rest, ty.and_then(|ty| within(ty, None)), value, score, measure);
            }
        }
    }

    fn each(
        &mut self,
        rest: &[Step],
        ty: Option<&Type>,
        list: Local,
        score: Local,
        measure: &impl Fn(&mut Self, Local, Option<&Type>),
    ) {
        let [item, end] = [self.body.local(), self.body.local()];
        let done = self.body.block();
        self.body.get(list);
        self.body.load(KIND);
        self.body.constant(LIST);
        self.body.op(Instruction::I32Ne);
        self.body.branch_if(done);
        self.body.get(list);
        self.body.load(POINTER);
        self.body.tee(item);
        self.body.get(list);
        self.body.load(LENGTH);
        self.body.constant(NODE);
        self.body.op(Instruction::I32Mul);
        self.body.op(Instruction::I32Add);
        self.body.set(end);
        let next = self.body.repeat();
        self.body.get(item);
        self.body.get(end);
        self.body.op(Instruction::I32Eq);
        self.body.branch_if(done);
        self.walk(rest, ty, item, score, measure);
        self.body.advance(item, NODE);
        self.body.branch(next);
        self.body.end();
        self.body.end();
    }
}
