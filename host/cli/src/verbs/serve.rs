//! `serve`: artifacts as a service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use auto_json::Record;
use auto_registry::Registry;
use auto_runtime::Sandbox;
use auto_schema::{shown, shown_path};
use auto_serve::http::{Bounds, Ended, Listener, Stop, is_loopback, runtime_with_stack};
use auto_serve::run::app::{App, OWN_STACK, Settings};
use auto_serve::run::backing::Backing;
use auto_serve::run::caller::Callers;
use auto_serve::run::catalog::Catalog;
use auto_serve::run::drift::{self, Then};
use auto_serve::run::shelf::{Folder, Shelf};
use auto_serve::run::spans::Spans;
use clap::{Args, ValueEnum};

use crate::backing::StandingOptions;
use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::files;
use crate::models::ModelOptions;
use crate::options::{Global, LONGEST_MS, LONGEST_S};
use crate::registries::{KeyOption, RegistryOption};
use crate::reply::{Exit, Reply};
use crate::shelf::{Tagged, held_to};
use crate::taking_in::TakingIn;
use crate::tools::ToolOptions;
use crate::verbs::run;

/// Answer inputs over HTTP with the artifacts of a registry
///
/// The registry's names are served, as far as the policy of auto.toml lets them; of a folder that is
/// no registry, NAME.cbin is served as NAME. POST /run/NAME with a JSON input: 200 with the answer, 409 where the artifact abstains and
/// nobody stands in for it. Another version of an artifact takes over between two requests. SIGINT
/// and SIGTERM end it once what has begun is answered; a second one at once.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host serve --registry artifacts\n  \
    auto-host serve --registry artifacts --tier0 'triage=python3 agent.py' --store auto.db\n  \
    curl -d '{\"subject\":\"Refund\"}' http://127.0.0.1:7433/run/triage")]
pub struct Opts {
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    key: KeyOption,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7433")]
    addr: String,
    /// Listen where others reach it although nobody needs a token
    #[arg(long)]
    allow_anyone: bool,
    /// Who may ask, for what and how much; see the manual. Others may not read the file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tools: ToolOptions,
    #[command(flatten)]
    standing: StandingOptions,
    #[command(flatten)]
    models: ModelOptions,
    #[command(flatten)]
    bounds: BoundOptions,
    #[command(flatten)]
    drift: DriftOptions,
    /// How often names are looked at again, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..=LONGEST_MS))]
    reload_ms: u64,
    /// Send spans of requests to this collector, by OTLP over HTTP
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp: Option<String>,
}

/// What anybody gets of the server.
#[derive(Args)]
struct BoundOptions {
    /// The most connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    max_connections: usize,
    /// The most bytes of a request's line and headers
    #[arg(long, value_name = "BYTES", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1_024..1 << 24))]
    max_head: u32,
    /// The most bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_body: usize,
    /// The most time for a request to come, and for a reply to be taken, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=LONGEST_S))]
    client_timeout: u64,
    /// The most time for what has begun when the server is to end, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=LONGEST_S))]
    drain: u64,
    /// Threads for artifacts [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most inputs that wait for tools and tier 0 at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=512))]
    max_waiting: u16,
    /// The most inputs that wait for their turn; beyond it 503
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    max_queue: usize,
}

/// Whether artifacts still say what tier 0 says.
#[derive(Args)]
struct DriftOptions {
    /// Ask tier 0 also for this share of what artifacts answer, in parts per million
    #[arg(long, value_name = "PPM", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    drift_sample: u32,
    /// The share of those that may differ, in parts per million
    #[arg(long, value_name = "PPM", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    drift_limit: u32,
    /// How many are compared before anything is said
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    drift_fewest: u64,
    /// What is done when more differ
    #[arg(long, value_name = "WHAT", default_value = "alarm")]
    on_drift: OnDrift,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnDrift {
    /// Say so
    Alarm,
    /// Let tier 0 answer until the name stands for another artifact
    Suspend,
    /// Let the name stand for the artifact before it again
    RollBack,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let callers = self.callers()?;
        self.refuse_open(&callers)?;
        let taking_in = match &self.standing.store {
            Some(store) => {
                drop(files::store_for_recording(store)?);
                Some(TakingIn::start(global, store)?)
            }
            None => None,
        };
        let threads = self.bounds.threads.unwrap_or_else(cores).max(1);
        let mut limits = run::limits(global);
        // Every thread may keep its warm ones.
        let warm = threads.saturating_mul(3).saturating_add(usize::from(self.bounds.max_waiting));
        limits.instances = u32::try_from(warm.saturating_mul(17)).unwrap_or(u32::MAX).clamp(256, 4_096);
        let (stack, most) = (limits.stack, limits.input);
        let sandbox = Sandbox::with_cache(limits, artifact_cache(global)?)?;
        let tell = taking_in.as_ref().and_then(TakingIn::teller);
        let backing: Arc<dyn Backing> = Arc::new(self.standing.behind(&self.tools, &self.models, tell, most)?);
        let catalog = Catalog::new(self.shelf(global)?, sandbox, backing.clone());
        let settings = Settings {
            bounds: self.bounds(),
            callers,
            threads,
            waiting: usize::from(self.bounds.max_waiting),
            queue: self.bounds.max_queue,
            stack,
            max_tool_calls: self.tools.max_tool_calls,
            reload: Duration::from_millis(self.reload_ms),
            drift: self.drift.settings(),
            spans: self.otlp.as_deref().filter(|url| !url.is_empty()).map(Spans::to).transpose().map_err(bad_otlp)?,
        };
        let app = App::new(catalog, backing, settings).map_err(|error| no_threads(&error))?;
        app.reload();
        self.listen(global, app, threads)
    }

    /// The registry; or a folder that is none, with artifacts as files.
    fn shelf(&self, global: &Global) -> Result<Box<dyn Shelf>, Failure> {
        let path = self.registry.path(global);
        if path.is_dir() && !Registry::is_there(&path) {
            let folder = Folder::at(&path);
            return Ok(Box::new(match global.file.policy {
                Some(_) => folder.held_to(held_to(self.registry.policy(global), self.keys_of_files(global)?)),
                None => folder,
            }));
        }
        // Only a roll-back signs anything.
        let key = if matches!(self.drift.on_drift, OnDrift::RollBack) { self.key.read(global)? } else { None };
        Ok(Box::new(Tagged::of(self.registry.open(global)?, self.registry.policy(global), key)))
    }

    /// Whose keys count for artifacts as files: those of the registry that `auto.toml` names, or of the one
    /// beside it.
    fn keys_of_files(&self, global: &Global) -> Result<Option<Registry>, Failure> {
        let path = RegistryOption::default().path(global);
        if Registry::is_there(&path) { Ok(Some(Registry::open(&path)?)) } else { Ok(None) }
    }

    fn listen(&self, global: &Global, app: App, threads: usize) -> Result<Reply, Failure> {
        let app = Arc::new(app);
        let stack = app.settings.stack.saturating_add(OWN_STACK);
        let runtime = runtime_with_stack(threads, stack).map_err(|error| no_threads(&error))?;
        let served = app.clone();
        let ended = runtime.block_on(async {
            let bound = Listener::bind(&self.addr).await.and_then(|listener| Ok((listener, Stop::on_signals()?)));
            let (listener, stop) = bound.map_err(|error| self.unbound(&error))?;
            let (names, address) = (served.catalog.named().len(), listener.address);
            eprintln!(
                "listening on http://{address} with {names} artifacts of {}",
                shown_path(&self.registry.path(global))
            );
            Ok::<Ended, Failure>(auto_serve::run::serve(served, listener, &stop).await)
        })?;
        runtime.shutdown_timeout(Duration::from_secs(1));
        let (mut tier1, mut tier0) = (0, 0);
        for artifact in app.catalog.named() {
            tier1 += artifact.counts.tier1.load(std::sync::atomic::Ordering::Relaxed);
            tier0 += artifact.counts.tier0.load(std::sync::atomic::Ordering::Relaxed);
        }
        let cut_off = match ended {
            Ended::Drained => 0,
            Ended::CutOff(connections) => connections,
        };
        let fields = Record::new().with("tier1", tier1).with("tier0", tier0).with("cut_off", cut_off);
        let text = format!("stopped; {tier1} inputs answered by tier 1 and {tier0} by tier 0");
        Ok(match cut_off {
            0 => Reply::done("stopped", text, fields),
            _ => Reply::done("cut-off", format!("{text}; {cut_off} connections were cut off"), fields)
                .exit(Exit::Refused),
        })
    }

    fn callers(&self) -> Result<Callers, Failure> {
        let Some(path) = &self.token_file else { return Ok(Callers::anybody()) };
        Callers::read(path).map_err(|why| {
            Failure::new(Exit::Usage, "bad-tokens", format!("the token file cannot be used: {why}"))
                .at(shown_path(path))
        })
    }

    /// What others reach has to have tokens, unless somebody says otherwise.
    fn refuse_open(&self, callers: &Callers) -> Result<(), Failure> {
        let local = is_loopback(&self.addr).map_err(|error| self.unbound(&error))?;
        if local || self.allow_anyone || !callers.is_open() {
            return Ok(());
        }
        let message = format!("others reach {}, and nobody would need a token", shown(&self.addr));
        Err(Failure::new(Exit::Usage, "open-address", message)
            .help("give --token-file FILE, or --allow-anyone where something in front of it asks for tokens"))
    }

    fn unbound(&self, error: &std::io::Error) -> Failure {
        Failure::new(Exit::Refused, "address", format!("cannot listen on {}: {error}", shown(&self.addr)))
            .help("give another --addr HOST:PORT; port 0 is any that is free")
    }

    fn bounds(&self) -> Bounds {
        let (options, patience) = (&self.bounds, Duration::from_secs(self.bounds.client_timeout));
        Bounds {
            connections: options.max_connections.max(1),
            head: options.max_head as usize,
            head_time: patience,
            body: options.max_body,
            body_time: patience,
            stall: patience,
            drain: Duration::from_secs(options.drain),
        }
    }
}

impl DriftOptions {
    fn settings(&self) -> Option<drift::Settings> {
        let then = match self.on_drift {
            OnDrift::Alarm => Then::Alarm,
            OnDrift::Suspend => Then::Suspend,
            OnDrift::RollBack => Then::RollBack,
        };
        let (sample, limit, fewest) = (self.drift_sample, self.drift_limit, self.drift_fewest);
        (sample > 0).then_some(drift::Settings { sample, limit, fewest, then })
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn no_threads(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Refused, "thread", format!("the server's threads could not be started: {error}"))
}

fn bad_otlp(why: String) -> Failure {
    Failure::new(Exit::Usage, "bad-otlp", why).help("give --otlp http://HOST:4318")
}
