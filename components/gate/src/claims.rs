//! The claims that recordings and artifacts are held to alike: types, properties, and
//! what examples and eval cases expect.

use auto_json::Value;
use auto_schema::contract::{Contract, Match, Property};
use auto_schema::types::Type;

use crate::evidence::{Hearings, Ruling};
use crate::finding::{Breaches, Finding, Status, shown};

/// An input and an output that was given for it.
pub(crate) type Answer<'a> = (&'a Value, &'a Value);

/// An example or an eval case.
pub(crate) struct Expectation<'a> {
    pub id: String,
    pub claim: String,
    pub input: &'a Value,
    /// None where any answer will do.
    pub expected: Option<&'a Value>,
    pub compare: Match,
}

/// Examples, then eval cases, in the order of the contract.
pub(crate) fn expectations(contract: &Contract) -> Vec<Expectation<'_>> {
    let examples = contract.examples.iter().map(|example| Expectation {
        id: format!("example/{}", example.name),
        claim: format!("{} gives {}{}", shown(&example.input), shown(&example.output), judged(example.compare)),
        input: &example.input,
        expected: Some(&example.output),
        compare: example.compare,
    });
    let cases = contract.cases.iter().enumerate().map(|(index, case)| Expectation {
        id: format!("case/{index}"),
        claim: match &case.expected {
            Some(expected) => format!("{} gives {}", shown(&case.input), shown(expected)),
            None => format!("{} is answered", shown(&case.input)),
        },
        input: &case.input,
        expected: case.expected.as_ref(),
        compare: Match::Exact,
    });
    examples.chain(cases).collect()
}

fn judged(compare: Match) -> String {
    match compare {
        Match::Exact => String::new(),
        Match::Approximate(tolerance) => format!(", numbers up to {} apart", tolerance.text()),
        Match::Judged => ", or what a judge calls the same".to_owned(),
    }
}

/// Whether inputs and outputs are of the contract's types.
pub(crate) fn interface(contract: &Contract, inputs: &[&Value], answers: &[Answer]) -> [Finding; 2] {
    let inputs: Vec<Answer> = inputs.iter().map(|input| (*input, *input)).collect();
    [
        conformance("interface/input", "input", &contract.input, &inputs),
        conformance("interface/output", "output", &contract.output, answers),
    ]
}

fn conformance(id: &str, what: &str, ty: &Type, values: &[Answer]) -> Finding {
    let claim = format!("every {what} is of the type {ty}");
    each(id, claim, what, values, |_, value| {
        ty.accepts(value).map_err(|mismatch| {
            let place = if mismatch.path.is_empty() { String::new() } else { format!(" at {}", mismatch.path) };
            format!("expected {}{place}, got {}", mismatch.expected, mismatch.got)
        })
    })
}

/// What the properties say of every output.
pub(crate) fn properties(contract: &Contract, answers: &[Answer], hearings: &Hearings) -> Vec<Finding> {
    let properties = contract.properties.iter().enumerate();
    let findings = properties.map(|(index, property)| {
        let id = property.name.as_ref().map_or_else(|| format!("property/{index}"), |name| format!("property/{name}"));
        match property.predicate() {
            Some(_) => ruled(&id, index, property, answers, hearings),
            None => conditional(property, answers, |applies| {
                each(&id, property.sentence(), "output", applies, |input, output| property.check(input, output))
            }),
        }
    });
    findings.collect()
}

/// A property that a predicate decides. One that failed breaks the property; one that was
/// not asked leaves it open.
fn ruled(id: &str, index: usize, property: &Property, answers: &[Answer], hearings: &Hearings) -> Finding {
    conditional(property, answers, |applies| asked(id, index, property, applies, hearings))
}

/// A property of those outputs that it is about; of none it says so.
fn conditional(property: &Property, answers: &[Answer], judge: impl Fn(&[Answer]) -> Finding) -> Finding {
    let applies: Vec<Answer> =
        answers.iter().copied().filter(|(input, output)| property.applies(input, output)).collect();
    let finding = judge(&applies);
    if applies.is_empty() && !answers.is_empty() {
        return Finding { status: Status::Pass, detail: "it applies to none of the outputs".to_owned(), ..finding };
    }
    finding
}

fn asked(id: &str, index: usize, property: &Property, applies: &[Answer], hearings: &Hearings) -> Finding {
    let unasked = applies.iter().filter(|(input, output)| hearings.ruling(index, input, output).is_none()).count();
    let finding =
        each(id, property.sentence(), "output", applies, |input, output| match hearings.ruling(index, input, output) {
            Some(Ruling::Holds) | None => Ok(()),
            Some(Ruling::Broken(why)) => Err(why.clone()),
            Some(Ruling::Failed(how)) => Err(format!("the predicate failed: {how}")),
        });
    match finding.status {
        Status::Pass if unasked > 0 => {
            let detail = format!("the predicate was not asked about {unasked} of {} outputs", applies.len());
            Finding { status: Status::Inconclusive, detail, ..finding }
        }
        _ => finding,
    }
}

/// A claim about each of some values; of none it says nothing.
fn each(
    id: &str,
    claim: String,
    what: &str,
    values: &[Answer],
    check: impl Fn(&Value, &Value) -> Result<(), String>,
) -> Finding {
    let mut breaches = Breaches::default();
    for (input, value) in values {
        if let Err(why) = check(input, value) {
            breaches.add(input, format!("the {what} is {}: {why}", shown(value)));
        }
    }
    let total = values.len();
    let (status, detail) = match breaches.count() {
        _ if total == 0 => (Status::Inconclusive, format!("no {what} was seen")),
        0 => (Status::Pass, format!("{total} checked")),
        count => (Status::Fail, format!("{count} of {total} break it{}", breaches.why())),
    };
    Finding::new(id, status, claim, detail).with(&breaches)
}
