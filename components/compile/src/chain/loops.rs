//! Loops: what is done for each item of a list that is known, and what is done again until it
//! will do. One operation here, several together in [`super::rounds`].

use std::collections::BTreeSet;

use auto_json::Value;

use super::learn::{After, Learner, Learnt, Refusal, asks, bound, is_act, learnt, refusal, stage};
use super::plan::{Action, Body, Plan, Until};
use super::values::{MOST_DEPTH, at, items, lists, place, telling};
use super::walk::{Done, Key, Walk};
use crate::bindings::auto::pass::types::Fault;

/// The lists of the environment that have as many items as there are rounds, run by run.
pub(super) fn lists_of(walks: &[Walk], counts: &[usize]) -> Vec<Vec<String>> {
    let environments: Vec<Value> = walks.iter().map(Walk::environment).collect();
    let Some(first) = environments.first() else { return Vec::new() };
    let fits = |path: &Vec<String>| {
        let mut known = environments.iter().zip(counts);
        known.all(|(known, count)| at(known, path).and_then(Value::as_list).is_some_and(|list| list.len() == *count))
    };
    lists(first, MOST_DEPTH).into_iter().filter(fits).collect()
}

impl Learner<'_> {
    /// Where runs part, a loop that some of them have no round of.
    pub(super) fn some_loop(
        &mut self,
        key: &Key,
        walks: &[Walk],
        after: &mut After<'_>,
    ) -> Result<Result<Plan, Option<Refusal>>, Fault> {
        let several = match self.rounds(key, walks, after)? {
            Ok(plan) => return Ok(Ok(plan)),
            Err(refused) => refused,
        };
        let most = walks.iter().map(|walk| walk.row_of(key).len()).max().unwrap_or(0);
        if most < 2 {
            return Ok(Err(several));
        }
        Ok(self.each(key, most, walks, after)?.map_err(Some))
    }

    /// All runs do this next, not all as often.
    pub(super) fn repeated(
        &mut self,
        key: &Key,
        most: usize,
        walks: &[Walk],
        looped: Option<Refusal>,
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let same = |walk: &Walk| {
            let inputs: BTreeSet<String> = walk.row_of(key).iter().map(|done| done.input.to_string()).collect();
            inputs.len() < 2
        };
        let mark = self.done.len();
        let again = is_act(&key.0) && walks.iter().all(same);
        let tried = if again { self.retry(key, most, walks, after)? } else { self.each(key, most, walks, after)? };
        match tried {
            Ok(plan) => Ok(Ok(plan)),
            // The loop was found, and what comes after it was not.
            Err(refused) if !refused.at.contains(&stage(key)) => Ok(Err(refused)),
            Err(refused) => {
                self.done.truncate(mark);
                let least = walks.iter().map(|walk| walk.row_of(key).len()).min().unwrap_or(0);
                let several = looped.map(|looped| format!("; with what follows it, {}", looped.why));
                let why = format!(
                    "it is done {least} to {most} times and nothing bounds that: {}{}",
                    refused.why,
                    several.unwrap_or_default()
                );
                refusal(&stage(key), why)
            }
        }
    }

    /// The same request again until its reply will do.
    fn retry(&mut self, key: &Key, most: usize, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let ask = learnt!(self.ask(key, walks));
        let rows: Vec<(&Walk, &[Done])> = walks.iter().map(|walk| (walk, walk.row_of(key))).collect();
        // What came back the first time is not all that may.
        let all = rows.iter().flat_map(|(walk, row)| row.iter().map(|done| (*walk, done)));
        let mut ask = asks(key, ask.input, all);
        let ended = rows.iter().all(|(_, row)| row.last().is_some_and(|last| last.error.is_none()));
        let failed = |row: &[Done]| row.iter().rev().skip(1).all(|done| done.error.is_some());
        let until = if ended && rows.iter().all(|(_, row)| failed(row)) {
            ask.catches = true;
            Until::Succeeds
        } else if rows.iter().all(|(_, row)| row.iter().all(|done| done.error.is_none())) {
            let replies = rows.iter().flat_map(|(walk, row)| {
                let last = row.len() - 1;
                row.iter().enumerate().map(move |(at, done)| (*walk, done.output.clone(), at == last))
            });
            learnt!(self.until(&stage(key), &replies.collect::<Vec<_>>()))
        } else {
            return refusal(&stage(key), "the same request is made again, and not until it succeeds");
        };
        let name = walks.first().map(|walk| walk.unique(&key.1)).unwrap_or_default();
        let past = |(walk, row): &(&Walk, &[Done])| {
            walk.after(row.len(), row.last().map(|last| (name.as_str(), last.output.clone())))
        };
        let next: Vec<Walk> = rows.iter().map(past).collect();
        let most = bound(most.max(self.tried(key)));
        let action = Action::Retry { body: Body::Ask(ask), until, most };
        self.then(stage(key), vec![name], action, &next, after)
    }

    /// What tells the last reply of each run from those before.
    pub(super) fn until(&mut self, stage: &str, replies: &[(&Walk, Value, bool)]) -> Learnt<Until> {
        let told: Vec<(&Value, bool)> = replies.iter().map(|(_, reply, last)| (reply, *last)).collect();
        if let Some(test) = telling(&told) {
            return Ok(Ok(Until::Says(test)));
        }
        let rows = replies.iter().map(|(walk, reply, last)| walk.row(reply.clone(), Value::Bool(*last)));
        let hole = learnt!(self.fill(&format!("whether the reply of {stage} will do"), rows.collect()));
        Ok(Ok(Until::Holds(hole)))
    }

    /// The same operation for each item of a list that is known.
    fn each(&mut self, key: &Key, most: usize, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let counts: Vec<usize> = walks.iter().map(|walk| walk.row_of(key).len()).collect();
        let lists = lists_of(walks, &counts);
        if lists.is_empty() {
            return refusal(&stage(key), "no list that is known has as many items");
        }
        let mut why = String::new();
        for path in &lists {
            for context in [false, true] {
                match self.body(key, path, context, walks)? {
                    Ok(body) => return self.each_of(key, path, context, body, bound(most), walks, after),
                    Err(refused) => why = refused.why,
                }
            }
        }
        refusal(&stage(key), format!("what is done with each item of a list cannot be told: {why}"))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one action, and the walks past it")]
    fn each_of(
        &mut self,
        key: &Key,
        path: &[String],
        context: bool,
        body: Body,
        most: u32,
        walks: &[Walk],
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let Some(first) = walks.first() else { return refusal(&stage(key), "there are no runs") };
        let (name, item) = (first.unique(&key.1), first.item());
        let gives = |done: &Done| match &body {
            Body::Ask(ask) => done.reply(ask.catches),
            _ => done.output.clone(),
        };
        let past = |walk: &Walk| {
            let row = walk.row_of(key);
            walk.after(row.len(), Some((&name, Value::List(row.iter().map(gives).collect()))))
        };
        let next: Vec<Walk> = walks.iter().map(past).collect();
        let action = Action::Each { list: place(path), item, context, body, most };
        self.then(stage(key), vec![name], action, &next, after)
    }

    /// What is done with each item.
    fn body(&mut self, key: &Key, path: &[String], context: bool, walks: &[Walk]) -> Learnt<Body> {
        let mut rounds: Vec<(&Walk, Value, &Done)> = Vec::new();
        for walk in walks {
            let name = walk.item();
            let known = walk.environment();
            for (item, done) in items(&known, path).iter().zip(walk.row_of(key)) {
                let item = if context { walk.record().with(&name, item.clone()).into() } else { item.clone() };
                rounds.push((walk, item, done));
            }
        }
        let failed = rounds.iter().any(|(_, _, done)| done.error.is_some());
        if !is_act(&key.0) && !failed {
            let rows = rounds.iter().map(|(walk, item, done)| walk.row(item.clone(), done.output.clone()));
            if let Ok(hole) = self.rule(&format!("what {} gives for an item", stage(key)), rows.collect())? {
                return Ok(Ok(Body::Compute(hole)));
            }
        }
        if key.0 == "branch" {
            return refusal(&stage(key), "a decision cannot be asked for");
        }
        let rows = rounds.iter().map(|(walk, item, done)| walk.row(item.clone(), done.input.clone()));
        let input = learnt!(self.fill(&format!("what {} is given for an item", stage(key)), rows.collect()));
        Ok(Ok(Body::Ask(asks(key, input, rounds.iter().map(|(walk, _, done)| (*walk, *done))))))
    }
}
