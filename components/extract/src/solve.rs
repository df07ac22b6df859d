//! Solving one target: the column of values that an expression must have. Objects fall
//! apart into their fields, lists into their items, texts into parts; what is left is
//! looked up in the bank or decided by rules.

use auto_json::{Number, Value};
use auto_lang::{Expr, Op, cost, literal_cost};

use crate::affine;
use crate::bank::Bank;
use crate::concat::{self, Part, Piece};
use crate::constants::Constants;
use crate::context;
use crate::predicates::Predicates;
use crate::rules::{self, Leaf};
use crate::values::{Id, Interner, Kind, Meter, Rows, UNDEFINED, all_rows, rows};

/// An expression that has the wanted column, and its cost.
pub type Solution = (Expr, u32);

/// The costs to which the bank is grown, one after the other.
const LEVELS: [u32; 6] = [13, 17, 21, 25, 29, 33];

/// The most solutions kept for one target.
const KEEP: usize = 4;

/// The most texts that are tried as parts of a `concat`.
const MAX_PIECES: usize = 3000;

/// The most leaves that a decision list chooses among.
const MAX_LEAVES: usize = 48;

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
    level: usize,
    most_levels: usize,
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
        let most_levels = if depth == 0 { LEVELS.len() } else { 2 };
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
            level: 0,
            most_levels,
        }
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
        for level in 0..self.most_levels {
            self.grow(level);
            let mut found = self.lookup(target);
            if found.is_empty() {
                found = self.solve_number(target);
            }
            if found.is_empty() {
                found = self.solve_context(target);
            }
            if found.is_empty() && !choice {
                found.extend(self.solve_concat(target, all_rows(target.len())));
            }
            if found.is_empty() && level == 0 {
                found.extend(crate::lists::solve(self, target));
            }
            if found.is_empty() && choice && level < 2 {
                found = self.solve_choice(target);
            }
            if !found.is_empty() || self.meter.spent() {
                return found;
            }
            if choice && level == 1 && self.depth == 0 {
                break;
            }
        }
        self.solve_branches(target)
    }

    fn grow(&mut self, level: usize) {
        let complete = self.bank.grow(LEVELS[level], &self.constants, self.interner, self.meter);
        if complete && level >= self.level {
            self.level = level + 1;
            self.predicates = None;
        }
    }

    /// Few outputs, each seen more than once: decided rather than computed.
    pub fn is_choice(&self, target: &[Id]) -> bool {
        let mut distinct = target.to_vec();
        distinct.sort_unstable();
        let least = distinct.chunk_by(|a, b| a == b).map(<[Id]>::len).min().unwrap_or(0);
        distinct.dedup();
        least >= 2 && distinct.len() * 3 <= target.len()
    }

    /// A number that is another and a constant, added or multiplied.
    fn solve_number(&mut self, target: &[Id]) -> Vec<Solution> {
        let wanted: Option<Vec<Number>> =
            target.iter().map(|&id| self.interner.get(id).and_then(Value::as_number).copied()).collect();
        let Some(wanted) = wanted else { return Vec::new() };
        let mut found = Vec::new();
        for (id, term) in self.bank.terms() {
            if term.kind != Kind::Number || !term.total || !term.varies {
                continue;
            }
            let own: Option<Vec<Number>> = self
                .bank
                .column(id)
                .iter()
                .map(|&id| self.interner.get(id).and_then(Value::as_number).copied())
                .collect();
            let Some(own) = own else { continue };
            for (op, swapped, constant) in affine::constants(&own, &wanted) {
                let own = self.bank.expr(id, self.interner);
                let constant = Expr::Literal(Value::Number(constant));
                let arguments = if swapped { vec![constant, own] } else { vec![own, constant] };
                let expression = Expr::Call(op, arguments);
                let own = cost(&expression);
                found.push((expression, own));
            }
        }
        found
    }

    /// A part of an input text, told by what stands left and right of it.
    fn solve_context(&mut self, target: &[Id]) -> Vec<Solution> {
        let mut candidates = Vec::new();
        for (id, term) in self.bank.terms() {
            if term.kind != Kind::Text || term.cost > 8 || !term.total {
                continue;
            }
            let texts = self.bank.column(id).iter().zip(target);
            let pairs: Option<Vec<(&str, &str)>> =
                texts.map(|(&own, &part)| Some((self.interner.text(own)?, self.interner.text(part)?))).collect();
            if let Some(pairs) = pairs {
                let root = self.bank.expr(id, self.interner);
                candidates.extend(
                    context::candidates(&pairs).into_iter().map(|context| (context, root.clone(), pairs.clone())),
                );
            }
        }
        let mut found = Vec::new();
        for ((left, right), root, pairs) in candidates {
            if !self.meter.take(pairs.len()) {
                break;
            }
            if let Some(expression) = context::part(root, &left, &right, &pairs) {
                let own = cost(&expression);
                found.push((expression, own));
            }
        }
        found
    }

    /// Texts cut into parts, in the rows of a set.
    fn solve_concat(&mut self, target: &[Id], set: Rows) -> Option<Solution> {
        let rows: Vec<usize> = rows(set).collect();
        let mut targets = vec![""; target.len()];
        for &row in &rows {
            targets[row] = self.interner.text(target[row])?;
        }
        let mut pieces = Vec::new();
        let mut makers = Vec::new();
        let text_column = |column: &[Id]| column.iter().map(|&id| self.interner.text(id)).collect::<Vec<_>>();
        for (column, expression, cost) in &self.solved {
            if rows.iter().all(|&row| self.interner.kind(column[row]) == Kind::Text) {
                pieces.push(Piece { texts: text_column(column), cost: *cost });
                makers.push(Maker::Expression(expression));
            }
        }
        for (id, term) in self.bank.terms() {
            if term.kind == Kind::Text && term.varies && pieces.len() < MAX_PIECES {
                pieces.push(Piece { texts: text_column(self.bank.column(id)), cost: term.cost });
                makers.push(Maker::Term(id));
            }
        }
        let (parts, own) = concat::deduce(&targets, &rows, &pieces, self.meter)?;
        let make = |part: &Part| match part {
            Part::Constant(text) => Expr::Literal(text.as_str().into()),
            Part::Piece(piece) => match makers[*piece] {
                Maker::Expression(expression) => expression.clone(),
                Maker::Term(id) => self.bank.expr(id, self.interner),
            },
        };
        let mut parts: Vec<Expr> = parts.iter().map(make).collect();
        if parts.len() == 1 {
            return parts.pop().map(|only| (only, own));
        }
        Some((Expr::Call(Op::Concat, parts), own))
    }

    /// A decision among constants.
    fn solve_choice(&mut self, target: &[Id]) -> Vec<Solution> {
        let leaves = self.constant_leaves(target);
        self.solve_rules(leaves, target)
    }

    /// A decision among whatever is right in some rows.
    fn solve_branches(&mut self, target: &[Id]) -> Vec<Solution> {
        let mut leaves = self.constant_leaves(target);
        for (id, term) in self.bank.terms() {
            let matching = self.bank.matches(id, target);
            if term.varies && matching.count_ones() >= 2 {
                leaves.push((Leaf { rows: matching, cost: term.cost }, LeafMaker::Term(id)));
            }
        }
        leaves.extend(self.concat_leaves(target));
        // The widest first, and of each set of rows the cheapest.
        leaves.sort_by_key(|(leaf, _)| (std::cmp::Reverse(leaf.rows.count_ones()), leaf.rows, leaf.cost));
        leaves.dedup_by_key(|(leaf, _)| leaf.rows);
        leaves.truncate(MAX_LEAVES);
        self.solve_rules(leaves, target)
    }

    fn constant_leaves(&self, target: &[Id]) -> Vec<(Leaf, LeafMaker)> {
        let mut distinct: Vec<Id> = target.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let leaf = |value: Id| {
            let here = target.iter().enumerate().filter(|(_, id)| **id == value);
            let rows: Rows = here.fold(0, |set, (row, _)| set | 1 << row);
            let value_of = self.interner.get(value).cloned().unwrap_or(Value::Null);
            // Which of the outputs it is says the type; its text is not the program's.
            let own = literal_cost(&value_of).min(6);
            (Leaf { rows, cost: own }, LeafMaker::Constant(value))
        };
        distinct.into_iter().map(leaf).filter(|(leaf, _)| leaf.rows.count_ones() >= 2).collect()
    }

    /// Concatenations found from pairs of examples that look alike, with all the rows in
    /// which they are right.
    fn concat_leaves(&mut self, target: &[Id]) -> Vec<(Leaf, LeafMaker)> {
        let texts: Option<Vec<String>> = target.iter().map(|&id| self.interner.text(id).map(str::to_owned)).collect();
        let Some(texts) = texts else { return Vec::new() };
        let mut leaves = Vec::new();
        let mut uncovered = all_rows(texts.len());
        while uncovered != 0 && leaves.len() < 12 && !self.meter.spent() {
            let seed = uncovered.trailing_zeros() as usize;
            uncovered &= !(1 << seed);
            let Some(partner) = rows(all_rows(texts.len()))
                .filter(|&row| row != seed && texts[row] != texts[seed])
                .max_by_key(|&row| (alike(&texts[seed], &texts[row]), std::cmp::Reverse(row)))
            else {
                break;
            };
            let Some((expression, own)) = self.solve_concat(target, 1 << seed | 1 << partner) else { continue };
            let right =
                |row: usize| self.value_at(&expression, row).is_some_and(|value| value.as_text() == Some(&texts[row]));
            let here = (0..texts.len()).filter(|&row| right(row));
            let covered: Rows = here.fold(0, |set, row| set | 1 << row);
            uncovered &= !covered;
            leaves.push((Leaf { rows: covered, cost: own }, LeafMaker::Expression(Box::new(expression))));
        }
        leaves
    }

    /// The value of an expression in a row.
    pub fn value_at(&self, expression: &Expr, row: usize) -> Option<Value> {
        let input = self.interner.get(*self.inputs.get(row)?)?;
        if self.depth == 0 {
            return auto_lang::eval(expression, input);
        }
        auto_lang::eval_in(expression, &Value::Null, &[(crate::lists::variable(self.depth), input)])
    }

    fn solve_rules(&mut self, leaves: Vec<(Leaf, LeafMaker)>, target: &[Id]) -> Vec<Solution> {
        let all = all_rows(target.len());
        if leaves.iter().fold(0, |set, (leaf, _)| set | leaf.rows) != all {
            return Vec::new();
        }
        if self.predicates.is_none() {
            self.predicates = Some(Predicates::make(&self.bank, self.interner, self.meter));
        }
        let Some(predicates) = &self.predicates else { return Vec::new() };
        let (leaves, makers): (Vec<Leaf>, Vec<LeafMaker>) = leaves.into_iter().unzip();
        let mut lists = Vec::new();
        for conjunctions in [0, 80] {
            let tests = rules::extended(&predicates.all, conjunctions, all);
            if !self.meter.take(tests.len()) {
                return Vec::new();
            }
            lists = rules::learn(&tests, &leaves, all);
            if let Some(list) = lists.first() {
                let (taken, explained) = list.bits(predicates.all.len(), leaves.len(), all);
                self.unpaid = (taken > explained).then_some((list.rules.len(), taken, explained));
            }
            lists.retain(|list| {
                let (taken, explained) = list.bits(predicates.all.len(), leaves.len(), all);
                taken <= explained
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
            list.rules.iter().rev().fold(start, |otherwise, (predicate, then)| {
                branch(predicates.expr(predicate, &self.bank, self.interner), leaf(*then), otherwise)
            })
        };
        lists.iter().map(|list| (build(list), list.cost)).collect()
    }
}

enum Maker<'a> {
    Term(crate::bank::TermId),
    Expression(&'a Expr),
}

enum LeafMaker {
    Constant(Id),
    Term(crate::bank::TermId),
    Expression(Box<Expr>),
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

/// How much two texts have in common at their ends.
fn alike(a: &str, b: &str) -> usize {
    let prefix = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let suffix = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    prefix + suffix
}
