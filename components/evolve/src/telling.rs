//! What is told of a search as it goes on.

use auto_json::Record;
use auto_search::amount::decimal;

use crate::individual::Status;
use crate::lent::Lent;
use crate::sanity::Check;
use crate::search::Search;

impl<L: Lent> Search<'_, L> {
    pub(crate) fn tell_quarantined(&mut self, number: usize) {
        let own = &self.all[number];
        let entry = Record::new()
            .with("kind", "edit")
            .with("id", own.id())
            .with("target", format!("generation {}, {}", own.generation, own.operator.name()))
            .with("status", "quarantined")
            .with("reason", own.reason.as_str())
            .with("diff", own.patch.as_str());
        self.timeline.push(entry.into());
    }

    pub(crate) fn tell_applied(&mut self, number: usize) {
        let (own, before) = (&self.all[number], &self.all[self.incumbent]);
        let checks = self.checked.get(&number).map(Vec::as_slice).unwrap_or_default();
        let entry = Record::new()
            .with("kind", "edit")
            .with("id", own.id())
            .with("target", format!("generation {}, {} ({})", own.generation, own.operator.name(), own.idea))
            .with("status", "applied")
            .with("delta_micros", own.score.unwrap_or(0) - before.score.unwrap_or(0))
            .with("reason", format!("score {}", decimal(own.score.unwrap_or(0)).text()))
            .with("diff", own.genome.patch_of(&before.genome))
            .with("detail", Record::new().with("checks", checks.iter().map(Check::to_value).collect::<Vec<_>>()));
        self.timeline.push(entry.into());
    }

    /// What a generation came to.
    pub(crate) fn told(&mut self, generation: u32, before: usize, tried: &[usize]) {
        let of = |status: Status| tried.iter().filter(|number| self.all[**number].status == status).count();
        let counts: Vec<(Status, usize)> =
            [Status::Valid, Status::Dropped, Status::Invalid, Status::Refused, Status::Quarantined]
                .map(|status| (status, of(status)))
                .to_vec();
        let score = |number: usize| self.all[number].score.unwrap_or(0);
        let best = tried.iter().filter_map(|number| self.all[*number].score).max();
        let mut record = Record::new()
            .with("generation", generation)
            .with("tried", tried.len())
            .with("best_micros", best)
            .with("incumbent", self.all[self.incumbent].id())
            .with("incumbent_micros", score(self.incumbent))
            .with("gained_micros", score(self.incumbent) - score(before))
            .with("jobs", self.bench.jobs)
            .with("spent_micro_usd", self.spent())
            .with("not_new", self.known);
        for (status, count) in counts {
            record.set(status.name(), count);
        }
        self.generations.push(record.into());
        self.known = 0;
    }
}
