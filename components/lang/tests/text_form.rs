//! The text form: reading what was printed gives the expression back, and what is not an
//! expression is refused with its place.

mod random;

use auto_lang::{Expr, MAX_DEPTH, parse};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parse_inverts_display(expression in random::expression()) {
        let text = expression.to_string();
        let read = parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&expression), "{}", text);
    }

    #[test]
    fn parse_is_total(text in "[$.a-z\"\\\\(){}\\[\\],=>:0-9e+ é-]{0,40}") {
        if let Ok(expression) = parse(&text) {
            prop_assert_eq!(parse(&expression.to_string()), Ok(expression));
        }
    }
}

#[test]
fn canonical_text() {
    for (given, canonical) in [
        ("$ . doc", "$.doc"),
        ("$.\"odd key\" . \"a\"", "$.\"odd key\".a"),
        ("{\"b\":1,\"a\":[ ]}", "{\"a\": [], \"b\": 1}"),
        ("concat( \"\\u0041\" ,$)", "concat(\"A\", $)"),
        ("map($.items,x=>lower(x.name))", "map($.items, x => lower(x.name))"),
        ("3.50", "3.5"),
        ("3 .x", "3.x"),
        ("1e2", "100.0"),
    ] {
        assert_eq!(parse(given).map(|e| e.to_string()), Ok(canonical.to_owned()), "{given}");
    }
}

#[test]
fn refusals_say_where() {
    for (text, offset, part) in [
        ("", 0, "an expression"),
        ("$.", 2, "a name"),
        ("lowr($)", 0, "no operator `lowr`"),
        ("lower($, $)", 0, "(text) -> text"),
        ("lower(x)", 6, "`x` is neither"),
        ("map($, null => 1)", 7, "literal"),
        ("concat(map($, x => x), x)", 23, "`x` is neither"),
        ("{\"a\": 1, \"a\": 2}", 9, "twice"),
        ("token($, \"words\", 0)", 0, "digits"),
        ("type_is($, $)", 0, "record"),
        ("[1 2]", 3, "`,`"),
        ("$ $", 2, "the end"),
        ("\"abc", 4, ""),
        ("\"\\é\"", 1, ""),
        ("-", 1, ""),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.offset, offset, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{}${}", "not(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(MAX_DEPTH - 1)).is_ok());
    assert!(parse(&nested(MAX_DEPTH)).is_err());
    assert!(parse(&format!("${}", ".a".repeat(MAX_DEPTH - 1))).is_ok());
    assert!(parse(&format!("${}", ".a".repeat(MAX_DEPTH))).is_err());
    assert!(matches!(parse("$"), Ok(Expr::Input)));
}

#[test]
fn day_and_month_are_exchanged_where_both_are_numbers() {
    let exchanged = |text: &str| parse(text).unwrap().day_and_month_exchanged().map(|other| other.to_string());
    assert_eq!(
        exchanged(r#"{"y": date_part(read_date($.a, "M/d/yyyy|dd.MM.yy"), "year"), "z": read_date($.b, "d MMM")}"#)
            .as_deref(),
        Some(r#"{"y": date_part(read_date($.a, "d/M/yyyy|MM.dd.yy"), "year"), "z": read_date($.b, "d MMM")}"#)
    );
    assert_eq!(exchanged(r#"read_date($, "d MMMM yyyy|H:mm")"#), None);
}
