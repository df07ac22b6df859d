//! What may be computed of cited numbers: declared by name, computed exactly.

use std::fmt;

use auto_schema::digest::Digest;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero as _;

use crate::evidence::{Category, Evidence, Typed};
use crate::exact::Exact;
use crate::unit::Unit;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The first less the second.
    Difference,
    /// The first as a multiple of the second.
    Ratio,
    /// From the second to the first, in hundredths of the second.
    PercentChange,
    /// All together.
    Sum,
    /// All together, by how many they are.
    Mean,
    /// The least.
    Min,
    /// The most.
    Max,
    /// How many they are.
    Count,
}

const NAMES: [(&str, Operation); 8] = [
    ("difference", Operation::Difference),
    ("ratio", Operation::Ratio),
    ("percent-change", Operation::PercentChange),
    ("sum", Operation::Sum),
    ("mean", Operation::Mean),
    ("min", Operation::Min),
    ("max", Operation::Max),
    ("count", Operation::Count),
];

/// The most numbers of an expression.
const MOST: usize = 1000;

/// A number of an evidence: the short name of that, and the name of the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The short form of the evidence's name.
    pub evidence: String,
    /// The name of the number in it.
    pub value: String,
}

/// A declared expression: `difference(1f2e3d4c5b6a/score, 0a1b2c3d4e5f/score)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// What is computed.
    pub operation: Operation,
    /// Of what.
    pub of: Vec<Reference>,
}

impl Reference {
    /// That number of that evidence.
    pub fn to(evidence: Digest, value: &str) -> Reference {
        Reference { evidence: crate::evidence::short(evidence), value: value.to_owned() }
    }
}

impl Expression {
    /// Reads one; `None` for anything else.
    pub fn parse(text: &str) -> Option<Expression> {
        let (name, rest) = text.trim().split_once('(')?;
        let operation = NAMES.iter().find(|known| known.0 == name)?.1;
        let inner = rest.strip_suffix(')')?;
        let reference = |part: &str| {
            let (evidence, value) = part.trim().split_once('/')?;
            let plain = |text: &str| !text.is_empty() && !text.contains(|one: char| "(),/; ".contains(one));
            (plain(evidence) && plain(value)).then(|| Reference { evidence: evidence.into(), value: value.into() })
        };
        let of = inner.split(',').map(reference).collect::<Option<Vec<_>>>()?;
        let two = matches!(operation, Operation::Difference | Operation::Ratio | Operation::PercentChange);
        let right = if two { of.len() == 2 } else { (1..=MOST).contains(&of.len()) };
        right.then_some(Expression { operation, of })
    }

    /// What it comes to, with what it belongs to: whatever any of its numbers does. An error says what
    /// is wrong with it.
    pub fn evaluate(&self, cited: &[&Evidence]) -> Result<Typed, String> {
        let find = |reference: &Reference| {
            let evidence = cited.iter().find(|evidence| evidence.short() == reference.evidence && !evidence.literature);
            let evidence = evidence.ok_or_else(|| format!("{} is not cited", reference.evidence))?;
            evidence.value(&reference.value).ok_or_else(|| format!("{} has no {}", reference.evidence, reference.value))
        };
        let values = self.of.iter().map(find).collect::<Result<Vec<&Typed>, String>>()?;
        let [first, rest @ ..] = values.as_slice() else { return Err("it is of nothing".to_owned()) };
        // "A mean of 473 jobs" is no mean.
        if rest.is_empty() && self.operation != Operation::Count {
            return Err("it is of one number alone".to_owned());
        }
        if self.operation != Operation::Count && rest.iter().any(|value| value.unit != first.unit) {
            return Err("its numbers have different units".to_owned());
        }
        let same = |category| rest.iter().all(|value| value.tagged(category) == first.tagged(category));
        if self.operation != Operation::Count && !same(Category::What) {
            return Err("its numbers are of different things".to_owned());
        }
        let repeated = self.of.iter().enumerate().any(|(at, one)| self.of[..at].contains(one));
        if repeated {
            return Err("it has the same number twice".to_owned());
        }
        let (value, unit) = self.computed(first, &values)?;
        let places = values.iter().map(|value| value.number.places).max().flatten();
        let places = match self.operation {
            Operation::Difference | Operation::Sum | Operation::Min | Operation::Max => places,
            _ => None,
        };
        let mut result = Typed::new(&self.to_string(), Exact { value, places }, unit);
        result.tags = values.iter().flat_map(|value| value.tags.iter().cloned()).collect();
        result.sense = first.sense;
        Ok(result)
    }

    fn computed(&self, first: &Typed, values: &[&Typed]) -> Result<(BigRational, Unit), String> {
        let numbers = || values.iter().map(|value| &value.number.value);
        let sum = || numbers().fold(BigRational::zero(), |sum, number| sum + number);
        let second = values.get(1).map_or_else(BigRational::zero, |value| value.number.value.clone());
        let one = &first.number.value;
        let dividing = matches!(self.operation, Operation::Ratio | Operation::PercentChange);
        if dividing && second.is_zero() {
            return Err("nothing is a multiple of zero".to_owned());
        }
        let difference = match &first.unit {
            Unit::Share => Unit::Points,
            unit => unit.clone(),
        };
        let many = BigRational::from_integer(BigInt::from(values.len()));
        Ok(match self.operation {
            Operation::Difference => (one - second, difference),
            Operation::Ratio => (one / second, Unit::Times),
            // As a share, so that it is shown as one: a hundred of it are all.
            Operation::PercentChange => ((one - &second) / second, Unit::Percent),
            Operation::Sum => (sum(), first.unit.clone()),
            Operation::Mean => (sum() / many, first.unit.clone()),
            Operation::Min => (numbers().min().cloned().unwrap_or_default(), first.unit.clone()),
            Operation::Max => (numbers().max().cloned().unwrap_or_default(), first.unit.clone()),
            Operation::Count => (many, Unit::count(counted(values))),
        })
    }
}

/// What numbers are counted as: what they belong to.
fn counted(values: &[&Typed]) -> &'static str {
    let all = |first: char| {
        let own = |value: &&Typed| value.tagged(Category::Who).iter().all(|name| name.starts_with(first));
        values.iter().all(own)
    };
    match () {
        () if all('i') => "candidate",
        () if all('e') => "edit",
        () => "value",
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|known| known.1 == self.operation).map_or("", |known| known.0);
        write!(f, "{name}(")?;
        for (at, reference) in self.of.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}/{}", reference.evidence, reference.value)?;
        }
        f.write_str(")")
    }
}
