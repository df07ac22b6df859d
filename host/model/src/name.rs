//! What models are called: `model:PROVIDER/NAME`, or `model:NAME` where the price table has
//! that name of one provider alone.

use std::fmt;

use crate::error::ModelError;
use crate::price::Prices;

/// Whose protocol a model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Chat completions, of OpenAI or whoever speaks the same (`OPENAI_BASE_URL`).
    OpenAi,
    /// Messages (`ANTHROPIC_BASE_URL`).
    Anthropic,
    /// A local Ollama (`OLLAMA_HOST`); costs nothing.
    Ollama,
    /// A local `llama-server` (`LLAMACPP_BASE_URL`); costs nothing.
    LlamaCpp,
}

impl Provider {
    const ALL: [Provider; 4] = [Provider::OpenAi, Provider::Anthropic, Provider::Ollama, Provider::LlamaCpp];

    /// As it stands in a model's name.
    pub fn name(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Ollama => "ollama",
            Provider::LlamaCpp => "llamacpp",
        }
    }

    /// Whether it runs on the user's own machines.
    pub fn is_local(self) -> bool {
        matches!(self, Provider::Ollama | Provider::LlamaCpp)
    }

    fn named(name: &str) -> Option<Provider> {
        Provider::ALL.into_iter().find(|provider| provider.name() == name)
    }
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelId {
    /// Who is asked.
    pub provider: Provider,
    /// As the provider calls it.
    pub name: String,
}

/// The longest name.
const LONGEST: usize = 200;

impl ModelId {
    /// Reads `PROVIDER/NAME` or a bare name, with or without `model:` before it.
    ///
    /// Codes: `bad-model`, `unknown-model`.
    pub fn parse(text: &str, prices: &Prices) -> Result<ModelId, ModelError> {
        let id = text.strip_prefix("model:").unwrap_or(text);
        if id.is_empty() || id.len() > LONGEST || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = format!("{} is not the name of a model", text.escape_debug());
            return Err(ModelError::new("bad-model", why).help("give model:PROVIDER/NAME, such as model:openai/gpt-4o"));
        }
        if let Some((provider, name)) = id.split_once('/')
            && let Some(provider) = Provider::named(provider)
            && !name.is_empty()
        {
            return Ok(ModelId { provider, name: name.to_owned() });
        }
        let priced = Provider::ALL.map(|provider| ModelId { provider, name: id.to_owned() });
        let mut priced = priced.into_iter().filter(|id| prices.listed(id).is_some());
        match (priced.next(), priced.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(ModelError::new("unknown-model", format!("nothing says who provides the model {id}"))
                .help(format!("name it: openai/{id}, anthropic/{id}, ollama/{id} or llamacpp/{id}"))),
        }
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.name(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_provider_or_the_price_table_does() {
        let prices = Prices::built_in();
        for (text, id) in [
            ("model:openai/gpt-4o", "openai/gpt-4o"),
            ("openai/acme/tiny", "openai/acme/tiny"),
            ("model:gpt-4o", "openai/gpt-4o"),
            ("claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5-20250929"),
            ("ollama/llama3.2:3b", "ollama/llama3.2:3b"),
            ("llamacpp/any", "llamacpp/any"),
        ] {
            assert_eq!(ModelId::parse(text, &prices).unwrap().to_string(), id);
        }
        for (text, code) in [
            ("", "bad-model"),
            ("model:", "bad-model"),
            ("a b", "bad-model"),
            ("gpt\u{e9}", "bad-model"),
            ("triage", "unknown-model"),
            ("openai/", "unknown-model"),
        ] {
            assert_eq!(ModelId::parse(text, &prices).unwrap_err().code, code, "{text:?}");
        }
    }
}
