//! Properties: claims about every output, at a place in it or in its input, perhaps only
//! under a condition.

use auto_json::Value;

use super::claim::Claim;
use super::place::Place;
use crate::digest::Digest;

/// A claim about every output.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// What the author calls it; unique within the contract.
    pub name: Option<String>,
    /// What it is about.
    pub place: Place,
    /// What is claimed of it.
    pub claim: Claim,
    /// The claim is made only where this holds.
    pub when: Option<Condition>,
}

/// What must hold for a property to be claimed. Where there is nothing at its place, it
/// does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it is about.
    pub place: Place,
    /// What must hold of it.
    pub claim: Claim,
}

impl From<Claim> for Property {
    /// A claim about the whole of every output.
    fn from(claim: Claim) -> Property {
        Property { name: None, place: Place::default(), claim, when: None }
    }
}

impl Property {
    /// Whether an input and its output keep the claim; if not, how they break it. What a
    /// predicate says is not known here: [`Property::predicate`].
    pub fn check(&self, input: &Value, output: &Value) -> Result<(), String> {
        if !self.applies(input, output) {
            return Ok(());
        }
        check(&self.place, &self.claim, input, output)
    }

    /// Whether its condition, if it has one, holds.
    pub fn applies(&self, input: &Value, output: &Value) -> bool {
        self.when.as_ref().is_none_or(|when| check(&when.place, &when.claim, input, output).is_ok())
    }

    /// The component that decides it, where one does.
    pub fn predicate(&self) -> Option<Digest> {
        match self.claim {
            Claim::Predicate(digest) => Some(digest),
            _ => None,
        }
    }

    /// The claim in a sentence.
    pub fn sentence(&self) -> String {
        let place = match (self.place.side, self.place.path()) {
            (side, "") => format!("every {}", side.as_str()),
            (side, path) => format!("every {} at {path}", side.as_str()),
        };
        let claim = format!("{place} {}", self.claim.says());
        match &self.when {
            None => claim,
            Some(when) => format!("where {} {}, {claim}", when.place, when.claim.says()),
        }
    }

    /// The canonical form.
    pub(super) fn to_value(&self) -> Value {
        let mut record = self.claim.write(self.place.to_record());
        super::set_option(&mut record, "name", self.name.as_deref());
        if let Some(when) = &self.when {
            record.set("when", when.claim.write(when.place.to_record()));
        }
        record.into()
    }
}

fn check(place: &Place, claim: &Claim, input: &Value, output: &Value) -> Result<(), String> {
    let values = place.values(input, output)?;
    match claim {
        Claim::Related(relation, other) => relation
            .check((place, &values), (other, &other.values(input, output)?))
            .map_err(|why| format!("{why} (compared with {other})")),
        claim => claim.check(place, &values),
    }
}
