//! Texts, and lists of texts, that are cut into parts.

use auto_lang::{Expr, Op, literal_cost};

use super::{Solution, Solver};
use crate::bank::{Bank, TermId};
use crate::concat::{self, Material, Part, Piece};
use crate::positions::Source;
use crate::values::{Id, Interner, Kind, Meter, Rows, rows};
use crate::{dates, numbers};

/// The most texts that are tried as parts of a `concat`.
const MAX_PIECES: usize = 3000;

/// The most texts that parts are cut from.
const MAX_SOURCES: usize = 8;

impl Solver<'_> {
    pub(super) fn make_sources(&mut self) {
        if self.sources.is_none() {
            self.sources = Some(sources(&self.bank, self.interner, self.meter));
        }
        if self.numbers.is_none() {
            self.numbers = Some(numbers::sources(&self.bank, self.interner, self.meter));
        }
        if self.dates.is_none() {
            self.dates = Some(dates::sources(&self.bank, self.interner, self.meter));
        }
    }

    /// Lists whose items, one after the other, are a text of the input: it is cut at
    /// positions. What is the same punctuation everywhere is said as it is.
    pub fn solve_segments(&mut self, lists: &[Vec<Id>]) -> Option<Solution> {
        self.make_sources();
        let texts: Option<Vec<Vec<&str>>> =
            lists.iter().map(|list| list.iter().map(|&id| self.interner.text(id)).collect()).collect();
        let texts = texts?;
        let whole: Vec<String> = texts.iter().map(|parts| parts.concat()).collect();
        let source = self.sources.iter().flatten().find(|source| {
            source.texts.iter().zip(&whole).all(|(text, whole)| text.as_deref() == Some(whole.as_str()))
        })?;
        let ends = |cell: usize| -> Vec<u32> {
            texts.iter().map(|parts| parts[..cell].iter().map(|part| part.len() as u32).sum()).collect()
        };
        let mut cells = Vec::new();
        let mut total = Op::Cut.info().cost;
        for cell in 0..texts[0].len() {
            let first = texts[0][cell];
            let punctuation = !first.contains(char::is_alphanumeric) && !first.is_empty();
            if punctuation && texts.iter().all(|parts| parts[cell] == first) {
                cells.push(Expr::Literal(first.into()));
                total += literal_cost(&first.into());
                continue;
            }
            let from = source.place(&ends(cell))?;
            let end = ends(cell + 1);
            let near = source.after(&from).into_iter().filter(|to| to.at == end);
            let to = source.place(&end).into_iter().chain(near).min_by_key(|to| to.cost)?;
            total += source.cost + from.cost + to.cost;
            cells.push(source.part(&from, &to));
        }
        Some((Expr::List(cells), total))
    }

    /// Texts cut into parts, in the rows of a set; none dearer than `most`.
    pub(super) fn solve_concat(&mut self, target: &[Id], set: Rows, most: u32) -> Option<Solution> {
        self.make_sources();
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
        let material = Material {
            pieces: &pieces,
            sources: self.sources.as_deref().unwrap_or_default(),
            numbers: self.numbers.as_deref().unwrap_or_default(),
            dates: self.dates.as_deref().unwrap_or_default(),
        };
        let (parts, own) = concat::deduce(&targets, &rows, &material, most, self.meter)?;
        let make = |part: &Part| match part {
            Part::Constant(text) => Expr::Literal(text.as_str().into()),
            Part::Piece(piece) => match makers[*piece] {
                Maker::Expression(expression) => expression.clone(),
                Maker::Term(id) => self.bank.expr(id, self.interner),
            },
            Part::Printed(derived) => derived.printed.expr(),
            Part::Cut { source, case, from, to } => case.expr(material.sources[*source].part(from, to)),
        };
        let mut parts: Vec<Expr> = parts.iter().map(make).collect();
        if parts.len() == 1 {
            return parts.pop().map(|only| (only, own));
        }
        Some((Expr::Call(Op::Concat, parts), own))
    }
}

/// The texts that parts are cut from: the cheapest that are no parts of texts themselves.
fn sources(bank: &Bank, interner: &Interner, meter: &mut Meter) -> Vec<Source> {
    let roots = bank.terms().filter(|(id, term)| term.kind == Kind::Text && term.varies && bank.is_source(*id));
    let mut roots: Vec<_> = roots.map(|(id, term)| (term.cost, id)).collect();
    roots.sort_unstable();
    let source = |(cost, id): (u32, _)| {
        let texts = bank.column(id).iter().map(|&value| interner.text(value).map(str::to_owned)).collect();
        Source::new(bank.expr(id, interner), cost, texts, meter)
    };
    roots.into_iter().take(MAX_SOURCES).map(source).collect()
}

enum Maker<'a> {
    Term(TermId),
    Expression(&'a Expr),
}
