//! What no single key of a contract can show: that names are unique, that values and claims are
//! of the interface's types, that nothing is contradicted.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;

use super::spot::{Result, child, item, refuse};
use super::{Claim, Contract, Example, Match, Place, Property, Relation, Side};
use crate::ir::type_at;
use crate::types::Type;

/// What no single key can show: names are unique, values are of the interface's types,
/// and no input is given two outputs.
pub(super) fn conform(contract: &Contract) -> Result<()> {
    let mut names = BTreeSet::new();
    // The first exact example of an input.
    let mut exact: BTreeMap<&Value, &Example> = BTreeMap::new();
    for (index, example) in contract.examples.iter().enumerate() {
        let at = item("example", index);
        if !names.insert(&example.name) {
            let message = format!("another example is called `{}`; give each its own name", example.name);
            return Err(refuse("duplicate-name", child(&at, "name"), message));
        }
        accepts(&contract.input, &example.input, child(&at, "input"))?;
        accepts(&contract.output, &example.output, child(&at, "output"))?;
        if example.compare == Match::Exact {
            let first = exact.entry(&example.input).or_insert(example);
            if first.output != example.output {
                let message = format!("example `{}` gives the same input another output; drop one of them", first.name);
                return Err(refuse("contradiction", child(&at, "output"), message));
            }
        }
    }
    for (index, property) in contract.properties.iter().enumerate() {
        property_fits(contract, index, property)?;
    }
    if let Some(classes) = &contract.acceptance.classes {
        let at = "acceptance.classes.path";
        type_of(contract, &classes.place, at)?;
        if classes.place.is_many() {
            let message = format!("{} is several places; a class is the value at one", classes.place);
            return Err(refuse("bad-path", at.to_owned(), message));
        }
    }
    for (index, case) in contract.cases.iter().enumerate() {
        let at = item("eval_cases", index);
        accepts(&contract.input, &case.input, child(&at, "input"))?;
        if let Some(expected) = &case.expected {
            accepts(&contract.output, expected, child(&at, "expected"))?;
        }
    }
    Ok(())
}

/// Version 1: names are unique, every place is one of the interface's types, and some
/// value of that type can keep the claim. Version 0 leaves all that to the verdict.
fn property_fits(contract: &Contract, index: usize, property: &Property) -> Result<()> {
    if contract.version == 0 {
        return Ok(());
    }
    let at = item("property", index);
    let twin = contract.properties.iter().take(index).find(|other| other.name.is_some() && other.name == property.name);
    if twin.is_some() {
        return Err(refuse("duplicate-name", child(&at, "name"), "another property has this name; give each its own"));
    }
    claim_fits(contract, &property.place, &property.claim, &at)?;
    match &property.when {
        Some(when) => claim_fits(contract, &when.place, &when.claim, &child(&at, "when")),
        None => Ok(()),
    }
}

fn claim_fits(contract: &Contract, place: &Place, claim: &Claim, at: &str) -> Result<()> {
    let ty = type_of(contract, place, &child(at, "path"))?;
    let (own_items, other_items) = claim.counts_items();
    if own_items {
        listed(place, ty, &child(at, "path"))?;
    }
    if let Claim::Related(_, other) = claim {
        let at = child(&child(at, "other"), "path");
        let ty = type_of(contract, other, &at)?;
        if other_items {
            listed(other, ty, &at)?;
        }
    }
    if !claim.can_hold_of(ty) {
        let message = format!("{place} is of the type {ty}, and no such value can be as claimed");
        return Err(refuse("type-mismatch", child(at, "kind"), message));
    }
    let Claim::Related(relation, other) = claim else { return Ok(()) };
    let there = type_of(contract, other, &child(&child(at, "other"), "path"))?;
    if relation.can_hold(item_type(*relation, place, ty), item_type(*relation, other, there)) {
        return Ok(());
    }
    let message = format!("{place} is of the type {ty}, {other} of {there}, and no such values can be as claimed");
    Err(refuse("type-mismatch", child(at, "kind"), message))
}

/// What a relation compares: what is at a place, or the items of the list there.
fn item_type<'t>(relation: Relation, place: &Place, ty: &'t Type) -> &'t Type {
    match ty {
        Type::List(item) if !place.is_many() && relation.is_of_items() => item,
        ty => ty,
    }
}

/// A claim about items needs a list, or a `*` that meets them.
fn listed(place: &Place, ty: &Type, at: &str) -> Result<()> {
    if place.is_many() || matches!(ty, Type::List(_) | Type::Json) {
        return Ok(());
    }
    let message = format!("{place} is of the type {ty}, and the claim is about the items of a list");
    Err(refuse("type-mismatch", at.to_owned(), message))
}

fn type_of<'c>(contract: &'c Contract, place: &Place, at: &str) -> Result<&'c Type> {
    let ty = match place.side {
        Side::Input => &contract.input,
        Side::Output => &contract.output,
    };
    type_at(ty, place.steps())
        .ok_or_else(|| refuse("bad-path", at.to_owned(), format!("{place} is nothing: its type is {ty}")))
}

fn accepts(ty: &Type, value: &Value, at: String) -> Result<()> {
    ty.accepts(value).map_err(|mismatch| {
        let inside = if mismatch.path.is_empty() { String::new() } else { format!(" at {}", mismatch.path) };
        let message =
            format!("not of the interface's type{inside}: expected {}, got {}", mismatch.expected, mismatch.got);
        refuse("type-mismatch", at, message)
    })
}
