//! What is found for behaviours of the kinds that agents have, and what is refused.

use auto_extract::search::{Example, Found, Problem, search};
use auto_json::{Record, Value};
use auto_lang::{Expr, eval, parse};

const STEPS: u64 = 2_000_000;

fn example(input: &str, output: &str) -> Example {
    let value = |text: &str| Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Example { input: value(input), output: value(output) }
}

fn find(examples: &[Example]) -> Found {
    search(&Problem::new(examples, STEPS, 4))
}

/// Examples of a program over inputs.
fn behaviour(program: &str, inputs: impl IntoIterator<Item = Value>) -> Vec<Example> {
    let program = parse(program).unwrap();
    let apply = |input: Value| Example { output: eval(&program, &input).unwrap(), input };
    inputs.into_iter().map(apply).collect()
}

fn best(examples: &[Example]) -> Expr {
    let found = find(examples);
    let (program, _) = found
        .programs
        .first()
        .unwrap_or_else(|| panic!("nothing found for {}: {:?}", examples[0].output, found.notes))
        .clone();
    for example in examples {
        assert_eq!(eval(&program, &example.input).as_ref(), Some(&example.output), "{program}");
    }
    program
}

fn texts(inputs: &[&str]) -> Vec<Value> {
    inputs.iter().map(|text| Value::Record(Record::new().with("t", *text))).collect()
}

/// The best program for `program`'s behaviour on `inputs`, which must be the expected one.
fn assert_finds(program: &str, inputs: Vec<Value>, expected: &str) {
    assert_eq!(best(&behaviour(program, inputs)).to_string(), expected);
}

#[test]
fn fields_and_parts_of_texts() {
    let names = texts(&["Ana Novak", "Bo Li", "Chris van Dam", "Dee Ng"]);
    assert_finds("$.t", names.clone(), "$.t");
    assert_finds("last(words($.t))", names.clone(), "last(words($.t))");
    assert_finds("upper($.t)", names, "upper($.t)");
    let orders = texts(&["Re: order ORD-17 late", "please see AB-2024 now", "X-9", "the id is QQ-1-2."]);
    assert_finds("token($.t, \"id\", 0)", orders, "token($.t, \"id\", 0)");
    let urls = texts(&["see <a> now", "<bc> x", "what <d e f> is", "<> or <g>"]);
    assert_eq!(best(&behaviour("between($.t, \"<\", \">\")", urls)).to_string(), "between($.t, \"<\", \">\")");
}

#[test]
fn digits_that_are_the_same_in_every_output_are_a_constant() {
    let rows = [(100, "mia_li"), (50, "raj_lee"), (200, "omar_rossi"), (75, "noah_muller")];
    let examples: Vec<Example> = rows
        .iter()
        .map(|(amount, user)| {
            let input = format!(r#"{{"amount": {amount}, "user": "{user}"}}"#);
            let output = format!(r#""Certificate certificate_3221322 added to user {user} with amount {amount}.""#);
            example(&input, &output)
        })
        .collect();
    assert_eq!(
        best(&examples).to_string(),
        r#"concat("Certificate certificate_3221322 added to user ", $.user, " with amount ", text($.amount), ".")"#
    );
}

#[test]
fn characters_of_words() {
    let names = texts(&["Ana Novak", "Bo Li", "Chris van Dam", "Dee Ng"]);
    let program = best(&behaviour("join(map(words($.t), x => upper(substr(x, 0, 1))), \"\")", names));
    let held_out = texts(&["maria de la cruz"]).remove(0);
    assert_eq!(eval(&program, &held_out), Some("MDLC".into()), "{program}");
}

#[test]
fn numbers() {
    let inputs = |range: std::ops::Range<i64>| -> Vec<Value> {
        range.map(|n| Value::Record(Record::new().with("n", n).with("m", n * n % 7))).collect()
    };
    assert_finds("add($.n, 12)", inputs(3..9), "add($.n, 12)");
    assert_finds("mul($.n, 1.25)", inputs(3..9), "mul($.n, 1.25)");
    assert_finds("sub(100, $.n)", inputs(3..9), "sub(100, $.n)");
    assert_finds("add($.m, $.n)", inputs(3..9), "add($.m, $.n)");
    assert_finds("count(words($.t))", texts(&["a b", "c", "d e f", "g h i j"]), "count(words($.t))");
}

#[test]
fn numbers_compared_however_deep_they_are() {
    let number = |row: i64, by: i64, most: i64| (row * by + 331 * row * row) % most;
    let inputs = |place: fn(i64, i64) -> Value| -> Vec<Value> {
        (1..=50).map(|row| place(number(row, 1_733, 5_000), number(row, 2_017, 3_000))).collect()
    };
    let record = |fields: &[(&str, Value)]| -> Value {
        fields.iter().fold(Record::new(), |record, (key, value)| record.with(*key, value.clone())).into()
    };
    let flat: fn(i64, i64) -> Value = |a, b| Record::new().with("a", a).with("b", b).into();
    let apart: fn(i64, i64) -> Value =
        |a, b| Record::new().with("i", Record::new().with("b", b)).with("s", Record::new().with("a", a)).into();
    let together: fn(i64, i64) -> Value =
        |a, b| Record::new().with("i", Record::new().with("a", a).with("b", b)).into();
    assert_finds("gt($.a, $.b)", inputs(flat), "lt($.b, $.a)");
    assert_finds("gt($.s.a, $.i.b)", inputs(apart), "lt($.i.b, $.s.a)");
    assert_finds("gt($.i.a, $.i.b)", inputs(together), "lt($.i.b, $.i.a)");
    let deep = inputs(apart).into_iter().map(|value| record(&[("known", value), ("t", "x".into())])).collect();
    assert_finds("lt($.known.s.a, $.known.i.b)", deep, "lt($.known.s.a, $.known.i.b)");
    let program = "if(lt($.s.a, $.i.b), concat(\"missing \", text(sub($.i.b, $.s.a))), \"ok\")";
    let found = best(&behaviour(program, inputs(apart)));
    let unseen = apart(1_600, 1_900);
    assert_eq!(eval(&found, &unseen), Some("missing 300".into()), "{found}");
}

#[test]
fn a_date_moved_by_a_number_of_the_input() {
    let stay = |row: i64| -> Value {
        let day = format!("2026-{:02}-{:02}", row % 12 + 1, row * 7 % 28 + 1);
        Record::new().with("day", day).with("nights", row * 5 % 11 + 1).into()
    };
    for program in [
        "print_date(date_add(read_date($.day, \"yyyy-MM-dd\"), $.nights, \"days\"), \"yyyy-MM-dd\")",
        "concat(\"until \", print_date(date_add(read_date($.day, \"yyyy-MM-dd\"), $.nights, \"days\"), \"d MMMM yyyy\"))",
        "print_date(date_add(read_date($.day, \"yyyy-MM-dd\"), neg($.nights), \"months\"), \"dd.MM.yyyy\")",
    ] {
        let found = best(&behaviour(program, (0..20).map(stay)));
        let expected = parse(program).unwrap();
        for unseen in (20..50).map(stay) {
            assert_eq!(eval(&found, &unseen), eval(&expected, &unseen), "{found} for {unseen}");
        }
    }
}

#[test]
fn a_limit_is_the_roundest_that_fits_where_it_stands() {
    let request = |(amount, tier): (i64, &str)| -> Value {
        Record::new().with("request", format!("${amount} for things from a {tier} vendor")).into()
    };
    let policy = "if(lt(number(digits($.request)), 500), \"approve\", if(ge(number(digits($.request)), 20000), \"reject\", \
                  if(and(contains($.request, \"preferred\"), lt(number(digits($.request)), 5000)), \"approve\", \"review\")))";
    // 600 is approved for its tier, and 3,000 is not the most.
    let recorded = [
        (45, "standard"),
        (120, "new"),
        (310, "standard"),
        (430, "new"),
        (499, "standard"),
        (275, "preferred"),
        (600, "preferred"),
        (700, "preferred"),
        (1_900, "preferred"),
        (3_000, "preferred"),
        (2_400, "preferred"),
        (650, "new"),
        (900, "standard"),
        (1_500, "standard"),
        (4_200, "new"),
        (6_300, "new"),
        (8_000, "preferred"),
        (12_500, "standard"),
        (15_000, "preferred"),
        (22_000, "preferred"),
        (45_000, "standard"),
        (80_000, "new"),
    ];
    let found = best(&behaviour(policy, recorded.map(request)));
    let expected = parse(policy).unwrap();
    for (amount, tier) in
        [(550, "new"), (510, "standard"), (3_900, "preferred"), (4_900, "preferred"), (5_600, "preferred")]
    {
        let unseen = request((amount, tier));
        assert_eq!(eval(&found, &unseen), eval(&expected, &unseen), "{found} for {unseen}");
    }
    assert!(!found.to_string().contains("chars("), "{found}");
}

#[test]
fn counts_and_totals_of_some_rows_and_of_two_tables() {
    let order = |row: i64| -> Value {
        let kinds = ["book", "toy", "food"];
        let line = |at: i64| {
            let kind = kinds[((row + at * at) % 3) as usize];
            Record::new()
                .with("kind", kind)
                .with("n", (row * at) % 7 + 1)
                .with("price", (row * 37 + at * 113) % 900)
                .into()
        };
        let reply = |at: i64| {
            Record::new().with("cents", (row * 53 + at * at * 17) % 500).with("ok", (row * 7 + at * 5) % 4 != 0).into()
        };
        let count = row % 5;
        let (lines, replies): (Vec<Value>, Vec<Value>) =
            ((0..count).map(line).collect(), (0..count).map(reply).collect());
        let input = Record::new().with("lines", lines).with("who", format!("w{row}"));
        Record::new().with("input", input).with("stock", replies).into()
    };
    let orders = || (1..=40).map(order).collect::<Vec<Value>>();
    for program in [
        "count(filter($.stock, x => x.ok))",
        "default(first(sort_by($.input.lines, x => x.price)).kind, \"none\")",
        "default(first(sort_by($.stock, x => neg(x.cents))).ok, false)",
        "count(filter($.input.lines, x => eq(x.kind, \"toy\")))",
        "sum(map($.input.lines, x => mul(x.n, x.price)))",
        "sum(map(filter($.input.lines, x => eq(x.kind, \"book\")), x => x.price))",
        "sum(map(zip($.input.lines, $.stock), x => mul(first(x).n, last(x).cents)))",
        "if(gt(count(filter($.stock, x => not(x.ok))), 0), \"wait\", concat(\"ship to \", $.input.who))",
    ] {
        let found = best(&behaviour(program, orders()));
        let expected = parse(program).unwrap();
        for unseen in (60..90).map(order) {
            assert_eq!(eval(&found, &unseen), eval(&expected, &unseen), "{found} for {unseen}");
        }
    }
}

#[test]
fn what_may_be_null() {
    let words = ["ash", "birch", "cedar", "elm", "fir", "hazel", "oak"];
    let word = |row: usize| format!("{} {}{row}", words[row % 7], words[(row * 3 + 1) % 7]);
    let reply = |row: usize, value: Value, failed: bool| -> Value {
        let error = if failed { Value::from("not found") } else { Value::Null };
        let reply = Record::new().with("error", error).with("failed", failed).with("value", value);
        Record::new().with("input", Record::new().with("n", row)).with("lookup", reply).into()
    };
    let replies =
        |value: fn(usize, String) -> Value| -> Vec<Value> {
            (0..30)
                .map(|row| {
                    if row % 4 == 1 { reply(row, Value::Null, true) } else { reply(row, value(row, word(row)), false) }
                })
                .collect()
        };
    let text: fn(usize, String) -> Value = |_, word| word.into();
    let number: fn(usize, String) -> Value = |row, _| (row * 37 % 90).into();
    let unseen = [reply(99, "new word".into(), false), reply(99, Value::Null, true)];
    let holds = |program: &str, inputs: Vec<Value>| {
        let found = best(&behaviour(program, inputs));
        let expected = parse(program).unwrap();
        let other = reply(99, 200.into(), false);
        for input in unseen.iter().chain([&other]) {
            if let Some(wanted) = eval(&expected, input) {
                assert_eq!(eval(&found, input), Some(wanted), "{found} for {input}");
            }
        }
    };
    holds("if($.lookup.failed, \"NONE\", upper($.lookup.value))", replies(text));
    holds("if(is_null($.lookup.value), \"none\", concat(\"found \", $.lookup.value))", replies(text));
    holds("if($.lookup.failed, 0, mul($.lookup.value, 3))", replies(number));
    holds("default(gt($.lookup.value, 50), false)", replies(number));
    holds("$.lookup.value", replies(text));
}

#[test]
fn a_total_of_a_field_of_a_list() {
    let order = |row: i64| -> Value {
        let line = |at: i64| Record::new().with("item", "ab").with("cents", (row * 37 + at * at * 11) % 90).into();
        let lines: Vec<Value> = (0..row % 5 + 1).map(line).collect();
        Record::new().with("lines", lines).with("n", row).into()
    };
    let orders = || (1..=20).map(order).collect::<Vec<Value>>();
    for program in ["sum(map($.lines, x => x.cents))", "max(map($.lines, x => x.cents))"] {
        assert_finds(program, orders(), program);
    }
}

#[test]
fn texts_from_parts() {
    let inputs = [("Ana", 3), ("Bo", 12), ("Cy", 7), ("Dee", 10)];
    let inputs: Vec<Value> =
        inputs.iter().map(|(who, n)| Value::Record(Record::new().with("who", *who).with("n", *n))).collect();
    let program = "concat(\"Hello \", $.who, \": \", text($.n), \" items\")";
    assert_finds(program, inputs, program);
}

#[test]
fn thresholds_at_round_numbers() {
    let amounts = [3, 40, 180, 249, 260, 300, 470, 620, 990, 1004, 1200, 2500, 9000, 120, 75, 700];
    let inputs: Vec<Value> = amounts.iter().map(|n| Value::Record(Record::new().with("n", *n))).collect();
    let program = best(&behaviour("if(ge($.n, 1000), \"high\", if(ge($.n, 250), \"mid\", \"low\"))", inputs));
    for (amount, level) in [(999, "\"mid\""), (1000, "\"high\""), (250, "\"mid\""), (-5, "\"low\"")] {
        let input = Value::Record(Record::new().with("n", amount));
        assert_eq!(eval(&program, &input).unwrap().to_string(), level, "{program} at {amount}");
    }
}

/// The rules of F4 over structured fields: blocked or at least 20,000: reject; under 500,
/// or under 5,000 and preferred: approve; review otherwise.
#[test]
fn routing_by_amount_and_kind() {
    let policy = "if(or(eq($.vendor, \"blocked\"), ge($.amount, 20000)), \"reject\", \
                  if(or(lt($.amount, 500), and(lt($.amount, 5000), eq($.vendor, \"preferred\"))), \"approve\", \"review\"))";
    let amounts = [45, 310, 499, 500, 980, 2400, 4990, 5000, 9100, 19900, 20000, 48000];
    let ticket = |vendor: &str, amount: i64| {
        Value::Record(Record::new().with("vendor", vendor).with("amount", amount).with("note", "as agreed"))
    };
    let vendors = ["blocked", "new", "preferred", "standard"];
    let seen = vendors.iter().flat_map(|vendor| amounts.iter().map(move |amount| ticket(vendor, *amount)));
    let program = best(&behaviour(policy, seen));
    let policy = parse(policy).unwrap();
    let unseen = vendors.iter().flat_map(|vendor| [1, 700, 3000, 7000, 21000].map(|amount| ticket(vendor, amount)));
    for input in unseen {
        assert_eq!(eval(&program, &input), eval(&policy, &input), "{program} at {input}");
    }
}

#[test]
fn routing_by_keyword() {
    let subjects = [
        "Refund for kettle",
        "where is my refund",
        "REFUND please",
        "partial refund due",
        "refund of the deposit",
        "Invoice missing",
        "your invoice 17",
        "second invoice?",
        "Wrong INVOICE sent",
        "invoice address",
        "Opening hours",
        "do you ship abroad",
        "a question",
        "broken link on site",
        "thanks a lot",
        "size of the box",
    ];
    let policy = "if(contains(lower($.t), \"refund\"), \"returns\", if(contains(lower($.t), \"invoice\"), \"billing\", \"other\"))";
    let program = best(&behaviour(policy, texts(&subjects)));
    for (subject, queue) in [("A REFUND, now", "returns"), ("Invoices", "billing"), ("hello", "other")] {
        let input = texts(&[subject]).remove(0);
        assert_eq!(eval(&program, &input), Some(queue.into()), "{program}");
    }
}

#[test]
fn lists() {
    let item = |name: &str, price: i64| Value::Record(Record::new().with("name", name).with("price", price));
    let order = |items: Vec<Value>| Value::Record(Record::new().with("items", items));
    let orders = vec![
        order(vec![item("tea", 4), item("pot", 30), item("cup", 9)]),
        order(vec![item("sofa", 700)]),
        order(vec![item("pen", 2), item("ink", 12), item("desk", 300), item("lamp", 40)]),
        order(vec![item("mat", 11), item("jar", 7)]),
    ];
    assert_finds("map($.items, x => x.name)", orders.clone(), "map($.items, x => x.name)");
    assert_finds("count($.items)", orders.clone(), "count($.items)");
    let program = best(&behaviour("map(filter($.items, x => ge(x.price, 10)), x => x.name)", orders.clone()));
    let held_out = order(vec![item("bun", 1), item("oven", 450)]);
    assert_eq!(eval(&program, &held_out).unwrap().to_string(), "[\"oven\"]", "{program}");
    let program =
        best(&behaviour("map($.items, x => {\"label\": upper(x.name), \"cents\": mul(x.price, 100)})", orders));
    assert_eq!(
        eval(&program, &held_out).unwrap().to_string(),
        r#"[{"cents":100,"label":"BUN"},{"cents":45000,"label":"OVEN"}]"#
    );
}

/// More distinct items than are looked at together.
#[test]
fn long_lists() {
    let roles = ["user", "tool", "assistant"];
    let message = |n: usize| {
        let call = Value::Record(Record::new().with("id", format!("X{}", n * 37 % 1000)));
        Value::Record(Record::new().with("role", roles[n * n % 7 % 3]).with("calls", vec![call]))
    };
    let history = |from: usize| {
        let messages: Vec<Value> = (from..from + 5 + from % 11).map(message).collect();
        Value::Record(Record::new().with("messages", messages))
    };
    let policy = "map(filter($.messages, x => eq(x.role, \"user\")), x => first(x.calls).id)";
    let program = best(&behaviour(policy, (0..40).map(|n| history(n * 16))));
    let held_out = history(2000);
    assert_eq!(eval(&program, &held_out), eval(&parse(policy).unwrap(), &held_out), "{program}");
}

/// The behaviour of the first version's toy span, from four inputs.
#[test]
fn keywords_of_a_document() {
    let policy = "join(take(sort(dedup(filter(map(words(lower($.prompt)), w => strip(w, \".,\")), w => gt(chars(w), 4)))), 3), \" \")";
    let prompts = [
        "Compilers translate agent cognition into fast deterministic artifacts.",
        "Compilers translate agent cognition into fast deterministic binaries.",
        "The quick brown fox jumps over the lazy dog near the riverbank.",
        "The quick brown fox naps over the lazy dog near the riverbank.",
    ];
    let prompt = |text: &str| Value::Record(Record::new().with("prompt", text));
    let program = best(&behaviour(policy, prompts.iter().map(|text| prompt(text))));
    let held_out = prompt("Small models answer, large models hesitate.");
    assert_eq!(eval(&program, &held_out).unwrap(), "answer hesitate large".into(), "{program}");
}

#[test]
fn templates_by_kind() {
    let names = ["Ana", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jan", "Kim", "Lea"];
    let inputs = names.iter().enumerate().map(|(index, name)| {
        let kind = if index % 2 == 0 { "late" } else { "lost" };
        Value::Record(Record::new().with("kind", kind).with("who", *name))
    });
    let policy = "if(eq($.kind, \"late\"), concat(\"Sorry for the delay, \", $.who, \".\"), concat($.who, \": we send it again.\"))";
    let program = best(&behaviour(policy, inputs));
    let held_out = Value::Record(Record::new().with("kind", "late").with("who", "Zoe"));
    assert_eq!(eval(&program, &held_out).unwrap(), "Sorry for the delay, Zoe.".into(), "{program}");
}

#[test]
fn optional_parts_have_a_default() {
    let inputs = texts(&["see A-1", "none here", "B-22 again", "nothing", "id C-3", "no"]);
    assert_finds("default(token($.t, \"id\", 0), \"\")", inputs, "default(token($.t, \"id\", 0), \"\")");
}

#[test]
fn a_table_is_refused() {
    let examples: Vec<Example> = (0..12)
        .map(|n| example(&format!("{{\"t\": \"w{}\"}}", n * 7 % 12), &format!("\"{}\"", ["x", "y", "z"][n * n % 3])))
        .collect();
    let found = find(&examples);
    assert!(found.programs.is_empty(), "{:?}", found.programs);
    assert!(found.notes.iter().any(|note| note.contains("table")), "{:?}", found.notes);
    // Two inputs, two unrelated outputs.
    let found = find(&[example("{\"t\": \"a\"}", "\"q\""), example("{\"t\": \"b\"}", "\"r\"")]);
    assert!(found.programs.is_empty(), "{:?}", found.programs);
    assert!(!found.notes.is_empty());
}

#[test]
fn one_input_is_no_evidence() {
    let found = find(&[example("{\"t\": \"a\"}", "\"a\"")]);
    assert!(found.programs.is_empty());
    assert!(found.notes[0].contains("at least two"));
    assert_eq!(best(&[example("{\"t\": \"a\"}", "7"), example("{\"t\": \"b\"}", "7")]).to_string(), "7");
}

#[test]
fn the_budget_is_kept_and_the_search_repeats() {
    let inputs = texts(&["Ana Novak", "Bo Li", "Chris van Dam", "Dee Ng"]);
    let examples = behaviour("concat(first(words($.t)), \"/\", last(words($.t)))", inputs);
    let run = |steps: u64| search(&Problem::new(&examples, steps, 4));
    for steps in [0, 10, 1_000] {
        assert!(run(steps).steps <= steps);
    }
    let none = run(10);
    assert!(none.programs.is_empty() && none.notes[0].contains("budget"), "{:?}", none.notes);
    let (once, twice) = (run(STEPS), run(STEPS));
    assert_eq!(once.programs, twice.programs);
    assert_eq!(once.steps, twice.steps);
    assert!(!once.programs.is_empty());
}

#[test]
fn more_examples_than_are_looked_at_together() {
    let inputs = (0..400).map(|n| Value::Record(Record::new().with("n", n).with("m", n % 13)));
    let program = best(&behaviour("if(ge($.n, 390), \"last\", if(lt($.m, 5), \"low\", \"rest\"))", inputs));
    assert!(program.size() < 20, "{program}");
}

#[test]
fn unlabelled_inputs_rank_programs() {
    let examples = behaviour("token($.t, \"id\", 0)", texts(&["A-1 is", "B-2 was", "C-3 be"]));
    let unlabelled = texts(&["the D-4", "an E-5", "one F-6"]);
    let found = search(&Problem { unlabelled: &unlabelled, ..Problem::new(&examples, STEPS, 4) });
    let program = &found.programs[0].0;
    assert!(unlabelled.iter().all(|input| eval(program, input).is_some()), "{program}");
}

#[test]
fn numbers_and_dates_as_people_write_them() {
    let check = |pairs: &[(&str, &str)], unseen: &str, expected: &str| {
        let examples: Vec<Example> = pairs
            .iter()
            .map(|(input, output)| Example { input: texts(&[input]).remove(0), output: (*output).into() })
            .collect();
        let program = best(&examples);
        assert_eq!(eval(&program, &texts(&[unseen]).remove(0)), Some(expected.into()), "{program}");
    };
    check(&[("1234.5", "$1,234.50"), ("7.25", "$7.25"), ("98765", "$98,765.00")], "1000000", "$1,000,000.00");
    check(&[("19.57", "19.55"), ("19.58", "19.6"), ("21.48", "21.5")], "3.12", "3.1");
    check(&[("40.88", "40-45"), ("27.95", "25-30"), ("28.0", "25-30")], "40", "40-45");
    check(&[("2041-11-23", "Nov 2041"), ("1974-12-16", "Dec 1974")], "2001-02-03", "Feb 2001");
    check(
        &[("18:25:57", "6PM to 8PM"), ("07:00:20", "6AM to 8AM"), ("21:44:40", "8PM to 10PM")],
        "23:34:17",
        "10PM to 12AM",
    );
    check(&[("6-Oct-2143", "6/10/2143"), ("Mar 30 2002", "30/3/2002")], "8 January 2015", "8/1/2015");
}

#[test]
fn parts_between_positions() {
    let names = [("4 England DF Michael Mancienne", "M Mancienne"), ("19 Wales FW Sam Jones", "S Jones")];
    let lines =
        [("57, Rue Roussy 6711 ORANGE", "Rue Roussy"), ("4, Chemin Des Bateliers 2663 ANGLET", "Chemin Des Bateliers")];
    for (pairs, unseen, expected) in [
        (names, "10 Scotland MF Barrie McKay", "B McKay"),
        (lines, "27, avenue de Bouvines 2867 X", "avenue de Bouvines"),
    ] {
        let examples: Vec<Example> = pairs
            .iter()
            .map(|(input, output)| Example { input: texts(&[input]).remove(0), output: (*output).into() })
            .collect();
        let program = best(&examples);
        assert_eq!(eval(&program, &texts(&[unseen]).remove(0)), Some(expected.into()), "{program}");
    }
}

#[test]
fn what_fits_and_says_different_things_is_reported() {
    let names = texts(&["Ana Novak", "Bo Li", "Dee Ng"]);
    let examples = behaviour("last(words($.t))", names);
    let unlabelled = texts(&["Chris van Dam"]);
    let found = search(&Problem { unlabelled: &unlabelled, ..Problem::new(&examples, STEPS, 8) });
    let note = found.notes.iter().find(|note| note.starts_with("ambiguous")).unwrap_or_else(|| panic!("{found:?}"));
    assert!(note.contains("Dam") && note.contains("record what it is"), "{note}");
}

#[test]
fn missing_parts_are_told_by_default() {
    let examples: Vec<Example> = [
        ("Avatar (2009); Director: James Cameron", "James Cameron"),
        ("The Lion King (1994)", ""),
        ("Forrest Gump; Director: Robert Zemeckis; 1994", "Robert Zemeckis"),
        ("Alien; Director: Ridley Scott", "Ridley Scott"),
        ("Up", ""),
        ("Dune (2021); Director: Denis Villeneuve; long", "Denis Villeneuve"),
    ]
    .iter()
    .map(|(input, output)| Example { input: texts(&[input]).remove(0), output: (*output).into() })
    .collect();
    let program = best(&examples);
    for (unseen, expected) in [("Heat; Director: Michael Mann", "Michael Mann"), ("Jaws", "")] {
        assert_eq!(eval(&program, &texts(&[unseen]).remove(0)), Some(expected.into()), "{program}");
    }
}

#[test]
fn a_date_that_could_be_either_way_round_is_reported() {
    let either = [("3/3/2024", "2024-03-03"), ("5/5/2023", "2023-05-05"), ("11/11/1999", "1999-11-11")];
    let settled = [("3/4/2024", "2024-04-03"), ("5/6/2023", "2023-06-05"), ("11/12/1999", "1999-12-11")];
    for (pairs, ambiguous) in [(either, true), (settled, false)] {
        let examples = pairs.map(|(input, output)| Example { input: texts(&[input]).remove(0), output: output.into() });
        let found = find(&examples);
        let told = found.notes.iter().any(|note| note.contains("whether the day or the month comes first"));
        let reads = found.programs[0].0.to_string().contains("read_date");
        assert_eq!(told, ambiguous && reads, "{}: {:?}", found.programs[0].0, found.notes);
    }
}
