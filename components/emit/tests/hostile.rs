//! Texts and values that nobody would send in good faith: an artifact says what the evaluator says,
//! or why not, and does no more than so much for every byte.

mod support;

use support::engines::{Machine, Wasmtime, wasmtime_module};
use support::{Outcome, chain, reference, ty};

/// Instructions for every byte of an input, and for a call. Marks on one letter are gone through once
/// for each of their classes, of which there are few.
const EACH: i64 = 4_000;
const EACH_OF_MARKS: i64 = 200_000;
const CALL: i64 = 500_000;

/// Programs of every kind that goes through a text.
const TEXTS: [&str; 22] = [
    "normalize($, \"NFC\")",
    "normalize($, \"NFKD\")",
    "lower(unaccent($))",
    "title(collapse($))",
    "recase($, \"snake\")",
    "chars(mirror($))",
    "count(words($))",
    "count(matches($, \"letters digits\"))",
    "cut($, \"^ proper #-1\", \"^ end\")",
    "cut($, \"'a' 'a' ^ #-3\", \"> ^ [,;]\")",
    "default(token($, \"email\", -1), \"none\")",
    "default(token($, \"money\", 0), token($, \"id\", 0))",
    "default(token($, \"symbol\", 2), token($, \"mark\", -1))",
    "chars(substitute($, \"space space\", \"--\"))",
    "count(dedup(split($, \"a\")))",
    "chars(replace($, \"aa\", \"aab\"))",
    "default(read_number($, \"1,234.5\"), unspell($))",
    "default(read_date($, \"d MMMM yyyy|M/d/yy\"), default(read_json($), $))",
    "count(read_csv($, \",\"))",
    "default(count(keys(read_query($))), 0)",
    "occurrences(pad($, 1000, \"é\", \"both\"), \"é\")",
    "concat($, \"-\", trim($))",
];

/// Texts as JSON.
fn texts() -> Vec<(&'static str, String)> {
    let quoted = |text: String| auto_json::Value::from(text).to_string();
    vec![
        ("nothing", "\"\"".to_owned()),
        ("NUL and escapes", r#""\u0000a\u0000 \ud83d\ude00\u0301""#.to_owned()),
        ("half of a surrogate pair", r#""\ud800""#.to_owned()),
        ("the other half", r#""a\udc00b""#.to_owned()),
        ("right to left", quoted("שלום 12 עולם‏ ٣٤ مرحبا‎".to_owned())),
        ("one letter", quoted("a".repeat(200_000))),
        ("spaces", quoted(" ".repeat(200_000))),
        ("marks", quoted("e".to_owned() + &"\u{301}\u{323}\u{345}".repeat(1_000))),
        ("marks of many classes", quoted((0x300..0x370).filter_map(char::from_u32).collect::<String>().repeat(6))),
        ("marks alone", quoted("\u{301}".repeat(3_000))),
        ("syllables", quoted("\u{1100}\u{1161}\u{11A8}".repeat(20_000))),
        ("long digits", quoted("9".repeat(100_000))),
        ("almost addresses", quoted("a.b@".repeat(40_000))),
        ("almost numbers", quoted("$1,".repeat(50_000))),
        ("quotes", quoted("\"".repeat(100_000))),
        ("capitals", quoted("Ab".repeat(80_000))),
        ("not UTF-8", "\"\u{FFFD}\"".to_owned()),
    ]
}

#[test]
fn texts_of_bad_will_give_what_the_evaluator_gives_in_bounded_work() {
    for program in TEXTS {
        let graph = chain(&ty("text"), None, &[program]);
        let emitted = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap();
        let module = wasmtime_module(&emitted.metered);
        for (name, input) in texts() {
            let mut machine = Wasmtime::of(&module);
            let got = machine.run(input.as_bytes());
            assert!(got == reference(&graph, &input), "{program}, {name}");
            let each = if program.starts_with("normalize") { EACH_OF_MARKS } else { EACH };
            let (steps, most) = (machine.steps().unwrap(), each * input.len() as i64 + CALL);
            assert!(steps < most, "{program}, {name}: {steps} instructions for {} bytes", input.len());
        }
    }
}

/// JSON that is no value of the language, or the last one that is.
#[test]
fn values_at_the_limits_are_taken_and_beyond_them_refused_with_a_reason() {
    let graph = chain(&ty("json"), None, &["{\"is\": $}"]);
    let module = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap().module;
    let mut machine = Wasmtime::new(&module);
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let taken = [
        "18446744073709551616".to_owned(),
        "-".to_owned() + &"9".repeat(38),
        format!("0.{}", "1".repeat(38)),
        "1e9999".to_owned(),
        nested(63),
        "{}".to_owned(),
        "{\"\":[]}".to_owned(),
        format!("{{\"{}\":null}}", "k".repeat(100_000)),
    ];
    for input in taken {
        let got = machine.run(input.as_bytes());
        assert!(matches!(got, Outcome::Answer(_)) && got == reference(&graph, &input), "{input:.80}");
    }
    let refused = [
        ("9".repeat(39), "38 digits"),
        ("1e10000".to_owned(), "exponent"),
        (nested(65), "64 levels"),
        (nested(1_000_000), "64 levels"),
        ("{\"a\":1,\"a\":1}".to_owned(), "same key twice"),
        ("\"\\ud800\"".to_owned(), "escape"),
        (String::new(), "too early"),
        ("\"".to_owned() + &"a".repeat(100_000), "too early"),
        ("nul".to_owned(), "unexpected"),
        ("[1,]".to_owned(), "unexpected"),
        ("\u{FEFF}1".to_owned(), "unexpected"),
    ];
    for (input, reason) in refused {
        match machine.run(input.as_bytes()) {
            Outcome::BadInput(why) => assert!(why.contains(reason), "{input:.80}: {why}"),
            other => panic!("{input:.80}: {other:?}"),
        }
    }
}
