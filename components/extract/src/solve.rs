//! Solving one target: the column of values that an expression must have. Objects fall
//! apart into their fields, lists into their items, texts into parts; what is left is
//! looked up in the bank or decided by rules.

use auto_json::Value;
use auto_lang::{Expr, Op, cost};

use crate::bank::Bank;
use crate::constants::Constants;
use crate::dates::DateSource;
use crate::numbers::NumberSource;
use crate::positions::Source;
use crate::predicates::Predicates;
use crate::values::{Id, Interner, Meter, UNDEFINED, all_rows};

mod branches;
mod leaves;
mod parts;

/// An expression that has the wanted column, and its cost.
pub type Solution = (Expr, u32);

/// The costs to which the bank is grown, one after the other.
const LEVELS: [u32; 8] = [13, 17, 21, 25, 29, 33, 37, 41];

/// What a program over a list costs that is not taken at once.
const MANY_STEPS: u32 = 40;

/// What a program costs that is not looked for in parts.
const CHEAP: u32 = 11;

/// The level at which decisions are tried, before dearer terms.
const BRANCH_LEVEL: usize = 3;

/// The levels at which lists are looked for: with the cheapest sources, then with the others.
const LIST_LEVELS: [usize; 2] = [0, 2];

/// The most solutions kept for one target.
const KEEP: usize = 4;

/// What a search works with.
pub struct Solver<'a> {
    /// All values.
    pub interner: &'a mut Interner,
    /// The budget.
    pub meter: &'a mut Meter,
    /// The terms.
    pub bank: Bank,
    /// What the bank grows by.
    pub constants: Constants,
    /// The input of each row, or the item inside a list.
    inputs: Vec<Id>,
    /// How many lists this search is inside of.
    pub depth: usize,
    /// Why something was not found.
    pub notes: Vec<String>,
    /// Targets solved already, as parts for others.
    solved: Vec<(Vec<Id>, Expr, u32)>,
    /// The rules of a decision list that fitted but did not pay for itself, the bits it
    /// takes and those it explains.
    unpaid: Option<(usize, u64, u64)>,
    predicates: Option<Predicates>,
    /// Texts that parts are cut from, once they were asked for.
    sources: Option<Vec<Source>>,
    /// Numbers that may be printed; made anew when the bank has grown.
    numbers: Option<Vec<NumberSource>>,
    /// Dates that may be printed.
    dates: Option<Vec<DateSource>>,
    level: usize,
    most_levels: usize,
    /// Whether this is the search of an exception.
    nested: bool,
    /// Whether the target is an item of a list of fixed length.
    pub in_list: bool,
    /// Whether there are parts of a program that the search started from.
    has_given: bool,
    /// How many rows a decision may be wrong in.
    pub slack: u32,
}

impl<'a> Solver<'a> {
    /// A search over the roots.
    pub fn new(
        interner: &'a mut Interner,
        meter: &'a mut Meter,
        roots: Vec<(Expr, Vec<Id>)>,
        constants: Constants,
        depth: usize,
    ) -> Solver<'a> {
        let inputs = roots.first().map_or(Vec::new(), |(_, column)| column.clone());
        let bank = Bank::new(inputs.len(), roots, interner);
        // Inside a list there are more rows and less to find.
        let most_levels = if depth == 0 { LEVELS.len() } else { 3 };
        Solver {
            interner,
            meter,
            bank,
            constants,
            inputs,
            depth,
            notes: Vec::new(),
            solved: Vec::new(),
            unpaid: None,
            predicates: None,
            sources: None,
            numbers: None,
            dates: None,
            level: 0,
            most_levels,
            nested: false,
            in_list: false,
            has_given: false,
            slack: 0,
        }
    }

    /// Takes an expression for a term that is there from the beginning.
    pub fn begin_with(&mut self, expression: Expr, values: Vec<Option<Value>>) {
        let column: Vec<Id> = values.into_iter().map(|value| self.interner.intern_option(value)).collect();
        self.bank.give(expression, &column, self.interner);
        self.has_given = true;
    }

    /// Whether the bank was searched as far as this search goes.
    pub fn exhausted(&self) -> bool {
        self.level >= self.most_levels && !self.meter.spent() && !self.bank.is_full()
    }

    /// The cheapest expressions with the wanted column; `place` is for notes.
    pub fn solve(&mut self, target: &[Id], place: &str) -> Vec<Solution> {
        let Some(&first) = target.first() else { return Vec::new() };
        if target.iter().all(|&id| id == first) {
            let value = self.interner.get(first).cloned().unwrap_or(Value::Null);
            let constant = Expr::constant(&value);
            let own = cost(&constant);
            return vec![(constant, own)];
        }
        if target == self.inputs.as_slice() {
            let whole = match self.depth {
                0 => Expr::Input,
                depth => Expr::Variable(crate::lists::variable(depth).to_owned()),
            };
            return vec![(whole, 1)];
        }
        self.unpaid = None;
        let mut found = self.solve_record(target, place).unwrap_or_else(|| self.solve_leaf(target));
        found.sort_by_key(|(_, cost)| *cost);
        found.dedup_by(|a, b| a.0 == b.0);
        found.truncate(KEEP);
        match found.first() {
            Some((expression, own)) => self.solved.push((target.to_vec(), expression.clone(), *own)),
            None => self.note(target, place),
        }
        found
    }

    fn note(&mut self, target: &[Id], place: &str) {
        if self.depth > 0 || self.notes.iter().any(|note| note.starts_with(place)) {
            return;
        }
        let mut distinct: Vec<Id> = target.to_vec();
        distinct.sort_unstable();
        let once = distinct.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).count();
        distinct.dedup();
        let why = if self.meter.spent() {
            "the budget of steps ran out".to_owned()
        } else if let Some((rules, taken, explained)) = self.unpaid {
            format!(
                "{rules} rules fit, but they take {taken} bits to say and explain {explained}, \
                 so they are a table of the examples; record more"
            )
        } else if once > 0 && distinct.len() <= target.len() / 2 {
            "a value seen once cannot be told from chance, and a branch for it alone would be a table; \
             record more of its kind"
                .to_owned()
        } else {
            "no program within the limits gives all outputs, and a branch for each example would be a table".to_owned()
        };
        self.notes.push(format!("{place}: nothing found for {} distinct outputs: {why}", distinct.len()));
    }

    /// Field by field, where all are objects of the same keys.
    fn solve_record(&mut self, target: &[Id], place: &str) -> Option<Vec<Solution>> {
        let records: Option<Vec<_>> =
            target.iter().map(|&id| self.interner.get(id).and_then(Value::as_record).cloned()).collect();
        let records = records?;
        let keys: Vec<String> = records.first()?.iter().map(|(key, _)| key.to_owned()).collect();
        let same = |record: &auto_json::Record| record.iter().map(|(key, _)| key).eq(keys.iter().map(String::as_str));
        if keys.is_empty() || !records.iter().all(same) {
            return None;
        }
        let whole = self.lookup(target);
        if !whole.is_empty() {
            return Some(whole);
        }
        let columns: Vec<Vec<Id>> = keys
            .iter()
            .map(|key| {
                let values = records.iter().map(|record| record.get(key).cloned());
                values.map(|value| self.interner.intern_option(value)).collect()
            })
            .collect();
        // Short and few outputs first: longer ones may contain them.
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&field| self.size(&columns[field]));
        let mut fields: Vec<Vec<Solution>> = vec![Vec::new(); keys.len()];
        for field in order {
            fields[field] = self.solve(&columns[field], &format!("{place}/{}", keys[field]));
        }
        Some(combine(&keys, &fields))
    }

    fn size(&self, column: &[Id]) -> usize {
        column.iter().map(|&id| self.interner.get(id).map_or(0, |value| value.canonical().as_str().len())).sum()
    }

    /// The bank's terms with that column, as far as it has grown.
    fn lookup(&mut self, target: &[Id]) -> Vec<Solution> {
        let found = self.bank.lookup(target, self.interner);
        if found.is_empty() { self.lookup_default(target) } else { found }
    }

    /// A term that is right wherever it is defined, and one constant elsewhere.
    fn lookup_default(&mut self, target: &[Id]) -> Vec<Solution> {
        let mut found = Vec::new();
        for (id, term) in self.bank.terms() {
            if term.total || !term.varies {
                continue;
            }
            let column = self.bank.column(id);
            let mut elsewhere = None;
            let mut missing = 0;
            let fits = column.iter().zip(target).all(|(&own, &wanted)| {
                if own != UNDEFINED {
                    return own == wanted;
                }
                missing += 1;
                *elsewhere.get_or_insert(wanted) == wanted
            });
            if let (true, Some(otherwise)) = (fits && missing >= 2, elsewhere) {
                let value = self.interner.get(otherwise).cloned().unwrap_or(Value::Null);
                let constant = Expr::constant(&value);
                let own = term.cost + Op::Default.info().cost + cost(&constant);
                found.push((Expr::Call(Op::Default, vec![self.bank.expr(id, self.interner), constant]), own));
            }
        }
        found
    }

    /// A target that does not fall apart: ever dearer terms, and at each level all ways
    /// to put them together.
    fn solve_leaf(&mut self, target: &[Id]) -> Vec<Solution> {
        let choice = self.is_choice(target);
        let labels = self.is_label(target);
        // What was made of a list in many steps is kept, for something better may be found.
        let mut kept: Vec<Solution> = Vec::new();
        for level in 0..self.most_levels {
            self.grow(level);
            let mut found = self.lookup(target);
            found.extend(self.solve_number(target));
            found.extend(self.solve_printed(target));
            found.extend(self.solve_context(target));
            let most = found.iter().map(|(_, cost)| *cost).min().unwrap_or(u32::MAX);
            // Nothing that is put together costs less than this.
            if !labels && most > CHEAP {
                found.extend(self.solve_concat(target, all_rows(target.len()), most));
            }
            if found.is_empty() && LIST_LEVELS.contains(&level) && (level == 0 || !self.in_list) {
                let dearer = if level == 0 { 0 } else { LEVELS[0] + 1 };
                found.extend(crate::lists::solve(self, target, dearer));
                if found.iter().all(|(_, cost)| *cost > MANY_STEPS) {
                    kept.append(&mut found);
                }
            }
            if found.is_empty() && choice && level < 2 {
                found = self.solve_choice(target);
            }
            if found.is_empty() && level == 0 && self.has_given {
                found = self.solve_known(target);
            }
            if found.is_empty() && level == 2 {
                found = self.solve_truth(target);
            }
            if !found.is_empty() || self.meter.spent() {
                found.extend(kept);
                return found;
            }
            if labels && level == 1 && self.depth == 0 {
                break;
            }
            if level == BRANCH_LEVEL {
                let mut found = self.solve_branches(target);
                found.append(&mut kept);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        if self.level <= BRANCH_LEVEL {
            kept.extend(self.solve_branches(target));
        }
        kept
    }

    fn grow(&mut self, level: usize) {
        let complete = self.bank.grow(LEVELS[level], &self.constants, self.interner, self.meter);
        if complete && level >= self.level {
            self.level = level + 1;
            self.predicates = None;
            self.numbers = None;
        }
    }

    /// Few outputs, each seen more than once: decided rather than computed.
    pub fn is_choice(&self, target: &[Id]) -> bool {
        let mut distinct = target.to_vec();
        distinct.sort_unstable();
        let once = distinct.chunk_by(|a, b| a == b).filter(|same| same.len() < 2).count();
        distinct.dedup();
        once <= self.slack as usize && distinct.len() * 3 <= target.len()
    }

    /// A choice that is neither copied nor counted: words that the input need not have.
    fn is_label(&self, target: &[Id]) -> bool {
        let printed = |&id: &Id| match self.interner.get(id) {
            Some(Value::Number(_)) => true,
            Some(Value::Text(text)) => text.parse::<i64>().is_ok(),
            _ => false,
        };
        if !self.is_choice(target) || target.iter().all(printed) {
            return false;
        }
        let roots = self.bank.roots();
        let copied = |(row, &id): (usize, &Id)| {
            let text = self.interner.text(id).unwrap_or_default().to_lowercase();
            let has =
                |column: &[Id]| self.interner.text(column[row]).is_some_and(|own| own.to_lowercase().contains(&text));
            !text.is_empty() && roots.iter().any(|(_, column)| has(column))
        };
        !target.iter().enumerate().all(copied)
    }

    /// The value of an expression in a row.
    pub fn value_at(&self, expression: &Expr, row: usize) -> Option<Value> {
        let input = self.interner.get(*self.inputs.get(row)?)?;
        if self.depth == 0 {
            return auto_lang::eval(expression, input);
        }
        auto_lang::eval_in(expression, &Value::Null, &[(crate::lists::variable(self.depth), input)])
    }
}

/// The records of the fields' solutions: the cheapest of all, then each next best of one
/// field, cheapest difference first. None where a field has none.
fn combine(keys: &[String], fields: &[Vec<Solution>]) -> Vec<Solution> {
    if fields.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let mut choices = vec![(0u32, vec![0usize; fields.len()])];
    for (field, solutions) in fields.iter().enumerate() {
        for (index, solution) in solutions.iter().enumerate().skip(1) {
            let mut choice = vec![0; fields.len()];
            choice[field] = index;
            choices.push((solution.1 - solutions[0].1, choice));
        }
    }
    choices.sort();
    choices.truncate(KEEP);
    let record = |(_, choice): (u32, Vec<usize>)| {
        let picked = choice.iter().zip(fields).map(|(&index, solutions)| &solutions[index]);
        let own = 2 + keys.len() as u32 + picked.clone().map(|(_, cost)| cost).sum::<u32>();
        let members = keys.iter().cloned().zip(picked.map(|(expression, _)| expression.clone()));
        (Expr::Record(members.collect()), own)
    };
    choices.into_iter().map(record).collect()
}
