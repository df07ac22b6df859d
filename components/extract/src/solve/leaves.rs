//! Targets that are computed from one term: a number moved or scaled, a number printed, a part
//! of a text between what stands beside it.

use auto_json::{Number, Value};
use auto_lang::{Expr, Op, cost};

use super::{Solution, Solver};
use crate::values::{Id, Kind};
use crate::{affine, context};

/// What it costs that a text is a plain number although its decimals are always as many.
const DECIMALS_COST: u32 = 8;

impl Solver<'_> {
    /// A number that is another and a constant, added or multiplied.
    pub(super) fn solve_number(&mut self, target: &[Id]) -> Vec<Solution> {
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

    /// A text that is a number, printed.
    pub(super) fn solve_printed(&mut self, target: &[Id]) -> Vec<Solution> {
        let number = |&id: &Id| {
            let text = self.interner.text(id)?;
            let value = Value::parse(text).ok().filter(|value| value.as_number().is_some())?;
            (value.to_string() == text).then_some(value)
        };
        let numbers: Option<Vec<Value>> = target.iter().map(number).collect();
        let Some(numbers) = numbers else { return Vec::new() };
        let values: Vec<Number> = numbers.iter().filter_map(Value::as_number).copied().collect();
        let numbers: Vec<Id> = numbers.into_iter().map(|number| self.interner.intern(number)).collect();
        let mut found = self.bank.lookup(&numbers, self.interner);
        found.extend(self.solve_number(&numbers));
        // What is calculated and always has as many decimals was printed with so many.
        let places: Vec<u16> = values.iter().map(|number| number.parts().map_or(0, |(_, scale)| scale)).collect();
        let same = places.iter().all(|&own| own > 0 && own == places[0]);
        let print = |(number, own): Solution| {
            let calculated = matches!(number, Expr::Call(Op::Add | Op::Sub | Op::Mul, _));
            let extra = if same && calculated { DECIMALS_COST } else { 0 };
            (Expr::Call(Op::Text, vec![number]), own + Op::Text.info().cost + 2 + extra)
        };
        found.into_iter().map(print).collect()
    }

    /// A part of an input text, told by what stands left and right of it.
    pub(super) fn solve_context(&mut self, target: &[Id]) -> Vec<Solution> {
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
}
