//! Models that a command may ask: which, for how much, and where it is written down.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use auto_engine::{Consultation, Consulted, Teacher, Unanswered};
use auto_json::{Record, Value};
use auto_model::{Client, MicroUsd, Mode, ModelError, ModelId, Options, Prices, Request, Times};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::LONGEST_S;
use crate::reply::Exit;

/// The mode in which providers themselves answer.
const LIVE: &str = "live";

/// What models may cost, and what stands for them.
#[derive(Args, Clone)]
pub struct ModelOptions {
    /// The most that models may cost, in US dollars; nothing that costs is asked without it
    #[arg(long, value_name = "USD", default_value = "0")]
    spend_cap_usd: MicroUsd,
    /// Whose spending counts towards the cap [default: the contract's, or that of this run]
    #[arg(long, value_name = "NAME")]
    spend_session: Option<String>,
    /// Where spending is written before it happens [default: auto/spend.jsonl in the user's
    /// state folder]
    #[arg(long, value_name = "FILE", env = "AUTO_SPEND_LEDGER")]
    spend_ledger: Option<PathBuf>,
    /// Prices of models that the built-in table does not have, or has otherwise
    #[arg(long, value_name = "FILE", env = "AUTO_MODEL_PRICES")]
    model_prices: Option<PathBuf>,
    /// live; record:FILE to keep the replies too; replay:FILE for what was recorded and nothing
    /// else; scripted:FILE for one reply a line; chaos:SEED for live with faults
    #[arg(long, value_name = "MODE", env = "AUTO_MODEL_MODE", default_value = LIVE)]
    model_mode: String,
    /// The most time of a call, with all its attempts, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=LONGEST_S))]
    model_timeout: u64,
}

/// Who is asked what a contract leaves to a judge, and for programs.
#[derive(Args)]
pub struct TeacherOptions {
    /// The model that judges, where the contract asks for one, and that proposes programs, where
    /// --synth teacher does: model:openai/NAME, anthropic/NAME, ollama/NAME or llamacpp/NAME. Its key comes from $OPENAI_API_KEY,
    /// $ANTHROPIC_API_KEY, or the file that the same name with _FILE behind it names
    #[arg(long, value_name = "model:ID")]
    teacher: Option<String>,
    #[command(flatten)]
    models: ModelOptions,
    /// Ask again what a crash left without a reply, and pay again
    #[arg(long)]
    pub reissue: bool,
}

/// Whose money is spent, and how much of it there is.
#[derive(Clone, Debug)]
pub struct Purse {
    /// Whose spending counts.
    pub session: String,
    /// The cap; that of the command line where there is none.
    pub cap: Option<MicroUsd>,
}

impl Purse {
    /// That of the command line, for this session.
    pub fn of(session: &str) -> Purse {
        Purse { session: session.to_owned(), cap: None }
    }
}

/// A model with somebody's money behind it.
pub struct Paid {
    client: Client,
    model: ModelId,
}

impl ModelOptions {
    /// The client, and a model of that name. Codes: those of `auto_model`.
    pub fn open(&self, model: &str, session: &str) -> Result<Paid, Failure> {
        self.open_named(model, self.spend_session.as_deref().unwrap_or(session), self.spend_cap_usd)
    }

    fn open_named(&self, model: &str, session: &str, cap: MicroUsd) -> Result<Paid, Failure> {
        let ledger = self.ledger()?;
        self.note(&ledger)?;
        let prices = match &self.model_prices {
            Some(path) => Prices::with_file(path)?,
            None => Prices::built_in(),
        };
        let model = ModelId::parse(model, &prices)?;
        let times = Times { whole: Duration::from_secs(self.model_timeout), ..Times::default() };
        let mode = Mode::parse(&self.model_mode)?;
        let options = Options { cap, prices, mode, times, ..Options::new(ledger, session) };
        Ok(Paid { client: Client::open(options)?, model })
    }

    /// The client, and a model of that name, with this purse.
    pub fn open_with(&self, model: &str, purse: &Purse) -> Result<Paid, Failure> {
        match purse.cap {
            // One session each: `--spend-session` would put them all into one.
            Some(cap) => self.open_named(model, &purse.session, cap),
            None => self.open(model, &purse.session),
        }
    }

    /// Notes what is read, and refuses to write into what the same command reads. Once: the
    /// ledger is read as well as written, and there may be several clients.
    fn note(&self, ledger: &Path) -> Result<(), Failure> {
        static NOTED: OnceLock<()> = OnceLock::new();
        if NOTED.get().is_some() {
            return Ok(());
        }
        self.model_prices.iter().for_each(|path| inputs::note(path));
        let file = self.model_mode.split_once(':').filter(|(mode, _)| *mode != "chaos");
        if let Some((mode, path)) = file {
            if mode == "record" {
                files::refuse_input(Path::new(path))?;
            }
            inputs::note(Path::new(path));
        }
        files::refuse_input(ledger)?;
        inputs::note(ledger);
        // Somebody else may have been first.
        let _ = NOTED.set(());
        Ok(())
    }

    fn ledger(&self) -> Result<PathBuf, Failure> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        let ledger = self.spend_ledger.clone().or_else(|| state.map(|state| state.join("auto/spend.jsonl")));
        ledger.ok_or_else(|| {
            Failure::new(Exit::Usage, "no-ledger", "there is no place for the ledger of what models cost")
                .help("name one with --spend-ledger")
        })
    }
}

impl TeacherOptions {
    /// Whether there is one.
    pub fn is_named(&self) -> bool {
        self.teacher.is_some()
    }

    /// Who is asked, by name, where no flag says otherwise by the table.
    pub fn model(&self, table: &auto_config::Teacher) -> Option<String> {
        self.teacher.clone().or_else(|| table.model.clone())
    }

    /// As [`TeacherOptions::open`], with a table for what no flag says.
    pub fn open_or(&self, table: &auto_config::Teacher, session: &str) -> Result<Option<Arc<Paid>>, Failure> {
        self.model(table).map(|name| self.open_named(table, &name, session)).transpose()
    }

    /// The same of another model: with the same ledger, session and cap.
    pub fn open_named(&self, table: &auto_config::Teacher, name: &str, session: &str) -> Result<Arc<Paid>, Failure> {
        let mut models = self.models.clone();
        if let Some(mode) = table.mode.as_ref().filter(|_| models.model_mode == LIVE) {
            models.model_mode.clone_from(mode);
        }
        if let Some(cap) = table.cap.filter(|_| models.spend_cap_usd == MicroUsd(0)) {
            models.spend_cap_usd = MicroUsd(cap);
        }
        models.open(name, session).map(Arc::new)
    }

    /// The teacher, where one is named; `session` is whose spending it counts as.
    pub fn open(&self, session: &str) -> Result<Option<Arc<Paid>>, Failure> {
        let open = |name: &String| self.models.open(name, session).map(Arc::new);
        self.teacher.as_ref().map(open).transpose()
    }
}

impl Paid {
    /// Asks a question; an answer that had to end early is none.
    pub fn question(&self, system: &str, text: &str, tokens: u32) -> Result<auto_model::Reply, ModelError> {
        self.answered(&Request::question(self.model.clone(), system, text, tokens))
    }

    /// A consultation as a question; a script answers the one of a number with the line of that number.
    fn request(&self, consultation: &Consultation) -> Request {
        let Consultation { system, text, max_output_tokens, ordinal, .. } = consultation;
        Request { ordinal: *ordinal, ..Request::question(self.model.clone(), system, text, *max_output_tokens) }
    }

    /// Why a consultation would not be sent; none where it would.
    pub fn refused(&self, consultation: &Consultation) -> Option<Unanswered> {
        let request = self.request(consultation);
        let worst =
            match self.client.worst_case(&request).and_then(|worst| self.client.affords(&request).map(|()| worst)) {
                Ok(worst) => worst.0,
                Err(error) => return Some(unanswered(error)),
            };
        let most = consultation.most.filter(|most| worst > *most)?;
        Some(Unanswered::new("call-cap", format!("it may cost {worst} micro-USD, and {most} are left for it")))
    }

    fn answered(&self, request: &Request) -> Result<auto_model::Reply, ModelError> {
        let reply = self.client.ask(request)?;
        if reply.cut_off {
            let why = format!("{} needs more than {} tokens to answer", self.model, request.max_output_tokens);
            return Err(ModelError { cost: reply.cost, ..ModelError::new("model-cut-off", why) });
        }
        Ok(reply)
    }

    /// Who it is.
    pub fn model(&self) -> &ModelId {
        &self.model
    }

    /// What the session came to, for `--json`.
    pub fn spend(&self) -> Value {
        let totals = self.client.totals();
        Record::new()
            .with("model", self.model.to_string())
            .with("calls", totals.calls)
            .with("spent_micro_usd", totals.spent.0)
            .into()
    }
}

impl Teacher for Paid {
    fn model(&self) -> String {
        self.model.to_string()
    }

    fn ask(&self, system: &str, text: &str, max_output_tokens: u32) -> Result<String, Unanswered> {
        self.question(system, text, max_output_tokens).map(|reply| reply.text).map_err(unanswered)
    }

    fn consult(&self, consultation: &Consultation) -> Consulted {
        if let Some(why) = self.refused(consultation) {
            return Consulted { said: Err(why), cost: 0 };
        }
        match self.answered(&self.request(consultation)) {
            Ok(reply) => Consulted { said: Ok(reply.text), cost: reply.cost.0 },
            Err(error) => Consulted { cost: error.cost.0, said: Err(unanswered(error)) },
        }
    }

    fn spent(&self) -> u64 {
        self.client.totals().spent.0
    }
}

fn unanswered(error: ModelError) -> Unanswered {
    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
    Unanswered::new(error.code, format!("{}{help}", error.message))
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Failure {
        let exit = match error.code {
            "bad-model" | "unknown-model" | "bad-mode" | "bad-prices" | "bad-script" => Exit::Usage,
            "ledger-damaged" => Exit::Integrity,
            _ => Exit::Refused,
        };
        let failure = Failure::new(exit, error.code, error.message);
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}
