//! The service itself: an input through the tiers.
//!
//! Three lanes keep callers out of each other's way. The *brief* lane tries an artifact for an
//! instant, which is enough for nearly every input; what is not done then goes to the *long* lane,
//! under the limits of a call. An artifact that was quick all along is tried on the connection's own
//! thread, since the way to a lane and back would take longer. Whatever waits for somebody else (tools, tier 0) is in the *waiting*
//! lane, whose threads mostly sleep. Connections are served by threads of their own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_runtime::{CallError, Class, EffectRecord, Outcome, Program, RunLimits, Session};
use auto_schema::digest::Digest;
use auto_store::input_of;
use axum::http::StatusCode;

use super::backing::{Answered, Backing, Lent, Refusal, Tier0, ToolSet};
use super::caller::{Caller, Callers};
use super::catalog::{Artifact, Catalog};
use super::counts::Side;
use super::drift::Drift;
use super::events::Events;
use super::metrics::Requests;
use super::pool::{NoResult, Pool};
use super::spans::Spans;
use crate::http::{Bounds, Problem, Traffic};

/// How the service is set up.
pub struct Settings {
    /// What anybody gets.
    pub bounds: Bounds,
    /// Who may ask.
    pub callers: Callers,
    /// Threads of the brief and of the long lane.
    pub threads: usize,
    /// Threads of the waiting lane: tools and tier 0 at the same time.
    pub waiting: usize,
    /// How many inputs may wait in each lane.
    pub queue: usize,
    /// Bytes of stack of an artifact.
    pub stack: usize,
    /// The most tool calls for one input.
    pub max_tool_calls: u32,
    /// How often names are looked at again.
    pub reload: Duration,
    /// Whether tier 0 is asked for a share of what the artifacts answered.
    pub drift: Option<super::drift::Settings>,
    /// Where spans go.
    pub spans: Option<Spans>,
}

/// Sessions that a thread keeps warm.
#[derive(Default)]
pub struct Bench {
    sessions: HashMap<Digest, Session>,
}

/// The most artifacts that a thread keeps warm.
const WARM: usize = 16;

impl Bench {
    fn session(&mut self, program: &Program) -> &mut Session {
        let id = program.id();
        if self.sessions.len() >= WARM && !self.sessions.contains_key(&id) {
            self.sessions.clear();
        }
        // Answers are put into objects of ours, so they have to be what they should be.
        self.sessions.entry(id).or_insert_with(|| program.session().checked(true))
    }

    /// Tries an artifact for an instant.
    fn brief(&mut self, artifact: &Artifact, input: &str) -> Option<Result<Outcome, CallError>> {
        let begun = Instant::now();
        let outcome = self.session(&artifact.program).run_briefly(input);
        match outcome {
            Some(_) => artifact.pace.took(begun.elapsed()),
            None => artifact.pace.overran(),
        }
        outcome
    }
}

/// The same on this thread, which is a connection's.
fn here(artifact: &Artifact, input: &str) -> Result<Option<Result<Outcome, CallError>>, Problem> {
    HERE.with_borrow_mut(|bench| {
        let tried = catch_unwind(AssertUnwindSafe(|| bench.brief(artifact, input)));
        tried.map_err(|_| {
            // What fell over may have left them in any condition.
            *bench = Bench::default();
            no_result(NoResult::Panicked)
        })
    })
}

/// The service.
pub struct App {
    /// What is served.
    pub catalog: Catalog,
    /// Who stands behind it.
    pub backing: Arc<dyn Backing>,
    /// How it is set up.
    pub settings: Settings,
    /// What happened.
    pub events: Events,
    /// What connections came to.
    pub traffic: Arc<Traffic>,
    /// What requests came to.
    pub requests: Requests,
    /// When it began.
    pub started: Instant,
    pub(super) brief: Pool<Bench>,
    pub(super) long: Pool<Bench>,
    pub(super) waiting: Pool<Bench>,
    pub(super) tier0s: Lent<Box<dyn Tier0>>,
    pub(super) tools: Lent<Box<dyn ToolSet>>,
    pub(super) drift: Option<Drift>,
}

/// What became of an input.
pub struct Ran {
    /// Of the artifact's own run.
    pub outcome: Result<Outcome, CallError>,
    /// What tools were called.
    pub effects: Vec<EffectRecord>,
    /// What tier 0 came to, where it was asked.
    pub tier0: Option<Result<Answered, Refusal>>,
}

/// An abstention that is not the artifact's own.
fn abstention(reason: &str) -> Result<Outcome, CallError> {
    Ok(Outcome::Abstain { reason: reason.to_owned(), score: 0, limit: 0 })
}

impl Ran {
    /// Of the artifact by itself.
    fn alone(outcome: Result<Outcome, CallError>) -> Ran {
        Ran { outcome, effects: Vec::new(), tier0: None }
    }

    /// Who answered.
    pub fn side(&self) -> Side {
        match (&self.tier0, &self.outcome) {
            (Some(Ok(_)), _) => Side::Tier0,
            (_, Ok(Outcome::Answer(_))) => Side::Tier1,
            _ => Side::Nobody,
        }
    }
}

/// Room on a thread for what is not the artifact's.
pub const OWN_STACK: usize = 2 << 20;

/// Whether an input came alone. One of many may not be answered on the connection's thread: all of them
/// together could hold it for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// By itself.
    Alone,
    /// With others.
    WithOthers,
}

thread_local! {
    /// What a connection's thread keeps warm.
    static HERE: RefCell<Bench> = RefCell::default();
}

impl App {
    /// Starts the lanes. Nothing is loaded yet.
    pub fn new(catalog: Catalog, backing: Arc<dyn Backing>, settings: Settings) -> std::io::Result<App> {
        let stack = settings.stack.saturating_add(OWN_STACK);
        let lane = |name: &str, threads: usize| Pool::start(name, threads, stack, settings.queue, Bench::default);
        Ok(App {
            brief: lane("auto brief", settings.threads)?,
            long: lane("auto long", settings.threads)?,
            waiting: lane("auto waiting", settings.waiting)?,
            catalog,
            backing,
            events: Events::default(),
            traffic: Arc::default(),
            requests: Requests::default(),
            started: Instant::now(),
            tier0s: Lent::default(),
            tools: Lent::default(),
            drift: settings.drift.clone().map(Drift::new),
            settings,
        })
    }

    /// The artifact of a name or id. Problems: `unknown-artifact`, `busy`, those of loading.
    pub async fn artifact(self: &Arc<App>, name: &str, caller: &Caller) -> Result<Arc<Artifact>, Problem> {
        let found = match self.catalog.find(name) {
            Some(found) => found,
            None => {
                let (app, name) = (self.clone(), name.to_owned());
                self.waiting.run(move |_| app.catalog.fetch(&name)).await.map_err(no_result)??
            }
        };
        // Whoever may not ask is not told whether there is one. An id is allowed by its name.
        if caller.may_ask(name) || caller.may_ask(&found.name) { Ok(found) } else { self.catalog.fetch("") }
    }

    /// Runs an input through the tiers, and counts what came of it.
    pub async fn answer(
        self: &Arc<App>,
        artifact: &Arc<Artifact>,
        caller: &Caller,
        input: String,
        came: Came,
    ) -> Result<Ran, Problem> {
        let begun = Instant::now();
        let (ran, given) = match &artifact.key {
            None => self.tier1(artifact, caller, input, came).await?,
            Some(key) => match input_of(key, &input) {
                Ok(Some(own)) => (self.tier1(artifact, caller, own.into_string(), came).await?.0, input),
                Ok(None) => (Ran::alone(abstention("no-key")), input),
                Err(message) => (Ran::alone(Err(CallError { class: Class::BadInput, message })), input),
            },
        };
        let ran = self.stand_in(artifact, caller, ran, given).await;
        // What is no input of the artifact's says nothing about how much of them it answers.
        if !ran.outcome.as_ref().is_err_and(|error| !is_breakage(error)) {
            artifact.counts.answered(ran.side(), begun.elapsed());
        }
        Ok(ran)
    }

    async fn tier1(
        self: &Arc<App>,
        artifact: &Arc<Artifact>,
        caller: &Caller,
        input: String,
        came: Came,
    ) -> Result<(Ran, String), Problem> {
        if !artifact.program.manifest().capabilities.is_empty() {
            return self.with_tools(artifact, caller, input).await;
        }
        if self.suspended(artifact) {
            return Ok((Ran::alone(abstention("drift")), input));
        }
        let quick = came == Came::Alone && artifact.pace.is_quick(&input);
        let (tried, input) = if quick {
            (here(artifact, &input)?, input)
        } else {
            let program = artifact.clone();
            let tried = self.brief.run(move |bench| (bench.brief(&program, &input), input));
            tried.await.map_err(no_result)?
        };
        if let Some(outcome) = tried {
            return Ok((Ran::alone(outcome), input));
        }
        let program = artifact.clone();
        let run = self.long.run(move |bench| {
            let outcome = run_checked(bench.session(&program.program), &input);
            (outcome, input)
        });
        let (outcome, input) = run.await.map_err(no_result)?;
        Ok((Ran::alone(outcome), input))
    }

    /// Runs an artifact that may ask for tools, with those that the caller may use.
    async fn with_tools(
        self: &Arc<App>,
        artifact: &Arc<Artifact>,
        caller: &Caller,
        input: String,
    ) -> Result<(Ran, String), Problem> {
        if let Some(capability) = caller.lacks(&artifact.program.manifest().capabilities) {
            let message = format!("this artifact may ask for {capability}, which this token does not grant");
            return Err(Problem::new(StatusCode::FORBIDDEN, "tool-not-allowed", message));
        }
        let (app, artifact, caller) = (self.clone(), artifact.clone(), caller.clone());
        let run = self.waiting.run(move |bench| {
            let program = &artifact.program;
            let effects = caller.max_tool_calls.unwrap_or(u32::MAX).min(app.settings.max_tool_calls);
            let limits = RunLimits { effects, ..RunLimits::default() };
            let start = || app.backing.tools(program, &caller);
            let ran = app.tools.with(program.id(), &caller.name, start, |tools| {
                let outcome = bench.session(program).run_with(&input, &mut **tools, &limits);
                Ran { outcome, effects: tools.take_records(), tier0: None }
            });
            (ran, input)
        });
        match run.await.map_err(no_result)? {
            (Ok(ran), input) => Ok((ran, input)),
            (Err(refusal), _) => Err(Problem::new(StatusCode::BAD_GATEWAY, refusal.code, refusal.message)),
        }
    }

    /// Asks tier 0 where the artifact has no answer. Not where a tool was called: what it did
    /// would be done twice.
    async fn stand_in(self: &Arc<App>, artifact: &Arc<Artifact>, caller: &Caller, ran: Ran, input: String) -> Ran {
        let counts = &artifact.counts;
        let why = match &ran.outcome {
            Ok(Outcome::Answer(answer)) => {
                counts.saved.fetch_add(artifact.price.unwrap_or(0), std::sync::atomic::Ordering::Relaxed);
                self.sample(artifact, input, answer);
                return ran;
            }
            Ok(Outcome::Abstain { reason, .. }) => {
                counts.trips.add(reason);
                reason.clone()
            }
            Ok(Outcome::Request { .. }) => return ran,
            Err(error) => {
                counts.failures.add(error.code());
                if !is_breakage(error) {
                    return ran;
                }
                self.events.alarm(&artifact.name, error.code(), &error.message);
                error.code().to_owned()
            }
        };
        if !ran.effects.is_empty() || !self.backing.has_tier0(&artifact.name) {
            return ran;
        }
        let (app, asked, caller) = (self.clone(), artifact.clone(), caller.clone());
        let tier0 = self.waiting.run(move |_| app.ask_tier0(&asked, &caller, &input, &why)).await;
        let tier0 = tier0.unwrap_or_else(|none| {
            let problem = no_result(none);
            Err(Refusal { code: problem.code.into_owned(), message: problem.message })
        });
        match &tier0 {
            Ok(answered) => {
                counts.spent.fetch_add(answered.cost.unwrap_or(0), std::sync::atomic::Ordering::Relaxed);
            }
            Err(refusal) => counts.tier0_failures.add(&refusal.code),
        }
        Ran { tier0: Some(tier0), ..ran }
    }

    /// Asks tier 0; waits for it.
    pub(super) fn ask_tier0(
        &self,
        artifact: &Artifact,
        caller: &Caller,
        input: &str,
        why: &str,
    ) -> Result<Answered, Refusal> {
        let start = || self.backing.tier0(&artifact.name, &artifact.program, artifact.key.as_ref(), caller);
        self.tier0s.with(artifact.program.id(), &caller.name, start, |tier0| tier0.answer(input, why))?
    }

    /// Lets each name stand for what the registry says, and lets go what belonged to others.
    pub fn reload(&self) {
        match self.catalog.reload() {
            Ok(changes) => {
                for (name, id) in &changes.taken {
                    self.events.note(name, "loaded", &format!("{id}"));
                }
                for name in &changes.gone {
                    self.events.note(name, "gone", "the registry has no such name any more");
                }
                for (name, held) in &changes.refused {
                    let wanted = held.wanted.map_or("its artifact".to_owned(), |id| id.to_string());
                    self.events.alarm(name, &held.why.code, &format!("{wanted} is not taken: {}", held.why.message));
                }
                for (name, why) in &changes.ended {
                    let message = format!("what was served is trusted no longer: {}", why.message);
                    self.events.alarm(name, &why.code, &message);
                }
                if changes != super::catalog::Changes::default() {
                    self.tier0s.keep(|id| self.catalog.serves(id));
                    self.tools.keep(|id| self.catalog.serves(id));
                }
            }
            Err(refusal) => self.events.once(&refusal.code, &refusal.message),
        }
    }
}

/// Runs an input in the long lane. Code of somebody's own may not look at its input's type, so
/// that is done for it.
fn run_checked(session: &mut Session, input: &str) -> Result<Outcome, CallError> {
    let manifest = session.program().manifest();
    if !manifest.reusable {
        let bad = |why: String| CallError { class: Class::BadInput, message: why };
        let value = Value::parse(input).map_err(|error| bad(error.to_string()))?;
        manifest.input.accepts(&value).map_err(|wrong| bad(wrong.to_string()))?;
    }
    session.run(input)
}

/// Whether a failure is the artifact's rather than the input's.
pub(super) fn is_breakage(error: &CallError) -> bool {
    use auto_runtime::Class::{BadInput, InputTooLarge, NotGranted, Unsupported};
    !matches!(error.class, BadInput | Unsupported | InputTooLarge | NotGranted)
}

pub(super) fn no_result(none: NoResult) -> Problem {
    match none {
        NoResult::Full => Problem::busy("busy", "as many inputs wait as may"),
        NoResult::Panicked => {
            let message = "the server fell over while it worked on this input; nothing else did";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "panicked", message)
        }
    }
}
