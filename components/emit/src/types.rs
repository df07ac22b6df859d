//! Types to code: functions from the handle of a value to 0 where it is of the type, and
//! to the runtime's account of where it is not otherwise.
//!
//! They agree with `Type::accepts` of `auto-schema` on values and on words.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::types::{Field, Type};
use wasm_encoder::{Instruction, ValType};

use crate::code::{Body, Callee, Label, Local, Unit};
use crate::constants::{BOOL, KIND, LENGTH, LIST, MEMBER, MEMBER_VALUE, NODE, NULL, NUMBER, POINTER, RECORD, TEXT};

/// The checks of a module, one function a type.
#[derive(Default)]
pub(crate) struct Checks {
    known: BTreeMap<Type, Callee>,
}

const VALUE: Local = Local(0);

impl Checks {
    /// The check of a type; `None` for one that accepts everything.
    pub(crate) fn check(&mut self, ty: &Type, unit: &mut Unit) -> Option<Callee> {
        if *ty == Type::Json {
            return None;
        }
        if let Some(known) = self.known.get(ty) {
            return Some(*known);
        }
        let mut body = Body::new(&[ValType::I32], ValType::I32);
        match ty {
            Type::Json => return None,
            Type::Unit => of_kind(&mut body, NULL, ty, unit),
            Type::Bool => of_kind(&mut body, BOOL, ty, unit),
            Type::Number => of_kind(&mut body, NUMBER, ty, unit),
            Type::Text | Type::Bytes => of_kind(&mut body, TEXT, ty, unit),
            Type::Int => {
                body.get(VALUE);
                body.runtime("rt_is_integer");
                unless_fail(&mut body, ty, "rt_fail", unit);
            }
            Type::Enum(labels) => {
                let labels: Vec<Value> = labels.iter().map(|label| label.as_str().into()).collect();
                let labels = unit.constants.value(&Value::List(labels));
                body.get(VALUE);
                body.address(labels);
                body.runtime("rt_is_label");
                unless_fail(&mut body, ty, "rt_fail_label", unit);
            }
            Type::Optional(item) => {
                let check = self.check(item, unit)?;
                body.get(VALUE);
                body.load(KIND);
                body.constant(NULL);
                body.op(Instruction::I32Ne);
                body.when();
                body.get(VALUE);
                body.call(check);
                body.give();
                body.end();
            }
            Type::List(item) => self.list(&mut body, ty, item, unit),
            Type::Map(item) => self.map(&mut body, ty, item, unit),
            Type::Record(fields) => self.record(&mut body, ty, fields, unit),
        }
        body.constant(0);
        let callee = unit.add(body);
        self.known.insert(ty.clone(), callee);
        Some(callee)
    }

    fn list(&mut self, body: &mut Body, ty: &Type, item: &Type, unit: &mut Unit) {
        of_kind(body, LIST, ty, unit);
        let Some(check) = self.check(item, unit) else { return };
        let [first, place] = [body.local(), body.local()];
        body.get(VALUE);
        body.load(POINTER);
        body.set(first);
        contents(body, NODE, place, |body| {
            let failure = tested(body, place, 0, check);
            body.get(failure);
            body.when();
            body.get(failure);
            body.get(place);
            body.get(first);
            body.op(Instruction::I32Sub);
            body.constant(NODE);
            body.op(Instruction::I32DivU);
            body.runtime("rt_under_index");
            body.give();
            body.end();
        });
    }

    fn map(&mut self, body: &mut Body, ty: &Type, item: &Type, unit: &mut Unit) {
        of_kind(body, RECORD, ty, unit);
        let Some(check) = self.check(item, unit) else { return };
        let place = body.local();
        contents(body, MEMBER, place, |body| {
            let failure = tested(body, place, MEMBER_VALUE, check);
            body.get(failure);
            body.when();
            body.get(failure);
            body.get(place);
            body.load(0);
            body.get(place);
            body.load(4);
            body.runtime("rt_under_key");
            body.give();
            body.end();
        });
    }

    fn record(&mut self, body: &mut Body, ty: &Type, fields: &[Field], unit: &mut Unit) {
        of_kind(body, RECORD, ty, unit);
        let [known, value, failure] = [(); 3].map(|()| body.local());
        for field in fields {
            let check = self.check(&field.ty, unit);
            body.get(VALUE);
            body.bytes(&mut unit.constants, field.name.as_bytes());
            body.get(known);
            body.runtime("rt_field");
            body.tee(value);
            body.when();
            if let Some(check) = check {
                body.get(value);
                body.call(check);
                body.tee(failure);
                body.when();
                under_field(body, failure, field, unit);
                body.end();
            }
            body.advance(known, 1);
            if !field.optional {
                body.otherwise();
                body.constant(0);
                fail(body, &field.ty, "rt_fail", unit);
                body.set(failure);
                under_field(body, failure, field, unit);
            }
            body.end();
        }
        body.get(known);
        body.get(VALUE);
        body.load(LENGTH);
        body.op(Instruction::I32Ne);
        body.when();
        let names = fields.iter().map(|field| field.name.as_str().into()).collect();
        let names = unit.constants.value(&Value::List(names));
        body.get(VALUE);
        body.address(names);
        body.runtime("rt_fail_unknown");
        body.give();
        body.end();
    }
}

/// Returns a failure that is inside a field.
fn under_field(body: &mut Body, failure: Local, field: &Field, unit: &mut Unit) {
    body.get(failure);
    body.bytes(&mut unit.constants, field.name.as_bytes());
    body.runtime("rt_under_key");
    body.give();
}

/// Returns unless the value is of a kind.
fn of_kind(body: &mut Body, kind: u32, ty: &Type, unit: &mut Unit) {
    body.get(VALUE);
    body.load(KIND);
    body.constant(kind);
    body.op(Instruction::I32Eq);
    unless_fail(body, ty, "rt_fail", unit);
}

/// Returns a failure if what is on the stack is zero.
fn unless_fail(body: &mut Body, ty: &Type, runtime: &'static str, unit: &mut Unit) {
    body.op(Instruction::I32Eqz);
    body.when();
    body.get(VALUE);
    fail(body, ty, runtime, unit);
    body.give();
    body.end();
}

/// Pushes the failure of the value whose handle is on the stack to be of a type.
fn fail(body: &mut Body, ty: &Type, runtime: &'static str, unit: &mut Unit) {
    body.bytes(&mut unit.constants, brief(ty).as_bytes());
    body.runtime(runtime);
}

/// Runs `step` with `place` at every item or member of the value.
fn contents(body: &mut Body, size: u32, place: Local, step: impl FnOnce(&mut Body)) {
    let end = body.local();
    body.get(VALUE);
    body.load(POINTER);
    body.tee(place);
    body.get(VALUE);
    body.load(LENGTH);
    body.constant(size);
    body.op(Instruction::I32Mul);
    body.op(Instruction::I32Add);
    body.set(end);
    let done: Label = body.block();
    let next = body.repeat();
    body.get(place);
    body.get(end);
    body.op(Instruction::I32Eq);
    body.branch_if(done);
    step(body);
    body.advance(place, size);
    body.branch(next);
    body.end();
    body.end();
}

/// A local with what a check says of the node `offset` bytes behind `place`.
fn tested(body: &mut Body, place: Local, offset: u32, check: Callee) -> Local {
    let failure = body.local();
    body.get(place);
    body.constant(offset);
    body.op(Instruction::I32Add);
    body.call(check);
    body.set(failure);
    failure
}

/// A type's text, cut where it is long, as `Type::accepts` has it.
fn brief(ty: &Type) -> String {
    let mut text = ty.to_string();
    let fits = text.floor_char_boundary(200);
    if fits < text.len() {
        text.truncate(fits);
        text.push('…');
    }
    text
}
