//! `proxy`: records any agent that talks to OpenAI or Anthropic, with no change to its code.

use std::sync::Arc;
use std::time::Duration;

use auto_serve::http::{Bounds, Ended, Listener, Stop, runtime};
use auto_serve::proxy::{Upstream, router};
use auto_serve::recorder::{Keeping, Recorder, Scrub, aside};
use auto_store::Trace;
use clap::Args;

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, LONGEST_S, ScrubOption, StoreOption, scrubbed};
use crate::reply::{Exit, Reply};
use crate::spool::Spool;

/// Relay requests to a provider, and record what was asked and answered
///
/// Point the agent's client at the proxy (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`): every request
/// goes on as it came, streams byte for byte, and the caller's key is never stored. Of chat
/// completions, responses, completions and messages each exchange becomes a trace with a model
/// call, and a tool call for each result that came with the request. The answer comes first:
/// recording never delays or fails a request. What the store does not take is put beside it, for
/// `auto-host import --spool`. GET /_auto/health says what was recorded.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host proxy --upstream https://api.openai.com --store auto.db --task tickets &\n  \
    OPENAI_BASE_URL=http://127.0.0.1:7434/v1 python3 agent.py"
)]
pub struct Opts {
    /// The provider, as https://HOST[:PORT][/PREFIX]
    #[arg(long, value_name = "URL")]
    upstream: String,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    scrub: ScrubOption,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7434")]
    addr: String,
    /// The task to file traces under [default: the format's name]
    #[arg(long)]
    task: Option<String>,
    /// The most connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_connections: usize,
    /// The largest body that is recorded, in bytes; relaying has no limit
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20)]
    max_recorded: usize,
    /// How long nothing may come of an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=LONGEST_S))]
    upstream_silence: u64,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        if !self.upstream.starts_with("https://") && !self.upstream.starts_with("http://") {
            let message = format!("{:?} is no address of a provider", self.upstream);
            return Err(
                Failure::new(Exit::Usage, "bad-upstream", message).help("give https://HOST, or http://HOST:PORT")
            );
        }
        let toolbox = Toolbox::open(global, &[])?;
        drop(files::store_for_recording(&self.store.store)?);
        let scrubber = self.scrub.beside(&self.store.store)?;
        let keeping = Keeping {
            store: self.store.store.clone(),
            aside: aside(&self.store.store),
            task: self.task.clone(),
            importers: toolbox.importing(),
            scrub: scrubber
                .clone()
                .map(|scrubber| -> Scrub { Arc::new(move |trace: &mut Trace| scrubber.trace(trace)) }),
        };
        let recorder = Recorder::start(keeping).map_err(|error| unable(&self.addr, &error))?;
        let recorder = Arc::new(recorder);
        let ended = runtime(2).map_err(|error| unable(&self.addr, &error))?.block_on(self.serve(recorder.clone()))?;
        recorder.finish();
        Spool::beside(&self.store.store).mention();
        let fields = recorder.counts().to_value();
        let count = |key: &str| fields.get(key).map(ToString::to_string).unwrap_or_default();
        let text =
            format!("{} exchanges recorded, {} put aside, {} lost", count("recorded"), count("aside"), count("lost"));
        let cut = match ended {
            Ended::Drained => 0,
            Ended::CutOff(connections) => connections,
        };
        let (taken_out, kinds) = scrubbed(scrubber.as_deref());
        Ok(Reply::done("proxied", text + &taken_out, fields.with("cut_off", cut).with("scrubbed", kinds)))
    }

    async fn serve(&self, recorder: Arc<Recorder>) -> Result<Ended, Failure> {
        let upstream = Upstream {
            base: self.upstream.clone(),
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(self.upstream_silence),
            recorded: self.max_recorded,
        };
        let router = router(upstream, recorder).map_err(|error| {
            Failure::new(Exit::Refused, "no-client", format!("no HTTPS client can be made: {error}"))
        })?;
        let listener = Listener::bind(&self.addr).await.map_err(|error| unable(&self.addr, &error))?;
        let stop = Stop::on_signals().map_err(|error| unable(&self.addr, &error))?;
        eprintln!("listening on {}", listener.address);
        let bounds = Bounds { connections: self.max_connections, ..Bounds::default() };
        Ok(listener.serve(router, bounds, &stop).await)
    }
}

/// Why a server cannot start.
pub fn unable(addr: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Refused, "cannot-listen", format!("cannot listen on {addr}: {error}"))
        .help("another program may have the port; give another with --addr")
}
