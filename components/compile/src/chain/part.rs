//! Where runs part: a predicate tells which way, and the ways come together again where all
//! of them do the same, so that what follows is learnt once and from all runs.

use std::collections::BTreeSet;

use auto_json::{Record, Value};

use super::hole::Hole;
use super::learn::{After, Learner, Learnt, Refusal, learnt, refusal, stage};
use super::plan::{Action, Plan, Step};
use super::values::place;
use super::walk::{Done, Key, Walk, left};

impl Learner<'_> {
    /// Runs part: some do this next, others that, others are done.
    pub(super) fn parted(
        &mut self,
        keys: &[(Option<Key>, usize)],
        walks: &[Walk],
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        // What some do several times and others not at all may be a loop over a list.
        for key in keys.iter().filter_map(|(key, _)| key.as_ref()) {
            let mark = self.done.len();
            match self.some_loop(key, walks, after)? {
                Ok(plan) => return Ok(Ok(plan)),
                Err(refused) => {
                    self.done.truncate(mark);
                    self.looped = refused.map(|refused| refused.to_string()).or(self.looped.take());
                }
            }
        }
        let Some((most, _)) = keys.iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(key))) else {
            return refusal("the run", "there are no runs");
        };
        let whether = format!("whether {} comes next", most.as_ref().map_or("the end".into(), stage));
        let goes = |walk: &Walk| walk.next_key() == *most;
        let rows = walks.iter().map(|walk| walk.row(walk.environment(), Value::Bool(goes(walk))));
        let test = match decided(&whether, walks, goes) {
            Some(test) => test,
            None => match self.fill(&whether, rows.collect())? {
                Ok(test) => test,
                Err(refused) => return refusal(&whether, self.no_telling(keys, &refused)),
            },
        };
        let (yes, no): (Vec<Walk>, Vec<Walk>) = walks.iter().cloned().partition(goes);
        self.ways(test, &yes, &no, after)
    }

    fn no_telling(&self, keys: &[(Option<Key>, usize)], refused: &Refusal) -> String {
        let way =
            |(key, count): &(Option<Key>, usize)| format!("{} ({count})", key.as_ref().map_or("the end".into(), stage));
        let looped = self.looped.as_ref().map(|looped| format!("; as a loop, {looped}")).unwrap_or_default();
        format!(
            "the runs part between {}, and nothing that is known tells which way: {}; record the decision as a \
             branch, or choose a smaller region{looped}",
            keys.iter().map(way).collect::<Vec<_>>().join(", "),
            refused.why
        )
    }

    /// Two ways: to where both do the same, else to the end.
    fn ways(&mut self, test: Hole, yes: &[Walk], no: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let inside = yes.iter().any(Walk::is_inside);
        let mark = self.done.len();
        let mut last = None;
        for way in meetings(yes, no) {
            // What is inside something comes together at its end at the latest.
            let must = inside && way.is_end;
            if !must && !self.may_try() {
                continue;
            }
            match self.together(&test, yes, no, &way, after)? {
                Ok(plan) => return Ok(Ok(plan)),
                Err(refused) => last = Some(refused),
            }
            if !must {
                self.undo(mark);
            }
        }
        if let Some(refused) = last.filter(|_| inside) {
            return Ok(Err(refused));
        }
        self.done.push((test.place.clone(), "branch", test.program.clone()));
        let yes = learnt!(self.plan(yes, after));
        let no = learnt!(self.plan(no, after));
        Ok(Ok(Plan::Choice { test, yes: Box::new(yes), no: Box::new(no) }))
    }

    /// Each way to where they meet, and what follows from all.
    fn together(
        &mut self,
        test: &Hole,
        yes: &[Walk],
        no: &[Walk],
        way: &Meeting,
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let mut counts = way.counts.iter().copied().enumerate();
        let mut enter = |walks: &[Walk]| -> Vec<Walk> {
            walks.iter().zip(counts.by_ref()).map(|(walk, (order, count))| walk.entered(count, order)).collect()
        };
        let (yes, no) = (enter(yes), enter(no));
        let before = yes.first().map_or(0, |walk| walk.known.len());
        self.done.push((test.place.clone(), "branch", test.program.clone()));
        let mut found = None;
        let yes = self.plan(&yes, &mut |learner, ended_yes| {
            let no = learner.plan(&no, &mut |learner, ended_no| {
                let (walks, gives) = met(before, ended_yes, ended_no);
                let then = learnt!(learner.plan(&walks, after));
                found = Some((Plan::End, gives, then));
                Ok(Ok(Plan::End))
            });
            let no = learnt!(no);
            found = found.take().map(|(_, gives, then)| (no, gives, then));
            Ok(Ok(Plan::End))
        });
        let yes = learnt!(yes);
        let Some((no, gives, then)) = found else { return refusal(&test.place, "the ways do not come together") };
        // Where neither way gives anything, there is nothing to choose.
        let action = if gives.is_empty() { Action::Skip } else { Action::Either { test: test.clone(), yes, no } };
        Ok(Ok(Plan::Step(Box::new(Step { stage: test.place.clone(), gives, action, then }))))
    }
}

/// The way by what was decided before: a truth that is known, the last of those that tell it. Another
/// program may tell it too, and not where the decision goes the other way.
fn decided(key: &str, walks: &[Walk], goes: impl Fn(&Walk) -> bool) -> Option<Hole> {
    let said = |walk: &Walk, name: &str| {
        let known = walk.known.iter().rfind(|(known, _)| known == name);
        known.and_then(|(_, value)| value.as_bool())
    };
    let tells =
        |name: &str, same: bool| walks.iter().all(|walk| said(walk, name).map(|said| said == same) == Some(goes(walk)));
    let names = walks.first()?.known.iter().rev().map(|(name, _)| name.as_str());
    let (name, same) = names.flat_map(|name| [(name, true), (name, false)]).find(|(name, same)| tells(name, *same))?;
    let program = place(&[name.to_owned()]);
    let program = if same { program } else { format!("not({program})") };
    // Of what is known, it looks at this alone.
    let row = |walk: &Walk| {
        let known = Record::new().with(name, said(walk, name) == Some(true));
        walk.row(known.into(), Value::Bool(goes(walk)))
    };
    Some(Hole { place: key.to_owned(), rows: walks.iter().map(row).collect(), program })
}

/// Where ways may meet: how many operations each walk, those of the first way before those of
/// the second, has up to there.
struct Meeting {
    counts: Vec<usize>,
    /// Whether it is the end of all.
    is_end: bool,
}

/// Where both ways may go on alike: at the first operation of each walk that some walk of the
/// other way does too, be it one or another; at the nearest operation that all do; at the end.
fn meetings(yes: &[Walk], no: &[Walk]) -> Vec<Meeting> {
    let walks: Vec<&Walk> = yes.iter().chain(no).collect();
    let end: Vec<usize> = walks.iter().map(|walk| walk.rest().len()).collect();
    let (of_yes, of_no) = (keys(yes), keys(no));
    let shared = |walk: &&Walk| {
        let rest = walk.rest();
        let place = rest.iter().position(|done| of_yes.contains(&done.key()) && of_no.contains(&done.key()));
        place.unwrap_or(rest.len())
    };
    let common = of_yes.intersection(&of_no).filter_map(|key| {
        let firsts = walks.iter().map(|walk| walk.places_of(key).first().copied());
        firsts.collect::<Option<Vec<usize>>>()
    });
    let nearest = common.min_by_key(|counts| counts.iter().sum::<usize>());
    let mut all: Vec<Vec<usize>> = [walks.iter().map(shared).collect()].into_iter().chain(nearest).collect();
    // Where nobody gets on, the ways would part again at the same place.
    all.retain(|counts| *counts != end && counts.iter().any(|count| *count > 0));
    all.dedup();
    let inner = all.into_iter().map(|counts| Meeting { counts, is_end: false });
    inner.chain([Meeting { counts: end.clone(), is_end: true }]).collect()
}

/// What walks do from where they are.
fn keys(walks: &[Walk]) -> BTreeSet<Key> {
    walks.iter().flat_map(|walk| walk.rest().iter().map(Done::key)).collect()
}

/// The walks of both ways, past them: what only one way gives is null in the other.
fn met(before: usize, yes: &[Walk], no: &[Walk]) -> (Vec<Walk>, Vec<String>) {
    let mut gives: Vec<String> = Vec::new();
    for walk in yes.iter().take(1).chain(no.iter().take(1)) {
        for (name, _) in walk.known.iter().skip(before) {
            if !gives.contains(name) {
                gives.push(name.clone());
            }
        }
    }
    let same = |walk: &Walk| {
        let mut walk = walk.clone();
        let gave = walk.known.split_off(before);
        walk.known.extend(gives.iter().map(|name| {
            let value = gave.iter().find(|(given, _)| given == name).map_or(Value::Null, |(_, value)| value.clone());
            (name.clone(), value)
        }));
        walk
    };
    (left(yes.iter().chain(no).map(same)), gives)
}
