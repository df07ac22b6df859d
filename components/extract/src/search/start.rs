//! What a search takes from the programs it starts from: their parts, as terms that are there
//! before any other. A program that is nearly right is soon mended.

use auto_json::Value;
use auto_lang::{Expr, Op};

/// The most parts that are taken.
const MOST: usize = 48;

/// The parts that are computed from the input alone, each once, the widest first.
pub fn parts(programs: &[Expr]) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    let mut open: Vec<&Expr> = programs.iter().rev().collect();
    while let Some(expression) = open.pop() {
        if found.len() == MOST {
            break;
        }
        let says = matches!(expression, Expr::Call(..) | Expr::Each { .. });
        // The branches are of use, which of them is taken is to be found out.
        let decides = matches!(expression, Expr::Call(Op::If, _));
        if says && !decides && is_closed(expression, &mut Vec::new()) && !found.contains(expression) {
            found.push(expression.clone());
        }
        open.extend(expression.children().into_iter().rev());
    }
    found
}

/// Whether it has no variable but its own, and looks at the input.
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
        Expr::Literal(Value::Null) => true,
        other => other.children().into_iter().all(|child| is_closed(child, bound)),
    }
}
