//! The client: reserve, send, settle, and only then let anybody see the reply.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::error::ModelError;
use crate::ledger::{Ledger, Outcome, Purpose, Totals};
use crate::money::MicroUsd;
use crate::price::{Price, Prices};
use crate::settings::{Endpoint, Environment};
use crate::transport::{Incoming, Lost, Mode, Outgoing, Transport};
use crate::wire::{self, Reply, Request};

/// How a client works.
pub struct Options {
    /// The most that the session may spend; nothing unless somebody says so.
    pub cap: MicroUsd,
    /// Whose spending counts towards the cap.
    pub session: String,
    /// The file that spending is written to.
    pub ledger: PathBuf,
    /// What models cost.
    pub prices: Prices,
    /// What answers.
    pub mode: Mode,
    /// Where providers are.
    pub environment: Environment,
    /// How long things may take.
    pub times: Times,
    /// The most bytes of a reply.
    pub most: usize,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until there is a connection.
    pub connect: Duration,
    /// A call, with all its attempts and waits.
    pub whole: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times { connect: Duration::from_secs(10), whole: Duration::from_secs(120) }
    }
}

/// The most bytes of a reply, unless somebody says otherwise.
pub const REPLY_BYTES: usize = 4 << 20;

/// Attempts at one call.
const ATTEMPTS: u32 = 4;
/// The wait before the second attempt; it doubles.
const BACKOFF: Duration = Duration::from_millis(250);

/// Statuses of a question that was refused before any model saw it.
const UNBILLED: [u16; 12] = [301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 422, 429];

/// A client; may be used from several threads, but not from inside an asynchronous runtime.
pub struct Client {
    options: Options,
    ledger: Mutex<Ledger>,
    transport: Box<dyn Transport>,
}

impl Options {
    /// Live, with nothing to spend.
    pub fn new(ledger: PathBuf, session: &str) -> Options {
        Options {
            cap: MicroUsd(0),
            session: session.to_owned(),
            ledger,
            prices: Prices::built_in(),
            mode: Mode::Live,
            environment: Environment::of_process(),
            times: Times::default(),
            most: REPLY_BYTES,
        }
    }
}

/// A question, ready to be sent.
struct Prepared {
    outgoing: Outgoing,
    price: Price,
    worst: MicroUsd,
}

/// What an exchange came to, and what is known of its cost.
struct Exchanged {
    reply: Result<wire::Read, ModelError>,
    cost: Option<MicroUsd>,
}

impl Client {
    /// A client. Codes: those of opening the ledger and the files of the mode.
    pub fn open(options: Options) -> Result<Client, ModelError> {
        let ledger = Mutex::new(Ledger::open(&options.ledger)?);
        let transport = options.mode.transport(options.times.connect)?;
        Ok(Client { options, ledger, transport })
    }

    /// What the session came to so far.
    pub fn totals(&self) -> Totals {
        self.ledger().totals(&self.options.session)
    }

    /// The prices it reckons with.
    pub fn prices(&self) -> &Prices {
        &self.options.prices
    }

    /// The most that a question can cost.
    pub fn worst_case(&self, request: &Request) -> Result<MicroUsd, ModelError> {
        Ok(self.prepare(request)?.worst)
    }

    /// Whether a question could be asked for what is left under the cap, as far as is known before it
    /// is tried. Code: `spend-cap`.
    pub fn affords(&self, request: &Request) -> Result<(), ModelError> {
        let worst = self.worst_case(request)?;
        let model = request.model.to_string();
        let purpose = Purpose { session: &self.options.session, cap: self.options.cap, model: &model };
        if self.options.mode.asks() { self.ledger().affords(&purpose, worst) } else { Ok(()) }
    }

    /// Asks. The ledger holds the worst case before anything is sent, and what it cost before
    /// this returns. An error says what is counted for the call all the same.
    pub fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut prepared = self.prepare(request)?;
        if !self.options.mode.asks() {
            let Exchanged { reply, .. } = self.exchange(request, &prepared);
            return reply.map(|read| released(read, MicroUsd(0)));
        }
        let model = request.model.to_string();
        let purpose = Purpose { session: &self.options.session, cap: self.options.cap, model: &model };
        let reservation = self.ledger().reserve(&purpose, prepared.worst)?;
        prepared.outgoing.deadline = Instant::now() + self.options.times.whole;
        let Exchanged { reply, cost } = self.exchange(request, &prepared);
        let usage = reply.as_ref().ok().and_then(|read| read.usage);
        let outcome = Outcome {
            how: reply.as_ref().map_or_else(|error| error.code, |_| "ok"),
            cost,
            tokens: usage.map(|usage| (usage.input, usage.output)),
        };
        let cost = self.ledger().settle(&reservation, &outcome)?;
        reply.map(|read| released(read, cost)).map_err(|error| ModelError { cost, ..error })
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A panic elsewhere leaves it as it was between two lines.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that can be refused before anything is spent.
    fn prepare(&self, request: &Request) -> Result<Prepared, ModelError> {
        let price = self.options.prices.of(&request.model)?;
        let endpoint = match self.options.mode.asks() {
            true => self.options.environment.endpoint(request.model.provider)?,
            false => Endpoint { base: String::new(), key: None, official: true, loopback: true },
        };
        let (path, body) = wire::write(request, &endpoint);
        let body = body.canonical().into_string();
        // A token is at least a byte of text, and the JSON around each message is longer than
        // what a provider puts there.
        let tokens = body.len() as u64;
        if let Some(most) = price.max_input_tokens.filter(|most| tokens > *most) {
            let message = format!("the question may have {tokens} tokens, and the price is known up to {most}");
            return Err(ModelError::new("unknown-price", message)
                .help("shorten it, or give the price with --model-prices FILE"));
        }
        let identity = Digest::of(format!("{}\n{}", request.model, identity(request)).as_bytes());
        let outgoing = Outgoing {
            url: format!("{}{path}", endpoint.base),
            headers: wire::headers(request.model.provider, &endpoint),
            body,
            loopback: endpoint.loopback,
            key: endpoint.key,
            identity,
            ordinal: request.ordinal,
            deadline: Instant::now() + self.options.times.whole,
            most: self.options.most,
        };
        Ok(Prepared { outgoing, price, worst: price.cost(tokens, u64::from(request.max_output_tokens)) })
    }

    /// Sends, again where that is safe, and reads what comes back.
    fn exchange(&self, request: &Request, prepared: &Prepared) -> Exchanged {
        let deadline = prepared.outgoing.deadline;
        let mut backoff = BACKOFF;
        for attempt in 1.. {
            let sent = self.transport.send(&prepared.outgoing);
            let wait = wait(&sent, backoff).filter(|_| attempt < ATTEMPTS);
            match wait.filter(|wait| Instant::now() + *wait < deadline) {
                Some(wait) => thread::sleep(wait),
                None => return read(request, prepared, sent),
            }
            backoff *= 2;
        }
        // The last attempt returned.
        read(request, prepared, Err(Lost::before("model-connect", "no attempt was made")))
    }
}

/// The same whatever server is asked: what a recording is found by.
fn identity(request: &Request) -> Value {
    let plain = Endpoint { base: String::new(), key: None, official: true, loopback: true };
    wire::write(request, &plain).1
}

fn released(read: wire::Read, cost: MicroUsd) -> Reply {
    Reply { text: read.text, usage: read.usage, cost, cut_off: read.cut_off }
}

/// How long to wait before sending again; none where that is not safe, or would not help.
fn wait(sent: &Result<Incoming, Lost>, backoff: Duration) -> Option<Duration> {
    match sent {
        Err(lost) => (lost.code == "model-connect" && !lost.maybe_billed).then_some(backoff),
        Ok(incoming) if matches!(incoming.status, 429 | 503) => incoming.retry_after,
        Ok(_) => None,
    }
}

/// What came back, and what it costs: as the provider counts, nothing where no model saw the
/// question, and else the worst.
fn read(request: &Request, prepared: &Prepared, sent: Result<Incoming, Lost>) -> Exchanged {
    let incoming = match sent {
        Err(Lost { code, message, maybe_billed }) => {
            let error = ModelError::new(code, format!("{}: {message}", request.model));
            return Exchanged { reply: Err(error), cost: (!maybe_billed).then_some(MicroUsd(0)) };
        }
        Ok(incoming) => incoming,
    };
    if prepared.outgoing.key.as_ref().is_some_and(|key| key.is_in(&incoming.body)) {
        let message = format!("{}: the reply holds the key that was sent, and is not shown", request.model);
        return Exchanged { reply: Err(ModelError::new("key-echoed", message)), cost: None };
    }
    let cost = match incoming.status {
        status if UNBILLED.contains(&status) => Some(MicroUsd(0)),
        503 if incoming.retry_after.is_some() => Some(MicroUsd(0)),
        _ => None,
    };
    if incoming.status != 200 {
        return Exchanged { reply: Err(status(request, &incoming)), cost };
    }
    match good(request, &incoming) {
        Ok(read) => {
            let cost = read.usage.map(|usage| prepared.price.cost(usage.input, usage.output));
            Exchanged { reply: Ok(read), cost }
        }
        Err(why) => {
            let message = format!("{}: the reply is not what the protocol says: {why}", request.model);
            Exchanged { reply: Err(ModelError::new("model-bad-reply", message)), cost: None }
        }
    }
}

fn good(request: &Request, incoming: &Incoming) -> Result<wire::Read, String> {
    let media = incoming.content_type.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(format!("its content type is {:?}, not application/json", clipped(media)));
    }
    let body = Value::parse(&incoming.body).map_err(|error| format!("it is no JSON: {error}"))?;
    wire::read(request.model.provider, &body).map_err(str::to_owned)
}

/// What a status other than 200 means.
fn status(request: &Request, incoming: &Incoming) -> ModelError {
    let Incoming { status, body, .. } = incoming;
    let said = wire::complaint(body).map(|text| format!(": {}", clipped(&text))).unwrap_or_default();
    let error = |code, what: String| ModelError::new(code, format!("{}: {what}", request.model));
    match status {
        // What it says here may quote the key in part.
        401 | 403 => error("model-unauthorized", format!("the provider refuses the key (status {status})"))
            .help("check the key; it comes from the environment or a file"),
        429 => error("model-limited", format!("the provider asks for patience (status 429){said}")),
        404 => error("model-refused", format!("there is no such model or address (status 404){said}")),
        300..=399 => {
            error("model-redirected", format!("the address sends elsewhere (status {status}), which is not followed"))
        }
        400..=499 => error("model-refused", format!("the provider refuses the question (status {status}){said}")),
        _ => error("model-failed", format!("the provider failed (status {status}){said}")),
    }
}

/// The beginning of a text from outside, on one line, without control characters.
fn clipped(text: &str) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
