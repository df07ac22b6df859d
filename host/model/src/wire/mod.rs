//! Questions and replies, and what they look like to each provider.

mod anthropic;
mod ollama;
mod openai;

use auto_json::{Record, Value};

use crate::name::{ModelId, Provider};
use crate::settings::Endpoint;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever asks.
    User,
    /// The model, earlier.
    Assistant,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who is asked.
    pub model: ModelId,
    /// What the model is told before the conversation; may be empty.
    pub system: String,
    /// The conversation so far; the last message is the question.
    pub messages: Vec<Message>,
    /// The most tokens of the reply, thoughts included; bounds what it can cost.
    pub max_output_tokens: u32,
    /// Which question of a job it is, from 1; 0 where nobody counts.
    pub ordinal: u32,
}

/// The tokens of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Sent.
    pub input: u64,
    /// Received.
    pub output: u64,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its words.
    pub text: String,
    /// As the provider counted; none where it did not say.
    pub usage: Option<Usage>,
    /// What the ledger counts for it.
    pub cost: crate::MicroUsd,
    /// Whether it ended because it had no more tokens.
    pub cut_off: bool,
}

/// A reply as a provider's protocol has it.
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) cut_off: bool,
}

impl Request {
    /// A single question.
    pub fn question(model: ModelId, system: &str, text: &str, max_output_tokens: u32) -> Request {
        let messages = vec![Message { role: Role::User, text: text.to_owned() }];
        Request { model, system: system.to_owned(), messages, max_output_tokens, ordinal: 0 }
    }
}

/// The path below the base address, and the body.
pub(crate) fn write(request: &Request, endpoint: &Endpoint) -> (&'static str, Value) {
    match request.model.provider {
        Provider::OpenAi | Provider::LlamaCpp => openai::write(request, endpoint.official),
        Provider::Anthropic => anthropic::write(request),
        Provider::Ollama => ollama::write(request),
    }
}

/// The headers that carry the key, and those that the protocol wants besides.
pub(crate) fn headers(provider: Provider, endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let key = endpoint.key.as_ref().map(|key| key.expose());
    match provider {
        Provider::Anthropic => {
            let version = ("anthropic-version", "2023-06-01".to_owned());
            key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
        }
        _ => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
    }
}

/// Reads the body of a good reply; why not, where it is none.
pub(crate) fn read(provider: Provider, body: &Value) -> Result<Read, &'static str> {
    match provider {
        Provider::OpenAi | Provider::LlamaCpp => openai::read(body),
        Provider::Anthropic => anthropic::read(body),
        Provider::Ollama => ollama::read(body),
    }
}

/// What the provider itself says is wrong, in its body.
pub(crate) fn complaint(body: &[u8]) -> Option<String> {
    let value = Value::parse(body).ok()?;
    let error = value.get("error")?;
    let text = error.as_text().or_else(|| error.get("message").and_then(Value::as_text))?;
    Some(text.to_owned())
}

/// The conversation as `[{"role", "content"}]`, with the system's words first where they go there.
fn conversation(request: &Request, system: bool) -> Value {
    let said = |role: &str, text: &str| Value::from(Record::new().with("role", role).with("content", text));
    let system = Some(&request.system).filter(|text| system && !text.is_empty());
    let messages = request.messages.iter().map(|message| match message.role {
        Role::User => said("user", &message.text),
        Role::Assistant => said("assistant", &message.text),
    });
    Value::List(system.map(|text| said("system", text)).into_iter().chain(messages).collect())
}

/// Both counts, where both are there.
fn usage(input: Option<&Value>, output: Option<&Value>) -> Option<Usage> {
    Some(Usage { input: input?.as_u64()?, output: output?.as_u64()? })
}
