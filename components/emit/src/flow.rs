//! Graphs that choose, loop or ask: one function a node, which is run when its value is
//! wanted, so that a branch runs only the side it takes and effects are asked for in the
//! order in which values are.
//!
//! The function of a graph takes the handle of its input and gives that of its answer; it
//! makes a frame, and the functions of its nodes take the address of that and give a handle.
//! 0 says everywhere that the call has ended, its result written: whoever gets it returns it.
//!
//! ```text
//! frame   0: handle of the graph's input   4…: handles of values that are wanted twice, 0 before
//! ```

use std::collections::BTreeMap;

use auto_json::write::compare_keys;
use auto_kit::Fault;
use auto_schema::ir::{Body as Kind, Graph, Guard, Node, PPM};
use auto_schema::types::{Field, Type};
use wasm_encoder::{Instruction, ValType};

use crate::code::{Body, Callee, Local, Unit};
use crate::constants::{KIND, LENGTH, LIST, NODE, POINTER};
use crate::entry::{measure, novelty, record};
use crate::expression;
use crate::guard::{self, Of};
use crate::program::{parsed, place, unconnected, unsupported};
use crate::types::Checks;

/// The longest way through a graph and the graphs inside it, in nodes: every node on it is
/// a call inside the one before.
const MAX_LENGTH: usize = 256;

/// Whether a graph needs code of this kind.
pub(crate) fn is_flow(graph: &Graph) -> bool {
    let flows = |node: &Node| {
        matches!(node.body, Kind::Effect { .. } | Kind::Branch { .. } | Kind::Each { .. } | Kind::Retry { .. })
    };
    graph.nodes.iter().any(flows)
}

/// The guard of a graph's input, through which everything goes that takes it.
pub(crate) fn guard_of(graph: &Graph) -> Result<Option<&Node>, Fault> {
    let of_input = |node: &&Node| {
        matches!(node.body, Kind::Guard(_)) && driver(graph, node).is_some_and(|from| from.body == Kind::Input)
    };
    let mut guards = graph.nodes.iter().filter(of_input);
    match (guards.next(), guards.next()) {
        (None, _) => Ok(None),
        (Some(guard), None) if graph.is_guarded() => Ok(Some(guard)),
        (Some(guard), second) => {
            Err(unsupported(second.unwrap_or(guard), "one guard, through which all goes that takes the input"))
        }
    }
}

/// The node that drives the one input port of another.
fn driver<'g>(graph: &'g Graph, node: &Node) -> Option<&'g Node> {
    let edge = graph.edges.iter().find(|edge| edge.to.node == node.id)?;
    graph.node(edge.from.node)
}

/// Whether a node gives what an effect was replied, as it came.
fn is_reply(graph: &Graph, node: &Node) -> bool {
    match &node.body {
        Kind::Effect { .. } => true,
        Kind::Guard(_) => driver(graph, node).is_some_and(|from| is_reply(graph, from)),
        _ => false,
    }
}

/// Adds the function of a graph whose input was checked to be of its type, and guarded.
pub(crate) fn compile(graph: &Graph, limit: u32, checks: &mut Checks, unit: &mut Unit) -> Result<Callee, Fault> {
    Ok(Flow { unit, checks, limit }.graph(graph, guard_of(graph)?, true, MAX_LENGTH)?.callee)
}

struct Flow<'a> {
    unit: &'a mut Unit,
    checks: &'a mut Checks,
    /// The guard's, for abstentions.
    limit: u32,
}

/// A function and the longest way through what it calls, in nodes.
#[derive(Clone, Copy)]
struct Compiled {
    callee: Callee,
    length: usize,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source {
    Input,
    Node(Compiled),
}

/// A graph whose nodes are being compiled.
struct Inside<'g> {
    graph: &'g Graph,
    guard: Option<&'g Node>,
    /// Whether its input is of its type for certain.
    checked: bool,
    /// Of every node that was looked at.
    sources: BTreeMap<u32, Source>,
    /// Words of the frame.
    frame: u32,
}

/// The parameter of a node's function, and that of a graph's.
const FRAME: Local = Local(0);
const INPUT: Local = Local(0);

impl Flow<'_> {
    fn graph<'g>(
        &mut self,
        graph: &'g Graph,
        guard: Option<&'g Node>,
        checked: bool,
        left: usize,
    ) -> Result<Compiled, Fault> {
        let mut inside = Inside { graph, guard, checked, sources: BTreeMap::new(), frame: 1 };
        let output = graph.output().ok_or_else(|| Fault::new("bad-graph", "a graph has one output node"))?;
        let answer = self.source(&mut inside, output, 0, left)?;
        let mut body = Body::new(&[ValType::I32], ValType::I32);
        let frame = body.local();
        body.constant(inside.frame);
        body.runtime("rt_frame");
        body.tee(frame);
        body.get(INPUT);
        body.store(0);
        match answer {
            Source::Input => body.get(INPUT),
            Source::Node(node) => {
                body.get(frame);
                body.call(node.callee);
            }
        }
        let length = match answer {
            Source::Input => 0,
            Source::Node(node) => node.length,
        };
        Ok(Compiled { callee: self.unit.add(body), length })
    }

    /// What drives an input port, compiled. Recursion is bounded by `left`.
    fn source<'g>(&mut self, inside: &mut Inside<'g>, node: &'g Node, port: u32, left: usize) -> Result<Source, Fault> {
        let edge = inside.graph.edges.iter().find(|edge| edge.to.node == node.id && edge.to.port == port);
        let from = edge.and_then(|edge| inside.graph.node(edge.from.node)).ok_or_else(|| unconnected(node))?;
        if let Some(known) = inside.sources.get(&from.id) {
            return Ok(*known);
        }
        let source = match &from.body {
            Kind::Input => Source::Input,
            Kind::Guard(_) if inside.guard.is_some_and(|guard| guard.id == from.id) => Source::Input,
            _ => Source::Node(self.node(inside, from, left)?),
        };
        inside.sources.insert(from.id, source);
        Ok(source)
    }

    fn node<'g>(&mut self, inside: &mut Inside<'g>, node: &'g Node, left: usize) -> Result<Compiled, Fault> {
        let too_long = || {
            let message = format!("a way of more than {MAX_LENGTH} nodes through the graph; so many are allowed");
            Fault::new("too-large", message).at(place(node))
        };
        let left = left.checked_sub(1).ok_or_else(too_long)?;
        let ports = (0..node.inputs.len() as u32).map(|port| self.source(inside, node, port, left));
        let ports = ports.collect::<Result<Vec<Source>, Fault>>()?;
        let before = ports.iter().map(|port| if let Source::Node(node) = port { node.length } else { 0 });
        let before = before.max().unwrap_or(0);
        let inner = node.body.graph().map(|graph| self.nested(graph, left)).transpose()?;
        let length = 1 + before.max(inner.map_or(0, |inner| inner.length));
        if length > MAX_LENGTH {
            return Err(too_long());
        }
        let wanted = inside.graph.edges.iter().filter(|edge| edge.from.node == node.id).count();
        let slot = (wanted > 1).then_some(inside.frame);
        inside.frame += u32::from(slot.is_some());

        let body = Body::new(&[ValType::I32], ValType::I32);
        let replied = is_reply(inside.graph, node);
        let mut writer = Writer { flow: self, node, checked: inside.checked, replied, body };
        let value = writer.body.local();
        writer.known(slot, value);
        writer.write(&ports, inner, value)?;
        let Writer { mut body, .. } = writer;
        if let Some(slot) = slot {
            body.get(FRAME);
            body.get(value);
            body.store(4 * slot);
        }
        body.get(value);
        Ok(Compiled { callee: self.unit.add(body), length })
    }

    /// The graph of a loop.
    fn nested(&mut self, graph: &Graph, left: usize) -> Result<Compiled, Fault> {
        if let Some(guard) = guard_of(graph)? {
            return Err(unsupported(guard, "guards on the input of the whole and on replies"));
        }
        self.graph(graph, None, false, left)
    }
}

/// Writes the function of a node.
struct Writer<'w, 'a, 'g> {
    flow: &'w mut Flow<'a>,
    node: &'g Node,
    /// Whether the graph's input is of its type for certain.
    checked: bool,
    /// Whether what the node gives is a reply.
    replied: bool,
    body: Body,
}

impl Writer<'_, '_, '_> {
    /// Returns the value that the frame has already.
    fn known(&mut self, slot: Option<u32>, value: Local) {
        let Some(slot) = slot else { return };
        self.body.get(FRAME);
        self.body.load(4 * slot);
        self.body.tee(value);
        self.body.when();
        self.body.get(value);
        self.body.give();
        self.body.end();
    }

    /// Sets `value` to the node's, or returns 0.
    fn write(&mut self, ports: &[Source], inner: Option<Compiled>, value: Local) -> Result<(), Fault> {
        match (&self.node.body, ports, inner) {
            (Kind::Expression { source }, ports, _) => {
                let expression = parsed(self.node, source)?;
                let callee = expression::compile(&expression, &self.dollar(ports), false, self.flow.unit);
                let values = self.wanted(ports);
                self.argument(&values);
                self.body.call(callee);
                self.body.tee(value);
                self.stop_unless("undefined");
            }
            (Kind::Effect { capability, catches }, [port], _) => self.effect(*port, capability, *catches, value),
            (Kind::Guard(guard), [port], _) => self.guard(guard, *port, value),
            (Kind::Branch { predicate }, [tested, yes, no], _) => {
                let truth = self.predicate(predicate, &self.type_of(*tested, 0), *tested)?;
                self.body.get(truth);
                self.body.constant(2);
                self.body.op(Instruction::I32Eq);
                self.body.when();
                self.want(*yes, value);
                self.body.otherwise();
                self.want(*no, value);
                self.body.end();
            }
            (Kind::Each { most, .. }, ports, Some(inner)) => self.each(ports, inner, *most, value),
            (Kind::Retry { until, most, .. }, ports, Some(inner)) => self.retry(ports, inner, until, *most, value)?,
            _ => return Err(unsupported(self.node, KNOWN)),
        }
        Ok(())
    }

    /// The type of an input port's value, where that is certain.
    fn type_of(&self, source: Source, port: usize) -> Type {
        match (source, self.node.inputs.get(port)) {
            (Source::Input, Some(port)) if self.checked => port.ty.clone(),
            _ => Type::Json,
        }
    }

    /// The type of `$`.
    fn dollar(&self, ports: &[Source]) -> Type {
        if let [source] = ports {
            return self.type_of(*source, 0);
        }
        let fields = self.order().into_iter().filter_map(|index| {
            Some(Field::new(&self.node.inputs.get(index)?.name, self.type_of(*ports.get(index)?, index)))
        });
        Type::Record(fields.collect())
    }

    /// The input ports in the order of their names in a record.
    fn order(&self) -> Vec<usize> {
        let name = |index: usize| self.node.inputs.get(index).map_or("", |port| port.name.as_str()).as_bytes();
        let mut order: Vec<usize> = (0..self.node.inputs.len()).collect();
        order.sort_by(|&a, &b| compare_keys(name(a), name(b)));
        order
    }

    /// Sets `value` to what a source gives, or returns 0.
    fn want(&mut self, source: Source, value: Local) {
        self.body.get(FRAME);
        match source {
            Source::Input => {
                self.body.load(0);
                self.body.set(value);
            }
            Source::Node(node) => {
                self.body.call(node.callee);
                self.body.tee(value);
                self.return_zero_unless();
            }
        }
    }

    /// Locals with the values of all input ports, in their order.
    fn wanted(&mut self, ports: &[Source]) -> Vec<Local> {
        ports
            .iter()
            .map(|source| {
                let value = self.body.local();
                self.want(*source, value);
                value
            })
            .collect()
    }

    /// Pushes the handle of the one value, or of the record of all.
    fn argument(&mut self, values: &[Local]) {
        if let [value] = values {
            return self.body.get(*value);
        }
        let members: Vec<(&str, Local)> = self
            .order()
            .into_iter()
            .filter_map(|index| Some((self.node.inputs.get(index)?.name.as_str(), *values.get(index)?)))
            .collect();
        record(&mut self.body, &members, self.flow.unit);
    }

    /// Returns 0 if what is on the stack is.
    fn return_zero_unless(&mut self) {
        self.body.op(Instruction::I32Eqz);
        self.body.when();
        self.body.constant(0);
        self.body.give();
        self.body.end();
    }

    /// Ends the call with an abstention.
    fn stop(&mut self, reason: &str) {
        self.body.bytes(&mut self.flow.unit.constants, reason.as_bytes());
        self.body.constant(PPM);
        self.body.constant(self.flow.limit);
        self.body.runtime("rt_abstain");
        self.body.op(Instruction::Drop);
        self.body.constant(0);
        self.body.give();
    }

    /// Ends the call if what is on the stack is not 0.
    fn stop_if(&mut self, reason: &str) {
        self.body.when();
        self.stop(reason);
        self.body.end();
    }

    fn stop_unless(&mut self, reason: &str) {
        self.body.op(Instruction::I32Eqz);
        self.stop_if(reason);
    }

    /// A local with 2 where a predicate holds of a source's value and 1 where it does not.
    fn predicate(&mut self, source: &str, ty: &Type, of: Source) -> Result<Local, Fault> {
        let value = self.body.local();
        let test = self.test(source, ty)?;
        self.want(of, value);
        Ok(self.truth(test, value))
    }

    /// The function of a predicate.
    fn test(&mut self, source: &str, ty: &Type) -> Result<Callee, Fault> {
        let expression = parsed(self.node, source)?;
        Ok(expression::compile(&expression, ty, false, self.flow.unit))
    }

    fn truth(&mut self, test: Callee, of: Local) -> Local {
        let truth = self.body.local();
        self.body.get(of);
        self.body.call(test);
        self.body.runtime("rt_truth");
        self.body.tee(truth);
        self.stop_unless("undefined");
        truth
    }

    fn effect(&mut self, port: Source, capability: &str, catches: bool, value: Local) {
        self.want(port, value);
        self.body.get(value);
        self.body.bytes(&mut self.flow.unit.constants, capability.as_bytes());
        self.body.constant(u32::from(catches));
        self.body.constant(self.flow.limit);
        self.body.runtime("rt_effect");
        self.body.tee(value);
        self.return_zero_unless();
        // What comes from outside is what the graph says, or the call ends.
        let reply = self.node.outputs.first().and_then(|port| self.flow.checks.check(&port.ty, self.flow.unit));
        if let Some(check) = reply {
            self.body.get(value);
            self.body.call(check);
            self.stop_if("effect-type");
        }
    }

    /// Ends the call where a value is unlike those that were recorded.
    fn guard(&mut self, guard: &Guard, port: Source, value: Local) {
        // A reply was found to be of its type when it came.
        let ty = self.node.inputs.first().filter(|_| self.replied).map_or(Type::Json, |port| port.ty.clone());
        let of = if self.replied { Of::Reply } else { Of::Input };
        let callee = guard::compile(guard, of, &ty, self.flow.checks, self.flow.unit);
        self.want(port, value);
        let (reason, score) = measure(&mut self.body, callee, value, guard.limit);
        self.body.get(score);
        self.body.constant(guard.limit);
        self.body.op(Instruction::I32GtU);
        self.body.when();
        novelty(&mut self.body, reason, score, guard.limit);
        self.body.runtime("rt_abstain");
        self.body.op(Instruction::Drop);
        self.body.constant(0);
        self.body.give();
        self.body.end();
    }

    fn each(&mut self, ports: &[Source], inner: Compiled, most: u32, value: Local) {
        let values = self.wanted(ports);
        let Some(&list) = values.first() else { return };
        self.body.get(list);
        self.body.load(KIND);
        self.body.constant(LIST);
        self.body.op(Instruction::I32Ne);
        self.stop_if("undefined");
        self.body.get(list);
        self.body.load(LENGTH);
        self.body.constant(most);
        self.body.op(Instruction::I32GtU);
        self.stop_if("loop-bound");

        let [item, end, array, at] = [(); 4].map(|()| self.body.local());
        self.body.get(list);
        self.body.load(POINTER);
        self.body.tee(item);
        self.body.get(list);
        self.body.load(LENGTH);
        self.body.constant(NODE);
        self.body.op(Instruction::I32Mul);
        self.body.tee(end);
        self.body.runtime("rt_allocate");
        self.body.tee(array);
        self.body.set(at);
        self.body.get(end);
        self.body.op(Instruction::I32Add);
        self.body.set(end);

        let done = self.body.block();
        let next = self.body.repeat();
        self.body.get(item);
        self.body.get(end);
        self.body.op(Instruction::I32Eq);
        self.body.branch_if(done);
        let with_item: Vec<Local> = std::iter::once(item).chain(values.iter().skip(1).copied()).collect();
        self.argument(&with_item);
        self.body.call(inner.callee);
        self.body.tee(value);
        self.return_zero_unless();
        self.body.copy_node(value, at, 0);
        self.body.advance(at, NODE);
        self.body.advance(item, NODE);
        self.body.branch(next);
        self.body.end();
        self.body.end();

        self.body.get(array);
        self.body.get(list);
        self.body.load(LENGTH);
        self.body.runtime("rt_list");
        self.body.set(value);
    }

    fn retry(&mut self, ports: &[Source], inner: Compiled, until: &str, most: u32, value: Local) -> Result<(), Fault> {
        let test = self.test(until, &Type::Json)?;
        let values = self.wanted(ports);
        let [argument, rounds] = [(); 2].map(|()| self.body.local());
        self.argument(&values);
        self.body.set(argument);

        let done = self.body.block();
        let again = self.body.repeat();
        self.body.get(argument);
        self.body.call(inner.callee);
        self.body.tee(value);
        self.return_zero_unless();
        let truth = self.truth(test, value);
        self.body.get(truth);
        self.body.constant(2);
        self.body.op(Instruction::I32Eq);
        self.body.branch_if(done);
        self.body.advance(rounds, 1);
        self.body.get(rounds);
        self.body.constant(most);
        self.body.op(Instruction::I32Eq);
        self.stop_if("loop-bound");
        self.body.branch(again);
        self.body.end();
        self.body.end();
        Ok(())
    }
}

/// What there is code for.
pub(crate) const KNOWN: &str = "input, guard, expression, effect, branch, each, retry and output nodes";
