//! The policy behind the routing of requests, as the corpus states it, and requests with another
//! amount or tier in them.

use anyhow::{Context, ensure};
use auto_json::{Record, Value};

use super::Row;

/// Amounts around each threshold of the policy, and some far from all.
const AMOUNTS: [u32; 18] = [
    1, 45, 120, 499, 500, 501, 999, 1_200, 4_999, 5_000, 5_001, 8_000, 19_999, 20_000, 20_001, 45_000, 99_999, 250_000,
];

/// What vendors are said to be.
const TIERS: [&str; 4] = ["standard", "new", "preferred", "blocked"];

/// Rejected where the vendor is blocked or it is 20,000 or more; approved below 500, and below 5,000
/// where the vendor is preferred; reviewed otherwise.
fn decision(amount: u32, tier: &str) -> &'static str {
    match (amount, tier) {
        (_, "blocked") | (20_000.., _) => "reject",
        (..500, _) | (..5_000, "preferred") => "approve",
        _ => "review",
    }
}

/// Every request with each of the amounts in the place of its own, and with each of the tiers, and
/// what is right.
pub fn edited(rows: &[Row]) -> anyhow::Result<Vec<(Value, Value)>> {
    let mut edited = Vec::new();
    for row in rows {
        let request = row.input.get("request").and_then(Value::as_text).context("a row without a request")?;
        let (amount, tier) = (amount_of(request)?, tier_of(request)?);
        let own = decision(amount, tier);
        ensure!(row.output.as_text() == Some(own), "the policy says {own} of {request:?}");
        let mut add = |request: String, decision: &str| {
            edited.push((Record::new().with("request", request).into(), decision.into()));
        };
        for other in AMOUNTS {
            add(request.replacen(&printed(amount), &printed(other), 1), decision(other, tier));
        }
        for other in TIERS {
            add(request.replacen(&format!(" {tier} "), &format!(" {other} "), 1), decision(amount, other));
        }
    }
    Ok(edited)
}

fn amount_of(request: &str) -> anyhow::Result<u32> {
    let after = request.split_once('$').map_or("", |(_, after)| after);
    let digits: String = after
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == ',')
        .filter(char::is_ascii_digit)
        .collect();
    let amount = digits.parse().with_context(|| format!("no amount in {request:?}"))?;
    ensure!(request.contains(&printed(amount)), "{request:?} has another amount than {amount}");
    Ok(amount)
}

fn tier_of(request: &str) -> anyhow::Result<&'static str> {
    let named = |tier: &&&str| request.contains(&format!(" {tier} "));
    let mut tiers = TIERS.iter().filter(named);
    let tier = tiers.next().with_context(|| format!("no tier in {request:?}"))?;
    ensure!(tiers.next().is_none(), "{request:?} has several tiers");
    Ok(tier)
}

/// As requests have amounts: `$1,200`.
fn printed(amount: u32) -> String {
    match amount {
        ..1_000 => format!("${amount}"),
        _ => format!("${},{:03}", amount / 1_000, amount % 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_decides_at_its_thresholds() {
        let said = |amount| ["standard", "preferred", "blocked"].map(|tier| decision(amount, tier));
        assert_eq!(said(499), ["approve", "approve", "reject"]);
        assert_eq!(said(500), ["review", "approve", "reject"]);
        assert_eq!(said(5_000), ["review", "review", "reject"]);
        assert_eq!(said(20_000), ["reject"; 3]);
    }

    #[test]
    fn an_edit_changes_nothing_else() {
        let request = "Sales requests $4,200 for CRM seats from a new vendor.";
        let row = Row { input: Record::new().with("request", request).into(), output: "review".into() };
        let edited = edited(&[row]).unwrap();
        assert_eq!(edited.len(), AMOUNTS.len() + TIERS.len());
        let of = |wanted: &str| {
            let found = edited.iter().find(|(input, _)| input.get("request").and_then(Value::as_text) == Some(wanted));
            found.map(|(_, right)| right.as_text().unwrap_or_default().to_owned())
        };
        assert_eq!(of("Sales requests $499 for CRM seats from a new vendor.").as_deref(), Some("approve"));
        assert_eq!(of("Sales requests $250,000 for CRM seats from a new vendor.").as_deref(), Some("reject"));
        assert_eq!(of("Sales requests $4,200 for CRM seats from a preferred vendor.").as_deref(), Some("approve"));
    }
}
