//! `collect`: receives the spans of OpenTelemetry exporters.

use std::sync::Arc;
use std::time::Duration;

use auto_serve::collect::{Collecting, Collector, folder, router};
use auto_serve::http::{self, Bounds, Ended, Listener, Stop, runtime};
use auto_serve::recorder::Scrub;
use auto_store::Trace;
use clap::Args;

use super::proxy::unable;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, LONGEST_MS, ScrubOption, StoreOption, scrubbed};
use crate::reply::Reply;

/// Receive OpenTelemetry spans (OTLP/HTTP, JSON and protobuf) into the store
///
/// Point the exporter at it: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. A request is
/// answered when its spans are on the disk. Traces are put together from pieces in whatever order
/// they come, and go into the store when they are whole, or were waited for long enough. Spans
/// without captured content are counted, and witness nothing: turn content capture on.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host collect --store auto.db &\n  \
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python3 agent.py")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    scrub: ScrubOption,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4318")]
    addr: String,
    /// The task to file traces under [default: the name of the service that sent them]
    #[arg(long)]
    task: Option<String>,
    /// How long nothing more must come for a trace that looks whole, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(0..=LONGEST_MS))]
    quiet: u64,
    /// How long a trace is waited for whose root or parents are missing, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000, value_parser = clap::value_parser!(u64).range(0..=LONGEST_MS))]
    patience: u64,
    /// The largest body, in bytes, also when unpacked
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20)]
    max_body: usize,
    /// The most connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_connections: usize,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let toolbox = Toolbox::open(global, &[])?;
        drop(files::store_for_recording(&self.store.store)?);
        let scrubber = self.scrub.beside(&self.store.store)?;
        let collecting = Collecting {
            store: self.store.store.clone(),
            folder: folder(&self.store.store),
            task: self.task.clone(),
            importers: toolbox.importing(),
            quiet: Duration::from_millis(self.quiet),
            patience: Duration::from_millis(self.patience),
            scrub: scrubber
                .clone()
                .map(|scrubber| -> Scrub { Arc::new(move |trace: &mut Trace| scrubber.trace(trace)) }),
        };
        let collector = Collector::start(collecting).map_err(|error| unable(&self.addr, &error))?;
        let collector = Arc::new(collector);
        let ended = runtime(2).map_err(|error| unable(&self.addr, &error))?.block_on(self.serve(collector.clone()))?;
        collector.finish();
        let fields = collector.counts().to_value();
        let count = |key: &str| fields.get(key).map(ToString::to_string).unwrap_or_default();
        let text = format!(
            "{} traces with {} spans recorded; {} spans without captured content, {} rejected",
            count("traces"),
            count("spans"),
            count("uncaptured_spans"),
            count("rejected_spans")
        );
        let cut = match ended {
            Ended::Drained => 0,
            Ended::CutOff(connections) => connections,
        };
        let (taken_out, kinds) = scrubbed(scrubber.as_deref());
        Ok(Reply::done("collected", text + &taken_out, fields.with("cut_off", cut).with("scrubbed", kinds)))
    }

    async fn serve(&self, collector: Arc<Collector>) -> Result<Ended, Failure> {
        let bounds = Bounds { connections: self.max_connections, body: self.max_body, ..Bounds::default() };
        let listener = Listener::bind(&self.addr).await.map_err(|error| unable(&self.addr, &error))?;
        let stop = Stop::on_signals().map_err(|error| unable(&self.addr, &error))?;
        eprintln!("listening on {}", listener.address);
        let told = collector.clone();
        let readiness: http::Readiness = Arc::new(move || Ok(told.counts().to_value()));
        let router = router(http::health(http::router(), readiness), collector, bounds.clone());
        Ok(listener.serve(router, bounds, &stop).await)
    }
}
