//! The hermetic world of a replay: what an artifact asks for is answered by what was
//! recorded for the same request, and by nothing else. No tool runs.
//!
//! A request in a replay of an input is answered by the runs of that input, each recorded
//! reply once, in recorded order; when these are used up, or have none, by the reply that
//! all runs of the scope have for it. A request that nothing answers so is unwitnessed and
//! stays what it is, a request: on a recorded input the gate takes it for a failure, on any
//! other for an open question.
//!
//! What is asked of tools and memory is done. So an answer to a recorded input is one only
//! if what was asked of them on the way is what a run of that input did, in its order;
//! contracts of version 0 are held to the answer alone, as ever.

use std::collections::{BTreeSet, HashMap};

use auto_runtime::{CallError, Outcome};
use auto_schema::digest::{Digest, Hasher};
use auto_schema::evidence::Run;

/// A reply, or the message of an error.
pub(crate) type Reply = Result<String, String>;

/// The most requests of one replay, in requests of the longest run, and the least that this
/// comes to: more is a loop without end. Each is answered by a call with limits of its own, so
/// that many would take hours.
const LONGEST_RUNS: usize = 4;
const LEAST_MOST: usize = 64;

/// Requests and their recorded replies.
#[derive(Default)]
pub(crate) struct Exchanges {
    /// By input of the run: the replies to each request, in recorded order.
    own: HashMap<String, HashMap<Request, Vec<Reply>>>,
    /// By input of the run: what was done of tools and memory, in order, of each run that is not as
    /// another. Empty where only answers count.
    acts: HashMap<String, BTreeSet<Vec<Request>>>,
    /// Of all runs, where they agree; `None` where they do not.
    any: HashMap<Request, Option<Reply>>,
    digest: Option<Digest>,
    /// The requests of the run that has most.
    longest: usize,
}

/// A capability and its input.
type Request = (String, String);

/// What a replay came to.
pub(crate) struct Replayed {
    pub(crate) outcome: Outcome,
    /// The capabilities that were asked for.
    pub(crate) asked: BTreeSet<String>,
    /// Of all calls together, where the module counts.
    pub(crate) steps: Option<u64>,
    /// How what was done on the way to an answer differs from what runs of the input did.
    pub(crate) unlike: Option<String>,
}

impl Exchanges {
    /// What the runs, in their order, say; whether acts count or answers alone.
    pub(crate) fn of(runs: &[Run], acts_count: bool) -> Exchanges {
        let mut exchanges = Exchanges::default();
        let mut hasher = Hasher::new();
        hasher.update(if acts_count { "acts\n" } else { "" });
        // A run that failed says what was tried, not what leads to an answer; where an input has no
        // other, nothing does.
        let ended = runs.iter().filter(|run| run.error.is_none());
        let ended: BTreeSet<&str> = ended.map(|run| run.input.as_str()).collect();
        for run in runs.iter().filter(|run| run.error.is_none() || !ended.contains(run.input.as_str())) {
            exchanges.longest = exchanges.longest.max(run.steps.len());
            let own = exchanges.own.entry(run.input.as_str().to_owned()).or_default();
            for step in &run.steps {
                let Some(capability) = step.capability() else { continue };
                let reply = match &step.error {
                    Some(message) => Err(message.clone()),
                    None => Ok(step.output.as_str().to_owned()),
                };
                hasher.update(format!("{:?}\n", (run.input.as_str(), &capability, step.input.as_str(), &reply)));
                let request = (capability, step.input.as_str().to_owned());
                own.entry(request.clone()).or_default().push(reply.clone());
                if run.error.is_some() {
                    continue;
                }
                let any = exchanges.any.entry(request).or_insert_with(|| Some(reply.clone()));
                if any.as_ref().is_some_and(|any| *any != reply) {
                    *any = None;
                }
            }
            if acts_count {
                let known = exchanges.acts.entry(run.input.as_str().to_owned()).or_default();
                let acts =
                    run.steps.iter().filter_map(|step| Some((step.capability()?, step.input.as_str().to_owned())));
                let acts = acts.filter(|(capability, _)| is_act(capability)).collect();
                if run.error.is_none() {
                    known.insert(acts);
                }
            }
        }
        exchanges.digest = (!exchanges.any.is_empty()).then(|| hasher.finish());
        exchanges
    }

    /// Of everything in it; none where nothing is.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Answers requests until there is an answer, an abstention, or a request that nothing
    /// answers. `resume` makes a call and also says how many steps it took.
    pub(crate) fn replay(
        &self,
        input: &str,
        first: (Outcome, Option<u64>),
        mut resume: impl FnMut(&[u8], &Reply) -> Result<(Outcome, Option<u64>), CallError>,
    ) -> Result<Replayed, CallError> {
        let own = self.own.get(input);
        let mut used: HashMap<Request, usize> = HashMap::new();
        let (mut outcome, mut steps) = first;
        let mut asked = BTreeSet::new();
        let mut acts = Vec::new();
        let recorded_input = input;
        for _ in 0..(self.longest * LONGEST_RUNS).max(LEAST_MOST) {
            let Outcome::Request { capability, input, state } = &outcome else { break };
            asked.insert(capability.clone());
            let request = (capability.clone(), input.clone());
            let used = used.entry(request.clone()).or_default();
            let recorded = own.and_then(|own| own.get(&request)).and_then(|replies| replies.get(*used));
            let Some(reply) = recorded.or_else(|| self.any.get(&request)?.as_ref()) else { break };
            *used += 1;
            if is_act(capability) {
                acts.push(request);
            }
            let (next, more) = resume(state, reply)?;
            steps = steps.and_then(|steps| Some(steps.saturating_add(more?)));
            outcome = next;
        }
        let done = self.acts.get(recorded_input).filter(|_| matches!(outcome, Outcome::Answer(_)));
        let unlike = done.filter(|done| !done.contains(&acts)).map(|done| differs(done, &acts));
        Ok(Replayed { outcome, asked, steps, unlike })
    }
}

/// Whether what is asked for is done, and not only known.
fn is_act(capability: &str) -> bool {
    !capability.starts_with("model:")
}

fn differs(done: &BTreeSet<Vec<Request>>, acts: &[Request]) -> String {
    let told = |request: Option<&Request>| match request {
        Some((capability, input)) => format!("{capability} of {input}"),
        None => "nothing more".to_owned(),
    };
    if done.is_empty() {
        return "it answers where every run ended without an answer".to_owned();
    }
    // The run that goes along with it for longest.
    let along = |run: &Vec<Request>| run.iter().zip(acts).take_while(|(own, other)| own == other).count();
    let nearest = done.iter().max_by_key(|run| along(run));
    let at = nearest.map_or(0, along);
    let recorded = nearest.and_then(|run| run.get(at));
    format!("it does not do what was recorded: {} where a run did {}", told(acts.get(at)), told(recorded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_json::Value;
    use auto_schema::evidence::Operation;

    fn run(input: &str, steps: &[(&str, &str, Reply)]) -> Run {
        let json = |text: &str| Value::from(text).canonical();
        let step = |(name, input, reply): &(&str, &str, Reply)| Operation {
            kind: "tool_call".to_owned(),
            name: (*name).to_owned(),
            input: json(input),
            output: json(reply.as_deref().unwrap_or_default()),
            error: reply.clone().err(),
        };
        Run { input: json(input), output: json("done"), error: None, steps: steps.iter().map(step).collect() }
    }

    /// Asks for each in turn and answers with the replies it got.
    fn replay(exchanges: &Exchanges, input: &str, asks: &[(&str, &str)]) -> (Outcome, Vec<Reply>) {
        let (mut got, mut next) = (Vec::new(), asks.iter());
        let mut ask = || match next.next() {
            Some((name, input)) => Outcome::Request {
                capability: format!("tool:{name}"),
                input: Value::from(*input).canonical().into_string(),
                state: Vec::new(),
            },
            None => Outcome::Answer("null".to_owned()),
        };
        let first = (ask(), Some(1));
        let input = Value::from(input).canonical().into_string();
        let replayed = exchanges.replay(&input, first, |_, reply| {
            got.push(reply.clone().map(|text| text.trim_matches('"').to_owned()));
            Ok((ask(), Some(1)))
        });
        let replayed = replayed.unwrap();
        assert_eq!(replayed.steps, Some(got.len() as u64 + 1));
        (replayed.outcome, got)
    }

    #[test]
    fn a_run_answers_its_own_input_in_recorded_order() {
        let slow = || Err("slow".to_owned());
        let exchanges = Exchanges::of(
            &[
                run("a", &[("get", "x", slow()), ("get", "x", Ok("1".to_owned()))]),
                run("b", &[("get", "x", Ok("2".to_owned())), ("get", "y", Ok("3".to_owned()))]),
            ],
            false,
        );
        let done = Outcome::Answer("null".to_owned());
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(replay(&exchanges, "a", &[("get", "x"), ("get", "x")]), (done.clone(), vec![slow(), ok("1")]));
        assert_eq!(replay(&exchanges, "b", &[("get", "x"), ("get", "y")]), (done.clone(), vec![ok("2"), ok("3")]));
        // Another input, or a request more: only what all runs agree on.
        assert_eq!(replay(&exchanges, "c", &[("get", "y")]), (done.clone(), vec![ok("3")]));
        assert_eq!(replay(&exchanges, "a", &[("get", "y")]), (done, vec![ok("3")]));
        for (input, asks) in
            [("c", vec![("get", "x")]), ("b", vec![("get", "x"), ("get", "x")]), ("a", vec![("put", "x")])]
        {
            let (outcome, got) = replay(&exchanges, input, &asks);
            assert!(matches!(outcome, Outcome::Request { .. }), "{outcome:?}");
            assert_eq!(got.len(), asks.len() - 1);
        }
    }

    #[test]
    fn a_replay_that_asks_without_end_comes_to_one() {
        let asks = [("get", "y"); 1000];
        let exchanges = Exchanges::of(&[run("a", &[("get", "y", Ok("3".to_owned()))])], false);
        let (outcome, got) = replay(&exchanges, "a", &asks);
        assert!(matches!(outcome, Outcome::Request { .. }) && got.len() == 64, "{outcome:?} {}", got.len());
        // Four times the longest run, where that is more.
        let long: Vec<_> = (0..50).map(|_| ("get", "y", Ok("3".to_owned()))).collect();
        assert_eq!(replay(&Exchanges::of(&[run("a", &long)], false), "a", &asks).1.len(), 200);
    }

    #[test]
    fn an_answer_after_other_acts_is_told() {
        let ok = |text: &str| Ok(text.to_owned());
        let exchanges = Exchanges::of(
            &[
                run("a", &[("get", "x", ok("1")), ("pay", "1", ok("done"))]),
                run("a", &[("get", "x", ok("1")), ("pay", "2", ok("done"))]),
                run("b", &[("get", "x", ok("1"))]),
            ],
            true,
        );
        let unlike = |input: &str, asks: &[(&str, &str)]| {
            let mut next = asks.iter();
            let mut ask = || match next.next() {
                Some((name, input)) => Outcome::Request {
                    capability: format!("tool:{name}"),
                    input: Value::from(*input).canonical().into_string(),
                    state: Vec::new(),
                },
                None => Outcome::Answer("null".to_owned()),
            };
            let first = (ask(), None);
            let input = Value::from(input).canonical().into_string();
            exchanges.replay(&input, first, |_, _| Ok((ask(), None))).unwrap().unlike
        };
        assert_eq!(unlike("a", &[("get", "x"), ("pay", "1")]), None);
        assert_eq!(unlike("a", &[("get", "x"), ("pay", "2")]), None);
        assert_eq!(unlike("b", &[("get", "x")]), None);
        // One that no run of this input did, although another's reply is known; one too few; nobody's input.
        let told = unlike("b", &[("get", "x"), ("pay", "1")]).unwrap();
        assert!(told.ends_with("tool:pay of \"1\" where a run did nothing more"), "{told}");
        let told = unlike("a", &[("get", "x")]).unwrap();
        assert!(told.contains("nothing more where a run did tool:pay of"), "{told}");
        assert_eq!(unlike("c", &[("get", "x")]), None);
    }

    #[test]
    fn the_digest_is_of_everything() {
        let of = |reply: &str| Exchanges::of(&[run("a", &[("get", "x", Ok(reply.to_owned()))])], false).digest();
        assert!(of("1").is_some() && of("1") == of("1") && of("1") != of("2"));
        assert_eq!(Exchanges::of(&[run("a", &[])], false).digest(), None);
    }
}
