//! What the guard promises: every witness is admitted, what is like the witnesses mostly
//! is, what is far from them is not, and the graph stays sound.

use auto_guard::{HeldOut, assess, calibrate};
use auto_json::{Record, Value};
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::Type;
use proptest::prelude::*;

const QUANTILE: u32 = 950_000;

fn node(id: u32, inputs: Vec<Port>, outputs: Vec<Port>, body: Body) -> Node {
    Node {
        id,
        name: format!("node {id}"),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

/// Two expressions take the input, a third takes both.
fn program() -> Graph {
    let port = |name: &str| Port::new(name, Type::Json);
    let expression = |source: &str| Body::Expression { source: source.to_owned() };
    let edge = |from, to, port| Edge { from: End { node: from, port: 0 }, to: End { node: to, port } };
    Graph {
        name: "program".to_owned(),
        nodes: vec![
            node(1, vec![], vec![port("value")], Body::Input),
            node(3, vec![port("a")], vec![port("value")], expression("$")),
            node(4, vec![port("a")], vec![port("value")], expression("$")),
            node(7, vec![port("a"), port("b")], vec![port("value")], expression("$.a")),
            node(9, vec![port("value")], vec![], Body::Output),
        ],
        edges: vec![edge(1, 3, 0), edge(1, 4, 0), edge(3, 7, 0), edge(4, 7, 1), edge(7, 9, 0)],
        regions: vec![],
    }
}

fn guarded(witnesses: &[Value], held_out: &[HeldOut]) -> Graph {
    calibrate(witnesses, program(), held_out, QUANTILE).unwrap()
}

fn guard_node(graph: &Graph) -> (&Node, &Guard) {
    let guard = graph.nodes.iter().find_map(|node| match &node.body {
        Body::Guard(guard) => Some((node, guard)),
        _ => None,
    });
    guard.unwrap()
}

fn guard(witnesses: &[Value]) -> Guard {
    guard_node(&guarded(witnesses, &[])).1.clone()
}

fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

/// A small generator (Steele, Lea and Flood 2014, splitmix64), so that runs are equal.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A request as a customer would write it.
fn request(random: &mut Random) -> String {
    let verb = random.pick(&["cancel", "return", "change", "track", "repeat"]);
    let thing = random.pick(&["order", "subscription", "delivery", "invoice", "booking", "reservation"]);
    let reason =
        random.pick(&["it arrived late", "the colour is wrong", "I moved house", "it does not fit", "I need two more"]);
    let close = random.pick(&["please", "thank you", "as soon as possible", "whenever you can"]);
    format!("I want to {verb} my {thing} number {} because {reason}, {close}.", 1000 + random.below(9000))
}

fn ticket(random: &mut Random) -> Value {
    Record::new()
        .with("text", request(random))
        .with("amount", Value::integer(10 + random.below(490) as i64))
        .with("tier", random.pick(&["gold", "silver", "none"]))
        .into()
}

fn tickets(count: usize, seed: u64) -> Vec<Value> {
    let mut random = Random(seed);
    (0..count).map(|_| ticket(&mut random)).collect()
}

fn with(ticket: &Value, key: &str, value: impl Into<Value>) -> Value {
    ticket.as_record().unwrap().clone().with(key, value).into()
}

#[test]
fn fresh_inputs_of_the_same_kind_are_mostly_admitted() {
    let guard = guard(&tickets(60, 1));
    let fresh = tickets(200, 2);
    let admitted = fresh.iter().filter(|ticket| assess(&guard, ticket).admits()).count();
    assert!(admitted >= 180, "{admitted} of 200 at limit {}", guard.limit);
}

#[test]
fn far_inputs_abstain_and_say_why() {
    let witnesses = tickets(60, 1);
    let guard = guard(&witnesses);
    let one = &witnesses[0];
    let mut random = Random(3);
    let consonants: String =
        (0..70).map(|_| random.pick(&["b", "c", "d", "f", "g", "k", "p", "q", "x", "z"])).collect();
    let long = request(&mut random).repeat(10);
    let far = [
        (Value::from(request(&mut random)), "shape"),
        (Value::from(vec![one.clone()]), "shape"),
        (Value::Null, "shape"),
        (with(one, "extra", true), "shape"),
        (with(one, "amount", "12"), "shape"),
        (with(one, "tier", "platinum"), "shape"),
        (with(one, "text", long), "length"),
        (with(one, "text", ""), "length"),
        (with(one, "text", "Я хочу вернуть свой заказ номер 4711, спасибо большое заранее."), "characters"),
        (with(one, "text", "I want to cancel my order\u{1} number 4711 because I moved house, please."), "characters"),
        (with(one, "amount", Value::integer(100_000)), "range"),
        (with(one, "amount", Value::integer(-1)), "range"),
        (with(one, "text", consonants), "sketch"),
        (
            with(one, "text", "Quarterly bandwidth graphs show jumpy plateau effects vexing Google Maps proxies"),
            "sketch",
        ),
    ];
    for (input, reason) in far {
        let novelty = assess(&guard, &input);
        assert!(!novelty.admits(), "admitted at {}: {input}", novelty.score);
        assert_eq!(novelty.reason, reason, "{input}");
    }
}

#[test]
fn plain_text_inputs_are_guarded_too() {
    let mut random = Random(5);
    let witnesses: Vec<Value> = (0..50).map(|_| request(&mut random).into()).collect();
    let guard = guard(&witnesses);
    assert!((0..50).filter(|_| assess(&guard, &request(&mut random).into()).admits()).count() >= 45);
    assert!(!assess(&guard, &"xkcd qwrt zzzp bvnm fghj klpq wrtz xcvb nmkl hjgf dspq trwx".into()).admits());
    assert!(!assess(&guard, &json("{}")).admits());
}

#[test]
fn witnesses_with_nothing_in_common_leave_the_profile() {
    let words = ["abc", "fgh", "klm", "pqr", "uvw", "xyz"];
    let witnesses: Vec<Value> = words.iter().map(|word| (*word).into()).collect();
    let graph = guarded(&witnesses, &[]);
    let (node, guard) = guard_node(&graph);
    assert!(node.name.contains("profile alone"), "{}", node.name);
    assert!(!guard.checks.iter().any(|check| matches!(check, Check::Sketch { .. })));
    assert!(assess(guard, &"bcd".into()).admits());
    for far in ["abcdefghijk", "a1c", "ABC", ""] {
        assert!(!assess(guard, &far.into()).admits(), "{far}");
    }
}

#[test]
fn identifiers_do_not_blunt_the_sketch_of_a_text_beside_them() {
    let mut random = Random(11);
    let mut letters = |count| (0..count).map(|_| char::from(b'a' + random.below(26) as u8)).collect::<String>();
    let mut texts = Random(12);
    let witnesses: Vec<Value> =
        (0..60).map(|_| Record::new().with("id", letters(12)).with("text", request(&mut texts)).into()).collect();
    let guard = guard(&witnesses);
    let sketched: Vec<&str> = guard
        .checks
        .iter()
        .filter_map(|check| if let Check::Sketch { path, .. } = check { Some(path.as_str()) } else { None })
        .collect();
    assert_eq!(sketched, ["/text"]);
    assert!(guard.limit < 300_000, "{}", guard.limit);
}

#[test]
fn one_witness_admits_itself_and_little_else() {
    let guard = guard(&["brown foxes".into()]);
    assert_eq!(guard.limit, 0);
    assert!(assess(&guard, &"brown foxes".into()).admits());
    assert!(!assess(&guard, &"brown boxes".into()).admits());
}

/// Held-out rows in five folds.
fn folds(witnesses: &[Value], wrong: impl Fn(usize) -> bool) -> Vec<HeldOut> {
    let rows = witnesses.iter().enumerate();
    rows.map(|(index, input)| HeldOut { fold: index as u32 % 5, input: input.clone(), wrong: wrong(index) }).collect()
}

#[test]
fn a_fold_is_scored_without_its_own_rows() {
    let witnesses = tickets(60, 1);
    let limit = |held_out: &[HeldOut]| guard_node(&guarded(&witnesses, held_out)).1.limit;
    let all_at_once: Vec<HeldOut> =
        folds(&witnesses, |_| false).into_iter().map(|row| HeldOut { fold: 0, ..row }).collect();
    let guard_without = guarded(&witnesses, &all_at_once);
    assert!(guard_node(&guard_without).0.name.contains("profile alone"), "nothing is known outside the one fold");
    assert!(limit(&folds(&witnesses, |_| false)) >= limit(&[]), "less is known outside a fold than outside one row");
}

#[test]
fn the_limit_gives_up_wrong_answers_only_where_they_are_the_novel_ones() {
    let witnesses = tickets(60, 1);
    let plain = guarded(&witnesses, &folds(&witnesses, |_| false));
    let limit = guard_node(&plain).1.limit;
    // How novel each row is to the others: told by a guard made without it.
    let novelty: Vec<u32> = (0..witnesses.len())
        .map(|index| {
            let others: Vec<Value> = witnesses
                .iter()
                .enumerate()
                .filter(|(other, _)| other % 5 != index % 5)
                .map(|(_, w)| w.clone())
                .collect();
            let graph = guarded(&others, &[]);
            let sketches: Vec<Check> =
                guard_node(&graph).1.checks.iter().filter(|c| c.kind() == "sketch").cloned().collect();
            assess(&Guard { limit: 0, checks: sketches }, &witnesses[index]).score
        })
        .collect();
    let mut sorted = novelty.clone();
    sorted.sort_unstable();
    let (low, high) = (sorted[12], sorted[44]);
    let novel_wrong = guarded(&witnesses, &folds(&witnesses, |index| novelty[index] >= high));
    assert!(guard_node(&novel_wrong).1.limit < limit);
    let familiar_wrong = guarded(&witnesses, &folds(&witnesses, |index| novelty[index] <= low));
    assert_eq!(guard_node(&familiar_wrong).1.limit, limit);
}

#[test]
fn no_witness_is_a_fault() {
    assert_eq!(calibrate(&[], program(), &[], QUANTILE).unwrap_err().code, "no-observations");
}

/// Any JSON value, with the awkward keys and texts that paths must survive.
fn any_value() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["[a-c]", Just("*".to_owned()), Just("~/".to_owned()), Just(String::new())];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (any::<i64>(), 0u16..30)
            .prop_map(|(mantissa, scale)| auto_json::Number::decimal(mantissa.into(), scale).into()),
        any::<i128>().prop_map(|value| auto_json::Number::integer(value).into()),
        "[a-e ]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::from(members.into_iter().collect::<Record>())),
        ]
    })
}

proptest! {
    #[test]
    fn every_witness_is_admitted(witnesses in prop::collection::vec(any_value(), 1..12), quantile in 0u32..=1_000_000) {
        let graph = calibrate(&witnesses, program(), &[], quantile).unwrap();
        let (_, guard) = guard_node(&graph);
        for witness in &witnesses {
            let novelty = assess(guard, witness);
            prop_assert_eq!(novelty.score, 0, "{} on {}", novelty.reason, witness);
        }
    }

    #[test]
    fn the_graph_stays_sound_and_the_same(
        witnesses in prop::collection::vec(any_value(), 1..12),
        wrong in prop::collection::vec(any::<bool>(), 12),
        held_out: bool,
    ) {
        let rows = if held_out { folds(&witnesses, |index| wrong[index]) } else { vec![] };
        let graph = guarded(&witnesses, &rows);
        let bytes = graph.to_bytes().unwrap();
        prop_assert_eq!(&Graph::from_bytes(&bytes).unwrap(), &graph);
        prop_assert!(graph.is_guarded());
        let (node, guard) = guard_node(&graph);
        prop_assert_eq!(node.id, 10);
        prop_assert!(guard.limit < 1_000_000, "the profile must be able to refuse");
        for old in program().nodes {
            prop_assert_eq!(graph.node(old.id), Some(&old));
        }
        prop_assert_eq!(guarded(&witnesses, &rows).to_bytes().unwrap(), bytes.clone());
        let again = calibrate(&witnesses, graph.clone(), &rows, QUANTILE).unwrap();
        prop_assert_eq!(again.to_bytes().unwrap(), bytes.clone(), "calibrating twice is calibrating once");
        let reversed: Vec<Value> = witnesses.iter().rev().cloned().collect();
        let rows: Vec<HeldOut> = rows.iter().rev().cloned().collect();
        prop_assert_eq!(guarded(&reversed, &rows).to_bytes().unwrap(), bytes);
    }

    #[test]
    fn what_no_witness_is_shaped_like_abstains(count in 2usize..20, seed: u64) {
        let witnesses = tickets(count, seed);
        let guard = guard(&witnesses);
        for far in [Value::Null, json("{}"), json("[]"), json("7"), with(&witnesses[0], "other", Value::Null)] {
            prop_assert!(!assess(&guard, &far).admits(), "{far}");
        }
        let longest = witnesses.iter().map(|w| w.get("text").and_then(Value::as_text).unwrap_or("").len()).max().unwrap_or(0);
        prop_assert!(!assess(&guard, &with(&witnesses[0], "text", "a".repeat(longest * 10))).admits());
        prop_assert!(!assess(&guard, &with(&witnesses[0], "amount", Value::integer(5_000))).admits());
    }
}
