//! Random typed programs on random inputs: the evaluator, both engines, plain and metered
//! modules give the same.

mod support;

use auto_json::Value;
use auto_lang::Op;
use auto_rt::kernels::novelty;
use auto_schema::ir::{Check, Guard};
use auto_schema::types::{Field, Type};
use proptest::prelude::*;
use support::engines::{Machine, Wasmi, Wasmtime};
use support::forms::{FORMS, Want};
use support::{Outcome, chain, reference, reference_novelty};

/// Texts that operators have something to do with.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(
            prop::sample::select(vec![
                "a", "B", "é", "İ", "ß", "\u{1F600}", " ", "  ", ",", "-", "_", "\n", "\"", "\\", "\u{1}", "7", "12",
                "ORD-17", "x_1", "Hello", ".", "tail",
                "McDo", "-1,234.50", "$", "2024-03-17", "9:05 pm", "a.b@c.de", "http://x.y/z", "(", ")", "'", "\r\n",
                "a=1&b", "%C3%A9", "k: v;", "\"q\"", "fooBar",
            ]),
            0..12
        )
        .prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

fn number() -> impl Strategy<Value = Value> {
    let lexeme = prop_oneof![
        3 => any::<i8>().prop_map(|value| value.to_string()),
        1 => any::<i64>().prop_map(|value| value.to_string()),
        1 => (any::<i32>(), 0u32..10_000).prop_map(|(whole, part)| format!("{whole}.{part}")),
        1 => (1u64.., 1u64..).prop_map(|(high, low)| format!("{high}{low}").chars().take(38).collect()),
        1 => (any::<i16>(), -60i32..60).prop_map(|(digits, power)| format!("{digits}e{power}")),
    ];
    lexeme.prop_filter_map("too many digits", |lexeme| Value::parse(lexeme).ok())
}

fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Unit),
        Just(Type::Bool),
        Just(Type::Int),
        Just(Type::Number),
        Just(Type::Text),
        Just(Type::Bytes),
        Just(Type::Json),
        prop::collection::btree_set("[a-c\"é]{0,2}", 1..4).prop_map(|labels| Type::Enum(labels.into_iter().collect())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::optional),
            inner.clone().prop_map(Type::map),
            prop::collection::btree_map("[a-d/~]{0,2}", (any::<bool>(), inner), 0..4).prop_map(|fields| Type::Record(
                fields.into_iter().map(|(name, (optional, ty))| Field { name, optional, ty }).collect()
            )),
        ]
    })
    .prop_map(Type::canonical)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool), number(), text().prop_map(Value::Text),];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec(("[a-d/~]{0,2}", inner), 0..4)
                .prop_map(|members| Value::Record(members.into_iter().collect())),
        ]
    })
}

/// A value of a type.
fn value_of(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Unit => Just(Value::Null).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Int => any::<i64>().prop_map(Value::integer).boxed(),
        Type::Number => number().boxed(),
        Type::Text | Type::Bytes => text().prop_map(Value::Text).boxed(),
        Type::Json => any_value().boxed(),
        Type::Enum(labels) => prop::sample::select(labels.clone()).prop_map(Value::Text).boxed(),
        Type::Optional(item) => prop_oneof![Just(Value::Null), value_of(item)].boxed(),
        Type::List(item) => prop::collection::vec(value_of(item), 0..4).prop_map(Value::List).boxed(),
        Type::Map(item) => prop::collection::vec(("[a-c]{0,2}", value_of(item)), 0..4)
            .prop_map(|members| Value::Record(members.into_iter().collect()))
            .boxed(),
        Type::Record(fields) => fields
            .iter()
            .map(|field| {
                let name = field.name.clone();
                let present = if field.optional { any::<bool>().boxed() } else { Just(true).boxed() };
                (present, value_of(&field.ty)).prop_map(move |(present, value)| present.then(|| (name.clone(), value)))
            })
            .collect::<Vec<_>>()
            .prop_map(|members| Value::Record(members.into_iter().flatten().collect()))
            .boxed(),
    }
}

/// Inputs for a type: of it, near it, not JSON; white space and escapes as they come.
fn inputs(ty: &Type) -> BoxedStrategy<Vec<String>> {
    let one = prop_oneof![
        6 => value_of(ty).prop_map(|value| value.to_string()),
        1 => value_of(ty).prop_map(|value| value.to_string().replace([',', ':'], " \n, ").replace(" \n, \"", " :\t\"")),
        2 => any_value().prop_map(|value| value.to_string()),
        1 => (value_of(ty), any::<prop::sample::Index>(), any::<char>()).prop_map(|(value, at, character)| {
            let mut text: Vec<char> = value.to_string().chars().collect();
            let at = at.index(text.len());
            text[at] = character;
            text.into_iter().collect()
        }),
        1 => (value_of(ty), any::<prop::sample::Index>()).prop_map(|(value, at)| {
            let text: Vec<char> = value.to_string().chars().collect();
            text[..at.index(text.len())].iter().collect()
        }),
        1 => text().prop_map(|text| {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            format!("\"{escaped}\"")
        }),
    ];
    prop::collection::vec(one, 1..12).boxed()
}

/// An open place in a form that is being filled; JSON has it in no text.
const OPEN: &str = "\u{1A}";

/// Choices, out of which expressions are made; 0 where they have run out, so that fewer
/// choices make smaller expressions.
struct Tape<'a> {
    choices: std::slice::Iter<'a, u16>,
    constants: &'a [(Want, String)],
}

impl Tape<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(*self.choices.next().unwrap_or(&0)) % count.max(1)
    }

    /// An expression in text form; `here` are expressions in reach, such as `$.a`.
    fn expression(&mut self, want: Want, depth: u32, here: &mut Vec<(String, Want)>) -> String {
        let choice = self.below(8);
        if depth == 0 || choice < 2 {
            return self.leaf(want, here);
        }
        if choice == 2 {
            let (form, wants): (_, &[Want]) = match self.below(4) {
                0 => ("default(#, #)", &[want, want]),
                1 => ("if(#, #, #)", &[Want::Bool, want, want]),
                2 => ("first([#, #])", &[want, want]),
                _ => ("{\"x\": #}.x", &[want]),
            };
            return self.filled(form, wants, None, depth, here);
        }
        let forms: Vec<_> = FORMS.iter().filter(|form| form.0 == want).collect();
        let (_, form, wants, variable) = forms[self.below(forms.len())];
        self.filled(form, wants, *variable, depth, here)
    }

    fn leaf(&mut self, want: Want, here: &[(String, Want)]) -> String {
        let fits = |is: &Want| want == Want::Any || *is == want;
        let reachable: Vec<&String> = here.iter().filter(|(_, is)| fits(is)).map(|(text, _)| text).collect();
        if !reachable.is_empty() && self.below(4) > 0 {
            return reachable[self.below(reachable.len())].clone();
        }
        let constants: Vec<&String> = self.constants.iter().filter(|(is, _)| fits(is)).map(|(_, text)| text).collect();
        match constants.len() {
            0 => "null".to_owned(),
            count => constants[self.below(count)].clone(),
        }
    }

    /// A form with examples of the literals that its operator takes.
    fn described(&mut self, form: &str) -> String {
        let mut text = form.to_owned();
        let op = form.split('(').next().and_then(Op::named);
        for (_, literal) in op.map_or(&[][..], Op::literals).iter().filter(|_| form.contains('?')) {
            let examples = literal.examples();
            let example = Value::from(examples[self.below(examples.len())]);
            text = text.replacen('?', &example.to_string(), 1);
        }
        text
    }

    fn filled(
        &mut self,
        form: &str,
        wants: &[Want],
        variable: Option<Want>,
        depth: u32,
        here: &mut Vec<(String, Want)>,
    ) -> String {
        let name = format!("v{depth}");
        let mut text = self.described(&form.replace('@', &name).replace('#', OPEN));
        for (index, want) in wants.iter().enumerate() {
            let bound = variable.filter(|_| index + 1 == wants.len());
            if let Some(is) = bound {
                here.push((name.clone(), is));
            }
            let part = self.expression(*want, depth - 1, here);
            if bound.is_some() {
                here.pop();
            }
            text = text.replacen(OPEN, &part, 1);
        }
        text
    }
}

/// Makes an expression of what was chosen: the first that is well typed, with fewer and fewer of
/// the choices.
fn expression(ty: Option<&Type>, choices: &[u16], constants: &[(Want, String)]) -> String {
    let is_typed = |text: &String| {
        let expression = auto_lang::parse(text).expect("forms are expressions");
        auto_lang::type_of(&expression, ty.unwrap_or(&Type::Json)).is_ok()
    };
    let made = |choices: &[u16]| {
        let mut here = ty.map_or_else(|| vec![("$".to_owned(), Want::Any)], places);
        Tape { choices: choices.iter(), constants }.expression(Want::Any, 6, &mut here)
    };
    (0..choices.len()).map(|skipped| made(&choices[skipped..])).find(is_typed).unwrap_or_else(|| "$".to_owned())
}

fn constants() -> impl Strategy<Value = Vec<(Want, String)>> {
    let one = prop_oneof![
        text().prop_map(|text| (Want::Text, Value::from(text).to_string())),
        prop::sample::select(vec![
            "2024-02-29",
            "T23:50:00",
            "2031-01-31T05:54:18.250+02:00",
            "1999-12",
            "0001-01-01",
            "9999-12-31T23:59:59",
            "--03-17",
            "---31",
            "2024",
        ])
        .prop_map(|text| (Want::Date, Value::from(text).to_string())),
        prop::sample::select(vec!["3/4/2024", "17 March 2024", "9:05 pm", "31-Jan-2031", "2024 60", "227"])
            .prop_map(|text| (Want::Text, Value::from(text).to_string())),
        (-3i64..5).prop_map(|small| (Want::Number, small.to_string())),
        number().prop_map(|number| (Want::Number, number.to_string())),
        any::<bool>().prop_map(|value| (Want::Bool, value.to_string())),
    ];
    prop::collection::vec(one, 0..12)
}

/// Places in inputs of a type, and what is there.
fn places(ty: &Type) -> Vec<(String, Want)> {
    fn walk(ty: &Type, at: &str, depth: u32, found: &mut Vec<(String, Want)>) {
        let want = match ty {
            Type::Text | Type::Bytes | Type::Enum(_) => Want::Text,
            Type::Int | Type::Number => Want::Number,
            Type::Bool => Want::Bool,
            Type::List(item) if matches!(**item, Type::Text | Type::Bytes) => Want::Texts,
            Type::Record(_) | Type::Map(_) => Want::Record,
            Type::List(item) if matches!(**item, Type::Int | Type::Number) => Want::Numbers,
            _ => Want::Any,
        };
        found.push((at.to_owned(), want));
        match ty {
            Type::Optional(item) => walk(item, at, depth, found),
            Type::Record(fields) if depth > 0 => fields.iter().for_each(|field| {
                let name = Value::from(field.name.as_str());
                walk(&field.ty, &format!("{at}.{name}"), depth - 1, found);
            }),
            Type::Map(item) if depth > 0 => walk(item, &format!("{at}.a"), depth - 1, found),
            Type::Json => found.push((format!("{at}.a"), Want::Any)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(ty, "$", 3, &mut found);
    found
}

fn paths(ty: &Type) -> Vec<String> {
    fn walk(ty: &Type, at: &str, depth: u32, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match ty {
            _ if depth == 0 => {}
            Type::Optional(item) => walk(item, at, depth - 1, found),
            Type::List(item) => walk(item, &format!("{at}/*"), depth - 1, found),
            Type::Map(item) => walk(item, &format!("{at}/a"), depth - 1, found),
            Type::Json => found.extend([format!("{at}/*"), format!("{at}/a/*/b")]),
            Type::Record(fields) => fields.iter().for_each(|field| {
                let name = field.name.replace('~', "~0").replace('/', "~1");
                walk(&field.ty, &format!("{at}/{name}"), depth - 1, found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(ty, "", 4, &mut found);
    found
}

fn guard(ty: &Type) -> BoxedStrategy<Option<Guard>> {
    let path = || prop::sample::select(paths(ty));
    let check = prop_oneof![
        prop_oneof![Just(ty.clone()), any_type()].prop_map(|ty| Check::Shape { ty }),
        (path(), 0u64..4, 0u64..20).prop_map(|(path, min, more)| Check::Length { path, min, max: min + more }),
        (path(), any::<u8>()).prop_map(|(path, classes)| Check::Characters { path, classes: classes.into() }),
        (path(), number(), number()).prop_filter_map("numbers", |(path, a, b)| {
            let (x, y) = (*a.as_number()?, *b.as_number()?);
            let (min, max) = if x.compare(&y).is_le() { (x, y) } else { (y, x) };
            Some(Check::Range { path, min: min.text(), max: max.text() })
        }),
        (path(), 3u32..8, prop::collection::vec(text(), 0..8)).prop_map(|(path, bits, seen)| {
            let mut table = vec![0; 1 << (bits - 3)];
            seen.iter().for_each(|text| novelty::sketch_insert(text.as_bytes(), bits, &mut table));
            Check::Sketch { path, bits, table }
        }),
        (path(), 0u64..4_000_000).prop_map(|(path, scale)| Check::Score { path, scale }),
    ];
    let ty = ty.clone();
    (0u32..=1_000_000, prop::collection::vec(check, 0..8))
        .prop_map(move |(limit, checks)| {
            // Of those that a graph may hold: a path must be able to meet what is checked.
            let alone = |check: &Check| Guard { limit, checks: vec![check.clone()] };
            let fits = |check: &Check| chain(&ty, Some(alone(check)), &["1"]).validate().is_ok();
            let checks: Vec<Check> = checks.into_iter().filter(fits).collect();
            (!checks.is_empty()).then_some(Guard { limit, checks })
        })
        .boxed()
}

#[derive(Clone, Debug)]
struct Case {
    ty: Type,
    guard: Option<Guard>,
    expressions: Vec<String>,
    inputs: Vec<String>,
}

fn case() -> impl Strategy<Value = Case> {
    let choices = || prop::collection::vec(any::<u16>(), 0..120);
    (any_type(), choices(), prop::option::weighted(0.3, choices()), constants()).prop_flat_map(
        |(ty, first, then, constants)| {
            let first = expression(Some(&ty), &first, &constants);
            let then = then.map(|then| expression(None, &then, &constants));
            let expressions: Vec<String> = [Some(first), then].into_iter().flatten().collect();
            (Just(ty.clone()), guard(&ty), Just(expressions), inputs(&ty))
                .prop_map(|(ty, guard, expressions, inputs)| Case { ty, guard, expressions, inputs })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn artifacts_mean_what_their_programs_mean(case in case()) {
        let texts: Vec<&str> = case.expressions.iter().map(String::as_str).collect();
        let graph = chain(&case.ty, case.guard.clone(), &texts);
        let emitted = auto_emit::emit(&graph.to_bytes().expect("a valid graph")).expect("emits");
        let mut interpreted = Wasmi::new(&emitted.module);
        let mut counted = Wasmi::new(&emitted.metered);
        let mut compiled = Wasmtime::new(&emitted.metered);
        for input in &case.inputs {
            let expected = reference(&graph, input);
            let novelty = reference_novelty(&graph, input);
            prop_assert_eq!(&interpreted.run(input.as_bytes()), &expected, "{}", input);
            prop_assert_eq!(&counted.run(input.as_bytes()), &expected);
            let steps = counted.steps();
            prop_assert_eq!(&compiled.run(input.as_bytes()), &expected);
            prop_assert_eq!(compiled.steps(), steps);
            prop_assert_eq!(interpreted.assess(input.as_bytes()), novelty.clone());
            prop_assert_eq!(compiled.assess(input.as_bytes()), novelty);
            let unsupported = matches!(interpreted.resume(b"state", Ok(input.as_bytes())), Outcome::Unsupported(_));
            prop_assert!(unsupported);
            // And afterwards as before: what an instance did before never shows.
            prop_assert_eq!(&Wasmi::new(&emitted.module).run(input.as_bytes()), &expected);
        }
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}
