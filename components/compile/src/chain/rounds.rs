//! Loops of several operations: where the first of them comes again and again, what is
//! between is a round. The rounds of all runs are walked together as runs are, ways that part
//! in them included, and what a round gives is known afterwards: of each operation the list of
//! what it gave, or what it gave in the last round.

use auto_json::{Record, Value};

use super::learn::{After, Learner, Learnt, Refusal, bound, learnt, refusal, stage};
use super::loops::lists_of;
use super::plan::{Action, Body, Plan, Step};
use super::values::{items, place};
use super::walk::{Key, Walk, left};
use crate::bindings::auto::pass::types::Fault;

/// The most lists that are tried.
const MOST_LISTS: usize = 3;

/// How many operations each round of a run has.
type Rounds = Vec<usize>;

/// What goes round.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// For each item of the list there.
    Each(&'a [String]),
    /// Until it will do.
    Retry,
}

impl Learner<'_> {
    /// Rounds of several operations that begin with this one; no refusal where nothing looks
    /// like it.
    pub(super) fn rounds(
        &mut self,
        key: &Key,
        walks: &[Walk],
        after: &mut After<'_>,
    ) -> Result<Result<Plan, Option<Refusal>>, Fault> {
        let mark = self.done.len();
        let mut last = None;
        for rounds in cuts(key, walks) {
            let counts: Vec<usize> = rounds.iter().map(Vec::len).collect();
            let lists = lists_of(walks, &counts);
            let each = lists.iter().take(MOST_LISTS).map(|path| Kind::Each(path));
            let again = (!counts.contains(&0)).then_some(Kind::Retry);
            for kind in each.chain(again) {
                if !self.may_try() {
                    break;
                }
                match self.rounds_of(key, kind, walks, &rounds, after)? {
                    Ok(plan) => return Ok(Ok(plan)),
                    Err(refused) => last = Some(refused),
                }
                self.undo(mark);
            }
        }
        Ok(Err(last))
    }

    fn rounds_of(
        &mut self,
        key: &Key,
        kind: Kind<'_>,
        walks: &[Walk],
        rounds: &[Rounds],
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let stage = format!("{} and what follows it", stage(key));
        let most = bound(rounds.iter().map(Vec::len).max().unwrap_or(0));
        let Some(item) = walks.first().map(Walk::item) else { return refusal(&stage, "there are no runs") };
        let mut found = None;
        let body = self.plan(&entered(kind, &item, walks, rounds), &mut |learner, ended| {
            let ended = left(ended.iter().cloned());
            let gives = given(kind, walks, &ended);
            let next = past(kind, walks, rounds, &gives, &ended);
            let until = match kind {
                Kind::Each(_) => None,
                Kind::Retry if gives.is_empty() => return refusal(&stage, "nothing in it says when it is over"),
                Kind::Retry => Some(learnt!(learner.until(&stage, &replies(rounds, &gives, &ended)))),
            };
            let then = learnt!(learner.plan(&next, after));
            found = Some((gives, until, then));
            Ok(Ok(Plan::End))
        });
        let body = Body::Several(learnt!(body));
        let Some((gives, until, then)) = found else { return refusal(&stage, "it has no end") };
        let action = match (kind, until) {
            _ if gives.is_empty() => Action::Skip,
            (Kind::Each(path), _) => Action::Each { list: place(path), item, context: true, body, most },
            (Kind::Retry, Some(until)) => Action::Retry { body, until, most },
            (Kind::Retry, None) => return refusal(&stage, "it has no end"),
        };
        Ok(Ok(Plan::Step(Box::new(Step { stage, gives, action, then }))))
    }
}

/// The ways to cut what comes into rounds, each with at least two operations somewhere: as
/// often as the first comes again. Where the last round ends is a matter of what follows: it
/// is as long as all the others, or as long as its operations are among theirs.
fn cuts(key: &Key, walks: &[Walk]) -> Vec<Vec<Rounds>> {
    let places: Vec<Vec<usize>> = walks.iter().map(|walk| walk.places_of(key)).collect();
    let begins = places.iter().all(|places| places.first().is_none_or(|first| *first == 0));
    let often = |places: &Vec<usize>| places.len();
    let (least, most) = (places.iter().map(often).min().unwrap_or(0), places.iter().map(often).max().unwrap_or(0));
    if !begins || most < 2 || least == most {
        return Vec::new();
    }
    let mut whole: Vec<Vec<Key>> = Vec::new();
    for (walk, places) in walks.iter().zip(&places) {
        let rounds =
            places.windows(2).map(|pair| walk.rest()[pair[0]..pair[1]].iter().map(|done| done.key()).collect());
        whole.extend(rounds);
    }
    if whole.iter().all(|round| round.len() < 2) {
        return Vec::new();
    }
    let known: Vec<&Key> = whole.iter().flatten().collect();
    let cut = |last: &dyn Fn(&[Key]) -> Option<usize>| -> Option<Vec<Rounds>> {
        let rounds = walks.iter().zip(&places).map(|(walk, places)| {
            let mut rounds: Rounds = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
            if let Some(begin) = places.last() {
                let rest: Vec<Key> = walk.rest()[*begin..].iter().map(|done| done.key()).collect();
                rounds.push(last(&rest)?);
            }
            Some(rounds)
        });
        rounds.collect()
    };
    let alike = whole.first().filter(|first| whole.iter().all(|round| round == *first));
    let as_long = alike.and_then(|round| cut(&|rest| rest.starts_with(round).then_some(round.len())));
    let among = cut(&|rest| Some(rest.iter().take_while(|key| known.contains(key)).count()));
    let mut cuts: Vec<Vec<Rounds>> = as_long.into_iter().chain(among).collect();
    cuts.dedup();
    cuts
}

/// All rounds of all walks, in order; those of an each know their item.
fn entered(kind: Kind<'_>, item: &str, walks: &[Walk], rounds: &[Rounds]) -> Vec<Walk> {
    let mut entered = Vec::new();
    for (walk, rounds) in walks.iter().zip(rounds) {
        let known = walk.environment();
        let mut walk = walk.clone();
        for (round, count) in rounds.iter().enumerate() {
            let mut inside = walk.entered(*count, entered.len());
            if let Kind::Each(path) = kind {
                let value = items(&known, path).get(round).cloned().unwrap_or(Value::Null);
                inside.known.push((item.to_owned(), value));
            }
            entered.push(inside);
            walk.at += count;
        }
    }
    entered
}

/// The names of what a round gives.
fn given(kind: Kind<'_>, walks: &[Walk], ended: &[Walk]) -> Vec<String> {
    let before = walks.first().map_or(0, |walk| walk.known.len()) + usize::from(matches!(kind, Kind::Each(_)));
    let known = ended.first().map(|walk| walk.known.get(before..).unwrap_or_default()).unwrap_or_default();
    known.iter().map(|(name, _)| name.clone()).collect()
}

/// What an ended round gave under a name.
fn gave(round: &Walk, name: &str) -> Value {
    round.known.iter().rfind(|(known, _)| known == name).map_or(Value::Null, |(_, value)| value.clone())
}

/// The walks past all their rounds.
fn past(kind: Kind<'_>, walks: &[Walk], rounds: &[Rounds], gives: &[String], ended: &[Walk]) -> Vec<Walk> {
    let mut ended = ended.iter();
    let past = walks.iter().zip(rounds).map(|(walk, counts)| {
        let mine: Vec<&Walk> = ended.by_ref().take(counts.len()).collect();
        let mut walk = walk.after(counts.iter().sum(), None);
        for name in gives {
            let mut all = mine.iter().map(|round| gave(round, name));
            let value = match kind {
                Kind::Each(_) => Value::List(all.collect()),
                Kind::Retry => all.next_back().unwrap_or(Value::Null),
            };
            walk.known.push((name.clone(), value));
        }
        walk
    });
    past.collect()
}

/// What each round gave, as one value, and whether it was the last of its run.
fn replies<'w>(rounds: &[Rounds], gives: &[String], ended: &'w [Walk]) -> Vec<(&'w Walk, Value, bool)> {
    let last = rounds.iter().flat_map(|counts| (1..=counts.len()).map(|round| round == counts.len()));
    let all = ended.iter().zip(last).map(|(round, last)| {
        let record = gives.iter().fold(Record::new(), |record, name| record.with(name.as_str(), gave(round, name)));
        let value = match gives {
            [name] => gave(round, name),
            _ => record.into(),
        };
        (round, value, last)
    });
    all.collect()
}
