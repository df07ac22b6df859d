//! Random expressions and values for the property tests.
#![allow(dead_code)]

use auto_json::{Number, Record, Value};
use auto_lang::{Each, Expr, Op, ops};
use proptest::prelude::*;

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-cA-C0-9 .,_-]{0,12}",
        1 => "\\PC{0,6}",
        1 => Just("ORD-17 \n ß\tİ".to_owned()),
    ]
}

pub fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-5i128..20).prop_map(|n| Number::integer(n).unwrap()),
        (-2000i128..2000, 0u16..4).prop_map(|(n, scale)| Number::decimal(n, scale).unwrap()),
        Just(Number::integer(i128::pow(10, 38) - 1).unwrap()),
        Just(Number::decimal(1, 9000).unwrap()),
    ]
}

pub fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => number().prop_map(Value::Number),
        5 => text().prop_map(Value::Text),
    ]
}

pub fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-d]", 1 => "[a-z_ é\"\u{10000}\u{ffff}]{0,3}"]
}

pub fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|members| Value::Record(members.into_iter().collect::<Record>())),
        ]
    })
}

pub fn expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        3 => Just(Expr::Input),
        2 => scalar().prop_map(Expr::Literal),
        3 => key().prop_map(|name| Expr::Input.field(name)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            2 => (inner.clone(), key()).prop_map(|(of, name)| of.field(name)),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Expr::List),
            1 => prop::collection::vec((key(), inner.clone()), 0..4).prop_map(record),
            8 => (0..ops::OPS.len(), prop::collection::vec(inner.clone(), 4), 0i64..3, 0usize..60)
                .prop_map(|(op, arguments, extra, choice)| call(ops::OPS[op].op, arguments, extra as usize, choice)),
            2 => (inner.clone(), inner, any::<bool>(), "[a-c]").prop_map(|(list, body, map, variable)| Expr::Each {
                each: if map { Each::Map } else { Each::Filter },
                list: Box::new(list),
                body: Box::new(bind(body, &variable)),
                variable,
            }),
        ]
    })
}

fn record(members: Vec<(String, Expr)>) -> Expr {
    // The value type knows the order of keys.
    let order: Record = members.iter().map(|(key, _)| (key.clone(), Value::Null)).collect();
    let find = |key: &str| members.iter().find(|(own, _)| own == key).map(|(_, item)| item.clone()).unwrap();
    Expr::Record(order.iter().map(|(key, _)| (key.to_owned(), find(key))).collect())
}

fn call(op: Op, mut arguments: Vec<Expr>, extra: usize, choice: usize) -> Expr {
    let info = op.info();
    arguments.truncate(info.least.saturating_add(extra).min(info.most).min(4));
    for (index, literal) in op.literals() {
        let examples = literal.examples();
        arguments[*index] = Expr::Literal(examples[(choice + index) % examples.len()].into());
    }
    Expr::Call(op, arguments)
}

/// Puts the variable where the body looked at a member `a` of the input.
fn bind(body: Expr, variable: &str) -> Expr {
    match body {
        Expr::Field(of, name) if *of == Expr::Input && name == "a" => Expr::Variable(variable.to_owned()),
        Expr::Input | Expr::Variable(_) | Expr::Literal(_) => body,
        Expr::Field(of, name) => bind(*of, variable).field(name),
        Expr::List(items) => Expr::List(items.into_iter().map(|item| bind(item, variable)).collect()),
        Expr::Record(members) => {
            Expr::Record(members.into_iter().map(|(key, item)| (key, bind(item, variable))).collect())
        }
        Expr::Call(op, items) => Expr::Call(op, items.into_iter().map(|item| bind(item, variable)).collect()),
        Expr::Each { each, list, variable: own, body } => {
            Expr::Each { each, list: Box::new(bind(*list, variable)), variable: own, body }
        }
    }
}
