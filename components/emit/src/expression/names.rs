//! Which runtime function an operator is.

use auto_json::Value;
use auto_lang::{Expr, Op};

use crate::constants::{BOOL, LIST, NULL, NUMBER, RECORD, TEXT};

fn literal_text(expression: &Expr) -> &str {
    match expression {
        Expr::Literal(Value::Text(text)) => text,
        _ => "",
    }
}

/// The kind that `type_is` names; 0, which nothing is, for a name that is none.
pub(super) fn kind_named(name: &Expr) -> u32 {
    match literal_text(name) {
        "null" => NULL,
        "bool" => BOOL,
        "number" => NUMBER,
        "text" => TEXT,
        "list" => LIST,
        "record" => RECORD,
        _ => 0,
    }
}

/// The runtime function that finds tokens of a class.
pub(super) fn token(class: &Expr) -> &'static str {
    match literal_text(class) {
        "letters" => "rt_token_letters",
        "upper" => "rt_token_upper",
        "alnum" => "rt_token_alnum",
        "id" => "rt_token_id",
        // The parser knows no other class.
        _ => "rt_token_digits",
    }
}

/// The runtime function of an operator that evaluates all its arguments.
pub(super) fn runtime_name(op: Op, arguments: &[Expr]) -> &'static str {
    match (op, arguments.len()) {
        (Op::Lower, _) => "rt_lower",
        (Op::Upper, _) => "rt_upper",
        (Op::Title, _) => "rt_title",
        (Op::Trim, _) => "rt_trim",
        (Op::Collapse, _) => "rt_collapse",
        (Op::Replace, _) => "rt_replace",
        (Op::Strip, _) => "rt_strip",
        (Op::Split, _) => "rt_split",
        (Op::Words, _) => "rt_words",
        (Op::Lines, _) => "rt_lines",
        (Op::Join | Op::Concat, _) => "rt_join",
        (Op::Chars, _) => "rt_chars",
        (Op::Substr, 2) => "rt_substr",
        (Op::Substr, _) => "rt_substr_to",
        (Op::Before, _) => "rt_before",
        (Op::After, _) => "rt_after",
        (Op::Between, _) => "rt_between",
        (Op::Starts, _) => "rt_starts",
        (Op::Ends, _) => "rt_ends",
        (Op::Contains, _) => "rt_contains",
        (Op::Digits, _) => "rt_digits",
        (Op::Letters, _) => "rt_letters",
        (Op::Number, _) => "rt_number",
        (Op::Text, _) => "rt_text",
        (Op::First, _) => "rt_first",
        (Op::Last, _) => "rt_last",
        (Op::Nth, _) => "rt_nth",
        (Op::Take, _) => "rt_take",
        (Op::Drop, _) => "rt_drop",
        (Op::Slice, 2) => "rt_slice",
        (Op::Slice, _) => "rt_slice_to",
        (Op::Reverse, _) => "rt_reverse",
        (Op::Sort, _) => "rt_sort",
        (Op::Dedup, _) => "rt_dedup",
        (Op::Count, _) => "rt_count",
        (Op::Sum, _) => "rt_sum",
        (Op::Min, _) => "rt_min",
        (Op::Max, _) => "rt_max",
        (Op::Includes, _) => "rt_includes",
        (Op::Add, _) => "rt_add",
        (Op::Sub, _) => "rt_sub",
        (Op::Mul, _) => "rt_mul",
        (Op::Neg, _) => "rt_neg",
        (Op::Abs, _) => "rt_abs",
        (Op::Lt, _) => "rt_lt",
        (Op::Le, _) => "rt_le",
        (Op::Gt, _) => "rt_gt",
        (Op::Ge, _) => "rt_ge",
        (Op::Eq, _) if arguments.iter().any(|side| matches!(side, Expr::Literal(Value::Text(_)))) => "rt_eq_text",
        (Op::Eq, _) => "rt_eq",
        (Op::Not, _) => "rt_not",
        // `Compiler::operator` has its own code for these.
        (Op::Token, _) => "rt_token_digits",
        (Op::IsNull | Op::TypeIs, _) => "rt_kind_is",
        (Op::If | Op::Default | Op::And | Op::Or, _) => "rt_truth",
    }
}
