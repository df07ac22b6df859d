//! Deduction on `before`, `after` and `between`: a part of a text, told by what stands
//! left and right of it in every example.

use auto_json::Value;
use auto_lang::{Expr, Op};

/// Candidates for what stands left and right of the parts in their texts; empty where
/// nothing does in common.
pub fn candidates(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut left: Option<String> = None;
    let mut right: Option<String> = None;
    // An empty part is everywhere, so it says nothing here.
    for (text, part) in pairs.iter().filter(|(_, part)| !part.is_empty()) {
        let Some(at) = text.find(part) else { return Vec::new() };
        let (before, after) = (&text[..at], &text[at + part.len()..]);
        left = Some(left.map_or_else(|| tail(before, before), |left| tail(&left, before)));
        right = Some(right.map_or_else(|| head(after, after), |right| head(&right, after)));
    }
    let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
    let mut lefts = vec![String::new()];
    let mut rights = vec![String::new()];
    // The shortest that may do, the last word, and all of it.
    lefts.extend(left.chars().next_back().map(String::from));
    lefts.extend(left.char_indices().rev().nth(1).map(|(at, _)| left[at..].to_owned()));
    lefts.extend(left.trim_end().rfind(' ').map(|at| left[at + 1..].to_owned()));
    lefts.push(left);
    rights.extend(right.chars().next().map(String::from));
    rights.extend(right.char_indices().nth(2).map(|(at, _)| right[..at].to_owned()));
    rights.push(right);
    lefts.dedup();
    rights.dedup();
    let all = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left.clone(), right.clone())));
    // A letter or a digit or two that happen to stand there in every example mean nothing.
    let tells = |text: &String| text.is_empty() || text.len() > 2 || !text.contains(char::is_alphanumeric);
    all.filter(|(left, right)| !left.is_empty() || !right.is_empty())
        .filter(|(left, right)| tells(left) && tells(right))
        .collect()
}

/// The longest common end, of at most 24 bytes.
fn tail(a: &str, b: &str) -> String {
    let common = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count().min(24);
    let from = (a.len() - common..=a.len()).find(|&at| a.is_char_boundary(at)).unwrap_or(a.len());
    a[from..].to_owned()
}

/// The longest common beginning, of at most 24 bytes.
fn head(a: &str, b: &str) -> String {
    let common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count().min(24);
    let to = (0..=common).rev().find(|&at| a.is_char_boundary(at)).unwrap_or(0);
    a[..to].to_owned()
}

/// `before`, `after` or `between`, if it gives the part in every row.
pub fn part(root: Expr, left: &str, right: &str, pairs: &[(&str, &str)]) -> Option<Expr> {
    let (op, constants) = match (left.is_empty(), right.is_empty()) {
        (true, true) => return None,
        (true, false) => (Op::Before, vec![right]),
        (false, true) => (Op::After, vec![left]),
        (false, false) => (Op::Between, vec![left, right]),
    };
    let values: Vec<Value> = constants.into_iter().map(Value::from).collect();
    let gives = |(text, part): &(&str, &str)| {
        let text = Value::from(*text);
        let arguments: Vec<&Value> = std::iter::once(&text).chain(&values).collect();
        auto_lang::apply(op, &arguments).is_some_and(|value| value.as_text() == Some(part))
    };
    pairs
        .iter()
        .all(gives)
        .then(|| Expr::Call(op, std::iter::once(root).chain(values.into_iter().map(Expr::Literal)).collect()))
}
