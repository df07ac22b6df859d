//! The search as a whole: from observations to graphs. Looks at a sample of the
//! examples, checks what it finds on all of them, and adds those that were wrong to the
//! sample (counterexample-guided synthesis, Solar-Lezama 2008).

use std::collections::{BTreeSet, HashMap};

use auto_json::{Value, write::compare_keys};
use auto_lang::{Expr, Op, cost, eval};

use crate::constants::Constants;
use crate::solve::Solver;
use crate::values::{Id, Interner, MAX_ROWS, Meter, UNDEFINED};

mod classes;
mod question;
mod start;
mod tables;

pub use tables::is_made;

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
    /// Programs to start from.
    pub start: &'a [Expr],
    /// Parts per million of the examples that a program may get wrong.
    pub wrong_max_ppm: u32,
    /// Candidate programs evaluated on one input each.
    pub steps: u64,
    /// The most programs to return.
    pub candidates: usize,
}

impl<'a> Problem<'a> {
    /// Programs that fit every example, from nothing.
    pub fn new(examples: &'a [Example], steps: u64, candidates: usize) -> Problem<'a> {
        Problem { examples, unlabelled: &[], start: &[], wrong_max_ppm: 0, steps, candidates }
    }

    /// How many examples a program may get wrong.
    fn slack(&self) -> usize {
        (self.examples.len() as u64 * u64::from(self.wrong_max_ppm.min(1_000_000)) / 1_000_000) as usize
    }

    /// The examples that a program gets wrong; stops where there are more than `most`.
    fn wrong(&self, program: &Expr, most: usize) -> Vec<usize> {
        (0..self.examples.len()).filter(|&at| !fits(program, &self.examples[at])).take(most.saturating_add(1)).collect()
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Cheapest first; each fits every example, or as many as it must.
    pub programs: Vec<(Expr, u32)>,
    /// The examples that the first program gets wrong.
    pub wrong: Vec<usize>,
    /// What would tell which of the programs is meant.
    pub question: Option<Question>,
    /// Steps used.
    pub steps: u64,
    /// Everything up to the depth limit was looked at.
    pub exhausted: bool,
    /// What to know.
    pub notes: Vec<String>,
}

/// An input of which two programs, each of which fits, make different things.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The input.
    pub input: Value,
    /// What the first program makes of it, and what another does.
    pub answers: [Value; 2],
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

/// The share of the steps that is spent on rules for what is plainly a class of free text.
const CLASSES_SHARE: u64 = 20;

/// Searches.
pub fn search(problem: &Problem) -> Found {
    let examples = problem.examples;
    if examples.len() < 2 {
        let note = "one distinct input says nothing about others: record at least two";
        return Found { notes: vec![note.to_owned()], ..Found::default() };
    }
    if let Some(found) = kept(problem) {
        return found;
    }
    let classes = classes::of_free_text(examples);
    let mut meter = Meter::new(if classes.is_some() { problem.steps / CLASSES_SHARE } else { problem.steps });
    let mut sample = first_sample(examples);
    loop {
        let mut found = attempt(problem, &sample, &mut meter);
        let Some((program, _)) = found.programs.first() else {
            found.notes.extend(classes);
            return Found { steps: meter.used(), ..found };
        };
        // What is known to be wrong costs no more than finding that out.
        let most = problem.slack();
        let wrong = problem.wrong(program, most + MORE);
        meter.take(check_steps(examples));
        if wrong.len() <= most {
            return finished(problem, found, meter);
        }
        if sample.len() + MORE > MAX_ROWS || meter.spent() {
            let note = format!(
                "what explains {} of {} examples fails on others, and more cannot be looked at {}",
                sample.len(),
                examples.len(),
                if meter.spent() { "within the budget of steps" } else { "together" }
            );
            let notes = std::iter::once(note).chain(classes).collect();
            return Found { steps: meter.used(), notes, ..Found::default() };
        }
        sample.extend(wrong.into_iter().take(MORE));
        sample.sort_unstable();
        sample.dedup();
    }
}

/// A program to start from that fits as it is.
fn kept(problem: &Problem) -> Option<Found> {
    let most = problem.slack();
    let (program, wrong) = problem
        .start
        .iter()
        .map(|program| (program, problem.wrong(program, most)))
        .find(|(_, wrong)| wrong.len() <= most)?;
    let steps = check_steps(problem.examples) as u64;
    let notes = vec!["the program that was given still fits".to_owned()];
    let programs = vec![(program.clone(), cost(program))];
    Some(Found { programs, wrong, steps: steps.min(problem.steps), notes, ..Found::default() })
}

/// The first program, which fits, and those of the others that do.
fn finished(problem: &Problem, mut found: Found, mut meter: Meter) -> Found {
    let most = problem.slack();
    let steps = check_steps(problem.examples);
    let mut others = found.programs.split_off(1);
    others.retain(|(program, _)| !meter.spent() && meter.take(steps) && problem.wrong(program, most).len() <= most);
    found.programs.extend(others);
    found.steps = meter.used();
    rank(&mut found, problem);
    found.notes.extend(order_of_day_and_month(&found, problem));
    // Another may come first now.
    found.wrong = match found.programs.first() {
        Some((program, _)) if most > 0 => problem.wrong(program, most),
        _ => Vec::new(),
    };
    found
}

/// What it takes to evaluate a program on all examples.
fn check_steps(examples: &[Example]) -> usize {
    // The first say how long they are.
    let few = examples.len().min(64);
    let bytes: usize = examples[..few].iter().map(|example| size(&example.input)).sum();
    examples.len() * (2 + bytes / few.max(1) / 64)
}

/// About how many bytes a value is.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() + 2,
        Value::List(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Record(record) => record.iter().map(|(key, item)| key.len() + 3 + size(item)).sum::<usize>() + 2,
        _ => 4,
    }
}

fn fits(program: &Expr, example: &Example) -> bool {
    eval(program, &example.input).as_ref() == Some(&example.output)
}

/// What to know where the examples would be the same with day and month exchanged.
fn order_of_day_and_month(found: &Found, problem: &Problem) -> Option<String> {
    let other = found.programs.first()?.0.day_and_month_exchanged()?;
    (problem.wrong(&other, problem.slack()).len() <= problem.slack()).then(|| {
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
        let mut seen: HashMap<(&str, &Value), usize> = HashMap::new();
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
            if rare && !sample.contains(&at) {
                sample.push(at);
            }
            if sample.len() >= MOST_FIRST {
                break;
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
fn attempt(problem: &Problem, sample: &[usize], meter: &mut Meter) -> Found {
    let examples = problem.examples;
    let mut interner = Interner::default();
    let inputs: Vec<Id> = sample.iter().map(|&at| interner.intern(examples[at].input.clone())).collect();
    let target: Vec<Id> = sample.iter().map(|&at| interner.intern(examples[at].output.clone())).collect();
    let roots = roots(Expr::Input, inputs, &mut interner);
    let outputs: Vec<&Value> = sample.iter().map(|&at| &examples[at].output).collect();
    let columns: Vec<Vec<Id>> = roots.iter().map(|(_, column)| column.clone()).collect();
    let constants = mine(&columns, &outputs, &mut interner);
    let mut solver = Solver::new(&mut interner, meter, roots, constants, 0);
    // A decision over so few must not get the more wrong the more examples there are.
    solver.slack = problem.slack().min(sample.len() / 5) as u32;
    for part in start::parts(problem.start) {
        let values: Vec<Option<Value>> = sample.iter().map(|&at| eval(&part, &examples[at].input)).collect();
        solver.begin_with(part, values);
    }
    let programs = solver.solve(&target, "output");
    let exhausted = solver.exhausted();
    Found { programs, exhausted, notes: solver.notes, ..Found::default() }
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
    let columns = if roots[0].0 == Expr::Input { tables::lists(&roots, interner) } else { Vec::new() };
    roots.extend(columns);
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

/// Programs that are defined on the unlabelled inputs before those that are not; and the
/// question that tells the first two apart, where they say different things.
fn rank(found: &mut Found, problem: &Problem) {
    let undefined = |program: &Expr| problem.unlabelled.iter().filter(|input| eval(program, input).is_none()).count();
    found.programs.sort_by_cached_key(|(program, own)| (undefined(program), *own));
    found.programs.truncate(problem.candidates);
    let Some((program, _)) = found.programs.first() else { return };
    let missing = undefined(program);
    if missing > 0 {
        let count = problem.unlabelled.len();
        found.notes.push(format!("undefined on {missing} of {count} unlabelled inputs, where it will abstain"));
    }
    if let Some((other, question)) = question::between(&found.programs, problem) {
        let Question { input, answers: [one, another] } = &question;
        found.notes.push(format!(
            "ambiguous: `{program}` and `{other}` both fit, and of {input} one makes {one}, the other {another}; \
             record what it is to settle which is meant"
        ));
        found.question = Some(question);
    }
}
