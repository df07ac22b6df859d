//! Every operator, on inputs of every shape: artifact and evaluator agree, on both
//! engines, plain and metered.

mod support;

use auto_lang::ops::{OPS, Operator};
use support::engines::{Machine, Wasmi, Wasmtime};
use support::{chain, reference, ty};

/// Inputs that between them are right and wrong for every operator.
const INPUTS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-12",
    "3.50",
    "1e3",
    "123456789012345678901234567890",
    "99999999999999999999999999999999999999",
    "-0.00000000000000000000000000000000000001",
    r#""""#,
    r#"" Hello,  World \u00e9\n  ORD-2024-17 re: x_y1 ""#,
    r#""ÀÉ straße İ ǅ  it's o-k 3rd""#,
    r#""a,b,,c""#,
    r#""Éa McDonald: -$1,200.50; (40 EUR) at 9:05 PM, 2024-03-17 or 6 p.m.\r\nto a.b@x-y.uk \"q\" B7""#,
    r#""see https://a.b/c?d=1#f), www.x.y. 0x1F 8ade3e75-6c71-4c6a-acfd-d00d4b7d72e2 1 April 1902""#,
    r#""(1.234,50) €""#,
    r#""12,345.6%""#,
    r#""MCMXCIV""#,
    r#""?a=1&b=%C3%a9+x&c""#,
    r#""a=%ff""#,
    r#""a=%4""#,
    r#""a=1&%61=2""#,
    r#""x,\"a \"\"b\"\"\",,é""#,
    r#""\"a\"b,c""#,
    r#""HTTPServer2Go éclair_ÉTÉ o'neil""#,
    r#""{\"k\": [1.50, \"\\u00e9\"]}""#,
    r#"[["b", 1], [], [{"x": 1}]]"#,
    r#"[{"key": "b", "value": 1}, {"key": "a", "value": null}]"#,
    r#""2024-02-29T23:45:10.250+05:30""#,
    r#""2024-12-31""#,
    r#""T23:50:00""#,
    r#""9999-12-31T23:59:59""#,
    r#"" 3/4/2024 ""#,
    r#""31-Jan-2031""#,
    r#""wed,  17 apr 02""#,
    r#""6 p.m.""#,
    r#""227""#,
    r#""2024 366""#,
    r#""12 - 34\n\n-5,a b-b a\nab""#,
    r#""-12.50""#,
    "[]",
    "[1]",
    "[3, 1.0, 1, -2, 2.5, 1]",
    r#"["b", "a", "é", "b", "", "a"]"#,
    r#"[null, true, 1, "x", [1, {"k": 2}], {"k": [3]}, [1, {"k": 2}]]"#,
    r#"{}"#,
    r#"{"a": "x", "b": 3, "c": [1, 2, "x"], "é\"": null}"#,
];

/// Whether it is defined for some input; what is not is refused.
fn typed(expression: &str) -> bool {
    auto_lang::type_of(&auto_lang::parse(expression).unwrap(), &ty("json")).is_ok()
}

fn agree(expression: &str) {
    let graph = chain(&ty("json"), None, &[expression]);
    let emitted = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap();
    let mut machines: [Box<dyn Machine>; 4] = [
        Box::new(Wasmtime::new(&emitted.module)),
        Box::new(Wasmtime::new(&emitted.metered)),
        Box::new(Wasmi::new(&emitted.module)),
        Box::new(Wasmi::new(&emitted.metered)),
    ];
    for input in INPUTS {
        let expected = reference(&graph, input);
        for machine in &mut machines {
            assert_eq!(machine.run(input.as_bytes()), expected, "{expression} on {input}");
        }
        let [_, compiled, _, interpreted] = &mut machines;
        assert_eq!(compiled.steps(), interpreted.steps(), "{expression} on {input}");
        assert!(compiled.steps() > Some(0));
    }
}

#[test]
fn every_operator_of_one_argument() {
    for operator in OPS.iter().filter(|operator| operator.least == 1) {
        agree(&format!("{}($)", operator.name));
    }
}

#[test]
fn every_operator_of_two_arguments() {
    let constants = [r#""""#, r#"",""#, r#"" ""#, "0", "1", "-1", "2.5", "true", "null", "99999999999"];
    for operator in OPS.iter().filter(|operator| operator.least <= 2 && operator.most >= 2) {
        if !operator.op.literals().is_empty() {
            continue;
        }
        let each = constants.iter().flat_map(|constant| {
            [format!("{}($, {constant})", operator.name), format!("{}({constant}, $)", operator.name)]
        });
        let all: Vec<String> = each.chain([format!("{}($, $)", operator.name)]).filter(|text| typed(text)).collect();
        // One program for all, so that there are few modules to compile.
        let defaulted: Vec<String> = all.iter().map(|expression| format!("default({expression}, \"-\")")).collect();
        agree(&format!("[{}]", defaulted.join(", ")));
        agree(&all[0]);
    }
}

#[test]
fn every_operator_of_three_arguments() {
    for expression in [
        r#"replace($, "a", "bb")"#,
        r#"replace($, "", "bb")"#,
        r#"replace($, $, $)"#,
        "substr($, 1, 3)",
        "substr($, -3, -1)",
        "every($, 2, 0)",
        "every($, 3, 1)",
        "every($, 0, 1)",
        "every($, 1, -1)",
        "every($, 9000000000000000000, 9000000000000000000)",
        "slice($, 1, 3)",
        "slice($, -2, 9)",
        r#"between($, "o", "r")"#,
        r#"concat($, "-", $)"#,
        r#"if($, "yes", "no")"#,
        r#"if(eq($, 7), $, count($))"#,
        "and($, true, $)",
        "or(false, $, true)",
        "or(eq(chars($), 3), $)",
        "ratio($, 7, 3)",
        r#"pad($, 12, "*", "both")"#,
        r#"pad($, $, "é", "left")"#,
        r#"rename($, "a", "b2")"#,
        r#"rename($, "a", "b")"#,
        r#"read_pairs($, ";", ":")"#,
        r#"read_pairs("a: 1\nb: 2", "\n", ": ")"#,
        r#"pick($, ["b", "x", "a"])"#,
        r#"omit($, ["b"])"#,
        r#"gather(entries($))"#,
        r#"gather([{"key": "a", "value": $}, {"key": "a", "value": 1}])"#,
        r#"merge($, {"a": 1, "zz": 2})"#,
        r#"merge({"b": 0, "B": 1}, $)"#,
        r#"flatten([$, [1]])"#,
        r#"sort_by($, x => default(count(x), x))"#,
        r#"sort_by($, x => x)"#,
        r#"sort_by(split($, ""), x => 0)"#,
        r#"sort_by(words($), w => neg(chars(w)))"#,
        r#"group_by($, x => x)"#,
        r#"group_by(words($), w => chars(w))"#,
        r#"group_by(words(concat($, $, $, $)), w => lower(w))"#,
        r#"date_diff("2024-02-29T23:45:10.250+05:30", $, "hours")"#,
        r#"date_diff($, "2023-11-30", "months")"#,
        r#"date_add("T10:00:00", $, "minutes")"#,
        "ratio(100, $, 0)",
    ] {
        agree(expression);
    }
    for kind in auto_lang::ops::KINDS {
        agree(&format!("type_is($, \"{kind}\")"));
    }
}

/// Every operator that takes literals, with every example of each.
#[test]
fn every_operator_with_literals() {
    for operator in OPS {
        let literals = operator.op.literals();
        let count = literals.iter().map(|(_, literal)| literal.examples().len()).max().unwrap_or(0);
        let all = (0..count).flat_map(|choice| calls(operator, choice)).filter(|call| typed(call)).collect::<Vec<_>>();
        // Few programs, so that there are few modules to compile.
        for some in all.chunks(24) {
            let defaulted: Vec<String> = some.iter().map(|call| format!("default({call}, \"-\")")).collect();
            agree(&format!("[{}]", defaulted.join(", ")));
        }
        all.iter().step_by(9).for_each(|call| agree(call));
    }
}

/// Calls with the literals of a choice, and other arguments that between them fit.
fn calls(operator: &Operator, choice: usize) -> Vec<String> {
    let others: &[&str] =
        if operator.least == operator.op.literals().len() + 1 { &["0"] } else { &["0", "-1", r#""b""#] };
    let argument = |index: usize, other: &str| match operator.op.literal(index) {
        // Not the same choice for each, so that pairs differ.
        Some(literal) => {
            let examples = literal.examples();
            auto_json::Value::from(examples[(choice * (2 * index - 1) + 3 * index) % examples.len()]).to_string()
        }
        None if index == 0 => "$".to_owned(),
        None => other.to_owned(),
    };
    let call = |other: &&str| {
        let arguments: Vec<String> = (0..operator.least).map(|index| argument(index, other)).collect();
        format!("{}({})", operator.name, arguments.join(", "))
    };
    others.iter().map(call).collect()
}

#[test]
fn access_construction_and_loops() {
    for expression in [
        "$",
        "$.a",
        r#"$."é\"""#,
        "$.missing",
        "[$, 1, $]",
        r#"{"k": $, "j": {"a": [$, null]}}"#,
        r#"{}"#,
        r#"[]"#,
        r#"[1, "x", null, true, 2.50, {"b": [[]]}, 123456789012345678901234567890]"#,
        "map($, x => x)",
        "map($, x => add(x, 1))",
        "map($.c, x => [x, $.b])",
        r#"map(split($, ","), w => concat("<", trim(w), ">"))"#,
        "filter($, x => eq(x, 1))",
        r#"filter($, x => type_is(x, "text"))"#,
        "filter($, x => x)",
        r#"map($, x => map([x, x], y => [x, y, count($)]))"#,
        r#"default(map($, x => first(x)), "none")"#,
        r#"[lower(upper($)), lower(upper($)), default(upper($), lower(upper($)))]"#,
        r#"if(contains(lower($), "hello"), lower($), if(contains(lower($), "ord"), lower($), "other"))"#,
        r#"join(map(words(lower($)), w => title(w)), "-")"#,
        "sum(map($, x => mul(x, 2)))",
        r#"concat("a", upper("b"), "c")"#,
        r#"add(99999999999999999999999999999999999999, 1)"#,
        r#"default(add(99999999999999999999999999999999999999, 1), "too much")"#,
    ] {
        agree(expression);
    }
}
