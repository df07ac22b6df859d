//! Targets that are lists, or texts joined from lists: a source list of the bank goes
//! through filter, map, dedup, sort, reverse and a cut, each deduced from the target
//! where that is possible and tried where it is not.

use std::collections::BTreeSet;

use auto_json::Value;
use auto_lang::{Each, Expr, Op, literal_cost};

use crate::bank::{Bank, TermId};
use crate::constants::Constants;
use crate::predicates::{Predicate, Predicates};
use crate::rules;
use crate::solve::{Solution, Solver};
use crate::values::{Id, Interner, Kind, MAX_ROWS, UNDEFINED, all_rows};

/// Lists of the bank that are tried as sources, and the most they may cost.
const MAX_SOURCES: usize = 16;
const MAX_SOURCE_COST: u32 = 20;

/// The most bodies of `map` that are tried on one source.
const MAX_BODIES: usize = 12;

/// To what cost terms over an item are made.
const ITEM_COST: u32 = 13;

/// Longer texts are not taken for joined characters.
const MAX_CHARACTERS: usize = 24;

/// The longest lists that are solved item by item.
const MAX_POSITIONS: usize = 48;

/// Enough found.
const ENOUGH: usize = 3;

/// The name of the variable of a list, by how many lists it is inside of.
pub fn variable(depth: usize) -> &'static str {
    ["x", "y", "z"].get(depth.wrapping_sub(1)).copied().unwrap_or("w")
}

/// Finds expressions for a list target, or for a text target that was joined, from lists that
/// cost at least `dearer`.
pub fn solve(solver: &mut Solver, target: &[Id], dearer: u32) -> Vec<Solution> {
    if solver.depth >= 2 {
        return Vec::new();
    }
    if let Some(lists) = lists_of(target, solver.interner) {
        if let Some(segments) = solver.solve_segments(&lists) {
            return vec![segments];
        }
        let found = solve_lists(solver, &lists, target, dearer);
        return if found.is_empty() && dearer == 0 { solve_positions(solver, &lists) } else { found };
    }
    let texts: Option<Vec<String>> = target.iter().map(|&id| solver.interner.text(id).map(str::to_owned)).collect();
    let Some(texts) = texts else { return Vec::new() };
    let mut joiners = solver.constants.joiners.clone();
    // Initials, say: each character is an item.
    let short = |text: &String| text.chars().count() <= MAX_CHARACTERS;
    if !solver.is_choice(target) && texts.iter().all(short) && texts.iter().any(|text| text.chars().count() > 1) {
        joiners.push(String::new());
    }
    for joiner in joiners {
        if texts.iter().filter(|text| text.contains(&joiner)).count() * 2 < texts.len() {
            continue;
        }
        let parts = |text: &String| match text.as_str() {
            "" => Value::List(Vec::new()),
            text if joiner.is_empty() => Value::List(text.chars().map(|part| Value::from(part.to_string())).collect()),
            text => Value::List(text.split(&joiner).map(Value::from).collect()),
        };
        let column: Vec<Id> = texts.iter().map(|text| solver.interner.intern(parts(text))).collect();
        let Some(lists) = lists_of(&column, solver.interner) else { continue };
        let found = solve_lists(solver, &lists, &column, dearer);
        if !found.is_empty() {
            let separator = Value::from(joiner.as_str());
            let extra = Op::Join.info().cost + literal_cost(&separator);
            let join = |list: Expr| Expr::Call(Op::Join, vec![list, Expr::Literal(separator.clone())]);
            return found.into_iter().map(|(list, own)| (join(list), own + extra)).collect();
        }
    }
    Vec::new()
}

/// The items of each row, by number.
fn lists_of(column: &[Id], interner: &mut Interner) -> Option<Vec<Vec<Id>>> {
    let lists: Option<Vec<Vec<Value>>> =
        column.iter().map(|&id| interner.get(id).and_then(Value::as_list).map(<[Value]>::to_vec)).collect();
    let intern = |list: Vec<Value>| list.into_iter().map(|item| interner.intern(item)).collect();
    lists.map(|lists| lists.into_iter().map(intern).collect())
}

fn solve_lists(solver: &mut Solver, target: &[Vec<Id>], wanted: &[Id], dearer: u32) -> Vec<Solution> {
    let exact = solver.bank.lookup(wanted, solver.interner);
    if !exact.is_empty() {
        return exact;
    }
    let mut sources: Vec<TermId> = solver
        .bank
        .terms()
        .filter(|(_, term)| term.kind == Kind::List && term.total && term.varies)
        .filter(|(_, term)| (dearer..=MAX_SOURCE_COST).contains(&term.cost))
        .map(|(id, _)| id)
        .collect();
    sources.sort_by_key(|&id| solver.bank.term(id).cost);
    sources.truncate(MAX_SOURCES);
    let mut found = Vec::new();
    for source in sources {
        let column = solver.bank.column(source).to_vec();
        let Some(lists) = lists_of(&column, solver.interner) else { continue };
        let list = (solver.bank.expr(source, solver.interner), solver.bank.term(source).cost);
        let few = few_items(&lists);
        let pick = |all: &[Vec<Id>]| -> Vec<Vec<Id>> { few.iter().map(|&row| all[row].clone()).collect() };
        let mut solutions = Pipeline::new(solver, pick(&lists)).solve(&pick(target), &list);
        // What was found on some rows has to hold on all.
        solutions.retain(|(expression, _)| {
            let right = |(row, &id): (usize, &Id)| solver.value_at(expression, row).as_ref() == solver.interner.get(id);
            few.len() == lists.len() || wanted.iter().enumerate().all(right)
        });
        found.extend(solutions);
        if found.len() >= ENOUGH || solver.meter.spent() {
            break;
        }
    }
    found.sort_by_key(|(_, cost)| *cost);
    found
}

/// The rows, shortest lists first, whose distinct items together are few enough to be the
/// rows of a bank; in order.
fn few_items(lists: &[Vec<Id>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_by_key(|&row| lists[row].len());
    let mut distinct: BTreeSet<Id> = BTreeSet::new();
    let mut few = Vec::new();
    for row in order {
        let more = lists[row].iter().filter(|item| !distinct.contains(item)).count();
        if few.len() >= 2 && distinct.len() + more > MAX_ROWS {
            break;
        }
        distinct.extend(&lists[row]);
        few.push(row);
    }
    few.sort_unstable();
    few
}

/// Lists of one short length: item by item.
fn solve_positions(solver: &mut Solver, target: &[Vec<Id>]) -> Vec<Solution> {
    let length = target.first().map_or(0, Vec::len);
    if !(1..=MAX_POSITIONS).contains(&length) || target.iter().any(|list| list.len() != length) {
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut total = 4;
    for position in 0..length {
        let column: Vec<Id> = target.iter().map(|list| list[position]).collect();
        let outside = std::mem::replace(&mut solver.in_list, true);
        let found = solver.solve(&column, &format!("output/{position}"));
        solver.in_list = outside;
        let Some((expression, own)) = found.into_iter().next() else { return Vec::new() };
        items.push(expression);
        total += own;
    }
    vec![(Expr::List(items), total)]
}

/// One source list, and terms over its items.
struct Pipeline<'s, 'a> {
    solver: &'s mut Solver<'a>,
    /// The items of each row, as indices of `distinct`.
    lists: Vec<Vec<usize>>,
    distinct: Vec<Id>,
    bank: Bank,
    predicates: Predicates,
}

/// What is done after the map.
#[derive(Clone, Copy, Debug)]
struct Tail {
    dedup: bool,
    sort: bool,
    reverse: bool,
    cut: Cut,
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    None,
    Take(usize),
    Drop(usize),
}

impl<'s, 'a> Pipeline<'s, 'a> {
    fn new(solver: &'s mut Solver<'a>, source: Vec<Vec<Id>>) -> Pipeline<'s, 'a> {
        let mut distinct: Vec<Id> = Vec::new();
        let lists =
            source.iter().map(|list| list.iter().map(|&item| index_of(item, &mut distinct)).collect()).collect();
        let bank = item_bank(solver, &distinct);
        let predicates = Predicates::make(&bank, solver.interner, solver.meter);
        Pipeline { solver, lists, distinct, bank, predicates }
    }

    fn solve(mut self, target: &[Vec<Id>], list: &Solution) -> Vec<Solution> {
        let mut found = Vec::new();
        for (body, mapped) in self.bodies(target) {
            found.extend(self.through_map(target, list, body, &mapped));
            if found.len() >= ENOUGH || self.solver.meter.spent() {
                return found;
            }
        }
        if found.is_empty() {
            found.extend(self.learned(target, list));
        }
        found
    }

    /// Bodies whose values include every wanted item: the item itself, then terms over
    /// it; with the value for each distinct item.
    fn bodies(&mut self, target: &[Vec<Id>]) -> Vec<(Option<TermId>, Vec<Id>)> {
        let mut bodies = Vec::new();
        if self.includes(target, &self.distinct) {
            bodies.push((None, self.distinct.clone()));
        }
        // Where more items are distinct than a bank has rows, only the item itself is tried.
        if self.distinct.len() == self.bank.rows() {
            for (id, term) in self.bank.terms() {
                let mapped = self.bank.column(id);
                if !self.solver.meter.take(self.lists.len()) {
                    break;
                }
                if term.total && mapped != self.distinct && self.includes(target, mapped) {
                    bodies.push((Some(id), mapped.to_vec()));
                }
            }
        }
        bodies.sort_by_key(|(body, _)| body.map_or(0, |id| self.bank.term(id).cost));
        bodies.truncate(MAX_BODIES);
        bodies
    }

    fn includes(&self, target: &[Vec<Id>], mapped: &[Id]) -> bool {
        let has = |list: &Vec<usize>, item: &Id| list.iter().any(|&at| mapped[at] == *item);
        self.lists.iter().zip(target).all(|(list, wanted)| wanted.iter().all(|item| has(list, item)))
    }

    /// Tries every filter, on the mapped items and before the map, with every tail.
    fn through_map(
        &mut self,
        target: &[Vec<Id>],
        list: &Solution,
        body: Option<TermId>,
        mapped: &[Id],
    ) -> Vec<Solution> {
        let mut found = Vec::new();
        // Every tail is tried on every item.
        self.solver.meter.take(8 * self.lists.iter().map(Vec::len).sum::<usize>());
        let all: Vec<Vec<Id>> = self.lists.iter().map(|list| list.iter().map(|&at| mapped[at]).collect()).collect();
        let map = |solver: &Solver, bank: &Bank, (list, own): Solution| match body {
            None => (list, own),
            Some(id) => {
                let own = own + Each::Map.cost() + bank.term(id).cost;
                (each(Each::Map, list, solver.depth + 1, bank.expr(id, solver.interner)), own)
            }
        };
        for tail in self.tails(&all, target) {
            found.push(finish(map(self.solver, &self.bank, list.clone()), tail));
        }
        if !found.is_empty() {
            return found;
        }
        // Filters on the mapped items read better, so they come first.
        if body.is_some() {
            let mut values = Vec::new();
            let positions: Vec<Vec<usize>> =
                all.iter().map(|list| list.iter().map(|&item| index_of(item, &mut values)).collect()).collect();
            let bank = item_bank(self.solver, &values);
            let predicates = Predicates::make(&bank, self.solver.interner, self.solver.meter);
            for (predicate, tail) in self.filters(&predicates, &positions, &values, target) {
                let test = predicates.expr(&predicate, &bank, self.solver.interner);
                let (inner, own) = map(self.solver, &self.bank, list.clone());
                let own = own + Each::Filter.cost() + predicate.cost;
                found.push(finish((each(Each::Filter, inner, self.solver.depth + 1, test), own), tail));
            }
            if !found.is_empty() {
                return found;
            }
        }
        let lists = self.lists.clone();
        let predicates = std::mem::replace(&mut self.predicates, Predicates::none());
        for (predicate, tail) in self.filters(&predicates, &lists, mapped, target) {
            let test = predicates.expr(&predicate, &self.bank, self.solver.interner);
            let own = list.1 + Each::Filter.cost() + predicate.cost;
            let filtered = each(Each::Filter, list.0.clone(), self.solver.depth + 1, test);
            found.push(finish(map(self.solver, &self.bank, (filtered, own)), tail));
        }
        self.predicates = predicates;
        found
    }

    /// The predicates that, with some tail, leave the target; `values` are by position.
    fn filters(
        &mut self,
        predicates: &Predicates,
        positions: &[Vec<usize>],
        values: &[Id],
        target: &[Vec<Id>],
    ) -> Vec<(Predicate, Tail)> {
        let mut found = Vec::new();
        if values.len() > MAX_ROWS {
            return found;
        }
        for predicate in rules::extended(&predicates.all, 0, all_rows(values.len())) {
            if found.len() >= ENOUGH || !self.solver.meter.take(4 * positions.len()) {
                break;
            }
            let keep = |list: &Vec<usize>| -> Vec<Id> {
                list.iter().filter(|&&at| predicate.rows >> at & 1 == 1).map(|&at| values[at]).collect()
            };
            let kept: Vec<Vec<Id>> = positions.iter().map(keep).collect();
            let lacks = kept.iter().zip(target).any(|(kept, wanted)| wanted.iter().any(|item| !kept.contains(item)));
            if lacks {
                continue;
            }
            if let Some(tail) = self.tails(&kept, target).into_iter().next() {
                found.push((predicate, tail));
            }
        }
        found.sort_by_key(|(predicate, tail)| predicate.cost + tail.cost());
        found
    }

    /// The tails that make `lists` into the target, cheapest first.
    fn tails(&self, lists: &[Vec<Id>], target: &[Vec<Id>]) -> Vec<Tail> {
        let mut found = Vec::new();
        for dedup in [false, true] {
            for (sort, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
                let order = |list: &Vec<Id>| self.ordered(list, dedup, sort, reverse);
                let ordered: Option<Vec<Vec<Id>>> = lists.iter().map(order).collect();
                if let Some(cut) = ordered.and_then(|ordered| cut(&ordered, target)) {
                    found.push(Tail { dedup, sort, reverse, cut });
                }
            }
        }
        found.sort_by_key(Tail::cost);
        // Where one does, a dearer one is the same by chance.
        found.truncate(1);
        found
    }

    fn ordered(&self, list: &[Id], dedup: bool, sort: bool, reverse: bool) -> Option<Vec<Id>> {
        let mut ordered = Vec::with_capacity(list.len());
        for &item in list {
            if !dedup || !ordered.contains(&item) {
                ordered.push(item);
            }
        }
        if sort {
            let kinds: Vec<Kind> = ordered.iter().map(|&item| self.solver.interner.kind(item)).collect();
            let sortable = |kind: &Kind| matches!(kind, Kind::Text | Kind::Number) && *kind == kinds[0];
            if !kinds.iter().all(sortable) {
                return None;
            }
            ordered.sort_by(|&a, &b| self.solver.interner.get(a).cmp(&self.solver.interner.get(b)));
        }
        if reverse {
            ordered.reverse();
        }
        Some(ordered)
    }

    /// A filter or a body that takes a search of its own: items kept by rules, or items
    /// mapped one to one.
    fn learned(&mut self, target: &[Vec<Id>], list: &Solution) -> Vec<Solution> {
        if self.distinct.len() > MAX_ROWS {
            return Vec::new();
        }
        let same_length = self.lists.iter().zip(target).all(|(list, wanted)| list.len() == wanted.len());
        let (which, column) =
            if same_length { (Each::Map, self.one_to_one(target)) } else { (Each::Filter, self.kept(target)) };
        let Some(column) = column else { return Vec::new() };
        let depth = self.solver.depth + 1;
        let roots = item_roots(self.solver.interner, &self.distinct, depth);
        let constants = item_constants(self.solver.interner, &self.distinct, &column);
        let mut inner = Solver::new(&mut *self.solver.interner, &mut *self.solver.meter, roots, constants, depth);
        let bodies = inner.solve(&column, "/item");
        let wrap = |(body, own): Solution| (each(which, list.0.clone(), depth, body), list.1 + which.cost() + own);
        bodies.into_iter().map(wrap).collect()
    }

    /// What each distinct item became, if always the same.
    fn one_to_one(&self, target: &[Vec<Id>]) -> Option<Vec<Id>> {
        let mut column = vec![UNDEFINED; self.distinct.len()];
        for (list, wanted) in self.lists.iter().zip(target) {
            for (&at, &item) in list.iter().zip(wanted) {
                if column[at] != UNDEFINED && column[at] != item {
                    return None;
                }
                column[at] = item;
            }
        }
        Some(column)
    }

    /// Whether each distinct item was kept, if always the same.
    fn kept(&mut self, target: &[Vec<Id>]) -> Option<Vec<Id>> {
        let mut column: Vec<Option<bool>> = vec![None; self.distinct.len()];
        for (list, wanted) in self.lists.iter().zip(target) {
            for &at in list {
                let kept = wanted.contains(&self.distinct[at]);
                if column[at].is_some_and(|before| before != kept) {
                    return None;
                }
                column[at] = Some(kept);
            }
            let left: Vec<Id> =
                list.iter().filter(|&&at| column[at] == Some(true)).map(|&at| self.distinct[at]).collect();
            if left != *wanted {
                return None;
            }
        }
        let interner = &mut *self.solver.interner;
        Some(column.into_iter().map(|kept| interner.intern(Value::Bool(kept == Some(true)))).collect())
    }
}

impl Tail {
    fn cost(&self) -> u32 {
        let op = |op: Op, used: bool| if used { op.info().cost } else { 0 };
        let cut = match self.cut {
            Cut::None => 0,
            Cut::Take(count) => Op::Take.info().cost + literal_cost(&Value::from(count)),
            Cut::Drop(count) => Op::Drop.info().cost + literal_cost(&Value::from(count)),
        };
        op(Op::Dedup, self.dedup) + op(Op::Sort, self.sort) + op(Op::Reverse, self.reverse) + cut
    }
}

/// The cut after which every list is its target.
fn cut(lists: &[Vec<Id>], target: &[Vec<Id>]) -> Option<Cut> {
    if lists == target {
        return Some(Cut::None);
    }
    let pairs = || lists.iter().zip(target);
    let most = target.iter().map(Vec::len).max()?;
    if most > 0 && pairs().all(|(list, wanted)| list[..list.len().min(most)] == wanted[..]) {
        return Some(Cut::Take(most));
    }
    let dropped = pairs().map(|(list, wanted)| list.len().saturating_sub(wanted.len())).max()?;
    let suffix = |(list, wanted): (&Vec<Id>, &Vec<Id>)| list[list.len().min(dropped)..] == wanted[..];
    (dropped > 0 && most > 0 && pairs().all(suffix)).then_some(Cut::Drop(dropped))
}

fn finish((mut list, own): Solution, tail: Tail) -> Solution {
    for (op, used) in [(Op::Dedup, tail.dedup), (Op::Sort, tail.sort), (Op::Reverse, tail.reverse)] {
        if used {
            list = Expr::Call(op, vec![list]);
        }
    }
    let count = |count: usize| Expr::Literal(Value::from(count));
    list = match tail.cut {
        Cut::None => list,
        Cut::Take(taken) => Expr::Call(Op::Take, vec![list, count(taken)]),
        Cut::Drop(dropped) => Expr::Call(Op::Drop, vec![list, count(dropped)]),
    };
    (list, own + tail.cost())
}

fn each(each: Each, list: Expr, depth: usize, body: Expr) -> Expr {
    Expr::Each { each, list: Box::new(list), variable: variable(depth).to_owned(), body: Box::new(body) }
}

fn index_of(item: Id, distinct: &mut Vec<Id>) -> usize {
    distinct.iter().position(|&own| own == item).unwrap_or_else(|| {
        distinct.push(item);
        distinct.len() - 1
    })
}

/// Terms over the distinct items, as many as make rows.
fn item_bank(solver: &mut Solver, distinct: &[Id]) -> Bank {
    let items = &distinct[..distinct.len().min(MAX_ROWS)];
    let roots = item_roots(solver.interner, items, solver.depth + 1);
    let constants = item_constants(solver.interner, items, &[]);
    let mut bank = Bank::new(items.len(), roots, solver.interner);
    bank.grow(ITEM_COST, &constants, solver.interner, solver.meter);
    bank
}

fn item_roots(interner: &mut Interner, items: &[Id], depth: usize) -> Vec<(Expr, Vec<Id>)> {
    crate::search::roots(Expr::Variable(variable(depth).to_owned()), items.to_vec(), interner)
}

fn item_constants(interner: &mut Interner, items: &[Id], target: &[Id]) -> Constants {
    let outputs: Vec<Value> = target.iter().filter_map(|&id| interner.get(id).cloned()).collect();
    let roots = item_roots(interner, items, 1);
    let columns: Vec<Vec<Id>> = roots.into_iter().map(|(_, column)| column).collect();
    crate::search::mine(&columns, &outputs.iter().collect::<Vec<_>>(), interner)
}
