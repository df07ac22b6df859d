//! Ideas of somebody else: expressions that may be wrong as a whole and right in parts. Their
//! parts are terms of the bank from the beginning, so that a program that is nearly right is a
//! short way from one that is.

use auto_lang::{Expr, parse, type_of};
use auto_schema::types::Type;

/// The most parts that are taken, and the most nodes of one.
const MOST: usize = 300;
const LONGEST: usize = 60;

/// The expressions among some texts that can be defined on inputs of a type.
pub fn read(texts: &[String], input: &Type) -> Vec<Expr> {
    let read = texts.iter().filter_map(|text| parse(text).ok());
    read.filter(|expression| type_of(expression, input).is_ok()).collect()
}

/// The parts that depend on the input alone and compute something, each once, the shortest first.
pub fn parts(seeds: &[Expr]) -> Vec<Expr> {
    let mut found = Vec::new();
    seeds.iter().for_each(|seed| collect(seed, &mut found));
    found.sort_by_key(|part| (part.size(), (*part).clone()));
    found.dedup();
    found.into_iter().take(MOST).cloned().collect()
}

/// Records and lists are solved part by part, and so are never terms as a whole.
fn collect<'e>(expression: &'e Expr, found: &mut Vec<&'e Expr>) {
    let computes = matches!(expression, Expr::Call(..) | Expr::Each { .. });
    if computes && expression.size() <= LONGEST && reads_input(expression) && is_closed(expression, &mut Vec::new()) {
        found.push(expression);
    }
    expression.children().into_iter().for_each(|child| collect(child, found));
}

fn reads_input(expression: &Expr) -> bool {
    *expression == Expr::Input || expression.children().into_iter().any(reads_input)
}

/// Whether all variables are bound inside.
fn is_closed<'e>(expression: &'e Expr, bound: &mut Vec<&'e str>) -> bool {
    match expression {
        Expr::Variable(name) => bound.contains(&name.as_str()),
        Expr::Each { list, variable, body, .. } => {
            let list = is_closed(list, bound);
            bound.push(variable);
            let body = is_closed(body, bound);
            bound.pop();
            list && body
        }
        other => other.children().into_iter().all(|child| is_closed(child, bound)),
    }
}
