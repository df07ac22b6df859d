//! Twelve programs of the kinds that people have: each gives what the same function written by
//! hand gives, and is small.

mod support;

#[path = "../../../evals/src/rules/table.rs"]
mod table;

use std::hint::black_box;
use std::time::Instant;

use support::engines::{Machine, Wasmi, Wasmtime};
use support::{Outcome, chain, ty};
use table::{RULES, Rule};

fn module(rule: &Rule) -> Vec<u8> {
    let graph = chain(&ty(rule.input), None, &[rule.program]);
    auto_emit::emit(&graph.to_bytes().unwrap()).unwrap().module
}

#[test]
fn programs_give_what_is_written_by_hand() {
    for rule in &RULES {
        let module = module(rule);
        let mut machines: [Box<dyn Machine>; 2] = [Box::new(Wasmtime::new(&module)), Box::new(Wasmi::new(&module))];
        for input in rule.inputs {
            let by_hand = (rule.by_hand)(input).unwrap_or_else(|| panic!("{}: {input} has no answer", rule.name));
            for machine in &mut machines {
                assert_eq!(machine.run(input.as_bytes()), Outcome::Answer(by_hand.clone()), "{}: {input}", rule.name);
            }
        }
    }
}

#[test]
fn half_of_the_artifacts_are_below_24_kilobytes() {
    let mut sizes: Vec<usize> = RULES.iter().map(|rule| module(rule).len()).collect();
    sizes.sort_unstable();
    assert!(sizes[sizes.len() / 2] < 24_000, "{sizes:?}");
}

/// What a warm call costs beside the function written by hand: medians over rounds in turn.
/// `cargo test --release -p auto-emit --test rules -- --ignored --nocapture` prints them.
#[test]
#[ignore = "prints figures of the machine, and decides nothing"]
fn figures() {
    let mut ratios = Vec::new();
    for rule in &RULES {
        let module = module(rule);
        let mut machine = Wasmtime::new(&module);
        let (mut warm, mut by_hand) = (Vec::new(), Vec::new());
        for _ in 0..101 {
            warm.push(turn(rule, |input| drop(black_box(machine.run(black_box(input.as_bytes()))))));
            by_hand.push(turn(rule, |input| drop(black_box((rule.by_hand)(black_box(input))))));
        }
        let (warm, by_hand) = (median(warm), median(by_hand));
        ratios.push(warm / by_hand);
        println!(
            "{:>12} {:>6} bytes {warm:>9.1} ns {by_hand:>9.1} ns {:>6.2}",
            rule.name,
            module.len(),
            warm / by_hand
        );
    }
    println!("median ratio {:.2}", median(ratios));
}

/// Nanoseconds a call, of a turn.
fn turn(rule: &Rule, mut call: impl FnMut(&str)) -> f64 {
    let calls = 400;
    let start = Instant::now();
    for input in rule.inputs.iter().cycle().take(calls) {
        call(input);
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
