//! Decisions: which of several expressions, or of several constants, a row has. What is right
//! in some rows is found first, by searches of their own; then the tests that tell the rows
//! apart, as long as they are worth their bits.

use std::collections::HashMap;

use auto_json::Value;
use auto_lang::{Expr, Op, literal_cost};

use super::{KEEP, Solution, Solver};
use crate::predicates::{Predicate, Predicates};
use crate::rules::{self, Leaf};
use crate::values::{Id, Interner, Rows, all_rows};

/// The most clusters of examples, how many examples may fail to join one, and by how much
/// its program may get dearer with each.
const MAX_CLUSTERS: usize = 10;
const MAX_FAILED: usize = 6;
const MAX_GROWTH: u32 = 16;

/// The most leaves that a decision list chooses among.
const MAX_LEAVES: usize = 48;

impl Solver<'_> {
    /// A truth value: one predicate, two of them, or a decision.
    pub(super) fn solve_truth(&mut self, target: &[Id]) -> Vec<Solution> {
        let truth = |&id: &Id| self.interner.get(id).and_then(Value::as_bool);
        let truths: Option<Vec<bool>> = target.iter().map(truth).collect();
        let Some(truths) = truths else { return Vec::new() };
        let all = all_rows(target.len());
        let wanted: Rows = truths.iter().enumerate().fold(0, |set, (row, &truth)| set | Rows::from(truth) << row);
        let mut leaves = Vec::new();
        for (value, rows) in [(true, wanted), (false, all & !wanted)] {
            let id = self.interner.intern(Value::Bool(value));
            leaves.push((Leaf { rows, cost: 2, bits: 1, computed: true, defined: None }, LeafMaker::Constant(id)));
        }
        self.solve_rules(leaves, target)
    }

    /// A decision among constants.
    pub(super) fn solve_choice(&mut self, target: &[Id]) -> Vec<Solution> {
        let leaves = self.constant_leaves(target);
        self.solve_rules(leaves, target)
    }

    /// A decision among whatever is right in some rows.
    pub(super) fn solve_branches(&mut self, target: &[Id]) -> Vec<Solution> {
        let mut leaves = self.term_leaves(target);
        if !self.is_label(target) {
            if let Some(exception) = self.exceptions(target) {
                leaves.push(exception);
                let found = self.solve_rules(leaves.clone(), target);
                if !found.is_empty() {
                    return found;
                }
            }
            leaves.extend(self.concat_leaves(target));
        }
        self.solve_rules(widest(leaves), target)
    }

    /// A decision among terms and constants, with no further search for either.
    pub(super) fn solve_known(&mut self, target: &[Id]) -> Vec<Solution> {
        let leaves = self.term_leaves(target);
        self.solve_rules(widest(leaves), target)
    }

    /// Constants, and terms that are right in some rows.
    fn term_leaves(&self, target: &[Id]) -> Vec<(Leaf, LeafMaker)> {
        let mut leaves = self.constant_leaves(target);
        for (id, term) in self.bank.terms() {
            let matching = self.bank.matches(id, target);
            if term.varies && matching.count_ones() >= 2 {
                let mut leaf = Leaf::computed(matching, term.cost);
                leaf.defined = (!term.total).then(|| self.bank.defined(id));
                leaves.push((leaf, LeafMaker::Term(id)));
            }
        }
        leaves
    }

    fn constant_leaves(&self, target: &[Id]) -> Vec<(Leaf, LeafMaker)> {
        let mut distinct: Vec<Id> = target.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let leaf = |value: Id| {
            let here = target.iter().enumerate().filter(|(_, id)| **id == value);
            let rows: Rows = here.fold(0, |set, (row, _)| set | 1 << row);
            let value_of = self.interner.get(value).cloned().unwrap_or(Value::Null);
            let bits = literal_cost(&value_of);
            // Which of the outputs it is says the type; its text is not the program's.
            let leaf = Leaf { rows, cost: bits.min(6), bits, computed: false, defined: None };
            (leaf, LeafMaker::Constant(value))
        };
        // That there is nothing may be seen once: it is what a part comes to that is missing.
        let nothing = |maker: &LeafMaker| match maker {
            LeafMaker::Constant(id) => is_nothing(self.interner.get(*id)),
            _ => false,
        };
        let mut leaves: Vec<_> = distinct.into_iter().map(leaf).collect();
        leaves.iter_mut().for_each(|(leaf, maker)| leaf.computed = nothing(maker));
        leaves.into_iter().filter(|(leaf, _)| leaf.rows.count_ones() >= 2 || leaf.computed).collect()
    }

    /// What explains all rows but those of one constant, found by a search of its own.
    fn exceptions(&mut self, target: &[Id]) -> Option<(Leaf, LeafMaker)> {
        if self.nested {
            return None;
        }
        let mut counts: HashMap<Id, usize> = HashMap::new();
        target.iter().for_each(|&id| *counts.entry(id).or_default() += 1);
        let candidates =
            counts.into_iter().filter(|&(id, count)| count * 4 >= target.len() || is_nothing(self.interner.get(id)));
        let (exception, count) =
            candidates.max_by_key(|&(id, count)| (is_nothing(self.interner.get(id)), count, id))?;
        if target.len() - count < 2 {
            return None;
        }
        let kept: Vec<usize> = (0..target.len()).filter(|&row| target[row] != exception).collect();
        let pick = |column: &[Id]| -> Vec<Id> { kept.iter().map(|&row| column[row]).collect() };
        let roots = self.bank.roots().into_iter().map(|(expression, column)| (expression, pick(column))).collect();
        let (constants, depth) = (self.constants.clone(), self.depth);
        let mut inner = Solver::new(&mut *self.interner, &mut *self.meter, roots, constants, depth);
        inner.nested = true;
        let (expression, own) = inner.solve(&pick(target), "exception").into_iter().next()?;
        let mut leaf = Leaf::computed(0, own);
        let mut defined: Rows = 0;
        for (row, &wanted) in target.iter().enumerate() {
            if let Some(value) = self.value_at(&expression, row) {
                defined |= 1 << row;
                leaf.rows |= Rows::from(self.interner.get(wanted) == Some(&value)) << row;
            }
        }
        leaf.defined = (defined != all_rows(target.len())).then_some(defined);
        Some((leaf, LeafMaker::Expression(Box::new(expression))))
    }

    /// Concatenations found from few examples that look alike, with all the rows in which
    /// they are right.
    fn concat_leaves(&mut self, target: &[Id]) -> Vec<(Leaf, LeafMaker)> {
        let texts: Option<Vec<String>> = target.iter().map(|&id| self.interner.text(id).map(str::to_owned)).collect();
        let Some(texts) = texts else { return Vec::new() };
        let shapes: Vec<String> = self.inputs.iter().map(|&id| shape(self.interner.get(id))).collect();
        let mut leaves: Vec<(Leaf, LeafMaker)> = Vec::new();
        let mut uncovered = all_rows(texts.len());
        while uncovered != 0 && leaves.len() < MAX_CLUSTERS && !self.meter.spent() {
            let seed = uncovered.trailing_zeros() as usize;
            uncovered &= !(1 << seed);
            if let Some((expression, own, leaf)) = self.cluster(target, &texts, &shapes, seed) {
                uncovered &= !leaf.rows;
                leaves.push((Leaf { cost: own, bits: own, ..leaf }, LeafMaker::Expression(Box::new(expression))));
            }
        }
        leaves
    }

    /// The program that grows from one example by those that look most like it, as long as
    /// it does not get much dearer.
    fn cluster(
        &mut self,
        target: &[Id],
        texts: &[String],
        shapes: &[String],
        seed: usize,
    ) -> Option<(Expr, u32, Leaf)> {
        let bytes: usize = self.inputs.iter().filter_map(|&id| self.interner.get(id)).map(crate::search::size).sum();
        let mut others: Vec<usize> = (0..texts.len()).filter(|&row| row != seed && texts[row] != texts[seed]).collect();
        others.sort_by_key(|&row| {
            let alike = alike(&shapes[seed], &shapes[row]) * 2 + alike(&texts[seed], &texts[row]);
            (std::cmp::Reverse(alike), row)
        });
        let mut set: Rows = 1 << seed;
        let mut best: Option<(Expr, u32, Leaf)> = None;
        let mut failed = 0;
        for row in others {
            if best.as_ref().is_some_and(|(_, _, leaf)| leaf.rows >> row & 1 == 1) {
                continue;
            }
            if failed > MAX_FAILED || set.count_ones() > 12 || self.meter.spent() {
                break;
            }
            let most = best.as_ref().map_or(u32::MAX, |(_, cost, _)| cost + MAX_GROWTH);
            let Some((expression, own)) = self.solve_concat(target, set | 1 << row, most) else {
                failed += 1;
                continue;
            };
            let mut leaf = Leaf::computed(0, own);
            let mut defined: Rows = 0;
            self.meter.take(4 * texts.len() + bytes / 16);
            for (row, text) in texts.iter().enumerate() {
                if let Some(value) = self.value_at(&expression, row) {
                    defined |= 1 << row;
                    leaf.rows |= Rows::from(value.as_text() == Some(text)) << row;
                }
            }
            leaf.defined = (defined != all_rows(texts.len())).then_some(defined);
            if best.as_ref().is_some_and(|(_, _, old)| old.rows.count_ones() > leaf.rows.count_ones()) {
                failed += 1;
                continue;
            }
            set |= 1 << row;
            best = Some((expression, own, leaf));
        }
        best
    }

    fn solve_rules(&mut self, leaves: Vec<(Leaf, LeafMaker)>, target: &[Id]) -> Vec<Solution> {
        let all = all_rows(target.len());
        let covered = leaves.iter().fold(0, |set, (leaf, _)| set | leaf.rows);
        if (all & !covered).count_ones() > self.slack {
            return Vec::new();
        }
        if self.predicates.is_none() {
            self.predicates = Some(Predicates::make(&self.bank, self.interner, self.meter));
        }
        let Some(predicates) = &self.predicates else { return Vec::new() };
        let outputs = outputs(target, self.interner);
        let labels: Vec<String> =
            leaves.iter().filter_map(|(_, maker)| maker.label(self.interner)).map(str::to_lowercase).collect();
        let named = predicates.naming(&labels);
        let (leaves, makers): (Vec<Leaf>, Vec<LeafMaker>) = leaves.into_iter().unzip();
        let mut lists = Vec::new();
        for conjunctions in [0, 80] {
            let mut tests = rules::extended(&named, conjunctions, all);
            let defined = leaves.iter().enumerate().filter_map(|(leaf, own)| Some((leaf, own.defined?, own.rows)));
            // Where it is defined it must be right: then no test is needed.
            let right = defined.filter(|(_, defined, rows)| defined & !rows == 0);
            tests.extend(right.map(|(leaf, defined, _)| Predicate::defined(leaf, defined)));
            if !self.meter.take(4 * tests.len()) {
                return Vec::new();
            }
            lists = rules::learn(&tests, &leaves, all, self.slack, self.meter);
            if let Some(list) = lists.first() {
                let (taken, explained) = list.bits(&leaves, &outputs);
                self.unpaid = (taken > explained).then_some((list.rules.len(), taken, explained));
            }
            lists.retain(|list| {
                let (taken, explained) = list.bits(&leaves, &outputs);
                taken <= explained && list.branches() < target.len() && !list.tells_exceptions(&leaves, all)
            });
            if !lists.is_empty() {
                break;
            }
        }
        lists.truncate(KEEP);
        let leaf = |index: usize| match &makers[index] {
            LeafMaker::Constant(id) => Expr::constant(&self.interner.get(*id).cloned().unwrap_or(Value::Null)),
            LeafMaker::Term(id) => self.bank.expr(*id, self.interner),
            LeafMaker::Expression(expression) => (**expression).clone(),
        };
        let build = |list: &rules::List| {
            let start = leaf(list.otherwise);
            list.rules.iter().rev().fold(start, |otherwise, (predicate, then)| match predicate.only() {
                Some(_) => Expr::Call(Op::Default, vec![leaf(*then), otherwise]),
                None => branch(predicates.expr(predicate, &self.bank, self.interner), leaf(*then), otherwise),
            })
        };
        lists.iter().map(|list| (build(list), list.cost)).collect()
    }
}

/// The leaves that are right in the most rows, and of each set of rows the cheapest.
fn widest(mut leaves: Vec<(Leaf, LeafMaker)>) -> Vec<(Leaf, LeafMaker)> {
    leaves.sort_by_key(|(leaf, _)| (std::cmp::Reverse(leaf.rows.count_ones()), leaf.rows, leaf.cost));
    leaves.dedup_by_key(|(leaf, _)| (leaf.rows, leaf.defined));
    leaves.truncate(MAX_LEAVES);
    leaves
}

/// Null, an empty text, or a list of nothing else.
fn is_nothing(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Null) => true,
        Some(Value::Text(text)) => text.is_empty(),
        Some(Value::List(items)) => items.iter().all(|item| *item == Value::Null),
        _ => false,
    }
}

impl Leaf {
    /// A leaf that is no constant.
    fn computed(rows: Rows, cost: u32) -> Leaf {
        Leaf { rows, cost, bits: cost, computed: true, defined: None }
    }
}

fn outputs(target: &[Id], interner: &Interner) -> rules::Outputs {
    let mut sorted = target.to_vec();
    sorted.sort_unstable();
    let bits = |id: Id| interner.get(id).map_or(0, literal_cost);
    rules::Outputs { distinct: sorted.chunk_by(|a, b| a == b).map(|same| (bits(same[0]), same.len() as u64)).collect() }
}

/// What kinds of characters a value consists of, in order: letters, digits, and all else as
/// it is.
fn shape(value: Option<&Value>) -> String {
    let text = value.map(Value::to_string).unwrap_or_default();
    let mut shape = String::new();
    for character in text.chars() {
        let class = match character {
            character if character.is_uppercase() => 'A',
            character if character.is_alphabetic() => 'a',
            character if character.is_ascii_digit() => '0',
            other => other,
        };
        if !shape.ends_with(class) || !class.is_alphanumeric() {
            shape.push(class);
        }
    }
    shape
}

#[derive(Clone)]
enum LeafMaker {
    Constant(Id),
    Term(crate::bank::TermId),
    Expression(Box<Expr>),
}

impl LeafMaker {
    /// The word that a constant is.
    fn label<'i>(&self, interner: &'i Interner) -> Option<&'i str> {
        match self {
            LeafMaker::Constant(id) => interner.text(*id),
            _ => None,
        }
    }
}

/// `if`, or what it comes to for truth values and for equal leaves.
fn branch(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    let truth = |expression: &Expr| match expression {
        Expr::Literal(Value::Bool(value)) => Some(*value),
        _ => None,
    };
    match (truth(&then), truth(&otherwise)) {
        (Some(true), Some(false)) => return condition,
        (Some(false), Some(true)) => return Expr::Call(Op::Not, vec![condition]),
        _ => {}
    }
    // if(a, x, if(b, x, y)) is if(or(a, b), x, y).
    if let Expr::Call(Op::If, inner) = &otherwise
        && let [next, same, rest] = inner.as_slice()
        && *same == then
    {
        let either = match next {
            Expr::Call(Op::Or, alternatives) => [vec![condition], alternatives.clone()].concat(),
            next => vec![condition, next.clone()],
        };
        return Expr::Call(Op::If, vec![Expr::Call(Op::Or, either), then, rest.clone()]);
    }
    Expr::Call(Op::If, vec![condition, then, otherwise])
}

/// How much two texts have in common at their ends.
fn alike(a: &str, b: &str) -> usize {
    let prefix = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let suffix = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    prefix + suffix
}
