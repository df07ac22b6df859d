//! How much of a number has to be shown, so that rounding does not say something else.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{Signed as _, Zero as _};

use super::Findings;
use super::numbers::Bound;
use crate::evidence::Category;
use crate::exact::{Exact, ten};
use crate::unit::Unit;

/// The fewest digits of a number that was rounded, from the first that is not zero.
const FEWEST: usize = 2;

/// Whether enough of a number is shown: all of it, or at least two digits of what was measured, and
/// all or none of a share only where it is that. An error says what is wrong.
pub fn enough(shown: &Exact, number: &Exact, unit: &Unit, factor: &BigRational) -> Result<(), String> {
    if &number.value * factor == shown.value {
        return Ok(());
    }
    if matches!(unit, Unit::Plain | Unit::Count(_)) {
        return Err(format!("is not all of {number}, which is given exactly"));
    }
    if *unit == Unit::Share && (&shown.value / factor).is_integer() {
        return Err(format!("is said of all or of none, and this is {number}"));
    }
    if significant(shown) < FEWEST {
        return Err(format!("shows less than {FEWEST} digits of {number}"));
    }
    Ok(())
}

/// How many digits are shown, from the first that is not zero.
fn significant(shown: &Exact) -> usize {
    let mantissa = &shown.value * BigRational::from_integer(ten(shown.places.unwrap_or(0)));
    if mantissa.is_zero() { 0 } else { mantissa.abs().to_integer().to_string().len() }
}

/// Numbers of the same kind in one sentence are rounded alike, and stay apart where they are.
pub fn alike(bound: &BTreeMap<usize, Bound>, findings: &mut Findings) {
    let all: Vec<&Bound> = bound.values().filter(|bound| !bound.is_derived).collect();
    for (at, one) in all.iter().enumerate() {
        let mut later = all[at + 1..].iter().filter(|other| is_same_kind(one, other));
        if let Some(other) = later.find(|other| !keeps(one, other)) {
            let (mine, its) = (&one.shown, &other.shown);
            let (number, beside) = (&one.value.number, &other.value.number);
            let why = format!(
                "{mine} and {its} do not stand to each other as {number} and {beside} do: show as many digits \
                 of both, and enough to tell them apart"
            );
            findings.refuse("too-few-digits", why);
        }
    }
}

fn is_same_kind(one: &Bound, other: &Bound) -> bool {
    one.value.unit == other.value.unit && one.value.tagged(Category::What) == other.value.tagged(Category::What)
}

/// Whether what is shown of two numbers is rounded alike, and in the order of the numbers.
fn keeps(one: &Bound, other: &Bound) -> bool {
    let shown = |bound: &Bound| &bound.shown.value / &bound.factor;
    let is_exact = |bound: &Bound| shown(bound) == bound.value.number.value;
    if is_exact(one) && is_exact(other) {
        return true;
    }
    let is_alike = one.factor == other.factor && one.shown.places == other.shown.places;
    is_alike && shown(one).cmp(&shown(other)) == one.value.number.value.cmp(&other.value.number.value)
}
