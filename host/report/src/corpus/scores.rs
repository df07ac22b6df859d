//! The scores before and after, of every stratum.

use auto_json::Value;

use super::{Making, counted, integer, list, text};
use crate::evidence::{Category, Sense, Tag, Typed};
use crate::exact::Exact;
use crate::unit::Unit;

/// What is counted of each measure.
const NOUN: &str = "row";

pub fn read(making: &mut Making<'_>) {
    let scores: Vec<Value> = list(&making.whole.report, "scores").to_vec();
    let origin = making.origin_of_report();
    for (at, score) in scores.iter().enumerate() {
        let (metric, stratum) = (text(score, "metric").to_owned(), text(score, "stratum").to_owned());
        let spaced = metric.replace('_', " ");
        making.lexicon.add(&spaced, Category::What, &metric);
        making.lexicon.add(&metric, Category::What, &metric);
        let place = if stratum == "all" || stratum.is_empty() { None } else { Some(stratum.as_str()) };
        if let Some(place) = place {
            making.lexicon.add(&format!("{place} rows"), Category::Where, place);
        }
        for side in ["before", "after"] {
            let (Some(found), Some(name)) = (score.get(side), making.names.get(side).cloned()) else { continue };
            let (Some(mean), Some(n)) = (integer(found, "mean"), integer(found, "n")) else { continue };
            let sense = if is_better_low(&metric) { Sense::Lower } else { Sense::Higher };
            let number = Exact::micros(mean);
            let told = number.to_string();
            let mut value = Typed::new("score", number, Unit::Share).better(sense).of(Category::What, &metric);
            value.interval = integer(found, "low")
                .zip(integer(found, "high"))
                .map(|(low, high)| (Exact::micros(low), Exact::micros(high)));
            let mut tags: Vec<Tag> = vec![(Category::Who, name.clone())];
            let mut on = String::new();
            if let Some(place) = place {
                tags.push((Category::Where, place.to_owned()));
                on = format!(" on the {place} rows");
            }
            let locator = format!("/scores/{at}/{side}");
            let said = format!("The {spaced} of {}{on} is {told}.", making.called(&name));
            making.say(&origin, &format!("{locator}/mean"), said, &tags, vec![value]);
            let said = format!("{} was measured{on} with {n} rows.", making.called(&name));
            making.say(&origin, &format!("{locator}/n"), said, &tags, vec![counted("n", n, NOUN)]);
        }
    }
}

/// Shares of what nobody wants.
fn is_better_low(metric: &str) -> bool {
    ["timeout", "error", "failure", "cost", "time", "latency", "loss"].iter().any(|bad| metric.contains(bad))
}
