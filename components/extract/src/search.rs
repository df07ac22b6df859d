//! The search as a whole: from observations to graphs. Looks at a sample of the
//! examples, checks what it finds on all of them, and adds those that were wrong to the
//! sample (counterexample-guided synthesis, Solar-Lezama 2008).

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Value, write::compare_keys};
use auto_lang::{Expr, Op, eval};

use crate::constants::Constants;
use crate::seeds;
use crate::solve::Solver;
use crate::values::{Id, Interner, MAX_ROWS, Meter, UNDEFINED};

/// An input with its one output.
#[derive(Clone, Debug)]
pub struct Example {
    /// What was put in.
    pub input: Value,
    /// What came out.
    pub output: Value,
}

/// What is looked for, and how far.
pub struct Problem<'a> {
    /// Distinct inputs.
    pub examples: &'a [Example],
    /// Inputs without an output; a program had better be defined on them.
    pub unlabelled: &'a [Value],
    /// Candidate programs evaluated on one input each.
    pub steps: u64,
    /// The most programs to return.
    pub candidates: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Cheapest first; each fits every example.
    pub programs: Vec<(Expr, u32)>,
    /// Steps used.
    pub steps: u64,
    /// Everything up to the depth limit was looked at.
    pub exhausted: bool,
    /// What to know.
    pub notes: Vec<String>,
}

/// Examples looked at first, and added in each round.
const FIRST_SAMPLE: usize = 64;
const MORE: usize = 16;

/// Examples of each output that the first sample has if it can, and its most examples.
const OF_EACH: usize = 4;
const MOST_FIRST: usize = 96;

/// The most fields of the input that are looked at, and how deep.
const MAX_ROOTS: usize = 200;
const MAX_ROOT_DEPTH: usize = 5;

/// Longer lists are no arguments of a call.
const MAX_ARITY: usize = 8;

/// Searches.
pub fn search(problem: &Problem) -> Found {
    seeded(problem, &[])
}

/// [`search`], with expressions that somebody thinks nearly right: their parts are terms from the
/// beginning.
pub fn seeded(problem: &Problem, seeds: &[Expr]) -> Found {
    let examples = problem.examples;
    if examples.len() < 2 {
        let note = "one distinct input says nothing about others: record at least two";
        return Found { notes: vec![note.to_owned()], ..Found::default() };
    }
    let mut meter = Meter::new(problem.steps);
    let mut sample = first_sample(examples);
    loop {
        let mut found = attempt(examples, &sample, seeds, &mut meter);
        let wrong: Vec<usize> = match found.programs.first() {
            Some((program, _)) => (0..examples.len()).filter(|&at| !fits(program, &examples[at])).collect(),
            None => Vec::new(),
        };
        if wrong.is_empty() {
            found.programs.retain(|(program, _)| examples.iter().all(|example| fits(program, example)));
            rank(&mut found, problem);
            found.notes.extend(order_of_day_and_month(&found, examples));
            return Found { steps: meter.used(), ..found };
        }
        if sample.len() + MORE > MAX_ROWS {
            let note = format!(
                "what explains {} of {} examples fails on others, and more cannot be looked at together",
                sample.len(),
                examples.len()
            );
            return Found { steps: meter.used(), notes: vec![note], ..Found::default() };
        }
        sample.extend(wrong.into_iter().take(MORE));
        sample.sort_unstable();
        sample.dedup();
    }
}

fn fits(program: &Expr, example: &Example) -> bool {
    eval(program, &example.input).as_ref() == Some(&example.output)
}

/// What to know where the examples would be the same with day and month exchanged.
fn order_of_day_and_month(found: &Found, examples: &[Example]) -> Option<String> {
    let other = found.programs.first()?.0.day_and_month_exchanged()?;
    examples.iter().all(|example| fits(&other, example)).then(|| {
        format!(
            "ambiguous: `{other}` fits as well: no example tells whether the day or the month comes first; record one \
             with a day above 12 to settle it"
        )
    })
}

/// Examples spread evenly, and some of each output that recurs, field by field: what is
/// rare would else be missed, and could not be told from chance.
fn first_sample(examples: &[Example]) -> Vec<usize> {
    let mut sample = spread(examples.len(), FIRST_SAMPLE);
    if sample.len() < examples.len() {
        let mut seen: BTreeMap<(&str, &Value), usize> = BTreeMap::new();
        for (at, example) in examples.iter().enumerate() {
            let parts: Vec<(&str, &Value)> = match example.output.as_record() {
                Some(record) => record.iter().collect(),
                None => vec![("", &example.output)],
            };
            let rare = parts.into_iter().any(|part| {
                let count = seen.entry(part).or_default();
                *count += 1;
                *count <= OF_EACH
            });
            if rare && sample.len() < MOST_FIRST && !sample.contains(&at) {
                sample.push(at);
            }
        }
        sample.sort_unstable();
    }
    sample
}

/// `most` numbers below `count`, evenly.
fn spread(count: usize, most: usize) -> Vec<usize> {
    let taken = count.min(most);
    (0..taken).map(|index| index * count / taken).collect()
}

/// One round over a sample.
fn attempt(examples: &[Example], sample: &[usize], seeds: &[Expr], meter: &mut Meter) -> Found {
    let mut interner = Interner::default();
    let inputs: Vec<Id> = sample.iter().map(|&at| interner.intern(examples[at].input.clone())).collect();
    let target: Vec<Id> = sample.iter().map(|&at| interner.intern(examples[at].output.clone())).collect();
    let mut roots = roots(Expr::Input, inputs, &mut interner);
    for part in seeds::parts(seeds) {
        let value = |&at: &usize| eval(&part, &examples[at].input);
        let column = sample.iter().map(|at| interner.intern_option(value(at))).collect();
        meter.take(sample.len());
        roots.push((part, column));
    }
    let outputs: Vec<&Value> = sample.iter().map(|&at| &examples[at].output).collect();
    let columns: Vec<Vec<Id>> = roots.iter().map(|(_, column)| column.clone()).collect();
    let constants = mine(&columns, &outputs, &mut interner);
    let mut solver = Solver::new(&mut interner, meter, roots, constants, 0);
    let programs = solver.solve(&target, "output");
    let exhausted = solver.exhausted();
    Found { programs, exhausted, notes: solver.notes, steps: 0 }
}

/// The constants of inputs, field by field, and of outputs.
pub fn mine(columns: &[Vec<Id>], outputs: &[&Value], interner: &mut Interner) -> Constants {
    let texts = |column: &Vec<Id>| -> Vec<String> {
        column.iter().filter_map(|&id| interner.text(id).map(str::to_owned)).collect()
    };
    let inputs: Vec<Vec<String>> = columns.iter().map(texts).collect();
    let mut output_texts: Vec<(String, Vec<&str>)> = Vec::new();
    outputs.iter().for_each(|output| collect_texts(output, String::new(), &mut output_texts));
    let inputs: Vec<Vec<&str>> = inputs.iter().map(|texts| texts.iter().map(String::as_str).collect()).collect();
    let outputs: Vec<Vec<&str>> = output_texts.into_iter().map(|(_, texts)| texts).collect();
    Constants::mine(&inputs, &outputs, interner)
}

/// The texts in a value, by where they are.
fn collect_texts<'v>(value: &'v Value, place: String, texts: &mut Vec<(String, Vec<&'v str>)>) {
    match value {
        Value::Text(text) => match texts.iter_mut().find(|(own, _)| *own == place) {
            Some((_, known)) => known.push(text),
            None => texts.push((place, vec![text])),
        },
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, format!("{place}/*"), texts)),
        Value::Record(record) => {
            record.iter().for_each(|(key, item)| collect_texts(item, format!("{place}/{key}"), texts));
        }
        _ => {}
    }
}

/// An expression and the fields it leads to, with their columns, nearest first.
pub fn roots(expression: Expr, column: Vec<Id>, interner: &mut Interner) -> Vec<(Expr, Vec<Id>)> {
    let mut roots = vec![(expression, column)];
    let mut next = 0;
    let mut layer_end = 1;
    let mut depth = 0;
    while next < roots.len() && roots.len() < MAX_ROOTS {
        if next == layer_end {
            depth += 1;
            layer_end = roots.len();
        }
        if depth == MAX_ROOT_DEPTH {
            break;
        }
        for key in keys(&roots[next].1, interner) {
            let field = roots[next].0.clone().field(key.as_str());
            let values: Vec<Option<Value>> =
                roots[next].1.iter().map(|&id| interner.get(id).and_then(|value| value.get(&key)).cloned()).collect();
            let column = values.into_iter().map(|value| interner.intern_option(value)).collect();
            roots.push((field, column));
        }
        for index in 0..arity(&roots[next].1, interner) {
            let item = match index {
                0 => Expr::Call(Op::First, vec![roots[next].0.clone()]),
                _ => Expr::Call(Op::Nth, vec![roots[next].0.clone(), Expr::Literal(Value::integer(index as i64))]),
            };
            let values: Vec<Option<Value>> =
                roots[next].1.iter().map(|&id| interner.get(id)?.as_list()?.get(index).cloned()).collect();
            let column = values.into_iter().map(|value| interner.intern_option(value)).collect();
            roots.push((item, column));
        }
        next += 1;
    }
    roots.truncate(MAX_ROOTS);
    roots
}

/// The length of lists that all have the same, as the arguments of a call do; else 0.
fn arity(column: &[Id], interner: &Interner) -> usize {
    let mut lengths = column.iter().map(|&id| interner.get(id).and_then(Value::as_list).map(<[Value]>::len));
    match lengths.next() {
        Some(Some(length)) if length <= MAX_ARITY && lengths.all(|other| other == Some(length)) => length,
        _ => 0,
    }
}

fn keys(column: &[Id], interner: &Interner) -> Vec<String> {
    let records = column.iter().filter(|&&id| id != UNDEFINED).filter_map(|&id| interner.get(id)?.as_record());
    let keys: BTreeSet<&str> = records.flat_map(|record| record.iter().map(|(key, _)| key)).collect();
    let mut keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
    keys.sort_by(|a, b| compare_keys(a.as_bytes(), b.as_bytes()));
    keys
}

/// Programs that are defined on the unlabelled inputs before those that are not; a note
/// where the first two say different things about one of these.
fn rank(found: &mut Found, problem: &Problem) {
    let undefined = |program: &Expr| problem.unlabelled.iter().filter(|input| eval(program, input).is_none()).count();
    found.programs.sort_by_key(|(program, own)| (undefined(program), *own));
    found.programs.truncate(problem.candidates);
    let Some((program, _)) = found.programs.first() else { return };
    let missing = undefined(program);
    if missing > 0 {
        let count = problem.unlabelled.len();
        found.notes.push(format!("undefined on {missing} of {count} unlabelled inputs, where it will abstain"));
    }
    for (other, _) in &found.programs[1..] {
        let apart = problem.unlabelled.iter().find_map(|input| {
            let (one, another) = (eval(program, input)?, eval(other, input)?);
            (one != another).then_some((input, one, another))
        });
        if let Some((input, one, another)) = apart {
            found.notes.push(format!(
                "ambiguous: `{program}` and `{other}` both fit, and of {input} one makes {one}, the other {another}; \
                 record what it is to settle which is meant"
            ));
            return;
        }
    }
}
