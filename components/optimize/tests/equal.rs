//! What comes out is equal to what went in, and every rule does what it says.

#[path = "../../lang/tests/random/mod.rs"]
mod random;

use std::collections::BTreeSet;

use auto_json::Value;
use auto_lang::{Each, Expr, Op, cost, eval, parse, type_of};
use auto_optimize::rules::RULES;
use auto_optimize::{Context, rewrite};
use auto_schema::types::Type;
use proptest::prelude::*;

fn call(op: Op, parts: &[&Expr]) -> Expr {
    Expr::Call(op, parts.iter().map(|part| (*part).clone()).collect())
}

/// The left sides of rules, filled with expressions.
fn shaped(choice: usize, [a, b, c]: &[Expr; 3], text: &str) -> Expr {
    let variable = |name: &str| Expr::Variable(name.to_owned());
    let each = |each, list: &Expr, body: Expr| Expr::Each {
        each,
        list: Box::new(list.clone()),
        variable: "x".to_owned(),
        body: Box::new(body),
    };
    let literal = |value: &str| Expr::Literal(Value::from(value));
    let number = |value: i64| Expr::Literal(Value::integer(value));
    let quoted = format!("'{}'", text.replace('\'', "''"));
    match choice {
        0 => call(Op::If, &[a, b, b]),
        1 => call(Op::If, &[&call(Op::Not, &[a]), b, c]),
        2 => call(Op::If, &[a, &Expr::Literal(Value::Bool(true)), &Expr::Literal(Value::Bool(false))]),
        3 => call(Op::If, &[a, b, &call(Op::If, &[c, b, a])]),
        4 => call(Op::If, &[a, &call(Op::If, &[b, a, c]), c]),
        5 => call(Op::If, &[a, &call(Op::If, &[a, b, c]), &call(Op::If, &[a, b, c])]),
        6 => call(Op::And, &[a, &call(Op::And, &[b, a]), &Expr::Literal(Value::Bool(true)), c]),
        7 => call(Op::Or, &[&call(Op::Or, &[b, a]), &Expr::Literal(Value::Bool(true)), c]),
        8 => call(Op::Not, &[&call(Op::Not, &[a])]),
        9 => call(Op::Not, &[&call(Op::Lt, &[a, b])]),
        10 => call(Op::Eq, &[&Expr::Literal(Value::Bool(false)), a]),
        11 => call(Op::Ge, &[&number(3), a]),
        12 => call(Op::Concat, &[&literal(""), &call(Op::Concat, &[a, &literal("x")]), &literal(text), b]),
        13 => call(Op::Lower, &[&call(Op::Lower, &[a])]),
        14 => call(Op::Upper, &[&call(Op::Upper, &[a])]),
        15 => call(Op::Strip, &[&call(Op::Strip, &[a, b]), b]),
        16 => call(Op::Match, &[a, &literal("proper"), b]),
        17 => call(Op::Has, &[a, &literal(&quoted)]),
        18 => call(Op::SplitOn, &[a, &literal(&quoted)]),
        19 => call(Op::Substitute, &[a, &literal(&quoted), b]),
        20 => call(Op::Cut, &[a, &literal("0"), &literal(&format!("^ {quoted}"))]),
        21 => call(Op::Cut, &[a, &literal(&format!("{quoted} ^")), &literal("^ end")]),
        22 => call(Op::Cut, &[a, &literal(&format!("{quoted} ^")), &literal("> ^ ' '")]),
        23 => call(Op::Join, &[&call(Op::Split, &[a, b]), c]),
        24 => call(Op::Reverse, &[&call(Op::Reverse, &[a])]),
        25 => call(Op::First, &[&call(Op::Reverse, &[a])]),
        26 => call(Op::Nth, &[a, &number(-1)]),
        27 => call(Op::Drop, &[a, &number(0)]),
        28 => each(Each::Map, a, variable("x")),
        29 => {
            each(Each::Map, &each(Each::Map, a, call(Op::Lower, &[&variable("x")])), call(Op::Chars, &[&variable("x")]))
        }
        30 => each(Each::Map, &each(Each::Map, a, call(Op::Lower, &[&variable("x")])), b.clone()),
        31 => each(
            Each::Filter,
            &each(Each::Filter, a, call(Op::Not, &[&variable("x")])),
            call(Op::Eq, &[&variable("x"), b]),
        ),
        32 => Expr::Record(vec![("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())]).field("a"),
        33 => call(Op::Default, &[a, b]),
        34 => call(Op::TypeIs, &[a, &literal("text")]),
        35 => call(Op::Substr, &[a, &number(0)]),
        36 => call(Op::Sort, &[&call(Op::Sort, &[a])]),
        _ => call(Op::Unaccent, &[&call(Op::Unaccent, &[a])]),
    }
}

fn equal(expression: &Expr, input: &Value) -> Result<(), TestCaseError> {
    for ty in [Type::infer([input].into_iter()), Type::Json] {
        let rewritten = rewrite(expression, &ty);
        prop_assert_eq!(eval(&rewritten, input), eval(expression, input), "{} as {}", expression, rewritten);
        let reread = parse(&rewritten.to_string());
        prop_assert_eq!(reread.as_ref(), Ok(&rewritten));
        if type_of(expression, &ty).is_ok() {
            prop_assert!(type_of(&rewritten, &ty).is_ok(), "{} is ill typed", rewritten);
            prop_assert_eq!(rewrite(&rewritten, &ty), rewritten.clone(), "{} is not done", rewritten);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_rewritten_program_is_equal(expression in random::expression(), input in random::value()) {
        equal(&expression, &input)?;
    }

    #[test]
    fn what_rules_look_for_is_equal(
        choice in 0usize..38,
        parts in [random::expression(), random::expression(), random::expression()],
        text in "[a-c' ,]{1,3}",
        input in random::value(),
    ) {
        equal(&shaped(choice, &parts, &text), &input)?;
    }

    #[test]
    fn what_rules_look_for_in_the_input_is_equal(
        choice in 0usize..38,
        text in "[a-c' ,]{1,2}",
        input in random::value(),
    ) {
        let parts = [Expr::Input, Expr::Input.field("a"), Expr::Literal(Value::from(text.as_str()))];
        equal(&shaped(choice, &parts, &text), &input)?;
    }
}

/// More with `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

#[test]
fn letters_map_the_same_a_second_time() {
    for op in [Op::Lower, Op::Upper, Op::Unaccent, Op::Letters] {
        for character in '\0'..=char::MAX {
            let once = auto_lang::apply(op, &[&Value::from(character.to_string())]).unwrap();
            assert_eq!(auto_lang::apply(op, &[&once]).as_ref(), Some(&once), "{op} of {character:?}");
        }
    }
}

#[test]
fn rules_by_example() {
    let input: Type =
        "record{b: bool, c: bool, n: int, s: text, l: list<text>, e: enum{\"p\", \"q\"}, o?: text, j: json}"
            .parse()
            .unwrap();
    let mut seen = BTreeSet::new();
    for (before, after) in [
        (r#"upper(concat("a", "b"))"#, r#""AB""#),
        (r#"add($.n, mul(2, 3))"#, r#"add($.n, 6)"#),
        (r#"{"a": $.n, "b": $.s}.a"#, r#"$.n"#),
        (r#"{"a": $.n, "b": $.o}.a"#, r#"{"a": $.n, "b": $.o}.a"#),
        (r#"default($.s, "x")"#, r#"$.s"#),
        (r#"default($.o, "x")"#, r#"default($.o, "x")"#),
        (r#"type_is($.s, "text")"#, r#"true"#),
        (r#"is_null($.j)"#, r#"is_null($.j)"#),
        (r#"if($.b, $.s, $.s)"#, r#"$.s"#),
        (r#"if(eq($.o, "x"), $.s, $.s)"#, r#"if(eq($.o, "x"), $.s, $.s)"#),
        (r#"if(not($.b), 1, 2)"#, r#"if($.b, 2, 1)"#),
        (r#"if($.b, "x", if($.c, "x", "y"))"#, r#"if(or($.b, $.c), "x", "y")"#),
        (r#"if($.b, if($.c, "x", "y"), "y")"#, r#"if(and($.b, $.c), "x", "y")"#),
        (r#"if($.b, if($.b, "x", "y"), "z")"#, r#"if($.b, "x", "z")"#),
        (r#"and($.b, and($.c, $.b), true)"#, r#"and($.b, $.c)"#),
        (r#"not(lt($.n, 3))"#, r#"ge($.n, 3)"#),
        (r#"if(eq($.b, true), 1, 2)"#, r#"if($.b, 1, 2)"#),
        (r#"eq(false, $.b)"#, r#"not($.b)"#),
        (r#"if(eq($.e, "r"), 1, 2)"#, r#"2"#),
        (r#"if(lt(3, $.n), 1, 2)"#, r#"if(gt($.n, 3), 1, 2)"#),
        (r#"concat("a", concat("b", $.s), "")"#, r#"concat("ab", $.s)"#),
        (r#"trim(trim($.s))"#, r#"trim($.s)"#),
        (r#"match($.s, "digits", 1)"#, r#"token($.s, "digits", 1)"#),
        (r#"has($.s, "'a'")"#, r#"contains($.s, "a")"#),
        (r#"cut($.s, "'(' ^", "> ^ ')'")"#, r#"between($.s, "(", ")")"#),
        (r#"cut($.s, "0", "^ ':'")"#, r#"before($.s, ":")"#),
        (r#"cut($.s, "0", "^ end")"#, r#"$.s"#),
        (r#"join(split($.s, ","), "; ")"#, r#"replace($.s, ",", "; ")"#),
        (r#"last(reverse($.l))"#, r#"first($.l)"#),
        (r#"nth($.l, -1)"#, r#"last($.l)"#),
        (r#"map($.l, x => x)"#, r#"$.l"#),
        (r#"join(map(split($.s, ","), x => x), "")"#, r#"replace($.s, ",", "")"#),
        (r#"map(map($.l, x => trim(x)), y => concat(y, "!"))"#, r#"map($.l, x => concat(trim(x), "!"))"#),
        (r#"map(map($.l, x => number(x)), y => 1)"#, r#"map(map($.l, x => number(x)), y => 1)"#),
        (
            r#"filter(filter($.l, x => contains(x, "a")), x => ends(x, "b"))"#,
            r#"filter($.l, x => and(contains(x, "a"), ends(x, "b")))"#,
        ),
    ] {
        let expression = parse(before).unwrap();
        let rewritten = rewrite(&expression, &input);
        assert_eq!(rewritten.to_string(), after, "{before}");
        assert!(
            cost(&rewritten) <= cost(&expression),
            "{before} costs {}, then {}",
            cost(&expression),
            cost(&rewritten)
        );
        note(&expression, &input, &mut seen);
    }
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(seen, all, "a rule has no example");
}

/// The rules that apply to an expression or a part of it as it is. Variables count as lists, so
/// the examples bind none that a rule asks about.
fn note(expression: &Expr, input: &Type, seen: &mut BTreeSet<&'static str>) {
    let context = Context::new(input);
    seen.extend(RULES.iter().filter(|rule| (rule.apply)(&context, expression).is_some()).map(|rule| rule.name));
    expression.children().into_iter().for_each(|part| note(part, input, seen));
}
