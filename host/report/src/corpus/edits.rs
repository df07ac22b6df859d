//! What came of edits: those of a skill and of a spec, and what was kept of an evolution.

use std::collections::BTreeMap;

use super::{Making, RUN, codable, counted, list, many, text, who};
use crate::evidence::Category;

pub fn read(making: &mut Making<'_>) {
    let report = making.whole.report.clone();
    let origin = making.origin_of_report();
    let mut by = BTreeMap::<String, i64>::new();
    for (at, entry) in list(&report, "timeline").iter().enumerate() {
        let (id, status) = (text(entry, "id").to_owned(), text(entry, "status").to_owned());
        if text(entry, "kind") != "edit" || !super::given::is_name(&id) {
            continue;
        }
        *by.entry(status.clone()).or_default() += 1;
        making.lexicon.add(&id, Category::Who, &id);
        let (Some(code), Some(target)) = (codable(&status), codable(text(entry, "target"))) else { continue };
        let said = format!("{id} has the status `{code}` for the target `{target}`.");
        making.say(&origin, &format!("/timeline/{at}/status"), said, &[who(&id)], Vec::new());
        if let Some(reason) = codable(text(entry, "reason")) {
            let said = format!("{id} was decided with the reason `{reason}`.");
            making.say(&origin, &format!("/timeline/{at}/reason"), said, &[who(&id)], Vec::new());
        }
    }
    for (status, number) in by {
        let Some(code) = codable(&status) else { continue };
        let said = format!("The run has {} with the status `{code}`.", many(number, "edit"));
        let locator = format!("/timeline?status={status}");
        making.say(&origin, &locator, said, &[who(RUN)], vec![counted("edits", number, "edit")]);
    }
}
