//! The bank: terms built bottom-up in order of cost, one for each distinct column of
//! values over the examples (observational equivalence), with the next cheapest kept as
//! alternates.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use auto_json::Value;
use auto_lang::{Expr, Op, apply, literal_cost};

use crate::constants::Constants;
use crate::search::is_made;
use crate::values::{Id, Interner, Kind, Meter, Passthrough, Rows, UNDEFINED, hash_column};

/// A term, by number.
pub type TermId = u32;

/// What a field access adds to a cost.
const FIELD_COST: u32 = 2;

/// What a root costs at most, of few and of many: which of them it is, not how it is reached. So
/// what relates two nested fields is found where it would be of two that are not.
const ROOT_COST: (u32, u32) = (4, 6);

/// What a root costs at most on top of that if it is made of a table's rows.
const MADE_COST: u32 = 3;

/// What a part of a program that the search started from costs at most.
const MAX_GIVEN_COST: u32 = 10;

/// What a mined constant costs at most.
const MAX_MINED_COST: u32 = 5;

/// The most alternates kept for one column.
const MAX_ALTERNATES: usize = 3;

/// The most terms a bank holds.
const MAX_TERMS: usize = 60_000;

/// Terms above this cost are not paired with each other.
const MAX_PAIR_COST: u32 = 9;

/// How a term is made.
#[derive(Clone, Copy, Debug)]
enum Node {
    Root(u32),
    /// A part of a program that the search started from.
    Given(u32),
    Field(TermId, u32),
    /// An operator on a term and up to two constants, or on two terms.
    Call(Op, TermId, Argument, Argument),
}

#[derive(Clone, Copy, Debug)]
enum Argument {
    None,
    Constant(Id),
    Term(TermId),
}

/// A term of the bank.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    node: Node,
    /// Description length.
    pub cost: u32,
    /// The kind of its values where it has them and they are not null.
    pub kind: Kind,
    /// Whether it has a value of its kind in every row.
    pub total: bool,
    /// Whether its values differ; one that never varies explains nothing.
    pub varies: bool,
}

/// Terms over some rows.
pub struct Bank {
    rows: usize,
    roots: Vec<Expr>,
    keys: Vec<String>,
    terms: Vec<Term>,
    columns: Vec<Id>,
    by_cost: Vec<Vec<TermId>>,
    heads: HashMap<u64, TermId, BuildHasherDefault<Passthrough>>,
    alternates: HashMap<TermId, Vec<(Node, u32)>>,
    grown: u32,
    full: bool,
}

/// From so many words on a text is prose.
const PROSE_WORDS: usize = 5;

impl Bank {
    /// A bank of the roots: expressions with their columns.
    pub fn new(rows: usize, roots: Vec<(Expr, Vec<Id>)>, interner: &Interner) -> Bank {
        let mut bank = Bank {
            rows,
            roots: Vec::new(),
            keys: Vec::new(),
            terms: Vec::new(),
            columns: Vec::new(),
            by_cost: Vec::new(),
            heads: HashMap::default(),
            alternates: HashMap::new(),
            grown: 0,
            full: false,
        };
        let most = (usize::BITS - roots.len().leading_zeros()).saturating_sub(2).clamp(ROOT_COST.0, ROOT_COST.1);
        for (expression, column) in roots {
            let node = Node::Root(bank.roots.len() as u32);
            let made = if is_made(&expression) { MADE_COST } else { 0 };
            let cost = auto_lang::cost(&expression).min(most + made);
            bank.roots.push(expression);
            bank.add(node, cost, &column, interner);
        }
        bank
    }

    /// Adds an expression that is not there yet, as cheap as it may be.
    pub fn give(&mut self, expression: Expr, column: &[Id], interner: &Interner) {
        let cost = auto_lang::cost(&expression).min(MAX_GIVEN_COST);
        let node = Node::Given(self.roots.len() as u32);
        self.roots.push(expression);
        self.add(node, cost, column, interner);
    }

    /// How many rows its columns have.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All terms, in the order they were made, which is by cost once grown.
    pub fn terms(&self) -> impl Iterator<Item = (TermId, &Term)> {
        self.terms.iter().enumerate().map(|(index, term)| (index as TermId, term))
    }

    /// A term.
    pub fn term(&self, id: TermId) -> &Term {
        &self.terms[id as usize]
    }

    /// Its values, one per row.
    pub fn column(&self, id: TermId) -> &[Id] {
        let start = id as usize * self.rows;
        &self.columns[start..start + self.rows]
    }

    /// Whether it stopped growing for lack of room rather than of cost.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether a term takes values out of the input and does nothing else.
    pub fn is_source(&self, id: TermId) -> bool {
        match self.term(id).node {
            Node::Root(_) | Node::Field(..) => true,
            Node::Call(Op::First | Op::Last | Op::Nth, list, ..) => {
                matches!(self.term(list).node, Node::Root(_) | Node::Field(..))
            }
            Node::Call(..) | Node::Given(_) => false,
        }
    }

    /// Whether the term counts what texts of several words consist of, or the digits of numbers.
    pub fn is_size_of_text(&self, id: TermId, interner: &Interner) -> bool {
        let of = match self.term(id).node {
            Node::Call(Op::Chars, of, ..) => of,
            Node::Call(Op::Count, of, ..) => match self.term(of).node {
                Node::Call(_, inner, ..) => inner,
                _ => return false,
            },
            _ => return false,
        };
        let texts: Vec<&str> = self.column(of).iter().filter_map(|&id| interner.text(id)).collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let words = texts.iter().filter(|text| text.trim().contains(' ')).count();
        let numbers = texts.iter().filter(|text| is_number(text)).count();
        2 * words > texts.len() || 2 * numbers > texts.len()
    }

    /// Whether it is made by an operator.
    pub fn is_call(&self, id: TermId, op: Op) -> bool {
        matches!(self.term(id).node, Node::Call(own, ..) if own == op)
    }

    /// Whether it is a part of a text that mostly has several words.
    pub fn is_part_of_prose(&self, id: TermId, interner: &Interner) -> bool {
        let Node::Call(_, mut of, ..) = self.term(id).node else { return false };
        while let Node::Call(_, inner, ..) = self.term(of).node {
            of = inner;
        }
        let texts: Vec<&str> = self.column(of).iter().filter_map(|&id| interner.text(id)).collect();
        let prose = texts.iter().filter(|text| text.split_whitespace().count() >= PROSE_WORDS).count();
        2 * prose > texts.len()
    }

    /// The terms whose column is `target`, cheapest first, as expressions with costs.
    pub fn lookup(&self, target: &[Id], interner: &Interner) -> Vec<(Expr, u32)> {
        let Some(id) = self.find(target) else { return Vec::new() };
        let mut found = vec![(self.expr(id, interner), self.term(id).cost)];
        for (node, cost) in self.alternates.get(&id).into_iter().flatten() {
            found.push((self.node_expr(node, interner), *cost));
        }
        found.sort_by_key(|(_, cost)| *cost);
        found
    }

    /// The term with that column.
    pub fn find(&self, target: &[Id]) -> Option<TermId> {
        let id = self.heads.get(&hash_column(target)).copied()?;
        (self.column(id) == target).then_some(id)
    }

    /// The rows in which the term has the target's value.
    pub fn matches(&self, id: TermId, target: &[Id]) -> Rows {
        let pairs = self.column(id).iter().zip(target).enumerate();
        pairs.filter(|(_, (own, wanted))| own == wanted).fold(0, |set, (row, _)| set | 1 << row)
    }

    /// The roots with their columns, as far as they are terms.
    pub fn roots(&self) -> Vec<(Expr, &[Id])> {
        let root = |(id, term): (TermId, &Term)| match term.node {
            Node::Root(root) => Some((self.roots[root as usize].clone(), self.column(id))),
            _ => None,
        };
        self.terms().filter_map(root).collect()
    }

    /// The rows in which the term has a value.
    pub fn defined(&self, id: TermId) -> Rows {
        let values = self.column(id).iter().enumerate();
        values.filter(|(_, value)| **value != UNDEFINED).fold(0, |set, (row, _)| set | 1 << row)
    }

    /// A term as an expression.
    pub fn expr(&self, id: TermId, interner: &Interner) -> Expr {
        self.node_expr(&self.terms[id as usize].node, interner)
    }

    fn node_expr(&self, node: &Node, interner: &Interner) -> Expr {
        match *node {
            Node::Root(root) | Node::Given(root) => self.roots[root as usize].clone(),
            Node::Field(of, key) => self.expr(of, interner).field(self.keys[key as usize].as_str()),
            Node::Call(op, first, second, third) => {
                let mut arguments = vec![self.expr(first, interner)];
                for argument in [second, third] {
                    match argument {
                        Argument::None => {}
                        Argument::Constant(id) => {
                            arguments.push(Expr::Literal(interner.get(id).cloned().unwrap_or(Value::Null)));
                        }
                        Argument::Term(id) => arguments.push(self.expr(id, interner)),
                    }
                }
                Expr::Call(op, arguments)
            }
        }
    }

    /// Adds all terms of a cost up to `limit`. False when the meter ran out.
    pub fn grow(&mut self, limit: u32, constants: &Constants, interner: &mut Interner, meter: &mut Meter) -> bool {
        while self.grown < limit && !self.full {
            self.grown += 1;
            if !self.grow_to(self.grown, constants, interner, meter) {
                return false;
            }
        }
        !meter.spent()
    }

    fn grow_to(&mut self, cost: u32, constants: &Constants, interner: &mut Interner, meter: &mut Meter) -> bool {
        for rule in &constants.rules {
            let Some(parents) = cost.checked_sub(rule.cost) else { continue };
            for parent in self.of_cost(parents, rule.of) {
                let (second, third) = (argument(rule.second), argument(rule.third));
                if !self.call(rule.op, [Argument::Term(parent), second, third], cost, interner, meter) {
                    return false;
                }
            }
        }
        self.grow_fields(cost, interner, meter) && self.grow_pairs(cost, interner, meter)
    }

    /// Fields of records that are not paths from the input.
    fn grow_fields(&mut self, cost: u32, interner: &mut Interner, meter: &mut Meter) -> bool {
        let Some(parents) = cost.checked_sub(FIELD_COST) else { return true };
        for parent in self.of_cost(parents, Kind::Record) {
            if matches!(self.term(parent).node, Node::Root(_)) {
                continue;
            }
            let first = self.column(parent).iter().find_map(|&id| interner.get(id).and_then(Value::as_record));
            let keys: Vec<String> =
                first.into_iter().flat_map(|record| record.iter()).map(|(key, _)| key.to_owned()).collect();
            for key in keys.into_iter().take(32) {
                if !meter.take(self.rows) {
                    return false;
                }
                let column: Vec<Id> = (0..self.rows)
                    .map(|row| {
                        let value = interner.get(self.column(parent)[row]).and_then(|value| value.get(&key)).cloned();
                        interner.intern_option(value)
                    })
                    .collect();
                let index = self.keys.iter().position(|own| *own == key).unwrap_or(self.keys.len());
                if index == self.keys.len() {
                    self.keys.push(key);
                }
                self.add(Node::Field(parent, index as u32), cost, &column, interner);
            }
        }
        true
    }

    /// Operators on two terms, for cheap terms only.
    fn grow_pairs(&mut self, cost: u32, interner: &mut Interner, meter: &mut Meter) -> bool {
        const PAIRS: [(Op, Kind, Kind, bool); 15] = [
            (Op::Before, Kind::Text, Kind::Text, false),
            (Op::After, Kind::Text, Kind::Text, false),
            (Op::Split, Kind::Text, Kind::Text, false),
            (Op::Add, Kind::Number, Kind::Number, true),
            (Op::Sub, Kind::Number, Kind::Number, false),
            (Op::Mul, Kind::Number, Kind::Number, true),
            (Op::Lt, Kind::Number, Kind::Number, false),
            (Op::Eq, Kind::Number, Kind::Number, true),
            (Op::Eq, Kind::Text, Kind::Text, true),
            (Op::Contains, Kind::Text, Kind::Text, false),
            (Op::Starts, Kind::Text, Kind::Text, false),
            (Op::Ends, Kind::Text, Kind::Text, false),
            (Op::Nth, Kind::List, Kind::Number, false),
            (Op::Includes, Kind::List, Kind::Text, false),
            (Op::Includes, Kind::List, Kind::Number, false),
        ];
        for (op, left, right, symmetric) in PAIRS {
            let Some(both) = cost.checked_sub(op.info().cost) else { continue };
            for left_cost in 1..both.min(MAX_PAIR_COST + 1) {
                let right_cost = both - left_cost;
                if right_cost > MAX_PAIR_COST {
                    continue;
                }
                for a in self.pairable(left_cost, left) {
                    for b in self.pairable(right_cost, right) {
                        let arguments = [Argument::Term(a), Argument::Term(b), Argument::None];
                        let skip = a == b || (symmetric && a > b);
                        if !skip && !self.call(op, arguments, cost, interner, meter) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    fn of_cost(&self, cost: u32, kind: Kind) -> Vec<TermId> {
        let terms = self.by_cost.get(cost as usize).into_iter().flatten();
        terms.copied().filter(|&id| self.term(id).kind == kind && self.term(id).varies).collect()
    }

    /// [`Bank::of_cost`] with the roots that never vary: an argument may be the same in all
    /// examples.
    fn pairable(&self, cost: u32, kind: Kind) -> Vec<TermId> {
        let terms = self.by_cost.get(cost as usize).into_iter().flatten();
        let usable = |term: &Term| term.varies || matches!(term.node, Node::Root(_));
        terms.copied().filter(|&id| self.term(id).kind == kind && usable(self.term(id))).collect()
    }

    fn call(
        &mut self,
        op: Op,
        arguments: [Argument; 3],
        cost: u32,
        interner: &mut Interner,
        meter: &mut Meter,
    ) -> bool {
        if !meter.take(self.rows) {
            return false;
        }
        let mut column = Vec::with_capacity(self.rows);
        let mut bytes = 0;
        for row in 0..self.rows {
            let id_of = |argument: Argument| match argument {
                Argument::None => None,
                Argument::Constant(id) => Some(id),
                Argument::Term(term) => Some(self.column(term)[row]),
            };
            let ids = arguments.map(id_of);
            bytes += ids[0].and_then(|first| interner.text(first)).map_or(0, str::len);
            let value = match ids {
                [Some(a), None, _] => interner.get(a).and_then(|a| apply(op, &[a])),
                [Some(a), Some(b), None] => match (interner.get(a), interner.get(b)) {
                    (Some(a), Some(b)) => apply(op, &[a, b]),
                    _ => None,
                },
                [Some(a), Some(b), Some(c)] => match (interner.get(a), interner.get(b), interner.get(c)) {
                    (Some(a), Some(b), Some(c)) => apply(op, &[a, b, c]),
                    _ => None,
                },
                _ => None,
            };
            column.push(interner.intern_option(value));
        }
        // Long texts take their time, and room.
        meter.take(bytes / 32);
        if let Argument::Term(first) = arguments[0] {
            self.add(Node::Call(op, first, arguments[1], arguments[2]), cost, &column, interner);
        }
        true
    }

    /// Adds a term unless its column is known or says nothing.
    fn add(&mut self, node: Node, cost: u32, column: &[Id], interner: &Interner) {
        // What may be null is of the kind that it has elsewhere.
        let valued = |&&id: &&Id| id != UNDEFINED && interner.kind(id) != Kind::Null;
        let some = column.iter().filter(valued).count();
        let Some(&first) = column.iter().find(valued).or(column.iter().find(|&&id| id != UNDEFINED)) else { return };
        let kind = interner.kind(first);
        let defined = if kind == Kind::Null { column.iter().filter(|&&id| id != UNDEFINED).count() } else { some };
        if defined * 4 < column.len() || column.iter().filter(valued).any(|&id| interner.kind(id) != kind) {
            return;
        }
        let hash = hash_column(column);
        if let Some(&known) = self.heads.get(&hash) {
            if self.column(known) == column {
                let alternates = self.alternates.entry(known).or_default();
                if alternates.len() < MAX_ALTERNATES {
                    alternates.push((node, cost));
                }
            }
            return;
        }
        if self.terms.len() >= MAX_TERMS {
            self.full = true;
            return;
        }
        let varies = column.iter().any(|&id| id != UNDEFINED && id != first);
        let id = self.terms.len() as TermId;
        self.terms.push(Term { node, cost, kind, total: defined == column.len(), varies });
        self.columns.extend_from_slice(column);
        self.heads.insert(hash, id);
        let slot = cost as usize;
        if self.by_cost.len() <= slot {
            self.by_cost.resize_with(slot + 1, Vec::new);
        }
        self.by_cost[slot].push(id);
    }
}

fn argument(constant: Option<Id>) -> Argument {
    constant.map_or(Argument::None, Argument::Constant)
}

/// The cost of an operator on a term and constants, without the term's.
pub fn rule_cost(op: Op, second: Option<&Value>, third: Option<&Value>) -> u32 {
    // What was mined from the examples is one of few, however long it is.
    let own = |value: &Value| match value.as_number().and_then(auto_json::Number::as_i64) {
        Some(index) => (1 + index.unsigned_abs().min(9) as u32).min(literal_cost(value)),
        None => literal_cost(value).min(MAX_MINED_COST),
    };
    op.info().cost + second.map_or(0, own) + third.map_or(0, own)
}
