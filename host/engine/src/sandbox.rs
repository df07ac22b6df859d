//! Runs modules that nobody has vouched for, through `auto-runtime`: a fresh instance for
//! every input, under the limits of an artifact. The same module and inputs give the same
//! outcomes, so they are kept in the memo; a failure by a limit is not.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use auto_runtime::{CallError, Class, Module, Sandbox};
use auto_schema::digest::{Digest, Hasher};
use wasmtime::component::Val;

use crate::engine::Inner;
use crate::exchange::{Exchanges, Replayed};
use crate::memo;
use crate::parallel::{self, Together};
use crate::trace::CallTrace;
use crate::wire::{self, Outcome, Replay, is_circumstance};

/// The name in traces and journals.
pub(crate) const SANDBOX: &str = "auto:host/sandbox@0.1.0";

/// What running a module on inputs came to.
pub(crate) struct Ran {
    pub(crate) replays: Vec<Replay>,
    /// The capabilities that any replay asked for.
    pub(crate) asked: BTreeSet<String>,
    pub(crate) memo_hit: bool,
}

/// Why a module was not run, or what it gave is not kept.
pub(crate) struct NotABehavior {
    pub(crate) code: &'static str,
    pub(crate) why: String,
}

impl From<String> for NotABehavior {
    fn from(why: String) -> NotABehavior {
        NotABehavior { code: "not-a-behavior", why }
    }
}

/// What all outcomes of a run may take together, in results of a pass call; and beside that in
/// the bytes of all inputs.
const RESULTS: u64 = 4;
const INPUTS: u64 = 16;

impl Inner {
    /// Runs a module on each input, its requests answered by `exchanges`.
    pub(crate) fn replay(&self, module: &[u8], inputs: &[String], exchanges: &Exchanges) -> Result<Ran, NotABehavior> {
        let started = Instant::now();
        let digest = Digest::of(module);
        let limits = self.artifact_limits();
        let most = self.most_outcomes(inputs);
        let key = key(digest, &limits, most, inputs, exchanges);
        let kept = self.cache.as_ref().and_then(|cache| memo::read(&cache.memo, key)).and_then(|(kept, _)| read(&kept));
        if let Some((replays, asked)) = kept.filter(|(replays, _)| replays.len() == inputs.len()) {
            self.audit_module(module, inputs, exchanges, &limits, &replays)?;
            self.record_sandbox(digest, &replays, started, true);
            return Ok(Ran { replays, asked, memo_hit: true });
        }
        let (ran, keep) = self.run_all(module, inputs, exchanges, &limits)?;
        if keep {
            self.audit_module(module, inputs, exchanges, &limits, &ran.replays)?;
        }
        if let Some(cache) = self.cache.as_ref().filter(|_| keep) {
            memo::write(&cache.memo, key, Kept { ran: &ran, next: 0 }, 0);
        }
        self.record_sandbox(digest, &ran.replays, started, false);
        Ok(ran)
    }

    /// Runs it again, with `--audit`: the outcomes must be those that are known.
    fn audit_module(
        &self,
        module: &[u8],
        inputs: &[String],
        exchanges: &Exchanges,
        limits: &auto_runtime::Limits,
        known: &[Replay],
    ) -> Result<(), NotABehavior> {
        if !self.options.audit || self.run_all(module, inputs, exchanges, limits)?.0.replays == known {
            return Ok(());
        }
        Err("the module gave other outcomes than before for the same inputs".to_owned().into())
    }

    /// Runs it, and says whether the outcomes are the module's own doing.
    fn run_all(
        &self,
        module: &[u8],
        inputs: &[String],
        exchanges: &Exchanges,
        limits: &auto_runtime::Limits,
    ) -> Result<(Ran, bool), NotABehavior> {
        let sandbox = self.sandbox(limits)?;
        let loaded = sandbox.load(module).map_err(|error| error.to_string())?;
        let together = Together::new(self.most_outcomes(inputs));
        let results = parallel::map(inputs, limits.stack, |input| {
            // Nothing of it will be kept.
            let result = (!together.is_over()).then(|| replay_one(&loaded, input, exchanges))?;
            together.add(result.as_ref().map_or(0, |replayed| size(&replayed.outcome)));
            Some(result)
        });
        if together.is_over() {
            let most = together.most();
            let why = format!("its outcomes take more than {most} bytes together; raise it with --max-output");
            return Err(NotABehavior { code: "output-too-large", why });
        }
        let results: Vec<_> = results.into_iter().flatten().collect();
        if results.len() < inputs.len() {
            let why = "no thread with room for the artifact's stack could be started; give less --stack";
            return Err(why.to_owned().into());
        }
        // Taken for an outcome, it would make something else than a better day makes.
        let refused = results.iter().filter_map(|result| result.as_ref().err());
        if let Some(error) = refused.clone().find(|error| error.class == Class::Machine) {
            return Err(format!("{}; try again when it has room", error.message).into());
        }
        let keep = results.iter().all(|result| !matches!(result, Err(error) if is_circumstance(error)));
        let asked = results.iter().flatten().flat_map(|replayed| replayed.asked.iter().cloned()).collect();
        let replays = inputs.iter().zip(results).map(|(input, result)| {
            let steps = result.as_ref().ok().and_then(|replayed| replayed.steps).unwrap_or(0);
            let outcome = match &result {
                Ok(Replayed { unlike: Some(why), .. }) => Outcome::Failed(why.clone()),
                result => Outcome::of(result.as_ref().map(|replayed| replayed.outcome.clone())),
            };
            Replay { input: input.clone(), outcome, steps }
        });
        Ok((Ran { replays: replays.collect(), asked, memo_hit: false }, keep))
    }

    /// Microseconds of an answer on this machine, the 95th percentile by nearest rank; none of
    /// no inputs. Each call is made in a fresh instance, and all those of an answer count
    /// together: the first and one for every reply. What replies take is not in it, since
    /// `exchanges` give them.
    pub(crate) fn latency_us_p95(
        &self,
        module: &[u8],
        inputs: &[String],
        exchanges: &Exchanges,
    ) -> Result<Option<u64>, NotABehavior> {
        let sandbox = self.sandbox(&self.artifact_limits())?;
        let loaded = sandbox.load(module).map_err(|error| error.to_string())?;
        // The first call of a module pays for what the others find done.
        inputs.first().map(|input| loaded.run_fresh(input));
        let mut timed: Vec<u64> = inputs.iter().map(|input| micros_of(&loaded, input, exchanges)).collect();
        timed.sort_unstable();
        Ok(timed.get((timed.len() * 95).div_ceil(100).saturating_sub(1)).copied())
    }

    /// The most bytes of all outcomes of a module on these inputs.
    fn most_outcomes(&self, inputs: &[String]) -> u64 {
        let inputs: u64 = inputs.iter().map(|input| input.len() as u64).sum();
        self.options.limits.of("").output.saturating_mul(RESULTS).saturating_add(inputs.saturating_mul(INPUTS))
    }

    /// The limits of an artifact's call: the runtime's own, with what the user has set.
    pub(crate) fn artifact_limits(&self) -> auto_runtime::Limits {
        let set = &self.options.limits;
        let mut limits = auto_runtime::Limits::default();
        limits.fuel = set.fuel.unwrap_or(limits.fuel);
        limits.memory = set.memory.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(limits.memory);
        limits.deadline = set.deadline.unwrap_or(limits.deadline);
        limits.stack = self.options.limits.stack();
        limits
    }

    fn sandbox(&self, limits: &auto_runtime::Limits) -> Result<&Sandbox, String> {
        let made = self.sandbox.get_or_init(|| {
            let cache = self.cache.as_ref().map(|cache| cache.artifacts.clone());
            Sandbox::with_cache(limits.clone(), cache).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn record_sandbox(&self, digest: Digest, replays: &[Replay], started: Instant, memo_hit: bool) {
        self.trace().push(CallTrace {
            pass: "sandbox".to_owned(),
            digest,
            interface: SANDBOX.to_owned(),
            function: "run".to_owned(),
            fuel: replays.iter().map(|replay| replay.steps).sum(),
            micros: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            memory: None,
            memo_hit,
            log: Vec::new(),
            fault: None,
        });
    }
}

fn replay_one(module: &Module, input: &str, exchanges: &Exchanges) -> Result<Replayed, CallError> {
    let first = module.run_fresh(input)?;
    exchanges.replay(input, first, |state, reply| module.resume_fresh(state, reply.as_deref().map_err(String::as_str)))
}

/// Microseconds of all calls of an answer together.
fn micros_of(module: &Module, input: &str, exchanges: &Exchanges) -> u64 {
    let mut spent = Duration::ZERO;
    let mut begun = Instant::now();
    let first = module.run_fresh(input);
    spent += begun.elapsed();
    if let Ok(first) = first {
        // How it ends was judged before.
        let _ = exchanges.replay(input, first, |state, reply| {
            begun = Instant::now();
            let next = module.resume_fresh(state, reply.as_deref().map_err(String::as_str));
            spent += begun.elapsed();
            next
        });
    }
    u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)
}

/// What the memo keeps of a [`Ran`]: each replay, then what was asked for.
struct Kept<'r> {
    ran: &'r Ran,
    next: usize,
}

impl Iterator for Kept<'_> {
    type Item = Val;

    fn next(&mut self) -> Option<Val> {
        let Ran { replays, asked, .. } = self.ran;
        let next = match self.next.cmp(&replays.len()) {
            Ordering::Less => replays[self.next].to_val(),
            Ordering::Equal => Val::List(asked.iter().map(wire::text).collect()),
            Ordering::Greater => return None,
        };
        self.next += 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ran.replays.len() + 1 - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Kept<'_> {}

/// The inverse of [`Kept`].
fn read(kept: &[Val]) -> Option<(Vec<Replay>, BTreeSet<String>)> {
    let (asked, replays) = kept.split_last()?;
    let replays = replays.iter().map(Replay::from_val).collect::<Option<Vec<_>>>()?;
    Some((replays, wire::as_texts(asked)?.into_iter().collect()))
}

/// The bytes of an outcome.
fn size(outcome: &auto_runtime::Outcome) -> u64 {
    let bytes = match outcome {
        auto_runtime::Outcome::Answer(answer) => answer.len(),
        auto_runtime::Outcome::Abstain { reason, .. } => reason.len(),
        auto_runtime::Outcome::Request { capability, input, state } => capability.len() + input.len() + state.len(),
    };
    bytes as u64
}

fn key(module: Digest, limits: &auto_runtime::Limits, most: u64, inputs: &[String], exchanges: &Exchanges) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update("auto-sandbox-5\n");
    hasher.update(module.as_bytes());
    hasher.update(format!("{:?}\n", exchanges.digest()));
    let auto_runtime::Limits { fuel, memory, input, deadline, stack, .. } = limits;
    hasher.update(format!("{fuel} {memory} {input} {} {stack} {most}\n", deadline.as_micros()));
    for input in inputs {
        hasher.update((input.len() as u64).to_le_bytes());
        hasher.update(input);
    }
    hasher.finish()
}
