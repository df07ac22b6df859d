//! A rule that answers only where there is reason to: the inputs that are known, and those that
//! take a branch whose held-out answers were right.
//!
//! A decision list that fits a few texts is right in its first branches and fits the rest by
//! chance. What was found without an input, and what it said of it, tells these apart: the answers
//! are counted by the branch that the whole rule takes. A branch without enough right ones, or
//! with a wrong one, becomes undefined; undefined is an abstention.
//!
//! The known inputs are in the program as digests, so that it holds no text of them; who has the
//! file can test whether an input is among them.

use auto_json::Value;
use auto_kit::Fault;
use auto_lang::{Expr, Op, apply, eval, parse};
use auto_schema::ir::{Body, Graph};

/// An input that was held out, and what was answered; none where nothing was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The input.
    pub input: Value,
    /// What was recorded.
    pub expected: Value,
    /// What the program that was found without it said.
    pub answer: Option<Value>,
}

/// A rule with fewer branches to answer through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// The program.
    pub program: Graph,
    /// Branches that held.
    pub held: u32,
    /// All of them.
    pub branches: u32,
}

/// Narrows a program of one expression. Fault: `not-one-expression`.
pub fn narrow(mut program: Graph, known: &[Value], held_out: &[Answer], least: u32) -> Result<Narrowed, Fault> {
    let source = only_expression(&mut program)?;
    let rule = parsed(source)?;
    let rule = without_known(&rule);
    let rows: Vec<Row> = held_out.iter().filter_map(Row::of).collect();
    let mut branches = Branches { least, held: 0, all: 0 };
    let narrow = branches.narrowed(rule, rows.iter().collect());
    let Branches { held, all, .. } = branches;
    *source = match held < all {
        true => but_for_known(rule, narrow.unwrap_or_else(|| undefined(rule)), known).to_string(),
        false => rule.to_string(),
    };
    Ok(Narrowed { program: program.canonical(), held, branches: all })
}

/// Keeps a program of one expression to where the others give the same. Fault: `not-one-expression`.
pub fn agree(mut program: Graph, others: Vec<Graph>, known: &[Value]) -> Result<Graph, Fault> {
    let mut same = Vec::new();
    let source = only_expression(&mut program)?;
    let rule = parsed(source)?;
    let rule = without_known(&rule);
    for mut other in others {
        let other = parsed(only_expression(&mut other)?)?;
        let equal = Expr::Call(Op::Eq, vec![rule.clone(), without_known(&other).clone()]);
        if without_known(&other) != rule && !same.contains(&equal) {
            same.push(equal);
        }
    }
    let agreed = match same.len() {
        0 => None,
        1 => same.pop(),
        _ => Some(Expr::Call(Op::And, same)),
    };
    *source = match agreed {
        None => rule.to_string(),
        Some(agreed) => {
            let kept = Expr::Call(Op::If, vec![agreed, rule.clone(), undefined(rule)]);
            but_for_known(rule, kept, known).to_string()
        }
    };
    Ok(program.canonical())
}

/// The text of the one expression that a program is of.
fn only_expression(program: &mut Graph) -> Result<&mut String, Fault> {
    let mut sources = program.nodes.iter_mut().filter_map(|node| match &mut node.body {
        Body::Expression { source } => Some(source),
        _ => None,
    });
    match (sources.next(), sources.next()) {
        (Some(source), None) => Ok(source),
        _ => Err(Fault::new("not-one-expression", "only a program of one expression can be narrowed")),
    }
}

fn parsed(source: &str) -> Result<Expr, Fault> {
    parse(source).map_err(|error| Fault::new("bad-graph", error.to_string()))
}

/// The rule for the inputs that are known, and something narrower for all others.
fn but_for_known(rule: &Expr, otherwise: Expr, known: &[Value]) -> Expr {
    let digests = known.iter().filter_map(|input| apply(Op::Digest, &[input]));
    let mut digests: Vec<Value> = digests.collect();
    digests.sort();
    digests.dedup();
    let digests = Expr::List(digests.into_iter().map(Expr::Literal).collect());
    let is_known = Expr::Call(Op::Includes, vec![digests, Expr::Call(Op::Digest, vec![Expr::Input])]);
    Expr::Call(Op::If, vec![is_known, rule.clone(), otherwise])
}

/// The rule itself, of one that was narrowed before.
fn without_known(rule: &Expr) -> &Expr {
    let Expr::Call(Op::If, parts) = rule else { return rule };
    let [Expr::Call(Op::Includes, asked), whole, _] = parts.as_slice() else { return rule };
    match asked.as_slice() {
        [Expr::List(_), Expr::Call(Op::Digest, of)] if matches!(of.as_slice(), [Expr::Input]) => whole,
        _ => rule,
    }
}

/// A held-out input with the part of its answer that is looked at.
#[derive(Clone)]
struct Row<'a> {
    input: &'a Value,
    right: bool,
    expected: &'a Value,
    answer: &'a Value,
}

impl<'a> Row<'a> {
    /// None where nothing was answered: that says nothing of the branch.
    fn of(row: &'a Answer) -> Option<Row<'a>> {
        let answer = row.answer.as_ref()?;
        Some(Row { input: &row.input, right: *answer == row.expected, expected: &row.expected, answer })
    }

    /// The same input with a member of its output.
    fn member(&self, key: &str) -> Row<'a> {
        let (expected, answer) = (self.expected.get(key), self.answer.get(key));
        Row {
            input: self.input,
            right: expected.is_some() && expected == answer,
            expected: expected.unwrap_or(&Value::Null),
            answer: answer.unwrap_or(&Value::Null),
        }
    }
}

/// The branches that were met so far.
struct Branches {
    least: u32,
    held: u32,
    all: u32,
}

impl Branches {
    /// The expression where branches that did not hold are undefined; none where it would always be.
    /// The rows are those that come to it.
    fn narrowed(&mut self, rule: &Expr, rows: Vec<&Row>) -> Option<Expr> {
        match rule {
            Expr::Record(members) => self.record(members, &rows),
            Expr::Call(Op::If, parts) => match parts.as_slice() {
                [Expr::Call(Op::Or, tests), then, otherwise] if tests.len() > 1 => {
                    self.either(tests, then, otherwise, rows)
                }
                [test, then, otherwise] => self.branch(test, then, otherwise, rows),
                _ => self.leaf(rule, &rows),
            },
            Expr::Call(Op::Default, parts) => match parts.as_slice() {
                [first, otherwise] => self.default(first, otherwise, rows),
                _ => self.leaf(rule, &rows),
            },
            _ => self.leaf(rule, &rows),
        }
    }

    fn leaf(&mut self, leaf: &Expr, rows: &[&Row]) -> Option<Expr> {
        self.all += 1;
        let right = rows.iter().filter(|row| row.right).count();
        let holds = right == rows.len() && right >= self.least as usize;
        self.held += u32::from(holds);
        holds.then(|| leaf.clone())
    }

    /// Each member by itself: it is undefined as soon as one is.
    fn record(&mut self, members: &[(String, Expr)], rows: &[&Row]) -> Option<Expr> {
        let mut narrow = Vec::new();
        for (key, member) in members {
            let own: Vec<Row> = rows.iter().map(|row| row.member(key)).collect();
            narrow.push(self.narrowed(member, own.iter().collect()).map(|member| (key.clone(), member)));
        }
        narrow.into_iter().collect::<Option<Vec<_>>>().map(Expr::Record)
    }

    fn branch(&mut self, test: &Expr, then: &Expr, otherwise: &Expr, rows: Vec<&Row>) -> Option<Expr> {
        let truth = |row: &&Row| eval(test, row.input).and_then(|value| value.as_bool());
        let (taken, rest): (Vec<&Row>, Vec<&Row>) =
            rows.into_iter().filter(|row| truth(row).is_some()).partition(|row| truth(row) == Some(true));
        let narrow = [self.narrowed(then, taken), self.narrowed(otherwise, rest)];
        decided(test.clone(), narrow, [then, otherwise])
    }

    /// One branch for each of several tests that lead to the same.
    fn either(&mut self, tests: &[Expr], then: &Expr, otherwise: &Expr, rows: Vec<&Row>) -> Option<Expr> {
        let [test, rest @ ..] = tests else { return self.narrowed(otherwise, rows) };
        let rest = match rest {
            [] => otherwise.clone(),
            [last] => Expr::Call(Op::If, vec![last.clone(), then.clone(), otherwise.clone()]),
            several => {
                let either = Expr::Call(Op::Or, several.to_vec());
                Expr::Call(Op::If, vec![either, then.clone(), otherwise.clone()])
            }
        };
        self.branch(test, then, &rest, rows)
    }

    /// What is computed where it is defined, and something else elsewhere.
    fn default(&mut self, first: &Expr, otherwise: &Expr, rows: Vec<&Row>) -> Option<Expr> {
        let (taken, rest): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| eval(first, row.input).is_some());
        match [self.narrowed(first, taken), self.narrowed(otherwise, rest)] {
            [Some(first), Some(otherwise)] => Some(Expr::Call(Op::Default, vec![first, otherwise])),
            narrow => {
                let same = Expr::Call(Op::Eq, vec![first.clone(), first.clone()]);
                let is_defined = Expr::Call(Op::Default, vec![same, Expr::Literal(Value::Bool(false))]);
                decided(is_defined, narrow, [first, otherwise])
            }
        }
    }
}

/// `if` with two branches of which some are undefined.
fn decided(test: Expr, narrow: [Option<Expr>; 2], whole: [&Expr; 2]) -> Option<Expr> {
    if narrow.iter().all(Option::is_none) {
        return None;
    }
    let branches = narrow.into_iter().zip(whole).map(|(narrow, whole)| narrow.unwrap_or_else(|| undefined(whole)));
    Some(Expr::Call(Op::If, std::iter::once(test).chain(branches).collect()))
}

/// What is never defined, and of the type of a leaf of the expression.
fn undefined(like: &Expr) -> Expr {
    match like {
        Expr::Call(Op::If, parts) if parts.len() == 3 => undefined(&parts[1]),
        Expr::Call(Op::Default, parts) if parts.len() == 2 => undefined(&parts[1]),
        leaf => Expr::Call(Op::Nth, vec![Expr::List(vec![leaf.clone()]), Expr::Literal(Value::integer(1))]),
    }
}
