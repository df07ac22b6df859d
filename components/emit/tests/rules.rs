//! Twelve programs of the kinds that people have: each gives what the same function written by
//! hand gives, and is small.

mod support;

#[path = "../../../evals/src/rules/table.rs"]
mod table;

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
