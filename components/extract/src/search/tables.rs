//! Lists of the input that are tables: one field of all their rows, what rows come to, and the
//! rows of one kind. From these come totals and counts.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_lang::{Each, Expr, Op, eval};

use crate::lists::variable;
use crate::values::{Id, Interner};

/// The most fields of tables that are looked at as lists of their own.
const MAX_COLUMNS: usize = 8;

/// The most lists of each other sort.
const MAX_DERIVED: usize = 4;

/// The most fields of rows that have most or least of something.
const MAX_EXTREMES: usize = 16;

/// The most values of a field that rows are told apart by.
const MAX_KINDS: usize = 4;

/// The most rows that are compared with others before a pair of tables is taken to be one.
const MAX_ROWS: usize = 4_096;

/// A list and its rows, for each example.
struct Table {
    list: Expr,
    rows: Vec<Vec<Value>>,
    /// What the rows have, in their order.
    fields: Vec<Field>,
}

/// Something that every row has: itself, or a field.
struct Field {
    /// None where the row itself is meant.
    key: Option<String>,
    sort: Sort,
}

#[derive(PartialEq, Eq)]
enum Sort {
    Number,
    Truth,
    /// One of a few texts.
    Kind(Vec<String>),
    Other,
}

/// The lists, each with its values: those of single fields before those that are made.
pub fn lists(roots: &[(Expr, Vec<Id>)], interner: &mut Interner) -> Vec<(Expr, Vec<Id>)> {
    let Some((_, inputs)) = roots.first() else { return Vec::new() };
    let inputs: Vec<Value> = inputs.iter().filter_map(|&id| interner.get(id).cloned()).collect();
    let tables: Vec<Table> = roots.iter().filter_map(|root| Table::of(root, interner)).collect();
    let kept: Vec<(Expr, usize)> = tables.iter().enumerate().flat_map(|(at, table)| table.kept(at)).collect();
    let sorts = [
        (MAX_COLUMNS, tables.iter().flat_map(Table::columns).collect::<Vec<Expr>>()),
        (MAX_DERIVED, tables.iter().flat_map(Table::products).collect()),
        (2 * MAX_DERIVED, kept.iter().map(|(list, _)| list.clone()).collect()),
        (2 * MAX_DERIVED, kept.iter().flat_map(|(list, at)| tables[*at].numbers_of(list)).collect()),
        (MAX_DERIVED, products_of_pairs(&tables)),
        (MAX_EXTREMES, tables.iter().flat_map(Table::extremes).collect()),
    ];
    let mut found = Vec::new();
    for (most, sort) in sorts {
        for list in sort.into_iter().take(most) {
            let column = inputs.iter().map(|input| eval(&list, input));
            let column: Vec<Id> = column.map(|value| interner.intern_option(value)).collect();
            found.push((list, column));
        }
    }
    found
}

/// Whether such a list is made by more than taking a field of each row.
pub fn is_made(list: &Expr) -> bool {
    match list {
        Expr::Each { each: Each::Map, list, body, .. } => {
            matches!(**list, Expr::Each { .. }) || matches!(**body, Expr::Call(..))
        }
        Expr::Each { .. } => true,
        // A field of the row that has most or least of something.
        Expr::Field(row, _) => matches!(&**row, Expr::Call(Op::First, of) if matches!(of[..], [Expr::Each { .. }])),
        _ => false,
    }
}

impl Table {
    fn of((list, column): &(Expr, Vec<Id>), interner: &Interner) -> Option<Table> {
        let rows: Option<Vec<Vec<Value>>> =
            column.iter().map(|&id| interner.get(id)?.as_list().map(<[Value]>::to_vec)).collect();
        let rows = rows?;
        let all: Vec<&Value> = rows.iter().flatten().collect();
        let fields = match all.first()?.as_record() {
            Some(first) => {
                let keys = first.iter().map(|(key, _)| Some(key.to_owned()));
                keys.filter_map(|key| Field::of(key, &all)).collect()
            }
            None => Field::of(None, &all).into_iter().collect(),
        };
        Some(Table { list: list.clone(), rows, fields })
    }

    /// One field of every row.
    fn columns(&self) -> Vec<Expr> {
        let fields = self.fields.iter().filter(|field| field.key.is_some());
        fields.map(|field| each(Each::Map, &self.list, field.of_row(row()))).collect()
    }

    /// The product of two fields of every row.
    fn products(&self) -> Vec<Expr> {
        let numbers: Vec<&Field> = self.numbers().collect();
        let pairs =
            numbers.iter().enumerate().flat_map(|(at, one)| numbers[at + 1..].iter().map(move |other| (one, other)));
        let product = |(one, other): (&&Field, &&Field)| {
            let body = Expr::Call(Op::Mul, vec![one.of_row(row()), other.of_row(row())]);
            each(Each::Map, &self.list, body)
        };
        pairs.map(product).collect()
    }

    /// The rows for which something is true, or is not, or is one of a few.
    fn kept(&self, at: usize) -> Vec<(Expr, usize)> {
        let tests = self.fields.iter().flat_map(|field| {
            let value = || field.of_row(row());
            match &field.sort {
                Sort::Truth => vec![value(), Expr::Call(Op::Not, vec![value()])],
                Sort::Kind(kinds) => {
                    let is = |kind: &String| Expr::Call(Op::Eq, vec![value(), Expr::Literal(kind.as_str().into())]);
                    kinds.iter().map(is).collect()
                }
                Sort::Number | Sort::Other => Vec::new(),
            }
        });
        tests.map(|test| (each(Each::Filter, &self.list, test), at)).collect()
    }

    /// Each number of the rows that `kept` leaves.
    fn numbers_of(&self, kept: &Expr) -> Vec<Expr> {
        let fields = self.numbers().filter(|field| field.key.is_some());
        fields.map(|field| each(Each::Map, kept, field.of_row(row()))).collect()
    }

    /// Every other field of the row that has least of a number, and of the one that has most; of equals
    /// the first.
    fn extremes(&self) -> Vec<Expr> {
        let of_number = |by: &Field| {
            let least = by.of_row(row());
            let most = Expr::Call(Op::Neg, vec![least.clone()]);
            [least, most].map(|order| Expr::Call(Op::First, vec![each(Each::SortBy, &self.list, order)]))
        };
        let named = self.numbers().filter(|field| field.key.is_some());
        let rows = named.flat_map(|by| of_number(by).map(|row| (by.key.clone(), row)));
        let fields = rows.flat_map(|(by, row)| {
            let others = self.fields.iter().filter(move |field| field.key.is_some() && field.key != by);
            others.map(move |field| field.of_row(row.clone()))
        });
        fields.collect()
    }

    fn numbers(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.sort == Sort::Number)
    }

    fn goes_with(&self, other: &Table) -> bool {
        let count: usize = self.rows.iter().map(Vec::len).sum();
        let mut pairs = self.rows.iter().zip(&other.rows);
        count <= MAX_ROWS && pairs.all(|(own, other)| own.len() == other.len())
    }
}

/// The products of a number of each row of one table and one of the row beside it in another.
fn products_of_pairs(tables: &[Table]) -> Vec<Expr> {
    let mut found = Vec::new();
    for (at, one) in tables.iter().enumerate() {
        for other in tables[at + 1..].iter().filter(|other| one.goes_with(other)) {
            let list = Expr::Call(Op::Zip, vec![one.list.clone(), other.list.clone()]);
            for own in one.numbers() {
                for others in other.numbers() {
                    let left = own.of_row(Expr::Call(Op::First, vec![row()]));
                    let right = others.of_row(Expr::Call(Op::Last, vec![row()]));
                    found.push(each(Each::Map, &list, Expr::Call(Op::Mul, vec![left, right])));
                }
            }
        }
    }
    found
}

impl Field {
    /// None where a row lacks it.
    fn of(key: Option<String>, rows: &[&Value]) -> Option<Field> {
        let value = |row: &&Value| match &key {
            Some(key) => row.get(key).cloned(),
            None => Some((*row).clone()),
        };
        let values: Vec<Value> = rows.iter().map(value).collect::<Option<_>>()?;
        let all = |is: fn(&Value) -> bool| values.iter().all(is);
        let sort = if all(|value| value.as_number().is_some()) {
            Sort::Number
        } else if all(|value| value.as_bool().is_some()) {
            Sort::Truth
        } else {
            kinds(&values).map_or(Sort::Other, Sort::Kind)
        };
        Some(Field { key, sort })
    }

    fn of_row(&self, row: Expr) -> Expr {
        match &self.key {
            Some(key) => row.field(key.as_str()),
            None => row,
        }
    }
}

/// The texts, where they are few and each comes again and again.
fn kinds(values: &[Value]) -> Option<Vec<String>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value.as_text()?).or_default() += 1;
        if counts.len() > MAX_KINDS {
            return None;
        }
    }
    let again = counts.len() > 1 && counts.values().all(|count| *count > 1);
    again.then(|| counts.into_keys().map(str::to_owned).collect())
}

fn row() -> Expr {
    Expr::Variable(variable(1).to_owned())
}

fn each(each: Each, list: &Expr, body: Expr) -> Expr {
    Expr::Each { each, list: Box::new(list.clone()), variable: variable(1).to_owned(), body: Box::new(body) }
}
