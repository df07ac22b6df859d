//! Programs in words: what a program does, one step a line; and with an input, the path
//! that it takes.

use std::fmt::Write;

use auto_json::Value;
use auto_lang::{Expr, Op, eval};
use auto_schema::ir::{Body, Check, Node};

use crate::program::{Event, Measure, Outcome, Program};
use crate::words;

/// What a program does.
pub fn program(program: &Program) -> String {
    let mut lines = Lines::default();
    program.nodes().for_each(|node| describe_node(&mut lines, program, node));
    lines.text
}

fn describe_node(lines: &mut Lines, program: &Program, node: &Node) {
    let name = &node.name;
    match (&node.body, program.expression(node.id)) {
        (Body::Input, _) => {
            let ty = node.outputs.first().map(|port| port.ty.to_string()).unwrap_or_default();
            lines.heading(&format!("input: {ty}"));
        }
        (Body::Guard(guard), _) => {
            let limit = words::share(guard.limit);
            lines.heading(&format!("{name}: abstains where any of these is above {limit}"));
            let what = if program.takes_input(node) { "the input" } else { "it" };
            guard.checks.iter().for_each(|check| lines.step(&describe(check, what)));
        }
        (Body::Branch { .. }, Some(predicate)) => {
            lines.heading(&format!("{name}: chooses by whether {}", words::condition(predicate)));
        }
        (Body::Effect { capability, catches }, _) => {
            let error = if *catches { "hands an error on" } else { "abstains on an error" };
            lines.heading(&format!("{name}: asks for {capability}; {error}"));
        }
        (Body::Each { most, .. }, _) => {
            lines.heading(&format!("{name}: for each item of a list of at most {most}"));
            describe_inside(lines, program, node);
        }
        (Body::Retry { most, .. }, Some(until)) => {
            lines.heading(&format!("{name}: at most {most} times, until {}", words::condition(until)));
            describe_inside(lines, program, node);
        }
        (Body::Output, _) => {
            let ty = node.inputs.first().map(|port| port.ty.to_string()).unwrap_or_default();
            lines.heading(&format!("output: {ty}"));
        }
        (_, Some(expression)) => {
            lines.heading(&format!("{name}:"));
            steps(lines, expression, "the answer");
        }
        _ => {}
    }
}

/// The program of a loop, indented.
fn describe_inside(lines: &mut Lines, program: &Program, node: &Node) {
    if let Some(inside) = program.inside(node.id) {
        lines.depth += 1;
        inside.nodes().for_each(|node| describe_node(lines, inside, node));
        lines.depth -= 1;
    }
}

/// What a program does with an input.
pub fn run(program: &Program, input: &Value) -> String {
    let mut lines = Lines::default();
    lines.heading(&format!("input: {}", words::value(input)));
    let outcome = program.run(input, &mut |event| match event {
        Event::Guard { node, measures, passed } => {
            lines.heading(&format!("{}:", node.name));
            measures.iter().for_each(|measure| lines.step(&measured(measure)));
            lines.note(if passed { "lets it through" } else { "does not let it through" });
        }
        Event::Expression { node, expression, input } => {
            lines.heading(&format!("{}:", node.name));
            let mut seen = Vec::new();
            trace(&mut lines, &mut seen, expression, input);
        }
        Event::Effect { node, capability, input, reply } => {
            let reply = match reply {
                Ok(value) => words::value(value),
                Err(message) => format!("error: {message}"),
            };
            lines.heading(&format!("{}: asks for {capability} with {}: {reply}", node.name, words::value(input)));
        }
        Event::Round { node, round, input } => {
            lines.heading(&format!("{}: round {round}, of {}", node.name, words::value(input)));
        }
        Event::Branch { node, predicate, taken } => {
            let truth = if taken { "yes" } else { "no" };
            lines.heading(&format!("{}: {}: {truth}", node.name, words::condition(predicate)));
        }
    });
    lines.heading(&match outcome {
        Outcome::Answer(answer) => format!("answer: {answer}"),
        Outcome::Abstain(measure) => format!("abstains: {}", measured(&measure)),
        Outcome::Undefined { node, at: Some(at) } => format!("abstains: {node} is undefined here, at {at}"),
        Outcome::Undefined { node, at: None } => format!("abstains: {node} has no value"),
        Outcome::Stopped { node, reason } => format!("abstains: {node}: {reason}"),
        Outcome::Request { capability, input } => format!("asks for {capability} with {}", words::value(&input)),
    });
    lines.text
}

/// Numbered lines under headings.
#[derive(Default)]
struct Lines {
    text: String,
    number: usize,
    /// How many loops are around.
    depth: usize,
}

impl Lines {
    fn heading(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth));
    }

    fn step(&mut self, line: &str) {
        self.number += 1;
        let _ = writeln!(self.text, "{}{:>4}. {line}", "  ".repeat(self.depth), self.number);
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(self.text, "      {line}");
    }
}

/// A check of a guard.
fn describe(check: &Check, what: &str) -> String {
    let place = |path: &str| if path.is_empty() { what.to_owned() } else { path.to_owned() };
    match check {
        Check::Shape { ty } => format!("shape: {what} is {ty}"),
        Check::Length { path, min, max } => format!("length: {} is {min} to {max} long", place(path)),
        Check::Characters { path, .. } => format!("characters: {} has the kinds that were witnessed", place(path)),
        Check::Range { path, min, max } => format!("range: {} is {min} to {max}", place(path)),
        Check::Sketch { path, .. } => format!("sketch: the share of {} that was never witnessed", place(path)),
        Check::Score { path, .. } => format!("score: the model's {}", path.trim_start_matches('/')),
    }
}

fn measured(measure: &Measure) -> String {
    let place = if measure.path.is_empty() { String::new() } else { format!(" {}", measure.path) };
    let (score, limit) = (words::share(measure.score), words::share(measure.limit));
    let verdict = if measure.score <= measure.limit { "at most" } else { "above" };
    format!("{}{place}: {}; scores {score}, {verdict} the limit {limit}", measure.reason, measure.detail)
}

/// The steps of an expression: fields of objects one by one, decisions branch by branch.
fn steps(lines: &mut Lines, expression: &Expr, what: &str) {
    match expression {
        Expr::Record(members) => {
            for (key, member) in members {
                let inner = if what == "the answer" { key.clone() } else { format!("{what}.{key}") };
                steps(lines, member, &inner);
            }
        }
        Expr::Call(Op::If, parts) => {
            let mut parts = parts.as_slice();
            let mut lead = "if";
            while let [condition, then, otherwise] = parts {
                lines.step(&format!("{lead} {}: {what} is {then}", words::condition(condition)));
                lead = "else if";
                match otherwise {
                    Expr::Call(Op::If, next) => parts = next,
                    last => {
                        lines.step(&format!("else: {what} is {last}"));
                        break;
                    }
                }
            }
        }
        other => lines.step(&format!("{what} is {other}")),
    }
}

/// Every call that is evaluated, with its value, each once, parts before wholes.
fn trace(lines: &mut Lines, seen: &mut Vec<String>, expression: &Expr, input: &Value) {
    match expression {
        Expr::Input | Expr::Literal(_) | Expr::Variable(_) => return,
        Expr::Call(Op::If, parts) => {
            if let [condition, yes, no] = parts.as_slice() {
                trace(lines, seen, condition, input);
                match eval(condition, input).and_then(|value| value.as_bool()) {
                    Some(true) => trace_taken(lines, seen, yes, input, "so"),
                    Some(false) => trace_taken(lines, seen, no, input, "otherwise"),
                    None => {}
                }
            }
            return;
        }
        Expr::Call(op @ (Op::And | Op::Or), parts) => {
            for part in parts {
                trace(lines, seen, part, input);
                if eval(part, input).and_then(|value| value.as_bool()) != Some(*op == Op::And) {
                    break;
                }
            }
        }
        Expr::Call(Op::Default, parts) => {
            for part in parts {
                trace(lines, seen, part, input);
                if eval(part, input).is_some() {
                    break;
                }
            }
        }
        // Bodies are evaluated per item: one line says what came out.
        Expr::Each { list, .. } => trace(lines, seen, list, input),
        Expr::Record(members) => {
            for (key, member) in members {
                lines.note(&format!("{key}:"));
                trace(lines, seen, member, input);
                if let Expr::Literal(value) = member {
                    lines.note(&format!("always {}", words::value(value)));
                }
            }
            return;
        }
        other => other.children().into_iter().for_each(|child| trace(lines, seen, child, input)),
    }
    let text = expression.to_string();
    if !seen.contains(&text) {
        let value = eval(expression, input).map_or("undefined".to_owned(), |value| words::value(&value));
        lines.step(&format!("{text} = {value}"));
        seen.push(text);
    }
}

/// The branch that was taken: a constant says which it is, anything else is traced.
fn trace_taken(lines: &mut Lines, seen: &mut Vec<String>, taken: &Expr, input: &Value, lead: &str) {
    match taken {
        Expr::Literal(value) => lines.note(&format!("{lead} {}", words::value(value))),
        taken => trace(lines, seen, taken, input),
    }
}
