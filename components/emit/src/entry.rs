//! The exports of a module: `run`, `resume` and `assess` of `auto:cbin/behavior`, in the
//! canonical ABI, and the allocator.

use auto_kit::Fault;
use auto_lang::Expr;
use auto_schema::ir::{Body as Kind, Graph, PPM};
use auto_schema::types::{Field, Type};
use wasm_encoder::{Instruction, ValType};

use crate::code::{Body, Callee, Local, Unit};
use crate::constants::{LENGTH, MEMBER, MEMBER_VALUE, POINTER, Place};
use crate::program::{Program, Source, Step, StepInput};
use crate::types::Checks;
use crate::{expression, flow, guard, model};

const RUN: &str = "auto:cbin/behavior@0.1.0#run";
const RESUME: &str = "auto:cbin/behavior@0.1.0#resume";
const ASSESS: &str = "auto:cbin/behavior@0.1.0#assess";

/// Parameters of `run` and `assess`.
const POINTER_IN: Local = Local(0);
const LENGTH_IN: Local = Local(1);

/// All code of a graph that chooses, loops or asks. `id` is of the graph.
pub(crate) fn compile_flow(graph: &Graph, id: &[u8; 32]) -> Result<Unit, Fault> {
    let input = graph.input().and_then(|node| node.outputs.first());
    let input = input.ok_or_else(|| Fault::new("bad-graph", "a graph has one input node, with one output"))?;
    let guard =
        flow::guard_of(graph)?.and_then(|node| if let Kind::Guard(guard) = &node.body { Some(guard) } else { None });
    let mut unit = Unit::default();
    let mut checks = Checks::default();
    let parts = Parts {
        reader: reader(&input.ty),
        check: checks.check(&input.ty, &mut unit),
        guard: guard.map(|guard| guard::compile(guard, guard::Of::Input, &input.ty, &mut checks, &mut unit)),
        limit: guard.map_or(0, |guard| guard.limit),
    };
    let answer = flow::compile(graph, parts.limit, &mut checks, &mut unit)?;
    let asks = !graph.capabilities().is_empty();
    let from_input = from_input(&parts, answer, asks, &mut unit);
    let id = asks.then(|| unit.constants.bytes(id));
    let run = run_flow(id, &parts, from_input, &mut unit);
    let resume = match id {
        Some(id) => resume_flow(id, from_input, &mut unit),
        None => resume(&mut unit),
    };
    let assess = assess(&parts, &mut unit);
    unit.exports = exports(run, resume, assess);
    Ok(unit)
}

fn exports(run: Callee, resume: Callee, assess: Callee) -> Vec<(&'static str, Callee)> {
    vec![("cabi_realloc", Callee::Runtime("rt_realloc")), (RUN, run), (RESUME, resume), (ASSESS, assess)]
}

/// From the handle of an input to the result of `run`.
fn from_input(parts: &Parts, answer: Callee, asks: bool, unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32], ValType::I32);
    let [input, value] = [Local(0), body.local()];
    accept(&mut body, parts, input);
    body.get(input);
    body.call(answer);
    body.tee(value);
    body.op(Instruction::I32Eqz);
    body.when();
    body.runtime("rt_stopped");
    body.give();
    body.end();
    body.get(value);
    body.runtime(if asks { "rt_finish" } else { "rt_answer" });
    unit.add(body)
}

fn run_flow(id: Option<Place>, parts: &Parts, from_input: Callee, unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32; 2], ValType::I32);
    let input = read(&mut body, parts.reader);
    refuse_unread(&mut body, input);
    if let Some(id) = id {
        body.get(input);
        body.address(id);
        body.runtime("rt_start");
    }
    body.get(input);
    body.call(from_input);
    unit.add(body)
}

/// `resume` of a program that asks: from the state to the input, and on as `run`.
fn resume_flow(id: Place, from_input: Callee, unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32; 5], ValType::I32);
    let input = body.local();
    (0..5).for_each(|parameter| body.get(Local(parameter)));
    body.address(id);
    body.runtime("rt_resume");
    body.tee(input);
    body.op(Instruction::I32Eqz);
    body.when();
    body.runtime("rt_stopped");
    body.give();
    body.end();
    body.get(input);
    body.call(from_input);
    unit.add(body)
}

/// All code of a program of expressions.
pub(crate) fn compile(program: &Program<'_>) -> Unit {
    let mut unit = Unit::default();
    let mut checks = Checks::default();
    let parts = Parts {
        reader: reader(program.input),
        check: checks.check(program.input, &mut unit),
        guard: program
            .guard
            .map(|guard| guard::compile(guard, guard::Of::Input, program.input, &mut checks, &mut unit)),
        limit: program.guard.map_or(0, |guard| guard.limit),
    };
    let steps: Vec<Done> = (0..)
        .zip(&program.steps)
        .map(|(at, step)| done(step, program.answer == Source::Step(at), &mut checks, &mut unit))
        .collect();
    let run = run(program, &parts, &steps, &mut unit);
    let assess = assess_steps(program, &parts, &steps, &mut unit);
    let resume = resume(&mut unit);
    unit.exports = exports(run, resume, assess);
    unit
}

/// The code that a step calls.
enum Done {
    /// From the handle of `$` to that of the value, or to the result of `run`.
    Expression(Callee),
    Model(model::Placed),
    /// As [`guard::compile`] has it.
    Guard(Callee),
}

fn done(step: &Step<'_>, answers: bool, checks: &mut Checks, unit: &mut Unit) -> Done {
    match step {
        Step::Expression { expression, input } => Done::Expression(step_function(expression, input, answers, unit)),
        Step::Model { model, .. } => Done::Model(model::Placed::new(model, unit)),
        // What was computed may be anything.
        Step::Guard { guard, .. } => Done::Guard(guard::compile(guard, guard::Of::Input, &Type::Json, checks, unit)),
    }
}

/// What is done with an input before the program sees it.
struct Parts {
    /// What reads it.
    reader: &'static str,
    check: Option<Callee>,
    guard: Option<Callee>,
    limit: u32,
}

/// The function of a step; that of the one that answers gives the result of `run`.
fn step_function(expression: &Expr, input: &StepInput, answers: bool, unit: &mut Unit) -> Callee {
    // Only the input was checked; what a step gives may be anything.
    let checked = |source: &Source, ty: &Type| if *source == Source::Input { ty.clone() } else { Type::Json };
    let ty = match input {
        StepInput::One(source, ty) => checked(source, ty),
        StepInput::Record(fields) => Type::Record(
            fields.iter().map(|(field, source)| Field::new(&field.name, checked(source, &field.ty))).collect(),
        ),
    };
    expression::compile(expression, &ty, answers, unit)
}

fn run(program: &Program<'_>, parts: &Parts, steps: &[Done], unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32; 2], ValType::I32);
    let input = read(&mut body, parts.reader);
    refuse_unread(&mut body, input);
    accept(&mut body, parts, input);
    let values = walk(&mut body, Walked { program, steps, input, limit: parts.limit, end: "rt_abstain" }, unit);
    body.get(source(program.answer, input, &values));
    let answered = matches!(program.answer, Source::Step(at) if matches!(steps.get(at), Some(Done::Expression(_))));
    if !answered {
        body.runtime("rt_answer");
    }
    unit.add(body)
}

/// Steps that are gone through, and the runtime function that a call ends in midway.
struct Walked<'w> {
    program: &'w Program<'w>,
    /// As many as are gone through.
    steps: &'w [Done],
    input: Local,
    /// Of the guard before them.
    limit: u32,
    end: &'static str,
}

/// Does steps in their order: locals with what each gives. Returns where one is undefined, or a
/// guard among them measures too much.
fn walk(body: &mut Body, walked: Walked<'_>, unit: &mut Unit) -> Vec<Local> {
    let Walked { program, steps, input, mut limit, end } = walked;
    let mut values: Vec<Local> = Vec::new();
    for (step, done) in program.steps.iter().zip(steps) {
        if let (Step::Guard { guard, value }, Done::Guard(callee)) = (step, done) {
            let value = source(*value, input, &values);
            values.push(value);
            limit = guard.limit;
            // All that matters to an answer is whether it is above the limit.
            let enough = if end == "rt_abstain" { limit } else { 0 };
            let (reason, score) = measure(body, *callee, value, enough);
            refuse_above(body, reason, score, limit, end);
            continue;
        }
        let value = computed(body, step, done, input, &values, unit);
        body.get(value);
        body.op(Instruction::I32Eqz);
        body.when();
        body.bytes(&mut unit.constants, b"undefined");
        body.constant(PPM);
        body.constant(limit);
        body.runtime(end);
        body.give();
        body.end();
        values.push(value);
    }
    values
}

/// A local with what an expression or a model gives, 0 where it is undefined.
fn computed(body: &mut Body, step: &Step<'_>, done: &Done, input: Local, values: &[Local], unit: &mut Unit) -> Local {
    let value = body.local();
    match (step, done) {
        (Step::Expression { input: from, .. }, Done::Expression(callee)) => {
            step_argument(body, from, input, values, unit);
            body.call(*callee);
        }
        (Step::Model { texts, .. }, Done::Model(model)) => {
            body.get(source(*texts, input, values));
            model.call(body);
        }
        _ => body.constant(0),
    }
    body.set(value);
    value
}

/// Returns an abstention or a novelty where a score is above the limit.
fn refuse_above(body: &mut Body, reason: Local, score: Local, limit: u32, end: &'static str) {
    body.get(score);
    body.constant(limit);
    body.op(Instruction::I32GtU);
    body.when();
    novelty(body, reason, score, limit);
    body.runtime(end);
    body.give();
    body.end();
}

/// Returns `bad-input` where the input was no JSON.
fn refuse_unread(body: &mut Body, input: Local) {
    body.get(input);
    body.op(Instruction::I32Eqz);
    body.when();
    body.runtime("rt_bad_json");
    body.give();
    body.end();
}

/// Returns unless the input is of its type and the guard lets it through.
fn accept(body: &mut Body, parts: &Parts, input: Local) {
    if let Some(check) = parts.check {
        let failure = body.local();
        body.get(input);
        body.call(check);
        body.tee(failure);
        body.when();
        body.get(failure);
        body.runtime("rt_bad_type");
        body.give();
        body.end();
    }
    if let Some(guard) = parts.guard {
        // All that matters here is whether it is above the limit.
        let (reason, score) = measure(body, guard, input, parts.limit);
        refuse_above(body, reason, score, parts.limit, "rt_abstain");
    }
}

fn source(source: Source, input: Local, values: &[Local]) -> Local {
    match source {
        Source::Input => input,
        // Steps are planned before those that use them.
        Source::Step(index) => values.get(index).copied().unwrap_or(input),
    }
}

/// Pushes the handle of a step's `$`.
fn step_argument(body: &mut Body, from: &StepInput, input: Local, values: &[Local], unit: &mut Unit) {
    let fields = match from {
        StepInput::One(from, _) => return body.get(source(*from, input, values)),
        StepInput::Record(fields) => fields,
    };
    let members: Vec<(&str, Local)> =
        fields.iter().map(|(field, from)| (field.name.as_str(), source(*from, input, values))).collect();
    record(body, &members, unit);
}

/// Pushes the handle of a record, whose keys are in canonical order.
pub(crate) fn record(body: &mut Body, fields: &[(&str, Local)], unit: &mut Unit) {
    let members = body.local();
    body.constant(MEMBER * fields.len() as u32);
    body.runtime("rt_allocate");
    body.set(members);
    for (index, (name, value)) in (0..).zip(fields) {
        let place = unit.constants.bytes(name.as_bytes());
        body.key(members, MEMBER * index, place, name.len());
        body.copy_node(*value, members, MEMBER * index + MEMBER_VALUE);
    }
    body.get(members);
    body.constant(fields.len() as u32);
    body.runtime("rt_record");
}

/// The runtime function that reads inputs of a type.
fn reader(ty: &Type) -> &'static str {
    if matches!(ty, Type::Text | Type::Enum(_)) { "rt_read_text" } else { "rt_read" }
}

/// Begins a call: a local with the handle of the input, 0 where it is not JSON.
fn read(body: &mut Body, reader: &'static str) -> Local {
    let input = body.local();
    for runtime in ["rt_begin", reader] {
        body.get(POINTER_IN);
        body.get(LENGTH_IN);
        body.runtime(runtime);
    }
    body.set(input);
    input
}

/// Locals with the reason and the score that the guard gives, exact above `enough`.
pub(crate) fn measure(body: &mut Body, guard: Callee, input: Local, enough: u32) -> (Local, Local) {
    let both = body.local_of(ValType::I64);
    let [reason, score] = [body.local(), body.local()];
    body.get(input);
    body.constant(enough);
    body.call(guard);
    body.op(Instruction::LocalTee(both.0));
    body.op(Instruction::I64Const(32));
    body.op(Instruction::I64ShrU);
    body.op(Instruction::I32WrapI64);
    body.set(reason);
    body.get(both);
    body.op(Instruction::I32WrapI64);
    body.set(score);
    (reason, score)
}

/// Pushes the fields of a novelty.
pub(crate) fn novelty(body: &mut Body, reason: Local, score: Local, limit: u32) {
    body.get(reason);
    body.load(POINTER);
    body.get(reason);
    body.load(LENGTH);
    body.get(score);
    body.constant(limit);
}

/// `assess`. An input that `run` refuses is as novel as can be.
fn assess(parts: &Parts, unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32; 2], ValType::I32);
    let input = read(&mut body, parts.reader);
    refuse_bad(&mut body, parts, input, unit);
    assessed(&mut body, parts.guard.map(|guard| (guard, input, parts.limit)), unit);
    body.runtime("rt_novelty");
    unit.add(body)
}

/// [`assess`] of a program of steps: the first guard with a score above its limit speaks, or
/// else the last.
fn assess_steps(program: &Program<'_>, parts: &Parts, steps: &[Done], unit: &mut Unit) -> Callee {
    let Some(last) = steps.iter().rposition(|done| matches!(done, Done::Guard(_))) else { return assess(parts, unit) };
    let mut body = Body::new(&[ValType::I32; 2], ValType::I32);
    let input = read(&mut body, parts.reader);
    refuse_bad(&mut body, parts, input, unit);
    if let Some(guard) = parts.guard {
        let (reason, score) = measure(&mut body, guard, input, 0);
        refuse_above(&mut body, reason, score, parts.limit, "rt_novelty");
    }
    let before = &steps[..last];
    let limit = parts.limit;
    let values = walk(&mut body, Walked { program, steps: before, input, limit, end: "rt_novelty" }, unit);
    if let (Some(Step::Guard { guard, value }), Some(Done::Guard(callee))) = (program.steps.get(last), steps.get(last))
    {
        assessed(&mut body, Some((*callee, source(*value, input, &values), guard.limit)), unit);
    }
    body.runtime("rt_novelty");
    unit.add(body)
}

/// Returns the highest novelty where the input is not JSON, or not of its type.
fn refuse_bad(body: &mut Body, parts: &Parts, input: Local, unit: &mut Unit) {
    let bad = body.local();
    body.get(input);
    body.op(Instruction::I32Eqz);
    body.set(bad);
    if let Some(check) = parts.check {
        body.get(input);
        body.when();
        body.get(input);
        body.call(check);
        body.set(bad);
        body.end();
    }
    body.get(bad);
    body.when();
    body.bytes(&mut unit.constants, b"bad-input");
    body.constant(PPM);
    body.constant(parts.limit);
    body.runtime("rt_novelty");
    body.give();
    body.end();
}

/// Pushes the fields of the novelty that a guard gives a value, or of none.
fn assessed(body: &mut Body, guard: Option<(Callee, Local, u32)>, unit: &mut Unit) {
    match guard {
        Some((guard, value, limit)) => {
            let (reason, score) = measure(body, guard, value, 0);
            novelty(body, reason, score, limit);
        }
        None => {
            body.bytes(&mut unit.constants, b"none");
            body.constant(0);
            body.constant(0);
        }
    }
}

/// `resume`: a program of expressions never asked for anything.
fn resume(unit: &mut Unit) -> Callee {
    let mut body = Body::new(&[ValType::I32; 5], ValType::I32);
    body.bytes(&mut unit.constants, b"this artifact asks for no effects, so there is nothing to resume");
    body.runtime("rt_unsupported");
    unit.add(body)
}
