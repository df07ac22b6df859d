//! The equations, each a function that gives the other side where it applies.

use auto_lang::Expr;

use crate::Context;

mod constants;
mod lists;
mod logic;
mod order;
mod texts;

/// An equation, read from left to right.
#[derive(Clone, Copy)]
pub struct Rule {
    /// What it does.
    pub name: &'static str,
    /// The right side for an expression that is a left side.
    pub apply: fn(&Context, &Expr) -> Option<Expr>,
}

/// All rules, in the order in which they are tried.
pub const RULES: &[Rule] = &[
    Rule { name: "constants are computed", apply: constants::fold },
    Rule { name: "a member of a record that is built", apply: constants::member },
    Rule { name: "a default that is not needed", apply: constants::default },
    Rule { name: "a kind that is known", apply: constants::kind },
    Rule { name: "a choice that is known", apply: logic::choice },
    Rule { name: "choices with a branch in common", apply: logic::merged },
    Rule { name: "a condition asked again", apply: logic::again },
    Rule { name: "nested connectives", apply: logic::nested },
    Rule { name: "parts of connectives that say nothing", apply: logic::idle },
    Rule { name: "negations", apply: logic::negation },
    Rule { name: "comparisons with a truth value", apply: logic::truth },
    Rule { name: "labels that are none", apply: logic::label },
    Rule { name: "literals on the right", apply: order::literal_right },
    Rule { name: "texts in a row", apply: texts::concat },
    Rule { name: "done twice", apply: texts::twice },
    Rule { name: "patterns that are plain", apply: texts::pattern },
    Rule { name: "cuts that are plain", apply: texts::cut },
    Rule { name: "splitting and joining", apply: texts::replace },
    Rule { name: "turned round twice", apply: lists::reversed },
    Rule { name: "items at the ends", apply: lists::ends },
    Rule { name: "maps that do nothing", apply: lists::identity },
    Rule { name: "maps in a row", apply: lists::fused },
    Rule { name: "filters in a row", apply: lists::filters },
];
